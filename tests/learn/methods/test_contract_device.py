"""No step of any method waits for the device, leaves it, or breaks a compiled graph."""

import shutil

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simkit.learn.methods import Batch, Outputs
from tests.learn.methods.zoo import (
    B,
    N,
    batch_of,
    end_epoch,
    outputs,
    ready,
    specs,
    steps,
)
from tests.long_runs import some

every = pytest.mark.parametrize("spec", specs())
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


class Watched(TorchDispatchMode):
    """Notes operators whose result has a shape, or a branch, that depends on values."""

    waiting = ("nonzero", "_local_scalar_dense", "masked_select", "unique", "is_nonzero")
    counting = ("bincount", "repeat_interleave.Tensor", "aten::equal", "histc")

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(word in str(func) for word in self.waiting + self.counting):
            self.found.append(str(func))
        indices = args[1] if "index" in str(func) and len(args) > 1 else ()
        for given in indices if isinstance(indices, list | tuple) else ():
            if isinstance(given, torch.Tensor) and given.dtype in (torch.bool, torch.uint8):
                self.found.append(f"{func} by a mask")
        return func(*args, **(kwargs or {}))


def on(device: str, batch: Batch, out: Outputs) -> tuple[Batch, Outputs]:
    """The same batch and outputs on a device, the maps a leaf there."""
    maps = out.maps.detach().to(device).requires_grad_()
    there = Outputs(maps.mean((-2, -1)), maps, out.features.to(device))
    tensors = (batch.index, batch.labels, batch.boxes, batch.flips)
    return Batch(*(tensor.to(device) for tensor in tensors)), there


def one_step(method, state, batch: Batch, out: Outputs) -> torch.Tensor:
    """Everything that happens in a step."""
    loss = method.loss(batch, out, state)
    loss.backward()
    with torch.no_grad():
        method.selected(batch, out, state)
        method.predict(out, state)
        method.after_batch(batch, out, state)
    return loss.detach()


@every
def test_a_step_waits_for_nothing(spec):
    method, _, codes, state = ready(spec, 8)
    steps(method, state, codes)
    index = torch.arange(B)
    batch, out = batch_of(codes, index), outputs(1, index=index)
    with Watched() as watched:
        one_step(method, state, batch, out)
    assert not watched.found


@every
def test_a_step_stays_on_its_device_and_looks_at_no_value(spec, monkeypatch):
    """Tensors of the device "meta" have no values: reading one, or mixing in the CPU, raises."""
    autocast = torch.autocast  # knows every device but this one
    monkeypatch.setattr(torch, "autocast", lambda device_type, **more: autocast("cpu", **more))
    method, _, codes, state = ready(spec, 8)
    steps(method, state, codes)
    index = torch.arange(B)
    batch, out = on("meta", batch_of(codes, index), outputs(1, index=index))
    loss = one_step(method, state.to("meta"), batch, out)
    assert loss.device.type == "meta" and loss.shape == ()


@every
@on_gpu
def test_a_step_on_a_gpu_waits_for_nothing_and_agrees(spec):
    method, _, codes, state = ready(spec, 8)
    _, _, _, twin = ready(spec, 8)
    there = twin.to("cuda")
    for epoch in range(1, 4):
        for index in torch.arange(N).split(B):
            here = batch_of(codes, index), outputs(epoch, index=index)
            far = on("cuda", *here)
            wanted = one_step(method, state, *here)
            torch.cuda.synchronize()
            torch.cuda.set_sync_debug_mode("error")
            try:
                found = one_step(method, there, *far)
            finally:
                torch.cuda.set_sync_debug_mode("default")
            torch.testing.assert_close(found.cpu(), wanted, atol=1e-4, rtol=1e-4)
        scores = outputs(epoch).logits.detach()
        end_epoch(method, state, epoch, scores)
        end_epoch(method, there, epoch, scores.to("cuda"))


def compiles_once(spec: str, backend: str, epochs: int, device: str = "cpu") -> None:
    """Loss and gradient of ten epochs by one compiled graph without a break, as without it."""
    from torch._dynamo.utils import counters

    method, _, codes, state = ready(spec)
    state = state.to(device)
    batch, out = on(device, batch_of(codes, torch.arange(N)), outputs(0))

    def act(maps):
        return method.loss(batch, Outputs(maps.mean((-2, -1)), maps, out.features), state)

    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(act, backend=backend, fullgraph=True)
    for epoch in range(1, epochs + 1):
        given = [outputs(epoch).maps.detach().to(device).requires_grad_() for _ in range(2)]
        found, wanted = compiled(given[0]), act(given[1])
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        if wanted.requires_grad:
            found.backward()
            wanted.backward()
            torch.testing.assert_close(given[0].grad, given[1].grad, atol=1e-6, rtol=1e-5)
        end_epoch(method, state, epoch, outputs(0).logits.detach().to(device))
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("spec", some(specs(), 16))
def test_compiles_once_without_a_break(spec):
    compiles_once(spec, "aot_eager", 10)


@every
@pytest.mark.slow
def test_the_compiler_gives_the_same_numbers(spec, request):
    """Ten seconds each: with `-m slow` where there is a C++ compiler."""
    if "slow" not in request.config.getoption("markexpr"):
        pytest.skip("run with -m slow")
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    compiles_once(spec, "inductor", 3)


@pytest.mark.parametrize("spec", some(specs(), 16))
@on_gpu
def test_compiles_once_on_a_gpu(spec):
    compiles_once(spec, "inductor", 3, "cuda")
