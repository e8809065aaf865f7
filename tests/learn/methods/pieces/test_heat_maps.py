import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.feeding.augment import shown
from simkit.learn.feeding.inputs import ImageInputs
from simkit.learn.methods import Batch, Task
from simkit.learn.methods.pieces import heat_maps
from tests.reference import consistency as slow

BOXES = [
    (0.0, 0.0, 1.0, 1.0),
    (0.14, 0.03, 0.91, 0.78),
    (0.49, 0.5, 0.51, 0.5),  # nothing: one cell is taken
    (0.99, 0.99, 1.0, 1.0),
    (0.0, 0.3, 0.07, 1.0),
    (0.0625, 0.1875, 0.4375, 0.8125),  # halves: to the even cell
]


def batch_of(index, flips=None) -> Batch:
    """A batch whose pictures have the boxes above."""
    index = torch.as_tensor(index)
    return Batch(
        index, torch.zeros(len(index), 3, dtype=torch.int8), torch.tensor(BOXES).double(), flips
    )


def maps(side: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.integers(0, 256, (9, 3, side, side), np.uint8))


INDEX = [5, 0, 8, 3, 1, 7]
FLIPS = torch.tensor([True, False, True, True, False, True])


@pytest.mark.parametrize("flips", [None, FLIPS])
@pytest.mark.parametrize("side, height, width", [(8, 4, 4), (28, 14, 14), (7, 5, 9), (1, 3, 2)])
def test_views_and_updates_equal_slicing_and_resizing(side, height, width, flips):
    heat, batch = maps(side), batch_of(INDEX, flips)
    said = torch.rand(6, 3, height, width, generator=torch.Generator().manual_seed(1)).double()
    seen = heat_maps.before(heat, batch, height, width, torch.float64)
    rough = heat_maps.before(heat, batch, height, width, torch.float32)
    new = heat_maps.after(heat, batch, said, 0.8)
    again = heat_maps.after(heat, batch, said.float(), 0.8)
    assert new.dtype == torch.uint8
    for k, i in enumerate(INDEX):
        flip = flips is not None and bool(flips[k])
        for c in range(3):
            cells = heat[i, c].tolist()
            wanted = slow.shown(cells, BOXES[k], flip, height, width)
            np.testing.assert_allclose(seen[k, c], wanted, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(rough[k, c], wanted, rtol=1e-5, atol=1e-6)
            after = slow.updated(cells, BOXES[k], flip, said[k, c].tolist(), 0.8)
            np.testing.assert_array_equal(new[k, c], after)
            assert (again[k, c].int() - torch.tensor(after)).abs().max() <= 1


def test_runs_are_resized_as_if_alone():
    heat = torch.stack([maps(8, 0), maps(8, 1)])
    batch = batch_of(INDEX, FLIPS)
    said = torch.rand(2, 6, 3, 4, 4)
    seen = heat_maps.before(heat, batch, 4, 4, torch.float32)
    new = heat_maps.after(heat, batch, said, 0.8)
    for run in (0, 1):
        alone = heat_maps.before(heat[run], batch, 4, 4, torch.float32)
        torch.testing.assert_close(seen[run], alone)
        assert torch.equal(new[run], heat_maps.after(heat[run], batch, said[run], 0.8))


def test_without_boxes_the_whole_picture_is_seen():
    heat, index = maps(8), torch.tensor(INDEX)
    bare = Batch(index, torch.zeros(6, 3, dtype=torch.int8))
    whole = Batch(index, bare.labels, torch.tensor([0.0, 0, 1, 1]).expand(6, 4))
    said = torch.rand(6, 3, 4, 4)
    for batch in (bare, whole):
        seen = heat_maps.before(heat, batch, 8, 8, torch.float64)
        np.testing.assert_allclose(seen, heat[index] / 255.0, atol=1e-6)
    assert torch.equal(
        heat_maps.after(heat, bare, said, 0.5), heat_maps.after(heat, whole, said, 0.5)
    )


def test_autocast_does_not_coarsen_the_maps():
    heat, batch = maps(8), batch_of(INDEX, FLIPS)
    said = torch.rand(6, 3, 4, 4)
    wanted = heat_maps.after(heat, batch, said, 0.8)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(heat_maps.after(heat, batch, said, 0.8), wanted)


def test_rounding_does_not_drift():
    heat = torch.full((1, 1, 4, 4), 100, dtype=torch.uint8)
    batch = Batch(torch.tensor([0]), torch.zeros(1, 1, dtype=torch.int8))
    said = torch.full((1, 1, 2, 2), 100 / 255)
    for _ in range(20):
        heat = heat_maps.after(heat, batch, said, 0.8)
    assert heat.unique().tolist() == [100]


def test_known_positives_are_hot_at_the_start():
    Z = np.array([[1, 0, -1], [0, 0, 0], [0, 1, 1]])
    for mapped in (False, True):
        found = heat_maps.initial_maps(Task(Z), 2, mapped=mapped)
        assert found.dtype == torch.uint8 and found.shape == (3, 3, 2, 2)
        np.testing.assert_array_equal(found[:, :, 0, 1], 255 * (Z == 1))
        np.testing.assert_array_equal(found[:, :, 1, 0], 255 * (Z == 1))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_mapped_file_leaves_nothing_behind(cache):
    found = heat_maps.initial_maps(Task(np.eye(3, dtype=int)), 2, mapped=True)
    found[2, 2] = 7
    assert found[2, 2].unique().item() == 7
    del found
    assert list((cache / "heat-maps").iterdir()) == []


def test_a_file_without_room_is_refused(cache, monkeypatch):
    monkeypatch.setattr(
        heat_maps.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 35_000_000})
    )
    with pytest.raises(BadInput) as error:
        heat_maps.initial_maps(Task(np.eye(100, dtype=int)), 100, mapped=True)
    assert str(error.value) == (
        f"the heat maps take 0.1 GB and {cache / 'heat-maps'} has 0.0 GB left; make room, or set "
        "SIMKIT_CACHE to a folder with more"
    )


def test_heat_maps_lie_where_the_crops_and_flips_of_training_show_them() -> None:
    """A map that is the picture itself, small: what is read for a crop is the crop, small, and what
    is written back is the picture where the crop was."""
    rng = torch.Generator().manual_seed(0)
    blobs = torch.rand(60, 3, 5, 5, generator=rng)
    pictures = torch.nn.functional.interpolate(blobs, size=(64, 64), mode="bicubic").clamp(0, 1)
    pictures = (255 * pictures).round().to(torch.uint8)
    inputs = ImageInputs(pictures.numpy(), crop=(0.25, 1.0))
    views = inputs.views(np.arange(60), Chance.seeded(0), epoch=3)
    assert views.flips is not None and 10 < int(views.flips.sum()) < 50
    crops = torch.nn.functional.avg_pool2d(shown(pictures, views).float() / 255, 8)
    whole = torch.nn.functional.avg_pool2d(pictures.float() / 255, 4)

    def read(boxes, flips) -> float:
        batch = Batch(torch.arange(60), torch.zeros(60, 3), boxes, flips)
        heat = (255 * whole).round().to(torch.uint8)
        return alike(heat_maps.before(heat, batch, 8, 8, torch.float32), crops)

    assert read(views.boxes, views.flips) > 0.95
    assert read(views.boxes, ~views.flips) < 0.5 and read(None, views.flips) < 0.8

    batch = Batch(torch.arange(60), torch.zeros(60, 3), views.boxes, views.flips)
    untouched = torch.full((60, 3, 16, 16), 255, dtype=torch.uint8)
    written = heat_maps.after(untouched, batch, crops, 0.0)
    where = written != 255
    assert 0.25 < where.float().mean() < 0.95
    assert alike(written[where].float() / 255, whole[where]) > 0.95


def alike(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float(np.corrcoef(ours.flatten(), theirs.flatten())[0, 1])
