import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torchvision.transforms.v2.functional import resized_crop

from simkit.chance import Chance
from simkit.learn.inputs import Views, drawn_boxes, shown

SIZE = 48


@pytest.fixture
def pictures() -> torch.Tensor:
    """Six smooth pictures (6, 3, 48, 48) uint8."""
    rough = np.random.default_rng(0).integers(0, 256, (6, 3, 12, 12)).astype(np.uint8)
    return F.interpolate(torch.from_numpy(rough).float(), SIZE, mode="bilinear").to(torch.uint8)


def whole_pixels() -> np.ndarray:
    """Six boxes (6, 4) that end at pixels: y0, x0, y1, x1."""
    return np.array(
        [
            [0, 0, 48, 48],
            [0, 0, 24, 24],
            [7, 11, 31, 46],
            [20, 3, 48, 30],
            [1, 1, 47, 48],
            [10, 20, 33, 45],
        ]
    )


@pytest.mark.parametrize("antialias", [False, True])
def test_a_crop_is_that_of_torchvision(pictures, antialias):
    boxes = whole_pixels()
    found = shown(pictures, Views(torch.from_numpy(boxes / SIZE))).float()
    for k, (y0, x0, y1, x1) in enumerate(boxes.tolist()):
        size = [SIZE, SIZE]
        wanted = resized_crop(
            pictures[k].float(), y0, x0, y1 - y0, x1 - x0, size, antialias=antialias
        )
        assert (found[k] - wanted).abs().max() <= 0.51


def test_a_crop_is_that_of_sampling_one_picture_at_a_time(pictures):
    index = np.arange(6)
    boxes = drawn_boxes(index, Chance.seeded(1), (0.25, 1))
    flips, vertical = index % 2 == 0, index % 3 == 0
    given = (torch.from_numpy(x) for x in (boxes, flips, vertical))
    found = shown(pictures, Views(*given)).double()
    for k, (y0, x0, y1, x1) in enumerate(boxes.tolist()):
        middles = (torch.arange(SIZE, dtype=torch.float64) + 0.5) / SIZE
        edges = [math.ceil(v * SIZE - 0.5) for v in (y0, x0)]
        ends = [math.floor(v * SIZE - 0.5) for v in (y1, x1)]
        y = ((y0 + middles * (y1 - y0)) * SIZE - 0.5).clamp(edges[0], ends[0])
        x = ((x0 + middles * (x1 - x0)) * SIZE - 0.5).clamp(edges[1], ends[1])
        cells = torch.arange(SIZE)
        rows, columns = ((1 - (p[:, None] - cells).abs()).clamp(min=0) for p in (y, x))
        wanted = rows @ pictures[k].double() @ columns.mT
        wanted = wanted.flip(-1) if flips[k] else wanted
        wanted = wanted.flip(-2) if vertical[k] else wanted
        assert (found[k] - wanted).abs().max() <= 0.51


def test_mirroring_moves_pixels_and_changes_none(pictures):
    flips, vertical = torch.arange(6) % 2 == 0, torch.arange(6) > 2
    whole = torch.tensor([[0.0, 0, 1, 1]], dtype=torch.float64).expand(6, 4)
    for boxes in (None, whole):
        found = shown(pictures, Views(boxes, flips, vertical))
        for k in range(6):
            dims = [dim for dim, on in ((-1, flips[k]), (-2, vertical[k])) if on]
            assert torch.equal(found[k], pictures[k].flip(dims))
    assert shown(pictures, Views()) is pictures


def test_nothing_waits_for_values(pictures):
    # The shapes and the work follow from shapes alone: a device without values can do it.
    views = Views(torch.zeros(6, 4, dtype=torch.float64), torch.zeros(6, dtype=torch.bool))
    found = shown(pictures.to("meta"), views.to(torch.device("meta")))
    assert found.shape == pictures.shape and found.dtype == torch.uint8


def test_areas_are_uniform_and_forms_lie_within_their_limits():
    index = np.arange(4000)
    boxes = drawn_boxes(index, Chance.seeded(0), (0.25, 1))
    assert boxes.min() >= 0 and boxes.max() <= 1
    height, width = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    area, ratio = height * width, width / height
    assert area.min() >= 0.25 - 1e-12 and area.max() <= 1
    assert abs(area.mean() - 0.625) < 4 * 0.75 / np.sqrt(12 * 4000)
    assert ratio.min() >= 3 / 4 - 1e-12 and ratio.max() <= 4 / 3 + 1e-12
    small = area < 0.7  # where every form fits
    logs = np.log(ratio[small])
    spread = 2 * np.log(4 / 3) / np.sqrt(12)
    assert abs(logs.mean()) < 4 * spread / np.sqrt(small.sum())
    assert abs(logs.std() - spread) < 0.05 * spread


def test_a_part_is_never_larger_than_its_picture():
    boxes = drawn_boxes(np.arange(500), Chance.seeded(0), (0.9, 1))
    assert boxes.min() >= 0 and boxes.max() <= 1
    height, width = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    np.testing.assert_allclose(
        height * width,
        0.9 + 0.1 * (Chance.seeded(0).of("area")(np.arange(500)) >> np.uint64(11)) * 2.0**-53,
    )
