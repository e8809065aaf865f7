"""What comparisons measured, as a plan needs it: points to fit, amounts, what everything gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.prices import Cost, Prices, cost
from simkit.annotate.simulate import how_many
from simkit.errors import BadInput, unknown
from simkit.history import content_id
from simkit.planning.curves.points import Points
from simkit.planning.evidence.amounts import Amount, Ladder, ladder
from simkit.planning.evidence.gathering import (
    LEAST,
    check_alike,
    dollars_of,
    few,
    once,
    pairs,
    part_of,
    pool,
    scale,
    shares,
    sizes,
    unpriced,
    worth,
)
from simkit.planning.evidence.measured import Run, read
from simkit.planning.evidence.ways import Way

__all__ = ["Amount", "Ceiling", "Evidence", "Way"]


@dataclass(frozen=True)
class Ceiling:
    """What labelling every image completely gave with the method `full`: mean mAP over draws, and
    its price without the set-up; None: this price list does not price it."""

    score: float
    dollars: float | None
    draws: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of one or several comparisons of the same data, trained in the same way.

    runs     all of them;  folders  where they are from.
    classes  names;  images  in the pilot's pool: as many as any of its runs may ask about.
    shares   (L,) of images that show each class, from labels that are no selection; None: no such.
    prices   names of the lists that the runs were bought by.
    ids      content ids: of the truth of the training split, of the test split, of the runs.
    left_out sentences: ways and methods that have too few sizes for a curve; runs that failed.
    validation  labels of a validation split that chose the epoch: none, partial or complete.
    """

    runs: tuple[Run, ...]
    folders: tuple[str, ...]
    classes: tuple[str, ...]
    images: int
    shares: NDArray[np.float64] | None
    prices: tuple[str, ...]
    ids: Mapping[str, str]
    left_out: tuple[str, ...]
    validation: str = "none"
    _bills: dict[str, dict[int, Cost]] = field(default_factory=dict, repr=False)
    _ladders: dict[tuple[Way, str], Ladder] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(*folders: str | PathLike[str]) -> Evidence:
        """Of folders that `simkit compare` wrote.

        The same run in two folders counts once. Raises BadInput, naming both folders, where they
        are of other classes, images or test splits or were trained otherwise, and where no way of
        buying was measured at three sizes.
        """
        if not folders:
            raise BadInput("no folder is given; name one that `simkit compare` wrote to")
        found = [read(folder) for folder in folders]
        for other in found[1:]:
            check_alike(found[0], other)
        runs = once(run for one in found for run in one.runs)
        told = tuple(few(runs))
        if max(pairs(runs).values()) < LEAST:
            more = f"such as budgets = {scale(runs, LEAST) or [50, 100, 200, 400]}"
            few_sizes = told[0].removesuffix(": left out")
            raise BadInput(f"{few_sizes}; compare again with more budgets, {more}")
        first = found[0]
        results = [f"{run.labels_id} {run.method} {run.score!r}" for run in runs]
        return Evidence(
            runs=runs,
            folders=tuple(one.folder for one in found),
            classes=first.classes,
            images=pool(found),
            shares=shares(runs, len(first.classes)),
            prices=tuple(dict.fromkeys(one.grid["prices"] for one in found)),
            ids={
                "truth": first.truth_id,
                "test": first.test_id,
                "runs": content_id(*sorted(results)),
            },
            left_out=(*told, *(sentence for one in found for sentence in one.lost)),
            validation=str(first.grid.get("validation", "none")),
        )

    @property
    def ways(self) -> tuple[Way, ...]:
        """Ways of buying that have at least one method with enough sizes, in the order of files."""
        return tuple(dict.fromkeys(way for way, _ in self.pairs))

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with enough sizes along at least one way."""
        return tuple(dict.fromkeys(method for _, method in self.pairs))

    @cached_property
    def pairs(self) -> tuple[tuple[Way, str], ...]:
        """Every (way, method) that was measured at three sizes or more."""
        return tuple(pair for pair, count in pairs(self.runs).items() if count >= LEAST)

    @property
    def draws(self) -> int:
        """How many repetitions with images, choices and errors of their own there are."""
        return len({run.draw for run in self.runs if not run.reference})

    def points(self, way: Way, method: str, prices: Prices) -> Points | None:
        """What was measured along a way with a method, its labels priced again by this list.

        The set-up is left out. None: fewer than three sizes, by these prices, or the list has no
        price for what was asked, or it costs nothing (`unpriced` says which). Raises BadInput for
        runs of an older version, which can be priced by their own list alone.
        """
        found = sizes(run for run in self.of_way(way) if run.method == method)
        if len(found) < LEAST or unpriced(self.of_way(way), prices):
            return None
        bills, order = self._priced(prices), sorted({run.draw for run in self.runs})
        part = partial(part_of, pool=how_many(way.images, self.images), classes=len(self.classes))
        rows = [
            (place, order.index(run.draw), dollars_of(run, bills, prices), run.score, part(run))
            for place, runs in enumerate(worth(found, lambda r: dollars_of(r, bills, prices)))
            for run in runs
            if dollars_of(run, bills, prices) > 0
        ]
        if len({place for place, *_ in rows}) < LEAST:
            return None
        size, draw, dollars, score, taken = map(np.array, zip(*rows, strict=True))
        known = any(run.reference or run.all for run in self.runs)  # else the pool is a guess
        return Points(dollars, score, draw, size, taken if known else None)

    def amount(self, way: Way, dollars: float, prices: Prices, images: int | None = None) -> Amount:
        """What dollars (of training labels, set-up excluded) buy, of at most so many images.

        From the runs' own purchases, in straight lines between them and in proportion beyond.
        """
        return self.ladder(way, prices).at(dollars, images)

    def most(self, way: Way, prices: Prices, images: int | None) -> float:
        """Dollars beyond which this way finds nothing more to ask about so many images."""
        return self.ladder(way, prices).most(images)

    def ladder(self, way: Way, prices: Prices) -> Ladder:
        """All purchases of a way at these prices. Raises BadInput where a price is missing."""
        key = (way, repr(prices))
        if key not in self._ladders:
            own = self.of_way(way) or [r for r in self.runs if r.reference and r.way == way]
            runs = list({run.labels_id: run for run in own}.values())
            if not runs:
                raise unknown("way of buying", str(way), map(str, self.ways))
            if told := unpriced(runs, prices):
                raise BadInput(told)
            bills = self._priced(prices)
            self._ladders[key] = ladder(
                way,
                worth(sizes(runs), lambda run: dollars_of(run, bills, prices)),
                bills,
                prices=prices.once_set_up(),
                pool=how_many(way.images, self.images),
                classes=len(self.classes),
            )
        return self._ladders[key]

    def unpriced(self, prices: Prices) -> list[str]:
        """A sentence for each way that these prices leave without a curve."""
        told = {way: unpriced(self.of_way(way), prices) for way in self.ways}
        for way, method in self.pairs:
            if not told[way] and self.points(way, method, prices) is None:
                bills = self._priced(prices)
                paid = any(dollars_of(run, bills, prices) for run in self.of_way(way))
                told[way] = f"price list {prices.name!r} asks the same for most of its sizes"
                if not paid:
                    told[way] = (
                        f"price list {prices.name!r} asks nothing for what it asks; give it prices "
                        "above 0"
                    )
        return [f"{way}: {text}" for way, text in told.items() if text]

    def ceiling(self, prices: Prices) -> Ceiling | None:
        """What labelling everything gave and costs; None where no comparison had references."""
        dollars, runs = None, [r for r in self.runs if r.reference and r.method == "full"]
        if not runs:
            return None
        with suppress(BadInput, KeyError):
            dollars = fmean(dollars_of(run, self._priced(prices), prices) for run in runs)
        return Ceiling(fmean(run.score for run in runs), dollars, len(runs))

    def train_hours(self, method: str) -> float:
        """Hours of a processor for one run with the largest pilot labels, as it was measured."""
        runs = [run for run in self.runs if run.method == method and not run.reference]
        if not runs:
            raise unknown("method", method, self.methods)
        return max((run.images, run.seconds) for run in runs)[1] / 3600

    def assumption(self, way: Way, images: int | None = None) -> str:
        """In one sentence: what is taken to hold beyond the pilot's largest purchase of a way.

        images: that exist; None: as many as wanted.
        """
        return way.assumed(how_many(way.images, self.images), images)

    def with_runs(self, runs: Sequence[Run], shares: NDArray[np.float64] | None) -> Evidence:
        """The same evidence with other runs, such as dearer ones, and other shares."""
        return replace(self, runs=tuple(runs), shares=shares, _bills={}, _ladders={})

    def of_way(self, way: Way) -> list[Run]:
        """All runs of a way, references left out."""
        return [run for run in self.runs if run.way == way and not run.reference]

    def _priced(self, prices: Prices) -> dict[int, Cost]:
        """Bills of all efforts that can be priced, without the set-up, by the efforts' identity."""
        key = repr(prices)
        if key not in self._bills:
            efforts = {id(run.effort): run.effort for run in self.runs if run.effort is not None}
            once_set_up = prices.once_set_up()
            self._bills[key] = {
                place: cost(effort, once_set_up)
                for place, effort in efforts.items()
                if all(kind in prices.rates for kind in effort.kinds())
            }
        return self._bills[key]
