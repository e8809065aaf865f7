"""Notes on data before labels are bought or trained on: leaks between splits, classes without
labels.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np

from simkit.data.dataset import SPLITS, Dataset, open
from simkit.data.images import FilePictures
from simkit.files import file_digest
from simkit.labels.formats.base import note

_PART = 4096  # bytes of a file that are compared before the whole file is


def open_checked(spec: str) -> Dataset:
    """Open a data set as `simkit.data.open` does, with notes on problems of its labels or scores.

    Notes name copies of images in several splits, empty image files, classes without a present
    label, and classes that occur in some splits only. Copies are files with equal content. Sizes
    are compared first, so that 100,000 files take seconds. Raises BadInput.
    """
    data = open(spec)
    _note_copies(data)
    _note_classes(data)
    return data


def _note_copies(data: Dataset) -> None:
    """Warn of empty files and of images that are in several splits."""
    files = [
        (split, part.folder / name)
        for split, part in data.pictures.items()
        if split in SPLITS and isinstance(part, FilePictures)
        for name in part.files
    ]
    sized = [(os.stat(path).st_size, (split, path)) for split, path in files]
    if empty := [path.name for size, (_, path) in sized if not size]:
        note(data.name, empty, "empty image files: {}; replace them")
    groups = _alike((size, file) for size, file in sized if size)
    for digest in (_middle, file_digest):
        groups = [alike for group in groups for alike in _alike((digest(f[1]), f) for f in group)]
    for first, second in combinations(SPLITS, 2):
        named = [[[p.name for s, p in group if s == split] for split in (second, first)]
                 for group in groups]  # fmt: skip
        copies = [f"{name} = {others[0]}" for names, others in named if others for name in names]
        if copies:
            what = f"{second} images that are copies of {first} images and make scores too high"
            note(data.name, copies, f"{what}: {{}}; remove them from one of the two splits",
                 total=data.truth[second].shape[0])  # fmt: skip


def _alike(keyed: Iterable[tuple[object, tuple[str, Path]]]) -> list[list[tuple[str, Path]]]:
    """Groups of files with equal keys from more than one split."""
    groups: dict[object, list[tuple[str, Path]]] = defaultdict(list)
    for key, file in keyed:
        groups[key].append(file)
    return [group for group in groups.values() if len({split for split, _ in group}) > 1]


def _middle(path: Path) -> bytes:
    """Bytes from the middle of a file, where different images differ."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - _PART) // 2)
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
