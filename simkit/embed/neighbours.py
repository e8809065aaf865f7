"""The nearest neighbours of every image."""

from __future__ import annotations

import os
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from simkit.embed.nearest import nearest, nearest_in_lists
from simkit.embed.unit import Rows, same_features, unit_rows
from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.history import content_id
from simkit.labels.truth import locked

NEIGHBOURS = 32
IN_LISTS_ABOVE = 1_000_000  # images; all with all take hours on a processor beyond it
_KEPT = 4  # searches that a process remembers


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The K asked images whose features are nearest to each asked image's, itself left out.

    index (N, K) int32 rows, nearest first, the smaller index first at equal distances; -1 in the
    rows of images that were not asked.  distance (N, K) float64 between features of unit length,
    Euclidean, and cosine (N, K) float64, one minus the cosine; nan where index is -1.  recall: the
    share of the true neighbours that were found, 1 by an exact search, else measured on a sample.
    inputs: the id of the features, "" where nobody said.
    """

    index: NDArray[np.int32]
    distance: NDArray[np.float64]
    cosine: NDArray[np.float64]
    recall: float = 1.0
    inputs: str = ""

    name: ClassVar[str] = "neighbours"

    @cached_property
    def id(self) -> str:
        """Content id."""
        return content_id(self.name, self.index, self.distance, self.cosine)

    @classmethod
    def wanted(cls, needs: Any) -> dict[str, Any]:
        """How to `build` them for methods with these needs."""
        return {"k": max(NEIGHBOURS, needs.neighbours)}

    @classmethod
    def build(
        cls,
        task: Any,
        *,
        train: Callable[..., Any] | None = None,
        k: int = NEIGHBOURS,
        in_lists_above: int | None = IN_LISTS_ABOVE,
    ) -> Neighbours:
        """Search among the asked images, with faiss.

        Takes some minutes on one thread for 65,000 images of 2,048 features, 25 times that for
        325,000, and less on a GPU. A process remembers its last searches.

        Parameters
        ----------
        task
            With features of N images.
        k
            Neighbours of each image; all others where there are fewer.
        in_lists_above
            More asked images than this are searched by `nearest_in_lists`, whose recall stands in
            the result and in a warning; None: the search is exact, however many there are.

        Raises
        ------
        BadInput
            For another k, and where the task has no features.
        """
        if k != int(k) or k < 1:
            raise BadInput(f"neighbours: k is {k}; a whole number of at least 1 is expected")
        k, asked = int(k), np.asarray(task.labels.asked)
        features = None if task.inputs is None else task.inputs.id
        in_lists = in_lists_above is not None and int(asked.sum()) > in_lists_above
        key = content_id(str(features), asked, str(k), str(in_lists))
        if key not in _recent:
            found = cls._searched(unit_rows(task, "neighbours"), asked, k, in_lists)
            _recent[key] = replace(found, inputs=features or "")
            if in_lists:
                warnings.warn(_in_part(int(asked.sum()), found.recall), stacklevel=2)
        _recent.move_to_end(key)
        while len(_recent) > _KEPT:
            _recent.popitem(last=False)
        return _recent[key]

    @classmethod
    def _searched(
        cls, features: Rows, asked: NDArray[np.bool_], k: int, in_lists: bool
    ) -> Neighbours:
        found, recall = nearest_in_lists(features, k) if in_lists else (nearest(features, k), 1.0)
        rows, shape = np.flatnonzero(asked), (len(asked), found.place.shape[1])
        index = np.full(shape, -1, np.int32)
        index[rows] = rows[found.place]
        values = np.full((2, *shape), np.nan)
        values[0, rows], values[1, rows] = found.distance, found.cosine
        return cls(locked(index), locked(values[0]), locked(values[1]), recall)

    def fits(self, task: Any) -> bool:
        """Whether these may be of the task: its asked images and, where both are known, features.

        Whoever trains on pictures or maps may take neighbours by other features.
        """
        if len(self.index) != len(task.labels.asked):
            return False
        if self.index.shape[1] and ((self.index[:, 0] >= 0) != task.labels.asked).any():
            return False
        return same_features(self.inputs, task)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file of index, distance, cosine, recall and the id of the features."""
        arrays: dict[str, Any] = {"index": self.index, "distance": self.distance}
        arrays |= {"cosine": self.cosine, "recall": np.float64(self.recall)}
        arrays["inputs"] = np.array(self.inputs)
        with whole(path) as part, open(part, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Neighbours:
        """Read what `save` wrote. Raises BadInput for another file."""
        found = readable(path, "neighbours (npz)")
        try:
            with np.load(found, allow_pickle=False) as file:
                index, distance, cosine = file["index"], file["distance"], file["cosine"]
                recall = float(file["recall"]) if "recall" in file else 1.0
                inputs = str(file["inputs"]) if "inputs" in file else ""
            fits = index.ndim == 2 and index.shape == distance.shape == cosine.shape
            fits &= index.dtype == np.int32 and distance.dtype == cosine.dtype == np.float64
            fits &= bool(((index >= -1) & (index < len(index))).all())
            if not fits:
                raise ValueError
        except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError, BadZipFile):
            raise BadInput(
                f"{found} cannot be read as neighbours; a file that Neighbours.save wrote is "
                "expected"
            ) from None
        return cls(locked(index), locked(distance), locked(cosine), recall, inputs)


def _in_part(n: int, recall: float) -> str:
    return (
        f"neighbours of {n:,} images were searched in lists, which finds {recall:.1%} of them by "
        "a sample; Neighbours.build(task, in_lists_above=None) finds all and takes longer"
    )


_recent: OrderedDict[str, Neighbours] = OrderedDict()
