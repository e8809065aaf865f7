"""A truth made of nothing but a number of classes and how many an image shows."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.planning.pilot.standin import like, shares


def test_shares_have_a_long_tail_and_the_right_sum():
    found = shares(80, 2.9)
    assert found.sum() == pytest.approx(2.9)
    assert found[0] / found[9] == pytest.approx(10)
    assert (np.diff(found) < 0).all()
    crowded = shares(10, 6.0)
    assert crowded.sum() == pytest.approx(6.0) and crowded.max() == 0.9
    assert shares(10, 9.0) == pytest.approx(np.full(10, 0.9))


def test_images_show_as_many_classes_as_asked_for():
    truth = like(80, 2.9, images=4000)
    assert truth.shape == (4000, 80)
    # The number in an image has a variance below its mean of 2.9: 4 standard errors of the mean.
    assert truth.present.nnz / 4000 == pytest.approx(2.9, abs=4 * np.sqrt(2.9 / 4000))
    assert np.array_equal(like(80, 2.9, images=50).present.toarray(), truth.rows(np.arange(50)))
    assert like(80, 2.9, images=50, seed=1).id != like(80, 2.9, images=50).id


@pytest.mark.parametrize(
    "values,message",
    [
        ((1, 0.5), "classes is 1; a whole number from 2 on is expected"),
        ((2.5, 0.5), "classes is 2.5; a whole number from 2 on is expected"),
        (
            (80, 0),
            "per_image is 0; how many of 80 classes an image shows on average is expected, above 0 "
            "and up to 72",
        ),
        (
            (80, 75.0),
            "per_image is 75.0; how many of 80 classes an image shows on average is expected, "
            "above 0 and up to 72",
        ),
    ],
)
def test_nonsense(values, message):
    with pytest.raises(BadInput) as error:
        like(*values)
    assert str(error.value) == message


def test_no_images():
    with pytest.raises(BadInput) as error:
        like(80, 2.9, images=0)
    assert str(error.value) == "images is 0; a whole number from 1 on is expected"
