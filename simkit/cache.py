"""The cache folder: features and decoded images, kept for later runs until they are pruned."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from simkit.errors import BadInput
from simkit.files import NotWritten, writing

FEATURES, PICTURES = "features", "pictures"  # folders in the cache
INDEX = "index.json"  # in a folder of finished features
_HOUR = 3600.0
_DAY = 24 * _HOUR


def cache_folder() -> Path:
    """`$SIMKIT_CACHE`, else the platform's standard cache folder of the user."""
    if os.environ.get("SIMKIT_CACHE"):
        return Path(os.environ["SIMKIT_CACHE"])
    return Path(platformdirs.user_cache_dir("simkit", appauthor=False))


def mark_used(folder: Path) -> None:
    """Record that a folder of the cache is in use now."""
    with suppress(OSError):  # a cache that is only readable
        os.utime(folder)


@contextmanager
def in_cache(folder: Path) -> Iterator[None]:
    """Within the block, errors of writing to a `folder` in the cache name SIMKIT_CACHE."""
    try:
        yield
    except NotWritten as error:
        if not folder.absolute().is_relative_to(cache_folder().absolute()):
            raise
        mend = "set SIMKIT_CACHE to a writable folder, as in: export SIMKIT_CACHE=FOLDER"
        raise NotWritten(error.target, error.reason, mend) from None


@dataclass(frozen=True)
class Pruned:
    """The numbers of folders and bytes that `prune` removed from the cache folder, and left.

    running: of those left, folders of passes that may be under way.
    """

    folder: Path
    removed: int
    removed_bytes: int
    left: int
    left_bytes: int
    running: int = 0


def _folders(cache: Path) -> list[Path]:
    """The folders of features and decoded images. They are named by content ids: folders with other
    names may be those of somebody who works in the cache folder."""
    found = set[Path]()
    for kind in (FEATURES, PICTURES):
        for file in (cache / kind).rglob("*.npy"):
            names = file.parent.relative_to(cache / kind).parts
            if names and all(re.fullmatch("[0-9a-f]{16}", name) for name in names):
                found.add(file.parent)
    return sorted(found)


def prune(days: float) -> Pruned:
    """Remove features and decoded images from the cache that were not used for so many days.

    Unfinished features that were written to within an hour stay, as their pass may be under way.
    Raises BadInput for a negative number of days, and if they cannot be removed.
    """
    if not days >= 0:
        raise BadInput(f"prune is {days:g}; give a number of days from 0 on")
    cache, now = cache_folder(), time.time()
    removed, left, running = list[int](), list[int](), 0
    for folder in _folders(cache):
        files = list[os.stat_result]()
        for file in (folder, *folder.rglob("*")):
            with suppress(FileNotFoundError):  # another process writes in it, or removed it
                files.append(file.lstat())
        size = sum(file.st_size for file in files[1:])
        age = now - max((file.st_mtime for file in files), default=0.0)
        finished = (folder / INDEX).is_file() or (cache / FEATURES) not in folder.parents
        if age < days * _DAY or (age < _HOUR and not finished):
            left.append(size)
            running += age >= days * _DAY
            continue
        with writing(folder), suppress(FileNotFoundError):
            shutil.rmtree(folder)
        removed.append(size)
    return Pruned(cache, len(removed), sum(removed), len(left), sum(left), running)
