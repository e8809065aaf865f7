"""Does a plan predict the mAP of a model trained on its pilot and a purchase together?

    SIMKIT_DATA=... python benchmarks/plan_together.py --runs FOLDER    # ten minutes on one core
    python benchmarks/plan_together.py --quick                          # a minute; does it work?

Models are trained on the complete labels of the pilot and on those of the order. *Stated* is the
prediction of a plan (`Curves.with_labels_so_far`); it is compared with single rules. *Counts*: the
known labels of both add up over the images of both, and the method sees the mean share of known
labels. *Asked*: the same over the images of the pilot and those of the order with a question, as
models are trained on no others. *Worth*: each part is worth a number of completely labelled images,
and these numbers add. *Lower* is the lower mAP of asked and worth, *mean* their mean in logit mAP.
Where the number of images is the amount (one name per image, complete labels) there is only worth.

Pilots of 150 and 300 images, two of each, are compared in three draws. Orders of 300 and 1,500
other images have four sizes of each scheme: from 5 labels per class (present ones with FPC), or 5 %
of the images, to nearly all. Each method is trained on the labels of a pilot and of an order
together, with the settings of the comparison, in two draws; pilots and orders are scored on the
same test images. `scenes` are the drawings that ship with simkit; `photographs` the VOC 2012
animals of SIMKIT_DATA, trained in as many epochs as plan_worlds.py says; classes that fewer than 40
images show are left out.

A single pilot of 3,000 drawings with orders of 9,000 is a case of its own.

Part of the errors is that of the growth of complete labels beyond a pilot (benchmarks/growth.py),
which no rule can correct. So each rule is also judged with the measured growth: the mAP of the
pilot with complete labels of further images.

Predictions are of mAP before the noise of a draw. Ranges "before noise" are those of this mean;
ranges "as stated" are those of a single model, which a plan shows.

*After a round*: the labels of each size but the largest, of one draw and method, are taken for an
earlier round with the mAP that was measured, and larger sizes of the same draw are predicted. *The
samples alone* are not moved to the measured mAP; *before the round* is the prediction without it.

*Labels that a model finds*: FPC on images that are drawn, and on as many that a model of the pilot
finds, which are easy ones; each together with the pilot.

*The choice* is among the measured purchases that a plan would offer, at three price lists and with
budgets from 2 % of the dearest one to all of it. Regret is the mAP of the best of them within the
budget minus that of the chosen one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import plan_worlds
import torch
from plan_erring import World
from scipy.sparse import csr_array, vstack
from scipy.special import expit, logit

import simkit.data
from simkit import metrics
from simkit.annotate.prices import cost, prices
from simkit.annotate.simulate import simulate
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs
from simkit.learn.stack import scores_of_all
from simkit.learn.task import Task
from simkit.learn.train import train, train_stack
from simkit.planning.choose import UNSEEN, Candidate, Request, choose
from simkit.planning.costs import count
from simkit.planning.curves import LARGEST, Array, Curves, FullCurve
from simkit.planning.evidence import Evidence, LabelOption, Pair, Received
from simkit.study.compare import compare
from simkit.study.grid import Grid

SCHEMES = ("single-positive", "rpa", "fpc", "full-subset")
METHODS = ("an", "ll-r", "lsan")
PRICES = "careful"
OF_PILOTS = (0.02, 0.06, 0.2, 0.6)  # shares of the price of complete labels
PILOTS, REPEATS, ORDERS, DRAWS = (150, 300), 2, (300, 1500), 2
SIZES = ("least", "second", "third", "most")
FEW, MOST, OF_IMAGES = 5, 0.9, 0.05  # labels a class; share of all; least share of the images
SMALL = 0.1  # share of an order's labels
Rows = np.ndarray[Any, Any]  # of the images of a world
RULES = ("stated", "counts", "worth", "asked", "lower", "mean", "pilot alone")
SHOWN = RULES[:4]
LISTS, BUDGETS = ("hourly", "careful", "openimages"), (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
Choices = dict[tuple[str, int, int, str], list[tuple[Candidate, float]]]  # with measured mAP


@dataclass(frozen=True)
class Together:
    """Predicted and measured mAP of a pilot and an order together, in points.

    `known` is the order's known labels as a share of those of all images that it may ask about,
    `offered` whether a plan would offer it. By rule: `bands` are the 5, 50 and 95 % quantiles
    before noise, `stated` the 5 and 95 % of a single model, `known_growth` medians.
    """

    world: str
    pilot: int
    repeat: int
    order: int
    scheme: str
    size: str
    method: str
    known: float
    offered: bool
    measured: float
    bands: dict[str, Array]
    stated: dict[str, Array]
    known_growth: dict[str, float]

    def error(self, rule: str) -> float:
        return float(self.bands[rule][1] - self.measured)

    def rule_error(self, rule: str) -> float:
        """The error with the measured growth of complete labels."""
        return self.known_growth[rule] - self.measured

    def held(self, rule: str, *, stated: bool = False) -> bool:
        band = (self.stated if stated else self.bands)[rule]
        return bool(band[0] - 1e-9 <= self.measured <= band[-1] + 1e-9)

    @property
    def by_images(self) -> bool:
        """Whether the number of images is the amount."""
        return "counts" not in self.bands


@dataclass(frozen=True)
class Plan:
    """Numbers of images, and of draws of a comparison."""

    pilots: Sequence[int] = PILOTS
    repeats: int = REPEATS
    orders: Sequence[int] = ORDERS
    draws: int = 3


LARGE = Plan((3000,), 1, (9000,), 2)


@dataclass(frozen=True, eq=False)
class Bought:
    """Labels of an order of so many images."""

    images: int
    scheme: str
    size: str
    draw: int
    labels: PartialLabels

    @property
    def known(self) -> float:
        return float(self.labels.codes.nnz / np.prod(self.labels.shape))


def settings(world: World, images: int) -> World:
    """The training: photographs in as many epochs as plan_worlds.py says, scenes as in the demo."""
    if world.name == "scenes":
        return world
    epochs = min(60, max(12, 12 * plan_worlds.ENOUGH // images))
    return replace(world, train=replace(world.train, epochs=epochs))


def compared(world: World, folder: Path, rows: Any, draws: int) -> Evidence:
    """The comparison of a pilot."""
    source = settings(world, len(rows[0])).source(folder, rows, None)
    if not (folder / "table.parquet").is_file():
        data = simkit.data.open(source["data"])
        whole = cost(simulate(data.truth["train"], "full-subset"), PRICES).dollars
        budgets = tuple(round(part * whole, 2) for part in OF_PILOTS)
        grid = Grid(SCHEMES, METHODS, budgets=budgets, draws=draws, **source)
        for failure in compare(grid, out=folder, workers=1).failures:
            print(f"failed: {failure}", file=sys.stderr)
    evidence = Evidence.of(folder)
    return replace(evidence, pool=replace(evidence.pool, machine=None))


def bought(truth: Truth) -> Iterator[Bought]:
    """Every order of these images."""
    N, L = truth.shape
    at = np.linspace(0, 1, len(SIZES))
    for draw in range(DRAWS):
        for scheme in SCHEMES:
            option = LabelOption.of(scheme)
            if option.amount == "images":
                least = FEW * L / N if scheme == "single-positive" else OF_IMAGES
                start, stop = min(least, 0.5) * N, float(N)
            elif option.counted:
                start, stop = float(FEW), float(truth.counts.max())
            else:
                start, stop = FEW / N, MOST
            for size, amount in zip(SIZES, start * (stop / start) ** at, strict=True):
                images = round(amount) if option.amount == "images" else 1.0
                labels = simulate(
                    truth, option.with_amount(float(amount)), images=images, draw=draw
                )
                yield Bought(N, scheme, size, draw, labels)


def measured(world: World, pilot: Rows, order: Rows, test: Rows, every: Sequence[Bought]) -> Array:
    """(K, M, L) AP of each purchase and method, after learning from the pilot and the purchase."""
    complete = np.where(world.labels[pilot].toarray(), 1, -1).astype(np.int8)
    rows = np.concatenate([pilot, order])
    inputs, on_test = FeatureInputs(world.values[rows]), FeatureInputs(world.values[test])
    present, ones = csr_array(world.labels[test]), np.ones(len(pilot), bool)
    groups: dict[bytes, list[int]] = {}
    for k, one in enumerate(every):  # the same images and order of images: one stack
        groups.setdefault(one.labels.asked.tobytes() + bytes([one.draw]), []).append(k)
    found: list[Any] = [None] * len(every)
    for group in groups.values():
        runs = []
        for k in group:
            labels = every[k].labels
            task = Task(
                PartialLabels.of(
                    vstack([csr_array(complete), labels.codes]),
                    asked=np.append(ones, labels.asked), history=labels.history,
                ), inputs,
            )  # fmt: skip
            runs += [(task, methods.make(name)) for name in METHODS]
        images = len(pilot) + int(every[group[0]].labels.asked.sum())
        train = settings(world, images).train
        trained = train_stack(runs, settings=train, draw=every[group[0]].draw)
        ap = [metrics.average_precision(one, present)
              for one in np.asarray(scores_of_all(trained, on_test))]  # fmt: skip
        for place, k in enumerate(group):
            found[k] = ap[place * len(METHODS) : (place + 1) * len(METHODS)]
    return np.array(found)


def rules(curves: Curves, pair: Pair, one: Bought) -> tuple[dict[str, Array], bool]:
    """(R,) mean mAP of pilot and purchase together, by rule, and whether a plan offers it."""
    option, evidence = pair[0], curves.evidence
    pool, scored, full = evidence.pool.images, evidence.pool.scored, curves.full(pair)
    bill, N = curves.purchases[option], one.images
    whole = full.end[:, None]
    if option.amount == "images":
        number = float(one.labels.asked.sum())
        times, limit = np.array([number / pool]), min(N / pool + 1, LARGEST)
        present, absent = bill.present[-1][None], bill.absent[-1][None]
        least = min((size.amount for size in evidence.cells.get(pair, ())), default=1.0)
        offered = number * UNSEEN >= min(least, pool)
    else:
        times = np.array([N / pool])
        present, absent = (
            one.labels.per_class(sign)[scored].astype(float)[None] / times[0]
            for sign in (PRESENT, ABSENT)
        )
        u = curves.shares(pair, present, absent)[0]
        offered = bool(UNSEEN * u >= curves.cell(pair).u[0])
    asked = np.array([one.labels.asked.sum() / pool])
    stated = curves.with_labels_so_far(pair, present, absent, times, asked, images=N)
    found = {"stated": stated, "pilot alone": whole}
    worth = full.together(curves(pair, present, absent, times), whole)

    def counts(more: float) -> Array:
        total = np.array([more + 1])
        known = [
            np.minimum((part * times[:, None] + complete) / total, complete)
            for part, complete in zip((present, absent), bill.complete, strict=True)
        ]
        return curves(pair, known[0], known[1], total)

    if option.amount == "images":
        found["worth"] = np.minimum(worth, full(np.array([limit])))
    else:
        found |= {"counts": counts(one.images / pool), "worth": worth}
        found["asked"] = asked = counts(one.labels.asked.sum() / pool)
        found["lower"] = np.minimum(asked, worth)
        found["mean"] = expit((logit(asked) + logit(worth)) / 2)
    return found, offered


class KnownGrowth(FullCurve):
    """Complete labels through the measured mAP of the pilot with complete labels of others."""

    known: tuple[Array, Array]  # logarithms of the times the pool, and (K,) logit mAP there

    def logit(self, times: Array) -> Array:
        modelled, (at, values) = super().logit(times), self.known
        ends = super().logit(np.exp(at))
        log = np.log(np.maximum(times, 1.0))
        more = [np.interp(log, np.append(0.0, at), np.append(0.0, one)) for one in values - ends]
        return np.asarray(modelled + np.array(more))


def with_growth(curves: Curves, whole: dict[str, tuple[Array, Array]]) -> Curves:
    """The same curves where the growth of complete labels is known, by method."""

    class Known(Curves):
        def _full_of(self, option: LabelOption, method: str) -> FullCurve:
            modelled = super()._full_of(option, method)
            made = KnownGrowth(**{f.name: getattr(modelled, f.name) for f in fields(modelled)})
            object.__setattr__(made, "known", whole[method])
            return made

    return Known(curves.evidence, curves.purchases)


def judged(world: World, folder: Path, plan: Plan, choices: Choices) -> Iterator[Together]:
    """All predictions in a world, with the measured mAP; adds its purchases to `choices`."""
    rows = np.arange(len(world.values))
    largest, most = max(plan.orders), max(plan.pilots)
    test = rows[largest + plan.repeats * most :]
    orders = {n: [*bought(Truth.of(world.labels[rows[:n]]))] for n in plan.orders}
    for repeat in range(plan.repeats):
        first = largest + repeat * most
        for images in plan.pilots:
            pilot = rows[first : first + images]
            place = folder / f"{world.name}-{images}-{repeat}"
            evidence = compared(world, place, (pilot, test), plan.draws)
            options = dict.fromkeys(option for option, _ in evidence.cells)
            bills = {one: count(one, evidence.pool, prices(PRICES)) for one in options}
            scores: dict[tuple[Any, ...], list[Array]] = {}  # (M,) of each draw
            for n, every in orders.items():
                file = place / f"together-{n}.npy"
                if not file.is_file():
                    np.save(file, measured(world, pilot, rows[:n], test, every))
                ap = np.nanmean(np.load(file)[..., evidence.pool.scored], axis=2)
                for one, score in zip(every, evidence.test.on_new_images(ap), strict=True):
                    scores.setdefault((n, one.scheme, one.size), []).append(score)
            curves = Curves(evidence, bills)
            assert curves.with_pilot
            both = curves, with_growth(curves, _growth(orders, scores, images))
            for n, every in orders.items():
                for one in every[: len(every) // DRAWS]:  # of the first draw
                    got = np.mean(scores[n, one.scheme, one.size], axis=0)
                    yield from _judged((world.name, repeat), both, one, got)
                    for name in LISTS:
                        part = choices.setdefault((world.name, images, repeat, name), [])
                        part += _offered(curves, one, got, cost(one.labels, name).dollars)
            print(f"{world.name}, pilot {repeat} of {images} images", file=sys.stderr, flush=True)


def _growth(
    orders: dict[int, list[Bought]], scores: dict[tuple[Any, ...], list[Array]], pool: int
) -> dict[str, tuple[Array, Array]]:
    """Measured growth by method: mAP of complete labels of pilot and order, ascending."""
    sizes: dict[float, list[Array]] = {}
    for n, every in orders.items():
        for one in every:
            if one.scheme == "full-subset":
                at = float(np.log1p(one.labels.asked.sum() / pool))
                sizes[at] = [*sizes.get(at, []), np.mean(scores[n, one.scheme, one.size], axis=0)]
    times = sorted(sizes)
    values = np.maximum.accumulate([np.mean(sizes[one], axis=0) for one in times])
    return {m: (np.array(times), logit(values[:, k])) for k, m in enumerate(METHODS)}


def _judged(
    where: tuple[str, int], both: tuple[Curves, Curves], one: Bought, got: Array
) -> Iterator[Together]:
    """Predictions of one purchase by all methods, with growth as modelled and as measured."""
    curves, known = both
    for method, score in zip(METHODS, got.tolist(), strict=True):
        pair = LabelOption.of(one.scheme), method
        found, offered = rules(curves, pair, one)
        medians = {r: 100 * float(np.median(v)) for r, v in rules(known, pair, one)[0].items()}
        bands = {rule: 100 * np.quantile(v, [0.05, 0.5, 0.95]) for rule, v in found.items()}
        stated = {rule: 100 * np.quantile(curves.as_scored(pair, v), [0.05, 0.95])
                  for rule, v in found.items()}  # fmt: skip
        yield Together(
            where[0], curves.evidence.pool.images, where[1], one.images, one.scheme, one.size,
            method, one.known, bool(offered), 100 * score, bands, stated, medians,
        )  # fmt: skip


def _offered(
    curves: Curves, one: Bought, got: Array, dollars: float
) -> Iterator[tuple[Candidate, float]]:
    """A purchase with each method that a plan would offer, with its measured mAP."""
    none = np.zeros(1)
    for method, score in zip(METHODS, got.tolist(), strict=True):
        pair = LabelOption.of(one.scheme), method
        found, offered = rules(curves, pair, one)
        if offered:
            map = curves.as_scored(pair, found["stated"])[:, 0]
            yield Candidate(
                *pair, dollars, one.images, 1.0, 1.0, 0.0, 0.0, none, none, map,
                float(np.median(map)),
            ), score  # fmt: skip


# ----------------------------------------------------------------------------------- after a round


@dataclass(frozen=True)
class After:
    """Errors of predictions after a round, in points, and whether and how wide ranges held."""

    world: str
    rule: str
    sizes: int  # by which the prediction is larger than the round
    error: float
    held: bool
    width: float


def later(world: World, folder: Path, plan: Plan) -> Iterator[After]:
    """Predictions of larger sizes after each smaller one."""
    rows = np.arange(len(world.values))
    largest, most = max(plan.orders), max(plan.pilots)
    test = rows[largest + plan.repeats * most :]
    orders = {n: [*bought(Truth.of(world.labels[rows[:n]]))] for n in plan.orders}
    for repeat, images in itertools.product(range(plan.repeats), plan.pilots):
        pilot = rows[largest + repeat * most :][:images]
        place = folder / f"{world.name}-{images}-{repeat}"
        evidence = compared(world, place, (pilot, test), plan.draws)
        options = dict.fromkeys(option for option, _ in evidence.cells)
        curves = Curves(
            evidence, {one: count(one, evidence.pool, prices(PRICES)) for one in options}
        )
        for n, every in orders.items():
            ap = np.nanmean(np.load(place / f"together-{n}.npy")[..., evidence.pool.scored], axis=2)
            scored = evidence.test.on_new_images(ap)
            for k, m in itertools.product(range(len(every) // DRAWS), range(len(METHODS))):
                more = [
                    j
                    for j in range(k + 1, len(every) // DRAWS)
                    if every[j].scheme == every[k].scheme
                ]
                if more:
                    first = _round(evidence, every[k], METHODS[m], scored[k, m])
                    others = {
                        SIZES.index(every[j].size) - SIZES.index(every[k].size): (
                            _round(evidence, every[j], METHODS[m], scored[j, m])
                        )
                        for j in more
                    }
                    yield from _after(world.name, curves, first, others)


def _round(evidence: Evidence, one: Bought, method: str, score: float) -> Received:
    present, absent = (one.labels.per_class(sign)[evidence.pool.scored].astype(float)
                       for sign in (PRESENT, ABSENT))  # fmt: skip
    return Received(
        LabelOption.of(one.scheme), method, dollars=1.0, images=one.images,
        asked=int(one.labels.asked.sum()), present=present, absent=absent, scores=np.array([score]),
    )  # fmt: skip


def _after(
    world: str, before: Curves, first: Received, others: dict[int, Received]
) -> Iterator[After]:
    curves = copy(before)
    curves.evidence = replace(before.evidence, received=first)
    curves._luck = before._luck.copy()
    curves.agree_with(first)
    alone = copy(curves)
    alone.surprise = 0.0
    for rule, these in (
        ("stated", curves),
        ("the samples alone", alone),
        ("before the round", before),
    ):
        for sizes, one in others.items():
            mean = these._received(one)
            map = 100 * these.as_scored((one.option, one.method), mean)[these.kept, 0]
            low, middle, high = np.quantile(map, [0.05, 0.5, 0.95])
            score = 100 * one.score
            yield After(world, rule, sizes, middle - score, low <= score <= high, high - low)


def after_a_round(every: Sequence[After]) -> None:
    rows = []
    for key in dict.fromkeys((one.world, one.rule, one.sizes) for one in every):
        part = [one for one in every if (one.world, one.rule, one.sizes) == key]
        errors = np.array([one.error for one in part])
        rows.append((f"{key[0]}: {key[1]}", f"{key[2]}", f"{len(part)}", f"{errors.mean():+.1f}",
                     f"{np.median(abs(errors)):.1f}", f"{np.sqrt((errors**2).mean()):.1f}",
                     f"{np.mean([one.held for one in part]):.0%}",
                     f"{np.mean([one.width for one in part]):.1f}"))  # fmt: skip
    print("\n## After a round\n")
    heads = ("sizes larger", "predictions", "predicted - measured", "median error",
             "root mean square", "held", "width")  # fmt: skip
    measuring.table(("world: rule", *heads), rows)


# ----------------------------------------------------------------------- labels that a model finds


def searched(world: World, folder: Path, plan: Plan) -> Iterator[tuple[str, str, float, float]]:
    """World, method, and mAP of the largest pilots with FPC of the largest order, whose images are
    drawn, or found by a model of the pilot."""
    rows, n, images = np.arange(len(world.values)), max(plan.orders), max(plan.pilots)
    order, test = rows[:n], rows[n + plan.repeats * images :]
    truth = Truth.of(world.labels[order])
    for repeat in range(plan.repeats):
        pilot = rows[n + repeat * images : n + (repeat + 1) * images]
        evidence = compared(world, folder / f"{world.name}-{images}-{repeat}", (pilot, test), 3)
        complete = np.where(world.labels[pilot].toarray(), 1, -1).astype(np.int8)
        inputs = FeatureInputs(world.values[pilot])
        task = Task(PartialLabels.of(csr_array(complete)), inputs)
        model = train(task, methods.make("an"), settings=settings(world, images).train)
        scores = model.scores(FeatureInputs(world.values[order]))
        option = LabelOption.of("fpc")
        for amount in np.geomspace(2 * FEW, truth.counts.max() / 2, len(SIZES)).tolist():
            drawn, found = option.with_amount(amount), option.with_amount(amount)
            found = found.unassuming(scores=True)
            both = [
                Bought(n, "fpc", "", 0, simulate(truth, drawn)),
                Bought(n, "fpc", "", 0, simulate(truth, found, scores=scores)),
            ]
            ap = measured(world, pilot, order, test, both)[..., evidence.pool.scored]
            for method, (one, other) in zip(METHODS, np.nanmean(ap, axis=2).T, strict=True):
                yield world.name, method, float(one), float(other)


def losses(every: Sequence[tuple[str, str, float, float]]) -> None:
    rows = []
    for key in dict.fromkeys(one[:2] for one in every):
        one, other = np.array([row[2:] for row in every if row[:2] == key]).T
        lost = logit(one) - logit(other)
        means = (f"{100 * ap.mean():.1f}" for ap in (one, other))
        rows.append((", ".join(key), f"{len(lost)}", *means, f"{lost.mean():.2f}",
                     f"{lost.std():.2f}"))  # fmt: skip
    print("\n## Labels that a model finds\n")
    heads = ("purchases", "images drawn", "images found", "loss of logit mAP", "its deviation")
    measuring.table(("world, method", *heads), rows)


# ------------------------------------------------------------------------------------ the choice


def earlier(every: Sequence[Candidate], best: Candidate, whole: Candidate) -> Candidate:
    """The cheapest that loses more than 1 point with at most 5 % probability."""
    for one in sorted(every, key=lambda one: one.dollars):
        if all((other.map - one.map > 0.01).mean() <= 0.05 for other in (best, whole)):
            return one
    return best


def regrets(choices: Choices) -> None:
    """Regret and spending of the rule of plans, and of others."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (world, *_), part in choices.items():
        score, most = {id(one): got for one, got in part}, max(one.dollars for one, _ in part)
        for budget in (share * most * (1 + 1e-9) for share in BUDGETS):
            every = [one for one, _ in part if one.dollars <= budget]
            if len(every) < 3:
                continue
            best = max(every, key=lambda one: one.median)
            whole = max((one for one in every if one.option.complete), default=best,
                        key=lambda one: one.median)  # fmt: skip
            chosen = {
                "stated": choose(every, Request(budget)).chosen,
                "cheapest that loses 1 point with at most 5 %": earlier(every, best, whole),
                "highest expected mAP": best, "complete labels": whole,
            }  # fmt: skip
            highest = max(score[id(one)] for one in every)
            for rule, one in chosen.items():
                row = 100 * (highest - score[id(one)]), one.dollars / budget
                found.setdefault((world, rule), []).append(row)
    rows = []
    for (world, rule), values in found.items():
        regret, spent = np.array(values).T
        rows.append((f"{world}: {rule}", f"{len(regret)}", f"{regret.mean():.2f}",
                     f"{(regret <= 1).mean():.0%}", f"{(regret <= 3).mean():.0%}",
                     f"{spent.mean():.0%}"))  # fmt: skip
    print("\n## The choice\n")
    heads = ("choices", "mean regret, points", "within 1", "within 3", "of the budget spent")
    measuring.table(("world: rule", *heads), rows)


# ------------------------------------------------------------------------------------- tables

By = Callable[[Together], str]


def judgement(part: Sequence[Together], rule: str) -> list[str]:
    """Errors of a rule and its ranges, and its errors with known growth."""
    errors, own = (np.array([getattr(one, of)(rule) for one in part])
                   for of in ("error", "rule_error"))  # fmt: skip
    held = [np.mean([one.held(rule, stated=stated) for one in part]) for stated in (False, True)]
    width = np.mean([np.ptp(one.stated[rule]) for one in part])
    return [f"{errors.mean():+.1f}", f"{np.median(abs(errors)):.1f}", *(f"{x:.0%}" for x in held),
            f"{width:.1f}", f"{own.mean():+.1f}", f"{np.median(abs(own)):.1f}",
            f"{np.sqrt((own**2).mean()):.1f}"]  # fmt: skip


def groups(every: Sequence[Together], by: By) -> dict[str, list[Together]]:
    found: dict[str, list[Together]] = {}
    for one in every:
        found.setdefault(by(one), []).append(one)
    return found


def by_rule(every: Sequence[Together], rules: Sequence[str]) -> None:
    """A row for each world and rule."""
    heads = ("predicted - measured", "median error", "held", "held as stated", "width as stated",
             "known growth: predicted - measured", "median error", "root mean square")  # fmt: skip
    rows = [
        (f"{world}: {rule}", *judgement(part, rule))
        for world, part in groups(every, lambda one: one.world).items() for rule in rules
    ]  # fmt: skip
    print()
    measuring.table((f"world: rule ({len(every)} purchases)", *heads), rows)


def detail(title: str, every: Sequence[Together], by: By, rules: Sequence[str]) -> None:
    """A row for each group; of each rule predicted minus measured, median error, held as stated."""
    rows = []
    for name, part in groups(every, by).items():
        cells = []
        for rule in rules:
            made = judgement(part, rule)
            cells.append(f"{made[0]}, {made[1]}, {made[3]}")
        known, got = (np.mean([getattr(o, of) for o in part]) for of in ("known", "measured"))
        gain = got - np.mean([one.bands["pilot alone"][1] for one in part])
        rows.append((name, f"{len(part)}", f"{100 * known:.1f}", f"{got:.1f}", f"{gain:+.1f}",
                     *cells))  # fmt: skip
    print()
    heads = ("purchases", "labels known, %", "measured", "above the pilot", *rules)
    measuring.table((title, *heads), rows)


def report(every: Sequence[Together]) -> None:
    """Print all tables."""
    options = [one for one in every if not one.by_images]
    images = [one for one in every if one.by_images]
    print("\n## RPA and FPC")
    by_rule(options, RULES)
    detail("world, scheme, size", options, lambda o: f"{o.world}, {o.scheme}, {o.size}", SHOWN)
    detail("world, scheme, method", options, lambda o: f"{o.world}, {o.scheme}, {o.method}", SHOWN)
    detail("world, pilot, order", options, lambda o: f"{o.world}, {o.pilot}, {o.order:,}", SHOWN)
    detail("offered by a plan", options, lambda o: "yes" if o.offered else "no", SHOWN)
    print(f"\n## Few labels on many images: RPA and FPC with less than {SMALL:.0%} of all labels")
    small = [one for one in options if one.known < SMALL]
    by_rule(small, RULES)
    detail("world, scheme, method", small, lambda o: f"{o.world}, {o.scheme}, {o.method}", SHOWN)
    print("\n## The number of images is the amount")
    by_rule(images, ("worth", "pilot alone"))
    detail("world, scheme, size", images, lambda o: f"{o.world}, {o.scheme}, {o.size}", ("worth",))
    detail("scheme, method", images, lambda o: f"{o.scheme}, {o.method}", ("worth",))


def large(every: Sequence[Together]) -> None:
    """RPA and FPC beside a pilot with more complete labels than an order has."""
    options = [one for one in every if not one.by_images]
    print("\n## A large pilot: 3,000 images of `scenes`, and orders of 9,000")
    detail("scheme, method", options, lambda o: f"{o.scheme}, {o.method}", SHOWN)
    detail("scheme, method, size", options, lambda o: f"{o.scheme}, {o.method}, {o.size}", SHOWN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder that keeps the comparisons and results")
    parser.add_argument("--worlds", nargs="+", default=["scenes", "photographs"])
    parser.add_argument("--quick", action="store_true", help="few runs, in a folder of their own")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    if arguments.runs is None and not arguments.quick:
        sys.exit("name a folder with --runs, or ask for --quick")
    warnings.simplefilter("ignore")  # UserWarning, and means of classes without images
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    worlds = ["scenes"] if arguments.quick else arguments.worlds
    plan = Plan((100,), 1, (300,), 2) if arguments.quick else Plan()
    found: list[Together] = []
    choices: Choices = {}
    looked: list[tuple[str, str, float, float]] = []
    rounds: list[After] = []
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(spare) if arguments.quick else arguments.runs
        for name in worlds:
            images = max(plan.orders) + plan.repeats * max(plan.pilots)
            world = World.of(name, images)
            found += judged(world, folder, plan, choices)
            rounds += later(world, folder, plan)
            looked += searched(world, folder, plan)
        many = [] if arguments.quick else [*judged(World.of("scenes", 12_000), folder, LARGE, {})]
    report(found)
    large(many)
    after_a_round(rounds)
    losses(looked)
    regrets(choices)
    sizes = {name: sum(one.world == name for one in found) for name in worlds}
    measuring.finish("plan_together", as_json=arguments.json, equal=True, ratios={}, sizes=sizes)


if __name__ == "__main__":
    main()
