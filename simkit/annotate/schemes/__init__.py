"""Annotation schemes by name: `make("fpc", per_class=1000)`, `names()`, `spell(scheme)`."""

from simkit.annotate.schemes.base import (
    Scheme,
    get,
    make,
    names,
    of_labels,
    register,
    schemes,
    spell,
)

__all__ = ["Scheme", "get", "make", "names", "of_labels", "register", "schemes", "spell"]
