"""Every method, and tasks, batches and outputs to put it on: what the contract tests share."""

import dataclasses
import warnings
from functools import lru_cache

import numpy as np
import torch

from simkit.annotate.similarities import Similarities
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Batch, Method, Outputs, Task, get, make, names, spell
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare

N, L, B, H, D = 24, 6, 8, 3, 4  # images, classes, batch, side of the maps, width of the features

# Combinations of the papers' tables, and settings that take another way through a method.
PAPERS = [
    "an+boostlu(train=False)",
    "ll-ct(delta=10)+boostlu",
    "ll-cp(delta=10)+boostlu",
    "an+cl",
    "epr+cl",
    "en+cl",
    "an+scl",
    "en+scl",
    "ep+scl",
    "epr+scl",
    "csl(prior='none')",
    "csl(prior='soft', eta=0.5)",
    "csl(top_k_scope='batch')",
    "se(store='none', nearest='median5')",
    "se-l(store='none')",
    "se-i(store='none')",
    "se-l(psi='mean')",
    "ll-r(delta=10)",
    "ll-r(delta=10, k_of='unknown')",
    "ll-ct(delta=10)",
    "ll-cp(delta=10)",
    "ll-r(delta=10, reproduce='cvpr22')",
    "ll-ct(delta=10, reproduce='cvpr23')+boostlu(reproduce='cvpr23')",
    "ll-cp(delta=10, reproduce='paper')",
    "wan(reproduce='spml')",
    "lsan(reproduce='spml')",
    "epr(reproduce='paper')",
    "ignore(reproduce='csl')",
    "partial-bce(reproduce='csl')",
    "em(reproduce='em')",
    "asl(reproduce='csl')",
    "p-asl(mode='ignore')",
    "csl(reproduce='csl')",
    "en(mu=0.2)",
    "epr(expected=2)",
    "csl(eta=0.3)",
]


def specs() -> list[str]:
    """Every method by itself; what wraps, around two others; and PAPERS."""
    found = []
    for name in names():
        wraps = "inner" in {f.name for f in dataclasses.fields(get(name))}
        found += [f"an+{name}", f"ll-r(delta=10)+{name}"] if wraps else [name]
    return list(dict.fromkeys([*found, *PAPERS]))


def labels(seed: int, known: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 2, (N, L)) * 2 - 1) * (rng.random((N, L)) < known)


@lru_cache(None)
def features(more: int = 0) -> FeatureInputs:
    """The same features for all tasks; `more` images at the end."""
    values = np.random.default_rng(9).standard_normal((N + 8, D, H, H)).astype(np.float32)
    return FeatureInputs(values[: N + more])


def task_of(method: Method, codes: np.ndarray, more: int = 0) -> Task:
    """A task whose first N images were asked as by RPA, with the aids of the method."""
    asked = np.arange(N + more) < N
    codes = np.concatenate([codes, np.zeros((more, L), codes.dtype)])
    history = History("simulate", {"scheme": "rpa(keep=0.5)"})
    task = Task(PartialLabels.of(codes, asked=asked, history=history), features(more))
    if Similarities in method.needs.aids:
        cosines = np.random.default_rng(8).uniform(-0.02, 0.02, (N + more, 5, L))
        task = task.with_aids(Similarities(cosines))
    return prepare(task, method, settings=Settings(epochs=1))


@lru_cache(None)
def task_for(spec: str, seed: int) -> Task:
    """Partial labels, or complete ones for a method that accepts nothing else; aids as needed."""
    method = make(spec)
    for known in (0.5, 1.0):
        task = task_of(method, labels(seed, known))
        try:
            quietly(method, task)
            return task
        except BadInput:
            continue
    raise AssertionError(f"{spell(method)} starts neither on partial nor on complete labels")


def quietly(method: Method, task: Task, seed: int = 0) -> torch.nn.Module:
    """A new state; what the method warns of is not asked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method.start(task, Chance.seeded(seed))


def ready(spec: str, seed: int = 0) -> tuple[Method, Task, np.ndarray, torch.nn.Module]:
    """A method, its task, all codes and a new state."""
    method, task = make(spec), task_for(spec, seed)
    return method, task, task.labels.rows(np.arange(N)), quietly(method, task)


def outputs(seed: int, *, scale: float = 2.0, index=None, dtype=torch.float32) -> Outputs:
    """Outputs whose maps are leaves, for the rows `index`; the logits are means of the maps."""
    chance = torch.Generator().manual_seed(seed)
    maps = scale * torch.randn(N, L, H, H, generator=chance).to(dtype)
    return of_maps((maps if index is None else maps[index]).requires_grad_(), index)


def of_maps(maps: torch.Tensor, index=None) -> Outputs:
    """Outputs from maps, with the pooled features of the rows `index`."""
    pooled = torch.from_numpy(features().values).mean((-2, -1)).to(maps.device)
    return Outputs(maps.mean((-2, -1)), maps, pooled if index is None else pooled[index])


def stacked(outs) -> Outputs:
    maps = torch.stack([out.maps.detach() for out in outs]).requires_grad_()
    return Outputs(maps.mean((-2, -1)), maps, outs[0].features)


def batch_of(codes, index) -> Batch:
    """Codes of the rows `index`, each picture cropped in its own way, every other one mirrored."""
    given = torch.as_tensor(np.asarray(codes), dtype=torch.int8)
    corner = 0.05 * (index % 5)[:, None]
    boxes = torch.cat([corner, corner + 0.1, corner + 0.6, corner + 0.7], 1)
    return Batch(index, given[..., index, :], boxes, index % 2 == 0)


def order(epoch: int) -> torch.Tensor:
    """All rows in the order of an epoch."""
    return torch.randperm(N, generator=torch.Generator().manual_seed(100 + epoch))


def learn(state: torch.nn.Module, loss: torch.Tensor, rate: float = 0.5) -> None:
    """One step of plain descent for the parameters of a state."""
    own = [p for p in state.parameters() if p.requires_grad]
    if own and loss.requires_grad:
        grads = torch.autograd.grad(loss.sum(), own, allow_unused=True, retain_graph=True)
        with torch.no_grad():
            for parameter, grad in zip(own, grads, strict=True):
                if grad is not None:
                    parameter -= rate * grad


def steps(method, state, codes, *, seed: int = 0, epochs: int = 2, start: int = 0, stop=None):
    """Losses of some steps of training (without a model), the state changed on the way."""
    found, step = [], 0
    for epoch in range(1, epochs + 1):
        for index in order(epoch).split(B):
            if start <= step and (stop is None or step < stop):
                batch, out = batch_of(codes, index), outputs(seed + epoch, index=index)
                loss = method.loss(batch, out, state)
                found.append(loss.detach().clone())
                learn(state, loss)
                with torch.no_grad():
                    method.after_batch(batch, out, state)
                if step % (N // B) == N // B - 1:
                    end_epoch(method, state, epoch, outputs(seed).logits.detach())
            step += 1
    return torch.stack(found)


def end_epoch(method, state, epoch: int, scores: torch.Tensor) -> None:
    with torch.no_grad():
        method.after_epoch(epoch, scores if method.needs.epoch_scores else None, state)


def tensors(state) -> dict[str, torch.Tensor]:
    """Copies of all that a state holds."""
    named = [*state.named_buffers(), *state.named_parameters()]
    return {key: value.detach().clone() for key, value in named}


def same(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def state_size(state: torch.nn.Module) -> int:
    """Bytes of memory that the tensors of a state take."""
    return sum(
        tensor.nbytes
        for module in state.modules()
        for name, tensor in [*module._buffers.items(), *module._parameters.items()]
        if tensor is not None and name not in getattr(module, "in_file", ())
    )
