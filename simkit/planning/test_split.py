"""The upward bias of mAP on few test images: mAP of the same models on new images, with its error.

Two effects cause it. A class is scored only if a test image shows it, and often none shows the
rare, hard ones. And a class in one of 50 images has a prevalence of 1 in 15 if it is in one of 15
test images, so fewer negatives can be ranked before its positive.

Both follow from the binormal model of equal variance (Green and Swets, Signal Detection Theory,
1966): scores of images that show a class are normal, those of the others too, and d standard
deviations apart. The AP of n positives among N images then has a known distribution for every d.
The d of the classes are normal about a line in the logarithm of their frequency; expectation
maximisation (Dempster, Laird and Rubin, JRSS B 1977) fits line, variance and each class's d to the
measured AP. The AP of a class in few images is far from normal; its distribution is simulated.
For worse or better models the d of all classes shift by one amount. This derivation is ours.

Measured: with six test sets of `scenes` of 15, 40 and 100 images each, mAP was 20, 10 and 4 points
above that of 2,000 images; after the correction it was 1 to 2, 1 and 1 below, with a standard
deviation of 1 to 2. Of 300 simulated classes on 60 images, mAP 49 was measured, 15 estimated, 14
true. Where rare classes were much easier than frequent ones the correction was 6 points too large,
where they were harder 3 too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from simkit.annotate.evaluation_set import half_width
from simkit.chance import Chance
from simkit.metrics.ap import LabelCounts

Array = NDArray[np.float64]

SIGMAS = NormalDist().inv_cdf(0.975)  # 19 times in 20
NEGLIGIBLE = 2.0  # points: smaller errors of a test set are ignored
# Standard deviation of the correction, as a part of it: with this 92 to 100 % of 90 % bands held
# on simulated classes (1 to 300, rare ones easier or harder; 1 to 100 images), with 0 82 to 100 %.
WRONG = 0.25
STEP = 0.2  # of d
APART = np.arange(-5.0, 9.0 + STEP / 2, STEP)  # values of d; below 0 worse than chance
BY = np.arange(-14.0, 9.0 + STEP / 2, STEP)  # shifts of d of all classes: worse or better models
AS_MEASURED = int(np.argmin(np.abs(BY)))
USUAL = 1.5, 1.0  # prior mean and variance of d, with the weight of one class
SLOPE = 4.0  # weight of the prior slope 0, in classes e times as frequent as the mean
ROUNDS = 200  # of expectation and maximisation
DRAWN = 12  # positives up to which the distribution of AP is drawn, and normal from there on
DRAWS, BLUR = 400, 0.04  # of that distribution; standard deviation of the kernel
NARROW = 1e-4  # variance of an AP, at least
ODD = 1e-6  # likelihood of an AP that no draw comes near
SLIGHT = 0.1  # smallest slope of mAP by arcsin(sqrt(mAP))
APARTNESS = 1e-6  # smallest difference of two mAP
_RANKS = (np.arange(48) + 0.5) / 48  # shares of images with the class that are scored higher
_NODES, _PARTS = np.polynomial.legendre.leggauss(40)
_T = 1 - ((_NODES + 1) / 2) ** 4  # dense near 1, where the integrand varies for many images
_DT = _PARTS / 2 * 4 * ((_NODES + 1) / 2) ** 3


@dataclass(frozen=True)
class TestSplit:
    """The test split of a comparison.

    Attributes
    ----------
    images
        Number of its images; None if the runs do not say it.
    half_width
        Half-width of the 95 % confidence interval of a mAP of 50, in points; 0 if unknown.
    on_few, on_many
        mAP of the same models on it and on many images, ascending.
    measured
        mAP of the better half of the runs on it.
    noise
        Standard deviation of arcsin(sqrt(mAP)) between such test splits; that of `half_width`
        assumes an AP of 50 of every class, while most classes are easier or harder.
    """

    __test__ = False  # not a test of pytest

    images: int | None = None
    half_width: float = 0.0
    on_few: tuple[float, ...] = (0.0, 1.0)
    on_many: tuple[float, ...] = (0.0, 1.0)
    measured: float = 0.0
    noise: float = 0.0

    @staticmethod
    def of(images: int, counts: LabelCounts, ap: Array, shares: Array, pool: int) -> TestSplit:
        """The test split of a comparison.

        Parameters
        ----------
        images
            Number of its images.
        counts
            Known present and absent labels of the L' classes over which mAP is averaged.
        ap
            (L',) mean measured AP, nan for classes without a test image.
        shares
            (L',) share of the pool's images with each class.
        pool
            Number of the pool's images.

        Returns
        -------
        TestSplit
        """
        shown = np.where(counts.scored, counts.present, 0)
        points = half_width(shown)
        if np.isnan(ap[shown > 0]).any():
            return TestSplit(images, points)
        both = (shares * pool + shown) / (pool + images)
        on_few, on_many, levels = _corrected(ap, shown, images, both)
        measured = float(ap[shown > 0].mean())
        by_class = half_width(shown[shown > 0], level=levels) / 100 / SIGMAS if len(levels) else 0.0
        slope = max(2 * math.sqrt(measured * (1 - measured)), SLIGHT)  # of mAP by the angle
        return TestSplit(images, points, on_few, on_many, measured, by_class / slope)

    @property
    def small(self) -> bool:
        """Whether its noise or its bias is more than negligible."""
        return max(self.half_width, 100 * (self.measured - self._many(self.measured))) >= NEGLIGIBLE

    @property
    def spread(self) -> float:
        """Standard deviation of arcsin(sqrt(mAP)) by noise and correction together; 0 if it is
        negligible. On this scale it does not depend on mAP."""
        if not self.small:
            return 0.0
        angles = np.arcsin(np.sqrt([self.measured, self._many(self.measured)]))
        return math.hypot(self.noise, WRONG * float(angles[0] - angles[1]))

    def on_new_images(self, scores: Array) -> Array:
        """These scores, corrected to new images; unchanged for a large test set."""
        return np.asarray(np.interp(scores, self.on_few, self.on_many)) if self.small else scores

    def _many(self, score: float) -> float:
        return float(np.interp(score, self.on_few, self.on_many))


def _mean_on_few(d: float, shown: int, images: int) -> float:
    """Mean AP of a class that is present in n = `shown` >= 1 of N = `images`, at distance d.

    Take one image with the class. A share p of the others with the class, and a share q of those
    without it, score higher. Ahead of it are A ~ Binomial(n - 1, p) images with the class and
    B ~ Binomial(N - n, q) others, so the precision at its rank is (1 + A) / (1 + A + B). As 1 / x
    is the integral of t**(x - 1) over t from 0 to 1, the mean of that precision is the integral of
    E[(1 + A) t**A] E[t**B], where

        E[t**B] = (1 - q (1 - t))**(N - n),
        E[(1 + A) t**A] = d/dt (t E[t**A]) = d/dt (t (1 - p (1 - t))**(n - 1)).

    It is evaluated by Gauss-Legendre quadrature; AP is its mean over p, which is uniform.
    """
    p, q = _RANKS[:, None], _above(d, _RANKS)[:, None]
    near, far = 1 - p * (1 - _T), 1 - q * (1 - _T)
    grown = near ** (shown - 1) + _T * (shown - 1) * p * near ** max(shown - 2, 0)
    return float((far ** (images - shown) * grown @ _DT).mean())


def _corrected(
    ap: Array, shown: NDArray[np.int64], images: int, shares: Array
) -> tuple[tuple[float, ...], tuple[float, ...], Array]:
    """mAP on so many images and on many, both rising from 0, of ever better models; and the
    expected AP on so many images of the classes that they show.

    From (0, 0) to (1, 1); mAP on many images never exceeds that on few. A measured 1, as always on
    one image, becomes the mAP of such classes on many. Equal where no class is scored, or the
    frequency of none is known.

    ap      (L,) measured, of some such models; not read where no image shows a class.
    shown   (L,) images that show each class.  shares  (L,) the same as shares of many images; mAP
    on many is the mean over the classes whose share is above 0.
    """
    scored, occurring = shown > 0, shares > 0
    if not scored.any() or not occurring.any():
        return (0.0, 1.0), (0.0, 1.0), np.zeros(0)
    by_count = {
        n: np.array([_mean_on_few(d, n, images) for d in APART.tolist()])
        for n in np.unique(shown[scored]).tolist()
    }
    few_ap = np.stack([by_count[n] for n in shown[scored].tolist()])
    above = _above(APART[:, None], _RANKS)
    all_ap = np.stack([_many(above, share) for share in shares[occurring].tolist()])
    rarity = np.log(np.maximum(shares, 1 / (images * len(shares))))
    part = _apart(_likely(ap[scored], shown[scored], images, by_count), rarity, scored)
    on_few = _by_degrees(part[scored], few_ap)
    on_many = _by_degrees(part[occurring], all_ap)
    # Where none is shifted, mAP on few images is the measured one; the rest of `part` is chance.
    measured = float(ap[scored].mean())
    on_few = np.interp(on_few, (0.0, on_few[AS_MEASURED], 1.0), (0.0, measured, 1.0))
    top = 1.0 if measured < 1 - APARTNESS else min(1.0, float(on_many[AS_MEASURED]))
    # Both curves rise strictly, so that mAP on few images can be interpolated.
    pairs = [(0.0, 0.0)]
    for few_images, many_images in zip(on_few.tolist(), on_many.tolist(), strict=True):
        both = few_images, min(few_images, many_images)
        if all(new > old + APARTNESS for new, old in zip(both, pairs[-1], strict=True)):
            pairs.append(both)
    pairs = [pair for pair in pairs if pair[0] < 1 - APARTNESS] + [(1.0, top)]
    few, many = zip(*pairs, strict=True)
    return few, many, (part[scored] * few_ap).sum(axis=1)


def _by_degrees(part: Array, ap: Array) -> Array:
    """(B,) mean AP of the classes with all distances shifted, by one of `BY` each; no class falls
    below chance that was not there before. part, ap (C, G)."""
    means = []
    for by in BY.tolist():
        other = np.clip(APART + by, np.minimum(APART, 0.0), APART[-1])
        low = np.clip(((other - APART[0]) / STEP).astype(int), 0, len(APART) - 2)
        over = (other - APART[low]) / STEP
        means.append((part * ((1 - over) * ap[:, low] + over * ap[:, low + 1])).sum(1).mean())
    return np.array(means)


def _apart(likely: Array, rarity: Array, scored: NDArray[np.bool_]) -> Array:
    """(L, G) probability of each distance for each class.

    Expectation maximisation: the d of a class is normal about a line in its rarity, with a common
    variance; the line is a ridge regression (prior `USUAL` and slope 0) on the posterior means.

    likely (C, G): likelihood of the scored classes.  rarity (L,): logarithm of shares.
    """
    at = np.stack([np.ones(len(rarity)), rarity - rarity[scored].mean()], axis=1)
    at[:, 1] = np.clip(at[:, 1], at[scored, 1].min(), at[scored, 1].max())
    line, variance = np.array([USUAL[0], 0.0]), USUAL[1]
    design = at[scored]
    for _ in range(ROUNDS):
        weights = _normal(at @ line, variance)
        part = likely * weights[scored]
        part /= part.sum(axis=1, keepdims=True)
        middles = part @ APART
        line = np.linalg.solve(
            design.T @ design + np.diag([1.0, SLOPE]),
            design.T @ middles + np.array([USUAL[0], 0.0]),
        )
        off = APART - (design @ line)[:, None]
        variance = float((part * off**2).sum() + USUAL[1]) / (len(part) + 1)
    posterior = _normal(at @ line, variance)
    posterior[scored] = part
    return posterior


def _normal(mean: Array, variance: float) -> Array:
    """(L, G) normal weights about these means (L,)."""
    log = -((APART - mean[:, None]) ** 2) / (2 * variance)
    weights = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _likely(ap: Array, shown: NDArray[np.int64], images: int, by_count: dict[int, Array]) -> Array:
    """(C, G) likelihood of each class's AP at each distance, up to a constant factor per class.

    Few positives use a kernel density of simulated AP, more a normal approximation.
    """
    likelihood = np.empty((len(ap), len(APART)))
    for n, mean in by_count.items():
        these = shown == n
        if n <= DRAWN:
            off = ap[these][:, None, None] - _drawn(n, images)
            likelihood[these] = np.exp(-(off**2) / (2 * BLUR**2)).mean(axis=2) + ODD
        else:
            variance = np.maximum(mean * (1 - mean), NARROW) / n + NARROW
            log = -((ap[these][:, None] - mean) ** 2) / (2 * variance) - 0.5 * np.log(variance)
            likelihood[these] = np.exp(log - log.max(axis=1, keepdims=True)) + ODD
    return likelihood


def _drawn(shown: int, images: int) -> Array:
    """(G, DRAWS) AP of a class that so many of the images show, at each distance."""
    rng = np.random.default_rng(Chance.seeded(0).of("average precision", shown, images).seed())
    ranks = np.sort(rng.random((DRAWS, shown)), axis=1)
    before = np.zeros((len(APART), DRAWS), np.int64)  # images without the class, so far
    share, total = np.zeros(before.shape), np.zeros(before.shape)
    for place in range(shown):
        above = _above(APART[:, None], ranks[:, place])
        between = np.clip((above - share) / np.maximum(1 - share, 1e-12), 0.0, 1.0)
        before += rng.binomial(images - shown - before, between)
        share = above
        total += (place + 1) / (place + 1 + before)
    return total / shown


def _many(above: Array, share: float) -> Array:
    """(...) AP on many images of a class of this share, where such shares (..., 48) of the other
    images are scored higher than each of `_RANKS`."""
    positives = share * _RANKS
    return np.asarray((positives / (positives + (1 - share) * above)).mean(axis=-1))


def _above(d: float | Array, ranks: Array) -> Array:
    """Shares of images without the class that score higher than those at these ranks."""
    return np.asarray(ndtr(-(d + ndtri(1 - ranks))))
