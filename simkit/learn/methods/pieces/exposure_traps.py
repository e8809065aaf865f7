"""Labels of which soft exposure cannot make what it means to, said in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simkit.labels.partial import ABSENT, PRESENT, PartialLabels

FEW = 0.01  # of images or of known labels: hardly any


def trap(method: str, labels: PartialLabels, comes: Mapping[str, str]) -> str | None:
    """A sentence where hardly anything is known to be present, or to be absent; else None.

    comes: what becomes of unknown labels where there is "nothing", where there are only
    "positives" or only "negatives", and where there are both but hardly any "images" know both, or
    one of both is hardly ever among the "labels": a method names what matters to it. A handful of
    labels of the other kind is no way out, so both are counted.
    """
    found = _lack(labels, "images" in comes)
    if found is None:
        return None
    which, lack = found
    start = f"method {method!r} compares the present with the absent, and"
    return f"{start} {lack}: {comes[which]}"


def _lack(labels: PartialLabels, images: bool) -> tuple[str, str] | None:
    counts = labels.counts()
    present, absent = counts["present"], counts["absent"]
    if not present and not absent:
        return "nothing", "of these labels nothing is known"
    if not absent:
        return "positives", "these labels say of nothing that it is absent"
    if not present:
        return "negatives", "these labels say of nothing that it is present"
    if images:
        both, asked = _know_both(labels), int(labels.asked.sum())
        if both <= FEW * asked:
            return "images", f"something of both is known in only {both:,} of {asked:,} images"
    elif min(present, absent) <= FEW * (present + absent):
        rare, word = min((present, "present"), (absent, "absent"))
        return "labels", f"only {rare:,} of {present + absent:,} known labels say {word!r}"
    return None


def _know_both(labels: PartialLabels) -> int:
    """In how many images something is known to be present and something to be absent."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.codes.indptr))
    present, absent = (
        np.bincount(rows[labels.codes.data == code], minlength=labels.shape[0])
        for code in (PRESENT, ABSENT)
    )
    return int(np.count_nonzero((present > 0) & (absent > 0)))
