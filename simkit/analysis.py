"""Analyses of runs, labels and trained models: see `simkit.study.analysis`."""

from typing import TYPE_CHECKING

from simkit.study.analysis import __dir__ as __dir__
from simkit.study.analysis import __getattr__ as __getattr__

if TYPE_CHECKING:
    from simkit.study.analysis import *  # noqa: F403
