"""The cache folder: features and decoded images, kept for later runs until they are pruned."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from simkit.errors import BadInput
from simkit.files import writing

FEATURES, PICTURES = "features", "pictures"  # folders in the cache
_DAY = 24 * 3600.0


def cache_folder() -> Path:
    """`$SIMKIT_CACHE`, else the platform's standard cache folder of the user."""
    if os.environ.get("SIMKIT_CACHE"):
        return Path(os.environ["SIMKIT_CACHE"])
    return Path(platformdirs.user_cache_dir("simkit", appauthor=False))


def mark_used(folder: Path) -> None:
    """Record that a folder of the cache is in use now."""
    with suppress(OSError):  # a cache that is only readable
        os.utime(folder)


@dataclass(frozen=True)
class Pruned:
    """The numbers of folders and bytes that `prune` removed from the cache folder, and left."""

    folder: Path
    removed: int
    removed_bytes: int
    left: int
    left_bytes: int


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

    Raises BadInput for a negative number of days, and if they cannot be removed.
    """
    if not days >= 0:
        raise BadInput(f"prune is {days:g}; give a number of days from 0 on")
    cache, now = cache_folder(), time.time()
    removed, left = list[int](), list[int]()
    for folder in _folders(cache):
        files = list[os.stat_result]()
        for file in (folder, *folder.rglob("*")):
            with suppress(FileNotFoundError):  # another process writes in it, or removed it
                files.append(file.lstat())
        size = sum(file.st_size for file in files[1:])
        # A pass that is under way writes into its folder.
        if files and now - max(file.st_mtime for file in files) < days * _DAY:
            left.append(size)
            continue
        with writing(folder), suppress(FileNotFoundError):
            shutil.rmtree(folder)
        removed.append(size)
    return Pruned(cache, len(removed), sum(removed), len(left), sum(left))
