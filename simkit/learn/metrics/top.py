"""What the highest scores of each image say: top-1, and precision and recall of the first k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import array, by_image, row_blocks, rows
from simkit.learn.metrics.ranking import check
from simkit.learn.metrics.ranks import refuse_nan


@dataclass(frozen=True)
class AtK:
    """Means over images, in [0, 1]: see `at_k`."""

    precision: float
    recall: float
    any: float


def top1(scores: Any, truth: Any) -> float:
    """Share of images whose highest score is that of a right class; the first of equal scores.

    scores (N, L), an array or a tensor.  truth: (N,) the one class of each image, or (N, L) bool,
    dense or sparse, with all that are right; images without any are then left out, as ReaL does
    (Beyer et al. 2020; used by Verelst et al. WACV 2023). nan where no image is left.
    Raises BadInput for shapes that differ, a class that does not exist, and nan scores.
    """
    scores, right = array(scores), by_image(truth)
    if right.ndim == 1:
        return _top1_of_one(scores, np.asarray(right))
    check(scores, right)
    hits = images = 0
    for block in row_blocks(scores.shape):
        labels = rows(right, block) != 0
        highest = _without_nan(rows(scores, block)).argmax(1)
        hits += int(labels[np.arange(len(labels)), highest].sum())
        images += int(labels.any(1).sum())
    return hits / images if images else float("nan")


def _top1_of_one(scores: Any, classes: Any) -> float:
    check(scores, scores)
    N, L = scores.shape
    if classes.shape != (N,) or classes.dtype.kind not in "iu":
        raise BadInput(
            f"truth has shape {classes.shape} of {classes.dtype} and the scores {(N, L)}; the "
            "index of a class for each image, or images x classes, is expected"
        )
    if N and not 0 <= classes.min() <= classes.max() < L:
        raise BadInput(
            f"truth names classes {classes.min()} to {classes.max()}; the scores have 0 to {L - 1}"
        )
    found = [_without_nan(rows(scores, block)).argmax(1) for block in row_blocks((N, L))]
    return float((np.concatenate(found) == classes).mean()) if N else float("nan")


def at_k(scores: Any, present: Any, k: int) -> AtK:
    """How many of an image's k highest scores are of present classes, in three ways.

    precision: of those k;  recall: of the image's present classes, 0 for an image that has none;
    any: whether there is at least one. All are means over the N images; of equal scores the class
    of lower index comes first. scores and present (N, L) as in `average_precision`.
    Raises BadInput for k outside 1 to L. Source: the published code of Cole et al. CVPR 2021.
    """
    scores, present = array(scores), by_image(present)
    check(scores, present)
    N, L = scores.shape
    if not 1 <= k <= L:
        raise BadInput(f"k is {k}; with {L} classes it must be 1 to {L}")
    sums = np.zeros(3)
    for block in row_blocks((N, L)):
        part, labels = _without_nan(rows(scores, block)), rows(present, block) != 0
        first = np.argsort(-part.astype(np.float64), axis=1, kind="stable")[:, :k]
        hits = np.take_along_axis(labels, first, 1).sum(1)
        recall = hits / np.maximum(labels.sum(1), 1)
        sums += hits.sum() / k, recall.sum(), (hits > 0).sum()
    return AtK(*(float(s) / N if N else float("nan") for s in sums))


def _without_nan(scores: Any) -> Any:
    if np.isnan(scores).any():
        refuse_nan()
    return scores
