"""The one loop: heads on frozen features, many at once, and whole backbones."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.chance import Chance
from simkit.files import may_write
from simkit.learn.heads.scoring import of_stack
from simkit.learn.heads.stack import Part, Stack
from simkit.learn.machines.devices import on_device, plain
from simkit.learn.machines.team import Team
from simkit.learn.reached import Reached, Told, after, nobody
from simkit.learn.record import Record, mean_losses
from simkit.learn.saved import unfinished as files
from simkit.learn.steps.averaging import Averages
from simkit.learn.steps.optimiser import Optimiser
from simkit.learn.steps.schedules import set_rates
from simkit.learn.task import Batch, Outputs
from simkit.learn.validation import Validation
from simkit.learn.watch import Watch, detached, show_batch, show_epoch

Places = NDArray[np.int64]
Cut = list[tuple[Places, Places]]  # of every batch those this process shows, and all
Seen = list[tuple[Part, Batch, Outputs]]


@dataclass(frozen=True, eq=False)
class Course:
    """What belongs to a training besides its stack.

    key: names the training in its checkpoint; earlier: that of the phase before.  progress: called
    with epochs done, of this phase; told: as well, and more often.  head: curves of the phase
    before.
    """

    key: str
    validation: Validation | None = None
    watch: Watch = field(default_factory=dict)
    progress: Callable[[int], None] = lambda done: None
    told: Told = nobody
    checkpoint: str | PathLike[str] | None = None
    team: Team = field(default_factory=Team)
    earlier: str | None = None
    head: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.checkpoint is not None:  # after an epoch it would be too late
            may_write(self.checkpoint)


def run(stack: Stack, course: Course) -> tuple[Record, Averages | None]:
    """Train a stack to the end, or from where its checkpoint left it."""
    settings = stack.settings
    made = Optimiser(stack.groups(), settings)
    averages = Averages.of(stack)
    record = Record(len(stack.runs), settings, head=course.head)
    done, file = 0, course.checkpoint
    if file is not None:
        given = (course.key, stack, made, record, averages)
        earlier = course.earlier
        done = course.team.in_turn(lambda: files.resume(file, *given, earlier=earlier))
    course.team.begin(stack, done)
    if done:
        course.told(after(record, done, resumed=True))
    for epoch in range(done + 1, settings.epochs + 1):
        if record.over:
            break
        sums = _epoch(epoch, stack, made, averages, course)
        _after_epoch(stack.before + epoch, stack)
        losses = mean_losses(sums, stack, len(stack.rows))
        record.end_epoch(epoch, stack, losses, course.validation, averages, course.team)
        show_epoch(course.watch, epoch, stack)
        if file is not None and course.team.first:
            files.save_training(file, course.key, epoch, stack, made, record, averages)
        course.progress(epoch)
        course.told(after(record, epoch))
    return record, averages


def _epoch(
    epoch: int,
    stack: Stack,
    made: Optimiser,
    averages: Averages | None,
    course: Course,
) -> list[Tensor]:
    """One pass over the asked images; returns the sums of losses (r,) of every part.

    Nothing in a step waits for the device: indices come from pinned memory, the sums stay.
    """
    settings, N = stack.settings, len(stack.rows)
    sums = [torch.zeros(len(part.runs), device=stack.device) for part in stack.parts]
    keyed = stack.before + epoch
    order = _order(N, stack.chance.of("order", keyed))
    steps = [
        [(course.team.part(place), place) for place in _cut(places, settings.batch_size)]
        for places in _cut(order, settings.batch_size * settings.accumulate)
    ]
    stack.feed.expect([own for step in steps for own, _ in step])
    with stack.training(keyed):
        for k, batches in enumerate(steps):
            set_rates(made, settings, (epoch - 1) * len(steps) + k, len(steps))
            seen = _step(batches, keyed, stack, sums, course.team)
            course.team.sum_gradients(stack)
            made.step()
            if averages is not None:
                averages.update()
            if course.watch:
                for part, batch, out in seen:
                    show_batch(course.watch, epoch, part, batch, out)
            with torch.no_grad():
                for part, batch, out in seen:
                    part.method.after_batch(batch, out, part.state)
            course.told(Reached(epoch - 1 + (k + 1) / len(steps), settings.epochs))
    return sums


def _step(cut: Cut, epoch: int, stack: Stack, sums: list[Tensor], team: Team) -> Seen:
    """Gradients of one step from one or more batches; returns what was seen in each."""
    seen: Seen = []
    images = sum(len(place) for _, place in cut)
    for k, (own, place) in enumerate(cut):
        b = len(place)
        with _as_usual(b == stack.settings.batch_size, stack):
            fed = stack.feed.batch(own, epoch=epoch)
        stack.forward(fed)
        outs = [team.whole(part.out, b, part.method.needs) for part in stack.parts]
        flips, boxes = (team.gathered(x, b) for x in (fed.flips, fed.boxes))
        where, index = (on_device(x, stack.device) for x in (place, stack.rows[place]))
        share = b / images
        batches = [part.batch(index, where, flips, boxes, share) for part in stack.parts]
        losses = [
            part.method.loss(batch, out, part.state)
            for part, batch, out in zip(stack.parts, batches, outs, strict=True)
        ]
        stack.backward(fed, losses, share=share, add=k > 0)
        for part, loss, total in zip(stack.parts, losses, sums, strict=True):
            total += loss.detach() * (1 if part.method.sums else b)
        seen += zip(stack.parts, batches, map(detached, outs), strict=True)
    return seen


def _cut(places: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [places[start : start + size] for start in range(0, len(places), size)]


def _as_usual(full: bool, stack: Stack) -> AbstractContextManager[Any]:
    """A last, smaller batch is no reason to compile a backbone again."""
    return nullcontext() if full else plain(stack.backbone)


def _after_epoch(epoch: int, stack: Stack) -> None:
    wanted = [part for part in stack.parts if part.method.needs.epoch_scores]
    found = iter(of_stack(stack, wanted, stack.runs[0][0].inputs) if wanted else ())
    with torch.no_grad():
        for part in stack.parts:
            scores = next(found) if part.method.needs.epoch_scores else None
            part.method.after_epoch(epoch, scores, part.state)


def _order(images: int, chance: Chance) -> NDArray[np.int64]:
    return chance.permutation(images).at(np.arange(images))
