"""`simkit hierarchy`: ancestors from WordNet, and what is ambiguous."""

import os
from pathlib import Path

import pytest

from simkit.labels.hierarchy import Hierarchy

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


def test_bad_input(shell) -> None:
    Path("empty.txt").write_text("\n")
    for name, message in (("nowhere.txt", "does not exist"), ("empty.txt", "holds no class name")):
        done = shell("hierarchy", "--classes", name)
        assert done.code == 2
        assert message in done.err and done.err.count("\n") == 1
    assert not Path("hierarchy.json").exists()
