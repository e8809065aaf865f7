"""Why false negatives lower class maps, and what BoostLU changes, by gradients.

All is measured with autograd on the methods themselves and stands beside the paper's closed form.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.boostlu import BoostLU
from simkit.study.analysis import checks
from simkit.study.analysis.checks import Methods
from simkit.study.analysis.learning import kinds

_NAMES = ("named present", "true negative", "false negative")  # of LABEL_KINDS
_ORDER = pd.MultiIndex.from_product(
    [("named present", "false negative", "true negative"), ("above", "below")],
    names=["labels", "cells"],
)
_AT_ONCE = 64  # images
_SUMS = {"number": "sum", "push": "sum", "closed": "sum", "error": "max"}


def logit_gaps(logits: NDArray[np.floating], labels: PartialLabels, truth: Truth) -> pd.DataFrame:
    """How much more AN pushes an image's logits down on partial labels than on complete ones.

    The gap depends on no logit. What the truth does not know adds nothing.

    Parameters
    ----------
    logits
        (N, L), of any model.

    Returns
    -------
    DataFrame
        A row for each asked image: image (row), false_negatives (present in truth, assumed absent
        by AN), false_alarms (labelled present, absent in truth), measured (sum over classes of the
        gradients of AN's loss of this image, less that on complete labels, by autograd) and closed
        ((false negatives - false alarms) / L).

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
    return pd.DataFrame(
        {
            "image": rows,
            "false_negatives": missed,
            "false_alarms": alarms,
            "measured": (partly - whole).numpy(),
            "closed": (missed - alarms) / codes.shape[1],
        }
    )


def cell_gradients(
    maps: NDArray[np.floating],
    labels: PartialLabels,
    truth: Truth,
    methods: Methods = ("an", "an+boostlu"),
) -> pd.DataFrame:
    """How hard AN pushes at the cells of class maps, without a boost and with it.

    What the truth does not know is left out.

    Parameters
    ----------
    maps
        (N, L, h, w), before any boost.
    methods
        AN, alone or with BoostLU around it.

    Returns
    -------
    DataFrame
        A row for each method, kind of label ("named present", "false negative", "true negative")
        and side that has cells: method, labels (kind), cells ("above" the boost's threshold, which
        is 0 without one, or "below"), number, push (mean gradient of an entry's loss for a cell,
        times the cells of a map: 1 is the full push of cross-entropy without a boost, above 0 the
        cell is pushed down; by autograd), closed (the paper's product) and error (the largest
        difference of both at any cell).

    References
    ----------
    BoostLU (Kim et al., CVPR 2023), Eqs 4, 9, 10.
    """
    rows = _asked(np.shape(maps), 4, labels, truth)
    maps, parts = np.asarray(maps), []
    kind = np.array([*_NAMES, None], object)[kinds(labels, truth)]  # None where nobody knows
    for spec in checks.some(methods, "cell_gradients"):
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
    """A row for each cell: the side of the threshold, and the gradient in both ways."""
    leaf = torch.tensor(maps, dtype=torch.float64, requires_grad=True)
    out, labels = Outputs(leaf.mean((-2, -1)), leaf), torch.from_numpy(codes)
    # The loss is a mean over entries and the logit one over cells: times all of them.
    push = leaf.numel() * _gradient(method, state, labels, out, leaf)
    closed, above = _closed(method, state, labels, leaf.detach())
    columns = {"push": push, "closed": closed, "error": (push - closed).abs()}
    table = pd.DataFrame({name: values.numpy().ravel() for name, values in columns.items()})
    return table.assign(cells=np.where(above.numpy().ravel(), "above", "below"), number=1)


def _closed(method: Method, state: nn.Module, codes: Tensor, maps: Tensor) -> tuple[Tensor, Tensor]:
    """(b, L, h, w) the product of Eqs 4 and 9, and which cells lie above the threshold.

    The gradient of the loss for the logit, which is that of the boosted map, times the boost's
    slope at the cell.
    """
    alpha, beta = torch.ones(codes.shape[-1], dtype=maps.dtype), 0.0
    if isinstance(method, BoostLU):
        alpha, beta = alpha * method.alpha, method.beta
        if method.zero_positive == "plain":
            alpha[~state.has_positive] = 1
    alpha, above = alpha[:, None, None], maps > beta
    logits = torch.where(above, alpha * maps + (1 - alpha) * beta, maps).mean((-2, -1))
    outer = torch.sigmoid(logits) - (codes == PRESENT).double()
    return outer[..., None, None] * torch.where(above, alpha, 1.0), above


def _gradient(
    method: Method, state: nn.Module, codes: Tensor, out: Outputs, leaf: Tensor
) -> Tensor:
    """Of the batch's loss for `leaf`, by autograd."""
    loss = method.loss(Batch(torch.arange(len(codes)), codes), out, state)
    return torch.autograd.grad(loss, leaf)[0]


def _started(spec: str, labels: PartialLabels) -> tuple[Method, nn.Module]:
    """AN, or a boost around it that trains; nothing else has the closed forms."""
    method = make(spec)
    inner = method.inner if isinstance(method, BoostLU) and method.train else method
    if inner != make("an"):
        raise BadInput(
            f"{spec!r} has no closed form of its gradients; name an, or an+boostlu with settings "
            "of the boost"
        )
    return method, method.start(Task(labels))


def _asked(
    shape: tuple[int, ...], dimensions: int, labels: PartialLabels, truth: Truth
) -> NDArray[np.int64]:
    """Rows of the asked images; values of this shape are about the images and classes of both."""
    labels.check_about(truth)
    if len(shape) != dimensions or shape[:2] != truth.shape or not labels.asked.any():
        raise BadInput(
            f"values of shape {shape} came with labels of {labels.shape}, {labels.asked.sum()} "
            "images asked; values of the same images and classes are expected, and asked images"
        )
    return np.flatnonzero(labels.asked)
