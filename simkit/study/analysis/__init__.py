"""Analyses of runs, labels and trained models: functions that return tables for figures.

    >>> table = simkit.analysis.ablation(comparison.table, "an")
    >>> simkit.figures.make("ablation")(table)

Public names are listed in `__init__.pyi`, with their types, and loaded at first use.
"""

from simkit.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()  # pyright: ignore
