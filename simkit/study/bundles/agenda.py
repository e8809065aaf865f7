"""From a grid to its bundles, and what is refused before any of them is worked on."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simkit.annotate import schemes
from simkit.annotate.prices import prices
from simkit.annotate.simulate import how_many
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.study.bundles.affordable import check_limits
from simkit.study.bundles.bundle import Bundle, Purchase, kind_of, on_complete_labels
from simkit.study.forecast.durations import seconds
from simkit.study.grids.grid import Grid
from simkit.study.grids.tuning import Setting
from simkit.study.material.material import Material, Source
from simkit.study.material.near import wants_near
from simkit.study.runs import SWEEP

# By what is bought and the method that learns from it, as the grid writes it.
Choices = Mapping[tuple[Purchase, str], Setting]

_LEAST = 10.0  # seconds: what is shipped to a worker is not less
_MOST = 40.0  # for the sake of a larger stack; a draw should not wait for one worker


def plan(grid: Grid, material: Material, chosen: Choices | None = None) -> list[Bundle]:
    """The bundles of a grid, by draw: its purchases in order, references last in each draw.

    chosen: settings that a sweep chose; what has none there is left out.
    Purchases of a draw share bundles, each of at least `_LEAST` seconds of estimated work, so that
    runs can be trained together and none travels alone; those that ask about every image share
    one up to `_MOST` seconds, and where a draw takes less than `_LEAST` several draws do. The
    estimate counts arithmetic and takes no time, so the same grid makes the same bundles anywhere.
    """
    ordered = purchases(grid)
    if chosen is not None:
        ordered = [found for one in ordered if (found := _settled(one, chosen)).methods]
    return _bundles(grid, material, ordered, range(grid.draws))


def sweep(grid: Grid, material: Material) -> list[Bundle]:
    """The bundles that settings are chosen by, in a draw of their own: every purchase with each
    setting that is tried. None without a sweep."""
    tuning = grid.tuning
    if tuning is None:
        return []
    tried = {spec: tuning.settings(spec, seed=grid.seed) for spec in grid.trained}
    ordered = [
        dataclasses.replace(one, settings=tuple(tried[spec][place] for spec in one.methods))
        for one in purchases(grid)
        for place in range(tuning.runs)
    ]
    return _bundles(grid, material, ordered, [SWEEP])


def _settled(purchase: Purchase, chosen: Choices) -> Purchase:
    """With the settings that were chosen, and without methods for which none was."""
    found = {
        spec: chosen[purchase.labels, spec]
        for spec in purchase.methods
        if (purchase.labels, spec) in chosen
    }
    return dataclasses.replace(purchase, methods=tuple(found), settings=tuple(found.values()))


def _bundles(
    grid: Grid, material: Material, ordered: Sequence[Purchase], draws: Iterable[int]
) -> list[Bundle]:
    common: dict[str, Any] = {
        "source": source_of(grid),
        "seed": grid.seed,
        "validation": grid.validation,
        "habits": grid.habits,
        "train": grid.train,
        "curves": grid.curves,
        "memory": grid.memory,
        "prices": prices(grid.prices),
        "ids": material.ids,
        "pictures": grid.pictures,
    }
    taken = {one: seconds(one, grid, material) for one in ordered}
    alone = [[one] for one in ordered]
    shared = _packed(alone if grid.pictures else _side_by_side(ordered, taken), taken)
    return [
        Bundle(purchases=tuple(pack), draws=some, **common)
        for some in _in_groups(tuple(draws), sum(taken.values()))
        for pack in shared
    ]


def _in_groups(draws: tuple[int, ...], each: float) -> list[tuple[int, ...]]:
    """Draws that are worth shipping together; each: seconds for one of them."""
    size = len(draws) if each <= 0 else min(len(draws), math.ceil(_LEAST / each))
    size = max(size, 1)
    return [draws[start : start + size] for start in range(0, len(draws), size)]


def purchases(grid: Grid) -> list[Purchase]:
    """What is bought in every draw, in the order of schemes and budgets; references last.

    A backbone that learns takes long for one method, so that each has a purchase of its own then;
    the labels are the same.
    """
    alone = grid.pictures is not None
    limits: list[dict[str, Any]] = [
        *({"budget": dollars} for dollars in grid.budgets),
        *({"hours": hours} for hours in grid.hours),
    ]
    made = [
        Purchase(scheme, learning, images=grid.images, **limit)
        for scheme in grid.schemes
        for limit in limits or [{}]
        for learning in _together(grid.methods, alone=alone)
    ]
    if grid.reference:
        made += [
            Purchase("full-subset", learning, reference=True)
            for learning in _together(on_complete_labels(grid.methods), alone=alone)
        ]
    return made


def _together(specs: tuple[str, ...], *, alone: bool) -> list[tuple[str, ...]]:
    return [(spec,) for spec in specs] if alone else [specs]


def _packed(
    neighbours: Iterable[list[Purchase]], taken: Mapping[Purchase, float]
) -> list[list[Purchase]]:
    """Neighbours put together until they take `_LEAST` seconds; a rest joins the last."""
    found: list[list[Purchase]] = []
    enough = True
    for some in neighbours:
        if enough:
            found.append([])
        found[-1] += some
        enough = sum(taken[one] for one in found[-1]) >= _LEAST
    if not enough and len(found) > 1:
        last = found.pop()
        found[-1] += last
    return found


def _side_by_side(
    ordered: Iterable[Purchase], taken: Mapping[Purchase, float]
) -> list[list[Purchase]]:
    """Each alone, but those together, where the first of them stands, that ask about every image:
    one stack trains them."""
    found: list[list[Purchase]] = []
    whole: list[Purchase] | None = None
    for one in ordered:
        limited = one.budget is not None or one.hours is not None
        if limited or schemes.make(one.scheme).amount is not None:
            found.append([one])
        elif whole and sum(taken[other] for other in [*whole, one]) <= _MOST:
            whole.append(one)
        else:
            found.append(whole := [one])
    return found


def source_of(grid: Grid) -> Source:
    """Which truth and features a grid works on."""
    specs = set(grid.trained)
    if grid.tuning is not None:
        tried = (grid.tuning.settings(spec, seed=grid.seed) for spec in grid.trained)
        specs = {setting.method for settings in tried for setting in settings}
    kinds = {kind_of(spec) for spec in specs}
    splits = ("train", "test") if grid.validation == "none" else ("train", "val", "test")
    sizes: tuple[int | None, ...] = ()
    if grid.pictures:
        kinds = {"pooled"} if any(wants_near(methods.make(spec)) for spec in specs) else set()
        sizes = tuple(dict.fromkeys(grid.pictures.shown(spec).size for spec in grid.trained))
    return Source(
        grid.data,
        splits,
        tuple(sorted(kinds, reverse=True)),
        "" if grid.features and not grid.pictures else grid.backbone,
        grid.weights,
        tuple(sorted(grid.features.items())),
        sizes,
    )


def check(grid: Grid, material: Material) -> None:
    """Raise BadInput for what no bundle could use."""
    grid.habits.check(len(material.data.classes))
    how_many(grid.images, material.truth("train").shape[0])
    for spec in grid.schemes:
        if schemes.make(spec).needs_hierarchy and material.hierarchy is None:
            raise BadInput(
                f"schemes lists {spec!r}, which asks along a class hierarchy, and {grid.data!r} "
                "has none; add one to data, such as ,hierarchy=coco-80 or ,hierarchy=FILE, or "
                "leave the scheme out"
            )
    check_limits(grid, material)
