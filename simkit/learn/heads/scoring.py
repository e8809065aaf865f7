"""Scores of many heads on the same features: read once, one matrix product for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from simkit.learn.heads.heads import HeadStack, standardised
from simkit.learn.heads.stack import Part, Stack
from simkit.learn.task import Outputs
from simkit.learn.trained import BATCH, Trained, check_inputs, scores


def of_stack(stack: Stack, parts: Sequence[Part], inputs: Any) -> list[Tensor]:
    """(r, N, L) float32 logits of each of these parts of a stack in training, on its device."""
    if stack.backbone is not None:  # a single run
        method = stack.parts[0].method
        return [scores(stack.model(0), method, stack.state(0), inputs)[None]]
    check_inputs(stack.model(0), inputs)
    N, L = len(inputs), stack.heads.bias.shape[1]
    found = [torch.empty(len(part.runs), N, L, device=stack.device) for part in parts]
    with torch.no_grad():
        for rows in _passes(stack.heads, inputs, stack.feed.shift, stack.feed.scale):
            for part, out in zip(parts, found, strict=True):
                out[:, rows] = part.method.predict(part.out, part.state).float()
    return found


def of_trained(trained: Sequence[Trained], inputs: Any) -> Tensor:
    """(R, N, L) float32 logits of heads that were trained on the same features.

    Equal to each one's own `scores` to 1e-5. Raises BadInput for inputs of another kind or width.
    """
    first = trained[0].model
    for one in trained:
        check_inputs(one.model, inputs)
    alike = all(
        one.model.backbone is None
        and torch.equal(one.model.shift, first.shift)
        and torch.equal(one.model.scale, first.scale)
        for one in trained
    )
    if not alike:
        return torch.stack([torch.from_numpy(one.scores(inputs)) for one in trained])
    L, D = first.head.weight.shape
    order = sorted(range(len(trained)), key=lambda k: trained[k].method.needs.maps)  # maps last
    shares = [(1, trained[k].method.needs.maps) for k in order]
    heads = HeadStack(torch.zeros(L, D), torch.zeros(L), shares)
    out = torch.empty(len(trained), len(inputs), L)
    with torch.no_grad():
        for place, k in enumerate(order):
            heads.weight[place] = trained[k].model.head.weight
            heads.bias[place] = trained[k].model.head.bias
        for rows in _passes(heads, inputs, first.shift, first.scale):
            for share, k in zip(heads.shares, order, strict=True):
                seen = share.seen
                maps = None if seen.maps is None else seen.maps[0]
                alone = Outputs(seen.logits[0], maps, seen.features)
                out[k, rows] = trained[k].method.predict(alone, trained[k].state).float()
    return out


def _passes(heads: HeadStack, inputs: Any, shift: Tensor, scale: Tensor) -> Iterator[slice]:
    """Set the outputs of all heads, for one part of the inputs after the other."""
    device = heads.weight.device
    as_they_are = not shift.any() and bool((scale == 1).all())
    shift, scale = shift.to(device), scale.to(device)
    for start in range(0, len(inputs), BATCH):
        rows = slice(start, min(start + BATCH, len(inputs)))
        x = inputs.batch(np.arange(rows.start, rows.stop)).to(device)
        x = x if as_they_are else standardised(x, shift, scale)
        if x.ndim == 2:
            heads.forward(x, x[:, None], (1, 1))
        else:
            shape = (x.shape[2], x.shape[3])
            heads.forward(x.mean((-2, -1)), x.flatten(2).mT, shape)
        yield rows
