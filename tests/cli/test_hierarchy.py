"""`simkit hierarchy`: ancestors from WordNet, and what is ambiguous."""

import os
from pathlib import Path

import pytest

from simkit.labels.hierarchy import Hierarchy, shipped

needs_wordnet = pytest.mark.skipif(
    "NLTK_DATA" not in os.environ, reason="WordNet is not here: set NLTK_DATA"
)


@needs_wordnet
def test_dogs_and_cats(shell) -> None:
    Path("names.txt").write_text("dog\ncat\nbus\ntruck\n")
    done = shell("hierarchy", "--classes", "names.txt")
    assert done.code == 0, done.err
    hierarchy = Hierarchy.load("hierarchy.json")
    dog, cat, bus = (hierarchy.classes.index(name) for name in ("dog", "cat", "bus"))
    shared = set(hierarchy.above[dog].nonzero()[0]) & set(hierarchy.above[cat].nonzero()[0])
    assert shared and not shared & set(hierarchy.above[bus].nonzero()[0])
    assert "wrote hierarchy.json" in done.out


@needs_wordnet
def test_ambiguous_names_are_reported_and_overridden(shell) -> None:
    Path("names.txt").write_text("mouse\nkeyboard\ndog\n")
    first = shell("hierarchy", "--classes", "names.txt", "--json").json
    mouse = next(row for row in first["classes"] if row["name"] == "mouse")
    assert mouse["how"] == "first" and "mouse.n.04" in mouse["candidates"]
    Path("map.toml").write_text('mouse = "mouse.n.04"\n')
    second = shell("hierarchy", "--classes", "names.txt", "--mapping", "map.toml", "--json").json
    mouse = next(row for row in second["classes"] if row["name"] == "mouse")
    assert (mouse["synset"], mouse["how"]) == ("mouse.n.04", "given")


@needs_wordnet
def test_the_report_is_short_unless_asked(shell) -> None:
    Path("names.txt").write_text("mouse\nkeyboard\ndog\nxqzw\n")
    Path("map.toml").write_text('dog = "dog.n.01"\nbird = "bird.n.01"\n')
    done = shell("hierarchy", "--classes", "names.txt", "--mapping", "map.toml")
    assert done.out.splitlines() == [
        "4 classes and 1 ancestor from WordNet",
        "2 names have several senses; the most frequent is taken",
        "not in WordNet: xqzw",
        "in the mapping, but not a class: bird",
        'to choose otherwise, write lines such as mouse = "mouse.n.04" into a TOML file and give '
        "it as --mapping; --verbose lists the senses",
        "wrote hierarchy.json",
    ]
    done = shell("hierarchy", "--classes", "names.txt", "--verbose")
    assert "    mouse.n.04: a hand-operated electronic device" in done.out


def test_shipped_ones_are_listed_and_shown(shell) -> None:
    listed = shell("hierarchy", "--json").json["hierarchies"]
    assert {"name": "voc-20", "classes": 35} in [
        {key: row[key] for key in ("name", "classes")} for row in listed
    ]
    assert "coco-panoptic-133" in shell("hierarchy").out
    lines = shell("hierarchy", "voc-20").out.splitlines()
    assert lines[0] == "voc-20: 35 classes, 20 of them without children"
    assert lines[1] == "PASCAL VOC's 20 classes and their ancestors in WordNet"
    assert "        carnivore" in lines and "          dog" in lines
    assert len(lines) == 37
    cut = shell("hierarchy", "lvis-1203", "--lines", "60").out.splitlines()
    assert len(cut) <= 62 and "  handle  (2 classes below)" in cut
    assert cut[-1] == "  detergent, freshener, gargle, gemstone, heart, igniter, wall_socket"
    assert max(map(len, shell("hierarchy", "openimages-600").out.splitlines()[2:])) < 130
    facts = shell("hierarchy", "voc-20", "--json").json
    assert facts["roots"] == ["instrumentality", "organism"] and facts["leaves"] == 20


def test_one_is_copied_drawn_and_read_again(shell) -> None:
    done = shell("hierarchy", "voc-20", "--out", "mine.json", "--figure", "mine.svg")
    assert done.code == 0 and done.out.endswith("wrote mine.json\nwrote mine.svg\n")
    assert Hierarchy.load("mine.json").id == shipped("voc-20").id
    first = Path("mine.svg").read_bytes()
    assert first.count(b"pottedplant") == 1
    assert shell("hierarchy", "mine.json", "--figure", "mine.svg").out.startswith("mine.json: 35 c")
    assert shell("hierarchy", "voc-20", "--figure", "mine.svg").code == 0
    assert Path("mine.svg").read_bytes() == first
    assert shell("hierarchy", "voc-20", "--figure", "mine.png").code == 0
    assert Path("mine.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("--mapping m.toml", "--mapping needs --classes"),
        ("--figure a.png", "--figure needs a hierarchy"),
        ("voc-20 --figure a.doc --out b.json",
         "--figure is a.doc; a name that ends in .png, .pdf or .svg is expected"),
        ("a.json", "a.json does not exist; give the path of a file with a class hierarchy (JSON)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together(shell, given: str, message: str) -> None:
    done = shell("hierarchy", *given.split())
    assert done.code == 2 and done.err.startswith(f"simkit: {message}")
    assert not list(Path().iterdir())


def test_bad_input(shell) -> None:
    Path("empty.txt").write_text("\n")
    Path("twice.txt").write_text("dog\ndog\n")
    Path("damaged.txt").write_bytes("café\n".encode() * 9 + b"caf\xe9\n")
    for name, message in (
        ("nowhere.txt", "does not exist"), ("empty.txt", "is empty"),
        ("twice.txt", "twice.txt: 'dog' occurs twice"), ("damaged.txt", "not UTF-8"),
    ):  # fmt: skip
        done = shell("hierarchy", "--classes", name)
        assert done.code == 2
        assert message in done.err and done.err.count("\n") == 1
    assert not Path("hierarchy.json").exists()


def test_what_it_reads_is_not_written_over(shell) -> None:
    assert shell("hierarchy", "coco-80", "--out", "tree.json").code == 0
    Path("hierarchy.json").write_text("dog\ncat\n")
    for words in (("tree.json", "--out", "./tree.json"), ("--classes", "hierarchy.json")):
        done = shell("hierarchy", *words)
        assert done.code == 2 and "is a file that is read here" in done.err
    assert Path("hierarchy.json").read_text() == "dog\ncat\n"
    Path("tree.json").rename("hierarchy.json")
    assert shell("hierarchy", "hierarchy.json").code == 0  # which writes nothing
