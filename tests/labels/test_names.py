"""Names of images in the forms in which they are compared: the only one that fits, or none."""

import pytest

from simkit.labels.names import find_images, image_places, matches


@pytest.mark.parametrize(
    ("texts", "images", "right"),
    [
        (["/mnt/a.jpg", "/mnt/b/a.jpg"], ["a.jpg", "b/a.jpg"], [0, 1]),
        (["/mnt/b/a.jpg"], ["x/b/a.jpg", "y/a.jpg"], [0]),
        (["z/a.jpg"], ["x/a.jpg", "y/a.jpg"], [None]),
        (["x/a.jpg", "y/a.jpg"], ["a.jpg"], [None, None]),
        (["7.0", "x/8.jpg", "9"], ["7", "8", "9.png"], [0, 1, 2]),
        (["a.png", "A.jpg"], ["a.jpg"], [None, None]),
        (["?d=b%2Fa.JPG&t=1", "s3://b/0a1b2c3d-c.jpg"], ["b/a.jpg", "c.jpg"], [0, 1]),
    ],
)
def test_addresses_of_images(texts, images, right):
    assert [*map(image_places(texts, images).get, texts)] == right


def test_numbers_match_in_any_spelling_unless_two_have_it():
    assert matches([7, 12], ["007", "12.0", "13"]).tolist() == [0, 1, -1]
    assert matches(["7", "007"], ["07", "7"]).tolist() == [-1, 0]


def test_names_of_files_beside_ids_are_those_of_the_files():
    """Image 1 is in the file 5.jpg, and image 5 in another one."""
    notes, files = [], ["5.jpg", "3.jpg", "x/1.jpg"]
    found = find_images(["3", "img/5.jpg", "4.jpg"], [1, 3, 5], notes.append, lambda: files)
    assert found.tolist() == [1, 0, -1]
    assert notes == ["images matched by file name: 1 of 3 ('img/5.jpg' is 1)"]
