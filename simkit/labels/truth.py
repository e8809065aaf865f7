"""Ground truth: reference labels, used only by the simulated crowd and by evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from simkit.errors import BadInput, noting
from simkit.history import content_id
from simkit.labels.coding import checked, dense, is_frame, of_tensor, presence
from simkit.labels.names import note_alike, note_classes, plain

if TYPE_CHECKING:
    from simkit.labels.cells import Minus

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Truth:
    """Complete reference labels: the classes present in every image.

    All arrays are read-only, also after pickling and copying.

    Attributes
    ----------
    present
        (N, L) bool CSR, sorted, without duplicates.
    known
        (N, L) bool CSR: the known entries of a partial reference (OpenImages, LVIS); None: every
        entry is known.
    images
        (N,) unique ids, int64 or text.
    classes
        L unique names.
    """

    present: csr_array
    images: NDArray[Any]
    classes: tuple[str, ...]
    known: csr_array | None = None

    def __repr__(self) -> str:
        N, L = self.shape
        known = "" if self.known is None else f", {self.known.nnz:,} known"
        return (
            f"<Truth {self.id}: {N:,} images, {L:,} classes, {self.present.nnz:,} present{known}>"
        )

    @staticmethod
    def of(
        present: Any,
        images: Any = None,
        classes: Sequence[str] | None = None,
        known: Any = None,
        *,
        minus: Minus = "",
    ) -> Truth:
        """A truth from a 0/1 array, any scipy sparse matrix or a pandas frame, checked.

        Parameters
        ----------
        present : (N, L) array, tensor, scipy sparse matrix or pandas.DataFrame
            1 or True where the class is present, 0 or False where it is absent, and nan, None or
            pandas.NA where that is unknown. The index of a frame gives `images` and its columns
            `classes`, unless they are the default 0 .. L-1. A Truth is returned unchanged.
        images : (N,) int or str, optional
            Ids; 0 .. N-1 by default.
        classes : sequence of str, optional
            L names; class-0, class-1 ... by default.
        known : (N, L) array or sparse matrix, optional
            1 or True for known entries; by default all that are not nan.
        minus : {"", "absent", "unknown"}
            Meaning of -1. Beside 0 in a frame it is unknown, with a warning; otherwise it must be
            stated.

        Returns
        -------
        Truth

        Raises
        ------
        BadInput
            For other values, another number of dimensions, duplicate ids or names, sizes that do
            not fit, no images or no classes.
        """
        if isinstance(present, Truth):
            return present
        if is_frame(present):
            images = present.index.to_numpy() if images is None else images
            classes = frame_classes(present) if classes is None else classes
            note_names(images, classes)
        codes = presence(present, minus)
        matrix = _bool_csr(codes if issparse(codes) else codes == 1)
        ids, names = axes(images, classes, matrix.shape)
        reference = None if known is None else _bool_csr(known)
        if reference is not None and reference.shape != matrix.shape:
            raise BadInput(f"known is {reference.shape}, present {matrix.shape}; both must agree")
        if not issparse(codes) and (codes < 0).any():
            stated = codes >= 0
            reference = _bool_csr(stated if reference is None else reference.multiply(stated))
        return Truth(matrix, ids, names, reference)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, L)."""
        return self.present.shape

    @cached_property
    def id(self) -> str:
        """Content id; it changes with any label, image id or class name."""
        known = (None,) if self.known is None else (self.known.indptr, self.known.indices)
        return content_id(
            "truth",
            self.present.indptr,
            self.present.indices,
            *known,
            self.images,
            json.dumps(self.classes),
        )

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(L,) the number of images in which each class is present."""
        return sealed(np.bincount(self.present.indices, minlength=self.shape[1]))

    @cached_property
    def by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """`present` by class: (L + 1,) pointers and image indices, ascending within a class."""
        return sealed(by_class(self.present))

    def rows(self, index: Any) -> NDArray[np.bool_]:
        """(b, L) bool for these images."""
        return self.present[np.asarray(index)].toarray()

    def known_rows(self, index: Any) -> NDArray[np.bool_]:
        """(b, L) bool for these images: the known entries of the reference."""
        if self.known is None:
            return np.ones((len(np.asarray(index)), len(self.classes)), bool)
        return self.known[np.asarray(index)].toarray()

    def select(self, index: Any) -> Truth:
        """The truth of a subset of images, in the order of `index`."""
        index = np.asarray(index)
        known = None if self.known is None else sealed(csr_array(self.known[index]))
        chosen = sealed(csr_array(self.present[index]))
        return Truth(chosen, locked(self.images[index]), self.classes, known)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        sealed(tuple(state.values()))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Bounding boxes: box i shows class `classes[i]` in image `images[i]`, both (n,) indices.

    corners (n, 4) float32: x0, y0, x1, y1 in pixels, half open.
    sizes (N, 2) int64: width and height of every image in pixels; None if unknown.
    areas (n,) float64: pixels of each object's mask, as COCO's files state them; None if unknown.
    """

    images: NDArray[np.int64]
    classes: NDArray[np.int64]
    corners: NDArray[np.float32]
    sizes: NDArray[np.int64] | None = None
    areas: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"<Boxes: {len(self.images):,} objects>"

    @cached_property
    def id(self) -> str:
        """Content id."""
        areas = () if self.areas is None else (self.areas,)
        return content_id("boxes", self.images, self.classes, self.corners, self.sizes, *areas)


def image_ids(values: Any) -> NDArray[Any]:
    """Image ids as int64 or text, from any width. Raises BadInput for anything else."""
    ids = np.asarray(values)
    if ids.ndim != 1:
        raise BadInput(f"image ids are {str(values)[:40]!r}; a list of them is expected")
    if ids.dtype.kind == "f" and (ids == np.rint(ids)).all() and (abs(ids) < 2**53).all():
        return ids.astype(np.int64)  # which pandas turns into floats where one is missing
    if ids.dtype.kind == "i" or (ids.dtype.kind == "u" and ids.max(initial=0) < 2**63):
        return ids.astype(np.int64)
    if ids.dtype.kind == "U" or all(isinstance(value, str) for value in ids.flat):
        return ids.astype(str)
    raise BadInput(f"image ids are {ids.dtype}; whole numbers up to 2**63 - 1 or text are expected")


def class_names(names: Any, L: int) -> tuple[str, ...]:
    """Names as plain text; class-0, class-1 ... for None. Raises BadInput for anything else."""
    if names is None:
        return tuple(f"class-{c}" for c in range(L))
    if isinstance(names, str):  # whose letters would be taken for names
        raise BadInput(f"the classes are the text {names[:40]!r}; a list of names is expected")
    texts = tuple(names)
    for name in texts:
        if not isinstance(name, str):
            raise BadInput(f"class {name!r} is not text; name every class, as with "
                           "list(map(str, classes)), or frame.rename(columns=str)")  # fmt: skip
    return tuple(map(str, texts))


def frame_classes(frame: Any) -> tuple[Any, ...]:
    """The columns of a frame; class-0, class-1 ... if pandas numbered them."""
    names = tuple(frame.columns)
    return class_names(None, len(names)) if names == tuple(range(len(names))) else names


def axes(images: Any, classes: Any, shape: tuple[int, ...]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Read-only image ids and class names of a matrix of this `shape`; numbered where None.

    Raises BadInput unless they fit, are unique and not empty.
    """
    N, L = shape
    ids = image_ids(np.arange(N) if images is None else images)
    names = class_names(classes, L)
    if (len(ids), len(names)) != shape or not N or not L:
        raise BadInput(
            f"labels of {N} images x {L} classes have {len(ids)} image ids and {len(names)} "
            "class names; give one of each, and at least one image and class"
        )
    check_distinct(ids, "image id")
    texts = [name.rstrip("\0") for name in names]  # numpy strips trailing zeros
    check_distinct(np.array(texts, object), "class")
    return locked(ids), names


def check_distinct(values: NDArray[Any], what: str) -> None:
    """Raise BadInput where a value occurs twice; `what` names its kind in the message."""
    ordered = np.sort(values)
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same):
        (twice,) = ordered[same[:1]].tolist()
        raise BadInput(f"{what} {twice!r} occurs twice; give every {what} its own")


def matrix_of(values: Any) -> Any:
    """A sparse matrix (CSR or COO) from a dense or sparse one; duplicate entries are not summed.

    Raises BadInput for anything but a matrix of numbers.
    """
    values = of_tensor(values)
    if issparse(values):
        matrix = checked(values if values.format == "csr" else values.tocoo())
    else:
        matrix = dense(values, "biuf")
    if matrix.dtype == np.float16:  # which scipy does not know
        matrix = matrix.astype(np.float32)
    return matrix if issparse(matrix) else csr_array(matrix)


def _bool_csr(values: Any) -> csr_array:
    numbers = matrix_of(values)
    strange = numbers.data[(numbers.data != 0) & (numbers.data != 1)]
    if len(strange):
        raise BadInput(
            f"a truth holds {strange[0]}; 0 (absent) and 1 (present) are expected: translate it, "
            "and mark known entries in `known`"
        )
    matrix = csr_array(numbers.astype(bool))  # before duplicate entries are summed
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if max(matrix.nnz, *matrix.shape) < 2**31:  # half the memory
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return sealed(matrix)


def from_indices(lists: Sequence[Any], width: int) -> csr_array:
    """(n, width) bool: the indices in each of n lists."""
    pointers = np.cumsum([0, *map(len, lists)])
    columns = np.fromiter(chain.from_iterable(lists), np.int64, pointers[-1])
    matrix = csr_array((np.ones(len(columns), bool), columns, pointers), (len(lists), width))
    matrix.sum_duplicates()
    return matrix


def never_beside_another(classes: Sequence[str], present: csr_array) -> set[str]:
    """The classes that are the only present one wherever they are present."""
    several = np.diff(present.indptr) > 1
    together = np.bincount(present[several].indices, minlength=len(classes))
    return {name for name, number in zip(classes, together, strict=True) if not number}


def by_class(matrix: csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The entries by class: (L + 1,) pointers and row indices, ascending within a class."""
    columns = matrix.tocsc()
    return columns.indptr.astype(np.int64), columns.indices.astype(np.int32, copy=False)


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only copy; the caller's array stays writable."""
    return sealed(np.array(array))


def sealed(value: T) -> T:
    """The same array, CSR matrix or tuple of them, its arrays made read-only in place."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, tuple | csr_array):
        parts = value if isinstance(value, tuple) else (value.data, value.indices, value.indptr)
        for part in parts:
            sealed(part)
    return value


def note_names(images: Any, classes: Any) -> None:
    """Warn of names in a frame that look alike or that programs made."""
    note = noting("the frame", 6)
    texts, names = ([n for n in axis if isinstance(n, str)] for axis in (images, classes))
    note_alike(texts, "image ids", note, plain)
    note_classes(names, note)


def places(ids: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.intp]:
    """(m,) the index of each of `wanted` (m,) in `ids` (N,); `ids` must contain all of them."""
    order = np.argsort(ids, kind="stable")
    return order[np.searchsorted(ids, wanted, sorter=order)]
