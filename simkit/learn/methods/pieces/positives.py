"""The mean number of positives of an image: what EPR, ROLE, EN and EP have to know beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.learn.methods.base import Method, Needs, Sizes, Task

_COCO = 2.9  # what the published code takes, for COCO


@dataclass(frozen=True)
class ExpectedCount(Method):
    """A method that is given, or estimates, how many classes an image shows on average.

    Its state holds the number as `positives`.
    """

    # Positives per image. auto: estimated from images that are labelled completely, or from rpa;
    # other labels do not tell it. The papers: VOC 1.5, COCO 2.9, NUS-WIDE 1.9, CUB 31.4.
    expected: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected == "auto" and getattr(self, "reproduce", None):
            object.__setattr__(self, "expected", _COCO)
        if self.expected != "auto" and not self.expected > 0:
            raise BadInput(
                f"{self.name}: expected is {self.expected}; a number of positives above 0 is "
                "expected"
            )

    @property
    def needs(self) -> Needs:
        return Needs(labels=self.expected == "auto")

    def state_bytes(self, sizes: Sizes) -> int:
        return 8

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        return {"expected": self._positives(task)} if self.expected == "auto" else {}

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        positives = self._positives(task)
        state = super().start(task, chance)
        state.register_buffer("positives", torch.tensor(positives, dtype=torch.float64))
        return state

    def _positives(self, task: Task | Sizes) -> float:
        if self.expected != "auto":
            return self.expected
        found = None if isinstance(task, Sizes) else positives_per_image(task.labels)
        if found is None:
            what = "sizes" if isinstance(task, Sizes) else "these labels"
            raise BadInput(
                f"{self.name}: the number of positives per image (expected) cannot be estimated "
                f"from {what}, only from images that are labelled completely and from labels of "
                f"scheme rpa; give it, as in {self.name}(expected={_COCO}) (the papers: VOC 1.5, "
                "COCO 2.9, NUS-WIDE 1.9, CUB 31.4)"
            )
        return found


def positives_per_image(labels: PartialLabels) -> float | None:
    """The mean number of classes an image shows, or None where the labels do not tell it.

    Labels tell it where they were not selected by their value. That is so for images with all
    classes known while all others, if any, know fewer than half (`full-subset`, `mixed`, labels of
    one's own), and for `rpa`, which keeps present and absent labels with the same probability. A
    random part cannot be told from a selected one by the labels themselves, so the scheme is read
    from their history. Errors of annotators are errors of the estimate, too.
    """
    scheme = str(labels.history.settings.get("scheme", "")).partition("(")[0]
    codes, classes = labels.codes, labels.shape[1]
    if scheme in ("", "full-subset", "mixed"):
        known = np.diff(codes.indptr)
        complete = known == classes
        if (2 * known[~complete] >= classes).any():
            return None
        codes = codes[complete]
    elif scheme != "rpa":
        return None
    present = int(np.count_nonzero(codes.data == PRESENT))
    return classes * present / codes.nnz if present else None
