"""Average precision, exact with ties and incomplete ground truth; mAP overall and of subsets.

AP depends only on the number of scores at least as high as that of each present image. It measures
something only where a class has both present and absent labels: among present images alone, any
order has an AP of 1. `LabelCounts` alone decides which classes have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit.errors import BadInput, unknown
from simkit.metrics.ranking import labels_of, marked, ranked, row_blocks, scores_and_labels

Convention = Literal["csl", "nan", "spml", "cvpr22", "imcl"]
BOTH: Convention = "csl"  # a class has an AP if it has both present and absent labels
_NONE = np.zeros(0, np.int64)
_LABEL_BOTH = "give labels of both kinds (with known=None, labels other than 1 are absent)"


def average_precision(
    scores: Any, present: Any, known: Any = None, *, convention: Convention = BOTH
) -> NDArray[np.float64]:
    """Mean precision at the ranks of the present images, per class; images of equal score tie.

    Works on a block of classes at a time, with about 100 MB besides its arguments, and a copy of
    sparse labels sorted by class. Faster for scores stored class by class: `s.T` of an (L, N)
    array. Equal to scikit-learn's average_precision_score to 1e-12 where a class has both kinds of
    labels.

    Parameters
    ----------
    scores
        (N, L), higher is likelier: an array, a frame or a tensor on any device. In a sparse matrix
        the stored entries are the known ones, whatever `known` is.
    present
        (N, L) bool, dense, sparse, a frame or a tensor; or a Truth, which also provides `known` by
        default. Frames and truths are matched with a frame of scores by name, in any order.
    known
        (N, L) bool likewise, None for all: unknown entries are left out, class by class.
    convention
        AP of a class without present or without absent labels. Means leave nan out, and include
        zeros.

        - csl: nan unless it has both (Ben-Baruch et al. 2022).
        - nan: nan without present labels, 1 without absent ones, as any order is right (subsets of
          images in Verelst et al. 2023).
        - cvpr22: nan if nothing is known, else 0 without present labels, 1 without absent ones.
        - spml: 0 without present labels (Cole et al. 2021); imcl: the same.

    Returns
    -------
    (L,) AP in [0, 1].

    Raises
    ------
    BadInput
        For different shapes or names, nan scores, labels other than 0, 1 or booleans, an unknown
        convention, or if no class has an AP.
    """
    values, shown, counted = _measured(scores, present, known)
    ap = settled(values, shown, counted, convention)
    if np.isnan(ap).all():
        LabelCounts(shown, counted - shown).check("the labels", _LABEL_BOTH)
    return ap


def ap_of_classes(
    scores: Any, present: Any, known: Any = None, *, convention: Convention = BOTH
) -> NDArray[np.float64]:
    """`average_precision` where perhaps no class has an AP, as in subsets of images."""
    return settled(*_measured(scores, present, known), convention)


def _measured(
    scores: Any, present: Any, known: Any
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """(L,) AP, 0 without present labels, and (L,) numbers of present and of known labels."""
    values, present_images, known_images = [np.zeros(0)], [_NONE], [_NONE]
    for ranks in ranked(scores, present, known):
        # AP is the mean precision at each present image; tied images have the precision at the
        # end of their tie, so that AP does not depend on the order of the images.
        sums = ranks.reduce(np.add, ranks.hits / ranks.images, 0.0)
        values.append(sums / np.maximum(ranks.present, 1))
        present_images.append(ranks.present)
        known_images.append(ranks.known)
    return np.concatenate(values), np.concatenate(present_images), np.concatenate(known_images)


def settled(
    values: NDArray[np.float64],
    present: NDArray[np.int64],
    known: NDArray[np.int64],
    convention: Convention,
) -> NDArray[np.float64]:
    """values (L,), 0 without a present label, and nan for classes that the convention leaves out.

    present, known (L,): numbers of present and of known labels. Raises BadInput for an unknown
    convention.
    """
    if convention not in get_args(Convention):
        raise unknown("convention of AP", convention, get_args(Convention))
    if convention in ("spml", "imcl"):
        return values
    out = {"nan": present == 0, "csl": (present == 0) | (present == known), "cvpr22": known == 0}
    return np.where(out[convention], np.nan, values)


def mean_ap(ap: Any) -> float:
    """mAP(C): the mean over classes with an AP; nan without any. Printed x 100."""
    ap = np.asarray(ap, np.float64)
    valid = ap[~np.isnan(ap)]
    return float(valid.mean()) if len(valid) else float("nan")


def overall_ap(ap: Any, counts: Any) -> float:
    """mAP(O): the mean weighted by the number of present labels of each class; not a pooled AP.

    ap, counts (L,), counts as returned by `present_counts`. Source: the published code of
    Ben-Baruch et al. 2022.
    """
    ap, counts = np.asarray(ap, np.float64), np.asarray(counts)
    valid = ~np.isnan(ap) & (counts > 0)
    total = counts[valid].sum()
    return float(ap[valid] @ counts[valid] / total) if total else float("nan")


def present_counts(present: Any, known: Any = None) -> NDArray[np.int64]:
    """(L,) number of known present labels of each class: the weights of `overall_ap`.

    present, known (N, L), and errors, as in `average_precision`. A dense array is read in blocks of
    some million entries.
    """
    present, known = labels_of(present, known)
    if known is not None and not issparse(present):
        present, known = known, present
    if issparse(present):
        both = present if known is None else present.multiply(known)
        return np.asarray(both.astype(bool).sum(0), np.int64)
    counts = np.zeros(present.shape[1], np.int64)
    for images in row_blocks(present.shape):
        shown = marked(present, images)
        counts += (shown if known is None else shown & marked(known, images)).sum(0)
    return counts


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """(L,) numbers of known present and of known absent labels; a class with both has an AP."""

    present: NDArray[np.int64]
    absent: NDArray[np.int64]

    @staticmethod
    def of(present: Any, known: Any = None, classes: Any = None) -> LabelCounts:
        """Counts of labels as `average_precision` takes them; classes: indices, None for all."""
        present, known = labels_of(present, known)
        shown, N = present_counts(present, known), present.shape[0]
        counted = np.full(len(shown), N) if known is None else present_counts(known)
        chosen = slice(None) if classes is None else classes
        return LabelCounts(shown[chosen], (counted - shown)[chosen])

    @property
    def scored(self) -> NDArray[np.bool_]:
        """(L,) whether a class has an AP."""
        return (self.present > 0) & (self.absent > 0)

    @property
    def share(self) -> NDArray[np.float64]:
        """(L,) present labels as a share of the known ones, nan for a class without an AP: the AP
        of a random order of many images."""
        known = np.where(self.scored, self.present + self.absent, np.nan)
        return np.asarray(self.present / known)

    @property
    def chance(self) -> NDArray[np.float64]:
        """(L,) mean AP of a random order of these n present and N - n absent labels; nan as
        `share`, and above it for few images.

        Of rank k the precision is (1 + (k - 1) (n - 1) / (N - 1)) / k on average, given a present
        image there; each rank is equally likely, and 1 / k adds up to the harmonic number of N.
        """
        from scipy.special import digamma  # slow to load

        N = np.where(self.scored, self.present + self.absent, np.nan)
        harmonic = digamma(N + 1) + np.euler_gamma
        return np.asarray((harmonic + (self.present - 1) / (N - 1) * (N - harmonic)) / N)

    def check(self, where: str, mend: str) -> None:
        """Raise BadInput, naming the labels by `where`, if no class has an AP."""
        if not self.scored.any():
            raise BadInput(
                f"{where}: no class has both present and absent labels "
                f"({self.present.sum():,} present and {self.absent.sum():,} absent labels in all), "
                f"so there is no average precision; {mend}"
            )

    def left_out(self, names: Sequence[str], where: str) -> str:
        """A sentence about the classes without an AP, by reason; "" if all have one.

        names: of the L classes.  where: the name of the labels.
        """
        reasons = []
        for kind, lacking in (
            ("present", self.present == 0),
            ("absent", (self.absent == 0) & (self.present > 0)),
        ):
            if number := int(lacking.sum()):
                some = ", ".join(names[c] for c in np.flatnonzero(lacking)[:3])
                others = f"{some} ..." if number > 3 else some
                reasons.append(f"{number:,} without {kind} labels ({others})")
        if not reasons:
            return ""
        of = f"{int(self.scored.sum()):,} of {len(names):,} classes"
        return f"{where}: mAP is the mean over {of}; left out: {' and '.join(reasons)}"


@dataclass(frozen=True)
class Part:
    """Images with a number of present labels: name ("1", "2", ... ">=4"), count, mAP."""

    name: str
    images: int
    map: float


def class_groups(annotations: Any, groups: int = 5) -> NDArray[np.int64]:
    """(L,) group of each class, 1 for those with the fewest annotations.

    annotations (L,): number of training images annotated with each class, present or absent.
    Classes are sorted by it, ties by index, and divided into consecutive groups whose sizes differ
    by at most one, larger ones first. Source: G1 to G5 of Kim et al. CVPR 2022 and CVPR 2023
    (OpenImages).
    """
    annotations = np.asarray(annotations)
    out = np.empty(len(annotations), np.int64)
    order = np.argsort(annotations, kind="stable")
    for group, members in enumerate(np.array_split(order, groups), 1):
        out[members] = group
    return out


def group_map(ap: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """(groups,) mAP of each group of classes; nan for groups without an AP.

    ap (L,) in [0, 1];  groups (L,) as returned by `class_groups`.
    """
    return np.array([mean_ap(ap[groups == g]) for g in range(1, groups.max(initial=0) + 1)])


def map_by_labels(
    scores: Any,
    present: Any,
    known: Any = None,
    *,
    counts: Sequence[int] = (1, 2, 3),
    at_least: int | None = 4,
    convention: Convention = BOTH,
) -> list[Part]:
    """mAP of the images with exactly 1, 2, 3 present labels, and with 4 or more.

    A class without present or without absent images in a subset is left out of its mean, unless
    the convention says otherwise; a class without present ones counts as 0 with "spml". nan for a
    subset without images. Unknown labels are not counted. The scores of a subset are
    copied while it is ranked.

    Parameters
    ----------
    scores, present, known, convention
        As in `average_precision`, and so are the errors.
    counts, at_least
        Numbers of labels, and the number from which on images form one subset, or None.

    References
    ----------
    Verelst et al. WACV 2023, on several labels per ImageNet image.
    """
    scores, present, known = scores_and_labels(scores, present, known)
    labels = np.zeros(scores.shape[0], np.int64)
    for block in row_blocks(scores.shape):
        shown = marked(present, block)
        labels[block] = (shown if known is None else shown & marked(known, block)).sum(1)
    subsets = {str(k): labels == k for k in counts}
    if at_least is not None:
        subsets[f">={at_least}"] = labels >= at_least
    parts = []
    for name, images in subsets.items():
        value = float("nan")
        if images.any():
            of_subset = None if known is None else known[images]
            ap = ap_of_classes(scores[images], present[images], of_subset, convention=convention)
            value = mean_ap(ap)
        parts.append(Part(name, int(images.sum()), value))
    return parts
