"""Curves of mAP over known labels, with samples of the quantities that a pilot cannot measure.

Three steps, all functions of counts and not of dollars:

1. *Complete labels* (`FullCurve`). mAP of n completely labelled images: through the measured sizes
   up to the pilot's pool. Beyond it logit mAP = logit C + exp(z) s (1 - x**-g) / g with x = n / n0,
   the slope s at the end of the pilot, a decay g that grows with log s, as steep curves flatten
   sooner, and a factor exp(z) that the pilot cannot measure, larger for small pilots.
2. *A label option in the pilot's pool* (`CellCurve`). u is the share of labels that a method can
   use, p**w a**(1 - w) of the known shares p of present and a of absent labels; the pilot shows w.
   At u = 1 the labels are complete, and mAP is C of the same method. Between the measured sizes,
   and from the largest to u = 1, logit mAP is a straight line over log u, with an error between the
   largest and u = 1.
3. *The same shares of a larger pool* (`Curves.__call__`). Two rules bound the extrapolation: the
   distance of an option to complete labels of the same images is constant in logit mAP, or its
   labels remain equivalent to complete labels of the same share of the images. Every sample mixes
   them by a weight from 0 to 1, with an error that grows as fewer labels are known. An option that
   gains nothing from more images in the pilot gains nothing beyond it.

The constants below come from benchmarks/plan_backtest.py, which measures how well they hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtri

from simkit.annotate.annotators import Habits, outvoted
from simkit.chance import Chance
from simkit.planning.answers import OFFERED, Answers, Errors, cost_of, together, true_shares
from simkit.planning.costs import PriceCurve
from simkit.planning.evidence import COMPLETE, Array, Evidence, LabelOption, Pair, Received, Size
from simkit.results.cells import FULL

SAMPLES = 400
NOISE = 0.007  # mAP: least standard error of the mean over draws
FEWER = 1.3, 0.5  # factor of the slope below the smallest size, and its log error
BRIDGE = 0.1  # standard deviation half-way between the pilot's end and complete labels, as a part
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
# Labels that a model finds are those of easy images: their logit mAP is 0.07 to 0.3 lower than that
# of as many labels of images drawn at random (benchmarks/results/plan_together.md).
EASY = 0.2, 0.1  # loss of logit mAP, and its standard deviation
OTHER_IMAGES = 0.006  # mAP: standard deviation between images of a project and of a pilot
LARGEST = 64.0  # times the pool: the largest sum of labels
TIMES = np.geomspace(0.002, LARGEST, 80)  # the pool, at which complete labels are inverted
EDGE = 1e-4  # of mAP, so that logits stay finite
BENT = 0.6  # log error of the slope of logit mAP over the cost of errors, besides the draws
GROWN = 0.4  # log error of the gain of cleaner labels at ten times the pool
WEIGHTS = tuple(k / 20 for k in range(10, 21))  # of present labels in the share that is used
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
    wander
        (R,) standard normal, of the bridge between the last size and the end.
    """

    u: Array
    scores: Array
    end: Array
    wander: Array

    @staticmethod
    def of(u: Array, scores: Array, end: Array, wander: Array) -> CellCurve:
        """A curve through sizes in any order; of equal shares the last one counts."""
        order = np.argsort(u, kind="stable")
        order = order[np.append(np.diff(u[order]) > 1e-6, True)]
        return CellCurve(np.clip(u[order], 1e-6, 1.0), scores[:, order], end, wander)

    def __call__(self, u: Array) -> Array:
        """(R, M) mAP at the shares u (M,)."""
        log, known = np.log(np.clip(np.asarray(u, np.float64), 1e-9, 1.0)), np.log(self.u)
        y = _logit(np.column_stack([self.scores, self.end]))
        value = expit(_Lines(np.append(known, 0.0), y)(log))
        part = np.clip((log - known[-1]) / max(-known[-1], 1e-9), 0.0, 1.0)  # of the way to u = 1
        gap = self.end - self.scores[:, -1]
        value += (BRIDGE * self.wander * gap)[:, None] * np.sqrt(4 * part * (1 - part))
        most = np.maximum(self.end, self.scores.max(axis=1))[:, None]
        value = np.clip(value, EDGE, np.minimum(most, 1 - EDGE))
        if (below := log < known[0]).any():
            # Fewer labels than measured: steeper than between the two smallest sizes, as learning
            # curves are steepest at their start.
            steeper, error = FEWER
            slope = (y[:, 1] - y[:, 0]) / (known[1] - known[0]) if len(known) > 1 else 0.5
            slope = np.maximum(slope, 0.1) * steeper * np.exp(error * self.wander)
            line = expit(y[:, :1] + slope[:, None] * np.minimum(log - known[0], 0))
            value = np.where(below, line, value)
        return value


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
        some, place = np.unique(times, return_inverse=True)
        parts, within = np.unique(np.minimum(some, 1.0), return_inverse=True)
        value = logit(self.within(parts))[:, within]
        return (value + self._beyond(np.log(np.maximum(some, 1.0))[None]))[:, place]

    def _beyond(self, log: Array) -> Array:
        """(R, M) gain of logit mAP beyond the pool, by the logarithm of times, 0 or more."""
        at_one, by_slope = DECAY
        g = np.maximum(at_one + by_slope * np.log(self.slope), LEAST_DECAY)[:, None]
        return (self.factor * self.slope)[:, None] * -np.expm1(-g * log) / g

    @cached_property
    def _ascending(self) -> Array:
        """(R, G) logit mAP at the `TIMES`, strictly ascending."""
        return np.maximum.accumulate(self.logit(TIMES), axis=1) + 1e-9 * np.arange(len(TIMES))

    @cached_property
    def _at(self) -> _Lines:
        """(R, M) logit mAP by the logarithm of times."""
        return _Lines(np.log(TIMES), self._ascending)

    @cached_property
    def _log(self) -> _Lines:
        """(R, M) logarithm of times by logit mAP."""
        return _Lines(self._ascending, np.log(TIMES))

    def _worth(self, value: Array, most: float) -> tuple[Array, Array]:
        """(R, M) logarithm of the times with this logit mAP, up to `most`; the lead over these."""
        log = np.minimum(self._log(value), np.log(most))
        return log, value - self._at(log)

    def enlarged(self, here: Array, times: Array) -> Array:
        """(R, M) logit mAP of labels equivalent to the same share of `times` the images.

        here: (R, M) logit mAP in the pool; above complete labels the distance is constant.
        """
        log, lead = self._worth(here, 1.0)
        return self._at(log + np.log(times)) + lead

    def together(self, here: Array, others: Array) -> Array:
        """(R, M) mAP of labels with mAP `here` (R, M) and `others` (R, 1), trained on together.

        Each is worth as much as some number of completely labelled images, and the numbers add.
        """
        parts = [self._worth(_logit(value), LARGEST) for value in (here, others)]
        (one, lead), (other, more) = parts
        value = self._at(np.logaddexp(one, other)) + np.maximum(np.maximum(lead, more), 0.0)
        return np.maximum(expit(value), np.maximum(here, others))

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
    widening
        Factor by which the ranges of mAP are wider than those of the samples (`choose.widening`).
    """

    def __init__(
        self, evidence: Evidence, purchases: Mapping[LabelOption, PriceCurve], *, seed: int = 0,
        errors: Errors | None = None, usual: int = 1, widening: float = 1.0,
    ) -> None:  # fmt: skip
        self.evidence, self.purchases, self.seed = evidence, purchases, seed
        self.errors, self.usual, self.widening = errors, usual, widening
        rng = self._rng("draws")
        # The Bayesian bootstrap (Rubin, Annals of Statistics 1981) over draws. All cells share the
        # weights of a sample, because draws share their images and luck: differences are paired.
        self.weights = rng.dirichlet(np.ones(evidence.draws), SAMPLES)
        self._luck = rng.standard_normal(SAMPLES)
        # Curves are computed once; they do not depend on `errors`, so copies share them.
        self._slope, self._full = cache(self._slope_of), cache(self._full_of)
        self._weight = cache(self._weight_of)
        self.cell = cache(self._cell)
        # Within a sample, quantities that a pilot cannot measure are equal for all methods.
        self._growth = rng.standard_normal(SAMPLES)
        self._moves, self._mix = rng.standard_normal(SAMPLES), rng.random((SAMPLES, 1))
        self.kept = np.arange(SAMPLES)  # samples that agree with earlier purchases, with repetition
        self.surprise: Array | float = 0.0  # (R, 1) of the measured labels so far, in logit mAP
        # Models are trained on the pilot's labels as well, except for those of earlier orders
        # outside of a project, whose images are not those of the comparison's data.
        self.with_pilot = evidence.project is not None or evidence.received is None
        # The option and method trained on the labels so far, and their mean mAP in each sample.
        self.trained = self.best_of_pilot
        self.base = self.full(self.trained).end

    @property
    def floor(self) -> Array:
        """(R,) mAP of one model on the labels so far, in the samples `kept`."""
        value, received = self.base[:, None], self.evidence.received
        spread = None if received is None else self._error(received)
        return np.asarray(self.as_scored(self.trained, value, spread=spread)[self.kept, 0])

    @property
    def free(self) -> float:
        """The best mAP that needs none of the labels so far: zero-shot, and outside of a project,
        whose models learn from its pilot, that of the pilot alone; -inf without any."""
        values = [] if self.evidence.zero_shot is None else [self.evidence.zero_shot[0]]
        if not self.with_pilot:
            values += [float(np.nanmean(one)) for one in self.evidence.complete.values()]
        return max(values, default=-math.inf)

    @property
    def at_hand(self) -> float:
        """The best median mAP without a purchase."""
        return max(float(np.median(self.floor)), self.free)

    def with_labels_so_far(
        self, pair: Pair, present: Array, absent: Array, times: Array, asked: Array,
        *, images: int | None = None,
    ) -> Array:  # fmt: skip
        """(R, M) mean mAP of one model on these labels and all labels so far.

        These are at least those of the pilot; see `with_pilot`. Further labels of the option of
        earlier rounds contain those. If images are the amount, the labels and those so far are each
        worth some number of completely labelled images, and these add. Otherwise the counts add,
        over all images with a question, as models are trained on no others: they see the mean share
        of known labels of these images (benchmarks/plan_together.py).

        Parameters
        ----------
        present, absent, times
            Those of `__call__`.
        asked
            (M,) images with a question as a multiple of the pool.
        images
            Number of all images besides the pilot's.
        """
        option, _ = pair
        received, full, pool = self.evidence.received, self.full(pair), self.evidence.pool.images
        easy = self._easy(option)
        more = received if received is not None and received.option != option else None
        if more is None and not self.with_pilot:
            return expit(_logit(self(pair, present, absent, times)) - easy)
        limit = math.inf if images is None else images / pool
        if option.amount == "images":
            others = full.end if more is None else self.base
            value = full.together(self(pair, present, absent, times), others[:, None])
            return np.minimum(value, full(np.array([min(limit + self.with_pilot, LARGEST)])))
        counts = [present * times[:, None], absent * times[:, None]]
        total, complete = asked, self.purchases[option].complete
        if self.evidence.grid.get("unasked") == "absent":  # trained on all images
            total = times
        if more is not None:
            counts = [counts[0] + more.present, counts[1] + more.absent]
            # About other images, as far as there are any.
            before = more.asked / pool
            total = np.minimum(total + before, np.maximum(np.maximum(total, before), limit))
        if self.with_pilot:
            counts = [count + whole for count, whole in zip(counts, complete, strict=True)]
            total = total + 1
        known = [np.minimum(counts[k] / total[:, None], complete[k]) for k in (0, 1)]
        return np.asarray(expit(_logit(self(pair, known[0], known[1], total)) - easy))

    def _easy(self, option: LabelOption) -> Array:
        """(R, 1) loss of logit mAP where a plan searches with a model, and the runs assumed one."""
        part = option.part
        if self.evidence.pool.machine is None or part.unassuming(scores=True) == part:
            return np.zeros((SAMPLES, 1))
        mean, deviation = EASY
        normal = self._rng("easy").standard_normal((SAMPLES, 1))  # the same for all options
        return np.maximum(mean + deviation * normal, 0.0)

    def with_errors(self, errors: Errors) -> Curves:
        """The same curves for annotators with these error rates."""
        other = copy(self)
        other.errors = errors
        return other

    def offers(self, option: LabelOption) -> list[Answers]:
        """The numbers of answers per question that can be judged, that of the pilot first.

        Others need the error rates of an answer, and runs with additional errors.
        """
        if self.errors is None or not option.habits.perfect:
            return [Answers(option.habits.workers or self.usual)]
        numbers = OFFERED if any(self.errors) and self.evidence.levels else ()
        return [*map(self.answers, dict.fromkeys([self.usual, *numbers]))]

    def answers(self, number: int) -> Answers:
        """So many answers to each question, where the errors are known."""
        shown = self.evidence.pool.chance
        return Answers.of(number, self.errors or (0.0, 0.0), self.usual, shown)

    def gain(self, method: str, answers: Answers, times: Array) -> Array:
        """(R, M) gain of logit mAP by so many answers per question instead of the usual number; a
        loss, where the pilot's labels are true.

        It is that on complete labels of the pool, for all purchases: on `times` as many images its
        logarithm has an error that grows with their logarithm.
        """
        evidence = self.evidence
        alike = answers.number == self.usual and not evidence.true_labels
        if answers.errors is None or alike or not evidence.levels:
            return np.zeros((SAMPLES, 1))
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

    def gain_again(
        self, method: str, answers: Answers, counts: Mapping[int, int], times: Array
    ) -> Array:
        """(R, M) gain of logit mAP if questions with fewer answers get as many as `answers` says.

        counts: number of questions by the number of their answers; none: all have the usual one.
        """
        counts = counts or {self.usual: 1}
        after = self.gain(method, answers, times)
        total = np.zeros_like(after)
        for number, many in counts.items():
            if number < answers.number:
                total = total + many * (after - self.gain(method, self.answers(number), times))
        return np.asarray(total / sum(counts.values()))

    def share_of_new(self, option: LabelOption, asked: Array) -> Array:
        """(M,) share of a purchase that asks about `asked` times the pool's images among all labels
        trained on: those so far, of the pilot and of earlier rounds, keep their answers."""
        received, before = self.evidence.received, 0.0
        if received is not None:
            before = received.asked / self.evidence.pool.images
            if received.option == option:  # whose further labels contain those so far
                asked = np.maximum(asked - before, 0.0)
        return np.asarray(asked / (asked + before + self.with_pilot))

    def _errors_so_far(self) -> tuple[Errors, Array]:
        """Error rates of the pilot's labels, and (L',) true shares of images with each class."""
        assert self.errors is not None
        miss, false_alarm = (outvoted(rate, self.usual) for rate in self.errors)
        errors = (0.0, 0.0) if self.evidence.true_labels else (miss, false_alarm)
        seen = self.evidence.pool.present / self.evidence.pool.images
        # A rare class may be seen less often than false alarms alone would be.
        least = np.minimum(RIGHT * np.maximum(seen, 1e-6), 0.999)
        return errors, np.clip(true_shares(seen, errors), least, 0.999)

    def so_far(self, pair: Pair) -> Array:
        """(R,) mAP of the labels so far: those of earlier rounds, or else the pilot's."""
        if self.evidence.received is not None:
            return self.floor
        whole = self.as_scored(pair, self.full(pair)(np.ones(1)))[:, 0]
        return np.asarray(whole[self.kept])

    @cached_property
    def complete_pairs(self) -> tuple[Pair, ...]:
        """The pairs of complete labels and the methods that were compared, or without one the
        reference."""
        keys = [*self.evidence.complete]
        keys = [key for key in keys if key[1].split("+")[0] != FULL] or keys
        return tuple((LabelOption(COMPLETE, habits), method) for habits, method in keys)

    @cached_property
    def best_of_pilot(self) -> Pair:
        """Complete labels and the best method on those of the pilot, whatever the budget; of equal
        methods the first one."""
        return max(self.complete_pairs, key=lambda pair: float(self.full(pair).end.mean()))

    @cached_property
    def pilot(self) -> Array:
        """(R,) mAP of the best method on the pilot's labels, as predicted before later rounds."""
        best = self.best_of_pilot
        return np.asarray(self.as_scored(best, self.full(best).end[:, None])[self.kept, 0])

    def expected(self, received: Received) -> Array:
        """(R,) mAP of one model on these labels and new images, in the samples `kept`: what a plan
        states of their purchase."""
        pair = received.option, received.method
        return np.asarray(self.as_scored(pair, self._received(received))[self.kept, 0])

    def _received(self, received: Received) -> Array:
        """(R, 1) mean mAP of labels of earlier rounds, in a project with those of its pilot."""
        columns = self._columns(received.option, received, self._times(received))
        asked = np.array([received.asked / self.evidence.pool.images])
        return self.with_labels_so_far((received.option, received.method), *columns, asked)

    def had(self, option: LabelOption) -> int:
        """Number of images about which earlier rounds of this option asked."""
        received = self.evidence.received
        return received.asked if received is not None and received.option == option else 0

    def _times(self, received: Received) -> float:
        by_images = received.option.amount == "images"
        return (received.asked if by_images else received.images) / self.evidence.pool.images

    def agree_with(self, received: Received) -> None:
        """Learn from the measured mAP of the labels so far.

        Samples are drawn in proportion to the likelihood of this mAP: importance resampling (Rubin
        1988) with a normal likelihood. It is widened until the effective number of samples,
        (sum w)**2 / sum w**2, reaches `AGREEING`: a mAP that no sample predicted would otherwise
        leave a single sample. What still separates a sample from this mAP is added to all its
        predictions, in logit mAP, as further purchases are trained on the same labels and scored
        on the same images: the mAP of the labels so far is the measured one. On real trainings
        this is as good as the samples alone or better (benchmarks/results/plan_together.md).
        """
        _ = self.pilot  # measured before these labels, which do not move it
        value = self._received(received)[self.kept, 0]
        width = np.hypot(self._error(received), self.deviation((received.option, received.method)))
        while True:
            weights = np.exp(-(((value - received.score) / width) ** 2) / 2)
            if weights.sum() ** 2 >= AGREEING * (weights**2).sum() > 0:
                break
            width *= 1.25
        rng = self._rng("bought", str(received.option), received.method)
        chosen = rng.choice(SAMPLES, SAMPLES, p=weights / weights.sum())
        self.kept = self.kept[np.sort(chosen)]
        self._luck = self._dealt(rng)
        self.trained = received.option, received.method
        self.base = self._received(received)[:, 0]
        self.surprise = _logit(received.score) - _logit(self.base)[:, None]

    def _dealt(self, rng: np.random.Generator) -> Array:
        """(R,) normal noise of the samples `kept`. Few may be kept, some many times: it is dealt as
        quantiles, so that its mean over them is 0 and ranges are those of measured noise."""
        kept, times = np.unique(self.kept, return_counts=True)
        dealt = rng.permutation(len(kept))
        below = np.cumsum(times[dealt]) - times[dealt] / 2
        noise = np.zeros(SAMPLES)
        noise[kept[dealt]] = ndtri(below / SAMPLES)
        return noise

    def _error(self, received: Received) -> float:
        """Standard error of the measured mAP of the labels so far, besides that of the images."""
        return max(NOISE, _spread(received.scores) / math.sqrt(len(received.scores)))

    def full(self, pair: Pair) -> FullCurve:
        """The curve of complete labels by the same annotators with the same method."""
        option, method = pair
        return self._full(replace(option, scheme=COMPLETE), method)

    def _full_of(self, option: LabelOption, method: str) -> FullCurve:
        end, shares, scores = self._measured((option, method))
        slope = self._slope(option.habits)
        if not len(shares):  # a straight line in the logarithm of images
            shares = np.array([0.25])
            scores = expit(logit(end) + np.log(0.25) * slope)[:, None]
        wander = self._rng("shape", "complete", method).standard_normal(SAMPLES)
        within = CellCurve.of(shares, scores, end, wander)
        images = min(self.evidence.pool.images, MOST_IMAGES)
        factor = np.exp(GROWTH * self._growth) * (images / OF_IMAGES) ** BY_IMAGES
        return FullCurve(end, within, slope, factor)

    def _measured(self, pair: Pair) -> tuple[Array, Array, Array]:
        """mAP of complete labels: (R,) of the whole pool, and (R, K) of parts with shares (K,)."""
        end, pool = self._means([self.evidence.complete_labels(*pair)])[:, 0], self.evidence.pool
        sizes = [size for size in self.complete_sizes(pair) if size.amount < 0.98 * pool.images]
        scores = self._means([s.scores for s in sizes]) if sizes else np.zeros((SAMPLES, 0))
        shares = np.array([size.amount / pool.images for size in sizes])
        return np.clip(end, EDGE, 1 - EDGE), shares, scores

    def _slope_of(self, habits: Habits) -> Array:
        """(R,) slope of logit mAP over log n at the end of the pilot.

        A regression through the sizes from a quarter of the pool on, weighted by their images. It
        is the mean of all methods: as they share images and luck, each of them alone gains less
        like its own slope than like their mean (benchmarks/growth.py).
        """
        slopes, complete = [], LabelOption(COMPLETE, habits)
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
        return np.maximum(mean, FLATTEST)

    def _cell(self, pair: Pair) -> CellCurve:
        """The curve of a measured label option and method in the pilot's pool."""
        sizes, end = self.evidence.cells[pair], self.full(pair).end
        scores = self._means([size.scores for size in sizes])
        wander = self._rng("shape", *map(str, pair)).standard_normal(SAMPLES)
        return CellCurve.of(self.shares(pair, *_stacked(sizes)), scores, end, wander)

    @property
    def complete(self) -> PriceCurve:
        """The price of complete labels."""
        return next(one for option, one in self.purchases.items() if option.complete)

    def shares(self, pair: Pair, present: Array, absent: Array) -> Array:
        """(M,) share of labels that the method can use; present, absent (M, L') in the pool."""
        option, method = pair
        p, a = self._sides(option, present, absent)
        weight = self._weight(method)
        return np.asarray(p if weight == 1 else p**weight * a ** (1 - weight))

    def _sides(self, option: LabelOption, present: Array, absent: Array) -> tuple[Array, Array]:
        """(M,) known shares of the present and of the absent labels, means over classes."""

        def mean_share(count: Array, whole: Array) -> Array:
            positive = whole > 0
            return np.minimum(count[:, positive] / whole[positive], 1.0).mean(axis=1)

        all_present, all_absent = self.purchases[option].complete
        return mean_share(present, all_present), mean_share(absent, all_absent)

    def _weight_of(self, method: str) -> float:
        """Weight w of the present labels in p**w a**(1 - w), the share that a method can use.

        A method that learns from known labels alone needs both sides: w is 1/2. To a method that
        takes unknown labels for absent ones, known absent labels are worth little: w is 1, or less
        where it corrects them. The pilot measures w: label options of different composition lie on
        one curve, a parabola in log u through complete labels, and w is the one with the least
        squares. It matters because a purchase has another composition alone than with the pilot.
        """
        if self.evidence.methods[method].unknown_as_absent:
            return 1.0
        rows = []  # log p, log a, and logit mAP less that of complete labels, of every size
        options = set()
        for pair, sizes in self.evidence.cells.items():
            counted = pair[0] in self.purchases and pair[0].amount != "images"
            if pair[1] == method and counted:
                end = _logit(np.nanmean(self.evidence.complete_labels(*pair)))
                for p, a, size in zip(*self._sides(pair[0], *_stacked(sizes)), sizes, strict=True):
                    below = _logit(np.nanmean(size.scores)) - end
                    if min(p, a) > 0 and np.isfinite(below):  # nan: no draw measured a class
                        options.add(pair[0])
                        rows.append((*np.log([p, a]), below))
        known, y = np.split(np.array(rows).reshape(-1, 3), [2], axis=1)
        if len(options) < 2 or len(y) < 4 or np.ptp(known[:, 0] - known[:, 1]) < np.log(2):
            return WEIGHTS[0]  # labels of one composition do not show w
        error = []
        for weight in WEIGHTS:
            x = known @ [weight, 1 - weight]
            parabola = np.column_stack([x, x**2])
            error.append(np.square(y - parabola @ np.linalg.lstsq(parabola, y)[0]).sum())
        return WEIGHTS[int(np.argmin(error))]

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
        whole = full.logit(times)
        if option.complete:
            return expit(whole)
        u = self.shares(pair, present, absent)
        if option.amount == "images":
            sizes = self.evidence.cells[pair]
            log = np.log([size.amount / pool for size in sizes])
            scores = _logit(self._means([size.scores for size in sizes]))
            here = _Lines(log, scores)(np.log(times))
            start, most = np.minimum(times, np.exp(log[-1])), expit(scores[:, -1:])
            limit = full(np.exp(log[-1:]))
            gain = whole - full.logit(start)
            if len(sizes) >= 3:
                # An option that gained less than SHARED_GAIN of the gain of complete labels in the
                # larger half of its sizes falls behind them in proportion.
                ends = sizes[len(sizes) // 2 - 1], sizes[-1]
                most_of = np.diff(full.logit(np.array([size.amount for size in ends]) / pool))
                measured = np.diff(_logit(self._means([size.scores for size in ends])))
                share = np.clip(measured / np.maximum(most_of, 0.05) / SHARED_GAIN, 0.0, 1.0)
                gain = share * gain
        else:
            most = self.cell(pair)(u)
            here, start, limit = logit(most), np.ones_like(times), full.end[:, None]
            # The two rules of the module, mixed: constant distance, and equivalent images.
            gain = (1 - self._mix) * (whole - full.logit(start))
            gain += self._mix * (full.enlarged(here, times) - here)
        # The extrapolation error grows with the square root of the logarithm of `times`, like
        # that of a random walk, and with fewer known labels; half of it is common to all curves.
        least, without = MOVED
        far = np.sqrt(np.abs(np.log(times / start)) / np.log(10))
        noise = self._rng("moved", *map(str, pair)).standard_normal((SAMPLES, 1))
        error = (least + without * (1 - u)) * far * (noise + self._moves[:, None]) / np.sqrt(2)
        value = expit(here + gain + error)
        # No sample exceeds complete labels of as many images, except by a measured lead.
        return np.minimum(value, expit(whole) + np.maximum(most - limit, 0))

    def as_scored(self, pair: Pair, value: Array, *, spread: float | None = None) -> Array:
        """(R, M) mAP of a single purchase, with the noise of its draw, its images and a small test
        set; within a sample the noise is the same for all purchases. That of the choice of settings
        is the same for all purchases of a pair, and for pairs with equal scores.

        spread: standard deviation of a measured mAP besides that of the test set. Default: the mAP
        is predicted, with `deviation` between draws, and its ranges are widened.
        """
        value = expit(_logit(value) + self.surprise)
        if spread is None:
            value = self._widened(self._with_luck(value, self.deviation(pair)), self.kept)
        else:
            value = self._with_luck(value, spread)
        if error := self.evidence.tuned_errors.get(pair):
            value = self._with_choice(pair, value, error)
        return self._with_luck(value, 0.0, self.evidence.test.spread)

    def _with_choice(self, pair: Pair, value: Array, error: float) -> Array:
        """(R, M) mAP with the standard error of the choice of settings, and the same medians."""
        sizes = [size.scores for size in self.evidence.cells.get(pair, ())]
        scores = str((sizes or [self.evidence.complete_labels(*pair)])[-1].tolist())
        luck = self._dealt(self._rng("settings", str(pair[0]), scores))
        moved = self._with_luck(value, error, luck=luck)
        middle, now = (np.median(one[self.kept], axis=0) for one in (value, moved))
        return np.asarray(np.clip(moved + middle - now, 0.0, 1.0))

    def _with_luck(
        self, value: Array, spread: float, of_angle: Any = 0.0, *, luck: Array | None = None
    ) -> Array:
        """(R, M) mAP with this standard deviation of mAP, and of arcsin(sqrt(mAP)), on which the
        noise of a test set does not depend on mAP.

        luck: (R,) standard normal; by default that of the draw.
        """
        angle = np.arcsin(np.sqrt(np.clip(value, 0, 1)))
        if spread:
            of_angle = spread / np.maximum(np.sin(2 * angle), 0.1) + of_angle  # by the slope of mAP
        angle = angle + of_angle * (self._luck if luck is None else luck)[:, None]
        return np.asarray(np.sin(np.clip(angle, 0, np.pi / 2)) ** 2)

    def _widened(self, value: Any, kept: Any = slice(None)) -> Array:
        """(R, M) predicted mAP, `widening` times as far from its median over the samples `kept`, in
        logit mAP; so are all differences between purchases."""
        # Back-tests judge predictions on one test split: its noise is not widened, nor is a mAP
        # that was measured.
        if self.widening == 1.0:
            return np.asarray(value)
        line = _logit(value)
        middle = np.median(line[kept], axis=0)
        return np.asarray(expit(middle + self.widening * (line - middle)))

    def deviation(self, pair: Pair) -> float:
        """Standard deviation of mAP between draws of labels, and images of a project."""
        return math.hypot(self.between_draws(pair), OTHER_IMAGES)

    def between_draws(self, pair: Pair) -> float:
        """Standard deviation of mAP between draws of labels of the pilot's images."""
        sizes = [size.scores for size in self.evidence.cells.get(pair, ())]
        sizes = sizes[len(sizes) // 2 :] or [self.evidence.complete_labels(*pair)]
        return float(np.median([*map(_spread, sizes)]))

    def at_size(self, pair: Pair, size: Size) -> Array:
        """(R,) mean mAP of a measured size."""
        by_images = pair[0].amount == "images"
        times = size.amount / self.evidence.pool.images if by_images else 1.0
        return self(pair, *self._columns(pair[0], size, times))[:, 0]

    def measured_at(self, pair: Pair, size: Size) -> Array:
        """(R,) mAP of a measured size as its draws would show it: with the noise of their mean."""
        draws = max(int((~np.isnan(size.scores)).sum()), 1)
        value = self.at_size(pair, size)
        return self._with_luck(value[:, None], self.between_draws(pair) / math.sqrt(draws))[:, 0]

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
        """Sizes of complete labels of parts of the pool, which measure the gain from more images;
        empty for a method that was compared on all of it alone."""
        option, method = pair
        return self.evidence.cells.get((replace(option, scheme=COMPLETE), method), ())

    def _rng(self, *names: str) -> np.random.Generator:
        return np.random.default_rng(Chance.seeded(self.seed).of("plan", *names).seed())


def _stacked(sizes: Sequence[Size]) -> tuple[Array, Array]:
    """(K, L') present and absent labels of K sizes."""
    return np.stack([s.present for s in sizes]), np.stack([s.absent for s in sizes])


class _Lines:
    """Linear interpolation of every row at its x, from values (K,) at ascending places (K,), and
    constant outside. Places or values may be one row for all. As numpy.interp, to the last bit."""

    def __init__(self, at: Array, values: Array) -> None:
        gap = np.diff(at)
        slope = np.diff(values) / np.where(gap > 0, gap, 1.0)
        self._at, self._values = at, np.ascontiguousarray(values)
        self._slope = np.append(slope, np.zeros((len(slope), 1)), axis=1)  # none behind the last

    def __call__(self, x: Array) -> Array:
        """(R, M) values at x, (R, M) or (M,) for all rows."""
        x = np.maximum(x, self._at[..., :1])
        j = self._place(x)
        return _taken(self._slope, j) * (x - _taken(self._at, j)) + _taken(self._values, j)

    def _place(self, x: Array) -> NDArray[np.intp]:
        """The last place that is at most x, by row."""
        if self._at.ndim == 1:
            return np.searchsorted(self._at, x, side="right") - 1
        place, step = np.zeros(x.shape, np.intp), self._table.shape[1] // 2
        while step:  # a binary search in all rows at once
            place += step * (_taken(self._table, place + step) <= x)
            step //= 2
        return place

    @cached_property
    def _table(self) -> Array:
        """The places, and infinity up to a power of 2."""
        rows, places = self._at.shape
        table = np.full((rows, 1 << (places - 1).bit_length()), np.inf)
        table[:, :places] = self._at
        return table


def _taken(values: Array, places: NDArray[np.intp]) -> Array:
    """The values (K,) of each row, or of the one for all, at the places (M,) of each row or all."""
    if values.ndim == 1 or places.ndim == 1:
        return values[..., places]
    starts = np.arange(0, values.size, values.shape[1])[:, None]
    return values.reshape(-1).take(places + starts)


def _logit(scores: Any) -> Any:
    """Logits of scores, kept finite."""
    return logit(np.clip(scores, EDGE, 1 - EDGE))


def _spread(scores: Array) -> float:
    """Standard deviation over draws; 0 for one draw."""
    measured = scores[~np.isnan(scores)]
    return float(np.std(measured, ddof=1)) if len(measured) > 1 else 0.0
