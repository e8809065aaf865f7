import tomllib

import pytest
from simkit.study.grids.toml import text_of


@pytest.mark.parametrize(
    "value",
    [True, False, 3, -(2**63), 0.1, 1e-300, 1.0, "", 'a "b" \\ \n\t\x00\x7f é', [1.5, "x"], []],
)
def test_what_is_written_reads_back(value):
    back = tomllib.loads(f"value = {text_of(value)}")["value"]
    assert back == value and type(back) is type(value)


def test_tuples_are_lists():
    assert text_of((0.1, 0.2)) == "[0.1, 0.2]"
