import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.comparing.per_class import PerClass
from tests.study import planted_classes as planted


def test_rows_go_from_frequent_to_rare_with_their_labels():
    drawing = PerClass(scheme="rpa")(planted.table())
    (axes,) = drawing.axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["common", "middle", "rare"]
    counts = axes.child_axes[0].get_yticklabels()
    assert [t.get_text() for t in counts] == ["53", "20", "5"]
    assert drawing.get_suptitle() == "What each class reaches with rpa at $10"
    note = drawing.get_supxlabel().replace("\n", " ")
    assert note.endswith("Not shown: 1 that no test image shows.")


def test_a_dot_for_each_method_and_class_with_its_interval():
    (axes,) = PerClass(methods="an,ll-r")(planted.table(draws=2)).axes
    found = {line.get_label(): line for line in axes.lines if line.get_marker() != "None"}
    assert list(found) == ["AN", "LL-R"]
    assert list(found["LL-R"].get_xdata()) == pytest.approx([59.5, 54.5, 49.5])
    assert len(axes.lines) == 2 + 2 * 3
    (alone,) = PerClass(methods=("an",))(planted.table(draws=1)).axes
    assert len(alone.lines) == 1


def test_of_many_classes_some_of_every_frequency_are_shown():
    (axes,) = PerClass(most=2)(planted.table()).axes
    assert [t.get_text() for t in axes.get_yticklabels()] == ["common", "rare"]
    with pytest.raises(BadInput) as caught:
        PerClass(most=0)(planted.table())
    assert str(caught.value) == "per-class: most is 0; at least one class is expected"


def test_methods_that_are_left_out_are_told():
    rows = [r | {"method": f"m{k}"} for r in planted.rows(methods=["an"]) for k in range(5)]
    note = PerClass()(planted.table(rows)).get_supxlabel().replace("\n", " ")
    assert note.endswith("2 other methods are not shown; the option methods chooses.")


def test_names_stand_as_they_are_and_keep_to_their_place():
    rows = planted.rows()
    table = runs.tidy(rows, classes=["$5 to $10", "x" * 99, "$\\frac$", ""])
    drawing = PerClass()(table)
    drawing.draw_without_rendering()
    names = [t.get_text() for t in drawing.axes[0].get_yticklabels()]
    assert names == ["$5 to $10", "x" * 27 + "…", "$\\frac$"]


def test_a_table_without_any_ap_is_refused():
    with pytest.raises(BadInput) as caught:
        PerClass()(planted.table(ap=[None] * 4))
    assert str(caught.value) == ("per-class: no class has an AP; the test split shows none of them")


def test_the_legend_keeps_inside_whatever_methods_are_called():
    long = "ll-cp(delta=0.5)+boostlu(alpha=%d)"
    rows = [r | {"method": long % k} for r in planted.rows(methods=["an"]) for k in range(3)]
    drawing = PerClass()(planted.table(rows))
    drawing.draw_without_rendering()
    (axes,) = drawing.axes
    box = axes.get_legend().get_window_extent()
    assert len(axes.get_legend().get_texts()) == 3
    assert box.x1 <= drawing.bbox.width and box.y1 <= drawing.bbox.height
