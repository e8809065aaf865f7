"""Which of the present classes people name first: a weight w_c for each class, and its fit.

Of the classes in an image, c is named first with probability w_c / (sum of w over these classes),
and the next one in the same way from those that are left (Plackett and Luce).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from simkit.annotate.annotators import Ints
from simkit.annotate.sparse_draws import lookup
from simkit.errors import BadInput, unknown
from simkit.files import AnyPath, reading
from simkit.labels.formats.base import text_table
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth

if TYPE_CHECKING:
    import pandas as pd


def spelled(bias: str) -> str:
    """Weights by class as JSON text, from such text or a file of class and weight; or BadInput."""
    try:
        file = bias.lower().endswith(".csv")
        given = read_table(bias, ("class", "weight")).values if file else json.loads(bias).items()
    except (json.JSONDecodeError, AttributeError):
        raise BadInput(
            f"single-positive: bias is {bias[:80]!r}; none, size, centre, typical, rare, or a .csv "
            "file with the columns class and weight is expected"
        ) from None
    weights: dict[str, float] = {}
    for name, value in given:
        try:
            weight = float(value)
        except (TypeError, ValueError):
            weight = np.nan
        if name in weights or not 0 < weight < np.inf:
            raise BadInput(f"class {name!r} has the weight {value!r}; one number above 0 for each "
                           "class is expected")  # fmt: skip
        weights[name] = weight
    return json.dumps(weights, sort_keys=True, ensure_ascii=False)


def read_table(path: AnyPath, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns of a CSV file, as text. Raises BadInput."""
    with reading(path, f"a .csv table with the columns {' and '.join(columns)}") as file:
        return text_table(file, columns)


def class_weights(bias: str, truth: Truth) -> Ints:
    """(L,) weights as whole numbers up to 2**40, by "typical" (the number of images that show the
    class), "rare" (its inverse) or JSON text (others: 1). Raises BadInput for an unknown class."""
    if bias in ("typical", "rare"):
        counts = np.bincount(truth.present.indices, minlength=truth.shape[1])
        weights = np.maximum(counts, 1).astype(np.float64) ** (1 if bias == "typical" else -1)
    else:
        given = json.loads(bias)
        for name in given:
            if name not in truth.classes:
                raise unknown("class", name, truth.classes)
        weights = np.array([given.get(name, 1.0) for name in truth.classes])
    return np.maximum(np.rint(weights / weights.max() * (1 << 40)), 1).astype(np.int64)


def fit_naming(named: pd.DataFrame, labels: PartialLabels) -> pd.DataFrame:
    """Estimate which classes people prefer to name, from the classes that they named first.

    Maximum likelihood by the iterations of Hunter, "MM algorithms for generalized Bradley-Terry
    models", Annals of Statistics 2004, with a gamma prior: one further answer at weight 1 for each
    class. Answers count as independent.

    Parameters
    ----------
    named : DataFrame
        One row per answer: columns image (its id) and class.
    labels : PartialLabels
        Complete labels of these images, the choices that people had.

    Returns
    -------
    DataFrame
        For each class its weight (the mean is 1; 1 without data), the answers that named it, and
        those that could have (`choices`). Left out are answers about images with unknown labels or
        fewer than two classes, and those that name an absent class.

    Raises
    ------
    BadInput
        For an unknown class, and if no answer is left.
    """
    import pandas as pd

    images = pd.Index(labels.images.astype(str)).get_indexer(named["image"].astype(str))
    classes = pd.Index(labels.classes).get_indexer(named["class"])
    if (classes < 0).any():
        raise unknown("class", named["class"].iloc[int(np.argmin(classes))], labels.classes)
    L, present = labels.shape[1], csr_array(labels.codes == PRESENT)
    usable = (np.diff(labels.codes.indptr) == L) & (np.diff(present.indptr) > 1)
    kept = (images >= 0) & usable[images] & lookup(present, images.clip(0), classes)
    if not kept.any():
        raise BadInput("no answer names one of several present classes of an image with complete "
                       "labels; give answers and complete labels of the same images")  # fmt: skip
    sets = csr_array(present[images[kept]].astype(np.float64))
    times, choices = (np.bincount(c, minlength=L) for c in (classes[kept], sets.indices))
    weights = np.ones(L)
    for _ in range(10_000):
        before = weights
        expected = sets.T @ (1 / (sets @ weights))
        weights = (times + 1) / (expected + 1)
        weights *= L / weights.sum()  # the best scale under the prior
        if np.abs(np.log(weights / before)).max() < 1e-9:
            break
    table = {"class": labels.classes, "weight": weights, "named": times, "choices": choices}
    return pd.DataFrame(table).set_index("class")
