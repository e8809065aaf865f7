"""Validation: mAP after every epoch, early stopping, and the best model of each run."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from torch import Tensor, nn

from simkit.history import content_id
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.distributed import Team
from simkit.learn.method import state_for_prediction
from simkit.learn.model import Model
from simkit.learn.optim import Averages, Settings
from simkit.learn.stack import RunWarning, Stack
from simkit.learn.trained import below
from simkit.metrics import average_precision, mean_ap
from simkit.metrics.ranking import array, at_entries
from simkit.progress import Progress
from simkit.registry import short

Honesty = Literal["complete", "partial", "none"]


_SAVED = ("losses", "validation", "plain", "best", "epoch", "stopped")  # of every run


@dataclass(frozen=True, eq=False)
class Validation:
    """Images to score after every epoch, and their labels.

    The kind of labels is recorded with every result, because complete labels have a cost too.

    Attributes
    ----------
    inputs
        FeatureInputs or ImageInputs of N images.
    labels
        Truth (complete, or with `known`), partial labels (scored on what is known), or None.
    known
        (N, L) bool, dense or sparse, or None for all: the entries that may count if the labels
        know them.
    classes
        Indices of the classes to average over, or None for all.
    """

    inputs: Any
    labels: Truth | PartialLabels | None = None
    known: NDArray[np.bool_] | csr_array | None = None
    classes: NDArray[np.int64] | None = None

    @property
    def kind(self) -> Honesty:
        """ "complete", "partial" or "none"."""
        if self.labels is None:
            return "none"
        complete = isinstance(self.labels, Truth) and self.labels.known is None
        return "complete" if complete else "partial"

    @property
    def id(self) -> str | None:
        """Content id of the labels, and of the entries that count unless all do."""
        if self.labels is None or (self.known is None and self.classes is None):
            return None if self.labels is None else self.labels.id
        known: Any = self.known
        masks = [known.indptr, known.indices] if issparse(known) else [known]
        counts = [np.zeros(0) if a is None else np.asarray(a) for a in (*masks, self.classes)]
        return content_id("validation", self.labels.id, *counts)

    @property
    def entries(self) -> csr_array | None:
        """The known entries, the only ones with a score, where they are sparse; None for all."""
        known = self._reference[1]
        return known if issparse(known) else None

    def score(self, scores: Any) -> float:
        """mAP(C) in [0, 1]; nan without known present labels.

        scores (N, L), array or tensor, or (m,) those of `entries` alone.
        """
        present, known = self._reference
        if scores.ndim == 1:
            scores = at_entries(array(scores), known)
        ap = average_precision(scores, present, known)  # of all: a selection would copy the scores
        return mean_ap(ap if self.classes is None else ap[self.classes])

    @cached_property
    def _reference(self) -> tuple[csr_array, csr_array | NDArray[np.bool_] | None]:
        """Present and known labels, None for all."""
        assert self.labels is not None
        if isinstance(self.labels, Truth):
            present, known = self.labels.present, self.labels.known
        else:
            present, known = self.labels.codes == PRESENT, self.labels.codes.astype(bool)
        if self.known is not None:
            # A dense mask stays dense, at a byte for each entry; sparse indices need nine.
            known = self.known if known is None else known.multiply(self.known)
        return present, csr_array(known) if issparse(known) else known


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
    """Curves and selected models of all runs; head: curves of the epochs of the head alone."""

    def __init__(self, runs: int, settings: Settings, head: dict[str, list[float]]) -> None:
        self.settings, self.head = settings, head
        self.curves = [Curve() for _ in range(runs)]

    @property
    def over(self) -> bool:
        """Whether every run has stopped early."""
        return all(curve.stopped for curve in self.curves)

    def note_losses(self, epoch: int, sums: list[Tensor], stack: Stack) -> None:
        """Record the mean losses of an epoch from the sums (r,) over all images of every part."""
        for part, total in zip(stack.parts, sums, strict=True):
            means = (total.double().cpu() / len(stack.rows)).tolist()
            for run, loss in zip(part.runs, means, strict=True):
                losses = self.curves[run].losses
                if not math.isfinite(loss) and all(map(math.isfinite, losses)):
                    text = (
                        f"{short(part.method)}: the training loss of epoch {epoch} is "
                        f"{loss} at a learning rate of {part.lr:g}, and what is learned from it is "
                        "of no use; set lr lower"
                    )
                    warnings.warn(RunWarning(text, run), stacklevel=5)
                losses.append(loss)

    def validate(
        self,
        epoch: int,
        stack: Stack,
        validation: Validation | None,
        averages: Averages | None,
        team: Team,
    ) -> None:
        """Score the validation images by plain and averaged weights, and keep the best."""
        if validation is None or validation.labels is None:
            return
        plain = averaged = team.from_first(lambda: _mean_aps(stack, validation))
        if averages is not None:
            with averages.shown():
                averaged = team.from_first(lambda: _mean_aps(stack, validation))
        for run, curve in enumerate(self.curves):
            keep = self.settings.keep
            average = averages is not None and (
                keep == "average" or (keep == "better" and averaged[run] > plain[run])
            )
            curve.validation.append(averaged[run] if average else plain[run])
            if averages is not None:
                curve.plain.append(plain[run])
            best = self.settings.select == "best"
            if best and curve.improves(epoch, curve.validation[-1], self.settings):
                with _shown(averages if average else None):
                    curve.kept = _copied(run, stack)

    def chosen(
        self, run: int, stack: Stack, averages: Averages | None
    ) -> tuple[Model, nn.Module, int]:
        """Model, state and epoch of one run: the best ones if selected, else the last."""
        curve = self.curves[run]
        if curve.kept is not None:
            return (*curve.kept, curve.epoch)
        with _shown(averages if self.settings.keep != "plain" else None):
            return (*_copied(run, stack), len(curve.losses))

    def to_json(self) -> dict[str, Any]:
        """Everything but the kept models."""
        saved = {name: [getattr(curve, name) for curve in self.curves] for name in _SAVED}
        kept = [run for run, curve in enumerate(self.curves) if curve.kept is not None]
        return {**saved, "head": self.head, "kept": kept}

    def tensors(self) -> dict[str, Tensor]:
        """The kept models and states, by name."""
        return {
            f"kept.{run}.{kind}.{key}": value
            for run, curve in enumerate(self.curves)
            for kind, module in zip(("model", "state"), curve.kept or (), strict=False)
            for key, value in module.state_dict().items()
        }

    def restore(self, saved: dict[str, Any], tensors: dict[str, Tensor], stack: Stack) -> None:
        """Restore the state from `to_json` and `tensors`."""
        self.head = saved["head"]
        for run, curve in enumerate(self.curves):
            for name in _SAVED:
                setattr(curve, name, saved[name][run])
            if run in saved["kept"]:
                curve.kept = _copied(run, stack)
                for part, module in zip(("model", "state"), curve.kept, strict=True):
                    module.load_state_dict(below(tensors, f"kept.{run}.{part}."))


def _shown(averages: Averages | None) -> AbstractContextManager[None]:
    return nullcontext() if averages is None else averages.shown()


def _mean_aps(stack: Stack, validation: Validation) -> list[float]:
    """mAP of every run on the validation images."""
    scores = [0.0] * len(stack.runs)
    found = stack.scores(validation.inputs, validation.entries)
    for part, logits in zip(stack.parts, found, strict=True):
        for run, values in zip(part.runs, logits, strict=True):
            scores[run] = validation.score(values)
    return scores


def _copied(run: int, stack: Stack) -> tuple[Model, nn.Module]:
    model = copy.deepcopy(stack.model(run)).cpu()
    model.precision = "fp32"
    return model, state_for_prediction(stack.state(run)).cpu()


@dataclass(frozen=True)
class Reached:
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


@dataclass(frozen=True)
class Reporter:
    """Reports the progress of a training, with `before` epochs of another phase done, of `of`.

    The callable is called with (epochs done, of); its `report`, if any, after every step and epoch
    with `Reached`.
    """

    progress: Progress
    before: int
    of: int

    def __call__(
        self, epochs: float, record: Record | None = None, *, resumed: bool = False
    ) -> None:
        """After so many epochs of this phase; record: of an epoch that just ended or is resumed."""
        done = self.before + epochs
        if record is not None and not resumed:
            self.progress(int(done), self.of)
        report: Callable[[Reached], None] | None = getattr(self.progress, "report", None)
        if report is not None:
            curve = None if record is None else record.curves[0]
            loss = curve.losses[-1] if curve else None
            score = curve.validation[-1] if curve and curve.validation else None
            report(Reached(done, self.of, loss, score, resumed))
