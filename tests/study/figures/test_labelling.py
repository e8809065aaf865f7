"""Labels as they are bought: what the figures of answers, levels, classes and schemes show."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.shipped import shipped
from simkit.study import figures
from simkit.study.analysis.labelling import STATES
from simkit.study.figures.style import BLUE, INK, PALE
from tests.study.figures.made import legend


def names(axes, which: str) -> list[str]:
    return [text.get_text() for text in getattr(axes, f"get_{which}ticklabels")()]


def votes(part: str, name: str, **numbers) -> dict:
    absent = dict.fromkeys(("votes", "share", "simulated", "miss", "false_alarm"), np.nan)
    return {"part": part, "name": name, "answer": None, **absent, **numbers}


VOTES = [
    votes("matrix", "present", answer="no", votes=20, share=0.2),
    votes("matrix", "present", answer="maybe", votes=10, share=0.1),
    votes("matrix", "present", answer="yes", votes=70, share=0.7),
    votes("matrix", "absent", answer="no", votes=950, share=0.95),
    votes("matrix", "absent", answer="maybe", votes=0, share=0),
    votes("matrix", "absent", answer="yes", votes=50, share=0.05),
    votes("gold", "present", answer="yes", votes=8, share=0.8),
    votes("worker", "a", votes=800, miss=0.25, false_alarm=0.04),
    votes("worker", "b", votes=300, miss=0.5, false_alarm=0),
    votes("worker", "c", votes=1, false_alarm=0.1),  # met no present class
    votes("yes", "0", share=0.6, simulated=0.5),
    votes("yes", "1", share=0.4, simulated=0.5),
]


def test_confusion_shows_shares_and_numbers_workers_and_agreement() -> None:
    drawing = figures.make("confusion")(pd.DataFrame(VOTES))
    said, each, agree = drawing.axes
    assert drawing.get_suptitle() == "How 3 people answer: 1,100 votes"
    assert names(said, "x") == ["says no", "says maybe", "says yes"]
    assert names(said, "y") == ["present", "absent"]
    written = {(t.get_position()[0], round(t.get_position()[1]), t.get_text()) for t in said.texts}
    assert {(0, 0, "20.0%"), (0, 0, "20"), (2, 0, "experts: 80.0%"), (0, 1, "950")} <= written
    # Nothing stands at the edge of the log axis.
    np.testing.assert_allclose(each.collections[0].get_offsets(), [[0.04, 0.25], [0.001, 0.5]])
    large, small = each.collections[0].get_sizes() - 12
    assert large == pytest.approx(small * 800 / 300)
    assert [bar.get_height() for bar in agree.patches] == [0.6, 0.4, 0.5, 0.5]


def test_confusion_has_no_column_for_maybe_where_nobody_said_so() -> None:
    table = pd.DataFrame(VOTES)
    table.loc[table["answer"] == "maybe", "votes"] = 0
    assert names(figures.make("confusion")(table).axes[0], "x") == ["says no", "says yes"]


@pytest.mark.parametrize("part", ["matrix", "worker", "yes"])
def test_confusion_needs_votes(part: str) -> None:
    table = pd.DataFrame(VOTES)
    with pytest.raises(BadInput, match="confusion: the table holds no votes"):
        figures.make("confusion")(table[table["part"] != part])


def test_depths_stack_what_is_known_and_missing_from_the_top_down() -> None:
    shares = {0: (0.4, 0.5, 0.04, 0.06), 1: (0.1, 0.2, 0.3, 0.4)}
    rows = [
        {"scheme": s, "depth": d, "classes": 5 + d, "state": state, "share": share}
        for s in ("verify", "path-only")
        for d, each in shares.items()
        for state, share in zip(STATES, each, strict=True)
    ]
    drawing = figures.make("label-depths")(pd.DataFrame(rows))
    first = drawing.axes[0]
    assert [axes.get_title("left") for axes in drawing.axes] == ["verify", "path-only"]
    bars = first.patches[1::2]  # depth 1: present, present but unknown, absent but unknown, absent
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [
        pytest.approx(each) for each in [(0, 0.1), (0.1, 0.3), (0.4, 0.4), (0.8, 0.2)]
    ]
    assert [bool(bar.get_hatch()) for bar in bars] == [False, True, True, False]
    assert names(first, "y") == ["depth 0\n5 classes", "depth 1\n6 classes"]
    assert first.yaxis_inverted() and len(legend(drawing)) == 4


def test_distributions_are_labels_over_truth() -> None:
    columns = {"scheme": list("aabb"), "class": ["dog", "cat"] * 2, "true": [100, 20] * 2}
    table = pd.DataFrame({**columns, "present": [30, 6, 10, 0]})
    first, second = figures.make("distributions", columns=2)(table).axes
    assert first.get_title("left") == "a: 30%"
    assert [bar.get_height() for bar in second.patches] == [10, 0.5]  # below the axis
    assert first.get_ylim()[0] > 0.5
    np.testing.assert_array_equal(first.lines[0].get_ydata(), [100, 20])


def written(axes) -> list[tuple[str, str]]:
    return [(text.get_text(), text.get_color()) for text in axes.texts]


def test_a_hierarchy_is_blue_where_classes_have_children() -> None:
    edges = [("dog", "animal"), ("dog", "pet"), ("animal", "pet")]
    tree = Hierarchy.of(["dog", "animal", "pet", "stone"], edges)
    drawing = figures.make("hierarchy", heading="pets")(tree.table())
    (axes,) = drawing.axes
    assert written(axes) == [
        ("pet", BLUE), ("animal", BLUE), ("dog", INK), ("also pet", PALE), ("stone", INK)
    ]  # fmt: skip
    assert drawing.get_suptitle() == "pets"
    assert drawing.get_supxlabel().startswith("4 classes, 2 of them without children.")
    assert len(axes.collections[0].get_paths()) == 2  # to animal and to dog


def test_columns_of_a_hierarchy_begin_with_what_they_stand_below() -> None:
    tree = shipped("coco-80")
    columns = figures.make("hierarchy")(tree.table()).axes
    assert len(columns) == 3 and written(columns[1])[0] == ("artifact", PALE)
    every = [text for axes in columns for text, color in written(axes) if color != PALE]
    assert sorted(every) == sorted(tree.classes)
    for axes in columns:  # no line without its branch but those at the top
        own = [text for text in axes.texts if not text.get_text().startswith("also ")]
        indented = [text for text in own if text.get_position()[0] > 0]
        assert len(axes.collections[0].get_paths()) == len(indented)


@pytest.mark.parametrize("name, most", [("lvis-1203", 60), ("openimages-600", 90)])
def test_large_hierarchies_are_cut_and_keep_to_their_columns(name: str, most: int) -> None:
    drawing = figures.make("hierarchy", columns=3, most=most)(shipped(name).table())
    assert "; upper levels." in drawing.get_supxlabel() or name == "openimages-600"
    assert sum(color != PALE for axes in drawing.axes for _, color in written(axes)) <= most
    for axes in drawing.axes:
        right = axes.get_window_extent().x1
        assert all(text.get_window_extent().x1 <= right + 2 for text in axes.texts)


REVEALED = pd.DataFrame(
    {
        "scheme": list("aaabbb"),
        "class": ["cat", "dog", "cow"] * 2,
        "present": [True, False, False] * 2,
        "state": [1, 0, -1, 0, 0, 0],
        "dollars": [0.02] * 3 + [0.5] * 3,
    }
)


def test_cells_say_what_is_true_and_what_schemes_know() -> None:
    (axes,) = figures.make("revealed", absent=1)(REVEALED).axes
    assert names(axes, "x") == ["truth", "a\n2.0 ¢", "b\n50.0 ¢"]
    # Of the absent classes the one that a scheme knows of is shown.
    assert names(axes, "y") == ["cat", "cow", "1 more absent"]
    signs = {t.get_position(): t.get_text() for t in axes.texts if t.get_text() in ("+", "−")}
    assert signs == {(0, 0): "+", (1, 0): "+", (0, 1): "−", (1, 1): "−"}
    assert [text.get_text() for text in axes.texts].count("0 known") == 2


def test_a_revealed_picture_stands_beside_its_cells() -> None:
    picture = np.zeros((4, 4, 3), np.uint8)
    left, right = figures.make("revealed", picture=picture)(REVEALED).axes
    assert left.images[0].get_array().shape == (4, 4, 3)
    assert left.get_position().x1 < right.get_tightbbox().x0
