"""Which of the present classes people name first: a weight w_c for each class, and its fit.

Of the classes in an image, c is named first with probability w_c / (sum of w over these classes),
and the next one in the same way from those that are left (Plackett and Luce).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from simkit.annotate.annotators import Ints
from simkit.annotate.sparse_draws import lookup
from simkit.errors import BadInput, noting, unknown
from simkit.files import AnyPath, reading
from simkit.labels.names import find_images, plain
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.tables import ENDINGS, read_table
from simkit.labels.truth import Truth

if TYPE_CHECKING:
    import pandas as pd


def spelled(bias: str) -> str:
    """Weights by class as JSON text, from JSON text or a table of class and weight.

    Raises BadInput.
    """
    if Path(bias).suffix.lower() in ENDINGS:
        with reading(bias, "a table with the columns class and weight") as file:
            table = read_table(file)
            names, weights = table.pick("class"), table.pick("weight")
            values = weights.numbers("a number above 0 is expected")
            for text, value in zip(weights.cells(), values, strict=True):
                if not value > 0:
                    raise weights.refused(text, "a number above 0 is expected")
            names.check_different("class")
            return _as_json(dict(zip(names.cells(), values.tolist(), strict=True)))
    try:
        return _as_json({plain(name): float(weight) for name, weight in json.loads(bias).items()})
    except (ValueError, TypeError, AttributeError):
        raise BadInput(
            f"single-positive: bias is {bias[:80]!r}; none, size, centre, typical, rare, or a "
            "table with the columns class and weight (numbers above 0), as .csv, is expected"
        ) from None


def _as_json(weights: dict[str, float]) -> str:
    if not all(0 < weight < np.inf for weight in weights.values()):
        raise ValueError
    return json.dumps(weights, sort_keys=True, ensure_ascii=False)


def read_named(path: AnyPath) -> pd.DataFrame:
    """A table of image and class, the class that somebody named first. Raises BadInput."""
    import pandas as pd

    with reading(path, "answers (a table with the columns image and class)") as file:
        table = read_table(file)
        return pd.DataFrame({name: table.pick(name).cells() for name in ("image", "class")})


def class_weights(bias: str, truth: Truth) -> Ints:
    """(L,) weights as whole numbers up to 2**40, by "typical" (the number of images that show the
    class), "rare" (its inverse) or JSON text (others: 1). Raises BadInput for an unknown class."""
    if bias in ("typical", "rare"):
        counts = np.bincount(truth.present.indices, minlength=truth.shape[1])
        weights = np.maximum(counts, 1).astype(np.float64) ** (1 if bias == "typical" else -1)
    else:
        stated, classes = json.loads(bias), [*map(plain, truth.classes)]
        for name in stated:
            if name not in classes:
                raise unknown("class", name, classes)
        weights = np.array([stated.get(name, 1.0) for name in classes])
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
        those that could have (`choices`).

    Warns
    -----
    UserWarning
        With the number of answers left out by reason: about other images, about images with
        unknown labels or fewer than two classes, and naming no class or an absent one.

    Raises
    ------
    BadInput
        For an unknown class, and if no answer is left.
    """
    import pandas as pd

    images = find_images([*map(str, named["image"])], labels.images, noting("named images"))
    names = [plain(str(name)) for name in named["class"]]
    classes = pd.Index([*map(plain, labels.classes)]).get_indexer(names)
    for name in (name for name, c in zip(names, classes, strict=True) if c < 0 and name):
        raise unknown("class", name, labels.classes)
    L, present = labels.shape[1], csr_array(labels.codes == PRESENT)
    reasons = {
        "no class named": classes < 0,
        "image not in the labels": images < 0,
        "image with unknown labels": np.diff(labels.codes.indptr)[images] < L,
        "image with fewer than two classes": np.diff(present.indptr)[images] < 2,
        "absent class named": ~lookup(present, images.clip(0), classes.clip(0)),
    }
    kept, left_out = np.ones(len(images), bool), []
    for reason, these in reasons.items():
        if n := int((kept & these).sum()):
            first = int(np.argmax(kept & these))
            left_out.append(f"{reason}: {n:,} ({names[first]!r} in {named['image'].iloc[first]})")
        kept &= ~these
    if left_out:
        warnings.warn(f"answers left out: {(~kept).sum():,} of {len(kept):,}; "
                      f"{'; '.join(left_out)}", stacklevel=2)  # fmt: skip
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
