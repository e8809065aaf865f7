"""Choosing the epoch: by labels of a validation split, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.metrics import average_precision, mean_ap

Honesty = Literal["complete", "partial", "none"]


@dataclass(frozen=True, eq=False)
class Validation:
    """Images to score after every epoch, and what is known of them.

    labels: Truth (complete, or with `known`), partial labels (scored on what is known), or None.
    What kind it was is recorded with every result, because complete labels cost money too.
    """

    inputs: Any
    labels: Truth | PartialLabels | None = None

    @property
    def kind(self) -> Honesty:
        """ "complete", "partial" or "none"."""
        if self.labels is None:
            return "none"
        complete = isinstance(self.labels, Truth) and self.labels.known is None
        return "complete" if complete else "partial"

    @property
    def id(self) -> str | None:
        """Content id of the labels."""
        return None if self.labels is None else self.labels.id

    def score(self, scores: NDArray[np.float32]) -> float:
        """mAP(C) in [0, 1] of scores (N, L); nan where there is nothing to score by."""
        if isinstance(self.labels, Truth):
            return mean_ap(average_precision(scores, self.labels.present, self.labels.known))
        assert self.labels is not None
        codes = self.labels.codes
        known = codes.astype(bool)
        return mean_ap(average_precision(scores, codes == PRESENT, known))


class Selection:
    """The best epoch of each run so far.

    patience counts epochs without a better one: what a run does after that is not looked at, so
    that a run in a stack chooses as it would alone.
    """

    def __init__(self, runs: int, patience: int | None) -> None:
        self.patience = patience
        self.best = [float("-inf")] * runs
        self.epoch = [0] * runs
        self.stopped = [False] * runs

    def see(self, run: int, epoch: int, score: float, keep: Callable[[], None]) -> None:
        """Take note of a score; `keep` is called when this epoch is the best one yet."""
        if self.stopped[run]:
            return
        score = float("-inf") if np.isnan(score) else score
        if score > self.best[run] or self.epoch[run] == 0:
            self.best[run], self.epoch[run] = score, epoch
            keep()
        elif self.patience is not None and epoch - self.epoch[run] >= self.patience:
            self.stopped[run] = True
