"""Notes on data before labels are bought or trained on: leaks between splits, classes without
labels.
"""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from simkit.data.dataset import SPLITS, Dataset, open
from simkit.data.images import FilePictures
from simkit.files import file_digest

_PART = 4096  # bytes of a file that are compared before the whole file is


def open_checked(spec: str) -> Dataset:
    """Open a data set as `simkit.data.open`, with notes on what makes labels or scores worthless.

    These are copies of images in several splits, empty image files, classes without a present
    label, and classes that only some splits show. Copies are files with equal content: sizes are
    compared first, so that 100,000 files take seconds. Raises BadInput.
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
        _note(data, f"{len(empty):,} image files are empty; replace them", empty)
    groups = _alike((size, file) for size, file in sized if size)
    for digest in (_middle, file_digest):
        groups = [alike for group in groups for alike in _alike((digest(f[1]), f) for f in group)]
    for first, second in combinations(SPLITS, 2):
        named = [[[p.name for s, p in group if s == split] for split in (second, first)]
                 for group in groups]  # fmt: skip
        copies = [f"{name} = {others[0]}" for names, others in named if others for name in names]
        if copies:
            of = f"{len(copies):,} of {data.truth[second].shape[0]:,} {second} images"
            _note(data, f"{of} are copies of {first} images, so that scores are too high; remove "
                  "them from one of the two splits", copies)  # fmt: skip


def _alike(keyed: Iterable[tuple[object, tuple[str, Path]]]) -> list[list[tuple[str, Path]]]:
    """Files with equal keys, where they are of more than one split."""
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
    """Warn of classes that no image shows, or only images of some splits."""
    shown = {
        split: truth.counts > 0
        for split, truth in data.truth.items()
        if split in SPLITS and (truth.known is None or truth.known.nnz)
    }
    held_out = [shown[split] for split in SPLITS[1:] if split in shown]
    absent = {"in no image": ~np.any([*shown.values()], axis=0)} if shown else {}
    if held_out and "train" in shown:
        train, scored = shown["train"], np.any(held_out, axis=0)
        absent["in no training image"] = scored & ~train
        absent["in training images only, so that they are not scored"] = train & ~scored
    for where, classes in absent.items():
        if classes.any():
            names = [data.classes[c] for c in np.flatnonzero(classes)]
            _note(data, f"{len(names):,} of {len(classes):,} classes are present {where}", names)


def _note(data: Dataset, text: str, examples: Sequence[str]) -> None:
    more = ", ..." if len(examples) > 3 else ""
    warnings.warn(f"{data.name}: {text}: {', '.join(examples[:3])}{more}", stacklevel=4)
