"""Amounts below a pilot, or further beyond it than its back-test."""

from types import SimpleNamespace

from simkit.planning.choosing.outside import outside
from tests.planning.fakes import Line, candidate

CURVE = Line(0.6, 0.05)  # a pilot from 10 to 100 dollars


def told(dollars, *rows, grade="amber"):
    own = SimpleNamespace(rows=[SimpleNamespace(factor=f, covered=c) for f, c in rows])
    chosen = candidate("rpa", "an", dollars, CURVE, grade=grade)
    return list(outside(chosen, CURVE, own if rows else None))


def test_an_amount_below_the_pilot_is_not_within_what_was_measured():
    assert told(3.72, (2.0, True)) == [
        "The recommended $3.72 of labels lie below the pilot's smallest size of $10.00, where "
        "nothing was measured; compare at smaller budgets, or find more images if these are all."
    ]
    assert told(10.0, (2.0, True)) == []


def test_a_curve_that_does_not_rise_is_told():
    flat = Line(0.6, 0.0)
    chosen = candidate("rpa", "an", 50.0, flat)
    assert list(outside(chosen, flat, None)) == [
        "More of these labels may not help at all: mAP does not rise."
    ]


def test_a_back_test_does_not_vouch_for_what_lies_further_out():
    assert told(500.0, (2.0, True), (4.0, False)) == [
        "The recommended amount lies 5 times beyond the pilot, and its back-test shows no further "
        "than 2 times: nothing checks the band so far out, so buy in rounds and fit again after "
        "each."
    ]
    assert told(400.0, (2.0, True), (4.0, True)) == []
    assert told(200.0, (1.5, True)) == []  # green
    assert told(500.0) == []  # that there is no back-test is said elsewhere
    assert told(2000.0, (2.0, True), grade="red") == []
