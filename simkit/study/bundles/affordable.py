"""Limits that nothing can be bought for, found before any work."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simkit.annotate.budget import least
from simkit.annotate.prices import Cost, cost, prices
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.study.grids.grid import Grid
from simkit.study.grids.limit import Limit
from simkit.study.material.material import Material


def check_limits(grid: Grid, material: Material) -> None:
    """Raise BadInput for a limit at which no scheme can be bought, nor validation labels with it.

    And where the price list does not know a kind of question that a scheme asks, or its time and
    there are limits in hours. A limit that only some schemes can keep to is left to the runs: they
    tell why they fail, and the others are compared.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the purchases themselves will say it again
        found = [_least(spec, grid, material) for spec in grid.schemes]
        if grid.validation == "complete" and (grid.budgets or grid.hours):
            bill = _everything(grid, material)
            found = [_Least(one.scheme, one.train, bill) for one in found]
    if grid.hours:
        _check_times(grid, found)
    limits = [Limit(dollars) for dollars in grid.budgets]
    limits += [Limit(hours=hours) for hours in grid.hours]
    for limit in limits:
        if not any(one.fits(limit) for one in found):
            raise BadInput(_why(found, limit))


@dataclass(frozen=True)
class _Least:
    """The least that a scheme can be bought for, in draw 0: its smallest amount of the images to
    train on, and validation labels beside it, which may take this share of all."""

    scheme: str
    train: Cost
    held: Cost | None = None
    share: float = 1.0

    def parts(self, limit: Limit) -> tuple[float, float]:
        """What labels to train on and validation labels take of the limit, in its unit."""
        first, second = (_spent(bill, limit) for bill in (self.train, self.held))
        return first, second

    def fits(self, limit: Limit) -> bool:
        train, held = self.parts(limit)
        return train + held <= _most(limit) and held <= self.share * _most(limit)


def _check_times(grid: Grid, found: Sequence[_Least]) -> None:
    for one in found:
        for bill, whose in ((one.train, repr(one.scheme)), (one.held, "the validation labels")):
            if bill is not None and bill.seconds is None:
                raise BadInput(
                    f"hours is {list(grid.hours)}, and price list {grid.prices!r} does not know "
                    f"how long the questions of {whose} take; give budgets in dollars, or set "
                    "prices to a list with times"
                )


def _why(found: Sequence[_Least], limit: Limit) -> str:
    one = min(found, key=lambda one: sum(one.parts(limit)))
    train, held = one.parts(limit)
    unit, name = ("hours", "hours") if limit.dollars is None else ("dollars", "budgets")
    first = f"{name} lists {_most(limit):g}, which buys nothing: "
    question = f"the smallest amount of {one.scheme!r} takes {train:,.4g} {unit}"
    if not held:
        return f"{first}{question}; raise it"
    beside = (
        f"validation labels take {held:,.4g} {unit}"
        if one.share == 1
        else (
            f"validation labels take {held:,.4g} {unit}, for which there is {one.share:.0%} of it"
        )
    )
    return f"{first}{beside}, and {question}; raise it, or set validation to none"


def _least(scheme: str, grid: Grid, material: Material) -> _Least:
    listed, images = prices(grid.prices), grid.images
    truth = material.truth("train")
    own = least(truth, scheme, listed, images=images, **_people(grid, material, "train"))
    if grid.validation != "partial":
        return _Least(scheme, own)
    held = material.truth("val")
    sizes = truth.shape[0], held.shape[0]
    share = images / sizes[0] if isinstance(images, int) else images  # the same share of them
    people = _people(grid, material, "val")
    part = least(held, scheme, listed.once_set_up(), images=share, **people)
    return _Least(scheme, own, part, sizes[1] / sum(sizes))


def _everything(grid: Grid, material: Material) -> Cost:
    """The bill of complete validation labels, by people whom the set-up is paid for."""
    labels = simulate(material.truth("val"), "full-subset", **_people(grid, material, "val"))
    return cost(labels, prices(grid.prices).once_set_up())


def _people(grid: Grid, material: Material, split: str) -> dict[str, Any]:
    boxes = material.data.boxes.get(split)
    people = {"hierarchy": material.hierarchy, "habits": grid.habits, "boxes": boxes}
    return {**people, "seed": grid.seed, "draw": 0}


def _most(limit: Limit) -> float:
    return limit.dollars if limit.dollars is not None else limit.hours or 0.0


def _spent(bill: Cost | None, limit: Limit) -> float:
    if bill is None:
        return 0.0
    return bill.dollars if limit.dollars is not None else (bill.seconds or 0.0) / 3600
