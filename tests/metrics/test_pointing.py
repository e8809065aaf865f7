import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.metrics.pointing import pointing_game, pointing_hits
from tests.reference import metrics as slow

CORNER = np.array([[[5.0, 0.0], [0.0, 0.0]]])  # highest over the whole upper left pixels


def test_of_equal_pixels_the_first_counts_and_boxes_end_before_their_corner():
    assert pointing_hits(CORNER, [[0, 0, 1, 1]], (8, 8)).tolist() == [True]
    assert pointing_hits(CORNER, [[1, 0, 8, 8]], (8, 8)).tolist() == [False]
    assert pointing_hits(CORNER, [[0, 1, 8, 8]], (8, 8)).tolist() == [False]
    last = CORNER[:, ::-1, ::-1]  # first among equals: pixel (6, 6)
    assert pointing_hits(last, [[6, 6, 7, 7]], (8, 8)).tolist() == [True]
    assert pointing_hits(last, [[0, 0, 6, 6]], (8, 8)).tolist() == [False]


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 200 / 255, -0.7, 0.0])
def test_the_first_pixel_of_a_plateau_counts_though_weights_are_rounded(value):
    flat = np.full((1, 7, 7), value)
    assert pointing_hits(flat, [[0, 0, 1, 1]], (56, 84)).tolist() == [True]


def test_any_box_of_the_class_will_do_and_no_box_is_a_miss():
    boxes = [[[4, 4, 8, 8], [0, 0, 2, 2]]]
    assert pointing_hits(CORNER, boxes, (8, 8)).tolist() == [True]
    assert pointing_hits(CORNER, [[]], (8, 8)).tolist() == [False]
    assert pointing_hits(np.zeros((0, 2, 2)), [], (8, 8)).tolist() == []
    assert pointing_hits(CORNER, [[]], (8, 8)).dtype == bool


def test_images_of_different_size_and_tensors():
    rng = np.random.default_rng(4)
    maps = rng.standard_normal((12, 4, 5)).astype(np.float32)
    sizes = rng.integers(3, 20, (12, 2))
    boxes = [np.array([[0, 0, w // 2 + 1, h // 2 + 1]]) for h, w in sizes]
    wanted = []
    for values, (h, w), box in zip(maps, sizes, boxes, strict=True):
        y, x = divmod(int(slow.enlarged(values.astype(float), h, w).argmax()), int(w))
        wanted.append(x < box[0, 2] and y < box[0, 3])
    assert 0 < sum(wanted) < 12
    assert pointing_hits(maps, boxes, sizes).tolist() == wanted
    assert pointing_hits(torch.from_numpy(maps), boxes, sizes).tolist() == wanted


def test_the_score_is_the_mean_over_classes():
    assert pointing_game([True, True, False, True], [3, 3, 3, 0]) == pytest.approx(5 / 6)
    assert np.isnan(pointing_game([], []))


BOX, SIZE = [[0, 0, 1, 1]], (8, 8)


@pytest.mark.parametrize(
    ("maps", "boxes", "sizes", "message"),
    [
        (CORNER * np.nan, BOX, SIZE, "diverged, lower its lr"),
        (CORNER - np.inf, BOX, SIZE, "diverged, lower its lr"),
        (CORNER, [[0, 0, 1]], SIZE, "boxes of map 0"),
        (CORNER, [[5, 4, 2, 1]], SIZE, "add left and top to a width and height"),
        (CORNER, [[0, 0, np.nan, 1]], SIZE, "boxes of map 0"),
        (CORNER, [[0, 0, 1, 1] * 2], SIZE, "boxes of map 0"),
        (CORNER, np.ones((1, 2, 2, 4)), SIZE, "boxes of map 0"),
    ],
)
def test_bad_input_is_explained(maps, boxes, sizes, message):
    with pytest.raises(BadInput, match=message):
        pointing_hits(maps, boxes, sizes)


def test_reference_numbers(golden):
    g = np.load(golden / "metrics.npz")
    hits = pointing_hits(g["pg_cams"], g["pg_boxes_x0y0x1y1"], g["pg_image_hw"])
    np.testing.assert_array_equal(hits, g["ref_pg_hits"])
    assert 100 * pointing_game(hits, g["pg_class"]) == pytest.approx(float(g["ref_pg_score"]))
