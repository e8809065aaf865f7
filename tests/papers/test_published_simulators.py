"""The published simulators: their arrays, what they cost, and what they refuse."""

import json

import numpy as np
import pytest

from simkit.annotate.simulate import replay, simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.papers import published_simulators as published
from simkit.papers.published_simulators import replay_published, simulate_published
from tests.annotate.conftest import random_truth
from tests.reference import published as plain

SEEDS = (1200, 7)


@pytest.fixture(scope="module")
def truth() -> Truth:
    return random_truth()


@pytest.fixture(scope="module")
def vectors(golden):
    return np.load(golden / "schemes.npz", allow_pickle=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name, scheme", [
    ("spml_seed{}_numpos1_numneg0_Z", "single-positive"),
    ("spml_seed{}_numpos2_numneg3_Z", "single-positive(positives=2,negatives=3)"),
    ("spml_seed{}_numposall_numneg0_Z", "single-positive(positives=10)"),
    ("spml_seed{}_numpos1_numnegall_Z", "single-positive(negatives=10)"),
    ("csl_seed{}_fpc20_Z", "fpc(per_class=20)"),
    ("csl_seed{}_fpc3_Z", "fpc(per_class=3)"),
    ("csl_seed{}_rps0.5_Z", "rpa(keep=0.5)"),
    ("csl_seed{}_rps0.9_Z", "rpa(keep=0.1)"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_the_arrays_are_those_of_the_published_code(vectors, name, scheme, seed):
    labels = simulate_published(Truth.of(vectors["Y"]), scheme, seed=seed)
    assert np.array_equal(labels.codes.toarray(), vectors[name.format(seed)])


@pytest.mark.parametrize("N, L", [(1, 2), (40, 3), (7, 50)])
def test_they_equal_the_plain_loops_on_odd_matrices(N, L, monkeypatch):
    monkeypatch.setattr(published, "PLACES", 64)  # several blocks of rows
    for seed in range(8):
        present = np.random.default_rng(seed).random((N, L)) < (0.05, 0.5, 0.95)[seed % 3]
        present[0, 0], present[-1, -1] = True, False
        truth, new = Truth.of(present), np.random.RandomState
        for k, m in ((1, 0), (2, 2), (0, L), (L, 1)):
            got = published.observed(truth, new(seed), positives=k, negatives=m)
            assert np.array_equal(got.toarray(), plain.observed(present, new(seed), k, m))
        rpa = published.random_per_annotation(truth, new(seed), unknown=0.7)
        np.random.seed(seed)  # as the published code does
        assert np.array_equal(rpa.toarray(), plain.random_per_annotation(present, 0.7))
        fpc = published.fixed_per_class(truth, new(seed), per_class=2)
        np.random.seed(seed)
        assert np.array_equal(fpc.toarray(), plain.fixed_per_class(present, 2))


def test_a_share_is_taken_as_it_is_written(monkeypatch):
    # 1 - 0.7 is 0.30000000000000004 in binary fractions; the published option would say 0.3.
    taken = []

    def listen(truth, random, *, unknown):
        taken.append(unknown)
        return truth.present.astype(np.int8)

    monkeypatch.setattr(published, "random_per_annotation", listen)
    simulate_published(random_truth(N=50), "rpa(keep=0.7)")
    assert taken == [0.3]


@pytest.mark.parametrize("scheme", ["single-positive", "rpa"])
def test_the_seed_is_that_of_the_published_code_unless_another_is_given(truth, scheme):
    usual = simulate_published(truth, scheme)
    assert usual.history.seed == 1200
    assert usual.id == simulate_published(truth, scheme, seed=1200).id
    none = simulate_published(truth, scheme, seed=0)
    assert none.history.seed == 0 and none.id != usual.id
    assert replay_published(none.history, truth).id == none.id
    assert simulate(truth, scheme).history.seed == 0


def test_global_random_numbers_are_left_alone(truth):
    before = np.random.get_state()[1].tolist()
    simulate_published(truth, "rpa")
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scheme", ["single-positive", "rpa(keep=0.3)", "fpc(per_class=9)"])
def test_history_tells_and_replays_them(truth, scheme):
    labels = simulate_published(truth, scheme, seed=5)
    assert labels.history.settings["legacy_rng"] is True and labels.history.seed == 5
    history = History.from_json(labels.history.to_json())
    again = replay_published(history, truth)
    assert again.id == labels.id and again.effort.to_json() == labels.effort.to_json()
    assert json.loads(again.history.to_json()) == json.loads(labels.history.to_json())
    ours = simulate(truth, scheme, seed=5)
    assert labels.id != ours.id
    with pytest.raises(BadInput, match="replay_published"):
        replay(history, truth)
    with pytest.raises(BadInput, match="call simkit"):
        replay_published(ours.history, truth)
    with pytest.raises(BadInput, match="give those of the same data set"):
        replay_published(history, random_truth(seed=1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "scheme",
    [
        "single-positive",
        "single-positive(positives=2,negatives=3)",
        "fpc(per_class=9,precision=0.3)",
        "fpc(per_class=9,search=random)",
    ],
)
def test_they_are_billed_like_the_scheme(truth, scheme):
    ours, theirs = (make(truth, scheme, seed=5) for make in (simulate, simulate_published))
    assert theirs.effort.to_json() == ours.effort.to_json()
    assert theirs.counts() == ours.counts()


def test_random_labels_are_billed_one_by_one(truth):
    labels = simulate_published(truth, "rpa(keep=0.3)")
    assert labels.effort.counts() == {"verify": labels.codes.nnz, "workers": None, "dropped": 0}
    per_image = np.diff(labels.codes.indptr)
    asked = np.bincount(per_image)[1:]
    assert np.array_equal(labels.effort.questions["verify"][1:], asked)
    assert np.array_equal(labels.asked, per_image > 0)


def test_an_empty_image_is_asked_and_stays_without_a_label():
    present = np.zeros((3, 4), bool)
    present[:2, 1] = True
    with pytest.warns(UserWarning, match="show none"):
        ours = simulate(Truth.of(present), "single-positive")
    labels = simulate_published(Truth.of(present), "single-positive")
    assert labels.asked.all() and labels.effort.to_json() == ours.effort.to_json()
    assert labels.counts() == {"present": 2, "absent": 0, "unknown": 10}


@pytest.mark.parametrize("scheme, given, message", [
    ("full-subset", {}, "no published simulator of full-subset"),
    ("rpa", {"seed": -1}, "with seed -1 is known"),
    ("fpc(keep_looks=True)", {}, "no published simulator of fpc("),
    ("single-positive(bias=size)", {}, "no published simulator of single-positive("),
])  # fmt: skip
def test_what_was_not_published_is_refused(truth, scheme, given, message):
    with pytest.raises(BadInput) as error:
        simulate_published(truth, scheme, **given)
    assert message in str(error.value)


@pytest.mark.parametrize("fill, what", [(0, "no class"), (1, "every class")])
def test_labels_of_one_kind_are_refused_as_the_published_code_does(fill, what):
    with pytest.raises(BadInput) as error:
        simulate_published(Truth.of(np.full((4, 3), fill)), "single-positive")
    assert f"{what} is present in any image" in str(error.value)


@pytest.mark.filterwarnings("ignore")
def test_the_knowledge_graph_gives_the_reference_labels_of_the_class_it_names(golden):
    with np.load(golden / "kg_reference.npz", allow_pickle=False) as stored:
        vectors = dict(stored)
    names = [f"node-{c}" for c in range(len(vectors["parent"]))]
    pairs = [(names[c], names[p]) for c, p in enumerate(vectors["parent"]) if p >= 0]
    hierarchy = Hierarchy.of(names, pairs)
    assert list(hierarchy.classes) == names
    truth = Truth.of(vectors["T_closed"], classes=names)
    depth = hierarchy.above.sum(1)
    met = np.zeros(len(vectors["chosen_node"]), bool)
    for draw in range(100):
        codes = {}
        for mode in ("path-only", "verify", "truth"):
            scheme = f"knowledge-graph(mode={mode})"
            labels = simulate(truth, scheme, hierarchy=hierarchy, draw=draw)
            codes[mode] = labels.codes.toarray()
        named = np.where(codes["path-only"] > 0, depth, 0).argmax(1)
        same = np.flatnonzero(named == vectors["chosen_node"])
        met[same] = True
        for mode, found in codes.items():
            expected = vectors[f"Z_{mode.replace('-', '_')}"]
            assert np.array_equal(found[same], expected[same])
    assert met.all()
