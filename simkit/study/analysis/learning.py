"""Methods watched while they learn: the labels that they memorise, reject and correct.

Truth is joined here; no method ever sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, UNKNOWN, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.base import Around
from simkit.learn.methods.pieces.remembered import Remembering
from simkit.learn.train import Watcher, train_stack
from simkit.study.analysis import checks
from simkit.study.frames import frame

W = TypeVar("W", bound=Watcher)

KINDS = ("true positive", "true negative", "false negative")


def watched(
    task: Task, methods: Sequence[str] | str, new: Callable[[Method], W], **training: Any
) -> dict[str, W]:
    """Train every method on the task with a watcher of its own; the watchers by method.

    Parameters
    ----------
    methods
        Spelled as `simkit list methods` does; also one text with commas.
    new
        Makes the watcher of a method.
    **training
        settings, seed, draw, validation, backbone, device and compile, as for
        `simkit.learn.train.train_stack`; no checkpoint, since a watcher would miss the epochs
        before it. Heads on features learn together, a backbone with one method after the other.
    """
    made = {spec: make(spec) for spec in checks.some(methods, "training")}
    watchers = {spec: new(method) for spec, method in made.items()}
    ready = prepare(task, *made.values(), **training)
    groups = [[*made]] if training.get("backbone") is None else [[spec] for spec in made]
    for group in groups:
        watch = {place: (watchers[spec],) for place, spec in enumerate(group)}
        train_stack([(ready, made[spec]) for spec in group], watch=watch, **training)
    return watchers


def kinds(labels: PartialLabels, truth: Truth) -> NDArray[np.int8]:
    """What each label is where unknown ones are assumed absent.

    Returns
    -------
    (N, L) int8
        A place in KINDS; -1 in images that were not asked about, and where the truth itself is
        unknown. Labels that say "absent" are negatives like the assumed ones: false where the
        annotator erred.
    """
    labels.check_about(truth, "the task's labels")
    every = np.arange(labels.shape[0])
    found = np.where(truth.rows(every), KINDS.index("false negative"), KINDS.index("true negative"))
    found[labels.rows(every) == PRESENT] = KINDS.index("true positive")
    found[~truth.known_rows(every) | ~labels.asked[:, None]] = -1
    return found.astype(np.int8)


def innermost(
    method: Method, out: Outputs, state: nn.Module, *, training: bool = True
) -> tuple[Method, Outputs, nn.Module]:
    """The method inside all wrappers, with the outputs and the state that it sees."""
    while isinstance(method, Around):
        out = method.changed(out, state, training=training)
        method, state = method.inner, state.inner  # type: ignore[assignment]
    return method, out, state


def memorisation(
    task: Task, truth: Truth, methods: Sequence[str] | str = ("an",), **training: Any
) -> pd.DataFrame:
    """Train, and follow the loss of every label where unknown ones are assumed absent.

    The loss is AN's cross-entropy, whatever the method makes of an unknown label, of the model as
    it was when the image came up. Takes ten bytes for each image and class.

    Parameters
    ----------
    **training
        As for `watched`.

    Returns
    -------
    DataFrame
        A row for each method, kind of label (of KINDS, those that occur) and epoch from 1: labels
        (number of the kind), highest (number of them with their highest loss in this epoch, the
        first of equal ones), share (highest / labels), and the loss in this epoch: mean, low,
        median and high (quartiles).

    References
    ----------
    Kim et al., CVPR 2022, section 3.2: Table 1 (share in epoch 1), Fig. 1 (one label each).
    """
    which = kinds(task.labels, truth)
    watchers = watched(task, methods, lambda method: _Losses(method, which), **training)
    return pd.DataFrame([row for name, one in watchers.items() for row in one.rows(name)])


def early(table: Any, method: str, kind: str) -> float:
    """The share of labels of this kind with their highest loss in the first epoch.

    Parameters
    ----------
    table
        Of `memorisation`.

    References
    ----------
    Kim et al., CVPR 2022, Table 1.
    """
    columns = {"method": str, "kind": str, "epoch": int, "share": float}
    table = frame(table, columns, asker="early", mend="give what memorisation returns")
    shares = table.query("method == @method and kind == @kind and epoch == 1")["share"]
    if shares.empty:
        raise BadInput(
            f"early: the table has no labels of the kind {kind!r} under {method!r}; give one that "
            "memorisation returns"
        )
    return float(shares.iloc[0])


class _Losses:
    """The highest loss of every label so far with its epoch, and this epoch's."""

    def __init__(self, method: Method, which: NDArray[np.int8]) -> None:
        self.method, self.which = method, which
        self.now = np.zeros(which.shape, np.float32)
        self.most = np.full(which.shape, -np.inf, np.float32)
        self.when = np.zeros(which.shape, np.int16)
        self.epochs: list[dict[str, dict[str, float]]] = []  # statistics by kind

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        with torch.no_grad():
            logits = innermost(self.method, out, state)[1].logits.float()
            target = (batch.labels == PRESENT).float()
            losses = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        self.now[batch.index.cpu().numpy()] = losses.cpu().numpy()

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        higher = self.now > self.most
        self.most[higher] = self.now[higher]
        self.when[higher] = epoch
        statistics = {}
        for place, kind in enumerate(KINDS):
            losses = self.now[self.which == place].astype(np.float64)
            if len(losses):
                quartiles = np.quantile(losses, (0.25, 0.5, 0.75))
                values = (losses.mean(), *quartiles)
                statistics[kind] = dict(zip(("mean", "low", "median", "high"), values, strict=True))
        self.epochs.append(statistics)

    def rows(self, method: str) -> Iterator[dict[str, Any]]:
        for place, kind in enumerate(KINDS):
            when = self.when[self.which == place]
            for epoch, statistics in enumerate(self.epochs if len(when) else [], start=1):
                row = {"method": method, "kind": kind, "epoch": epoch, "labels": len(when)}
                highest = int((when == epoch).sum())
                yield row | {"highest": highest, "share": highest / len(when)} | statistics[kind]


class Selections:
    """A watcher: the labels that a method selected in every epoch, a bit each.

    lasting: whether a selection stays, as with LL-Cp.
    """

    def __init__(self, method: Method, shape: tuple[int, int]) -> None:
        self.method, self.shape = method, shape
        inner = method
        while isinstance(inner, Around):
            inner = inner.inner
        self.lasting = isinstance(inner, Remembering)
        self._now = np.zeros(shape, bool)
        self._epochs: list[NDArray[np.uint8]] = []

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None:
        with torch.no_grad():
            selected = self.method.selected(batch, out, state).cpu().numpy()
        rows = batch.index.cpu().numpy()
        self._now[rows] = selected | self._now[rows] if self.lasting else selected

    def after_epoch(self, epoch: int, model: nn.Module, state: nn.Module) -> None:
        self._epochs.append(np.packbits(self._now, axis=1))

    def of_epochs(self) -> list[NDArray[np.bool_]]:
        """(N, L) bool for every epoch: its selection, or all so far where selections last."""
        L = self.shape[1]
        return [np.unpackbits(bits, axis=1, count=L).astype(bool) for bits in self._epochs]


def selections(task: Task, methods: Sequence[str] | str, **training: Any) -> dict[str, Selections]:
    """Train, and keep by method what each selects; `training` as for `watched`."""
    return watched(task, methods, lambda method: Selections(method, task.labels.shape), **training)


def modification(
    task: Task, truth: Truth, methods: Sequence[str] | str, **training: Any
) -> pd.DataFrame:
    """Train, and count in every epoch the unknown labels that each method modifies.

    Modified are those that the method's `selected` names: LL-R rejects them, LL-Ct corrects them
    for the step, LL-Cp for good, CSL ignores them. What is corrected for good (lasting) is counted
    over all epochs so far, as in the paper. Takes a bit for each image, class and epoch, and some
    bytes for each image and class.

    Parameters
    ----------
    **training
        As for `watched`.

    Returns
    -------
    DataFrame
        A row for each method and epoch from 1: lasting; modified and right (numbers of labels, and
        of those of them that are false negatives); precision (right / modified), found (right /
        all false negatives), chance (the precision of modifying unknown labels at random) and
        again (share of the labels modified in the epoch before that are modified in this one);
        NaN where there is nothing to divide by.

    References
    ----------
    Precision: Kim et al., CVPR 2022, Fig. 4. Rejected false negatives per epoch: Kim et al., CVPR
    2023 (BoostLU), Fig. 5.
    """
    which, open = _unknown(task, truth)
    wrong = open & (which == KINDS.index("false negative"))
    rows = []
    for name, watcher in selections(task, methods, **training).items():
        before = np.zeros_like(open)
        for epoch, selected in enumerate(watcher.of_epochs(), start=1):
            modified = selected & open
            masks = {"modified": modified, "right": modified & wrong, "again": modified & before}
            counts = {key: int(mask.sum()) for key, mask in masks.items()}
            rows.append({"method": name, "lasting": watcher.lasting, "epoch": epoch, **counts})
            before = modified
    table = pd.DataFrame(rows)
    again = table.pop("again") / table.groupby("method")["modified"].shift()
    return table.assign(
        precision=table["right"] / table["modified"],
        found=table["right"] / wrong.sum(),
        chance=wrong.sum() / open.sum() if open.any() else np.nan,
        again=again,
    )


def corrections(
    task: Task,
    truth: Truth,
    method: str = "ll-ct",
    *,
    images: Sequence[int] | int | None = None,
    best: int = 3,
    worst: int = 1,
    **training: Any,
) -> pd.DataFrame:
    """Train, and list for a few pictures which unknown labels are modified in which epoch.

    Parameters
    ----------
    images
        Rows of the task; by default the `best` pictures with the most false negatives corrected,
        summed over the epochs, and the `worst` with the most true negatives corrected.
    **training
        As for `watched`.

    Returns
    -------
    DataFrame
        A row for each picture, class and epoch from 1: method, row (of the task), image (id), why
        ("most right", "most wrong" or "asked for"), class, given (known to be present), present
        (in truth), epoch, corrected (in this epoch or, where corrections last, so far). Classes
        are those that are present or were ever corrected: given ones first, then by epoch.

    References
    ----------
    Kim et al., CVPR 2022, Fig. 3.
    """
    N = task.labels.shape[0]
    method = checks.one_method(method, "corrections: method")
    rows = [] if images is None else checks.rows(images, N, "corrections")
    checks.count(best, "corrections: best", least=0)
    checks.count(worst, "corrections: worst", least=0)
    if not (best + worst if images is None else rows):
        raise BadInput("corrections: no picture is shown; name images, or let best be at least 1")
    _, open = _unknown(task, truth)
    (watcher,) = selections(task, [method], **training).values()
    corrected = np.stack(watcher.of_epochs()) & open
    shown = dict.fromkeys(rows, "asked for")
    if images is None:
        times, present = corrected.sum(0), truth.rows(np.arange(N))
        gain = (times * np.where(present, 1, -1)).sum(1)
        order = np.argsort(-gain, kind="stable")[:best].tolist()
        shown = dict.fromkeys(order, "most right")
        rest = [row for row in np.argsort(gain, kind="stable").tolist() if row not in shown]
        shown |= dict.fromkeys(rest[:worst], "most wrong")
    parts = []
    for row, why in shown.items():
        about = {"method": method, "row": row, "image": str(task.labels.images[row]), "why": why}
        parts.append(pd.DataFrame(about | _cells(task, truth, row, corrected[:, row])))
    return pd.concat(parts, ignore_index=True)


def _unknown(task: Task, truth: Truth) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """(N, L) kinds of labels, and which are unknown though their truth is known."""
    which = kinds(task.labels, truth)
    return which, (task.labels.rows(np.arange(len(which))) == UNKNOWN) & (which >= 0)


def _cells(
    task: Task, truth: Truth, row: int, corrected: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Columns with a value for each class to show and each epoch; corrected (epochs, L)."""
    E = len(corrected)
    given, present = task.labels.rows([row])[0] == PRESENT, truth.rows([row])[0]
    ever = corrected.any(0)
    first = np.where(ever, corrected.argmax(0), E)
    order = np.lexsort((-corrected.sum(0), first, ~given))
    shown = order[(given | present | ever)[order]]
    of_class = {"class": np.array(truth.classes, object), "given": given, "present": present}
    columns = {name: values[shown].repeat(E) for name, values in of_class.items()}
    epochs = np.tile(np.arange(1, E + 1), len(shown))
    return columns | {"epoch": epochs, "corrected": corrected[:, shown].T.ravel()}
