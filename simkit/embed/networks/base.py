"""What a backbone is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from simkit.history import content_id

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Backbone(nn.Module):
    """Pictures in, feature maps out; a linear layer on them gives class maps.

    name; width: D, the channels of the maps; size: side in pixels of the square it wants;
    mean, std: of the RGB values (0..1) it was trained on; classifier: how the keys of published
    weights begin that a backbone has no use for; weights: where they come from, for the history.
    """

    name: str
    width: int
    size: int = 224
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD
    classifier: tuple[str, ...] = ()
    weights: str = "own"

    def prepare(self, pictures: Tensor) -> Tensor:
        """(b, 3, size, size) uint8 RGB to normalised floats of the same shape."""
        scale = _channels(self.std, pictures.device) * 255
        shift = _channels(self.mean, pictures.device) * 255
        return (pictures.float() - shift) / scale

    def adapted(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Published weights as they fit this network's size."""
        return state

    @property
    def id(self) -> str:
        """Content id of the name and all weights, and of mean and std that are not the usual."""
        parts: list[Any] = [self.name]
        if (self.mean, self.std) != (type(self).mean, type(self).std):
            parts.append(f"{self.mean} {self.std}")
        for key, value in sorted(self.state_dict().items()):
            parts += [key, value.detach().cpu().numpy()]
        return content_id(*parts)


def _channels(values: tuple[float, ...], device: torch.device) -> Tensor:
    """(3, 1, 1), filled in on the device: a GPU would have to wait for numbers that are sent."""
    return torch.stack([torch.full((1, 1), value, device=device) for value in values])
