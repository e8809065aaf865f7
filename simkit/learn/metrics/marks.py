"""What labels may hold: whether each class is present, or known, and nothing else."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import is_tensor, row_blocks


def check_marks(labels: Any, name: str) -> None:
    """Raise BadInput for labels, images x classes, that hold anything but 0 and 1, or booleans.

    Codes, of which -1 is absent and 0 unknown, would be read as present wherever they are not 0.
    Booleans are not looked at, whole numbers are read once.
    """
    if issparse(labels):
        whole = labels.format in ("csr", "csc", "coo", "bsr")
        _check_array(np.asarray((labels if whole else labels.tocoo()).data).reshape(-1, 1), name)
    elif is_tensor(labels):
        if str(labels.dtype) != "torch.bool":
            for images in row_blocks(labels.shape):
                part = labels[images]
                strange = (part != 0) & (part != 1)
                if strange.any():
                    _refuse(part[strange][0].item(), name)
    else:
        _check_array(labels, name)


def _check_array(labels: NDArray[Any], name: str) -> None:
    kind = labels.dtype.kind
    if kind == "b" or not labels.size:
        return
    if kind not in "iuf":
        _refuse(labels.flat[0], name)
    # As unsigned numbers those below 0 are the largest: one pass finds both.
    if kind in "iu" and labels.view(f"u{labels.itemsize}").max() <= 1:
        return
    for images in row_blocks(labels.shape):
        part = labels[images]
        strange = (part != 0) & (part != 1)
        if strange.any():
            _refuse(part[strange][0], name)


def _refuse(value: Any, name: str) -> NoReturn:
    raise BadInput(
        f"{name} holds {value}, and only 0 and 1 or booleans are expected; of codes pass "
        "present = codes == 1 and known = codes != 0"
    )
