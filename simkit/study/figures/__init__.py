"""Figures by name: `make("heat-map", budget=100)(table)` is a matplotlib Figure.

A figure is a frozen dataclass in a file of this folder; it only draws a table.
"""

from simkit.study.figures.base import Figure, figures, register

make = figures.make
names = figures.names
get = figures.__getitem__
spell = figures.spell

__all__ = ["Figure", "register", "names", "make", "get", "spell"]
