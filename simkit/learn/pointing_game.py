"""The pointing game of a trained model on the boxes of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.learn.trained import Trained
from simkit.metrics import pointing_game, pointing_hits


def pointed(
    trained: Trained,
    inputs: Any,
    boxes: Boxes,
    *,
    regions: NDArray[np.float64] | None = None,
    batch: int | None = None,
    device: str = "auto",
) -> float:
    """Mean over classes of the hit rate, in [0, 1]; nan without any box.

    Parameters
    ----------
    inputs
        Maps of features or images, of the images of `boxes`, in their order.
    regions
        (N, 4) visible region of each image, x0, y0, x1, y1 in its pixels; None for whole images.
        Boxes are clipped to it, and classes without a remaining box in an image are skipped.
    batch, device
        As in `Trained.maps`.

    Raises
    ------
    BadInput
        For boxes without image sizes or of other images.

    References
    ----------
    Kim et al. CVPR 2022 (Large Loss).
    """
    if boxes.sizes is None or len(boxes.sizes) != len(inputs):
        known = "no image" if boxes.sizes is None else f"{len(boxes.sizes):,} images"
        raise BadInput(
            f"the boxes know the sizes of {known} and there are {len(inputs):,} inputs; bring the "
            "boxes and the inputs of one split"
        )
    if regions is None:
        regions = np.concatenate([np.zeros_like(boxes.sizes), boxes.sizes], 1).astype(np.float64)
    # Corners of the boxes in the pixels of the regions, clipped to them.
    edges, corners = regions[boxes.images], boxes.corners.astype(np.float64)
    low, high = edges[:, :2], edges[:, 2:]
    corners = np.concatenate([np.clip(corners[:, k : k + 2], low, high) - low for k in (0, 2)], 1)
    seen = (corners[:, :2] < corners[:, 2:]).all(1)
    images, classes, corners = boxes.images[seen], boxes.classes[seen], corners[seen]
    sizes = np.maximum(np.rint(regions[:, [3, 2]] - regions[:, [1, 0]]), 1).astype(np.int64)
    order = np.lexsort((classes, images))
    pairs, counts = np.unique(np.stack([images, classes], 1), axis=0, return_counts=True)
    of_pair = np.split(corners[order], np.cumsum(counts)[:-1])
    hits, start = [np.zeros(0, bool)], 0
    for maps in trained.maps(inputs, batch=batch, device=device):
        some = slice(*np.searchsorted(pairs[:, 0], [start, start + len(maps)]))
        chosen = maps[pairs[some, 0] - start, pairs[some, 1]]
        hits.append(pointing_hits(chosen, of_pair[some], sizes[pairs[some, 0]]))
        start += len(maps)
    return pointing_game(np.concatenate(hits), pairs[:, 1])


def middle(sizes: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """(N, 4) region of each image that features of its central square cover, for widths and
    heights (N, 2): those of earlier versions, and of other programs.

    size: of the backbone's images. An image of this size is used whole; of others the central
    square of 7/8 of the shorter side, as is usual for ImageNet (256 pixels cut to 224).
    """
    shorter = sizes.min(1)
    side = np.where((sizes == size).all(1), shorter, shorter * size / (size * 8 // 7))[:, None]
    low = (sizes - side) / 2
    return np.concatenate([low, low + side], 1)
