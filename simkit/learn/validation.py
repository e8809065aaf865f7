"""Choosing the epoch: by labels of a validation split, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.history import content_id
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.metrics import average_precision, mean_ap

Honesty = Literal["complete", "partial", "none"]


@dataclass(frozen=True, eq=False)
class Validation:
    """Images to score after every epoch, and what is known of them.

    labels: Truth (complete, or with `known`), partial labels (scored on what is known), or None.
    What kind it was is recorded with every result, because complete labels cost money too.
    known: (N, L) bool, or None for all: entries that may count where the labels know them.
    classes: indices of those that the mean is over, or None for all.
    """

    inputs: Any
    labels: Truth | PartialLabels | None = None
    known: NDArray[np.bool_] | None = None
    classes: NDArray[np.int64] | None = None

    @property
    def kind(self) -> Honesty:
        """ "complete", "partial" or "none"."""
        if self.labels is None:
            return "none"
        complete = isinstance(self.labels, Truth) and self.labels.known is None
        return "complete" if complete else "partial"

    @property
    def id(self) -> str | None:
        """Content id of the labels, and of what counts of them where that is not everything."""
        if self.labels is None or (self.known is None and self.classes is None):
            return None if self.labels is None else self.labels.id
        counts = [np.zeros(0) if a is None else np.asarray(a) for a in (self.known, self.classes)]
        return content_id("validation", self.labels.id, *counts)

    def score(self, scores: Any) -> float:
        """mAP(C) in [0, 1] of scores (N, L), an array or a tensor; nan without anything to go by.

        A tensor is ranked on its device.
        """
        present, known = self._reference
        ap = average_precision(scores, present, known)  # of all: choosing would copy the scores
        return mean_ap(ap if self.classes is None else ap[self.classes])

    @cached_property
    def _reference(self) -> tuple[csr_array, csr_array | NDArray[np.bool_] | None]:
        """What is present and what is known, or None for all of it."""
        assert self.labels is not None
        if isinstance(self.labels, Truth):
            present, known = self.labels.present, self.labels.known
        else:
            present, known = self.labels.codes == PRESENT, self.labels.codes.astype(bool)
        if self.known is not None:
            # A dense mask stays dense: it takes a byte for each entry, sorted places nine.
            known = self.known if known is None else csr_array(known.multiply(self.known))
        return present, known


class Selection:
    """The best epoch of each run so far.

    patience counts epochs without a better one, max_drop is how far mAP may lie below the best:
    what a run does after either is not looked at, so that a run in a stack chooses as it would
    alone.
    """

    def __init__(self, runs: int, patience: int | None, max_drop: float | None = None) -> None:
        self.patience, self.max_drop = patience, max_drop
        self.best = [float("-inf")] * runs
        self.epoch = [0] * runs
        self.stopped = [False] * runs

    def see(self, run: int, epoch: int, score: float, keep: Callable[[], None]) -> None:
        """Take note of a score; `keep` is called when this epoch is the best one yet."""
        if self.stopped[run]:
            return
        score = float("-inf") if np.isnan(score) else score
        # As long as there is nothing to choose by, the last epoch is taken.
        if score > self.best[run] or self.best[run] == float("-inf"):
            self.best[run], self.epoch[run] = score, epoch
            keep()
            return
        late = self.patience is not None and epoch - self.epoch[run] >= self.patience
        low = self.max_drop is not None and self.best[run] - score > self.max_drop
        self.stopped[run] = late or low
