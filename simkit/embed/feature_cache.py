"""Where features are kept: in a folder of one's own, or in the cache.

The cache has one row for each image, network, size and kind, whichever pass computed it, so that
data sets with the same images share features.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.cache import FEATURES, INDEX, cache_folder, mark_used
from simkit.data.dataset import Pictures, content_ids
from simkit.embed.decoding import FIT
from simkit.embed.feature_files import (
    MISSING,
    FeatureWriter,
    Index,
    Kind,
    MappedRows,
    Skipped,
    begun,
    image_ids,
    stored,
)
from simkit.embed.networks import Backbone
from simkit.history import History, content_id


@dataclass(frozen=True, eq=False)
class Stored:
    """The features of N images that are on disk.

    Attributes
    ----------
    rows
        (N,) place of each image in the folders, one after the other; MISSING for other images.
    folders
        A folder of each pass through the network, with its index.
    """

    rows: NDArray[np.int64]
    folders: tuple[tuple[Path, Index], ...]

    def skipped(self, names: NDArray[Any]) -> tuple[Skipped, ...]:
        """The unreadable images. names: (N,)."""
        lost, start = dict[int, Skipped](), 0
        for _, index in self.folders:
            lost |= {start + each.row: each for each in index.skipped}
            start += index.shape[0]
        return tuple(
            replace(lost[place], row=row, image=str(names[row]))
            for row, place in enumerate(self.rows.tolist() if lost else ())
            if place in lost
        )

    def values(self, row_shape: tuple[int, ...]) -> MappedRows:
        """The features, memory-mapped. Raises BadInput for damaged ones."""
        files = [file for folder, index in self.folders for file in index.values(folder).files]
        for folder, _ in self.folders:
            mark_used(folder)
        # Rows in the order of one file are read faster.
        total = sum(index.shape[0] for _, index in self.folders)
        same = len(files) == 1 and np.array_equal(self.rows, np.arange(total))
        return MappedRows(tuple(files), None if same else self.rows, row_shape)


@dataclass(frozen=True, eq=False)
class Place:
    """Where the features of one split and kind are kept.

    Attributes
    ----------
    kind
        Of the features.
    folder
        For these features alone, or that of their network in the cache, with a folder for each
        pass.
    key
        Content hash of images, network, size and kind.
    images
        (N,) content ids of the images; None in a folder for these features alone.
    network
        What else the features depend on.
    """

    kind: Kind
    folder: Path
    key: str
    images: NDArray[np.bytes_] | None
    network: tuple[str, ...]
    N: int

    @staticmethod
    def of(
        pictures: Pictures,
        backbone: Backbone,
        kind: Kind,
        cache: str | os.PathLike[str] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> Place:
        """The place in the folder `out`, or else in a cache, by default the user's."""
        network, N = (backbone.id, kind, str(backbone.size), FIT), len(pictures)
        key = content_id("features", pictures.id, *network)
        if out is not None:
            return Place(kind, Path(out) / kind, key, None, network, N)
        shelf = Path(cache_folder() if cache is None else cache) / FEATURES / content_id(*network)
        ids = np.array(content_ids(pictures), np.bytes_)
        return Place(kind, shelf, key, ids, network, N)

    @property
    def begun(self) -> bool:
        """Whether a pass over all images is under way; always in a folder of one's own."""
        return self.images is None or begun(self.folder / self.key)

    def stored(self) -> Stored:
        """The features of these images from finished passes."""
        rows, folders, start = np.full(self.N, MISSING, np.int64), [], 0
        if self.images is None:
            index = stored(self.folder, self.key)
            return Stored(np.arange(self.N), ((self.folder, index),)) if index else Stored(rows, ())
        for made in sorted(file.parent for file in self.folder.glob(f"*/{INDEX}")):
            index = stored(made, made.name)
            held = None if index is None else image_ids(made, index.shape[0])
            if index is None or held is None:
                continue
            order = held.argsort()
            place = np.searchsorted(held, self.images, sorter=order).clip(max=len(held) - 1)
            here = (held[order[place]] == self.images) & (rows == MISSING)
            if here.any():
                rows[here] = start + order[place][here]
                folders.append((made, index))
                start += index.shape[0]
        return Stored(rows, tuple(folders))

    def writer(
        self, rows: NDArray[np.int64], row_shape: tuple[int, ...], history: History
    ) -> FeatureWriter:
        """A writer of the features of these images."""
        shape = (len(rows), *row_shape)
        if self.images is None:
            return FeatureWriter(self.folder, Index(self.key, self.kind, shape, history))
        images, key = self.images[rows], self.key
        if len(rows) < self.N:
            key = content_id("features", *images.tolist(), *self.network)
        return FeatureWriter(self.folder / key, Index(key, self.kind, shape, history), images)
