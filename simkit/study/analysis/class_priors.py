"""Estimated class priors, and what methods make of unknown labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from torch import nn

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN
from simkit.labels.truth import Truth
from simkit.learn.aids.means import mean_probability
from simkit.learn.aids.prepare import prepare
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.methods import Batch, Outputs, Task, make
from simkit.learn.train import train
from simkit.study.analysis.checks import by_name, count, counts, listed, one_method, rows
from simkit.study.analysis.learning import kinds, selections, watched

COUNTED = "labels"  # the estimate that trains nothing
_Mask = NDArray[np.bool_]  # (N, L)


def estimates(
    task: Task, methods: Sequence[str] = ("ignore", "an"), **training: Any
) -> dict[str, ClassPrior]:
    """How common each class is: the mean probability of a model trained with each method.

    Parameters
    ----------
    task
        The mean is over its asked images.
    methods
        "labels" among them trains nothing: it is the share of asked images labelled present.
    training
        settings, seed and draw, as `simkit.learn.train.train` takes them.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, section 4.2, Eqs 10, 11; the paper's method is "ignore".
    """
    found = {}
    for name in listed(methods, "estimates: methods"):
        if name == COUNTED:
            values = task.labels.per_class(PRESENT) / len(task.rows)
        else:
            method = make(name)
            ready = prepare(task, method, **training)
            values = mean_probability(train(ready, method, **training), ready)
        history = History("estimate", {"method": name}, parents=(task.labels.id,))
        found[name] = ClassPrior(values, task.labels.classes, history)
    return found


def priors(truth: Truth, estimated: Mapping[str, ClassPrior]) -> pd.DataFrame:
    """Each estimate of each class beside its true frequency.

    Returns
    -------
    DataFrame
        estimate; class, by falling true frequency; rank (0: most frequent); true, the share of
        images with the class among those whose truth is known (0 where none is); prior.

    Raises
    ------
    BadInput
        For a prior that lacks a class of the truth, and without any.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Figs 5, 11 to 13.
    """
    by_name(estimated, "estimate", "{'ignore': prior}", "priors")
    true = _frequency(truth)
    order = np.argsort(-true, kind="stable")
    classes = pd.DataFrame({"class": truth.classes, "true": true}).iloc[order]
    classes.insert(1, "rank", range(len(order)))
    tables = {
        name: classes.assign(prior=prior.of(truth.classes)[order])
        for name, prior in estimated.items()
    }
    return pd.concat(tables, names=["estimate"]).reset_index(level=0).reset_index(drop=True)


def rank_agreement(
    truth: Truth, estimated: Mapping[str, ClassPrior], tops: Sequence[int] | None = None
) -> pd.DataFrame:
    """Spearman correlation of each estimate with the truth over the most frequent classes.

    Parameters
    ----------
    tops
        Over how many classes; by default from 5 (or all, if there are fewer) to all.

    Returns
    -------
    DataFrame
        estimate, top, spearman (NaN where an estimate is the same for all of these classes).

    Raises
    ------
    BadInput
        For tops that are no whole numbers from 2 to the number of classes, and without an estimate.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 7.
    """
    by_name(estimated, "estimate", "{'ignore': prior}", "rank_agreement")
    L = len(truth.classes)
    tops = range(min(5, L), L + 1) if tops is None else tops
    tops = counts(tops, "rank_agreement: one of tops", least=2, most=L)
    true = _frequency(truth)
    found = []
    for name, prior in estimated.items():
        values = ClassPrior(prior.of(truth.classes))  # in the order of the truth
        found += [(name, top, values.spearman(true, top=top)) for top in tops]
    return pd.DataFrame(found, columns=["estimate", "top", "spearman"])


def _frequency(truth: Truth) -> NDArray[np.float64]:
    if truth.known is None:
        return truth.counts / truth.shape[0]
    present = np.asarray(truth.present.multiply(truth.known).sum(0)).ravel()
    return present / np.maximum(np.asarray(truth.known.sum(0)).ravel(), 1)


def readings(task: Task, truth: Truth, methods: Sequence[str], **training: Any) -> pd.DataFrame:
    """Train, and count for each class what a method takes its unknown labels for, and wrongly so.

    Parameters
    ----------
    methods
        Those that take an unknown label for absent or leave it out, such as an, ignore, ll-r and
        csl; the labels that a method's `selected` names count as left out.
    training
        settings, seed, draw and so on, as for `memorisation`.

    Returns
    -------
    DataFrame
        method; class, by falling true frequency, its rank from 0 and true, its share of the asked
        images; images: asked ones whose truth is known; present and absent: labels of these that
        are known; ignored: unknown ones left out in the last epoch, ignored_present: those of them
        that are present in truth; assumed: unknown ones taken for absent, wrong: those of them
        that are present.

    Raises
    ------
    BadInput
        For a truth about other images or classes, and as training does.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 2, which draws this as an illustration.
    """
    usable = kinds(task.labels, truth) >= 0
    unknown, present = _unknown(task, truth)
    codes = task.labels.rows(np.arange(len(usable)))
    images = usable.sum(0)
    true = (present & usable).sum(0) / np.maximum(images, 1)
    tables = {}
    for name, selected in selections(task, methods, **training).items():
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
        columns = {"class": truth.classes, "true": true, "images": images}
        columns |= {key: mask.sum(0) for key, mask in masks.items()}
        tables[name] = pd.DataFrame(columns).iloc[np.argsort(-true, kind="stable")]
        tables[name].insert(1, "rank", range(len(true)))
    return pd.concat(tables, names=["method"]).reset_index(level=0).reset_index(drop=True)


def likelihood(
    task: Task, truth: Truth, methods: Sequence[str], *, ranks: int = 20, **training: Any
) -> pd.DataFrame:
    """Train, and count in every epoch how often the k-th likeliest unknown label is present.

    Keeps 5 bytes for each image and class.

    Parameters
    ----------
    ranks
        The largest k.
    training
        As for `readings`.

    Returns
    -------
    DataFrame
        method; epoch from 1; rank k from 1, among the unknown labels of an image, by the scores
        that training met in this epoch; images that have so many; present: the share of these in
        which the label is present in truth; chance: that share of all unknown labels.

    Raises
    ------
    BadInput
        For a truth about other images or classes, and as training does.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Eqs 4, 5 and Fig. 4.
    """
    count(ranks, "likelihood: ranks")
    unknown, present = _unknown(task, truth)
    chance = (unknown & present).sum() / max(unknown.sum(), 1)
    watchers = watched(task, methods, lambda _: _Ranked(unknown, present, ranks), **training)
    table = pd.DataFrame(
        [
            (name, epoch, rank, *numbers, chance)
            for name, watcher in watchers.items()
            for epoch, by_rank in enumerate(watcher.epochs, start=1)
            for rank, numbers in enumerate(by_rank, start=1)
        ],
        columns=["method", "epoch", "rank", "images", "present", "chance"],
    )
    return table[table["images"] > 0].reset_index(drop=True)


def likely_labels(
    task: Task,
    truth: Truth,
    method: str = "csl",
    *,
    images: Sequence[int],
    top: int = 10,
    **training: Any,
) -> pd.DataFrame:
    """Train, and list the likeliest unknown labels of a few images in the last epoch.

    Parameters
    ----------
    images
        Rows of the task.
    top
        Labels of each.
    training
        As for `readings`.

    Returns
    -------
    DataFrame
        method; row of the task; image, its id; class; rank from 1, probability by the model;
        present: in truth.

    Raises
    ------
    BadInput
        For images that were not asked about, for a truth about others, for several methods, and
        as training does.

    References
    ----------
    Ben-Baruch et al., CVPR 2022, Fig. 4.
    """
    method = one_method(method, "likely labels: method")
    count(top, "likely labels: top")
    images = rows(images, task.labels.shape[0], "likely labels")
    for row in images:
        if row not in task.rows:
            raise BadInput(f"likely labels: image {row} was not asked about; choose of task.rows")
    unknown, present = _unknown(task, truth)
    watchers = watched(task, [method], lambda _: _Ranked(unknown, present, top), **training)
    scores = watchers[method].scores
    found = []
    for row in images:
        order = np.argsort(np.where(unknown[row], -scores[row], np.inf), kind="stable")
        for rank, c in enumerate(order[: min(top, unknown[row].sum())], start=1):
            label = (truth.classes[c], rank, expit(scores[row, c]), present[row, c])
            found.append((method, row, str(task.labels.images[row]), *label))
    names = ["method", "row", "image", "class", "rank", "probability", "present"]
    return pd.DataFrame(found, columns=names)


class _Ranked:
    """A watcher of scores (N, L), and of how often the k-th likeliest label is present.

    epochs: in each, for every rank, how many images have so many unknown labels, and the share of
    these in which the label is present.
    """

    def __init__(self, unknown: _Mask, present: _Mask, ranks: int) -> None:
        self.scores = np.full(unknown.shape, -np.inf, np.float32)
        self.epochs: list[list[tuple[int, float]]] = []
        self._unknown, self._present, self._ranks = unknown, present, ranks

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        self.scores[batch.index.cpu().numpy()] = out.logits.detach().float().cpu().numpy()

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        below = np.where(self._unknown, -self.scores, np.inf)
        order = np.argsort(below, axis=1, kind="stable")[:, : self._ranks]
        unknown, present = (
            np.take_along_axis(mask, order, 1) for mask in (self._unknown, self._present)
        )
        images, right = unknown.sum(0), (unknown & present).sum(0)
        self.epochs.append([(int(n), r / max(n, 1)) for n, r in zip(images, right, strict=True)])


def _unknown(task: Task, truth: Truth) -> tuple[_Mask, _Mask]:
    """(N, L) labels that are unknown though the truth is known, and those that are present."""
    images = np.arange(task.labels.shape[0])
    usable = kinds(task.labels, truth) >= 0
    return (task.labels.rows(images) == UNKNOWN) & usable, truth.rows(images)
