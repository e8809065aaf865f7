"""What a training in progress has seen: losses, validation, and the best model of each run."""

from __future__ import annotations

import copy
import math
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from simkit.learn import catalogue
from simkit.learn.heads.heads import Model
from simkit.learn.heads.scoring import of_stack
from simkit.learn.heads.stack import RunWarning, Stack
from simkit.learn.machines.team import Team
from simkit.learn.method import state_for_prediction
from simkit.learn.steps.averaging import Averages
from simkit.learn.steps.optim import Settings
from simkit.learn.validation import Selection, Validation


@dataclass(eq=False)
class Record:
    """Curves and selection of R runs.

    losses, validation: a list of values by epoch for each run.  plain: mAP of the plain weights
    where averaged ones are scored too.  kept: model and state of the best epoch of each run, on the
    CPU, where one is selected.  head: curves of the epochs before, in which the head learned alone.
    """

    runs: int
    settings: Settings
    selection: Selection = field(init=False)
    losses: list[list[float]] = field(init=False)
    validation: list[list[float]] = field(init=False)
    plain: list[list[float]] = field(init=False)
    kept: dict[int, tuple[Model, nn.Module]] = field(default_factory=dict)
    head: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = self.settings
        self.selection = Selection(self.runs, settings.patience, settings.max_drop)
        self.plain = [[] for _ in range(self.runs)]
        self.losses = [[] for _ in range(self.runs)]
        self.validation = [[] for _ in range(self.runs)]

    def end_epoch(
        self,
        epoch: int,
        stack: Stack,
        losses: Tensor,
        validation: Validation | None,
        averages: Averages | None = None,
        team: Team = Team(),
    ) -> None:
        """Note the mean losses (R,) of an epoch, score the validation images, keep what is best."""
        for run, loss in enumerate(losses.tolist()):
            if not math.isfinite(loss) and all(map(math.isfinite, self.losses[run])):
                _warn_of_divergence(run, epoch, loss, stack)
            self.losses[run].append(loss)
        if validation is None or validation.labels is None:
            return
        plain = averaged = team.from_first(lambda: _scored(stack, validation))
        if averages is not None:
            with averages.shown():
                averaged = team.from_first(lambda: _scored(stack, validation))
        for run in range(self.runs):
            taken = self._averaged(averages, plain[run], averaged[run])
            score = averaged[run] if taken else plain[run]
            self.validation[run].append(score)
            if averages is not None:
                self.plain[run].append(plain[run])
            if self.settings.select == "best":
                with averages.shown() if taken and averages is not None else nullcontext():
                    self.selection.see(run, epoch, score, partial(self._keep, run, stack))

    def _averaged(self, averages: Averages | None, plain: float, averaged: float) -> bool:
        """Whether the averaged weights are those that count."""
        if averages is None or self.settings.keep == "plain":
            return False
        return self.settings.keep == "average" or averaged > plain

    @property
    def over(self) -> bool:
        """Whether every run has stopped early."""
        return all(self.selection.stopped)

    def chosen(
        self, run: int, stack: Stack, averages: Averages | None = None
    ) -> tuple[Model, nn.Module, int]:
        """Model, state and epoch of one run: the best ones where selected, else the last."""
        if run in self.kept:
            return (*self.kept[run], self.selection.epoch[run])
        taken = averages is not None and self.settings.keep != "plain"
        with averages.shown() if taken and averages is not None else nullcontext():
            return (*_copied(run, stack), len(self.losses[run]))

    def _keep(self, run: int, stack: Stack) -> None:
        self.kept[run] = _copied(run, stack)

    def to_json(self) -> dict[str, Any]:
        """Everything but the kept models."""
        chosen = self.selection
        return {
            "losses": self.losses,
            "validation": self.validation,
            "plain": self.plain,
            "head": self.head,
            "best": [None if b == float("-inf") else b for b in chosen.best],
            "epoch": chosen.epoch,
            "stopped": chosen.stopped,
            "kept": sorted(self.kept),
        }

    def tensors(self) -> dict[str, Tensor]:
        """The kept models and states, by name."""
        found = {}
        for run, pair in self.kept.items():
            for kind, module in zip(("model", "state"), pair, strict=True):
                for key, value in module.state_dict().items():
                    found[f"kept.{run}.{kind}.{key}"] = value
        return found

    def restore(self, values: dict[str, Any], tensors: dict[str, Tensor], stack: Stack) -> None:
        """Take up again what `to_json` and `tensors` gave."""
        self.losses, self.validation = values["losses"], values["validation"]
        self.plain, self.head = values["plain"], values["head"]
        chosen = self.selection
        chosen.best = [float("-inf") if b is None else b for b in values["best"]]
        chosen.epoch, chosen.stopped = values["epoch"], values["stopped"]
        for run in values["kept"]:
            self._keep(run, stack)
            for kind, module in zip(("model", "state"), self.kept[run], strict=True):
                head = f"kept.{run}.{kind}."
                module.load_state_dict(
                    {k.removeprefix(head): v for k, v in tensors.items() if k.startswith(head)}
                )


def _warn_of_divergence(run: int, epoch: int, loss: float, stack: Stack) -> None:
    what, lr = catalogue.short(stack.runs[run][1]), stack.place[run][0].lr
    told = (
        f"{what}: the training loss of epoch {epoch} is {loss} at a learning rate of {lr:g}, and "
        "what is learned from it is of no use; set lr lower"
    )
    warnings.warn(RunWarning(told, run), stacklevel=6)


def _scored(stack: Stack, validation: Validation) -> list[float]:
    """mAP of every run on the validation images."""
    found = [0.0] * len(stack.runs)
    for part, values in zip(
        stack.parts, of_stack(stack, stack.parts, validation.inputs), strict=True
    ):
        for run, logits in zip(part.runs, values, strict=True):
            found[run] = validation.score(logits)
    return found


def _copied(run: int, stack: Stack) -> tuple[Model, nn.Module]:
    model = copy.deepcopy(stack.model(run)).cpu()
    model.precision = "fp32"
    return model, state_for_prediction(stack.state(run)).cpu()


def mean_losses(sums: list[Tensor], stack: Stack, images: int) -> Tensor:
    """(R,) mean loss of each run in the caller's order, from the sums (r,) of every part."""
    out = torch.empty(len(stack.place), dtype=torch.float64)
    for part, total in zip(stack.parts, sums, strict=True):
        out[list(part.runs)] = total.double().cpu() / images
    return out
