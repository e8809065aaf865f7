"""Figures by name: `make("heat-map", budget=100)(table)` is a matplotlib Figure.

A figure is a frozen dataclass in a file of this folder; it only draws a table. Methods belong to
families, which share a hue in all figures: `FAMILIES`, `family("ll-r+boostlu")`.
"""

from simkit.study.figures.base import Figure, figures, register
from simkit.study.figures.style import FAMILIES, family

make = figures.make
names = figures.names
get = figures.__getitem__
spell = figures.spell

__all__ = ["FAMILIES", "Figure", "family", "register", "names", "make", "get", "spell"]
