"""Figures by name: see `simkit.study.figures`."""

from simkit.study.figures import *  # noqa: F403
from simkit.study.figures import __all__ as __all__
