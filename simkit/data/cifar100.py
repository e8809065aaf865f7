"""CIFAR-100 in the binary version of its owners."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.data.dataset import Dataset, Terms, register
from simkit.data.lists import different, inner, lines
from simkit.data.splits import Part, assemble
from simkit.errors import BadInput
from simkit.files import readable, reading
from simkit.history import content_id
from simkit.labels.truth import Truth
from simkit.registry import setting

SIDE = 32
_PLANE = SIDE * SIDE
_RECORD = 2 + 3 * _PLANE  # coarse class, fine class, red plane, green plane, blue plane
_WHAT = "images of CIFAR-100 (3,074 bytes each)"


@dataclass(frozen=True, eq=False)
class RecordPictures:
    """Images stored one after another in a file; `places` are their indices in it."""

    path: Path
    places: NDArray[np.int64]

    @cached_property
    def id(self) -> str:
        """Content id: equal ids mean equal pixels."""
        digest = hashlib.sha256()
        records = _records(self.path)
        for place in self.places:
            digest.update(records[place, 2:].tobytes())
        return content_id("records", digest.digest())

    def __len__(self) -> int:
        return len(self.places)

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (32, 32, 3) uint8 RGB array for each of `index`. Raises BadInput."""
        records = _records(self.path)
        chosen = records[self.places[np.asarray(index, np.int64).reshape(-1)], 2:]
        return list(chosen.reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1).copy())

    def select(self, index: Sequence[int] | NDArray[np.integer]) -> RecordPictures:
        """A subset of the images, in the order of `index`."""
        return RecordPictures(self.path, self.places[np.asarray(index, np.int64)])


@register
class Cifar100:
    """CIFAR-100: one of 100 fine classes per image of 32 x 32 pixels.

    root: the folder cifar-100-binary, or its parent. The published split takes a fifth of the
    50,000 training images for validation. Images are numbered in the order of each file.
    hierarchy: a JSON file or a shipped name; cifar-100 adds the coarse classes.
    Source: Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009; the layout is
    that of the data set's page, section "Binary version".
    """

    name: ClassVar[str] = "cifar-100"
    title: ClassVar[str] = "CIFAR-100, binary version"
    example: ClassVar[str] = "cifar-100:cifar-100-binary"
    terms: ClassVar[Terms] = Terms(
        "CIFAR-100",
        note="the owners state no licence",
        page="https://www.cs.toronto.edu/~kriz/cifar.html",
        cite="A. Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009",
    )
    paths: ClassVar[tuple[str, ...]] = ("root", "hierarchy")

    root: str = setting(..., "the folder cifar-100-binary, or the one that holds it")
    hierarchy: str = setting("", "a JSON file or a shipped name; cifar-100 adds the coarse classes")

    def open(self) -> Dataset:
        """Read names and labels; image data stay on disk until used. Raises BadInput."""
        what, names = "the folder cifar-100-binary", "names of the fine classes of CIFAR-100"
        place = inner(self.root, what, "train.bin", "cifar-100-binary")
        pickled = [place, place / "cifar-100-python"]
        if not (place / "train.bin").exists() and any((p / "meta").is_file() for p in pickled):
            raise BadInput(
                f"{place} holds the Python version, whose pickles can run any program when they "
                f"are opened; download the binary version and give {what}"
            )
        with reading(place / "fine_label_names.txt", names) as file:
            classes = different(lines(file, names))
            if len(classes) != 100:
                raise BadInput(f"it holds {len(classes)} names; 100 are expected, one per line")
        parts = {}
        for split in ("train", "test"):
            with reading(place / f"{split}.bin", _WHAT) as file:
                fine = np.array(_records(file)[:, 1])
                N = len(fine)
                # scipy refuses a fine class above 99.
                present = csr_array((np.ones(N, bool), (np.arange(N), fine)), shape=(N, 100))
                pictures = RecordPictures(file, np.arange(N))
                parts[split] = Part(Truth.of(present, classes=classes), pictures=pictures)
        return assemble(self.name, parts, self)


def _records(path: Path) -> NDArray[np.uint8]:
    """(N, 3074) uint8, a view of the file."""
    file = readable(path, _WHAT)
    size = file.stat().st_size
    if not size or size % _RECORD:
        what = f"{file} has {size:,} bytes, not a multiple of {_RECORD:,}"
        raise BadInput(f"{what} as expected of {_WHAT}; download it again")
    return np.memmap(file, np.uint8, "r").reshape(-1, _RECORD)
