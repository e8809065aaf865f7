"""One method on one set of labels: train it, and score it on a split it has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.embed.backbones import backbone as load_backbone
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.machines.team import Team
from simkit.learn.methods import Method, Task, spell
from simkit.learn.metrics import (
    Part,
    average_precision,
    class_groups,
    f1,
    f1_thresholds,
    group_map,
    map_by_labels,
    mean_ap,
    precision_recall,
    top1,
)
from simkit.learn.pointed import middle, pointed
from simkit.learn.steps.optim import Settings
from simkit.learn.train import Trained, train
from simkit.learn.validation import Validation
from simkit.study.grid import Unasked
from simkit.study.sources import (
    ImageTransform,
    Progress,
    Source,
    StudyData,
    decoded,
    kind_of,
    labels_of_train,
    open_source,
    silent,
    with_features,
)

_GROUPS = 5  # of classes, by how many training labels they have


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (N, L) of the images of a split, and what is present and what counts there."""

    scores: NDArray[np.float32]
    present: Any
    known: NDArray[np.bool_] | None

    def of(self, classes: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """Scores, present and known entries of these classes."""
        known = None if self.known is None else self.known[:, classes]
        return self.scores[:, classes], self.present[:, classes], known


@dataclass(frozen=True)
class Detailed:
    """Shares in [0, 1] over the leaf classes; None for what could not be measured.

    f1, precision, recall: means, with thresholds from f1_images of the val split.  groups: mAP of
    groups of classes, those with the fewest annotations in the training labels first.  by_labels:
    mAP of images with so many present labels.  top1: share of images whose highest score is of a
    present class, of those that have one.  pointing: the pointing game over all classes with boxes.
    """

    f1: float | None
    f1_images: int
    precision: float | None
    recall: float | None
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
            mean = (
                f"{_share(self.f1)}, precision {_share(self.precision)}, recall "
                f"{_share(self.recall)} (thresholds from {self.f1_images:,} pictures of val)"
            )
        point = "not played, as it needs boxes, and pictures that simkit reads"
        return [
            f"mF1 {mean}",
            f"mAP of groups of classes, the fewest annotations first: {groups}",
            f"mAP by labels present (pictures): {parts}",
            f"top-1 {_share(self.top1)}",
            f"pointing game {point if self.pointing is None else _share(self.pointing)}",
        ]


@dataclass(frozen=True, eq=False)
class Trial:
    """A trained model and how it did: mAP(C) in [0, 1] over leaves and over all classes of `split`.

    A class that is present nowhere in the split is left out of both. asked: pictures that questions
    were asked about; scored: how many leaves and classes there are, and how many of them (_scored)
    have an AP.  detailed: more metrics, where they were asked for.
    held_out: further asked pictures that are in the validation split, and were not trained on.
    chosen_by: images whose complete labels chose the epoch; 0 where the last one was taken.
    """

    trained: Trained
    split: str
    images: int
    map: float
    map_all: float
    asked: int
    held_out: int
    chosen_by: int = 0
    detailed: Detailed | None = None
    scored: Mapping[str, int] = field(default_factory=dict)


def trial(
    labels: PartialLabels,
    method: Method,
    *,
    data: str,
    backbone: str = "scenes-net",
    weights: str = "",
    features: tuple[tuple[str, str], ...] = (),
    fine_tune: bool = False,
    transform: ImageTransform = ImageTransform(),
    unasked: Unasked = "skip",
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    device: str = "auto",
    compile: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress = silent,
    where: str = "these labels",
    team: Team = Team(),
    report: bool = False,
) -> Trial:
    """Train `method` on `labels` of the train split of `data`, from cached features or from pixels.

    It is scored on the test split, or on val where there is no test split. The epoch is chosen only
    where the settings say so, on the val split, and never on what is scored.

    Parameters
    ----------
    labels, method
        Labels of the train split, or of the undivided training set, and how to learn from them.
    data, backbone, weights, features
        As `Source` takes them.
    fine_tune, transform
        Whether the backbone learns from pictures, and how they are shown to it. Side information
        that is made of features (SE) then comes from cached ones.
    unasked
        Images nobody asked about: "skip" them, or "absent": train on them with unknown labels.
    settings, seed, draw, device, compile, checkpoint, progress, team
        As `train` takes them.
    where
        Names the labels in errors.
    report
        Take more metrics, see `Detailed`; thresholds come from val, where there is one.

    Raises
    ------
    BadInput
        For labels of another data set, where there are neither pictures nor features, and where an
        epoch shall be chosen and there is nothing to choose it by.
    """
    opened = open_data(data)
    everything = int(labels.asked.sum())
    labels = labels_of_train(labels, opened, where)
    asked = int(labels.asked.sum())
    split = "test" if "test" in opened.truth else "val"
    splits = _splits(opened, split, settings, data, report)
    net = load_backbone(backbone, weights or None, size=transform.size) if fine_tune else None
    kinds = () if fine_tune else (kind_of(spell(method)),)
    source = Source(data, splits, kinds, backbone, weights, features)
    team.check([method])
    read = partial(open_source, data=opened, progress=progress)
    inputs_of = _inputs(net, transform.for_method(method), kind_of(spell(method)))
    study, inputs = team.in_turn(lambda: _read(read(source), splits, inputs_of))
    how: dict[str, Any] = {"settings": settings, "seed": seed, "draw": draw, "backbone": net}
    how |= {"device": device, "compile": compile, "team": team}
    how["validation"] = None if settings.select == "last" else Validation(
        inputs["val"], study.truth("val"), known=study.known("val"), classes=opened.leaves
    )  # fmt: skip
    trained_on = labels if unasked == "skip" else labels.over_all_images()
    task = Task(labels=study.readable(trained_on, "train"), inputs=inputs["train"])
    if fine_tune:
        pooled = replace(source, splits=("train",), kinds=("pooled",))
        task = with_features(task, method, lambda: team.in_turn(lambda: read(pooled)))
    task = prepare(task, method, **how)
    trained = train(task, method, progress=progress, checkpoint=checkpoint, **how)
    trained = _with_data(trained, opened.name, "" if features else backbone, weights)
    run: dict[str, Any] = {"device": device, "precision": settings.precision}
    test = Scored(trained.scores(inputs[split], **run), *_truth(study, split))
    chosen_by = len(inputs["val"]) if how["validation"] else 0
    detailed = None
    if report:
        val = None
        if split != "val" and "val" in inputs:
            val = Scored(trained.scores(inputs["val"], **run), *_truth(study, "val"))
        annotations = labels.per_class(PRESENT) + labels.per_class(ABSENT)
        pointing = team.in_turn(
            lambda: _pointing(trained, inputs[split], source, split, read, opened, run)
        )
        about: dict[str, Any] = {"leaves": opened.leaves, "annotations": annotations}
        detailed = details(test, val, **about, pointing=pointing)
    ap = average_precision(test.scores, test.present, test.known)
    of = {"leaves": ap[opened.leaves], "classes": ap}
    sizes = {kind: len(part) for kind, part in of.items()}
    sizes |= {f"{kind}_scored": int((~np.isnan(part)).sum()) for kind, part in of.items()}
    return Trial(
        trained, split, len(test.scores), mean_ap(of["leaves"]), mean_ap(ap),
        asked, everything - asked, chosen_by, detailed, sizes,
    )  # fmt: skip


def details(
    test: Scored,
    val: Scored | None,
    *,
    leaves: NDArray[np.int64],
    annotations: NDArray[np.int64],
    pointing: float | None = None,
) -> Detailed:
    """More metrics over the leaf classes.

    annotations (L,): how many training images are annotated with each class.  val: where thresholds
    come from; never from what is scored.
    """
    scores, present, known = test.of(leaves)
    operating: dict[str, float | None] = {"f1": None, "precision": None, "recall": None}
    if val is not None:
        limits = f1_thresholds(*val.of(leaves))
        each = f1(scores, present, limits, known), *precision_recall(scores, present, limits, known)
        operating = dict(zip(operating, map(mean_ap, each), strict=True))
    groups = class_groups(annotations[leaves], min(_GROUPS, len(leaves)))
    # A class that is not known in an image is neither right there nor wrong.
    ranked = scores if known is None else np.where(known, scores, -np.inf)
    shown = present if known is None else present.multiply(known).tocsr()
    return Detailed(
        **operating,
        f1_images=0 if val is None else len(val.scores),
        groups=tuple(group_map(average_precision(scores, present, known), groups).tolist()),
        by_labels=tuple(map_by_labels(scores, present, known)),
        top1=top1(ranked, shown),
        pointing=pointing,
    )


def _pointing(
    trained: Trained,
    inputs: ImageInputs | FeatureInputs,
    source: Source,
    split: str,
    read: Callable[[Source], StudyData],
    data: Dataset,
    run: Mapping[str, Any],
) -> float | None:
    """The pointing game on a split; None without boxes, or pictures where those are needed.

    Where inputs are features, maps of the same backbone take their place.
    """
    boxes = data.boxes.get(split)
    if boxes is None or boxes.sizes is None:
        return None
    if isinstance(inputs, ImageInputs):
        return pointed(trained, inputs, boxes, **run)
    if source.features or split not in data.pictures:
        return None
    maps = read(replace(source, splits=(split,), kinds=("maps",)))
    regions = middle(boxes.sizes, load_backbone(source.backbone, source.weights or None).size)
    return pointed(trained, maps.inputs(split, "maps"), boxes, regions=regions, **run)


def _inputs(
    net: Any, transform: ImageTransform, kind: str
) -> Callable[[StudyData, str], ImageInputs | FeatureInputs]:
    """What gives the pictures of a split where a network learns, else its features."""
    if net is None:
        return lambda study, split: study.inputs(split, kind)
    return lambda study, split: transform.inputs(decoded(study.data, split, net.size))


def _read(
    study: StudyData, splits: tuple[str, ...], inputs_of: Callable[[StudyData, str], Any]
) -> tuple[StudyData, dict[str, Any]]:
    return study, {split: inputs_of(study, split) for split in splits}


def _truth(study: StudyData, split: str) -> tuple[Any, NDArray[np.bool_] | None]:
    return study.truth(split).present, study.known(split)


def _with_data(trained: Trained, data: str, backbone: str, weights: str) -> Trained:
    """With the data set and the backbone of the features, and its weights, in its history."""
    settings = {**trained.history.settings, "data": data, "backbone": backbone}
    if backbone:  # one that learned names its weights itself; no folder, as in every history
        settings.setdefault("weights", Path(weights).name or "its own")
    return replace(trained, history=replace(trained.history, settings=settings))


def _splits(
    data: Dataset, scored: str, settings: Settings, spec: str, report: bool
) -> tuple[str, ...]:
    """The splits in use: train, what is scored, and val to choose an epoch or thresholds by."""
    if settings.select == "last":
        more = ("val",) if report and scored != "val" and "val" in data.truth else ()
        return ("train", scored, *more)
    if scored == "val" or "val" not in data.truth:
        raise BadInput(
            f"select is 'best', and {spec!r} has nothing to choose an epoch by but the {scored} "
            "split, which is scored; name both a val and a test part, or set select to 'last'"
        )
    return ("train", scored, "val")


def _share(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
