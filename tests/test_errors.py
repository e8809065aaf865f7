"""Bad input and unknown names."""

import pickle

import numpy as np
import pytest

from simkit.errors import BadInput, unknown, whole_number


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fcp", "no scheme is called 'fcp'; did you mean 'fpc'?"),
        ("FPC", "no scheme is called 'FPC'; did you mean 'fpc'?"),
        ("knowledge", "no scheme is called 'knowledge'; did you mean 'knowledge-graph'?"),
        ("zzz", "no scheme is called 'zzz'; known are fpc, knowledge-graph, rpa"),
        (None, "no scheme is called 'None'; known are fpc, knowledge-graph, rpa"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest_known_one(name: object, message: str) -> None:
    error = unknown("scheme", name, ["rpa", "fpc", "knowledge-graph"])
    assert isinstance(error, BadInput) and str(error) == message


def test_whole_numbers_of_any_kind_become_int() -> None:
    for value in (3, np.int8(3), np.uint64(3), np.array(3)):
        assert whole_number(value, "it") == 3 and type(whole_number(value, "it")) is int


@pytest.mark.parametrize("value", [1.0, "1", True, np.True_, None, np.float64(2)])
def test_anything_else_is_no_whole_number(value: object) -> None:
    with pytest.raises(BadInput) as error:
        whole_number(value, "draw")
    assert str(error.value) == f"draw is {value!r}; a whole number is expected"


def test_a_sentence_that_quotes_pages_is_cut_in_its_middle() -> None:
    short, long = "a" * 900, "x is " + "a" * 5000 + "; mend it"
    assert str(BadInput(short)) == short
    assert str(BadInput(long)) == long[:400] + " ... " + long[-300:]
    again = pickle.loads(pickle.dumps(BadInput(long)))
    assert str(again) == str(BadInput(long)) and again.args == (str(again),)
