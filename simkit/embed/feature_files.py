"""Features on disk: a folder with one .npy file, which is memory-mapped, and a JSON index."""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.cache import INDEX, in_cache
from simkit.errors import BadInput
from simkit.files import crc32, reading, whole, writing
from simkit.history import History, content_id, sealed, unsealed

Kind = Literal["pooled", "maps"]
KINDS: tuple[Kind, ...] = ("pooled", "maps")
Half = NDArray[np.float16]
IMAGES = "images.npy"  # (N,) ids of the images, in the cache
MISSING = -1  # in place of a row that was not computed
_FILE = "features.npy"
_FORM = "simkit features 2"
_NOTES = "unfinished-"  # folder of the notes on the blocks that are on disk


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
    """Rows of .npy files as a read-only fp16 array (N, ...), memory-mapped.

    Integers, slices, masks and arrays of integers select rows, as in numpy; `np.asarray` reads all
    of them. A pickle holds the names of the files.

    Parameters
    ----------
    files
        Arrays of at least two dimensions, equal but for the number of rows.
    rows
        (N,) selected rows of all files, one after the other; None for all. MISSING for a row that
        was not computed: reading it raises IndexError.
    row_shape
        Shape of a row; needed without files.
    """

    files: tuple[Path, ...]
    rows: NDArray[np.int64] | None = None
    row_shape: tuple[int, ...] | None = None

    dtype = np.dtype(np.float16)

    @cached_property
    def _maps(self) -> list[Half]:
        # plain arrays over the maps are faster to index
        return [np.asarray(np.load(f, mmap_mode="r", allow_pickle=False)) for f in self.files]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *map(len, self._maps)])

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *(self.row_shape or self._maps[0].shape[1:]))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Size of all rows in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __len__(self) -> int:
        return int(self._starts[-1]) if self.rows is None else len(self.rows)

    def __getitem__(self, index: Any) -> Half:
        if self.rows is None and len(self.files) == 1:
            return self._maps[0][index]
        rows = np.arange(len(self))[index] if self.rows is None else self.rows[index]
        if np.any(rows == MISSING):
            raise IndexError("these features were not computed")
        if len(self.files) == 1:
            return self._maps[0][rows]
        of = np.searchsorted(self._starts, rows, "right") - 1
        values = np.empty((*rows.shape, *self.shape[1:]), np.float16)
        for which in np.unique(of):
            at = of == which
            values[at] = self._maps[which][rows[at] - self._starts[which]]
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        rows = self[:]
        return np.array(rows, dtype) if copy or dtype is not None else rows

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedRows, (self.files, self.rows, self.row_shape)

    def select(self, rows: NDArray[np.int64]) -> MappedRows:
        """These rows in this order, memory-mapped."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])


@dataclass(frozen=True)
class Skipped:
    """An unreadable image: its row, which is all zero, its id, and the reason."""

    row: int
    image: str
    reason: str


def id_without(key: str, skipped: Sequence[Skipped]) -> str:
    """Content id of features: their key and the skipped rows."""
    rows = ",".join(str(each.row) for each in skipped)
    return content_id(key, "without", rows) if skipped else key


@dataclass(frozen=True)
class Index:
    """The contents of a folder of features, written once all rows are computed.

    Parameters
    ----------
    key
        Content hash of images, weights, size and kind.
    kind, shape
        (N, D) pooled features or (N, D, h, w) maps.
    history
        Its parents are the content ids of the images and of the backbone.
    skipped
        Unreadable images.
    crc32
        CRC-32 of all rows; None in folders of version 0.1.
    """

    key: str
    kind: Kind
    shape: tuple[int, ...]
    history: History
    skipped: tuple[Skipped, ...] = ()
    crc32: int | None = None

    @property
    def id(self) -> str:
        """Content id: the key and the skipped rows."""
        return id_without(self.key, self.skipped)

    def write(self, folder: Path) -> None:
        """Write index.json."""
        facts = asdict(self) | {"history": json.loads(self.history.to_json())}
        # Earlier versions write an index of unfinished features too, and count their rows.
        facts |= {"form": _FORM, "id": self.id, "dtype": "float16", "done": self.shape[0]}
        with whole(folder / INDEX) as part:
            part.write_text(json.dumps(sealed(facts), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Index:
        """Read index.json. Raises BadInput if it is damaged, unfinished or of another version."""
        mend = "extract them again with simkit features"
        with reading(folder / INDEX, "an index of features", mend) as path:
            facts = unsealed(json.loads(path.read_text(encoding="utf-8")))
            history = History.from_json(json.dumps(facts["history"]))
            shape, skipped = tuple(facts["shape"]), tuple(Skipped(**s) for s in facts["skipped"])
            rows = [-1, *(image.row for image in skipped), shape[0] - 0.5]
            dimensions = {"pooled": 2, "maps": 4}[facts["kind"]]
            if facts["form"] != _FORM or len(shape) != dimensions or rows != sorted(rows):
                raise ValueError
            if facts["done"] != shape[0]:
                raise ValueError(f"{facts['done']} of {shape[0]} rows were computed")
            key, kind, checksum = str(facts["key"]), facts["kind"], facts.get("crc32")
            return Index(key, kind, shape, history, skipped, checksum)

    def values(self, folder: Path) -> MappedRows:
        """The rows. Raises BadInput if they are missing, or not those of the checksum."""
        file = folder / _FILE
        if mapped(file, self.shape, np.float16) is None:
            raise BadInput(
                f"{file} is missing or damaged; run the command that makes these features again"
            )
        if self.crc32 not in (None, crc32(file)):
            raise BadInput(
                f"{file} is damaged (its rows do not match their checksum); remove {folder} and "
                "extract the features again"
            )
        return MappedRows((file,))


def stored(folder: Path, key: str) -> Index | None:
    """The index of the features in a folder; None without finished and undamaged ones.

    Raises BadInput for features of another key, which would be overwritten.
    """
    try:
        index = Index.read(folder)
    except BadInput:
        return None
    _check_key(folder, index.key, key)
    return None if mapped(folder / _FILE, index.shape, np.float16) is None else index


def image_ids(folder: Path, count: int) -> NDArray[np.bytes_] | None:
    """The ids of the images in a folder of the cache; None if they are missing, damaged or of
    another number."""
    try:
        held = np.load(folder / IMAGES, allow_pickle=False)
    except Exception:  # as in `mapped`
        return None
    return held if held.shape == (count,) and held.dtype.kind == "S" else None


def begun(folder: Path) -> bool:
    """Whether a folder has blocks of unfinished features."""
    return any(folder.glob(f"{_NOTES}*/*.json"))


def _check_key(folder: Path, held: str, key: str) -> None:
    if held != key:
        raise BadInput(
            f"{folder} holds features of other images, or of another backbone, weights or size; "
            "choose another folder or remove it"
        )


class FeatureWriter:
    """Writes features in blocks of rows, in any order and by any number of processes.

    A note of each block is written after its rows, so that rows which a killed process left
    half-written do not count. Concurrent processes with the same features write the same rows.

    Parameters
    ----------
    folder
        Created if it does not exist.
    index
        Of the features, without skipped images and checksum.
    images
        (N,) ids of the images, kept beside the features where later passes look for them.
    """

    def __init__(
        self, folder: Path, index: Index, images: NDArray[np.bytes_] | None = None
    ) -> None:
        self.folder, self.index = folder, index
        # Blocks depend on the number of images alone, as the last bit of features depends on the
        # images of their batch. Few images make small blocks, which divide well among processes.
        rows, step = index.shape[0], 32 * min(8, max(1, index.shape[0] // 2048))
        self.blocks = [range(start, min(start + step, rows)) for start in range(0, rows, step)]
        self._notes = folder / f"{_NOTES}{index.key}"
        self._row_bytes = 2 * math.prod(index.shape[1:])
        head = {"descr": "<f2", "fortran_order": False, "shape": index.shape}
        with in_cache(folder), writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.glob(f"{_NOTES}*"):
                _check_key(folder, other.name.removeprefix(_NOTES), index.key)
            # In this order: another process may write the index at any time.
            if (folder / INDEX).exists() and stored(folder, index.key) is None:
                warnings.warn(
                    f"the features in {folder} are damaged, or were left unfinished by an earlier "
                    "version of simkit; they are computed again",
                    stacklevel=3,
                )
                (folder / INDEX).unlink(missing_ok=True)  # a stale index would count lost rows
            if mapped(folder / _FILE, index.shape, np.float16) is None:
                shutil.rmtree(self._notes, ignore_errors=True)  # also of lost rows
            (folder / _FILE).touch()
            if images is not None and image_ids(folder, rows) is None:
                with whole(folder / IMAGES) as part, open(part, "wb") as stream:
                    np.save(stream, images)
            # In place: a new file would remove the rows of a process that has just started.
            with self._open() as stream:
                np.lib.format.write_array_header_1_0(stream, head)
                self._start = stream.tell()
                stream.truncate(self._start + rows * self._row_bytes)

    def _open(self) -> BinaryIO:
        # Synchronous: rows are on disk before their note, and in a network file system no write of
        # one machine covers rows of another on the same page.
        also = getattr(os, "O_DSYNC", 0)
        return open(self.folder / _FILE, "r+b", opener=lambda file, how: os.open(file, how | also))

    def skipped(self) -> dict[int, list[Skipped]]:
        """The unreadable images of every block that is on disk, by its first row."""
        skipped = {}
        for note in self._notes.glob("*.json"):
            with suppress(OSError, ValueError, TypeError):  # removed meanwhile, or damaged
                images = json.loads(note.read_text(encoding="utf-8"))
                skipped[int(note.stem)] = [Skipped(**image) for image in images]
        return skipped

    def put(self, block: range, values: Half, skipped: Sequence[Skipped] = ()) -> None:
        """Write a block, unless another process has written it. Raises BadInput for a full disk."""
        note = self._notes / f"{block.start}.json"
        if note.exists() or stored(self.folder, self.index.key):
            return
        # Not memory-mapped: a full disk would kill the process without an error message.
        with in_cache(self.folder), writing(self.folder), self._open() as stream:
            stream.seek(self._start + block.start * self._row_bytes)
            stream.write(np.ascontiguousarray(values).data)
        with whole(note) as part:
            part.write_text(json.dumps([asdict(image) for image in skipped]), encoding="utf-8")

    def finish(self) -> Index | None:
        """Write the index and remove the notes; None while other processes have blocks left."""
        by_block = self.skipped()  # before the index, after which another process removes the notes
        index = stored(self.folder, self.index.key)
        if index is None and len(by_block) == len(self.blocks):
            skipped = tuple(image for block in self.blocks for image in by_block[block.start])
            checksum = crc32(self.folder / _FILE)
            index = replace(self.index, skipped=skipped, crc32=checksum)
            index.write(self.folder)
        if index is not None:
            shutil.rmtree(self._notes, ignore_errors=True)
        return index


def of_splits(folder: Path) -> dict[str, Path]:
    """The folders of splits in a folder written by `simkit features --out`, by the split's name.

    Empty for other folders, such as those of one split or one kind.
    """
    kinds = (index.parent for index in sorted(folder.glob(f"*/*/{INDEX}")))
    return {kind.parent.name: kind.parent for kind in kinds if kind.name in KINDS}


def below(folder: Path) -> list[Path]:
    """The folders with an index in `folder`, or itself: of a kind, a split, or all splits.

    Raises BadInput if they are all unfinished.
    """
    above = (folder, *of_splits(folder).values())
    places = [folder, *(each / kind for each in above for kind in KINDS)]
    folders = [each for each in places if (each / INDEX).is_file()]
    for level in () if folders else ("", "*/", "*/*/"):
        for notes in folder.glob(f"{level}{_NOTES}*"):
            raise BadInput(
                f"{notes.parent} holds unfinished features; run simkit features again, or for the "
                "other parts"
            )
    return folders
