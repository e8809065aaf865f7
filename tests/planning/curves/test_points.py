import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.planning.curves.points import Points

GOOD = {
    "dollars": [10, 20, 40, 11, 21, 41],
    "score": [0.3, 0.4, 0.5, 0.32, 0.41, 0.52],
    "draw": [0, 0, 0, 3, 3, 3],
    "size": [0, 1, 2, 0, 1, 2],
}


def made(**changed: object) -> Points:
    return Points(**{**GOOD, **changed})


def test_scores_stand_by_draw_and_size_and_costs_are_means() -> None:
    points = made()
    np.testing.assert_array_equal(points.table, [[0.3, 0.4, 0.5], [0.32, 0.41, 0.52]])
    np.testing.assert_array_equal(points.costs, [10.5, 20.5, 40.5])
    np.testing.assert_array_equal(points.draws, [0, 3])
    assert points.reach == 40.5


def test_sizes_stand_in_the_order_of_their_cost_whatever_their_numbers() -> None:
    points = made(size=[2, 0, 1, 2, 0, 1])
    np.testing.assert_array_equal(points.sizes, [2, 0, 1])
    np.testing.assert_array_equal(points.table[0], [0.3, 0.4, 0.5])


def test_a_size_that_a_draw_lacks_is_nan() -> None:
    points = Points(*([column[i] for i in (0, 1, 2, 3, 5)] for column in GOOD.values()))
    np.testing.assert_array_equal(points.table[1], [0.32, np.nan, 0.52])


def test_the_smaller_sizes_keep_all_their_draws() -> None:
    smaller = made().up_to(20.5)
    assert smaller.reach == 20.5
    np.testing.assert_array_equal(smaller.dollars, [10, 20, 11, 21])


def test_columns_are_read_only_copies() -> None:
    given = np.array(GOOD["score"])
    points = made(score=given)
    given[0] = 0.9
    assert points.score[0] == 0.3
    with pytest.raises(ValueError, match="read-only"):
        points.score[0] = 0.5


def planted(*means: float, noise: float = 0.0, draws: int = 5) -> Points:
    rng = np.random.default_rng(0)
    size, draw = (a.ravel() for a in np.meshgrid(np.arange(len(means)), np.arange(draws)))
    scores = np.array(means)[size] + noise * rng.standard_normal(len(size))
    return Points(10.0 * 2**size, scores, draw, size)


def test_a_pilot_rises_where_its_largest_size_beats_the_noise() -> None:
    assert planted(0.3, 0.35, 0.4, noise=0.01).rises
    assert not planted(0.5, 0.5, 0.5, noise=0.01).rises
    assert not planted(0.5, 0.4, 0.3, noise=0.01).rises
    assert planted(0.3, 0.35, 0.4, draws=1).rises
    assert not planted(0.5, 0.5, 0.5, draws=1).rises


def test_that_it_does_not_rise_is_told_with_both_ends() -> None:
    assert planted(0.5, 0.4, 0.3).still() == (
        "mAP does not rise over the pilot's sizes, 50.0 for $10.00 and 30.0 for $40.00, which says "
        "nothing about what more dollars buy; use budgets that lie further apart, or more draws"
    )
    assert planted(0.5, 0.5, 0.51).still().startswith("mAP does not rise beyond its noise over")


REFUSED = {
    "points": (
        {"score": [30, 40, 50, 32, 41, 52]},
        "points: score is 30.0; mAP from 0 to 1 is expected, so divide points by 100",
    ),
    "above 1": (
        {"score": [0.3, 0.4, 1.01, 0.3, 0.4, 0.5]},
        "points: score is 1.01; mAP from 0 to 1 is expected, so divide points by 100",
    ),
    "nan": (
        {"score": [0.3, np.nan, 0.5, 0.3, 0.4, 0.5]},
        "points: score is nan; mAP from 0 to 1 is expected, so divide points by 100",
    ),
    "free": (
        {"dollars": [10, 0, 40, 11, 21, 41]},
        "points: dollars is 0.0; an amount above 0 is expected",
    ),
    "endless": (
        {"dollars": [10, np.inf, 40, 11, 21, 41]},
        "points: dollars is inf; an amount above 0 is expected",
    ),
    "negative": (
        {"dollars": [10, 20, -40, 11, 21, 41]},
        "points: dollars is -40.0; an amount above 0 is expected",
    ),
    "twice": (
        {"draw": [0] * 6},
        "two points have the same draw and size; give one score for each, or number the draws of "
        "another seed apart",
    ),
    "ragged": (
        {"size": [0, 1, 2]},
        "points have columns of {'dollars': 6, 'score': 6, 'draw': 6, 'size': 3}; give one value "
        "of each per point",
    ),
    "empty": (
        {name: [] for name in GOOD},
        "there are no points; run a comparison with 3 or more budgets first",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_point_is_refused(case: str) -> None:
    changed, sentence = REFUSED[case]
    with pytest.raises(BadInput) as refused:
        made(**changed)
    assert str(refused.value) == sentence


def test_one_point_two_sizes_and_sizes_of_one_cost_are_no_curve() -> None:
    told = (
        "the pilot has {} of different cost, and a curve needs 3 or more; run the comparison again "
        "with more budgets, each about twice the one before"
    )
    cases = {
        "1 size": Points([10], [0.3], [0], [0]),
        "2 sizes": Points([10, 20], [0.3, 0.4], [0, 0], [0, 1]),
        "2 sizes ": Points([10, 20, 20], [0.3, 0.4, 0.5], [0, 0, 0], [0, 1, 2]),
    }
    for sizes, points in cases.items():
        with pytest.raises(BadInput) as refused:
            points.check_curve()
        assert str(refused.value) == told.format(sizes.strip())


def test_scores_that_do_not_change_are_no_curve() -> None:
    with pytest.raises(BadInput) as refused:
        made(score=[0.25] * 6).check_curve()
    assert str(refused.value) == (
        "all 6 scores of the pilot are 0.2500, which says nothing about what dollars buy; use "
        "budgets that lie further apart"
    )


def test_a_whole_pool_is_told_by_its_single_draw_or_by_the_shares() -> None:
    dollars, draw = np.array([10.0, 10.0, 20.0, 20.0, 40.0]), np.array([0, 1, 0, 1, 0])
    score, size = np.linspace(0.2, 0.4, 5), np.array([0, 0, 1, 1, 2])
    points = Points(dollars, score, draw, size)
    assert points.exhausted
    assert points.shares.tolist() == [0.25, 0.5, 1.0]
    assert points.up_to(20.0).shares.tolist() == [0.25, 0.5]
    assert not points.up_to(20.0).exhausted
    told = Points(dollars, score, draw, size, np.array([0.1, 0.1, 0.2, 0.2, 0.4]))
    assert not told.exhausted
    assert told.shares.tolist() == pytest.approx([0.1, 0.2, 0.4])
    with pytest.raises(BadInput, match="taken is no share of a pool"):
        Points(dollars, score, draw, size, np.array([0.1, 2.0]))
