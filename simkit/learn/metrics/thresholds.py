"""F1 with one threshold per class, chosen on a validation split."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.learn.metrics.ap import Convention, check_convention, settled
from simkit.learn.metrics.blocks import array, by_image, known_marks, marks, row_blocks, rows
from simkit.learn.metrics.ranking import check, ranked
from simkit.learn.metrics.ranks import refuse_nan


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
    scores, present, known = array(scores), marks(present), known_marks(present, known)
    check(scores, present, known)
    present, known = by_image(present), None if known is None else by_image(known)
    L = scores.shape[1]
    limits = np.asarray(thresholds, np.float64)
    if limits.shape not in ((), (L,)) or np.isnan(limits).any():
        raise BadInput(
            f"thresholds have shape {limits.shape}; one number, or one for each of {L} classes, "
            "and no nan, is expected"
        )
    counts = np.zeros((4, L), np.int64)
    for images in row_blocks(scores.shape):
        part, shown = rows(scores, images), rows(present, images) != 0
        counted = np.ones_like(shown) if known is None else rows(known, images) != 0
        if (np.isnan(part) & counted).any():
            refuse_nan()
        above, shown = (part >= limits) & counted, shown & counted
        for place, some in enumerate((above & shown, above, shown, counted)):
            counts[place] += some.sum(0)
    return counts
