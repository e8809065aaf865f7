"""Curves about other test images: what the pilot's few make of mAP, as part of every band.

A pilot's scores, and curves through them, are of one test set. What a user gets is mAP of new
images: lower than on few (`flattery`), and known badly. All curves are scored by the same images,
so most of their luck is one: it moves levels, and hardly the order of two curves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from simkit.chance import Chance
from simkit.planning.choosing.followed import Followed
from simkit.planning.evidence.tested import Tested
from simkit.planning.evidence.ways import Pair

Array = NDArray[np.float64]

# Of the variance. Two classifiers on the same images (benchmarks/evaluation.py) differed with 0.46
# to 0.50 times the standard deviation of one: twice the variance that each has of its own.
OWN = 0.48**2 / 2


def retested(curves: Mapping[Pair, Followed], tested: Tested) -> dict[Pair, Followed]:
    """The same curves about new images; as they are where the test set's luck is negligible.

    Curves through the same points have the same luck. It is one shift of arcsin(sqrt(mAP)) for all
    dollars, so that every sample still rises and stays within 0 to 1.
    """
    if not tested.small:
        return dict(curves)
    return {
        pair: replace(
            curve, elsewhere=partial(_elsewhere, tested=tested, luck=_luck(curve, tested))
        )
        for pair, curve in curves.items()
    }


def _elsewhere(scores: Array, *, tested: Tested, luck: Array) -> Array:
    """(S, n) mAP on new images, from mAP on the pilot's."""
    angle = np.arcsin(np.sqrt(tested.elsewhere(scores))) + luck[:, None]
    return np.asarray(np.sin(np.clip(angle, 0.0, np.pi / 2)) ** 2)


def _luck(curve: Followed, tested: Tested) -> Array:
    """(S,) shifts; most of each is the same for all curves of a seed, and so is what may be wrong
    with the points that are taken off."""
    count, chance = len(curve.knots), Chance.seeded(curve.seed).of("plan", "test")
    shared = _normal(chance.of("shared"), count)
    own = _normal(chance.of("own", curve.points.name), count)
    together = np.hypot(np.sqrt(1 - OWN) * tested.luck, tested.doubt)
    return np.asarray(together * shared + np.sqrt(OWN) * tested.luck * own)


def _normal(chance: Chance, count: int) -> Array:
    """Normal numbers in random order, one of each of `count` equal parts: no mean but 0."""
    order = np.argsort(chance(np.arange(count)), kind="stable")
    found = np.empty(count)
    found[order] = ndtri((np.arange(count) + 0.5) / count)
    return found
