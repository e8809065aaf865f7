"""The work on one bundle: annotate, train all methods together, score them."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch

from simkit.embed.features.peak import peak_memory
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task
from simkit.learn.train import train_stack
from simkit.learn.trained import Trained
from simkit.learn.validation import Validation
from simkit.study.bundles.bundle import Bundle, Purchase, draw_name
from simkit.study.bundles.buying import Bought, buy
from simkit.study.bundles.hearing import Notes, heard, of_run, texts
from simkit.study.bundles.learning import Learner, scores
from simkit.study.bundles.rows import row, scored
from simkit.study.bundles.stacks import Run, stacks
from simkit.study.material.material import Material, opened_as
from simkit.study.runs import Done, Row, told

_FAR = 1e7  # a loss that no training which goes well reaches, sums over large batches included

Place = tuple[Purchase, str]  # a purchase and one of its methods
Labels = tuple[Bought, PartialLabels, Notes]  # those that can be learned from come second


def run(bundle: Bundle) -> Done:
    """Annotate, train and score; one row for each draw and method. Any executor can call this.

    It uses one thread, so that any number of processes gives the same bits. A purchase that cannot
    be made fails alone, and so does a method that cannot work with its labels; that all fail is no
    exception. Raises BadInput where the data are not those the bundle was planned for.
    """
    start = time.perf_counter()
    with one_thread():
        material = opened_as(bundle.source, bundle.ids)
        draws = [_draw(one, material) for one in bundle.each()]
    whole = {"bundle_seconds": time.perf_counter() - start, "peak_memory_mb": peak_memory()}
    return Done(
        [row | whole | {"key": bundle.key} for done in draws for row in done.rows],
        {what: why for done in draws for what, why in done.failures.items()},
        all(done.lasting for done in draws),
    )


def _draw(bundle: Bundle, material: Material) -> Done:
    """The same for a bundle of one draw."""
    found: dict[Place, Row | Exception] = {}
    runs: list[Run] = []
    before: dict[Purchase, Labels] = {}
    for purchase in bundle.purchases:
        runs += _bought(purchase, bundle, material, found, before)
    images = material.truth("test").shape[0]
    alone = [[run] for run in runs]  # a backbone learns for one method
    found_stacks = stacks(runs, scored=images, memory=bundle.memory)
    for stack in alone if bundle.pictures else found_stacks:
        found |= _each(bundle, material, stack)
    wanted = [(one, spec) for one in bundle.purchases for spec in one.methods]
    errors = {place: one for place in wanted if isinstance(one := found[place], Exception)}
    rows = [row for place in wanted if isinstance(row := found[place], dict)]
    lasting = all(isinstance(error, BadInput) for error in errors.values())
    return Done(rows, _failures(errors, bundle), lasting)


def _failures(errors: Mapping[Place, Exception], bundle: Bundle) -> dict[str, str]:
    """A sentence for each failure; one for all methods of a purchase that could not be made."""
    found: dict[str, str] = {}
    for (purchase, spec), error in errors.items():
        alone = [each for (one, _), each in errors.items() if one == purchase]
        whole = len(alone) == len(purchase.methods) and all(each is error for each in alone)
        name = f"{purchase}, {draw_name(bundle.draw)}"
        if not whole or bundle.pictures:  # with pictures every method has a purchase of its own
            name += f", {spec}"
        found[name] = told(error)
    return found


def _bought(
    purchase: Purchase,
    bundle: Bundle,
    material: Material,
    found: dict[Place, Row | Exception],
    before: dict[Purchase, Labels],
) -> list[Run]:
    """The runs on the labels of a purchase; what fails is noted in `found`.

    before: labels that were bought already; a sweep trains on the same ones several times.
    """
    try:
        if purchase.labels not in before:
            before[purchase.labels] = _labels(purchase, bundle, material)
    except Exception as error:
        found |= {(purchase, spec): error for spec in purchase.methods}
        return []
    bought, labels, notes = before[purchase.labels]
    runs: list[Run] = []
    aids: dict[Hashable, Task] = {}
    for spec in purchase.methods:
        learner = Learner(bundle, material, purchase, spec)
        with heard() as more:
            try:
                held = _validation(learner, bought)
                task = aids.get(learner.shared) or learner.task(labels)
                choosing = held if learner.settings.select == "best" else None
                how = {**learner.training, "validation": choosing}
                task = prepare(task, methods.make(learner.method), **how)
                aids[learner.shared] = task
            except Exception as error:
                found[purchase, spec] = error
                continue
        runs.append(Run(purchase, spec, bought, task, held, texts([*notes, *more])))
    return runs


def _labels(purchase: Purchase, bundle: Bundle, material: Material) -> Labels:
    with heard() as notes:
        bought = buy(purchase, bundle, material)
        return bought, material.readable(bought.train, "train"), notes


def _validation(learner: Learner, bought: Bought) -> Validation | None:
    """What scores are taken of after every epoch: labels that were paid for, or, where only a
    curve is wanted, the test split, by which nothing is chosen."""
    bundle, material = learner.bundle, learner.material
    split = "val" if bundle.validation != "none" else "test"
    if split == "test" and not bundle.curves:
        return None
    return Validation(
        learner.inputs(split),
        bought.validation if split == "val" else material.truth("test"),
        known=material.known(split),
        classes=material.data.leaves,
    )


def _each(bundle: Bundle, material: Material, runs: list[Run]) -> dict[Place, Row | Exception]:
    """A row or an error for each run: a stack that fails is halved until it is one run."""
    try:
        return dict(_stack(bundle, material, runs))
    except Exception as error:
        if len(runs) == 1:
            return {(runs[0].purchase, runs[0].spec): error}
    half = len(runs) // 2
    return {
        place: one
        for part in (runs[:half], runs[half:])
        for place, one in _each(bundle, material, part).items()
    }


def _stack(bundle: Bundle, material: Material, runs: list[Run]) -> dict[Place, Row]:
    start = time.perf_counter()
    learners = [Learner(bundle, material, run.purchase, run.spec) for run in runs]
    with heard() as notes:
        trained = train_stack(
            [(run.task, run.method) for run in runs],
            lrs=[run.lr or learner.lr for run, learner in zip(runs, learners, strict=True)],
            validation=runs[0].validation,
            **learners[0].training,
        )
    found_scores = scores(learners, trained)
    shared = {"train_seconds": (time.perf_counter() - start) / len(runs), "stack": len(runs)}
    return {
        (run.purchase, run.spec): row(bundle, material, run, one)
        | scored(material, found)
        | {
            **shared,
            "notes": list(dict.fromkeys([*run.notes, *of_run(notes, place), *_diverged(one)])),
        }
        for place, (run, one, found) in enumerate(zip(runs, trained, found_scores, strict=True))
    }


def _diverged(trained: Trained) -> list[str]:
    """A note where the loss ran away: the score is then that of no useful model."""
    last = trained.losses[-1]
    if np.isfinite(last) and last <= _FAR:
        return []
    return [f"{trained.method.name}: its loss ran away, to {last:.3g}; lower lr"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch works on one thread within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
