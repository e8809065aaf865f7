"""VLPL: pseudo-labels from an image-text model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.similarities import Similarities
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.learn.losses import Epsilon, bce, entropy, reduce, wide
from simkit.learn.method import Method, WarmedUp, register
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task
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

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + sizes.images * sizes.classes

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        assert isinstance(task, Task)
        cosines = task.aid(Similarities).of(task.labels.images, task.labels.classes)
        pseudo = np.empty(task.labels.shape, np.int8)
        for begin in range(0, len(pseudo), ROWS):
            rows = slice(begin, begin + ROWS)
            codes = task.labels.rows(np.arange(len(pseudo))[rows])
            pseudo[rows] = self.pseudo_labels(cosines[rows].astype(np.float64), codes)
        state.register_buffer("pseudo", torch.from_numpy(pseudo))
        state.for_training = ("pseudo",)
        return state

    def pseudo_labels(self, cosines: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[Any]:
        """(n, L) pseudo-labels from cosines (n, V, L) and known labels (n, L)."""
        raise NotImplementedError

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """Unknown labels with a pseudo-label."""
        pseudo = state.pseudo.index_select(-2, batch.index)
        return (batch.labels == UNKNOWN) & (pseudo != UNKNOWN)


def lowest(scores: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """(n, L) mask of this share of each image's classes, those with the lowest scores."""
    return ranks(scores) < int(share * scores.shape[1])


def ranks(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """(n, L) rank of each class in its image, 0 for the lowest score; ties in class order."""
    return np.argsort(np.argsort(scores, axis=1, kind="stable"), axis=1)


@register
@dataclass(frozen=True)
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
    alternative: ClassVar = {"threshold": 0.1}
    source: ClassVar[str] = "Xing et al. CVPR-W 2024"
    presets: ClassVar = {"vlpl": {"epsilon": "spml"}}

    def pseudo_labels(self, cosines: NDArray[np.float64], codes: NDArray[np.int8]) -> NDArray[Any]:
        similar = softmax(cosines[:, 0] / self.temperature, axis=1)
        pseudo = np.where(similar > self.threshold, PRESENT, UNKNOWN)
        return np.where(lowest(similar, self.negative_share), ABSENT, pseudo)

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
