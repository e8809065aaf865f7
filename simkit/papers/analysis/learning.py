"""Methods during training: labels that they memorise, reject, correct or ignore, and class priors.

Analyses compare with the ground truth, which methods never see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor, nn

from simkit import metrics
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.method import Wrapper, layers
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.large_loss import Remembering
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior, mean_probability, prepare
from simkit.learn.train import train, train_stack
from simkit.results import selection
from simkit.results.cells import is_full, optional, tuned_errors
from simkit.results.result_tables import frame, opened
from simkit.results.runs import COLUMNS
from simkit.study.sources import StudyData
from simkit.study.tuning import Setting
from simkit.study.worker import Scored

LABEL_KINDS = ("true positive", "true negative", "false negative")
COUNTED = "labels"  # the estimate without training


@dataclass(frozen=True, eq=False)
class TrainingOptions:
    """Options of the trainings of an analysis, as `simkit.train` takes them.

    Without a backbone heads are trained on features, all of them together; with one, whole
    networks are trained on images, one after the other, on a GPU if there is one. There is no
    checkpoint, since a watcher would miss the epochs before it.
    """

    settings: Settings = Settings()
    seed: int = 0
    draw: int = 0
    backbone: nn.Module | None = None
    device: str | torch.device = "auto"


def recorded(
    task: Task, methods: selection.Methods, look: Callable[..., Tensor], options: TrainingOptions
) -> dict[str, NDArray[Any]]:
    """Train every method on the task, and record a value of every label in every epoch.

    Parameters
    ----------
    task
        Labels and inputs.
    methods
        Names of methods, or one text with commas.
    look
        Called as look(method, batch, outputs, state) in every step; returns values (b, L).
    options
        Options of the trainings.

    Returns
    -------
    dict
        Values (epochs, N, L) by method, 0 for images without any question.
    """
    made = {spec: make(spec) for spec in selection.some(methods)}
    epochs: dict[str, list[NDArray[Any]]] = {spec: [] for spec in made}

    def watch(spec: str, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        with torch.no_grad():
            values = look(made[spec], batch, out, state).cpu().numpy()
        if len(epochs[spec]) < epoch:
            epochs[spec].append(np.zeros(task.labels.shape, values.dtype))
        epochs[spec][-1][batch.index.cpu().numpy()] = values

    training = vars(options)
    ready = prepare(task, *made.values(), **training)
    groups = [[*made]] if options.backbone is None else [[spec] for spec in made]
    for group in groups:
        watchers = {place: (partial(watch, spec),) for place, spec in enumerate(group)}
        train_stack([(ready, made[spec]) for spec in group], watch=watchers, **training)
    return {spec: np.stack(values) for spec, values in epochs.items()}


def kinds(labels: PartialLabels, truth: Truth) -> NDArray[np.int8]:
    """The kind of each label under the assumption that unknown labels are absent.

    Parameters
    ----------
    labels, truth
        Partial labels and ground truth of the same N images and L classes.

    Returns
    -------
    (N, L) int8
        An index of LABEL_KINDS; -1 in images without any question, and where the truth is unknown.
        Known absent labels are negatives like the assumed ones: false if the annotator erred.
    """
    labels.check_about(truth, "the task's labels")
    every = np.arange(labels.shape[0])
    positive, negative, missed = range(3)  # of LABEL_KINDS
    kind = np.where(truth.rows(every), missed, negative)
    kind[labels.rows(every) == PRESENT] = positive
    kind[~truth.known_rows(every) | ~labels.asked[:, None]] = -1
    return kind.astype(np.int8)


def innermost(
    method: Method, out: Outputs, state: nn.Module, *, training: bool = True
) -> tuple[Method, Outputs, nn.Module]:
    """The method inside all wrappers, with its outputs and its state."""
    while isinstance(method, Wrapper):
        out = method.changed(out, state, training=training)
        method, state = method.inner, state.inner  # type: ignore[assignment]
    return method, out, state


def memorisation(
    task: Task,
    truth: Truth,
    methods: selection.Methods = ("an",),
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and follow the loss of every label, with unknown labels assumed absent.

    The loss is AN's cross-entropy for every method, measured at the training step of the image.
    Needs four bytes per image, class and epoch.

    Parameters
    ----------
    task
        Labels and inputs.
    truth
        Ground truth of the same images and classes.
    methods
        Names of methods, or one text with commas.
    settings
        Settings of the trainings.
    seed, draw
        Determine the order of images and the initial head.
    backbone
        A network to train on images with every method; None for heads on features.
    device
        "auto" is a GPU if there is one and a backbone is trained, else the CPU.

    Returns
    -------
    DataFrame
        A row for each method, kind of label (of LABEL_KINDS, if any occur) and epoch from 1:
        labels (number of the kind), highest (number of them with their highest loss in this epoch,
        the first of ties), share (highest / labels), and the loss in this epoch: mean, low, median
        and high (quartiles).

    References
    ----------
    Kim et al., CVPR 2022, section 3.2: Table 1 (share in epoch 1), Fig. 1 (one label each).
    """
    which, parts = kinds(task.labels, truth), []
    options = TrainingOptions(settings, seed, draw, backbone, device)
    for name, losses in recorded(task, methods, _an_loss, options).items():
        for place, kind in enumerate(LABEL_KINDS):
            of_kind = losses[:, which == place]  # (epochs, labels)
            if not of_kind.size:
                continue
            part = pd.DataFrame({"method": name, "kind": kind, "epoch": range(1, len(of_kind) + 1)})
            part["labels"] = of_kind.shape[1]
            part["highest"] = np.bincount(of_kind.argmax(0), minlength=len(of_kind))
            part["share"] = part["highest"] / part["labels"]
            part["mean"] = of_kind.mean(1, dtype=float)
            part[["low", "median", "high"]] = np.quantile(of_kind, (0.25, 0.5, 0.75), axis=1).T
            parts.append(part)
    return pd.concat(parts, ignore_index=True)


def early_share(table: pd.DataFrame, method: str, kind: str) -> float:
    """The share of labels of this kind with their highest loss in the first epoch.

    Parameters
    ----------
    table
        The result of `memorisation`.
    method, kind
        A method of the table, and one of LABEL_KINDS.

    Returns
    -------
    float

    References
    ----------
    Kim et al., CVPR 2022, Table 1.
    """
    shares = table.query("method == @method and kind == @kind and epoch == 1")["share"]
    return float(shares.item())


def _an_loss(method: Method, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
    logits = innermost(method, out, state)[1].logits.float()
    target = (batch.labels == PRESENT).float()
    return F.binary_cross_entropy_with_logits(logits, target, reduction="none")


def selections(
    task: Task, methods: selection.Methods, options: TrainingOptions
) -> dict[str, NDArray[np.bool_]]:
    """Train, and record the labels that each method selects.

    Parameters
    ----------
    task, methods, options
        As for `recorded`.

    Returns
    -------
    dict
        Masks (epochs, N, L) by method: the selection of an epoch, or of all epochs so far if
        selections are permanent.
    """
    steps = recorded(task, methods, lambda method, *step: method.selected(*step), options)
    return {
        name: np.logical_or.accumulate(selected) if _lasting(name) else selected
        for name, selected in steps.items()
    }


def _lasting(spec: str) -> bool:
    """Whether selections are permanent, as in LL-Cp."""
    return isinstance(layers(make(spec))[0], Remembering)


def modification(
    task: Task,
    truth: Truth,
    methods: selection.Methods,
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and count in every epoch the unknown labels that each method modifies.

    These are the labels that `Method.selected` marks: LL-R rejects them, LL-Ct corrects them for
    the step, LL-Cp permanently, CSL ignores them. Permanent corrections (lasting) are counted over
    all epochs so far, as in the paper. Needs a byte per image, class and epoch.

    Parameters
    ----------
    task, truth, methods, settings, seed, draw, backbone, device
        As for `memorisation`.

    Returns
    -------
    DataFrame
        A row for each method and epoch from 1: lasting; modified (number of labels) and right
        (number of those that are false negatives); precision (right / modified), found (recall:
        right / all false negatives), chance (the precision of modifying unknown labels at random)
        and again (share of the labels modified in the previous epoch that are modified again);
        NaN for 0 / 0.

    References
    ----------
    Precision: Kim et al., CVPR 2022, Fig. 4. Rejected false negatives per epoch: Kim et al., CVPR
    2023 (BoostLU), Fig. 5.
    """
    unknown, present = unknown_labels(task, truth)
    wrong = unknown & present
    parts = []
    options = TrainingOptions(settings, seed, draw, backbone, device)
    for name, selected in selections(task, methods, options).items():
        modified = selected & unknown
        part = pd.DataFrame({"method": name, "lasting": _lasting(name)}, range(len(modified)))
        part["epoch"] = part.index + 1
        part["modified"] = modified.sum((1, 2))
        part["right"] = (modified & wrong).sum((1, 2))
        part["precision"] = part["right"] / part["modified"]
        part["found"] = part["right"] / wrong.sum()
        part["chance"] = wrong.sum() / unknown.sum() if unknown.any() else np.nan
        both = pd.Series((modified[1:] & modified[:-1]).sum((1, 2)), part.index[1:])
        part["again"] = both / part["modified"].shift()
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def corrections(
    task: Task,
    truth: Truth,
    method: str = "ll-ct",
    *,
    images: Sequence[int] | int | None = None,
    best: int = 3,
    worst: int = 1,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and list the modified unknown labels of a few images by epoch.

    Parameters
    ----------
    task, truth, settings, seed, draw, backbone, device
        As for `memorisation`.
    method
        One method.
    images
        Rows of the task; by default the `best` images with the most corrected false negatives,
        summed over the epochs, and the `worst` with the most modified true negatives.

    Returns
    -------
    DataFrame
        A row for each image, class and epoch from 1: method, row (of the task), image (id), why
        ("most right", "most wrong" or "asked for"), class, given (known to be present), present
        (in truth), epoch, corrected (in this epoch or, if permanent, so far). Classes are those
        that are present or were ever corrected: given ones first, then by epoch.

    References
    ----------
    Kim et al., CVPR 2022, Fig. 3.
    """
    N = task.labels.shape[0]
    why = dict.fromkeys(np.atleast_1d([] if images is None else images).tolist(), "asked for")
    unknown, present = unknown_labels(task, truth)
    options = TrainingOptions(settings, seed, draw, backbone, device)
    (selected,) = selections(task, [method], options).values()
    corrected, named = selected & unknown, task.labels.rows(np.arange(N)) == PRESENT
    if images is None:
        gain = (corrected.sum(0) * np.where(present, 1, -1)).sum(1)
        why = dict.fromkeys(np.argsort(-gain, kind="stable")[:best].tolist(), "most right")
        rest = [row for row in np.argsort(gain, kind="stable").tolist() if row not in why]
        why |= dict.fromkeys(rest[:worst], "most wrong")
    parts = []
    for row, reason in why.items():
        about = {"method": method, "row": row, "image": str(task.labels.images[row]), "why": reason}
        of_image = corrected[:, row]  # (epochs, L)
        ever = of_image.max(0)
        first = np.where(ever, of_image.argmax(0), len(of_image))
        shown = named[row] | present[row] | ever
        for c in np.lexsort((-of_image.sum(0), first, ~named[row])):
            if shown[c]:
                about |= {"class": truth.classes[c], "given": named[row, c]}
                course = {"epoch": np.arange(1, len(of_image) + 1), "corrected": of_image[:, c]}
                parts.append(pd.DataFrame(about | {"present": present[row, c]} | course))
    return pd.concat(parts, ignore_index=True)


def unknown_labels(task: Task, truth: Truth) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks (N, L) of unknown labels with known truth, and of labels present in truth."""
    images = np.arange(task.labels.shape[0])
    usable = kinds(task.labels, truth) >= 0
    return (task.labels.rows(images) == UNKNOWN) & usable, truth.rows(images)


def both_scores(
    data: StudyData,
    labelled: Mapping[tuple[str, int], PartialLabels],
    methods: selection.Methods,
    *,
    settings: Settings = Settings(),
    tuned: selection.Table | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Train every method on each set of labels, and score it on test and on val.

    Parameters
    ----------
    data
        Data with pooled features of train, val and test.
    labelled
        Labels of the train split by scheme and draw.
    methods
        Names of methods; "full" is trained on complete labels of all images, once in every draw.
    settings
        Settings of the training.
    tuned
        Runs of a comparison that chose settings (see `simkit.results.runs.COLUMNS`): every
        method gets those chosen under its scheme, and the error of this choice. Other methods keep
        their own and those of the training.
    seed
        Seed of all draws.

    Returns
    -------
    DataFrame
        A table of runs, one row for each scheme, draw and method, then those of "full", as
        references. Columns about cost and time are empty. Three more columns, in [0, 1] and over
        leaf classes like map: mf1, val_map and val_mf1. The F1 thresholds of each class are
        optimal on val, so val_mf1 is optimistic, as in the paper.
        `ablation(table, base, metric="mf1")` compares the methods.

    Raises
    ------
    BadInput
        Without methods, if a split has no features, and for `tuned` without settings.

    References
    ----------
    "Soft Exposure", Table 1.
    """
    specs, leaves, settings_of = selection.some(methods), data.data.leaves, _chosen(tuned)
    fulls = [spec for spec in specs if is_full(spec)]
    others = [spec for spec in specs if not is_full(spec)]
    jobs = [(*where, labels, others, False) for where, labels in labelled.items() if others]
    for draw in dict.fromkeys(draw for _, draw in labelled) if fulls else ():
        about: dict[str, Any] = {"seed": seed, "draw": draw, "hierarchy": data.hierarchy}
        complete = simulate(data.truth("train"), "full-subset", **about)
        jobs.append(("full-subset", draw, complete, fulls, True))
    rows = []
    for scheme, draw, labels, wanted, reference in jobs:
        task = Task(data.readable(labels, "train"), data.inputs("train", "pooled"))
        training: dict[str, Any] = {"settings": settings, "seed": seed, "draw": draw}
        chosen = [settings_of.get((scheme, spec), Setting(())) for spec in wanted]
        made = [make(one.method(spec)) for spec, one in zip(wanted, chosen, strict=True)]
        pairs = [(prepare(task, method, **training), method) for method in made]
        lrs = [one.lr or settings.rate(backbone=False) for one in chosen]
        run = {"scheme": scheme, "draw": draw, "seed": seed, "reference": reference}
        run |= {"images": int(labels.asked.sum()), **labels.counts()}
        stack = train_stack(pairs, lrs=lrs, **training)
        for spec, one, trained in zip(wanted, chosen, stack, strict=True):
            row = run | {"method": spec, "tuned_error": one.error}
            row["tuned"] = one.text if one.values else None
            for split, prefix in (("val", "val_"), ("test", "")):
                scores = trained.scores(data.inputs(split, "pooled"))
                scored = Scored(scores, data.truth(split).present, data.known(split)).of(leaves)
                if split == "val":
                    val = scored
                row[f"{prefix}map"] = metrics.mean_ap(scored.ap())
                row[f"{prefix}mf1"] = scored.at_thresholds(val)["f1"]
            rows.append(row)
    table = pd.DataFrame(rows, columns=[*COLUMNS, "mf1", "val_map", "val_mf1"])
    table.attrs = {"classes": data.data.classes, "leaves": leaves.tolist()}
    return table


def _chosen(runs: selection.Table | None) -> dict[tuple[str, str], Setting]:
    """The settings that a comparison chose, by scheme and method; empty without a table."""
    if runs is None:
        return {}
    kinds = {"scheme": str, "method": str, "tuned": str | None}
    kinds |= optional(opened(runs), "tuned_error")
    table = frame(runs, kinds, asker="both_scores", mend="pass the runs of a tuned comparison")
    table["tuned_error"] = tuned_errors(table, "map")
    first = table.dropna(subset="tuned").drop_duplicates(["scheme", "method"])
    return {
        (run.scheme, run.method): Setting(
            tuple(json.loads(run.tuned).items()), None, run.tuned_error
        )
        for run in first.itertuples()
    }


def estimates(
    task: Task,
    methods: Sequence[str] = ("ignore", "an"),
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
) -> dict[str, ClassPrior]:
    """Class priors, each from the mean probabilities of a model trained with one method.

    Parameters
    ----------
    task
        Labels and inputs; means are over its asked images.
    methods
        Names of methods; "labels" is the share of asked images labelled present, without training.
    settings
        Settings of the trainings.
    seed, draw
        Determine the order of images and the initial head.

    Returns
    -------
    dict
        The `ClassPrior` of each method, by name.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, section 4.2, Eqs 10, 11; the paper's method is "ignore".
    """
    estimates, options = {}, vars(TrainingOptions(settings, seed, draw))
    for name in selection.listed(methods):
        if name == COUNTED:
            values = task.labels.per_class(PRESENT) / len(task.rows)
        else:
            method = make(name)
            ready = prepare(task, method, **options)
            values = mean_probability(train(ready, method, **options), ready)
        history = History("estimate", {"method": name}, parents=(task.labels.id,))
        estimates[name] = ClassPrior(values, task.labels.classes, history)
    return estimates


def priors(truth: Truth, estimated: Mapping[str, ClassPrior]) -> pd.DataFrame:
    """Estimated and true frequency of each class.

    Parameters
    ----------
    truth
        The ground truth, of L classes.
    estimated
        Class priors by name, such as those of `estimates`.

    Returns
    -------
    DataFrame
        estimate; class, by falling true frequency; rank (0: most frequent); true, the share of
        images with the class among those whose truth is known (0 if none is); prior.

    Raises
    ------
    BadInput
        For a prior that lacks a class of the truth.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Figs 5, 11 to 13.
    """
    true = _frequency(truth)
    order = np.argsort(-true, kind="stable")
    about = {"class": np.array(truth.classes, object)[order], "rank": np.arange(len(order))}
    parts = [
        {"estimate": name, **about, "true": true[order], "prior": prior.of(truth.classes)[order]}
        for name, prior in estimated.items()
    ]
    return pd.concat(map(pd.DataFrame, parts), ignore_index=True)


def rank_agreement(
    truth: Truth, estimated: Mapping[str, ClassPrior], tops: Sequence[int] | None = None
) -> pd.DataFrame:
    """Spearman correlation of each estimate with the truth over the most frequent classes.

    Parameters
    ----------
    truth, estimated
        As for `priors`.
    tops
        Numbers of classes; by default from 5 (or all, if there are fewer) to all.

    Returns
    -------
    DataFrame
        estimate, top, spearman (NaN if an estimate is the same for all of these classes).

    Raises
    ------
    BadInput
        For a prior that lacks a class of the truth.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 7.
    """
    L = len(truth.classes)
    tops = range(min(5, L), L + 1) if tops is None else tops
    true = _frequency(truth)
    agreement = []
    for name, prior in estimated.items():
        values = ClassPrior(prior.of(truth.classes))  # in the order of the truth
        agreement += [(name, top, values.spearman(true, top=top)) for top in tops]
    return pd.DataFrame(agreement, columns=["estimate", "top", "spearman"])


def _frequency(truth: Truth) -> NDArray[np.float64]:
    if truth.known is None:
        return truth.counts / truth.shape[0]
    present = np.asarray(truth.present.multiply(truth.known).sum(0)).ravel()
    return present / np.maximum(np.asarray(truth.known.sum(0)).ravel(), 1)


def readings(
    task: Task,
    truth: Truth,
    methods: Sequence[str],
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and count the unknown labels of each class that a method ignores or assumes absent.

    Parameters
    ----------
    task
        Labels and inputs of N images.
    truth
        The ground truth of the same images and classes.
    methods
        Methods that assume unknown labels to be absent or ignore them, such as an, ignore, ll-r
        and csl; the labels that `Method.selected` marks count as ignored.
    settings, seed, draw, backbone, device
        As for `memorisation`.

    Returns
    -------
    DataFrame
        method; class, by falling true frequency, its rank from 0 and true, its share of the asked
        images; images, the number of asked images whose truth is known; and numbers of their
        labels: present and absent, known labels; ignored, unknown labels that the last epoch
        ignored; ignored_present, those of them that are present in truth; assumed, unknown labels
        assumed absent; wrong, those of them that are present.

    Raises
    ------
    BadInput
        For a truth about other images or classes, and as in training.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 2, an illustration.
    """
    usable = kinds(task.labels, truth) >= 0
    unknown, present = unknown_labels(task, truth)
    codes = task.labels.rows(np.arange(len(usable)))
    images = usable.sum(0)
    true = (present & usable).sum(0) / np.maximum(images, 1)
    parts = []
    options = TrainingOptions(settings, seed, draw, backbone, device)
    for name, selected in selections(task, methods, options).items():
        ignored = selected[-1] & unknown
        assumed = unknown & ~ignored
        masks = {
            "present": (codes == PRESENT) & usable,
            "absent": (codes == ABSENT) & usable,
            "ignored": ignored,
            "ignored_present": ignored & present,
            "assumed": assumed,
            "wrong": assumed & present,
        }
        about = {"method": name, "class": truth.classes, "true": true, "images": images}
        table = pd.DataFrame(about | {key: mask.sum(0) for key, mask in masks.items()})
        table = table.sort_values("true", ascending=False, kind="stable")
        table.insert(2, "rank", range(len(true)))
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def likelihood(
    task: Task,
    truth: Truth,
    methods: Sequence[str],
    *,
    ranks: int = 20,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and measure in every epoch how often the k-th likeliest unknown label is present.

    Needs four bytes per image, class and epoch.

    Parameters
    ----------
    task, truth, methods
        As for `readings`; any methods.
    ranks
        The largest k.
    settings, seed, draw, backbone, device
        As for `memorisation`.

    Returns
    -------
    DataFrame
        method; epoch from 1; rank k from 1, among the unknown labels of an image, by the scores
        during training in this epoch; images, the number of images with at least k unknown labels;
        present, the share of these in which the label is present in truth; chance, the same share
        of all unknown labels.

    Raises
    ------
    BadInput
        For a truth about other images or classes, and as in training.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Eqs 4, 5 and Fig. 4.
    """
    unknown, present = unknown_labels(task, truth)
    chance = (unknown & present).sum() / max(unknown.sum(), 1)
    options = TrainingOptions(settings, seed, draw, backbone, device)
    parts = []
    for name, epochs in recorded(task, methods, _logits, options).items():
        for epoch, scores in enumerate(epochs, start=1):
            order = _likeliest(unknown, scores)[:, :ranks]
            ranked = np.take_along_axis(unknown, order, 1)
            images, right = ranked.sum(0), (ranked & np.take_along_axis(present, order, 1)).sum(0)
            about = {"method": name, "epoch": epoch, "rank": np.arange(1, len(images) + 1)}
            shares = {"images": images, "present": right / np.maximum(images, 1), "chance": chance}
            parts.append(pd.DataFrame(about | shares))
    table = pd.concat(parts)
    return table[table["images"] > 0].reset_index(drop=True)


def likely_labels(
    task: Task,
    truth: Truth,
    method: str = "csl",
    *,
    images: Sequence[int],
    top: int = 10,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
) -> pd.DataFrame:
    """Train, and list the likeliest unknown labels of a few images in the last epoch.

    Parameters
    ----------
    task, truth
        As for `readings`.
    method
        One method.
    images
        Rows of the task.
    top
        Number of labels of each image.
    settings, seed, draw, backbone, device
        As for `memorisation`.

    Returns
    -------
    DataFrame
        method; row of the task; image, its id; class; rank from 1; probability by the model;
        present, in truth.

    Raises
    ------
    BadInput
        For images without any question, for a truth about other images, and as in training.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 4.
    """
    for row in {*images} - {*task.rows.tolist()}:
        raise BadInput(f"likely labels: image {row} was not asked about; choose from task.rows")
    unknown, present = unknown_labels(task, truth)
    options = TrainingOptions(settings, seed, draw, backbone, device)
    (epochs,) = recorded(task, [method], _logits, options).values()
    labels_of = []
    for row in images:
        image, scores = str(task.labels.images[row]), epochs[-1, row]
        order = _likeliest(unknown[row], scores)[: min(top, unknown[row].sum())]
        for rank, c in enumerate(order, start=1):
            label = (truth.classes[c], rank, expit(scores[c]), present[row, c])
            labels_of.append((method, row, image, *label))
    names = ["method", "row", "image", "class", "rank", "probability", "present"]
    return pd.DataFrame(labels_of, columns=names)


def _logits(method: Method, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
    return out.logits.float()


def _likeliest(unknown: NDArray[np.bool_], scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """Order along the last axis: unknown labels by falling score, then all others."""
    return np.argsort(np.where(unknown, -scores, np.inf), axis=-1, kind="stable")
