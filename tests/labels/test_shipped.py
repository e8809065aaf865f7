"""The hierarchies that come with simkit."""

import json
import os
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.hierarchy import NOTES, Hierarchy, shipped, shipped_for, shipped_names
from simkit.labels.wordnet import read_mapping

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "simkit" / "labels" / "hierarchies"
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "hierarchies.py"))
OWN = {"cifar-100": 100, "coco-80": 80, "coco-panoptic-133": 133, "lvis-1203": 1203,
       "openimages-600": 601, "scenes": 41, "voc-20": 20}  # fmt: skip
ALL = {"cifar-100": 120, "coco-80": 126, "coco-panoptic-133": 198, "lvis-1203": 1475,
       "openimages-600": 601, "scenes": 52, "voc-20": 35}  # fmt: skip
FROM_WORDNET = ["coco-80", "coco-panoptic-133", "lvis-1203", "scenes", "voc-20"]

needs_wordnet = pytest.mark.skipif("NLTK_DATA" not in os.environ, reason="NLTK_DATA names nothing")


def _ancestors(tree: Hierarchy, name: str) -> set[str]:
    c = tree.classes.index(name)
    return {tree.classes[a] for a in np.flatnonzero(tree.above[c]) if a != c}


def _meta(file: str) -> Path:
    """A file of the optional data."""
    found = Path(os.environ.get("SIMKIT_DATA", "nowhere")) / "meta" / file
    if not found.is_file():
        pytest.skip(f"{file} is not here: set SIMKIT_DATA to a folder with meta/{file}")
    return found


def test_sizes_are_as_told() -> None:
    assert {name: len(shipped(name).classes) for name in shipped_names()} == ALL
    assert sorted(NOTES) == shipped_names()


@pytest.mark.parametrize("name", sorted(ALL))
def test_classes_of_the_data_set_come_first(name: str) -> None:
    tree = shipped(name)
    assert set(range(OWN[name])) >= set(tree.leaves.tolist())
    assert SCRIPT["_reduced"](tree).id == tree.id


@pytest.mark.parametrize("name", FROM_WORDNET)
def test_every_ancestor_from_wordnet_joins_something(name: str) -> None:
    tree = shipped(name)
    below = tree.above[: OWN[name]].sum(0)
    added = range(OWN[name], len(tree.classes))
    assert all(1 < below[c] < OWN[name] for c in added)
    assert len({tree.above[: OWN[name], c].tobytes() for c in added}) == len(added)
    assert all(tree.synsets[c] for c in added)
    assert len({tree.synsets[c] for c in added}) == len(added)


@pytest.mark.parametrize("name", ["coco-80", "coco-panoptic-133", "voc-20"])
def test_curated_classes_stand_in_their_order_and_below_nobody(name: str) -> None:
    tree = shipped(name)
    assert list(tree.classes[: OWN[name]]) == list(read_mapping(FOLDER / f"{name}.toml"))
    assert tree.leaves.tolist() == list(range(OWN[name]))


@pytest.mark.parametrize(
    ("name", "cls", "ancestors"),
    [
        ("coco-80", "dog", {"organism", "animal", "mammal", "carnivore"}),
        ("coco-80", "potted plant", {"organism"}),
        ("coco-80", "banana", {"food", "produce", "fruit"}),
        ("cifar-100", "maple_tree", {"trees"}),
        ("openimages-600", "Oven", {"Kitchen appliance", "Kitchenware", "Home appliance"}),
        ("openimages-600", "Teddy bear", {"Toy", "Bear", "Carnivore", "Mammal", "Animal"}),
        ("openimages-600", "Laptop", set()),  # part of a building, by the part-of edges
    ],
)
def test_ancestors_by_hand(name: str, cls: str, ancestors: set[str]) -> None:
    assert _ancestors(shipped(name), cls) == ancestors


def test_more_ancestors_by_hand() -> None:
    coco, voc, lvis = shipped("coco-80"), shipped("voc-20"), shipped("lvis-1203")
    assert "container" not in _ancestors(coco, "car") | _ancestors(coco, "spoon")
    assert _ancestors(voc, "aeroplane") & _ancestors(voc, "boat") >= {"craft", "vehicle"}
    assert _ancestors(voc, "sofa") & _ancestors(voc, "chair") >= {"seat", "furniture"}
    assert {"dog", "animal"} <= _ancestors(lvis, "dalmatian")
    assert _ancestors(lvis, "stop_sign") >= {"street_sign"}
    assert all(len(below) in (0, 5) for below in shipped("cifar-100").children)


def test_panoptic_has_more_classes_than_the_paper_and_says_why() -> None:
    tree = shipped("coco-panoptic-133")
    assert tree.classes[:80] == shipped("coco-80").classes[:80]
    assert len(tree.classes) == 133 + 65 == 198
    assert "198 classes" in NOTES["coco-panoptic-133"] and "into 163" in NOTES["coco-panoptic-133"]
    walls = [c for c in range(133) if tree.classes[c].startswith("wall-")]
    assert len(walls) == 5 and all("wall" in _ancestors(tree, tree.classes[c]) for c in walls)
    assert "edible fruit" in _ancestors(tree, "fruit") & _ancestors(tree, "apple")
    assert _ancestors(tree, "gravel") >= {"material"}


def test_the_hierarchy_of_a_list_of_classes() -> None:
    for name, count in OWN.items():
        assert shipped_for(shipped(name).classes[:count]) == name
    assert shipped_for(["dog", "cat"]) is None
    assert shipped_for([*shipped("voc-20").classes[:20], "dragon"]) is None


def test_an_unknown_hierarchy_comes_with_the_nearest_one() -> None:
    with pytest.raises(BadInput, match=r"'coco80'; did you mean 'coco-80'\?$"):
        shipped("coco80")


@needs_wordnet
@pytest.mark.parametrize("name", ["coco-80", "coco-panoptic-133", "voc-20"])
def test_wordnet_gives_the_shipped_ones_again(name: str) -> None:
    assert SCRIPT["build"](name).to_json() == shipped(name).to_json()


@pytest.mark.parametrize("name", ["cifar-100", "openimages-600"])
def test_published_files_give_the_shipped_ones_again(name: str) -> None:
    meta = _meta(SCRIPT["FROM_META"][name][0])
    assert SCRIPT["build"](name, meta.parent).to_json() == shipped(name).to_json()


@needs_wordnet
def test_lvis_is_built_again_and_one_synset_is_not_in_wordnet() -> None:
    from nltk.corpus.reader.wordnet import WordNetError

    from simkit.labels.wordnet import wordnet

    meta = _meta("lvis_v1_categories.json")
    assert SCRIPT["build"]("lvis-1203", meta.parent).to_json() == shipped("lvis-1203").to_json()
    reader, missing = wordnet(), set()
    for each in json.loads(meta.read_text())["categories"]:
        try:
            assert reader.synset(each["synset"]).name() == each["synset"]
        except WordNetError:
            missing.add(each["synset"])
    assert missing == {"stop_sign.n.01"}


@pytest.mark.parametrize(
    ("name", "file"),
    [("coco-80", "coco_categories"), ("coco-panoptic-133", "coco_panoptic_categories"),
     ("voc-20", "voc_categories")],
)  # fmt: skip
def test_curated_names_are_the_published_ones(name: str, file: str) -> None:
    published = json.loads(_meta(f"{file}.json").read_text())
    assert [each["name"] for each in published] == list(shipped(name).classes[: OWN[name]])


def test_the_script_reads_other_peoples_files(tmp_path: Path) -> None:
    meta = {
        "root": "/m/0",
        "names": {"/m/0": "Entity", "/m/1": "Bat", "/m/2": "Bat", "/m/3": "Animal", "/m/4": "Egg"},
        "is_a": [["/m/1", "/m/0"], ["/m/3", "/m/0"], ["/m/2", "/m/3"], ["/m/4", "/m/0"]],
    }
    (tmp_path / "openimages_600_hierarchy.json").write_text(json.dumps(meta))
    tree = SCRIPT["build"]("openimages-600", tmp_path)
    assert tree.classes == ("Bat (/m/1)", "Bat (/m/2)", "Animal", "Egg")
    assert tree.parents == ((), (2,), (), ())
    assert SCRIPT["build"]("cifar-100", tmp_path) is None


def test_check_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    meta = _meta("cifar100_hierarchy.json").parent
    if "NLTK_DATA" not in os.environ:
        pytest.skip("NLTK_DATA names nothing")
    before = {file: file.stat().st_mtime_ns for file in FOLDER.iterdir()}
    assert SCRIPT["main"]([str(meta), "--check"]) == 0
    assert len(re.findall(r": \d+ classes, unchanged", capsys.readouterr().out)) == 6
    assert before == {file: file.stat().st_mtime_ns for file in FOLDER.iterdir()}
