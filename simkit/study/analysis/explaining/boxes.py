"""The boxes of objects that explanations are held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simkit.data.dataset import Boxes
from simkit.errors import BadInput


def check_boxes(boxes: Boxes, shape: tuple[int, int] | None = None) -> NDArray[np.int64]:
    """(N, 2) width and height of the images that `boxes` is about.

    shape: images and classes of the truth. Raises BadInput where sizes are not known or below one
    pixel, and for boxes of other images and classes.
    """
    if boxes.sizes is None:
        raise BadInput("the boxes do not know the sizes of their images; bring boxes with sizes")
    N, L = shape or (len(boxes.sizes), np.inf)
    for places, most, what in ((boxes.images, N, "image"), (boxes.classes, L, "class")):
        if len(places) and not 0 <= places.min() <= places.max() < most:
            odd = places[(places < 0) | (places >= most)][0]
            raise BadInput(
                f"a box is of {what} {odd}, and the truth has {most}; bring the boxes of its images"
            )
    if len(boxes.sizes) != N:
        raise BadInput(
            f"the boxes know the sizes of {len(boxes.sizes):,} images, and the truth has {N:,}; "
            "bring the boxes of its images"
        )
    if len(boxes.sizes) and boxes.sizes.min() < 1:
        raise BadInput("the boxes know an image without width or height; bring its size in pixels")
    return boxes.sizes


def corners(boxes: Boxes | None, image: int, c: int) -> NDArray[np.float64]:
    """(n, 4) x0, y0, x1, y1 as shares of width and height; none where nothing is known."""
    if boxes is None or boxes.sizes is None:
        return np.zeros((0, 4))
    own = (boxes.images == image) & (boxes.classes == c)
    return boxes.corners[own].astype(np.float64) / np.tile(boxes.sizes[image], 2)
