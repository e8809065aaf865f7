"""One learning curve fitted by a general optimiser from many starts."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit


def pow2(p, t):
    return 1 - p[0] * np.exp(-p[1] * t)


def logistic(p, t):
    return expit(p[0] + p[1] * t)


def pow3(p, t):
    return 1 - p[0] - (1 - p[0]) * p[1] * np.exp(-p[2] * t)


def hyperbola(p, t):
    return 1 - 1 / np.maximum(p[0] + p[1] * t, 1)


def mmf4(p, t):
    high, low = p[0], p[0] * p[1]
    return low + (high - low) * expit(p[2] * (t - p[3]))


# Each: the function, and the lower and upper bounds of its parameters.
FORMS: dict[str, tuple[Callable, list[float], list[float]]] = {
    "pow2": (pow2, [0, 0.02], [1, 3]),
    "logit": (logistic, [-20, 0], [20, 3]),
    "pow3": (pow3, [0, 0, 0.02], [1, 1, 3]),
    "log": (hyperbola, [-50, 0], [200, 30]),
    "mmf4": (mmf4, [0, 0, 0.2, -6], [1, 1, 1, 4]),
}
