"""Figures by name: see `simkit.study.figures`."""

from simkit.study.figures import Figure, get, make, names, register, spell

__all__ = ["Figure", "get", "make", "names", "register", "spell"]
