"""Methods that are robust to missing labels: Hill, SPLC, GR-Loss and latent noise."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.losses import Gamma, Reduction, power, reduce, wide
from simkit.learn.method import FEATURES, Method, WarmedUp, register, required
from simkit.learn.task import Batch, Needs, Outputs
from simkit.registry import Count, NonNegative, Positive, Range, Share, setting

_EPSILON = 1e-7  # of GR-Loss as published, for positives alone
Exponent = Annotated[float, Range(above=0, most=1)]


def _focal(logits: Tensor, gamma: float) -> Tensor:
    """-(1 - p)^gamma log p of every entry with p = sigmoid(x); the weight is differentiated."""
    return power(torch.sigmoid(-logits), gamma) * F.softplus(-logits)


@register
class Hill(Method):
    """Assume negative, with a loss that gives up on negatives with a high probability.

    A present label (..., b, L) adds -(1 - p_m)^gamma log p_m with p_m = sigmoid(x - margin), any
    other label (lamb - p) p^2. At lamb = 1.5 the gradient of the latter for the logit is
    3 p^2 (1 - p)^2, which vanishes at both ends, so that probable false negatives are left alone.
    The focusing weight is differentiated, and the margin is not part of predictions. The loss is a
    sum: a suitable learning rate is far below that of a mean. Known negatives, which the
    published code does not have, count as assumed ones.

    References
    ----------
    Zhang et al., Simple and Robust Loss Design for Multi-Label Learning with Missing Labels, 2021
    (arXiv 2112.07368), section 3.3.
    """

    lamb: Annotated[float, Range(1)] = setting(1.5, "above 1.5, negatives are never given up")
    margin: NonNegative = setting(1.0, "subtracted from the logits of present labels")
    gamma: Gamma = setting(2.0, "focus on hard present labels")
    reduction: Reduction = setting("sum", "reduction over the batch")

    name: ClassVar[str] = "hill"
    title: ClassVar[str] = "Hill"
    gist: ClassVar[str] = "unknown = absent, probable ones left alone"
    family: ClassVar[str] = "focal"
    look: ClassVar = ("#5B2B00", "^")
    alternative: ClassVar = {"margin": 2.0}
    source: ClassVar[str] = "Zhang et al. 2021 (arXiv 2112.07368), Hill loss"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        logits = wide(out.logits)
        present = _focal(logits - self.margin, self.gamma)
        p = torch.sigmoid(logits)
        absent = (self.lamb - p) * p**2
        return reduce(torch.where(batch.labels == PRESENT, present, absent), self.reduction)


@register
class SelfPacedCorrection(WarmedUp):
    """Assume negative, but take unknown labels with a high probability for present.

    A present label (..., b, L) adds -(1 - p_m)^gamma log p_m with p_m = sigmoid(x - margin), an
    absent one -p^gamma log(1 - p). After `warmup` epochs an unknown label with p > tau counts as
    present in this step, without the margin. The focusing weight is differentiated. The loss is a
    sum: a suitable learning rate is far below that of a mean. Known negatives, which the
    published code does not have, are never corrected.

    References
    ----------
    Zhang et al., Simple and Robust Loss Design for Multi-Label Learning with Missing Labels, 2021
    (arXiv 2112.07368), section 3.4.
    """

    tau: Share = setting(0.6, "probability above which a label is corrected; 1 corrects none")
    margin: NonNegative = setting(1.0, "subtracted from the logits of present labels")
    gamma: Gamma = setting(2.0, "focus on hard labels")
    warmup: Annotated[int, Range(0)] = setting(1, "epochs without corrections")
    reduction: Reduction = setting("sum", "how the losses of a batch are added up")

    name: ClassVar[str] = "splc"
    title: ClassVar[str] = "SPLC"
    gist: ClassVar[str] = "probable unknown count as present"
    family: ClassVar[str] = "robust"
    look: ClassVar = ("#07979E", "<")
    alternative: ClassVar = {"tau": 0.8}
    source: ClassVar[str] = "Zhang et al. 2021 (arXiv 2112.07368), SPLC"

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        logits, known = wide(out.logits), batch.labels == PRESENT
        present = known | self.selected(batch, out, state)
        positive = _focal(torch.where(known, logits - self.margin, logits), self.gamma)
        negative = _focal(-logits, self.gamma)
        return reduce(torch.where(present, positive, negative), self.reduction)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels that count as present."""
        probable = torch.sigmoid(wide(out.logits.detach())) > self.tau
        return (batch.labels == UNKNOWN) & probable & state.active[..., None]


@register
class GeneralisedRobust(Method):
    """Weigh both readings of every unknown label by its probability, on a schedule over epochs.

    A present label (..., b, L) adds -log p, a known absent one -log(1 - p), an unknown one
    v (k (1 - p^q2) / q2 + (1 - k) (1 - (1 - p)^q3) / q3). Here k = sigmoid(w p + b) is the
    probability that it is present, and v = exp(-((p - mu) / sigma)^2 / 2) its weight; neither is
    differentiated. With an exponent towards 0 a term is cross-entropy, with 1 it is an absolute
    error. w, b, mu and sigma move from their first value to their last one over `epochs` epochs,
    the former two one epoch behind, and stay there.

    The constants are those of the published code for VOC; those of other data sets are not
    published. The published code has no known negatives.

    References
    ----------
    Chen et al., Boosting Single Positive Multi-label Classification with Generalized Robust Loss,
    IJCAI 2024 (arXiv 2405.03501).
    """

    w0: float = setting(0.0, "slope of k in the first epoch")
    w1: float = setting(2.0, "slope of k at the end")
    b0: float = setting(-2.0, "offset of k in the first epoch")
    b1: float = setting(-2.0, "offset of k at the end")
    mu0: float = setting(0.5, "probability with the largest weight, at the start")
    mu1: float = setting(0.8, "probability with the largest weight, at the end")
    sigma0: Positive = setting(2.0, "width of the weights at the start")
    sigma1: Positive = setting(0.5, "width of the weights at the end")
    q2: Exponent = setting(0.01, "exponent of the reading as present")
    q3: Positive = setting(1.0, "exponent of the reading as absent")
    epochs: Count = setting(8, "epochs of the schedule")
    linear_init: Annotated[int, Range(0)] = setting(0, "first epochs, which train only the head")
    reproduce: Literal["grloss"] | None = setting(None, "logs with 1e-7 as published")

    name: ClassVar[str] = "gr-loss"
    title: ClassVar[str] = "GR-Loss"
    gist: ClassVar[str] = "unknown weighted by score"
    family: ClassVar[str] = "robust"
    look: ClassVar = ("#0DCEE3", ">")
    alternative: ClassVar = {"w1": 10.0, "b1": -8.0}
    source: ClassVar[str] = "Chen et al. IJCAI 2024"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linear_init >= self.epochs:
            raise BadInput(
                f"{self.name}: linear_init is {self.linear_init}; fewer epochs than the "
                f"{self.epochs} of `epochs` are expected"
            )

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        return self._scheduled(self.epochs, epochs)

    tensors: ClassVar = {"step": (torch.int64, 1)}  # of the schedule, up to this one

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        self.after_epoch(0, None, state)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        state.step.fill_(max(min(epoch + 1, self.epochs) - self.linear_init, 0))

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        unknown, _ = self.unknown_loss(x, state)
        known = torch.where(batch.labels == PRESENT, self.present_loss(x), F.softplus(x))
        return reduce(torch.where(batch.labels == UNKNOWN, unknown, known), "mean_all")

    def present_loss(self, x: Tensor) -> Tensor:
        """-log p of the logits (..., b, L)."""
        return -torch.log(torch.sigmoid(x) + _EPSILON) if self.reproduce else F.softplus(-x)

    def unknown_loss(self, x: Tensor, state: nn.Module) -> tuple[Tensor, Tensor]:
        """The loss of unknown labels with logits (..., b, L), and their weights v."""
        p = torch.sigmoid(x.detach())
        step, steps = state.step[..., None].to(x.dtype), self.epochs - self.linear_init
        behind, part = (step - 1).clamp(min=0) / steps, step / steps
        w, b = self.w0 + (self.w1 - self.w0) * behind, self.b0 + (self.b1 - self.b0) * behind
        mu = self.mu0 + (self.mu1 - self.mu0) * part
        sigma = self.sigma0 + (self.sigma1 - self.sigma0) * part
        k = torch.sigmoid(w * p + b)
        v = torch.exp(-(((p - mu) / sigma) ** 2) / 2)
        # (1 - p^q) / q without the rounding of a power near 1
        as_present = -torch.expm1(-self.q2 * F.softplus(-x)) / self.q2
        as_absent = -torch.expm1(-self.q3 * F.softplus(x)) / self.q3
        return v * (k * as_present + (1 - k) * as_absent), v


_Open = Annotated[float, Range(above=0, below=1)]


@register
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

    unknown: Literal["absent", "ignore"] = setting("absent", "unknown labels; absent in the source")
    reported: _Open = setting(0.9, "initial probability that a visible class is reported")
    invented: _Open = setting(1e-4, "initial probability that an invisible class is reported")
    ratio: Positive = setting(0.1, "learning rate of the report layer over that of the classifier")

    name: ClassVar[str] = "latent-noise"
    title: ClassVar[str] = "Latent noise"
    gist: ClassVar[str] = "label noise modelled"
    look: ClassVar = ("#757575", "D")
    alternative: ClassVar = {"reported": 0.7}
    source: ClassVar[str] = "Misra et al. CVPR 2016, eq. 1, visual part"

    default_needs: ClassVar[Needs] = Needs(features=True)

    # The report layer, visible classes first.
    tensors: ClassVar = {
        "weight": (torch.float32, 2, "classes", "width"),
        "bias": (torch.float32, 2, "classes"),
    }
    learned: ClassVar = ("weight", "bias")

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        shares = torch.tensor([self.reported, self.invented], dtype=torch.float64)
        state.bias.copy_(torch.logit(shares)[:, None])

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        features = required(out.features, self, FEATURES).to(state.weight.dtype)
        # One product for all runs: a batched one copies the features for each of them.
        r = F.linear(features, state.weight.flatten(0, -2), state.bias.flatten())
        r = r.unflatten(-1, state.bias.shape).movedim(0, -2).to(x.dtype)
        # The logits of what the label says, that a class is reported or that it is not.
        said = torch.where((batch.labels == PRESENT)[..., None, :, :], r, -r)
        seen, unseen = F.logsigmoid(said).unbind(-3)
        values = -torch.logaddexp(seen + F.logsigmoid(x), unseen + F.logsigmoid(-x))
        if self.unknown == "ignore":
            values = values.masked_fill(batch.labels == UNKNOWN, 0.0)
        return reduce(values, "mean_all")

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        ignored = batch.labels == UNKNOWN
        return ignored if self.unknown == "ignore" else torch.zeros_like(ignored)
