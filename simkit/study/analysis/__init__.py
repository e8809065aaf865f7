"""Analyses: what runs, labels and trained models say, as tables that figures draw.

    >>> table = simkit.analysis.ablation(comparison.table, "an")
    >>> simkit.figures.make("ablation")(table)

Public names stand in `__init__.pyi`, with their types, and are loaded when they are first used.
"""

from simkit.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()  # pyright: ignore
