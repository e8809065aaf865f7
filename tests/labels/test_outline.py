"""A hierarchy as lines."""

import pytest

from simkit.labels.hierarchy import Hierarchy, shipped, shipped_names
from simkit.labels.outline import Line, outline

NAMES = ["dog", "cat", "animal", "pet", "mammal", "stone", "bird", "gem"]
EDGES = [("dog", "mammal"), ("cat", "mammal"), ("mammal", "animal"), ("dog", "pet"),
         ("bird", "animal")]  # fmt: skip
TREE = Hierarchy.of(NAMES, EDGES)


def test_every_class_has_a_line_below_its_farthest_parent() -> None:
    lines = outline(TREE)
    assert [(line.depth, *line.names, line.note) for line in lines] == [
        (0, "animal", ""),
        (1, "mammal", ""),
        (2, "dog", "also pet"),
        (2, "cat", ""),
        (1, "bird", ""),
        (0, "pet", ""),
        (0, "stone", ""),
        (0, "gem", ""),
    ]
    assert [line.names[0] for line in lines if line.inner] == ["animal", "mammal", "pet"]


def test_a_larger_one_shows_its_upper_levels() -> None:
    # "pet" has no class below it that does not stand elsewhere.
    assert outline(TREE, 3) == [
        Line(0, ("animal",), True, 4),
        Line(0, ("pet", "stone", "gem")),
    ]
    assert outline(TREE, 4) == [
        Line(0, ("animal",), True),
        Line(1, ("mammal",), True, 2),
        Line(1, ("bird",)),
        Line(0, ("pet", "stone", "gem")),
    ]
    assert outline(TREE, 1)[0].note == "4 classes below"
    assert outline(TREE, 8) == outline(TREE)


@pytest.mark.parametrize("most", [60, 200, None])
@pytest.mark.parametrize("name", shipped_names())
def test_nothing_is_lost_and_nothing_is_twice(name: str, most: int | None) -> None:
    tree = shipped(name)
    lines = outline(tree, most)
    named = [each for line in lines for each in line.names]
    assert len(named) == len(set(named)) == len(tree.classes) - sum(line.hidden for line in lines)
    assert most is None or len(lines) <= most
    index = {each: c for c, each in enumerate(tree.classes)}
    path: list[int] = []
    for line in lines:
        assert line.depth <= len(path)
        path = path[: line.depth]
        for each in line.names:
            assert not path or path[-1] in tree.parents[index[each]]
        others = {index[each] for each in line.also}
        if len(line.names) == 1:
            assert others | set(path[-1:]) == set(tree.parents[index[line.names[0]]])
        path.append(index[line.names[0]])
