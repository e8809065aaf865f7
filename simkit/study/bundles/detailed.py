"""What is measured of a trained model besides mAP: F1, mAP in parts, top-1, the pointing game."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.data import Dataset
from simkit.embed.backbones import backbone
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.metrics import (
    Part,
    average_precision,
    class_groups,
    f1,
    f1_thresholds,
    group_map,
    map_by_labels,
    mean_ap,
    top1,
)
from simkit.learn.pointed import middle, pointed
from simkit.learn.trained import Trained
from simkit.study.material.material import Material, Source, open_material

_GROUPS = 5


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (N, L) of the images of a split, and what is present and what counts there."""

    scores: NDArray[np.float32]
    present: Any
    known: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Detailed:
    """Shares in [0, 1] over the leaf classes; None for what could not be measured.

    f1: mean F1, with thresholds from f1_images of the val split.  groups: mAP of groups of classes,
    those with the fewest annotations in the training labels first.  by_labels: mAP of images with
    so many present labels.  top1: share of images whose highest score is of a present class, of
    those that have one.  pointing: the pointing game over all classes that have boxes.
    """

    f1: float | None
    f1_images: int
    groups: tuple[float, ...]
    by_labels: tuple[Part, ...]
    top1: float
    pointing: float | None = None

    def facts(self) -> dict[str, Any]:
        """As JSON holds it; nan is None."""
        return {key: _plain(value) for key, value in asdict(self).items()}

    def lines(self) -> list[str]:
        """For people, one line for each; x 100."""
        groups = ", ".join(_share(g) for g in self.groups)
        parts = ", ".join(f"{p.name}: {_share(p.map)} ({p.images:,})" for p in self.by_labels)
        mean = "not measured, as there is no val split to take thresholds from"
        if self.f1 is not None:
            mean = f"{_share(self.f1)} (thresholds from {self.f1_images:,} pictures of val)"
        point = "not played, as it needs boxes, and pictures that simkit reads"
        return [
            f"mF1 {mean}",
            f"mAP of groups of classes, the fewest annotations first: {groups}",
            f"mAP by labels present (pictures): {parts}",
            f"top-1 {_share(self.top1)}",
            f"pointing game {point if self.pointing is None else _share(self.pointing)}",
        ]


def detailed(
    test: Scored,
    val: Scored | None,
    *,
    leaves: NDArray[np.int64],
    annotations: NDArray[np.int64],
    pointing: float | None = None,
) -> Detailed:
    """All of it over the leaf classes.

    annotations (L,): how many training images are annotated with each class.  val: where the
    thresholds of F1 come from; never from what is scored.
    """
    scores, present, known = _columns(test, leaves)
    mean = None
    if val is not None:
        limits = f1_thresholds(*_columns(val, leaves))
        mean = mean_ap(f1(scores, present, limits, known))
    groups = class_groups(annotations[leaves], min(_GROUPS, len(leaves)))
    # A class that is not known in an image is neither right there nor wrong.
    ranked = scores if known is None else np.where(known, scores, -np.inf)
    shown = present if known is None else present.multiply(known).tocsr()
    return Detailed(
        mean,
        0 if val is None else len(val.scores),
        tuple(group_map(average_precision(scores, present, known), groups).tolist()),
        tuple(map_by_labels(scores, present, known)),
        top1(ranked, shown),
        pointing,
    )


def report_of(
    trained: Trained,
    split: str,
    scores: NDArray[np.float32],
    labels: PartialLabels,
    material: Material,
    inputs: Mapping[str, Any],
    files: Source,
    given: dict[str, Any],
    how: Mapping[str, Any],
) -> Detailed:
    """What a trial that was scored on `split` has to say besides; its values are a trial's own."""
    run = {"device": how["device"], "precision": how["settings"].precision}
    val = None
    if split != "val" and "val" in inputs:
        found = trained.scores(inputs["val"], **run)
        val = Scored(found, material.truth("val").present, material.known("val"))
    return detailed(
        Scored(scores, material.truth(split).present, material.known(split)),
        val,
        leaves=material.data.leaves,
        annotations=labels.per_class(PRESENT) + labels.per_class(ABSENT),
        pointing=how["team"].in_turn(
            lambda: points(trained, inputs[split], files, split, given, run)
        ),
    )


def points(
    trained: Trained,
    inputs: ImageInputs | FeatureInputs,
    files: Source,
    split: str,
    given: dict[str, Any],
    run: Mapping[str, Any],
) -> float | None:
    """The pointing game on a split; None without boxes, or pictures where those are needed.

    inputs: what is scored; where those are features, maps of the same backbone are taken in their
    place, computed or from the cache. files, given: of the material.  run: device and precision.
    """
    data: Dataset = given["data"]
    boxes = data.boxes.get(split)
    if boxes is None or boxes.sizes is None:
        return None
    if isinstance(inputs, ImageInputs):
        return pointed(trained, inputs, boxes, **run)
    if files.features or split not in data.pictures:
        return None
    maps = open_material(replace(files, splits=(split,), kinds=("maps",)), **given)
    size = backbone(files.backbone, files.weights or None).size
    regions = middle(boxes.sizes, size)
    return pointed(trained, maps.inputs(split, "maps"), boxes, regions=regions, **run)


def _columns(one: Scored, classes: NDArray[np.int64]) -> tuple[Any, Any, Any]:
    known = None if one.known is None else one.known[:, classes]
    return one.scores[:, classes], one.present[:, classes], known


def _share(value: float) -> str:
    return "none" if math.isnan(value) else f"{100 * value:.2f}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
