"""Test labels that make the measured mAP more certain, and which of them a plan buys first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from simkit.planning.answers import Answers
from simkit.planning.curves import Curves
from simkit.planning.evidence import Evidence
from simkit.results.test_split import Errors

KNOWN_TO = 5.0  # wanted half-width of mAP on the test images, in points, at 95 % confidence
# Largest shares of the images left and of a budget for test images where mAP is uncertain, as in a
# pilot. Neither depends on the purchase, so more money never buys fewer test images.
FOR_TESTS = MOST_FOR_TESTS = 0.25
CENT = 0.005  # dollars: prices that differ by less are printed as equal
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


@dataclass(frozen=True)
class TestOffer:
    """The test labels that a plan can buy first, where few test images make mAP uncertain.

    They cost at most a quarter of the budget, and a budget leaves at least as many dollars for
    other labels as any smaller one: so more money buys neither fewer test images nor less mAP.

    Attributes
    ----------
    again
        A further answer to every question about the test images, if that is worth more than images.
    least, most
        Smallest number of further test images that is worth a round, and largest that is useful.
    each, seconds
        Price and working time of one.
    """

    __test__ = False  # not a test of pytest

    evidence: Evidence
    again: BetterTests | None = None
    least: int = 1
    most: int = 0
    each: float = 0.0
    seconds: float = 0.0
    usual: int = 1

    @staticmethod
    def of(
        evidence: Evidence, curves: Curves, images: int | None, image_price: float = 0.0
    ) -> TestOffer:
        """images: the number in the project; None: unlimited."""
        test, usual = evidence.test, curves.usual
        if not test.small or not test.images or test.uncertain <= KNOWN_TO:
            return TestOffer(evidence)
        complete, pool, better = curves.complete, evidence.pool.images, None
        seconds = float(complete.seconds[-1]) / pool
        if ways := certainties(evidence, curves, image_price):
            now, again, others = ways
            if again.half_width < min((1 - LEAST_TESTS) * now.half_width, others.half_width):
                assert again.answers is not None
                work = seconds * (again.answers.times - 1) * test.images
                price = round(again.dollars, 2)
                better = BetterTests(0, usual + 1, price, work, again.half_width)
        wanted = 0  # further images do not help where their labels err as well
        if test.half_width > KNOWN_TO:
            wanted = math.ceil(test.images * ((test.half_width / KNOWN_TO) ** 2 - 1))
            if images is not None:
                asked = 0 if evidence.received is None else evidence.received.asked
                wanted = min(wanted, int(FOR_TESTS * max(images - asked, 0)))
        least = math.ceil(test.images * ((1 - LEAST_TESTS) ** -2 - 1) - 1e-9)
        each = float(complete.dollars[-1]) / pool + image_price
        return TestOffer(
            evidence, better, least, wanted if wanted >= least else 0, each, seconds, usual
        )

    def within(self, budget: float) -> BetterTests | None:
        """The test labels that a budget buys first, if any."""
        share = budget * MOST_FOR_TESTS
        if self.again is not None and self.again.dollars <= share + 1e-9:
            return self.again
        if (bought := self._affordable(share)) < self.least:
            return None
        test = self.evidence.test
        assert test.images is not None
        width = test.half_width / 100 * math.sqrt(test.images / (test.images + bought))
        if any(errors := test.errors or (0.0, 0.0)):
            width = test.certainty(test.images + bought, errors) / 100
        price, seconds = round(bought * self.each, 2), bought * self.seconds
        return BetterTests(bought, self.usual, price, seconds, width)

    def left(self, budget: float) -> float:
        """Dollars of a budget for other labels: at most what the next larger budget that buys more
        test labels leaves for them."""
        tests, after = self.within(budget), self.next_budget(budget)
        rest = budget - (0.0 if tests is None else tests.dollars)
        return min(rest, (1 - MOST_FOR_TESTS) * after)

    def next_budget(self, budget: float) -> float:
        """The smallest larger budget that buys more test labels; infinite if none does."""
        share, again, prices = budget * MOST_FOR_TESTS, self.again, [math.inf]
        if again is None or again.dollars > share + 1e-9:
            prices += [] if again is None else [again.dollars]
            more = max(self._affordable(share) + 1, self.least)
            prices += [round(more * self.each, 2)] if more <= self.most else []
        return min(prices) / MOST_FOR_TESTS

    def _affordable(self, share: float) -> int:
        """The number of test images for so many dollars, which are prices in whole cents."""
        if not self.most:
            return 0
        number = min(self.most, math.floor((share + 0.005) / self.each))
        return number - (round(number * self.each, 2) > share + 1e-9)

    def budget_for(self, dollars: float) -> float:
        """The smallest budget, in whole cents, that leaves so many dollars for other labels."""
        budget = math.ceil(100 * dollars - 1e-9) / 100
        while self.left(budget) < dollars - CENT:  # converges, as tests cost a share of the budget
            budget = math.ceil(100 * (budget + dollars - self.left(budget)) - 1e-6) / 100
        return budget
