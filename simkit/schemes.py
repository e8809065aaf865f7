"""Annotation schemes by name: see `simkit.annotate.schemes`."""

from simkit.annotate.schemes import *  # noqa: F403
from simkit.annotate.schemes import __all__ as __all__
