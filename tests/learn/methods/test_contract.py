"""What every method promises; a new one is covered as soon as its file is there."""

import copy
import dataclasses

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch.utils._python_dispatch import TorchDispatchMode

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Batch, Outputs, Task, get, make, names, spell
from simkit.learn.methods.state import size_in_bytes, stack, view
from simkit.learn.optim import Settings
from simkit.learn.prepare import prepare

N, L, B, H = 24, 6, 8, 3


def specs() -> list[str]:
    """Every method by itself; what wraps, around two others."""
    found = []
    for name in names():
        wraps = "inner" in {f.name for f in dataclasses.fields(get(name))}
        found += [f"an+{name}", f"ll-r(delta=10)+{name}"] if wraps else [name]
    return [*found, "ll-r(delta=10)"]


every = pytest.mark.parametrize("spec", specs())


def labels(seed: int, known: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 2, (N, L)) * 2 - 1) * (rng.random((N, L)) < known)


def task_for(method, seed: int) -> Task:
    """Partial labels, or complete ones for a method that accepts nothing else; aids as needed."""
    features = np.random.default_rng(9).standard_normal((N, 4, H, H)).astype(np.float32)
    for known in (0.5, 1.0):
        task = Task(labels(seed, known), FeatureInputs(features))
        task = prepare(task, method, settings=Settings(epochs=1))
        try:
            method.start(task, Chance.seeded(seed))
            return task
        except BadInput:
            continue
    raise AssertionError(f"{spell(method)} starts neither on partial nor on complete labels")


def outputs(seed: int, *, scale: float = 2.0, index=None, dtype=torch.float32) -> Outputs:
    """Outputs whose maps are leaves, for the rows `index`; the logits are means of the maps."""
    chance = torch.Generator().manual_seed(seed)
    maps = scale * torch.randn(N, L, H, H, generator=chance).to(dtype)
    maps = (maps if index is None else maps[index]).requires_grad_()
    features = torch.randn(len(maps), 4, generator=chance)
    return Outputs(maps.mean((-2, -1)), maps, features)


def stacked(outs) -> Outputs:
    maps = torch.stack([out.maps.detach() for out in outs]).requires_grad_()
    return Outputs(maps.mean((-2, -1)), maps, outs[0].features)


def batch_of(codes, index) -> Batch:
    given = torch.as_tensor(np.asarray(codes), dtype=torch.int8)
    boxes = torch.tensor([0.1, 0.2, 0.8, 0.9]).expand(len(index), 4)
    return Batch(index, given[..., index, :], boxes, torch.arange(len(index)) % 2 == 0)


def steps(method, state, codes, *, seed: int = 0, epochs: int = 2, start: int = 0, stop=None):
    """Losses of some steps of training (without a model), the state changed on the way."""
    found, step = [], 0
    for epoch in range(1, epochs + 1):
        for first in range(0, N, B):
            if start <= step and (stop is None or step < stop):
                index = torch.arange(first, first + B)
                batch, out = batch_of(codes, index), outputs(seed + epoch, index=index)
                found.append(method.loss(batch, out, state).detach().clone())
                with torch.no_grad():
                    method.after_batch(batch, out, state)
                if first + B == N:
                    scores = outputs(seed).logits.detach() if method.needs.epoch_scores else None
                    method.after_epoch(epoch, scores, state)
            step += 1
    return torch.stack(found)


def tensors(state) -> dict[str, torch.Tensor]:
    return {k: v.detach().clone() for k, v in state.state_dict().items()}


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


@every
def test_stacked_runs_equal_separate_runs(spec):
    method = make(spec)
    tasks = [task_for(method, seed) for seed in range(3)]
    codes = [task.labels.rows(np.arange(N)) for task in tasks]
    alone = [method.start(task, Chance.seeded(0)) for task in tasks]
    together = stack([method.start(task, Chance.seeded(0)) for task in tasks])
    for epoch in (1, 2, 3):
        for first in range(0, N, B):
            index = torch.arange(first, first + B)
            singles = [outputs(10 * epoch + r, index=index) for r in range(3)]
            out = stacked(singles)
            batch = batch_of(np.stack(codes), index)
            found = method.loss(batch, out, together)
            assert found.shape == (3,)
            found.sum().backward()
            for r, single in enumerate(singles):
                own = batch_of(codes[r], index)
                wanted = method.loss(own, single, alone[r])
                wanted.backward()
                torch.testing.assert_close(found[r], wanted, atol=1e-5, rtol=1e-5)
                torch.testing.assert_close(out.maps.grad[r], single.maps.grad, atol=1e-6, rtol=1e-5)
                predicted = method.predict(out, together)[r]
                torch.testing.assert_close(predicted, method.predict(single, alone[r]))
                selected = method.selected(batch, out, together)[r]
                assert torch.equal(selected, method.selected(own, single, alone[r]))
                with torch.no_grad():
                    method.after_batch(own, single, alone[r])
            with torch.no_grad():
                method.after_batch(batch, out, together)
        ends = [outputs(r).logits.detach() for r in range(3)]
        wants = method.needs.epoch_scores
        for r in range(3):
            method.after_epoch(epoch, ends[r] if wants else None, alone[r])
        method.after_epoch(epoch, torch.stack(ends) if wants else None, together)
    for r in range(3):
        inside = tensors(view(together, r))
        assert inside.keys() == tensors(alone[r]).keys()
        for key, value in tensors(alone[r]).items():
            torch.testing.assert_close(inside[key], value, atol=1e-5, rtol=1e-5)


@every
def test_the_same_run_twice_gives_the_same_bits(spec):
    method = make(spec)
    task = task_for(method, 1)
    codes = task.labels.rows(np.arange(N))
    found = []
    for _ in range(2):
        state = method.start(task, Chance.seeded(3))
        found.append((steps(method, state, codes), tensors(state)))
    assert torch.equal(found[0][0], found[1][0]) and same(found[0][1], found[1][1])


@every
def test_loss_prediction_and_selection_only_read(spec):
    method = make(spec)
    task = task_for(method, 2)
    codes = task.labels.rows(np.arange(N))
    state = method.start(task, Chance.seeded(0))
    steps(method, state, codes)
    before = tensors(state)
    batch, out = batch_of(codes, torch.arange(N)), outputs(5)
    kept = batch.labels.clone(), out.maps.detach().clone()
    method.loss(batch, out, state)
    method.predict(out, state)
    chosen = method.selected(batch, out, state)
    assert same(before, tensors(state))
    assert torch.equal(batch.labels, kept[0]) and torch.equal(out.maps.detach(), kept[1])
    assert chosen.shape == out.logits.shape and chosen.dtype == torch.bool


@every
@pytest.mark.parametrize("known", ["nothing", "everything", "half"])
def test_gradients_are_finite_far_out(spec, known):
    method = make(spec)
    task = task_for(method, 4)
    state = method.start(task, Chance.seeded(0))
    steps(method, state, task.labels.rows(np.arange(N)))
    share = {"nothing": 0.0, "everything": 1.0, "half": 0.5}[known]
    batch = batch_of(labels(5, share), torch.arange(N))
    signs = torch.as_tensor(labels(6, 1.0))[..., None, None].expand(N, L, H, H)
    maps = (100.0 * signs).requires_grad_()
    loss = method.loss(batch, Outputs(maps.mean((-2, -1)), maps, torch.zeros(N, 4)), state)
    assert torch.isfinite(loss)
    if loss.requires_grad:
        loss.backward()
        assert torch.isfinite(maps.grad).all()
    for parameter in state.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()


@every
def test_the_state_survives_saving_in_the_middle_of_an_epoch(spec):
    method = make(spec)
    task = task_for(method, 7)
    codes = task.labels.rows(np.arange(N))
    state = method.start(task, Chance.seeded(0))
    middle = N // B + 1  # one step into the second epoch
    steps(method, state, codes, stop=middle)
    data = save(tensors(state))
    rest = steps(method, state, codes, start=middle)
    again = method.start(task, Chance.seeded(99))
    again.load_state_dict(load(data))
    assert torch.equal(steps(method, again, codes, start=middle), rest)
    assert same(tensors(again), tensors(state))


class Watched(TorchDispatchMode):
    """Notes operators whose result has a shape, or a branch, that depends on values."""

    waiting = ("nonzero", "_local_scalar_dense", "masked_select", "unique", "is_nonzero")

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(word in str(func) for word in self.waiting):
            self.found.append(str(func))
        indices = args[1] if "index" in str(func) and len(args) > 1 else ()
        for given in indices if isinstance(indices, list | tuple) else ():
            if isinstance(given, torch.Tensor) and given.dtype in (torch.bool, torch.uint8):
                self.found.append(f"{func} by a mask")
        return func(*args, **(kwargs or {}))


def test_the_watch_sees_what_waits():
    x = torch.arange(4.0)
    for act in (
        lambda: x[x > 1],
        lambda: x.sum().item(),
        lambda: bool(x.any()),
        lambda: x.nonzero(),
    ):
        with Watched() as watched:
            act()
        assert watched.found


@every
def test_a_step_waits_for_nothing(spec):
    method = make(spec)
    task = task_for(method, 8)
    codes = task.labels.rows(np.arange(N))
    state = method.start(task, Chance.seeded(0))
    steps(method, state, codes)
    batch, out = batch_of(codes, torch.arange(B)), outputs(1, index=torch.arange(B))
    with Watched() as watched:
        loss = method.loss(batch, out, state)
        loss.backward()
        with torch.no_grad():
            method.selected(batch, out, state)
            method.predict(out, state)
            method.after_batch(batch, out, state)
    assert not watched.found


@every
def test_the_state_is_as_large_as_declared(spec):
    method = make(spec)
    task = task_for(method, 0)
    assert size_in_bytes(method.start(task, Chance.seeded(0))) == method.state_bytes(task.sizes)


@every
def test_bfloat16_outputs_give_a_finite_loss(spec):
    method = make(spec)
    task = task_for(method, 0)
    state = method.start(task, Chance.seeded(0))
    batch = batch_of(task.labels.rows(np.arange(N)), torch.arange(N))
    exact, rough = outputs(1), outputs(1, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        loss = method.loss(batch, rough, state)
        loss.backward()
    assert torch.isfinite(rough.maps.grad).all()
    torch.testing.assert_close(loss.float(), method.loss(batch, exact, state), atol=1e-2, rtol=3e-2)


@every
def test_the_spelling_gives_the_method_back(spec):
    method = make(spec)
    assert make(spell(method)) == method and hash(make(spell(method))) == hash(method)
    assert copy.copy(method) == method


@every
def test_compiles_once_without_a_break(spec):
    method = make(spec)
    task = task_for(method, 0)
    state = method.start(task, Chance.seeded(0))
    batch = batch_of(task.labels.rows(np.arange(N)), torch.arange(N))
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(
        lambda x: method.loss(batch, Outputs(x.mean((-2, -1)), x), state),
        backend=counter,
        fullgraph=True,
    )
    for epoch in range(1, 11):
        maps = outputs(epoch).maps.detach()
        wanted = method.loss(batch, Outputs(maps.mean((-2, -1)), maps), state)
        torch.testing.assert_close(compiled(maps), wanted)
        scores = outputs(0).logits.detach() if method.needs.epoch_scores else None
        method.after_epoch(epoch, scores, state)
    assert counter.frame_count == 1


def test_every_method_says_what_it_is():
    for name in names():
        part = get(name)
        assert part.title and part.source and part.__doc__, name
    assert set(methods.__all__) <= set(dir(methods))
