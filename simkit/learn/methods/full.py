"""Cross-entropy on completely known labels: the ceiling that partial labels are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, reduce
from simkit.learn.method import Method, register
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task


@register
@dataclass(frozen=True)
class Full(Method):
    """Learn from labels of which every entry of every asked image is known.

    The loss is the mean binary cross-entropy over all labels (..., b, L). Raises BadInput at the
    start when an entry is unknown. In a loop of your own an unknown entry that still comes along
    counts for nothing.
    """

    epsilon: Epsilon | None = None
    reproduce: Literal["spml", "paper"] | None = None  # paper: exact logs

    name: ClassVar[str] = "full"
    title: ClassVar[str] = "Full labels"
    gist: ClassVar[str] = "all labels known"
    source: ClassVar[str] = "binary cross-entropy; every paper's upper bound"
    presets: ClassVar = {"spml": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        entries = len(task.rows) * task.sizes.classes
        unknown = entries - task.labels.codes.nnz
        if unknown:
            raise BadInput(
                f"method 'full' needs complete labels, but {unknown} of {entries} entries of the "
                "asked images are unknown; annotate with full-subset, or train 'an' or 'ignore'"
            )
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        return reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")
