"""What a run of a bundle learns from, and how: features and a head, or pictures and a backbone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.heads.scoring import of_trained
from simkit.learn.methods import Task
from simkit.learn.steps.optim import Settings
from simkit.learn.trained import Trained
from simkit.study.bundles.bundle import Bundle, Purchase, kind_of
from simkit.study.material.material import Material
from simkit.study.material.near import wants_near, with_near
from simkit.study.material.pixels import Pixels, network_key
from simkit.study.material.shown import Shown


@dataclass(frozen=True, eq=False)
class Learner:
    """One method of a purchase, as its bundle has it trained; spec: as the grid writes it."""

    bundle: Bundle
    material: Material
    purchase: Purchase
    spec: str

    @property
    def method(self) -> str:
        """As it is trained: a sweep may have set something."""
        return self.purchase.spelled(self.spec)

    @property
    def settings(self) -> Settings:
        """Of the training."""
        return self.bundle.settings(self.spec)

    @property
    def lr(self) -> float:
        """The rate of the settings."""
        return self.settings.rate(backbone=self.bundle.pictures is not None)

    @cached_property
    def _seen(self) -> tuple[Pixels, Shown] | None:
        """Pictures and what is shown of them; None for a head on features."""
        pictures, pixels = self.bundle.pictures, self.material.pixels
        if pictures is None or pixels is None:
            return None
        return pixels, pictures.shown(self.spec).to(methods.make(self.method))

    def inputs(self, split: str) -> FeatureInputs | ImageInputs:
        """What is learned from, or scored, of a split."""
        if self._seen is None:
            return self.material.inputs(split, kind_of(self.method))
        pixels, shown = self._seen
        return pixels.inputs(split, shown)

    @property
    def inputs_id(self) -> str:
        """Content id of the features that a head learns from, or of the backbone that learns."""
        if self._seen is None:
            return self.bundle.ids[f"features train {kind_of(self.method)}"]
        return self.bundle.ids[network_key(self._seen[1].size)]

    def task(self, labels: PartialLabels) -> Task:
        """What is learned, without aids but those that are made of cached features."""
        found = Task(labels=labels, inputs=self.inputs("train"))
        if self._seen is None:
            return found
        return with_near(found, methods.make(self.method), lambda: self.material)

    @property
    def training(self) -> dict[str, Any]:
        """In the words of `train_stack`: a head on the CPU, a backbone on a GPU where there is
        one."""
        how: dict[str, Any] = {"settings": self.settings, "seed": self.bundle.seed}
        how["draw"] = self.bundle.draw
        if self._seen is None:
            return how | {"device": "cpu"}
        pixels, shown = self._seen
        return how | {"device": "auto", "backbone": pixels.networks[shown.size]}

    @property
    def shared(self) -> Hashable:
        """What is equal for methods of one purchase that can share aids: all that decides these."""
        if self._seen is None:
            return kind_of(self.method)
        near = self.method if wants_near(methods.make(self.method)) else ""
        return self.settings, self._seen[1], near


def scores(learners: Sequence[Learner], trained: Sequence[Trained]) -> Any:
    """(R, N, L) logits of the test split, for runs that were trained together."""
    first = learners[0]
    seen = first.inputs("test")
    if isinstance(seen, FeatureInputs):
        return of_trained(trained, seen)
    return [one.scores(seen, precision=first.settings.precision) for one in trained]


def device_of(trained: Trained) -> str:
    """What a run was computed on: "cpu", or "cuda" and which kind of GPU."""
    kind = str(trained.history.versions.get("device", "cpu"))
    return f"{kind} ({torch.cuda.get_device_name()})" if kind.startswith("cuda") else kind
