"""Large loss rejection (LL-R)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Outputs, Sizes, Task, register
from simkit.learn.methods.large_loss import (
    RATE_BYTES,
    KOf,
    Reproduce,
    end_epoch,
    growing_k,
    large,
    start_rate,
)
from simkit.learn.methods.losses import Epsilon, bce, reduce


@register
@dataclass(frozen=True)
class LargeLossRejection(Method):
    """Assume negative, but leave out the unknown labels with the largest losses of the batch.

    From the second epoch on, (epoch - 1) * delta percent; what is left out keeps its place in the
    denominator. Known labels are never left out. The selection depends on the batch as a whole, so
    a batch that is split over devices selects otherwise.
    """

    # Percent per epoch: Kim et al. CVPR 2023 on single positives; CVPR 2022 searches 0.1 to 0.5.
    delta: float = 0.5
    k_of: KOf = "batch"  # what the percentage is of: the published code; the paper says "unknown"
    reproduce: Reproduce | None = None  # "paper": k_of unknown; the others: rates as their floats
    epsilon: Epsilon | None = None

    name: ClassVar[str] = "ll-r"
    title: ClassVar[str] = "LL-R"
    source: ClassVar[str] = "Kim et al., CVPR 2022, eq. 4-6"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.delta <= 100:
            raise BadInput(f"ll-r: delta is {self.delta}; a percentage from 0 to 100 is expected")

    def state_bytes(self, sizes: Sizes) -> int:
        return RATE_BYTES

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        start_rate(state)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        rejected = self._rejected(batch, values, state)
        return reduce(values.masked_fill(rejected, 0.0), "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        return self._rejected(batch, values, state)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        end_epoch(state, epoch, self.delta)

    def _rejected(self, batch: Batch, losses: Tensor, state: nn.Module) -> Tensor:
        unknown = (batch.labels == UNKNOWN).expand_as(losses)
        k = growing_k(state, unknown, self.delta, self.k_of, self.reproduce)
        # The form with epsilon falls to -1e-5 where the model is certain.
        return large(losses.clamp(min=0), unknown, k)
