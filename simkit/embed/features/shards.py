"""An array of many rows in several files: written file by file, read as one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simkit.files import whole

_ROWS = 1024
_BYTES = 64 << 20
_OPEN = 256  # a map keeps its file open, and systems allow a process about a thousand

Half = NDArray[np.float16]


class Shards:
    """Rows of several .npy files as one read-only fp16 array (N, ...), which stays on disk.

    `values[i]`, `values[2:9]`, `values[[5, 1]]` and `values[mask]` give arrays of these rows, and
    `np.asarray(values)` all of them. files: paths; counts: rows in each; row: shape of one row.
    """

    dtype = np.dtype(np.float16)

    def __init__(
        self,
        files: Sequence[Path],
        counts: Sequence[int],
        row: tuple[int, ...],
        chosen: NDArray[np.int64] | None = None,
    ) -> None:
        self._made_of = (tuple(files), tuple(counts), tuple(row), chosen)
        self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._map = lru_cache(_OPEN)(self._opened)
        length = int(self._starts[-1]) if chosen is None else len(chosen)
        self.shape: tuple[int, ...] = (length, *row)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def folder(self) -> Path:
        """Where the files lie."""
        return self._made_of[0][0].parent

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Shards({self.shape} of {self.dtype} in {len(self._made_of[0])} files)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Shards, self._made_of

    def select(self, rows: NDArray[np.integer]) -> Shards:
        """These rows in this order, still on disk."""
        files, counts, row, chosen = self._made_of
        wanted = self._places(rows)
        return Shards(files, counts, row, wanted if chosen is None else chosen[wanted])

    def __getitem__(self, index: Any) -> Half:
        """The rows at an integer, a slice, or an array of integers or booleans."""
        chosen = self._made_of[3]
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if chosen is None and step == 1 and first < last:
                number = int(np.searchsorted(self._starts, first, "right")) - 1
                start = self._starts[number]
                if last <= self._starts[number + 1]:
                    return self._map(number)[first - start : last - start]
            places = np.arange(first, last, step)
        else:
            places = self._places(index)
        flat = places.reshape(-1)
        found = self._gathered(flat if chosen is None else chosen[flat])
        return found.reshape(*places.shape, *self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("rows in several files are no array without a copy")
        found = self[:]
        return np.array(found, dtype) if copy or dtype is not None else found

    def blocks(self, rows: int = _ROWS) -> Iterator[tuple[int, Half]]:
        """All rows in order, at most `rows` at a time, each with the place of its first."""
        for start in range(0, len(self), rows):
            yield start, self[start : start + rows]

    def _opened(self, number: int) -> Half:
        mapped = np.load(self._made_of[0][number], mmap_mode="r", allow_pickle=False)
        return np.asarray(mapped)  # a plain array over the map is faster to index

    def _places(self, index: Any) -> NDArray[np.int64]:
        places = np.asarray(index)
        if places.dtype.kind == "b" and places.shape == (len(self),):
            return np.flatnonzero(places)
        if places.dtype.kind not in "iu" and places.size:
            raise IndexError(f"rows are chosen by integers, a mask or a slice, not by {index!r}")
        places = places.astype(np.int64)
        if ((places < -len(self)) | (places >= len(self))).any():
            raise IndexError(f"a row is outside 0 to {len(self) - 1}")
        return np.where(places < 0, places + len(self), places)

    def _gathered(self, places: NDArray[np.int64]) -> Half:
        found = np.empty((len(places), *self.shape[1:]), self.dtype)
        number = np.searchsorted(self._starts, places, "right") - 1
        order = np.argsort(number, kind="stable")
        ends = np.flatnonzero(np.diff(number[order], append=-1)) + 1
        for first, last in zip(np.concatenate([[0], ends]), ends, strict=False):
            mine = order[first:last]
            shard = int(number[mine[0]])
            found[mine] = self._map(shard)[places[mine] - self._starts[shard]]
        return found


class ShardWriter:
    """Writes N rows, in order, into files of 1,024 rows or 64 MB, whichever is less.

    A file appears whole or not at all, and one that is there is not written again. Notes about rows
    stand behind them as a second array of the same file, JSON as bytes, so that neither is lost
    alone. stem: how the names of the files begin; it names the content, so that files of two
    contents never mix.
    """

    def __init__(self, folder: Path, stem: str, length: int, row: tuple[int, ...]) -> None:
        self.row = row
        self.each = max(1, min(_ROWS, _BYTES // (2 * math.prod(row))))
        starts = range(0, length, self.each)
        self.files = tuple(folder / f"{stem}-{n:05}.npy" for n in range(len(starts)))
        self.counts = tuple(min(self.each, length - start) for start in starts)
        pairs = zip(self.files, self.counts, strict=True)
        self._noted = [_notes_in(file, (count, *row)) for file, count in pairs]
        self._rows: Half = np.empty((0, *row), np.float16)
        self._open: dict[int, str] = {}
        self._filled = 0

    @property
    def todo(self) -> NDArray[np.bool_]:
        """(N,) which rows belong to files that are not there."""
        return np.repeat([noted is None for noted in self._noted], self.counts)

    def put(self, rows: NDArray[np.int64], values: Half, notes: Mapping[int, str]) -> None:
        """The next rows to do, ascending; rows of files that are there are passed over.

        notes: by row what shall be remembered of it, in its file.
        """
        number = rows // self.each
        for shard in np.unique(number):
            if self._noted[shard] is None:
                mine = number == shard
                self._add(int(shard), rows[mine], values[mine], notes)

    def notes(self) -> dict[int, str]:
        """By row what was remembered, in this process or an earlier one."""
        return {
            shard * self.each + row: note
            for shard, noted in enumerate(self._noted)
            for row, note in (noted or {}).items()
        }

    def _add(
        self, shard: int, rows: NDArray[np.int64], values: Half, notes: Mapping[int, str]
    ) -> None:
        if self._filled == 0:
            self._rows, self._open = np.empty((self.counts[shard], *self.row), np.float16), {}
        places = rows - shard * self.each
        self._rows[places] = values
        self._open |= {
            place: notes[row]
            for place, row in zip(places.tolist(), rows.tolist(), strict=True)
            if row in notes
        }
        self._filled += len(rows)
        if self._filled == self.counts[shard]:
            with whole(self.files[shard]) as part, part.open("wb") as stream:
                _write(stream, self._rows)
                if self._open:
                    text = json.dumps(list(self._open.items())).encode()
                    _write(stream, np.frombuffer(text, np.uint8))
            self._noted[shard] = self._open
            self._filled = 0


def holding(files: Sequence[Path], counts: Sequence[int], row: tuple[int, ...]) -> Path | None:
    """The first of these files that is not there whole, with its rows; None where all are."""
    pairs = zip(files, counts, strict=True)
    return next((f for f, count in pairs if _notes_in(f, (count, *row)) is None), None)


def _write(stream: IO[bytes], values: NDArray[Any]) -> None:
    """As np.save does it, whose errors do not say that a disk is full."""
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(values))
    stream.write(values.data)


def _notes_in(file: Path, shape: tuple[int, ...]) -> dict[int, str] | None:
    """Notes of a file by row, counted in the file; None where it is not there whole."""
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
        if rows.shape != shape or rows.dtype != np.float16 or not rows.flags.c_contiguous:
            return None
        with file.open("rb") as stream:
            stream.seek(rows.offset + rows.nbytes)
            if stream.tell() == file.stat().st_size:
                return {}
            pairs = json.loads(np.load(stream, allow_pickle=False).tobytes())
        notes = {int(row): str(note) for row, note in pairs}
    except (OSError, ValueError, EOFError, TypeError, AttributeError, RecursionError):
        return None
    return notes if all(0 <= row < shape[0] for row in notes) else None
