"""Estimated class priors, and the treatment of unknown labels by methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import ABSENT, PRESENT
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior, mean_probability, prepare
from simkit.learn.train import train
from simkit.papers.analysis.learning import (
    TrainingOptions,
    kinds,
    recorded,
    selections,
    unknown_labels,
)
from simkit.results.selection import listed

COUNTED = "labels"  # the estimate without training
_Mask = NDArray[np.bool_]  # (N, L)


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
    for name in listed(methods):
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
    for name, selected in selections(
        task, methods, TrainingOptions(settings, seed, draw, backbone, device)
    ).items():
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


def _likeliest(unknown: _Mask, scores: NDArray[np.float32]) -> NDArray[np.intp]:
    """Order along the last axis: unknown labels by falling score, then all others."""
    return np.argsort(np.where(unknown, -scores, np.inf), axis=-1, kind="stable")
