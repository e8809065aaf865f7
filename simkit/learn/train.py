"""Training: heads on features, many at once, and whole backbones, by one loop (`fit`).

`train_stack` reads from top to bottom: check the arguments, train the head alone if the settings
ask for it, train the whole stack, and return its models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.devices import Batches, device_of, keep_memory, products_in, usable
from simkit.errors import BadInput
from simkit.history import History, content_id
from simkit.learn.checkpoint import Checkpoint
from simkit.learn.checks import check_training, checked_backbone
from simkit.learn.distributed import current_team, not_compiled, on_device
from simkit.learn.inputs import FeatureInputs, Places, Views
from simkit.learn.method import Method, make, stack_states, state_of_run
from simkit.learn.model import IMAGES, backbone_maps, batches, evaluating
from simkit.learn.optim import Optimiser
from simkit.learn.selection import Curve, Record, TrainingProgress
from simkit.learn.settings import Settings
from simkit.learn.stack import Run, Share, Stack, StackInputs, WarmStart
from simkit.learn.task import Batch, Outputs, Task
from simkit.learn.trained import Trained, histories
from simkit.learn.validation import Validation
from simkit.progress import Progress, notebook_bar, silent

__all__ = ["Settings", "Trained", "Validation", "Watcher", "train", "train_stack"]

_COMPILER: Any = "inductor"


class Watcher(Protocol):
    """Called in every step, after the optimiser and before the update of the method's state.

    Its arguments are on the device of the training. It may also have `after_epoch(epoch, model,
    state)`, called at the end of each epoch.
    """

    def __call__(self, epoch: int, batch: Batch, out: Outputs, state: nn.Module) -> None: ...


Watch = Mapping[int, Sequence[Watcher]]  # watchers by index of their run


@dataclass(frozen=True, eq=False)
class Stage:
    """Companions of a training, of the head alone or of the whole model.

    before: epochs of an earlier stage, of `epochs` in all, for the progress.
    """

    checkpoint: Checkpoint
    validation: Validation | None
    watch: Watch
    progress: Progress
    before: int
    epochs: int

    def report(self, epoch: float, ended: Curve | None = None, *, resumed: bool = False) -> None:
        """Report progress after so many epochs of this stage; `ended`: after a whole epoch."""
        done = self.before + epoch
        if ended is not None and not resumed:
            self.progress(int(done), self.epochs)
        report = getattr(self.progress, "report", None)
        if report is not None:
            loss = ended.losses[-1] if ended else None
            score = ended.validation[-1] if ended and ended.validation else None
            report(TrainingProgress(done, self.epochs, loss, score, resumed))


def train(
    task: Task,
    method: Method | str,
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    watch: Sequence[Watcher] = (),
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
    compile: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train one method on one task.

    Under torchrun, within `simkit.learn.distributed.together`, several processes train it.

    Parameters
    ----------
    task
        Labels of N images and their inputs; only asked images enter training.
    method
        Such as ``"ll-r(delta=0.2)"``, or ``simkit.methods.make("ll-r", delta=0.2)``.
    settings
        Epochs, batch size, learning rate and so on.
    seed
        With `draw`, determines the order of images and the initial head.
    draw
        Number of the repetition.
    validation
        Images to score after every epoch, and to select the epoch if the settings require it.
    watch
        Called in every step, except in epochs of the head alone.
    backbone
        A network to train with the head, on ImageInputs; it is copied and not changed. A custom
        one has `width`, the number D, and `prepare(images)`, from uint8 (b, 3, H, W) to its
        input, and returns maps (b, D, h, w) of floats.
    device
        "auto" is a GPU if there is one and a backbone is trained, else the CPU; or "cpu",
        "cuda", "cuda:1". Results are on the CPU. Heads on features agree between devices
        within 1e-5; backbones do not, whose rounding errors grow from step to step.
    compile
        Use torch.compile for the backbone.
    checkpoint
        A file written after every epoch; if it exists, training resumes from it to the same
        numbers.
    progress
        Called with (epochs done, epochs); it may have `report`, called after every step and epoch
        with a `TrainingProgress`. By default a bar in notebooks, unless SIMKIT_PROGRESS is "off".

    Returns
    -------
    Trained
        Scores by `.scores(inputs)`, or as a table by `simkit.predict`.

    Raises
    ------
    BadInput
        For arguments that do not fit together, and for missing needs of a method or a backbone.
    """
    return train_stack(
        [(task, method)],
        settings=settings,
        seed=seed,
        draw=draw,
        validation=validation,
        watch={0: tuple(watch)},
        backbone=backbone,
        device=device,
        compile=compile,
        checkpoint=checkpoint,
        progress=notebook_bar("training") if progress is None else progress,
    )[0]


def _method(method: Method | str) -> Method:
    return make(method) if isinstance(method, str) else method


def train_stack(
    runs: Sequence[tuple[Task, Method | str]],
    *,
    lrs: Sequence[float] | None = None,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    validation: Validation | None = None,
    watch: Watch | None = None,
    backbone: nn.Module | None = None,
    device: str | torch.device = "auto",
    compile: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[Trained]:
    """Train several runs of one draw together, with the results of separate trainings (to 1e-5).

    The order of images and the initial head depend on seed and draw alone: differences between runs
    are differences between labels and methods.

    Parameters
    ----------
    runs
        Pairs of a task and a method or its spelling. They share inputs and asked images.
    lrs
        A learning rate for each run; by default that of the settings.
    watch
        Watchers by index of their run.
    settings, seed, draw, validation, backbone, device, compile, checkpoint, progress
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
    rate = settings.rate(backbone=backbone is not None)
    rates = [rate] * len(runs) if lrs is None else [float(lr) for lr in lrs]
    device = current_team().device(device_of(device, needed=backbone is not None))
    network, made = checked_backbone(backbone, [(task, _method(one)) for task, one in runs])
    check_training(made, rates, settings, validation, device, fine_tuned=network is not None)
    what: dict[str, Any] = {"validation": validation, "backbone": backbone}
    records = histories(made, rates, settings=settings, seed=seed, draw=draw, **what)
    if network is not None:
        # Convolutions on GPUs are faster with channels last; on CPUs that changes nothing.
        fastest = torch.channels_last if device.type == "cuda" else torch.preserve_format
        network.to(device, memory_format=fastest)
        if compile:
            network.compile(dynamic=False, backend=_COMPILER)
    computed = replace(settings, precision=usable(settings.precision, device))
    made_of = StackInputs(computed, Chance.seeded(seed).of("train", draw), device, network)
    keep_memory()  # for the tensors of the next step

    # The histories determine the training, so their id tells whether a checkpoint belongs to it.
    key, head_epochs = content_id(*(history.to_json() for history in records)), settings.head_epochs
    file = Checkpoint(checkpoint, key, content_id("head", key) if head_epochs else None)
    epochs, progress = head_epochs + settings.epochs, progress or silent
    start = None
    with products_in(computed.precision), _enough_memory(made_of):
        if head_epochs and not file.is_current:
            of_head = Checkpoint(checkpoint, content_id("head", key))
            first = Stage(of_head, validation, {}, progress, before=0, epochs=epochs)
            start = _head_first(made[0], made_of, first)
        if settings.head_then == "go-on":
            made_of = replace(made_of, before=head_epochs)
        stack = Stack(made, rates, made_of, start)
        stage = Stage(file, validation, watch or {}, progress, before=head_epochs, epochs=epochs)
        record = fit(stack, stage, {} if start is None else start.curves)

    kind = device.type + (" compiled" if compile else "")
    kind += "" if computed == settings else f" in {computed.precision}"
    kind += f" in {stack.team.processes} processes" if stack.team.processes > 1 else ""
    return _results(stack, record, records, kind)


def _results(stack: Stack, record: Record, records: Sequence[History], kind: str) -> list[Trained]:
    """The models of all runs; kind: of device, where other devices round differently.

    The device is among the versions and no part of the training's identity: an interrupted training
    may resume on another one.
    """
    trained = []
    for run, (history, curve) in enumerate(zip(records, record.curves, strict=True)):
        (task, method), (model, state, epoch) = stack.runs[run], record.chosen(run, stack)
        if kind != "cpu":
            history = replace(history, versions={**history.versions, "device": kind})
        trained.append(Trained(
            model.eval(), method, state, task.labels.classes, epoch,
            tuple(curve.losses), tuple(curve.validation), history, tuple(curve.plain),
            tuple(record.head.get("losses", ())), tuple(record.head.get("validation", ())),
        ))  # fmt: skip
    return trained


@contextmanager
def _enough_memory(made_of: StackInputs) -> Iterator[None]:
    """Turn a lack of a GPU's memory within the block into a BadInput with its mend."""
    try:
        yield
        return
    except torch.OutOfMemoryError:
        pass  # and release the tensors of the traceback
    settings, batch = made_of.settings, made_of.settings.batch_size
    mend = "reduce the stack or train on the cpu"
    if made_of.backbone is not None:
        mend = "use a smaller network, smaller images or the cpu"
        if batch > 1:
            halved = f"batch_size to {batch // 2} and accumulate to {2 * settings.accumulate}"
            mend = f"set {halved}, with nearly the same steps, or {mend}"
        if settings.precision != "bf16":
            mend = f"set precision to bf16; else {mend}"
    raise BadInput(
        f"the memory of {made_of.device} is too small to train on {batch:,} images at a time; "
        f"{mend}"
    )


def fit(stack: Stack, stage: Stage, head_curves: dict[str, list[float]]) -> Record:
    """The training loop: train a stack to the end, or from its checkpoint."""
    settings, team, n = stack.settings, stack.team, len(stack.rows)
    optimiser = Optimiser(stack.groups(), settings)
    record = Record(stack, head_curves)
    training = stack, optimiser, record
    done = team.in_turn(lambda: stage.checkpoint.resume(*training))
    team.begin(done, stack.tensors().values())
    if done:
        stage.report(done, record.curves[0], resumed=True)

    for epoch in range(done + 1, settings.epochs + 1):
        if all(curve.stopped for curve in record.curves):
            break
        count = stack.before + epoch  # epoch of the method
        # Keyed by place: the order does not depend on the number of batches or on a resumption.
        order = stack.chance.of("order", count).permutation(n).at(np.arange(n))
        places = [order[rows] for rows in batches(n, settings.batch_size)]
        steps = [places[rows] for rows in batches(len(places), settings.accumulate)]
        data = stack.loader.batches([team.part(each) for each in places], count)
        sums = torch.zeros(len(stack.runs), device=stack.device)
        with stack.training(count):
            for k, step in enumerate(steps):
                optimiser.schedule(settings, (epoch - 1) * len(steps) + k, len(steps))
                stack.zero_grad()
                images = sum(map(len, step))
                seen: list[tuple[Share, Batch, Outputs]] = []
                for place in step:  # several where gradients are accumulated
                    seen += _forward_and_backward(data, place, images, stack, sums)
                stack.share_gradients()
                optimiser.step()
                if record.averages is not None:
                    record.averages.update()
                # Before the states change: watchers see the state that the loss has read.
                _watch_step(stage.watch, epoch, seen)
                with torch.no_grad():
                    for share, batch, out in seen:
                        share.method.after_batch(batch, out, share.state)
                stage.report(epoch - 1 + (k + 1) / len(steps))
        _after_epoch(count, stack)
        record.note_losses(epoch, sums, stack)
        record.validate(epoch, stack, stage.validation)
        for run, watchers in stage.watch.items():
            for after_epoch in (getattr(watcher, "after_epoch", None) for watcher in watchers):
                if after_epoch is not None:
                    after_epoch(epoch, stack.model(run), stack.state(run))
        stage.checkpoint.save(epoch, *training)
        stage.report(epoch, record.curves[0])
    return record


def _forward_and_backward(
    data: Iterator[tuple[Tensor, Views]],
    place: Places,
    images: int,
    stack: Stack,
    sums: Tensor,
) -> list[tuple[Share, Batch, Outputs]]:
    """Add a batch's gradients, and its losses to `sums`; returns the batch of each share.

    data: loads the next batch.  place (b,): among the asked images.  images: of the whole step.
    sums (R,): of all runs, in the order of the shares.
    Nothing in a step waits for the device: indices come from pinned memory, the sums stay on the
    device.
    """
    b, team = len(place), stack.team
    part_of_step = b / images
    # A last, smaller batch is not worth another compilation.
    with nullcontext() if b == stack.settings.batch_size else not_compiled(stack.backbone):
        x, views = next(data)
        outs = stack.forward(x)
    boxes, flips = team.gathered(views.boxes, b), team.gathered(views.flips, b)
    index, where = (on_device(rows, stack.device) for rows in (stack.rows[place], place))
    seen, of_shares = [], []
    for share, share_out in zip(stack.shares, outs, strict=True):
        method = share.method
        out = team.whole(share_out, b, method.needs)
        labels = share.labels_at(place, where)
        batch = Batch(index, labels, boxes=boxes, flips=flips, share=part_of_step)
        losses = method.loss(batch, out, share.state)
        wanted = (len(share.runs),)
        if losses.shape != wanted:  # one number for all runs would scale their gradients
            raise BadInput(
                f"the loss of {method.name!r} has the shape {tuple(losses.shape)}; runs are "
                f"trained together, and each needs its own, here {wanted}: reduce "
                "over the last two dimensions, as in values.mean((-2, -1))"
            )
        of_shares.append(losses)
        seen.append((share, batch, out.detached()))
    # Runs share no parameter, so the sum of their losses has the gradients of each alone. Means
    # over batches of different sizes are weighted to the mean over the step.
    of_runs = torch.cat(of_shares)
    (of_runs * torch.where(stack.sums, 1.0, part_of_step)).sum().backward()
    sums += of_runs.detach() * torch.where(stack.sums, 1, b)
    return seen


def _after_epoch(epoch: int, stack: Stack) -> None:
    """Update states, with scores of all images for the methods that need them."""
    wanted = any(share.method.needs.epoch_scores for share in stack.shares)
    scores = stack.scores(stack.runs[0][0].inputs) if wanted else []
    stack.team.broadcast(scores)
    with torch.no_grad():
        for k, share in enumerate(stack.shares):
            needed = scores[k] if share.method.needs.epoch_scores else None
            share.method.after_epoch(epoch, needed, share.state)


def _watch_step(watch: Watch, epoch: int, seen: list[tuple[Share, Batch, Outputs]]) -> None:
    """Call the watchers of each run with the step as if it were trained alone."""
    for share, batch, out in seen if watch else ():
        for k, run in enumerate(share.runs):
            for watcher in watch.get(run, ()):
                alone = Batch(batch.index, batch.labels[k], batch.boxes, batch.flips)
                watcher(epoch, alone, out.of_run(k), state_of_run(share.state, k))


def _head_first(run: Run, made_of: StackInputs, stage: Stage) -> WarmStart:
    """Train the head of one run for `head_epochs`, with a frozen backbone in evaluation mode.

    Features are computed once, of untransformed images, unless the head is trained on augmented
    images or the method uses maps, which would fill the memory. With "restart" the method starts
    again from the best epoch's head (Cole et al., CVPR 2021, who transfer ROLE's estimates), with
    "go-on" it keeps its state (Verelst et al., WACV 2023).
    """
    task, method = run
    settings, network = replace(made_of.settings, standardise=False).of_head(), made_of.backbone
    assert network is not None
    augmented = settings.head_augment or method.needs.maps
    if not augmented:  # rows of images without any question stay empty if none needs them
        rows = np.arange(len(task.inputs)) if method.needs.epoch_scores else task.rows
        task = replace(task, inputs=_features(task.inputs, rows, made_of))
        if (held := stage.validation) is not None and held.labels is not None:
            features = _features(held.inputs, np.arange(len(held.inputs)), made_of)
            stage = replace(stage, validation=replace(held, inputs=features))
    backbone = network if augmented else None
    of_head = replace(made_of, settings=settings, backbone=backbone, frozen=True)
    stack = Stack([(task, method)], [settings.rate(backbone=True)], of_head)
    record = fit(stack, stage, {})
    curves = {"losses": record.curves[0].losses, "validation": record.curves[0].validation}
    if settings.head_then == "go-on":
        head, state = stack.model(0).head, stack.shares[0].state
    else:
        model, last, _ = record.chosen(0, stack)
        head, chance = model.head, made_of.chance.of("state", method.name)
        state = stack_states([method.continued_from(last, run[0], chance)])
    return WarmStart(head.weight.detach().clone(), head.bias.detach().clone(), state, curves)


def _features(images: Any, rows: Places, made_of: StackInputs) -> FeatureInputs:
    """Pooled features (N, D) of untransformed images; zero except at `rows`."""
    network: Any = made_of.backbone
    values = np.zeros((len(images), network.width), np.float32)

    def of_part(part: slice) -> NDArray[np.float32]:
        x = images.batch(rows[part]).to(made_of.device)
        means = backbone_maps(network, x, made_of.settings.precision).mean((-2, -1))
        return means.cpu().numpy()  # type: ignore[no-any-return]

    with torch.no_grad(), evaluating(network), not_compiled(network):
        for part, means in Batches(IMAGES, made_of.device).over(len(rows), of_part):
            values[rows[part]] = means
    return FeatureInputs(values, id=f"{images.id} pooled")
