import numpy as np
import pytest
from simkit.study.material.shown import Shown, check_pictures, decoded

from simkit.data import open
from simkit.errors import BadInput
from simkit.learn import methods


def test_methods_that_compare_views_see_crops_unless_told_otherwise():
    assert Shown().to(methods.make("an+scl")) == Shown(crop=(0.25, 1.0))
    assert Shown(crop=(0.5, 1.0)).to(methods.make("an+scl")) == Shown(crop=(0.5, 1.0))
    assert Shown().to(methods.make("an")) == Shown()


def test_pictures_are_read_as_they_are_shown():
    found = decoded(open("scenes:images=60,val=10,test=10"), "test", 32)
    assert found.shape == (10, 3, 32, 32)
    inputs = Shown(flip=False, vertical=True, crop=(0.5, 1.0)).inputs(found)
    assert (inputs.flip, inputs.vertical, inputs.crop) == (False, True, (0.5, 1.0))
    assert (inputs.batch([3]).numpy()[0] == found[np.array([3])][0]).all()


def test_data_without_pictures(tiny):
    data = open(tiny().data)
    with pytest.raises(BadInput) as caught:
        check_pictures(data, "train")
    assert str(caught.value) == (
        f"{data.name} has no pictures for 'train', which fine-tuning needs; open it with its image "
        "folder, or train on features"
    )
