"""Features of pictures as values, computed here or brought along."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from simkit.embed.features.feature_folder import INDEX, KINDS, Index, Kind, Skipped
from simkit.embed.features.shards import Shards
from simkit.errors import BadInput
from simkit.files import readable
from simkit.history import History, content_id

_LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of N pictures, read-only, fp16: (N, D) when pooled, (N, D, h, w) as maps.

    values: an array, or rows that stay on disk until they are asked for.
    id: depends on the pictures, the backbone's weights, its size and the kind, or on the values
    themselves where they were brought along.  skipped: pictures that could not be read; their rows
    are zero.
    """

    values: NDArray[np.float16] | Shards
    id: str
    kind: Kind
    history: History
    skipped: tuple[Skipped, ...] = ()

    @staticmethod
    def of(values: Any) -> Features:
        """Features that were computed elsewhere, (N, D) or (N, D, h, w), any kind of float.

        Raises BadInput for other shapes and for values that fp16 cannot hold.
        """
        array = np.asarray(values)
        if array.ndim not in (2, 4) or 0 in array.shape or array.dtype.kind not in "fiu":
            raise BadInput(
                f"features have shape {array.shape} of {array.dtype}; numbers of shape (N, D) or "
                "(N, D, h, w) are expected"
            )
        if not np.isfinite(array).all() or np.abs(array).max() > _LARGEST:
            raise BadInput(
                f"features hold values that are not finite or beyond {_LARGEST:.0f}; clean or "
                "scale them first"
            )
        half = np.array(array, np.float16)
        half.flags.writeable = False
        kind: Kind = "pooled" if half.ndim == 2 else "maps"
        return Features(half, content_id("features", half), kind, History("features-of"))

    def select(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Features:
        """Features of these pictures, in this order; rows: integers, also repeated, or a mask."""
        chosen = np.arange(len(self.values))[rows]
        lost = {each.row: each for each in self.skipped}
        skipped = tuple(
            replace(lost[row], row=new) for new, row in enumerate(chosen.tolist()) if row in lost
        )
        if not isinstance(self.values, Shards):
            return replace(Features.of(self.values[chosen]), skipped=skipped)
        name = content_id(self.id, "select", chosen)
        return Features(self.values.select(chosen), name, self.kind, self.history, skipped)

    def pooled(self) -> Features:
        """The means of maps over their places; pooled features as they are."""
        if self.kind == "pooled":
            return self
        if isinstance(self.values, Shards):
            blocks = [maps.astype(np.float32).mean((2, 3)) for _, maps in self.values.blocks(256)]
            values = np.concatenate(blocks)
        else:
            values = self.values.astype(np.float32).mean((2, 3))
        found = Features.of(values)
        return Features(found.values, found.id, "pooled", self.history, self.skipped)


def read_features(path: str | os.PathLike[str], kind: Kind = "pooled") -> Features:
    """Features from a folder that `features` wrote, or the array `features` of an npz file.

    kind: which to take from a folder that holds both, in the folders pooled and maps. Raises
    BadInput for a file that has none, and for a folder whose features are not complete.
    """
    place = Path(path)
    if place.is_dir():
        found = (place, place / kind, *(place / other for other in KINDS))
        folder = next((each for each in found if (each / INDEX).is_file()), None)
        if folder is None:
            raise BadInput(
                f"{place} holds no finished features (index.json); let simkit features make them, "
                "or finish them by the same command"
            )
        index = Index.read(folder)
        return Features(
            index.values(folder), index.id, index.kind, index.history, skipped=index.skipped
        )
    file = readable(path, "features (npz)")
    try:
        with np.load(file, allow_pickle=False) as arrays:
            values = arrays["features"]
    except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError, BadZipFile):
        raise BadInput(
            f"{file} cannot be read; an npz file with an array `features` is expected"
        ) from None
    try:
        return Features.of(values)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None
