"""Image files, decoded on use. All image decoding of simkit goes through `decode`."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, ImageSequence, ImageStat, UnidentifiedImageError

from simkit.errors import BadInput, note, noting, printable
from simkit.files import AnyPath, expanded, explaining, reading
from simkit.history import content_id

ENDINGS = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm",
    ".pgm",
)  # fmt: skip
# Pillow would also start programs (Ghostscript for PostScript), whatever the suffix of the file.
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
_END = 4096  # bytes at either end of a compressed image that enter its content id
_LARGE = 1 << 24  # pixels; a large image may need 2 GB, so threads decode one at a time
_one_large = threading.Lock()
T = TypeVar("T")
REPLACE = "replace it or remove it from the list"
_DAMAGED = (OSError, ValueError, SyntaxError)  # of Pillow; BadInput is a ValueError
_COMPRESSED = (".jpg", ".jpeg", ".png", ".webp")


# The first bytes of files in these formats, and of others that have the ending of an image.
_HEADS = re.compile(
    rb"\xff\xd8\xff|\x89PNG|RIFF....WEBP|BM|GIF8|II[*+]\0|II\0\*|MM\0[*+]|MM\*\0|P[1-6fy]\s",
    re.DOTALL,
)
_OTHERS = {
    rb"....ftyp": ("HEIC, AVIF or a video", "convert such files to JPEG"),
    rb"\x00\x05\x16\x07": ("data of macOS on another file", "remove such files from the list"),
    rb"version http": ("a pointer of Git LFS", "fetch the images with: git lfs pull"),
    rb"\s*<": ("text, such as a web page in place of a download", "download such files again"),
    rb"\Z": ("empty", "replace such files or remove them from the list"),
}
# Endings of files with more bits, or several frames.
_HAS_MORE = (".png", ".tif", ".tiff", ".gif", ".webp", ".pgm")
_DEPTHS = (8, 10, 12, 14, 16)  # bits that cameras and scanners use of 16 or 32
_LOOKED_AT, _MEASURED = 256, 32  # files of a data set whose header is read, and whose values
_NEARLY_WHITE = 240
_FEWER = 12  # bits of images that are dark beside those of 16
_MAX_VALUE, _PHOTOMETRIC = 281, 262  # tags of TIFF


class Packed(io.BytesIO):
    """The encoded bytes of an image in an archive; messages name it as a file in a folder."""

    def __init__(self, content: bytes, archive: str, name: str) -> None:
        super().__init__(content)
        self.parent, self.name = archive, name

    def __str__(self) -> str:
        return f"{self.parent}/{self.name}"

    __format__ = object.__format__


def decode(
    path: AnyPath | Packed, depths: tuple[int, int] = (16, 16), *, least: int = 0
) -> NDArray[np.uint8]:
    """(H, W, 3) uint8 RGB, upright. Transparent parts are white; more bits are cut to 8.

    depths: the bits in use in files of 16 and of 32 bits; with 12, the value 4,095 is white. More
    are in use in an image with larger values. least: if given, a JPEG may be decoded at a fraction
    of its size with at least so many pixels on the longer side, which is faster. Raises BadInput,
    naming the file, if it is missing, truncated or not an image, or if its values are floats or
    negative, as their range is unknown.
    """
    with (
        _reading(path) as file,
        _opened(file) as image,
        _one_large if image.width * image.height > _LARGE else nullcontext(),
    ):
        if least:
            wanted = least / max(image.size)
            width, height = (max(1, int(wanted * side)) for side in image.size)
            image.draft(None, (width, height))
        depth = _depth(image, depths)
        if not depth:
            ImageOps.exif_transpose(image, in_place=True)  # broken EXIF fields only give a warning
            if image.has_transparency_data:
                return np.array(_on_ground(image))
            return np.array(image if image.mode == "RGB" else image.convert("RGB"))
        values = _values(image, file)
        shift = max(depth, _bits(int(values.max(initial=0)))) - 8
        pixels = (values >> shift).astype(np.uint8)
        if getattr(image, "tag_v2", {}).get(_PHOTOMETRIC) == 0:  # white is 0, as on X-ray film
            pixels = 255 - pixels
        return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)


@contextmanager
def _reading(path: AnyPath | Packed) -> Iterator[Path | Packed]:
    """As `reading`, also for an image in an archive."""
    if isinstance(path, Packed):
        with explaining(path, "an image", REPLACE):
            yield path
    else:
        with reading(path, "an image", REPLACE) as file:
            yield file


def _on_ground(image: Image.Image) -> Image.Image:
    """The image as viewers show it: on white, or on black if what it shows is white itself."""
    full = image.convert("RGBA")
    alpha, colours = full.getchannel("A"), full.convert("RGB")
    if alpha.getextrema()[1] == 0:  # nothing would be visible
        return colours
    white = ImageStat.Stat(colours.convert("L"), alpha).mean[0] > _NEARLY_WHITE
    return Image.composite(colours, Image.new("RGB", full.size, ("white", "black")[white]), alpha)


def _raw_mode(image: Image.Image) -> str:
    """How Pillow unpacks the pixels of an image that is not loaded yet, such as RGB;16B."""
    arguments = image.tile[0].args if getattr(image, "tile", None) else ""  # type: ignore[attr-defined]
    return str(arguments if isinstance(arguments, str) else (arguments or ("",))[0])


def _depth(image: Image.Image, depths: tuple[int, int]) -> int:
    """The bits in use in an image that is not loaded yet; 0 for one of 8 bits."""
    if image.mode in ("I", "F") and image.format == "TIFF":
        return depths[1]
    if image.format == "PPM":  # Pillow scales its values to 16 bits
        return 16 * image.mode.startswith("I")
    deep = image.mode.startswith("I") or re.match("(LA|RGB.?);16", _raw_mode(image))
    return depths[0] if deep else 0


def _values(image: Image.Image, file: Path | Packed) -> NDArray[np.integer]:
    """The values of an image of more than 8 bits, (H, W) grey or (H, W, 3), upright."""
    raw, grey = _raw_mode(image), image.mode.startswith(("I", "F"))
    ImageOps.exif_transpose(image, in_place=True)
    values = np.asarray(image)
    if image.mode == "F" or (grey and values.min(initial=0) < 0):
        kind = "floats" if image.mode == "F" else "negative values"
        raise BadInput(f"{file} holds {kind} of unknown range; save it with 8 or 16 bits")
    if grey:
        return values
    # Of each value Pillow unpacks the high byte. It is the low one in the other order of bytes.
    little = ";16L" in raw or (";16N" in raw and sys.byteorder == "little")
    other_order = raw[:-1] + ("B" if little else "L")
    with _opened(file) as again:
        (tile,) = again.tile  # type: ignore[attr-defined]
        mode = "RGBA" if raw.startswith("LA") else other_order  # grey as four bytes
        arguments = mode if isinstance(tile.args, str) else (mode, *tile.args[1:])
        again.tile = [tile._replace(args=arguments)]  # type: ignore[attr-defined]
        ImageOps.exif_transpose(again, in_place=True)
        low = np.asarray(again)
    low = low[:, :, 1:2] if raw.startswith("LA") else low[:, :, :3]
    return values[:, :, :3].astype(np.uint16) << 8 | low


def flaw(path: AnyPath | Packed) -> tuple[str, str]:
    """The kind of a file that is not an image by its first bytes, and a mend; "" for an image."""
    try:
        if isinstance(path, Packed):
            head = path.getvalue()[:16]
        else:
            with open(path, "rb", buffering=0) as stream:
                head = stream.read(16)
    except OSError:
        return "", ""  # the error is reported when the image is read
    if _HEADS.match(head):
        return "", ""
    others = (says for start, says in _OTHERS.items() if re.match(start, head, re.DOTALL))
    return next(others, ("of another kind", REPLACE))


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


@contextmanager
def _opened(file: AnyPath | Packed) -> Iterator[Image.Image]:
    """An image that is not loaded yet. Warnings of Pillow are suppressed in the block."""
    with _quiet:
        try:
            image = Image.open(file, formats=_FORMATS)
        except Image.DecompressionBombError:
            raise BadInput(f"{file} has more than 178 million pixels; scale it down") from None
        except UnidentifiedImageError:
            kind, mend = flaw(file)
            if not kind:
                raise
            raise BadInput(f"{file} cannot be read as an image ({kind}); {mend}") from None
        with image:
            yield image


def size(path: AnyPath) -> tuple[int, int]:
    """Width and height of an image, the smaller first; zeros for a damaged one."""
    try:
        with _opened(path) as image:
            return min(image.size), max(image.size)
    except _DAMAGED:
        return 0, 0


def exact(path: AnyPath) -> str:
    """Content id of all frames of an image, before its pixels are cut to 8 bits of RGB.

    Copies in another format have the same id, if no pixel changed. Raises BadInput.
    """
    with reading(path, "an image", REPLACE) as file, _opened(file) as image:
        if _depth(image, (16, 16)):
            return content_id("pixels", _values(image, file).astype(np.uint32))
        frames = []
        with suppress(*_DAMAGED):  # frames that are damaged are not seen
            for frame in ImageSequence.Iterator(image):
                upright = ImageOps.exif_transpose(frame)
                lossless = upright.mode in ("1", "L", "LA", "P", "PA", "RGB", "RGBA")
                frames.append(np.asarray(upright.convert("RGBA") if lossless else upright))
        return content_id("pixels", *frames)


def digest(stream: IO[bytes], size: int, ending: str) -> bytes:
    """Digest of an encoded image, from the start of a stream.

    For JPEG, PNG and WebP files it covers size and both ends, for others all bytes; different
    images with equal digests do not occur unless made on purpose.
    """
    if size <= 2 * _END or ending.lower() not in _COMPRESSED:
        return hashlib.sha256(stream.read()).digest()
    head = stream.read(_END)
    stream.seek(size - _END)
    return hashlib.sha256(head + stream.read() + str(size).encode()).digest()


class EncodedPictures:
    """Images that are decoded on use, with names `files`: files, or members of shards."""

    files: Any
    depths: tuple[int, int]
    place: Callable[[int], Hashable]  # an identity of an image
    select: Callable[..., Any]  # a subset in the order of an index
    _digests: Any  # of the encoded bytes of each image

    def encoded(self, rows: Sequence[int]) -> Iterable[Path | Packed]:
        """These images before they are decoded. Raises BadInput."""
        raise NotImplementedError

    def file(self, row: int) -> Path | Packed:
        """One image before it is decoded."""
        return next(iter(self.encoded([row])))

    def __len__(self) -> int:
        return len(self.files)

    def read(
        self, index: Sequence[int] | NDArray[np.integer], *, least: int = 0
    ) -> list[NDArray[np.uint8]]:
        """One (H, W, 3) uint8 RGB array for each of `index`; `least` as in `decode`.

        Raises BadInput.
        """
        images = self.encoded(np.asarray(index).reshape(-1).tolist())
        return [decode(image, self.depths, least=least) for image in images]

    @cached_property
    def id(self) -> str:
        """Content id: depends on the images' content and order, not on their names or place."""
        return self._id_of(self._digests)

    @cached_property
    def image_ids(self) -> list[str]:
        """Content id of each image."""
        return [self._id_of([each]) for each in self._digests]

    def _id_of(self, digests: Sequence[bytes]) -> str:
        return content_id("files", *digests, *[str(self.depths)] * (self.depths != (16, 16)))


@dataclass(frozen=True)
class FilePictures(EncodedPictures):
    """The image files of one split: names relative to `folder`, in the order of the images."""

    folder: Path
    files: tuple[str, ...]
    depths: tuple[int, int] = (16, 16)  # see `decode`

    def __repr__(self) -> str:
        return f"<FilePictures: {len(self.files):,} in {self.folder}>"

    @staticmethod
    def of(folder: AnyPath, files: Sequence[str], *, can_drop: bool = False) -> FilePictures:
        """Image files that exist inside the folder, checked. Raises BadInput.

        can_drop: the data set has a setting drop_missing, which the message then names.
        """
        place = expanded(folder)
        if not os.path.isdir(place):
            raise BadInput(f"{place} is not a folder; give the folder that holds the image files")
        for name in files:
            if not name or name.startswith("/") or ".." in name.split("/"):
                raise BadInput(f"image file name {name[:200]!r} is not inside {place}; correct it")
        missing = [name for name in files if not os.path.isfile(os.path.join(place, name))]
        if missing:
            path = printable(str(place / missing[0][:200]))
            drop = ", or leave them out with drop_missing=yes" if can_drop else ""
            raise BadInput(
                f"{path} does not exist ({len(missing)} of {len(files)} images are missing); give "
                f"their folder{drop * (len(missing) < len(files))}"
            )
        return FilePictures(place, tuple(files))

    @cached_property
    def _digests(self) -> tuple[bytes, ...]:
        digests = []
        for name in self.files:
            path = self.folder / name
            with reading(path, "an image", REPLACE) as file, file.open("rb") as stream:
                digests.append(digest(stream, file.stat().st_size, file.suffix))
        return tuple(digests)

    def encoded(self, rows: Sequence[int]) -> Iterator[Path]:
        return map(self.file, rows)

    def file(self, row: int) -> Path:
        """The file of an image."""
        return self.folder / self.files[row]

    place = file

    def in_browsers(self, row: int) -> bool:
        """Whether browsers show the file as `read` does: not TIFF, nor values with unused bits."""
        try:
            with _opened(self.file(row)) as image:
                return image.format not in ("TIFF", "PPM") and _depth(image, self.depths) in (0, 16)
        except _DAMAGED:
            return True  # reported by the browser

    def select(self, index: Sequence[int] | NDArray[np.integer]) -> FilePictures:
        """A subset of the images, in the order of `index`."""
        return replace(self, files=tuple(self.files[int(i)] for i in np.asarray(index)))


_P = TypeVar("_P", bound=EncodedPictures)


def with_depths(pictures: Mapping[str, _P]) -> dict[str, _P]:
    """The images of all splits with one brightness: the bits in use are measured on some of them.

    Cameras store 10, 12 or 14 bits in 16, and programs 8 in 32; as 16 bits they would be black.
    """
    by_place = {
        part.place(row): (part, row)
        for part in pictures.values()
        for row, name in enumerate(part.files)
        if name.lower().endswith(_HAS_MORE)
    }
    kinds: dict[int, list[Path | Packed]] = {0: [], 1: []}
    several = list[str]()
    looked_at = [part.file(row) for part, row in _spread([*by_place.values()], _LOOKED_AT)]
    for path in looked_at:
        try:
            with _opened(path) as image:
                kind = 0 if image.mode == "F" else _depth(image, (1, 2))
                several += [path.name] * getattr(image, "is_animated", False)
        except _DAMAGED:
            continue  # reported when the image is read
        if kind in (1, 2):
            kinds[kind - 1].append(path)
    if several:
        note(looked_at[0].parent, several, "images with several frames or pages, of which only the "
             "first is used, among those that were checked: {}; save each frame as an image to "
             "use all", total=len(looked_at))  # fmt: skip
    depths = (_depth_in_use(kinds[0], 16), _depth_in_use(kinds[1], 32))
    every: dict[str, Any] = dict(pictures)
    return {split: replace(part, depths=depths) for split, part in every.items()}


def _depth_in_use(files: list[Path | Packed], stored: int) -> int:
    """The bits in use in images with 16 or 32 bits, measured on some of them.

    Where images of 16 bits and of fewer are mixed, it is the smaller depth: `decode` reads each
    image at the depth of its values, if that is larger.
    """
    measured = {path: _brightest(path) for path in _spread(files, _MEASURED)}
    most = _bits(max(measured.values(), default=0))
    darker = {path: bits for path in measured if 0 < (bits := _bits(measured[path])) <= _FEWER}
    used = max(darker.values()) if most == 16 and darker else most
    if used in (0, 16):  # nothing but black, or bright enough
        return 16
    how = f"they are read as {used} bits ({2**used - 1:,} is white)"
    if used < most:
        how = (
            f"of {len(measured):,} that were measured, {len(darker):,} have no value above "
            f"{2**used - 1:,}, such as {next(iter(darker)).name}, and are read as {used} bits, the "
            "others as 16"
        )
    noting(files[0].parent, 4)(
        f"images with {stored} bits: {len(files):,}, such as {files[0].name}, with values up to "
        f"{max(measured.values()):,}; {how}; save them with 8 bits to choose the brightness"
    )
    return used


def _bits(value: int) -> int:
    """The bits in use in an image with this largest value."""
    bits = value.bit_length()
    return next((depth for depth in _DEPTHS if depth >= bits > 0), bits)


def _spread(files: list[T], most: int) -> list[T]:
    """At most so many of the files, at equal distances."""
    return files[:: -(-len(files) // most)] if files else []


def _brightest(path: Path | Packed) -> int:
    """The largest value in an image, or possible in it by its own account; 0 if it is damaged."""
    try:
        with _opened(path) as image:
            stated = getattr(image, "tag_v2", {}).get(_MAX_VALUE, 0)
            stated = stated[0] if isinstance(stated, tuple) else stated
            return max(int(stated), int(_values(image, path).max(initial=0)))
    except _DAMAGED:
        return 0
