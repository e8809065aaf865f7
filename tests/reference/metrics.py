"""Average precision as a plain loop over thresholds."""

import numpy as np


def average_precision(scores, present, known=None):
    """Per class: the sum over distinct scores, from the highest, of precision x step in recall."""
    found = []
    for c in range(scores.shape[1]):
        rows = np.ones(len(scores), bool) if known is None else known[:, c]
        values, truth = scores[rows, c], present[rows, c]
        if not truth.any() or truth.all():
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


def f1_of(called, truth):
    hits = sum(1 for a, b in zip(called, truth, strict=True) if a and b)
    total = int(sum(called)) + int(sum(truth))
    return 2 * hits / total if total else 0.0


def f1_threshold(values, truth):
    """The largest of the scores at which F1 is highest; inf without any."""
    best, chosen = -1.0, float("inf")
    for threshold in sorted(set(values.tolist()), reverse=True):
        if (f1 := f1_of(values >= threshold, truth)) > best:
            best, chosen = f1, threshold
    return chosen


def top1(scores, present):
    """Share of images with a present class whose first highest score is that of one."""
    hits = [present[n][list(row).index(max(row))] for n, row in enumerate(scores.tolist())]
    counted = [hit for hit, row in zip(hits, present, strict=True) if row.any()]
    return sum(counted) / len(counted)


def at_k(scores, present, k):
    """Precision, recall and whether any class is right, of the k highest; the first where equal."""
    sums = [0.0, 0.0, 0.0]
    for row, truth in zip(scores.tolist(), present, strict=True):
        first = sorted(range(len(row)), key=lambda c: (-row[c], c))[:k]
        hits = sum(bool(truth[c]) for c in first)
        sums[0] += hits / k
        sums[1] += hits / truth.sum() if truth.any() else 0
        sums[2] += hits > 0
    return [s / len(scores) for s in sums]


def enlarged(values, height, width):
    """Bilinear, pixel by pixel; pixel centres at halves, beyond the outermost ones no change."""
    h, w = len(values), len(values[0])
    out = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            v = min(max((y + 0.5) * h / height - 0.5, 0), h - 1)
            u = min(max((x + 0.5) * w / width - 0.5, 0), w - 1)
            i, j = int(v), int(u)
            below, right = min(i + 1, h - 1), min(j + 1, w - 1)
            a = values[i][j] * (1 - (u - j)) + values[i][right] * (u - j)
            b = values[below][j] * (1 - (u - j)) + values[below][right] * (u - j)
            out[y, x] = a * (1 - (v - i)) + b * (v - i)
    return out
