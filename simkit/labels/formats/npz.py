"""Label matrices as numpy arrays in CSR form, for truth and for partial labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.files import AnyPath, reading, whole
from simkit.history import History
from simkit.labels.effort import Effort
from simkit.labels.formats import base
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth, image_ids

_WHAT = "labels (npz with indptr, indices, shape, class_names, image_ids)"


@base.register
class Npz(base.Format):
    """CSR arrays: `indptr` (N + 1,), `indices`, `shape` (2,), `class_names` (L,), `image_ids` (N,).

    These alone are a truth: entries not stored are absent. Partial labels add `data` (int8, +1 or
    -1 for each of `indices`), `asked` (N,) bool, and `history` and `effort` as JSON text. A truth
    may add `difficult_indptr` and `difficult_indices`, and `known_...` if it is partially known.
    """

    name: ClassVar[str] = "npz"
    title: ClassVar[str] = "numpy arrays in CSR form"
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)

    def write(self, labels: PartialLabels, path: AnyPath) -> None:
        """Write labels with asked images, history and effort. Raises BadInput."""
        _save(
            path,
            **_axes(labels.codes, labels.images, labels.classes),
            data=labels.codes.data,
            asked=labels.asked,
            history=np.array(labels.history.to_json()),
            effort=np.array(json.dumps(labels.effort.to_json())),
        )

    def read(self, path: AnyPath) -> PartialLabels:
        """The labels in the file; for a truth every known entry, difficult ones as unknown.

        Raises BadInput, also for a complete truth of more than 2**27 entries.
        """
        with reading(path, _WHAT) as file, ZipFile(file) as archive:
            arrays = Arrays(archive, file)
            if not arrays.partial:
                return base.complete(*read_truth(file))
            history = effort = None
            if "history" in arrays:
                history = History.from_json(str(arrays.get("history", "U", 0)))
            if "effort" in arrays:
                effort = Effort.from_json(json.loads(str(arrays.get("effort", "U", 0))))
            data = arrays.get("data", "iu")
            if not np.isin(data, (-1, 1)).all():
                odd = data[~np.isin(data, (-1, 1))][0]
                raise BadInput(
                    f"data holds {odd}; write 1 (present) and -1 (absent), and no entry for unknown"
                )
            codes = _matrix(arrays, data=data)
            asked = arrays.get("asked", "b") if "asked" in arrays else None
            axes = _ids(arrays), arrays.names()
            return PartialLabels.of(codes, *axes, asked, effort=effort, history=history)


def read_truth(path: AnyPath) -> tuple[Truth, csr_array | None]:
    """The truth in a file without `data`, and (N, L) bool, present only as a "difficult" object.

    The second is None if the file does not state it. Raises BadInput.
    """
    with reading(path, _WHAT) as file, ZipFile(file) as archive:
        arrays = Arrays(archive, file)
        if arrays.partial:
            raise BadInput(
                f"these are partial labels (with an array {arrays.partial[0]!r}), and a truth is "
                "expected; use them as labels of the data set they were made from"
            )
        matrix, ids, names = _matrix(arrays), _ids(arrays), arrays.names()
        truth = Truth.of(matrix, ids, names, _optional(arrays, "known_"))
        return truth, _optional(arrays, "difficult_")


def write_truth(truth: Truth, path: AnyPath, difficult: csr_array | None = None) -> None:
    """Write a truth and its `difficult` entries, (N, L) bool. Raises BadInput."""
    arrays = _axes(truth.present, truth.images, truth.classes)
    for name, matrix in (("known", truth.known), ("difficult", difficult)):
        if matrix is not None:
            arrays |= {f"{name}_indptr": matrix.indptr, f"{name}_indices": matrix.indices}
    _save(path, **arrays)


class Arrays:
    """The arrays of an open .npz archive, checked before memory is allocated for them."""

    def __init__(self, archive: ZipFile, path: Path) -> None:
        self._archive, self.path = archive, path
        self._names = {name.removesuffix(".npy") for name in archive.namelist()}

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @property
    def partial(self) -> list[str]:
        """The arrays that only partial labels have, one of which damage may have removed."""
        return [name for name in ("data", "asked", "history", "effort") if name in self]

    def get(self, name: str, kinds: str, dimensions: int | None = 1) -> NDArray[Any]:
        """An array of the archive.

        Parameters
        ----------
        name : str
            Its name.
        kinds : str
            The expected dtype kinds, such as "iu".
        dimensions : int or None, default 1
            The expected number of dimensions; None for any.

        Returns
        -------
        ndarray

        Raises
        ------
        BadInput
            If the array is missing, has another dtype or number of dimensions, holds Python
            objects, or is larger than the file can hold.
        """
        if name not in self:
            has = ", ".join(sorted(map(ascii, self._names))[:12]) or "nothing"
            raise BadInput(f"the array {name!r} is missing; the file holds {has}")
        entry = self._archive.getinfo(f"{name}.npy")
        base.check_memory(entry.file_size, self.path, name)
        try:
            with self._archive.open(entry) as stream:
                array = np.lib.format.read_array(stream, allow_pickle=False)
                if stream.read(1):
                    raise ValueError("trailing data")
        except (ValueError, MemoryError):
            raise BadInput(f"{name} holds objects or is cut off; save plain arrays") from None
        check_text(array, name)
        dimensions = array.ndim if dimensions is None else dimensions
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            kind = f"{array.dtype} with {array.ndim} dimensions"
            raise BadInput(f"{name} is {kind}; {_KINDS[kinds]} with {dimensions} are expected")
        return array

    def whole(self, name: str) -> NDArray[np.int64]:
        """(n,) whole numbers. Raises BadInput for anything else."""
        return self.get(name, "iu").astype(np.int64)

    def names(self) -> tuple[str, ...]:
        """The class names, repeated ones numbered. Raises BadInput."""
        return base.distinct(self.get("class_names", "U").tolist(), self.path)


_KINDS = {
    "iu": "whole numbers", "U": "text", "b": "bool", "iuU": "whole numbers or text",
    "f": "numbers", "fiu": "numbers",
}  # fmt: skip


def check_text(array: NDArray[Any], name: str) -> None:
    """Raise BadInput where an array of text holds invalid code points."""
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        letters = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder + "u4")
        if letters.max() > 0x10FFFF:
            raise BadInput(f"{name} holds invalid text; write the file again")


def _axes(matrix: csr_array, images: NDArray[Any], classes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "shape": np.array(matrix.shape, np.int64),
        "class_names": np.array(classes),
        "image_ids": images,
    }


def _save(path: AnyPath, **arrays: Any) -> None:
    with whole(path) as part, part.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _optional(arrays: Arrays, prefix: str) -> csr_array | None:
    either = f"{prefix}indptr" in arrays or f"{prefix}indices" in arrays
    return _matrix(arrays, prefix) if either else None


def _matrix(arrays: Arrays, prefix: str = "", data: NDArray[np.integer] | None = None) -> csr_array:
    """The matrix of the arrays that start with `prefix`, bool unless `data` are given."""
    pointers, columns = (arrays.get(f"{prefix}{name}", "iu") for name in ("indptr", "indices"))
    N, L = arrays.whole("shape").tolist()
    ends = pointers[[0, -1]].tolist() if len(pointers) == N + 1 else []
    increase = ends == [0, len(columns)] and (pointers[1:] >= pointers[:-1]).all()
    if not increase or (len(columns) and not 0 <= columns.min() <= columns.max() < L):
        raise BadInput(
            f"{prefix}indptr must increase from 0 to {len(columns)} in {N + 1} numbers, and "
            f"{prefix}indices lie from 0 to {L - 1} (see shape); write the file again"
        )
    values = np.ones(len(columns), bool) if data is None else np.array(data)
    kind = np.int32 if max(N, L) < 2**31 else np.int64
    matrix = csr_array((values, columns.astype(kind), pointers.astype(kind)), shape=(N, L))
    matrix.sum_duplicates()
    if matrix.nnz != len(columns):
        raise BadInput(f"{prefix}indices name a class twice in one image; keep one of them")
    return matrix


def _ids(arrays: Arrays) -> NDArray[Any]:
    ids = arrays.get("image_ids", "iuU")
    return base.text_ids(ids) if ids.dtype.kind == "U" else image_ids(ids)
