import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.metrics.pointing import _weights, pointing_game, pointing_hits
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


@pytest.mark.parametrize(("cells", "pixels"), [(7, 30), (1, 5), (4, 4), (9, 3), (2, 7)])
def test_maps_are_enlarged_as_torch_and_the_slow_loop_do(cells, pixels):
    values = np.random.default_rng(cells).standard_normal((cells, 3))
    found = _weights(cells, pixels) @ values @ _weights(3, 10).T
    np.testing.assert_allclose(found, slow.enlarged(values, pixels, 10), atol=1e-14)
    theirs = torch.nn.functional.interpolate(
        torch.from_numpy(values)[None, None], size=(pixels, 10), mode="bilinear"
    )
    np.testing.assert_allclose(found, theirs[0, 0], atol=1e-14)


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


@pytest.mark.parametrize(
    ("maps", "boxes", "sizes", "message"),
    [
        (CORNER, [], (8, 8), "maps have shape (1, 2, 2) and boxes come for 0; one map, height x "
         "width, and its boxes are expected for each"),
        (CORNER, [[0, 0, 1, 1]], (8,), "sizes have shape (1,); the height and width in pixels of "
         "every image, or one pair for all, are expected"),
        (CORNER, [[0, 0, 1]], (8, 8), "boxes of map 0 have shape (3,); (n, 4) is expected"),
        (CORNER * np.nan, [[0, 0, 1, 1]], (8, 8),
         "a map holds nan or infinity; the model that gave it has diverged, lower its lr"),
        (CORNER - np.inf, [[0, 0, 1, 1]], (8, 8),
         "a map holds nan or infinity; the model that gave it has diverged, lower its lr"),
        (CORNER, [[5, 4, 2, 1]], (8, 8), "a box of map 0 is [5.0, 4.0, 2.0, 1.0]; x0, y0, x1, y1 "
         "with x0 < x1 and y0 < y1 are expected, so add left and top to a width and height"),
        (CORNER, [[0, 0, np.nan, 1]], (8, 8), "a box of map 0 is [0.0, 0.0, nan, 1.0]; x0, y0, x1, "
         "y1 with x0 < x1 and y0 < y1 are expected, so add left and top to a width and height"),
        (CORNER, [[0, 0, 1, 1] * 2], (8, 8), "boxes of map 0 have shape (8,); (n, 4) is expected"),
        (CORNER, np.ones((1, 2, 2, 4)), (8, 8),
         "boxes of map 0 have shape (2, 2, 4); (n, 4) is expected"),
        (CORNER, [[[1, 2, 3], [1, 2, 3, 4]]], (8, 8), "boxes of map 0 are [[1, 2, 3], [1, 2, 3, "
         "4]]; numbers of shape (n, 4) are expected"),
        (CORNER, [["a", "b", "c", "d"]], (8, 8), "boxes of map 0 are ['a', 'b', 'c', 'd']; numbers "
         "of shape (n, 4) are expected"),
        (CORNER, [[0, 0, 1, 1]], (8, np.nan), "sizes have shape (2,); the height and width in "
         "pixels of every image, or one pair for all, are expected"),
        (CORNER, [[0, 0, 1, 1]], (8.5, 8),
         "sizes hold a fraction; height and width are whole numbers of pixels"),
    ],
)  # fmt: skip
def test_bad_input_is_explained(maps, boxes, sizes, message):
    with pytest.raises(BadInput) as error:
        pointing_hits(maps, boxes, sizes)
    assert str(error.value) == message


def test_hits_without_their_classes_are_explained():
    with pytest.raises(BadInput) as error:
        pointing_game([True], [1, 2])
    assert str(error.value) == "hits have shape (1,) and classes (2,); one of each is expected"


def test_reference_numbers(golden):
    g = np.load(golden / "metrics.npz")
    hits = pointing_hits(g["pg_cams"], g["pg_boxes_x0y0x1y1"], g["pg_image_hw"])
    np.testing.assert_array_equal(hits, g["ref_pg_hits"])
    assert 100 * pointing_game(hits, g["pg_class"]) == pytest.approx(float(g["ref_pg_score"]))
