"""Settings of a training, its optimiser and its schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch

from simkit.errors import BadInput


@dataclass(frozen=True)
class Settings:
    """How to train, whatever the method.

    batch_size: images in a step; the last one of an epoch may be smaller.
    lr: None means 0.01 for heads on features and 0.0001 with a backbone. With complete labels and
        ten epochs 0.01 comes within 2.2 mAP of the best rate both on features of photographs (VOC,
        COCO) and on scenes; 0.001 loses 16 on scenes.
    weight_decay: added to the gradient (L2), as torch.optim does.
    momentum: of sgd.  schedule: "cosine" falls to 0 over all steps.
    standardise: bring every feature to mean 0 and deviation 1 over the asked images. Off, because
        that is what the papers' last layers see: non-negative features of which none is common to
        all images by construction. With complete labels it costs 1 to 4 mAP on photographs and
        gains 2 on scenes, and it hides how `ignore` collapses where only positives are known.
    select: which epoch's model is kept; "best" by mAP on the validation labels.
    patience: with "best", stop after so many epochs without a better one; None: never.
    head_ratio: with a backbone, how much faster the head learns (Kim et al., CVPR 2022: 10).
    state_gb: the most that the states of all runs may take together.
    """

    epochs: int = 10
    batch_size: int = 64
    lr: float | None = None
    weight_decay: float = 0.0
    optimiser: Literal["adam", "sgd"] = "adam"
    momentum: float = 0.9
    schedule: Literal["constant", "cosine"] = "constant"
    standardise: bool = False
    select: Literal["last", "best"] = "last"
    patience: int | None = None
    head_ratio: float = 10.0
    state_gb: float = 8.0

    name: ClassVar[str] = "training"

    def __post_init__(self) -> None:
        for key, low in (("epochs", 1), ("batch_size", 1), ("patience", 1)):
            value = getattr(self, key)
            if value is not None and (
                isinstance(value, bool) or int(value) != value or value < low
            ):
                raise BadInput(
                    f"training: {key} is {value}; a whole number from {low} on is expected"
                )
        for key in ("lr", "head_ratio", "state_gb"):
            if getattr(self, key) is not None and not 0 < getattr(self, key) < math.inf:
                raise BadInput(
                    f"training: {key} is {getattr(self, key)}; a number above 0 is expected"
                )
        if not 0 <= self.weight_decay < math.inf:
            raise BadInput(
                f"training: weight_decay is {self.weight_decay}; a number from 0 on is expected"
            )
        if not 0 <= self.momentum < 1:
            raise BadInput(
                f"training: momentum is {self.momentum}; a number from 0 to below 1 is expected"
            )
        for key, known in _WORDS.items():
            if getattr(self, key) not in known:
                raise BadInput(
                    f"training: {key} is {getattr(self, key)!r}; it must be one of "
                    f"{', '.join(known)}"
                )

    def rate(self, *, backbone: bool) -> float:
        """The learning rate: as set, or the default for heads on features or a whole backbone."""
        return self.lr if self.lr is not None else (1e-4 if backbone else 1e-2)


_WORDS = {
    "optimiser": ("adam", "sgd"),
    "schedule": ("constant", "cosine"),
    "select": ("last", "best"),
}


def optimiser(groups: list[dict[str, Any]], settings: Settings) -> torch.optim.Optimizer:
    """Adam or SGD over these groups; each remembers its own rate as `base_lr`."""
    for group in groups:
        group["base_lr"] = group["lr"]
    if settings.optimiser == "sgd":
        return torch.optim.SGD(
            groups,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            fused=True,
        )
    return torch.optim.Adam(groups, weight_decay=settings.weight_decay, fused=True)


def set_rates(made: torch.optim.Optimizer, settings: Settings, done: float) -> None:
    """Bring the learning rates to where the schedule has them once a share `done` is over."""
    if settings.schedule == "cosine":
        factor = (1 + math.cos(math.pi * done)) / 2
        for group in made.param_groups:
            group["lr"] = group["base_lr"] * factor
