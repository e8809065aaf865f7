"""Metrics of scores: see `simkit.learn.metrics`."""

from simkit.learn.metrics import *  # noqa: F403
from simkit.learn.metrics import __all__ as __all__
