"""Complete reference labels: held by the crowd and by evaluation, by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.history import content_id


@dataclass(frozen=True, eq=False)
class Truth:
    """What is in every image.

    present (N, L) bool CSR, sorted, without duplicates: the classes present.
    known   (N, L) bool CSR, or None: where even the reference is partial (OpenImages, LVIS); None
            says that every entry is known.
    images  (N,) ids, int64 or text, all different;  classes: L names, all different.
    """

    present: csr_array
    images: NDArray[Any]
    classes: tuple[str, ...]
    known: csr_array | None = None

    @staticmethod
    def of(
        present: Any,
        images: Any = None,
        classes: Sequence[str] | None = None,
        known: Any = None,
    ) -> Truth:
        """From a dense 0/1 array or any scipy sparse matrix (N, L), checked.

        `images` defaults to 0..N-1 and `classes` to class-0, class-1 ... Raises BadInput for
        duplicate ids or names, sizes that do not fit, no images or no classes.
        """
        matrix = _bool_csr(present)
        N, L = matrix.shape
        ids = image_ids(np.arange(N) if images is None else images)
        names = tuple(f"class-{c}" for c in range(L)) if classes is None else tuple(classes)
        check_axes(ids, names, (N, L))
        reference = None if known is None else _bool_csr(known)
        if reference is not None and reference.shape != matrix.shape:
            raise BadInput(
                f"known has shape {reference.shape}, present {matrix.shape}; they must agree"
            )
        return Truth(
            frozen(matrix), locked(ids), names, None if reference is None else frozen(reference)
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(N, L)."""
        return self.present.shape

    @cached_property
    def id(self) -> str:
        """Content id: changes with any label, image id or class name."""
        known = (None,) if self.known is None else (self.known.indptr, self.known.indices)
        return content_id(
            "truth",
            self.present.indptr,
            self.present.indices,
            *known,
            self.images,
            "\n".join(self.classes),
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(L,) in how many images each class is present."""
        return np.bincount(self.present.indices, minlength=self.shape[1])

    @cached_property
    def by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The same by class: (L + 1,) pointers and the image indices, ascending in a class."""
        N, _ = self.shape
        rows = np.repeat(np.arange(N, dtype=np.int64), np.diff(self.present.indptr))
        order = np.sort(self.present.indices.astype(np.int64) * N + rows)
        return np.concatenate([[0], np.cumsum(self.counts)]), (order % N).astype(np.int32)

    def rows(self, index: Any) -> NDArray[np.bool_]:
        """(b, L) bool for these images."""
        return self.present[np.asarray(index)].toarray()

    def select(self, index: Any) -> Truth:
        """The same truth about fewer images, in the order of `index`."""
        index = np.asarray(index)
        known = None if self.known is None else frozen(csr_array(self.known[index]))
        chosen = frozen(csr_array(self.present[index]))
        return Truth(chosen, locked(self.images[index]), self.classes, known)


def image_ids(values: Any) -> NDArray[Any]:
    """Image ids as int64 or text, whatever their width was. Raises BadInput for anything else."""
    ids = np.asarray(values)
    if ids.dtype.kind == "u" and ids.size and ids.max() > np.iinfo(np.int64).max:
        raise BadInput("an image id is above 2**63 - 1; give such ids as text")
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    if ids.dtype.kind == "O" and all(isinstance(value, str) for value in ids.flat):
        return ids.astype(str)
    if ids.dtype.kind != "U":
        raise BadInput(f"image ids are {ids.dtype}; whole numbers or text are expected")
    return ids


def check_axes(images: NDArray[Any], classes: tuple[str, ...], shape: tuple[int, ...]) -> None:
    """Raise BadInput unless ids and names fit `shape`, differ, and neither is missing."""
    N, L = shape
    if images.ndim != 1 or len(images) != N:
        raise BadInput(
            f"{len(images)} image ids came for {N} rows of labels; give one id for each row"
        )
    if len(classes) != L:
        raise BadInput(
            f"{len(classes)} class names came for {L} columns; give one name for each column"
        )
    if N == 0 or L == 0:
        raise BadInput(
            f"the labels have {N} images and {L} classes; at least one of each is needed"
        )
    twice = _first_repeat(images)
    if twice is not None:
        raise BadInput(f"image id {twice} occurs twice; give every image its own id")
    twice = _first_repeat(np.asarray(classes))
    if twice is not None:
        raise BadInput(f"class {str(twice)!r} occurs twice; give every class its own name")


def _first_repeat(values: NDArray[Any]) -> Any:
    ordered = np.sort(values)
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[same[0]] if len(same) else None


def _bool_csr(values: Any) -> csr_array:
    if isinstance(values, np.ndarray) and values.ndim != 2:
        raise BadInput(f"labels have shape {values.shape}; images x classes are expected")
    matrix = csr_array(values).astype(bool)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def frozen(matrix: csr_array) -> csr_array:
    """The same matrix, its arrays made read-only in place."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy; the caller's own array stays writable."""
    array = np.array(array)
    array.flags.writeable = False
    return array
