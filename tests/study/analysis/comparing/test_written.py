"""No two values are written alike."""

import pytest

from simkit.study.analysis.comparing.written import written


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0.5, "0.5"),
        (20.0, "20"),
        (1e-05, "1e-05"),
        (0.12345678, "0.12345678"),
        (0.12345679, "0.12345679"),
        (1234567.0, "1234567"),
        (1234568.0, "1234568"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_a_value_is_short_where_it_can_be(value, wanted) -> None:
    assert written(value) == wanted and float(written(value)) == value


def test_thousands_are_marked() -> None:
    assert [written(v, mark=",") for v in (10.0, 1500.0, 1234567.0)] == ["10", "1,500", "1,234,567"]
