"""Analyses of runs, labels and trained models: functions that return tables for figures.

    >>> table = simkit.analysis.ablation(comparison.table, "an")
    >>> simkit.figures.make("ablation")(table)

Those of runs are in `simkit/results/comparisons.py`, those of single papers in
`simkit/papers/analysis`. Public names are listed in `analysis.pyi`, with their types, and loaded
at first use.
"""

from simkit.lazy import attach

__getattr__, __dir__ = attach(__name__, __file__)
__all__ = __dir__()  # pyright: ignore
