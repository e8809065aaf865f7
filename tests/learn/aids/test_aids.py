from dataclasses import dataclass

import pytest

from simkit.errors import BadInput
from simkit.learn.aids.aids import check, missing


@dataclass(frozen=True)
class ClassPrior:
    value: int = 0


def test_what_is_missing_is_listed_in_order():
    assert missing((ClassPrior, int), [3]) == [ClassPrior]
    assert missing((ClassPrior, int), [3, ClassPrior()]) == []


def test_the_message_names_the_aid_and_the_mend():
    check("csl", (ClassPrior,), [ClassPrior()])
    with pytest.raises(BadInput) as error:
        check("csl", (ClassPrior,), [])
    assert str(error.value) == (
        "method 'csl' needs ClassPrior, which this task does not carry; `prepare(task, method)` "
        "builds it, or pass one with task.with_aids(...)"
    )
