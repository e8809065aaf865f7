"""Labels as they are bought: what the figures of answers, levels, classes and schemes show."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy, shipped
from simkit.papers.analysis.labelling import STATES
from simkit.results.figures.style import BLUE, INK, PALE

COLUMNS = ["part", "name", "answer", "votes", "share", "simulated", "miss", "false_alarm"]
_ROWS = [
    ("matrix", "present", "no", 20, 0.2),
    ("matrix", "present", "maybe", 10, 0.1),
    ("matrix", "present", "yes", 70, 0.7),
    ("matrix", "absent", "no", 950, 0.95),
    ("matrix", "absent", "maybe", 0, 0),
    ("matrix", "absent", "yes", 50, 0.05),
    ("gold", "present", "yes", 8, 0.8),
    ("worker", "a", None, 800, None, None, 0.25, 0.04),
    ("worker", "b", None, 300, None, None, 0.5, 0),
    ("worker", "c", None, 1, None, None, None, 0.1),  # met no present class
    ("yes", "0", None, None, 0.6, 0.5),
    ("yes", "1", None, None, 0.4, 0.5),
]
VOTES = pd.DataFrame([dict(zip(COLUMNS, row, strict=False)) for row in _ROWS])


def names(axes, which: str) -> list[str]:
    return [text.get_text() for text in getattr(axes, f"get_{which}ticklabels")()]


def test_confusion_shows_answers_workers_and_agreement() -> None:
    drawing = figures.make("confusion")(VOTES)
    said, each, agree = drawing.axes
    written = {(t.get_position()[0], round(t.get_position()[1]), t.get_text()) for t in said.texts}
    assert {(0, 0, "20.0%"), (0, 0, "20"), (2, 0, "experts: 80.0%"), (0, 1, "950")} <= written
    # No false alarm has a place at the edge of the log axis.
    np.testing.assert_allclose(each.collections[0].get_offsets(), [[0.04, 0.25], [0.001, 0.5]])
    assert [bar.get_height() for bar in agree.patches] == [0.6, 0.4, 0.5, 0.5]


@pytest.mark.parametrize("part", ["matrix", "worker", "yes"])
def test_confusion_needs_votes(part: str) -> None:
    with pytest.raises(BadInput, match="confusion: the table has no votes"):
        figures.make("confusion")(VOTES[VOTES["part"] != part])


def test_depths_stack_what_is_known_and_missing_from_the_top_down() -> None:
    shares = {0: (0.4, 0.5, 0.04, 0.06), 1: (0.1, 0.2, 0.3, 0.4)}
    rows = [
        {"scheme": "rpa", "depth": d, "classes": 5 + d, "state": state, "share": share}
        for d, each in shares.items()
        for state, share in zip(STATES, each, strict=True)
    ]
    (axes,) = figures.make("label-depths")(pd.DataFrame(rows)).axes
    bars = axes.patches[1::2]  # depth 1: present, present but unknown, absent but unknown, absent
    wanted = [(0, 0.1), (0.1, 0.3), (0.4, 0.4), (0.8, 0.2)]
    np.testing.assert_allclose([(bar.get_x(), bar.get_width()) for bar in bars], wanted)
    assert [bool(bar.get_hatch()) for bar in bars] == [False, True, True, False]
    assert names(axes, "y") == ["depth 0\n5 classes", "depth 1\n6 classes"]


def test_distributions_are_labels_over_truth() -> None:
    columns = {"scheme": list("aabb"), "class": ["dog", "cat"] * 2, "true": [100, 20] * 2}
    table = pd.DataFrame({**columns, "present": [30, 6, 10, 0]})
    first, second = figures.make("distributions", columns=2)(table).axes
    assert first.get_title("left") == "a: 30%"
    assert [bar.get_height() for bar in second.patches] == [10, 0.5]  # below the axis
    np.testing.assert_array_equal(first.lines[0].get_ydata(), [100, 20])


def written(axes) -> list[tuple[str, str]]:
    return [(text.get_text(), text.get_color()) for text in axes.texts]


def test_a_hierarchy_is_blue_where_classes_have_children() -> None:
    edges = [("dog", "animal"), ("dog", "pet"), ("animal", "pet")]
    table = Hierarchy.of(["dog", "animal", "pet", "stone"], edges).table()
    (axes,) = figures.make("hierarchy")(table).axes
    assert written(axes) == [
        ("pet", BLUE), ("animal", BLUE), ("dog", INK), ("also pet", PALE), ("stone", INK)
    ]  # fmt: skip
    assert len(axes.collections[0].get_paths()) == 2  # branches to animal and to dog


@pytest.mark.parametrize("name, most", [("coco-80", 200), ("lvis-1203", 60)])
def test_columns_of_a_hierarchy_begin_with_ancestors_and_hold_their_names(name, most) -> None:
    tree = shipped(name)
    drawing = figures.make("hierarchy", columns=3, most=most)(tree.table())
    every = [text for axes in drawing.axes for text, color in written(axes) if color != PALE]
    assert sorted(every) == sorted(tree.classes) if name == "coco-80" else len(every) <= most
    assert ("upper levels" in drawing.get_supxlabel()) == (name == "lvis-1203")
    assert written(drawing.axes[1])[0][1] == PALE
    for axes in drawing.axes:
        right = axes.get_window_extent().x1
        assert all(text.get_window_extent().x1 <= right + 2 for text in axes.texts)


@pytest.mark.parametrize("picture", [None, np.zeros((4, 4, 3), np.uint8)])
def test_cells_say_what_is_true_and_what_schemes_know(picture) -> None:
    columns = {"scheme": list("aaabbb"), "class": ["cat", "dog", "cow"] * 2}
    columns |= {"present": [True, False, False] * 2, "state": [1, 0, -1, 0, 0, 0]}
    table = pd.DataFrame({**columns, "dollars": [0.02] * 3 + [0.5] * 3})
    *left, axes = figures.make("revealed", absent=1, picture=picture)(table).axes
    assert [len(each.images) for each in left] == ([] if picture is None else [1])
    assert names(axes, "x") == ["truth", "a\n2.0 ¢", "b\n50.0 ¢"]
    # Of the absent classes the one that a scheme knows of is shown.
    assert names(axes, "y") == ["cat", "cow", "1 more absent"]
    signs = {t.get_position(): t.get_text() for t in axes.texts if t.get_text() in ("+", "−")}
    assert signs == {(0, 0): "+", (1, 0): "+", (0, 1): "−", (1, 1): "−"}
