"""What a training method is, and what it is given.

Every tensor may carry leading run dimensions: `...` below. A method reduces over the last two
dimensions only (of maps over the last four) and returns one loss for each run. The tensors of its
state carry the same leading dimensions, because `state.stack` puts the states of several runs
together. In a step nothing waits for the device: no branch on a tensor's value, no indexing whose
result has a shape that depends on values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn import aids as aid_checks
from simkit.registry import Registry

A = TypeVar("A")


@dataclass(frozen=True)
class Sizes:
    """How many images and classes there are: enough to start a method that needs no labels."""

    images: int
    classes: int


@dataclass(frozen=True, eq=False)
class Task:
    """What is learned from: partial labels, inputs with a row for each of their images, aids.

    labels: PartialLabels, or an (N, L) array or tensor of +1 present, -1 absent, 0 unknown.
    There is no place for truth; only asked images enter training.
    """

    labels: PartialLabels
    inputs: Any = None
    aids: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.labels, PartialLabels):
            given = self.labels.cpu() if isinstance(self.labels, Tensor) else self.labels
            object.__setattr__(self, "labels", PartialLabels.of(np.asarray(given)))
        N = self.labels.shape[0]
        if self.inputs is not None and len(self.inputs) != N:
            raise BadInput(
                f"the inputs hold {len(self.inputs)} images and the labels {N}; "
                "give one input for each image of the labels, in the same order"
            )
        object.__setattr__(self, "aids", tuple(self.aids))

    @property
    def sizes(self) -> Sizes:
        """Images and classes of the labels."""
        return Sizes(*self.labels.shape)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the asked images: those that enter training."""
        return np.flatnonzero(self.labels.asked)

    def with_aids(self, *aids: Any) -> Task:
        """The same task with these aids added; a new one replaces an older one of its kind."""
        kept = tuple(old for old in self.aids if type(old) not in {type(aid) for aid in aids})
        return replace(self, aids=(*kept, *aids))

    def aid(self, kind: type[A]) -> A:
        """The aid of this kind. Raises BadInput when the task carries none."""
        aid_checks.check("this", (kind,), self.aids)
        return next(aid for aid in self.aids if isinstance(aid, kind))


@dataclass(frozen=True, eq=False)
class Batch:
    """One step's images.

    index (b,) int64 rows of the task;  labels (..., b, L) int8;  boxes (b, 4) float crops as shares
    of the picture (y0, x0, y1, x1) or None;  flips (b,) bool, mirrored left to right, or None.
    """

    index: Tensor
    labels: Tensor
    boxes: Tensor | None = None
    flips: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Outputs:
    """What the model says about a batch.

    logits (..., b, L), the means of the class maps;  maps (..., b, L, h, w) or None;
    features (b, D), pooled, or None.
    """

    logits: Tensor
    maps: Tensor | None = None
    features: Tensor | None = None


@dataclass(frozen=True)
class Needs:
    """What a method cannot do without; `a | b` joins two.

    maps: Outputs.maps in every step.  views: Batch.boxes and Batch.flips.  epoch_scores: logits of
    all images at the end of every epoch.  labels: the whole label matrix at the start.
    aids: kinds of side information.
    """

    maps: bool = False
    views: bool = False
    epoch_scores: bool = False
    labels: bool = False
    aids: tuple[type[Any], ...] = ()

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.maps or other.maps,
            self.views or other.views,
            self.epoch_scores or other.epoch_scores,
            self.labels or other.labels,
            (*self.aids, *(kind for kind in other.aids if kind not in self.aids)),
        )


@dataclass(frozen=True)
class Method:
    """How to learn from partial labels: a value whose fields are the hyper-parameters.

    title is the field's display name, source the paper and equation.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    @property
    def needs(self) -> Needs:
        """What this method, with these settings, needs."""
        return Needs()

    def state_bytes(self, sizes: Sizes) -> int:
        """Bytes of the state of one run, known before it is made."""
        return 0

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        """A new state: everything that training will change, besides the model.

        A method with state calls this first and registers its tensors on what comes back. Raises
        BadInput that says what `task` lacks.
        """
        needs = self.needs
        if needs.labels and not isinstance(task, Task):
            raise BadInput(
                f"method {self.name!r} needs the whole label matrix to start, and only sizes came; "
                "give Task(labels=...) instead of Sizes"
            )
        aid_checks.check(self.name, needs.aids, () if isinstance(task, Sizes) else task.aids)
        return nn.Module()

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """One loss for each run, (...); reads the state and writes nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no loss")

    def predict(self, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) logits for evaluation."""
        return out.logits

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        """(..., b, L) bool: labels that this step rejects, corrects or ignores (for analysis)."""
        return torch.zeros_like(batch.labels, dtype=torch.bool)

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        """Bring the state up to date after an optimiser step; runs without gradients."""

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        """Bring the state up to date after `epoch` (from 1) has ended.

        scores (..., N, L) logits of all images where `needs.epoch_scores`, else None.
        """

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        """Parameter groups for an optimiser; `model` has a `head` and perhaps a `backbone`.

        A head on a backbone learns `model.head_ratio` times as fast (10 in papers 000 and 001).
        """
        head = {"params": list(model.head.parameters()), "lr": lr}
        own = list(state.parameters())
        groups = [head, {"params": own, "lr": lr}] if own else [head]
        backbone = getattr(model, "backbone", None)
        if backbone is not None:
            head["lr"] = lr * model.head_ratio
            body = [p for p in backbone.parameters() if p.requires_grad]
            groups.append({"params": body, "lr": lr})
        return groups


@dataclass(frozen=True)
class Around(Method):
    """A method around another one: changes the outputs that `inner` sees, or adds to its loss.

    What was changed reaches the inner loss, selection and updates alike. The inner state is
    `state.inner`.
    """

    inner: Method

    own_needs: ClassVar[Needs] = Needs()

    def changed(self, out: Outputs, state: nn.Module, *, training: bool) -> Outputs:
        """The outputs as the inner method shall see them."""
        return out

    def extra(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor | float:
        """What is added to the inner loss, (...); `out` is what the model said, unchanged."""
        return 0.0

    @property
    def needs(self) -> Needs:
        return self.inner.needs | self.own_needs

    def state_bytes(self, sizes: Sizes) -> int:
        return self.inner.state_bytes(sizes)

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        state.inner = self.inner.start(task, chance)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        seen = self.changed(out, state, training=True)
        return self.inner.loss(batch, seen, _inner(state)) + self.extra(batch, out, state)

    def predict(self, out: Outputs, state: nn.Module) -> Tensor:
        return self.inner.predict(self.changed(out, state, training=False), _inner(state))

    def selected(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        seen = self.changed(out, state, training=True)
        return self.inner.selected(batch, seen, _inner(state))

    def after_batch(self, batch: Batch, out: Outputs, state: nn.Module) -> None:
        seen = self.changed(out, state, training=True)
        self.inner.after_batch(batch, seen, _inner(state))

    def after_epoch(self, epoch: int, scores: Tensor | None, state: nn.Module) -> None:
        self.inner.after_epoch(epoch, scores, _inner(state))

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        return self.inner.groups(model, _inner(state), lr)


def _inner(state: nn.Module) -> nn.Module:
    return state.inner


methods: Registry[Method] = Registry("method", "simkit.learn.methods")
register = methods.register
make = methods.make
spell = methods.spell
names = methods.names
get = methods.__getitem__
