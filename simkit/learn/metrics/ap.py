"""Average precision, exact with ties and on partly known references, and its means.

Of each present image all that counts is how many scores are at least as high as its own.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput
from simkit.learn.metrics.blocks import array, by_class, is_tensor
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
    not known are left out, class by class. Returns (L,) in [0, 1].

    Works on a block of classes at a time, so that next to its arguments it needs some 100 MB (2 GB
    on a GPU), and a copy of sparse labels sorted by class. Faster for scores that lie
    in memory class by class: `s.T` of an (L, N) array.

    What a class without a present or without an absent label gets:
      nan     no present label: nan. No absent one: 1, as any order is right.
      csl     nan unless it has both (Ben-Baruch et al. 2022).
      cvpr22  nan if nothing is known, else 0 without a present label, 1 without an absent one.
      spml    0 without a present label (Cole et al. 2021); imcl: the same.
    Means leave nan out, and count the zeros. Raises BadInput for shapes that differ, nan scores and
    an unknown convention. Equal to scikit-learn's average_precision_score to 1e-12.
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
    if not issparse(present) and not issparse(known):
        present = array(present)
        shown = present != 0 if known is None else (present != 0) & (array(known) != 0)
        counts = shown.sum(0)
        return np.asarray(counts.cpu() if is_tensor(counts) else counts, np.int64)
    shown = by_class(present)
    if known is not None:
        shown = by_class(shown.multiply(by_class(known)))
    return np.diff(shown.indptr).astype(np.int64)


def check_convention(convention: str) -> None:
    """Raise BadInput for one that is unknown."""
    if convention not in CONVENTIONS:
        raise BadInput(f"convention is {convention!r}; it must be one of {', '.join(CONVENTIONS)}")
