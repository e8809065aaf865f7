"""mAP in parts: of classes with few and many annotations, of images with one label and several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from simkit.errors import BadInput
from simkit.learn.metrics.ap import Convention, average_precision, check_convention, mean_ap
from simkit.learn.metrics.blocks import array, by_image, known_marks, marks, row_blocks, rows
from simkit.learn.metrics.ranking import check, whole_number


@dataclass(frozen=True)
class Part:
    """Images with so many present labels: name ("1", "2", ... ">=4"), how many, their mAP."""

    name: str
    images: int
    map: float


def class_groups(annotations: Any, groups: int = 5) -> NDArray[np.int64]:
    """(L,) which group each class is in, 1 for those with the fewest annotations.

    annotations (L,): how many training images are annotated with each class, present or absent.
    Classes are sorted by them, equal ones by index, and cut into consecutive groups whose sizes
    differ by at most one, larger ones first. Raises BadInput for fewer classes than groups.
    Source: G1 to G5 of Kim et al. CVPR 2022 and CVPR 2023 (OpenImages).
    """
    annotations = np.asarray(annotations)
    if annotations.ndim != 1 or not whole_number(groups) or not 1 <= groups <= len(annotations):
        raise BadInput(
            f"{groups} groups are asked for and annotations have shape {annotations.shape}; at "
            "least one group is expected, and at least one class for each"
        )
    if annotations.dtype.kind not in "iuf" or np.isnan(annotations).any():
        raise BadInput(
            "annotations hold nan or are no numbers; how many images are annotated is expected for "
            "each class"
        )
    out = np.empty(len(annotations), np.int64)
    order = np.argsort(annotations, kind="stable")
    for group, members in enumerate(np.array_split(order, groups), 1):
        out[members] = group
    return out


def group_map(ap: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """(groups,) mAP of each group of classes; nan for a group in which every class is.

    ap (L,) in [0, 1];  groups (L,) as `class_groups` gives them. Raises BadInput if they differ,
    and for groups that are not counted from 1.
    """
    ap, groups = np.asarray(ap, np.float64), np.asarray(groups)
    if ap.shape != groups.shape:
        raise BadInput(f"ap has shape {ap.shape} and groups {groups.shape}; they must agree")
    if groups.size and (groups.dtype.kind not in "iu" or groups.min() < 1):
        raise BadInput(
            f"groups hold {groups.min()} and are of {groups.dtype}; whole numbers from 1 on are "
            "expected, as class_groups gives them"
        )
    return np.array([mean_ap(ap[groups == g]) for g in range(1, groups.max(initial=0) + 1)])


def map_by_labels(
    scores: Any,
    present: Any,
    known: Any = None,
    *,
    counts: Sequence[int] = (1, 2, 3),
    at_least: int | None = 4,
    convention: Convention = "nan",
) -> list[Part]:
    """mAP of the images with exactly 1, 2, 3 present labels, and with 4 or more.

    scores, present and known (N, L) as in `average_precision`; labels that are not known are not
    counted, and need a byte each while a part is ranked. A class that no image of a part shows is
    left out of its mean, or counts as 0 with "spml". nan for a part without images. Raises BadInput
    as `average_precision` does, and for counts that are no whole numbers from 1 on.
    Source: Verelst et al. WACV 2023, on several labels per ImageNet image.
    """
    check_convention(convention)
    for count in [*counts, *([] if at_least is None else [at_least])]:
        if not whole_number(count) or count < 1:
            raise BadInput(
                f"a number of labels per image is {count!r}; whole numbers from 1 on are expected "
                "in counts and at_least"
            )
    scores, present, known = array(scores), marks(present), known_marks(present, known)
    check(scores, present, known)
    present, known = by_image(present), None if known is None else by_image(known)
    labels = np.zeros(scores.shape[0], np.int64)
    for images in row_blocks(scores.shape):
        shown = rows(present, images) != 0
        labels[images] = (shown if known is None else shown & (rows(known, images) != 0)).sum(1)
    parts = [(str(k), labels == k) for k in counts]
    if at_least is not None:
        parts.append((f">={at_least}", labels >= at_least))
    return [
        Part(name, int(chosen.sum()), _map(scores, present, known, chosen, convention))
        for name, chosen in parts
    ]


def _map(
    scores: Any, present: Any, known: Any, images: NDArray[np.bool_], convention: Convention
) -> float:
    if not images.any():
        return float("nan")
    # All other images are unknown: a view without memory of its own, where rows would be copied.
    counts: Any = np.broadcast_to(images[:, None], scores.shape)
    if issparse(known):
        counts = csr_array(known.multiply(images[:, None]))
    elif known is not None:
        counts = counts & (rows(known, slice(None)) != 0)
    return mean_ap(average_precision(scores, present, counts, convention=convention))
