"""Training: heads on frozen features, many at once, and whole backbones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import torch
from torch import nn

from simkit.chance import Chance
from simkit.history import History, content_id
from simkit.learn import loop
from simkit.learn.checks import check_training
from simkit.learn.feeding.feed import feed_for
from simkit.learn.fitting import copied, fitted
from simkit.learn.heads.stack import Begun, Run, Stack
from simkit.learn.linear_init import head_first
from simkit.learn.machines.devices import compiled, device_of, laid_out
from simkit.learn.machines.team import Team
from simkit.learn.method import Method
from simkit.learn.reached import told_by
from simkit.learn.record import Record
from simkit.learn.saved.provenance import computed_on, histories
from simkit.learn.saved.unfinished import key_of
from simkit.learn.steps.averaging import Averages
from simkit.learn.steps.optim import Settings
from simkit.learn.task import Task
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from simkit.learn.watch import Watch, Watcher
from simkit.progress import notebook_bar

__all__ = ["Settings", "Trained", "Validation", "Watcher", "train", "train_stack"]


def train(task: Task, method: Method, *, watch: Sequence[Watcher] = (), **more: Any) -> Trained:
    """Train one method on one task; `more` is what `train_stack` takes.

    In notebooks a bar is shown where no `progress` is given, unless SIMKIT_PROGRESS is "off".
    """
    if more.get("progress") is None:
        more["progress"] = notebook_bar("training")
    return train_stack([(task, method)], watch={0: tuple(watch)}, **more)[0]


def train_stack(
    runs: Sequence[Run],
    *,
    settings: Settings = Settings(),
    lrs: Sequence[float] | None = None,
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    watch: Watch | None = None,
    progress: Callable[[int, int], None] | None = None,
    backbone: nn.Module | None = None,
    checkpoint: str | PathLike[str] | None = None,
    device: str | torch.device = "auto",
    compile: bool = False,
    team: Team = Team(),
) -> list[Trained]:
    """Train several runs of one draw together; each comes out as it would alone (to 1e-5).

    runs share inputs and asked images, and only these enter training. The order of images depends
    on seed and draw alone, and so does the head that every run starts from: differences between
    runs are differences between labels and methods.

    lrs: a learning rate for each run, by default that of the settings.  watch: watchers by the
    place of their run; they see no epochs in which the head learns alone.  progress: called with
    (epochs done, epochs); it may have `told`, called after every step and epoch with `Reached`.
    backbone: learns along with the head, for a single run on ImageInputs; a copy of it, the one
    given stays. One of one's own has `width`, the number D, and `prepare(pictures)`, from uint8
    (b, 3, H, W) to what it takes, and gives maps (b, D, h, w) of floats.  checkpoint: a file
    written after every epoch; where it exists, training goes on from it to the same numbers.

    device: "auto" is a GPU where there is one and a backbone learns, else the CPU; or "cpu",
    "cuda", "cuda:1". What comes back lies on the CPU.  compile: let torch.compile work on the
    backbone.  team: the processes that train together: see `parallel.together`.

    Raises BadInput for what does not fit together and for what a method or a backbone lacks.
    """
    common = settings.rate(backbone=backbone is not None)
    rates = [common] * len(runs) if lrs is None else [float(lr) for lr in lrs]
    team.check([method for _, method in runs])
    place = team.device(device_of(device, needed=backbone is not None))
    net = copied(backbone)
    runs = fitted(runs, net)
    check_training(
        runs, rates, settings=settings, validation=validation, backbone=backbone, device=place
    )
    who: dict[str, Any] = {"validation": validation, "backbone": backbone}
    about = histories(runs, rates, settings=settings, seed=seed, draw=draw, **who)
    key = content_id(*(history.to_json() for history in about))
    course = loop.Course(key, validation, watch or {}, checkpoint=checkpoint, team=team)
    how: dict[str, Any] = {"settings": settings, "chance": Chance.seeded(seed).of("train", draw)}
    net = None if net is None else _placed(net, place, compile)
    stack, record, averages = _phases(
        runs, rates, course, progress, device=place, backbone=net, **how
    )
    found = []
    for run, history in enumerate(about):
        told = computed_on(history, place, compiled=compile, processes=team.processes)
        found.append(_trained(run, stack, record, averages, told))
    return found


def _placed(backbone: nn.Module, device: torch.device, compile: bool) -> nn.Module:
    placed = laid_out(backbone, device)
    if compile:
        compiled(placed)
    return placed


def _phases(
    runs: Sequence[Run],
    rates: Sequence[float],
    course: loop.Course,
    progress: Callable[[int, int], None] | None,
    *,
    settings: Settings,
    chance: Chance,
    device: torch.device,
    backbone: nn.Module | None = None,
) -> tuple[Stack, Record, Averages | None]:
    """The head alone, where the settings want that and no checkpoint is past it; then all."""
    how: dict[str, Any] = {"chance": chance, "backbone": backbone, "device": device}
    before, of = settings.head_epochs, settings.head_epochs + settings.epochs
    begun: Begun | None = None
    course = replace(course, told=told_by(progress, before, of))
    if progress is not None:
        course = replace(course, progress=lambda done: progress(before + done, of))
    if before:
        course = replace(course, earlier=content_id("head", course.key))
        if key_of(course.checkpoint) != course.key:
            said = (lambda done: progress(done, of)) if progress else (lambda done: None)
            key = str(course.earlier)
            told = told_by(progress, 0, of)
            first = replace(course, key=key, earlier=None, watch={}, progress=said, told=told)
            begun, curves = head_first(runs[0], first, settings=settings, **how)
            course = replace(course, head=curves)
    feed = feed_for(
        runs[0][0].inputs,
        runs[0][0].rows,
        maps=any(method.needs.maps for _, method in runs),
        standardise=settings.standardise,
        autocast=settings.precision == "bf16",
        **how,
    )
    going_on = settings.head_then == "go-on"
    stack = Stack(
        runs, rates, feed, settings=settings, begun=begun, before=before if going_on else 0, **how
    )
    return stack, *loop.run(stack, course)


def _trained(
    run: int, stack: Stack, record: Record, averages: Averages | None, history: History
) -> Trained:
    task, method = stack.runs[run]
    model, state, epoch = record.chosen(run, stack, averages)
    return Trained(
        model.eval(),
        method,
        state,
        task.labels.classes,
        epoch,
        tuple(record.losses[run]),
        tuple(record.validation[run]),
        history,
        tuple(record.plain[run]),
        tuple(record.head.get("losses", ())),
        tuple(record.head.get("validation", ())),
    )
