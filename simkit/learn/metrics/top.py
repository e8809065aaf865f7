"""What the highest scores of each image say: top-1, and precision and recall of the first k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import array, by_image, marks, row_blocks, rows
from simkit.learn.metrics.ranking import check, whole_number
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
    Some million scores at a time come to the host. Raises BadInput for shapes that differ, scores
    without a class, a class that does not exist, and nan scores.
    """
    scores, right = array(scores), marks(truth)
    if scores.ndim == 2 and scores.shape[1] == 0:
        raise BadInput(
            f"scores have shape {tuple(scores.shape)}; without a class none is highest, so bring "
            "scores of one at least"
        )
    if right.ndim == 1:
        return _top1_of_one(scores, np.asarray(right))
    check(scores, right, name="truth")
    right = by_image(right)
    hits = images = 0
    for block in row_blocks(scores.shape):
        labels = rows(right, block) != 0
        highest = _without_nan(rows(scores, block)).argmax(1)
        hits += int(labels[np.arange(len(labels)), highest].sum())
        images += int(labels.any(1).sum())
    return hits / images if images else float("nan")


def _top1_of_one(scores: Any, classes: Any) -> float:
    check(scores)
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
    of lower index comes first. scores and present (N, L) as in `average_precision`; some million
    of each at a time come to the host. Raises BadInput for k outside 1 to L.
    Source: the published code of Cole et al. CVPR 2021.
    """
    scores, present = array(scores), marks(present)
    check(scores, present)
    present = by_image(present)
    N, L = scores.shape
    if not whole_number(k) or not 1 <= k <= L:
        raise BadInput(f"k is {k!r}; with {L} classes it must be a whole number from 1 to {L}")
    sums = np.zeros(3)
    for block in row_blocks((N, L)):
        part, labels = _without_nan(rows(scores, block)), rows(present, block) != 0
        hits = (_first(part, k) & labels).sum(1)
        recall = hits / np.maximum(labels.sum(1), 1)
        sums += hits.sum() / k, recall.sum(), (hits > 0).sum()
    return AtK(*(float(s) / N if N else float("nan") for s in sums))


def _first(scores: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """(n, L) which are the k highest of each row; of equal ones those of lower index."""
    limit = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
    above, ties = scores > limit, scores == limit
    left = k - above.sum(1, keepdims=True)
    return above | (ties & (ties.cumsum(1, dtype=np.int32) <= left))


def _without_nan(scores: Any) -> Any:
    if np.isnan(scores).any():
        refuse_nan()
    return scores
