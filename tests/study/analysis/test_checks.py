"""What an analysis is asked for is checked, and an error names it and shows what is expected."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study.analysis import checks

FINE = [
    (checks.count(np.int32(3), "k"), 3),
    (checks.count(0, "k", least=0), 0),
    (checks.counts(2, "k"), [2]),
    (checks.counts((2, 1), "k"), [2, 1]),
    (checks.listed("an, csl(eta=1,top_k=2)+boostlu ,"), ["an", "csl(eta=1,top_k=2)+boostlu"]),
    (checks.listed(iter(["an", "ll-r", "an"])), ["an", "ll-r"]),
    (checks.listed(()), []),
    (checks.indices(np.array([2, 0]), 3, "x").tolist(), [2, 0]),
    (checks.indices(np.array(1), 3, "x").tolist(), [1]),
    (checks.indices(None, 3, "x").tolist(), [0, 1, 2]),
]


REFUSED = {
    "x is": [
        *((checks.count, (value, "x")) for value in (0, -1, 2.0, True, np.True_, "2", None, [1])),
        (checks.counts, ((1, 0), "x")),
    ],
    "x are": [(checks.listed, (value, "x")) for value in (3, ["a", None])],
    "from 0 to 2": [(checks.indices, (v, 3, "x")) for v in (3, -1, 0.5, True, "0", [0, 3])],
    "as {'an': net}": [(checks.by_name, (v, "model", "{'an': net}", "x")) for v in ({}, [1])],
}


@pytest.mark.parametrize(("value", "expected"), FINE)
def test_what_is_right_is_handed_back(value, expected) -> None:
    assert value == expected and type(value) is type(expected)


@pytest.mark.parametrize(
    ("check", "arguments", "words"),
    [(check, some, words) for words, cases in REFUSED.items() for check, some in cases],
)
def test_what_is_wrong_is_named(check, arguments, words) -> None:
    with pytest.raises(BadInput) as error:
        check(*arguments)
    assert words in str(error.value) and str(error.value).startswith("x")
