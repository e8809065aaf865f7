"""What mAP on few test images, or against labels with errors, is on many images with true labels.

Three effects make the measured mAP another one. A class is scored only if a test image shows it,
and often none shows the rare, hard ones. A class in one of 50 images has a prevalence of 1 in 15 if
it is in one of 15 test images, so fewer negatives can be ranked before its positive. And some of
the images labelled with a class do not show it, and others do: the model is right, and is counted
as wrong.

All follow from the binormal model of equal variance (Green and Swets, Signal Detection Theory,
1966): scores of images that show a class are normal, those of the others too, and d standard
deviations apart. The AP of n positives among N images then has a known distribution for every d,
also where the labels err at known rates (`_Fit`). The d of the classes are normal about a line in
the logarithm of their frequency; expectation maximisation (Dempster, Laird and Rubin, JRSS B 1977)
fits line, variance and each class's d to the measured AP. The AP of a class in few images is far
from normal; its distribution is simulated. For worse or better models the d of all classes shift by
one amount. This derivation is ours.

Measured: with six test sets of `scenes` of 15, 40 and 100 images each, mAP was 20, 10 and 4 points
above that of 2,000 images; after the correction it was 1 to 2, 1 and 1 below, with a standard
deviation of 1 to 2. Of 300 simulated classes on 60 images, mAP 49 was measured, 15 estimated, 14
true. Where rare classes were much easier than frequent ones the correction was 6 points too large,
where they were harder 3 too small. With labels that err: benchmarks/results/erring_test_labels.md.

Error rates limit what a perfect model would measure. A measured mAP above this limit contradicts
the rates, and no d explains it: it is not corrected for them. Of 2,000 images of `scenes` with 3 %
of errors planted in the labels, 73 mAP was measured, the limit was 77, and 93 was true and
estimated; with the true labels and the same rates, 93 was measured above a limit of 63.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, softmax

from simkit.annotate.evaluation_set import half_width
from simkit.chance import Chance
from simkit.metrics.ap import LabelCounts
from simkit.quantities import points
from simkit.results.statistics import Interval

Array = NDArray[np.float64]
Errors = tuple[float, float]  # shares of present classes missed, and of absent ones reported

SIGMAS = NormalDist().inv_cdf(0.975)  # 19 times in 20
TOO_HIGH = 0.005  # of a measured mAP: smaller differences are not explained
NEGLIGIBLE = 2.0  # points: smaller errors of a test set are ignored
RATES = 0.25  # standard deviation of error rates, as a part of them: 16 errors were seen
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
_SCORES = np.arange(14.0, -10.0, -0.05)  # of images, in standard deviations


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
    errors
        Error rates of its labels; None if they are unknown, and the labels are taken as true.
    few, erring
        Change of arcsin(sqrt(mAP)) by the number of images, and by errors of the labels.
    limit
        mAP that a perfect model would measure on it, if that is below the measured one: labels with
        the stated errors do not allow it, so they are taken as true. None: the rates are possible.
    """

    __test__ = False  # not a test of pytest

    images: int | None = None
    half_width: float = 0.0
    on_few: tuple[float, ...] = (0.0, 1.0)
    on_many: tuple[float, ...] = (0.0, 1.0)
    measured: float = 0.0
    noise: float = 0.0
    errors: Errors | None = None
    few: float = 0.0
    erring: float = 0.0
    limit: float | None = None
    _fit: _Fit | None = field(default=None, repr=False, compare=False)
    _supposed: dict[Errors, TestSplit] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(
        images: int,
        counts: LabelCounts,
        ap: Array,
        shares: Array,
        pool: int,
        *,
        errors: Errors | None = None,
    ) -> TestSplit:
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
            (L',) share of the pool's images labelled with each class.
        pool
            Number of the pool's images.
        errors
            Shares of present classes that the labels of test split and pool miss, and of absent
            ones that they report. None: unknown; the labels are taken as true.

        Returns
        -------
        TestSplit
        """
        shown = np.where(counts.scored, counts.present, 0)
        points = half_width(shown)
        both = (shares * pool + shown) / (pool + images)
        if not shown.any() or np.isnan(ap[shown > 0]).any():
            return TestSplit(images, points, errors=errors)
        fit = _Fit(images, ap, shown, both, pool + images, errors or (0.0, 0.0))
        (on_few, on_many), measured = fit.curves, float(ap[shown > 0].mean())
        if any(errors or ()) and measured > fit.limit:
            true = TestSplit.of(images, counts, ap, shares, pool)
            return replace(true, limit=fit.limit)
        slope = max(2 * math.sqrt(measured * (1 - measured)), SLIGHT)  # of mAP by the angle
        noise = half_width(shown[shown > 0], level=fit.expected) / 100 / SIGMAS / slope
        alike = min(measured, fit.on_many(fit.errors))  # on many images with such labels
        return TestSplit(
            images, points, on_few, on_many, measured, noise * fit.steepness(fit.errors), errors,
            _angle(measured) - _angle(alike),
            _angle(alike) - _angle(float(np.interp(measured, on_few, on_many))), _fit=fit,
        )  # fmt: skip

    @property
    def small(self) -> bool:
        """Whether its noise or its bias is more than negligible, or its labels err."""
        bias = 100 * (self.measured - self._many(self.measured))
        return any(self.errors or ()) or max(self.half_width, bias) >= NEGLIGIBLE

    @property
    def spread(self) -> float:
        """Standard deviation of arcsin(sqrt(mAP)) by noise and correction together; 0 if it is
        negligible. On this scale it does not depend on mAP."""
        return self._spread if self.small else 0.0

    @property
    def uncertain(self) -> float:
        """Half-width of the 95 % interval of mAP in points: where its labels err, with what is
        unknown about the correction."""
        if self.images is None or not any(self.errors or ()):
            return self.half_width
        return self.certainty(self.images, self.errors or (0.0, 0.0))

    @property
    def _spread(self) -> float:
        return math.hypot(self.noise, WRONG * self.few, WRONG * self.erring, RATES * self.erring)

    def interval(self, corrected: float, half: float = 0.0) -> Interval:
        """The 95 % interval of mAP on new images, about a mAP that `on_new_images` returned.

        half: half-width of the interval of this mAP over draws, if it is a mean over several.
        """
        angle = _angle(corrected)
        error = math.hypot(SIGMAS * self._spread, half / max(math.sin(2 * angle), SLIGHT))
        low, high = np.sin(np.clip([angle - error, angle + error], 0, math.pi / 2)) ** 2
        return Interval(corrected, float(low), float(high), 1)

    def supposing(self, errors: Errors) -> TestSplit:
        """The same measurements, if the labels of test split and pool had these error rates."""
        if (fit := self._fit) is None:
            return self
        if errors in self._supposed:
            return self._supposed[errors]
        counts = LabelCounts(fit.shown, fit.images - fit.shown)
        pool = fit.total - fit.images
        shares = (fit.labelled * fit.total - fit.shown) / max(pool, 1)
        supposed = TestSplit.of(fit.images, counts, fit.ap, shares, pool, errors=errors)
        return self._supposed.setdefault(errors, supposed)

    def certainty(self, images: int, errors: Errors) -> float:
        """Half-width of the 95 % interval of mAP on true labels, in points, of a test split of so
        many images whose labels have these error rates: the noise falls with the root of the
        number of images, the bias of few images with the number, and that of errors with them."""
        if (fit := self._fit) is None or self.images is None:
            return self.half_width
        times, true = images / self.images, self._many(self.measured)
        erring = _angle(fit.on_many(errors)) - _angle(fit.on_many((0.0, 0.0)))
        noise = self.noise * fit.steepness(errors) / fit.steepness(fit.errors) / math.sqrt(times)
        parts = noise, WRONG * self.few / times, WRONG * erring, RATES * erring
        return 200 * SIGMAS * math.hypot(*parts) * math.sqrt(true * (1 - true))

    def on_new_images(self, scores: Array) -> Array:
        """These scores, corrected to new images; unchanged for a large test set."""
        return np.asarray(np.interp(scores, self.on_few, self.on_many)) if self.small else scores

    def _many(self, score: float) -> float:
        return float(np.interp(score, self.on_few, self.on_many))


def on_new_images(ap: Array, counts: LabelCounts, errors: Errors | None = None) -> Interval:
    """mAP on many new images and its 95 % interval, of a model measured on a test split alone.

    ap (L,): measured, nan for classes without both present and absent labels.  counts: these
    labels; of one class at least there are both.  errors: their rates; None: taken as true.
    """
    known = counts.present + counts.absent
    shares = counts.present / np.maximum(known, 1)
    split = TestSplit.of(int(known.max()), counts, ap, shares, 0, errors=errors)
    return split.interval(float(split.on_new_images(np.array([np.nanmean(ap)]))[0]))


def in_words(scored: Mapping[str, Any]) -> str:
    """The mAP that training recorded in a model (`Trained.scored`): expected, then measured."""
    few = too_high(scored["map"], scored.get("as_true", scored["expected"]))
    return (
        f"{expected_in_words(scored)}; measured over {scored['classes']:,} classes on "
        f"{scored['images']:,} images (split {scored['split']}): {points(scored['map'])}{few}"
    )


def expected_in_words(scored: Mapping[str, Any]) -> str:
    """The mAP of a model on new images: the number to tell others."""
    expected = Interval(scored["expected"], scored["low"], scored["high"], 1)
    text = f"{expected.ends} expected on new images"
    if "chance" in scored:  # of models of this version
        text += f"; a random order has {points(scored['chance'])}"
    if (errors := scored.get("errors")) is not None:
        by = scored["expected"] - scored["as_true"]
        text += f"; {correction_in_words((errors[0], errors[1]), by)}"
    return text


def too_high(measured: float, expected: float) -> str:
    """Why mAP measured on few images is above the one expected on many with such labels, if it is
    by more than 0.5 points."""
    return ", too high on average, as the images are few" * (measured - expected > TOO_HIGH)


def correction_in_words(errors: Errors, by: float) -> str:
    """By how much mAP in [0, 1] was corrected for these errors of the labels."""
    missed, reported = (f"{rate:.1%}" for rate in errors)
    rates = f"errors of these labels ({missed} of present classes missed, {reported} of absent ones"
    if not by:
        return f"not corrected for {rates} reported), which do not explain it"
    way = "low" if by > 0 else "high"
    return f"{rates} reported) make mAP look {points(abs(by))} points too {way}"


def _angle(score: float) -> float:
    return math.asin(math.sqrt(min(max(score, 0.0), 1.0)))


@dataclass(frozen=True, eq=False)
class _Fit:
    """The distances d of the classes, fitted to their AP measured on a test split.

    Of the images labelled with a class of the true share p, (1 - m) p / ((1 - m) p + f (1 - p))
    show it, and m p / (m p + (1 - f) (1 - p)) of the others, where m of the present are missed and
    f of the absent reported: both kinds of images have scores from a mixture of the two normal
    distributions. So the AP measured against such labels has a known distribution for every d, and
    the d that explain it give the AP on true labels.

    ap        (L,) measured, of some models; not read where no image shows a class.
    shown     (L,) test images labelled with each class, at least one above 0.
    labelled  (L,) the same as shares of the `total` images of test split and pool; mAP on many
              images is the mean over the classes whose share is above 0.
    errors    m and f.
    """

    images: int
    ap: Array
    shown: NDArray[np.int64]
    labelled: Array
    total: int
    errors: Errors
    _by_errors: dict[Errors, Array] = field(default_factory=dict)  # a page asks for few, often

    @property
    def scored(self) -> NDArray[np.bool_]:
        return self.shown > 0

    @cached_property
    def shares(self) -> Array:
        """(L',) shares of the images that show each class, of those with a label.

        The share labelled is (1 - m) p + f (1 - p). Its estimate is normal about that, and p is
        not below 0: the mean of the normal distribution cut off there.
        """
        labelled = self.labelled[self.labelled > 0]
        miss, false_alarm = self.errors
        if not any(self.errors):
            return labelled
        error = np.sqrt(labelled * (1 - labelled) / self.total)
        over = (labelled - false_alarm) / np.maximum(error, 1e-9)
        cut = np.exp(-(over**2) / 2 - log_ndtr(over)) / math.sqrt(2 * math.pi)
        share = error * (over + cut) / (1 - miss - false_alarm)
        return np.asarray(np.clip(share, 1e-6, 0.99))

    @cached_property
    def on_few(self) -> tuple[Array, Array]:
        """(C, G) likelihood of the measured AP of the scored classes at each distance, and their
        mean AP on so many images."""
        scored = self.scored
        shown, ap = self.shown[scored], self.ap[scored]
        mixtures = _mixtures(self.shares[scored[self.labelled > 0]], self.errors)
        kinds = [(n, *mixture) for n, mixture in zip(shown.tolist(), mixtures, strict=True)]
        likelihood, means = (np.empty((len(ap), len(APART))) for _ in range(2))
        for kind in dict.fromkeys(kinds):
            these = np.array([one == kind for one in kinds])
            n, *mixture = kind
            means[these] = mean = _mean_on_few(_above(_RANKS, *mixture), n, self.images)
            likelihood[these] = _likely(ap[these], mean, n, self.images, (mixture[0], mixture[1]))
        return likelihood, means

    @cached_property
    def part(self) -> Array:
        """(L', G) probability of each distance, of the classes with a label."""
        rarity = np.log(np.maximum(self.shares, 1 / (self.images * len(self.labelled))))
        return _apart(self.on_few[0], rarity, self.scored[self.labelled > 0])

    @property
    def expected(self) -> Array:
        """(C,) expected AP on so many images, of the scored classes."""
        return np.asarray((self._of_scored * self.on_few[1]).sum(axis=1))

    @property
    def _of_scored(self) -> Array:
        return np.asarray(self.part[self.scored[self.labelled > 0]])

    @cached_property
    def curves(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """mAP measured on so many images, and on many with true labels, both rising from 0, of
        ever better models.

        From (0, 0) to (1, 1); on true labels, mAP on many images never exceeds that on few. A
        measured 1, as always on one image, becomes the mAP of such classes on many.
        """
        on_few = _by_degrees(self._of_scored, self.on_few[1])
        on_many = self._on_many((0.0, 0.0))
        # Where none is shifted, mAP on few images is the measured one; the rest is chance.
        measured = float(self.ap[self.scored].mean())
        on_few = np.interp(on_few, (0.0, on_few[AS_MEASURED], 1.0), (0.0, measured, 1.0))
        top = 1.0 if measured < 1 - APARTNESS else min(1.0, float(on_many[AS_MEASURED]))
        # Both curves rise strictly, so that mAP on few images can be interpolated.
        pairs = [(0.0, 0.0)]
        for few, many in zip(on_few.tolist(), on_many.tolist(), strict=True):
            both = few, many if any(self.errors) else min(few, many)
            if all(new > old + APARTNESS for new, old in zip(both, pairs[-1], strict=True)):
                pairs.append(both)
        pairs = [pair for pair in pairs if max(pair[0], pair[1] / top) < 1 - APARTNESS]
        few_images, many_images = zip(*pairs, (1.0, top), strict=True)
        return few_images, many_images

    @property
    def limit(self) -> float:
        """mAP on so many images of a model that separates all classes, against these labels."""
        return float(self.on_few[1].max(axis=1).mean())

    def on_many(self, errors: Errors) -> float:
        """mAP of these models on many images, measured against labels with these errors."""
        return float(self._on_many(errors)[AS_MEASURED])

    def steepness(self, errors: Errors) -> float:
        """How much mAP on true labels changes by that against labels with these errors, in
        angles: errors hide part of the difference between models."""
        if not any(errors):
            return 1.0
        near = slice(AS_MEASURED - 1, AS_MEASURED + 2, 2)
        true, seen = (
            np.diff(np.arcsin(np.sqrt(self._on_many(rates)[near])))
            for rates in ((0.0, 0.0), errors)
        )
        return float((true / np.maximum(seen, APARTNESS))[0])

    def _on_many(self, errors: Errors) -> Array:
        if errors in self._by_errors:
            return self._by_errors[errors]
        seen = (1 - errors[0]) * self.shares + errors[1] * (1 - self.shares)
        mixtures = _mixtures(self.shares, errors)
        ap = [_many(_above(_RANKS, *m), s) for m, s in zip(mixtures, seen.tolist(), strict=True)]
        self._by_errors[errors] = on_many = _by_degrees(self.part, np.stack(ap))
        return on_many


def _mixtures(shares: Array, errors: Errors) -> list[tuple[float, float]]:
    """The share of images that show a class of each true share, among those labelled with it and
    among the others. Shares are rounded, by 10 % at most, so that classes share tables."""
    if not any(errors):
        return [(1.0, 0.0)] * len(shares)
    shares = np.exp(np.round(np.log(shares) / STEP) * STEP)
    miss, false_alarm = errors
    with_it = (1 - miss) * shares / ((1 - miss) * shares + false_alarm * (1 - shares))
    without = miss * shares / (miss * shares + (1 - false_alarm) * (1 - shares))
    return list(zip(with_it.tolist(), without.tolist(), strict=True))


def _mean_on_few(above: Array, shown: int, images: int) -> Array:
    """(G,) mean AP of a class that n = `shown` >= 1 of N = `images` are labelled with, at each
    distance.

    Take one image with the class. A share p of the others with the class, and a share q of those
    without it, score higher. Ahead of it are A ~ Binomial(n - 1, p) images with the class and
    B ~ Binomial(N - n, q) others, so the precision at its rank is (1 + A) / (1 + A + B). As 1 / x
    is the integral of t**(x - 1) over t from 0 to 1, the mean of that precision is the integral of
    E[(1 + A) t**A] E[t**B], where

        E[t**B] = (1 - q (1 - t))**(N - n),
        E[(1 + A) t**A] = d/dt (t E[t**A]) = d/dt (t (1 - p (1 - t))**(n - 1)).

    It is evaluated by Gauss-Legendre quadrature; AP is its mean over p, which is uniform.

    above (G, 48): q at the shares p of `_RANKS`.
    """
    near, means = 1 - _RANKS[:, None] * (1 - _T), []
    grown = near ** (shown - 1)
    grown = grown + _T * (shown - 1) * _RANKS[:, None] * near ** max(shown - 2, 0)
    for q in above:
        far = 1 - q[:, None] * (1 - _T)
        means.append(float((far ** (images - shown) * grown @ _DT).mean()))
    return np.array(means)


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
    return np.asarray(softmax(-((APART - mean[:, None]) ** 2) / (2 * variance), axis=1))


def _likely(ap: Array, mean: Array, shown: int, images: int, mixture: tuple[float, float]) -> Array:
    """(C, G) likelihood of each class's AP at each distance, up to a constant factor per class.

    Few positives use a kernel density of simulated AP, more a normal approximation.
    """
    if shown <= DRAWN:
        off = ap[:, None, None] - _drawn(shown, images, mixture)
        return np.asarray(np.exp(-(off**2) / (2 * BLUR**2)).mean(axis=2) + ODD)
    variance = np.maximum(mean * (1 - mean), NARROW) / shown + NARROW
    log = -((ap[:, None] - mean) ** 2) / (2 * variance) - 0.5 * np.log(variance)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)) + ODD)


def _drawn(shown: int, images: int, mixture: tuple[float, float]) -> Array:
    """(G, DRAWS) AP of a class that so many of the images are labelled with, at each distance."""
    rng = np.random.default_rng(Chance.seeded(0).of("average precision", shown, images).seed())
    ranks = np.sort(rng.random((DRAWS, shown)), axis=1)
    above = _above(ranks.ravel(), *mixture).reshape(len(APART), DRAWS, shown)
    before = np.zeros((len(APART), DRAWS), np.int64)  # images without the class, so far
    share, total = np.zeros(before.shape), np.zeros(before.shape)
    for place in range(shown):
        next_share = above[:, :, place]
        between = np.clip((next_share - share) / np.maximum(1 - share, 1e-12), 0.0, 1.0)
        before += rng.binomial(images - shown - before, between)
        share = next_share
        total += (place + 1) / (place + 1 + before)
    return total / shown


def _many(above: Array, share: float) -> Array:
    """(...) AP on many images of a class of this share, where such shares (..., 48) of the other
    images are scored higher than each of `_RANKS`."""
    positives = share * _RANKS
    return np.asarray((positives / (positives + (1 - share) * above)).mean(axis=-1))


def _above(ranks: Array, with_it: float = 1.0, without: float = 0.0) -> Array:
    """(G, R) shares of images labelled without the class that score higher than those at these
    ranks (R,) among the images labelled with it, at each distance.

    with_it, without: shares of either kind of images that show the class.
    """
    if (with_it, without) == (1.0, 0.0):
        return np.asarray(ndtr(-(APART[:, None] + ndtri(1 - ranks))))
    tables = zip(*_tails(with_it, without), strict=True)
    return np.stack([np.interp(ranks, labelled, others) for labelled, others in tables])


@lru_cache(maxsize=256)
def _tails(with_it: float, without: float) -> tuple[Array, Array]:
    """(G, T) shares of the images labelled with a class, and of the others, above ever lower
    scores."""
    present, absent = ndtr(APART[:, None] - _SCORES), ndtr(-_SCORES)
    return with_it * present + (1 - with_it) * absent, without * present + (1 - without) * absent
