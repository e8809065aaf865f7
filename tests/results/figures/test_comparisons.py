"""The scores, intervals and tests of a comparison are what is drawn."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from simkit.results import runs
from simkit.results.figures.style import looks
from simkit.results.result_tables import opened
from tests.results import planted, planted_classes
from tests.results.figures.made import caption, legend, named_lines
from tests.results.figures.test_every_table import check_picture


def panels(drawing) -> dict:
    return {axes.get_title("left"): axes for axes in drawing.axes if axes.get_title("left")}


def beside(axes) -> list[str]:
    return [text.get_text() for text in axes.child_axes[0].get_yticklabels()]


def ticks(axes) -> list[str]:
    axes.figure.draw_without_rendering()
    return [text.get_text() for text in axes.get_xticklabels()]


def means(values, **fields) -> pd.DataFrame:
    """Rows of means from 0 to 1 over 3 draws, with intervals of 0.02 to both sides."""
    mean = np.array(values, float)
    rows = pd.DataFrame({"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "draws": 3})
    return rows.assign(scheme="rpa", missing=0, **fields)


# --- heat-map -------------------------------------------------------------------------------------


def heat_map(scores):
    """Numbers, and the texts on the right, for scores by scheme and method: {draw: score}."""
    rows = [
        planted.row(scheme=scheme, method=method, budget=9.5, draw=draw, map=score)
        for (scheme, method), by_draw in scores.items() for draw, score in by_draw.items()
    ]  # fmt: skip
    drawing = figures.make("heat-map")(runs.to_table(rows))
    axes = drawing.axes[0]
    return [text.get_text() for text in axes.texts], beside(axes)


def test_a_heat_map_compares_the_draws_that_all_methods_of_a_row_have() -> None:
    an, em = {0: 0.4, 1: 0.42, 5: 0.1}, {0: 0.39, 1: 0.41, 2: 0.99}
    numbers, _ = heat_map({("fpc", "an"): an, ("fpc", "em"): em})
    assert numbers == ["41.0", "40.0"]  # not 30.7, framed as the highest, and 59.7


def test_a_heat_map_counts_the_error_of_the_choice_of_settings() -> None:
    for error, shown in ((None, "best: LL-R"), (0.05, "LL-R: ")):
        rows = [
            planted.row(scheme="fpc", method=method, budget=9.5, draw=draw, map=score + draw / 1000)
            | {"tuned_error": error}
            for method, score in (("an", 0.4), ("ll-r", 0.42)) for draw in range(4)
        ]  # fmt: skip
        (text,) = beside(figures.make("heat-map")(runs.to_table(rows)).axes[0])
        assert text.startswith(shown)


@pytest.mark.parametrize(
    "best, assumed",
    [("fpc", True), ("fpc(search=random)", False), ("rpa", False), ("of elsewhere", False)],
)
def test_a_heading_says_when_the_best_scheme_rests_on_an_assumed_model(best, assumed) -> None:
    rows = [
        planted.row(scheme=scheme, method="an", budget=9.5, draw=draw, map=score + draw / 1000)
        for scheme, score in ((best, 0.6), ("single-positive", 0.3)) for draw in range(4)
    ]  # fmt: skip
    heading = figures.make("heat-map")(runs.to_table(rows)).get_suptitle()
    assert f"{best} is best" in heading and heading.endswith(", with an assumed model") == assumed


def test_a_heat_map_names_the_cost_of_schemes_that_keep_their_amounts() -> None:
    for budget, shown in ((9.5, "rpa"), (None, "rpa, $9.50")):
        row = planted.row(scheme="rpa", method="an", budget=budget, draw=0, map=0.4)
        drawing = figures.make("heat-map")(runs.to_table([row | {"dollars": 9.5}]))
        (label,) = drawing.axes[0].get_yticklabels()
        assert label.get_text().splitlines()[0] == shown


def test_a_heat_map_names_the_assumption_of_a_scheme_that_makes_one() -> None:
    schemes = ("fpc", "fpc(search='random')", "rpa")
    rows = [planted.row(scheme=one, method="an", budget=9.5, draw=0, map=0.4) for one in schemes]
    labels = figures.make("heat-map")(runs.to_table(rows)).axes[0].get_yticklabels()
    shown = {label.get_text().splitlines()[0]: "50% right" in label.get_text() for label in labels}
    assert shown == {"fpc": True, "fpc(search='random')": False, "rpa": False}


def test_a_heat_map_names_the_price_without_a_machine_of_the_purchase_that_it_shows() -> None:
    said = "fpc assumes a free model: its labels cost $9.5; without such a model, $20"
    rows = [
        planted.row(scheme="fpc", method="an", budget=budget, draw=0, map=0.4)
        | {"dollars": budget} for budget in (3.0, 9.5)
    ]  # fmt: skip
    table = runs.to_table(rows, {"assumes": (said,)})
    assert said in caption(figures.make("heat-map", budget=9.5)(table))
    small = caption(figures.make("heat-map", budget=3.0)(table))
    assert "fpc assumes a free model." in small and "$20" not in small


# --- matrix ---------------------------------------------------------------------------------------


def test_a_matrix_has_families_in_order_and_marks_what_may_be_the_best() -> None:
    means = {"ll-r": 0.3, "lsan": 0.5, "ignore": 0.2, "ll-ct": 0.4, "an": 0.6}
    rows = [
        planted.row(scheme=scheme, method=method, budget=9.5, draw=draw, map=mean + one)
        for scheme in ("fpc", "rpa") for place, (method, mean) in enumerate(means.items())
        for draw, one in enumerate(0.01 + np.roll([-1e-4, 0.0, 1e-4], place) * (1 + place))
        if (scheme, method) != ("rpa", "an")
    ]  # fmt: skip
    every = [planted.row(scheme="full-subset", method="an", reference=True, draw=0, map=0.7)]
    table = runs.to_table(rows + every)
    (axes,) = figures.make("matrix")(table).axes
    methods = ["AN", "Ignore", "LSAN", "LL-Ct", "LL-R"]  # the best of a family first
    assert ticks(axes) == methods
    named = [text.get_text() for text in axes.get_yticklabels()]
    assert named == ["fpc", "rpa", "mean", "all labels"]
    numbers = [text.get_text() for text in axes.texts]
    assert numbers[:7] == ["61.0", "21.0", "51.0", "41.0", "31.0", "", "21.0"]
    assert numbers[15:] == ["70.0", "", "", "", ""]
    assert [t.get_text() for t in axes.texts if t.get_weight() == "bold"] == ["61.0", "51.0"]
    drawing = figures.make("matrix", methods="ll-r, an")(table)
    assert ticks(drawing.axes[0]) == ["AN", "LL-R"] and "3 other methods" in caption(drawing)


# --- ablation, sweep ------------------------------------------------------------------------------

VARIATIONS = means(
    [0.5, 0.6, 0.51], method=["an", "an+boostlu", "an+cl"], base=[True, False, False],
    significant=[None, True, False], gap=[None, 0.1, 0.01], gap_low=[None, 0.08, -0.02],
    gap_high=[None, 0.12, 0.04],
)  # fmt: skip


def test_an_ablation_shows_means_and_significant_differences_to_the_base() -> None:
    drawing = figures.make("ablation")(VARIATIONS)
    (axes,) = drawing.axes
    assert ticks(axes) and [t.get_text() for t in axes.get_yticklabels()][1] == "AN + BoostLU"
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == pytest.approx([50, 60, 51])
    filled = [dot.get_markerfacecolor() == dot.get_color() for dot in dots]
    assert filled == [True, True, False]
    assert beside(axes) == ["base", "+10.0  (+8.0 to +12.0)", "+1.0  (-2.0 to +4.0)"]
    weights = [text.get_fontweight() for text in axes.child_axes[0].get_yticklabels()]
    assert weights == ["normal", "bold", "normal"]
    assert "against AN" in drawing.get_suptitle()
    several = pd.concat([VARIATIONS, VARIATIONS.assign(scheme="rpa")])  # with a common label
    found = figures.make("ablation")(several, "BoostLU gains ten points")
    assert found.get_suptitle() == "BoostLU gains ten points"


def test_an_ablation_says_where_a_base_and_runs_are_missing() -> None:
    other = VARIATIONS[1:].assign(scheme="fpc", gap=np.nan, gap_low=np.nan, missing=2)
    both = pd.concat([VARIATIONS, other])
    both.attrs["failures"] = ["why"]
    drawing = figures.make("ablation")(both)
    assert list(panels(drawing)) == ["rpa", "fpc"]
    assert beside(drawing.axes[1]) == ["no baseline"] * 2
    note = caption(drawing)
    assert "left out: 4" in note and "Failures of the comparison: 1" in note


# --- amounts and costs of labels ------------------------------------------------------------------


def test_cost_curves_rise_from_budget_to_budget() -> None:
    table = opened(planted.table())
    table.attrs |= {"paid": "prices hourly, annotators never err", "assumes": ("fpc assumes",)}
    drawing = figures.make("cost-curve")(table)
    told = "Prices hourly, annotators never err. fpc assumes. Bands: "
    assert caption(drawing).startswith(told)
    drawn = panels(drawing)
    assert list(drawn) == planted.SCHEMES
    lines = named_lines(drawn["fpc"])
    assert list(lines)[-2:] == ["LL-R + BoostLU", "Full labels, $1,650"]
    assert list(lines["AN"].get_xdata()) == pytest.approx([49.5, 148.5, 445.5])
    cell = {"scheme": "fpc", "method": "an", "budget": 50.0}
    scores = [row["map"] for row in planted.rows() if cell.items() <= row.items()]
    assert lines["AN"].get_ydata()[0] == pytest.approx(100 * np.mean(scores))
    assert lines["AN"].get_color() == looks(["an"])["an"].color
    assert ticks(drawn["fpc"]) == ["$50", "$150", "$450"] and len(drawn["fpc"].collections) == 5
    methods = panels(figures.make("cost-curve", panels="method", methods="an")(planted.table()))
    assert list(methods) == ["AN"] and list(named_lines(methods["AN"]))[:5] == planted.SCHEMES


def test_intervals_at_a_single_budget_stand_side_by_side() -> None:
    table = opened(planted.table())
    drawing = figures.make("cost-curve")(table[(table["budget"] == 150) | table["reference"]])
    assert "Bars: 95 %" in caption(drawing) and "side by side" in caption(drawing)
    for axes in panels(drawing).values():
        (low, high), points = axes.get_xlim(), [*named_lines(axes).values()][:5]
        at = [float(line.get_xdata()[0]) for line in points]
        assert low < min(at) and max(at) < high and np.diff(sorted(at)).min() > 0
        bars = sorted(bar.get_segments()[0][0][0] for bar in axes.collections)
        assert bars == pytest.approx(sorted(at))


def bought(**fields) -> pd.DataFrame:
    rows = [
        planted.row(scheme="fpc", method="an", draw=d, map=0.4 + 0.01 * d, seconds=3500 * h,
                    budget_hours=h, dollars=20 * h) | fields
        for h in (2.0, 8.0)
        for d in range(3)
    ]  # fmt: skip
    return runs.to_table(rows)


def test_cost_is_drawn_in_hours_where_budgets_are() -> None:
    (axes,) = figures.make("cost-curve")(bought()).axes
    assert list(axes.lines[0].get_xdata()) == pytest.approx([2 * 35 / 36, 8 * 35 / 36])
    assert ticks(axes) == ["2 h", "8 h"]
    (axes,) = figures.make("cost-curve", over="dollars")(bought()).axes
    assert list(axes.lines[0].get_xdata()) == [40, 160]
    with pytest.raises(BadInput, match=r"cost-curve: .* draw over dollars"):
        figures.make("cost-curve", over="hours")(bought(seconds=None))


def test_amounts_as_written_make_one_curve_of_each_scheme() -> None:
    rows = [
        planted.row(scheme=f"fpc(per_class={k})", method="an", draw=0, map=0.1, dollars=0.09 * 4**k)
        for k in range(1, 9)
    ]
    drawing = figures.make("cost-curve")(runs.to_table(rows))
    (axes,) = drawing.axes
    assert list(panels(drawing)) == ["fpc"] and len(axes.lines[0].get_xdata()) == 8
    assert {"$1", "$10", "$100", "$1,000"} <= set(ticks(axes)) and not axes.collections
    check_picture(drawing)


# --- training, ranks ------------------------------------------------------------------------------


def test_courses_have_bands_as_far_as_all_draws_go_and_marks_at_scored_epochs() -> None:
    rows = planted_classes.rows(schemes=["fpc"], methods=["an"], curve_of="val")
    rows[0] |= {"curve": [0.2, 0.3], "epochs": 2}
    drawing = figures.make("convergence")(planted_classes.table(rows))
    (axes,) = drawing.axes
    line, *marked = axes.lines[:3]
    np.testing.assert_allclose(line.get_xydata(), [[1, 20], [2, 37], [3, 50]])
    (band,) = axes.collections
    assert max(path.vertices[:, 0].max() for path in band.get_paths()) == 2
    assert [mark.get_xdata()[0] for mark in marked] == [2, 3]
    assert marked[0].get_markersize() < marked[1].get_markersize()
    assert legend(drawing) == ["AN"] and "validation" in axes.get_ylabel()


def test_losses_of_training_have_a_panel_for_each_scheme() -> None:
    drawing = figures.make("convergence", of="losses")(planted_classes.table(draws=1))
    assert list(panels(drawing)) == ["fpc", "rpa"] and not drawing.axes[0].collections
    assert list(drawing.axes[0].lines[0].get_ydata()) == [1.0, 0.5, 0.25]
    longer = planted_classes.table(curve=[0.5] * 8)
    (axes,) = figures.make("convergence", scheme="rpa")(longer).axes
    starts = {line.get_markevery() for line in named_lines(axes).values()}
    assert len(starts) == 3  # lines that lie upon each other have markers at other epochs


def test_methods_stand_at_their_mean_rank_and_bars_join_those_that_do_not_differ() -> None:
    some = planted.table(schemes=["rpa"], methods=["an", "ignore", "ll-r"])
    left, right = figures.make("rank-diagram")(some).axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["Ignore", "LL-R", "AN"]
    assert beside(left) == ["1.00", "2.00", "3.00"]
    assert [line.get_xdata()[0] for line in left.lines] == [1, 2, 3] and not right.lines
    same = planted.table(schemes=["full-subset"], methods=["an", "ignore"])
    _, right = figures.make("rank-diagram")(same).axes
    assert [list(bar.get_ydata()) for bar in right.lines] == [[0, 1]]
    drawing = figures.make("rank-diagram")(planted.table(draws=1))
    assert not drawing.axes[1].lines and "not tested" in caption(drawing)


def test_ranks_say_their_test_and_what_was_left_out() -> None:
    drawing = figures.make("rank-diagram", test="nemenyi")(planted.table())
    # q = 2.728 for five methods (Demsar 2006), 25 blocks: 2.728 sqrt(5 * 6 / (6 * 25)) = 1.22
    assert [text.get_text() for text in drawing.axes[0].texts] == ["critical difference 1.22"]
    assert "Nemenyi" in caption(drawing)
    rows = [r for r in planted.rows() if (r["scheme"], r["method"]) != ("fpc", "an")]
    note = caption(figures.make("rank-diagram")(runs.to_table(rows)))
    assert "20 blocks" in note and "has no score: 5" in note


@pytest.mark.parametrize("name", ["cost-curve", "convergence"])
def test_of_many_methods_the_best_are_drawn(name: str) -> None:
    rows = planted_classes.rows(schemes=["fpc"], methods=["an"], draws=2)
    many = [row | {"method": f"m{k}", "map": 0.5 + 0.01 * k} for row in rows for k in range(12)]
    drawing = figures.make(name)(planted_classes.table(many))
    assert sorted(named_lines(drawing.axes[0])) == sorted(f"m{k}" for k in range(4, 12))
    assert "4 other methods" in caption(drawing)
