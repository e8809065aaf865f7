"""Codes in place of labels are refused by every metric, in every form; 0 and 1 are not."""

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array, csr_array, lil_array

from simkit import metrics
from simkit.errors import BadInput

CODES = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0], [1, 1, 0]], np.int8)
SCORES = np.random.default_rng(0).random(CODES.shape)
FORMS = {
    "array": lambda a: a,
    "turned": lambda a: np.asfortranarray(a),
    "64 bits": lambda a: a.astype(np.int64),
    "float": lambda a: a.astype(np.float32),
    "list": lambda a: a.tolist(),
    "csr": csr_array,
    "coo": coo_array,
    "lil": lil_array,
    "tensor": torch.from_numpy,
    "float tensor": lambda a: torch.from_numpy(a).bfloat16(),
}
METRICS = {
    "average_precision": metrics.average_precision,
    "f1_thresholds": metrics.f1_thresholds,
    "f1": lambda scores, *labels: metrics.f1(scores, labels[0], 0.5, *labels[1:]),
    "map_by_labels": lambda scores, present: metrics.map_by_labels(
        scores, present, counts=(1, 2), at_least=None
    ),
    "top1": metrics.top1,
    "at_k": lambda scores, present: metrics.at_k(scores, present, 2),
    "present_counts": lambda scores, *labels: metrics.present_counts(*labels),
}
MENDED = (
    "and only 0 and 1 or booleans are expected; of codes pass present = codes == 1 and "
    "known = codes != 0"
)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_codes_are_refused_and_zeros_and_ones_are_not(form, metric):
    name = "truth" if metric == "top1" else "present"
    held = "-1.0" if "float" in form else "-1"
    with pytest.raises(BadInput) as error:
        METRICS[metric](SCORES, FORMS[form](CODES))
    assert str(error.value) == f"{name} holds {held}, {MENDED}"
    ones = (CODES == 1).astype(np.int8)
    one, other = (METRICS[metric](SCORES, a) for a in (FORMS[form](ones), CODES == 1))
    np.testing.assert_equal(one, other)


@pytest.mark.parametrize("metric", ["average_precision", "f1_thresholds", "f1", "present_counts"])
@pytest.mark.parametrize("form", FORMS)
def test_codes_are_refused_as_what_is_known(form, metric):
    with pytest.raises(BadInput, match=r"^known holds -1(\.0)?, and only 0 and 1"):
        METRICS[metric](SCORES, CODES == 1, FORMS[form](CODES))


@pytest.mark.parametrize(
    ("labels", "held"),
    [
        (np.full((2, 2), np.nan), "nan"),
        (np.full((2, 2), "0"), "0"),
        (np.full((2, 2), 0.5), "0.5"),
        (np.full((2, 2), 2, np.uint8), "2"),
    ],
)
def test_neither_is_anything_else(labels, held):
    with pytest.raises(BadInput) as error:
        metrics.average_precision(np.zeros((2, 2)), labels)
    assert str(error.value) == f"present holds {held}, {MENDED}"
