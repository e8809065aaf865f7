"""Label formats by name: see `simkit.labels.formats`."""

from simkit.labels.formats import *  # noqa: F403
from simkit.labels.formats import __all__ as __all__
