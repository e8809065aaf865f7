"""Analyses of runs, labels and trained models: see `simkit.study.analysis`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simkit.study.analysis import *  # noqa: F403
else:
    from simkit.study.analysis import __dir__, __getattr__  # noqa: F401
