"""Regularised online label estimation (ROLE)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, reduce, wide
from simkit.learn.method import register
from simkit.learn.methods.expected import ExpectedCount, expected_positives
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Positive, setting

_UNSURE = math.log(0.6 / 0.4)  # initial logits of unknown labels lie within this distance of 0
_SURE = math.log(0.995 / 0.005)  # initial logit of known labels
_ROWS = 4096


@register
@dataclass(frozen=True)
class LabelEstimation(ExpectedCount):
    """Regularised online label estimation: training labels are estimated along with the model.

    Model and estimator are each trained by the prediction of the other, by the known positives, and
    by the expected number of positives per image (as in epr: the mean over the batch is squared).
    The estimator is a table of logits, `theta` (N, L); known negatives affect its initial values
    only, as in the published code, and known labels may drift in it. Predictions come from the
    classifier.

    Train it with Adam: rows outside of a batch keep moving by their momentum, unlike with a lazy or
    sparse Adam. The gradient of the table and Adam's two moments need three times its memory in
    addition.
    """

    ratio: Positive = setting(10.0, "learning rate of the estimator over that of the classifier")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["spml"] | None = setting(None, "the published code")

    name: ClassVar[str] = "role"
    title: ClassVar[str] = "ROLE"
    gist: ClassVar[str] = "labels estimated online"
    alternative: ClassVar = {"ratio": 1.0}
    source: ClassVar[str] = "Cole et al. CVPR 2021, regularised online label estimation"

    presets: ClassVar = {"spml": {"epsilon": "spml", "ratio": 10.0}}

    @property
    def needs(self) -> Needs:
        return super().needs | Needs(labels=True)

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + self.learned_bytes(sizes)

    def learned_bytes(self, sizes: Sizes) -> int:
        return 4 * sizes.images * sizes.classes

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        if optimiser != "sgd":
            return ()
        return (
            "role: its estimates move by Adam's steps, which do not shrink with their gradients, "
            "and the optimiser is 'sgd', under which they hardly move; set optimiser to 'adam'",
        )

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """`theta` (N, L): undecided for unknown labels."""
        state = super().start(task, chance)
        assert isinstance(task, Task)
        keyed = (chance or Chance.seeded(0)).of("label estimator")
        state.theta = nn.Parameter(_initial(task, keyed))
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x, theta = wide(out.logits), state.theta.index_select(-2, batch.index)
        present = batch.labels == PRESENT
        expected = state.positives
        terms = self._half(x, theta, present, expected) + self._half(theta, x, present, expected)
        return terms / 2

    def _half(self, learns: Tensor, teaches: Tensor, present: Tensor, expected: Tensor) -> Tensor:
        """The loss of the classifier or of the estimator, (...)."""
        soft = torch.sigmoid(teaches.detach())
        positives = bce(learns, torch.ones_like(present), self.epsilon).masked_fill(~present, 0.0)
        values = positives + bce(learns, soft.to(learns.dtype), self.epsilon)
        return reduce(values, "mean_all") + expected_positives(learns, expected)

    def handed_over(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        """The initial state from the estimates of the first training.

        For LinearInit: train the head alone, then backbone and head with a new optimiser. Estimates
        are kept within 1e-5 of 0 and 1, as in the published code.
        """
        fresh = nn.Module()
        theta = torch.logit(estimated(state).double(), eps=1e-5)
        fresh.theta = nn.Parameter(theta.to(state.theta.dtype))
        fresh.register_buffer("positives", state.positives.clone())
        return fresh

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        """The estimator has its own learning rate, and no weight decay."""
        groups = super().groups(model, state, lr)
        for group in groups:
            if any(parameter is state.theta for parameter in group["params"]):
                group |= {"lr": self.ratio * lr, "weight_decay": 0.0}
        return groups


def estimated(state: nn.Module) -> Tensor:
    """(..., N, L) estimated probability of every label."""
    return torch.sigmoid(state.theta.detach())


def _initial(task: Task, chance: Chance) -> Tensor:
    N, L = task.sizes.images, task.sizes.classes
    theta = np.empty((N, L), np.float32)
    for start in range(0, N, _ROWS):
        stop = min(start + _ROWS, N)
        codes = task.labels.rows(np.arange(start, stop))
        uniform = chance.block(start, stop, L) / np.float64(1 << 32)
        unsure = (2 * uniform - 1) * _UNSURE
        theta[start:stop] = np.where(codes == UNKNOWN, unsure, codes * _SURE)
    return torch.from_numpy(theta)
