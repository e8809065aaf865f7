"""Training: heads on frozen features, many at once, and whole backbones, by one loop (`fit`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.networks import device_of
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.learn.checkpoint import Checkpoint
from simkit.learn.checks import check_training, checked_backbone
from simkit.learn.distributed import Team, not_compiled, on_device
from simkit.learn.inputs import FeatureInputs, FeatureLoader, ImageLoader, Loader, Places, Views
from simkit.learn.method import Method, stack_states, state_of_run
from simkit.learn.model import backbone_maps, batches, evaluating
from simkit.learn.optim import Averages, Optimiser, Settings
from simkit.learn.stack import Begun, Part, Run, Setup, Stack
from simkit.learn.task import Batch, Outputs, Task
from simkit.learn.trained import Trained, computed_on, histories
from simkit.learn.validation import Record, Reporter, Validation
from simkit.progress import Progress, notebook_bar, silent

__all__ = ["Settings", "Trained", "Validation", "Watcher", "train", "train_stack"]

_COMPILER: Any = "inductor"
Seen = list[tuple[Part, Batch, Outputs]]
Data = Iterator[tuple[Tensor, Views]]


class Watcher(Protocol):
    """Called in every step, after the optimiser and before the update of the method's state.

    Its arguments are on the device of the training. It may also have `after_epoch(epoch, model,
    state)`, called at the end of each epoch.
    """

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None: ...


Watch = Mapping[int, Sequence[Watcher]]  # watchers by index of their run


class TrainOptions(TypedDict, total=False):
    """Where and how a training runs, as keywords of `train`; results agree within 1e-5."""

    device: str | torch.device
    compile: bool
    checkpoint: str | PathLike[str] | None
    progress: Progress | None
    team: Team


@dataclass(frozen=True, eq=False)
class Phase:
    """Companions of a training: of the head alone, or of the whole model."""

    checkpoint: Checkpoint
    report: Reporter
    team: Team
    validation: Validation | None = None
    watch: Watch = field(default_factory=dict)


def train(
    task: Task,
    method: Method,
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    watch: Sequence[Watcher] = (),
    backbone: nn.Module | None = None,
    **options: Unpack[TrainOptions],
) -> Trained:
    """Train one method on one task.

    Parameters
    ----------
    task
        Labels of N images and their inputs; only asked images enter training.
    method
        Such as ``simkit.methods.make("ll-r")``.
    settings
        Epochs, batch size, learning rate and so on.
    seed, draw
        Determine the order of images and the initial head.
    validation
        Images to score after every epoch, and to select the epoch if the settings require it.
    watch
        Called in every step, except in epochs of the head alone.
    backbone
        A network to train with the head, on ImageInputs; it is copied and not changed. A custom
        one has `width`, the number D, and `prepare(images)`, from uint8 (b, 3, H, W) to its
        input, and returns maps (b, D, h, w) of floats.
    **options
        See Other Parameters.

    Other Parameters
    ----------------
    device : str or torch.device
        "auto" is a GPU if there is one and a backbone is trained, else the CPU; or "cpu",
        "cuda", "cuda:1". Results are on the CPU.
    compile : bool
        Use torch.compile for the backbone.
    checkpoint : path
        A file written after every epoch; if it exists, training resumes from it to the same
        numbers.
    progress : callable
        Called with (epochs done, epochs); it may have `report`, called after every step and
        epoch with `Reached`. By default a bar in notebooks, unless SIMKIT_PROGRESS is "off".
    team : Team
        The processes that train together: see `distributed.together`.

    Returns
    -------
    Trained
        Scores by `.scores(inputs)`, or as a table by `simkit.predict`.

    Raises
    ------
    BadInput
        For arguments that do not fit together, and for missing needs of a method or a backbone.
    """
    if options.get("progress") is None:
        options["progress"] = notebook_bar("training")
    what: dict[str, Any] = {"settings": settings, "validation": validation, "backbone": backbone}
    watchers = {0: tuple(watch)}
    return train_stack([(task, method)], seed=seed, draw=draw, watch=watchers, **what, **options)[0]


def train_stack(
    runs: Sequence[Run],
    *,
    settings: Settings = Settings(),
    lrs: Sequence[float] | None = None,
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    watch: Watch | None = None,
    backbone: nn.Module | None = None,
    **options: Unpack[TrainOptions],
) -> list[Trained]:
    """Train several runs of one draw together, with the results of separate trainings (to 1e-5).

    The order of images and the initial head depend on seed and draw alone: differences between runs
    are differences between labels and methods.

    Parameters
    ----------
    runs
        Pairs of a task and a method. They share inputs and asked images.
    lrs
        A learning rate for each run; by default that of the settings.
    watch
        Watchers by index of their run.
    settings, seed, draw, validation, backbone, **options
        As in `train`; a backbone is trained with a single run.

    Returns
    -------
    list of Trained
        In the order of `runs`.

    Raises
    ------
    BadInput
        As `train`.
    """
    team = options.get("team") or Team()
    default = settings.rate(backbone=backbone is not None)
    rates = [default] * len(runs) if lrs is None else [float(lr) for lr in lrs]
    device = team.device(device_of(options.get("device", "auto"), needed=backbone is not None))
    network, runs = checked_backbone(backbone, runs)
    check_training(runs, rates, settings, validation, network, device)
    what: dict[str, Any] = {"validation": validation, "backbone": backbone}
    records = histories(runs, rates, settings=settings, seed=seed, draw=draw, **what)
    if network is not None:
        fastest = torch.channels_last if device.type == "cuda" else torch.preserve_format
        network.to(device, memory_format=fastest)
        if options.get("compile"):
            network.compile(dynamic=False, backend=_COMPILER)

    key = content_id(*(history.to_json() for history in records))
    setup = Setup(settings, Chance.seeded(seed).of("train", draw), device, network)
    before, earlier = settings.head_epochs, content_id("head", key)
    report = Reporter(options.get("progress") or silent, before, before + settings.epochs)
    file = options.get("checkpoint")
    checkpoint = Checkpoint(file, key, earlier if before else None)
    phase = Phase(checkpoint, report, team, validation, watch or {})
    begun: Begun | None = None
    head_curves: dict[str, list[float]] = {}
    if before and not checkpoint.is_current:
        of_head = Checkpoint(file, earlier)
        first = replace(phase, checkpoint=of_head, report=replace(report, before=0), watch={})
        begun, head_curves = _head_first(runs[0], setup, first)
    if settings.head_then == "go-on":
        setup = replace(setup, before=before)

    stack = Stack(runs, rates, _loader(runs, setup), setup, begun)
    record, averages = fit(stack, phase, head_curves)
    compiled = options.get("compile", False)
    trained = []
    for run, (history, curve) in enumerate(zip(records, record.curves, strict=True)):
        model, state, epoch = record.chosen(run, stack, averages)
        history = computed_on(history, device, compiled=compiled, processes=team.processes)
        trained.append(Trained(
            model.eval(), runs[run][1], state, runs[run][0].labels.classes, epoch,
            tuple(curve.losses), tuple(curve.validation), history, tuple(curve.plain),
            tuple(record.head.get("losses", ())), tuple(record.head.get("validation", ())),
        ))  # fmt: skip
    return trained


def fit(
    stack: Stack, phase: Phase, head_curves: dict[str, list[float]]
) -> tuple[Record, Averages | None]:
    """The training loop: train a stack to the end, or from its checkpoint."""
    settings, team = stack.settings, phase.team
    optimiser = Optimiser(stack.groups(), settings)
    averages = None
    if settings.ema is not None:
        averages = Averages(stack.weights(), settings.ema, warm_up=settings.ema_warm_up)
    record = Record(len(stack.runs), settings, head_curves)
    training = stack, optimiser, record, averages
    done = team.in_turn(lambda: phase.checkpoint.resume(training))
    team.begin(stack, done)
    if done:
        phase.report(done, record, resumed=True)

    for epoch in range(done + 1, settings.epochs + 1):
        if record.over:
            break
        sums = [torch.zeros(len(part.runs), device=stack.device) for part in stack.parts]
        count = stack.before + epoch  # epoch of the method
        steps = _steps(stack, count)
        places = [team.part(batch) for step in steps for batch in step]
        data = stack.loader.batches(places, count)
        with stack.training(count):
            for k, step in enumerate(steps):
                optimiser.schedule(settings, (epoch - 1) * len(steps) + k, len(steps))
                stack.zero_grad()
                seen: Seen = []
                images = sum(map(len, step))
                for batch in step:  # several where gradients are accumulated
                    share = len(batch) / images
                    seen += _forward_and_backward(batch, share, data, stack, team, sums)
                stack.share_gradients()
                team.sum_gradients(stack)
                optimiser.step()
                if averages is not None:
                    averages.update()
                _watch_step(phase.watch, epoch, seen)
                with torch.no_grad():
                    for part, batch_seen, out in seen:
                        part.method.after_batch(batch_seen, out, part.state)
                phase.report(epoch - 1 + (k + 1) / len(steps))
        _after_epoch(count, stack, team)
        record.note_losses(epoch, sums, stack)
        record.validate(epoch, stack, phase.validation, averages, team)
        _watch_epoch(phase.watch, epoch, stack)
        if team.first:
            phase.checkpoint.save(epoch, training)
        phase.report(epoch, record)
    return record, averages


def _forward_and_backward(
    place: Places, share: float, data: Data, stack: Stack, team: Team, sums: list[Tensor]
) -> Seen:
    """Add a batch's gradients and its sums of losses; returns the batch of each part.

    place (b,): among the asked images.  share: of the images of the step.  data: loads the next
    batch.  Nothing in a step waits for the device: indices come from pinned memory, the sums stay
    on the device.
    """
    b = len(place)
    # A last, smaller batch is not worth another compilation.
    with nullcontext() if b == stack.settings.batch_size else not_compiled(stack.backbone):
        x, views = next(data)
        outs = stack.forward(x)
    boxes, flips = team.gathered(views.boxes, b), team.gathered(views.flips, b)
    index, where = (on_device(rows, stack.device) for rows in (stack.rows[place], place))
    seen: Seen = []
    total = torch.zeros((), device=stack.device)
    for part, part_out, part_sum in zip(stack.parts, outs, sums, strict=True):
        out = team.whole(part_out, b, part.method.needs)
        batch = part.batch(index, place, where, boxes=boxes, flips=flips, share=share)
        losses = part.method.loss(batch, out, part.state)
        if losses.shape != part_sum.shape:  # one number for all runs would scale their gradients
            raise BadInput(
                f"the loss of {part.method.name!r} has the shape {tuple(losses.shape)}; runs are "
                f"trained together, and each needs its own, here {tuple(part_sum.shape)}: reduce "
                "over the last two dimensions, as in values.mean((-2, -1))"
            )
        total = total + losses.sum() * (1 if part.method.sums else share)
        part_sum += losses.detach() * (1 if part.method.sums else b)
        seen.append((part, batch, out.detached()))
    total.backward()
    return seen


def _steps(stack: Stack, epoch: int) -> list[list[Places]]:
    """The batches of each step of an epoch: indices among the asked images, in keyed order."""
    N, size = len(stack.rows), stack.settings.batch_size
    order = stack.chance.of("order", epoch).permutation(N).at(np.arange(N))
    cut = [order[rows] for rows in batches(N, size)]
    return [cut[rows] for rows in batches(len(cut), stack.settings.accumulate)]


def _after_epoch(epoch: int, stack: Stack, team: Team) -> None:
    """Update states, with scores of all images for the methods that need them."""
    wanted = any(part.method.needs.epoch_scores for part in stack.parts)
    scores = stack.scores(stack.runs[0][0].inputs) if wanted else []
    team.broadcast(scores)
    with torch.no_grad():
        for k, part in enumerate(stack.parts):
            needed = scores[k] if part.method.needs.epoch_scores else None
            part.method.after_epoch(epoch, needed, part.state)


def _watch_step(watch: Watch, epoch: int, seen: Seen) -> None:
    """Call the watchers of each run with the step as if it were trained alone."""
    for part, batch, out in seen if watch else ():
        for k, run in enumerate(part.runs):
            for watcher in watch.get(run, ()):
                alone = Batch(batch.index, batch.labels[k], batch.boxes, batch.flips)
                watcher(epoch, alone, out.of_run(k), state_of_run(part.state, k))


def _watch_epoch(watch: Watch, epoch: int, stack: Stack) -> None:
    for run, watchers in watch.items():
        for watcher in watchers:
            if (look := getattr(watcher, "after_epoch", None)) is not None:
                look(epoch, stack.model(run), stack.state(run))


def _loader(runs: Sequence[Run], setup: Setup) -> Loader:
    task, backbone, device = runs[0][0], setup.backbone, setup.device
    if backbone is not None:
        width: int = backbone.width  # type: ignore[assignment]
        return ImageLoader(task.inputs, task.rows, width, chance=setup.chance, device=device)
    maps, standardise = any(m.needs.maps for _, m in runs), setup.settings.standardise
    how: dict[str, Any] = {"maps": maps, "standardise": standardise, "device": device}
    return FeatureLoader(task.inputs, task.rows, **how)


def _head_first(run: Run, setup: Setup, phase: Phase) -> tuple[Begun, dict[str, list[float]]]:
    """Train the head of one run for `head_epochs`; returns the next phase's start, and the curves.

    The backbone is frozen, in evaluation mode. Features are computed once, of untransformed images,
    unless the head is trained on augmented images or the method uses maps, which would fill the
    memory. With "restart" the method starts again from the best epoch's head (Cole et al., CVPR
    2021, who transfer ROLE's estimates), with "go-on" it keeps its state (Verelst et al., WACV
    2023).
    """
    task, method = run
    settings, network = replace(setup.settings, standardise=False).of_head(), setup.backbone
    assert network is not None
    held = phase.validation
    augmented = settings.head_augment or method.needs.maps
    if not augmented:  # rows of images without any question stay empty if none needs them
        rows = np.arange(len(task.inputs)) if method.needs.epoch_scores else task.rows
        task = replace(task, inputs=_features(task.inputs, rows, setup))
        if held is not None and held.labels is not None:
            rows = np.arange(len(held.inputs))
            held = replace(held, inputs=_features(held.inputs, rows, setup))
    setup = replace(setup, settings=settings, backbone=network if augmented else None, frozen=True)
    loader = _loader([(task, method)], setup)
    stack = Stack([(task, method)], [settings.rate(backbone=True)], loader, setup)
    record, averages = fit(stack, replace(phase, validation=held), {})
    curves = {"losses": record.curves[0].losses, "validation": record.curves[0].validation}
    if settings.head_then == "go-on":
        head = stack.model(0).head
        state = stack.parts[0].state
    else:
        model, before, _ = record.chosen(0, stack, averages)
        head, chance = model.head, setup.chance.of("state", method.name)
        state = stack_states([method.handed_over(before, run[0], chance)])
    return Begun(head.weight.detach().clone(), head.bias.detach().clone(), state), curves


def _features(images: Any, rows: Places, setup: Setup) -> FeatureInputs:
    """Pooled features (N, D) of untransformed images; zero except at `rows`."""
    network: Any = setup.backbone
    values = np.zeros((len(images), network.width), np.float32)
    with torch.no_grad(), evaluating(network), not_compiled(network):
        for part in batches(len(rows), 64):
            x = images.batch(rows[part]).to(setup.device)
            maps = backbone_maps(network, x, setup.settings.precision)
            values[rows[part]] = maps.mean((-2, -1)).cpu().numpy()
    return FeatureInputs(values, id=f"{images.id} pooled")
