"""Pseudo-labels from an image-text model: VLPL and AEVLP."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor, nn

from simkit.annotate.similarities import Similarities
from simkit.chance import Chance
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, entropy, reduce, wide
from simkit.learn.method import Method, WarmedUp, register
from simkit.learn.methods.expected import Expected, ExpectedCount, expected_positives
from simkit.learn.methods.robust import GeneralisedRobust
from simkit.learn.task import Batch, Needs, Outputs
from simkit.registry import NonNegative, Positive, Range, Share, setting

ROWS = 4096  # images whose pseudo-labels are computed at a time


@dataclass(frozen=True)
class PseudoLabelled(Method):
    """The base of methods with fixed pseudo-labels from similarities.

    Its state holds them as `pseudo` (N, L) int8: PRESENT, ABSENT or UNKNOWN.
    """

    @property
    def needs(self) -> Needs:
        return super().needs | Needs(labels=True, aids=(Similarities,))

    tensors: ClassVar = {"pseudo": (torch.int8, "images", "classes")}
    for_training: ClassVar = ("pseudo",)

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        cosines = task.aid(Similarities).of(task.labels.images, task.labels.classes)
        pseudo = state.pseudo.numpy()
        for begin in range(0, len(pseudo), ROWS):
            rows = slice(begin, begin + ROWS)
            codes = task.labels.rows(np.arange(len(pseudo))[rows])
            pseudo[rows] = self.pseudo_labels(cosines[rows].astype(np.float64), codes)

    @abstractmethod
    def pseudo_labels(self, cosines: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[Any]:
        """(n, L) pseudo-labels from cosines (n, V, L) and known labels (n, L)."""

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels with a pseudo-label."""
        pseudo = state.pseudo.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (pseudo != UNKNOWN)


def ranks(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """(n, L) rank of each class in its image, 0 for the lowest score; ties in class order."""
    return np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1)


@register
class VisionLanguagePseudoLabels(WarmedUp, PseudoLabelled):
    """EM, with pseudo-labels where an image-text model is confident.

    With the softmax s over classes of similarity / temperature, an unknown label with s > threshold
    has a pseudo-label: after `warmup` epochs its loss is beta times the cross-entropy against the
    target `soft`. As s sums to 1 over classes, few classes of an image can have one. All other
    labels (..., b, L) have the loss of EM.

    `negative_share` marks the classes with the lowest s as absent. In the published code such
    labels have no loss at all, and so it is here. Known negatives, which the published code does
    not have, are learned from.

    Published settings: alpha VOC 0.2, COCO and NUS 0.1, CUB 0.01; cosines of CLIP ViT-L/14 at 336
    pixels.

    References
    ----------
    Xing et al., Vision-Language Pseudo-Labels for Single-Positive Multi-Label Learning, CVPR
    Workshops 2024 (arXiv 2310.15985).
    """

    alpha: NonNegative = setting(0.1, "weight of the entropy; published: VOC 0.2, CUB 0.01")
    beta: NonNegative = setting(0.7, "weight of pseudo-labels")
    soft: Share = setting(0.9, "target of pseudo-labels")
    threshold: Share = setting(0.3, "softmax of the similarities above which a class is present")
    temperature: Positive = setting(0.01, "divides the similarities")
    warmup: Annotated[int, Range(0)] = setting(0, "epochs without pseudo-labels")
    negative_share: Share = setting(0.0, "share of the classes without loss, the least similar")
    epsilon: Epsilon | None = setting(None, "finite logs as in this code; none: exact")
    reproduce: Literal["vlpl"] | None = setting(None, "logs as in the published code")

    name: ClassVar[str] = "vlpl"
    title: ClassVar[str] = "VLPL"
    gist: ClassVar[str] = "EM and an image-text model's pseudo-labels"
    family: ClassVar[str] = "entropy"
    look: ClassVar = ("#A89800", "D")
    alternative: ClassVar = {"threshold": 0.1}
    source: ClassVar[str] = "Xing et al. CVPR-W 2024"
    presets: ClassVar = {"vlpl": {"epsilon": "spml"}}

    def pseudo_labels(self, cosines: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[Any]:
        similar = softmax(cosines[:, 0] / self.temperature, axis=1)
        pseudo = np.where(similar > self.threshold, PRESENT, UNKNOWN)
        unlikely = ranks(similar) < int(self.negative_share * similar.shape[1])
        return np.where(unlikely, ABSENT, pseudo)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        pseudo = state.pseudo.index_select(-2, batch.index) * state.active[..., None]
        known = bce(x, batch.labels == PRESENT, self.epsilon)
        target = torch.full_like(x, self.soft)
        unknown = torch.where(
            pseudo == PRESENT,
            self.beta * bce(x, target, self.epsilon),
            -self.alpha * entropy(x, self.epsilon) * (pseudo == UNKNOWN),
        )
        return reduce(torch.where(batch.labels == UNKNOWN, unknown, known), "mean_all")


@register
class GeneralisedPseudoLabelRobust(GeneralisedRobust, PseudoLabelled, ExpectedCount):
    """GR-Loss, with pseudo-labels from an image-text model and expected positives.

    Pseudo-labels: s_v is the softmax over classes of similarity / temperature in view v; view 0 is
    the whole image, the others are its tiles. r is the largest s_v of the class over the tiles if
    it exceeds min(eta, the largest s_0 of the known present classes), otherwise the smallest. The
    score of the class is (s_0 + r) / 2, without tiles s_0. The `top_k` classes by score that reach
    the threshold are pseudo-positives. The share `negative_share` of the classes with the lowest
    (s_0 + mean of s_v) / 2 is excluded.

    Loss (..., b, L): that of GR-Loss with its weight v; for a pseudo-positive clip(1 - v, lam2,
    lam1) times the cross-entropy against the target rho; plus `reg` times the regulariser of EPR.
    Known negatives have the weight 1; in the published code, v.

    Published settings are those of COCO, the defaults here, and others for VOC, NUS and CUB. The
    published code writes 0 in place of -1 for pseudo-negatives, so that they only remove
    pseudo-positives (`negatives="unknown"`); with "absent" their loss is -v log(1 - p). Its random
    graph network after the text encoder is left out.

    References
    ----------
    Tran et al., More Reliable Pseudo-labels, Better Performance: A Generalized Approach to Single
    Positive Multi-label Learning, ICCV 2025 (arXiv 2508.20381).
    """

    w1: float = setting(10.0, "slope of k at the end; published: VOC 2")
    b1: float = setting(-8.0, "offset of k at the end; published: VOC -2")
    expected: Expected = setting("scores", "positives per image; scores: by these; auto: by labels")
    temperature: Positive = setting(0.01, "divides the similarities")
    eta: Share = setting(0.3, "softmax of a tile above which a class is present in it")
    threshold: Share = setting(0.5, "smallest score of a pseudo-positive")
    top_k: Annotated[int, Range(0)] = setting(3, "most pseudo-positives of an image")
    negative_share: Share = setting(0.3, "share of the classes, the lowest, that cannot be one")
    lam1: NonNegative = setting(0.7, "largest weight of pseudo-positives")
    lam2: NonNegative = setting(0.5, "smallest weight of pseudo-positives; precedes lam1")
    rho: Share = setting(0.9, "target of pseudo-positives")
    reg: NonNegative = setting(0.001, "weight of the expected number of positives")
    negatives: Literal["unknown", "absent"] = setting("unknown", "how pseudo-negatives count")
    reproduce: Literal["aevlp"] | None = setting(  # type: ignore[assignment]
        None, "logs and known negatives as published"
    )

    name: ClassVar[str] = "aevlp"
    title: ClassVar[str] = "AEVLP"
    gist: ClassVar[str] = "GR-Loss and pseudo-labels from views"
    family: ClassVar[str] = "robust"
    look: ClassVar = ("#04545A", "d")
    alternative: ClassVar = {"threshold": 0.3}
    source: ClassVar[str] = "Tran et al. ICCV 2025"

    def pseudo_labels(self, cosines: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[Any]:
        similar = softmax(cosines / self.temperature, axis=2)
        image, tiles = similar[:, 0], similar[:, 1:] if similar.shape[1] > 1 else similar
        known = np.where(codes == PRESENT, image, 0.0).max(axis=1, keepdims=True)
        largest = tiles.max(axis=1)
        region = np.where(largest > np.minimum(self.eta, known), largest, tiles.min(axis=1))
        score = (image + region) / 2 if similar.shape[1] > 1 else image
        likely = (ranks(-score) < self.top_k) & (score >= self.threshold)
        pseudo = np.where(likely, PRESENT, UNKNOWN)
        negative = ABSENT if self.negatives == "absent" else UNKNOWN
        least = int(self.negative_share * score.shape[1])
        unlikely = ranks((image + tiles.mean(axis=1)) / 2) < least
        return np.where(unlikely, negative, pseudo)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        x = wide(out.logits)
        pseudo = state.pseudo.index_select(-2, batch.index)
        unknown, v = self.unknown_loss(x, state)
        present, absent = self.present_loss(x), self.present_loss(-x)
        weight = (1 - v).clamp(max=self.lam1).clamp(min=self.lam2)
        likely = weight * (self.rho * present + (1 - self.rho) * absent)
        unknown = torch.where(pseudo == PRESENT, likely, unknown)
        unknown = torch.where(pseudo == ABSENT, v * absent, unknown)
        known = torch.where(
            batch.labels == PRESENT, present, v * absent if self.reproduce else absent
        )
        values = torch.where(batch.labels == UNKNOWN, unknown, known)
        regulariser = expected_positives(torch.sigmoid(x), state.positives)
        return reduce(values, "mean_all") + self.reg * regulariser
