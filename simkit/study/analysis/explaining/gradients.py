"""Why false negatives lower class activation maps, and what a boost does about it, by gradients.

All is measured with autograd on the methods themselves and stands beside the paper's closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Method, Outputs, Task, make
from simkit.learn.methods.boostlu import BoostLU
from simkit.study.analysis.asked import listed
from simkit.study.analysis.labelling.revealed import check_same

KINDS = ("named present", "false negative", "true negative")
CELLS = pa.schema(
    [
        *((name, pa.string()) for name in ("method", "labels", "cells")),
        ("number", pa.int64()),
        *((name, pa.float64()) for name in ("push", "closed", "error")),
    ]
)
_AT_ONCE = 64  # images


def logit_gaps(logits: NDArray[np.floating], labels: PartialLabels, truth: Truth) -> pa.Table:
    """How much more AN pushes an image's logits down on partial labels than on complete ones.

    logits (N, L), of any model, for the images of `labels` and `truth`. A row for each asked image:
    image (row), false_negatives (present in truth, and AN takes them for absent), false_alarms
    (labelled present, and absent in truth), measured (the gradients of AN's loss of this image
    summed over its classes, less those on complete labels, by autograd) and closed (false negatives
    less false alarms, over classes). The gap depends on no logit. What the truth does not know adds
    nothing. Raises BadInput for shapes that do not fit and for a truth about other images or
    classes. Source: BoostLU (Kim et al., CVPR 2023), Eqs 4, 5.
    """
    _check(np.shape(logits), 2, labels, truth)
    method, state = _started("an", labels)
    found = []
    for rows, codes, present, known in _images(labels, truth):
        x = torch.tensor(np.asarray(logits)[rows], dtype=torch.float64)
        complete = torch.where(known, torch.where(present, 1, -1), codes).to(torch.int8)
        sums = [
            len(rows) * _gradient(method, state, given, Outputs(leaf), leaf).sum(-1)
            for given, leaf in ((codes, x.clone().requires_grad_()), (complete, x.requires_grad_()))
        ]
        missed = (known & present & (codes != PRESENT)).sum(-1)
        alarms = (known & ~present & (codes == PRESENT)).sum(-1)
        found.append(
            pa.table(
                {
                    "image": rows,
                    "false_negatives": missed.numpy(),
                    "false_alarms": alarms.numpy(),
                    "measured": (sums[0] - sums[1]).numpy(),
                    "closed": ((missed - alarms).double() / x.shape[1]).numpy(),
                }
            )
        )
    return pa.concat_tables(found)


def cell_gradients(
    maps: NDArray[np.floating],
    labels: PartialLabels,
    truth: Truth,
    methods: Sequence[str] = ("an", "an+boostlu"),
) -> pa.Table:
    """How hard AN pushes at the cells of class maps, without a boost and with it.

    maps (N, L, h, w): before any boost, for the images of `labels` and `truth`. A row for each
    method, kind of label (KINDS) and side, "above" the boost's threshold (0 without one) or
    "below" it, that has cells: method, labels, cells (side), number, push, closed and error. push
    is the mean gradient of an entry's loss for a cell, times the cells of a map, so that 1 is the
    full push of cross-entropy without a boost: above 0 the cell is pushed down, which is wrong for
    false negatives. It is measured by autograd; closed is the paper's product, and error the
    largest difference of both at any cell. What the truth does not know is left out.

    Raises BadInput for shapes that do not fit, for a truth about other images or classes, and for
    methods other than `an`, alone or behind one boostlu.
    Source: BoostLU (Kim et al., CVPR 2023), Eqs 4, 9, 10.
    """
    _check(np.shape(maps), 4, labels, truth)
    if not (specs := listed(methods, "cell_gradients: methods")):
        raise BadInput("cell_gradients: no method is named; name an, an+boostlu or both")
    found = []
    for spec in specs:
        method, state = _started(spec, labels)
        sums: dict[tuple[str, str], list[float]] = {}
        for rows, codes, present, known in _images(labels, truth):
            leaf = torch.tensor(np.asarray(maps)[rows], dtype=torch.float64, requires_grad=True)
            out = Outputs(leaf.mean((-2, -1)), leaf)
            cells = leaf.shape[-2] * leaf.shape[-1]
            push = codes.numel() * cells * _gradient(method, state, codes, out, leaf)
            closed, above = _closed(method, state, codes, leaf.detach())
            missed = present & (codes != PRESENT)
            named = codes == PRESENT
            kinds = dict(zip(KINDS, (named, missed, ~present & ~named), strict=True))
            for kind, entries in kinds.items():
                for side, at in (("above", above), ("below", ~above)):
                    at = at & (known & entries)[..., None, None]
                    some = sums.setdefault((kind, side), [0.0, 0.0, 0.0, 0.0])
                    if at.any():
                        some[0] += int(at.sum())
                        some[1] += float(push[at].sum())
                        some[2] += float(closed[at].sum())
                        some[3] = max(some[3], float((push - closed)[at].abs().max()))
        for (kind, side), (number, total, expected, error) in sums.items():
            if number:
                about = {"method": spec, "labels": kind, "cells": side, "number": int(number)}
                means = {"push": total / number, "closed": expected / number, "error": error}
                found.append({**about, **means})
    return pa.Table.from_pylist(found, schema=CELLS)


def _closed(method: Method, state: nn.Module, codes: Tensor, maps: Tensor) -> tuple[Tensor, Tensor]:
    """(b, L, h, w) the product of Eq. 4 and 9 times entries and cells, and which cells lie above.

    The gradient of the loss for the logit, which is that of the boosted map, times the boost's
    slope at the cell.
    """
    alpha, beta = (method.alpha, method.beta) if isinstance(method, BoostLU) else (1.0, 0.0)
    alphas = torch.full(codes.shape[-1:], alpha, dtype=maps.dtype)
    if isinstance(method, BoostLU) and method.zero_positive == "plain":
        alphas = torch.where(state.has_positive, alphas, 1.0)
    alphas = alphas[:, None, None]
    above = maps > beta
    logits = torch.where(above, alphas * maps + (1 - alphas) * beta, maps).mean((-2, -1))
    slope = torch.where(above, alphas, torch.ones_like(maps))
    outer = torch.sigmoid(logits) - (codes == PRESENT).double()
    return outer[..., None, None] * slope, above


def _gradient(
    method: Method, state: nn.Module, codes: Tensor, out: Outputs, leaf: Tensor
) -> Tensor:
    """Of the batch's loss for `leaf`, by autograd."""
    loss = method.loss(Batch(torch.arange(len(codes)), codes), out, state)
    (found,) = torch.autograd.grad(loss, leaf)
    return found


def _started(spec: str, labels: PartialLabels) -> tuple[Method, nn.Module]:
    """AN as it is, or inside a boost that trains; nothing else has the closed forms."""
    method = make(spec)
    inner = method.inner if isinstance(method, BoostLU) and method.train else method
    if inner != make("an"):
        raise BadInput(
            f"{spec!r} has none of the gradients that are looked at; name an, or an+boostlu with "
            "settings of the boost"
        )
    return method, method.start(Task(labels) if method.needs.labels else Task(labels).sizes)


def _images(
    labels: PartialLabels, truth: Truth
) -> Iterator[tuple[NDArray[np.int64], Tensor, Tensor, Tensor]]:
    """Asked images some at a time: rows, labels (b, L) int8, truth and where it is known, bool."""
    asked = np.flatnonzero(labels.asked)
    for start in range(0, len(asked), _AT_ONCE):
        rows = asked[start : start + _AT_ONCE]
        present = truth.rows(rows)
        known = np.ones_like(present) if truth.known is None else truth.known[rows].toarray()
        parts = (labels.rows(rows), present, known)
        yield rows, *(torch.from_numpy(part) for part in parts)


def _check(shape: Any, dimensions: int, labels: PartialLabels, truth: Truth) -> None:
    wanted = truth.shape
    if len(shape) != dimensions or tuple(shape[:2]) != wanted or labels.shape != wanted:
        raise BadInput(
            f"values of shape {tuple(shape)} came with labels of {labels.shape} and a truth of "
            f"{wanted}; all three are of the same images and classes"
        )
    check_same(truth, labels, "labels")
    if not labels.asked.any():
        raise BadInput(
            "no image was asked about, so there is nothing to learn from; ask about some"
        )
