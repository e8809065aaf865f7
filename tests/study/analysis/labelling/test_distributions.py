"""Class counts before and after, by hand."""

import math

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.labelling.distributions import distributions


def test_counts_in_order_of_true_frequency() -> None:
    truth = Truth.of(np.array([[0, 1, 0], [1, 1, 0], [0, 1, 0]]), classes=("cat", "dog", "cow"))
    labels = PartialLabels.of(np.array([[-1, 1, 0], [1, 0, -1], [0, 1, 0]]), classes=truth.classes)
    rows = distributions(truth, {"some": labels}).to_pylist()
    assert [(r["class"], r["rank"], r["true"], r["present"], r["absent"]) for r in rows] == [
        ("dog", 0, 3, 2, 0),
        ("cat", 1, 1, 1, 1),
        ("cow", 2, 0, 0, 1),
    ]
    assert rows[0]["found"] == 2 / 3
    assert math.isnan(rows[2]["found"])


def test_without_labels_there_is_nothing_to_count() -> None:
    with pytest.raises(BadInput) as error:
        distributions(Truth.of(np.eye(2)), {})
    assert str(error.value) == "distributions: no labels came; give some, as {'rpa': labels}"
