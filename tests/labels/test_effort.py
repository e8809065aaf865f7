"""Effort: how often each question was asked."""

import json
from typing import Any

import numpy as np
import pytest

from simkit.labels.effort import Effort, histogram

# Three images: 2 verifications about two of them, 5 about one; 7 looks for the second class.
EFFORT = Effort({"verify": np.array([0, 0, 2, 0, 0, 1])}, np.array([0, 7]), 3, {"search": 4})


def test_counts_by_hand() -> None:
    assert EFFORT.count("verify") == 9 and EFFORT.images("verify") == 3
    assert EFFORT.count("search") == 7
    assert EFFORT.count("name") == 0 and EFFORT.images("name") == 0
    assert EFFORT.kinds() == ["verify", "search"]
    assert EFFORT.counts() == {"verify": 9, "search": 7, "workers": 3, "dropped": 4}


def test_a_histogram_leaves_out_images_without_questions() -> None:
    assert histogram(np.array([0, 2, 2, 5, 0])).tolist() == [0, 0, 2, 0, 0, 1]
    assert histogram(np.zeros(3, int)).tolist() == [0]


def test_effort_survives_json() -> None:
    text = json.dumps(EFFORT.to_json())
    again = Effort.from_json(json.loads(text))
    assert again.to_json() == EFFORT.to_json()
    assert again.questions["verify"].tolist() == [0, 0, 2, 0, 0, 1]
    assert again.looks.tolist() == [0, 7] and again.looks.dtype == np.int64
    assert Effort.from_json(Effort().to_json()).to_json() == Effort().to_json()


@pytest.mark.parametrize(
    "changed",
    [
        {"questions": None}, {"questions": {"verify": [[1]]}}, {"questions": {"verify": [[-1, 2]]}},
        {"questions": {"verify": [[1, -2]]}}, {"questions": {"verify": [[10**12, 1]]}},
        {"questions": {"verify": [[1, 10**30]]}}, {"questions": []}, {"looks": [[2, 1]]},
        {"looks": [[-1, 1]]}, {"classes": 10**12}, {"classes": "2"}, {"workers": 0.5},
        {"workers": True}, {"dropped": None}, {"dropped": 4}, {"dropped": {"search": -1}},
    ],
)  # fmt: skip
def test_other_values_are_no_effort(changed: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, IndexError, AttributeError)):
        Effort.from_json(EFFORT.to_json() | changed)
