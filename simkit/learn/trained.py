"""What training gives back."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.history import History, content_id
from simkit.learn.heads.heads import Model
from simkit.learn.machines.devices import device_of
from simkit.learn.method import Method

BATCH = 256  # inputs scored at a time


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that was trained, with all that is needed to use it and to train it again.

    epoch: the one whose weights these are.  losses: mean training loss of every
    epoch, by image: those that sum over a batch are divided by its images, so that curves do not
    depend on its size.
    validation: mAP of every epoch where there were labels to score by; of the averaged weights
    where there are such and they are kept, and then validation_plain is that of the plain ones.
    head_losses, head_validation: those of the epochs in which the head learned alone.
    """

    model: Model
    method: Method
    state: nn.Module
    classes: tuple[str, ...]
    epoch: int
    losses: tuple[float, ...]
    validation: tuple[float, ...]
    history: History
    validation_plain: tuple[float, ...] = ()
    head_losses: tuple[float, ...] = ()
    head_validation: tuple[float, ...] = ()

    def scores(
        self,
        inputs: Any,
        *,
        batch: int = BATCH,
        device: str | torch.device = "auto",
        precision: str = "fp32",
    ) -> NDArray[np.float32]:
        """(N, L) logits for inputs of the kind it was trained on. Raises BadInput for another.

        device: as in `train`.  precision: of the backbone, "fp32" or "bf16".
        """
        there = self.on(device)
        there.model.precision = precision
        found = scores(there.model, self.method, there.state, inputs, batch=batch)
        return found.cpu().numpy()

    def maps(
        self,
        inputs: Any,
        *,
        batch: int = BATCH,
        device: str | torch.device = "auto",
        precision: str = "fp32",
    ) -> Iterator[NDArray[np.float32]]:
        """(b, L, h, w) class maps of one batch of inputs after the other, in their order.

        Their means are the logits before what a method does at inference (BoostLU). inputs: maps of
        features, or pictures where a backbone was trained; a head on pooled features has maps too.
        device, precision: as in `scores`. Raises BadInput for pooled features.
        """
        check_maps(self.model, inputs)
        model = self.on(device).model
        model.precision = precision
        place = model.head.weight.device
        for start in range(0, len(inputs), batch):
            x = inputs.batch(np.arange(start, min(start + batch, len(inputs))))
            # Not around the loop: who reads two of these in turn would be left without gradients.
            with torch.no_grad(), evaluating(model):
                out = model(x.to(place), maps=True)
            assert out.maps is not None
            yield out.maps.float().cpu().numpy()

    def on(self, device: str | torch.device) -> Trained:
        """The same with model and state as copies on a device."""
        place = device_of(device, needed=self.model.backbone is not None)
        moved = {"model": copy.deepcopy(self.model), "state": copy.deepcopy(self.state)}
        return replace(self, **{key: module.to(place) for key, module in moved.items()})

    @property
    def id(self) -> str:
        """Content id of the weights."""
        parts: list[Any] = []
        for key, value in sorted(self.model.state_dict().items()):
            parts += [key, value.detach().cpu().numpy()]
        return content_id("trained", *parts)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write model.safetensors and model.json into a folder."""
        from simkit.learn.saved.checkpoint import save

        save(self, folder)

    @staticmethod
    def load(folder: str | PathLike[str], *, backbone: nn.Module | None = None) -> Trained:
        """Read what `save` wrote; a fine-tuned model wants a backbone of its kind to fill."""
        from simkit.learn.saved.checkpoint import load

        return load(folder, backbone=backbone)


def scores(
    model: Model, method: Method, state: nn.Module, inputs: Any, *, batch: int = BATCH
) -> Tensor:
    """(N, L) float32 logits of one run for evaluation, on the device of the model."""
    check_inputs(model, inputs)
    device = model.head.weight.device
    maps = method.needs.maps and inputs.kind != "pooled"
    found = torch.empty(len(inputs), model.head.bias.shape[-1], device=device)
    with torch.no_grad(), evaluating(model):
        for start in range(0, len(inputs), batch):
            rows = slice(start, min(start + batch, len(inputs)))
            x = inputs.batch(np.arange(rows.start, rows.stop))
            found[rows] = method.predict(model(x.to(device), maps=maps), state).float()
    return found


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode inside the block, whatever it was before."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def check_inputs(model: Model, inputs: Any) -> None:
    """Raise BadInput for inputs of another kind or width than the model was trained on."""
    wanted = "pictures (ImageInputs)" if model.backbone is not None else "features (FeatureInputs)"
    if (inputs.kind == "images") != (model.backbone is not None):
        raise BadInput(
            f"the model was trained on {wanted}, but {inputs.kind} came; bring the same kind"
        )
    width = model.head.weight.shape[-1]
    if model.backbone is None and inputs.width != width:
        raise BadInput(
            f"the model was trained on features of width {width}, but width {inputs.width} came; "
            "use the same backbone"
        )


def check_maps(model: Model, inputs: Any) -> None:
    """Raise BadInput as `check_inputs`, and for pooled features."""
    check_inputs(model, inputs)
    if inputs.kind == "pooled":
        raise BadInput(
            "class maps are made from maps of features, and these are pooled; bring maps, as "
            "simkit features --kind maps writes them"
        )
