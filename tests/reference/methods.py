"""Losses entry by entry, in plain Python numbers."""

import math
from fractions import Fraction


def positive_term(x):
    """-log sigmoid(x)."""
    return max(-x, 0.0) + math.log1p(math.exp(-abs(x)))


def negative_term(x):
    """-log(1 - sigmoid(x))."""
    return positive_term(-x)


def assume_negative(logits, Z, weight=1.0):
    """Mean over all entries; unknown counts as absent."""
    terms = [
        weight * positive_term(x) if z == 1 else negative_term(x)
        for row, codes in zip(logits, Z, strict=True)
        for x, z in zip(row, codes, strict=True)
    ]
    return sum(terms) / len(terms)


def ignore(logits, Z):
    """Known entries only; the mean is over all."""
    total, entries = 0.0, 0
    for row, codes in zip(logits, Z, strict=True):
        for x, z in zip(row, codes, strict=True):
            entries += 1
            if z:
                total += positive_term(x) if z == 1 else negative_term(x)
    return total / entries


def rejected(logits, Z, epoch, percent, k_of):
    """Places (i, c) whose unknown label has one of the k largest losses, ties with the last too."""
    unknown = [
        (negative_term(x), i, c)
        for i, (row, codes) in enumerate(zip(logits, Z, strict=True))
        for c, (x, z) in enumerate(zip(row, codes, strict=True))
        if z == 0
    ]
    count = len(unknown) if k_of == "unknown" else len(logits) * len(logits[0])
    k = math.ceil(Fraction(str(percent)) / 100 * (epoch - 1) * count)
    k = min(k, len(unknown))
    if k == 0:
        return set()
    limit = sorted((loss for loss, _, _ in unknown), reverse=True)[k - 1]
    return {(i, c) for loss, i, c in unknown if loss >= limit}


def boosted(value, alpha, beta):
    """BoostLU of one attribution."""
    return value if value < beta else alpha * value + (1 - alpha) * beta
