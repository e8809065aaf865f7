"""The loss of a method over one logit, and the gradients of AN at false negatives with BoostLU.

Methods that select labels depend on a whole batch and on the scores of earlier epochs. So the logit
of one entry of a batch varies over a range while all others are constant, and has had the same
value in all previous epochs. Gradients are measured by autograd on the methods and compared with
the closed forms of the BoostLU paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.annotate.similarities import Similarities
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.method import layers, stack_states
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.wrappers import BoostLU
from simkit.learn.optim import Optimiser, Settings
from simkit.learn.side_info import prepare
from simkit.papers.analysis.learning import kinds
from simkit.results import selection

Entry = tuple[int, int]  # (image, class)
_QUARTER = torch.tensor([[3.0, -1.0], [-1.0, -1.0]])  # a map with one high cell; its mean is 0
_PEAK = 2.5  # factor of the map, for the last class
_RATE = 0.01  # of a head; parameters of a state have the method's ratio to it
# The reduction of methods that have no setting for it and do not average over all entries.
_AVERAGES = dict.fromkeys(("se", "se-l", "se-i"), "sum_classes")
_AVERAGES |= {"imcl": "mean_observed", "cnn-rnn": "mean_named"}


@dataclass(frozen=True, eq=False)
class Scene:
    """Images with partial labels, and the logits of a half-trained model.

    Parameters
    ----------
    task
        Labels, features, and the similarities of a simulated image-text model (60 mAP).
    truth
        (N, L) bool.
    logits
        (N, L) float32.
    batch
        Number of images in a batch; the first batch contains the varied entries.
    """

    task: Task
    truth: NDArray[np.bool_]
    logits: NDArray[np.float32]
    batch: int = 16

    @classmethod
    def drawn(
        cls, seed: int = 0, *, images: int = 64, classes: int = 20, known: float = 0.4
    ) -> Scene:
        """A random scene of frequent and rare classes, each label known with probability `known`.

        Logits are normal, with mean -2.5 for absent and 0.5 for present classes and a standard
        deviation of 1.5.
        """
        rng = np.random.default_rng(Chance.seeded(seed).of("loss shapes").seed())
        truth = rng.random((images, classes)) < np.geomspace(0.5, 0.04, classes)
        truth[np.arange(classes) % images, np.arange(classes)] = True  # every class occurs
        codes = np.where(truth, PRESENT, ABSENT) * (rng.random(truth.shape) < known)
        features = truth @ rng.standard_normal((classes, 32)) + rng.standard_normal((images, 32))
        maps = np.broadcast_to(features[..., None, None], (*features.shape, *_QUARTER.shape))
        logits = np.where(truth, 0.5, -2.5) + 1.5 * rng.standard_normal(truth.shape)
        labels = PartialLabels.of(codes, asked=np.ones(images, bool))
        teacher = Similarities.simulated(Truth.of(truth), 0.6, seed=seed)
        aids = (replace(teacher, images=None, classes=None),)
        task = Task(labels, FeatureInputs(np.ascontiguousarray(maps, np.float32)), aids)
        return cls(task, truth, logits.astype(np.float32), min(cls.batch, images))

    def entries(self) -> dict[str, Entry]:
        """A known positive, a known negative and an unknown label of the first batch.

        All are of the rarest class that has all three; the unknown label is absent in truth.
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
    methods: selection.Methods,
    *,
    epochs: Sequence[int] = (1, 10),
    entries: Mapping[str, Entry] | None = None,
    logits: Sequence[float] | NDArray[np.floating] = tuple(np.linspace(-8, 8, 65)),
) -> pd.DataFrame:
    """Loss and gradient over the logit of each entry, for each method and epoch.

    Parameters of a method's state are trained with Adam, at the ratio that the method sets
    (`groups`) to a head's learning rate of 0.01; side information is built from the scene.

    Parameters
    ----------
    scene
        Labels, truth and logits.
    methods
        Names of methods.
    epochs
        Epochs, from 1.
    entries
        Entries (image, class) of the first batch by name; by default `scene.entries()`.
    logits
        (n,) values of the varied logit.

    Returns
    -------
    DataFrame
        method, entry, epoch, logit; loss of the batch minus its smallest value, and its gradient
        for that logit, both times the number of entries that the method averages over; selected,
        whether the method rejects, corrects or ignores the entry.
    """
    entries = scene.entries() if entries is None else entries
    points = torch.tensor(logits).float()
    parts = []
    for spec in selection.some(methods):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of labels that do not suit a method
            method = make(spec)
            task = prepare(scene.task, method, settings=Settings(epochs=5))
            for name, entry in entries.items():
                for epoch, columns in _followed(
                    scene, task, method, entry, points=points, epochs=epochs
                ):
                    about = {"method": spec, "entry": name, "epoch": epoch, "logit": logits}
                    parts.append(pd.DataFrame(about | columns))
    return pd.concat(parts, ignore_index=True)


def loss_at(
    table: pd.DataFrame, method: str, entry: str, epoch: int, logit: float
) -> dict[str, Any]:
    """The row of a table of `loss_shapes` that is nearest to a logit."""
    rows = table.query("method == @method and entry == @entry and epoch == @epoch")
    return dict(rows.loc[(rows["logit"] - logit).abs().idxmin()])


def loss_gradient(table: pd.DataFrame, method: str, entry: str, epoch: int, logit: float) -> float:
    """The gradient in the row of `loss_at`; a positive gradient lowers the logit in training."""
    return float(loss_at(table, method, entry, epoch, logit)["gradient"])


def _followed(
    scene: Scene, task: Task, method: Method, entry: Entry, *, points: Tensor, epochs: Sequence[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Loss, gradient and selection of the entry at the start of each of these epochs.

    Each value of the logit is a separate run; the state is trained, and logits are constant.
    """
    (image, c), (N, L) = entry, scene.logits.shape
    logits = torch.from_numpy(scene.logits).repeat(len(points), 1, 1)  # (R, N, L)
    logits[:, image, c] = points
    # Class maps are constant for the first class; the last has the highest peak, in a quarter.
    maps = logits[..., None, None] + torch.linspace(0, _PEAK, L)[:, None, None] * _QUARTER
    pooled = torch.from_numpy(np.asarray(task.inputs.values)).mean((-2, -1))
    codes = torch.from_numpy(task.labels.rows(np.arange(N)))
    state = stack_states([method.start(task, Chance.seeded(0))] * len(points))
    model = nn.Module()
    model.head = nn.Identity()
    groups = [group for group in method.groups(model, state, _RATE) if group["params"]]
    optimiser = Optimiser(groups, Settings()) if groups else None
    batches = torch.arange(N).split(scene.batch)

    def step(index: Tensor) -> tuple[Batch, Outputs, Tensor]:
        batch_maps = maps[:, index].requires_grad_()
        batch = Batch(index, codes[index].expand(len(points), -1, -1))
        out = Outputs(batch_maps.mean((-2, -1)), batch_maps, pooled[index])
        return batch, out, method.loss(batch, out, state)

    for epoch in range(1, max(epochs) + 1):
        if epoch in epochs:
            batch, out, loss = step(batches[0])
            (slope,) = torch.autograd.grad(loss.sum(), out.maps)
            # The number of entries that the method averages over makes losses comparable.
            inner, known = layers(method)[0], batch.labels[0]
            sizes = {
                "mean_all": known.numel(),
                "mean_observed": int((known != UNKNOWN).sum()),
                "mean_named": int((known == PRESENT).sum()) + len(known),  # and ends of lists
                "sum_classes": len(known),
                "sum": 1,
            }
            usual = "sum" if getattr(inner, "normalise", "") == "csl" else "mean_all"
            how = getattr(inner, "reduction", None) or _AVERAGES.get(inner.name, usual)
            size, loss = sizes[how], loss.detach().double()
            columns = {"loss": size * (loss - loss.min())}
            columns["gradient"] = size * slope[:, image, c].sum((-2, -1)).double()
            columns["selected"] = method.selected(batch, out, state)[:, image, c]
            yield epoch, {name: values.numpy() for name, values in columns.items()}
        for index in batches if epoch < max(epochs) else ():
            batch, out, loss = step(index)
            if optimiser is not None:
                state.zero_grad()
                loss.sum().backward()
                optimiser.step()
            with torch.no_grad():
                method.after_batch(batch, out, state)
        with torch.no_grad():
            method.after_epoch(epoch, logits if method.needs.epoch_scores else None, state)


_NAMES = ("named present", "true negative", "false negative")  # of LABEL_KINDS
_ORDER = pd.MultiIndex.from_product(
    [("named present", "false negative", "true negative"), ("above", "below")],
    names=["labels", "cells"],
)
_AT_ONCE = 64  # images
_SUMS = {"number": "sum", "push": "sum", "closed": "sum", "error": "max"}


def logit_gaps(logits: NDArray[np.floating], labels: PartialLabels, truth: Truth) -> pd.DataFrame:
    """Difference of AN's gradients of an image's logits between partial and complete labels.

    The gap does not depend on the logits. Entries unknown to the truth are left out.

    Parameters
    ----------
    logits
        (N, L) float, of any model.
    labels, truth
        Partial labels and ground truth of the same N images and L classes.

    Returns
    -------
    DataFrame
        A row for each asked image: image (row), false_negatives (present in truth, assumed absent
        by AN), false_alarms (labelled present, absent in truth), measured (sum over classes of the
        gradients of AN's loss of this image, minus that on complete labels, by autograd) and
        closed ((false negatives - false alarms) / L).

    Raises
    ------
    BadInput
        For logits of other images or classes, and without asked images.

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), Eqs 4, 5.
    """
    rows = _asked(np.shape(logits), 2, labels, truth)
    codes, present, known = labels.rows(rows), truth.rows(rows), truth.known_rows(rows)
    complete = np.where(known, np.where(present, PRESENT, ABSENT), codes).astype(np.int8)
    method, state = _started("an", labels)
    leaf = torch.tensor(np.asarray(logits)[rows], dtype=torch.float64, requires_grad=True)
    partly, whole = (
        len(rows) * _gradient(method, state, torch.from_numpy(each), Outputs(leaf), leaf).sum(-1)
        for each in (codes, complete)
    )
    missed = (known & present & (codes != PRESENT)).sum(1)
    alarms = (known & ~present & (codes == PRESENT)).sum(1)
    table = pd.DataFrame({"image": rows, "false_negatives": missed, "false_alarms": alarms})
    closed = (missed - alarms) / codes.shape[1]
    return table.assign(measured=(partly - whole).numpy(), closed=closed)


def cell_gradients(
    maps: NDArray[np.floating],
    labels: PartialLabels,
    truth: Truth,
    methods: selection.Methods = ("an", "an+boostlu"),
) -> pd.DataFrame:
    """Gradients of AN's loss at the cells of class maps, with and without BoostLU.

    Entries unknown to the truth are left out.

    Parameters
    ----------
    maps
        (N, L, h, w) float, before BoostLU.
    labels, truth
        Partial labels and ground truth of the same N images and L classes.
    methods
        AN, with or without BoostLU.

    Returns
    -------
    DataFrame
        A row for each method, kind of label ("named present", "false negative", "true negative")
        and side with any cells: method, labels (kind), cells ("above" or "below" the threshold of
        BoostLU, or 0 without it), number, push (mean gradient of an entry's loss for a cell, times
        the cells of a map: 1 is the maximum of cross-entropy without BoostLU, and above 0 training
        lowers the cell; by autograd), closed (the paper's product) and error (the largest absolute
        difference of the two).

    Raises
    ------
    BadInput
        For maps of other images or classes, and for other methods.

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), Eqs 4, 9, 10.
    """
    rows = _asked(np.shape(maps), 4, labels, truth)
    maps, parts = np.asarray(maps), []
    kind = np.array([*_NAMES, None], object)[kinds(labels, truth)]  # None: unknown to the truth
    for spec in selection.some(methods):
        method, state = _started(spec, labels)
        sums = []
        for some in np.array_split(rows, -(-len(rows) // _AT_ONCE)):
            cells = _cells(method, state, labels.rows(some), maps[some])
            cells["labels"] = kind[some].repeat(maps.shape[2] * maps.shape[3])
            sums.append(cells.groupby(_ORDER.names).agg(_SUMS))
        table = pd.concat(sums).groupby(_ORDER.names).agg(_SUMS)
        table = table.loc[_ORDER.intersection(table.index, sort=False)].reset_index()
        table[["push", "closed"]] = table[["push", "closed"]].div(table["number"], axis=0)
        table.insert(0, "method", spec)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def _cells(
    method: Method, state: nn.Module, codes: NDArray[np.int8], maps: NDArray[np.floating]
) -> pd.DataFrame:
    """A row for each cell: the side of the threshold, and the gradient in both forms.

    The closed form is the product of Eqs 4 and 9: the gradient of the loss for the logit of the
    boosted map, times the slope of BoostLU at the cell.
    """
    leaf = torch.tensor(maps, dtype=torch.float64, requires_grad=True)
    out, labels = Outputs(leaf.mean((-2, -1)), leaf), torch.from_numpy(codes)
    # The loss is a mean over entries, and the logit one over cells: undo both.
    push = leaf.numel() * _gradient(method, state, labels, out, leaf)
    cells, beta = leaf.detach(), 0.0
    alpha = torch.ones(codes.shape[-1], dtype=cells.dtype)
    if isinstance(method, BoostLU):
        alpha, beta = alpha * method.alpha, method.beta
        if method.zero_positive == "plain":
            alpha[~state.has_positive] = 1
    alpha, above = alpha[:, None, None], cells > beta
    logits = torch.where(above, alpha * cells + (1 - alpha) * beta, cells).mean((-2, -1))
    outer = torch.sigmoid(logits) - (labels == PRESENT).double()
    closed = outer[..., None, None] * torch.where(above, alpha, 1.0)
    columns = {"push": push, "closed": closed, "error": (push - closed).abs()}
    table = pd.DataFrame({name: values.numpy().ravel() for name, values in columns.items()})
    return table.assign(cells=np.where(above.numpy().ravel(), "above", "below"), number=1)


def _gradient(
    method: Method, state: nn.Module, codes: Tensor, out: Outputs, leaf: Tensor
) -> Tensor:
    """Gradient of the batch's loss for `leaf`, by autograd."""
    loss = method.loss(Batch(torch.arange(len(codes)), codes), out, state)
    return torch.autograd.grad(loss, leaf)[0]


def _started(spec: str, labels: PartialLabels) -> tuple[Method, nn.Module]:
    """AN, or BoostLU in training around it; only these have closed forms."""
    method = make(spec)
    inner = method.inner if isinstance(method, BoostLU) and method.train else method
    if inner != make("an"):
        raise BadInput(f"methods: {spec!r} has no closed form; use an, or an+boostlu")
    return method, method.start(Task(labels))


def _asked(
    shape: tuple[int, ...], dimensions: int, labels: PartialLabels, truth: Truth
) -> NDArray[np.int64]:
    """Rows of the asked images, after a check of the shape of the values."""
    labels.check_about(truth)
    if len(shape) != dimensions or shape[:2] != truth.shape or not labels.asked.any():
        mend = "pass values of the same images and classes, of which some were asked about"
        raise BadInput(f"the values have shape {shape}, but the labels {labels.shape}; {mend}")
    return np.flatnonzero(labels.asked)
