import pytest

from simkit.errors import BadInput
from simkit.study.figures.comparing.class_groups import ClassGroups
from simkit.study.figures.looks import look
from tests.study import planted_classes as planted


def drawn(**options):
    table = options.pop("table", None) or planted.table()
    return ClassGroups(**options)(table)


def curve(axes, method):
    style = look(method)
    return next(
        line
        for line in axes.lines
        if line.get_marker() == style.marker and line.get_color() == style.color
    )


def test_groups_go_from_rare_to_frequent_and_say_how_many_labels():
    drawing = drawn(groups=2, scheme="rpa")
    (axes,) = drawing.axes
    assert [t.get_text() for t in axes.get_xticklabels()] == [
        "G1\n1 to 5\n2 classes",
        "G2\n20 to 53\n2 classes",
    ]
    assert list(curve(axes, "an").get_ydata()) == pytest.approx([30, 60])
    assert drawing.get_supxlabel() == (
        "Bars: 95 % over 3 draws. Left out: 1 that no test image shows."
    )


def test_lines_are_named_at_their_ends():
    drawing = drawn(groups=2)
    names = [t.get_text() for t in drawing.axes[0].child_axes[0].get_yticklabels()]
    assert sorted(names) == ["AN", "CSL", "LL-R"]


def test_a_group_without_ap_has_no_point():
    (axes,) = drawn(groups=4).axes
    assert len(curve(axes, "an").get_xdata()) == 3


def test_more_groups_than_classes_are_as_many_as_classes():
    drawing = drawn(groups=9)
    assert len(drawing.axes[0].get_xticks()) == 4
    note = drawing.get_supxlabel().replace("\n", " ")
    assert "9 groups are asked for; 4 classes make no more." in note
    with pytest.raises(BadInput) as caught:
        drawn(groups=0)
    assert str(caught.value) == "class-groups: groups is 0; 1 to 10 are expected"


def test_one_draw_has_no_intervals():
    drawing = drawn(groups=2, table=planted.table(draws=1, methods=["an"]))
    assert drawing.get_supxlabel().startswith("One draw: no intervals.")
    assert len(drawing.axes[0].lines) == 2  # the points, and what leads to their name


def test_more_groups_than_have_room_are_refused():
    with pytest.raises(BadInput) as caught:
        drawn(groups=1000)
    assert str(caught.value) == "class-groups: groups is 1000; 1 to 10 are expected"


def test_few_labels_are_not_none_and_bars_end_at_100():
    rows = planted.rows(methods=["an"])
    for row, ap in zip(rows, (0.5, 0.99, 1.0), strict=False):
        row |= {"ap": [ap] * 4}
    for row, present in zip(rows, (1, 0, 0), strict=False):
        row |= {"class_present": [present] * 4}
    (axes,) = drawn(table=planted.table(rows), groups=1).axes
    assert axes.get_xticklabels()[0].get_text() == "G1\n0.33\n4 classes"
    bar = axes.lines[0]
    low, high = bar.get_ydata()
    assert low > 0 and high == 100
