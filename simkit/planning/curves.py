"""Curves of mAP over known labels, with samples of the quantities that a pilot cannot measure.

Three steps, all functions of counts and not of dollars:

1. *Complete labels* (`FullCurve`). mAP of n completely labelled images: through the measured sizes
   up to the pilot's pool. Beyond it logit mAP = logit C + exp(z) s (1 - x**-g) / g with x = n / n0,
   the slope s at the end of the pilot, a decay g that grows with log s, as steep curves flatten
   sooner, and a factor exp(z) that the pilot cannot measure, larger for small pilots.
2. *A label option in the pilot's pool* (`CellCurve`). u is the share of labels that a method can
   use. At u = 1 the labels are complete, and mAP is C of the same method. Every family is
   C - a z(u) with z(1) = 0, so that a has a closed form; shapes z are weighted by their fit.
3. *The same shares of a larger pool* (`Curves.__call__`). Two rules bound the extrapolation: the
   distance of an option to complete labels of the same images is constant in logit mAP, or its
   labels remain equivalent to complete labels of the same share of the images. Every sample mixes
   them by a weight from 0 to 1, with an error that grows as fewer labels are known. An option that
   gains nothing from more images in the pilot gains nothing beyond it.

The constants below come from benchmarks/plan_backtest.py, which measures how well they hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from simkit.annotate.annotators import Habits, outvoted
from simkit.chance import Chance
from simkit.planning.answers import (
    OFFERED,
    Answers,
    Errors,
    cost_of,
    together,
    true_shares,
)
from simkit.planning.costs import PriceCurve
from simkit.planning.evidence import COMPLETE, Array, Evidence, LabelOption, Pair, Received, Size
from simkit.results.cells import FULL

SAMPLES = 400
NOISE = 0.007  # mAP: accuracy of a family's description of a curve
STEEP = 0.55  # standard deviation of the logarithm of a family's exponent, about 1
FEWER = 1.3, 0.5  # factor of the slope below the smallest size, and its log error
BRIDGE = 0.1  # standard deviation half-way between the pilot's end and complete labels, as a part
STRAIGHT = 0.5  # share of the samples that continue linearly in logit mAP
NEARBY = 4.0  # ratio of sizes for the slope at the end of the pilot
# Growth beyond a pilot: fitted by benchmarks/growth.py to learning curves of ten data sets.
DECAY = 0.60, 0.45  # at slope 1, and its change by log slope
# Curves are steepest, in logit mAP, from 100 to 400 images on: fewer understate what more give.
BY_IMAGES, OF_IMAGES, MOST_IMAGES = -0.26, 225, 450  # change of z by log images, 0 at; fitted up to
GROWTH = 0.30  # standard deviation of z: 0.21 between data sets, 0.21 within them
LEAST_DECAY = 0.02  # no curve steepens
FLATTEST, TYPICAL = 0.02, 0.5  # least slope at the end of a pilot, and that of one without sizes
MOVED = 0.07, 0.26  # logit mAP: error of step 3 at ten times the pool, with u = 1 and more at u = 0
SHARED_GAIN = 0.3  # of the gain of complete labels: options with less in the pilot fall behind
OTHER_IMAGES = 0.006  # mAP: standard deviation between images of a project and of a pilot
PARTS = np.geomspace(0.002, 1.0, 40)  # of the pool, at which complete labels are inverted
LARGEST = 64.0  # times the pool: the largest sum of labels
SUMMED = np.geomspace(0.002, LARGEST, 80)  # times the pool: the same for sums of labels
EDGE = 1e-4  # of mAP, so that logits stay finite
BENT = 0.6  # log error of the slope of logit mAP over the cost of errors, besides the draws
GROWN = 0.4  # log error of the gain of cleaner labels at ten times the pool
RIGHT = 0.1  # of the labels that show a class, at least
AGREEING = 40  # smallest effective number of samples that agree with a scored purchase


@dataclass(frozen=True, eq=False)
class CellCurve:
    """mAP of one label option and method in the pilot's pool, by the share u of usable labels.

    Attributes
    ----------
    u
        (K,) measured shares, ascending.
    scores
        (R, K) mAP there.
    end
        (R,) mAP at u = 1.
    scale
        (R,) a of the sampled shape.
    shape
        (R,) place of the sampled shape of `_shapes`.
    straight
        (R,) whether logit mAP is a straight line in log u beyond the largest size instead.
    wander
        (R,) standard normal, of the bridge between the last size and the end.
    """

    u: Array
    scores: Array
    end: Array
    scale: Array
    shape: NDArray[np.int64]
    straight: NDArray[np.bool_]
    wander: Array

    def __call__(self, u: Array) -> Array:
        """(R, M) mAP at the shares u (M,)."""
        u = np.clip(np.asarray(u, np.float64), 1e-9, 1.0)
        log, known = np.log(u), np.log(self.u)
        part = np.clip((log - known[-1]) / max(-known[-1], 1e-9), 0.0, 1.0)  # of the way to u = 1
        value = self._shape(u)
        missed = self.scores - self._shape(self.u)
        value += _between(log, known, missed) * (1 - part)
        last, end = (_logit(x)[:, None] for x in (self.scores[:, -1], self.end))
        line = expit(last + (end - last) * part)
        value = np.where(self.straight[:, None] & (part > 0), line, value)
        gap = self.end - self.scores[:, -1]
        value += (BRIDGE * self.wander * gap)[:, None] * np.sqrt(4 * part * (1 - part))
        most = np.maximum(self.end, self.scores.max(axis=1))[:, None]
        value = np.clip(value, EDGE, np.minimum(most, 1 - EDGE))
        if (below := log < known[0]).any():
            # Fewer labels than measured: a line in logit mAP and log u, steeper than between the
            # two smallest sizes, as learning curves are steepest at their start.
            y, (steeper, error) = _logit(self.scores), FEWER
            slope = (y[:, 1] - y[:, 0]) / (known[1] - known[0]) if len(known) > 1 else 0.5
            slope = np.maximum(slope, 0.1) * steeper * np.exp(error * self.wander)
            line = expit(y[:, :1] + slope[:, None] * np.minimum(log - known[0], 0))
            value = np.where(below, line, value)
        return value

    def _shape(self, u: Array) -> Array:
        """(R, M) the sampled C - a z(u)."""
        return self.end[:, None] - self.scale[:, None] * _shapes(u)[self.shape]


@dataclass(frozen=True, eq=False)
class FullCurve:
    """mAP of complete labels with one method, (R, ...) for every sample.

    Attributes
    ----------
    end
        (R,) mAP of the whole pool.
    within
        The curve of parts of the pool, by the share of its images.
    slope, factor
        (R,) slope of logit mAP over log n at the pool's size, and factor of the gain beyond.
    """

    end: Array
    within: CellCurve
    slope: Array
    factor: Array

    def logit(self, times: Array) -> Array:
        """(R, M) logit mAP at `times` (M,) the images of the pool."""
        within = logit(self.within(np.minimum(times, 1.0)))
        return within + self._beyond(np.log(np.maximum(times, 1.0))[None])

    def enlarged(self, here: Array, times: Array) -> Array:
        """(R, M) logit mAP of labels equivalent to the same share of `times` the images.

        here: (R, M) logit mAP in the pool; above complete labels the distance is constant.
        """
        log, curve = np.log(PARTS), self._parts
        high = np.clip((curve[:, None, :] < here[:, :, None]).sum(axis=2), 1, len(log) - 1)
        below, above = (np.take_along_axis(curve, place, axis=1) for place in (high - 1, high))
        step = log[1] - log[0]
        part = log[high - 1] + step * np.clip((here - below) / (above - below), 0.0, 1.0)
        at = np.minimum((part + np.log(times) - log[0]) / step, len(log) - 1.0)  # in steps
        low = np.clip(at.astype(int), 0, len(log) - 2)
        low_value, high_value = (np.take_along_axis(curve, k, axis=1) for k in (low, low + 1))
        inside = low_value + (high_value - low_value) * np.clip(at - low, 0.0, 1.0)
        outside = np.maximum(here - curve[:, -1:], 0) + np.minimum(here - curve[:, :1], 0)
        return inside + self._beyond(np.maximum(part + np.log(times), 0)) + outside

    @cached_property
    def _parts(self) -> Array:
        """(R, G) logit mAP of parts of the pool, strictly ascending."""
        ascending = np.maximum.accumulate(self.logit(PARTS), axis=1)
        return ascending + 1e-9 * np.arange(len(PARTS))

    def _beyond(self, log: Array) -> Array:
        """(R, M) gain of logit mAP beyond the pool, by the logarithm of times, 0 or more."""
        at_one, by_slope = DECAY
        g = np.maximum(at_one + by_slope * np.log(self.slope), LEAST_DECAY)[:, None]
        return (self.factor * self.slope)[:, None] * -np.expm1(-g * log) / g

    def together(self, here: Array, others: Array) -> Array:
        """(R, M) mAP of labels with mAP `here` (R, M) and `others` (R, 1), trained on together.

        Each is worth as much as some number of completely labelled images, and the numbers add.
        """
        log, curve = np.log(SUMMED), self.logit(SUMMED)
        curve = np.maximum.accumulate(curve, axis=1) + 1e-9 * np.arange(len(log))
        total, lead = np.zeros(here.shape), np.zeros(here.shape)
        for value in (_logit(here), _logit(others)):
            for row, known in enumerate(curve):
                total[row] += np.exp(np.interp(value[row], known, log))
            lead = np.maximum(lead, value - curve[:, -1:])  # above complete labels of the most
        inside = np.stack([
            np.interp(np.log(times), log, known) for times, known in zip(total, curve, strict=True)
        ])  # fmt: skip
        return np.maximum(expit(inside + lead), np.maximum(here, others))

    def __call__(self, times: Array) -> Array:
        return expit(self.logit(times))


class Curves:
    """All curves of a comparison, with shared samples, so that differences are paired.

    Parameters
    ----------
    evidence
        The measured runs.
    purchases
        Counts of present and absent labels in the pilot's pool, by label option.
    seed
        Seed of all samples.
    errors
        Error rates of one answer; None: unknown.
    usual
        Answers per question in the pilot and the price list.
    """

    def __init__(
        self, evidence: Evidence, purchases: Mapping[LabelOption, PriceCurve], *, seed: int = 0,
        errors: Errors | None = None, usual: int = 1,
    ) -> None:  # fmt: skip
        self.evidence, self.purchases, self.seed = evidence, purchases, seed
        self.errors, self.usual = errors, usual
        rng = self._rng("draws")
        # The Bayesian bootstrap (Rubin, Annals of Statistics 1981) over draws. All cells share the
        # weights of a sample, because draws share their images and luck: differences are paired.
        self.weights = rng.dirichlet(np.ones(evidence.draws), SAMPLES)
        self.chance = float((evidence.pool.present / evidence.pool.images).mean())
        self._luck = rng.standard_normal(SAMPLES)
        self._full: dict[tuple[object, str], FullCurve] = {}
        self._slopes: dict[Habits, Array] = {}
        self._cells: dict[Pair, CellCurve] = {}
        # Within a sample, quantities that a pilot cannot measure are equal for all methods.
        self._growth = rng.standard_normal(SAMPLES)
        self._moves, self._mix = rng.standard_normal(SAMPLES), rng.random((SAMPLES, 1))
        self.kept = np.arange(SAMPLES)  # samples that agree with earlier purchases, with repetition
        # mean mAP of the labels so far in each sample, and the option and method trained on them
        self.base = np.zeros(SAMPLES)
        self.trained: Pair | None = None
        self.in_project = evidence.project is not None
        if self.in_project:  # which trains on its pilot as well
            ends = {pair: self.full(pair).end for pair in evidence.cells if pair[0].complete}
            if ends:
                self.trained = max(ends, key=lambda pair: float(ends[pair].mean()))
                self.base = ends[self.trained]

    @property
    def floor(self) -> Array:
        """(R,) mAP of one model on the labels so far, in the samples `kept`; 0 without any."""
        if self.trained is None:
            return np.zeros(SAMPLES)
        return np.asarray(self.as_scored(self.trained, self.base[:, None])[self.kept, 0])

    def with_labels_so_far(
        self, pair: Pair, present: Array, absent: Array, times: Array, images: int | None = None
    ) -> Array:
        """(R, M) mean mAP of one model on these labels and all labels so far.

        In a project these are at least those of the pilot. Arrays are those of `__call__`; images:
        the number of all images besides the pilot's. Further labels of the option of earlier
        rounds contain those. If images are the amount, the labels and those so far are worth some
        numbers of completely labelled images, which add. Otherwise the counts add: the method then
        sees the mean share of known labels of all images, and many images with few labels can
        spoil a few complete ones, as measured (see docs/planning.md).
        """
        option, _ = pair
        received, full, pool = self.evidence.received, self.full(pair), self.evidence.pool.images
        more = received if received is not None and received.option != option else None
        if more is None and not self.in_project:
            return self(pair, present, absent, times)
        limit = math.inf if images is None else images / pool + self.in_project
        if option.amount == "images":
            value = self(pair, present, absent, times)
            if more is not None:
                value = full.together(value, self.base[:, None])
            elif self.in_project:
                value = full.together(value, full.end[:, None])
            return np.minimum(value, full(np.array([min(limit, LARGEST)])))
        counts = [present * times[:, None], absent * times[:, None]]
        total, complete = times + self.in_project, self.purchases[option].complete
        if self.in_project:
            counts = [count + whole for count, whole in zip(counts, complete, strict=True)]
        if more is not None:
            counts = [counts[0] + more.present, counts[1] + more.absent]
            total = np.maximum(times, self._times(more)) + self.in_project
        known = [np.minimum(counts[k] / total[:, None], complete[k]) for k in (0, 1)]
        return self(pair, known[0], known[1], total)

    def with_errors(self, errors: Errors) -> Curves:
        """The same curves for annotators with these error rates."""
        other = copy(self)
        other.errors = errors
        return other

    def offers(self, option: LabelOption) -> list[Answers]:
        """The numbers of answers per question that can be judged, that of the pilot first.

        Others need the error rates of an answer, and runs with additional errors.
        """
        usual = Answers(option.habits.workers or self.usual)
        if self.errors is None or not option.habits.perfect:
            return [usual]
        numbers = OFFERED if any(self.errors) and self.evidence.levels else ()
        shown = float((self.evidence.pool.present / self.evidence.pool.images).mean())
        return [
            Answers.of(number, self.errors, self.usual, shown)
            for number in dict.fromkeys([self.usual, *numbers])
        ]

    def gain(self, method: str, answers: Answers, times: Array) -> Array:
        """(R, M) gain of logit mAP by so many answers per question instead of the usual number.

        It is that on complete labels of the pool, for all purchases: on `times` as many images its
        logarithm has an error that grows with their logarithm.
        """
        if answers.errors is None or answers.number == self.usual:
            return np.zeros((SAMPLES, 1))
        evidence = self.evidence
        before, shares = self._errors_so_far()
        rng = self._rng("errors")  # the same for all methods and numbers of answers
        bent, grown = rng.standard_normal((2, SAMPLES))
        # The line of logit mAP over the cost of errors, through the labels as they are.
        name = next((m for m in (method, FULL) if m in evidence.levels), min(evidence.levels))
        levels = evidence.levels[name]
        costs = [cost_of(together(before, level), shares) for level in levels]
        away = np.array(costs) - cost_of(before, shares)
        whole = self._means([evidence.complete[Habits(), name], *levels.values()])
        drops = _logit(whole[:, :1]) - _logit(whole[:, 1:])
        slope = np.maximum(drops @ away / (away @ away), 0.0) * np.exp(BENT * bent)
        saved = cost_of(before, shares) - cost_of(answers.errors, shares)
        far = np.sqrt(np.maximum(np.log10(times), 0.0))
        return np.asarray(saved * slope[:, None] * np.exp(GROWN * grown[:, None] * far))

    def _errors_so_far(self) -> tuple[Errors, Array]:
        """Error rates of the pilot's labels, and (L',) true shares of images with each class."""
        assert self.errors is not None
        miss, false_alarm = (outvoted(rate, self.usual) for rate in self.errors)
        seen = self.evidence.pool.present / self.evidence.pool.images
        shares = true_shares(seen, (miss, false_alarm))
        # A rare class may be seen less often than false alarms alone would be.
        return (miss, false_alarm), np.clip(shares, RIGHT * np.maximum(seen, 1e-6), 0.999)

    def so_far(self, pair: Pair) -> Array:
        """(R,) mAP of the labels so far: those of earlier rounds, or else the pilot's."""
        if self.evidence.received is not None:
            return self.floor
        whole = self.as_scored(pair, self.full(pair)(np.ones(1)))[:, 0]
        return np.asarray(whole[self.kept])

    def expected(self, received: Received) -> Array:
        """(R,) expected mAP of one model on these labels, in the samples `kept`."""
        pair = received.option, received.method
        return np.asarray(self.as_scored(pair, self._received(received))[self.kept, 0])

    def _received(self, received: Received) -> Array:
        """(R, 1) mean mAP of labels of earlier rounds, in a project with those of its pilot."""
        columns = self._columns(received.option, received, self._times(received))
        return self.with_labels_so_far((received.option, received.method), *columns)

    def _times(self, received: Received) -> float:
        by_images = received.option.amount == "images"
        return (received.asked if by_images else received.images) / self.evidence.pool.images

    def agree_with(self, received: Received) -> None:
        """Resample in proportion to the likelihood of a purchase's mAP.

        Importance resampling (Rubin 1988) with a normal likelihood. It is widened until the
        effective number of samples, (sum w)**2 / sum w**2, reaches `AGREEING`: a mAP that no sample
        predicted would otherwise leave a single sample, and intervals of width zero.
        """
        value = self.expected(received)
        width = max(NOISE, _spread(received.scores) / np.sqrt(len(received.scores)))
        while True:
            weights = np.exp(-(((value - received.score) / width) ** 2) / 2)
            if weights.sum() ** 2 >= AGREEING * (weights**2).sum() > 0:
                break
            width *= 1.25
        rng = self._rng("bought", str(received.option), received.method)
        chosen = rng.choice(SAMPLES, SAMPLES, p=weights / weights.sum())
        self.kept = self.kept[np.sort(chosen)]
        self.trained = received.option, received.method
        self.base = self._received(received)[:, 0]

    def full(self, pair: Pair) -> FullCurve:
        """The curve of complete labels by the same annotators with the same method."""
        option, method = pair
        key = (option.habits, method)
        if key in self._full:
            return self._full[key]
        end, shares, scores = self._measured(pair)
        slope = self._slope(option)
        if not len(shares):  # a straight line in the logarithm of images
            shares = np.array([0.25])
            scores = expit(logit(end) + np.log(0.25) * slope)[:, None]
        within = self._fit(shares, scores, end, ("complete", method))
        images = min(self.evidence.pool.images, MOST_IMAGES)
        factor = np.exp(GROWTH * self._growth) * (images / OF_IMAGES) ** BY_IMAGES
        self._full[key] = FullCurve(end, within, slope, factor)
        return self._full[key]

    def _measured(self, pair: Pair) -> tuple[Array, Array, Array]:
        """mAP of complete labels: (R,) of the whole pool, and (R, K) of parts with shares (K,)."""
        end, pool = self._means([self.evidence.complete_labels(*pair)])[:, 0], self.evidence.pool
        sizes = [size for size in self.complete_sizes(pair) if size.amount < 0.98 * pool.images]
        scores = self._means([s.scores for s in sizes]) if sizes else np.zeros((SAMPLES, 0))
        shares = np.array([size.amount / pool.images for size in sizes])
        return np.clip(end, EDGE, 1 - EDGE), shares, scores

    def _slope(self, option: LabelOption) -> Array:
        """(R,) slope of logit mAP over log n at the end of the pilot.

        A regression through the sizes from a quarter of the pool on, weighted by their images. It
        is the mean of all methods: as they share images and luck, each of them alone gains less
        like its own slope than like their mean (benchmarks/growth.py).
        """
        if option.habits not in self._slopes:
            slopes = []
            complete = replace(option, scheme=COMPLETE)
            for pair in (pair for pair in self.evidence.cells if pair[0] == complete):
                end, shares, scores = self._measured(pair)
                near = shares > 1 / NEARBY
                if near.any():
                    log = np.append(np.log(shares[near]), 0.0)
                    y = _logit(np.column_stack([scores[:, near], end]))
                    weight = np.exp(log) / np.exp(log).sum()
                    away = log - weight @ log
                    slopes.append(y @ (weight * away) / (weight @ away**2))
            mean = np.mean(slopes, axis=0) if slopes else np.full(SAMPLES, TYPICAL)
            self._slopes[option.habits] = np.maximum(mean, FLATTEST)
        return self._slopes[option.habits]

    def cell(self, pair: Pair) -> CellCurve:
        """The curve of a measured label option and method in the pilot's pool.

        The curve of an option that never reaches complete labels ends anywhere between its
        largest size and theirs, with equal probability.
        """
        if pair not in self._cells:
            sizes, end = self.evidence.cells[pair], self.full(pair).end
            sides = (np.stack([getattr(s, n) for s in sizes]) for n in ("present", "absent"))
            scores = self._means([size.scores for size in sizes])
            if not self.reaches_complete(pair):
                rng = self._rng("end", str(pair[0]), pair[1])
                end = scores[:, -1] + rng.random(SAMPLES) * (end - scores[:, -1])
            self._cells[pair] = self._fit(self.shares(pair, *sides), scores, end, map(str, pair))
        return self._cells[pair]

    @property
    def complete(self) -> PriceCurve:
        """The price of complete labels."""
        return next(one for option, one in self.purchases.items() if option.complete)

    def shares(self, pair: Pair, present: Array, absent: Array) -> Array:
        """(M,) share of labels that the method can use; present, absent (M, L') in the pool."""
        option, method = pair

        def mean_share(count: Array, whole: Array) -> Array:
            positive = whole > 0
            return np.minimum(count[:, positive] / whole[positive], 1.0).mean(axis=1)

        all_present, all_absent = self.purchases[option].complete
        p = mean_share(present, all_present)
        if self.evidence.methods[method].unknown_as_absent:
            return p
        return np.sqrt(p * mean_share(absent, all_absent))

    def __call__(self, pair: Pair, present: Array, absent: Array, times: Array) -> Array:
        """(R, M) mean mAP on new images.

        Parameters
        ----------
        present, absent
            (M, L') known labels of the purchase in the pilot's pool; of the whole pool if the
            number of images is the amount.
        times
            (M,) images of the project as a multiple of the pool, with equal shares of labels.
        """
        option, _ = pair
        full, pool = self.full(pair), self.evidence.pool.images
        if option.complete:
            return np.maximum(full(times), np.minimum(self.chance, full.end[:, None]))
        u = self.shares(pair, present, absent)
        if option.amount == "images":
            sizes = self.evidence.cells[pair]
            log = np.log([size.amount / pool for size in sizes])
            scores = _logit(self._means([size.scores for size in sizes]))
            here = _between(np.log(times), log, scores)
            start, most = np.minimum(times, np.exp(log[-1])), expit(scores[:, -1:])
            limit = full(np.exp(log[-1:]))
            gain = full.logit(times) - full.logit(start)
            if len(sizes) >= 3:
                # An option that gained less than SHARED_GAIN of the gain of complete labels in the
                # larger half of its sizes falls behind them in proportion.
                ends = sizes[len(sizes) // 2 - 1], sizes[-1]
                whole = np.diff(full.logit(np.array([size.amount for size in ends]) / pool))
                measured = np.diff(_logit(self._means([size.scores for size in ends])))
                share = np.clip(measured / np.maximum(whole, 0.05) / SHARED_GAIN, 0.0, 1.0)
                gain = share * gain
        else:
            most = self.cell(pair)(u)
            here, start, limit = logit(most), np.ones_like(times), full.end[:, None]
            # The two rules of the module, mixed: constant distance, and equivalent images.
            gain = (1 - self._mix) * (full.logit(times) - full.logit(start))
            gain += self._mix * (full.enlarged(here, times) - here)
        # The extrapolation error grows with the square root of the logarithm of `times`, like
        # that of a random walk, and with fewer known labels; half of it is common to all curves.
        least, without = MOVED
        far = np.sqrt(np.abs(np.log(times / start)) / np.log(10))
        noise = self._rng("moved", *map(str, pair)).standard_normal((SAMPLES, 1))
        error = (least + without * (1 - u)) * far * (noise + self._moves[:, None]) / np.sqrt(2)
        value = expit(here + gain + error)
        # No sample exceeds complete labels of as many images, except by a measured lead.
        value = np.minimum(value, full(times) + np.maximum(most - limit, 0))
        return np.maximum(value, np.minimum(self.chance, most))

    def as_scored(self, pair: Pair, value: Array) -> Array:
        """(R, M) mAP of a single purchase, with the noise of its draw, its images and a small test
        set; within a sample the noise is the same for all purchases."""
        sizes = self.evidence.cells.get(pair) or self.complete_sizes(pair)
        spreads = [_spread(size.scores) for size in sizes[len(sizes) // 2 :]]
        spread = np.hypot(float(np.median(spreads or [0.0])), OTHER_IMAGES)
        # On the scale arcsin(sqrt(mAP)) the noise of a test set does not depend on mAP.
        angle = np.arcsin(np.sqrt(np.clip(value, 0, 1)))
        slope = np.maximum(np.sin(2 * angle), 0.1)  # of mAP by the angle
        angle = angle + (spread / slope + self.evidence.test.spread) * self._luck[:, None]
        return np.asarray(np.sin(np.clip(angle, 0, np.pi / 2)) ** 2)

    def at_size(self, pair: Pair, size: Size) -> Array:
        """(R,) mean mAP of a measured size."""
        by_images = pair[0].amount == "images"
        times = size.amount / self.evidence.pool.images if by_images else 1.0
        return self(pair, *self._columns(pair[0], size, times))[:, 0]

    def _columns(
        self, option: LabelOption, labels: Size | Received, times: float
    ) -> tuple[Array, Array, Array]:
        """Arguments of `__call__` for these labels on `times` the images of the pool."""
        present, absent = labels.present / times, labels.absent / times
        if option.amount == "images":
            whole = self.purchases[option]
            present, absent = whole.present[-1], whole.absent[-1]
        return present[None], absent[None], np.array([times])

    def _means(self, scores: list[Array]) -> Array:
        """(R, K) means of scores (D,) over reweighted draws."""
        table = np.stack(scores, axis=1)
        measured = ~np.isnan(table)
        total = self.weights @ measured
        mean = self.weights @ np.nan_to_num(table)
        return np.where(total > 0, mean / np.maximum(total, 1e-12), np.nanmean(table, axis=0))

    def complete_sizes(self, pair: Pair) -> tuple[Size, ...]:
        """Sizes of complete labels of parts of the pool, which measure the gain from more images.

        A method without such sizes borrows those of the method with the nearest mAP on the whole
        pool, shifted to end at the same mAP; the result is empty if no method has any.
        """
        (option, method), cells, evidence = pair, self.evidence.cells, self.evidence
        complete = replace(option, scheme=COMPLETE)
        parts = {method: sizes for (other, method), sizes in cells.items() if other == complete}
        if method in parts or not parts:
            return parts.get(method, ())
        end = np.nanmean(evidence.complete_labels(option, method))
        ends = {m: np.nanmean(evidence.complete_labels(option, m)) for m in parts}
        near = min(ends, key=lambda other: abs(ends[other] - end))
        shift = _logit(end) - _logit(ends[near])
        return tuple(replace(s, scores=expit(_logit(s.scores) + shift)) for s in parts[near])

    def _fit(self, u: Array, scores: Array, end: Array, names: Iterable[str]) -> CellCurve:
        """Sample shapes by how well they fit; u (K,), scores (R, K), end (R,)."""
        order = np.argsort(u, kind="stable")
        order = order[np.append(np.diff(u[order]) > 1e-6, True)]  # one score for each share
        u, scores = np.clip(u[order], 1e-6, 1.0), scores[:, order]
        z = _shapes(u)  # (G, K)
        weight = u / u.sum()
        gap = end[:, None] - scores
        power = np.maximum((z**2) @ weight, 1e-12)
        scale = (gap * weight) @ z.T / power  # (R, G)
        loss = (gap**2) @ weight[:, None] - scale**2 * power
        loss = len(u) * np.maximum(loss, 0) / NOISE**2 + _PENALTY
        # Sampled in proportion to exp(-loss / 2), by the Gumbel-max trick.
        rng = self._rng("shape", *names)
        chosen = np.argmax(-loss / 2 + rng.gumbel(size=loss.shape), axis=1)
        return CellCurve(
            u, scores, end, scale[np.arange(SAMPLES), chosen], chosen,
            rng.random(SAMPLES) < STRAIGHT, rng.standard_normal(SAMPLES),
        )  # fmt: skip

    def reaches_complete(self, pair: Pair) -> bool:
        """Whether the largest purchase of the option is as good as complete labels."""
        option, method = pair
        whole = self.purchases[option]
        present, absent = whole.complete
        if not (whole.present[-1] >= 0.999 * present).all():
            return False
        # For a method that takes unknown labels for absent ones, labels are complete once all
        # present ones are known.
        positives_suffice = bool(self.evidence.methods[method].unknown_as_absent)
        return positives_suffice or bool((whole.absent[-1] >= 0.99 * absent).all())

    def _rng(self, *names: str) -> np.random.Generator:
        return np.random.default_rng(Chance.seeded(self.seed).of("plan", *names).seed())


def _between(x: Array, at: Array, rows: Array) -> Array:
    """(R, M) linear interpolation of every row (K,) of values at `at`; constant outside."""
    if len(at) == 1:
        return np.repeat(rows, len(x), axis=1)
    high = np.clip(np.searchsorted(at, x), 1, len(at) - 1)
    step = np.maximum(at[high] - at[high - 1], 1e-12)
    part = np.clip((x - at[high - 1]) / step, 0.0, 1.0)
    return rows[:, high - 1] * (1 - part) + rows[:, high] * part


def _logit(scores: Any) -> Any:
    """Logits of scores, kept finite."""
    return logit(np.clip(scores, EDGE, 1 - EDGE))


def _spread(scores: Array) -> float:
    """Standard deviation over draws; 0 for one draw."""
    measured = scores[~np.isnan(scores)]
    return float(np.std(measured, ddof=1)) if len(measured) > 1 else 0.0


_EXPONENTS = np.geomspace(0.3, 3.0, 9)
_HILL = np.array([(b, d) for b in np.geomspace(0.003, 1.0, 6) for d in (0.6, 1.0, 1.6)])
_PENALTY = np.concatenate(
    [(np.log(_EXPONENTS) / STEEP) ** 2] * 2 + [(np.log(_HILL[:, 1]) / STEEP) ** 2 + 1]
)


def _shapes(u: Array) -> Array:
    """(G, M) every z(u): (1 - u)**c, (-ln u)**c, and a slow start 1 - (1 + b) u**d / (u**d + b)."""
    c = _EXPONENTS[:, None]
    b, d = _HILL[:, :1], _HILL[:, 1:]
    return np.concatenate([(1 - u) ** c, (-np.log(u)) ** c, 1 - (1 + b) * u**d / (u**d + b)])
