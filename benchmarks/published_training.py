"""Training a head in the style of published code: the other contestant of compare.py.

A Dataset and a DataLoader, a module and an optimiser for each run, the loss over a batch, and
scikit-learn's average precision after every epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.metrics import average_precision_score
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Sampler

from simkit.chance import Chance
from simkit.learn.model import initial


def an(logits: Tensor, labels: Tensor, epoch: int) -> Tensor:
    """Binary cross-entropy; what is unknown counts as absent."""
    return F.binary_cross_entropy_with_logits(logits, (labels == 1).float())


def ignore(logits: Tensor, labels: Tensor, epoch: int) -> Tensor:
    """Binary cross-entropy over what is known, divided by all there is."""
    every = F.binary_cross_entropy_with_logits(logits, (labels == 1).float(), reduction="none")
    return (every * (labels != 0)).mean()


def large_loss(logits: Tensor, labels: Tensor, epoch: int) -> Tensor:
    """The same as `an` without the largest losses of unknown labels (Kim et al. CVPR 2022)."""
    every = F.binary_cross_entropy_with_logits(logits, (labels == 1).float(), reduction="none")
    unknown = labels == 0
    count = int(unknown.sum() * 0.005 * (epoch - 1))
    if count:
        limit = torch.topk((every * unknown).flatten(), count).values[-1]
        every = torch.where(unknown & (every >= limit), torch.zeros_like(every), every)
    return every.mean()


Loss = Callable[[Tensor, Tensor, int], Tensor]
LOSSES: dict[str, Loss] = {"an": an, "ignore": ignore, "ll-r": large_loss}


class Examples(Dataset[tuple[Tensor, Tensor]]):
    """Features and labels, one image at a time."""

    def __init__(self, features: np.ndarray, labels: np.ndarray) -> None:
        self.features, self.labels = features, labels

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        feature = torch.from_numpy(self.features[index].astype(np.float32))
        return feature, torch.from_numpy(self.labels[index])


class Keyed(Sampler[int]):
    """The order in which ours sees the images of an epoch."""

    def __init__(self, images: int) -> None:
        self.images, self.epoch = images, 1
        self.chance = Chance.seeded(0).of("train", 0)

    def __len__(self) -> int:
        return self.images

    def __iter__(self) -> Iterator[int]:
        order = self.chance.of("order", self.epoch).permutation(self.images)
        return iter(order.at(np.arange(self.images)).tolist())


def train_alone(
    method: str,
    features: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    present: np.ndarray,
    *,
    epochs: int,
    batch_size: int,
    lr: float,
) -> np.ndarray:
    """Logits of the test images after the last epoch; mAP is taken after every one."""
    width, classes = features.shape[1], labels.shape[1]
    model = nn.Linear(width, classes)
    weight, bias = initial(Chance.seeded(0).of("train", 0).of("head"), classes, width)
    model.load_state_dict({"weight": weight, "bias": bias})
    optimiser = torch.optim.Adam(model.parameters(), lr=lr)
    order = Keyed(len(features))
    loader = DataLoader(Examples(features, labels), batch_size=batch_size, sampler=order)
    unseen = DataLoader(Examples(test, present), batch_size=batch_size)
    for epoch in range(1, epochs + 1):
        order.epoch = epoch
        for x, z in loader:
            optimiser.zero_grad()
            LOSSES[method](model(x), z, epoch).backward()
            optimiser.step()
        with torch.no_grad():
            logits = torch.cat([model(x) for x, _ in unseen]).numpy()
        for c in range(present.shape[1]):
            average_precision_score(present[:, c], logits[:, c])
    return logits
