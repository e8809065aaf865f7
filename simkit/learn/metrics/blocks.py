"""A few classes at a time out of images x classes: from arrays, tensors and sparse labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from simkit.labels.truth import Truth

_STRIP = 512
_ENTRIES = 1 << 22


def is_tensor(values: Any) -> bool:
    """Whether it is a torch tensor; torch is not loaded to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def array(values: Any) -> Any:
    """The values as an array; tensors stay if they are on a device or of a type numpy lacks."""
    if not is_tensor(values):
        return np.asarray(values)
    values = values.detach()
    if values.device.type == "cpu" and str(values.dtype) != "torch.bfloat16":
        return values.numpy()
    return values


def columns(values: Any, classes: slice) -> NDArray[Any]:
    """(classes, N) the chosen columns as rows, in an array of its own; sparse ones as bool."""
    if issparse(values):
        marks = np.zeros((classes.stop - classes.start, values.shape[0]), bool)
        marks.reshape(-1)[places(values, classes)] = True
        return marks
    if is_tensor(values):
        part = values[:, classes]
        part = part.float() if str(part.dtype) == "torch.bfloat16" else part
        return part.t().contiguous().cpu().numpy()
    part = values[:, classes]
    if part.strides[0] == part.itemsize:  # already class by class
        return np.array(part.T, order="C")
    out = np.empty(part.shape[::-1], part.dtype)
    for start in range(0, len(part), _STRIP):  # strips of rows that stay in the cache
        out[:, start : start + _STRIP] = part[start : start + _STRIP].T
    return out


def places(labels: Any, classes: slice) -> NDArray[np.int64]:
    """Where labels are set in the chosen columns, written one after the other; ascending."""
    if not issparse(labels):
        return np.flatnonzero(columns(labels, classes))
    begin, end = labels.indptr[classes.start], labels.indptr[classes.stop]
    counts = np.diff(labels.indptr[classes.start : classes.stop + 1])
    of_class = np.repeat(np.arange(len(counts)), counts)
    return of_class * labels.shape[0] + labels.indices[begin:end]


def rows(values: Any, images: slice | NDArray[Any]) -> NDArray[Any]:
    """(images, L) the chosen rows as an array; sparse values are sorted by image (CSR)."""
    if issparse(values):
        return values[images].toarray()
    if is_tensor(values):
        at = images if isinstance(images, slice) else images.tolist()
        part = values[at].cpu()
        return (part.float() if str(part.dtype) == "torch.bfloat16" else part).numpy()
    return np.asarray(values[images])


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Blocks of images of some million entries, in order."""
    height = max(1, _ENTRIES // max(1, shape[1]))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def marks(labels: Any) -> Any:
    """Labels as they came if sparse, others as `array` has them; of a Truth what is present."""
    if isinstance(labels, Truth):
        labels = labels.present
    return labels if issparse(labels) else array(labels)


def known_marks(present: Any, known: Any) -> Any:
    """`marks` of what is known, or None for everything; of a Truth its own unless it is given."""
    if known is None and isinstance(present, Truth):
        known = present.known
    return None if known is None else marks(known)


def by_image(labels: Any) -> Any:
    """Labels whose rows can be read: sparse ones sorted by image, others as they are."""
    return csr_array(labels) if issparse(labels) else labels


def by_class(labels: Any) -> csc_array:
    """Sparse labels sorted by class, without stored zeros or entries named twice."""
    out = csc_array(labels).astype(bool)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out
