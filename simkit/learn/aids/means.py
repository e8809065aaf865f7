"""Mean probabilities of a model: over the asked images, or over all that training saw."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.learn.methods.base import Batch, Outputs, Task
from simkit.learn.trained import Trained, evaluating

_BATCH = 256


def mean_probability(trained: Trained, task: Task) -> NDArray[np.float64]:
    """(L,) mean of the sigmoid of the scores over the asked images of a task.

    With a backbone on a GPU where there is one.
    """
    trained = trained.on("auto")
    device = trained.model.head.weight.device
    total = torch.zeros(len(trained.classes), dtype=torch.float64)
    rows = task.rows
    with torch.no_grad(), evaluating(trained.model):
        for start in range(0, len(rows), _BATCH):
            out = trained.model(task.inputs.batch(rows[start : start + _BATCH]).to(device))
            total += trained.method.predict(out, trained.state).double().sigmoid().sum(0).cpu()
    return total.numpy() / len(rows)


class RunningMean:
    """Watches a training: the mean probability of each class over all steps so far."""

    def __init__(self) -> None:
        self._total: Tensor | float = 0.0
        self._images = 0

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        self._total = self._total + out.logits.double().sigmoid().sum(0)
        self._images += len(batch.index)

    @property
    def value(self) -> NDArray[np.float64]:
        """(L,) float64; after a first step."""
        return torch.as_tensor(self._total).cpu().numpy() / self._images
