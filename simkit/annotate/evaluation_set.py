"""The size and price of a validation or test set for a required precision of mAP."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.errors import BadInput, whole_number
from simkit.labels.effort import Effort
from simkit.labels.truth import Truth

MOST_IMAGES = 10**12
ONE = 1 - 1e-9  # images expected to show a class, at least; 49 * (1 / 49) is less than 1
UNKNOWN = 99.0  # points: too few images to say anything
SERIES = 60.0  # expected positives up to which the sums are taken term by term
TERMS = 200  # of these sums; what comes after is below 1e-15 for SERIES positives


@dataclass(frozen=True)
class EvaluationSet:
    """The size, precision and cost of a random, completely labelled evaluation set.

    Attributes
    ----------
    images
        Number of images.
    precision, half_width
        Requested and expected half-width of the confidence interval, in points of mAP.
    bias
        Approximate small-sample bias of mAP, in points (too high); about the same for models of
        similar quality, and not part of half_width.
    rare
        Indices of the classes expected in less than one image of the set. mAP is then the mean
        over the other classes.
    unseen
        Expected number of classes without a present label in the set.
    cost
        Cost of the labels, without the set-up of the project.
    """

    images: int
    precision: float
    half_width: float
    bias: float
    rare: tuple[int, ...]
    unseen: float
    cost: Cost

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**vars(self), "rare": list(self.rare), "cost": self.cost.to_json()}


def evaluation_set(
    precision: float,
    about: Truth | Any,
    prices: Prices | str,
    *,
    level: Any = 0.5,
    confidence: float = 0.95,
    workers: int | None = None,
) -> EvaluationSet:
    """The smallest evaluation set that measures the mAP of one model to +- `precision` points.

    Parameters
    ----------
    precision : float
        Half-width of the confidence interval, in points of mAP, above 0 and below 100.
    about : (L,) array or Truth
        The share of images with each class, or a truth from which it is counted.
    prices : Prices or str
        A price list, its name or file.
    level : float or (L,) array
        Expected AP, above 0 and below 1, for all classes or for each; 0.5 has the largest variance.
    confidence : float
        Confidence level of the interval, above 0 and below 1.
    workers : int, optional
        People per question; by default those of the price list.

    Returns
    -------
    EvaluationSet

    Raises
    ------
    BadInput
        For numbers out of range, and if more than MOST_IMAGES images are needed.

    Notes
    -----
    The AP of a class with n positives has variance AP (1 - AP) / n (Boyd, Eng and Page, ECML PKDD
    2013, the binomial interval). Here n is random, Poisson of mean N times the class's share; a
    class is part of mAP where n > 0 (one of a mean below 1 is not), and classes are independent:

        Var(mAP) = sum_c [AP_c (1 - AP_c) E(1/n_c; n_c > 0) + q_c (1 - q_c) (AP_c - mAP)^2] / m^2

    with q_c = P(n_c > 0) and m = sum_c q_c. AP is also too high by about AP (1 - AP) (H_n - 1) / n,
    H_n = 1 + 1/2 + ... + 1/n, as every present image is found at its own rank (our derivation, for
    precision that is the same at every recall).

    Accuracy of the formula (benchmarks/evaluation.py): with normal scores, AP 0.3 to 0.9,
    shares of 1 to 50 % and 10 to 200 images that show a class, the true standard deviation was 0.77
    to 1.09 times the formula's, and the bias up to 1.6 times at an AP of 0.3, at most 0.4 times at
    0.9. For a linear classifier on photographs (10 classes of VOC, sets of 200 to 2,000 images) the
    deviation was 0.89 to 1.00 times with their own AP as level, and 0.79 to 0.86 times with 0.5 for
    all. Images that are hard for all classes at once, or crowded, add to it: up to 1.1 times for 24
    classes and 1.5 times for 80. The difference from a classifier that had half of the photographs
    to train on, on the same images, varied 0.46 to 0.50 times as much as the formula says for one.

    The set is swept: each class of each image is a question. Where a rare class joins in, the error
    grows with the images for a while; the size found is such that a stricter aim never needs fewer.
    """
    shares = shares_of(about)
    L = len(shares)
    levels = np.asarray(level, np.float64)
    if levels.shape not in ((), (L,)) or not ((levels > 0) & (levels < 1)).all():
        raise BadInput(
            f"level is {level!r}; an AP above 0 and below 1 is expected, one or one for each of "
            f"the {L} classes"
        )
    levels = np.broadcast_to(levels, (L,))
    for name, value, most in (("precision", precision, 100), ("confidence", confidence, 1)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < most:
            raise BadInput(f"{name} is {value!r}; a number above 0 and below {most} is expected")
    if workers is not None and whole_number(workers, "workers") < 1:
        raise BadInput(f"workers is {workers}; a whole number from 1 on is expected")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)

    def fits(images: int) -> bool:
        return error(images, shares, levels, z)[0] <= precision / 100

    high = 1
    while not fits(high):
        high *= 2
        if high > MOST_IMAGES:
            raise BadInput(
                f"a precision of {precision:g} points takes more than {MOST_IMAGES:.0e} images; "
                "ask for less, or leave out classes that hardly any image shows"
            )
    images = bisect_left(range(high), True, key=fits)
    half_width, bias = (100 * part for part in error(images, shares, levels, z))
    expected = images * shares
    return EvaluationSet(
        images=images,
        precision=float(precision),
        half_width=half_width,
        bias=bias,
        rare=tuple(np.flatnonzero(expected < ONE).tolist()),
        unseen=float(np.exp(-expected).sum()),
        cost=complete_cost(images, L, prices, workers),
    )


def complete_cost(
    images: int, classes: int, prices: Prices | str, workers: int | None = None
) -> Cost:
    """The bill of complete labels, without the set-up; by default of the list's workers."""
    histogram = np.bincount([classes], [images]).astype(np.int64)
    swept = Effort({"sweep": histogram}, np.zeros(classes, np.int64), workers)
    return cost(swept, price_list(prices).once_set_up())


def half_width(
    positives: NDArray[Any],
    *,
    drawn: bool = False,
    level: float | NDArray[np.float64] = 0.5,
) -> float:
    """Half-width of the 95 % confidence interval of one model's mAP, in points; at most 99.

    Parameters
    ----------
    positives : (L,) array
        Number of images of the set that show each class; with `drawn`, the expected number.
    drawn : bool
        Whether the set is still to be drawn, so that these numbers vary.
    level : float or (L,) array
        Expected AP; 0.5 has the largest variance.

    Returns
    -------
    float

    Notes
    -----
    The formula is that of `evaluation_set`. mAP is the mean over all classes that the set shows.
    For a set at hand the numbers of positives are known, so that only the rank of each positive
    varies. For a set still to be drawn they are Poisson numbers; averaged over sets, the width is
    that of the set drawn. A class expected in less than one image counts with its probability of
    being shown: such classes left out, the interval of 200 classes with shares of 30 to 0.3 % on
    100 images was 4.43 instead of 4.66 points, and 7.32 instead of 6.58 with frequencies in
    proportion to 1 / rank on 50 images. Simulated (tests/annotate/test_evaluation_set.py), the
    interval holds the mAP of 93 to 98 % of sets with the true AP as level, and of 97 % or more with
    0.5; its centre is the mean over such sets, which is above the mAP on many images.
    """
    z = NormalDist().inv_cdf(0.975)
    levels = np.broadcast_to(np.asarray(level, np.float64), positives.shape)
    return min(
        UNKNOWN, 100 * z * _deviation(np.asarray(positives, np.float64), levels, drawn=drawn)
    )


def _deviation(positives: NDArray[Any], levels: NDArray[np.float64], *, drawn: bool) -> float:
    """Standard deviation of mAP from 0 to 1; infinite if no class can be shown."""
    possible = positives > 0
    if not possible.any():
        return math.inf
    n, levels = positives[possible], levels[possible]
    # q: probability that the set shows the class; inverse: E(1/n; n > 0)
    q, inverse = (-np.expm1(-n), _moments(n)[0]) if drawn else (np.ones(len(n)), 1 / n)
    m = q.sum()
    mean = (q * levels).sum() / m
    variance = (levels * (1 - levels) * inverse + q * (1 - q) * (levels - mean) ** 2).sum() / m**2
    return math.sqrt(variance)


def error(
    images: int, shares: NDArray[np.float64], levels: NDArray[np.float64], z: float
) -> tuple[float, float]:
    """Half the width of the interval of mAP, and its bias, both in [0, 1], as `evaluation_set` has
    them; infinite where no class is expected in one of the images. shares, levels (L,); z: half
    the width in standard deviations.

    An evaluation set is sized for the classes that it is expected to show: `evaluation_set` names
    the others, over which its mAP is not averaged.
    """
    counted = images * shares >= ONE
    if not counted.any():
        return math.inf, math.inf
    expected, levels = images * shares[counted], levels[counted]
    bias = (levels * (1 - levels) * _moments(expected)[1]).sum() / (-np.expm1(-expected)).sum()
    return z * _deviation(expected, levels, drawn=True), float(bias)


def _moments(expected: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E(1/n; n > 0) and E((H_n - 1)/n; n > 0) of Poisson numbers n with these means, (L,) each."""
    few = np.minimum(expected, SERIES)
    many = np.maximum(expected, SERIES)
    n = np.arange(1, TERMS + 1)
    logs = np.log(np.maximum(few, 1e-300))[:, None] * n - few[:, None]
    chance = np.exp(logs - np.cumsum(np.log(n)))
    harmonic = (np.cumsum(1 / n) - 1) / n
    # For many, expansions in 1 / mean; what is left out is below 1e-3 of the whole.
    inverse_many = (1 + 1 / many + 2 / many**2) / many
    grown = np.log(many) + np.euler_gamma - 1
    harmonic_many = (grown + (grown - 1) / many) / many
    pick = expected < SERIES
    return (
        np.where(pick, chance @ (1 / n), inverse_many),
        np.where(pick, chance @ harmonic, harmonic_many),
    )


def shares_of(about: Truth | Any) -> NDArray[np.float64]:
    """(L,) how many of the images show each class; of those where it is known. Raises BadInput
    for numbers that are no shares, and where all are 0."""
    shares = np.asarray(() if isinstance(about, Truth) else about, np.float64)
    if isinstance(about, Truth):
        N, L = about.shape
        reference = about.known
        known = N if reference is None else np.bincount(reference.indices, minlength=L)
        shares = about.counts / np.maximum(known, 1)
    if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all() or not shares.any():
        raise BadInput(
            "the shares of images that show a class must be one number from 0 to 1 for each "
            "class, not all of them 0; give them in one row, or the truth itself"
        )
    return shares
