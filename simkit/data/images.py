"""Image files, decoded on use. All image decoding of simkit goes through `decode`."""

from __future__ import annotations

import hashlib
import os
import threading
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from simkit.errors import BadInput, printable
from simkit.files import AnyPath, expanded, reading
from simkit.history import content_id

ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
# Pillow would also start programs (Ghostscript for PostScript), whatever the suffix of the file.
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
_END = 4096  # bytes at either end of a compressed image that enter its content id
_LARGE = 1 << 24  # pixels; a large image may need 2 GB, so threads decode one at a time
_one_large = threading.Lock()
_COMPRESSED = (".jpg", ".jpeg", ".png", ".webp")


def decode(path: AnyPath) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 RGB, upright. Transparent parts keep their colour; 16 bits are cut to 8.

    Grey values of 32 bits are read as 16 bits (65,535 is white). Raises BadInput, naming the file,
    if it is missing, truncated or not an image, or if its values are floats, whose range is
    unknown.
    """
    with (
        reading(path, "an image", "replace it or remove it from the list") as file,
        _quiet,
        _opened(file) as image,
        _one_large if image.width * image.height > _LARGE else nullcontext(),
    ):
        ImageOps.exif_transpose(image, in_place=True)  # broken EXIF fields only give a warning
        if image.mode == "F":
            raise BadInput(f"{file} holds floats of unknown range; save it with 8 or 16 bits")
        if image.mode.startswith("I"):
            # Grey values of 16 bits, as in medical images, which Pillow's conversion clips. Some
            # formats (PGM, and PNG in earlier versions of Pillow) store them in mode I.
            grey = np.clip(np.asarray(image) // 256, 0, 255).astype(np.uint8)
            return np.repeat(grey[:, :, None], 3, axis=2)
        return np.array(image if image.mode == "RGB" else image.convert("RGB"))


def _opened(file: Path) -> Image.Image:
    try:
        return Image.open(file, formats=_FORMATS)
    except Image.DecompressionBombError:
        raise BadInput(f"{file} has more than 178 million pixels; scale it down") from None


class _Quiet:
    """Suppresses warnings while images are decoded, by any number of threads.

    Python keeps one list of warning filters for all threads, so only the first thread to enter may
    change it and only the last to leave may restore it.
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


@dataclass(frozen=True)
class FilePictures:
    """The image files of one split: names relative to `folder`, in the order of the images."""

    folder: Path
    files: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<FilePictures: {len(self.files):,} in {self.folder}>"

    @staticmethod
    def of(folder: AnyPath, files: Sequence[str]) -> FilePictures:
        """Image files that exist inside the folder, checked. Raises BadInput."""
        place = expanded(folder)
        if not os.path.isdir(place):
            raise BadInput(f"{place} is not a folder; give the folder that holds the image files")
        for name in files:
            if not name or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise BadInput(f"image file name {name[:200]!r} is not inside {place}; correct it")
        missing = [name for name in files if not os.path.isfile(place / name)]
        if missing:
            first = missing[0]
            ending = Path(first).suffix
            near = [first.removesuffix(ending) + ending.swapcase()]
            near += [f"{first}{added}" for added in (*ENDINGS, *map(str.upper, ENDINGS))]
            other = next((name for name in near if os.path.isfile(place / name)), None)
            if other is not None:
                raise BadInput(
                    f"{place / first} does not exist, but {other} does; correct the names "
                    f"(folder: appends an ending with suffix={Path(other).suffix})"
                )
            path = printable(str(place / first[:200]))
            raise BadInput(
                f"{path} does not exist ({len(missing)} of {len(files)} images are missing); give "
                "their folder, or leave them out with drop_missing=yes if the data set has it"
            )
        return FilePictures(place, tuple(files))

    @cached_property
    def id(self) -> str:
        """Content id: depends on the files' content and order, not on their names or folder.

        For JPEG, PNG and WebP files it covers size and both ends, for others all bytes; different
        images with equal ids do not occur unless made on purpose.
        """
        digests = []
        for name in self.files:
            path = self.folder / name
            mend = "remove it from the list"
            with reading(path, "an image", mend) as file, file.open("rb") as stream:
                size = file.stat().st_size
                if size <= 2 * _END or file.suffix.lower() not in _COMPRESSED:
                    digests.append(hashlib.file_digest(stream, "sha256").digest())
                    continue
                head = stream.read(_END)
                stream.seek(size - _END)
                digests.append(hashlib.sha256(head + stream.read() + str(size).encode()).digest())
        return content_id("files", *digests)

    def __len__(self) -> int:
        return len(self.files)

    def read(self, index: Sequence[int] | NDArray[np.integer]) -> list[NDArray[np.uint8]]:
        """One (H, W, 3) uint8 RGB array for each of `index`. Raises BadInput."""
        return [decode(self.folder / self.files[int(i)]) for i in np.asarray(index).reshape(-1)]

    def select(self, index: Sequence[int] | NDArray[np.integer]) -> FilePictures:
        """A subset of the images, in the order of `index`."""
        return FilePictures(self.folder, tuple(self.files[int(i)] for i in np.asarray(index)))
