"""Average precision as a plain loop over thresholds."""

import numpy as np


def average_precision(scores, present, known=None):
    """Per class: the sum over distinct scores, from the highest, of precision x step in recall."""
    found = []
    for c in range(scores.shape[1]):
        rows = np.ones(len(scores), bool) if known is None else known[:, c]
        values, truth = scores[rows, c], present[rows, c]
        if not truth.any():
            found.append(np.nan)
            continue
        total, before = 0.0, 0
        for threshold in sorted(set(values.tolist()), reverse=True):
            taken = values >= threshold
            hits = int((taken & truth).sum())
            total += hits / taken.sum() * (hits - before) / truth.sum()
            before = hits
        found.append(total)
    return np.array(found)


def envelope(scores, present):
    """The same area by walking down the ranking image by image, for scores without ties."""
    order = np.argsort(-scores)
    hits = np.cumsum(present[order])
    return float((hits / np.arange(1, len(scores) + 1))[present[order]].mean())
