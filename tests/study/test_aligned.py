"""Labels from a plain table, over all images and classes of the data set."""

import numpy as np
import pytest
from simkit.study.aligned import of_train

from simkit.data import open
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels

SCENES = open("scenes:images=5,val=1,test=1")


def test_what_a_table_does_not_name_is_unknown_and_not_asked() -> None:
    truth = SCENES.truth["train"]
    names = truth.classes[3], truth.classes[1]
    some = PartialLabels.of(np.array([[1, 0], [-1, 1]]), truth.images[[4, 2]], names)
    found = of_train(some, SCENES, "labels.csv")
    assert found.classes == truth.classes and found.shape == truth.shape
    codes = found.codes.toarray()
    assert (codes[4, 3], codes[2, 3], codes[2, 1]) == (1, -1, 1) and np.abs(codes).sum() == 3
    assert found.asked.tolist() == [False, False, True, False, True]


def test_names_of_another_data_set_are_explained() -> None:
    other = PartialLabels.of(np.ones((1, 1), np.int8), SCENES.truth["train"].images[:1], ("dodo",))
    with pytest.raises(BadInput, match=r"^labels.csv is about class 'dodo', which the data set"):
        of_train(other, SCENES, "labels.csv")
