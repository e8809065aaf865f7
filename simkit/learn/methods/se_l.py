"""Soft Exposure by labels alone (SE-L)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from simkit.embed.label_embeddings import LabelMedians
from simkit.learn.exposure import Exposure
from simkit.learn.method import register


@register
@dataclass(frozen=True)
class SoftExposureByLabels(Exposure):
    """SE by the known classes of the image alone: as the nearest class; the nearer, the less.

    d+ and d- (..., b, L) are the distances of eq. 4. Ignored are all unknown labels of an image in
    which nothing is known to be present, or nothing to be absent, and classes that are known to be
    present nowhere. Trap: where no label says "absent" it is Ignore.
    """

    psi: Literal["median", "mean"] = "median"  # of a class's features; a mean did worse there

    name: ClassVar[str] = "se-l"
    title: ClassVar[str] = "SE-L"
    gist: ClassVar[str] = "near known classes count more"
    alternative: ClassVar = {"beta": 1.0}
    source: ClassVar[str] = "Soft Exposure, eq. 3, 4, 8"
    aids: ClassVar[tuple[type, ...]] = (LabelMedians,)
    traps: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("nothing", "positives", "negatives"),
            "every unknown label is ignored, as 'ignore' does",
        ),
        "images": "the unknown labels of all others are ignored, as 'ignore' does",
    }

    def distances(self, labels: Tensor | None, images: Tensor | None) -> tuple[Tensor, Tensor]:
        assert labels is not None
        ignored = torch.isinf(labels).any(0)
        return torch.where(ignored, 0.0, labels), ignored
