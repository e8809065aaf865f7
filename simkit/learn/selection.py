"""The course of a training: losses and mAP by epoch, early stopping, and the selected models."""

from __future__ import annotations

import copy
import math
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from simkit.learn.method import state_for_prediction
from simkit.learn.model import Model
from simkit.learn.optim import Averages
from simkit.learn.settings import Settings
from simkit.learn.stack import RunWarning, Stack
from simkit.learn.trained import with_prefix
from simkit.learn.validation import Validation
from simkit.registry import short

_SAVED = ("losses", "validation", "plain", "best", "epoch", "stopped")  # of every run


@dataclass(frozen=True)
class TrainingProgress:
    """The progress of a training.

    epochs: done, of `of` in all, with a fraction during an epoch.  loss, validation: mean loss of
    the epoch just finished, and mAP on the validation images; None within an epoch and without
    validation images. They are those of the first run.  resumed: whether training was resumed from
    a checkpoint here.
    """

    epochs: float
    of: int
    loss: float | None = None
    validation: float | None = None
    resumed: bool = False


@dataclass(eq=False)
class Curve:
    """The course of one run.

    losses, validation: by epoch.  plain: mAP of the plain weights if averaged ones are scored too.
    best, epoch: the highest mAP so far and its epoch.  stopped: later epochs are ignored, so that a
    run in a stack selects as it would alone.  kept: model and state of the best epoch, on the CPU.
    """

    losses: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    best: float | None = None
    epoch: int = 0
    stopped: bool = False
    kept: tuple[Model, nn.Module] | None = None

    def improves(self, epoch: int, score: float, settings: Settings) -> bool:
        """Whether this epoch is the best so far; stops the run by patience or drop."""
        if self.stopped:
            return False
        if self.best is None or score > self.best:
            # Without any mAP the last epoch is selected.
            self.best, self.epoch = None if math.isnan(score) else score, epoch
            return True
        late = settings.patience is not None and epoch - self.epoch >= settings.patience
        low = settings.max_drop is not None and self.best - score > settings.max_drop
        self.stopped = late or low
        return False


class Record:
    """Curves and selected models of all runs of a stack.

    averages: the moving average of its weights, or None.  head: curves of the epochs of the head
    alone.
    """

    def __init__(self, stack: Stack, head: dict[str, list[float]]) -> None:
        self.settings, self.head = stack.settings, head
        self.curves = [Curve() for _ in stack.runs]
        self.averages = None
        if (decay := self.settings.ema) is not None:
            warm_up = self.settings.ema_warm_up
            self.averages = Averages(stack.weights(), decay, warm_up=warm_up)

    def note_losses(self, epoch: int, sums: Tensor, stack: Stack) -> None:
        """Record the mean losses of an epoch from the sums (R,) over all images, share by share."""
        means = iter((sums.double().cpu() / len(stack.rows)).tolist())
        for share in stack.shares:
            for run, loss in zip(share.runs, means, strict=False):
                losses = self.curves[run].losses
                if not math.isfinite(loss) and all(map(math.isfinite, losses)):
                    text = (
                        f"{short(share.method)}: the training loss of epoch {epoch} is "
                        f"{loss} at a learning rate of {share.lr:g}, and what is learned from it "
                        "is of no use; set lr lower"
                    )
                    warnings.warn(RunWarning(text, run), stacklevel=5)
                losses.append(loss)

    def validate(self, epoch: int, stack: Stack, validation: Validation | None) -> None:
        """Score the validation images by plain and averaged weights, and keep the best."""
        if validation is None or validation.labels is None:
            return

        def mean_aps() -> list[float]:
            scores = [0.0] * len(stack.runs)
            of_shares = stack.scores(validation.inputs, validation.entries)
            for share, logits in zip(stack.shares, of_shares, strict=True):
                for run, values in zip(share.runs, logits, strict=True):
                    scores[run] = validation.score(values)
            return scores

        # The first process alone scores, and the others take its numbers: a rounding that differs
        # must not stop one process earlier than another.
        plain = averaged = stack.team.from_first(mean_aps)
        if self.averages is not None:
            with self.averages.shown():
                averaged = stack.team.from_first(mean_aps)
        keep = self.settings.keep
        for run, curve in enumerate(self.curves):
            average = self.averages is not None and (
                keep == "average" or (keep == "better" and averaged[run] > plain[run])
            )
            curve.validation.append(averaged[run] if average else plain[run])
            if self.averages is not None:
                curve.plain.append(plain[run])
            best = self.settings.select == "best"
            if best and curve.improves(epoch, curve.validation[-1], self.settings):
                with self._weights(average=average):
                    curve.kept = _copied(run, stack)

    def chosen(self, run: int, stack: Stack) -> tuple[Model, nn.Module, int]:
        """Model, state and epoch of one run: the best ones if selected, else the last."""
        curve = self.curves[run]
        if curve.kept is not None:
            return (*curve.kept, curve.epoch)
        with self._weights(average=self.settings.keep != "plain"):
            return (*_copied(run, stack), len(curve.losses))

    def _weights(self, *, average: bool) -> AbstractContextManager[None]:
        """Within the block, models have averaged weights if `average` and if there are any."""
        return self.averages.shown() if average and self.averages else nullcontext()

    def to_json(self) -> dict[str, Any]:
        """Everything but tensors."""
        saved = {name: [getattr(curve, name) for curve in self.curves] for name in _SAVED}
        kept = [run for run, curve in enumerate(self.curves) if curve.kept is not None]
        return {**saved, "head": self.head, "kept": kept}

    def tensors(self) -> dict[str, Tensor]:
        """The averages, and the kept models and states, by name."""
        tensors = {} if self.averages is None else self.averages.tensors()
        for run, curve in enumerate(self.curves):
            for kind, module in zip(("model", "state"), curve.kept or (), strict=False):
                tensors |= {f"kept.{run}.{kind}.{k}": v for k, v in module.state_dict().items()}
        return tensors

    def restore(self, saved: dict[str, Any], tensors: dict[str, Tensor], stack: Stack) -> None:
        """Restore the state from `to_json` and `tensors`."""
        self.head = saved["head"]
        for run, curve in enumerate(self.curves):
            for name in _SAVED:
                setattr(curve, name, saved[name][run])
            if run in saved["kept"]:
                curve.kept = _copied(run, stack)
                for part, module in zip(("model", "state"), curve.kept, strict=True):
                    module.load_state_dict(with_prefix(tensors, f"kept.{run}.{part}."))


def _copied(run: int, stack: Stack) -> tuple[Model, nn.Module]:
    """Copies of the model and state of one run on the CPU, as the stack keeps changing."""
    model = copy.deepcopy(stack.model(run)).cpu()
    model.precision = "fp32"
    return model, state_for_prediction(stack.state(run)).cpu()
