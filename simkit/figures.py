"""Figures by name: `make("heat-map", budget=100)(table)` is a matplotlib Figure.

A figure is a frozen dataclass that only draws a table. Figures of runs are in
`simkit/results/figures`, those of single papers in `simkit/papers/figures`. Methods belong to
families, which share a hue in all figures: `FAMILIES`, `family("ll-r+boostlu")`.
"""

from typing import Any

from simkit.results.figures.base import Figure, figures, register
from simkit.results.method_facts import ORDER, family

figures.also_in("simkit.papers.figures")

make = figures.make
names = figures.names
get = figures.__getitem__
spell = figures.spell
FAMILIES: dict[str, tuple[str, ...]]  # the methods of each family


def __getattr__(name: str) -> Any:
    if name != "FAMILIES":  # imports all methods, at first use
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from simkit.learn import methods

    families: dict[str, list[str]] = {family: [] for family in ORDER}
    for method in map(methods.get, methods.names()):
        if "inner" not in method.__dataclass_fields__:  # wrappers look like their inner method
            families.setdefault(method.family, []).append(method.name)
    return {family: tuple(members) for family, members in families.items() if members}


__all__ = ["FAMILIES", "Figure", "family", "register", "names", "make", "get", "spell"]
