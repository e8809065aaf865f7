"""Batches in a step, precision, averages, compiling, and the seam for several processes."""

import re
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from simkit.embed import devices
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack
from simkit.learn.validation import Validation
from tests.learn.test_train import Small

ELEMENTWISE = [
    "an", "ignore", "wan", "lsan", "asl", "fe", "an+boostlu", "partial-bce(normalise=csl)",
    "csl(prior=none,top_k=1)+boostlu", "asl+scl(warmup=0)", "asl+cl(warmup=0)", "an+scl(warmup=0)",
]  # fmt: skip


class Plain(Small):
    """Small without dropout and everything else that tells one batch from two."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Identity()


@pytest.fixture
def pictured() -> Task:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 256, (44, 3, 6, 6)).astype(np.uint8)
    return Task(rng.integers(-1, 2, (44, 3)), ImageInputs(values))


@pytest.mark.parametrize("spec", ELEMENTWISE)
def test_small_batches_add_up_to_large_ones(task, pictured, spec):
    """With 90 and 44 images the last step is smaller, and so is its last batch."""
    for one, backbone in ((task, None), (pictured, Plain())):
        large, small = (
            train(one, make(spec), backbone=backbone,
                  settings=Settings(epochs=2, lr=0.01, optimiser="sgd", **sizes))
            for sizes in ({"batch_size": 24}, {"batch_size": 8, "accumulate": 3})
        )  # fmt: skip
        for a, b in zip(large.model.parameters(), small.model.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
        np.testing.assert_allclose(large.losses, small.losses, rtol=1e-4)


def test_small_batches_add_up_where_a_method_remembers_what_was_said():
    rng = np.random.default_rng(0)
    codes = np.zeros((44, 3), int)
    codes[np.arange(44), rng.integers(0, 3, 44)] = 1
    values = rng.integers(0, 256, (44, 3, 6, 6)).astype(np.uint8)
    task = Task(codes, ImageInputs(values, crop=(0.25, 1)))
    large, small = (
        train(task, make("en(expected=1.5)+scl(warmup=0)"), backbone=Plain(),
              settings=Settings(epochs=2, lr=0.01, optimiser="sgd", **sizes))
        for sizes in ({"batch_size": 22}, {"batch_size": 11, "accumulate": 2})
    )  # fmt: skip
    for a, b in zip(large.model.parameters(), small.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("spec", ["asl", "csl(prior=none,top_k=2)", "an"])
def test_a_curve_does_not_depend_on_the_size_of_batches(task, spec):
    found = [
        train(task, make(spec), settings=Settings(epochs=1, lr=1e-12, batch_size=size)).losses
        for size in (8, 45)
    ]
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_stacked_runs_accumulate_alike(task, complete):
    settings = Settings(epochs=2, batch_size=8, accumulate=2, lr=0.02)
    runs = [(task, make("an+boostlu")), (complete, make("asl")), (task, make("an"))]
    for (one, method), found in zip(runs, train_stack(runs, settings=settings), strict=True):
        alone = train(one, method, settings=settings)
        np.testing.assert_allclose(found.scores(one.inputs), alone.scores(one.inputs), atol=1e-5)
        np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-5)


@pytest.mark.parametrize("spec", ["an", "ll-r(delta=5)+boostlu", "en(expected=1)+scl"])
def test_bf16_is_for_the_backbone_alone(pictured, spec, monkeypatch):
    monkeypatch.setattr(devices, "_multiplies_bf16", lambda: True)
    kinds = []

    class Telling(Plain):
        def forward(self, x):
            found = super().forward(x)
            kinds.append(found.dtype)
            return found

    def look(epoch, batch, out, state):
        kinds.append(out.logits.dtype)

    inputs = ImageInputs(pictured.inputs.pictures, crop=(0.25, 1))
    given = {"backbone": Telling(), "watch": [look]}
    settings = Settings(epochs=2, batch_size=16, precision="bf16")
    found = train(Task(pictured.labels, inputs), make(spec), settings=settings, **given)
    steps = kinds[1:]  # the first is that of looking at the backbone
    assert set(steps[:6:2]) == {torch.bfloat16} and set(steps[1:6:2]) == {torch.float32}
    assert all(p.dtype == torch.float32 for p in found.model.parameters())
    kinds.clear()
    exact = found.scores(inputs, precision="fp32")
    rough = found.scores(inputs)  # that of the training
    assert kinds == [torch.float32, torch.bfloat16]
    np.testing.assert_allclose(exact, rough, atol=0.05)
    assert not np.array_equal(exact, rough)


def test_averaged_weights_are_those_of_the_plain_steps(task, pooled):
    """Written out from what a watcher sees of the heads after every step."""
    seen = []

    class Heads:
        def __call__(self, epoch, batch, out, state):
            pass

        def after_epoch(self, epoch, model, state):
            seen.append(model.head.weight.detach().clone())

    settings = Settings(epochs=3, batch_size=90, ema=0.5, ema_warm_up=False, lr=0.1)
    found = train(pooled, make("an"), settings=settings, watch=[Heads()])
    start = train(pooled, make("an"), settings=Settings(epochs=1, lr=1e-12)).model.head.weight
    wanted = start.detach() / 8 + seen[0] / 8 + seen[1] / 4 + seen[2] / 2
    torch.testing.assert_close(found.model.head.weight.detach(), wanted, atol=1e-6, rtol=1e-5)
    plain = train(pooled, make("an"), settings=Settings(epochs=3, batch_size=90, lr=0.1, ema=0.5,
                                                       keep="plain"))  # fmt: skip
    torch.testing.assert_close(plain.model.head.weight.detach(), seen[2])


@pytest.mark.parametrize("keep", ["average", "plain", "better"])
def test_both_weights_are_scored_and_the_chosen_ones_kept(pooled, present, keep):
    check = Validation(FeatureInputs(pooled.inputs.values[:40]), Truth.of(present[:40]))
    settings = Settings(epochs=6, batch_size=16, lr=0.3, ema=0.8, keep=keep, select="best")
    found = train(pooled, make("an"), settings=settings, validation=check)
    curves = {
        kind: train(pooled, make("an"), validation=check, settings=Settings(
            epochs=6, batch_size=16, lr=0.3, ema=0.8, keep=kind, select="best")).validation
        for kind in ("average", "plain")
    }  # fmt: skip
    assert found.validation_plain == curves["plain"] != curves["average"]
    better = tuple(map(max, curves["plain"], curves["average"]))
    assert found.validation == {**curves, "better": better}[keep]
    scored = check.score(found.scores(check.inputs))
    assert scored == pytest.approx(max(found.validation), abs=1e-9)


def test_training_stops_where_it_falls_too_far_below_the_best(pooled, present):
    check = Validation(FeatureInputs(pooled.inputs.values[:40]), Truth.of(~present[:40]))
    how = {"epochs": 20, "lr": 0.05, "select": "best"}
    whole = train(pooled, make("an"), settings=Settings(**how), validation=check).validation
    fallen = next(n for n in range(1, 21) if max(whole[:n]) - whole[n - 1] > 0.02)
    found = train(pooled, make("an"), settings=Settings(**how, max_drop=0.02), validation=check)
    assert len(found.validation) == fallen < 20
    assert found.epoch == 1 + int(np.argmax(whole[:fallen]))


def test_nothing_is_compiled_for_a_smaller_batch_or_for_scores(pictured, present, monkeypatch):
    compiled = []

    def compiler(graph, examples):
        compiled.append([tuple(x.shape) for x in examples if x.ndim == 4])
        return graph.forward

    monkeypatch.setattr("simkit.learn.train._COMPILER", compiler)
    check = Validation(pictured.inputs, Truth.of(pictured.labels.rows(np.arange(44)) == 1))
    settings = Settings(epochs=3, batch_size=16)
    given = {"settings": settings, "validation": check}
    found = train(pictured, make("an"), **given, backbone=Plain(), compile=True)
    assert len(compiled) == 1 and (16, 3, 6, 6) in compiled[0]
    usual = train(pictured, make("an"), **given, backbone=Plain())
    np.testing.assert_allclose(
        found.scores(pictured.inputs), usual.scores(pictured.inputs), atol=1e-5
    )
    assert found.history.versions["device"] == "cpu compiled"
    assert "device" not in usual.history.versions


def test_vectors_keep_clear_of_decay(pictured):
    """A gradient of nothing: what is left moves by decay alone."""
    how = {"epochs": 1, "batch_size": 44, "optimiser": "adamw", "lr": 0.1, "weight_decay": 0.5}
    net = Plain()
    with torch.no_grad():
        net.layer.bias.fill_(-9)  # nothing passes the ReLU, so nothing but the head's bias learns
    for all_decay in (True, False):
        settings = Settings(**how, decay_vectors=all_decay, head_ratio=1)
        found = train(pictured, make("an"), settings=settings, backbone=net).model.backbone.layer
        assert found.bias[0].item() == pytest.approx(-9 * (0.95 if all_decay else 1))
        torch.testing.assert_close(found.weight, net.layer.weight * 0.95)


def test_a_loss_that_is_no_number_is_told_once_for_each_run(pooled, tmp_path):
    runs = [(pooled, make("an")), (pooled, make("ignore"))]
    how = {"settings": Settings(epochs=4, optimiser="sgd"), "lrs": [3e38, 0.01]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = train_stack(runs, **how, checkpoint=tmp_path / "training")
        train_stack(runs, **how, checkpoint=tmp_path / "training")
    assert not np.isfinite(found[0].losses[-1]) and np.isfinite(found[1].losses).all()
    (one,) = caught
    assert one.message.run == 0
    assert re.search(r"loss of epoch \d is (nan|inf) .*; set lr lower", str(one.message))
