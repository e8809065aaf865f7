import pytest

from simkit.errors import BadInput
from simkit.planning.curves.reach import MEANING, grade


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (0.0, "green"), (0.5, "green"), (2.0, "green"), (2.001, "amber"), (11.0, "amber"),
        (11.01, "red"), (50.0, "red"),
    ],
)  # fmt: skip
def test_grades_at_their_edges(times: float, expected: str) -> None:
    for reach in (0.1, 3.0, 12_345.67):
        assert grade(times * reach, reach) == expected
    assert expected in MEANING


def test_beyond_fifty_times_nothing_is_foretold() -> None:
    with pytest.raises(BadInput) as refused:
        grade(5000.0, 98.0)
    assert str(refused.value) == (
        "5,000 dollars of training labels are 51 times the largest pilot size of 98.00 dollars, "
        "and no curve holds beyond 50 times; label a pilot for at least 100.00 dollars first, or "
        "lower the budget"
    )


@pytest.mark.parametrize(
    ("dollars", "reach", "sentence"),
    [
        (-1.0, 10.0, "dollars is -1.0; a number of dollars from 0 on is expected"),
        (float("nan"), 10.0, "dollars is nan; a number of dollars from 0 on is expected"),
        (10.0, 0.0, "reach is 0.0; a number of dollars above 0 is expected"),
        (10.0, float("inf"), "reach is inf; a number of dollars above 0 is expected"),
    ],
)
def test_what_is_no_number_of_dollars_is_refused(
    dollars: float, reach: float, sentence: str
) -> None:
    with pytest.raises(BadInput) as refused:
        grade(dollars, reach)
    assert str(refused.value) == sentence


def test_grades_below_the_pilot() -> None:
    assert grade(10.0, 100.0, 10.0) == "green"
    assert grade(9.9, 100.0, 10.0) == grade(1.0, 100.0, 10.0) == "amber"
    with pytest.raises(BadInput) as refused:
        grade(0.9, 100.0, 10.0)
    assert str(refused.value) == (
        "0.90 dollars of training labels are less than a tenth of the smallest pilot size of 10.00 "
        "dollars, and no curve holds so far below its pilot; raise the budget or the images, or "
        "compare at smaller budgets too"
    )
