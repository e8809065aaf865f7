"""Picture files, decoded when they are read. All decoding of simkit goes through `decode`."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from simkit.errors import BadInput
from simkit.files import expanded, readable
from simkit.history import content_id

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
_END = 4096  # bytes at either end of a compressed picture that stand for all of it
_COMPRESSED = (".jpg", ".jpeg", ".png", ".webp")


def decode(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 RGB, upright. Transparent parts keep their colour; 16 bits are cut to 8.

    Grey values of 32 bits count as 16 (65,535 is white), whatever the picture holds. Raises
    BadInput that names the file where it is missing, is no picture or not all of one, and where
    its values are floats, of which nobody knows what is white.
    """
    file = readable(path, "a picture")
    try:
        with _quiet, Image.open(file) as image:
            _check_size(image, file)
            upright = ImageOps.exif_transpose(image)  # broken EXIF fields only give a warning
            if upright.mode == "F":
                raise BadInput(
                    f"{file} holds floats, of which nobody knows how bright they are; save it "
                    "with 8 or 16 bits"
                )
            deep = upright.mode.startswith("I")
            return _from_deep(upright) if deep else np.array(upright.convert("RGB"))
    except BadInput:
        raise
    except _BROKEN as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise BadInput(
            f"{file} cannot be read as a picture ({reason}); replace it or take it out of the list"
        ) from None


class _Quiet:
    """No warnings while pictures are decoded, by however many threads.

    Python keeps one list of filters for all threads, so that only the first to come may change it
    and only the last to go may put it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._kept = warnings.catch_warnings(action="ignore")
                self._kept.__enter__()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._kept.__exit__(None, None, None)


_quiet = _Quiet()


def _check_size(image: Image.Image, path: Path) -> None:
    """Raise BadInput where a small file says that it is an enormous picture."""
    if image.width * image.height > (1 << 22) + 2000 * path.stat().st_size:
        raise BadInput(
            f"{path} says it has {image.width} x {image.height} pixels, more than such a file can "
            "hold; replace it or take it out of the list"
        )


def _from_deep(image: Image.Image) -> NDArray[np.uint8]:
    """Grey values of 16 bits or in mode I, as in medical pictures; Pillow itself would clip them.

    Some formats (PGM, and PNG in earlier versions of Pillow) give their 16 bits in mode I.
    """
    grey = np.clip(np.asarray(image, np.int64) // 256, 0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


_BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError,
    OverflowError, MemoryError, NotImplementedError, struct.error, zlib.error, RuntimeError,
    Image.DecompressionBombError,
)  # fmt: skip


@dataclass(frozen=True)
class FilePictures:
    """The picture files of one split: names relative to `folder`, in the order of the images."""

    folder: Path
    files: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<FilePictures: {len(self.files):,} in {self.folder}>"

    @staticmethod
    def of(folder: str | os.PathLike[str], files: Sequence[str]) -> FilePictures:
        """Checked: every name lies inside the folder and is there. Raises BadInput."""
        place = expanded(folder)
        if not os.path.isdir(place):
            raise BadInput(f"{place} is no folder; give the folder that holds the picture files")
        for name in files:
            if not name or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise BadInput(
                    f"picture file name {name[:200]!r} does not lie inside {place}; correct it"
                )
        missing = [name for name in files if not os.path.isfile(place / name)]
        if missing:
            first = missing[0]
            ending = Path(first).suffix
            near = [first.removesuffix(ending) + ending.swapcase()]
            near += [f"{first}{added}" for added in (*ENDINGS, *map(str.upper, ENDINGS))]
            other = next((name for name in near if os.path.isfile(place / name)), None)
            if other is not None:
                raise BadInput(
                    f"{place / first} does not exist, but {other} does; write the names as the "
                    f"files have them (folder: adds an ending by suffix={Path(other).suffix})"
                )
            raise BadInput(
                f"{place / _shown(missing[0])} does not exist ({len(missing)} of {len(files)} "
                "pictures are missing); give the folder that holds them, or leave them out by "
                "drop_missing=yes where the data set has it"
            )
        return FilePictures(place, tuple(files))

    @cached_property
    def id(self) -> str:
        """Depends on the content of the files in order, not on their names or place.

        Of JPEG, PNG and WebP files size and both ends are read, of others all: two pictures that
        agree in these differ in no pixel, unless somebody takes great pains.
        """
        return content_id("files", *(_digest(self.folder / name) for name in self.files))

    def __len__(self) -> int:
        return len(self.files)

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (H, W, 3) uint8 RGB array for each of `index`. Raises BadInput."""
        return [decode(self.folder / self.files[int(i)]) for i in np.asarray(index).reshape(-1)]

    def select(self, index: Sequence[int] | NDArray[np.integer]) -> FilePictures:
        """Fewer pictures, in the order of `index`."""
        return FilePictures(self.folder, tuple(self.files[int(i)] for i in np.asarray(index)))


def _shown(name: str) -> str:
    """A name as it stands in an error, which has one line."""
    return name[:200] if name.isprintable() else repr(name[:200])


def _digest(path: Path) -> bytes:
    size = readable(path, "a picture").stat().st_size  # it may have gone since it was listed
    try:
        with path.open("rb") as stream:
            if size <= 2 * _END or path.suffix.lower() not in _COMPRESSED:
                return hashlib.file_digest(stream, "sha256").digest()
            head = stream.read(_END)
            stream.seek(size - _END)
            return hashlib.sha256(head + stream.read() + str(size).encode()).digest()
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read ({error.strerror}); see to it that you may read it, or take it "
            "out of the list"
        ) from None
