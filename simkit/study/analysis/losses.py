"""How a method's loss depends on one logit, for a known and for an unknown label, early and late.

Methods that select labels look at a whole batch and at the scores of earlier epochs. So one entry
of a batch is moved over a range of logits while all others stay, and the model has given that
entry the same logit in every epoch before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.state import stack
from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import Optimiser
from simkit.study.analysis import checks
from simkit.study.analysis.checks import Methods
from simkit.study.frames import frame

Entry = tuple[int, int]  # (image, class)
_QUARTER = torch.tensor([[3.0, -1.0], [-1.0, -1.0]])  # a map with one high cell; its mean is 0
_PEAK = 2.5  # times that, for the last class
_RATE = 0.01  # of a head; parameters of a state learn at what the method gives them beside it
# What a method averages over, where it is neither one of its settings nor all entries.
_AVERAGES = dict.fromkeys(("se", "se-l", "se-i"), "sum_classes")
_AVERAGES |= {"imcl": "mean_observed", "cnn-rnn": "mean_named"}


@dataclass(frozen=True, eq=False)
class Scene:
    """Images with partial labels, and the logits of a half-trained model.

    Parameters
    ----------
    task
        Labels and features.
    truth
        (N, L) bool.
    logits
        (N, L) float32.
    batch
        Images in a batch; the first batch holds the entries that are moved.
    """

    task: Task
    truth: NDArray[np.bool_]
    logits: NDArray[np.float32]
    batch: int = 16

    @classmethod
    def drawn(
        cls, seed: int = 0, *, images: int = 64, classes: int = 20, known: float = 0.4
    ) -> Scene:
        """Frequent and rare classes, each label known with probability `known`.

        Logits are normal, around -2.5 for absent and 0.5 for present classes, with a deviation of
        1.5.
        """
        rng = np.random.default_rng(Chance.seeded(seed).of("loss shapes").seed())
        truth = rng.random((images, classes)) < np.geomspace(0.5, 0.04, classes)
        truth[np.arange(classes) % images, np.arange(classes)] = True  # every class occurs
        codes = np.where(truth, PRESENT, ABSENT) * (rng.random(truth.shape) < known)
        features = truth @ rng.standard_normal((classes, 32)) + rng.standard_normal((images, 32))
        maps = np.broadcast_to(features[..., None, None], (*features.shape, *_QUARTER.shape))
        logits = np.where(truth, 0.5, -2.5) + 1.5 * rng.standard_normal(truth.shape)
        labels = PartialLabels.of(codes, asked=np.ones(images, bool))
        task = Task(labels, FeatureInputs(np.ascontiguousarray(maps, np.float32)))
        return cls(task, truth, logits.astype(np.float32), min(cls.batch, images))

    @property
    def shapes(self) -> Tensor:
        """(L, 2, 2) what a class map adds to the logit of its class in each cell.

        Nothing for the first class, which fills the image; the last stands out most, in a quarter.
        """
        return torch.linspace(0, _PEAK, self.truth.shape[1])[:, None, None] * _QUARTER

    def entries(self) -> dict[str, Entry]:
        """A known positive, a known negative and an unknown label of the first batch.

        All are of one class, the rarest that has all three; the unknown one is absent in truth.
        """
        codes = self.task.labels.rows(np.arange(self.batch))
        kinds = {
            "known positive": codes == PRESENT,
            "known negative": codes == ABSENT,
            "unknown": (codes == UNKNOWN) & ~self.truth[: self.batch],
        }
        (shared,) = np.nonzero(np.all([mask.any(0) for mask in kinds.values()], axis=0))
        if not len(shared):
            raise BadInput("no class of the scene's first batch has labels of all three kinds")
        c = int(shared[np.argmin(self.truth[:, shared].sum(0))])
        return {name: (int(np.argmax(mask[:, c])), c) for name, mask in kinds.items()}


def loss_shapes(
    scene: Scene,
    methods: Methods,
    *,
    epochs: Sequence[int] = (1, 10),
    entries: Mapping[str, Entry] | None = None,
    logits: Sequence[float] | NDArray[np.floating] = tuple(np.linspace(-8, 8, 65)),
) -> pd.DataFrame:
    """Loss and gradient over the logit of each entry, by each method, in each of the epochs.

    Parameters of a state learn with Adam, at the rate that the method gives them (`groups`) beside
    a head's of 0.01; aids are built from the scene.

    Parameters
    ----------
    entries
        Entries of the first batch by a name each; by default `scene.entries()`.

    Returns
    -------
    DataFrame
        method, entry, epoch, logit; loss of the batch above its smallest value, and its gradient
        for that logit, both times the number of entries that the method averages over; selected:
        whether the method rejects, corrects or ignores the entry there.
    """
    epochs = checks.counts(epochs, "loss_shapes: an epoch")
    entries = scene.entries() if entries is None else entries
    parts = []
    for spec in checks.some(methods, "loss_shapes"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that do not suit a method
            method = make(spec)
            task = prepare(scene.task, method, settings=Settings(epochs=5))
            for name, entry in entries.items():
                moved = _Moved(scene, task, method, entry, torch.tensor(logits).float())
                for epoch, columns in moved.in_epochs(epochs):
                    about = {"method": spec, "entry": name, "epoch": epoch, "logit": logits}
                    parts.append(pd.DataFrame(about | columns))
    return pd.concat(parts, ignore_index=True)


def loss_at(table: Any, method: str, entry: str, epoch: int, logit: float) -> dict[str, Any]:
    """The row of a table of `loss_shapes` that is nearest to this logit."""
    columns = {"method": str, "entry": str, "epoch": int, "logit": float, "loss": float}
    columns |= {"gradient": float, "selected": bool}
    table = frame(table, columns, asker="loss_at", mend="give what loss_shapes returns")
    rows = table.query("method == @method and entry == @entry and epoch == @epoch")
    if rows.empty:
        raise BadInput(
            f"loss_at: the table has no entry {entry!r} under {method!r} in epoch {epoch}; give "
            "those of a table that loss_shapes returns"
        )
    return dict(rows.loc[(rows["logit"] - logit).abs().idxmin()])


def loss_gradient(table: Any, method: str, entry: str, epoch: int, logit: float) -> float:
    """The gradient in that row: above 0 the logit is pushed down, below 0 it is pulled up."""
    return float(loss_at(table, method, entry, epoch, logit)["gradient"])


class _Moved:
    """One entry at each of its logits, a run each, in the epochs of a method."""

    def __init__(
        self, scene: Scene, task: Task, method: Method, entry: Entry, logits: Tensor
    ) -> None:
        self.scene, self.task, self.method, self.entry = scene, task, method, entry
        state = method.start(task, Chance.seeded(0))
        self.state: nn.Module = stack([state] * len(logits))
        self.optimiser = _optimiser(method, self.state)
        self.logits = torch.from_numpy(scene.logits).repeat(len(logits), 1, 1)  # (R, N, L)
        self.logits[:, entry[0], entry[1]] = logits
        self.pooled = torch.from_numpy(np.asarray(task.inputs.values)).mean((-2, -1))

    def in_epochs(self, epochs: Sequence[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each of these epochs, and loss, gradient and selection at its beginning."""
        changes = self.optimiser is not None or any(True for _ in self.state.buffers())
        for epoch in range(1, max(epochs) + 1):
            if epoch in epochs:
                yield epoch, self.shape()
            if changes and epoch < max(epochs):
                self.learn(epoch)

    def learn(self, epoch: int) -> None:
        """One epoch: the state changes, and the logits stay."""
        for index in torch.arange(len(self.pooled)).split(self.scene.batch):
            batch, out, _ = self.step(index)
            if self.optimiser is not None:
                self.state.zero_grad()
                self.method.loss(batch, out, self.state).sum().backward()
                self.optimiser.step()
            with torch.no_grad():
                self.method.after_batch(batch, out, self.state)
        with torch.no_grad():
            scores = self.logits if self.method.needs.epoch_scores else None
            self.method.after_epoch(epoch, scores, self.state)

    def step(self, index: Tensor) -> tuple[Batch, Outputs, Tensor]:
        """A batch in all runs, its outputs, and the logits (R, b, L), a leaf."""
        codes = torch.from_numpy(self.task.labels.rows(index.numpy()))
        logits = self.logits[:, index].requires_grad_()
        maps = logits[..., None, None] + self.scene.shapes
        batch = Batch(index, codes.expand(len(logits), -1, -1))
        return batch, Outputs(maps.mean((-2, -1)), maps, self.pooled[index]), logits

    def shape(self) -> dict[str, Any]:
        """Loss, gradient and selection of the entry at each of its logits."""
        batch, out, logits = self.step(torch.arange(self.scene.batch))
        image, c = self.entry
        loss = self.method.loss(batch, out, self.state).double()
        (slope,) = torch.autograd.grad(loss.sum(), logits)
        size = _averaged(self.method, batch)
        selected = self.method.selected(batch, out, self.state)[:, image, c]
        return {
            "loss": (size * (loss - loss.min())).detach().numpy(),
            "gradient": (size * slope[:, image, c]).double().numpy(),
            "selected": selected.numpy(),
        }


def _optimiser(method: Method, state: nn.Module) -> Optimiser | None:
    """For the parameters of a state, at their own rates; None where there are none."""
    model = nn.Module()
    model.head = nn.Identity()
    groups = [group for group in method.groups(model, state, _RATE) if group["params"]]
    return Optimiser(groups, Settings()) if groups else None


def _averaged(method: Method, batch: Batch) -> int:
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
