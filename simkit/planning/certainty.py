"""Test labels that make the measured mAP more certain, and which of them a plan buys first."""

from __future__ import annotations

import math
from typing import NamedTuple

from simkit.planning.answers import Answers
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence
from simkit.results.test_split import Errors

KNOWN_TO = 5.0  # wanted half-width of mAP on the test images, in points, at 95 % confidence
# Largest shares of the images left and of a budget for test images where mAP is uncertain, as in a
# pilot. Neither depends on the purchase, so more money never buys fewer test images.
FOR_TESTS = MOST_FOR_TESTS = 0.25
LEAST_TESTS = 0.15  # smallest relative reduction of mAP's half-width that is worth a round


class Certainty(NamedTuple):
    """A test split, its price, and the half-width of mAP on true labels with it.

    answers: those to every question, if they are more than now.
    """

    images: int
    answers: Answers | None
    dollars: float
    half_width: float


class BetterTests(NamedTuple):
    """Test labels to buy before others.

    Attributes
    ----------
    images
        Further test images; 0 for further answers to the questions about those at hand.
    answers
        Answers to each question afterwards.
    dollars, seconds
        Price, in whole cents, and working time; nan if the price list has no times.
    half_width
        Half-width of mAP in [0, 1] afterwards.
    """

    images: int
    answers: int
    dollars: float
    seconds: float
    half_width: float


def certainties(
    evidence: Evidence, curves: Curves, image_price: float = 0.0
) -> tuple[Certainty, ...]:
    """The test split as it is, with a further answer to every question, and with further images
    for the same dollars; empty if its labels have no errors. Where mAP is uncertain, the narrower
    of the two is the better buy."""
    test, one = evidence.test, curves.errors
    if not test.images or test.errors is None or one is None or not any(test.errors):
        return ()
    images, usual = test.images, curves.usual
    each = float(curves.complete.dollars[-1]) / evidence.pool.images
    more = curves.answers(usual + 1)
    price = each * (more.times - 1) * images
    all_images = images + math.floor(price / (each + image_price))
    kinds: list[tuple[int, Answers | None, float, Errors]]
    kinds = [(images, None, 0.0, test.errors), (images, more, price, more.errors or one),
             (all_images, None, price, test.errors)]  # fmt: skip
    return tuple(
        Certainty(count, answers, cost, test.certainty(count, errors) / 100)
        for count, answers, cost, errors in kinds
    )


def better_tests(
    evidence: Evidence, curves: Curves, budget: float, images: int | None, image_price: float = 0.0
) -> BetterTests | None:
    """Test labels to buy first, where few test images make mAP uncertain.

    They cost at most a quarter of the budget, whatever the rest buys, so more money never buys
    fewer.  images: the number in the project; None: unlimited.
    """
    test, usual = evidence.test, curves.usual
    if not test.small or not test.images or test.uncertain <= KNOWN_TO:
        return None
    most = budget * MOST_FOR_TESTS
    complete, pool = curves.complete, evidence.pool.images
    seconds = float(complete.seconds[-1]) / pool
    if ways := certainties(evidence, curves, image_price):
        now, again, others = ways
        better = again.half_width < min((1 - LEAST_TESTS) * now.half_width, others.half_width)
        if better and again.dollars <= most:
            assert again.answers is not None
            work = seconds * (again.answers.times - 1) * test.images
            return BetterTests(0, usual + 1, round(again.dollars, 2), work, again.half_width)
    if test.half_width <= KNOWN_TO:  # further images do not help: their labels err as well
        return None
    each = float(complete.dollars[-1]) / pool + image_price
    wanted = math.ceil(test.images * ((test.half_width / KNOWN_TO) ** 2 - 1))
    if images is not None:
        asked = 0 if evidence.received is None else evidence.received.asked
        wanted = min(wanted, int(FOR_TESTS * max(images - asked, 0)))
    bought = min(wanted, int(most / each))
    narrower = math.sqrt(test.images / (test.images + bought))
    if narrower > 1 - LEAST_TESTS:
        return None
    width = test.half_width / 100 * narrower
    if any(errors := test.errors or (0.0, 0.0)):
        width = test.certainty(test.images + bought, errors) / 100
    price = round(bought * each, 2)
    return BetterTests(bought, usual, price, bought * seconds, width)
