"""A drawn scene: pictures with partial labels, and what a half-trained model says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.study.analysis.asked import count, part

Entry = tuple[int, int]  # (image, class)
_QUARTER = torch.tensor([[3.0, -1.0], [-1.0, -1.0]])  # one place stands out; the mean is 0
_PEAK = 2.5  # by how many quarters the last class does


@dataclass(frozen=True, eq=False)
class Scene:
    """Pictures with partial labels, and what a half-trained model says of them.

    task: labels and features.  truth (N, L) bool.  logits (N, L) float32.  batch: images in a
    batch; the first holds the entries that are moved. Raises BadInput for more than there are.
    """

    task: Task
    truth: NDArray[np.bool_]
    logits: NDArray[np.float32]
    batch: int = 16

    def __post_init__(self) -> None:
        """Raises BadInput for a batch that is no number of images."""
        count(self.batch, "Scene: batch", most=len(self.truth))

    @classmethod
    def drawn(
        cls, seed: int = 0, *, images: int = 64, classes: int = 20, known: float = 0.4
    ) -> Scene:
        """A drawn scene: frequent and rare classes, each label known with probability `known`.

        What the model says is normal, around -2.5 for absent and 0.5 for present classes, with a
        deviation of 1.5. Raises BadInput for numbers that are no such.
        """
        count(images, "Scene.drawn: images")
        count(classes, "Scene.drawn: classes", most=images)
        part(known, "Scene.drawn: known")
        rng = np.random.default_rng(Chance.seeded(seed).of("loss shapes").seed())
        share = np.geomspace(0.5, 0.04, classes)
        truth = rng.random((images, classes)) < share
        truth[np.arange(classes) % images, np.arange(classes)] = True  # none is missing
        codes = np.where(truth, PRESENT, ABSENT) * (rng.random(truth.shape) < known)
        looks = rng.standard_normal((classes, 32))
        features = truth @ looks + rng.standard_normal((images, 32))
        maps = np.broadcast_to(features[..., None, None], (*features.shape, *_QUARTER.shape))
        said = np.where(truth, 0.5, -2.5) + 1.5 * rng.standard_normal(truth.shape)
        labels = PartialLabels.of(codes, asked=np.ones(images, bool))
        task = Task(labels, FeatureInputs(np.ascontiguousarray(maps, np.float32)))
        return cls(task, truth, said.astype(np.float32), min(cls.batch, images))

    @property
    def shapes(self) -> Tensor:
        """(L, 2, 2) what the map of a class adds to its logit.

        Nothing for the first, which fills the picture; the last one stands out most, in a quarter.
        """
        peaks = torch.linspace(0, _PEAK, self.truth.shape[1])
        return peaks[:, None, None] * _QUARTER

    def entries(self) -> dict[str, Entry]:
        """A known positive, a known negative and an unknown label of the first batch.

        All are of one class, the rarest that has all three; the unknown one is absent in truth.
        """
        codes = self.task.labels.rows(np.arange(self.batch))
        kinds = {
            "known positive": codes == PRESENT,
            "known negative": codes == ABSENT,
            "unknown": (codes == UNKNOWN) & ~self.truth[: self.batch],
        }
        (shared,) = np.nonzero(np.all([at.any(0) for at in kinds.values()], axis=0))
        if not len(shared):
            raise BadInput("no class of the scene's first batch has labels of all three kinds")
        c = int(shared[np.argmin(self.truth[:, shared].sum(0))])
        return {name: (int(np.argmax(at[:, c])), c) for name, at in kinds.items()}
