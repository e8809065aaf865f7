"""Reading images x classes, a few at a time, from arrays, tensors and sparse labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from simkit.errors import BadInput
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


def on_host(values: Any) -> NDArray[Any]:
    """A tensor as an array of its numbers; bfloat16 as float32."""
    return (values.float() if str(values.dtype) == "torch.bfloat16" else values).cpu().numpy()


def marks(labels: Any) -> Any:
    """Labels as they came if sparse, others as `array` has them; of a Truth those present."""
    if isinstance(labels, Truth):
        labels = labels.present
    return labels if issparse(labels) else array(labels)


def known_marks(present: Any, known: Any) -> Any:
    """`marks` of the known labels, or None for all; of a Truth its own unless they are given."""
    if known is None and isinstance(present, Truth):
        known = present.known
    return None if known is None else marks(known)


def scores_and_marks(scores: Any, present: Any, known: Any, name: str = "present") -> Any:
    """Scores, present and known labels as they are read here. Raises BadInput for scores that are
    no matrix of numbers, and labels that do not fit them.

    name: what the caller's argument is called that came as `present`.
    """
    scores, known = array(scores), known_marks(present, known)
    present = None if present is None else marks(present)
    if is_tensor(scores):
        number = not scores.is_complex() and str(scores.dtype) != "torch.bool"
    else:
        number = scores.dtype.kind in "fiu"
    if scores.ndim != 2 or not number:
        raise BadInput(
            f"scores have shape {tuple(scores.shape)} of {scores.dtype}; numbers, images x "
            "classes, are expected"
        )
    for what, labels in ((name, present), ("known", known)):
        if labels is None:
            continue
        if tuple(labels.shape) != tuple(scores.shape):
            raise BadInput(
                f"{what} has shape {tuple(labels.shape)} and the scores {tuple(scores.shape)}; "
                "they must agree"
            )
        check_marks(labels, what)
    return scores, present, known


def check_marks(labels: Any, name: str) -> None:
    """Raise BadInput for labels, images x classes, that hold anything but 0 and 1, or booleans.

    Codes, of which -1 is absent and 0 unknown, would be read as present wherever they are not 0.
    Booleans are not looked at, whole numbers are read once.
    """
    if issparse(labels):
        stored = labels.format in ("csr", "csc", "coo", "bsr")
        labels = np.asarray((labels if stored else labels.tocoo()).data).reshape(-1, 1)
    if not is_tensor(labels):
        kind = labels.dtype.kind
        if kind not in "biuf":
            _refuse(labels.flat[0] if labels.size else labels.dtype, name)
        # As unsigned numbers those below 0 are the largest: one pass finds both.
        if kind == "b" or not labels.size:
            return
        if kind in "iu" and labels.view(f"u{labels.itemsize}").max() <= 1:
            return
    elif str(labels.dtype) == "torch.bool":
        return
    for images in row_blocks(labels.shape):
        block = labels[images]
        strange = (block != 0) & (block != 1)
        if strange.any():
            _refuse(block[strange][0].item(), name)


def _refuse(value: Any, name: str) -> NoReturn:
    raise BadInput(
        f"{name} holds {value}, and only 0 and 1 or booleans are expected; of codes pass "
        "present = codes == 1 and known = codes != 0"
    )


def refuse_nan() -> NoReturn:
    """Raise BadInput for scores that hold nan."""
    raise BadInput("the scores hold nan; the model that gave them has diverged, lower its lr")


def columns(values: Any, classes: slice) -> NDArray[Any]:
    """(classes, N) the chosen columns as rows, in a new array; sparse ones as bool."""
    if issparse(values):
        table = np.zeros((classes.stop - classes.start, values.shape[0]), bool)
        table.reshape(-1)[places(values, classes)] = True
        return table
    block = values[:, classes]
    if is_tensor(values):
        return on_host(block.t().contiguous())
    if block.strides[0] == block.itemsize:  # already class by class
        return np.array(block.T, order="C")
    out = np.empty(block.shape[::-1], block.dtype)
    for start in range(0, len(block), _STRIP):  # strips of rows that stay in the cache
        out[:, start : start + _STRIP] = block[start : start + _STRIP].T
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
        return on_host(values[images if isinstance(images, slice) else images.tolist()])
    return np.asarray(values[images])


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Blocks of images of some million entries, in order."""
    height = max(1, _ENTRIES // max(1, shape[1]))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


def by_image(labels: Any) -> Any:
    """Labels whose rows can be read: sparse ones sorted by image, others as they are."""
    return csr_array(labels) if issparse(labels) else labels


def by_class(labels: Any) -> Any:
    """Labels whose columns can be read: sparse ones sorted by class, without stored zeros or
    entries named twice, others as they are."""
    if not issparse(labels):
        return labels
    out = csc_array(labels).astype(bool)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out
