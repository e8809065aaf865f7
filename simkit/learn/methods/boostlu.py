"""BoostLU: raise the positive attributions of the class maps before they are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT
from simkit.learn.method import Around, maps_of, register
from simkit.learn.task import Needs, Outputs, Sizes, Task
from simkit.registry import Range, setting


@register
@dataclass(frozen=True)
class BoostLU(Around):
    """Boost the positive scores of class maps: m above beta becomes alpha m + (1 - alpha) beta.

    Maps are (..., b, L, h, w); logits are the means of the boosted maps. Wraps any method; the
    paper uses train=False around AN (boost at inference only), AN, and LL-R, LL-Ct or LL-Cp. The
    bias of the 1x1 convolution is boosted as well, as in the published code. At m = beta the
    derivative is 1 (alpha in the paper). Around LL-Cp the unboosted classes are determined by the
    initial labels.
    """

    alpha: Annotated[float, Range(1)] = setting(5.0, "slope above the threshold beta")
    beta: float = setting(0.0, "threshold: values of a map below it are unchanged")
    train: bool = setting(True, "boost in training")
    eval: bool = setting(True, "boost in prediction")
    # Classes without any known positive are not boosted in training (paper, CUB; not in its code).
    zero_positive: Literal["plain", "boost"] = setting("plain", "classes without known positives")
    reproduce: Literal["cvpr23", "paper"] | None = setting(None, "the published code or the paper")

    name: ClassVar[str] = "boostlu"
    title: ClassVar[str] = "BoostLU"
    gist: ClassVar[str] = "positive scores amplified"
    alternative: ClassVar = {"alpha": 2.0}
    source: ClassVar[str] = "Kim et al., CVPR 2023, eq. 6-8"

    presets: ClassVar = {"cvpr23": {"zero_positive": "boost"}, "paper": {"zero_positive": "plain"}}

    @property
    def needs(self) -> Needs:
        return self.inner.needs | Needs(maps=self.train or self.eval, labels=self._masks)

    @property
    def _masks(self) -> bool:
        return self.train and self.zero_positive == "plain"

    def state_bytes(self, sizes: Sizes) -> int:
        return self.inner.state_bytes(sizes) + (sizes.classes if self._masks else 0)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        if self._masks:
            assert isinstance(task, Task)
            positives = task.labels.per_class(PRESENT)
            state.register_buffer("has_positive", torch.from_numpy(positives > 0))
        return state

    def changed(self, out: Outputs, state: nn.Module, *, training: bool) -> Outputs:
        if not (self.train if training else self.eval):
            return out
        maps = maps_of(self, out)
        gain: Tensor | float = self.alpha - 1
        if training and self._masks:
            gain = gain * state.has_positive[..., None, :, None, None]
        maps = maps + gain * torch.relu(maps - self.beta)
        return Outputs(maps.mean((-2, -1)), maps, out.features)
