"""How a method's loss answers to one logit, for a known and for an unknown label, early and late.

Methods that select look at a whole batch and at what was said in earlier epochs. So one entry of a
batch is moved over a range of logits while all others stay where they are, and the model has said
that same logit of it in every epoch before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.state import stack
from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import Optimiser
from simkit.study.analysis.asked import check_result, counts, listed
from simkit.study.analysis.learning.scene import Entry, Scene

LOSS_SHAPES = pa.schema(
    [
        ("method", pa.string()),
        ("entry", pa.string()),
        ("epoch", pa.int64()),
        *((name, pa.float64()) for name in ("logit", "loss", "gradient")),
        ("selected", pa.bool_()),
    ]
)
_RATE = 0.01  # of a head; parameters of a state learn at what is theirs beside it
# What a method averages over, where it is neither a setting of it nor all entries.
_AVERAGES = dict.fromkeys(("se", "se-l", "se-i"), "sum_classes")
_AVERAGES |= {"imcl": "mean_observed", "cnn-rnn": "mean_named"}


def loss_shapes(
    scene: Scene,
    methods: Sequence[str],
    *,
    epochs: Sequence[int] = (1, 10),
    entries: Mapping[str, Entry] | None = None,
    logits: Sequence[float] = tuple(np.linspace(-8, 8, 65)),
) -> pa.Table:
    """Loss and gradient over the logit of each entry, by each method, in each of the epochs.

    Columns: method, entry, epoch, logit; loss of the batch above its smallest value, and its
    gradient for that logit, both times the number of entries that the method averages over;
    selected: whether the method rejects, corrects or ignores the entry there.

    Parameters of a state learn with Adam, at the rate that the method gives them (`groups`) beside
    a head's of 0.01; aids are built from the scene. Raises BadInput where no method, epoch or logit
    is given, and for entries that are not in the first batch.
    """
    if not (specs := listed(methods, "loss_shapes: methods")):
        raise BadInput("loss_shapes: no method is named; name one, such as an")
    entries = scene.entries() if entries is None else entries
    epochs = counts(epochs, "loss_shapes: an epoch")
    _check(scene, epochs, entries, logits)
    found = []
    for spec in specs:
        method = make(spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that do not suit a method
            task = prepare(scene.task, method, settings=Settings(epochs=5))
            for name, entry in entries.items():
                walk = _Walk(scene, task, method, entry, torch.tensor(logits, dtype=torch.float32))
                for epoch, values in walk.epochs(epochs):
                    size = len(logits)
                    about = {"method": [spec] * size, "entry": [name] * size}
                    where = {"epoch": [epoch] * size, "logit": list(logits)}
                    found.append(pa.table({**about, **where, **values}, schema=LOSS_SHAPES))
    return pa.concat_tables(found)


def at(table: pa.Table, method: str, entry: str, epoch: int, logit: float) -> dict[str, Any]:
    """The row of the table nearest to this logit. Raises BadInput where there is none."""
    check_result(table, LOSS_SHAPES, asker="at", made_by="loss_shapes")
    wanted = {"method": method, "entry": entry, "epoch": epoch}
    for key, value in wanted.items():
        known = table[key].unique().to_pylist()
        if value not in known:
            raise BadInput(
                f"at: the table has no {key} {value!r} here; known are {', '.join(map(str, known))}"
            )
        table = table.filter(pc.equal(table[key], value))
    rows = table.to_pylist()
    return min(rows, key=lambda row: abs(row["logit"] - logit))


def gradient(table: pa.Table, method: str, entry: str, epoch: int, logit: float) -> float:
    """The gradient in that row: above 0 the logit is pushed down, below 0 it is pulled up."""
    return float(at(table, method, entry, epoch, logit)["gradient"])


def _check(
    scene: Scene, epochs: Sequence[int], entries: Mapping[str, Entry], logits: Sequence[float]
) -> None:
    if not len(epochs) or not entries or not len(logits) or not np.isfinite(logits).all():
        raise BadInput(
            "loss_shapes: one epoch, one entry and one logit are needed at least, and logits are "
            "numbers; give some"
        )
    for name, (image, c) in entries.items():
        if not (0 <= image < scene.batch and 0 <= c < scene.truth.shape[1]):
            raise BadInput(
                f"loss_shapes: entry {name!r} is image {image}, class {c}; one of the first "
                f"{scene.batch} images and of {scene.truth.shape[1]} classes is expected"
            )


class _Walk:
    """One entry of one method through the epochs; each of its logits is a run of its own."""

    def __init__(
        self, scene: Scene, task: Task, method: Method, entry: Entry, logits: Tensor
    ) -> None:
        self.scene, self.task, self.method, self.entry = scene, task, method, entry
        state = method.start(task, Chance.seeded(0))
        self.state: nn.Module = stack([state] * len(logits))
        self.learner = _learner(method, self.state)
        self.said = torch.from_numpy(scene.logits).repeat(len(logits), 1, 1)
        self.said[:, entry[0], entry[1]] = logits
        self.pooled = torch.from_numpy(np.asarray(task.inputs.values)).mean((-2, -1))

    def epochs(self, wanted: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each wanted epoch and what its first batch gives; then the epoch itself."""
        still = not any(True for _ in self.state.buffers()) and self.learner is None
        for epoch in range(1, max(wanted) + 1):
            if epoch in wanted:
                yield epoch, self.shape()
            if still or epoch == max(wanted):  # where nothing is kept, nothing can change
                continue
            for index in torch.arange(len(self.pooled)).split(self.scene.batch):
                batch, out, _ = self.step(index)
                if self.learner is not None:
                    self.state.zero_grad()
                    self.method.loss(batch, out, self.state).sum().backward()
                    self.learner.step()
                with torch.no_grad():
                    self.method.after_batch(batch, out, self.state)
            scores = self.said if self.method.needs.epoch_scores else None
            with torch.no_grad():
                self.method.after_epoch(epoch, scores, self.state)

    def step(self, index: Tensor) -> tuple[Batch, Outputs, Tensor]:
        """A batch in all runs, what is said of it, and the logits (R, b, L), a leaf."""
        codes = torch.from_numpy(self.task.labels.rows(index.numpy()))
        logits = self.said[:, index].requires_grad_()
        maps = logits[..., None, None] + self.scene.shapes
        batch = Batch(index, codes.expand(len(logits), -1, -1))
        return batch, Outputs(maps.mean((-2, -1)), maps, self.pooled[index]), logits

    def shape(self) -> dict[str, Any]:
        """Loss, gradient and selection at the entry, for each of its logits."""
        batch, out, logits = self.step(torch.arange(self.scene.batch))
        image, c = self.entry
        loss = self.method.loss(batch, out, self.state).double()
        (slope,) = torch.autograd.grad(loss.sum(), logits)
        counted = _counted(self.method, batch)
        chosen = self.method.selected(batch, out, self.state)[:, image, c]
        return {
            "loss": (counted * (loss - loss.min())).tolist(),
            "gradient": (counted * slope[:, image, c]).tolist(),
            "selected": chosen.tolist(),
        }


def _learner(method: Method, state: nn.Module) -> Optimiser | None:
    """For the parameters of a state, at their own rates; None where there are none."""
    model = nn.Module()
    model.head = nn.Identity()
    groups = [g for g in method.groups(model, state, _RATE) if g["params"]]
    return Optimiser(groups, Settings()) if groups else None


def _counted(method: Method, batch: Batch) -> int:
    """How many entries the method averages over, so that losses can be drawn side by side."""
    while hasattr(method, "inner"):
        method = method.inner
    b, L = batch.labels.shape[-2:]
    codes = batch.labels[0]
    sizes = {
        "mean_all": b * L,
        "mean_observed": int((codes != UNKNOWN).sum()),
        "mean_named": int((codes == PRESENT).sum()) + b,  # and the end of every list
        "sum_classes": b,
        "sum": 1,
    }
    usual = "sum" if getattr(method, "normalise", "") == "csl" else "mean_all"
    return sizes[getattr(method, "reduction", None) or _AVERAGES.get(method.name, usual)]
