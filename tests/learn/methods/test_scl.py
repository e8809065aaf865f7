import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Batch, Outputs, Sizes, Task, make
from simkit.learn.methods.pieces import heat_maps
from simkit.learn.methods.state import size_in_bytes
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train, train_stack
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from tests.learn.methods.steps import started
from tests.learn.saved.test_checkpoint import Stop, until
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
            assert size_in_bytes(state) == method.state_bytes(task.sizes) == 8 + 6 * wanted**2


def test_memory_is_known_beforehand():
    coco = Sizes(images=65665, classes=80, map_side=14)
    assert make("an+scl").state_bytes(coco) == 65665 * 80 * 28**2 + 8
    assert make("an+scl(mapped=True)").state_bytes(coco) == 8


def test_mapped_heat_maps_give_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path))
    maps = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(0))
    batch = Batch(torch.tensor([2, 0, 1]), torch.tensor(Z[[2, 0, 1]]))
    found = []
    for mapped in (False, True):
        method, state = started(make("en(expected=2)+scl", side=4, warmup=0, mapped=mapped), Z)
        for epoch in (1, 2):
            loss = method.loss(batch, out_of(maps), state)
            method.after_batch(batch, out_of(maps), state)
            method.after_epoch(epoch, None, state)
        found.append((loss.item(), state.heat.clone()))
        assert size_in_bytes(state) == method.state_bytes(Sizes(3, 2))
    assert found[0][0] == found[1][0] and torch.equal(found[0][1], found[1][1])


def test_class_maps_are_needed():
    method, state = started("an+scl", Z)
    batch = Batch(torch.arange(3), torch.tensor(Z))
    with pytest.raises(BadInput) as error:
        method.loss(batch, Outputs(torch.zeros(3, 2)), state)
    assert str(error.value) == (
        "method 'scl' compares class maps, and the outputs hold none; train it on maps "
        '(features of kind "maps"), or give Outputs(maps=...)'
    )


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
        cut = [v.item() for v in heat_maps.regions(batch, 2 * G)]
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


def test_several_runs_on_cached_maps_equal_separate_runs():
    rng = np.random.default_rng(0)
    inputs = FeatureInputs(rng.standard_normal((12, 4, 2, 2)).astype(np.float32))
    tasks = [Task(rng.choice([-1, 0, 1], (12, 3)), inputs) for _ in range(2)]
    settings = Settings(epochs=3, batch_size=5, lr=0.05)
    runs = [
        (task, make(spec))
        for task in tasks
        for spec in ("en(expected=1)+scl(warmup=1)", "an+cl(warmup=1)")
    ]
    with pytest.warns(UserWarning, match="method 'scl' compares crops of a picture"):
        together = train_stack(runs, settings=settings)
        for (task, method), found in zip(runs, together, strict=True):
            alone = train(task, method, settings=settings)
            np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-5)
            np.testing.assert_allclose(found.scores(inputs), alone.scores(inputs), atol=1e-5)
