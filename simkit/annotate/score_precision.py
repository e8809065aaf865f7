"""The precision and recall of a model's scores, measured on people's labels, with intervals.

Images are the unit, because pairs of one image are not independent. If every image has at most one
pair, intervals are those of Clopper and Pearson; otherwise those of Korn and Graubard (Survey
Methodology, 1998): Clopper and Pearson for the number of independent pairs with the same variance
between images. tests/annotate/test_score_precision.py checks their coverage. It is lower for
mistakes that are both rare and concentrated in few images: with 200 images of 10 pairs, 0.5 %
mistakes and a third of their variance between images, 12 % of the intervals ended below the share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from simkit.annotate.schemes import MISSING
from simkit.annotate.schemes.machine import sample_size
from simkit.metrics.thresholds import exact_interval

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]
PROBABILITIES = (0.9, 0.7, 0.5, 0.3, 0.1)
FIRST = 5  # classes of an image, the surest first
_CONFIDENCE = 0.95  # of `sure_threshold`
GROWTH = 1.25  # of the sets of pairs that `sure_threshold` tests in turn


def interval(right: Floats, of: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Confidence intervals of K shares: (K,) lower and upper ends, nan without pairs.

    right, of : (n, K) number of pairs in each image, those that count and all.
    """
    hits, total, images = right.sum(axis=0), of.sum(axis=0), (of > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = hits / total
        between = ((right - share * of) ** 2).sum(axis=0) * images / (images - 1) / total**2
        alone = share * (1 - share) / between  # independent pairs of the same variance
    several = of.max(axis=0, initial=0) > 1
    number = np.where(several & (between > 0), np.minimum(alone, total), total)
    number = np.where(several & (images == 1), 1, number)
    return exact_interval(share, number, level)


def depths(scores: Floats) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """For each depth its name and (n, L) the pairs that the scores (n, L) propose up to it."""
    scored, rank = scores > MISSING, _ranks(scores)
    for first in range(1, min(FIRST, scores.shape[1]) + 1):
        yield f"first {first}", scored & (rank < first)
    for probability in PROBABILITIES:
        yield f"probability {probability:g}", scores >= logit(probability)


def precision_and_recall(scores: Floats, labels: Labels, classes: Sequence[str]) -> pd.DataFrame:
    """Precision and recall by depth, for all classes together and for each class.

    Parameters
    ----------
    scores : (n, L) float
        Logits; missing ones are at most `MISSING`, and are never proposed.
    labels : (n, L) int
        1 present, -1 absent, 0 unknown, which is not counted. The scores must not have chosen the
        images.
    classes : sequence of str

    Returns
    -------
    DataFrame
        Columns class ("" for all), depth ("first 2": the two classes with the highest scores of
        each image; "probability 0.5": from this one on), proposed, right and present (numbers of
        pairs), precision and recall, each with its 95 % interval (_low, _high).
    """
    present, known = (labels > 0).astype(float), labels != 0
    parts: list[pd.DataFrame] = []
    for depth, chosen in depths(scores):
        proposed = (chosen & known).astype(float)
        right = proposed * present
        columns: dict[str, Floats] = {}
        for name, of in (("precision", proposed), ("recall", present)):
            every, whole = _with_all(right), _with_all(of)
            low, high = interval(every, whole)
            with np.errstate(invalid="ignore"):
                columns[name] = every.sum(axis=0) / whole.sum(axis=0)
            columns |= {f"{name}_low": low, f"{name}_high": high}
        counts = {"proposed": proposed, "right": right, "present": present}
        numbers = {name: _with_all(x).sum(axis=0).astype(int) for name, x in counts.items()}
        names = {"class": ["", *classes], "depth": depth}
        parts.append(pd.DataFrame(names | numbers | columns))
    table = pd.concat(parts, ignore_index=True)
    order = {name: place for place, name in enumerate(["", *classes])}
    return table.iloc[np.argsort(table["class"].map(order), kind="stable")].reset_index(drop=True)


def _with_all(values: Floats) -> Floats:
    """(n, 1 + L): the sum over the classes (n, L), and each."""
    return np.column_stack([values.sum(axis=1), values])


def _ranks(scores: Floats) -> NDArray[np.int64]:
    """(n, L) the rank of each class in its image, the highest score first."""
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)


def sure_threshold(scores: Floats, labels: Labels, *, present: bool, bound: float) -> float | None:
    """The widest threshold, a probability, at which at most the share `bound` of labels is wrong.

    Pairs are ranked, the surest first. Sets of growing size are tested in turn, from the sample
    size of the scheme `machine` to half of all pairs, until one does not show at a confidence of
    95 % that at most `bound` of its pairs are wrong. The sequence is fixed beforehand and ends with
    the first failure, so the tests need no correction for multiplicity.

    Parameters
    ----------
    scores, labels : (n, L)
        As in `precision_and_recall`.
    present : bool
        Whether labels at or above the threshold are present; otherwise, those at or below it are
        absent.

    Returns
    -------
    float or None
        None if the first set fails.
    """
    sign, usable = (1 if present else -1), (labels != 0) & (scores > MISSING)
    sure = np.where(usable, sign * scores, -np.inf)
    ranked, wrong = np.sort(sure[usable])[::-1], labels == -sign
    size, shown = float(sample_size(bound, _CONFIDENCE)), None
    while size <= len(ranked) / 2:
        start = float(ranked[int(size) - 1])
        taken = usable & (sure >= start)
        right, of = (x.sum(axis=1).astype(float)[:, None] for x in (taken & wrong, taken))
        if interval(right, of, level=2 * _CONFIDENCE - 1)[1][0] > bound:
            break
        shown, size = start, size * GROWTH
    if shown is None:
        return None
    rest = ranked[ranked < shown]
    return _between(sign * shown, sign * float(rest[0] if len(rest) else shown))


def _between(inside: float, outside: float) -> float:
    """A probability of few digits between two logits, or that of the first."""
    ends = sorted((inside, outside))
    for digits in range(1, 17):
        short = float(f"{expit(sum(ends) / 2):.{digits}g}")
        if 0 < short < 1 and ends[0] < logit(short) < ends[1]:
            return short
    return float(expit(inside))


def expected_recall(scores: Floats, labels: Labels, per_image: float) -> tuple[float, float, float]:
    """The expected recall of `proposals(by=scores)`, with its 95 % interval.

    The number of proposals for an image is Poisson with mean `per_image`.
    """
    from scipy.stats import poisson  # its import takes a second

    L = scores.shape[1]
    number = np.arange(L + 1)
    chance = np.append(poisson.pmf(number[:-1], per_image), poisson.sf(L - 1, per_image))
    at_least = 1 - np.cumsum(chance)[:-1]  # that more classes than the rank are proposed
    present = labels > 0
    hits = (present & (scores > MISSING)) * at_least[_ranks(scores)]
    right, of = (x.sum(axis=1).astype(float)[:, None] for x in (hits, present))
    low, high = interval(right, of)
    return float(right.sum() / of.sum()) if of.sum() else np.nan, float(low[0]), float(high[0])
