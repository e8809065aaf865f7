import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.paired import difference, ends, paired
from tests.study import planted


def of(table, **asked):
    given = {"metric": "map", "budget": None, "hours": None, "asker": "x", **asked}
    return paired(table, **given)


def table(**options):
    """Two methods, three draws; the second has no run in draw 2 and no score in draw 1."""
    rows = [
        planted.row(scheme="rpa", method="an", draw=d, map=0.1 * d, **options) for d in (0, 1, 2)
    ]
    rows += [planted.row(scheme="rpa", method="ll-r", draw=0, map=0.3, **options)]
    rows += [planted.row(scheme="rpa", method="ll-r", draw=1, map=None, **options)]
    return runs.tidy(rows, classes=())


def test_scores_stand_by_scheme_method_and_draw():
    found = of(table())
    assert found.scores == {"rpa": {"an": {0: 0.0, 1: 0.1, 2: 0.2}, "ll-r": {0: 0.3}}}
    assert found.draws == {"rpa": {0, 1, 2}}


def test_one_budget_is_taken_and_no_reference():
    found = of(planted.table(), budget=50)
    assert found.limit.dollars == 50 and set(found.scores) == set(planted.SCHEMES)
    assert "full" not in found.scores["full-subset"]
    assert of(planted.table()).limit.dollars == 150  # the middle one
    with pytest.raises(BadInput, match=r"^x: no runs at the budget \$7; budgets in the table are"):
        of(planted.table(), budget=7)


def test_runs_without_any_score_are_refused():
    none = runs.tidy([planted.row(scheme="rpa", method="an", draw=0, map=None)], classes=())
    with pytest.raises(BadInput) as caught:
        of(none)
    assert str(caught.value) == "x: no run has map; compare again"


def test_differences_are_over_shared_draws():
    found = difference({0: 0.5, 1: 0.7, 2: 0.1}, {0: 0.4, 1: 0.5})
    assert found.interval.mean == pytest.approx(0.15) and found.interval.draws == 2
    # t(0.975, 1) * 0.05
    assert found.interval.half == pytest.approx(12.706 * 0.05, rel=1e-4)
    assert difference({0: 0.5}, {1: 0.5}) is None and difference({0: 0.5}, {}) is None
    wider = difference({0: 0.5, 1: 0.7}, {0: 0.4, 1: 0.5}, level=0.99).interval
    assert wider.half == pytest.approx(63.657 * 0.05, rel=1e-4)


def test_a_lower_first_has_a_negative_difference():
    found = difference({0: 0.4, 1: 0.5}, {0: 0.5, 1: 0.7}).interval
    assert found.mean == pytest.approx(-0.15) and found.low < found.mean < found.high


def test_an_interval_is_three_columns():
    one = difference({0: 0.5}, {0: 0.25}).interval
    assert ends("gap", one) == {"gap": 0.25, "gap_low": None, "gap_high": None}
    assert ends("gap", None) == {"gap": None, "gap_low": None, "gap_high": None}
