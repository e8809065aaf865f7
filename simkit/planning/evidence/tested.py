"""The test split that scored a comparison's runs: what its mAP says about other images."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.planning.evidence import bought_by
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.evidence.flattery import flattered
from simkit.planning.pilot.half_width import SIGMAS, of_counts
from simkit.study import runs

if TYPE_CHECKING:
    from simkit.data import Dataset

NEW = "new images"  # what a plan is about where the test split is small
NEGLIGIBLE = 2.0  # points: a test set that is off by less is taken for all images
# Of what is taken off because few images flatter, its standard deviation is such a part. It rests
# on drawn classes (1 to 300, rare ones mostly, also such that are easier or harder than frequent
# ones; 1 to 100 images): 92 to 100 % of bands of 90 % held mAP on many images; with 0, 82 to 100 %.
WRONG = 0.25


@dataclass(frozen=True)
class Tested:
    """The test split of a comparison.

    images      in it; None: the comparison's data cannot be opened here, so nobody knows.
    classes     of which mAP would be the mean;  unscored  those of them without a positive in it.
    half_width  points to which a mAP of 50 is known on it, 19 times in 20; 0: not known.
    here, there  mAP, ascending, on it and on many images, of the same models (`flattery`).
    measured    mAP on it of the better half of the runs; 0: not known.
    """

    images: int | None = None
    classes: int = 0
    unscored: int = 0
    half_width: float = 0.0
    here: tuple[float, ...] = (0.0, 1.0)
    there: tuple[float, ...] = (0.0, 1.0)
    measured: float = 0.0

    @staticmethod
    def of(evidence: Evidence) -> Tested:
        """That of the runs: what their table does not say is counted in the data itself."""
        folder = evidence.folders[0]
        ap, leaves = _measured(folder)
        classes, unscored = len(leaves), int(np.isnan(ap[leaves]).sum())
        spec = str(bought_by.grid(Path(folder)).get("data", ""))
        found = _counted(spec, evidence.ids["test"])
        if found is None:
            return Tested(None, classes, unscored)
        images, leaves, shown = found[0], list(found[1]), np.array(found[2])
        classes, unscored = len(leaves), int((shown == 0).sum())
        points = of_counts(shown)
        if not len(ap) or not shown.any() or np.isnan(ap[leaves][shown > 0]).any():
            return Tested(images, classes, unscored, points)
        shares = shown / images
        if evidence.shares is not None:
            pool = evidence.images
            shares = (evidence.shares[leaves] * pool + shown) / (pool + images)
        here, there = flattered(ap[leaves], shown, images, shares)
        measured = float(ap[leaves][shown > 0].mean())
        return Tested(images, classes, unscored, points, here, there, measured)

    @property
    def small(self) -> bool:
        """Whether its luck, or what it flatters, is more than negligible."""
        flattered_by = self.measured - float(self._many(self.measured))
        return max(self.half_width, 100 * flattered_by) >= NEGLIGIBLE

    @property
    def told(self) -> str:
        """Which images a plan is about."""
        return NEW if self.small else "the test split"

    @property
    def luck(self) -> float:
        """Standard deviation of arcsin(sqrt(mAP)) over test sets like it; 0 where it is negligible
        or not known. On this scale it is the same for every mAP, as AP varies by AP (1 - AP)."""
        return self.half_width / 100 / SIGMAS if self.small else 0.0

    @property
    def doubt(self) -> float:
        """Standard deviation, on this scale, of what is taken off: one for every mAP, too."""
        if not self.small:
            return 0.0
        angles = np.arcsin(np.sqrt([self.measured, float(self._many(self.measured))]))
        return WRONG * float(angles[0] - angles[1])

    @property
    def spread(self) -> float:
        """Standard deviation of both together."""
        return math.hypot(self.luck, self.doubt)

    def off(self, score: float) -> float:
        """Points to which a mAP of `score` (0 to 1) is known on it; 0 where that is negligible."""
        return 200 * SIGMAS * self.spread * (score * (1 - score)) ** 0.5

    def elsewhere(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """What these mAP on it are on many images; as they are where its luck is negligible."""
        return self._many(scores) if self.small else scores

    def on_it(self, score: float) -> float:
        """What a mAP on many images is on it."""
        return float(np.interp(score, self.there, self.here)) if self.small else score

    def _many(self, scores: Any) -> NDArray[np.float64]:
        return np.asarray(np.interp(scores, self.here, self.there))


def _measured(folder: str) -> tuple[NDArray[np.float64], list[int]]:
    """(L,) mean AP of the better half of all runs, nan where there is none, and the classes that
    mAP is to be over. None at all in a table of an older version."""
    try:
        table = runs.table(folder, columns=["ap", "map"])
    except BadInput:
        return np.zeros(0), []
    rows = [row for row in table.to_pylist() if row["map"] is not None and row["ap"]]
    if not rows or all(one is None for row in rows for one in row["ap"]):
        return np.zeros(0), []
    middle = median(row["map"] for row in rows)
    ap = np.array([row["ap"] for row in rows if row["map"] >= middle], np.float64)
    return ap.mean(axis=0), list(runs.leaves(table) or range(ap.shape[1]))


def _counted(spec: str, test_id: str) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """Images of the test split, the classes that mAP is of, and how many of the images show each;
    None where the data is not there, or is other data by now: both may change, and are not kept."""
    try:
        return _count(spec, test_id)
    except (BadInput, OSError, KeyError):
        return None


@lru_cache(maxsize=16)
def _count(spec: str, test_id: str) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    from simkit.data import open as open_data

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were told when it was compared
        data = open_data(spec)
        truth = data.truth["test"]
    if truth.id != test_id:
        raise KeyError(test_id)
    leaves = data.leaves.tolist()
    return truth.shape[0], tuple(leaves), tuple(_shown(data)[leaves].tolist())


def _shown(data: Dataset) -> NDArray[np.int64]:
    """(L,) test images that show each class; difficult objects do not count."""
    present, difficult = data.truth["test"].present, data.difficult.get("test")
    counts = np.asarray(csr_array(present).sum(axis=0), np.int64).ravel()
    if difficult is None:
        return counts
    both = csr_array(present).astype(np.int64).multiply(csr_array(difficult).astype(np.int64))
    return counts - np.asarray(both.sum(axis=0), np.int64).ravel()
