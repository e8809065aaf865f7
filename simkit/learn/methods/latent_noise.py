"""Latent noise: separate models of the classes in an image and of their annotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import reduce, wide
from simkit.learn.method import Method, features_of, register, sizes_of
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Positive, Range, setting

_Open = Annotated[float, Range(above=0, below=1)]


@register
@dataclass(frozen=True)
class LatentNoise(Method):
    """Labels are modelled as noisy reports: present classes are omitted, absent ones invented.

    The classifier predicts whether a class is visible, p(v | image). A second linear layer on the
    same features predicts the probability that a visible class is reported, r(1 | v = 1, image),
    and that an invisible one is, r(1 | v = 0, image); labels train their mixture, r(1) = r(1 | 1) p
    + r(1 | 0) (1 - p), by the mean cross-entropy over all labels (..., b, L). Predictions are p(v |
    image), the "visual" rows of the tables.

    Reduced to features: the source trains both layers on a whole network. The initialisation is our
    choice. A layer on the same features could explain all labels by itself and leave nothing to the
    classifier; so it hardly invents reports initially, and has a small learning rate. (With 0.1 and
    an equal rate it loses 22 mAP on photographs of animals with single positives.)

    Known negatives count as labels that were not reported, and so do unknown ones, unless `unknown`
    is "ignore"; without negatives the latter predicts that everything is reported.
    """

    unknown: Literal["absent", "ignore"] = setting(
        "absent", "unknown labels; absent: as in the source"
    )
    reported: _Open = setting(0.9, "initial probability that a visible class is reported")
    invented: _Open = setting(1e-4, "initial probability that an invisible class is reported")
    ratio: Positive = setting(0.1, "learning rate of the report layer over that of the classifier")

    name: ClassVar[str] = "latent-noise"
    title: ClassVar[str] = "Latent noise"
    gist: ClassVar[str] = "label noise modelled"
    alternative: ClassVar = {"reported": 0.7}
    source: ClassVar[str] = "Misra et al. CVPR 2016, eq. 1, visual part"

    @property
    def needs(self) -> Needs:
        return Needs(features=True)

    def state_bytes(self, sizes: Sizes) -> int:
        return 4 * 2 * sizes.classes * ((sizes.width or 0) + 1)

    def learned_bytes(self, sizes: Sizes) -> int:
        return self.state_bytes(sizes)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """The report layer: `weight` (2, L, D), `bias` (2, L); visible classes first."""
        state = super().start(task, chance)
        sizes = sizes_of(task)
        assert sizes.width is not None
        shares = torch.tensor([self.reported, self.invented], dtype=torch.float64)
        bias = torch.logit(shares).float()[:, None].repeat(1, sizes.classes)
        state.weight = nn.Parameter(torch.zeros(2, sizes.classes, sizes.width))
        state.bias = nn.Parameter(bias)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        reported, left_out = self._reports(out, state)
        values = -torch.where(batch.labels == PRESENT, reported, left_out)
        if self.unknown == "ignore":
            values = values.masked_fill(batch.labels == UNKNOWN, 0.0)
        return reduce(values, "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        ignored = batch.labels == UNKNOWN
        return ignored if self.unknown == "ignore" else torch.zeros_like(ignored)

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        groups = super().groups(model, state, lr)
        for group in groups:
            if any(parameter is state.weight for parameter in group["params"]):
                group |= {"lr": self.ratio * lr}
        return groups

    def _reports(self, out: Outputs, state: nn.Module) -> tuple[Tensor, Tensor]:
        """Log-probabilities that every class is reported and that it is not, (..., b, L) each."""
        x = wide(out.logits)
        features = features_of(self, out).to(state.weight.dtype)[..., None, :, :]
        r = (features @ state.weight.mT + state.bias[..., None, :]).to(x.dtype)
        seen, unseen = r.unbind(-3)
        visible, hidden = F.logsigmoid(x), F.logsigmoid(-x)
        reported = torch.logaddexp(F.logsigmoid(seen) + visible, F.logsigmoid(unseen) + hidden)
        left_out = torch.logaddexp(F.logsigmoid(-seen) + visible, F.logsigmoid(-unseen) + hidden)
        return reported, left_out
