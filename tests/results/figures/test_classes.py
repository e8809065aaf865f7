"""AP of classes and their labels are what is drawn."""

import numpy as np
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.results import runs
from tests.results import planted_classes as planted
from tests.results.figures.made import caption, legend, named_lines
from tests.results.figures.test_every_table import check_picture

OF_CLASSES = ["class-difference", "class-groups", "per-class"]


def names(texts) -> list[str]:
    return [text.get_text() for text in texts]


def test_rows_go_from_frequent_to_rare_with_their_labels() -> None:
    drawing = figures.make("per-class", scheme="rpa")(planted.table())
    (axes,) = drawing.axes
    assert names(axes.get_yticklabels()) == ["common", "middle", "rare"]
    assert names(axes.child_axes[0].get_yticklabels()) == ["53", "20", "5"]
    assert list(named_lines(axes)["LL-R"].get_xdata()) == pytest.approx([60, 55, 50])
    assert len(axes.collections) == 3 and "rpa for up to $10" in drawing.get_suptitle()
    assert "not shown: 1" in caption(drawing)
    (axes,) = figures.make("per-class", most=2, methods="an")(planted.table()).axes
    assert names(axes.get_yticklabels()) == ["common", "rare"] and len(named_lines(axes)) == 1
    with pytest.raises(BadInput, match="per-class: most is 0"):
        figures.make("per-class", most=0)(planted.table())


def test_groups_go_from_rare_to_frequent_with_their_intervals() -> None:
    drawing = figures.make("class-groups", groups=2, scheme="rpa")(planted.table())
    (axes,) = drawing.axes
    ticks = ["G1\n1 to 5\n2 classes", "G2\n20 to 53\n2 classes"]
    assert names(axes.get_xticklabels()) == ticks
    assert list(named_lines(axes)["AN"].get_ydata()) == pytest.approx([30, 60])
    assert sorted(legend(drawing)) == ["AN", "CSL", "LL-R"]
    bars = axes.collections[0].get_segments()
    # half = t(0.975, 2) * 0.01 / sqrt(3) = 2.484 points
    assert [np.ptp(bar[:, 1]) for bar in bars] == pytest.approx([4.968] * 2, abs=1e-3)
    (axes,) = figures.make("class-groups", groups=9)(planted.table()).axes
    assert len(axes.get_xticks()) == 4
    assert len(named_lines(axes)["AN"].get_xdata()) == 3  # one group has no AP
    with pytest.raises(BadInput, match="class-groups: groups is 11"):
        figures.make("class-groups", groups=11)(planted.table())


def test_differences_are_sorted_and_dark_where_labels_are_missing() -> None:
    drawing = figures.make("class-difference", scheme="rpa")(planted.table())
    axes = drawing.axes[0]
    bars, strip = axes.patches[:3], axes.patches[3:]
    assert [bar.get_height() for bar in bars] == pytest.approx([-10, 5, 20])
    assert names(axes.get_xticklabels()) == ["common", "middle", "rare"]
    light = [np.dot(bar.get_facecolor()[:3], (0.299, 0.587, 0.114)) for bar in bars]
    assert light == sorted(light, reverse=True) and light[0] - light[2] > 0.5
    assert [bar.get_facecolor() for bar in strip] == [bar.get_facecolor() for bar in bars]
    assert "LL-R instead of AN" in drawing.get_suptitle()
    note = caption(drawing)
    assert "Better in 2 of 3 classes" in note and "+1.00" in note
    axes = figures.make("class-difference", scheme="rpa", most=2)(planted.table()).axes[0]
    assert names(axes.get_xticklabels()) == ["common", "rare"]  # the largest of -10, 5 and 20
    same = {"class_present": [50] * 4, "class_absent": [50] * 4}  # no label is missing
    drawing = figures.make("class-difference")(planted.table(**same))
    assert len(drawing.axes) == 1 and len(drawing.axes[0].patches) == 3


def test_any_two_methods_can_be_compared() -> None:
    axes = figures.make("class-difference", first="an", second="csl")(planted.table()).axes[0]
    assert [bar.get_height() for bar in axes.patches[:3]] == pytest.approx([-1, -1, -1])
    other = figures.make("class-difference", first="an")(planted.table())
    assert "AN instead of LL-R" in other.get_suptitle()  # the highest other
    for table, options in ((planted.table(methods=["an"]), {}), (planted.table(), {"first": "an"})):
        with pytest.raises(BadInput, match=r"class-difference: .* two"):
            figures.make("class-difference", second="an", **options)(table)


def test_many_classes_have_no_names() -> None:
    lists = ("ap", "class_present", "class_absent")
    rows = [row | {name: row[name] * 40 for name in lists} for row in planted.rows(draws=2)]
    drawing = figures.make("class-difference")(runs.to_table(rows))
    assert "120 classes" in drawing.axes[0].get_xlabel() and not drawing.axes[0].get_xticks().size
    drawing = figures.make("per-class")(runs.to_table(rows))
    assert len(drawing.axes[0].get_yticks()) == 60
    check_picture(drawing)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_are_leaves_unless_asked_and_need_an_ap(name: str) -> None:
    table = planted.table(leaves=(1, 2, 3))
    assert "Leaves only: 3 of 4" in caption(figures.make(name)(table))
    assert "Leaves" not in caption(figures.make(name, classes="all")(table))
    with pytest.raises(BadInput, match=f"{name}: no class has an AP"):
        figures.make(name)(planted.table(ap=[None] * 4))
    with pytest.raises(BadInput, match=rf"{name}: no scheme of the table is called 'rpb'"):
        figures.make(name, scheme="rpb")(table)
