"""Does an estimated class prior know which classes are common?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from simkit.labels.truth import Truth
from simkit.learn.prior import ClassPrior


def priors(truth: Truth, estimated: Mapping[str, ClassPrior]) -> pa.Table:
    """One row for each estimate and class, classes by falling true frequency.

    Columns: estimate, class, rank (0: most frequent), true (share of images in which the class is
    present), prior. Raises BadInput for a prior that lacks a class of the truth.
    """
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
    truth: Truth, estimated: Mapping[str, ClassPrior], tops: Sequence[int]
) -> pa.Table:
    """Spearman correlation of each estimate with the truth over the `tops` most frequent classes.

    Columns: estimate, top, spearman. Source: Ben-Baruch et al., CVPR 2022, figure 7.
    """
    rows = []
    for name, prior in estimated.items():
        same_order = ClassPrior(prior.of(truth.classes))
        for top in tops:
            value = same_order.spearman(_frequency(truth), top=top)
            rows.append({"estimate": name, "top": int(top), "spearman": value})
    return pa.Table.from_pylist(rows)


def _frequency(truth: Truth) -> np.ndarray:
    return truth.counts / truth.present.shape[0]
