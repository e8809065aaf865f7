import pytest
from simkit.study.grids.fields import expect, limits, part, texts, whole

from simkit.errors import BadInput


def test_limits_are_numbers_above_nothing_in_order():
    assert limits([30, 10.5], "budgets", "dollars") == (10.5, 30.0)
    assert limits(3, "hours", "hours") == (3.0,)


def test_a_truth_value_is_no_number():
    assert whole(1) and not whole(True) and not whole(1.0)
    with pytest.raises(BadInput) as caught:
        limits(True, "hours", "hours")
    assert str(caught.value) == "hours is True; a list of hours is expected"


def test_what_is_wrong_is_told_with_the_field():
    with pytest.raises(BadInput) as caught:
        expect(False, "draws", 0, "a whole number from 1 on")
    assert str(caught.value) == "draws is 0; a whole number from 1 on is expected"
    with pytest.raises(BadInput) as caught:
        texts([], "methods")
    assert str(caught.value) == 'methods is []; a list such as ["an", "ll-r"] is expected'
    with pytest.raises(BadInput) as caught:
        part(dict, 3, "train")
    assert str(caught.value) == "train is 3; a table such as [train] is expected"
