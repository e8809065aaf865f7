"""How does mAP of complete labels grow beyond a pilot, and do predictions hold in other worlds?

    python benchmarks/growth.py --curves FOLDER              # of growth_worlds.py; ten minutes
    python benchmarks/growth.py --curves FOLDER --constants  # only those of curves.py

Each world is predicted with constants that were fitted on all others. Beside plans stand two usual
extrapolations of the same measurements: a power law a - b n**-c with a at most 1 (least squares,
interval of 50 bootstraps of the draws), and a Gaussian process of log n about that power law, as
APEx-GP has it (scikit-learn, squared exponential kernel and noise by marginal likelihood).

The 90 % ranges are of mAP on many images, over the classes that the pilot shows. "Own test images"
are a quarter of the pilot's images, so that noise and bias of so few are part of the prediction;
on "many test images" the pilot is measured like the project, and growth alone is judged.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from growth_worlds import METHODS, PARTS
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from simkit.annotate.annotators import Habits
from simkit.labels.truth import Truth
from simkit.planning import curves as constants
from simkit.planning.curves import Curves
from simkit.planning.evidence import COMPLETE, Evidence, LabelOption, Pool, Size
from simkit.results.test_split import TestSplit

Array = np.ndarray[Any, Any]
OPTION = LabelOption(COMPLETE)
SHARES = np.array((*PARTS, 1.0))
TIMES = (10, 30)
GOALS = {10: (0.85, 14.0, 2.0), 30: (0.85, 20.0, 2.0)}  # held, width, bias
BOOTSTRAPS = 50
LEAST = 100  # images of the smallest pilots that are judged
EXPONENTS = np.geomspace(0.03, 2.0, 40)


@dataclass(frozen=True, eq=False)
class Pilot:
    """A pilot of one draw of a variant, and what its images' world gave beyond it.

    many, few    (K, D, M, L) AP by part, repeat, method and class.
    shown        (2, L) images of the pilot, and of its test images, that show each class.
    sizes, curve (S,), (S, M, L) AP on many images of the first so many images.
    """

    world: str
    variant: str
    images: int
    many: Array
    few: Array
    shown: Array
    sizes: Array
    curve: Array

    @cached_property
    def occurring(self) -> Array:
        """(L,) whether the pilot or its test images show a class."""
        return self.shown.sum(axis=0) > 0

    @property
    def all_images(self) -> int:
        """With the test images."""
        return self.images + self.images // 3

    def truth(self, times: float) -> Array:
        """(M,) mAP on many images after learning from `times` the images; nan beyond the world."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = np.nanmean(self.curve[:, :, self.occurring], axis=2)
        at = np.log(self.sizes / self.images)
        if not 0 <= np.log(times) <= at[-1]:
            return np.full(score.shape[1], np.nan)
        return np.array([expit(np.interp(np.log(times), at, logit(one))) for one in score.T])

    def scores(self, own: bool) -> tuple[Array, TestSplit]:
        """(K, D, M) mAP as a plan reads it, and the test split."""
        shown = self.shown[1]
        classes = shown > 0 if own else self.occurring
        ap = (self.few if own else self.many)[..., classes]
        raw, test = np.nanmean(ap, axis=3), TestSplit()
        if own:
            best = self.few[raw >= np.median(raw)]
            images = self.images // 3
            mean = np.where(classes, np.nanmean(best, axis=0), np.nan)
            test = _test_split(images, shown, mean, self.shown[0] / self.images, self.images)
        return test.on_new_images(raw), test

    def evidence(self, own: bool) -> Evidence:
        """As if `simkit compare` had trained the pilot's runs."""
        scores, test = self.scores(own)
        shares = self.shown[0] / self.images
        rng = np.random.default_rng(0)
        present = rng.random((self.images, len(shares))) < shares
        pool = Pool(Truth.of(present), np.flatnonzero(self.occurring), opened=False)
        none = np.zeros(len(pool.scored))
        cells, ends = {}, {}
        for m, method in enumerate(METHODS):
            cells[OPTION, method] = tuple(
                Size(float(round(part * self.images)), none, none, scores[k, :, m])
                for k, part in enumerate(PARTS)
            )
            ends[Habits(), method] = scores[-1, :, m]
        draws, runs = scores.shape[1], scores.size
        return Evidence(
            (), pool, test, cells, ends, class_ap={}, draws=draws, runs=runs, grid={},
            missing=(0.0, ""), ids={}, trained_as={},
        )  # fmt: skip


def _test_split(images: int, shown: Array, ap: Array, shares: Array, pool: int) -> TestSplit:
    from simkit.metrics.ap import LabelCounts

    return TestSplit.of(images, LabelCounts(shown, images - shown), ap, shares, pool)


def pilots(folder: Path) -> Iterator[Pilot]:
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            made = {name: file[name] for name in file.files}
        ladder = made["ladder"]
        for draw in range(len(made["curve"])):
            for p, images in enumerate(made["pilots"].tolist()):
                at = ladder >= images
                yield Pilot(
                    str(made["world"]), path.stem, images, made["many"][draw, p],
                    made["few"][draw, p], made["shown"][draw, p], ladder[at],
                    made["curve"][draw][at],
                )  # fmt: skip


# --------------------------------------------------------------------------- ways to predict


def by_plans(pilot: Pilot, own: bool, times: Sequence[float]) -> Array:
    """(M, T, 3) the 5, 50 and 95 % quantiles of mAP."""
    evidence = pilot.evidence(own)
    curves, at = Curves(evidence, {}), np.array(times, np.float64)
    values = [curves.as_scored((OPTION, m), curves.full((OPTION, m))(at)) for m in METHODS]
    return np.stack([np.quantile(value, (0.05, 0.5, 0.95), axis=0).T for value in values])


def power_law(n: Array, scores: Array, at: Array) -> tuple[Array, Array]:
    """The law a - b n**-c of least squares, with a at most 1 and b at least 0: at `n` and `at`."""
    best = (np.inf, scores, scores)
    for c in EXPONENTS:
        x = n**-c
        off = x - x.mean()
        b = max(0.0, -float(off @ (scores - scores.mean()) / (off @ off)))
        a = float((scores + b * x).mean())
        if a > 1:
            a, b = 1.0, max(0.0, float(x @ (1 - scores) / (x @ x)))
        loss = float(((scores - a + b * x) ** 2).sum())
        if loss < best[0]:
            best = loss, a - b * x, a - b * at**-c
    return best[1], best[2]


def by_power_law(pilot: Pilot, own: bool, times: Sequence[float]) -> Array:
    scores, _ = pilot.scores(own)
    rng, bands = np.random.default_rng(0), []
    n, at = SHARES * pilot.images, np.array(times) * pilot.images
    for m in range(len(METHODS)):
        found = []
        for _ in range(BOOTSTRAPS):
            draws = rng.integers(scores.shape[1], size=scores.shape[:2])
            mean = np.take_along_axis(scores[:, :, m], draws, axis=1).mean(axis=1)
            found.append(power_law(n, mean, at)[1])
        bands.append(np.quantile(found, (0.05, 0.5, 0.95), axis=0).T)
    return np.clip(bands, 0.0, 1.0)


def by_gaussian_process(pilot: Pilot, own: bool, times: Sequence[float]) -> Array:
    scores, _ = pilot.scores(own)
    n = np.repeat(SHARES * pilot.images, scores.shape[1])
    at, bands = np.array(times) * pilot.images, []
    for m in range(len(METHODS)):
        value = scores[:, :, m].ravel()
        mean, beyond = power_law(n, value, at)
        kernel = ConstantKernel(0.01, (1e-5, 0.1)) * RBF(2.0, (0.5, 8.0))
        kernel += WhiteKernel(1e-3, (1e-6, 0.01))
        process = GaussianProcessRegressor(kernel, random_state=0)
        process.fit(np.log(n)[:, None], value - mean)
        off, spread = process.predict(np.log(at)[:, None], return_std=True)
        bands.append((beyond + off)[:, None] + spread[:, None] * np.array([-1.645, 0.0, 1.645]))
    return np.clip(bands, 0.0, 1.0)


# ------------------------------------------------------------------------------------ the prior


AT = np.array([2.0, 4.0, 8.0, 16.0, 30.0])  # times the pilot's images
CURVES = 6  # that a world counts as, since its curves share images, features and methods
NOISE = 0.04  # of logit mAP on the test images, different at each number of images
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


@dataclass(frozen=True, eq=False)
class Grown:
    """Curves of a world: (N,) images of the pilot and slope at its end, (N, len(AT)) gains of logit
    mAP beyond."""

    world: str
    images: Array
    slope: Array
    gain: Array


def grown(every: Sequence[Pilot]) -> list[Grown]:
    """The curves of each world; pilots of 75 images only where nothing larger fits into it."""
    made: dict[str, list[tuple[int, float, Array]]] = {}
    largest: dict[str, int] = {}
    for pilot in every:
        largest[pilot.world] = max(pilot.images, largest.get(pilot.world, 0))
    near = SHARES > 1 / constants.NEARBY
    weight = SHARES[near] / SHARES[near].sum()
    log = np.log(SHARES[near])
    away = log - weight @ log
    for pilot in every:
        if pilot.images < LEAST <= largest[pilot.world] // 2:
            continue
        y = logit(pilot.scores(own=False)[0].mean(axis=1))  # (K, M)
        gains = np.stack([logit(pilot.truth(times)) - y[-1] for times in AT], axis=1)
        slope = float(((weight * away) @ y[near]).mean() / (weight @ away**2))
        made.setdefault(pilot.world, []).extend((pilot.images, slope, gain) for gain in gains)
    return [
        Grown(world, *(np.array(part) for part in zip(*curves, strict=True)))
        for world, curves in made.items()
    ]


@dataclass(frozen=True)
class Prior:
    """The decay at slope 1 and its change by log slope, the change of the logarithm of a gain's
    factor by log images, its deviations between and within worlds, and that of the measured end."""

    decay: float
    by_slope: float
    by_images: float
    between: float
    within: float
    end: float

    def gains(self, world: Grown) -> Array:
        """(N, len(AT)) median gains, as `FullCurve` has them."""
        slope = np.maximum(world.slope, constants.FLATTEST)[:, None]
        g = np.maximum(self.decay + self.by_slope * np.log(slope), constants.LEAST_DECAY)
        factor = (world.images[:, None] / constants.OF_IMAGES) ** self.by_images
        return np.asarray(factor * slope * -np.expm1(-g * np.log(AT)) / g)

    def loss(self, world: Grown) -> float:
        """Minus the log likelihood of a world's curves, with its own factor integrated out.

        Gains are taken as linear in the logarithm of the factor and in the error of the end.
        """
        known, gains = ~np.isnan(world.gain), self.gains(world)
        off = np.where(known, world.gain - gains, 0)
        errors = np.stack([self.within * gains, np.full(gains.shape, self.end)], axis=2)
        loads = known[:, :, None] * errors  # (N, A, 2)
        inner = np.eye(2) + loads.transpose(0, 2, 1) @ loads / NOISE**2
        inverse, size = np.linalg.inv(inner), np.log(np.linalg.det(inner))
        losses = []
        for node in NODES.tolist():
            rest = off - known * gains * self.between * node
            pulled = np.einsum("nai,na->ni", loads, rest) / NOISE**2
            explained = np.einsum("ni,nij,nj->n", pulled, inverse, pulled)
            loss = (rest**2).sum(axis=1) / NOISE**2 - explained + size
            losses.append(loss.mean() / 2 * min(CURVES, len(loss)))
        return -float(logsumexp(-np.array(losses), b=WEIGHTS / WEIGHTS.sum()))

    def ship(self) -> None:
        """Give them to the planner."""
        constants.DECAY, constants.BY_IMAGES = (self.decay, self.by_slope), self.by_images
        constants.GROWTH = float(np.hypot(self.between, self.within))

    def __str__(self) -> str:
        return (
            f"DECAY = {self.decay:.2f}, {self.by_slope:.2f}; BY_IMAGES = {self.by_images:.2f}; "
            f"GROWTH = {np.hypot(self.between, self.within):.2f} ({self.between:.2f} between and "
            f"{self.within:.2f} within worlds; measured ends err by {self.end:.2f})"
        )


def fitted(worlds: Sequence[Grown]) -> Prior:
    """The prior of the highest likelihood."""

    def made(x: Array) -> Prior:
        decay, by_slope, *deviations = np.exp(x[1:]).tolist()
        return Prior(decay, by_slope, float(x[0]), *deviations)

    def loss(x: Array) -> float:
        return sum(made(x).loss(world) for world in worlds)

    start = np.array([0.0, *np.log([0.5, 0.4, 0.2, 0.3, 0.1])])
    bounds = [(-2.0, 2.0), *[(np.log(0.02), np.log(3.0))] * 5]
    return made(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)


# --------------------------------------------------------------------------------------- tables


WAYS = {"plans": by_plans, "Gaussian process": by_gaussian_process, "power law": by_power_law}


def judged(
    every: Sequence[Pilot], worlds: Sequence[Grown], own: bool, ways: Sequence[str]
) -> list[dict[str, Any]]:
    """Predictions of these ways for pilots of 150 images and more, one entry for each curve."""
    found = []
    for left_out in dict.fromkeys(pilot.world for pilot in every):
        fitted([world for world in worlds if world.world != left_out]).ship()
        for pilot in (pilot for pilot in every if pilot.world == left_out):
            truth = {times: pilot.truth(times) for times in TIMES}
            times = [t for t in TIMES if not np.isnan(truth[t]).any()]
            if not times or pilot.images < LEAST:
                continue
            for way in ways:
                bands = WAYS[way](pilot, own, times)
                for k, t in enumerate(times):
                    for (low, middle, high), value in zip(bands[:, k], truth[t], strict=True):
                        found.append({
                            "world": pilot.world, "images": pilot.all_images, "times": t,
                            "way": way, "held": low - 1e-9 <= value <= high + 1e-9,
                            "width": 100 * (high - low), "bias": 100 * (middle - value),
                        })  # fmt: skip
    return found


def tables(found: Sequence[dict[str, Any]], title: str) -> None:
    for times in TIMES:
        held, width, bias = GOALS[times]
        rows, ways = [], [*dict.fromkeys(one["way"] for one in found)]
        part = [one for one in found if one["times"] == times]
        for by in ("world", "images"):
            for value in dict.fromkeys(one[by] for one in part):
                cells = []
                for way in ways:
                    own = [one for one in part if one[by] == value and one["way"] == way]
                    mean = {k: np.mean([one[k] for one in own]) for k in ("held", "width", "bias")}
                    cells += [f"{mean['held']:.0%}, {mean['width']:.0f}, {mean['bias']:+.1f}"]
                label = str(value) if by == "world" else f"all, {value} images"
                rows.append((label, f"{len(own):,}", *cells))
        print(f"\n### {title}, {times} times the images (goal: {held:.0%}, at most {width:g}, "
              f"within {bias:g})\n")  # fmt: skip
        measuring.table(("world left out", "curves", *ways), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=Path, required=True, help="made by growth_worlds.py")
    parser.add_argument("--ways", nargs="+", choices=[*WAYS], default=[*WAYS])
    parser.add_argument("--constants", action="store_true", help="only fit to all worlds")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not (every := list(pilots(arguments.curves))):
        sys.exit(f"no curves in {arguments.curves}; make them with growth_worlds.py")
    worlds = grown(every)
    prior = fitted(worlds)
    print(f"Fitted to {len(worlds)} worlds: {prior}\n")
    means = [(world.world, f"{len(world.slope)}", f"{world.slope.mean():.2f}",
              *(f"{gain:.2f}" for gain in np.nanmean(world.gain, axis=0)),
              f"{prior.gains(world)[:, 2].mean():.2f}") for world in worlds]  # fmt: skip
    heads = [f"gain, {times:g}x" for times in AT]
    measuring.table(("world", "curves", "slope", *heads, "predicted, 8x"), means)
    if not arguments.constants:
        for own, title in ((False, "Many test images"), (True, "Own test images")):
            tables(judged(every, worlds, own, arguments.ways), title)


if __name__ == "__main__":
    main()
