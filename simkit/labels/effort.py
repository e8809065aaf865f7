"""Annotation effort: the number of questions of each kind, and of looks in searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.labels.truth import locked

QUESTIONS = {
    "verify": "is this class in this image? yes or no",
    "name": "name a class that is in this image",
    "search": "look at an image in search of one class",
    "sweep": "label this image for all of these classes",
    "descend": "is this branch of the hierarchy in this image? yes or no",
}


_MOST = 1 << 48  # largest count in a file
_COUNTED = 1 << 16  # images counted at a time; changes no result
_LONGEST = 1 << 22  # most questions about one image, and most classes, in a file

_NONE: NDArray[np.int64] = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class Effort:
    """The questions that annotators were asked; a few kilobytes for any number of images.

    questions  a histogram over images for each kind of question, int64: h[q] images have q
               questions of this kind (h[0] is not counted and stays 0). A `sweep` question is one
               class of a page. Prices by the page or by the image need the histogram, not its sum.
    looks      (L,) int64: images looked at in search of each class (kind `search`).
    workers    annotators per question; None: not stated, the price list decides.
    dropped    by kind of question: answers (of the crowd, not of each worker) that were paid for
               and are not among the labels.
    machine    images that a machine scored, to label some of them.
    The arrays are read-only copies, also after pickling and copying.
    """

    questions: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    looks: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    workers: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    machine: int = 0

    def __post_init__(self) -> None:
        locked_ones = {kind: locked(counted) for kind, counted in self.questions.items()}
        object.__setattr__(self, "questions", locked_ones)
        object.__setattr__(self, "looks", locked(self.looks))
        object.__setattr__(self, "dropped", {k: n for k, n in self.dropped.items() if n})

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def count(self, kind: str) -> int:
        """The number of questions of this kind."""
        if kind == "search":
            return int(self.looks.sum())
        histogram = self.questions.get(kind, _NONE)
        return int(histogram @ np.arange(len(histogram)))

    def images(self, kind: str) -> int:
        """The number of images with at least one question of this kind (0 for `search`)."""
        return int(self.questions.get(kind, _NONE)[1:].sum())

    def kinds(self) -> list[str]:
        """The kinds of question that were asked at least once."""
        return [kind for kind in QUESTIONS if self.count(kind)]

    def counts(self) -> dict[str, int | None]:
        """Numbers of questions by kind, with `workers` and `dropped`, for display."""
        asked: dict[str, int | None] = {kind: self.count(kind) for kind in self.kinds()}
        asked |= {"machine": self.machine} if self.machine else {}
        return asked | {"workers": self.workers, "dropped": sum(self.dropped.values())}

    def to_json(self) -> dict[str, Any]:
        """As plain values; histograms as pairs (questions, images), zeros left out."""
        pairs = {
            kind: [[int(q), int(h[q])] for q in np.flatnonzero(h)]
            for kind, h in self.questions.items()
        }
        looks = [[int(c), int(self.looks[c])] for c in np.flatnonzero(self.looks)]
        return {
            "questions": pairs,
            "looks": looks,
            "classes": len(self.looks),
            "workers": self.workers,
            "dropped": dict(self.dropped),
            **({"machine": self.machine} if self.machine else {}),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Effort:
        """Read the values of `to_json`. Raises ValueError, KeyError or the like for others."""
        questions = {str(k): _counts(pairs) for k, pairs in values["questions"].items()}
        looks = _counts(values["looks"], _whole(values["classes"]))
        workers = None if values["workers"] is None else _whole(values["workers"])
        dropped = {str(kind): _whole(count) for kind, count in values["dropped"].items()}
        return Effort(questions, looks, workers, dropped, _whole(values.get("machine", 0)))


def histogram(questions_per_image: NDArray[np.integer]) -> NDArray[np.int64]:
    """h[q] = images with q questions; h[0] is set to 0."""
    counted = np.zeros(int(questions_per_image.max(initial=-1)) + 1, np.int64)
    for start in range(0, len(questions_per_image), _COUNTED):  # bincount copies what it counts
        counted += np.bincount(
            questions_per_image[start : start + _COUNTED], minlength=len(counted)
        )
    counted[:1] = 0
    return counted


def _counts(pairs: list[list[int]], size: int | None = None) -> NDArray[np.int64]:
    """An array from pairs (index, count), of length `size` or as the largest index requires."""
    places = [_whole(place) for place, _ in pairs]
    length = 1 + max(places, default=0) if size is None else size
    if length > _LONGEST:
        raise ValueError(f"{length} entries")
    out = np.zeros(length, np.int64)
    for place, (_, count) in zip(places, pairs, strict=True):
        out[place] = _whole(count)
    return out


def _whole(value: Any) -> int:
    """A count from a file, checked."""
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(f"{value!r} is not a count")
    return value
