"""Average precision, exact with ties and on partly known references, and its means.

Only values are sorted, never their order: of each present image all that counts is how many scores
are at least as high as its own. Needs numpy and scipy only.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from simkit.errors import BadInput

Convention = Literal["nan", "csl", "spml", "cvpr22", "imcl"]
CONVENTIONS: tuple[str, ...] = ("nan", "csl", "spml", "cvpr22", "imcl")

_BLOCK_BYTES = 1 << 26  # classes are transposed and sorted in blocks of about this size
_STRIP = 512


def average_precision(
    scores: NDArray[Any],
    present: Any,
    known: Any = None,
    *,
    convention: Convention = "nan",
) -> NDArray[np.float64]:
    """Mean precision at the ranks of the present images, per class; images of one score tie.

    scores (N, L), higher is likelier;  present (N, L) bool, dense or sparse;  known likewise, None
    for everything: entries that are not known are left out, class by class. Returns (L,) in [0, 1].

    What a class without a present or without an absent label gets:
      nan     no present label: nan. No absent one: 1, as any order is right.
      csl     nan unless it has both (Ben-Baruch et al. 2022).
      cvpr22  nan if nothing is known, else 0 without a present label, 1 without an absent one.
      spml    0 without a present label (Cole et al. 2021); imcl: the same.
    Means leave nan out, and count the zeros. Raises BadInput for shapes that differ, nan scores and
    an unknown convention. Equal to scikit-learn's average_precision_score to 1e-12.
    """
    scores = np.asarray(scores)
    _check(scores, present, known, convention)
    N, L = scores.shape
    positive = _by_class(present, known)
    observed = None if known is None else _by_class(known, None)
    ap = np.empty(L)
    width = max(1, _BLOCK_BYTES // max(1, N * scores.dtype.itemsize))
    for start in range(0, L, width):
        block = _transposed(scores[:, start : start + width])
        found = [block[c - start, _rows(positive, c)] for c in range(start, start + len(block))]
        if observed is None:
            block.sort(axis=1)
        for c, of_class in enumerate(found, start):
            ranked = block[c - start]
            if observed is not None:
                ranked = np.sort(ranked[_rows(observed, c)])
            ap[c] = _of_class(ranked, of_class, convention)
    return ap


def mean_ap(ap: NDArray[np.float64]) -> float:
    """mAP(C): the mean over the classes that are not nan; nan when all are. Printed x 100."""
    valid = ap[~np.isnan(ap)]
    return float(valid.mean()) if len(valid) else float("nan")


def overall_ap(ap: NDArray[np.float64], counts: NDArray[np.integer]) -> float:
    """mAP(O): the mean weighted by how many present labels each class has.

    counts (L,). Source: the published code of Ben-Baruch et al. 2022; it is not a pooled AP.
    """
    valid = ~np.isnan(ap) & (counts > 0)
    total = counts[valid].sum()
    return float(ap[valid] @ counts[valid] / total) if total else float("nan")


def present_counts(present: Any, known: Any = None) -> NDArray[np.int64]:
    """(L,) how many (known) present labels each class has: the weights of `overall_ap`."""
    return np.diff(_by_class(present, known).indptr).astype(np.int64)


def _of_class(ranked: NDArray[Any], found: NDArray[Any], convention: Convention) -> float:
    """ranked: all scores ascending;  found: those of the present images in any order."""
    if len(ranked) and np.isnan(ranked[-1]):  # sorting puts nan last
        raise BadInput("the scores hold nan; the model that gave them has diverged, lower its lr")
    if len(found) == 0:
        absent_is_zero = convention in ("spml", "imcl") or (convention == "cvpr22" and len(ranked))
        return 0.0 if absent_is_zero else np.nan
    if convention == "csl" and len(found) == len(ranked):
        return np.nan
    found = np.sort(found)
    # How many images, and how many present ones, score at least as high as each present one.
    images = len(ranked) - np.searchsorted(ranked, found, side="left")
    hits = len(found) - np.searchsorted(found, found, side="left")
    return float((hits / images).mean())


def _by_class(present: Any, known: Any) -> csc_array:
    """Present (and known) entries, by class."""
    positive = present if issparse(present) else np.asarray(present, bool)
    if known is not None and not issparse(positive) and not issparse(known):
        positive = positive & np.asarray(known, bool)
        known = None
    if known is None and not issparse(positive):
        return _dense_by_class(positive)
    by_class = csc_array(positive).astype(bool)
    if known is not None:
        by_class = by_class.multiply(csc_array(known).astype(bool)).tocsc()
    by_class.sum_duplicates()
    by_class.eliminate_zeros()
    return by_class


def _dense_by_class(positive: NDArray[np.bool_]) -> csc_array:
    # Four times as fast as scipy's own conversion, which goes by way of coordinates.
    N, L = positive.shape
    places = np.flatnonzero(_transposed(positive))
    pointers = np.searchsorted(places, np.arange(L + 1) * N)
    return csc_array((np.ones(len(places), bool), places % max(1, N), pointers), (N, L))


def _transposed(values: NDArray[Any]) -> NDArray[Any]:
    """A transposed copy, made in strips of rows that stay in the cache."""
    out = np.empty(values.shape[::-1], values.dtype)
    for start in range(0, len(values), _STRIP):
        out[:, start : start + _STRIP] = values[start : start + _STRIP].T
    return out


def _rows(matrix: csc_array, c: int) -> NDArray[np.integer]:
    return matrix.indices[matrix.indptr[c] : matrix.indptr[c + 1]]


def _check(scores: NDArray[Any], present: Any, known: Any, convention: str) -> None:
    if scores.ndim != 2 or scores.dtype.kind not in "fiu":
        raise BadInput(
            f"scores have shape {scores.shape} of {scores.dtype}; numbers, images x classes, are "
            "expected"
        )
    for name, given in (("present", present), ("known", known)):
        if given is not None and np.shape(given) != scores.shape:
            raise BadInput(
                f"{name} has shape {np.shape(given)} and the scores {scores.shape}; they must agree"
            )
    if convention not in CONVENTIONS:
        raise BadInput(f"convention is {convention!r}; it must be one of {', '.join(CONVENTIONS)}")
