"""What a training method is.

Every tensor may carry leading run dimensions: `...` below. A method reduces over the last two
dimensions only (of maps over the last four) and returns one loss for each run. The tensors of its
state carry the same leading dimensions, because `state.stack` puts the states of several runs
together. In a step nothing waits for the device: no branch on a tensor's value, no indexing whose
result has a shape that depends on values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.learn.aids import aids as aid_checks
from simkit.learn.methods.task import Batch, Needs, Outputs, Sizes, Task
from simkit.registry import Registry, settle


@dataclass(frozen=True)
class Method:
    """How to learn from partial labels: a value whose fields are the hyper-parameters.

    title is the field's display name, source the paper and equation. gist: the same in a few plain
    words. alternative: one more value of its most important setting, which a fair comparison tries
    beside the default.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    gist: ClassVar[str] = ""
    alternative: ClassVar[Mapping[str, Any]] = {}

    def __post_init__(self) -> None:
        """Turn the fields into their types. Raises BadInput; checks of one's own come after it."""
        settle(self)

    def _preset(self, **fields: Any) -> None:
        """Set fields to what a published repository had, for `reproduce`; they are spelled out.

        Raises BadInput for one that was given otherwise.
        """
        settle(self)
        for key, value in fields.items():
            given = getattr(self, key)
            if given not in (value, type(self).__dataclass_fields__[key].default):
                raise BadInput(
                    f"{self.name}: reproduce={getattr(self, 'reproduce', None)!r} has {key} "
                    f"{value!r} and {given!r} was given; leave one of them out"
                )
            object.__setattr__(self, key, value)

    @property
    def needs(self) -> Needs:
        """What this method, with these settings, needs."""
        return Needs()

    def state_bytes(self, sizes: Sizes) -> int:
        """Bytes of the state of one run, known before it is made."""
        return 0

    def learned_bytes(self, sizes: Sizes) -> int:
        """Those of them that are parameters, of which an optimiser keeps three times as much."""
        return 0

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        """What to warn of in a training of so many epochs with this optimiser, in sentences."""
        return ()

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        """Settings that are "auto", by name, as they are for this task; told in the history.

        Raises BadInput where the task does not tell them.
        """
        return {}

    @property
    def sums(self) -> bool:
        """Whether the loss sums over images, so that batches of one step add up as they are."""
        return getattr(self, "reduction", "") == "sum"

    @property
    def per_image(self) -> bool:
        """Whether training changes something that it keeps for each image.

        By default what takes more memory with more images is taken for such; a method that only
        reads it says so.
        """
        one, two = (Sizes(images, 1, width=1, map_side=1) for images in (1, 2))
        return self.state_bytes(two) > self.state_bytes(one)

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
        sizes = task if isinstance(task, Sizes) else task.sizes
        if needs.features and sizes.width is None:
            raise BadInput(
                f"method {self.name!r} reads pooled features, and their width is not known; train "
                "it on cached features (FeatureInputs)"
                + ("" if needs.labels else ", or give Sizes(..., width=D)")
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

    def handed_over(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        """The state that a second training starts with, from that of a first one: a new one.

        For LinearInit, where the head has been trained alone before.
        """
        return self.start(task, chance)

    def groups(self, model: nn.Module, state: nn.Module, lr: float) -> list[dict[str, Any]]:
        """Parameter groups for an optimiser; `model` has a `head` and perhaps a `backbone`.

        A head on a backbone learns `model.head_ratio` times as fast (10 in Kim et al., CVPR 2022).
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
        """What is added to the inner loss, (...), a mean over the images of the batch.

        `out` is what the model said, unchanged.
        """
        return 0.0

    @property
    def needs(self) -> Needs:
        return self.inner.needs | self.own_needs

    def state_bytes(self, sizes: Sizes) -> int:
        return self.inner.state_bytes(sizes)

    def learned_bytes(self, sizes: Sizes) -> int:
        return self.inner.learned_bytes(sizes)

    def notes(self, *, epochs: int, optimiser: str) -> tuple[str, ...]:
        return self.inner.notes(epochs=epochs, optimiser=optimiser)

    def estimates(self, task: Task | Sizes) -> dict[str, float]:
        return self.inner.estimates(task)

    @property
    def sums(self) -> bool:
        return self.inner.sums

    @property
    def per_image(self) -> bool:
        return self.inner.per_image

    def start(self, task: Task | Sizes, chance: Chance | None = None) -> nn.Module:
        state = super().start(task, chance)
        state.inner = self.inner.start(task, chance)
        return state

    def loss(self, batch: Batch, out: Outputs, state: nn.Module) -> Tensor:
        seen = self.changed(out, state, training=True)
        extra = self.extra(batch, out, state)
        if self.sums and batch.share != 1:  # sums of several batches add up, and means do not
            extra = batch.share * extra
        return self.inner.loss(batch, seen, _inner(state)) + extra

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

    def handed_over(
        self, state: nn.Module, task: Task | Sizes, chance: Chance | None = None
    ) -> nn.Module:
        fresh = self.start(task, chance)
        fresh.inner = self.inner.handed_over(_inner(state), task, chance)
        return fresh

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
