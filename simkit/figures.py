"""Figures by name: `make("heat-map", budget=100)(table)` is a matplotlib Figure.

A figure is a frozen dataclass that only draws a table. Figures of runs are in
`simkit/results/figures`, those of single papers in `simkit/papers/figures`. Methods belong to
families, which share a hue in all figures: `FAMILIES`, `family("ll-r+boostlu")`.
"""

from simkit.results.figures.base import Figure, figures, register
from simkit.results.figures.style import FAMILIES, family

figures.also_in("simkit.papers.figures")

make = figures.make
names = figures.names
get = figures.__getitem__
spell = figures.spell

__all__ = ["FAMILIES", "Figure", "family", "register", "names", "make", "get", "spell"]
