"""Soft Exposure by images alone (SE-I)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from simkit.embed.neighbours import Neighbours
from simkit.learn.exposure import Exposure
from simkit.learn.method import register
from simkit.registry import Count


@register
@dataclass(frozen=True)
class SoftExposureByImages(Exposure):
    """SE by similar images alone: as the class is in the nearest image; the nearer, the less.

    d+ and d- (..., b, L) are the distances of eq. 5; one is 1 where no neighbour says anything.
    Trap: where hardly any label says
    "absent" nearly every label that a neighbour covers becomes a soft positive.
    """

    k: Count = 10  # neighbouring images; with fewer than 5 SE-I comes near Ignore
    # What becomes of a label on which no neighbour says anything: by eq. 8 a hard negative; the
    # paper's results, near to those of NE, say that it is ignored.
    uncovered: Literal["ignore", "negative"] = "ignore"

    name: ClassVar[str] = "se-i"
    title: ClassVar[str] = "SE-I"
    gist: ClassVar[str] = "near known images count more"
    alternative: ClassVar = {"beta": 1.0}
    source: ClassVar[str] = "Soft Exposure, eq. 3, 5, 8"
    aids: ClassVar[tuple[type, ...]] = (Neighbours,)
    traps: ClassVar[Mapping[str, str]] = {
        "nothing": "no neighbour says anything of an unknown label",
        "positives": "nearly every unknown label that a neighbour covers becomes a soft positive",
        "negatives": "every unknown label that a neighbour covers becomes a negative",
        "labels": "nearly every unknown label that a neighbour covers gets the other sign",
    }

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert images is not None
        nothing = torch.isinf(images)
        ignored = nothing.all(0)
        if self.uncovered == "negative":
            ignored = torch.zeros_like(ignored)
        return torch.where(nothing, 1.0, images), ignored
