"""Decisions: F1 with one threshold per class, top-1, precision and recall of the first k."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput, located
from simkit.labels.coding import is_frame
from simkit.labels.truth import Truth
from simkit.metrics.ap import BOTH, Convention, settled
from simkit.metrics.ranking import (
    Ranks,
    array,
    marked,
    ranked,
    refuse_diverged,
    row_blocks,
    scores_and_labels,
    series_by_name,
    values_of,
)

Floats = NDArray[np.float64]
FEWEST = 20  # highest scores whose precision is tested: of fewer hardly any test is significant
ERRS = 0.05  # of the classes have a precision below the one that is said to be reached, at most


def exact_interval(
    share: Floats, number: NDArray[Any], level: float = 0.95
) -> tuple[Floats, Floats]:
    """Lower and upper ends of shares of `number` independent cases, nan where it is 0.

    Source: Clopper and Pearson (Biometrika, 1934).
    """
    from scipy.special import betainccinv, betaincinv  # slow to load, scipy.stats even more

    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = betaincinv(share * number, (1 - share) * number + 1, tail)
        high = betainccinv(share * number + 1, (1 - share) * number, tail)
    low, high = np.where(share == 0, 0, low), np.where(share == 1, 1, high)
    return np.where(number > 0, low, np.nan), np.where(number > 0, high, np.nan)


def f1_thresholds(
    scores: Any, present: Any, known: Any = None, *, precision: float = 0.0
) -> NDArray[np.float64]:
    """(L,) thresholds with the highest F1 of each class: it is predicted present from there on.

    scores, present, known: of the validation split, as in `average_precision`. Of equally good
    thresholds the largest is returned, which for a class without present labels is its highest
    score; inf for a class without known labels, which is then never predicted. Source: mF1 of "Soft
    Exposure"; the rule for ties is ours.

    precision: consider only thresholds of which tests say that precision is at least this on new
    images like these with such labels; inf for a class without any. Of one class this holds in 95
    of 100 cases at least, so of many classes a few may be below; errors of the labels count as
    those of the tags. Tested are the FEWEST highest scores, twice as many, and so on, without a
    look at the labels, by exact binomial tests. Together these err in 5 % of the cases at most:
    each of m tests has an equal part of it, and that of a significant test passes to the next
    (fallback procedure: Wiens, Pharmaceutical Statistics 2003; for thresholds: Angelopoulos et al.,
    Learn then Test, 2021).
    """
    thresholds = [np.zeros(0)]
    for ranks in ranked(scores, present, known):
        classes = np.repeat(np.arange(len(ranks.known)), ranks.present)
        reached = 2 * ranks.hits / (ranks.images + ranks.present[classes])
        if precision > 0:
            reached = np.where(_surely_reach(precision, ranks), reached, -1.0)
        best = ranks.reduce(np.maximum, reached, 0.0)
        chosen = (reached == best[classes]) & (reached > 0)
        places = np.where(chosen, np.arange(len(reached)), -1)
        last = ranks.reduce(np.maximum, places, -1)  # scores ascend within a class
        highest = np.where((ranks.known > 0) & (precision <= 0), ranks.top, np.inf)
        some = last >= 0
        highest[some] = ranks.scores[last[some]]
        thresholds.append(highest)
    return np.concatenate(thresholds)


def fewest_images(precision: float) -> int:
    """Images of the smallest test that is significant if all show the class; 0 for 100 %."""
    tests = np.arange(1, 20)
    numbers = FEWEST * 2 ** (tests - 1)
    return int(numbers[precision**numbers <= ERRS / tests][:1].sum())


def _surely_reach(precision: float, ranks: Ranks) -> NDArray[np.bool_]:
    """(P,) whether each present image has the lowest score of a significant test."""
    from scipy.special import bdtrc

    sure, order = np.zeros(len(ranks.hits), bool), np.arange(len(ranks.hits))
    tests = np.floor(np.log2(np.maximum(ranks.known / FEWEST, 0.5))) + 1
    part = np.zeros(len(ranks.known))  # of the errors, that the next test may make
    for test in range(int(tests.max(initial=0))):
        number = FEWEST * 2**test
        highest = ranks.images <= number
        hits = ranks.reduce(np.maximum, np.where(highest, ranks.hits, 0), 0)
        lowest = ranks.reduce(np.minimum, np.where(highest, order, len(order)), len(order))
        part += ERRS / np.maximum(tests, 1)
        significant = (test < tests) & (bdtrc(hits - 1, number, precision) <= part)
        part = np.where(significant, part, 0.0)
        sure[lowest[significant]] = True
    return sure


def f1(
    scores: Any, present: Any, thresholds: Any, known: Any = None, *, convention: Convention = BOTH
) -> NDArray[np.float64]:
    """(L,) F1 of predicting a class present if its score is at least its threshold.

    thresholds (L,), or one number for all, on the scale of the scores;  the others, and the
    convention for nan, as in `average_precision`. The mean, `mean_ap(f1(...))`, is mF1; with "spml"
    classes without present labels count as 0.
    """
    hits, called, shown, counted = decisions(scores, present, thresholds, known)
    values = 2 * hits / np.maximum(called + shown, 1)
    return settled(values, shown, counted, convention)


def precision_recall(
    scores: Any, present: Any, thresholds: Any, known: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(L,) precision and (L,) recall of predicting a class present, arguments as of `f1`.

    Precision is nan for a class that is never predicted or has no absent label, recall for one that
    never occurs.
    """
    hits, called, shown, counted = decisions(scores, present, thresholds, known)
    measured = (called > 0) & (counted > shown)
    with np.errstate(invalid="ignore"):
        return hits / np.where(measured, called, np.nan), hits / np.where(shown, shown, np.nan)


def decisions(scores: Any, present: Any, thresholds: Any, known: Any = None) -> NDArray[np.int64]:
    """(4, L) numbers of true positives, predicted, present and known images; see `f1`."""
    thresholds = series_by_name(scores, thresholds, 1, "thresholds: the classes")
    scores, present, known = scores_and_labels(scores, present, known)
    L = scores.shape[1]
    limits = np.asarray(thresholds, np.float64)
    stored = scores.data if issparse(scores) else scores
    if limits.ndim == 0 and stored.size and not stored.min() < limits <= stored.max():
        warnings.warn(
            f"scores lie between {stored.min():.3g} and {stored.max():.3g}, all on one side of the "
            f"threshold {limits:g}; set it on the scale of the scores",
            stacklevel=3,
        )
    elif limits.ndim == 0 and 0 < limits < 1 and stored.size and stored.min() < 0:
        warnings.warn(
            f"scores go down to {stored.min():.3g}, so they are not probabilities, but are "
            f"compared with the threshold {limits:g}; for logits, use log(p / (1 - p)) instead of "
            "a probability p, such as 0 for 0.5",
            stacklevel=3,
        )
    counts = np.zeros((4, L), np.int64)
    for images in row_blocks(scores.shape):
        values, shown = values_of(scores, images), marked(present, images)
        counted = np.ones_like(shown) if known is None else marked(known, images)
        refuse_diverged((np.isnan(values) & counted).any())
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
    """Share of images whose highest score is that of a correct class; the first of ties.

    Parameters
    ----------
    scores
        (N, L), an array or a tensor.
    truth
        (N,) the class index of each image, or (N, L) bool, dense or sparse, with all correct
        classes; images without any are then left out, as in ReaL (Beyer et al. 2020; used by
        Verelst et al. WACV 2023).

    Returns
    -------
    float
        In [0, 1]; nan without images.

    Raises
    ------
    BadInput
        For shapes that differ, an invalid class index, and nan scores.
    """
    named, scores = scores, scores_and_labels(scores, None)[0]
    truth = series_by_name(named, truth, 0, "truth: the images")
    if not isinstance(truth, Truth) and not issparse(truth) and not is_frame(truth):
        truth = array(truth)
        if truth.ndim == 1:
            classes = np.arange(scores.shape[1])
            if not np.isin(truth, classes).all():
                raise BadInput(
                    f"truth holds classes from {truth.min()} to {truth.max()}; the index of a "
                    f"class for each image, from 0 to {len(classes) - 1}, is expected"
                )
            truth = classes == truth[:, None]
    with located("truth"):
        scores, right, _ = scores_and_labels(named, truth)
    hits = images = 0
    for block in row_blocks(scores.shape):
        labels, values = marked(right, block), values_of(scores, block)
        refuse_diverged(np.isnan(values).any())
        highest = values.argmax(1)
        hits += int(labels[np.arange(len(labels)), highest].sum())
        images += int(labels.any(1).sum())
    return hits / images if images else float("nan")


def at_k(scores: Any, present: Any, k: int) -> AtK:
    """Precision, recall and hit rate of the k highest scores of each image.

    precision: share of present classes among these k;  recall: their share of the image's present
    classes, 0 for an image without any;  any: whether there is at least one. All are means over the
    N images; of ties the class of lower index comes first. scores and present (N, L) as in
    `average_precision`, k from 1 to L. Source: the published code of Cole et al. CVPR 2021.
    """
    scores, present, _ = scores_and_labels(scores, present)
    N = scores.shape[0]
    sums = np.zeros(3)
    for block in row_blocks(scores.shape):
        values, labels = values_of(scores, block), marked(present, block)
        refuse_diverged(np.isnan(values).any())
        # The k highest; ties at the k-th go to the first classes.
        limit = np.partition(values, values.shape[1] - k, axis=1)[:, -k, None]
        above, ties = values > limit, values == limit
        left = k - above.sum(1, keepdims=True)
        first = above | (ties & (ties.cumsum(1, dtype=np.int32) <= left))
        hits = (first & labels).sum(1)
        recall = hits / np.maximum(labels.sum(1), 1)
        sums += hits.sum() / k, recall.sum(), (hits > 0).sum()
    return AtK(*(float(s) / N if N else float("nan") for s in sums))
