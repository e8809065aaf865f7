"""Losses entry by entry, in plain Python numbers."""

import math


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


def log_sigmoid(x, epsilon=None):
    """log sigmoid(x): exactly, or as published code guards it."""
    if epsilon is None:
        return -positive_term(x)
    p = 1 / (1 + math.exp(-x)) if x > -700 else 0.0
    return math.log(p + 1e-5) if epsilon == "spml" else math.log(max(p, 1e-8))


def cross_entropy(x, target, epsilon=None):
    """Of one entry, with a target from 0 to 1."""
    return -target * log_sigmoid(x, epsilon) - (1 - target) * log_sigmoid(-x, epsilon)


def entropy(x, epsilon=None):
    """Of the prediction sigmoid(x)."""
    return cross_entropy(x, 1 / (1 + math.exp(-x)), epsilon)


def focus(x, present, gamma, clip=0.0):
    """Focusing weight of one entry: (probability of error) ** gamma."""
    error = 1 / (1 + math.exp(x if present else -x))
    return (error if present else max(error - clip, 0.0)) ** gamma


def focused_log(x, present, clip=0.0, epsilon=None):
    """Cross-entropy of one entry whose probability, as a negative, is reduced by clip."""
    if present or not clip:
        return cross_entropy(x, 1.0 if present else 0.0, epsilon)
    q = min(1 / (1 + math.exp(x)) + clip, 1.0)
    return -math.log(max(q, 1e-8) if epsilon else q)


def total(logits, Z, term, how):
    """term(x, z) of all entries, summed or averaged."""
    rows = [[term(x, z) for x, z in zip(*row, strict=True)] for row in zip(logits, Z, strict=True)]
    whole = sum(map(sum, rows))
    return whole / {"sum": 1, "sum_classes": len(rows), "mean_all": len(rows) * len(rows[0])}[how]


def slope(function, x, step=1e-4):
    """Derivative by four points: the error is of order step ** 4."""
    f = [function(x + k * step) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)


def boosted(value, alpha, beta):
    """BoostLU of one attribution."""
    return value if value < beta else alpha * value + (1 - alpha) * beta
