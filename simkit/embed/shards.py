"""Features on disk: rows in several .npy files that are read as one array, and their index."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.files import whole
from simkit.history import History, content_id

Kind = Literal["pooled", "maps"]
KINDS: tuple[Kind, ...] = ("pooled", "maps")
INDEX = "index.json"
Half = NDArray[np.float16]
_FORM = "simkit features 1"
_ROWS = 1024  # in a file, at most
_BYTES = 64 << 20
_OPEN = 256  # a map keeps its file open, and systems allow a process about a thousand
_ABANDONED = 60  # seconds since anything was written into a file that never holds more than 64 MB


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
        rows = self._gathered(flat if chosen is None else chosen[flat])
        return rows.reshape(*places.shape, *self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        rows = self[:]
        return np.array(rows, dtype) if copy or dtype is not None else rows

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
        rows = np.empty((len(places), *self.shape[1:]), self.dtype)
        number = np.searchsorted(self._starts, places, "right") - 1
        order = np.argsort(number, kind="stable")
        ends = np.flatnonzero(np.diff(number[order], append=-1)) + 1
        for first, last in zip(np.concatenate([[0], ends]), ends, strict=False):
            mine = order[first:last]
            shard = int(number[mine[0]])
            rows[mine] = self._map(shard)[places[mine] - self._starts[shard]]
        return rows


@dataclass(frozen=True)
class Skipped:
    """A picture that could not be read: its row, which is all zero, its image id, and why."""

    row: int
    image: str
    reason: str


@dataclass(frozen=True)
class Index:
    """What the shards in a folder hold.

    id: names the content; key: names the work, that is pictures, weights, size and kind; shape:
    (N, D) or (N, D, h, w); shards: pairs of a file name and its rows, in order.
    """

    id: str
    key: str
    kind: Kind
    shape: tuple[int, ...]
    shards: tuple[tuple[str, int], ...]
    history: History
    skipped: tuple[Skipped, ...] = ()

    def write(self, folder: Path) -> None:
        """Write index.json; it makes the shards beside it features."""
        facts = {"form": _FORM, "dtype": "float16"} | {
            name: getattr(self, name) for name in ("id", "key", "kind", "shape")
        }
        facts["shards"] = [{"file": file, "rows": rows} for file, rows in self.shards]
        facts["skipped"] = [asdict(each) for each in self.skipped]
        facts["history"] = json.loads(self.history.to_json())
        facts |= dict(zip(("pictures", "backbone"), self.history.parents, strict=False))
        with whole(folder / INDEX) as part:
            part.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Index:
        """Read index.json. Raises BadInput where it is none."""
        path = folder / INDEX
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            if facts["form"] != _FORM or facts["dtype"] != "float16":
                raise ValueError
            index = Index(
                id=str(facts["id"]),
                key=str(facts["key"]),
                kind=facts["kind"],
                shape=tuple(facts["shape"]),
                shards=tuple((shard["file"], shard["rows"]) for shard in facts["shards"]),
                history=History.from_json(json.dumps(facts["history"])),
                skipped=tuple(Skipped(**image) for image in facts["skipped"]),
            )
            index._check()
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise BadInput(
                f"{path} cannot be read as an index of features; extract them again with "
                "simkit features"
            ) from None
        return index

    def values(self, folder: Path) -> Shards:
        """The rows. Raises BadInput where a shard is not there as the index says."""
        for name, rows in self.shards:
            if not _holds(folder / name, (rows, *self.shape[1:])):
                raise BadInput(
                    f"{folder / name} is missing or damaged, a part of the features that "
                    f"{folder / INDEX} lists; run the command that made them again"
                )
        files, counts = [folder / name for name, _ in self.shards], [n for _, n in self.shards]
        return Shards(files, counts, self.shape[1:])

    def _check(self) -> None:
        rows = [rows for _, rows in self.shards]
        skipped = [image.row for image in self.skipped]
        whole_numbers = all(type(n) is int for n in (*self.shape, *rows, *skipped))
        if not whole_numbers or len(self.shape) != {"pooled": 2, "maps": 4}[self.kind]:
            raise ValueError
        fits = min(*self.shape, *rows) > 0 and sum(rows) == self.shape[0]
        fits &= all(Path(file).name == file for file, _ in self.shards)
        if not fits or not all(0 <= row < self.shape[0] for row in skipped):
            raise ValueError


class ShardWriter:
    """Writes N rows, in order, into files of 1,024 rows or 64 MB, whichever is less.

    A file appears whole or not at all, and one that is there is not written again. Images that
    could not be read are noted in a JSON file, before the shard with their rows appears. stem: how
    the names of the files begin; it names the content, so that files of two contents never mix.
    """

    def __init__(self, folder: Path, stem: str, length: int, row: tuple[int, ...]) -> None:
        self.row = row
        self.each = max(1, min(_ROWS, _BYTES // (2 * math.prod(row))))
        starts = range(0, length, self.each)
        self.files = tuple(folder / f"{stem}-{n:05}.npy" for n in range(len(starts)))
        self.counts = tuple(min(self.each, length - start) for start in starts)
        pairs = zip(self.files, self.counts, strict=True)
        self._done = [_holds(file, (count, *row)) for file, count in pairs]
        self.note_file = folder / f"{stem}-skipped.json"
        self._notes = {
            row: why for row, why in self._noted(folder, stem) if self._done[row // self.each]
        }
        self._open: Half = np.empty((0, *row), np.float16)  # rows of the shard that is being filled
        self._faults: dict[int, str] = {}
        self._filled = 0

    @property
    def todo(self) -> NDArray[np.bool_]:
        """(N,) which rows belong to files that are not there."""
        return np.repeat(~np.array(self._done), self.counts)

    def put(self, rows: NDArray[np.int64], values: Half, faults: Mapping[int, str]) -> None:
        """The next rows to do, ascending; rows of files that are there are passed over.

        faults: by row why its image could not be read.
        """
        number = rows // self.each
        for shard in np.unique(number).tolist():
            if not self._done[shard]:
                mine = number == shard
                self._add(shard, rows[mine], values[mine], faults)

    def notes(self) -> dict[int, str]:
        """By row why its image could not be read, in this process or an earlier one."""
        return self._notes

    def _add(
        self, shard: int, rows: NDArray[np.int64], values: Half, faults: Mapping[int, str]
    ) -> None:
        if self._filled == 0:
            self._open, self._faults = np.empty((self.counts[shard], *self.row), np.float16), {}
        self._open[rows - shard * self.each] = values
        self._faults |= {row: faults[row] for row in rows.tolist() if row in faults}
        self._filled += len(rows)
        if self._filled < self.counts[shard]:
            return
        if self._faults:
            self._notes |= self._faults
            with whole(self.note_file) as part:
                part.write_text(json.dumps(list(self._notes.items())), encoding="utf-8")
        with whole(self.files[shard]) as part, part.open("wb") as stream:
            # As np.save does it, whose errors do not say that a disk is full.
            header = np.lib.format.header_data_from_array_1_0(self._open)
            np.lib.format.write_array_header_1_0(stream, header)
            stream.write(self._open.data)
        self._done[shard] = True
        self._filled = 0

    def _noted(self, folder: Path, key: str) -> list[tuple[int, str]]:
        """Rows and reasons of an unfinished pass, or of a finished one with a damaged shard."""
        try:
            pairs = json.loads(self.note_file.read_text(encoding="utf-8"))
            noted = [(int(row), str(why)) for row, why in pairs]
            return [pair for pair in noted if 0 <= pair[0] < sum(self.counts)]
        except FileNotFoundError:
            index = read_index(folder)
            same = index is not None and index.key == key
            return [(image.row, image.reason) for image in index.skipped] if same else []  # type: ignore[union-attr]
        except (OSError, ValueError, TypeError):
            self._done = [False] * len(self._done)  # what was skipped is not known any more
            return []


def _holds(file: Path, shape: tuple[int, ...]) -> bool:
    """Whether a file is there whole, with fp16 rows of this shape and nothing behind them.

    Earlier versions noted there which rows are of images that could not be read.
    """
    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
        alone = file.stat().st_size == rows.offset + rows.nbytes
    except (OSError, ValueError, EOFError):
        return False
    fits = rows.shape == shape and rows.dtype == np.float16 and rows.flags.c_contiguous
    return bool(fits and alone)


def of_splits(folder: Path) -> dict[str, Path]:
    """The folders of splits in a folder that `simkit features --out` made, by the split's name.

    Empty where it is no such folder, as those of one split or of one kind are not.
    """
    children = sorted(folder.iterdir()) if folder.is_dir() else []
    return {
        child.name: child
        for child in children
        if any((child / kind / INDEX).is_file() for kind in KINDS)
    }


def below(folder: Path) -> list[Path]:
    """The folders with an index that `folder` holds or is: of a kind, a split, or all splits."""
    places = [
        folder,
        *(of / kind for of in (folder, *of_splits(folder).values()) for kind in KINDS),
    ]
    return [each for each in places if (each / INDEX).is_file()]


def read_index(folder: Path) -> Index | None:
    """The index of a folder; None where there is none, or a damaged one."""
    try:
        return Index.read(folder)
    except BadInput:
        return None


def finished(folder: Path, key: str) -> bool:
    """Whether the folder holds all features of this key; False where it holds others or none."""
    index = read_index(folder)
    try:
        return index is not None and index.key == key and bool(len(index.values(folder)))
    except BadInput:
        return False


def finish(
    writer: ShardWriter,
    folder: Path,
    *,
    key: str,
    kind: Kind,
    images: Sequence[object],
    history: History,
) -> None:
    """Write the index of shards that are all there; images: ids of the N pictures.

    The history's parents are the pictures and the backbone. Raises BadInput where no picture could
    be read, and where all values are zero.
    """
    skipped = tuple(
        Skipped(row, str(images[row]), why) for row, why in sorted(writer.notes().items())
    )
    if len(skipped) == len(images):
        raise BadInput(f"none of {len(images):,} pictures can be read; {skipped[0].reason}")
    values = Shards(writer.files, writer.counts, writer.row)
    if not any(block.any() for _, block in values.blocks()):
        raise BadInput(
            f"features of all {len(images):,} pictures are zero; give the backbone other weights"
        )
    tidy(folder, key)
    rows = ",".join(str(each.row) for each in skipped)
    Index(
        id=content_id(key, "without", rows) if skipped else key,
        key=key,
        kind=kind,
        shape=(sum(writer.counts), *writer.row),
        shards=tuple(
            (file.name, rows) for file, rows in zip(writer.files, writer.counts, strict=True)
        ),
        history=history,
        skipped=skipped,
    ).write(folder)
    writer.note_file.unlink(missing_ok=True)


def kept_for(folder: Path, key: str) -> None:
    """Raise BadInput where the folder holds features of another key, which would be hidden."""
    index = read_index(folder)
    if index is not None and index.key != key:
        raise BadInput(
            f"{folder} holds features of other pictures, or of another backbone, weights or size; "
            "choose another folder or remove it"
        )


def tidy(folder: Path, key: str) -> None:
    """Make a folder for features, and remove what killed processes left unfinished in it.

    Files that were written to in the last minute stay: another process may work on the same
    features. Raises BadInput where the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            now = os.fstat(probe.fileno()).st_mtime  # as the clock of the disk has it
        for name in (f"{key}-*", INDEX):
            for part in folder.glob(f".{name}.*.part"):
                if now - part.stat().st_mtime > _ABANDONED:
                    part.unlink(missing_ok=True)
    except FileNotFoundError:  # another process was quicker
        pass
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written ({error.strerror}); choose another place"
        ) from None
