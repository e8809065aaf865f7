"""The work on one job: buy labels, train all methods on them together, and score these."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from simkit import metrics
from simkit.annotate.annotators import Habits
from simkit.annotate.budget import Affordable, Ladder, amount_for
from simkit.annotate.prices import Cost, cost
from simkit.annotate.simulate import how_many, simulate
from simkit.chance import Chance
from simkit.data.dataset import read_spec
from simkit.embed.devices import device_of, heads_together, spare_memory
from simkit.errors import BadInput
from simkit.history import content_id, versions
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.labels.truth import Truth
from simkit.learn import methods
from simkit.learn.checks import notes_of
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.method import training_bytes
from simkit.learn.methods import Method, Sizes, Task
from simkit.learn.optim import Settings
from simkit.learn.side_info import build_aid, prepare
from simkit.learn.stack import scores_of_all
from simkit.learn.train import Trained, train_stack
from simkit.learn.validation import Validation
from simkit.metrics.ap import LabelCounts
from simkit.progress import peak_memory
from simkit.quantities import exact_money
from simkit.results import job_store
from simkit.results.job_store import STACK, Result
from simkit.results.runs import ERRORS, SCHEMAS, SWEEP, Row
from simkit.study import sources
from simkit.study.grid import COMPLETE
from simkit.study.jobs import Job, LabelBatch, run_name, spellings, transform_of
from simkit.study.sources import ImageTransform, StudyData, kind_of

_DIVERGED = 1e7  # no normal training reaches such a loss, even as a sum over a large batch
# Temporary values of losses and scores, and the allocator, took 8 to 36 % more memory than the
# tensors of a stack, measured with 50 to 250 runs of 80 classes.
_OVERHEAD = 1.4

# Code of others: simkit, the libraries, and Python itself.
_INSTALLED = {Path(file).parents[1] for file in (__file__, torch.__file__, json.__file__)}

Notes = list[warnings.WarningMessage]


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores (N, L) of a split, its reference labels, and the mask of entries that count.

    With a sparse mask the scores may be sparse too, with the entries of the mask alone.
    """

    scores: Any
    present: Any
    known: Any

    def of(self, classes: NDArray[np.int64]) -> Scored:
        """Scores and labels of these classes."""
        known = None if self.known is None else self.known[:, classes]
        return Scored(self.scores[:, classes], self.present[:, classes], known)

    def ap(self) -> NDArray[np.float64]:
        """(L,) average precision of each class."""
        return metrics.average_precision(self.scores, self.present, self.known)

    def at_thresholds(self, val: Scored) -> dict[str, float]:
        """Mean F1, precision and recall over classes, at the thresholds with the best F1 on `val`.

        `val` is never the scored split.
        """
        thresholds = metrics.f1_thresholds(val.scores, val.present, val.known)
        reference = self.scores, self.present, thresholds, self.known
        by_class = metrics.f1(*reference), *metrics.precision_recall(*reference)
        return dict(zip(("f1", "precision", "recall"), map(metrics.mean_ap, by_class), strict=True))


@dataclass(frozen=True, eq=False)
class Training:
    """One method on the data of a study: a head on features, or a whole backbone on images.

    Attributes
    ----------
    transform
        The images on which the whole backbone is trained; None for a head on features.
    """

    data: StudyData
    method: Method
    settings: Settings
    transform: ImageTransform | None = None
    seed: int = 0
    draw: int = 0
    device: str | torch.device = "auto"

    def inputs(self, split: str) -> FeatureInputs | ImageInputs:
        """The inputs of a split, for training or scoring."""
        if self.transform is None:
            return self.data.inputs(split, kind_of(self.method))
        return self.data.images(split, self.transform)

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `prepare`, `train` and `train_stack`."""
        net = None if self.transform is None else self.data.networks[self.transform.size]
        how = {"settings": self.settings, "seed": self.seed, "draw": self.draw}
        return {**how, "device": self.device, "backbone": net}

    def validation(self, split: str, labels: Truth | PartialLabels | None) -> Validation:
        """A split to score after every epoch, over the leaf classes."""
        known, leaves = self.data.known(split), self.data.data.leaves
        return Validation(self.inputs(split), labels, known=known, classes=leaves)

    def task(self, labels: PartialLabels) -> Task:
        """Labels of train with their inputs, and the side information that comes with the data.

        A backbone on images takes neighbours from features computed before. Their id is not
        recorded, as the features of a trained backbone change with every step.
        """
        aids = tuple(each for of, each in self.data.similarities.items() if of == "train")
        task = Task(self.data.readable(labels, "train"), self.inputs("train"), aids)
        if self.transform is None or not sources.needs_features(self.method):
            return task
        on_features = replace(task, inputs=self.data.inputs("train", "pooled"))
        kinds = (kind for kind in self.method.needs.aids if kind in sources.FROM_FEATURES)
        built = (build_aid(kind, on_features, self.method.needs) for kind in kinds)
        return task.with_aids(*(replace(aid, inputs="") for aid in built))

    def scored(self, trained: Trained, split: str) -> Scored:
        """Scores of a split, with its reference labels.

        If few labels are known, only their scores are kept, as all scores would not fit into
        memory.
        """
        known = self.data.known(split)
        scores = trained.scores(
            self.inputs(split), known=known if issparse(known) else None, device=self.device
        )
        return Scored(scores, self.data.truth(split).present, known)


@dataclass(frozen=True, eq=False)
class PaidLabels:
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


def run(
    job: Job, folder: Path | None = None, advance: Callable[[float], None] = lambda trainings: None
) -> Result:
    """Buy labels, train and score; one row for each draw and method. Any executor can call this.

    It uses one thread, so that results are bit for bit the same for any number of processes.
    Batches of labels and methods fail one by one, without an exception even if all of them fail.

    Parameters
    ----------
    folder
        The folder of finished jobs, which keeps the finished stacks of this one until it is stored:
        after an interruption they are not trained again. None keeps nothing.
    advance
        Called with the number of finished trainings, in fractions, after every epoch.

    Raises
    ------
    BadInput
        If the data changed since the job was planned.
    """
    start, rows, earlier = time.perf_counter(), list[Row](), 0.0
    stacks = folder and folder / job.stem
    errors: dict[str, Exception] = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    # Numbers below 1e-38 count as 0: arithmetic with them is slow, and the vanishing gradients of
    # cnn-rnn took five times as long.
    torch.set_flush_denormal(True)
    try:
        data = sources.opened_as(job.source, job.ids)
        for draw in job.draws:
            repetition = Repetition(replace(job, draws=(draw,)), data, stacks)
            repetition.advance, repetition.before = advance, len(rows)
            rows += repetition.run()
            earlier += repetition.earlier
            errors |= repetition.failures
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
    of_job: Row = {"key": job.stem, "peak_memory_mb": peak_memory()}
    of_job["bundle_seconds"] = time.perf_counter() - start + earlier
    table = _table([row | of_job for row in rows], job)
    # Errors of the input would happen again; a lack of memory may not, so such jobs are repeated.
    lasting = all(isinstance(error, BadInput) for error in errors.values())
    return Result(table, {name: sentence(error) for name, error in errors.items()}, lasting)


def _table(rows: list[Row], job: Job) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMAS[any(batch.errors for batch in job.batches)])


def sentence(error: Exception) -> str:
    """An error as one sentence; errors other than BadInput start with their type and, if code
    outside of simkit raised them, such as a method of one's own, end with the place."""
    if isinstance(error, BadInput):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _INSTALLED.intersection(Path(frame.filename).parents)]
    place = ""
    if own:
        place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"
    return f"{type(error).__name__}: {error}{place}"


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
    """One method on one batch of labels.

    Attributes
    ----------
    task
        The labels and inputs, with the side information that the method needs.
    validation
        The labels to score after every epoch, if any.
    notes
        Warnings from buying the labels and from the preparation.
    """

    batch: LabelBatch
    spec: str
    paid: PaidLabels
    training: Training
    task: Task
    validation: Validation | None
    notes: list[str]

    @cached_property
    def effective_method(self) -> Method:
        """What its method amounts to on its labels: AN and Ignore are equal on complete ones."""
        labels, method = self.task.labels, self.training.method
        complete = labels.codes.nnz == int(labels.asked.sum()) * labels.shape[1]
        return method.on_complete() if complete else method


class Repetition:
    """The work on a job of one draw.

    stacks: the start of the paths of its finished stacks; None keeps none. After `run`, `failures`
    has the errors, and `earlier` the training seconds of stacks that were finished before.
    """

    def __init__(self, job: Job, data: StudyData, stacks: Path | None = None) -> None:
        self.job, self.data, self.stacks, self.earlier = job, data, stacks, 0.0
        self.advance: Callable[[float], None] = lambda trainings: None
        self.before = 0  # trainings of earlier draws
        self.rows: dict[tuple[LabelBatch, str], Row] = {}
        self.failures: dict[str, Exception] = {}
        self._bought: dict[LabelBatch, tuple[PaidLabels, Notes]] = {}

    def run(self) -> list[Row]:
        """Rows in the order of the batches of labels and their methods."""
        runs = [run for batch in self.job.batches for run in self._runs(batch)]
        for stack in self._stacks(runs):
            self._train(stack)
        places = ((batch, spec) for batch in self.job.batches for spec in batch.methods)
        return [self.rows[place] for place in places if place in self.rows]

    @cached_property
    def complete(self) -> PartialLabels:
        """Complete labels of the validation split, for tuning and thresholds."""
        return tuning_labels(self.job, self.data)

    def _fail(self, error: Exception, batch: LabelBatch, *specs: str) -> None:
        """Record the error of some methods of a batch."""
        self.failures |= {run_name(batch, self.job.draw, spec): error for spec in specs}

    def _runs(self, batch: LabelBatch) -> list[_Run]:
        """The runs on a batch of labels, with their side information."""
        job, runs = self.job, list[_Run]()
        try:
            if batch.labels not in self._bought:  # a sweep uses the same labels several times
                with warnings_of() as notes:
                    self._bought[batch.labels] = buy(batch, job, self.data), notes
        except Exception as error:
            self._fail(error, batch, *batch.methods)
            return []
        paid, notes = self._bought[batch.labels]
        labels = trained_on(paid.train, job)
        # Methods share side information if their inputs agree; a backbone has its own batch.
        shared: dict[str, Task] = {}
        for spec in batch.methods:
            with warnings_of() as of_preparation:
                try:
                    method = methods.make(batch.spelled(spec))
                    method.check(labels)
                    settings, transform = job.grid.training(spec), transform_of(job.grid, spec)
                    seeds = job.grid.seed, job.draw
                    place = "cuda" if job.grid.device == "cuda" else "auto"
                    training = Training(self.data, method, settings, transform, *seeds, place)
                    # A curve that selects no epoch is measured on the test split.
                    split = "test" if job.grid.validation == "none" else "val"
                    scored = self.data.truth("test") if split == "test" else paid.validation
                    watched = split == "val" or job.grid.curves
                    validation = training.validation(split, scored) if watched else None
                    chooses = validation if settings.select == "best" else None
                    task = shared.get(kind_of(method)) or training.task(labels)
                    task = prepare(task, method, **training.options, validation=chooses)
                    shared[kind_of(method)] = task
                except Exception as error:
                    self._fail(error, batch, spec)
                    continue
            texts = _texts([*notes, *of_preparation])
            runs.append(_Run(batch, spec, paid, training, task, validation, texts))
        return runs

    def _stacks(self, runs: Sequence[_Run]) -> Iterator[list[_Run]]:
        """Runs that can be trained together, in order, in stacks of at most `memory` GB; a larger
        run is alone, and so is every backbone."""
        if self.job.grid.pictures is not None:
            yield from ([run] for run in runs)
            return
        images, most = self.data.truth("test").shape[0], self.job.grid.memory * 1e9
        if self.job.grid.device == "cuda":
            place = device_of("cuda")
            most = max(most, spare_memory(place) / heads_together(place))
        groups: dict[Hashable, list[_Run]] = {}
        for run in runs:
            # The same features, images and validation labels.
            asked = hashlib.sha256(run.task.rows.tobytes()).hexdigest()
            key = kind_of(run.training.method), asked, run.validation and run.validation.id
            groups.setdefault(key, []).append(run)
        for group in groups.values():
            stack: list[_Run] = []
            stack_bytes = 0
            for run in group:
                task = run.task
                sizes = {"width": task.inputs.width, "rows": len(task.rows), "scored": images}
                needed = run_bytes(run.training.method, task.sizes, **sizes)
                if stack and stack_bytes + needed > most:
                    yield stack
                    stack, stack_bytes = [], 0
                stack.append(run)
                stack_bytes += needed
            yield stack

    def _train(self, runs: list[_Run]) -> None:
        """Train a stack, unless it is kept; one that fails is halved, down to single runs."""
        places = [(run.batch, run.spec) for run in runs]
        if kept := self._kept(places):
            self.rows |= dict(zip(places, kept, strict=True))
            self.earlier += sum(row["train_seconds"] for row in kept)
            return
        try:
            rows = self._stack(runs)
        except Exception as error:
            if len(runs) == 1:
                self._fail(error, runs[0].batch, runs[0].spec)
                return
            half = len(runs) // 2
            self._train(runs[:half])
            self._train(runs[half:])
            return
        self.rows |= rows
        # An error here is one of the job, not of a method.
        if self.stacks is not None and len(rows) == len(runs):
            result = Result(_table([*rows.values()], self.job))
            job_store.save(result, self.stacks.parent, self._stem(places), STACK)

    def _kept(self, places: Sequence[tuple[LabelBatch, str]]) -> list[Row]:
        """The rows of a stack that was finished before an interruption; else none."""
        if self.stacks is None:
            return []
        folder, stem = self.stacks.parent, self._stem(places)
        result = job_store.load(folder, stem, *SCHEMAS, ending=STACK)
        return [] if result is None else result.table.to_pylist()

    def _stem(self, places: Sequence[tuple[LabelBatch, str]]) -> str:
        """The stem of the file of a stack: that of the job, and a hash of the draw, the runs, and
        the versions that train them, which are the same for a whole job."""
        assert self.stacks is not None
        runs = json.dumps([[batch.decides, spec] for batch, spec in places], sort_keys=True)
        made_with = json.dumps({**versions(), "torch": str(torch.__version__)}, sort_keys=True)
        return f"{self.stacks.name}.{content_id('stack', str(self.job.draw), runs, made_with)}"

    def _stack(self, runs: list[_Run]) -> dict[tuple[LabelBatch, str], Row]:
        """The rows of a stack that trains without an error."""
        start, training = time.perf_counter(), runs[0].training
        usual = training.settings.rate(backbone=training.transform is not None)
        chosen = (run.batch.setting(run.spec) for run in runs)
        lrs = [(setting.lr if setting else None) or usual for setting in chosen]
        finished = self.before + len(self.rows)
        keys = [
            (run.task.labels.id, lr, run.effective_method)
            for run, lr in zip(runs, lrs, strict=True)
        ]
        model_of = [[*dict.fromkeys(keys)].index(key) for key in keys]  # equal runs share a model
        first = [model_of.index(model) for model in range(max(model_of) + 1)]
        with warnings_of() as notes:
            trained = train_stack(
                [(runs[k].task, runs[k].training.method) for k in first],
                lrs=[lrs[k] for k in first], validation=runs[0].validation, **training.options,
                progress=lambda epoch, of: self.advance(finished + len(runs) * epoch / of),
            )  # fmt: skip
        scored: dict[str, list[Scored]] = {}
        for split in {*self.job.source.splits} - {"train"}:
            inputs = training.inputs(split)
            if training.transform is None:  # one matrix product scores all heads
                scores = [*scores_of_all(trained, inputs, training.device).cpu().numpy()]
            else:
                scores = [model.scores(inputs) for model in trained]
            present, known = self.data.truth(split).present, self.data.known(split)
            scored[split] = [Scored(of_run, present, known) for of_run in scores]
        shared = {"train_seconds": (time.perf_counter() - start) / len(runs), "stack": len(runs)}
        rows, texts = {}, _notes(runs, model_of, notes)
        for run, index, run_notes in zip(runs, model_of, texts, strict=True):
            model, test = trained[index], scored["test"][index]
            row = self._row(run, model) | scored_row(test, self.data.data.leaves) | shared
            if "val" in scored:
                # mAP on validation labels in a sweep, else precision and recall on the test set.
                val, leaves = scored["val"][index], self.data.data.leaves
                labels = run.paid.validation or self.complete
                validation = Validation(None, labels, known=val.known, classes=leaves)
                if self.job.sweep:
                    row["tuned_map"] = _number(validation.score(val.scores))
                else:
                    reference = Scored(val.scores, *validation.reference)
                    means = test.of(leaves).at_thresholds(reference.of(leaves))
                    row |= {name: _number(means[name]) for name in ("precision", "recall")}
            losses = np.array(model.losses)
            if not np.isfinite(losses[-1]):
                if not self.job.sweep:
                    self._fail(_useless(run, model, losses), run.batch, run.spec)
                    continue
                row["tuned_map"] = None  # never chosen
            elif losses[-1] > _DIVERGED:  # the score is of a useless model
                text = f"its training diverged, to a loss of {losses[-1]:.3g}; lower lr"
                run_notes.append(f"{run.training.method.name}: {text}")
            rows[run.batch, run.spec] = row | {"notes": list(dict.fromkeys(run_notes))}
        return rows

    def _row(self, run: _Run, trained: Trained) -> Row:
        """All columns but the scores and the measurements of the machine."""
        job, batch, paid, transform = self.job, run.batch, run.paid, run.training.transform
        labels, validation = paid.train, paid.validation
        counts, asked = labels.counts(), int(labels.asked.sum())
        setting = batch.setting(run.spec)
        swept = setting if setting and setting.runs else None
        device = str(trained.history.versions.get("device", "cpu"))
        if device.startswith("cuda"):
            device = f"{device} ({torch.cuda.get_device_name()})"
        features = f"features train {kind_of(run.training.method)}"
        return {
            "scheme": batch.scheme,
            "scheme_spec": str(labels.history.settings["scheme"]),
            "method": run.spec,
            "method_spec": methods.spell(run.training.method),
            "reference": batch.reference,
            **dict(zip(ERRORS, batch.errors, strict=False)),
            "budget": batch.limit.dollars,
            "budget_hours": batch.limit.hours,
            "draw": job.draw,
            "seed": job.grid.seed,
            "dollars": paid.dollars,
            "seconds": paid.seconds,
            "validation_dollars": paid.validation_dollars,
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
            "tuned_error": swept and swept.error,
            "tuned_edge": swept and swept.edge,
            "trained": "head" if transform is None else "backbone",
            "select": run.training.settings.select,
            "validation": job.grid.validation,
            "losses": [_number(loss) for loss in trained.losses],
            "curve": [_number(score) for score in trained.validation],
            "curve_of": run.validation and ("test" if job.grid.validation == "none" else "val"),
            "environment": environment(device, job.code),
            "labels_id": labels.id,
            "truth_id": job.ids["truth train"],
            "test_id": job.ids["truth test"],
            # The id of the features for a head, of the initial weights for a backbone.
            "features_id": job.ids[sources.network_key(transform.size) if transform else features],
        }


def _notes(runs: Sequence[_Run], model_of: Sequence[int], caught: Notes) -> list[list[str]]:
    """The notes of each run of a stack; runs that share a training have those of their own method.

    model_of: the trained model of each run. caught: the warnings of the training.
    """
    of_methods = []
    for run, index in zip(runs, model_of, strict=True):
        method, started = run.training.method, Notes()
        if model_of.count(index) > 1:
            with warnings_of() as started:
                method.start(run.task, Chance.seeded(0))
        of_methods.append([*notes_of(method, run.training.settings), *_texts(started)])
    of_any = {*chain(*of_methods)}
    of_models = [
        [note for note in caught if getattr(note.message, "run", index) == index]
        for index in model_of
    ]  # fmt: skip
    return [
        [*run.notes, *own, *(text for text in _texts(others) if text not in of_any)]
        for run, own, others in zip(runs, of_methods, of_models, strict=True)
    ]


def _useless(run: _Run, model: Trained, losses: NDArray[np.float64]) -> BadInput:
    """The error of a training whose loss is no number."""
    epoch, lr = np.argmin(np.isfinite(losses)) + 1, model.history.settings["lr"]
    name = run.training.method.name
    return BadInput(
        f"the training loss of {name} is {losses[-1]} from epoch {epoch} on, at a "
        f"learning rate of {lr:g}; lower lr, or check the loss of the method"
    )


def left_out(data: StudyData, split: str) -> str:
    """A sentence about the leaf classes of a split without an AP; "" if all have one.

    Raises BadInput if none has one, before anything is trained.
    """
    truth = data.truth(split)
    mend = (
        f"score more images: name a larger {split} set with {split}=... in the data set or in the "
        "column split of a table"
    )
    if truth.known is not None:
        mend = "label its absent classes as well (0 in a table)"
        source, settings, _ = read_spec(data.data.spec)
        if "unknown" in getattr(source, "__dataclass_fields__", ()):
            before = settings.get("unknown", "keep")
            mend += (
                ", or set unknown=absent in the data set if all classes without a label are "
                f"absent (unknown is {before!r})"
            )
    counts = LabelCounts.of(truth.present, data.known(split), data.data.leaves)
    counts.check(f"{data.data.name}, split {split}", mend)
    return counts.left_out([data.data.classes[c] for c in data.data.leaves], f"{split} split")


def test_facts(data: StudyData) -> dict[str, Any]:
    """Images of the test split, and known present and absent labels of each leaf, for plans."""
    truth = data.truth("test")
    counts = LabelCounts.of(truth.present, data.known("test"), data.data.leaves)
    images = truth.shape[0] - len(data.skipped("test"))
    sides = {f"test_{side}": getattr(counts, side).tolist() for side in ("present", "absent")}
    return {"test_images": images, **sides}


def tuning_labels(job: Job, data: StudyData) -> PartialLabels:
    """Complete labels of the validation split, on which all settings are chosen."""
    people = _people(replace(job, draws=(SWEEP,)), data, "val")
    with warnings_of():  # dropped, as they concern no run
        return simulate(data.truth("val"), COMPLETE, **people)


def buy(batch: LabelBatch, job: Job, data: StudyData) -> PaidLabels:
    """The labels of a batch, for its budget or, without one, for the amount as written.

    Validation labels are paid from the same budget and come from the same people: complete labels
    of the validation split ("complete"), or labels by the scheme itself, for a part of the budget
    in proportion to the size of the split ("partial"). Those of a sweep are complete and billed
    separately. Raises BadInput if validation labels would use up the budget.
    """
    validation: PartialLabels | None = None
    bill: Cost | None = None
    most, unit = batch.limit.amount if batch.limit else (None, "dollars")
    if job.sweep:
        validation = tuning_labels(job, data)
    elif job.grid.validation == "complete":
        validation = simulate(data.truth("val"), COMPLETE, **_people(job, data, "val"))
        bill = cost(validation, job.prices.once_set_up())
    elif job.grid.validation == "partial":
        sizes = [data.truth(split).shape[0] for split in ("train", "val")]
        share = None if most is None else most * sizes[1] / sum(sizes)
        validation, bill = _labelled(batch, job, data, "val", share)
    if most is not None and bill is not None:
        spent = getattr(bill, unit)
        if spent is None:
            raise BadInput("the price list has no times to spend hours by; budget in dollars")
        if most <= spent:
            taken = exact_money(spent) if unit == "dollars" else f"{spent / 3600:.2f} hours"
            raise BadInput(
                f"validation labels take {taken} of {batch.limit}; raise the budget or set "
                "validation to none"
            )
        most -= spent
    labels, train_bill = _labelled(batch, job, data, "train", most)
    times = [each.seconds for each in (train_bill, bill) if each is not None]
    seconds = None if None in times else sum(filter(None, times))
    dollars = bill.dollars if bill else 0.0
    return PaidLabels(labels, train_bill.dollars + dollars, seconds, validation, dollars)


def refusals(
    batches: Iterable[LabelBatch], job: Job, data: StudyData
) -> dict[tuple[LabelBatch, str], str]:
    """The reasons of the runs that are certain to fail in a job of one draw, by batch and method.

    Labels that cannot be bought fail for all methods of their batch, and labels that a method
    refuses (`Method.check`) for this one. A scheme is simulated once, with its smallest amount;
    larger amounts are bought only near their price, and where a method refuses the smallest one.
    """
    part, taken = 1.0, Cost(0.0, 0.0, (), 0, job.prices.name)
    if job.grid.validation == "complete":
        labels = simulate(data.truth("val"), COMPLETE, **_people(job, data, "val"))
        taken = cost(labels, job.prices.once_set_up())
    elif job.grid.validation == "partial":  # each split gets a share of the budget
        sizes = [data.truth(split).shape[0] for split in ("train", "val")]
        part = min(sizes) / sum(sizes)
    least, bought = dict[str, Affordable](), dict[LabelBatch, PaidLabels]()
    refused = dict[tuple[LabelBatch, str], str]()
    for batch in batches:
        try:
            if batch.scheme not in least:
                least[batch.scheme] = _least(batch, job, data)
            if batch.limit:
                amount, unit = batch.limit.amount
                spent = [getattr(bill, unit) for bill in (least[batch.scheme].cost, taken)]
                if None in spent or part * amount < sum(spent):
                    bought[batch.labels] = buy(batch, job, data)
        except Exception as error:
            refused |= dict.fromkeys(((batch, spec) for spec in batch.methods), sentence(error))
            continue
        for spec in batch.methods:
            if not _refused(least[batch.scheme].labels, batch, spec, job):
                continue
            try:
                if batch.labels not in bought:
                    with warnings_of():
                        bought[batch.labels] = buy(batch, job, data)
                why = _refused(bought[batch.labels].train, batch, spec, job)
            except Exception as error:
                why = sentence(error)
            if why:
                refused[batch, spec] = why
    return refused


def _refused(labels: PartialLabels, batch: LabelBatch, spec: str, job: Job) -> str:
    """Why a method cannot learn from these labels with any of its settings; or ""."""
    labels, why = trained_on(labels, job), ""
    for name in spellings(batch, spec, job.grid):
        try:
            methods.make(name).check(labels)
        except Exception as error:
            why = why or sentence(error)
        else:
            return ""
    return why


def trained_on(labels: PartialLabels, job: Job) -> PartialLabels:
    """The labels of a batch as its methods are trained on them."""
    return labels if job.grid.unasked == "skip" else labels.over_all_images()


def _least(batch: LabelBatch, job: Job, data: StudyData) -> Affordable:
    """The smallest amount of a batch's scheme."""
    truth = data.truth("train")
    annotate = partial(simulate, truth, **_people(job, data, "train"))
    shape = how_many(batch.images, truth.shape[0]), truth.shape[1]
    with warnings_of():
        return Ladder.of(annotate, shape, batch.scheme, job.prices).least()


def _labelled(
    batch: LabelBatch, job: Job, data: StudyData, split: str, most: float | None
) -> tuple[PartialLabels, Cost]:
    """Labels of one split, for at most this budget or for the amount as written, and their cost."""
    truth, images, people = data.truth(split), batch.images, _people(job, data, split)
    if batch.errors and split == "train":  # a larger level contains the errors of a smaller one
        miss, false_alarm = batch.errors
        people["habits"] = Habits(miss, false_alarm)
    # The project is set up once, with the training labels.
    prices = job.prices if split == "train" else job.prices.once_set_up()
    if split != "train" and isinstance(images, int):  # the same share of the images
        images = images / data.truth("train").shape[0]
    if most is None:
        labels = simulate(truth, batch.scheme, images=images, **people)
        return labels, cost(labels, prices)
    unit = batch.limit.amount[1]
    bought = amount_for(most, truth, batch.scheme, prices, unit=unit, images=images, **people)
    return bought.labels, bought.cost


def _people(job: Job, data: StudyData, split: str) -> dict[str, Any]:
    """Arguments of `simulate`: the annotators of a split, and the inputs of the scheme."""
    people: dict[str, Any] = {"hierarchy": data.hierarchy, "habits": job.grid.habits}
    if (split, "pooled") in data.features:
        people["features"] = data.features[split, "pooled"].values
    if split in data.scored:
        people["scores"] = data.scores[split]
    return people | {"boxes": data.data.boxes.get(split), "seed": job.grid.seed, "draw": job.draw}


def scored_row(test: Scored, leaves: NDArray[np.int64]) -> Row:
    """AP of every class on the test split, and its means."""
    ap, counts = test.ap(), metrics.present_counts(test.present, test.known)
    return {
        "map": _number(metrics.mean_ap(ap[leaves])),
        "map_all": _number(metrics.mean_ap(ap)),
        "map_o": _number(metrics.overall_ap(ap[leaves], counts[leaves])),
        "ap": [_number(value) for value in ap],
    }


@contextmanager
def warnings_of() -> Iterator[Notes]:
    """Collects the UserWarnings of its block, and drops other warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield caught


def _texts(notes: Notes) -> list[str]:
    """The messages of the warnings in order, each once."""
    return list(dict.fromkeys(str(note.message) for note in notes))


def _number(value: float | NDArray[Any]) -> float | None:
    return None if np.isnan(value) else float(value)
