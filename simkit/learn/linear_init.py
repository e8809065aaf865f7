"""The head first, alone, then everything: LinearInit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from simkit.chance import Chance
from simkit.learn import loop
from simkit.learn.feeding.feed import feed_for
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.heads.stack import Begun, Run, Stack
from simkit.learn.machines.devices import autocast, plain
from simkit.learn.method import stack_states
from simkit.learn.steps.optim import Settings
from simkit.learn.task import Task
from simkit.learn.trained import evaluating

_BATCH = 64


def head_first(
    run: Run,
    course: loop.Course,
    *,
    settings: Settings,
    chance: Chance,
    backbone: nn.Module,
    device: torch.device,
) -> tuple[Begun, dict[str, list[float]]]:
    """Train the head of one run for `head_epochs`; returns what to go on from, and the curves.

    The backbone normalises as in evaluation and stays as it is. Features are computed once, of
    pictures as they are, unless the head shall see them augmented or the method looks at maps,
    which would fill the memory. With "restart" the method begins anew from the best epoch's head
    (Cole et al., CVPR 2021, who hand ROLE's estimates over), with "go-on" it keeps its state
    (Verelst et al., WACV 2023).
    """
    task, method = run
    own = settings.of_head()
    pictures = settings.head_augment or method.needs.maps
    if not pictures:
        features = _Features(backbone, device, settings.precision)
        task, course = features.instead(task, course, every=method.needs.epoch_scores)
    feed = feed_for(
        task.inputs,
        task.rows,
        maps=method.needs.maps,
        standardise=False,
        backbone=backbone if pictures else None,
        chance=chance,
        device=device,
        autocast=settings.precision == "bf16",
    )
    with frozen(backbone):
        stack = Stack(
            [(task, method)],
            [own.rate(backbone=True)],
            feed,
            settings=own,
            chance=chance,
            backbone=backbone if pictures else None,
            device=device,
            frozen=True,
        )
        record, averages = loop.run(stack, course)
        curves = {"losses": record.losses[0], "validation": record.validation[0]}
        part = stack.parts[0]
        weight, bias = stack.heads.weight[0], stack.heads.bias[0]
        if settings.head_then == "go-on":
            return Begun(weight.clone(), bias.clone(), part.state), curves
        model, state, _ = record.chosen(0, stack, averages)
    again = method.handed_over(state, run[0], chance.of("state", method.name))
    head = model.head
    return Begun(head.weight.data, head.bias.data, stack_states([again])), curves


@contextmanager
def frozen(backbone: nn.Module) -> Iterator[None]:
    """Inside the block no gradients are wanted of the backbone, and it normalises as it learned."""
    learned = [p for p in backbone.parameters() if p.requires_grad]
    for parameter in learned:
        parameter.requires_grad_(False)
    try:
        with evaluating(backbone):
            yield
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)


@dataclass(frozen=True, eq=False)
class _Features:
    """Pooled features of pictures as they are, computed once."""

    backbone: nn.Module
    device: torch.device
    precision: str

    def instead(self, task: Task, course: loop.Course, *, every: bool) -> tuple[Task, loop.Course]:
        """Task and validation on features instead of pictures.

        Rows of images that were not asked about stay empty, unless `every` one is wanted.
        """
        rows = np.arange(len(task.inputs)) if every else task.rows
        held = course.validation
        if held is not None and held.labels is not None:
            held = replace(held, inputs=self._of(held.inputs, np.arange(len(held.inputs))))
        return replace(task, inputs=self._of(task.inputs, rows)), replace(course, validation=held)

    def _of(self, pictures: Any, rows: NDArray[np.int64]) -> FeatureInputs:
        net: Any = self.backbone
        values = np.zeros((len(pictures), net.width), np.float32)
        with torch.no_grad(), evaluating(net), plain(net), autocast(self.device, self.precision):
            for start in range(0, len(rows), _BATCH):
                part = rows[start : start + _BATCH]
                maps = net(net.prepare(pictures.batch(part).to(self.device)))
                values[part] = maps.float().mean((-2, -1)).cpu().numpy()
        return FeatureInputs(values, id=f"{pictures.id} pooled")
