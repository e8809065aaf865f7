"""The work on one job: buy labels, train all methods on them together, and score these."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from simkit import metrics
from simkit.annotate.budget import amount_for
from simkit.annotate.prices import Cost, cost
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.history import versions
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.method_info import training_bytes
from simkit.learn.methods import Method, Sizes, Task
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare
from simkit.learn.stack import scores_of_all
from simkit.learn.train import Trained, train_stack
from simkit.learn.validation import Validation
from simkit.progress import peak_memory
from simkit.results.job_store import Result
from simkit.results.runs import SCHEMA, SWEEP, Row
from simkit.study import sources
from simkit.study.grid import COMPLETE
from simkit.study.jobs import Job, Purchase, draw_name, transform_of
from simkit.study.sources import StudyData

_DIVERGED = 1e7  # no normal training reaches such a loss, even as a sum over a large batch
# Temporary values of losses and scores, and the allocator, took 8 to 36 % more memory than the
# tensors of a stack, measured with 50 to 250 runs of 80 classes.
_OVERHEAD = 1.4

Notes = list[warnings.WarningMessage]
Budget = tuple[float, Literal["dollars", "seconds"]]
Place = tuple[Purchase, str]  # a purchase and one of its methods


@dataclass(frozen=True, eq=False)
class Bought:
    """Training labels and, if paid for, the validation labels that choose the epoch.

    Attributes
    ----------
    dollars, seconds
        Cost of both together; seconds is None if the time is unknown.
    """

    train: PartialLabels
    dollars: float
    seconds: float | None
    validation: PartialLabels | None = None
    validation_dollars: float = 0.0


def run(job: Job) -> Result:
    """Buy labels, train and score; one row for each draw and method. Any executor can call this.

    It uses one thread, so that results are bit for bit the same for any number of processes.
    Purchases and methods fail one by one, without an exception even if all of them fail.

    Raises
    ------
    BadInput
        If the data changed since the job was planned.
    """
    start, rows = time.perf_counter(), list[Row]()
    errors: dict[str, Exception] = {}
    with one_thread():
        data = sources.opened_as(job.source, job.ids)
        for draw in job.draws:
            of_draw = _Draw(replace(job, draws=(draw,)), data)
            rows += of_draw.run()
            errors |= of_draw.failures
    of_job: Row = {"key": job.stem, "peak_memory_mb": peak_memory()}
    of_job["bundle_seconds"] = time.perf_counter() - start
    table = pa.Table.from_pylist([row | of_job for row in rows], SCHEMA)
    lasting = all(isinstance(error, BadInput) for error in errors.values())
    return Result(table, {name: sentence(error) for name, error in errors.items()}, lasting)


def sentence(error: Exception) -> str:
    """An error as one sentence; errors other than BadInput start with their type."""
    return str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch uses one thread within the block, and takes numbers below 1e-38 as 0.

    Arithmetic with such numbers is slow: the vanishing gradients of cnn-rnn took five times as
    long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


def environment(device: str = "cpu", code: str = "") -> str:
    """Versions, code, platform and device of a run, as JSON."""
    software = {**versions(), "torch": str(torch.__version__), "code": code}
    hardware = {"system": platform.system(), "machine": platform.machine(), "device": device}
    return json.dumps({**software, **hardware, "threads": torch.get_num_threads()}, sort_keys=True)


def run_bytes(method: Method, sizes: Sizes, *, width: int, rows: int, scored: int) -> int:
    """Memory of one run of a stack, in bytes: head, gradient and two moments, labels, state, and
    the scores of `scored` images."""
    tensors = 16 * sizes.classes * width + sizes.classes * (rows + 4 * scored)
    return round(_OVERHEAD * (tensors + training_bytes(method, sizes)))


@dataclass(frozen=True, eq=False)
class _Run:
    """One method on the labels of one purchase.

    Attributes
    ----------
    task
        The labels and inputs, with the side information that the method needs.
    notes
        Warnings of the purchase and of the preparation.
    """

    job: Job
    data: StudyData
    purchase: Purchase
    spec: str
    bought: Bought
    task: Task
    notes: list[str]

    @property
    def spelled(self) -> str:
        """The name of the method, with its settings."""
        return self.purchase.spelled(self.spec)

    @property
    def settings(self) -> Settings:
        """Settings of the training."""
        return self.job.grid.training(self.spec)

    @property
    def lr(self) -> float:
        """The learning rate: the chosen one, or that of the training settings."""
        setting = self.purchase.setting(self.spec)
        chosen = setting.lr if setting else None
        return chosen or self.settings.rate(backbone=self.job.grid.pictures is not None)

    def inputs(self, split: str) -> FeatureInputs | ImageInputs:
        """The inputs of a split for training or scoring."""
        if self.job.grid.pictures is None:
            return self.data.inputs(split, sources.kind_of(self.spelled))
        return self.data.images(split, transform_of(self.job.grid, self.spec))

    @property
    def inputs_id(self) -> str:
        """Content id of the features of a head, or of the initial backbone if it is trained."""
        if self.job.grid.pictures is None:
            return self.job.ids[f"features train {sources.kind_of(self.spelled)}"]
        return self.job.ids[sources.network_key(transform_of(self.job.grid, self.spec).size)]

    @property
    def training(self) -> dict[str, Any]:
        """Arguments of `train_stack`: heads on the CPU, backbones on a GPU if there is one."""
        options = {"settings": self.settings, "seed": self.job.grid.seed, "draw": self.job.draw}
        if self.job.grid.pictures is None:
            return {**options, "device": "cpu"}
        network = self.data.networks[transform_of(self.job.grid, self.spec).size]
        return {**options, "device": "auto", "backbone": network}

    @property
    def validation(self) -> Validation | None:
        """The labels to score after every epoch: paid validation labels, or those of the test
        split for a curve that chooses nothing."""
        split = "val" if self.job.grid.validation != "none" else "test"
        if split == "test" and not self.job.grid.curves:
            return None
        labels = self.bought.validation if split == "val" else self.data.truth("test")
        known, leaves = self.data.known(split), self.data.data.leaves
        return Validation(self.inputs(split), labels, known=known, classes=leaves)

    def prepared(self, shared: dict[Hashable, Task]) -> _Run:
        """The run with its inputs and side information, which methods of one purchase share if
        possible."""
        method = methods.make(self.spelled)
        key: Hashable = sources.kind_of(self.spelled)
        task = Task(self.task.labels, self.inputs("train"), self.data.train_aids)
        if self.job.grid.pictures is not None:
            name = self.spelled if sources.needs_features(method) else ""
            key = (self.settings, transform_of(self.job.grid, self.spec), name)
            if key not in shared:
                task = sources.with_features(task, method, lambda: self.data)
        validation = self.validation if self.settings.select == "best" else None
        task = prepare(shared.get(key, task), method, **self.training, validation=validation)
        shared[key] = task
        return replace(self, task=task)

    def bytes(self, scored: int) -> int:
        """Memory of the run in a stack, in bytes, with the scores of `scored` images."""
        counts = {"width": self.task.inputs.width, "rows": len(self.task.rows), "scored": scored}
        return run_bytes(methods.make(self.spelled), self.task.sizes, **counts)

    def shares_with(self) -> Hashable:
        """A key that is equal for runs with the same features, images and validation labels."""
        rows = hashlib.sha256(self.task.rows.tobytes()).hexdigest()
        validation = self.validation
        return sources.kind_of(self.spelled), rows, None if validation is None else validation.id


class _Draw:
    """The work on a job of one draw."""

    def __init__(self, job: Job, data: StudyData) -> None:
        self.job, self.data = job, data
        self.rows: dict[Place, Row] = {}
        self.failures: dict[str, Exception] = {}
        self.labels: dict[Purchase, tuple[Bought, PartialLabels, Notes]] = {}

    def run(self) -> list[Row]:
        """Rows in the order of the purchases; `failures` gets the errors."""
        runs = [run for purchase in self.job.purchases for run in self._runs(purchase)]
        alone = [[run] for run in runs]  # every method trains its own backbone
        for stack in alone if self.job.grid.pictures else self._stacks(runs):
            self._train(stack)
        places = ((bought, spec) for bought in self.job.purchases for spec in bought.methods)
        return [self.rows[place] for place in places if place in self.rows]

    @cached_property
    def complete(self) -> PartialLabels:
        """Complete labels of the validation split, for tuning and thresholds."""
        return tuning_labels(self.job, self.data)

    def _fail(self, error: Exception, purchase: Purchase, spec: str = "") -> None:
        """Note the error of a method, or of the purchase for all its methods."""
        names = [str(purchase), draw_name(self.job.draw), spec]
        self.failures[", ".join(filter(None, names))] = error

    def _runs(self, purchase: Purchase) -> list[_Run]:
        """The runs on the labels of a purchase; `failures` gets the errors."""
        try:
            if purchase.labels not in self.labels:  # a sweep uses the same labels several times
                with warnings_of() as notes:
                    bought = buy(purchase, self.job, self.data)
                    skip, labels = self.job.grid.unasked == "skip", bought.train
                    labels = labels if skip else labels.over_all_images()
                    labels = self.data.readable(labels, "train")
                self.labels[purchase.labels] = bought, labels, notes
        except Exception as error:
            # With backbones, every method has its own purchase.
            self._fail(error, purchase, purchase.methods[0] if self.job.grid.pictures else "")
            return []
        bought, labels, notes = self.labels[purchase.labels]
        runs: list[_Run] = []
        shared: dict[Hashable, Task] = {}
        for spec in purchase.methods:
            with warnings_of() as of_preparation:
                try:
                    run = _Run(self.job, self.data, purchase, spec, bought, Task(labels), [])
                    run = run.prepared(shared)
                except Exception as error:
                    self._fail(error, purchase, spec)
                    continue
            runs.append(replace(run, notes=texts([*notes, *of_preparation])))
        return runs

    def _stacks(self, runs: Iterable[_Run]) -> Iterator[list[_Run]]:
        """Runs that can be trained together, in order, in stacks of at most `memory` GB; a larger
        run is alone."""
        images = self.data.truth("test").shape[0]
        groups: dict[Hashable, list[_Run]] = {}
        for run in runs:
            groups.setdefault(run.shares_with(), []).append(run)
        for group in groups.values():
            stack: list[_Run] = []
            stack_bytes = 0
            for run in group:
                needed = run.bytes(images)
                if stack and stack_bytes + needed > self.job.grid.memory * 1e9:
                    yield stack
                    stack, stack_bytes = [], 0
                stack.append(run)
                stack_bytes += needed
            yield stack

    def _train(self, runs: list[_Run]) -> None:
        """Train a stack; one that fails is halved, down to single runs."""
        try:
            self.rows |= self._stack(runs)
        except Exception as error:
            if len(runs) == 1:
                self._fail(error, runs[0].purchase, runs[0].spec)
                return
            half = len(runs) // 2
            self._train(runs[:half])
            self._train(runs[half:])

    def _stack(self, runs: list[_Run]) -> dict[Place, Row]:
        start = time.perf_counter()
        with warnings_of() as notes:
            trained = train_stack(
                [(run.task, methods.make(run.spelled)) for run in runs],
                lrs=[run.lr for run in runs],
                validation=runs[0].validation,
                **runs[0].training,
            )
        test = _scores(runs, trained, "test")
        val = _scores(runs, trained, "val") if "val" in self.job.source.splits else None
        shared = {"train_seconds": (time.perf_counter() - start) / len(runs), "stack": len(runs)}
        rows = {}
        for index, (run, model) in enumerate(zip(runs, trained, strict=True)):
            row_scores = scored_row(self.data, test[index])
            if val is not None:
                row_scores |= self._of_validation(run, val[index], test[index])
            own = [note for note in notes if getattr(note.message, "run", index) == index]
            run_notes = [*run.notes, *texts(own), *_diverged(model)]
            row = _row(run, model) | row_scores | shared | {"notes": list(dict.fromkeys(run_notes))}
            rows[run.purchase, run.spec] = row
        return rows

    def _of_validation(self, run: _Run, val: Any, test: Any) -> Row:
        """mAP on validation labels in a sweep, else precision and recall on the test set."""
        labels = run.bought.validation or self.complete
        known, leaves = self.data.known("val"), self.data.data.leaves
        validation = Validation(None, labels, known=known, classes=leaves)
        if self.job.sweep:
            return {"tuned_map": _number(validation.score(val))}
        codes = labels.codes
        labelled = codes.astype(bool) if known is None else codes.astype(bool).multiply(known)
        thresholds = metrics.f1_thresholds(np.asarray(val), codes == PRESENT, labelled)
        present = self.data.truth("test").present
        known = self.data.known("test")
        by_class = metrics.precision_recall(np.asarray(test), present, thresholds, known)
        precision, recall = (_number(metrics.mean_ap(values[leaves])) for values in by_class)
        return {"precision": precision, "recall": recall}


def tuning_labels(job: Job, data: StudyData) -> PartialLabels:
    """Complete labels of the validation split, on which all settings are chosen."""
    people = _people(replace(job, draws=(SWEEP,)), data, "val")
    with warnings_of():  # dropped, as they concern no run
        return simulate(data.truth("val"), COMPLETE, **people)


def buy(purchase: Purchase, job: Job, data: StudyData) -> Bought:
    """The labels of a purchase: for its dollars or hours, or for the amount as written.

    Validation labels are paid from the same budget and come from the same people: complete labels
    of the validation split ("complete"), or labels by the scheme itself, for a part of the budget
    in proportion to the size of the split ("partial"). Those of a sweep are complete and billed
    separately. Raises BadInput if validation labels would use up the budget.
    """
    validation, validation_cost = _validation(purchase, job, data)
    limit = _remaining(purchase, validation_cost)
    labels, train_cost = _labelled(purchase, job, data, "train", limit)
    times = [each.seconds for each in (train_cost, validation_cost) if each]
    known_times = [seconds for seconds in times if seconds is not None]
    seconds = sum(known_times) if len(known_times) == len(times) else None
    dollars = validation_cost.dollars if validation_cost else 0.0
    return Bought(labels, train_cost.dollars + dollars, seconds, validation, dollars)


def _remaining(purchase: Purchase, bill: Cost | None) -> Budget | None:
    """The budget for training labels, with its unit; None if the amount is as written."""
    if not purchase.limit:
        return None
    most, unit = purchase.limit.amount
    spent = getattr(bill, unit) if bill else 0.0
    if spent is None:
        raise BadInput("the price list has no times, so hours cannot be spent; budget in dollars")
    if bill and most <= spent:
        taken = f"${spent:.2f}" if unit == "dollars" else f"{spent / 3600:.2f} hours"
        raise BadInput(
            f"validation labels take {taken} of {purchase.limit}; raise the budget or set "
            "validation to none"
        )
    return most - spent, unit


def _validation(
    purchase: Purchase, job: Job, data: StudyData
) -> tuple[PartialLabels | None, Cost | None]:
    """Validation labels and their cost to the budget, if any."""
    if job.sweep:
        return tuning_labels(job, data), None
    if job.grid.validation == "none":
        return None, None
    if job.grid.validation == "complete":
        labels = simulate(data.truth("val"), COMPLETE, **_people(job, data, "val"))
        return labels, cost(labels, job.prices.once_set_up())
    sizes = [data.truth(split).shape[0] for split in ("train", "val")]
    limit = _remaining(purchase, None)
    if limit is not None:
        limit = (limit[0] * sizes[1] / sum(sizes), limit[1])
    return _labelled(purchase, job, data, "val", limit)


def _labelled(
    purchase: Purchase, job: Job, data: StudyData, split: str, limit: Budget | None
) -> tuple[PartialLabels, Cost]:
    """Labels of one split within this limit, or for the amount as written, and their cost."""
    truth, images, people = data.truth(split), purchase.images, _people(job, data, split)
    # The project is set up once, with the training labels.
    prices = job.prices if split == "train" else job.prices.once_set_up()
    if split != "train" and isinstance(images, int):  # the same share of the images
        images = images / data.truth("train").shape[0]
    if limit is None:
        labels = simulate(truth, purchase.scheme, images=images, **people)
        return labels, cost(labels, prices)
    most, unit = limit
    bought = amount_for(most, truth, purchase.scheme, prices, unit=unit, images=images, **people)
    return bought.labels, bought.cost


def _people(job: Job, data: StudyData, split: str) -> dict[str, Any]:
    people: dict[str, Any] = {"hierarchy": data.hierarchy, "habits": job.grid.habits}
    if (split, "pooled") in data.features:
        people["features"] = data.features[split, "pooled"].values
    if split in data.similarities:
        people["scores"] = data.scores[split]
    return people | {"boxes": data.data.boxes.get(split), "seed": job.grid.seed, "draw": job.draw}


def _scores(runs: Sequence[_Run], trained: Sequence[Trained], split: str) -> Any:
    """(R, N, L) logits of a split, for runs trained together."""
    first = runs[0].inputs(split)
    if isinstance(first, FeatureInputs):
        return scores_of_all(trained, first)
    return [model.scores(first, precision=runs[0].settings.precision) for model in trained]


def _row(run: _Run, trained: Trained) -> Row:
    """All columns but the scores and the measurements of the machine."""
    job, purchase, bought = run.job, run.purchase, run.bought
    labels, validation = bought.train, bought.validation
    counts, asked = labels.counts(), int(labels.asked.sum())
    setting = purchase.setting(run.spec)
    swept = setting if setting and setting.runs else None
    curve_of = "val" if job.grid.validation != "none" else "test" if job.grid.curves else None
    device = str(trained.history.versions.get("device", "cpu"))
    if device.startswith("cuda"):
        device = f"{device} ({torch.cuda.get_device_name()})"
    return {
        "scheme": purchase.scheme,
        "scheme_spec": str(labels.history.settings["scheme"]),
        "method": run.spec,
        "method_spec": methods.spell(methods.make(run.spelled)),
        "reference": purchase.reference,
        "budget": purchase.limit.dollars,
        "budget_hours": purchase.limit.hours,
        "draw": job.draw,
        "seed": job.grid.seed,
        "dollars": bought.dollars,
        "seconds": bought.seconds,
        "validation_dollars": bought.validation_dollars,
        "effort": json.dumps(labels.effort.to_json()),
        "validation_effort": validation and json.dumps(validation.effort.to_json()),
        "images": asked,
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": asked * labels.shape[1] - counts["present"] - counts["absent"],
        "class_present": labels.per_class(PRESENT).tolist(),
        "class_absent": labels.per_class(ABSENT).tolist(),
        "epochs": trained.epoch,
        "lr": trained.history.settings["lr"],
        "tuned": setting.text if setting and setting.values else None,
        "tuned_runs": swept and swept.runs,
        "tuned_map": swept and swept.score,
        "tuned_edge": swept and swept.edge,
        "trained": "backbone" if job.grid.pictures else "head",
        "select": run.settings.select,
        "validation": job.grid.validation,
        "losses": [_number(loss) for loss in trained.losses],
        "curve": [_number(score) for score in trained.validation],
        "curve_of": curve_of,
        "environment": environment(device, job.code),
        "labels_id": labels.id,
        "truth_id": job.ids["truth train"],
        "test_id": job.ids["truth test"],
        "features_id": run.inputs_id,
    }


def scored_row(data: StudyData, scores: Any) -> Row:
    """AP of every class on the test split and its means, from scores (N, L)."""
    present, leaves = data.truth("test").present, data.data.leaves
    known = data.known("test")
    ap = metrics.average_precision(scores, present, known)
    counts = metrics.present_counts(present, known)
    return {
        "map": _number(metrics.mean_ap(ap[leaves])),
        "map_all": _number(metrics.mean_ap(ap)),
        "map_o": _number(metrics.overall_ap(ap[leaves], counts[leaves])),
        "ap": [_number(value) for value in ap],
    }


def _diverged(trained: Trained) -> list[str]:
    """A note if the training diverged, as the score is then of a useless model."""
    last = trained.losses[-1]
    if np.isfinite(last) and last <= _DIVERGED:
        return []
    return [f"{trained.method.name}: its training diverged, to a loss of {last:.3g}; lower lr"]


@contextmanager
def warnings_of() -> Iterator[Notes]:
    """Collects the UserWarnings of its block, and drops other warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield caught


def texts(notes: Sequence[warnings.WarningMessage]) -> list[str]:
    """The messages of the warnings in order, each once."""
    return list(dict.fromkeys(str(note.message) for note in notes))


def _number(value: float | NDArray[Any]) -> float | None:
    return None if np.isnan(value) else float(value)
