"""Average precision, exact with ties and on partly known references, and its means.

Of each present image all that counts is how many scores are at least as high as its own.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import by_class, known_marks, marks, row_blocks, rows
from simkit.learn.metrics.marks import check_marks
from simkit.learn.metrics.ranking import ranked

Convention = Literal["nan", "csl", "spml", "cvpr22", "imcl"]
CONVENTIONS: tuple[str, ...] = ("nan", "csl", "spml", "cvpr22", "imcl")


def average_precision(
    scores: Any,
    present: Any,
    known: Any = None,
    *,
    convention: Convention = "nan",
) -> NDArray[np.float64]:
    """Mean precision at the ranks of the present images, per class; images of one score tie.

    scores (N, L), higher is likelier, an array or a tensor on any device (sorted there);  present
    (N, L) bool, dense, sparse or a tensor;  known likewise, None for everything: entries that are
    not known are left out, class by class. A Truth in the place of present brings both, unless
    known is given. Returns (L,) in [0, 1].

    Works on a block of classes at a time, so that next to its arguments it needs some 100 MB (2 GB
    on a GPU), and a copy of sparse labels sorted by class. Faster for scores that lie
    in memory class by class: `s.T` of an (L, N) array.

    What a class without a present or without an absent label gets:
      nan     no present label: nan. No absent one: 1, as any order is right.
      csl     nan unless it has both (Ben-Baruch et al. 2022).
      cvpr22  nan if nothing is known, else 0 without a present label, 1 without an absent one.
      spml    0 without a present label (Cole et al. 2021); imcl: the same.
    Means leave nan out, and count the zeros. Raises BadInput for shapes that differ, nan scores,
    labels that hold anything but 0 and 1, or booleans, and an unknown convention.
    Equal to scikit-learn's average_precision_score to 1e-12.
    """
    check_convention(convention)
    found, present_images, known_images = [], [], []
    for ranks in ranked(scores, present, known):
        sums = ranks.reduce(np.add, ranks.hits / ranks.images, 0.0)
        found.append(sums / np.maximum(ranks.present, 1))
        present_images.append(ranks.present)
        known_images.append(ranks.known)
    if not found:
        return np.zeros(0)
    counts = np.concatenate(present_images), np.concatenate(known_images)
    return settled(np.concatenate(found), *counts, convention)


def settled(
    values: NDArray[np.float64],
    present: NDArray[np.int64],
    known: NDArray[np.int64],
    convention: Convention,
) -> NDArray[np.float64]:
    """values (L,), 0 without a present label, with nan where the convention leaves a class out.

    present, known (L,): how many labels are present, and known.
    """
    if convention in ("spml", "imcl"):
        return values
    out = {
        "nan": present == 0,
        "csl": (present == 0) | (present == known),
        "cvpr22": known == 0,
    }
    return np.where(out[convention], np.nan, values)


def mean_ap(ap: Any) -> float:
    """mAP(C): the mean over the classes that are not nan; nan when all are. Printed x 100."""
    ap = np.asarray(ap, np.float64)
    valid = ap[~np.isnan(ap)]
    return float(valid.mean()) if len(valid) else float("nan")


def overall_ap(ap: Any, counts: Any) -> float:
    """mAP(O): the mean weighted by how many present labels each class has.

    counts (L,), as `present_counts` gives them. Raises BadInput if they are not as many.
    Source: the published code of Ben-Baruch et al. 2022; it is not a pooled AP.
    """
    ap, counts = np.asarray(ap, np.float64), np.asarray(counts)
    if ap.shape != counts.shape:
        raise BadInput(
            f"ap has shape {ap.shape} and counts {counts.shape}; one count for each class is "
            "expected"
        )
    valid = ~np.isnan(ap) & (counts > 0)
    total = counts[valid].sum()
    return float(ap[valid] @ counts[valid] / total) if total else float("nan")


def present_counts(present: Any, known: Any = None) -> NDArray[np.int64]:
    """(L,) how many (known) present labels each class has: the weights of `overall_ap`.

    present, known (N, L) as in `average_precision`. Next to them it needs some 50 MB, and about 30
    bytes for each entry of a sparse one. Raises BadInput for shapes that differ, and for labels
    that hold anything but 0 and 1, or booleans.
    """
    both = (marks(present), known_marks(present, known))
    given = [one for one in both if one is not None]
    for one, name in zip(given, ("present", "known"), strict=False):
        if one.ndim != 2 or one.shape != given[0].shape:
            raise BadInput(
                f"present has shape {tuple(given[0].shape)} and {name} {tuple(one.shape)}; both "
                "must be images x classes"
            )
        check_marks(one, name)
    if any(issparse(one) for one in given):
        shown = by_class(given.pop(0 if issparse(given[0]) else 1))
        for other in given:  # of an array only the entries that are set in the sparse one are read
            held = other if issparse(other) else rows(other, slice(None)).astype(bool, copy=False)
            shown = by_class(shown.multiply(held))
        return np.diff(shown.indptr).astype(np.int64)
    counts = np.zeros(given[0].shape[1], np.int64)
    for images in row_blocks(given[0].shape):
        counts += np.logical_and.reduce([rows(one, images) != 0 for one in given]).sum(0)
    return counts


def check_convention(convention: str) -> None:
    """Raise BadInput for one that is unknown."""
    if convention not in CONVENTIONS:
        raise BadInput(f"convention is {convention!r}; it must be one of {', '.join(CONVENTIONS)}")
