"""Boxes fit the images and classes that they are held against."""

import numpy as np
import pytest

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.study.analysis.explaining.boxes import check_boxes, corners


def one(image=0, c=0, images=3, side=4) -> Boxes:
    box = np.array([[0, 1, 2, 4]], np.float32)
    return Boxes(np.array([image]), np.array([c]), box, np.full((images, 2), side))


def test_corners_are_shares() -> None:
    assert corners(one(), 0, 0).tolist() == [[0, 0.25, 0.5, 1]]
    assert corners(one(), 0, 1).shape == corners(None, 0, 0).shape == (0, 4)
    np.testing.assert_array_equal(check_boxes(one(), (3, 3)), np.full((3, 2), 4))


@pytest.mark.parametrize(
    ("boxes", "sentence"),
    [
        (one(image=9), "a box is of image 9, and the truth has 3; bring the boxes of its images"),
        (one(image=-1), "a box is of image -1, and the truth has 3; bring the boxes of its images"),
        (one(c=7), "a box is of class 7, and the truth has 3; bring the boxes of its images"),
        (one(images=2), "the boxes know the sizes of 2 images, and the truth has 3; bring the "
         "boxes of its images"),
        (one(side=0), "the boxes know an image without width or height; bring its size in pixels"),
    ],
)  # fmt: skip
def test_boxes_are_of_the_images_of_the_truth(boxes, sentence) -> None:
    with pytest.raises(BadInput) as error:
        check_boxes(boxes, (3, 3))
    assert str(error.value) == sentence
