"""The back-test in words."""

from dataclasses import replace

from simkit.planning.told.checked import back_test
from simkit.planning.told.parts import CheckRow
from tests.planning.sample import CHECK, sample

FIRST, OTHER = CHECK.rows


def test_sizes_without_a_row_are_counted() -> None:
    assert back_test(sample(check=CHECK)).notes[0] == (
        "6 sizes of curves that this plan does not tell of are not shown, 3 of them outside."
    )
    whole = replace(CHECK, count=2, inside=1)
    assert len(back_test(sample(check=whole)).notes) == 1


def test_equal_curves_have_one_row_with_all_their_methods() -> None:
    found = replace(CHECK, rows=(FIRST, replace(OTHER, same=("ignore", "ll-r"))), count=3, inside=1)
    told = back_test(sample(check=found))
    assert told.notes[0] == (
        "1 size of curves that this plan does not tell of is not shown, 1 of them outside."
    )
    assert [row[1] for row in told.table.rows] == ["ll-r", "an, ignore and ll-r"]


def test_it_says_how_the_chosen_curve_did_where_all_passed() -> None:
    far = CheckRow("single-positive", "ll-r", 4.0, 0.655, 0.7, 0.68, 0.72, False)
    missed = replace(CHECK, passed=True, rows=(FIRST, far, replace(far, times=8.0), OTHER))
    told = back_test(sample(check=missed)).lines
    assert told[0].startswith("Passed: ") and told[1] == (
        "The chosen curve missed 2 of its 3 sizes, predicted from sizes 4 and 8 times smaller."
    )
    none = back_test(sample(check=replace(CHECK, rows=(OTHER,)))).lines[1]
    assert none == "The chosen curve has no back-test of its own."
