"""Consistency loss (CL)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.methods.base import Batch, Method, Needs, Outputs, Sizes, Task, register
from simkit.learn.methods.pieces.consistency import Consistency
from simkit.learn.methods.pieces.expected import SCORE_BYTES, Expecting, start_scores, update_scores


@register
@dataclass(frozen=True)
class ConsistencyLoss(Consistency):
    """Hold what the model says of an image close to what it said of it in earlier epochs.

    Works around any method. The scores start at the known positives. Around EN and EP with the
    same mu they are the scores that these keep; otherwise CL keeps its own.
    """

    name: ClassVar[str] = "cl"
    title: ClassVar[str] = "CL"
    gist: ClassVar[str] = "crops must agree"
    alternative: ClassVar = {"weight": 0.1}
    source: ClassVar[str] = "Verelst et al., WACV 2023"

    own_needs: ClassVar[Needs] = Needs(labels=True)

    @property
    def _shares(self) -> bool:
        keeper = _beneath(self.inner)
        return isinstance(keeper, Expecting) and keeper.mu == self.mu

    def state_bytes(self, sizes: Sizes) -> int:
        own = 0 if self._shares else SCORE_BYTES * sizes.images * sizes.classes
        return super().state_bytes(sizes) + own

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        if not self._shares:
            assert isinstance(task, Task)
            start_scores(state, task)
            state.for_training = ("scores",)
        return state

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        logits = out.logits if out.logits.dtype.itemsize > 2 else out.logits.float()
        before = self._keeper(state).scores.index_select(-2, batch.index)
        return self.term(logits, before.to(logits.dtype), state)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        super().after_batch(batch, out, state)
        if not self._shares:
            update_scores(state, batch, out, self.mu)

    def _keeper(self, state: nn.Module) -> nn.Module:
        """The state that holds the scores."""
        method: Method = self
        while self._shares and isinstance(method, Consistency):
            method, state = method.inner, state.inner
        return state


def _beneath(method: Method) -> Method:
    """What the consistency losses stand around: they hand outputs on as they are."""
    while isinstance(method, Consistency):
        method = method.inner
    return method
