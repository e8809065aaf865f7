"""Training methods by name: see `simkit.learn.methods`."""

from simkit.learn.methods import *  # noqa: F403
from simkit.learn.methods import __all__ as __all__
