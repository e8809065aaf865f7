"""Expected negatives (EN), and the expected positives that EN and EP share.

Source: Verelst et al., Spatial Consistency Loss for Training Multi-Label Classifiers from
Single-Label Annotations, WACV 2023.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import bce, reduce
from simkit.learn.method import register
from simkit.learn.methods.epr import ExpectedCount
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Range

Mu = Annotated[float, Range(0, below=1)]
Counts = Literal["normalised", "literal"]
SCORE_BYTES = 8  # float64: each score is a sum over all epochs, and the ranking compares them


@dataclass(frozen=True)
class Expecting(ExpectedCount):
    """What EN and EP have in common; the expected positives are `state.expected` (N, L) bool.

    In the first epoch only known positives are expected, so both equal AN. After every epoch a
    class is expected in the images that score highest for it, as many as are expected to show it.
    Scores (N, L) are moving averages of probabilities, s = mu s + (1 - mu) p at every visit. Known
    labels overrule them, whatever their rank.
    """

    mu: Mu = 0.8
    # literal is the paper's K * count, which fits single positives alone; the two agree there.
    expected_counts: Counts = "normalised"
    # unknown: the images whose label is known leave the ranking and are subtracted from the count.
    ranking: Literal["all", "unknown"] = "all"

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    def state_bytes(self, sizes: Sizes) -> int:
        each = SCORE_BYTES + (1 if self.ranking == "all" else 2)
        tables = sizes.images * sizes.classes * each + 8 * sizes.classes
        return super().state_bytes(sizes) + tables

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        start_scores(state, task)
        state.register_buffer("expected", state.scores == 1)
        positives = task.labels.per_class(PRESENT)
        if self.expected_counts == "normalised":
            self._warn_if_flat(positives)
        each = state.positives.item()
        counts = expected_counts(positives, len(task.rows), each, self.expected_counts)
        if self.ranking == "unknown":
            unknown = _dense(task) == UNKNOWN
            state.register_buffer("unknown", torch.from_numpy(unknown))
            counts = np.clip(counts - positives, 0, unknown[task.rows].sum(0))
        state.register_buffer("counts", torch.from_numpy(counts))
        state.for_training = ("scores", "unknown")
        return state

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels that are expected to be present."""
        return state.expected.index_select(-2, batch.index) & (batch.labels == UNKNOWN)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        update_scores(state, batch, out, self.mu)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        ranked = state.scores
        if self.ranking == "unknown":
            ranked = ranked.masked_fill(~state.unknown, -1.0)
        state.expected.copy_(highest(ranked, state.counts))

    def _warn_if_flat(self, positives: NDArray[np.int64]) -> None:
        most, classes = int(positives.max(initial=0)), len(positives)
        if classes > 3 and most > 1 and np.count_nonzero(positives == most) * 2 > classes:
            warnings.warn(
                f"method {self.name!r} takes the number of known positives of a class for its "
                f"frequency, and most classes have {most} here, as if labels were given out in "
                "fixed numbers; the expected positives will be as even",
                stacklevel=3,
            )


@register
@dataclass(frozen=True)
class ExpectedNegative(Expecting):
    """Assume negative, but leave out the unknown labels that are expected to be present.

    The loss is the mean over all labels (..., b, L), with 0 for those left out. The paper counts
    the number of positives per image (`expected`) on complete validation labels.
    """

    name: ClassVar[str] = "en"
    title: ClassVar[str] = "EN"
    gist: ClassVar[str] = "likely ones are not absent"
    alternative: ClassVar = {"mu": 0.5}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT)
        return reduce(values.masked_fill(self.selected(batch, out, state), 0.0), "mean_all")


def start_scores(state: nn.Module, task: Task) -> None:
    """Register `scores` (N, L) float64: 1 where a label is known to be present, else 0."""
    present = torch.from_numpy(_dense(task) == PRESENT)
    state.register_buffer("scores", present.double())


def update_scores(state: nn.Module, batch: Batch, out: Outputs, mu: float) -> None:
    """Move the scores of the batch's images towards what the model says: s = mu s + (1 - mu) p."""
    said = torch.sigmoid(out.logits.detach().double())
    before = state.scores.index_select(-2, batch.index)
    state.scores.index_copy_(-2, batch.index, mu * before + (1 - mu) * said)


def expected_counts(
    positives: NDArray[np.int64], images: int, expected: float, how: Counts
) -> NDArray[np.int64]:
    """(L,) int64: in how many of the `images` each class is expected, rounded half to even.

    positives (L,): in how many images each class is known.  normalised shares out `expected` times
    `images` as the positives are spread over classes; literal is `expected` times the positives
    (the paper's K N count / N).
    """
    factor = Fraction(repr(expected))
    if how == "normalised":
        factor *= Fraction(images, max(1, int(positives.sum())))
    return np.array([min(images, round(factor * int(count))) for count in positives], np.int64)


def highest(scores: Tensor, counts: Tensor) -> Tensor:
    """(..., N, L) bool: the `counts` (..., L) highest scores of each class, the first of equals.

    Images that were not asked about never get a score, and so stand behind all others.
    """
    order = scores.sort(dim=-2, descending=True, stable=True).indices
    place = torch.arange(scores.shape[-2], device=scores.device)[:, None]
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    return chosen.scatter_(-2, order, (place < counts[..., None, :]).expand_as(chosen))


def _dense(task: Task) -> NDArray[np.int8]:
    return task.labels.rows(np.arange(task.labels.shape[0]))
