"""How well a pilot's own test images tell mAP."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.evaluation import error, shares_of
from simkit.errors import BadInput
from simkit.labels.truth import Truth

SIGMAS = NormalDist().inv_cdf(0.975)  # 19 times in 20
NOTHING = 99.0  # points: the images are too few to say anything
LEVEL = 0.5  # AP, that varies most


def half_width(about: Truth | NDArray[np.float64], images: int) -> float:
    """Points to which mAP is known on so many random test images, 19 times in 20; 99 where they are
    too few to say anything. about: as for `evaluation_set`, whose formula it is."""
    try:
        shares = shares_of(about)
    except BadInput:
        return NOTHING  # no image shows any class
    found = error(images, shares, np.full(len(shares), LEVEL), SIGMAS)[0]
    return min(NOTHING, 100 * found)


def of_counts(shown: NDArray[np.int64]) -> float:
    """The same of test images that are there, (L,) of which show each class: the formula with the
    numbers themselves."""
    counts = shown[shown > 0]
    if not len(counts):
        return NOTHING
    variance = LEVEL * (1 - LEVEL) * (1 / counts).sum() / len(counts) ** 2
    return min(NOTHING, 100 * SIGMAS * math.sqrt(variance))
