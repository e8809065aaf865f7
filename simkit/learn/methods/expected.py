"""Methods that use the expected number of positives: EPR, EN, EP and ROLE."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.annotate.schemes import of_labels
from simkit.annotate.similarities import Similarities
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN, PartialLabels
from simkit.learn.losses import Epsilon, bce, kth_largest, reduce, wide
from simkit.learn.method import Method, register, sizes_of
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Positive, Range, setting

Expected = Positive | Literal["auto", "scores"]
_COCO = 2.9  # in the published code, for COCO


@dataclass(frozen=True)
class ExpectedCount(Method):
    """A method with the expected number of positives per image, set or estimated.

    Its state holds the number as `positives`.
    """

    family: ClassVar[str] = "expected positives"

    # Positives per image. auto: estimated from completely labelled images, or from rpa; other
    # labels do not determine it. scores: the mean sum of an image-text model's probabilities. The
    # papers: VOC 1.5, COCO 2.9, NUS-WIDE 1.9, CUB 31.4.
    expected: Expected = setting("auto", "positives per image; auto: by labels; scores: by a model")

    def __post_init__(self) -> None:
        super().__post_init__()
        unset = self.expected == type(self).__dataclass_fields__["expected"].default
        if unset and getattr(self, "reproduce", None):
            object.__setattr__(self, "expected", _COCO)

    @property
    def needs(self) -> Needs:
        aids = (Similarities,) if self.expected == "scores" else ()
        return self.default_needs | Needs(labels=isinstance(self.expected, str), aids=aids)

    tensors: ClassVar = {"positives": (torch.float64,)}

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        return {"expected": self._positives(task)} if isinstance(self.expected, str) else {}

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        self._positives(task)  # its error says how to do without labels
        return super().start(task, chance)

    def check(self, labels: PartialLabels) -> None:
        if self.expected != "scores":
            self._positives(Task(labels))

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        state.positives.fill_(self._positives(task))

    def _positives(self, task: Task | Sizes) -> float:
        if not isinstance(self.expected, str):
            return self.expected
        if self.expected == "scores" and isinstance(task, Task):
            scores = task.aid(Similarities)
            each = scores.probabilities(task.labels.images, task.labels.classes)
            return float(each.sum(axis=1).mean())
        estimate = None if isinstance(task, Sizes) else positives_per_image(task.labels)
        if estimate is None:
            source, sizes = (
                ("sizes", task) if isinstance(task, Sizes) else ("these labels", task.sizes)
            )
            example = min(_COCO, sizes.classes / 2)
            raise BadInput(
                f"{self.name}: the number of positives per image (expected) cannot be estimated "
                f"from {source}, only from images that are labelled completely and from labels of "
                f"scheme rpa; give it, as in {self.name}(expected={example}) (the papers: VOC 1.5, "
                "COCO 2.9, NUS-WIDE 1.9, CUB 31.4)"
            )
        return estimate


def positives_per_image(labels: PartialLabels) -> float | None:
    """The mean number of classes per image, or None if it cannot be estimated.

    This needs labels that were not selected by their value: images with all classes known if all
    others know fewer than half (`full-subset`, `mixed`, your own labels), or `rpa`, which keeps
    present and absent labels with the same probability. Random labels cannot be distinguished from
    selected ones, so the scheme is read from the labels' history. Errors of annotators bias the
    estimate.
    """
    scheme = of_labels(labels)
    codes, classes = labels.codes, labels.shape[1]
    simulated = "scheme" in labels.history.settings
    if not simulated or getattr(scheme, "complete_images", False):
        counts = np.diff(codes.indptr)
        complete = counts == classes
        if (2 * counts[~complete] >= classes).any():
            return None
        codes = codes[complete]
    elif not getattr(scheme, "even", False):
        return None
    present = int(np.count_nonzero(codes.data == PRESENT))
    return classes * present / codes.nnz if present else None


@register
class ExpectedPositives(ExpectedCount):
    """Cross-entropy on known positives; the number of positives per image is regularised.

    To the mean cross-entropy of known labels (..., b, L) it adds ((mean over images of the sum of
    p, minus `expected`) / L)^2. The average is over the batch, and squared afterwards, so that the
    penalty depends on the size of the batch and on its division over devices. Known negatives,
    which the source does not have, are learned from.
    """

    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["spml", "paper"] | None = setting(None, "paper: exact logs")

    name: ClassVar[str] = "epr"
    title: ClassVar[str] = "EPR"
    gist: ClassVar[str] = "positives per image regularised"
    look: ClassVar = ("#5E204C", "s")
    source: ClassVar[str] = "Cole et al. CVPR 2021, expected positive regularisation"
    presets: ClassVar = {"spml": {"epsilon": "spml"}, "paper": {"epsilon": None}}

    def _positives(self, task: Task | Sizes) -> float:
        positives, classes = super()._positives(task), sizes_of(task).classes
        if positives > classes:
            raise BadInput(
                f"epr: expected is {positives:g} positives in an image, and there are {classes} "
                "classes; give at most as many"
            )
        return positives

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT, self.epsilon)
        known_loss = reduce(values.masked_fill(batch.labels == UNKNOWN, 0.0), "mean_all")
        return known_loss + expected_positives(torch.sigmoid(wide(out.logits)), state.positives)


def expected_positives(p: Tensor, expected: Tensor) -> Tensor:
    """The regulariser of each run, (...): squared deviation of a batch's mean number, per class.

    p (..., b, L): the probabilities of all classes.
    """
    count = p.sum(-1).mean(-1)
    return ((count - expected.to(count.dtype)) / p.shape[-1]) ** 2


Mu = Annotated[float, Range(0, below=1)]
Counts = Literal["normalised", "literal"]
# float64: each score is a sum over all epochs, and the ranking compares them.
SCORES: Any = {"scores": (torch.float64, "images", "classes")}


@dataclass(frozen=True)
class Expecting(ExpectedCount):
    """The base of EN and EP; the expected positives are `state.expected` (N, L) bool.

    In the first epoch only known positives are expected, so both equal AN. After every epoch a
    class is expected in the images with the highest scores for it, as many as its expected number
    of positives. Scores (N, L) are moving averages of probabilities, s = mu s + (1 - mu) p at every
    visit. Known labels override them, whatever their rank.
    """

    mu: Mu = setting(0.8, "decay of the moving average of a score")
    # literal is the paper's K * count, which is valid for single positives only; the two agree
    # there.
    expected_counts: Counts = setting("normalised", "literal: K * count")
    # unknown: images with a known label are removed from the ranking and subtracted from the count.
    ranking: Literal["all", "unknown"] = setting("all", "ranked images; unknown: of unknown label")

    alternative: ClassVar = {"mu": 0.5}
    source: ClassVar[str] = "Verelst et al., WACV 2023"
    default_needs: ClassVar[Needs] = Needs(labels=True)
    tensors: ClassVar = {
        **SCORES,
        "expected": (torch.bool, "images", "classes"),
        "counts": (torch.int64, "classes"),
        "unknown": (torch.bool, "images", "classes"),
    }
    for_training: ClassVar = ("scores", "unknown")

    def shapes(self, sizes: Sizes) -> Any:
        shapes = super().shapes(sizes)
        if self.ranking == "all":
            del shapes["unknown"]
        return shapes

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        state.expected.copy_(start_scores(state, task))
        positives = task.labels.per_class(PRESENT)
        most, classes = int(positives.max(initial=0)), len(positives)
        fixed = classes > 3 and most > 1 and np.count_nonzero(positives == most) * 2 > classes
        if fixed and self.expected_counts == "normalised":
            warnings.warn(
                f"method {self.name!r} treats the number of known positives of a class as its "
                f"frequency, but most classes have {most} here, as if the scheme fixed this "
                "number; the expected positives will be equally uniform",
                stacklevel=4,
            )
        each = state.positives.item()
        counts = expected_counts(positives, len(task.rows), each, self.expected_counts)
        if self.ranking == "unknown":
            unknown = task.labels.codes.toarray() == UNKNOWN
            state.unknown.copy_(torch.from_numpy(unknown))
            counts = np.clip(counts - positives, 0, unknown[task.rows].sum(0))
        state.counts.copy_(torch.from_numpy(counts))

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


@register
class ExpectedNegative(Expecting):
    """Assume negative, but ignore the unknown labels expected to be present.

    The loss is the mean over all labels (..., b, L), with 0 for ignored ones. The paper determines
    the number of positives per image (`expected`) from complete validation labels.
    """

    name: ClassVar[str] = "en"
    title: ClassVar[str] = "EN"
    gist: ClassVar[str] = "likely positives ignored"
    look: ClassVar = ("#A51C82", "h")

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        values = bce(out.logits, batch.labels == PRESENT)
        return reduce(values.masked_fill(self.selected(batch, out, state), 0.0), "mean_all")


def start_scores(state: nn.Module, task: Task) -> Tensor:
    """Set `scores` to 1 where a label is known to be present, (N, L) bool, which is returned."""
    present = torch.from_numpy(task.labels.codes.toarray() == PRESENT)
    state.scores.copy_(present)
    return present


def update_scores(state: nn.Module, batch: Batch, out: Outputs, mu: float) -> None:
    """Update the scores of the batch's images by the model's: s = mu s + (1 - mu) p."""
    probabilities = torch.sigmoid(out.logits.detach().double())
    before = state.scores.index_select(-2, batch.index)
    state.scores.index_copy_(-2, batch.index, mu * before + (1 - mu) * probabilities)


def expected_counts(
    positives: NDArray[np.int64], images: int, expected: float, how: Counts
) -> NDArray[np.int64]:
    """(L,) int64: the expected number of the `images` with each class, rounded half to even.

    positives (L,): number of known positives of each class.  normalised distributes `expected`
    times `images` in proportion to the positives; literal is `expected` times the positives (the
    paper's K N count / N).
    """
    factor = Fraction(repr(expected))
    if how == "normalised":
        factor *= Fraction(images, max(1, int(positives.sum())))
    return np.array([min(images, round(factor * int(count))) for count in positives], np.int64)


def highest(scores: Tensor, counts: Tensor) -> Tensor:
    """(..., N, L) bool: the `counts` (..., L) highest scores of each class, the first of ties.

    Images that were not asked about never get a score, and so rank last.
    """
    of_classes = scores.mT.contiguous()
    last = kth_largest(of_classes, counts)[..., None]  # nan, above which nothing is, for none
    above, level = of_classes > last, of_classes == last
    left = counts[..., None] - above.sum(-1, keepdim=True)
    return (above | (level & (level.cumsum(-1, dtype=torch.int32) <= left))).mT


@register
class ExpectedPositive(Expecting):
    """The unknown labels expected to be present count as present, the others as absent.

    The loss is the mean cross-entropy over all labels (..., b, L). An ablation in the paper, in
    which EN is better: wrongly expected labels reinforce themselves.
    """

    name: ClassVar[str] = "ep"
    title: ClassVar[str] = "EP"
    gist: ClassVar[str] = "likely positives count as present"
    look: ClassVar = ("#E31FB8", "d")

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        present = (batch.labels == PRESENT) | self.selected(batch, out, state)
        return reduce(bce(out.logits, present), "mean_all")


_UNSURE = math.log(0.6 / 0.4)  # initial logits of unknown labels lie within this distance of 0
_SURE = math.log(0.995 / 0.005)  # initial logit of known labels
_ROWS = 4096


@register
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
    look: ClassVar = ("#F89AD7", "X")
    alternative: ClassVar = {"ratio": 100.0}
    source: ClassVar[str] = "Cole et al. CVPR 2021, regularised online label estimation"

    presets: ClassVar = {"spml": {"epsilon": "spml", "ratio": 10.0}}
    decayed: ClassVar[bool] = False

    default_needs: ClassVar[Needs] = Needs(labels=True)
    # (N, L) logits of the estimated labels, undecided for unknown ones
    tensors: ClassVar = {"theta": (torch.float32, "images", "classes")}
    learned: ClassVar = ("theta",)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        if optimiser != "sgd":
            return ()
        return (
            "role: with optimiser 'sgd' the label estimates hardly move, because their gradients "
            "are small; set optimiser to 'adam', whose steps do not shrink with the gradient",
        )

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        keyed, theta = chance.of("label estimator"), state.theta.detach().numpy()
        N, L = theta.shape
        for begin in range(0, N, _ROWS):
            end = min(begin + _ROWS, N)
            codes = task.labels.rows(np.arange(begin, end))
            uniform = keyed.block(begin, end, L) / np.float64(1 << 32)
            unsure = (2 * uniform - 1) * _UNSURE
            theta[begin:end] = np.where(codes == UNKNOWN, unsure, codes * _SURE)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x, theta = wide(out.logits), state.theta.index_select(-2, batch.index)
        present = (batch.labels == PRESENT).to(x.dtype)
        both = torch.stack([x, theta.to(x.dtype)])  # classifier and estimator
        p = torch.sigmoid(both)
        soft = p.detach().flip(0)  # each learns from the other
        # A known positive counts twice, as present and by its soft label.
        times = 1 + present
        values = times * bce(both, (soft + present) / times, self.epsilon)
        halves = reduce(values, "mean_all") + expected_positives(p, state.positives)
        return halves.mean(0)

    def continued_from(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        """The initial state from the estimates of the first training.

        For LinearInit: train the head alone, then backbone and head with a new optimiser. Estimates
        are kept within 1e-5 of 0 and 1, as in the published code.
        """
        fresh = copy.deepcopy(state)
        fresh.theta.data.copy_(torch.logit(estimated(state).double(), eps=1e-5))
        return fresh


def estimated(state: nn.Module) -> Tensor:
    """(..., N, L) estimated probability of every label."""
    return torch.sigmoid(state.theta.detach())
