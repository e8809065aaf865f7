import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs, shown
from simkit.learn.methods import Batch, Outputs, Sizes, Task, make
from simkit.learn.methods import wrappers as heat_maps
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from tests.learn.methods.steps import started
from tests.learn.methods.zoo import state_size
from tests.learn.test_saved import Stop, until
from tests.learn.test_train import Small
from tests.reference import consistency as slow
from tests.reference.methods import assume_negative

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
Z = np.array([[1, 0], [0, -1], [0, 1]])


def out_of(maps) -> Outputs:
    return Outputs(maps.mean((-2, -1)), maps)


@pytest.mark.parametrize("distance", ["l1", "l2", "jsd"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_epochs_of_views_equal_the_slow_form(distance, reduction):
    rng = np.random.default_rng(0)
    settings = {"distance": distance, "reduction": reduction, "warmup": 1, "weight": 0.1}
    method, state = started(make("an+scl", side=6, **settings), Z)
    heat = [[[[255 * (z == 1)] * 6] * 6 for z in row] for row in Z.tolist()]
    for epoch in (1, 2, 3):
        maps = rng.choice([1, 30], (3, 2, 4, 3)) * rng.standard_normal((3, 2, 4, 3))
        corner = rng.random((3, 2)) * 0.5
        boxes = np.concatenate([corner, corner + 0.2 + 0.3 * rng.random((3, 2))], 1)
        flips = rng.random(3) < 0.5
        batch = Batch(torch.arange(3), torch.tensor(Z), torch.tensor(boxes), torch.tensor(flips))
        total = 0.0
        for i in range(3):
            for c in range(2):
                seen = slow.shown(heat[i][c], boxes[i], flips[i], 4, 3)
                pairs = zip(maps[i, c].flat, np.ravel(seen), strict=True)
                total += sum(slow.distance(x, s, distance) for x, s in pairs)
        term = total / (3 * 2 * 12 if reduction == "mean" else 3)
        wanted = assume_negative(maps.mean((2, 3)), Z) + (0.1 * term if epoch > 1 else 0)
        out = out_of(torch.tensor(maps))
        np.testing.assert_allclose(method.loss(batch, out, state), wanted, **CLOSE)
        method.after_batch(batch, out, state)
        method.after_epoch(epoch, None, state)
        for i in range(3):
            for c in range(2):
                said = [[slow.sigmoid(x) for x in row] for row in maps[i, c].tolist()]
                heat[i][c] = slow.updated(heat[i][c], boxes[i], flips[i], said, 0.8)
        np.testing.assert_array_equal(state.heat, heat)


def test_heat_maps_are_twice_as_wide_as_the_class_maps():
    for inputs, side in ((None, 28), (FeatureInputs(np.zeros((3, 4, 7, 5), np.float32)), 14)):
        task = Task(Z, inputs)
        for spec, wanted in (("an+scl", side), ("an+scl(side=3)", 3)):
            method = make(spec)
            state = method.start(task)
            assert state.heat.shape == (3, 2, wanted, wanted)
            assert state_size(state) == method.state_bytes(task.sizes) == 1 + 6 * wanted**2


def test_reference_crops(golden):
    g = np.load(golden / "en_scl_reference.npz")
    index = torch.tensor(g["scl_image_idx"])
    codes, mu, G = g["Z"], float(g["mu"]), int(g["G"])
    logits = torch.tensor(g["scl_logit_maps"]).double()
    boxes, flips = torch.tensor(g["scl_box_y0x0y1x1_r0c0r1c1"]), torch.tensor(g["scl_flip"])
    method, state = started(make("an+scl", side=2 * G, warmup=0, mu=mu), codes)
    np.testing.assert_array_equal(state.heat[index], g["scl_H_initial"])
    state.heat[index] = torch.tensor(g["scl_H_before"])
    for k in range(len(index)):
        one = slice(k, k + 1)
        batch = Batch(index[one], torch.tensor(codes[index[one]]), boxes[one, :4], flips[one])
        cut = [v.item() for ends in heat_maps.regions(batch, 2 * G) for v in ends]
        assert cut == boxes[k, [4, 6, 5, 7]].tolist()
        target = heat_maps.before(state.heat, batch, G, G, torch.float64)
        np.testing.assert_allclose(target[0], g["scl_target"][k], **CLOSE)
        maps = logits[one].clone().requires_grad_()
        term = method.extra(batch, out_of(maps), state)
        term.backward()
        np.testing.assert_allclose(term.item(), g["scl_loss_mean"][k], **CLOSE)
        np.testing.assert_allclose(maps.grad[0], g["scl_grad_mean"][k], **CLOSE)
    together = Batch(index, torch.tensor(codes)[index], boxes[:, :4], flips)
    mean = method.extra(together, out_of(logits), state)
    np.testing.assert_allclose(mean.item(), g["scl_loss_mean"].mean(), **CLOSE)
    method.after_batch(together, out_of(logits), state)
    apart = state.heat[index].int() - torch.tensor(g["scl_H_after"]).int()
    assert apart.abs().max() <= 1


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """20 pictures with a bright corner where a colour is present, and which are."""
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    present = rng.random((20, 3)) < 0.5
    values = rng.integers(0, 80, (20, 3, 6, 6))
    values[:, :, :3, :3] += 150 * present[:, :, None, None]
    return values.astype(np.uint8), present


@pytest.mark.parametrize("select", ["last", "best"])
def test_training_from_crops_goes_on_after_an_interruption(pictures, tmp_path, select):
    values, present = pictures
    task = Task(np.where(present, 1, 0), ImageInputs(values, crop=(0.25, 1)))
    check = Validation(ImageInputs(values), Truth.of(present))
    given = {
        "settings": Settings(epochs=4, batch_size=8, lr=0.02, select=select),
        "validation": check,
        "backbone": Small(),
    }
    spec = "en(expected=1.5)+scl(side=6, warmup=1)"
    seen = []

    def watcher(epoch, batch, out, state):
        seen.append((batch.boxes, batch.flips, state.heat.clone()))

    whole = train(task, make(spec), watch=[watcher], **given)
    assert len(seen) == 12
    assert all(boxes.shape == (len(flips), 4) for boxes, flips, _ in seen)
    assert not torch.equal(seen[0][2], seen[-1][2])
    for mapped in (False, True):
        method = make(f"en(expected=1.5)+scl(side=6, warmup=1, mapped={mapped})")
        path = tmp_path / f"training-{mapped}"
        with pytest.raises(Stop):
            train(task, method, checkpoint=path, progress=until(2), **given)
        found = train(task, method, checkpoint=path, **given)
        assert found.id == whole.id and found.losses == whole.losses
        assert found.validation == whole.validation
    assert "heat" not in whole.state.state_dict()  # 4 GB that a trained model does without
    assert "inner.expected" in whole.state.state_dict()
    whole.save(tmp_path / "model")
    again = Trained.load(tmp_path / "model", backbone=Small())
    np.testing.assert_array_equal(again.scores(task.inputs), whole.scores(task.inputs))
    assert list((tmp_path / "cache" / "heat-maps").iterdir()) == []


def test_the_crop_is_part_of_the_history(pictures):
    values, present = pictures
    given = {"settings": Settings(epochs=1), "backbone": Small()}
    histories = [
        train(Task(present.astype(int), inputs), make("an"), **given).history.settings
        for inputs in (ImageInputs(values), ImageInputs(values, crop=(0.5, 1)))
    ]
    assert "crop" not in histories[0] and histories[1]["crop"] == [0.5, 1.0]


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
        method = make("an+scl(side=2)", mapped=mapped)
        state = method.start(Task(Z))
        assert state_size(state) == method.state_bytes(Sizes(3, 3))
        found = state.heat
        assert found.dtype == torch.uint8 and found.shape == (3, 3, 2, 2)
        np.testing.assert_array_equal(found[:, :, 0, 1], 255 * (Z == 1))
        np.testing.assert_array_equal(found[:, :, 1, 0], 255 * (Z == 1))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_file_without_room_is_refused(cache, monkeypatch):
    monkeypatch.setattr(
        heat_maps.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 35_000_000})
    )
    with pytest.raises(BadInput, match=r"the heat maps take 0\.1 GB.*make room, or set"):
        make("an+scl(side=100, mapped=True)").start(Task(np.eye(100, dtype=int)))


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
