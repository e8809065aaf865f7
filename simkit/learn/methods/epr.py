"""Expected positive regularisation (EPR), and the mean number of positives that it wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from simkit.annotate.schemes import of_labels
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN, PartialLabels
from simkit.learn.losses import Epsilon, bce, reduce, wide
from simkit.learn.method import Method, register, sizes_of
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Positive

_COCO = 2.9  # what the published code takes, for COCO


@dataclass(frozen=True)
class ExpectedCount(Method):
    """A method with a setting, or an estimate, of how many classes an image shows on average.

    Its state holds the number as `positives`.
    """

    # Positives per image. auto: estimated from images that are labelled completely, or from rpa;
    # other labels do not tell it. The papers: VOC 1.5, COCO 2.9, NUS-WIDE 1.9, CUB 31.4.
    expected: Positive | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected == "auto" and getattr(self, "reproduce", None):
            object.__setattr__(self, "expected", _COCO)

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
        estimate = None if isinstance(task, Sizes) else positives_per_image(task.labels)
        if estimate is None:
            source = "sizes" if isinstance(task, Sizes) else "these labels"
            raise BadInput(
                f"{self.name}: the number of positives per image (expected) cannot be estimated "
                f"from {source}, only from images that are labelled completely and from labels of "
                f"scheme rpa; give it, as in {self.name}(expected={_COCO}) (the papers: VOC 1.5, "
                "COCO 2.9, NUS-WIDE 1.9, CUB 31.4)"
            )
        return estimate


def positives_per_image(labels: PartialLabels) -> float | None:
    """The mean number of classes of an image, or None where it cannot be estimated.

    It can where labels were not selected by their value: from images with all classes known while
    all others, if any, know fewer than half (`full-subset`, `mixed`, your own labels), and from
    `rpa`, which keeps present and absent labels with the same probability. A random part looks like
    a selected one, so the scheme is read from the labels' history. Errors of annotators are errors
    of the estimate, too.
    """
    scheme = of_labels(labels)
    codes, classes = labels.codes, labels.shape[1]
    simulated = "scheme" in labels.history.settings
    if not simulated or getattr(scheme, "complete_images", False):
        known = np.diff(codes.indptr)
        complete = known == classes
        if (2 * known[~complete] >= classes).any():
            return None
        codes = codes[complete]
    elif not getattr(scheme, "even", False):
        return None
    present = int(np.count_nonzero(codes.data == PRESENT))
    return classes * present / codes.nnz if present else None


@register
@dataclass(frozen=True)
class ExpectedPositives(ExpectedCount):
    """Learn from known labels, while an image shall have `expected` positives on average.

    To the mean cross-entropy of known labels (..., b, L) it adds ((mean of an image's sum of p,
    less `expected`) / L)^2. The average is over the batch, and squared afterwards: a small batch is
    a stricter rule, and a batch that is split over devices another one. Known negatives, which the
    source does not have, are learned from.
    """

    epsilon: Epsilon | None = None
    reproduce: Literal["spml", "paper"] | None = None  # paper: exact logs

    name: ClassVar[str] = "epr"
    title: ClassVar[str] = "EPR"
    gist: ClassVar[str] = "match classes per image"
    source: ClassVar[str] = "Cole et al. CVPR 2021, expected positive regularisation"
    presets: ClassVar = {"spml": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        classes = sizes_of(task).classes
        if self.expected != "auto" and self.expected > classes:
            raise BadInput(
                f"epr: expected is {self.expected} positives in an image, and there are {classes} "
                "classes; give at most as many"
            )
        return super().start(task, chance)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        known = reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")
        return known + expected_positives(out.logits, state.positives)


def expected_positives(logits: Tensor, expected: Tensor) -> Tensor:
    """The regulariser of each run, (...): squared share by which a batch's mean number is off."""
    count = torch.sigmoid(wide(logits)).sum(-1).mean(-1)
    return ((count - expected.to(count.dtype)) / logits.shape[-1]) ** 2
