"""Soft Exposure by labels and images (SE)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from simkit.embed.label_embeddings import LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.learn.exposure import Exposure
from simkit.learn.method import register
from simkit.registry import Count


@register
@dataclass(frozen=True)
class SoftExposure(Exposure):
    """Take unknown labels for what the nearest known label is; the nearer, the less they count.

    Near are similar classes in the same image, and the same class in similar images: d+ and d-
    (..., b, L) are the smaller of the two distances (eq. 6-7). As printed, the nearer a label is to
    something known the flatter is its loss: at a distance of 0 it is all but ignored, and the
    farthest get the full loss of a known label. Trap: where hardly any label says "absent" nearly
    every unknown one becomes a soft positive.
    """

    psi: Literal["median", "mean"] = "median"  # of a class's features; a mean did worse there
    k: Count = 10  # neighbouring images; with fewer than 5 SE comes near SE-L

    name: ClassVar[str] = "se"
    title: ClassVar[str] = "SE"
    gist: ClassVar[str] = "near known labels count more"
    alternative: ClassVar = {"beta": 1.0}
    source: ClassVar[str] = "Soft Exposure, eq. 3-8"
    aids: ClassVar[tuple[type, ...]] = (Neighbours, LabelMedians)
    traps: ClassVar[Mapping[str, str]] = {
        "nothing": "every unknown label becomes a hard negative, as in 'an'",
        "positives": "nearly every unknown label becomes a soft positive",
        "negatives": "every unknown label becomes a negative",
        "images": "in the others most unknown labels fall to the side that is known",
    }

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert labels is not None and images is not None
        images = torch.where(torch.isinf(images), 1.0, images)  # no neighbour says anything
        nearer = torch.minimum(labels, images)
        return nearer, torch.zeros_like(nearer[0], dtype=torch.bool)
