"""A truth that stands in for data nobody has labelled: so many classes, each so frequent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from simkit.chance import Chance, below
from simkit.errors import BadInput
from simkit.labels.truth import Truth

TAIL = 1.0  # the exponent of frequencies over ranks: Zipf's, an assumption
MOST = 0.9  # of the images show a class, at most


def like(classes: int, per_image: float, *, images: int = 1500, seed: int = 0) -> Truth:
    """Images that show `per_image` of so many classes on average.

    The share of images that show the class of rank r is in proportion to 1 / r, at most 0.9, and
    classes occur independently: what schemes cost depends on how often classes occur, and little
    on which occur together. Raises BadInput.
    """
    if type(classes) is not int or classes < 2:
        raise BadInput(f"classes is {classes!r}; a whole number from 2 on is expected")
    number = isinstance(per_image, int | float) and not isinstance(per_image, bool)
    if not number or not 0 < per_image <= MOST * classes:
        raise BadInput(
            f"per_image is {per_image!r}; how many of {classes:,} classes an image shows on "
            f"average is expected, above 0 and up to {MOST * classes:g}"
        )
    if type(images) is not int or images < 1:
        raise BadInput(f"images is {images!r}; a whole number from 1 on is expected")
    chance, rows = Chance.seeded(seed).of("stand-in"), np.arange(images)
    shown = [below(chance(rows, c), share) for c, share in enumerate(shares(classes, per_image))]
    return Truth.of(np.stack(shown, axis=1))


def shares(classes: int, per_image: float) -> NDArray[np.float64]:
    """(L,) shares of images that show each class, descending, their sum `per_image`."""
    tail = np.arange(1.0, classes + 1) ** -TAIL

    def over(scale: float) -> float:
        return float(np.minimum(MOST, scale * tail).sum()) - per_image

    most = MOST / tail[-1]
    scale = most if over(most) <= 0 else brentq(over, 0.0, most)
    return np.asarray(np.minimum(MOST, scale * tail))
