"""What to read first."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from simkit.planning.choosing.ahead import Ahead
from simkit.planning.evidence import tested
from simkit.planning.evidence.ways import Way
from simkit.planning.told.alarms import few_tested, overtaken, warnings
from simkit.planning.told.parts import Reach

RELY = "Do not rely on the bands below, nor on the runners-up, before a larger pilot."
LARGER = "A larger pilot: twice as large."


def candidate(**changes):
    values = {"dollars": 400.0, "total": 400.0, "grade": "amber", "reach": 100.0}
    return SimpleNamespace(**values | changes)


def checked(*covered, passed):
    rows = [
        SimpleNamespace(covered=one, dollars=100.0 * 2**k, sizes=3, measured=0.5, low=0.6, high=0.7)
        for k, one in enumerate(covered)
    ]
    return SimpleNamespace(passed=passed, rows=tuple(rows))


def told(chosen=None, own=None, every=None, note="", reach=None, budget=400.0):
    return list(
        warnings(chosen or candidate(), own, every, note, reach, budget=budget, larger=LARGER)
    )


def test_a_small_test_split_is_told_in_one_sentence() -> None:
    few = tested.Tested(15, 20, 7, 12.0, (0.0, 0.8, 1.0), (0.0, 0.6, 1.0))
    assert [*few_tested(few, 0.6)] == [
        "The test split is small: 80.0 mAP on its 15 images is about 60.0 on new ones, known to ±"
        "12 points (all here is about new ones but the back-test); 7 of 20 classes have no "
        "positive there and no part in its mAP."
    ]
    assert [*few_tested(tested.Tested(2000, 20, 1, 1.2), 0.6)] == [
        "The test split lacks classes: 1 of 20 classes has no positive there and no part in its "
        "mAP."
    ]
    for fine in (tested.Tested(2000, 20, 0, 1.2), tested.Tested(None, 20, 0)):
        assert not [*few_tested(fine, 0.6)]


def test_what_is_ahead_for_less_money_is_told_with_what_to_do() -> None:
    pair = Way.of("single-positive"), "an"
    one = Ahead(pair, 2.38, 48.43, 48.43, True, 0.693, 0.477, 0.9, None, 0.97, (8.001, 1_380))
    assert [*overtaken(one)] == [
        "For less money single-positive with an is ahead of the choice: from $2.38 to $48, where "
        "its own curve ends, and there it is to reach 69.3 mAP and the choice 47.7 for the same "
        "money (it is ahead in 90 % of samples). What more of it gives is not known, so first "
        "measure a pilot of it of $8.01 or more of its labels (1,380 images; it had up to $0.97), "
        "or buy $48 of it, and fit again."
    ]
    (level,) = overtaken(replace(one, larger=None))
    assert "so first measure a pilot of it larger than $0.97, or buy $48 of it" in level
    (early,) = overtaken(replace(one, ends=False, back=142.0, total=79.0))
    assert early.startswith("At $79, the sum of round 1, single-positive with an is ahead of the")
    assert "; the choice is ahead from $142 on. Buy that much of it first and fit again" in early
    assert not [*overtaken(None)]


def test_a_chosen_curve_that_failed_is_told_whatever_the_others_did() -> None:
    own, every = checked(True, False, False, passed=False), checked(*[True] * 20, passed=True)
    assert told(own=own, every=every) == [
        "The back-test missed: of 3 larger sizes of this curve that its smaller ones predict, 2 "
        f"lie outside the 90 % band (the largest: 50.0 mAP measured, 60.0 to 70.0 predicted). "
        f"{RELY}",
        LARGER,
    ]


def test_where_others_failed_it_says_how_the_chosen_one_did() -> None:
    every = checked(True, False, passed=False)
    fine, poor = checked(True, passed=True), checked(True, True, True, False, passed=True)
    start = (
        "The back-test missed: of 2 sizes of all curves 1 lies outside the 90 % bands that the "
        "pilot's smaller sizes give"
    )
    assert (
        told(own=fine, every=every)[0] == f"{start}; none of these is of the chosen curve. {RELY}"
    )
    assert told(own=poor, every=every)[0] == (
        f"{start}; of the chosen curve's own 4, 1 lies outside. {RELY}"
    )
    assert told(every=every) == [f"{start}. {RELY}", LARGER]


def test_what_held_is_not_warned_of_and_what_was_not_checked_is() -> None:
    fine = checked(True, passed=True)
    assert told(own=fine, every=fine) == []
    (alone,) = told()
    assert alone.startswith("There is no back-test of this curve: the pilot has too few sizes")


def test_what_was_measured_needs_no_back_test() -> None:
    own, every = checked(True, False, False, passed=False), checked(True, False, passed=False)
    for dollars in (100.0, 80.0):
        there = candidate(dollars=dollars, total=dollars, grade="green")
        assert told(there, own, every, budget=dollars) == []
    there = candidate(dollars=101.0, total=101.0, grade="green")
    assert LARGER in told(there, own, every, budget=101.0)


def test_a_far_or_unreachable_choice_is_warned_of() -> None:
    fine, reach = checked(True, passed=True), Reach(0.8, (None,) * 5, 0.1, 4_500.0, "rpa", "an")
    far = candidate(grade="red", dollars=2_000.0, total=2_000.0)
    assert told(far, fine, fine, "a note", reach, budget=2_000.0) == [
        "The recommended amount lies 20 times beyond the pilot; take it for a direction and label "
        "a larger pilot first.",
        LARGER,
        "A note.",
        "80.0 mAP is probably out of reach for every way of buying: by rpa with an 10 % of samples "
        "get there below $4,500 of labels.",
    ]


@pytest.mark.parametrize("dollars, warned", [(5_000.0, True), (4_000.0, False)])
def test_money_left_because_no_curve_goes_further_is_told(dollars: float, warned: bool) -> None:
    fine = checked(True, passed=True)
    found = told(candidate(dollars=dollars, total=dollars), fine, fine, budget=6_000.0)
    assert found == warned * [
        "$1,000 of the budget are not spent, as no curve is followed beyond 50 times the pilot's "
        "largest size ($100 of labels), and not because more would gain nothing.",
        LARGER,
    ]
