"""Validation: images to score after every epoch, and the labels to score them by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from simkit.history import content_id
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.metrics.ap import LabelCounts, ap_of_classes, mean_ap
from simkit.metrics.ranking import array, at_entries

Honesty = Literal["complete", "partial", "none"]


@dataclass(frozen=True, eq=False)
class Validation:
    """Images to score after every epoch, and their labels.

    The kind of labels is recorded with every result, because complete labels have a cost too.

    Attributes
    ----------
    inputs
        FeatureInputs or ImageInputs of N images.
    labels
        Truth (complete, or with `known`), partial labels (scored on what is known), or None.
    known
        (N, L) bool, dense or sparse, or None for all: the entries that may count if the labels
        know them.
    classes
        Indices of the classes to average over, or None for all.
    """

    inputs: Any
    labels: Truth | PartialLabels | None = None
    known: NDArray[np.bool_] | csr_array | None = None
    classes: NDArray[np.int64] | None = None

    @property
    def kind(self) -> Honesty:
        """ "complete", "partial" or "none"."""
        if self.labels is None:
            return "none"
        complete = isinstance(self.labels, Truth) and self.labels.known is None
        return "complete" if complete else "partial"

    @property
    def id(self) -> str | None:
        """Content id of the labels, and of the entries that count unless all do."""
        if self.labels is None or (self.known is None and self.classes is None):
            return None if self.labels is None else self.labels.id
        known: Any = self.known
        masks = [known.indptr, known.indices] if issparse(known) else [known]
        counts = [np.zeros(0) if a is None else np.asarray(a) for a in (*masks, self.classes)]
        return content_id("validation", self.labels.id, *counts)

    @property
    def entries(self) -> csr_array | None:
        """The known entries, the only ones with a score, where they are sparse; None for all."""
        known = self.reference[1]
        return known if issparse(known) else None

    def score(self, scores: Any) -> float:
        """mAP(C) in [0, 1]; nan if no class has both present and absent known labels.

        scores (N, L), array or tensor, or (m,) those of `entries` alone.
        """
        present, known = self.reference
        if scores.ndim == 1:
            scores = at_entries(array(scores), known)
        ap = ap_of_classes(scores, present, known)  # of all: a selection would copy the scores
        return mean_ap(ap if self.classes is None else ap[self.classes])

    @property
    def counts(self) -> LabelCounts:
        """Numbers of the labels that count."""
        return LabelCounts.of(*self.reference, self.classes)

    @cached_property
    def reference(self) -> tuple[csr_array, csr_array | NDArray[np.bool_] | None]:
        """Present and known labels, None for all."""
        assert self.labels is not None
        if isinstance(self.labels, Truth):
            present, known = self.labels.present, self.labels.known
        else:
            present, known = self.labels.codes == PRESENT, self.labels.codes.astype(bool)
        if self.known is not None:
            # A dense mask stays dense, at a byte for each entry; sparse indices need nine.
            known = self.known if known is None else known.multiply(self.known)
        return present, csr_array(known) if issparse(known) else known
