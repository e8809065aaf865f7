"""The work on one job: buy labels, train all methods on them together, score them."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from simkit.annotate.budget import amount_for
from simkit.annotate.prices import Cost, cost
from simkit.annotate.simulate import simulate
from simkit.embed.features.peak import peak_memory
from simkit.errors import BadInput
from simkit.history import versions
from simkit.labels.partial import ABSENT, PRESENT, PartialLabels
from simkit.learn import methods
from simkit.learn.aids.prepare import prepare
from simkit.learn.catalogue import training_bytes
from simkit.learn.feeding.inputs import FeatureInputs, ImageInputs
from simkit.learn.heads.scoring import of_trained
from simkit.learn.heads.stack import RunWarning
from simkit.learn.methods import Method, Sizes, Task
from simkit.learn.metrics import (
    average_precision,
    f1_thresholds,
    mean_ap,
    overall_ap,
    precision_recall,
    present_counts,
)
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train_stack
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from simkit.study.grid import COMPLETE
from simkit.study.jobs import Job, Purchase, draw_name
from simkit.study.runs import SWEEP, Row
from simkit.study.sources import (
    StudyData,
    kind_of,
    needs_features,
    network_key,
    opened_as,
    with_features,
)

_FAR = 1e7  # a loss that no training which goes well reaches, sums over large batches included
# Measured with 50 to 250 runs of 80 classes: what losses and scores need for a moment, and what the
# allocator keeps, took 8 to 36 % more than what is held.
_MORE = 1.4

Notes = list[warnings.WarningMessage]
Place = tuple[Purchase, str]  # a purchase and one of its methods


@dataclass(frozen=True)
class Done:
    """The rows of a job, and a sentence for each of its methods that failed.

    lasting: those would fail again; otherwise the job is not stored as finished.
    """

    rows: list[Row]
    failures: Mapping[str, str] = field(default_factory=dict)
    lasting: bool = True


@dataclass(frozen=True, eq=False)
class Bought:
    """Labels to train on and, where they are paid for, to choose the epoch by.

    dollars and seconds are of both together; seconds is None where the time is not known.
    """

    train: PartialLabels
    dollars: float
    seconds: float | None
    validation: PartialLabels | None = None
    validation_dollars: float = 0.0


def run(job: Job) -> Done:
    """Buy labels, train and score; one row for each draw and method. Any executor can call this.

    It uses one thread, so that any number of processes gives the same bits. A purchase that cannot
    be made fails alone, and so does a method that cannot work with its labels; that all fail is no
    exception. Raises BadInput where the data are not those the job was planned for.
    """
    start = time.perf_counter()
    with one_thread():
        data = opened_as(job.source, job.ids)
        draws = [_Draw(one, data).run() for one in job.each_draw()]
    whole = {"bundle_seconds": time.perf_counter() - start, "peak_memory_mb": peak_memory()}
    return Done(
        [row | whole | {"key": job.stem} for done in draws for row in done.rows],
        {what: why for done in draws for what, why in done.failures.items()},
        all(done.lasting for done in draws),
    )


def sentence(error: Exception) -> str:
    """An error as one sentence; what is no fault of the input has its type in front."""
    return str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch works on one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def environment(device: str = "cpu", code: str = "") -> str:
    """What the run was computed with: versions, code, platform and device, as JSON."""
    what = {**versions(), "torch": str(torch.__version__), "code": code}
    where = {"system": platform.system(), "machine": platform.machine(), "device": device}
    return json.dumps({**what, **where, "threads": torch.get_num_threads()}, sort_keys=True)


def run_bytes(method: Method, sizes: Sizes, *, width: int, rows: int, scored: int) -> int:
    """What one run takes in a stack: head, gradient and two moments, labels, state, and the scores
    of so many images."""
    held = 16 * sizes.classes * width + sizes.classes * (rows + 4 * scored)
    return round(_MORE * (held + training_bytes(method, sizes)))


@dataclass(frozen=True, eq=False)
class _Run:
    """One method on the labels of one purchase; task: with the side information it needs.

    notes: what was warned about while the labels were bought and the task was prepared.
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
        """The method as it is trained."""
        return self.purchase.spelled(self.spec)

    @property
    def settings(self) -> Settings:
        """Of the training."""
        return self.job.settings(self.spec)

    @property
    def lr(self) -> float:
        """The learning rate: as it was chosen, else that of the settings."""
        setting = self.purchase.setting(self.spec)
        own = setting.lr if setting else None
        return own or self.settings.rate(backbone=self.job.pictures is not None)

    def inputs(self, split: str) -> FeatureInputs | ImageInputs:
        """What is learned from, or scored, of a split."""
        if self.job.pictures is None:
            return self.data.inputs(split, kind_of(self.spelled))
        return self.data.images(split, self.job.transform(self.spec))

    @property
    def inputs_id(self) -> str:
        """Content id of the features that a head learns from, or of the backbone that learns."""
        if self.job.pictures is None:
            return self.job.ids[f"features train {kind_of(self.spelled)}"]
        return self.job.ids[network_key(self.job.transform(self.spec).size)]

    @property
    def training(self) -> dict[str, Any]:
        """Arguments of `train_stack`: a head on the CPU, a backbone on a GPU where there is one."""
        how = {"settings": self.settings, "seed": self.job.seed, "draw": self.job.draw}
        if self.job.pictures is None:
            return {**how, "device": "cpu"}
        network = self.data.networks[self.job.transform(self.spec).size]
        return {**how, "device": "auto", "backbone": network}

    @property
    def validation(self) -> Validation | None:
        """What scores are taken of after every epoch: labels that were paid for, or, where only a
        curve is wanted, the test split, by which nothing is chosen."""
        split = "val" if self.job.validation != "none" else "test"
        if split == "test" and not self.job.curves:
            return None
        labels = self.bought.validation if split == "val" else self.data.truth("test")
        known, leaves = self.data.known(split), self.data.data.leaves
        return Validation(self.inputs(split), labels, known=known, classes=leaves)

    def prepared(self, shared: dict[Hashable, Task]) -> _Run:
        """The same with its side information; methods of one purchase share what they can."""
        method = methods.make(self.spelled)
        key: Hashable = kind_of(self.spelled)
        task = self.task
        if self.job.pictures is not None:
            own = self.spelled if needs_features(method) else ""
            key = (self.settings, self.job.transform(self.spec), own)
            if key not in shared:
                task = with_features(task, method, lambda: self.data)
        choosing = self.validation if self.settings.select == "best" else None
        task = prepare(shared.get(key, task), method, **self.training, validation=choosing)
        shared[key] = task
        return replace(self, task=task)

    def bytes(self, scored: int) -> int:
        """What it takes in a stack."""
        how = {"width": self.task.inputs.width, "rows": len(self.task.rows), "scored": scored}
        return run_bytes(methods.make(self.spelled), self.task.sizes, **how)

    def shares_with(self) -> Hashable:
        """Equal for runs that can be trained together: features, images and validation labels."""
        rows = hashlib.sha256(self.task.rows.tobytes()).hexdigest()
        validation = self.validation
        return kind_of(self.spelled), rows, None if validation is None else validation.id


class _Draw:
    """The work on a job of one draw."""

    def __init__(self, job: Job, data: StudyData) -> None:
        self.job, self.data = job, data
        self.outcomes: dict[Place, Row | Exception] = {}
        self.labels: dict[Purchase, tuple[Bought, PartialLabels, Notes]] = {}

    def run(self) -> Done:
        """Rows and failures in the order of the purchases."""
        runs = [run for purchase in self.job.purchases for run in self._runs(purchase)]
        alone = [[run] for run in runs]  # a backbone learns for one method
        for stack in alone if self.job.pictures else self._stacks(runs):
            self.outcomes |= self._each(stack)
        wanted = [(one, spec) for one in self.job.purchases for spec in one.methods]
        errors = {p: one for p in wanted if isinstance(one := self.outcomes[p], Exception)}
        rows = [row for place in wanted if isinstance(row := self.outcomes[place], dict)]
        lasting = all(isinstance(error, BadInput) for error in errors.values())
        return Done(rows, self._failures(errors), lasting)

    @cached_property
    def complete(self) -> PartialLabels:
        """Complete labels of the validation split, where settings were chosen by them alone."""
        return tuning_labels(self.job, self.data)

    def _failures(self, errors: Mapping[Place, Exception]) -> dict[str, str]:
        """A sentence for each failure; one for all methods of a purchase that could not be made."""
        failures: dict[str, str] = {}
        for (purchase, spec), error in errors.items():
            same = [each for (one, _), each in errors.items() if one == purchase]
            whole = len(same) == len(purchase.methods) and all(each is error for each in same)
            name = f"{purchase}, {draw_name(self.job.draw)}"
            if not whole or self.job.pictures:  # with pictures every method has its own purchase
                name += f", {spec}"
            failures[name] = sentence(error)
        return failures

    def _runs(self, purchase: Purchase) -> list[_Run]:
        """The runs on the labels of a purchase; what fails is noted in `outcomes`."""
        try:
            if purchase.labels not in self.labels:  # a sweep trains on the same ones several times
                with warnings_of() as notes:
                    bought = buy(purchase, self.job, self.data)
                    labels = self.data.readable(_trained_on(bought.train, self.job), "train")
                self.labels[purchase.labels] = bought, labels, notes
        except Exception as error:
            self.outcomes |= {(purchase, spec): error for spec in purchase.methods}
            return []
        bought, labels, notes = self.labels[purchase.labels]
        runs: list[_Run] = []
        shared: dict[Hashable, Task] = {}
        for spec in purchase.methods:
            with warnings_of() as more:
                try:
                    run = _Run(self.job, self.data, purchase, spec, bought, Task(labels), [])
                    run = replace(run, task=Task(labels=labels, inputs=run.inputs("train")))
                    run = run.prepared(shared)
                except Exception as error:
                    self.outcomes[purchase, spec] = error
                    continue
            runs.append(replace(run, notes=texts([*notes, *more])))
        return runs

    def _stacks(self, runs: Iterable[_Run]) -> Iterator[list[_Run]]:
        """Runs that can be trained together, in order, cut so that none takes more than `memory`
        GB; a run that takes more is alone."""
        images = self.data.truth("test").shape[0]
        groups: dict[Hashable, list[_Run]] = {}
        for run in runs:
            groups.setdefault(run.shares_with(), []).append(run)
        for group in groups.values():
            stack: list[_Run] = []
            taken = 0
            for run in group:
                needs = run.bytes(images)
                if stack and taken + needs > self.job.memory * 1e9:
                    yield stack
                    stack, taken = [], 0
                stack.append(run)
                taken += needs
            yield stack

    def _each(self, runs: list[_Run]) -> dict[Place, Row | Exception]:
        """A row or an error for each run: a stack that fails is halved until it is one run."""
        try:
            return dict(self._stack(runs))
        except Exception as error:
            if len(runs) == 1:
                return {(runs[0].purchase, runs[0].spec): error}
        half = len(runs) // 2
        return self._each(runs[:half]) | self._each(runs[half:])

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
        held = _scores(runs, trained, "val") if "val" in self.job.source.splits else None
        shared = {"train_seconds": (time.perf_counter() - start) / len(runs), "stack": len(runs)}
        rows = {}
        for place, (run, one) in enumerate(zip(runs, trained, strict=True)):
            scored = _scored(self.data, test[place])
            if held is not None:
                scored |= self._of_validation(run, held[place], test[place])
            own = [*run.notes, *_of_run(notes, place), *_diverged(one)]
            row = _row(run, one) | scored | shared | {"notes": list(dict.fromkeys(own))}
            rows[run.purchase, run.spec] = row
        return rows

    def _of_validation(self, run: _Run, held: Any, test: Any) -> Row:
        """mAP on validation labels where settings are tried, else precision and recall."""
        labels = run.bought.validation or self.complete
        known, leaves = self.data.known("val"), self.data.data.leaves
        validation = Validation(None, labels, known=known, classes=leaves)
        if self.job.sweep:
            return {"tuned_map": _number(validation.score(held))}
        codes = labels.codes.toarray()
        asked = codes != 0 if known is None else (codes != 0) & known
        thresholds = f1_thresholds(np.asarray(held), codes == PRESENT, asked)
        present = self.data.truth("test").present
        both = precision_recall(np.asarray(test), present, thresholds, self.data.known("test"))
        names = ("precision", "recall")
        return {n: _number(mean_ap(v[leaves])) for n, v in zip(names, both, strict=True)}


def tuning_labels(job: Job, data: StudyData) -> PartialLabels:
    """Complete labels of the validation split, by which settings are chosen: one set for all."""
    people = _people(replace(job, draws=(SWEEP,)), data, "val")
    with warnings_of():  # about images that matter to no run
        return simulate(data.truth("val"), COMPLETE, **people)


def buy(purchase: Purchase, job: Job, data: StudyData) -> Bought:
    """The labels of a purchase: for its dollars or hours, or for the amount as written.

    Validation labels come out of the same budget and from the same people: all of the validation
    split ("complete"), or a part in proportion to its size, asked about by the scheme itself
    ("partial"). Raises BadInput where they would use it up. Those of a sweep are complete and
    billed apart.
    """
    held, bill = (tuning_labels(job, data), None) if job.sweep else _validation(purchase, job, data)
    with _naming_validation(purchase, bill):
        labels, main = _asked(purchase, job, data, "train", _left(purchase, bill))
    times = [one.seconds for one in (main, bill) if one]
    known = [seconds for seconds in times if seconds is not None]
    total = sum(known) if len(known) == len(times) else None
    price = bill.dollars if bill else 0.0
    return Bought(labels, main.dollars + price, total, held, price)


@contextmanager
def _naming_validation(purchase: Purchase, bill: Cost | None) -> Iterator[None]:
    """A warning about a budget says what validation labels took of it before."""
    if not purchase.limit or bill is None:
        yield
        return
    limit = purchase.limit
    took = (
        f"validation labels took {bill.dollars:,.2f} of {limit.dollars:,.2f} dollars before"
        if limit.dollars is not None
        else f"validation labels took {(bill.seconds or 0.0) / 3600:,.2f} of {limit.hours:g} hours "
        "before"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        text = str(warning.message)
        more = f"; {took}" if " can spend " in text else ""
        warnings.warn(f"{text}{more}", warning.category, stacklevel=3)


def _left(purchase: Purchase, bill: Cost | None) -> tuple[float, str] | None:
    """What may be spent on training labels, with its unit; None for an amount as written."""
    limit = purchase.limit
    if not limit:
        return None
    most, unit = (
        (limit.dollars, "dollars") if limit.hours is None else (3600 * limit.hours, "seconds")
    )
    assert most is not None
    if bill is None:
        return most, unit
    spent = bill.dollars if unit == "dollars" else bill.seconds
    if spent is None:
        raise BadInput(
            "budgets are in hours and the price list does not know the time of validation labels; "
            "give budgets in dollars, or name a price list with times"
        )
    if most <= spent:
        takes = (
            f"costs {spent:.2f} dollars of a budget of {most:g}"
            if unit == "dollars"
            else f"takes {spent / 3600:.2f} hours of {most / 3600:g}"
        )
        raise BadInput(
            f"labelling the validation split {takes}; raise the budget or set validation to none"
        )
    return most - spent, unit


def _validation(
    purchase: Purchase, job: Job, data: StudyData
) -> tuple[PartialLabels | None, Cost | None]:
    if job.validation == "none":
        return None, None
    if job.validation == "complete":
        everything = simulate(data.truth("val"), COMPLETE, **_people(job, data, "val"))
        return everything, cost(everything, job.prices.once_set_up())
    sizes = [data.truth(split).shape[0] for split in ("train", "val")]
    limit = _left(purchase, None)
    if limit is not None:
        limit = (limit[0] * sizes[1] / sum(sizes), limit[1])
    return _asked(purchase, job, data, "val", limit)


def _asked(
    purchase: Purchase, job: Job, data: StudyData, split: str, limit: tuple[float, str] | None
) -> tuple[PartialLabels, Cost]:
    """Labels of one split for this much, or for the amount as written, and their cost."""
    truth, images, people = data.truth(split), purchase.images, _people(job, data, split)
    # The project is set up once, for the labels to train on.
    prices = job.prices if split == "train" else job.prices.once_set_up()
    if split != "train" and isinstance(images, int):  # the same share of them
        images = images / data.truth("train").shape[0]
    if limit is None:
        labels = simulate(truth, purchase.scheme, images=images, **people)
        return labels, cost(labels, prices)
    most, unit = limit
    how: dict[str, Any] = {"unit": unit, "images": images, **people}
    bought = amount_for(most, truth, purchase.scheme, prices, **how)
    return bought.labels, bought.cost


def _people(job: Job, data: StudyData, split: str) -> dict[str, Any]:
    people: dict[str, Any] = {"hierarchy": data.hierarchy, "habits": job.habits}
    return people | {"boxes": data.data.boxes.get(split), "seed": job.seed, "draw": job.draw}


def _trained_on(labels: PartialLabels, job: Job) -> PartialLabels:
    """The labels, over all images where images that nobody asked about train as well."""
    return labels if job.unasked == "skip" else labels.over_all_images()


def _scores(runs: Sequence[_Run], trained: Sequence[Trained], split: str) -> Any:
    """(R, N, L) logits of a split, for runs that were trained together."""
    first = runs[0].inputs(split)
    if isinstance(first, FeatureInputs):
        return of_trained(trained, first)
    return [one.scores(first, precision=runs[0].settings.precision) for one in trained]


def _row(run: _Run, trained: Trained) -> Row:
    """All but the scores and what the machine decides."""
    job, purchase, bought = run.job, run.purchase, run.bought
    labels, held = bought.train, bought.validation
    counts, asked = labels.counts(), int(labels.asked.sum())
    setting = purchase.setting(run.spec)
    tried = setting is not None and setting.runs > 0
    watched = "val" if job.validation != "none" else "test" if job.curves else None
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
        "seed": job.seed,
        "dollars": bought.dollars,
        "seconds": bought.seconds,
        "validation_dollars": bought.validation_dollars,
        "effort": json.dumps(labels.effort.to_json()),
        "validation_effort": held and json.dumps(held.effort.to_json()),
        "images": asked,
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": asked * labels.shape[1] - counts["present"] - counts["absent"],
        "class_present": labels.per_class(PRESENT).tolist(),
        "class_absent": labels.per_class(ABSENT).tolist(),
        "epochs": trained.epoch,
        "lr": trained.history.settings["lr"],
        "tuned": setting.text if setting and setting.values else None,
        "tuned_runs": setting.runs if setting and tried else None,
        "tuned_map": setting.score if setting and tried else None,
        "tuned_edge": setting.edge if setting and tried else None,
        "trained": "backbone" if job.pictures else "head",
        "select": run.settings.select,
        "validation": job.validation,
        "losses": [_number(one) for one in trained.losses],
        "curve": [_number(one) for one in trained.validation],
        "curve_of": watched,
        "environment": environment(device, job.code),
        "labels_id": labels.id,
        "truth_id": job.ids["truth train"],
        "test_id": job.ids["truth test"],
        "features_id": run.inputs_id,
        "key": job.stem,
    }


def _scored(data: StudyData, scores: Any) -> Row:
    """AP of every class on the test split and its means; scores (N, L)."""
    present, leaves = data.truth("test").present, data.data.leaves
    known = data.known("test")
    ap = average_precision(scores, present, known)
    counts = present_counts(present, known)
    return {
        "map": _number(mean_ap(ap[leaves])),
        "map_all": _number(mean_ap(ap)),
        "map_o": _number(overall_ap(ap[leaves], counts[leaves])),
        "ap": [_number(one) for one in ap],
    }


def _diverged(trained: Trained) -> list[str]:
    """A note where the loss ran away: the score is then that of no useful model."""
    last = trained.losses[-1]
    if np.isfinite(last) and last <= _FAR:
        return []
    return [f"{trained.method.name}: its loss ran away, to {last:.3g}; lower lr"]


@contextmanager
def warnings_of() -> Iterator[Notes]:
    """Collects the warnings of its block; other kinds than UserWarning are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield caught


def texts(notes: Sequence[warnings.WarningMessage]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(str(note.message) for note in notes))


def _of_run(notes: Notes, run: int) -> list[str]:
    """What was warned of one run of a stack, or of all of them."""
    about = (note.message for note in notes)
    return texts([
        note for note, message in zip(notes, about, strict=True)
        if not isinstance(message, RunWarning) or message.run == run
    ])  # fmt: skip


def _number(value: float | NDArray[Any]) -> float | None:
    return None if np.isnan(value) else float(value)
