from itertools import pairwise

import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.figures.comparing.cost_curve import CostCurve
from simkit.study.figures.looks import look
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


def in_hours(hours=(2.0, 8.0), **fields):
    return runs.tidy(
        [
            planted.row(scheme="fpc", method="an", draw=d, map=0.4 + 0.01 * d, seconds=3500 * h,
                        budget_hours=h, dollars=20 * h) | fields
            for h in hours
            for d in range(3)
        ],
        classes=(),
    )  # fmt: skip


def test_budgets_in_hours_are_drawn_over_hours():
    drawing = CostCurve()(in_hours())
    (axes,) = drawing.axes
    drawing.draw_without_rendering()
    assert list(lines(axes)["AN"].get_xdata()) == pytest.approx([2 * 35 / 36, 8 * 35 / 36])
    assert [t.get_text() for t in axes.get_xticklabels()] == ["2 h", "8 h"]
    assert axes.get_xlabel() == "hours of annotation, log axis"
    (axes,) = CostCurve(over="dollars")(in_hours()).axes
    assert list(lines(axes)["AN"].get_xdata()) == [40, 160]


def test_hours_that_are_not_known_are_refused():
    with pytest.raises(BadInput) as caught:
        CostCurve(over="hours")(in_hours(seconds=None))
    assert str(caught.value) == (
        "cost-curve: the price list does not know the time of some labels; draw over dollars"
    )


def test_one_budget_shows_its_intervals_and_its_tick():
    drawing = CostCurve()(in_hours(hours=(2.0,)))
    (axes,) = drawing.axes
    _, spread = axes.lines
    # half = t(0.975, 2) * 0.01 / sqrt(3), in points
    assert list(spread.get_ydata()) == pytest.approx([41 - 2.484, 41 + 2.484], abs=1e-3)
    low, high = axes.get_xlim()
    assert low < 2 * 35 / 36 < 2 < high


def many(spec="m%d", methods=12):
    return runs.tidy(
        [
            r | {"method": spec % m, "map": 0.5 + 0.01 * m}
            for r in planted.rows(schemes=["fpc"], methods=["an"], draws=2, reference=False)
            for m in range(methods)
        ],
        classes=(),
    )


def test_of_many_methods_the_best_are_drawn():
    drawing = CostCurve()(many())
    assert list(lines(drawing.axes[0])) == [f"m{m}" for m in range(4, 12)]
    assert drawing.get_supxlabel().strip() == (
        "4 other methods are not shown; the option methods chooses."
    )
    assert list(lines(CostCurve(methods="m3,m1")(many()).axes[0])) == ["m1", "m3"]
    assert list(panels(CostCurve(panels="method", methods="m2")(many()))) == ["m2"]


@pytest.mark.parametrize("spec, names", [("m%d", 33), ("ll-cp(delta=%d)+boostlu(alpha=5)", 8)])
def test_legends_have_room_below(spec, names):
    table = many(spec, names)
    drawing = CostCurve(methods=[spec % m for m in range(names)])(table)
    drawing.draw_without_rendering()
    (legend,) = drawing.legends
    assert len(legend.get_texts()) == names
    below = min(axes.get_tightbbox().y0 for axes in drawing.axes)
    box = legend.get_window_extent()
    assert box.y1 <= below and box.x0 >= 0 and box.x1 <= drawing.bbox.width


def test_long_names_of_schemes_keep_to_their_panels():
    rows = planted.rows(schemes=["fpc", "rpa"], methods=["an"], draws=2)
    long = {"fpc": "fpc(per_class=100,search=random,precision=0.2,keep_looks=false)", "rpa": "rpa"}
    table = runs.tidy([r | {"scheme": long.get(r["scheme"], "full")} for r in rows], classes=())
    drawing = CostCurve()(table)
    drawing.draw_without_rendering()
    first, second = drawing.axes[:2]
    assert first._left_title.get_window_extent().x1 < second.get_window_extent().x0


@pytest.mark.parametrize("options", [{}, {"panels": "method", "over": "hours"}])
def test_ticks_have_room_where_spends_are_close(options):
    rows = planted.rows(schemes=["fpc", "rpa", "full-subset"], methods=["an", "ll-r"])
    for row in rows:  # 450 dollars stand for 20 hours, in which all labels cost as much as for 120
        spent = {50.0: 60.0, 150.0: 120.0, 450.0: 108.0}.get(row["budget"], 108.0)
        row |= {"dollars": spent - 0.3, "seconds": 240 * spent}
        if row["scheme"] == "rpa" and spent == 120:  # as for 108, in hours
            row["seconds"] = 240 * 108
        row |= {"budget": None, "budget_hours": 20.0} if spent == 108 else {"budget": spent}
    drawing = CostCurve(**options)(runs.tidy(rows, classes=()))
    drawing.draw_without_rendering()
    texts = drawing.axes[0].get_xticklabels()
    assert [t.get_text() for t in texts] == (
        ["4 h", "7.2 h", "20 h"] if options else ["$60", "$120"]
    )
    boxes = [t.get_window_extent() for t in texts]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_ticks_of_many_budgets_have_room_over_decades():
    rows = [
        planted.row(scheme=scheme, method="an", draw=0, map=0.3, dollars=spent, budget=spent)
        for scheme, least in {"full-subset": 2.5, "rpa": 0.6, "single-positive": 0.06}.items()
        for spent in (least * 2**k for k in range(5))
    ]
    drawing = CostCurve()(runs.tidy(rows, classes=()))
    drawing.draw_without_rendering()
    axes = drawing.axes[0]
    low, high = axes.get_xlim()
    texts = [t for x, t in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
             if low <= x <= high]  # fmt: skip
    assert {"$0.10", "$1", "$10"} <= {t.get_text() for t in texts}
    boxes = [t.get_window_extent() for t in texts]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
