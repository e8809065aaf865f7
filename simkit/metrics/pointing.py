"""The pointing game: whether the maximum of a class map lies on an object of the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.metrics.ranking import array, refuse_diverged


def pointing_hits(maps: Any, boxes: Sequence[Any], sizes: Any) -> NDArray[np.bool_]:
    """(M,) whether the highest pixel of each map lies in one of its boxes.

    Parameters
    ----------
    maps
        (M, h, w), array or tensor: one for each test image and class present in it.
    boxes
        For each map the boxes of that class in that image, (n, 4) or (4,): x0, y0, x1, y1 in pixels
        of the image; x1 and y1 are exclusive.
    sizes
        (M, 2), or (2,) for all: height and width of the images. Maps are resized bilinearly to
        them, with half-pixel centres; of equal pixels, to 1e-12 of the largest, the first in
        reading order counts.

    Raises
    ------
    BadInput
        For maps that are not finite, and invalid boxes (x0 < x1, y0 < y1 is required).

    References
    ----------
    Kim et al. CVPR 2022 (Large Loss); the resizing is ours.
    """
    import torch
    import torch.nn.functional as F

    maps, sizes = array(maps), np.asarray(sizes, np.int64)
    hits = np.zeros(len(maps), bool)
    sizes = np.broadcast_to(sizes, (len(maps), 2))
    for m, (values, of_map, size) in enumerate(zip(maps, boxes, sizes.tolist(), strict=True)):
        values = values.astype(np.float64)
        refuse_diverged(not np.isfinite(values).all(), "maps hold nan or infinity")
        cells = torch.from_numpy(values)[None, None]
        grid = F.interpolate(cells, size, mode="bilinear").numpy().ravel()
        # Equal cells form a plateau that is equal up to the rounding of the weights.
        limit = grid.max() - 1e-12 * np.abs(values).max()
        y, x = divmod(int((grid >= limit).argmax()), size[1])
        corners = np.atleast_2d(np.asarray(of_map, np.float64))
        boxed = corners.shape[1:] == (4,) and (corners[:, :2] < corners[:, 2:]).all()
        if corners.size and not boxed:
            raise BadInput(
                f"boxes of map {m} are {of_map!r}; x0, y0, x1, y1, x0 < x1 and y0 < y1, are "
                "expected, so add left and top to a width and height"
            )
        x0, y0, x1, y1 = corners.reshape(-1, 4).T
        hits[m] = ((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)).any()
    return hits


def pointing_game(hits: Any, classes: Any) -> float:
    """The hit rate of each class, and its mean over the classes that occur; printed x 100.

    hits (M,) bool;  classes (M,) index of each map's class. nan without any.
    """
    _, which, counts = np.unique(classes, return_inverse=True, return_counts=True)
    rates = np.bincount(which, np.asarray(hits, np.float64)) / counts
    return float(rates.mean()) if len(rates) else float("nan")
