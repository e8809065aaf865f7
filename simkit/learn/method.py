"""The interface of training methods.

Every tensor may have leading run dimensions: `...` below. A method reduces over the last two
dimensions only (of maps over the last four) and returns one loss for each run. The tensors of its
state have the same leading dimensions, as `stack_states` stacks the states of several runs. In a
step nothing waits for the device: no branch on a tensor's value, no indexing whose result has a
shape that depends on values.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar, TypeVar, dataclass_transform

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.task import Batch, Needs, Outputs, Sizes, Task, check_aids
from simkit.registry import Registry, settle, short

Shape = tuple[torch.dtype, tuple[int, ...]]  # type and shape of a tensor


def _bytes(shapes: Iterable[Shape]) -> int:
    return sum(kind.itemsize * math.prod(shape) for kind, shape in shapes)


@dataclass(frozen=True)
class Method:
    """How to learn from partial labels: a value whose fields are the hyper-parameters.

    title is the field's display name, source the paper and equation. gist: a summary in a few
    words. alternative: one more value of its most important setting, which a fair comparison tries
    beside the default. presets: the fields of a published repository, by the value of `reproduce`.
    decayed: whether weight decay applies to the parameters of the state.

    family: heading of the method in lists and its hue in figures. look: its colour and its
    marker, as matplotlib writes them; None: chosen by the name. unknown_as_absent: unknown and
    absent labels are the same to it; a plan then measures labels by their positives alone, and
    counts them as complete once all positives are known. known_alone: it learns from known labels
    alone and, without absent ones, predicts everything present; a plan then proposes no labels
    without absent ones for it. A wrapper answers for its inner method.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    gist: ClassVar[str] = ""
    alternative: ClassVar[Mapping[str, Any]] = {}
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    decayed: ClassVar[bool] = True
    default_needs: ClassVar[Needs] = Needs()
    # Tensors of the state by name: their type, then their shape in numbers and in names of sizes
    # and settings. learned: those that are parameters.  for_training: those unused in prediction.
    # of_images: those that depend on the images and their order alone, which a stack holds once.
    tensors: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    learned: ClassVar[tuple[str, ...]] = ()
    for_training: ClassVar[tuple[str, ...]] = ()
    of_images: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str] = "others"
    look: ClassVar[tuple[str, str] | None] = None
    unknown_as_absent: ClassVar[bool] = False
    known_alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Convert the fields to their types. Raises BadInput; subclasses add further checks."""
        settle(self)
        self._preset(self.presets.get(getattr(self, "reproduce", None) or "", {}))

    def _preset(self, fields: Mapping[str, Any]) -> None:
        """Set fields to those of a repository. Raises BadInput for contradicting settings."""
        for key, value in fields.items():
            set_to = getattr(self, key)
            if set_to not in (value, type(self).__dataclass_fields__[key].default):
                raise BadInput(
                    f"{self.name}: reproduce={getattr(self, 'reproduce', None)!r} has {key} "
                    f"{value!r} and {set_to!r} was given; leave one of them out"
                )
            object.__setattr__(self, key, value)

    def _repr_html_(self) -> str:
        words = (" + ".join(part.title for part in layers(self)), self.source, short(self))
        return "<p><b>{}</b> ({})<br><code>{}</code></p>".format(*map(escape, words))

    @property
    def needs(self) -> Needs:
        """The needs of this method with these settings, by default `default_needs`."""
        return self.default_needs

    def shapes(self, sizes: Sizes) -> dict[str, Shape]:
        """Type and shape of every tensor of the state, by default from `tensors` of all bases."""
        values = {**vars(self), **vars(sizes)}
        return {
            name: (dtype, tuple((values[n] or 0) if isinstance(n, str) else n for n in shape))
            for part in reversed(type(self).__mro__)
            for name, (dtype, *shape) in vars(part).get("tensors", {}).items()
        }

    def state_bytes(self, sizes: Sizes) -> int:
        """Bytes of the state of one run, known before it is created."""
        return _bytes(self.shapes(sizes).values())

    def learned_bytes(self, sizes: Sizes) -> int:
        """Bytes of its parameters, for which an optimiser needs three times as much."""
        return _bytes(v for name, v in self.shapes(sizes).items() if name in self.learned)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        """Warnings, in sentences, for a training of so many epochs with this optimiser."""
        return ()

    def _late(self, setting: str, epochs: int) -> tuple[str, ...]:
        """A note if it begins to act after as many epochs as set, and training ends before."""
        after = getattr(self, setting)
        if after < epochs:
            return ()
        return (
            f"{self.name}: with {setting}={after} it begins to act after epoch {after}, and "
            f"training ends with epoch {epochs}; train longer, or set {setting} lower",
        )

    def _scheduled(self, own: int, epochs: int) -> tuple[str, ...]:
        """A note if its schedule takes another number of epochs than the training."""
        if own == epochs:
            return ()
        return (
            f"{self.name}: its schedule takes {own} epochs, and training {epochs}; give "
            f"{self.name}(epochs={epochs})",
        )

    def on_complete(self) -> Method:
        """The method with the same losses and predictions on labels of which none is unknown.

        Comparisons train runs on complete labels once if they agree in it, such as AN and Ignore. A
        class with code of its own does not inherit it, as this may change a loss or a step.
        """
        return self

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        parts = [*cls.__mro__]
        declares = next(place for place, part in enumerate(parts) if "on_complete" in vars(part))
        own = {
            name
            for part in parts[:declares]
            for name, value in vars(part).items()
            if hasattr(value, "__get__")  # functions and properties, also those of dataclasses
        }
        if any(name == "__post_init__" or not name.startswith("__") for name in own):
            cls.on_complete = Method.on_complete  # type: ignore[method-assign]

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        """Values of "auto" settings for this task, by name, for the history.

        Raises BadInput if they cannot be estimated from the task.
        """
        return {}

    def check(self, labels: PartialLabels) -> None:
        """Raise BadInput for labels that this method cannot learn from, whatever else it is given.

        Comparisons ask before any training, and `start` asks again.
        """

    @property
    def sums(self) -> bool:
        """Whether the loss sums over images, so that batches of one step add up as they are."""
        return getattr(self, "reduction", "") == "sum"

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """A new state: everything besides the model that changes in training.

        Its tensors have the declared `shapes` and the values that `fill` gives them. Raises
        BadInput that names the missing part of `task`.
        """
        needs = self.needs
        if needs.labels and not isinstance(task, Task):
            raise BadInput(
                f"method {self.name!r} needs the whole label matrix to start, and only sizes came; "
                "give Task(labels=...) instead of Sizes"
            )
        if needs.features and sizes_of(task).width is None:
            raise BadInput(
                f"method {self.name!r} reads pooled features, and their width is not known; train "
                "it on cached features (FeatureInputs)"
                + ("" if needs.labels else ", or give Sizes(..., width=D)")
            )
        check_aids(self.name, needs.aids, () if isinstance(task, Sizes) else task.aids)
        if isinstance(task, Task):
            self.check(task.labels)
        state: Any = nn.Module()
        state.for_training, state.of_images = self.for_training, self.of_images
        for name, (dtype, shape) in self.shapes(sizes_of(task)).items():
            zeros = torch.zeros(shape, dtype=dtype)
            if name in self.learned:
                state.register_parameter(name, nn.Parameter(zeros))
            else:
                state.register_buffer(name, zeros)
        with torch.no_grad():
            self.fill(state, task, chance or Chance.seeded(0))
        return state

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        """Give the tensors of a new state their initial values, where these are not 0.

        task: a Task, or Sizes if the method needs no more.
        """

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """One loss for each run, (...); reads the state only."""
        raise NotImplementedError(f"{type(self).__name__} has no loss")

    def predict(self, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) logits for evaluation."""
        return out.logits

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) bool: labels that this step rejects, corrects or ignores (for analysis)."""
        return torch.zeros_like(batch.labels, dtype=torch.bool)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        """Update the state after an optimiser step, without gradients."""

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        """Update the state after `epoch` (from 1).

        scores (..., N, L) logits of all images if `needs.epoch_scores`, else None.
        """

    def continued_from(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        """The initial state of a second training, from the final state of a first one.

        For LinearInit, in which the head is trained alone first.
        """
        return self.start(task, chance)

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        """Parameter groups for an optimiser; `model` has a `head` and perhaps a `backbone`.

        The learning rate of a head on a backbone is `model.head_ratio` times that of the backbone
        (10, as in Kim et al., CVPR 2022, for models without this attribute), that of a state
        `ratio` times it, if the method has a ratio.
        """
        head: dict[str, Any] = {"params": list(model.head.parameters()), "lr": lr}
        groups = [head]
        if of_state := list(state.parameters()):
            group = {"params": of_state, "lr": getattr(self, "ratio", 1.0) * lr}
            groups.append(group if self.decayed else {**group, "weight_decay": 0.0})
        backbone = getattr(model, "backbone", None)
        if backbone is not None:
            head["lr"] = lr * getattr(model, "head_ratio", 10.0)
            body = [p for p in backbone.parameters() if p.requires_grad]
            groups.append({"params": body, "lr": lr})
        return groups


@dataclass(frozen=True)
class Wrapper(Method):
    """A wrapper around another method: changes the outputs of the model, or adds to the loss.

    The changed outputs reach the loss, the selection and the updates of the `inner` method alike.
    Its state is `state.inner`.
    """

    inner: Method

    def __post_init__(self) -> None:
        super().__post_init__()
        # Figures and plans treat a wrapped method as the inner one.
        for fact in ("family", "look", "unknown_as_absent", "known_alone"):
            object.__setattr__(self, fact, getattr(self.inner, fact))

    def changed(self, out: Outputs, state: nn.Module, *, training: bool) -> Outputs:
        """The outputs for the inner method."""
        return out

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor | float:
        """The term added to the inner loss, (...), a mean over the images of the batch.

        `out` is the unchanged output of the model.
        """
        return 0.0

    @property
    def needs(self) -> Needs:
        return self.inner.needs | self.default_needs

    def state_bytes(self, sizes: Sizes) -> int:
        return super().state_bytes(sizes) + self.inner.state_bytes(sizes)

    def learned_bytes(self, sizes: Sizes) -> int:
        return self.inner.learned_bytes(sizes)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        return self.inner.notes(epochs=epochs, optimiser=optimiser)

    def on_complete(self) -> Method:
        return replace(self, inner=self.inner.on_complete())

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        return self.inner.estimates(task)

    def check(self, labels: PartialLabels) -> None:
        self.inner.check(labels)

    @property
    def sums(self) -> bool:
        return self.inner.sums

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        state.inner = self.inner.start(task, chance)

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        seen = self.changed(out, state, training=True)
        extra = self.extra(batch, out, state)
        if self.sums and batch.share != 1:  # sums of several batches add up, and means do not
            extra = batch.share * extra
        return self.inner.loss(batch, seen, state.inner) + extra

    def predict(self, out: Outputs, state: nn.Module) -> Tensor:
        return self.inner.predict(self.changed(out, state, training=False), state.inner)

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        seen = self.changed(out, state, training=True)
        return self.inner.selected(batch, seen, state.inner)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        if type(self.inner).after_batch is Method.after_batch:  # does nothing
            return
        seen = self.changed(out, state, training=True)
        self.inner.after_batch(batch, seen, state.inner)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        self.inner.after_epoch(epoch, scores, state.inner)

    def continued_from(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        fresh = self.start(task, chance)
        fresh.inner = self.inner.continued_from(state.inner, task, chance)
        return fresh

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        return self.inner.groups(model, state.inner, lr)


class WarmedUp(Method):
    """A method with a term that is added after its first `warmup` epochs.

    Its state has `active` (1,) bool: whether the epoch in progress comes after these.
    """

    warmup: int

    tensors: ClassVar = {"active": (torch.bool, 1)}

    def fill(self, state: nn.Module, task: Any, chance: Chance) -> None:
        super().fill(state, task, chance)
        state.active.fill_(self.warmup == 0)

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        super().after_epoch(epoch, scores, state)
        state.active.fill_(epoch >= self.warmup)


methods: Registry[Method] = Registry("method", "simkit.learn.methods")
make = methods.make
spell = methods.spell
names = methods.names
get = methods.__getitem__
M = TypeVar("M", bound=Method)


@dataclass_transform(frozen_default=True)
def register(method: type[M]) -> type[M]:
    """Class decorator: register a method under its `name`, as a frozen dataclass."""
    methods.register_frozen(method)
    return method


def sizes_of(task: Task | Sizes) -> Sizes:
    """The sizes of a task, or the sizes themselves."""
    return task if isinstance(task, Sizes) else task.sizes


FEATURES = "pooled features; give Outputs(features=...)"
MAPS = "class maps; train it on features of kind 'maps', or give Outputs(maps=...)"
SCORES = (
    "the scores of all images at the end of every epoch; give epochs(count, method, state, "
    "scores), or after_epoch(epoch, scores, state)"
)


def required(values: Tensor | None, method: Method, what: str) -> Tensor:
    """The values, unless a custom training loop left them out, which raises BadInput.

    what: what they are, and how to give them.
    """
    if values is None:
        raise BadInput(f"method {method.name!r} reads {what}")
    return values


def epochs(
    count: int, method: Method, state: nn.Module, scores: Callable[[], Tensor] | None = None
) -> Iterator[int]:
    """The epochs of a custom training loop, 1 to `count`.

    After the body of each epoch the method updates its state (`after_epoch`). A `break` in the body
    ends the training without this update.

    Parameters
    ----------
    count
        Number of epochs.
    method, state
        The method and its state.
    scores
        Returns the (N, L) logits of all images. It is called, without gradients, if
        `method.needs.epoch_scores`.

    Yields
    ------
    int
        The epoch, from 1.

    Raises
    ------
    BadInput
        For a method that needs scores without any.
    """
    for epoch in range(1, count + 1):
        yield epoch
        with torch.no_grad():
            logits = scores() if scores and method.needs.epoch_scores else None
            method.after_epoch(epoch, logits, state)


# States of several runs are stacked. A module of a state may name, besides its tensors,
# `for_training`: tensors unused in prediction, `in_file`: memory-mapped tensors, and `of_images`:
# tensors that are equal in all runs, whose run dimension is 1. All are tuples of names.


def stack_states(states: Iterable[nn.Module], count: int | None = None) -> nn.Module:
    """One state whose tensors have a leading run dimension, from the states of equal methods.

    A single state is not copied and shares its memory. With their `count`, states may be a
    generator; each is released before the next is created.
    """
    if count is None:
        states = list(states)
        count = len(states)
    run = 0  # enumerate would keep a reference to the previous state
    for state in states:
        if count == 1:
            return _with(state, lambda tensor: tensor[None].contiguous())
        if run == 0:
            if any(getattr(module, "in_file", ()) for module in state.modules()):
                raise BadInput(
                    "states that lie in files cannot be put together, for that would read them "
                    "into memory; train these runs one at a time, or with mapped=False"
                )
            together = _with(
                state,
                lambda tensor: tensor.new_empty((count, *tensor.shape)),
                of_images=lambda tensor: tensor.new_empty((1, *tensor.shape)),
            )
            room = dict(_tensors(together))
        for name, tensor in _tensors(state):
            if run < len(room[name]):
                room[name][run].copy_(tensor)
        run += 1
        del state
    return together


def state_of_run(state: nn.Module, run: int) -> nn.Module:
    """The state of one run inside a stacked one, sharing its memory."""
    return _with(state, lambda tensor: tensor[run], of_images=lambda tensor: tensor[0])


def state_for_prediction(state: nn.Module) -> nn.Module:
    """A copy of a state without its tensors `for_training`."""
    return _with(state, torch.clone, training=False)


def _with(
    state: nn.Module,
    change: Callable[[Tensor], Tensor],
    *,
    of_images: Callable[[Tensor], Tensor] | None = None,
    training: bool = True,
) -> nn.Module:
    """The same state with other tensors, those `for_training` only if `training`.

    of_images: the change of tensors of that kind, by default `change`.
    """
    other = copy.copy(state)
    left_out = () if training else getattr(state, "for_training", ())
    equal = getattr(state, "of_images", ())
    other._buffers = {
        k: (of_images or change if k in equal else change)(buffer)  # type: ignore[arg-type]
        for k, buffer in state._buffers.items()
        if k not in left_out
    }
    other._parameters = {
        key: nn.Parameter(change(parameter.detach()))
        for key, parameter in state._parameters.items()
    }
    other._modules = {
        key: _with(module, change, of_images=of_images, training=training)
        for key, module in state._modules.items()
    }
    return other


def _tensors(state: nn.Module) -> list[tuple[str, Tensor]]:
    parameters = [(name, parameter.detach()) for name, parameter in state.named_parameters()]
    return [*state.named_buffers(), *parameters]


def layers(part: Any) -> list[Any]:
    """A method and its wrappers, the innermost first."""
    return [*layers(part.inner), part] if hasattr(part, "inner") else [part]


# COCO's training split of the single-positive papers, 2,048 features, maps of 448 pixels.
COCO = Sizes(images=65_665, classes=80, width=2048, map_side=14)
COCO_WORDS = "65,665 images, 80 classes, 14 x 14 maps"

_NEEDS = {
    "maps": "class maps",
    "views": "crops and flips",
    "features": "features",
    "epoch_scores": "scores each epoch",
    "labels": "label matrix",
}


def plain(part: type[Method]) -> Method:
    """The method with its defaults; wrappers are put around AN, which needs and stores nothing.

    Needs and state are then those of the wrapper.
    """
    return make(f"an+{part.name}" if issubclass(part, Wrapper) else part.name)


def needs_in_words(method: Method) -> list[str]:
    """The needs of the method besides logits and the labels of a batch."""
    needs = method.needs
    words = [text for key, text in _NEEDS.items() if getattr(needs, key)]
    return words + [kind.__name__ for kind in needs.aids]


def training_bytes(method: Method, sizes: Sizes = COCO) -> int:
    """Bytes of one run's state, plus gradients and two moments (Adam) of its parameters."""
    return method.state_bytes(sizes) + 3 * method.learned_bytes(sizes)


def in_units(count: int) -> str:
    """Bytes in words: "4.1 GB", "5.3 MB", "16 B", "none"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B" if count else "none"
