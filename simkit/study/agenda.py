"""From a grid to its bundles, and what is refused before any of them is worked on."""

from __future__ import annotations

from typing import Any

from simkit.annotate import schemes
from simkit.annotate.prices import prices
from simkit.annotate.simulate import how_many
from simkit.errors import BadInput
from simkit.study.bundle import Bundle, ceilings, kind_of
from simkit.study.grid import Grid
from simkit.study.material import Material, Source


def plan(grid: Grid, material: Material) -> list[Bundle]:
    """The bundles of a grid, in the order of its schemes, budgets and draws; references last."""
    common: dict[str, Any] = {
        "source": source_of(grid),
        "seed": grid.seed,
        "habits": grid.habits,
        "train": grid.train,
        "prices": prices(grid.prices),
        "ids": material.ids,
    }
    made = [
        Bundle(
            scheme=scheme,
            methods=grid.methods,
            budget=budget,
            draw=draw,
            images=grid.images,
            validation=grid.validation,
            reference=False,
            **common,
        )
        for scheme in grid.schemes
        for budget in grid.budgets or (None,)
        for draw in range(grid.draws)
    ]
    if grid.reference:
        made += [
            Bundle(
                scheme="full-subset",
                methods=ceilings(grid.methods),
                budget=None,
                draw=draw,
                images=1.0,
                validation=grid.validation,
                reference=True,
                **common,
            )
            for draw in range(grid.draws)
        ]
    return made


def source_of(grid: Grid) -> Source:
    """Which truth and features a grid works on."""
    kinds = {kind_of(spec) for spec in grid.methods} | ({"pooled"} if grid.reference else set())
    splits = ("train", "test") if grid.validation == "none" else ("train", "val", "test")
    return Source(
        grid.data,
        splits,
        tuple(sorted(kinds, reverse=True)),
        "" if grid.features else grid.backbone,
        grid.weights,
        tuple(sorted(grid.features.items())),
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
