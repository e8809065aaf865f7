"""One method on one set of labels: train it, and score it on a split it has not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
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
from simkit.progress import Progress, silent
from simkit.study.grid import Unasked
from simkit.study.sources import (
    ImageTransform,
    Source,
    StudyData,
    decoded,
    kind_of,
    labels_of_train,
    open_source,
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
    source: Source,
    *,
    transform: ImageTransform | None = None,
    unasked: Unasked = "skip",
    where: str = "these labels",
    report: bool = False,
    **training: Any,
) -> Trial:
    """Train `method` on `labels` of the train split, from cached features or from pixels.

    It is scored on the test split, or on val where there is no test split. The epoch is chosen only
    where the settings say so, on the val split, and never on what is scored.

    Parameters
    ----------
    labels, method
        Labels of the train split, or of the undivided training set, and how to learn from them.
    source
        The data set, the backbone and the features; splits and kinds follow from the method.
    transform
        Fine-tune the backbone on pictures that are shown so; None: train a head on features. Side
        information that is made of features (SE) comes from cached ones in both cases.
    unasked
        Images nobody asked about: "skip" them, or "absent": train on them with unknown labels.
    where
        Names the labels in errors.
    report
        Take more metrics, see `Detailed`; thresholds come from val, where there is one.
    training
        As `train` takes it: settings, seed, draw, device, compile, checkpoint, progress, team.

    Raises
    ------
    BadInput
        For labels of another data set, where there are neither pictures nor features, and where an
        epoch shall be chosen and there is nothing to choose it by.
    """
    settings, team = training.get("settings", Settings()), training.get("team", Team())
    team.check([method])
    data = open_data(source.data)
    everything = int(labels.asked.sum())
    labels = labels_of_train(labels, data, where)
    split = "test" if "test" in data.truth else "val"
    splits = _splits(data, split, settings, source.data, report)
    kinds = () if transform else (kind_of(spell(method)),)
    source = replace(source, splits=splits, kinds=kinds)
    bench = _Bench(method, source, data, transform, team, training.get("progress", silent))
    held = None
    if settings.select == "best":
        known, leaves = bench.study.known("val"), data.leaves
        held = Validation(bench.inputs["val"], data.truth["val"], known=known, classes=leaves)
    how = {**training, "backbone": bench.network, "validation": held}
    task = bench.task(labels if unasked == "skip" else labels.over_all_images())
    prepared = {k: v for k, v in how.items() if k not in ("checkpoint", "progress")}
    trained = train(prepare(task, method, **prepared), method, **how)
    trained = _with_data(trained, data.name, "" if source.features else source.backbone, source)
    run: dict[str, Any] = {"device": training.get("device", "auto")}
    run["precision"] = settings.precision
    test = bench.scored(trained, split, run)
    detailed = None
    if report:
        val = bench.scored(trained, "val", run) if split != "val" and "val" in splits else None
        pointing = team.in_turn(lambda: bench.pointing(trained, split, run))
        annotations = labels.per_class(PRESENT) + labels.per_class(ABSENT)
        about: dict[str, Any] = {"leaves": data.leaves, "annotations": annotations}
        detailed = details(test, val, **about, pointing=pointing)
    ap = average_precision(test.scores, test.present, test.known)
    of = {"leaves": ap[data.leaves], "classes": ap}
    sizes = {kind: len(part) for kind, part in of.items()}
    sizes |= {f"{kind}_scored": int((~np.isnan(part)).sum()) for kind, part in of.items()}
    asked, chosen_by = int(labels.asked.sum()), len(bench.inputs["val"]) if held else 0
    return Trial(
        trained, split, len(test.scores), mean_ap(of["leaves"]), mean_ap(ap),
        asked, everything - asked, chosen_by, detailed, sizes,
    )  # fmt: skip


class _Bench:
    """The open data of a trial, and what is learned from: pictures where a network learns."""

    def __init__(
        self,
        method: Method,
        source: Source,
        data: Dataset,
        transform: ImageTransform | None,
        team: Team,
        progress: Progress,
    ) -> None:
        self.method, self.source, self.data, self.team = method, source, data, team
        self.read = partial(open_source, data=data, progress=progress)
        self.network = None
        if transform is not None:
            weights, transform = source.weights or None, transform.for_method(method)
            self.network = load_backbone(source.backbone, weights, size=transform.size)
        self.transform = transform
        self.study, self.inputs = team.in_turn(self._open)

    def _open(self) -> tuple[StudyData, dict[str, ImageInputs | FeatureInputs]]:
        study = self.read(self.source)
        return study, {split: self._inputs(study, split) for split in self.source.splits}

    def _inputs(self, study: StudyData, split: str) -> ImageInputs | FeatureInputs:
        if self.network is None or self.transform is None:
            return study.inputs(split, kind_of(spell(self.method)))
        return self.transform.inputs(decoded(self.data, split, self.network.size))

    def task(self, labels: PartialLabels) -> Task:
        """What is learned, with side information that is made of features."""
        task = Task(labels=self.study.readable(labels, "train"), inputs=self.inputs["train"])
        if self.network is None:
            return task
        pooled = replace(self.source, splits=("train",), kinds=("pooled",))
        return with_features(
            task, self.method, lambda: self.team.in_turn(lambda: self.read(pooled))
        )

    def scored(self, trained: Trained, split: str, run: Mapping[str, Any]) -> Scored:
        """Scores of a split, with what is true there."""
        scores = trained.scores(self.inputs[split], **run)
        return Scored(scores, self.study.truth(split).present, self.study.known(split))

    def pointing(self, trained: Trained, split: str, run: Mapping[str, Any]) -> float | None:
        """The pointing game on a split; None without boxes, or pictures where those are needed.

        Where inputs are features, maps of the same backbone take their place.
        """
        boxes, inputs, source = self.data.boxes.get(split), self.inputs[split], self.source
        if boxes is None or boxes.sizes is None:
            return None
        if isinstance(inputs, ImageInputs):
            return pointed(trained, inputs, boxes, **run)
        if source.features or split not in self.data.pictures:
            return None
        maps = self.read(replace(source, splits=(split,), kinds=("maps",)))
        regions = middle(boxes.sizes, load_backbone(source.backbone, source.weights or None).size)
        return pointed(trained, maps.inputs(split, "maps"), boxes, regions=regions, **run)


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


def _with_data(trained: Trained, data: str, backbone: str, source: Source) -> Trained:
    """With the data set and the backbone of the features, and its weights, in its history."""
    settings = {**trained.history.settings, "data": data, "backbone": backbone}
    if backbone:  # one that learned names its weights itself; no folder, as in every history
        settings.setdefault("weights", Path(source.weights).name or "its own")
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
