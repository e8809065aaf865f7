"""Train one method on one set of labels, and score it on a held-out split."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit import metrics
from simkit.data import Dataset
from simkit.data.leaks import open_checked
from simkit.embed.feature_files import Kind
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn import pointing_game
from simkit.learn.distributed import current_team
from simkit.learn.inputs import ImageInputs
from simkit.learn.methods import Method
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare
from simkit.learn.train import Trained, train
from simkit.learn.trained import (
    BOTH,
    CROSS_FITTED,
    SETS_THRESHOLDS,
    TAG_PRECISION,
    VAL,
    thresholds_from,
)
from simkit.learn.training_images import TrainingImages
from simkit.metrics.ap import LabelCounts
from simkit.progress import Progress, silent
from simkit.registry import Share
from simkit.results.test_split import Errors, on_new_images
from simkit.study import sources
from simkit.study.cross_fitting import FOLDS, NEARLY_ALL, complete_rows, cross_fitted
from simkit.study.evaluation import precision_and_recall
from simkit.study.grid import Unasked
from simkit.study.sources import ImageTransform, StudySource, needs_features
from simkit.study.worker import Scored, Training, left_out

_GROUPS = 5  # number of groups of classes, by their number of training labels
LOWER = (0.7, 0.5, 0.4, 0.3, 0.2)  # tag precisions whose numbers of classes are counted
_SMALL = 1_000  # images of val from which on thresholds come from these alone
_FEW = 64  # images whose pooled features are compared with maps


@dataclass(frozen=True)
class Decisions:
    """What the threshold of a class decides about the scored images.

    Attributes
    ----------
    name
        Of the class.
    threshold
        Logit from which on it is present; nan: never.
    from_present
        Number of present labels among those that determined it.
    present, known, tagged
        Number of scored images labelled with the class, of those with a label of it, and of those
        whose score reaches the threshold.
    precision, precision_low, precision_high, recall, recall_low, recall_high
        In [0, 1], with the ends of their 95 % intervals; nan as in `metrics.precision_recall`.
    """

    name: str
    threshold: float
    from_present: int
    present: int
    known: int
    tagged: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    recall_low: float
    recall_high: float


@dataclass(frozen=True)
class Detailed:
    """Further metrics in [0, 1] over the leaf classes; None for those that were not measured.

    Attributes
    ----------
    f1, precision, recall
        Means over classes, at the thresholds with the highest F1 on `f1_images` images.
    by_class
        The decisions at each leaf class's threshold (`Decisions`); empty without thresholds.
    thresholds
        The images that determined the thresholds, in words, or why there are none.
    groups
        mAP of groups of classes, those with the fewest annotations in the training labels first;
        empty if all have equally many, as with complete labels.
    by_labels
        mAP of groups of images, by their number of present labels.
    top1
        Share of the images with any present class whose highest score is of such a class.
    pointing
        The pointing game over all classes with boxes.
    not_pointed
        Why there is none, and the mend.
    """

    f1: float | None
    f1_images: int
    precision: float | None
    recall: float | None
    groups: tuple[float, ...]
    by_labels: tuple[metrics.Part, ...]
    top1: float
    pointing: float | None = None
    not_pointed: str = ""
    by_class: tuple[Decisions, ...] = ()
    thresholds: str = SETS_THRESHOLDS

    def lines(self) -> list[str]:
        """One line for each metric, in percent."""

        def share(value: float | None) -> str:
            return "none" if value is None or math.isnan(value) else f"{100 * value:.2f}"

        groups = ", ".join(map(share, self.groups))
        parts = ", ".join(f"{p.name}: {share(p.map)} ({p.images:,})" for p in self.by_labels)
        mean = f"not measured, as the model has no thresholds: {self.thresholds}"
        if self.f1 is not None:
            mean = (
                f"{share(self.f1)}, precision {share(self.precision)}, recall "
                f"{share(self.recall)} (thresholds with the highest F1 on {self.thresholds})"
            )
        point = f"not measured: {self.not_pointed}" if self.not_pointed else "not measured"
        return [
            f"mF1 {mean}",
            *(
                [f"mAP of groups of classes, the fewest annotations first: {groups}"]
                if groups
                else []
            ),
            f"mAP by number of present labels (images): {parts}",
            f"top-1 {share(self.top1)}",
            f"pointing game {point if self.pointing is None else share(self.pointing)}",
        ]


@dataclass(frozen=True, eq=False)
class Trial:
    """A trained model and its scores.

    Attributes
    ----------
    split, images
        The scored split, and its number of images; "" and 0 without one.
    map, map_all
        mAP(C) in [0, 1] over leaf classes and over all classes; classes without present or without
        absent labels in the split are left out.
    asked, held_out
        Number of asked images that were trained on, and of those in the validation split.
    unasked, unlabelled
        Number of training images without a question, and of asked ones without a known label.
    chosen_by
        Number of images whose complete labels chose the epoch; 0 for the last epoch.
    detailed
        Further metrics, if requested.
    scored
        Number of leaves and classes, and of those with an AP (names in _scored).
    left_out
        A sentence about the leaf classes without an AP, by reason; "" if all have one.
    """

    trained: Trained
    split: str
    images: int
    map: float
    map_all: float
    asked: int
    held_out: int
    unasked: int = 0
    unlabelled: int = 0
    chosen_by: int = 0
    detailed: Detailed | None = None
    scored: Mapping[str, int] = field(default_factory=dict)
    left_out: str = ""


def trial(
    labels: PartialLabels,
    method: Method,
    source: StudySource,
    *,
    transform: ImageTransform | None = None,
    unasked: Unasked = "skip",
    where: str = "these labels",
    report: bool = False,
    tag_precision: Share = TAG_PRECISION,
    settings: Settings = Settings(),
    errors: Errors | None = None,
    seed: int = 0,
    draw: int = 0,
    device: str | torch.device = "auto",
    compile: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress = silent,
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
        Measure further metrics, see `Detailed`. Thresholds come from val and, for a head with few
        images in it, from training images with labels of nearly all classes (`cross_fitted`).
    tag_precision
        Of the report's thresholds: at least this share of the tags of a class must be right, as 30%
        or 0.3, with 95 % confidence for each class (`metrics.f1_thresholds`); a class that does not
        reach it gets no tags. 0: thresholds of the highest F1.
    settings
        Settings of the training.
    errors
        Shares of present classes that the labels of the scored split miss, and of absent ones that
        they report: the expected mAP is that on true labels. None: they are taken as true.
    seed, draw
        Determine the order of images and the initial head.
    device
        "auto": a GPU if there is one and the backbone is trained, else the CPU; or "cpu", "cuda".
    compile
        Use torch.compile for the backbone.
    checkpoint
        A file written after every epoch, from which training resumes.
    progress
        Called with (images done, images) and (epochs done, epochs).

    Returns
    -------
    Trial
        The trained model and its scores.

    Raises
    ------
    BadInput
        For labels of another data set, if there are neither images nor features, if no class of the
        scored split has both present and absent labels, and if no split is available for choosing
        the epoch.
    """
    sources.refuse_table(source, method)
    team, dataset = current_team(), open_checked(source.data)
    all_asked = int(labels.asked.sum())
    labels = sources.labels_of_train(labels, dataset, where)
    chooses = settings.select == "best"
    source = _with_splits(source, dataset, chooses=chooses, report=report)
    split, val = source.splits[1] if source.splits[1:] else "", "val" in source.splits[2:]
    transform = transform and transform.for_method(method)
    source = _with_kinds(source, method, transform)
    wanted = {"train": labels.asked} if unasked == "skip" else None
    how: dict[str, Any] = {"data": dataset, "wanted": wanted, "progress": progress}
    data = team.in_turn(lambda: sources.open_source(source, **how))
    unscored = left_out(data, split) if split else ""
    run = Training(data, method, settings, transform, seed, draw, device)
    validation = run.validation("val", data.truth("val")) if chooses else None
    options = {**run.options, "compile": compile, "validation": validation}
    asked = labels if unasked == "skip" else labels.over_all_images()
    task = prepare(run.task(asked), method, **options)
    trained = train(task, method, checkpoint=checkpoint, progress=progress, **options)
    trained = _with_data(trained, run, task.rows)
    images = _image_counts(labels, all_asked)
    of_val, how_fitted = run.scored(trained, "val") if val else None, VAL
    if report and (of_val is None or len(of_val.scores) < _SMALL):
        of_val, how_fitted = _joined(of_val, _cross_fitted(run, trained, labels, progress))
    trained = _with_thresholds(trained, of_val, how=how_fitted, precision=tag_precision)
    if not split:
        return Trial(trained, "", 0, math.nan, math.nan, *images)
    test, detailed = run.scored(trained, split), None
    if report:
        pointed = team.in_turn(lambda: _pointing(run, trained, source, split, progress))
        about: dict[str, Any] = {"labels": labels, "leaves": dataset.leaves, "pointed": pointed}
        detailed = _detailed(trained, test, of_val, **about)
    ap_of = {"leaves": (ap := test.ap())[dataset.leaves], "classes": ap}
    trained = _with_scores(trained, split, test, dataset.leaves, errors=errors)
    return Trial(
        trained, split, test.scores.shape[0], metrics.mean_ap(ap_of["leaves"]), metrics.mean_ap(ap),
        *images, len(run.inputs("val")) if chooses else 0, detailed, _counts(ap_of), unscored,
    )  # fmt: skip


def _counts(ap_of: Mapping[str, NDArray[np.float64]]) -> dict[str, int]:
    """`Trial.scored`."""
    counts = {name: len(aps) for name, aps in ap_of.items()}
    return counts | {f"{name}_scored": int((~np.isnan(aps)).sum()) for name, aps in ap_of.items()}


def _image_counts(labels: PartialLabels, all_asked: int) -> tuple[int, int, int, int]:
    """asked, held_out, unasked and unlabelled of a `Trial`."""
    asked, known = labels.asked, np.diff(labels.codes.indptr)
    number = int(asked.sum())
    return number, all_asked - number, len(asked) - number, int((known[asked] == 0).sum())


def _with_splits(source: StudySource, data: Dataset, *, chooses: bool, report: bool) -> StudySource:
    """The source with the splits in use.

    These are train, the scored split if any, and val if it chooses an epoch or thresholds.
    """
    scored = "test" if "test" in data.truth else "val"
    known = data.truth["train"].known
    if scored not in data.truth and known is not None and not known.nnz:
        if chooses:
            raise BadInput(
                f"{source.data!r} has no labelled images to choose an epoch on; set select to "
                "'last', or name a labelled data set in its field `scored`"
            )
        return replace(source, splits=("train",))  # an order has no labelled images to score
    val = scored != "val" and "val" in data.truth
    if chooses and not val:
        raise BadInput(
            f"select is 'best', but {source.data!r} has only the {scored} split, which is scored, "
            "to choose an epoch on; name both a val and a test part, or set select to 'last'"
        )
    third = ("val",) if val and (chooses or report) else ()
    return replace(source, splits=("train", scored, *third))


def _with_kinds(
    source: StudySource, method: Method, transform: ImageTransform | None
) -> StudySource:
    """The source with the kinds of features or the size of images that the method trains on."""
    if transform is None:
        return replace(source, kinds=(sources.kind_of(method),))
    kinds: tuple[Kind, ...] = ("pooled",) if needs_features(method) else ()
    return replace(source, kinds=kinds, sizes=(transform.size,))


def _pointing(
    run: Training, trained: Trained, source: StudySource, split: str, progress: Progress
) -> tuple[float | None, str]:
    """The pointing game on a split; or None, and what is missing with the mend.

    Pooled features are replaced by the feature maps of the same backbone. If the features are not
    the means of these maps, as in networks with a class token, the head does not fit them.
    """
    dataset, inputs = run.data.data, run.inputs(split)
    boxes = dataset.boxes.get(split)
    if boxes is None:
        return None, (
            f"{dataset.name} has no boxes of the {split} split; use data that have them: scenes, "
            "voc: with its folder Annotations, or coco:"
        )
    if boxes.sizes is None:
        return None, (
            f"the sizes of the images of the {split} split are unknown; add width and height to "
            "the images of its file"
        )
    if isinstance(inputs, ImageInputs):
        return pointing_game.pointed(trained, inputs, boxes, device=run.device), ""
    if source.features:
        return None, (
            "it needs maps of the images, and features of your own have none; leave out "
            "--features and name the network with --backbone"
        )
    if split not in dataset.pictures:
        return None, f"the images of the {split} split are missing; name their folder in --data"
    source = replace(source, splits=(split,), kinds=("maps",))
    study = sources.open_source(source, data=dataset, progress=progress)
    maps = study.inputs(split, "maps")
    if inputs.kind == "pooled":
        pooled, some = (np.asarray(x[:_FEW], np.float32) for x in (inputs.values, maps.values))
        means = some.mean((2, 3))
        near: dict[str, Any] = {"rtol": 0.01, "atol": 0.01 * means.std()}  # of fp16
        if pooled.shape != means.shape or not np.allclose(pooled, means, **near):
            return None, (
                f"the features of {source.backbone} are not the means of its maps (a class token, "
                "for instance); train on another --backbone, such as resnet50, or with --fine-tune"
            )
    return pointing_game.pointed(trained, maps, boxes, device=run.device), ""


def details(
    test: Scored,
    val: Scored | None,
    *,
    leaves: NDArray[np.int64],
    annotations: NDArray[np.int64],
    pointing: float | None = None,
    not_pointed: str = "",
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
    pointing, not_pointed
        Result of the pointing game, or why there is none.
    """
    test = test.of(leaves)
    none: dict[str, Any] = dict.fromkeys(("f1", "precision", "recall"))
    scores, present, known = test.scores, test.present, test.known
    # Unknown entries count neither as right nor as wrong.
    all_count = known is None or issparse(scores)
    known_scores = scores if all_count else np.where(known, scores, -np.inf)
    known_present = present if known is None else present.multiply(known).tocsr()
    groups = np.zeros(0, np.int64)
    if np.ptp(annotations[leaves]):
        groups = metrics.class_groups(annotations[leaves], min(_GROUPS, len(leaves)))
    return Detailed(
        **(none if val is None else test.at_thresholds(val.of(leaves))),
        f1_images=0 if val is None else val.scores.shape[0],
        groups=tuple(metrics.group_map(test.ap(), groups).tolist()),
        by_labels=tuple(metrics.map_by_labels(scores, present, known)),
        top1=metrics.top1(known_scores, known_present),
        pointing=pointing,
        not_pointed=not_pointed,
        thresholds=SETS_THRESHOLDS if val is None else thresholds_from(val.scores.shape[0], VAL),
    )


def _cross_fitted(
    run: Training, trained: Trained, labels: PartialLabels, progress: Progress
) -> Scored | None:
    """Scores of images with nearly complete labels; None for few, or for a fine-tuned backbone."""
    rows = complete_rows(run.data.readable(labels, "train"))
    if run.transform is not None or len(rows) < 2 * FOLDS:
        return None
    codes = labels.codes[rows].toarray()
    # val is scored after the epochs that it has chosen.
    settings = replace(run.settings, select="last", epochs=trained.epoch)
    run = replace(run, settings=settings) if run.settings.select == "best" else run
    scores = cross_fitted(run, labels, rows, progress, scale=trained)
    return Scored(scores, codes == PRESENT, codes != 0)


def _joined(val: Scored | None, fitted: Scored | None) -> tuple[Scored | None, str]:
    """The scores of both, and the name of the images that these are."""
    if val is None or fitted is None:
        return val or fitted, CROSS_FITTED if val is None else VAL
    known = np.ones(val.scores.shape, bool) if val.known is None else val.known
    parts = [val.scores, val.present, known]
    dense = (part.toarray() if issparse(part) else part for part in parts)
    joined = zip(dense, (fitted.scores, fitted.present, fitted.known), strict=True)
    return Scored(*map(np.concatenate, joined)), BOTH


def _detailed(
    trained: Trained, test: Scored, val: Scored | None, *, labels: PartialLabels,
    leaves: NDArray[np.int64], pointed: tuple[float | None, str],
) -> Detailed:  # fmt: skip
    annotations = labels.per_class(PRESENT) + labels.per_class(ABSENT)
    found = details(
        test, val, leaves=leaves, annotations=annotations, pointing=pointed[0],
        not_pointed=pointed[1],
    )  # fmt: skip
    return replace(found, **_decided(trained, test, val, leaves))


def _decided(
    trained: Trained, test: Scored, val: Scored | None, leaves: NDArray[np.int64]
) -> dict[str, Any]:
    """`by_class` and `thresholds` of a `Detailed`."""
    if val is None:
        if trained.model.backbone is not None:
            return {"thresholds": "with a fine-tuned backbone they need a val split in the data"}
        return {"thresholds": f"they need a val split, or at least {2 * FOLDS} training images "
                f"with labels of {NEARLY_ALL:.0%} of the classes"}  # fmt: skip
    limits, test = np.array(trained.thresholds)[leaves], test.of(leaves)
    counts = LabelCounts.of(test.present, test.known)
    table = pd.DataFrame({
        "name": [trained.classes[c] for c in leaves], "threshold": limits,
        "from_present": np.array(trained.thresholds_present)[leaves],
        "present": counts.present, "known": counts.present + counts.absent,
        **precision_and_recall(test.scores, test.present, limits, test.known),
    })  # fmt: skip
    return {
        "thresholds": thresholds_from(trained.thresholds_from, trained.thresholds_how),
        "by_class": tuple(Decisions(**row) for row in table.to_dict("records")),
    }


def _with_scores(
    trained: Trained, split: str, test: Scored, leaves: NDArray[np.int64],
    *, errors: Errors | None,
) -> Trained:  # fmt: skip
    """The model with its mAP over the leaf classes."""
    ap = test.ap()[leaves]
    counts = LabelCounts.of(test.present, test.known, leaves)
    expected = on_new_images(ap, counts, errors)
    scored = {
        "split": split, "images": test.scores.shape[0], "classes": int((~np.isnan(ap)).sum()),
        "map": metrics.mean_ap(ap), "expected": expected.mean, "low": expected.low,
        "high": expected.high, "chance": metrics.mean_ap(counts.share),
    }  # fmt: skip
    if errors is not None and any(errors):
        scored |= {"errors": [*errors], "as_true": on_new_images(ap, counts).mean}
    return replace(trained, scored=scored)


def _with_thresholds(
    trained: Trained, scored: Scored | None, *, how: str, precision: float
) -> Trained:
    """The model with the thresholds of the highest F1 at a precision on these images, if any."""
    if scored is None:
        return trained
    values = metrics.f1_thresholds(scored.scores, scored.present, scored.known, precision=precision)
    options = _tag_options(scored, precision) if np.isinf(values).any() else {}
    return replace(
        trained, tag_options=options,
        thresholds=tuple(np.where(np.isinf(values), np.nan, values).tolist()),
        thresholds_from=scored.scores.shape[0], tag_precision=precision,
        thresholds_how=how,
        thresholds_present=tuple(LabelCounts.of(scored.present, scored.known).present.tolist()),
    )  # fmt: skip


def _tag_options(scored: Scored, precision: float) -> dict[str, Any]:
    """`Trained.tag_options`; of more images, the shares of right tags stay about the same."""
    tables = scored.scores, scored.present, scored.known

    def tagged(at: float, quarters: int = 0) -> int:
        images = np.arange(scored.scores.shape[0])
        images = np.append(images, images[images % 4 < quarters])
        some = (None if one is None else one[images] for one in tables)
        return int(np.isfinite(metrics.f1_thresholds(*some, precision=at)).sum())

    lower = {f"{at:.0%}": tagged(at) for at in LOWER if at < precision}
    more = {f"{quarters / 4:.0%}": tagged(precision, quarters) for quarters in range(1, 5)}
    return {"lower": lower, "more": more}


def _with_data(trained: Trained, run: Training, rows: NDArray[np.int64]) -> Trained:
    """The model with its training images, and the data set and any known network in its history.

    rows: those of its training images.
    """
    pictures, features = run.data.data.pictures.get("train"), None
    settings: dict[str, Any] = {**trained.history.settings, "data": run.data.data.name}
    if run.transform is None:  # the model of a trained backbone has its name already
        of_train = next(each for (of, _), each in run.data.features.items() if of == "train")
        made, features = of_train.history, of_train.values
        names = ("backbone", "weights", "size", "fit")
        settings |= {name: made.settings[name] for name in names if name in made.settings}
        settings |= {"backbone_id": made.parents[1]} if len(made.parents) > 1 else {}
    history = replace(trained.history, settings=settings)
    images = TrainingImages.among(rows, pictures, features)
    return replace(trained, history=history, trained_on=images)
