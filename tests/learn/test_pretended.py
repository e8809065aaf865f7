"""Whole trainings on a pretended GPU: no tensor is left on the CPU, and no step waits."""

import numpy as np
import pytest
import torch

from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.settings import Settings
from simkit.learn.train import train
from simkit.learn.validation import Validation
from tests.learn.methods.zoo import L, features, specs, task_for
from tests.learn.pretended import Far, pretended_gpu
from tests.learn.test_linear_init import Normalising, task
from tests.long_runs import some

__all__ = ["task"]


def test_the_pretended_gpu_refuses_the_cpu_and_notes_waits(monkeypatch):
    with pretended_gpu(monkeypatch) as waits:
        there = torch.arange(3.0).to("cuda")
        assert there.is_cuda and (there + 1).device.type == "cuda"
        assert isinstance(torch.zeros(2, device="cuda"), Far)
        with pytest.raises(RuntimeError, match="on the same device"):
            there + torch.ones(3)
        assert waits == []
        assert (2 * there).cpu().tolist() == [0, 2, 4] and waits == ["to the CPU"]
        there[there > 1]
        assert len(waits) > 1


def trained(task, spec, device, *, batch_size, **how):
    held = Validation(how.pop("held"), Truth.of(np.arange(8 * L).reshape(8, L) % 5 < 2))
    settings = Settings(epochs=2, batch_size=batch_size, lr=0.02, ema=0.9, schedule="cosine")
    return train(task, make(spec), settings=settings, validation=held, device=device, **how)


@pytest.mark.parametrize("spec", some(specs(), 20))
def test_heads_train_the_same_and_steps_do_not_wait(spec, monkeypatch):
    if "mapped" in spec:
        pytest.skip("its state in a file is for the CPU")
    task, held = task_for(spec, 0), FeatureInputs(features().values[:8])
    counts = []
    for batch_size in (8, 4):  # 3 and 6 steps an epoch
        here = trained(task, spec, "cpu", batch_size=batch_size, held=held)
        with pretended_gpu(monkeypatch) as waits:
            there = trained(task, spec, "cuda", batch_size=batch_size, held=held)
            counts.append(len(waits))
        assert there.losses == here.losses and there.validation == here.validation
        assert there.history.versions["device"] == "cuda"
    assert counts[0] == counts[1]


@pytest.mark.parametrize("spec", ["an", "ll-r(delta=5)+boostlu", "en(expected=1)+cl"])
@pytest.mark.parametrize("head_epochs", [0, 1])
def test_backbones_train_the_same_from_images_on_the_gpu(task, spec, head_epochs, monkeypatch):
    inputs = ImageInputs(task.inputs.pictures, crop=(0.25, 1), vertical=True)
    task = Task(task.labels, inputs)
    settings = Settings(epochs=3, batch_size=8, accumulate=2, ema=0.9, head_epochs=head_epochs)
    how = {"settings": settings, "backbone": Normalising()}
    here = train(task, make(spec), device="cpu", **how)
    with pretended_gpu(monkeypatch):
        there = train(task, make(spec), device="cuda", **how)
        scores = there.scores(inputs, device="cuda")
    # Channels last, as convolutions are faster on GPUs, round differently.
    np.testing.assert_allclose(there.losses, here.losses, rtol=1e-5)
    np.testing.assert_allclose(scores, here.scores(inputs, device="cpu"), atol=1e-3)
