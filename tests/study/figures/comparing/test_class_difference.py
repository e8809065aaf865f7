import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.comparing.class_difference import ClassDifference
from tests.study import planted_classes as planted


def heights(axes, classes):
    return [bar.get_height() for bar in axes.patches[:classes]]


def lightness(color):
    return float(np.dot(color[:3], (0.299, 0.587, 0.114)))


def test_bars_are_sorted_differences_dark_where_labels_are_missing():
    drawing = ClassDifference(scheme="rpa")(planted.table())
    axes = drawing.axes[0]
    assert heights(axes, 3) == pytest.approx([-10, 5, 20])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["common", "middle", "rare"]
    shades = [lightness(bar.get_facecolor()) for bar in axes.patches[:3]]
    assert shades == sorted(shades, reverse=True) and shades[0] - shades[2] > 0.5
    strip = [bar.get_facecolor() for bar in axes.patches[3:6]]
    assert strip == [bar.get_facecolor() for bar in axes.patches[:3]]
    assert drawing.get_suptitle() == "Which classes gain by LL-R instead of AN: rpa at $10"
    assert drawing.get_supxlabel().replace("\n", " ") == (
        "Better in 2 of 3 classes; lines: 95 % over 3 draws, each class alone, not corrected for "
        "many. Not shown: 1 that no test image shows. "
        "Rank correlation of the difference with the share that is missing: +1.00."
    )


def test_any_two_methods_can_be_named():
    axes = ClassDifference(first="an", second="csl")(planted.table()).axes[0]
    assert heights(axes, 3) == pytest.approx([-1, -1, -1])
    assert axes.get_ylabel() == "AP of AN − CSL, points"
    other = ClassDifference(first="an")(planted.table())
    assert other.axes[0].get_ylabel() == "AP of AN − LL-R, points"  # the highest other


def test_two_methods_are_needed():
    with pytest.raises(BadInput) as caught:
        ClassDifference()(planted.table(methods=["an"]))
    assert str(caught.value) == (
        "class-difference: the table holds one method, 'an'; two are needed"
    )
    with pytest.raises(BadInput) as caught:
        ClassDifference(first="an", second="an")(planted.table())
    assert str(caught.value) == (
        "class-difference: first and second are both 'an'; name two methods"
    )


def test_labels_that_are_missing_alike_have_no_correlation():
    drawing = ClassDifference()(planted.table(class_present=[5] * 4, class_absent=[5] * 4))
    assert "correlation" not in drawing.get_supxlabel()
    drawing.draw_without_rendering()


def test_one_draw_says_so():
    note = ClassDifference()(planted.table(draws=1)).get_supxlabel()
    assert note.startswith("Better in 2 of 3 classes; one draw, so any of it may be noise.")


def test_many_classes_have_no_names():
    rows = [
        r | {name: r[name] * 40 for name in ("ap", "class_present", "class_absent")}
        for r in planted.rows(draws=2)
    ]
    axes = ClassDifference()(runs.tidy(rows, classes=())).axes[0]
    assert axes.get_xlabel() == "120 classes, by their difference" and not axes.get_xticks().size


def test_a_table_without_any_ap_is_refused():
    with pytest.raises(BadInput) as caught:
        ClassDifference()(planted.table(ap=[None] * 4))
    assert str(caught.value) == (
        "class-difference: no class has an AP; the test split shows none of them"
    )


def test_long_names_are_in_the_picture():
    long = {
        "an": "csl(gamma_pos=1,gamma_neg=3,gamma_unknown=4)",
        "ll-r": "ll-cp(delta=0.5)+boostlu",
    }
    rows = [r | {"method": long[r["method"]]} for r in planted.rows(methods=["an", "ll-r"])]
    names = [f"a class with a rather long name, number {k}" for k in range(4)]
    drawing = ClassDifference()(runs.tidy(rows, classes=names))
    drawing.draw_without_rendering()
    box = drawing.axes[0].yaxis.label.get_window_extent()
    assert box.y0 >= 0 and box.y1 <= drawing.bbox.height and box.x0 >= 0
    assert drawing.axes[0].get_window_extent().height > 2 * drawing.dpi


def test_lines_are_seen_on_dark_bars_and_end_above_the_strip():
    rows = planted.rows(methods=["an", "csl"])
    for row in rows:  # from draw to draw far up and down
        row["ap"] = [0.4 + 0.2 * row["draw"] * (row["method"] == "csl"), 0.5, 0.3, None]
    drawing = ClassDifference()(planted.table(rows))
    axes = drawing.axes[0]
    drawing.draw_without_rendering()
    strip = axes.patches[3].get_window_extent().y1
    spreads = [line for line in axes.lines if line.get_path_effects()]
    assert len(spreads) == 3
    assert all(line.get_window_extent().y0 > strip for line in spreads)


def test_where_no_label_is_missing_there_is_no_scale():
    drawing = ClassDifference()(planted.table(class_present=[50] * 4, class_absent=[50] * 4))
    assert len(drawing.axes) == 1 and len(drawing.axes[0].patches) == 3
    assert "not corrected for many. No labels are missing." in (
        drawing.get_supxlabel().replace("\n", " ")
    )
