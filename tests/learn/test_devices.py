import numpy as np
import pytest
import torch

from simkit.embed.networks import device_of
from simkit.errors import BadInput
from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.train import train
from tests.learn.test_linear_init import Normalising, task

__all__ = ["task"]
CPU = torch.device("cpu")
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU here")


def test_auto_is_the_cpu_for_what_needs_no_gpu():
    assert device_of("auto", needed=False) == device_of("cpu") == device_of(CPU) == CPU


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:one", ""])
def test_strange_devices_are_refused(name):
    with pytest.raises(BadInput, match=r"device is.*auto, cpu, cuda or a numbered GPU"):
        device_of(name)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert device_of("auto") == torch.device("cuda")
    with pytest.raises(BadInput, match=r"device is 'cuda:1', and.*use auto or cpu"):
        device_of("cuda:1")


def test_the_gpu_of_a_mac_is_for_features_only(monkeypatch):
    with pytest.raises(BadInput, match="mps on a Mac that has it"):
        device_of("mps", mps=True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device_of("mps", mps=True) == torch.device("mps")
    with pytest.raises(BadInput, match="device is 'mps'; auto, cpu"):
        device_of("mps")


def test_a_state_in_a_file_is_for_the_cpu(task, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(BadInput, match="keeps its state in a file, where a GPU cannot reach it"):
        train(task, make("an+scl(mapped=True)"), backbone=Normalising(), device="cuda")


@no_gpu
@pytest.mark.parametrize(
    "spec", ["an", "ll-r(delta=5)+boostlu", "en(expected=1)+cl", "role(expected=1)"]
)
def test_a_gpu_finds_the_same_model(task, spec):
    found = {
        device: train(task, make(spec), settings=Settings(epochs=2, batch_size=8),
                      backbone=Normalising(), device=device)
        for device in ("cpu", "cuda")
    }  # fmt: skip
    assert next(found["cuda"].model.parameters()).device == CPU
    assert found["cuda"].history.versions["device"] == "cuda"
    np.testing.assert_allclose(
        *(one.scores(task.inputs, device="cpu") for one in found.values()), atol=1e-3
    )


@no_gpu
def test_nothing_in_a_step_waits_for_the_gpu(task):
    steps = []

    class Strict:
        """After the first step, which sets things up, waiting is an error until the epoch ends."""

        def __call__(self, epoch, batch, out, state):
            steps.append(epoch)
            torch.cuda.set_sync_debug_mode("error")

        def after_epoch(self, epoch, model, state):
            torch.cuda.set_sync_debug_mode("default")

    settings = Settings(epochs=1, batch_size=8, precision="bf16", ema=0.9, schedule="cosine")
    try:
        with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"):
            # The epoch's end reads the mean loss: that is the first thing that may wait.
            train(task, make("en(expected=1)+cl"), settings=settings, backbone=Normalising(),
                  device="cuda", watch=[Strict()])  # fmt: skip
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(steps) == 4
