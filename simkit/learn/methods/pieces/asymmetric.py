"""The asymmetric loss with partial labels, P-ASL: the base of p-asl and csl.

Source: Ben-Baruch et al., Multi-label Classification with Partial Annotations using Class-aware
Selective Loss, CVPR 2022, eq. 2-3; alphas and clip are those of its code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from simkit.errors import BadInput
from simkit.learn.methods.base import Batch, Method, Outputs
from simkit.learn.methods.pieces.losses import log_of, wide


@dataclass(frozen=True)
class Asymmetric(Method):
    """Cross-entropy focused on what the model gets wrong, differently for each kind of label.

    A label of one kind weighs alpha * (1 - q) ** gamma, where q is the probability that the model
    gives to its target. No gradient passes through this weight, as in the published code.
    """

    gamma_pos: float = 0.0  # these three from the published code; meant to rise in this order
    gamma_neg: float = 1.0
    gamma_unknown: float = 2.0
    alpha_pos: float = 1.0
    alpha_neg: float = 1.0
    alpha_unknown: float = 1.0
    clip: float = 0.0  # added to the q of negative and unknown labels: those below it are dropped
    # sum: the published code, B * L times a mean. mean_all: over all B * L entries.
    reduction: Literal["sum", "sum_classes", "mean_all"] = "sum"
    # "csl": clamp probabilities at 1e-8, so that beyond logits of 18.4 the gradient is 0.
    # "paper": exact logs, as without.
    reproduce: Literal["csl", "paper"] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind in ("pos", "neg", "unknown"):
            for key, end in ((f"gamma_{kind}", 100), (f"alpha_{kind}", 1_000_000)):
                if not 0 <= getattr(self, key) <= end:
                    raise BadInput(
                        f"{self.name}: {key} is {getattr(self, key)}; "
                        f"a number from 0 to {end:,} is expected"
                    )
        if not 0 <= self.clip < 1:
            raise BadInput(
                f"{self.name}: clip is {self.clip}; a number from 0 to below 1 is expected"
            )

    def terms(
        self,
        batch: Batch,
        out: Outputs,
        *,
        assumed: Tensor | None = None,
        unknown_weight: Tensor | None = None,
    ) -> Tensor:
        """(..., b, L) losses of all entries.

        assumed (..., b, L) bool: unknown labels that are taken for absent (by default all), while
        the others count nothing.  unknown_weight (..., 1, L): a factor for those.
        """
        logits = wide(out.logits)
        labels = batch.labels.expand(logits.shape)
        # Kinds of labels as int8 of 0 and 1: where() and masks of floats are several times slower.
        present = labels.clamp(min=0)
        absent = present - labels
        assumed = (~labels.bool() if assumed is None else assumed).to(torch.int8)
        against = logits * (1 - 2 * present).to(logits.dtype)  # the logit of 1 - q
        with torch.no_grad():
            missed = torch.sigmoid(against)
            others = (missed - self.clip).clamp(min=0) if self.clip else missed
            weight = focus(others, assumed, self.alpha_unknown, self.gamma_unknown)
            if unknown_weight is not None:
                weight *= unknown_weight.to(logits.dtype)
            weight += focus(others, absent, self.alpha_neg, self.gamma_neg)
            weight += focus(missed, present, self.alpha_pos, self.gamma_pos)
        return weight * self._surprise(against, present)

    def _surprise(self, against: Tensor, present: Tensor) -> Tensor:
        """-log q."""
        if self.reproduce == "csl":
            q = torch.sigmoid(-against)
            if self.clip:
                q = (q + self.clip * (1 - present).to(q.dtype)).clamp(max=1)
            return -log_of(q, "csl")
        plain = F.softplus(against, threshold=40)  # what torch leaves out above 20 shows in doubles
        if not self.clip:
            return plain
        clipped = (torch.sigmoid(-against) + self.clip).clamp(max=1)
        return torch.where(present.bool(), plain, -torch.log(clipped))


def focus(base: Tensor, kind: Tensor, alpha: float, gamma: float) -> Tensor:
    """alpha * base ** gamma where `kind` (0 or 1) is 1, else 0.

    Whole powers by multiplication, which is several times as fast.
    """
    made = kind.to(base.dtype)
    if alpha != 1:
        made *= alpha
    whole = int(gamma)
    if whole != gamma or whole > 16:
        return made.mul_(base.pow(gamma))
    while whole:
        if whole % 2:
            made *= base
        whole //= 2
        base = base * base if whole else base
    return made
