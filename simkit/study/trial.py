"""Train one method on one set of labels, and score it on a held-out split."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit import metrics
from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.embed.backbones import backbone as load_backbone
from simkit.embed.features import Features
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn.distributed import Team
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Method, Task, spell
from simkit.learn.optim import Settings
from simkit.learn.pointing_game import middle, pointed
from simkit.learn.side_info import prepare
from simkit.learn.train import Trained, train
from simkit.learn.validation import Validation
from simkit.progress import Progress, silent
from simkit.study import sources
from simkit.study.grid import Unasked
from simkit.study.sources import ImageTransform, Source, StudyData

_GROUPS = 5  # number of groups of classes, by their number of training labels
_FEW = 64  # images whose pooled features are compared with maps


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (N, L) of a split, its reference labels, and the mask of entries that count.

    Where the mask is sparse, so are the scores: they are those of its entries alone.
    """

    scores: Any
    present: Any
    known: Any

    def of(self, classes: NDArray[np.int64]) -> tuple[Any, Any, Any]:
        """Scores, present and known entries of these classes."""
        known = None if self.known is None else self.known[:, classes]
        return self.scores[:, classes], self.present[:, classes], known


@dataclass(frozen=True)
class Detailed:
    """Further metrics in [0, 1] over the leaf classes; None for those that were not measured.

    Attributes
    ----------
    f1, precision, recall
        Means over classes, at thresholds from `f1_images` images of the val split.
    groups
        mAP of groups of classes, those with the fewest annotations in the training labels first.
    by_labels
        mAP of groups of images, by their number of present labels.
    top1
        Share of the images with any present class whose highest score is of such a class.
    pointing
        The pointing game over all classes with boxes.
    """

    f1: float | None
    f1_images: int
    precision: float | None
    recall: float | None
    groups: tuple[float, ...]
    by_labels: tuple[metrics.Part, ...]
    top1: float
    pointing: float | None = None

    def lines(self) -> list[str]:
        """One line for each metric, in percent."""
        groups = ", ".join(_share(g) for g in self.groups)
        parts = ", ".join(f"{p.name}: {_share(p.map)} ({p.images:,})" for p in self.by_labels)
        mean = "not measured, as there is no val split for the thresholds"
        if self.f1 is not None:
            mean = (
                f"{_share(self.f1)}, precision {_share(self.precision)}, recall "
                f"{_share(self.recall)} (thresholds from {self.f1_images:,} images of val)"
            )
        point = "not played, as it needs boxes and readable images"
        return [
            f"mF1 {mean}",
            f"mAP of groups of classes, the fewest annotations first: {groups}",
            f"mAP by number of present labels (images): {parts}",
            f"top-1 {_share(self.top1)}",
            f"pointing game {point if self.pointing is None else _share(self.pointing)}",
        ]


@dataclass(frozen=True, eq=False)
class Trial:
    """A trained model and its scores.

    Attributes
    ----------
    split, images
        The scored split, and its number of images; "" and 0 without one.
    map, map_all
        mAP(C) in [0, 1] over leaf classes and over all classes; classes without positives in the
        split are left out.
    asked, held_out
        Number of asked images that were trained on, and of those in the validation split.
    chosen_by
        Number of images whose complete labels chose the epoch; 0 for the last epoch.
    detailed
        Further metrics, if requested.
    scored
        Number of leaves and classes, and of those with an AP (names in _scored).
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

    It is scored on the test split, or on val without a test split. Without labelled images other
    than those of an order, it is not scored. The epoch is chosen only if the settings ask for it,
    on the val split, and never on the scored split.

    Parameters
    ----------
    labels, method
        Labels of the train split, or of the undivided training set, and the method.
    source
        The data set, the backbone and the features; splits and kinds follow from the method.
    transform
        Fine-tune the backbone on images with this transform; None: train a head on features. Side
        information from features (SE) uses cached ones in both cases.
    unasked
        Images without any question: "skip" them, or "absent": train on them with unknown labels.
    where
        Name of the labels in error messages.
    report
        Measure further metrics, see `Detailed`; thresholds come from val, if there is one.
    training
        Arguments of `train`: settings, seed, draw, device, compile, checkpoint, progress, team.

    Returns
    -------
    Trial
        The trained model and its scores.

    Raises
    ------
    BadInput
        For labels of another data set, if there are neither images nor features, and if an epoch
        shall be chosen without a split for it.
    """
    settings, team = training.get("settings", Settings()), training.get("team", Team())
    data = open_data(source.data)
    all_asked = int(labels.asked.sum())
    labels = sources.labels_of_train(labels, data, where)
    split = "test" if "test" in data.truth else "val"
    known = data.truth["train"].known
    if split not in data.truth and known is not None and not known.nnz:
        split = ""  # images of an order have no known labels to score on
    splits = _splits(data, split, settings, source.data, report)
    kinds = () if transform else (sources.kind_of(spell(method)),)
    source = replace(source, splits=splits, kinds=kinds)
    bench = _Bench(method, source, data, transform, team, training.get("progress", silent))
    validation = None
    if settings.select == "best":
        known, leaves = bench.study.known("val"), data.leaves
        validation = Validation(bench.inputs["val"], data.truth["val"], known=known, classes=leaves)
    options = {**training, "backbone": bench.network, "validation": validation}
    task = bench.task(labels if unasked == "skip" else labels.over_all_images())
    preparing = {k: v for k, v in options.items() if k not in ("checkpoint", "progress")}
    trained = train(prepare(task, method, **preparing), method, **options)
    own = [each for (of, _), each in bench.study.features.items() if of == "train"]
    trained = _with_data(trained, data.name, own[0] if own else None)
    asked, chosen_by = int(labels.asked.sum()), len(bench.inputs["val"]) if validation else 0
    if not split:
        return Trial(trained, "", 0, math.nan, math.nan, asked, all_asked - asked)
    scoring = {"device": training.get("device", "auto"), "precision": settings.precision}
    test = bench.scored(trained, split, scoring)
    detailed = None
    if report:
        val = bench.scored(trained, "val", scoring) if split != "val" and "val" in splits else None
        pointing = team.in_turn(lambda: bench.pointing(trained, split, scoring))
        annotations = labels.per_class(PRESENT) + labels.per_class(ABSENT)
        classes: dict[str, Any] = {"leaves": data.leaves, "annotations": annotations}
        detailed = details(test, val, **classes, pointing=pointing)
    ap = metrics.average_precision(test.scores, test.present, test.known)
    ap_of = {"leaves": ap[data.leaves], "classes": ap}
    counts = {name: len(aps) for name, aps in ap_of.items()}
    counts |= {f"{name}_scored": int((~np.isnan(aps)).sum()) for name, aps in ap_of.items()}
    return Trial(
        trained, split, test.scores.shape[0], metrics.mean_ap(ap_of["leaves"]), metrics.mean_ap(ap),
        asked, all_asked - asked, chosen_by, detailed, counts,
    )  # fmt: skip


class _Bench:
    """The open data of a trial and its inputs: features, or images for fine-tuning."""

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
        self.read = partial(sources.open_source, data=data, progress=progress)
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
            return study.inputs(split, sources.kind_of(spell(self.method)))
        return self.transform.inputs(sources.decoded_pictures(self.data, split, self.network.size))

    def task(self, labels: PartialLabels) -> Task:
        """The task, with side information from features for fine-tuning."""
        labels = self.study.readable(labels, "train")
        task = Task(labels, self.inputs["train"], self.study.train_aids)
        if self.network is None:
            return task
        pooled = replace(self.source, splits=("train",), kinds=("pooled",))
        return sources.with_features(
            task, self.method, lambda: self.team.in_turn(lambda: self.read(pooled))
        )

    def scored(self, trained: Trained, split: str, scoring: Mapping[str, Any]) -> Scored:
        """Scores of a split, with its reference labels."""
        known = self.study.known(split)
        entries = known if issparse(known) else None
        scores = trained.scores(self.inputs[split], known=entries, **scoring)
        return Scored(scores, self.study.truth(split).present, known)

    def pointing(self, trained: Trained, split: str, scoring: Mapping[str, Any]) -> float | None:
        """The pointing game on a split; None without boxes or without the images for maps.

        Pooled features are replaced by the maps of the same backbone that they are means of. None
        where they are not, as in networks with a class token: the head does not fit the maps.
        """
        boxes, inputs, source = self.data.boxes.get(split), self.inputs[split], self.source
        if boxes is None or boxes.sizes is None:
            return None
        if isinstance(inputs, ImageInputs):
            return pointed(trained, inputs, boxes, **scoring)
        if source.features or split not in self.data.pictures:
            return None
        maps = self.read(replace(source, splits=(split,), kinds=("maps",))).inputs(split, "maps")
        if inputs.kind == "pooled" and not _are_means(inputs.values, maps.values):
            return None
        regions = middle(boxes.sizes, load_backbone(source.backbone, source.weights or None).size)
        return pointed(trained, maps, boxes, regions=regions, **scoring)


def _are_means(pooled: Any, maps: Any) -> bool:
    """Whether pooled features (N, D) are the means of maps (N, D, h, w), up to fp16."""
    pooled, means = (np.asarray(x[:_FEW], np.float32) for x in (pooled, maps))
    means = means.mean((2, 3))
    near: dict[str, Any] = {"rtol": 0.01, "atol": 0.01 * means.std()}
    return pooled.shape == means.shape and np.allclose(pooled, means, **near)


def details(
    test: Scored,
    val: Scored | None,
    *,
    leaves: NDArray[np.int64],
    annotations: NDArray[np.int64],
    pointing: float | None = None,
) -> Detailed:
    """Further metrics over the leaf classes.

    Parameters
    ----------
    test
        The scored split.
    val
        The split for thresholds, never the scored one.
    leaves
        Indices of the leaf classes.
    annotations
        (L,) number of training images annotated with each class.
    pointing
        Result of the pointing game.
    """
    scores, present, known = test.of(leaves)
    operating: dict[str, float | None] = {"f1": None, "precision": None, "recall": None}
    if val is not None:
        thresholds = metrics.f1_thresholds(*val.of(leaves))
        by_class = (
            metrics.f1(scores, present, thresholds, known),
            *metrics.precision_recall(scores, present, thresholds, known),
        )
        operating = dict(zip(operating, map(metrics.mean_ap, by_class), strict=True))
    groups = metrics.class_groups(annotations[leaves], min(_GROUPS, len(leaves)))
    # Unknown entries count neither as right nor as wrong.
    all_count = known is None or issparse(scores)
    known_scores = scores if all_count else np.where(known, scores, -np.inf)
    known_present = present if known is None else present.multiply(known).tocsr()
    return Detailed(
        **operating,
        f1_images=0 if val is None else val.scores.shape[0],
        groups=tuple(
            metrics.group_map(metrics.average_precision(scores, present, known), groups).tolist()
        ),
        by_labels=tuple(metrics.map_by_labels(scores, present, known)),
        top1=metrics.top1(known_scores, known_present),
        pointing=pointing,
    )


def _with_data(trained: Trained, data: str, features: Features | None) -> Trained:
    """The model with the data set, and the network of the features if known, in its history."""
    settings: dict[str, Any] = {**trained.history.settings, "data": data}
    if features is not None:  # a trained network is named already
        made = features.history
        names = ("backbone", "weights", "size")
        settings |= {name: made.settings[name] for name in names if name in made.settings}
        settings |= {"backbone_id": made.parents[1]} if len(made.parents) > 1 else {}
    return replace(trained, history=replace(trained.history, settings=settings))


def _splits(
    data: Dataset, scored: str, settings: Settings, spec: str, report: bool
) -> tuple[str, ...]:
    """The splits in use: train, the scored one, and val if it chooses an epoch or thresholds."""
    chooses, val = settings.select == "best", scored != "val" and "val" in data.truth
    if not scored and (chooses or report):
        raise BadInput(
            f"{spec!r} has no labelled images to choose an epoch or to report on; set select to "
            "'last', or name a labelled data set in its field `scored`"
        )
    if chooses and not val:
        raise BadInput(
            f"select is 'best', but {spec!r} has only the {scored} split, which is scored, to "
            "choose an epoch on; name both a val and a test part, or set select to 'last'"
        )
    names = ("train", scored, "val" if val and (chooses or report) else "")
    return tuple(filter(None, names))


def _share(value: float | None) -> str:
    return "none" if value is None or math.isnan(value) else f"{100 * value:.2f}"
