"""Cross-entropy on completely known labels: the ceiling that partial labels are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.methods.base import Batch, Method, Needs, Outputs, Sizes, Task, register
from simkit.learn.methods.pieces.losses import Epsilon, bce, reduce


@register
@dataclass(frozen=True)
class Full(Method):
    """Learn from labels of which every entry of every asked image is known.

    Raises BadInput at the start when an entry is unknown. In a loop of one's own an unknown entry
    that still comes along counts for nothing.
    """

    epsilon: Epsilon | None = None
    reproduce: Literal["spml", "paper"] | None = None  # paper: exact logs

    name: ClassVar[str] = "full"
    title: ClassVar[str] = "Full labels"
    gist: ClassVar[str] = "all labels known"
    source: ClassVar[str] = "binary cross-entropy; every paper's upper bound"

    def __post_init__(self) -> None:
        if self.reproduce == "spml":
            self._preset(epsilon="spml")
        elif self.reproduce == "paper":
            self._preset(epsilon=None)
        super().__post_init__()

    @property
    def needs(self) -> Needs:
        return Needs(labels=True)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        asked, L = len(task.rows), task.sizes.classes
        unknown = asked * L - task.labels.codes.nnz
        if unknown:
            raise BadInput(
                f"method 'full' needs complete labels, but {unknown} of {asked * L} entries of the "
                "asked images are unknown; annotate with full-subset, or train 'an' or 'ignore'"
            )
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        return reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")
