"""The split that the single-positive papers make where a data set has no validation part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput


def published_split(
    images: int, *, share: float = 0.2, seed: int = 1200
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the training and of the validation images, both ascending.

    round(share * images) images are for validation: the last of a permutation by RandomState(seed).
    Source: the code of Cole et al., Multi-Label Learning from Single Positive Labels, CVPR 2021;
    share and seed are theirs. Raises BadInput where one of the two parts would be empty.
    """
    held_out = round(share * images)
    if not 0 < held_out < images:
        raise BadInput(
            f"{images} images cannot be split into training and validation ({share:.0%}); "
            "name a file for validation"
        )
    order = np.random.RandomState(seed).permutation(images)
    return np.sort(order[:-held_out]), np.sort(order[-held_out:])
