"""Features on disk: a folder with one .npy file, which is memory-mapped, and a JSON index."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.files import crc32, reading, whole, writing
from simkit.history import History, content_id, sealed, unsealed

Kind = Literal["pooled", "maps"]
KINDS: tuple[Kind, ...] = ("pooled", "maps")
Half = NDArray[np.float16]
INDEX = "index.json"
_FILE = "features.npy"
_FORM = "simkit features 2"
_JOINED = 4096  # rows of a part in memory while parts are joined
_COUNTED = 256  # rows between writes of the index; a killed process loses no more


def mapped(file: Path, shape: tuple[int, ...], kind: type) -> NDArray[Any] | None:
    """The array in an .npy file, memory-mapped; None if it is missing, incomplete or another."""
    try:
        values = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception:  # numpy reads the header as Python, which may raise anything
        return None
    fits = values.shape == shape and values.dtype == kind and values.flags.c_contiguous
    return np.asarray(values) if fits else None  # a plain array over the map is faster to index


@dataclass(frozen=True, eq=False)
class MappedRows:
    """Rows of an .npy file as a read-only fp16 array (N, ...), memory-mapped.

    Integers, slices, masks and arrays of integers select rows, as in numpy; `np.asarray` reads all
    of them. A pickle holds the name of the file.

    Parameters
    ----------
    file
        An array of at least two dimensions.
    rows
        (N,) selected rows of the file, in order; None for all.
    """

    file: Path
    rows: NDArray[np.int64] | None = None

    dtype = np.dtype(np.float16)

    @cached_property
    def _map(self) -> Half:
        mapped = np.load(self.file, mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped)  # a plain array over the map is faster to index

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self._map.shape[1:])

    @property
    def ndim(self) -> int:
        return self._map.ndim

    @property
    def nbytes(self) -> int:
        """Size of all rows in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self._map if self.rows is None else self.rows)

    def __getitem__(self, index: Any) -> Half:
        return self._map[index if self.rows is None else self.rows[index]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        rows = self[:]
        return np.array(rows, dtype) if copy or dtype is not None else rows

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedRows, (self.file, self.rows)

    def select(self, rows: NDArray[np.int64]) -> MappedRows:
        """These rows in this order, memory-mapped."""
        return MappedRows(self.file, rows if self.rows is None else self.rows[rows])


@dataclass(frozen=True)
class Skipped:
    """An unreadable image: its row, which is all zero, its id, and the reason."""

    row: int
    image: str
    reason: str


@dataclass(frozen=True)
class Index:
    """The contents of a folder of features.

    Parameters
    ----------
    key
        Content hash of images, weights, size and kind.
    kind, shape
        (N, D) pooled features or (N, D, h, w) maps.
    history
        Its parents are the content ids of the images and of the backbone.
    done
        Number of complete rows; they are computed in order.
    skipped
        Unreadable images among the complete rows.
    crc32
        CRC-32 of all rows, once they are complete; None in folders of version 0.1.
    """

    key: str
    kind: Kind
    shape: tuple[int, ...]
    history: History
    done: int = 0
    skipped: tuple[Skipped, ...] = ()
    crc32: int | None = None

    @property
    def id(self) -> str:
        """Content id: the key and the skipped rows."""
        rows = ",".join(str(each.row) for each in self.skipped)
        return content_id(self.key, "without", rows) if self.skipped else self.key

    @property
    def complete(self) -> bool:
        """Whether all rows are computed."""
        return self.done == self.shape[0]

    def write(self, folder: Path) -> None:
        """Write index.json."""
        facts = asdict(self) | {"history": json.loads(self.history.to_json())}
        facts |= {"form": _FORM, "id": self.id, "dtype": "float16"}
        with whole(folder / INDEX) as part:
            part.write_text(json.dumps(sealed(facts), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Index:
        """Read index.json. Raises BadInput if it is damaged or of another version."""
        mend = "extract them again with simkit features"
        with reading(folder / INDEX, "an index of features", mend) as path:
            facts = unsealed(json.loads(path.read_text(encoding="utf-8")))
            index = Index(
                key=str(facts["key"]),
                kind=facts["kind"],
                shape=tuple(facts["shape"]),
                history=History.from_json(json.dumps(facts["history"])),
                done=facts["done"],
                skipped=tuple(Skipped(**image) for image in facts["skipped"]),
                crc32=facts.get("crc32"),
            )
            rows = [-1, *(image.row for image in index.skipped), index.done - 0.5]
            if (
                facts["form"] != _FORM
                or len(index.shape) != {"pooled": 2, "maps": 4}[index.kind]
                or rows != sorted(rows)
                or index.done not in range(index.shape[0] + 1)
            ):
                raise ValueError
            return index

    def values(self, folder: Path) -> MappedRows:
        """The rows. Raises BadInput if they are not complete, or not those of the checksum."""
        file = folder / _FILE
        if not self.complete or mapped(file, self.shape, np.float16) is None:
            state = "missing or damaged" if self.complete else "not complete"
            raise BadInput(
                f"{file} is {state} ({self.done:,} of {self.shape[0]:,} rows were computed); run "
                "the command that makes these features again"
            )
        if self.crc32 not in (None, crc32(file)):
            raise BadInput(
                f"{file} is damaged (its rows do not match their checksum); remove {folder} and "
                "extract the features again"
            )
        return MappedRows(file)


def stored(folder: Path, key: str) -> Index | None:
    """The index of the features in a folder; None without features, or if the file is damaged.

    Raises BadInput for features of another key, which would be overwritten.
    """
    try:
        index = Index.read(folder)
    except BadInput:
        return None
    if index.key != key:
        raise BadInput(
            f"{folder} holds features of other images, or of another backbone, weights or size, or "
            "a part with another batch; choose another folder or remove it"
        )
    return None if mapped(folder / _FILE, index.shape, np.float16) is None else index


class FeatureWriter:
    """Writes rows in order, and counts them in the index once they are on disk.

    A row that a killed process left half-written therefore does not count. Concurrent processes
    with the same features write the same rows into one file.

    Parameters
    ----------
    folder
        Created if it does not exist.
    index
        Of an earlier pass, or a new one. Its complete rows are not overwritten.
    counted
        Number of rows between writes of the index, which is also written at the last row.
    """

    def __init__(self, folder: Path, index: Index, counted: int | None = None) -> None:
        self.folder, self.index, self._counted = folder, index, counted or _COUNTED
        self._written = index.done
        self._skipped = index.skipped
        self._row_bytes = 2 * math.prod(index.shape[1:])
        head = {"descr": "<f2", "fortran_order": False, "shape": index.shape}
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            other = (folder / INDEX).exists()
            if stored(folder, index.key) is None and other:  # it would count rows that are lost
                (folder / INDEX).unlink(missing_ok=True)
            (folder / _FILE).touch()
            # In place: a new file would remove the rows of a process that has just started.
            with (folder / _FILE).open("r+b") as stream:
                np.lib.format.write_array_header_1_0(stream, head)
                self._start = stream.tell()
                stream.truncate(self._start + index.shape[0] * self._row_bytes)

    def put(self, first: int, values: Half, skipped: Sequence[Skipped] = ()) -> None:
        """Write the rows from `first` on, except those already in the file.

        Raises BadInput for a full disk, and at the last row if no image could be read.
        """
        new = np.ascontiguousarray(values[max(0, self._written - first) :])
        if not len(new):
            return
        # Not memory-mapped: a full disk would kill the process without an error message.
        with writing(self.folder), (self.folder / _FILE).open("r+b") as stream:
            stream.seek(self._start + self._written * self._row_bytes)
            stream.write(new.data)
        self._skipped += tuple(image for image in skipped if image.row >= self._written)
        self._written += len(new)
        rows = self.index.shape[0]
        if self._written - self.index.done < self._counted and self._written != rows:
            return
        # Another process with the same features may be ahead: its count is not set back.
        other = stored(self.folder, self.index.key)
        if other is not None and other.done >= self._written:
            self.index, self._written, self._skipped = other, other.done, other.skipped
            return
        if len(self._skipped) == rows:
            reason = self._skipped[0].reason
            raise BadInput(f"none of {rows:,} images can be read; {reason}")
        checksum = crc32(self.folder / _FILE) if self._written == rows else None
        self.index = replace(self.index, done=self._written, skipped=self._skipped, crc32=checksum)
        self.index.write(self.folder)


@dataclass(frozen=True)
class Share:
    """Consecutive rows of features, and the folder that has or will have them.

    Parameters
    ----------
    folder, key, kind, history
        As in `Index`.
    rows
        Rows among those of all images.
    """

    folder: Path
    key: str
    kind: Kind
    history: History
    rows: range

    @property
    def index(self) -> Index | None:
        """The index of the stored rows, as in `stored`."""
        return stored(self.folder, self.key)

    @property
    def complete(self) -> bool:
        """Whether all rows are stored."""
        index = self.index
        return index is not None and index.complete

    def parts(self, count: int, batch: int) -> list[Share]:
        """`count` equal parts, or this share alone if it has fewer batches than that.

        A part has whole batches, since the last bit of features depends on their batch: the rows
        are then those of a single process.
        """
        batches = -(-len(self.rows) // batch)
        if count == 1 or batches < count:
            return [self]
        bounds = [batch * (batches * part // count) for part in range(count + 1)]
        parts = []
        for number, (start, stop) in enumerate(pairwise(bounds), 1):
            rows = self.rows[start:stop]
            folder = self.folder.with_name(f"{self.folder.name}.part-{number}-of-{count}")
            key = content_id(self.key, f"{rows.start} to {rows.stop} by {batch}")
            parts.append(replace(self, folder=folder, key=key, rows=rows))
        return parts

    def writer(self, shape: tuple[int, ...], counted: int | None = None) -> FeatureWriter:
        """Writes the missing rows, each of this shape."""
        index = self.index or Index(self.key, self.kind, (len(self.rows), *shape), self.history)
        return FeatureWriter(self.folder, replace(index, history=self.history), counted)

    def joined(self, parts: Sequence[Share]) -> bool:
        """Join the parts if all are complete, and remove them; whether this share is complete then.

        Concurrent processes write the same bytes.
        """
        indexes = [index for part in parts if (index := part.index) and index.complete]
        try:
            if not self.complete and len(indexes) == len(parts):
                # Counted once, at the end: once all rows count, another process removes the parts.
                writer = self.writer(indexes[0].shape[1:], counted=len(self.rows))
                for part, index in zip(parts, indexes, strict=True):
                    values, first = index.values(part.folder), part.rows.start
                    lost = [replace(image, row=first + image.row) for image in index.skipped]
                    for start in range(0, len(part.rows), _JOINED):
                        some = values[start : start + _JOINED]
                        rows = range(first + start, first + start + len(some))
                        writer.put(rows.start, some, [each for each in lost if each.row in rows])
        except BadInput:  # another process has joined and removed them
            if not self.complete:
                raise
        if not self.complete:
            return False
        for folder in self.folder.parent.glob(f"{self.folder.name}.part-*-of-*"):
            shutil.rmtree(folder, ignore_errors=True)
        return True


def of_splits(folder: Path) -> dict[str, Path]:
    """The folders of splits in a folder written by `simkit features --out`, by the split's name.

    Empty for other folders, such as those of one split or one kind.
    """
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        child.name: child
        for child in children
        if any((child / kind / INDEX).is_file() for kind in KINDS)
    }


def below(folder: Path) -> list[Path]:
    """The folders with an index in `folder`, or itself: of a kind, a split, or all splits.

    Raises BadInput if all that it holds are parts that are not joined.
    """
    places = [
        folder,
        *(of / kind for of in (folder, *of_splits(folder).values()) for kind in KINDS),
    ]
    found = [each for each in places if (each / INDEX).is_file()]
    parts = [] if found else [*folder.glob("*.part-*-of-*"), *folder.glob("*/*.part-*-of-*")]
    if parts:
        raise BadInput(
            f"{folder} holds parts of features that are not joined, such as {parts[0].name}; "
            "run simkit features for the other parts"
        )
    return found
