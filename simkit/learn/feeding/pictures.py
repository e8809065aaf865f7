"""Pictures of one size, decoded once: in memory, or in files that the next training opens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from simkit.data.dataset import Pictures
from simkit.embed.features.decoding import cores, fit
from simkit.embed.features.features import cache_folder
from simkit.errors import BadInput, whole_number
from simkit.files import whole
from simkit.history import content_id

Form = Literal["square", "centre"]
_MEMORY = 4 << 30  # bytes that are kept in memory where no folder is named
_ROWS = 1024  # pictures in a file, at least
_FILES = 512  # at most: each stays open


class SizedPictures:
    """N pictures (N, 3, size, size) uint8, in one array or in several files of equal length.

    `pictures[[5, 1]]` gives an array of these rows. id names the pictures and how they were sized.
    """

    def __init__(self, parts: Sequence[NDArray[np.uint8]], id: str) -> None:
        self._parts = parts
        self._each = max(1, len(parts[0]))
        self.shape = (sum(map(len, parts)), *parts[0].shape[1:])
        self.id = id

    @property
    def nbytes(self) -> int:
        """Bytes of all pictures."""
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[np.uint8]:
        """The rows at an array of integers, 0..N-1, as a copy."""
        rows = np.asarray(index)
        if len(self._parts) == 1:
            return np.take(self._parts[0], rows, axis=0)
        found = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for place, row in enumerate(rows.tolist()):
            found[place] = self._parts[row // self._each][row % self._each]
        return found


def sized(
    pictures: Pictures,
    size: int,
    *,
    form: Form = "square",
    cache: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SizedPictures:
    """Decode all pictures to `size` by `size` pixels.

    form: "square" brings the whole picture to a square, as the papers do (bilinear, smoothed, as
    Pillow resizes); "centre" keeps its form and cuts out the middle, as for ImageNet networks.
    cache: the folder where they are kept as files of 1,024 pictures or more, each of which appears
    whole; a second call opens them, and one that was interrupted goes on. By default pictures of up
    to 4 GiB are kept in memory alone and more in the cache folder ($SIMKIT_CACHE).
    threads: by default as many as cores.  progress: called with (pictures done, pictures).
    Raises BadInput for a picture that cannot be read, and where the folder has no room.
    """
    size = _checked(size, form)
    N, shape = len(pictures), (3, size, size)
    if not N:
        raise BadInput("there are no pictures to decode; open a data set that has some")
    key = content_id(f"sized 1 {form} {size}", pictures.id)
    fill = partial(_fill, pictures, form, cores() if threads is None else threads)
    told = progress or (lambda done, of: None)
    if cache is None and N * 3 * size**2 <= _MEMORY:
        values = np.empty((N, *shape), np.uint8)
        for start in range(0, N, _ROWS):
            fill(start, values[start : start + _ROWS])
            told(min(start + _ROWS, N), N)
        return SizedPictures([values], key)
    folder = Path(cache_folder() if cache is None else cache) / "pictures" / key
    each = max(_ROWS, -(-N // _FILES))
    parts = {
        start: (folder / f"{start // each:05}.npy", (min(each, N - start), *shape))
        for start in range(0, N, each)
    }
    _check_room(folder, [shape for file, shape in parts.values() if not _holds(file, shape)])
    for start, (file, part) in parts.items():
        if not _holds(file, part):
            with whole(file) as beside:
                values = np.lib.format.open_memmap(beside, "w+", np.uint8, part)
                fill(start, values)
                values.flush()
        told(start + part[0], N)
    return SizedPictures([_opened(file) for file, _ in parts.values()], key)


def _checked(size: int, form: str) -> int:
    if form not in get_args(Form):
        raise BadInput(f"form is {form!r}; {' or '.join(get_args(Form))} is expected")
    found = whole_number(size, "the size of pictures")
    if found < 1:
        raise BadInput(f"the size of pictures is {found}; a number of pixels from 1 on is expected")
    return found


def _fill(
    pictures: Pictures, form: Form, threads: int, start: int, values: NDArray[np.uint8]
) -> None:
    """Write the pictures from row `start` on into values (n, 3, size, size)."""
    size = values.shape[-1]

    def one(place: int) -> None:
        values[place] = _sized(pictures.read([start + place])[0], size, form)

    if threads < 2:
        for place in range(len(values)):
            one(place)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="decode")
    try:
        for _ in pool.map(one, range(len(values))):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def _sized(picture: NDArray[np.uint8], size: int, form: Form) -> NDArray[np.uint8]:
    """(H, W, 3) to (3, size, size)."""
    if form == "centre":
        return fit(picture, size).numpy()
    if picture.shape[:2] != (size, size):
        resized = Image.fromarray(picture).resize((size, size), Image.Resampling.BILINEAR)
        picture = np.asarray(resized)
    return picture.transpose(2, 0, 1)


def _opened(file: Path) -> NDArray[np.uint8]:
    mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    return np.asarray(mapped)  # a plain array over the map is faster to index


def _holds(file: Path, shape: tuple[int, ...]) -> bool:
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return False
    return bool(found.shape == shape and found.dtype == np.uint8 and found.flags.c_contiguous)


def _check_room(folder: Path, missing: Sequence[tuple[int, ...]]) -> None:
    needed = sum(int(np.prod(shape)) for shape in missing)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be written ({error.strerror}); choose another place for decoded "
            "pictures"
        ) from None
    if needed > free:
        raise BadInput(
            f"the decoded pictures take {needed / 1e9:.1f} GB and {folder} has {free / 1e9:.1f} GB "
            "left; make room, or choose another folder or a smaller size"
        )
