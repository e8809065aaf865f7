"""A trained model, evaluated on labelled images: mAP on new images, and its surest mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from simkit import metrics
from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.data.dataset import WHOLE, Pictures, shortened
from simkit.embed.feature_files import of_splits
from simkit.embed.features import read_features
from simkit.errors import BadInput, examples, note
from simkit.learn.predict import Prediction, predict_split, predict_splits, same_fit, splits_of
from simkit.learn.trained import (
    SETS_THRESHOLDS,
    Trained,
    tag_rule,
    thresholds_from,
    too_frequent,
    untagged,
)
from simkit.metrics.ap import LabelCounts, ap_of_classes
from simkit.metrics.thresholds import exact_interval
from simkit.orders.page import address
from simkit.progress import Progress, silent
from simkit.registry import short
from simkit.results.report import Image, Page, Readable, Section, Table, look, points, svg_source
from simkit.results.statistics import Interval
from simkit.results.test_split import Errors, expected_in_words, on_new_images, too_high
from simkit.study.sources import StudyData, StudySource, compute, kind_of, open_source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXTREME = 5  # worst and best classes on the first screen
CURVES = 12  # classes whose curves are not folded
MISTAKES, OF_CLASS = 12, 2  # pictures of mistakes, and those of one class, at most
SIDE = 240  # pixels of a picture


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Readable):
    """A trained model, evaluated on labelled images.

    Attributes
    ----------
    map
        mAP on these images, in [0, 1]: the mean over the classes with both present and absent
        labels; of a hierarchy, those without children.
    expected
        mAP on many new images of the same kind, with its 95 % interval: mAP measured on few images
        is too high. Labels whose `errors` are unknown are taken as true.
    precision, recall
        Means over those of these classes with a threshold of the model, in [0, 1]. Precision is of
        the classes that are predicted at least once. nan without any.
    by_class
        A row for each class of the model that the data have: `present` and `absent` labels, `ap`
        (nan for classes without one) and `chance`, that of a random order of these images, the
        number of images `tagged` at the model's `threshold` (nan: the class gets no tags),
        `precision` and `recall` at it, and
        `best_threshold`, with the highest F1 on these images. Thresholds are logits. `_low` and
        `_high` of precision and recall are the ends of their 95 % intervals.
    scores
        (N, L) logits of the evaluated images and classes.
    present, known
        (N, L) labels, and whether they count.
    thresholds_from, thresholds_how, tag_precision
        As of `Trained`; without images for thresholds, each is 0, a probability of 1/2.
    left_out
        A sentence about classes without an AP; "" if all have one.
    data, model
        The images and the model in a few words.
    errors
        Shares of present classes that the labels miss, and of absent ones that they report, for
        which `expected` is corrected; None: unknown.
    as_true
        The expected mAP without this correction.
    seen, training_note
        Number of images that were left out because the model was trained on them, and a sentence
        about it, or about why this cannot be checked; "" if there are none.
    of_training
        What the training expected of the model, `Trained.scored`.
    """

    map: float
    expected: Interval
    precision: float
    recall: float
    by_class: pd.DataFrame
    scores: pd.DataFrame
    present: NDArray[np.bool_]
    known: NDArray[np.bool_]
    thresholds_from: int
    left_out: str
    data: str
    model: str
    thresholds_how: str
    tag_precision: float
    errors: Errors | None
    as_true: float
    seen: int = 0
    training_note: str = ""
    of_training: Mapping[str, Any] = field(default_factory=dict)
    _pictures: Sequence[tuple[Pictures, int]] = ()

    @property
    def mistakes(self) -> pd.DataFrame:
        """The surest mistakes at the model's thresholds, at most two of a class.

        Columns: `mistake` ("false positive", by falling score, or "miss", by rising score),
        `image`, `class`, `score`, and the image's `row` in `scores`.
        """
        scores, thresholds = self.scores.to_numpy(), self.by_class["threshold"].to_numpy()
        called = scores >= thresholds
        tables = []
        for name, wrong, sign in (
            ("false positive", called & ~self.present, -1), ("miss", ~called & self.present, 1),
        ):  # fmt: skip
            rows, columns = (wrong & self.known).nonzero()
            order = np.argsort(sign * scores[rows, columns], kind="stable")
            row, column = rows[order], columns[order]
            table = pd.DataFrame({
                "mistake": name, "image": self.scores.index[row],
                "class": self.by_class.index[column], "score": scores[row, column], "row": row,
            })  # fmt: skip
            tables.append(table.groupby("class").head(OF_CLASS)[:MISTAKES])
        return pd.concat(tables, ignore_index=True)

    def to_json(self) -> dict[str, Any]:
        """As plain values, without scores and labels."""
        means = {"map": self.map, "expected": self.expected.mean, "low": self.expected.low,
                 "high": self.expected.high, "precision": self.precision,
                 "recall": self.recall}  # fmt: skip
        return {
            **_plain(pd.DataFrame([means]))[0], "images": len(self.scores), "data": self.data,
            "model": self.model, "thresholds_from": self.thresholds_from,
            "left_out": self.left_out, "errors": self.errors,
            "seen": self.seen, "training_note": self.training_note,
            "by_class": _plain(self.by_class.reset_index()),
            "mistakes": _plain(self.mistakes.drop(columns="row")),
        }  # fmt: skip

    @property
    def page(self) -> Page:
        """The page: the answer, the worst and the best classes, and the details."""
        ranked = self.by_class["ap"].dropna().sort_values(kind="stable")
        answers = [
            ("mAP", self._means()),
            *([("Training", self.training_note)] if self.training_note else []),
            ("Tags", self._tags()),
            *([("Warning", f"{often[0].upper()}{often[1:]}.")] if (often := self._often()) else []),
            ("Data", self.data), ("Model", self.model),
        ]  # fmt: skip
        answers += [("Left out", self.left_out)] if self.left_out else []
        tables = [self._table("Classes, worst first", ranked.index)]
        if len(ranked) > 2 * EXTREME:
            tables = [
                self._table("Worst classes", ranked.index[:EXTREME]),
                self._table("Best classes", ranked.index[: -EXTREME - 1 : -1]),
            ]
        details = (
            *self._curves(ranked.index), *self._pictured(),
            Section("All classes and their thresholds", (
                "Thresholds are logits, as in the scores. The best threshold has the highest F1 on "
                "these images; precision and recall are at the model's.",
            ), table=self._table("", self.by_class.index, thresholds=True)),
        )  # fmt: skip
        return Page(
            f"Evaluation of a model: {self.model.partition(',')[0]}", tuple(answers),
            tuple(tables), details, program="simkit predict",
        )  # fmt: skip

    def _means(self) -> str:
        """The mAP expected on new images, that measured, and that of the training if it differs."""
        by_class, expected, trained = self.by_class, self.expected, self.of_training
        counts = LabelCounts(by_class["present"].to_numpy(), by_class["absent"].to_numpy())
        scored = {
            "expected": expected.mean, "low": expected.low, "high": expected.high,
            "chance": metrics.mean_ap(counts.share), "errors": self.errors, "as_true": self.as_true,
        }  # fmt: skip
        taken = "the labels are taken as true, as their errors are unknown"
        says = [
            expected_in_words(scored) + (f"; {taken}" if self.errors is None else ""),
            f"Measured on these images: {points(self.map)} (a random order has "
            f"{points(metrics.mean_ap(by_class['chance']))})" + too_high(self.map, self.as_true),
        ]
        if trained and points(trained["expected"]) != points(expected.mean):
            corrected = "corrected" if trained.get("errors") else "not corrected"
            says.append(
                f"After training {points(trained['expected'])} was expected, from "
                f"{trained['images']:,} images (split {trained['split']}), {corrected} for errors "
                "of their labels"
            )
        return ". ".join(says) + "."

    def _tags(self) -> str:
        """What the thresholds decide, and how they were chosen."""
        of = self.by_class[self.by_class["ap"].notna()]
        number = int(of["threshold"].notna().sum())
        none = [*self.by_class.index[self.by_class["threshold"].isna()]]
        images = thresholds_from(self.thresholds_from, self.thresholds_how)
        how = f"chosen {tag_rule(self.tag_precision)}, on {images}"
        if not self.thresholds_from:
            how = f"0 for each, probability 1/2, as the model has none: {SETS_THRESHOLDS}"
        parts = [untagged(none, self.tag_precision, self.thresholds_how)] if none else []
        if number:
            means = f"means over {'1 class' if number == 1 else f'{number:,} classes'}"
            parts.insert(0, f"precision {points(self.precision)}, recall {points(self.recall)}, "
                         f"{means}; thresholds {how}")  # fmt: skip
        return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts)

    def _often(self) -> str:
        """A warning of classes whose tags are far more frequent than the labels of these images."""
        by_class = self.by_class[self.by_class["threshold"].notna()]
        tagged, present, absent = by_class[["tagged", "present", "absent"]].to_numpy().T
        known = present + absent
        return too_frequent([*by_class.index], tagged, known, present, known)

    def _table(self, title: str, names: Any, *, thresholds: bool = False) -> Table:
        columns = ["threshold", "best_threshold"] * thresholds
        rows = (
            (name, f"{row['present']:,.0f}", _share(row), points(row["ap"]), points(row["chance"]),
             *_decided(row), *(_logit(row[column]) for column in columns))
            for name, row in self.by_class.loc[names].iterrows()
        )  # fmt: skip
        heads = ("class", "images", "share", "AP", "random AP", "precision", "recall", "threshold",
                 "best threshold")  # fmt: skip
        count = 7 + len(columns)
        return Table(title, heads[:count], tuple(rows), tuple(range(1, count)))

    def _curves(self, names: pd.Index[str]) -> Iterator[Section]:
        """Precision over recall of each class, the worst first."""
        title, rest = "Precision and recall by class, worst first", names[CURVES:]
        further = f"Precision and recall of the other {len(rest):,} classes"
        for name, some in ((title, names[:CURVES]), (further, rest)):
            about = "Precision (vertical) over recall."
            if dots := self.by_class.loc[some, ["precision", "recall"]].notna().all(axis=1).sum():
                where = "" if dots == len(some) else ", where there is one,"
                about += f" The dot{where} is at the model's threshold."
            if len(some):
                unfolded = name == title
                yield Section(name, (about,), images=map(self._curve, some), unfolded=unfolded)

    def _curve(self, name: str) -> Image:
        from sklearn.metrics import precision_recall_curve

        place, row = self.by_class.index.get_loc(name), self.by_class.loc[name]
        known = self.known[:, place]
        precision, recall, _ = precision_recall_curve(
            self.present[known, place], self.scores.iloc[known, place], drop_intermediate=True
        )
        precision[-1] = precision[-2]  # of recall 0, where nothing is predicted
        highest = np.append(np.diff(recall) != 0, True)  # precision of each recall
        drawn = curve(recall[highest], precision[highest], (row["recall"], row["precision"]))
        caption = f"{name}: AP {points(row['ap'])}, {int(row['present']):,} images"
        return Image(svg_source(drawn), caption)

    def _pictured(self) -> Iterator[Section]:
        """The surest mistakes as pictures, if the data have pictures."""
        titles = {
            "false positive": "Surest false positives: images labelled without the class",
            "miss": "Surest misses: images labelled with the class",
        }
        for kind, some in self.mistakes.groupby("mistake") if self._pictures else ():
            images = (
                Image(
                    address(*self._pictures[one.row], side=SIDE),
                    f"{one[3]}: score {one.score:.2f}, image {one.image}",
                )
                for one in some.itertuples()
            )
            about = "Check the labels: where the picture says otherwise, the label is wrong."
            yield Section(titles[str(kind)], (about,), images=images, unfolded=True)


def curve(
    recall: NDArray[np.float64], precision: NDArray[np.float64], at: tuple[float, float]
) -> Figure:
    """Precision over recall, with a dot at the recall and precision of the threshold."""
    from matplotlib.figure import Figure

    from simkit.results.figures.style import BLUE, RED

    with look():
        drawn = Figure(figsize=(2.6, 1.9), dpi=72)
        axes = drawn.add_axes((0.15, 0.14, 0.77, 0.82))
        axes.plot(recall, precision, color=BLUE, lw=2, drawstyle="steps-post", label="curve")
        axes.plot(*at, "o", color=RED, ms=7, clip_on=False, label="threshold")
        axes.set(xlim=(0, 1), ylim=(0, 1.04), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axes.set_xticklabels(("0", "50", "100"))
        axes.set_yticklabels(("0", "50", "100"))
    return drawn


def evaluate(
    model: Trained | str | PathLike[str],
    data: Dataset | str,
    *,
    split: str | None = None,
    features: str | PathLike[str] | Mapping[str, str | PathLike[str]] | None = None,
    backbone: nn.Module | None = None,
    unreadable: Literal["stop", "skip"] = "stop",
    device: str = "auto",
    errors: Errors | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Evaluate a trained model on labelled images.

    Parameters
    ----------
    model
        The result of `train`, or a folder written by `Trained.save` or `simkit train --out`.
    data
        A data set with images and labels, or its text, such as ``"folder:new,labels=new.csv"``.
        Classes are matched by name.
    split
        The split to evaluate on; by default test or, without one, all. Training images of the
        model are left out.
    features
        Instead of images: the folder that ``simkit features --out`` wrote, or by split an npz file
        with an array `features`, one row per image, or a folder of features.
    backbone, unreadable, device, progress
        As in `predict`.
    errors
        Shares of present classes that the labels miss, and of absent ones that they report: the
        expected mAP is that on true labels. None: they are taken as true.

    Returns
    -------
    Evaluation
        mAP with its interval, AP, precision and recall of each class, and the surest mistakes; as
        a page with `html`.

    Raises
    ------
    BadInput
        As `predict`, and for data without labels, without a class of the model, without a class
        that has both present and absent labels, or without images outside the model's training.

    Examples
    --------
    >>> done = simkit.evaluate("model", "folder:new,labels=new.csv")
    >>> done.map, done.expected.low, done.by_class["ap"]
    """
    trained = model if isinstance(model, Trained) else Trained.load(model, backbone=backbone)
    data = open_data(data) if isinstance(data, str) else data
    files = {} if features is None else _by_split(features)
    splits = splits_to_score(data, split, files)
    check_labelled(trained, data, splits)
    how: dict[str, Any] = {"unreadable": unreadable, "device": device, "progress": progress}
    found = predictions(trained, data, splits, files, backbone=backbone, **how)
    return evaluated(trained, data, found, errors=errors)


def _by_split(features: str | PathLike[str] | Mapping[str, str | PathLike[str]]) -> dict[str, str]:
    """The files or folders of features by split."""
    if isinstance(features, Mapping):
        return {split: str(file) for split, file in features.items()}
    if splits := of_splits(Path(features)):
        return {split: str(folder) for split, folder in splits.items()}
    raise BadInput(
        f"features: {features} holds no features by split; name a folder that simkit features "
        f"--out wrote, or the split, as in {{'test': {str(features)!r}}}"
    )


def splits_to_score(data: Dataset, split: str | None, files: Mapping[str, str]) -> list[str]:
    """The splits that are scored, in the order of the data.

    split: one, or None for all; files: of features by split, instead of images. Raises BadInput for
    features of splits that the data do not have.
    """
    if not files:
        return splits_of(data, split)
    wanted = {*files} if split is None else {split}
    if others := sorted(wanted - {*data.truth}):
        splits = [name for name in data.truth if name != WHOLE]
        raise BadInput(
            f"{examples(files.get(name, name) for name in others)}: features of {examples(others)},"
            f" but {shortened(data)} has only {examples(splits)}; name the data set of the "
            f"features, or {compute(data)}"
        )
    if split is None and "train" in files and "val" not in files and WHOLE in data.truth:
        rows = len(read_features(files["train"]).values)
        if rows == data.truth[WHOLE].shape[0]:  # computed before validation was held out
            wanted.add("val")
    return [name for name in data.truth if name in wanted]


def predictions(
    trained: Trained, data: Dataset, splits: Sequence[str], files: Mapping[str, str], *,
    backbone: nn.Module | None, unreadable: Literal["stop", "skip"], device: str,
    progress: Progress,
) -> dict[str, Prediction]:  # fmt: skip
    """By split, the scores from its features or, without any files, from its images.

    The other arguments are those of `predict`. Raises BadInput for features of other images or of
    another network than that of the training.
    """
    if not files:
        how: dict[str, Any] = {"unreadable": unreadable, "device": device, "progress": progress}
        return predict_splits(trained, data, splits, backbone=backbone, **how)
    kind, facts = kind_of(trained.method), trained.history.settings
    if trained.model.backbone is not None:
        raise BadInput("the model was fine-tuned on images, so features do not fit it; leave "
                       "--features out")  # fmt: skip
    source = StudySource(data.spec, tuple(splits), (kind,), features=tuple(files.items()))
    study, found = open_source(source, data=data), dict[str, Prediction]()
    for split in splits:
        inputs, made = study.inputs(split, kind), study.features[split, kind].history
        made_by = made.parents[1:]
        if made_by and "backbone_id" in facts:
            same_fit(facts, made.settings.get("fit"))
        if made_by and facts.get("backbone_id") not in (None, *made_by):
            raise BadInput(
                f"the model was trained on features of {facts['backbone']} with the weights "
                f"{facts['backbone_id']}, but those of {files.get(split, split)} are of "
                f"{made_by[0]}; compute them with the network of the training"
            )
        lost = study.skipped(split)
        found[split] = predict_split(trained, data, split, inputs, lost=lost, device=device)
    return found


def has_labels(data: Dataset, split: str | Sequence[str] | None) -> bool:
    """Whether the data have labels of images that `predict` scores."""
    known = [data.truth[name].known for name in splits_of(data, split) if name in data.truth]
    return any(one is None or one.nnz for one in known)


def check_labelled(model: Trained, data: Dataset, split: str | Sequence[str] | None) -> None:
    """Raise BadInput for data without labels of the model's classes."""
    if {*splits_of(data, split)} <= {*data.truth} and not has_labels(data, split):
        raise BadInput(f"{data.name} has no labels; name a table of them with labels=FILE.csv")
    if not {*model.classes} & {*data.classes}:
        raise BadInput(
            f"{data.name} has none of the model's classes ({examples(model.classes)}), but "
            f"{examples(data.classes)}; rename those of the labels"
        )


def evaluated(
    model: Trained, data: Dataset, found: Mapping[str, Prediction], *, errors: Errors | None = None
) -> Evaluation:
    """The evaluation of a model on those images of these splits that were not in its training.

    Raises BadInput without such images, and as `evaluate`.
    """
    parts = {"test": found["test"]} if "test" in found and not found["test"].seen.all() else found
    new = {name: np.flatnonzero(~part.seen) for name, part in parts.items()}
    new = {name: rows for name, rows in new.items() if len(rows)}
    if not new:
        number = sum(len(part.seen) for part in parts.values())
        raise BadInput(
            f"all {number:,} images of {data.name} were in the model's training, so mAP on new "
            "images is unknown; evaluate on other images"
        )
    leaves = {data.classes[c] for c in data.leaves}
    classes = [name for name in model.classes if name in leaves]
    _note_classes(model, data, classes)
    columns = [data.classes.index(name) for name in classes]
    tables, present, known, pictures = [], [], [], list[tuple[Pictures, int]]()
    for name, rows in new.items():
        table = parts[name].scores.iloc[rows][classes]
        counts = StudyData(data, {}).known(name)
        counts = np.ones(data.truth[name].shape, bool) if counts is None else counts
        counts = counts if isinstance(counts, np.ndarray) else counts.toarray()
        tables.append(table)
        present.append(data.truth[name].present[:, columns].toarray()[rows])
        known.append(counts[rows][:, columns] & table.notna().to_numpy())
        if name in data.pictures:
            pictures += [(data.pictures[name], int(row)) for row in rows]
    frame, shown, counted = pd.concat(tables), np.concatenate(present), np.concatenate(known)
    labels = LabelCounts.of(shown, counted)
    where = data.name if [*new] == [*found] else f"{data.name}, {' and '.join(new)}"
    labels.check(where, "evaluate on more images, with present and absent labels (1 and 0)")
    by_class = _by_class(model, frame, shown, counted, labels)
    scored, ap = by_class[by_class["ap"].notna()], by_class["ap"].to_numpy()
    tagged = scored[scored["threshold"].notna()]
    settings = model.history.settings
    network = settings.get("backbone") or "features of an unnamed network"
    images = f"{len(frame):,} images, {labels.present.sum():,} present labels"
    return Evaluation(
        float(scored["ap"].mean()), on_new_images(ap, labels, errors),
        metrics.mean_ap(tagged["precision"]), metrics.mean_ap(tagged["recall"]), by_class, frame,
        shown, counted, model.thresholds_from, labels.left_out(classes, where),
        f"{where}: {images}; mAP is over {len(scored):,} of {len(classes):,} "
        f"{'leaf ' * (data.hierarchy is not None)}classes",
        f"{short(model.method)}, {network}, trained on {settings.get('data', 'arrays')}; id "
        f"{model.id}", model.thresholds_how,
        model.tag_precision, errors,
        on_new_images(ap, labels).mean, *_training(model, parts), model.scored, pictures,
    )  # fmt: skip


def _training(model: Trained, parts: Mapping[str, Prediction]) -> tuple[int, str]:
    """`Evaluation.seen` and `training_note`."""
    images = sum(len(part.seen) for part in parts.values())
    seen = sum(int(part.seen.sum()) for part in parts.values())
    says = list[str]()
    if seen:
        says.append(f"{seen:,} of these {images:,} images are training images of the model; mAP "
                    f"is on the other {images - seen:,}.")  # fmt: skip
    if not all(part.checked for part in parts.values()):
        why = (
            "does not record them (it is of an earlier version, or trained on arrays); train it "
            "again"
        )
        if model.trained_on is not None:
            why = "has hashes of pictures, and these data have no pictures; name their folder"
        says.append("mAP is too high if some of these images are training images. This cannot be "
                    f"checked: the model {why}.")  # fmt: skip
    return seen, " ".join(says)


def _note_classes(model: Trained, data: Dataset, classes: Sequence[str]) -> None:
    """Warn of classes that only the model or only the data have."""
    lacking = [name for name in model.classes if name not in data.classes]
    note(data.name, lacking, "classes of the model that the labels do not have: {}; mAP leaves "
         "them out", total=len(model.classes))  # fmt: skip
    unknown = [name for name in data.classes if name not in model.classes]
    note(data.name, unknown, "classes that the model does not have: {}; they are not evaluated",
         total=len(data.classes))  # fmt: skip


def _by_class(
    model: Trained, scores: pd.DataFrame, present: Any, known: Any, labels: LabelCounts
) -> pd.DataFrame:
    """`Evaluation.by_class`."""
    values = scores.fillna(0.0).to_numpy()  # those of unreadable images do not count
    chosen = dict(zip(model.classes, model.thresholds, strict=False))
    thresholds = np.array([chosen.get(name, 0.0) for name in scores.columns])
    return pd.DataFrame({
        "present": labels.present, "absent": labels.absent,
        "ap": ap_of_classes(values, present, known), "chance": labels.chance,
        **precision_and_recall(values, present, thresholds, known),
        "threshold": thresholds, "best_threshold": metrics.f1_thresholds(values, present, known),
    }, pd.Index(scores.columns, name="class"))  # fmt: skip


def precision_and_recall(
    scores: Any, present: Any, thresholds: Any, known: Any
) -> dict[str, NDArray[Any]]:
    """(L,) `precision` and `recall` at thresholds, each with the ends of its 95 % interval (`_low`,
    `_high`: Clopper and Pearson); nan as in `metrics.precision_recall`. `tagged` is the number of
    images whose score reaches the threshold."""
    _, called, shown, _ = metrics.decisions(scores, present, thresholds, known)
    found: dict[str, Any] = {"tagged": called}
    shares = metrics.precision_recall(scores, present, thresholds, known)
    for name, share, number in zip(("precision", "recall"), shares, (called, shown), strict=True):
        low, high = exact_interval(share, np.where(np.isnan(share), 0, number))
        found |= {name: share, f"{name}_low": low, f"{name}_high": high}
    return found


def share(row: Mapping[str, float] | pd.Series[float], name: str) -> str:
    """Precision or recall of a class with its interval, in percent."""
    if np.isnan(row[name]):
        return "none"
    ends = " to ".join(f"{100 * row[f'{name}_{end}']:.0f}" for end in ("low", "high"))
    return f"{points(row[name])} ({ends})"


def _share(row: pd.Series[float]) -> str:
    """The share of the labelled images that are labelled with a class, in percent."""
    known = row["present"] + row["absent"]
    return f"{100 * row['present'] / known:.1f}%" if known else "none"


def _decided(row: pd.Series[float]) -> tuple[str, str]:
    """Precision and recall of a class in a table; "no tags" without a threshold."""
    if np.isnan(row["threshold"]):
        return "", "no tags"
    return share(row, "precision"), share(row, "recall")


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values, None for nan and infinity."""
    finite = table.replace([np.inf, -np.inf], np.nan).astype(object)
    return finite.where(finite.notna(), None).to_dict("records")


def _logit(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "none"
