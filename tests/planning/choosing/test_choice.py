"""Which candidate is bought."""

from dataclasses import replace

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.planning.choosing.choice import choose, difference, front
from simkit.planning.evidence.amounts import Amount
from tests.planning.fakes import Line, along, candidate

DOLLARS = np.geomspace(10, 1000, 13)


def test_the_front_is_what_no_cheaper_candidate_equals():
    cheap = along("single-positive", "an", Line(0.5, 0.02), [10, 100, 1000])
    dear = along("full-subset", "an", Line(0.48, 0.08), [10, 100, 1000])
    # At 10, 100, 1000 dollars: 45.4, 50.0, 54.6 and 29.6, 48.0, 66.4 points.
    kept = front([*dear, *cheap])
    assert [(one.way.scheme, one.dollars) for one in kept] == [
        ("single-positive", 10.0),
        ("single-positive", 100.0),
        ("full-subset", 1000.0),
    ]


def test_robust_and_expected_choices_differ_where_one_curve_is_less_sure():
    sure = along("full-subset", "an", Line(0.60, 0.02, spread=0.005), DOLLARS)
    bold = along("single-positive", "an", Line(0.63, 0.02, spread=0.10, noise=1), DOLLARS)
    assert choose([*sure, *bold], "robust").way.scheme == "full-subset"
    assert choose([*sure, *bold], "expected").way.scheme == "single-positive"


def test_a_chance_to_miss_the_target_counts_as_ten_points():
    # The bold one is 2 points better on average and misses 64 points in a third of the cases more.
    sure = candidate("full-subset", "an", 1000, Line(0.65, 0.0, spread=0.002), 0.64)
    bold = candidate("single-positive", "an", 1000, Line(0.67, 0.0, spread=0.10, noise=1), 0.64)
    assert sure.p_target > 0.99 and 0.55 < bold.p_target < 0.68
    assert choose([sure, bold], "expected").way.scheme == "full-subset"
    untold = [candidate(c.way.scheme, "an", 1000, line) for c, line in (
        (sure, Line(0.65, 0.0, spread=0.002)), (bold, Line(0.67, 0.0, spread=0.10, noise=1)),
    )]  # fmt: skip
    assert choose(untold, "expected").way.scheme == "single-positive"


def test_nothing_is_spent_where_nothing_is_gained():
    flat = along("full-subset", "an", Line(0.6, 0.0001), DOLLARS)
    chosen = choose(flat)
    # From 10 to 1,000 dollars 0.0001 log(100) = 0.05 points are gained.
    assert chosen.dollars == 10.0
    assert chosen.note == "$990.00 more of the same would gain less than 0.1 points"
    rising = choose(along("full-subset", "an", Line(0.6, 0.01), DOLLARS))
    assert rising.dollars == pytest.approx(1000) and rising.note == ""


def test_within_noise_the_cheaper_one_is_taken():
    best = candidate("full-subset", "an", 1000, Line(0.602, 0.0, spread=0.02))
    cheap = candidate("single-positive", "an", 400, Line(0.600, 0.0, spread=0.02, noise=1))
    chosen = choose([best, cheap])
    assert chosen.dollars == 400
    assert chosen.note == "within noise of full-subset with an; of these it is the cheapest"


def test_a_small_difference_that_is_sure_decides():
    # The same noise in both: every sample says 0.2 points.
    best = candidate("full-subset", "an", 1000, Line(0.602, 0.0, spread=0.02))
    cheap = candidate("single-positive", "an", 400, Line(0.600, 0.0, spread=0.02))
    chosen = choose([best, cheap])
    assert chosen.dollars == 1000 and chosen.note == ""


def test_an_unsure_difference_that_is_large_decides():
    best = candidate("full-subset", "an", 1000, Line(0.63, 0.0, spread=0.03))
    cheap = candidate("single-positive", "an", 400, Line(0.61, 0.0, spread=0.005, noise=1))
    # By the 20 % quantile both are at 60.5 points; by the median they are 2 points apart.
    assert abs(best.low - cheap.low) < 0.005
    expected = max((best, cheap), key=lambda one: one.low)
    assert choose([best, cheap]).way == expected.way
    assert choose([best, cheap], "expected").dollars == 1000


def test_of_equal_bills_the_simplest_is_taken():
    plain = candidate("full-subset", "an", 990, Line(0.600, 0.0, spread=0.02))
    summed = candidate("full-subset", "an+boostlu", 990, Line(0.603, 0.0, spread=0.02, noise=1))
    mixed = candidate("mixed", "an", 970, Line(0.602, 0.0, spread=0.02, noise=2))
    chosen = choose([summed, mixed, plain])
    assert str(chosen) == "full-subset with an"
    assert chosen.note == (
        "within noise of mixed with an, full-subset with an+boostlu; of these it is the simplest"
    )


def test_of_equal_bills_and_no_settings_complete_labels_are_taken():
    some = candidate("rpa", "an", 980, Line(0.603, 0.0, spread=0.02, noise=1))
    whole = candidate("full-subset", "an", 1000, Line(0.600, 0.0, spread=0.02))
    assert str(choose([some, whole])) == "full-subset with an"
    dear = candidate("full-subset", "an", 1100, Line(0.600, 0.0, spread=0.02))
    assert str(choose([some, dear])) == "rpa with an"


def test_complete_labels_win_over_most_labels_of_the_same_images():
    # 3.2 of 4 classes known of each of 1,000 images; all of them fit the budget too.
    most = candidate(
        "rpa", "an", 100, Line(0.60, 0.0, spread=0.02), amount=Amount(1000, 3200, 3.2, "rpa")
    )
    line = Line(0.59, 0.0, spread=0.02, noise=1)
    whole = candidate("full-subset", "an", 120, line, amount=Amount(1000, 4000, 4.0, "full-subset"))
    fewer = replace(whole, dollars=105.0, amount=Amount(875, 3500, 4.0, "full-subset"))
    chosen = choose([most, fewer, whole])
    assert str(chosen) == "full-subset with an" and chosen.dollars == 120
    assert chosen.note == (
        "instead of rpa with an, which for $100.00 buys 80 % of all labels of its 1,000 images and "
        "leaves the rest unknown"
    )
    some = replace(most, amount=Amount(1000, 2900, 2.9, "rpa"))
    dear = replace(whole, dollars=140.0)  # more for a label
    worse = replace(whole, samples=most.samples - 0.01)
    for others in ([some, whole], [most, fewer], [most, dear], [most, worse]):
        assert str(choose(others)) == "rpa with an"


def test_differences_are_paired():
    one, other = Line(0.62, 0.0, spread=0.1), Line(0.6, 0.0, spread=0.1)
    paired = difference(one.samples(1)[:, 0], other.samples(1)[:, 0])
    assert np.allclose(paired, 0.02)


def test_nonsense():
    some = along("full-subset", "an", Line(0.6, 0.01), DOLLARS)
    with pytest.raises(BadInput) as error:
        choose(some, "bold")
    assert str(error.value) == "risk is 'bold'; it must be one of robust, expected"
    with pytest.raises(BadInput) as error:
        choose([])
    assert str(error.value) == "there are no candidates to choose from; give curves and a budget"
