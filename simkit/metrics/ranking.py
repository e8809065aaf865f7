"""Scores and labels, read class by class or image by image, and the ranks of present images.

Only values are sorted, never indices, and only a block of classes at a time, so that no (images x
classes) array is ever copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

from simkit.errors import BadInput
from simkit.labels.coding import UNKNOWN, is_frame, of_tensor, states, unmasked
from simkit.labels.truth import Truth, frame_classes

_CACHE_BYTES = 1 << 22  # blocks of about this size are transposed and sorted fastest
_LEAST_CLASSES = 32  # narrower blocks would waste most of each cache line of row-major scores
_BLOCK_BYTES = 1 << 26  # largest block, unless a single class is larger
_FEW = 8  # known entries are gathered one by one if fewer than one in so many is known
_STRIP = 512  # rows transposed together, which fit into the cache
_ENTRIES = 1 << 22  # in a block of images


def array(values: Any) -> NDArray[Any]:
    """The values as an array; a tensor is copied if it is on a device or bfloat16."""
    return np.asarray(unmasked(of_tensor(values)))


def scores_and_labels(scores: Any, present: Any, known: Any = None, form: Any = csr_array) -> Any:
    """Scores as an array, and labels as returned by `labels_of`.

    The stored entries of sparse scores, which get the same form, are the known ones. Frames and
    truths are matched by name.

    Raises BadInput for scores that are not a matrix of numbers, and labels that do not fit them.
    """
    numbers = _numbers(scores) if is_frame(scores) else of_tensor(scores)
    present, known = by_name(scores, {"present": present, "known": known})
    scores = numbers
    if issparse(scores):
        scores = form(scores, copy=True)  # ranking sorts its stored values in place
        scores.sum_duplicates()
        known = at_entries(np.ones(scores.nnz, bool), scores)
    else:
        scores = array(scores)
    if scores.ndim != 2 or scores.dtype.kind not in "fiu":
        raise BadInput(
            f"scores have shape {scores.shape} of {scores.dtype}; numbers, images x classes, are "
            "expected"
        )
    return scores, *labels_of(present, known, scores.shape, form)


def labels_of(
    present: Any, known: Any, shape: tuple[int, ...] | None = None, form: Any = csr_array
) -> tuple[Any, Any]:
    """Present and known labels, images x classes: arrays, or sparse in `form` without stored zeros.

    A Truth provides both; known None means all but blank labels (nan, None). Raises BadInput for
    other shapes, and labels other than 0 and 1.
    """
    present, known = of_tensor(present), of_tensor(known)
    (known,) = by_name(present, {"known": known})
    if isinstance(present, Truth):
        known = present.known if known is None else known
        present = present.present
    present, known = _without_blanks(present, known)
    read = []
    for what, labels in (("present", present), ("known", known)):
        if labels is not None:
            labels = labels if issparse(labels) else array(labels)
            shape = labels.shape if shape is None else shape  # known must agree with present
            if labels.ndim != 2 or labels.shape != shape:
                raise BadInput(
                    f"{what} has shape {labels.shape}, but {shape} is expected; scores and labels "
                    "must agree, images x classes"
                )
            # Label codes (-1 absent, 0 unknown) would be read as present wherever they are not 0.
            strict = labels.dtype != bool
            values: Any = labels
            if strict and issparse(labels):
                values = values.tocoo().data[:, None]
            for images in row_blocks(values.shape) if strict else ():
                block = values[images]
                strange = block[(block != 0) & (block != 1)]
                if strange.size:
                    raise BadInput(
                        f"{what} holds {strange[0]}, and only 0 and 1 or booleans are expected; of "
                        "codes pass present = codes == 1 and known = codes != 0, or known = codes "
                        ">= 0 if -1 is unknown"
                    )
            if issparse(labels):  # entries may be stored twice, or as zeros
                labels = form(labels).astype(bool)
                labels.sum_duplicates()
                labels.eliminate_zeros()
        read.append(labels)
    return read[0], read[1]


def _without_blanks(present: Any, known: Any) -> tuple[Any, Any]:
    """Present and known labels of a frame, or of an array with blanks."""
    if is_frame(known):
        known = states(known)
        if (known == UNKNOWN).any():
            raise BadInput("known has blank cells; only 0 and 1 or booleans are expected")
    if present is None or issparse(present):
        return present, known
    if not is_frame(present):
        present = array(present)
        if present.dtype.kind not in "fO" or not (present != present).any():
            return present, known
    codes = states(present, "present")
    if (codes == -1).any():
        return codes, known  # refused
    blank, codes = codes == UNKNOWN, codes == 1
    if not blank.any():
        return codes, known
    if known is None:
        return codes, ~blank
    known = known.toarray() if issparse(known) else array(known)
    return codes, (known != 0) & ~blank


def _numbers(scores: Any) -> NDArray[Any]:
    """The scores of a frame as an array. Raises BadInput for a column without numbers."""
    for name, kind in scores.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiu":
            raise BadInput(
                f"column {name!r} of the scores is {kind}, and numbers are expected; if it names "
                f"the images, make it the index: scores.set_index({name!r})"
            )
    return scores.to_numpy(np.float64 if len({*scores.dtypes}) > 1 else None)


def names_of(values: Any) -> tuple[Any, Any] | None:
    """Images and classes of a frame or Truth; None for values without names."""
    if isinstance(values, Truth):
        return values.images, values.classes
    return (values.index, frame_classes(values)) if is_frame(values) else None


def by_name(first: Any, others: dict[str, Any]) -> list[Any]:
    """The other values, in the order of images and classes of the first value with names.

    Raises BadInput if their names differ.
    """
    wanted, matched = names_of(first), []
    for what, values in others.items():
        names = names_of(values)
        if wanted is None or names is None:
            wanted = wanted or names
        else:
            if is_frame(values):
                states(values)  # its error names a column without labels
            rows, columns = (
                places_of(here, there, f"{what}: the {kind}")
                for kind, here, there in zip(("images", "classes"), names, wanted, strict=True)
            )
            if isinstance(values, Truth):
                known = None if values.known is None else values.known[rows][:, columns]
                chosen = values.images[rows], np.array(values.classes, object)[columns]
                values = Truth.of(values.present[rows][:, columns], *chosen, known)
            else:
                values = values.iloc[rows, columns]
        matched.append(values)
    return matched


def series_by_name(scores: Any, values: Any, axis: int, what: str) -> Any:
    """A pandas.Series in the order of the names on this axis of scores; other values unchanged."""
    names = names_of(scores)
    if names is None or not hasattr(values, "iloc") or is_frame(values):
        return values
    return values.iloc[places_of(values.index, names[axis], what)]


def places_of(names: Any, wanted: Any, what: str, of: str = "the scores") -> Any:
    """The index of each of the `wanted` names, a slice if they are in order already.

    Raises BadInput, naming `what`, if they differ.
    """
    import pandas as pd

    names, wanted = pd.Index(names), pd.Index(wanted)
    if names.equals(wanted):
        return slice(None)
    same = len(names) == len(wanted) and names.is_unique and wanted.is_unique
    if not same or ((places := names.get_indexer(wanted)) < 0).any():
        lost = [*wanted.difference(names, sort=False), *names.difference(wanted, sort=False)]
        odd = f", such as {lost[0]!r}" if lost else " in number, or occur twice"
        raise BadInput(
            f"{what} differ from those of {of}{odd}; give both the same names, or pass "
            ".to_numpy() of both if their order is the same"
        )
    return places


def at_entries(values: NDArray[Any], entries: Any) -> Any:
    """The values (m,) as a sparse matrix at the m stored entries of another, of its form."""
    kind = type(entries)
    return kind((values, entries.indices, entries.indptr), entries.shape)


def refuse_diverged(diverged: Any, what: str = "scores hold nan") -> None:
    """Raise BadInput for the output of a model if it has `diverged`."""
    if diverged:
        raise BadInput(f"the {what}; the model that gave them has diverged, lower its lr")


def columns(values: Any, classes: slice) -> NDArray[Any]:
    """(classes, N) the chosen columns as rows, in a new array."""
    if issparse(values):
        table = np.zeros((classes.stop - classes.start, values.shape[0]), bool)
        table.reshape(-1)[places(values, classes)] = True
        return table
    block = values[:, classes]
    out = np.empty(block.shape[::-1], block.dtype)
    for start in range(0, len(block), _STRIP):
        out[:, start : start + _STRIP] = block[start : start + _STRIP].T
    return out


def places(labels: Any, classes: slice) -> NDArray[np.int64]:
    """Indices of the set labels in the selected columns, concatenated; ascending."""
    if not issparse(labels):
        return np.flatnonzero(columns(labels, classes))
    begin, end = labels.indptr[classes.start], labels.indptr[classes.stop]
    counts = np.diff(labels.indptr[classes.start : classes.stop + 1])
    of_class = np.repeat(np.arange(len(counts)), counts)
    return of_class * labels.shape[0] + labels.indices[begin:end]


def marked(labels: Any, images: slice) -> NDArray[np.bool_]:
    """(images, L) mask of the set labels in the selected rows."""
    return labels[images].toarray() if issparse(labels) else labels[images] != 0


def values_of(scores: Any, images: slice) -> NDArray[Any]:
    """(images, L) the scores of the selected rows; -inf where sparse ones have none."""
    if not issparse(scores):
        return scores[images]
    some = scores[images].tocoo()
    dense = np.full(some.shape, -np.inf, some.dtype)
    dense[some.coords] = some.data
    return dense


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Blocks of images of some million entries, in order."""
    height = max(1, _ENTRIES // max(1, shape[1]))
    for start in range(0, shape[0], height):
        yield slice(start, min(start + height, shape[0]))


@dataclass(frozen=True)
class Ranks:
    """Ranks of the present images of a block of classes among their known images.

    Attributes
    ----------
    pointers
        (classes + 1,): for each class c, entries pointers[c] to pointers[c + 1] are its present
        images, from the lowest score.
    scores
        (P,) scores of the present images.
    hits, images
        (P,) int64: numbers of present and of known images with at least this score.
    known
        (classes,) number of known images.
    top
        (classes,) highest score of the known images, -inf without any.
    """

    pointers: NDArray[np.int64]
    scores: NDArray[Any]
    hits: NDArray[np.int64]
    images: NDArray[np.int64]
    known: NDArray[np.int64]
    top: NDArray[np.float64]

    @property
    def present(self) -> NDArray[np.int64]:
        """(classes,) number of present images."""
        return np.diff(self.pointers)

    def reduce(self, how: np.ufunc, values: NDArray[Any], empty: float) -> NDArray[Any]:
        """(classes,) reduction `how` of each class's values (P,), `empty` without any."""
        some = self.present > 0
        out = np.full(len(some), empty, values.dtype)
        if some.any():
            out[some] = how.reduceat(values, self.pointers[:-1][some])
        return out


def ranked(scores: Any, present: Any, known: Any = None) -> Iterator[Ranks]:
    """Ranks of all classes, block by block.

    Parameters
    ----------
    scores
        (N, L). Scores stored class by class, such as the transpose of an (L, N) array, are read
        faster.
    present, known
        (N, L) bool: arrays, tensors or sparse; known None for everything.

    Raises
    ------
    BadInput
        For shapes that differ, scores that are not numbers, and nan among the known ones.
    """
    scores, present, known = scores_and_labels(scores, present, known, form=csc_array)
    N, L = scores.shape
    size = max(1, N * scores.dtype.itemsize)
    width = max(1, min(_LEAST_CLASSES, _BLOCK_BYTES // size), _CACHE_BYTES // size)
    for start in range(0, L, width):
        yield _ranks(scores, present, known, slice(start, min(start + width, L)))


def _ranks(scores: Any, present: Any, known: Any, classes: slice) -> Ranks:
    """Ranks of these classes.

    Entries are numbered class by class: image i of the c-th class of the block is c N + i.
    """
    N = scores.shape[0]
    shown = places(present, classes)
    # values: the known scores, class by class; sizes: their number in each class.
    if known is None:
        values = columns(scores, classes)
        of_present, sizes = values.ravel()[shown], np.full(len(values), N)
    elif issparse(scores) or (
        issparse(known) and known.nnz * _FEW < known.shape[0] * known.shape[1]
    ):
        # Few known entries: gathered one by one, so that no unknown score is read.
        cells = places(known, classes)
        shown, _, at = np.intersect1d(shown, cells, assume_unique=True, return_indices=True)
        if issparse(scores):  # by class, as csc stores them
            values = scores.data[slice(*scores.indptr[[classes.start, classes.stop]])]
        else:
            values = scores[cells % N, cells // N + classes.start]
        of_present, sizes = values[at], np.diff(known.indptr[classes.start : classes.stop + 1])
    else:
        counts = columns(known, classes).astype(bool, copy=False)
        shown = shown[counts.ravel()[shown]]  # a present label that is not known does not count
        values = columns(scores, classes)
        of_present, sizes = values.ravel()[shown], counts.sum(1)
        values = values[counts]
    if values.dtype == np.float16:  # numpy 2.4 sorts wrongly where 0.0 and -0.0 occur (AVX-512)
        values, of_present = values.astype(np.float32), of_present.astype(np.float32)
    values, bounds = values.ravel(), np.append(0, np.cumsum(sizes))
    # shown ascends by class, so the entries of class c begin at the first number of at least c N.
    pointers = np.searchsorted(shown, np.arange(classes.stop - classes.start + 1) * N)
    images = np.empty(len(of_present), np.int64)
    top = np.full(len(sizes), -np.inf)
    for c in range(len(top)):
        of_class, its = values[bounds[c] : bounds[c + 1]], slice(*pointers[c : c + 2])
        if len(of_class):
            top[c] = of_class.max()  # nan if there is any, without a pass of its own
            refuse_diverged(np.isnan(top[c]))
            of_present[its].sort()
            of_class.sort()
            # searchsorted finds the first of equal values, as all tied values reach the score.
            images[its] = len(of_class) - of_class.searchsorted(of_present[its])
    # Hits: tied present images all reach their score, so each counts from the first of its tie.
    place = np.arange(len(of_present))
    first = np.ones(len(of_present), bool)
    first[1:] = of_present[1:] != of_present[:-1]
    first[pointers[:-1][pointers[:-1] < len(of_present)]] = True  # ties end with their class
    first_of_tie = np.maximum.accumulate(np.where(first, place, 0))
    hits = np.repeat(pointers[1:], np.diff(pointers)) - first_of_tie
    return Ranks(pointers, of_present, hits, images, sizes, top)
