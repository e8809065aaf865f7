"""One named class and the branches beside it."""

import numpy as np
import pytest

from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.truth import Truth


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_above_a_present_class_is_present(closed, diamond):
    codes = simulate(closed, "knowledge-graph", hierarchy=diamond).codes.toarray()
    for row, present in zip(codes, closed.present.toarray(), strict=True):
        ancestors = diamond.above[row == 1].any(0)
        assert (row[ancestors] == 1).all()
        assert (row == 1).any() if present.any() else (row == -1).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_present_class_is_named_equally_often(diamond):
    # All images show thing > dog; naming "thing" leaves dog open, naming "dog" does not.
    present = np.zeros((4000, 9), bool)
    present[:, [diamond.classes.index("thing"), diamond.classes.index("dog")]] = True
    truth = Truth.of(present, classes=diamond.classes)
    codes = simulate(truth, "knowledge-graph", hierarchy=diamond).codes.toarray()
    named_dog = codes[:, diamond.classes.index("dog")] == 1
    assert abs(named_dog.mean() - 0.5) < 4.5 * np.sqrt(0.25 / 4000)


def test_without_a_hierarchy(truth):
    with pytest.raises(BadInput) as error:
        simulate(truth, "knowledge-graph")
    assert str(error.value) == (
        "knowledge-graph needs a class hierarchy, and none was given; make one with "
        "`simkit hierarchy --classes names.txt` or open a data set that has one"
    )
