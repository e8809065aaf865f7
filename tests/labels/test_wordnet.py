"""Hierarchies from WordNet."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy, shipped
from simkit.labels.wordnet import (
    LEFT_OUT,
    ROOT_LIKE,
    Finding,
    Meaning,
    Report,
    find,
    from_wordnet,
    read_mapping,
    wordnet,
)
from tests.mutations import COUNT, survives

needs_wordnet = pytest.mark.skipif("NLTK_DATA" not in os.environ, reason="NLTK_DATA names nothing")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", '# mice\nmouse = "mouse.n.04"\n"hot dog" = "<snack_food.n.01"\n'),
        ("a.json", '{"mouse": "mouse.n.04", "hot dog": "<snack_food.n.01"}'),
        ("a.csv", "mouse,mouse.n.04\n\nhot dog,<snack_food.n.01\n"),
        ("b.csv", "name,synset\nmouse,mouse.n.04\nhot dog,<snack_food.n.01\n"),
    ],
)
def test_a_mapping_is_read_from_three_kinds_of_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_mapping(tmp_path / name) == {"mouse": "mouse.n.04", "hot dog": "<snack_food.n.01"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "mouse\n"),
        ("a.json", "[1]"),
        ("a.json", '{"mouse": 4}'),
        ("a.toml", "[mouse]\nn = 4"),
    ],
)
def test_a_mapping_that_is_none_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=rf"{re.escape(str(tmp_path / name))} .*mouse\.n\.04"):
        read_mapping(tmp_path / name)


@pytest.mark.parametrize("suffix", [".toml", ".json", ".csv"])
def test_damaged_mappings_are_named(tmp_path: Path, suffix: str) -> None:
    good = {
        ".toml": b'mouse = "mouse.n.04"\n"hot dog" = "hotdog.n.02"\n',
        ".json": b'{"mouse": "mouse.n.04", "hot dog": "hotdog.n.02"}',
        ".csv": b"mouse,mouse.n.04\nhot dog,hotdog.n.02\n",
    }[suffix]
    survives(
        lambda folder: read_mapping(folder / f"a{suffix}"),
        {f"a{suffix}": good},
        tmp_path=tmp_path,
        count=COUNT // 3,
    )


def test_the_report_names_what_is_unsure() -> None:
    both = (Meaning("a.n.01", "an a"), Meaning("a.n.02", "another a"))
    unknown = tuple(Finding(letter, "", "unknown") for letter in "bcdefghijkl")
    report = Report((Finding("a", "a.n.01", "first", both), *unknown), ("z",))
    assert [finding.name for finding in report.ambiguous] == ["a"]
    assert report.unknown == unknown
    for words in ("a.n.01", "another a", "b", "z"):
        assert words in report.text()
    assert "1 name" in report.summary() and "3 more" in report.summary()
    assert Report(()).summary() == ""


def test_missing_wordnet_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    class Missing:
        def ensure_loaded(self) -> None:
            raise LookupError("Resource wordnet not found, and twenty lines more")

    corpus = pytest.importorskip("nltk.corpus")
    monkeypatch.setattr(corpus, "wordnet", Missing(), raising=False)
    with pytest.raises(BadInput, match=r"nltk\.download\('wordnet'\).*NLTK_DATA"):
        wordnet()


@pytest.fixture(scope="module")
def reader() -> Any:
    return wordnet()


@needs_wordnet
def test_names_are_understood(reader: Any) -> None:
    names = ["dog.n.01", "traffic light", "mouse", "tench, Tinca tinca", "Skis", "xqzw",
             "mouse, computer mouse"]  # fmt: skip
    findings = find(names, {}, reader).findings
    assert [(f.synset, f.how) for f in findings] == [
        ("dog.n.01", "given"),
        ("traffic_light.n.01", "only"),
        ("mouse.n.01", "first"),
        ("tench.n.01", "only"),
        ("ski.n.01", "only"),
        ("", "unknown"),
        ("mouse.n.04", "only"),  # the sense that both synonyms share
    ]
    assert [each.synset for each in findings[2].candidates] == [
        "mouse.n.01", "shiner.n.01", "mouse.n.03", "mouse.n.04",
    ]  # fmt: skip
    assert findings[2].candidates[3].gloss.startswith("a hand-operated electronic device")


@needs_wordnet
def test_similar_names_are_candidates(reader: Any) -> None:
    typo, compound = find(["elefant", "stop sign"], {}, reader).findings
    assert "elephant.n.01" in [each.synset for each in typo.candidates]
    assert "sign.n.02" in [each.synset for each in compound.candidates]


@needs_wordnet
def test_the_mapping_decides(reader: Any) -> None:
    mapping = {"mouse": "mouse.n.04", "ball": "<ball.n.01", "odd": "", "unused": "x"}
    report = find(["mouse", "ball", "odd"], mapping, reader)
    assert [(f.synset, f.how) for f in report.findings] == [
        ("mouse.n.04", "given"), ("<ball.n.01", "given"), ("", "given"),
    ]  # fmt: skip
    assert report.unused == ("unused",)


@needs_wordnet
@pytest.mark.parametrize(
    ("synset", "word"),
    [
        ("mouse.n.09", "candidates are mouse.n.01, shiner.n.01, mouse.n.03, mouse.n.04"),
        ("mouse.v.01", "candidates are mouse.n.01"),
        ("<", "dog.n.01"),
    ],
)
def test_a_mapping_to_no_synset_is_refused(reader: Any, synset: str, word: str) -> None:
    with pytest.raises(BadInput, match=f"'mouse' is mapped to '{synset}'.*{word}"):
        find(["mouse"], {"mouse": synset}, reader)


def _ancestors(tree: Hierarchy, name: str) -> list[str]:
    c = tree.classes.index(name)
    return [tree.classes[a] for a in np.flatnonzero(tree.above[c]) if a != c]


@needs_wordnet
def test_only_ancestors_that_join_classes_are_kept() -> None:
    tree, report = from_wordnet(["dog", "cat", "car", "bus", "apple"])
    assert tree.classes == ("dog", "cat", "car", "bus", "apple", "animal", "conveyance")
    assert _ancestors(tree, "dog") == ["animal"] and _ancestors(tree, "apple") == []
    assert [finding.how for finding in report.findings[:2]] == ["first", "first"]
    tree, _ = from_wordnet(["dog.n.01", "cat.n.01"])  # an ancestor of everything is dropped
    assert tree.classes == ("dog.n.01", "cat.n.01") and tree.parents == ((), ())


@needs_wordnet
def test_a_class_may_be_the_ancestor_of_another() -> None:
    names = ["puppy", "animal", "dog", "oak"]
    tree, _ = from_wordnet(names, mapping={"dog": "dog.n.01", "oak": "oak.n.02"})
    assert tree.classes[:4] == tuple(names)
    assert _ancestors(tree, "puppy") == ["animal", "dog"]
    assert _ancestors(tree, "dog") == ["animal"]


@needs_wordnet
def test_names_of_the_same_synset_stand_beside_each_other() -> None:
    tree, _ = from_wordnet(
        ["bike", "bicycle", "mountain bike", "dog"], mapping={"bike": "bicycle.n.01"}
    )
    assert sorted(_ancestors(tree, "mountain bike")) == ["bicycle", "bike"]
    assert _ancestors(tree, "bike") == _ancestors(tree, "bicycle") == []


@needs_wordnet
def test_a_kind_of_hangs_below_its_synset() -> None:
    names = ["ball", "sports ball", "dog"]
    tree, _ = from_wordnet(names, mapping={"ball": "ball.n.01", "sports ball": "<ball.n.01"})
    assert _ancestors(tree, "sports ball") == ["ball"]
    assert tree.synsets == ("ball.n.01", "", "dog.n.01")


@needs_wordnet
def test_unknown_names_stand_alone() -> None:
    tree, report = from_wordnet(["dog", "cat", "xqzw", "car", "left"], mapping={"left": ""})
    for name in ("xqzw", "left"):
        c = tree.classes.index(name)
        assert tree.parents[c] == () and tree.synsets[c] == ""
    assert [finding.name for finding in report.unknown] == ["xqzw"]
    assert "animal" in tree.classes or "carnivore" in tree.classes


@needs_wordnet
def test_ancestors_have_readable_names_of_their_own() -> None:
    # "food" is a class here, so that the ancestor food.n.02 needs another of its words.
    names = ["food", "apple", "banana", "cake", "dog"]
    mapping = {"food": "dog.n.03", "banana": "banana.n.02", "cake": "cake.n.03"}
    tree, _ = from_wordnet(names, mapping=mapping)
    assert len({name.lower() for name in tree.classes}) == len(tree.classes)
    label = tree.classes[tree.synsets.index("food.n.02")]
    assert label == "solid food"


@needs_wordnet
def test_without_pruning_all_hypernyms_are_there() -> None:
    tree, _ = from_wordnet(["dog.n.01", "cat.n.01"], prune=False)
    assert ROOT_LIKE & set(tree.synsets) >= {"entity.n.01", "object.n.01"}
    assert tree.classes[tree.roots[0]] == "entity" and len(tree.roots) == 1
    pruned, _ = from_wordnet(["dog.n.01", "cat.n.01", "car.n.01"])
    full, _ = from_wordnet(["dog.n.01", "cat.n.01", "car.n.01"], prune=False)
    kept = set(pruned.synsets)
    for name in ("dog.n.01", "car.n.01"):
        c = full.classes.index(name)
        above = {full.synsets[a] for a in np.flatnonzero(full.above[c])}
        own = pruned.classes.index(name)
        assert {pruned.synsets[a] for a in np.flatnonzero(pruned.above[own])} == above & kept


@needs_wordnet
def test_odd_hypernyms_are_passed_over() -> None:
    tree, _ = from_wordnet(["car.n.01", "bottle.n.01", "spoon.n.01", "dog.n.01"], prune=False)
    at = {synset: c for c, synset in enumerate(tree.synsets)}
    for below, above in LEFT_OUT & {(a, b) for a in at for b in at}:
        assert not tree.above[at[below], at[above]]
    assert tree.above[at["bottle.n.01"], at["container.n.01"]]
    assert tree.above[at["car.n.01"], at["instrumentality.n.03"]]  # above the container as well
    assert ("wheeled_vehicle.n.01", "container.n.01") in LEFT_OUT and "container.n.01" in at


@needs_wordnet
def test_an_ancestor_is_called_what_a_class_is_a_kind_of() -> None:
    names = ["fruit", "apple", "banana.n.02", "dog"]
    tree, _ = from_wordnet(names, mapping={"fruit": "<edible_fruit.n.01", "apple": "apple.n.01"})
    assert _ancestors(tree, "apple") == _ancestors(tree, "fruit") == ["edible fruit"]


@needs_wordnet
def test_the_order_of_names_changes_the_order_alone() -> None:
    names = list(shipped("coco-80").classes[:30])
    one, _ = from_wordnet(names)
    two, _ = from_wordnet(names[::-1])
    assert set(one.classes) == set(two.classes)
    for name in names:
        assert set(_ancestors(one, name)) == set(_ancestors(two, name))
