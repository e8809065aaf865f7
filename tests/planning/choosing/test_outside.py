"""Amounts further beyond a pilot than its back-test."""

from types import SimpleNamespace

from simkit.planning.choosing.outside import outside, unspent
from simkit.planning.money.project import Project
from tests.planning.fakes import Line, candidate

CURVE = Line(0.6, 0.05)  # a pilot from 10 to 100 dollars


def told(dollars, *rows, grade="amber"):
    own = SimpleNamespace(rows=[SimpleNamespace(factor=f, covered=c) for f, c in rows])
    chosen = candidate("rpa", "an", dollars, CURVE, grade=grade)
    return list(outside(chosen, CURVE, own if rows else None))


def test_a_back_test_does_not_vouch_for_what_lies_further_out():
    assert told(500.0, (2.0, True), (4.0, False)) == [
        "The recommended amount lies 5 times beyond the pilot, and its back-test held up to 2 "
        "times at most: nothing checks the band so far out, so buy in rounds and fit again after "
        "each."
    ]
    assert "its back-test held nowhere: nothing" in told(500.0, (2.0, False), (4.0, False))[0]
    assert told(400.0, (2.0, True), (4.0, True)) == []
    assert told(200.0, (1.5, True)) == []  # green
    assert told(500.0) == []  # that there is no back-test is said elsewhere
    assert told(2000.0, (2.0, True), grade="red") == []


def test_money_that_is_left_because_the_reference_is_one_purchase_is_explained():
    whole = candidate("full-subset", "full", 100.0, CURVE)  # of 1,000 images
    assert list(unspent(whole, Project(500.0))) == [
        "$400 of the budget are not spent: complete labels of 1,000 images were measured as a "
        "single purchase, which no curve continues, and no curve promises more for the whole "
        "budget; a comparison on more images would tell what they add."
    ]
    assert list(unspent(whole, Project(500.0, images=5000)))
    assert not list(unspent(whole, Project(500.0, images=1000)))  # there are no more
    assert not list(unspent(whole, Project(100.5)))
    assert not list(unspent(candidate("full-subset", "an", 100.0, CURVE), Project(500.0)))
