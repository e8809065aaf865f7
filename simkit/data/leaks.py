"""Notes on data before labels are bought or trained on: leaks between splits, classes without
labels.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np

from simkit.data.dataset import SPLITS, Dataset, open
from simkit.data.images import FilePictures, exact, flaw, size
from simkit.errors import BadInput, note
from simkit.files import file_digest

_PART = 4096  # bytes of a file that are compared before the whole file is
_FEW, _PIXELS = 20_000, 1 << 29  # images whose size is read, and pixels that are compared: seconds

_File = tuple[str, Path]  # split and path


def open_checked(spec: str, *, asked: str = "") -> Dataset:
    """Open a data set as `simkit.data.open` does, with notes on problems of its labels or scores.

    Notes name copies of images in several splits, files that are no images, classes without a
    present label, and classes that occur in some splits only. Copies are files with equal content.
    Sizes are compared first, so that 100,000 files take seconds. In data sets of up to 20,000
    images, copies are also images with equal pixels, as in another format; of those with equal
    width and height, the first 500 million pixels are compared. Raises BadInput.

    asked: a split to be labelled; copies within it are named too, as each would be paid for.
    """
    data = open(spec)
    _note_copies(data, asked)
    _note_classes(data)
    return data


def _note_copies(data: Dataset, asked: str) -> None:
    """Warn of files that are no images and of images that occur several times."""
    files = [
        (split, part.folder / name)
        for split, part in data.pictures.items()
        if split in SPLITS and isinstance(part, FilePictures)
        for name in part.files
    ]
    flaws = {path: each for _, path in files if (each := flaw(path))[0]}
    for kind, mend in dict.fromkeys(flaws.values()):
        names = [path.name for path, each in flaws.items() if each == (kind, mend)]
        note(data.name, names, f"files that cannot be read as images ({kind}): {{}}; {mend}")
    files = [(split, path) for split, path in files if path not in flaws]
    groups = [files]
    for digest in (lambda path: path.stat().st_size, partial(_part, 0.5), file_digest):
        groups = _alike(groups, digest, asked)
    groups += _same_pixels(files, asked)
    for first, second in [*combinations(SPLITS, 2), (asked, asked)]:
        copies = dict[Path, str]()
        for group in groups:
            originals, others = ([p for split, p in group if split == s] for s in (first, second))
            for path in others[first == second :] if originals else ():
                copies.setdefault(path, f"{path.name} = {originals[0].name}")
        what = f"{second} images that are copies of {first} images and make scores too high: {{}}; "
        what += "remove them from one of the two splits"
        if first == second:
            what = "copies of other images, which people would answer again: {}; remove them"
        if copies:
            note(data.name, [*copies.values()], what, total=data.truth[second].shape[0])


def _alike(
    groups: Iterable[list[_File]], form: Callable[[Path], object], asked: str
) -> list[list[_File]]:
    """The groups divided by a form of the files; only those of several splits, or of `asked`."""
    divided = list[list[_File]]()
    for group in groups:
        alike = defaultdict[object, list[_File]](list)
        for split, path in group:
            alike[form(path)].append((split, path))
        divided += alike.values()
    several = lambda splits: len({*splits}) > 1 or splits.count(asked) > 1  # noqa: E731
    return [group for group in divided if several([split for split, _ in group])]


def _same_pixels(files: list[_File], asked: str) -> list[list[_File]]:
    """Groups of images with equal pixels, as far as there is time for it."""
    pixels, groups = 0, list[list[_File]]()
    for group in sorted(_alike([files] * (len(files) <= _FEW), size, asked), key=len):
        one = math.prod(size(group[0][1]))
        lossy = all(path.suffix.lower().startswith((".jp", ".jf")) for _, path in group)
        # Of many JPEG files, those with equal ends: most differ only in remarks at the start.
        many = lossy and len(group) * one > _PIXELS >> 2
        for alike in _alike([group], partial(_part, 1), asked) if many else [group]:
            pixels += len(alike) * one
            groups += [alike] * (pixels <= _PIXELS)
    paths = [path for group in groups for _, path in group]
    with ThreadPoolExecutor() as pool:
        ids = dict(zip(paths, pool.map(_pixels, paths), strict=True))
    return _alike(groups, ids.__getitem__, asked)


def _pixels(path: Path) -> object:
    file = path.stat()
    return _pixels_of(path, file.st_size, file.st_mtime_ns)


@lru_cache(maxsize=_FEW)
def _pixels_of(path: Path, size: int, changed: int) -> object:
    """The content of a file as it is now: one process often opens the same data set again."""
    try:
        return exact(path)
    except BadInput:  # reported when the image is read
        return path


def _part(place: float, path: Path) -> bytes:
    """Bytes of a file at a place from 0 to 1; in the middle different images differ."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(int(place * max(0, os.fstat(stream.fileno()).st_size - _PART)))
        return stream.read(_PART)


def _note_classes(data: Dataset) -> None:
    """Warn of classes that occur in no image, or in some splits only."""
    shown = {
        split: truth.counts > 0
        for split, truth in data.truth.items()
        if split in SPLITS and (truth.known is None or truth.known.nnz)
    }
    held_out = [shown[split] for split in SPLITS[1:] if split in shown]
    absent = {"present in no image": ~np.any([*shown.values()], axis=0)} if shown else {}
    if held_out and "train" in shown:
        train, scored = shown["train"], np.any(held_out, axis=0)
        absent["present in no training image"] = scored & ~train
        absent["present in training images only, and so not scored"] = train & ~scored
    for where, classes in absent.items():
        if classes.any():
            names = [data.classes[c] for c in np.flatnonzero(classes)]
            note(data.name, names, f"classes {where}: {{}}", total=len(classes))
