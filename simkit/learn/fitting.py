"""Whether a network can learn along with a head: it is shown one picture before any work."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.learn.machines.devices import plain
from simkit.learn.method import Method
from simkit.learn.task import Task
from simkit.learn.trained import evaluating

_WANTED = (
    "a backbone has a whole number `width` (D), a method `prepare` from (b, 3, H, W) uint8 "
    "pictures to what it takes, and gives maps (b, D, h, w) of floats"
)


def copied(backbone: nn.Module | None) -> nn.Module | None:
    """A backbone of one's own to train. Raises BadInput for what is no module."""
    if backbone is None:
        return None
    if not isinstance(backbone, nn.Module):
        raise BadInput(
            f"backbone is {backbone!r}; a torch.nn.Module is expected, such as one of "
            "simkit.embed.backbones.backbone(name, weights)"
        )
    return copy.deepcopy(backbone)


def fitted(
    runs: Sequence[tuple[Task, Method]], backbone: nn.Module | None
) -> Sequence[tuple[Task, Method]]:
    """The same runs; on pictures with the side of the class maps, which the backbone decides.

    Raises BadInput that says what a backbone lacks.
    """
    if backbone is None or len(runs) != 1:
        return runs
    ((task, method),) = runs
    if getattr(task.inputs, "kind", "") != "images" or not len(task.rows):
        return runs
    return [(replace(task, map_side=map_side(backbone, task.inputs.batch(task.rows[:1]))), method)]


def map_side(backbone: Any, pictures: Tensor) -> int:
    """Height or width, whichever is larger, of its maps of pictures (b, 3, H, W) uint8."""
    kind = type(backbone).__name__
    width = getattr(backbone, "width", None)
    if isinstance(width, bool) or not isinstance(width, int):
        raise BadInput(f"{kind} has no `width`, and {_WANTED}; add what is missing")
    if not callable(getattr(backbone, "prepare", None)):
        raise BadInput(f"{kind} has no `prepare`, and {_WANTED}; add what is missing")
    device = next((p.device for p in backbone.parameters()), torch.device("cpu"))
    with torch.no_grad(), evaluating(backbone), plain(backbone):
        maps = backbone(backbone.prepare(pictures.to(device)))
    if not isinstance(maps, Tensor) or maps.ndim != 4 or not maps.is_floating_point():
        gave = f"{tuple(maps.shape)}" if isinstance(maps, Tensor) else f"a {type(maps).__name__}"
        raise BadInput(
            f"{kind} gave {gave} for pictures {tuple(pictures.shape)}, and {_WANTED}; leave out "
            "its pooling and its last layer"
        )
    if maps.shape[1] != width:
        raise BadInput(
            f"{kind} says width {width} and gave maps of {maps.shape[1]} channels; set its width "
            "to what it gives"
        )
    return max(maps.shape[2:])
