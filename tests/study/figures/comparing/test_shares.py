import pandas as pd
import pytest

from simkit.study import figures
from simkit.study.analysis.amounts import shares
from simkit.study.figures.looks import look
from simkit.study.figures.previous import label
from tests.study.analysis.test_amounts import bought as table


def drawn(found, **options):
    return figures.make("label-shares", **options)(found)


def line(axes, method):
    return next(one for one in axes.lines if one.get_marker() == look(method).marker)


def test_lines_rise_with_the_share_and_the_oracle_is_dashed():
    drawing = drawn(shares(table()))
    (axes,) = drawing.axes
    assert list(line(axes, "se").get_xdata()) == pytest.approx([0.1, 0.5])
    assert list(line(axes, "se").get_ydata()) == pytest.approx([9.5, 29.5])
    assert [text.get_text() for text in axes.texts] == ["Full labels: 90.0"]
    assert len(axes.collections) == 2
    names = [text.get_text() for text in axes.child_axes[0].get_yticklabels()]
    assert sorted(names) == ["AN", "SE"]
    assert drawing.get_supxlabel() == "Bands: 95 % over 2 draws. Dashed: everything labelled."


def test_other_methods_on_complete_labels_are_no_oracles():
    rows = shares(table()).to_dict("records")
    others = [rows[-1] | {"method": name, "mean": 0.8} for name in ("an", "full+boostlu")]
    (axes,) = drawn(pd.DataFrame([*rows, *others])).axes
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["Full labels: 90.0", f"{label('full+boostlu')}: 80.0"]


def test_the_share_may_be_of_all_labels():
    (axes,) = drawn(shares(table()), share="labels").axes
    assert list(line(axes, "an").get_xdata()) == pytest.approx([22 / 400, 110 / 400])
    assert axes.get_xlabel() == "share of all labels"


def test_differences_stand_beside_the_scores():
    drawing = drawn(shares(table(), base="an"))
    left, right = drawing.axes
    assert right.get_title("left") == "difference to AN"
    assert list(line(right, "se").get_ydata()) == pytest.approx([2, 2])
    assert all(one.get_marker() != look("an").marker for one in right.lines)
    assert left.get_ylim() != right.get_ylim()
    assert drawing.get_supxlabel().endswith("Right: AN is 0, paired by draw.")


def test_one_draw_has_no_bands():
    drawing = drawn(shares(table(draws=1), base="an"))
    assert not any(axes.collections for axes in drawing.axes)
    assert drawing.get_supxlabel().startswith("One draw: no bands.")
