import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.base import look
from simkit.study.figures.cost_curve import CostCurve
from tests.study import planted


def panels(drawing):
    return {axes.get_title("left"): axes for axes in drawing.axes if axes.get_title("left")}


def lines(axes):
    return {line.get_label(): line for line in axes.lines}


def test_a_panel_for_each_scheme_and_a_line_for_each_method():
    drawn = panels(CostCurve()(planted.table()))
    assert list(drawn) == planted.SCHEMES
    found = lines(drawn["rpa"])
    assert list(found) == ["AN", "Ignore", "LL-R", "AN + BoostLU", "LL-R + BoostLU",
                           "Full labels, $1,650"]  # fmt: skip
    assert list(found["AN"].get_xdata()) == pytest.approx([49.5, 148.5, 445.5])
    assert found["AN"].get_color() == look("an").color
    assert drawn["rpa"].get_xscale() == "log" and len(drawn["rpa"].collections) == 5


def test_points_are_means_in_points():
    wanted = {"scheme": "fpc", "method": "an", "budget": 50.0}
    cells = [row for row in planted.rows() if wanted.items() <= row.items()]
    line = lines(panels(CostCurve()(planted.table()))["fpc"])["AN"]
    assert line.get_ydata()[0] == pytest.approx(100 * sum(r["map"] for r in cells) / 5)


def test_panels_may_be_methods():
    drawn = panels(CostCurve(panels="method")(planted.table()))
    assert list(drawn)[:2] == ["AN", "Ignore"]
    assert list(lines(drawn["AN"]))[:5] == planted.SCHEMES


def test_amounts_as_written_make_one_curve_of_each_scheme():
    rows = [
        planted.row(
            scheme=f"fpc(per_class={k})",
            method="an",
            draw=d,
            map=0.1 * k + 0.01 * d,
            dollars=9.0 * k,
        )
        for k in (1, 2, 3)
        for d in range(2)
    ]
    drawn = panels(CostCurve()(runs.tidy(rows, classes=())))
    assert list(drawn) == ["fpc"] and list(lines(drawn["fpc"])["AN"].get_xdata()) == [9, 18, 27]


def test_one_draw_has_no_band():
    drawn = panels(CostCurve()(planted.table(draws=1)))
    assert len(drawn["fpc"].collections) == 0


def test_an_empty_table_is_refused():
    with pytest.raises(BadInput, match=r"^cost-curve: the table holds no runs; run"):
        CostCurve()(runs.tidy([], classes=()))
