"""Decisions: F1 with one threshold per class, top-1, precision and recall of the first k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics.ap import Convention, check_convention, settled
from simkit.learn.metrics.arrays import (
    by_image,
    marks,
    refuse_nan,
    row_blocks,
    rows,
    scores_and_marks,
)
from simkit.learn.metrics.ranking import ranked


def f1_thresholds(scores: Any, present: Any, known: Any = None) -> NDArray[np.float64]:
    """(L,) the scores from which on each class is called present, so that F1 is highest.

    scores, present, known: of the validation split, as in `average_precision`. Of thresholds that
    do equally well the largest is taken, which for a class without a present label is its highest
    score; inf for a class of which nothing is known, so that it is never called present.
    Source: mF1 of "Soft Exposure"; the rule for ties is ours.
    """
    thresholds = [np.zeros(0)]
    for ranks in ranked(scores, present, known):
        classes = np.repeat(np.arange(len(ranks.known)), ranks.present)
        reached = 2 * ranks.hits / (ranks.images + ranks.present[classes])
        best = ranks.reduce(np.maximum, reached, 0.0)
        places = np.where(reached == best[classes], np.arange(len(reached)), -1)
        last = ranks.reduce(np.maximum, places, -1)  # scores ascend within a class
        highest = np.where(ranks.known > 0, ranks.top, np.inf)
        some = last >= 0
        highest[some] = ranks.scores[last[some]]
        thresholds.append(highest)
    return np.concatenate(thresholds)


def f1(
    scores: Any,
    present: Any,
    thresholds: Any,
    known: Any = None,
    *,
    convention: Convention = "nan",
) -> NDArray[np.float64]:
    """(L,) F1 of calling a class present where its score is at least its threshold.

    thresholds (L,), or one number for all;  the others as in `average_precision`, whose convention
    also says which classes get nan; 0 where nothing is called present and nothing is. Its mean,
    `mean_ap(f1(...))`, is mF1; with "spml" classes without a present label count as 0.
    Raises BadInput for thresholds of another length or nan.
    """
    check_convention(convention)
    hits, called, shown, counted = _counts(scores, present, thresholds, known)
    values = 2 * hits / np.maximum(called + shown, 1)
    return settled(values, shown, counted, convention)


def precision_recall(
    scores: Any, present: Any, thresholds: Any, known: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(L,) precision and (L,) recall of calling a class present, arguments as of `f1`.

    Precision is nan for a class that is never called present, recall for one that never is.
    """
    hits, called, shown, _ = _counts(scores, present, thresholds, known)
    with np.errstate(invalid="ignore"):
        return hits / np.where(called, called, np.nan), hits / np.where(shown, shown, np.nan)


def _counts(scores: Any, present: Any, thresholds: Any, known: Any) -> NDArray[np.int64]:
    """(4, L): images that are rightly called present, called present, present, and known."""
    scores, present, known = scores_and_marks(scores, present, known)
    present, known = by_image(present), by_image(known)
    L = scores.shape[1]
    limits = np.asarray(thresholds, np.float64)
    if limits.shape not in ((), (L,)) or np.isnan(limits).any():
        raise BadInput(
            f"thresholds have shape {limits.shape}; one number, or one for each of {L} classes, "
            "and no nan, is expected"
        )
    counts = np.zeros((4, L), np.int64)
    for images in row_blocks(scores.shape):
        values, shown = rows(scores, images), rows(present, images) != 0
        counted = np.ones_like(shown) if known is None else rows(known, images) != 0
        if (np.isnan(values) & counted).any():
            refuse_nan()
        above, shown = (values >= limits) & counted, shown & counted
        for place, some in enumerate((above & shown, above, shown, counted)):
            counts[place] += some.sum(0)
    return counts


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
    right = marks(truth)
    if right.ndim == 1:
        return _top1_of_one(scores, np.asarray(right))
    scores, right, _ = scores_and_marks(scores, right, None, name="truth")
    right = by_image(right)
    hits = images = 0
    for block in row_blocks(scores.shape):
        labels = rows(right, block) != 0
        highest = _without_nan(rows(scores, block)).argmax(1)
        hits += int(labels[np.arange(len(labels)), highest].sum())
        images += int(labels.any(1).sum())
    return hits / images if images else float("nan")


def _top1_of_one(scores: Any, classes: Any) -> float:
    scores, _, _ = scores_and_marks(scores, None, None)
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
    highest = [_without_nan(rows(scores, block)).argmax(1) for block in row_blocks((N, L))]
    return float((np.concatenate(highest) == classes).mean()) if N else float("nan")


def at_k(scores: Any, present: Any, k: int) -> AtK:
    """How many of an image's k highest scores are of present classes, in three ways.

    precision: of those k;  recall: of the image's present classes, 0 for an image that has none;
    any: whether there is at least one. All are means over the N images; of equal scores the class
    of lower index comes first. scores and present (N, L) as in `average_precision`; some million
    of each at a time come to the host. Raises BadInput for k outside 1 to L.
    Source: the published code of Cole et al. CVPR 2021.
    """
    scores, present, _ = scores_and_marks(scores, present, None)
    present = by_image(present)
    N, L = scores.shape
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= L:
        raise BadInput(f"k is {k!r}; with {L} classes it must be a whole number from 1 to {L}")
    sums = np.zeros(3)
    for block in row_blocks((N, L)):
        values, labels = _without_nan(rows(scores, block)), rows(present, block) != 0
        hits = (_first(values, k) & labels).sum(1)
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
