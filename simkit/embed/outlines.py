"""What each backbone is, without its weights."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from simkit.embed.backbones import BACKBONES, built
from simkit.embed.networks.scenes_net import ScenesNet


def outlines() -> list[dict[str, Any]]:
    """A row for each backbone: name, what it is, features (D), px (the side it wants), parameters
    and the weights it takes. Nothing is filled in: the networks lie on torch's meta device.
    """
    rows = []
    for name in BACKBONES:
        with torch.device("meta"):
            net = built(name, None, right=False)
        told = inspect.cleandoc(net.__doc__ or "").split("\n\n")[0]
        rows.append(
            {
                "name": name,
                "features": net.width,
                "px": net.size,
                "parameters": sum(parameter.numel() for parameter in net.parameters()),
                "weights": _weights(name),
                "about": " ".join(told.split()),
            }
        )
    return rows


def _weights(name: str) -> list[str]:
    """What `backbone` takes as weights of this network."""
    if name == ScenesNet.name:
        return ["its own", "FILE", "random"]
    from torchvision.models import get_model_weights

    return ["FILE", "imagenet", *(each.name for each in get_model_weights(name)), "random"]
