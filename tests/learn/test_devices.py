import numpy as np
import pytest
import torch

from simkit.embed import devices
from simkit.embed.devices import device_of, room_for
from simkit.errors import BadInput
from simkit.learn import model
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


def test_what_training_needs_is_not_filled(monkeypatch):
    """10 GB free for all, 1 GB kept by torch and a peak of 4 GB leave 7 GB."""
    gpu, GB = torch.device("cuda"), 10**9
    for name, value in (("memory_reserved", GB), ("max_memory_allocated", 4 * GB)):
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10 * GB, 80 * GB))
    assert room_for(6 * GB, gpu) and not room_for(7 * GB, gpu)
    assert not room_for(1, CPU)


def test_bf16_without_its_instructions_is_told_and_not_used(task, monkeypatch):
    given = {"backbone": Normalising(), "device": "cpu"}
    plain = train(task, make("an"), settings=Settings(epochs=1), **given)
    rough = Settings(epochs=1, precision="bf16")
    monkeypatch.setattr(devices, "_multiplies_bf16", lambda: False)
    with pytest.warns(UserWarning, match="precision is bf16, and this processor has no"):
        found = train(task, make("an"), settings=rough, **given)
    assert found.id == plain.id
    assert found.history.versions["device"] == "cpu in fp32"
    monkeypatch.setattr(devices, "_multiplies_bf16", lambda: True)
    assert train(task, make("an"), settings=rough, **given).id != plain.id


class Limited(Normalising):
    """A network whose maps of more than `room` images at once do not fit into the memory."""

    room = 100

    def forward(self, x):
        if len(x) > self.room:
            raise torch.OutOfMemoryError
        return super().forward(x)


def test_a_small_memory_halves_what_is_scored_at_once(task, monkeypatch):
    monkeypatch.setattr(model, "IMAGES", 16)
    found = train(task, make("an"), settings=Settings(epochs=1, batch_size=4), backbone=Limited())
    wanted = found.scores(task.inputs)
    monkeypatch.setattr(Limited, "room", 5)
    with pytest.warns(UserWarning, match="too small for 16 images at once; it goes on with 8") as w:
        np.testing.assert_allclose(found.scores(task.inputs), wanted, atol=1e-5)
    assert sum("at once" in str(each.message) for each in w) == 2  # 16, 8
    assert all(map(np.isfinite, [part.sum() for part in found.maps(task.inputs)]))
    monkeypatch.setattr(Limited, "room", 0)
    with (
        pytest.warns(UserWarning, match="it goes on with 1"),
        pytest.raises(BadInput, match="too small for one of the images"),
    ):
        found.scores(task.inputs)


def test_a_memory_too_small_for_a_step_is_one_sentence_with_its_mend(task, monkeypatch):
    monkeypatch.setattr(Limited, "room", 4)
    settings = Settings(epochs=1, batch_size=8, accumulate=2)
    with pytest.raises(BadInput, match=r"train on 8 images.*batch_size to 4 and accumulate to 4"):
        train(task, make("an"), settings=settings, backbone=Limited())
    train(task, make("an"), settings=Settings(epochs=1, batch_size=4, accumulate=4),
          backbone=Limited())  # fmt: skip


def test_tf32_is_only_on_request_and_only_in_training(task):
    seen = []

    class Switched(Normalising):
        def forward(self, x):
            seen.append(torch.backends.cudnn.conv.fp32_precision)
            return super().forward(x)

    before = torch.backends.cudnn.conv.fp32_precision
    for precision, wanted in (("fp32", {"ieee"}), ("tf32", {"tf32"})):
        settings = Settings(epochs=1, batch_size=8, precision=precision)
        found = train(task, make("an"), settings=settings, backbone=Switched())
        assert found.history.settings["training"]["precision"] == precision
        for _ in found.maps(task.inputs):
            assert torch.backends.cudnn.conv.fp32_precision == before
        found.scores(task.inputs)
        assert {*seen} - {before} == wanted - {before}
        seen.clear()
    assert torch.backends.cudnn.conv.fp32_precision == before


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
