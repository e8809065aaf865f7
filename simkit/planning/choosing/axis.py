"""From the total of a project to dollars of labels along one curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.planning.choosing.limits import Limit, Pair
from simkit.planning.curves.fit import Curve
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money import bill as money
from simkit.planning.money.bill import Project

NOTHING = 1e-3  # of the smallest pilot size: what is left of a total that pays for no labels
STEPS = 120  # places at which the bill is looked at, besides those where its slope changes


@dataclass(frozen=True, eq=False)
class Axis:
    """From the total of a project to dollars of labels along one curve, by the bill itself.

    spent, totals  dollars of labels and of everything, ascending; the bill is straight between.
    limit          between which dollars the curve is asked;  agrees  those from which on it holds
                   its own pilot.
    """

    spent: NDArray[np.float64]
    totals: NDArray[np.float64]
    limit: Limit
    agrees: float

    @staticmethod
    def of(
        pair: Pair, curve: Curve, limit: Limit, evidence: Evidence, project: Project
    ) -> Axis:  # fmt: skip
        """Of one curve. Images that cost something come with the labels, until there are no more
        or the pilot's purchases on its own images end: there the slope of the bill changes."""
        least, top = float(curve.points.costs[0]), max(limit.known, limit.least)
        spent = np.geomspace(NOTHING * least, top, STEPS)
        images = np.zeros(STEPS)
        if project.image_price:
            ladder = evidence.ladder(pair[0], project.prices)
            bends = [*ladder.dollars.tolist(), ladder.reach, ladder.everything]
            bends += [] if project.images is None else [ladder.reach * project.images / ladder.pool]
            spent = np.unique([*spent, *(x for x in bends if spent[0] < x < top)])
            images = np.array(
                [evidence.amount(pair[0], x, project.prices, project.images).images for x in spent]
            )
        totals = spent + project.image_price * images + money.fixed(project, evidence).total
        return Axis(spent, np.maximum.accumulate(totals), limit, curve.agrees)

    @property
    def start(self) -> float:
        """The total from which on the curve holds what its pilot measured."""
        return float(self.total(self.agrees))

    @property
    def end(self) -> float:
        """The total up to which the curve is known: without end where everything can be bought."""
        bought = min(self.limit.everything, self.limit.complete)
        return np.inf if bought <= self.limit.far else float(self.totals[-1])

    def total(self, dollars: float) -> float:
        """Of the whole project, where so many dollars of labels are bought."""
        return float(np.interp(dollars, self.spent, self.totals))

    def dollars(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) dollars of labels that these totals leave, above 0."""
        return np.asarray(np.interp(totals, self.totals, self.spent))
