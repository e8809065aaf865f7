"""From the total of a project to dollars of labels along one curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simkit.planning.choosing.candidates import Candidate, Curves
from simkit.planning.curves import reach
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.bill import Project

NOTHING = 1e-3  # of the cheapest candidate: what is left of a total that pays for no labels
FIRST, LAST = slice(0, 2), slice(-2, None)  # two neighbours at either end


@dataclass(frozen=True, eq=False)
class Axis:
    """From the total of a project to dollars of labels along one curve.

    spent, totals  of its candidates, ascending;  cap  dollars that buy all there is;  far  dollars
    beyond which the curve is not believed;  agrees  those from which on it holds its own pilot.
    """

    spent: NDArray[np.float64]
    totals: NDArray[np.float64]
    cap: float
    far: float
    agrees: float

    @staticmethod
    def of(own: Sequence[Candidate], curves: Curves, evidence: Evidence, project: Project) -> Axis:
        pair = own[0].pair
        return Axis(
            np.array([one.dollars for one in own]),
            np.array([one.total for one in own]),
            evidence.most(pair[0], project.prices, project.images),
            reach.MOST * curves[pair].reach,
            curves[pair].agrees,
        )

    def _rate(self, which: slice) -> float:
        """Dollars of the project for one of labels, between two candidates."""
        if len(self.spent) < 2:
            return 1.0
        return float(max(1.0, np.diff(self.totals[which])[0] / np.diff(self.spent[which])[0]))

    @property
    def start(self) -> float:
        """The total from which on the curve holds what its pilot measured."""
        if self.agrees > self.spent[-1]:
            return float(self.totals[-1] + (self.agrees - self.spent[-1]) * self._rate(LAST))
        return float(np.interp(self.agrees, self.spent, self.totals))

    @property
    def end(self) -> float:
        """The total up to which the curve is known: without end where everything can be bought."""
        if self.cap <= self.far:
            return np.inf
        return float(self.totals[-1] + (self.far - self.spent[-1]) * self._rate(LAST))

    def dollars(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) dollars of labels that these totals leave, above 0."""
        found = np.interp(totals, self.totals, self.spent)
        beyond = self.spent[-1] + (totals - self.totals[-1]) / self._rate(LAST)
        below = self.spent[0] - (self.totals[0] - totals) / self._rate(FIRST)
        found = np.where(totals > self.totals[-1], beyond, found)
        found = np.where(totals < self.totals[0], below, found)
        found = np.maximum(found, NOTHING * self.spent[0])
        return np.asarray(np.minimum(found, min(self.cap, self.far)))
