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
    (checks.part(np.float32(0.5), "share"), 0.5),
    (checks.names("dining table, small", "classes"), ("dining table, small",)),
    (checks.names(iter(["a", "b"]), "classes"), ("a", "b")),
    (checks.listed("an, csl(eta=1,top_k=2)+boostlu ,"), ("an", "csl(eta=1,top_k=2)+boostlu")),
    (checks.listed(["an", "ll-r"]), ("an", "ll-r")),
    (checks.listed(()), ()),
    (checks.one_method("an ", "method"), "an"),
    (checks.rows(np.array([2, 0]), 3, "x"), [2, 0]),
    (checks.rows(np.array(1), 3, "x"), [1]),
    (checks.rows([10**6], None, "x"), [10**6]),
    (checks.places(None, 3, "x").tolist(), [0, 1, 2]),
    (checks.places([2, 0], 3, "x").tolist(), [2, 0]),
    (checks.picked([(np.int64(1), "b")], ("a", "b"), 2, "x"), [(1, "b")]),
]

REFUSED = {
    "x is": [
        *((checks.count, (value, "x")) for value in (0, -1, 2.0, True, np.True_, "2", None, [1])),
        *((checks.part, (value, "x")) for value in (0, 1.1, np.nan, np.inf, True, "0.1", None)),
        (checks.counts, ((1, 0), "x")),
        (checks.one_method, ("an,ll-r", "x")),
    ],
    "x are": [(checks.listed, (3, "x")), (checks.names, (["a", None], "x"))],
    "rows from 0 to 2": [(checks.rows, (v, 3, "x")) for v in (3, -1, 0.5, True, "0", [0, 3])],
    "from 0 to 2 is": [
        (checks.places, (v, 3, "x")) for v in ([], [True], [0.0], ["a"], 1, [3], [-1], [1, 1])
    ],
    "pairs are expected": [(checks.picked, (v, ("a",), 2, "x")) for v in ((0, "ab"), 3)],
    "give some": [(checks.picked, ([], ("a",), 2, "x"))],
    "rows from 0 to 1": [(checks.picked, ([(2, "a")], ("a",), 2, "x"))],
    "'c'": [(checks.picked, ([(0, "c")], ("a",), 2, "x"))],
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
    assert words in str(error.value) and str(error.value).startswith(("x", "no class (x)"))
