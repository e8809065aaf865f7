"""Does an estimated class prior know which classes are common?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PRESENT
from simkit.labels.truth import Truth
from simkit.learn.aids.means import mean_probability
from simkit.learn.aids.prepare import prepare
from simkit.learn.aids.prior import ClassPrior
from simkit.learn.methods import Task, make
from simkit.learn.train import train
from simkit.study.analysis.asked import by_name, counts, listed

COUNTED = "labels"  # the estimate that trains nothing


def estimates(
    task: Task, methods: Sequence[str] = ("ignore", "an"), **training: Any
) -> dict[str, ClassPrior]:
    """How common each class is, by the mean probability of a model trained with each method.

    The mean is over the asked images. "labels" among the methods trains nothing: it is the share
    of asked images that are labelled present. training: settings, seed and draw, as `train` takes
    them. Raises BadInput where no method is named, and where no image was asked about.
    Source: Ben-Baruch et al., CVPR 2022, section 4.2, eq. 10-11; the paper's is "ignore".
    """
    if not (specs := listed(methods, "estimates: methods")):
        raise BadInput(
            f"estimates: no method is named; name those to estimate by, as ignore, or {COUNTED}"
        )
    if not len(task.rows):
        raise BadInput("estimates: no image was asked about; ask about some")
    found = {}
    for name in specs:
        if name == COUNTED:
            values = task.labels.per_class(PRESENT) / len(task.rows)
        else:
            method = make(name)
            ready = prepare(task, method, **training)
            values = mean_probability(train(ready, method, **training), ready)
        history = History("estimate", {"method": name}, parents=(task.labels.id,))
        found[name] = ClassPrior(values, task.labels.classes, history)
    return found


def priors(truth: Truth, estimated: Mapping[str, ClassPrior]) -> pa.Table:
    """One row for each estimate and class, classes by falling true frequency.

    Columns: estimate, class, rank (0: most frequent), true (share of the images that the truth
    knows the class of in which it is present; 0 where it knows none), prior. Raises BadInput for a
    prior that lacks a class of the truth, and without any.
    Source: Ben-Baruch et al., CVPR 2022, figures 5, 11 to 13.
    """
    by_name(estimated, "estimate", "{'ignore': prior}", "priors")
    true = _frequency(truth)
    order = (-true).argsort(kind="stable")
    names = np.array(truth.classes, object)[order].tolist()
    columns: dict[str, list[object]] = {
        key: [] for key in ("estimate", "class", "rank", "true", "prior")
    }
    for name, prior in estimated.items():
        columns["estimate"] += [name] * len(order)
        columns["class"] += names
        columns["rank"] += range(len(order))
        columns["true"] += true[order].tolist()
        columns["prior"] += prior.of(truth.classes)[order].tolist()
    return pa.table(columns)


def rank_agreement(
    truth: Truth, estimated: Mapping[str, ClassPrior], tops: Sequence[int] | None = None
) -> pa.Table:
    """Spearman correlation of each estimate with the truth over the `tops` most frequent classes.

    tops: by default from 5 (or all, if there are fewer) to all classes. Columns: estimate, top,
    spearman (null where an estimate is the same for all of these classes). Raises BadInput for
    tops that are no whole numbers from 2 to that of all classes, and without an estimate.
    Source: Ben-Baruch et al., CVPR 2022, figure 7.
    """
    by_name(estimated, "estimate", "{'ignore': prior}", "rank_agreement")
    if (L := len(truth.classes)) < 2:
        raise BadInput("rank_agreement: the truth has one class; an order needs two")
    if tops is None:
        tops = range(min(5, L), L + 1)
    wanted = counts(tops, "rank_agreement: one of tops", least=2, most=L)
    rows: list[dict[str, object]] = []
    for name, prior in estimated.items():
        same_order = ClassPrior(prior.of(truth.classes))
        for top in wanted:
            value = same_order.spearman(_frequency(truth), top=top)
            known = None if np.isnan(value) else value
            rows.append({"estimate": name, "top": top, "spearman": known})
    types = [("estimate", pa.string()), ("top", pa.int64()), ("spearman", pa.float64())]
    return pa.Table.from_pylist(rows, schema=pa.schema(types))


def _frequency(truth: Truth) -> np.ndarray:
    if truth.known is None:
        return truth.counts / truth.shape[0]
    there = np.asarray(truth.present.multiply(truth.known).sum(0)).ravel()
    return there / np.maximum(np.asarray(truth.known.sum(0)).ravel(), 1)
