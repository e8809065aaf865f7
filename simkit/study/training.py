"""One training on open data: its inputs, its side information, and its scores on a split.

Comparisons (`worker`) train many of these in stacks, single runs (`trial`) one by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit import metrics
from simkit.embed.neighbours import Neighbours
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.label_embeddings import LabelMeans, LabelMedians
from simkit.learn.methods import Method, Task
from simkit.learn.optim import Settings
from simkit.learn.side_info import build_aid
from simkit.learn.train import Trained
from simkit.learn.validation import Validation
from simkit.study.sources import ImageTransform, StudyData, kind_of

_OF_FEATURES = (Neighbours, LabelMedians, LabelMeans)  # side information from features


def needs_features(method: Method) -> bool:
    """Whether the method needs side information from features."""
    return any(kind in _OF_FEATURES for kind in method.needs.aids)


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (N, L) of a split, its reference labels, and the mask of entries that count.

    Where the mask is sparse, the scores may be too: they are then those of its entries alone.
    """

    scores: Any
    present: Any
    known: Any

    def of(self, classes: NDArray[np.int64]) -> Scored:
        """Scores and labels of these classes."""
        known = None if self.known is None else self.known[:, classes]
        return Scored(self.scores[:, classes], self.present[:, classes], known)

    def ap(self) -> NDArray[np.float64]:
        """(L,) average precision of each class."""
        return metrics.average_precision(self.scores, self.present, self.known)

    def at_thresholds(self, val: Scored) -> dict[str, float]:
        """Mean F1, precision and recall of the classes, at the thresholds with the best F1 on
        `val`, which is never the scored split."""
        thresholds = metrics.f1_thresholds(val.scores, val.present, val.known)
        reference = self.scores, self.present, thresholds, self.known
        by_class = metrics.f1(*reference), *metrics.precision_recall(*reference)
        return dict(zip(("f1", "precision", "recall"), map(metrics.mean_ap, by_class), strict=True))


@dataclass(frozen=True, eq=False)
class Training:
    """One method on the data of a study: a head on features, or a whole backbone on images.

    Attributes
    ----------
    transform
        The images on which the whole backbone is trained; None for a head on features.
    """

    data: StudyData
    method: Method
    settings: Settings
    transform: ImageTransform | None = None
    seed: int = 0
    draw: int = 0
    device: str | torch.device = "auto"

    def inputs(self, split: str) -> FeatureInputs | ImageInputs:
        """The inputs of a split, for training or scoring."""
        if self.transform is None:
            return self.data.inputs(split, kind_of(self.method))
        return self.data.images(split, self.transform)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `prepare`, `train` and `train_stack`."""
        net = None if self.transform is None else self.data.networks[self.transform.size]
        how = {"settings": self.settings, "seed": self.seed, "draw": self.draw}
        return {**how, "device": self.device, "backbone": net}

    def validation(self, split: str, labels: Truth | PartialLabels | None) -> Validation:
        """A split to score after every epoch, over the leaf classes."""
        known, leaves = self.data.known(split), self.data.data.leaves
        return Validation(self.inputs(split), labels, known=known, classes=leaves)

    def task(self, labels: PartialLabels) -> Task:
        """Labels of train with their inputs, and the side information that comes with the data.

        A backbone on images takes neighbours from features computed before. Their id is not
        recorded, as the features of a trained backbone change with every step.
        """
        task = Task(self.data.readable(labels, "train"), self.inputs("train"), self.data.train_aids)
        if self.transform is None or not needs_features(self.method):
            return task
        on_features = replace(task, inputs=self.data.inputs("train", "pooled"))
        kinds = (kind for kind in self.method.needs.aids if kind in _OF_FEATURES)
        built = (build_aid(kind, on_features, self.method.needs) for kind in kinds)
        return task.with_aids(*(replace(aid, inputs="") for aid in built))

    def scored(self, trained: Trained, split: str) -> Scored:
        """Scores of a split, with its reference labels.

        Where few labels are known, only their scores are kept: those of all would not fit into
        memory.
        """
        known = self.data.known(split)
        scores = trained.scores(
            self.inputs(split), known=known if issparse(known) else None,
            device=self.device, precision=self.settings.precision,
        )  # fmt: skip
        return Scored(scores, self.data.truth(split).present, known)
