import pytest
from simkit.study.grids.limit import Limit

from simkit.study import runs, summary
from tests.study import planted


def few(scores, **more):
    """One scheme; {method: scores by draw}."""
    rows = [
        planted.row(
            scheme="fpc",
            method=method,
            draw=draw,
            map=score,
            dollars=9.5,
            seconds=1800.0,
            images=20,
        )
        | more
        for method, values in scores.items()
        for draw, score in enumerate(values)
    ]
    return runs.tidy(rows, classes=())


def only(table):
    (sentence,) = summary.sentences(table)
    return sentence


def test_cells_hold_means_costs_and_hours():
    (line,) = summary.lines(few({"an": [0.25, 0.75], "ll-r": [0.5, 0.75]}, budget=10.0))
    cell = line.cell("an")
    assert (cell.score.mean, cell.score.draws) == (0.5, 2)
    assert (cell.dollars, cell.hours, cell.images) == (9.5, 0.5, 20)
    assert line.cell("csl") is None
    assert summary.limits(few({"an": [0.5]}, budget=10.0)) == [Limit(10.0)]


def test_hours_are_unknown_where_one_run_does_not_know_them():
    (line,) = summary.lines(few({"an": [0.5, 0.6]}, seconds=None))
    assert line.cell("an").hours is None
    assert "| unknown |" in summary.markdown(few({"an": [0.5, 0.6]}, seconds=None))


def test_a_winner_is_named_with_its_lead():
    told = only(few({"an": [0.40, 0.41, 0.42], "ll-r": [0.50, 0.511, 0.519]}, budget=300.0))
    # differences 0.1, 0.101, 0.099: mean 0.1, half = 4.303 * 0.001 / sqrt(3) = 0.0025
    assert told == "fpc at $300: ll-r wins with 51.0 ±2.4 mAP, +10.0 points (9.8 to 10.2) over an."


def test_methods_that_are_not_told_apart_are_not_called_equal():
    told = only(few({"an": [0.40, 0.50, 0.42], "ll-r": [0.45, 0.41, 0.47]}))
    assert told == "fpc: the methods cannot be told apart with 3 draws (means of 44.0 to 44.3 mAP)."
    told = only(few({"an": [0.4, 0.5, 0.42], "ll-r": [0.45, 0.41, 0.47], "csl": [0.44, 0.43]}))
    assert "cannot be told apart with 2 to 3 draws (" in told


UNSURE = {  # a is highest but jumps about; only b and c are told apart
    "a": [0.10, 0.90, 0.70],
    "b": [0.50, 0.51, 0.52],
    "c": [0.40, 0.411, 0.419],
}


def test_only_a_lead_beyond_noise_is_quoted():
    (line,) = summary.lines(few(UNSURE))
    assert line.ranking.best == "a" and line.ranking.winners == ("b",)
    assert (line.lead.first, line.lead.second) == ("b", "c") and line.lead.adjusted < 0.05
    told = only(few(UNSURE))
    # differences 0.1, 0.099, 0.101: as above
    assert told == (
        "fpc: b leads with 51.0 ±2.5 mAP, +10.0 points (9.8 to 10.2) over c; "
        "a cannot be told from it."
    )


def test_those_who_share_the_lead_are_named():
    told = only(few({"an": [0.1, 0.1, 0.1], "ll-r": [0.5, 0.52, 0.54], "csl": [0.51, 0.5, 0.54]}))
    assert told.startswith("fpc: ll-r leads with 52.0 ±5.0 mAP, +42.0 points (")
    assert told.endswith(") over an; csl cannot be told from it.")


def test_methods_of_equal_means_are_named_in_the_order_of_the_table():
    names = [f"twin {letter}" for letter in "hcafdbge"]
    low, high = [0.1, 0.1, 0.1], [0.5, 0.52, 0.54]
    told = only(few({"best": [0.5, 0.521, 0.542], **dict.fromkeys(names, high), "an": low}))
    assert told.endswith(f"; {', '.join(names)} cannot be told from it.")


def test_one_draw_cannot_tell():
    told = only(few({"an": [0.4], "ll-r": [0.5]}))
    assert told == "fpc: ll-r is highest with 50.0 mAP, but one draw cannot tell."


def test_a_gap_that_would_print_as_zero_is_no_win():
    told = only(few({"an": [0.4, 0.5], "ignore": [0.4001, 0.5001]}))
    assert told.startswith("fpc: the methods cannot be told apart with 2 draws (")


def test_the_planted_winners_are_found():
    lines = {(line.scheme, line.limit.dollars): line for line in summary.lines(planted.table())}
    assert len(lines) == 15
    assert lines["rpa", 150.0].ranking.winners == ("ignore",)
    assert lines["full-subset", 450.0].ranking.winners == ()
    assert lines["single-positive", 50.0].ranking.ranks["ignore"] == 5


def test_the_reference_stands_apart():
    table = planted.table()
    (full,) = summary.references(table)
    assert full.score.mean == pytest.approx(0.8, abs=0.01) and full.dollars == 1650
    assert summary.sentences(table)[-1].startswith(
        "Labelling everything costs $1,650 and gives 80."
    )
    assert summary.references(planted.table(reference=False)) == []


def test_markdown_has_every_cell():
    text = summary.markdown(planted.table())
    rows = [row for row in text.splitlines() if row.startswith("| ") and "interval" not in row]
    assert len(rows) == 5 * 3 * 5 + 1
    assert rows[0].count("|") == 11


def test_money_is_short_and_clear():
    assert [summary.money(x) for x in (0.5, 3, 12.4, 1250)] == ["$0.50", "$3", "$12", "$1,250"]


def test_budgets_in_hours_stand_beside_those_in_dollars():
    rows = [
        planted.row(scheme="fpc", method="an", draw=0, map=0.5, budget=dollars, budget_hours=hours)
        for dollars, hours in ((None, 12.0), (50.0, None), (None, 2.5))
    ]
    table = runs.tidy(rows, classes=())
    assert list(map(str, summary.limits(table))) == ["$50", "2.5 hours", "12 hours"]
    assert [text.split(":")[0] for text in summary.sentences(table)] == [
        "fpc in 12 hours",
        "fpc at $50",
        "fpc in 2.5 hours",
    ]
    assert "| fpc | 2.5 hours | an |" in summary.markdown(table)
