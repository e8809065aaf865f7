"""The class hierarchy and the closure of truth under it."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy, close
from simkit.labels.truth import Truth
from tests.mutations import survives
from tests.reference.closure import closed_row

# animal <- dog, cat;  pet <- dog, cat;  thing stands alone;  dog <- puppy
NAMES = ["dog", "cat", "puppy", "animal", "pet", "thing"]
EDGES = [("dog", "animal"), ("cat", "animal"), ("dog", "pet"), ("cat", "pet"), ("puppy", "dog")]
TREE = Hierarchy.of(NAMES, EDGES, {"dog": "dog.n.01"})


def test_relations_by_hand() -> None:
    assert TREE.parents == ((3, 4), (3, 4), (0,), (), (), ())
    assert TREE.children == ((2,), (), (), (0, 1), (0, 1), ())
    assert TREE.roots.tolist() == [3, 4, 5] and TREE.leaves.tolist() == [1, 2, 5]
    assert np.flatnonzero(TREE.above[2]).tolist() == [0, 2, 3, 4]
    assert np.flatnonzero(TREE.above[5]).tolist() == [5]
    assert np.array_equal(TREE.lineage.toarray(), TREE.above)


def test_a_hierarchy_survives_its_file(tmp_path: Path) -> None:
    TREE.save(tmp_path / "tree.json")
    again = Hierarchy.load(tmp_path / "tree.json")
    assert again.id == TREE.id and again.synsets[0] == "dog.n.01"
    assert (again.classes, again.parents) == (TREE.classes, TREE.parents)


def test_the_part_about_some_classes() -> None:
    part = TREE.over(["thing", "puppy"])
    assert part.classes == ("dog", "puppy", "animal", "pet", "thing")
    assert part.parents == ((2, 3), (0,), (), (), ()) and part.synsets[0] == "dog.n.01"
    assert TREE.over(NAMES).id == TREE.id
    with pytest.raises(BadInput, match=r"^no class of the hierarchy is called 'bird'; "):
        TREE.over(["bird"])


def test_as_a_table() -> None:
    table = TREE.table()
    assert table.column_names == ["class", "parents", "synset"]
    assert table.slice(0, 1).to_pylist() == [
        {"class": "dog", "parents": ["animal", "pet"], "synset": "dog.n.01"}
    ]


def test_closing_adds_ancestors() -> None:
    truth = close(
        Truth.of([[0, 0, 1], [1, 0, 0], [0, 1, 0]], None, ["cat", "thing", "puppy"]), TREE
    )
    assert truth.classes == tuple(NAMES)
    assert truth.rows(range(3)).astype(int).tolist() == [
        [1, 0, 1, 1, 1, 0],
        [0, 1, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 1],
    ]


@pytest.mark.parametrize(
    ("names", "edges", "word"),
    [
        (["a", "a"], [], "twice"),
        ([], [], "no classes"),
        (["a"], [("a", "b")], "'b'"),
        (["a", "b"], [("a", "b"), ("b", "a")], "a -> b"),
        (["a"], [("a", "a")], "cycle: a;"),
    ],
)
def test_no_hierarchy_without_order(names: Any, edges: Any, word: str) -> None:
    with pytest.raises(BadInput, match=word):
        Hierarchy.of(names, edges)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    TREE.save(tmp_path / "tree.json")
    files = {"tree.json": (tmp_path / "tree.json").read_bytes()}
    survives(lambda folder: Hierarchy.load(folder / "tree.json").id, files, tmp_path=tmp_path)


# The closure of truth, against a twin that goes class by class.


@st.composite
def cases(draw: st.DrawFn) -> tuple[Hierarchy, list[int], NDArray[np.int8]]:
    """A hierarchy with several parents, some of its classes in any order, and codes for them."""
    L = draw(st.integers(1, 7))
    edges = [(str(c), str(p)) for c in range(L) for p in range(c) if draw(st.booleans())]
    names = draw(st.permutations([str(c) for c in range(L)]))
    tree = Hierarchy.of(names, edges)
    own = draw(st.permutations(range(L)))[: draw(st.integers(1, L))]
    codes = draw(st.lists(st.integers(-1, 1), min_size=3 * len(own), max_size=3 * len(own)))
    return tree, own, np.array(codes, np.int8).reshape(3, len(own))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_partly_known_truth_is_closed_as_the_twin_does(case) -> None:
    tree, own, codes = case
    classes = [tree.classes[c] for c in own]
    truth = close(Truth.of(codes > 0, None, classes, codes != 0), tree)
    assert truth.known is not None
    expected = [closed_row(tree.parents, own, row > 0, row != 0) for row in codes]
    assert np.array_equal(truth.present.toarray(), np.array(expected) > 0)
    assert np.array_equal(truth.known.toarray(), np.array(expected) != 0)
    assert close(truth, tree).id == truth.id


def test_a_denied_animal_is_no_dog_and_what_is_present_has_the_last_word() -> None:
    # Known: no animal; a dog, and no animal; no dog and no cat.
    present = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    known = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    truth = close(Truth.of(present, None, ["animal", "dog", "cat"], known), TREE)
    assert truth.known is not None
    #                                       dog cat puppy animal pet thing
    assert truth.known.toarray().astype(int).tolist() == [
        [1, 1, 1, 1, 1, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 1, 1, 0, 1, 0],  # some other animal may be there; a pet is a dog or a cat
    ]
    assert truth.present.toarray().astype(int).tolist() == [
        [0, 0, 0, 0, 0, 0],
        [1, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0],
    ]


def test_a_complete_truth_must_speak_of_every_class() -> None:
    with pytest.raises(BadInput, match=r"nothing about class 'puppy' .* hierarchy\.over"):
        close(Truth.of(np.eye(2), None, ["dog", "cat"]), TREE)
    truth = Truth.of(np.eye(2), None, ["dog", "cat"])
    closed = close(truth, TREE.over(truth.classes))
    assert closed.classes == ("dog", "cat", "animal", "pet")
    assert closed.rows([0, 1]).astype(int).tolist() == [[1, 0, 1, 1], [0, 1, 1, 1]]


def test_large_truth_stays_sparse() -> None:
    """A dense table of these 200,000 x 1,500 entries would be 300 million bytes."""
    L, N = 1_500, 200_000
    tree = Hierarchy.of(
        [str(c) for c in range(L)], [(str(c), str(c // 3)) for c in range(1, L) if c // 3 != c]
    )
    rng = np.random.default_rng(0)
    columns = rng.integers(0, L, 2 * N)
    shape = (N, L)
    present = csr_array((np.ones(N, bool), columns[::2], np.arange(N + 1)), shape=shape)
    known = present + csr_array((np.ones(N, bool), columns[1::2], np.arange(N + 1)), shape=shape)
    truth = Truth.of(present, None, tree.classes, known)
    assert len(tree.lineage.indices)  # made once, and kept
    tracemalloc.start()
    closed = close(truth, tree)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert closed.known is not None and closed.known.nnz > closed.present.nnz > 4 * N
    assert peak < 40 * closed.known.nnz < 300e6
