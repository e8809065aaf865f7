"""The jobs of a grid, and the checks before any of them runs.

A job is the unit of work of one worker: batches of labels in one or more draws, with all methods
that are trained on them. Jobs depend on the grid and the data alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from simkit.annotate import schemes
from simkit.annotate.prices import Prices, cost, prices
from simkit.annotate.similarities import Similarities
from simkit.annotate.simulate import how_many, simulate
from simkit.errors import BadInput
from simkit.history import content_id, versions
from simkit.learn import methods
from simkit.learn.methods import Method
from simkit.results.cells import REFERENCE, Budget
from simkit.results.runs import SWEEP
from simkit.study.code_id import code_id, own_classes
from simkit.study.grid import COMPLETE, Grid
from simkit.study.sources import (
    ImageTransform,
    StudyData,
    StudySource,
    kind_of,
    needs_features,
    no_cosines,
)
from simkit.study.tuning import Setting

# Settings by scheme (or "reference") and method, as the grid writes both.
Choices = Mapping[tuple[str, str], Setting]

LEAST = 10.0  # seconds of work in a job: the overhead of smaller ones is too large
MOST = 45.0  # seconds if each were trained alone; a draw should not wait for one worker
# Seconds on one thread of a server core, by least squares of relative errors over stacks of 1, 11
# and 44 heads (5,000 images, 256 and 2,048 features, 20 and 80 classes, batches of 64 and 16, the
# eleven methods of benchmarks/compare.py); the fit is within a third of every measurement. _READ is
# fitted to the stacks of the shipped grid on maps, within a quarter.
_STACK = 2e-4  # for a step of a stack, whatever the number of its runs
_READ = 9e-9  # to read one feature value
_STEP = 2.8e-4  # for the loss and the optimiser step of one run
_RANK = 2e-8  # to rank one score, for average precision
_RATE = 4e10  # multiplications and additions per second
_FORWARDS = 3e10  # the same in a backbone
_ON_GPU = 30.0  # times as much work in a job: a GPU trains its runs at once
_PRICED = 256  # number of images from which the cost of an image is estimated


@dataclass(frozen=True)
class LabelBatch:
    """Labels that are bought together, and the methods that are trained on them.

    Attributes
    ----------
    limit
        Their largest cost; empty for the amount of the scheme as written.
    images
        Share of the images that may be asked about (float), or their number (int).
    reference
        Whether these are complete labels of all images, at their own cost.
    settings
        One for each method, if chosen or tried in a sweep; else those of the grid hold.
    errors
        Shares of present labels missed and of absent ones reported in addition; empty: none.
    """

    scheme: str
    methods: tuple[str, ...]
    limit: Budget = Budget()
    images: float | int = 1.0
    reference: bool = False
    settings: tuple[Setting, ...] = ()
    errors: tuple[float, ...] = ()

    def setting(self, spec: str) -> Setting | None:
        """The settings of one of its methods, if any."""
        return self.settings[self.methods.index(spec)] if self.settings else None

    def spelled(self, spec: str) -> str:
        """The name of one of its methods, with its settings."""
        setting = self.setting(spec)
        return spec if setting is None else setting.method(spec)

    def __str__(self) -> str:
        money = "" if self.limit.dollars is None else f", budget {self.limit.dollars:g}"
        time = "" if self.limit.hours is None else f", {self.limit}"
        errors = "".join(f", {share:g} {what}" for share, what in zip(
            self.errors, ("missed", "reported"), strict=False
        ))  # fmt: skip
        return f"{self.scheme}{money}{time}{errors}"

    @property
    def labels(self) -> LabelBatch:
        """The same batch without its methods."""
        return dataclasses.replace(self, methods=(), settings=())

    def with_settings(self, settings: Mapping[str, Setting]) -> LabelBatch:
        """The batch with these methods and their settings."""
        specs, values = tuple(settings), tuple(settings.values())
        return dataclasses.replace(self, methods=specs, settings=values)

    @cached_property  # the same batch is in a job of every draw
    def decides(self) -> dict[str, Any]:
        """All fields as plain values, with complete names of scheme and methods."""
        values = dataclasses.asdict(self)
        if not self.errors:  # the keys of grids without levels of errors stay the same
            del values["errors"]
        for chosen in values["settings"]:  # and those of settings that no sweep chose
            if not chosen["runs"]:
                del chosen["error"]
        return values | {
            "scheme": schemes.spell(schemes.make(self.scheme)),
            "methods": [methods.spell(methods.make(self.spelled(spec))) for spec in self.methods],
            "names": [self.scheme, *self.methods],
            "images": [type(self.images).__name__, self.images],
        }


@dataclass(frozen=True)
class Job:
    """Batches of labels in one draw (in several if one takes little time), for any process.

    Attributes
    ----------
    grid
        The grid that it is part of; all its settings but schemes, methods, budgets and draws hold.
    ids
        Content ids of the truth and features that it was planned for.
    code
        Hash of the code that runs it.
    """

    source: StudySource
    batches: tuple[LabelBatch, ...]
    draws: tuple[int, ...]
    grid: Grid
    prices: Prices
    ids: Mapping[str, str]
    code: str = ""

    @cached_property  # every run of the job needs it; it is pickled with the job
    def key(self) -> str:
        """Sixteen hexadecimal digits: a hash of everything but the code that decides the result."""
        grid, fields = self.grid, ("seed", "unasked", "validation", "curves", "memory")
        decides = {
            "draws": self.draws,
            "purchases": [batch.decides for batch in self.batches],  # name of earlier versions
            "habits": grid.habits.to_json(),
            "prices": repr(self.prices),
            "train": dataclasses.asdict(grid.train),
            "pictures": grid.pictures and dataclasses.asdict(grid.pictures),
            "ids": dict(self.ids),
            # The code stands for the version of simkit.
            "versions": {**versions(), "simkit": "", "torch": torch.__version__},
            **{name: getattr(grid, name) for name in fields},
        }
        if grid.device == "cuda" and grid.pictures is None:  # other numbers, to 1e-3 mAP
            decides["device"] = grid.device
        return content_id("job", json.dumps(decides, sort_keys=True))

    @property
    def stem(self) -> str:
        """The stem of its file name: the key and the hash of the code."""
        return f"{self.key}-{self.code}"

    @property
    def runs(self) -> int:
        """Number of trainings."""
        return len(self.draws) * sum(len(batch.methods) for batch in self.batches)

    @property
    def names(self) -> list[str]:
        """The names of its runs."""
        places = ((draw, batch) for draw in self.draws for batch in self.batches)
        return [run_name(batch, draw, spec) for draw, batch in places for spec in batch.methods]

    @property
    def own(self) -> dict[str, frozenset[type]]:
        """The classes from outside simkit of each of its schemes and methods that has any."""
        parts = dict[str, object]()
        for batch in self.batches:
            parts[batch.scheme] = schemes.make(batch.scheme)
            parts |= {spec: methods.make(spec) for spec in batch.methods}
        classes = {name: own_classes([part]) for name, part in parts.items()}
        return {name: of_part for name, of_part in classes.items() if of_part}

    @property
    def draw(self) -> int:
        """The draw of a job with a single one."""
        (draw,) = self.draws
        return draw

    @property
    def sweep(self) -> bool:
        """Whether the job is part of a sweep."""
        return self.draws[0] < 0

    def __str__(self) -> str:
        first, others = self.batches[0], len(self.batches) - 1
        method = f", {first.methods[0]}" if self.grid.pictures else ""  # one method per batch
        more = f" and {others} more" if others else ""
        draws = " to ".join(dict.fromkeys(map(draw_name, (self.draws[0], self.draws[-1]))))
        return f"{first}{method}{more}, {draws}"


def draw_name(draw: int) -> str:
    """ "draw 3", or "tuning 1" for the first draw of the sweep."""
    return f"tuning {SWEEP - draw + 1}" if draw < 0 else f"draw {draw}"


def run_name(batch: LabelBatch, draw: int, spec: str) -> str:
    """The name of a run in the sentences about failures."""
    return f"{batch}, {draw_name(draw)}, {spec}"


def transform_of(grid: Grid, spec: str) -> ImageTransform | None:
    """The image transform of a method; None for a head on features.

    Fields of the grid take precedence over those of the method's protocol, and these over defaults.
    """
    if grid.pictures is None:
        return None
    base = ImageTransform()
    if protocol := grid.pictures.protocol_of(spec):
        base = ImageTransform(protocol.size, protocol.flip, protocol.upside_down, protocol.crop)
    values = {field.name: getattr(grid.pictures, field.name) for field in dataclasses.fields(base)}
    of_grid = {name: value for name, value in values.items() if value is not None}
    return dataclasses.replace(base, **of_grid).for_method(methods.make(spec))


def source_of(grid: Grid) -> StudySource:
    """The source of the truth and features of a grid."""
    tried = (setting.method(spec) for spec in grid.trained for setting in possible(grid, spec))
    trained = [methods.make(spec) for spec in {*grid.trained, *tried}]
    needs_val = grid.validation != "none" or grid.tuning is not None
    kinds, sizes = {kind_of(method) for method in trained}, dict[int | None, None]()
    if grid.pictures is not None:  # features serve only to find neighbours
        kinds = {"pooled"} if any(map(needs_features, trained)) else set()
        transforms = (transform_of(grid, spec) for spec in grid.trained)
        sizes = dict.fromkeys(transform.size for transform in transforms if transform)
    if any(schemes.make(spec).needs_features for spec in grid.schemes):
        kinds |= {"pooled"}
    splits = ("train", "val", "test") if needs_val else ("train", "test")
    backbone = "" if grid.features and not grid.pictures else grid.backbone
    ordered, files = tuple(sorted(kinds, reverse=True)), tuple(sorted(grid.features.items()))
    return StudySource(
        grid.data, splits, ordered, backbone, grid.weights, files, tuple(sizes), grid.scores
    )


def check(grid: Grid, data: StudyData) -> None:
    """Raise BadInput if the grid does not fit the data."""
    grid.habits.check(len(data.data.classes))
    how_many(grid.images, data.truth("train").shape[0])
    for spec in grid.schemes:
        if schemes.make(spec).needs_hierarchy and data.hierarchy is None:
            raise BadInput(
                f"schemes lists {spec!r}, which needs a class hierarchy, but {grid.data!r} has "
                "none; add one to data, such as ,hierarchy=coco-80 or ,hierarchy=FILE"
            )
    scored = [spec for spec in grid.schemes if schemes.make(spec).needs_scores]
    scored += [spec for spec in grid.trained if Similarities in methods.make(spec).needs.aids]
    if scored and not grid.scores:
        raise BadInput(
            f"the grid lists {scored[0]!r}, which needs a model's scores; name a table of scores, "
            'or make them with simkit score, as in scores = "scores.npz"'
        )
    if grid.scores and not scored and "test" not in data.scored:
        raise BadInput(
            f"scores is {grid.scores!r}, but no scheme or method of the grid uses them; leave it "
            "out, or name a scheme that does, as in fpc(search=scores) or proposals(by=scores)"
        )
    compared = [spec for spec in scored if spec in grid.trained]
    if compared and data.tables:
        raise no_cosines(grid.scores, compared[0])
    if scored and "train" not in data.scored:
        raise BadInput(f"{grid.scores} has no scores of train; make them with simkit score")
    if scored and not data.tables:
        truth = data.truth("train")
        data.similarities["train"].of(truth.images, truth.classes)


def jobs(grid: Grid, data: StudyData, chosen: Choices | None = None) -> list[Job]:
    """The jobs of a grid, by draw: its batches of labels in order, references last in each draw.

    Parameters
    ----------
    chosen
        The settings that a sweep chose; methods without chosen settings are left out.
    """
    ordered = label_batches(grid)
    if chosen is not None:
        tuned = [
            {m: chosen[key] for m in one.methods if (key := (choice_of(one), m)) in chosen}
            for one in ordered
        ]
        ordered = [one.with_settings(t) for one, t in zip(ordered, tuned, strict=True) if t]
    return jobs_of(grid, data, ordered, tuple(range(grid.draws)))


def label_batches(grid: Grid) -> list[LabelBatch]:
    """The labels of every draw, in the order of schemes and budgets; references last.

    Training a whole backbone takes long, so every method gets a separate batch, with the same
    labels.
    """
    of_methods, of_references = (
        [(spec,) for spec in specs] if grid.pictures else [specs]
        for specs in (grid.methods, grid.references)
    )
    batches = [
        LabelBatch(scheme, tuple(specs), limit, images=grid.images)
        for scheme in grid.schemes
        for limit in grid.limits
        for specs in of_methods
    ]
    if grid.reference:
        batches += [
            LabelBatch(COMPLETE, tuple(specs), reference=True, errors=tuple(errors))
            for errors in ((), *grid.errors)
            for specs in of_references
        ]
    for place, one in enumerate(batches):
        table = grid.settings.get(choice_of(one), {})  # other methods keep their defaults
        if any(m in table for m in one.methods):
            settings = {m: Setting(tuple(table.get(m, {}).items())) for m in one.methods}
            batches[place] = one.with_settings(settings)
    return batches


def choice_of(batch: LabelBatch) -> str:
    """The first key of the chosen settings: the scheme, or "reference"."""
    return REFERENCE if batch.reference else batch.scheme


def possible(grid: Grid, spec: str) -> list[Setting]:
    """The settings of a sweep for a method at usual learning rates; empty without tuning."""
    if grid.tuning is None:
        return []
    first = grid.tuning.settings(spec, lr=usual_rate(grid, spec), seed=grid.seed)
    other = grid.tuning.alternative(spec)
    return [*first, *([Setting((*first[0].values, *other))] if other else [])]


def usual_rate(grid: Grid, spec: str) -> float:
    """The learning rate of a method without tuning."""
    return grid.training(spec).rate(backbone=grid.pictures is not None)


def spellings(batch: LabelBatch, spec: str, grid: Grid) -> list[str]:
    """The names, with settings, with which a method of a batch may be trained: all of a sweep."""
    return [one.method(spec) for one in possible(grid, spec)] or [batch.spelled(spec)]


def jobs_of(
    grid: Grid, data: StudyData, ordered: Sequence[LabelBatch], draws: tuple[int, ...]
) -> list[Job]:
    """The jobs of these batches, by draw and the longest first, with the last two draws as one: no
    worker should begin a long job when the others end.

    Runs with schemes or methods from outside simkit have jobs of their own: an edit of such a class
    changes only the code of its own runs, and all other jobs are the same as without the class.
    """
    groups: dict[frozenset[type], list[LabelBatch]] = {}
    for batch in ordered:
        for own, batch_of_own in _by_code(batch).items():
            groups.setdefault(own, []).append(batch_of_own)
    source, listed, made = source_of(grid), prices(grid.prices), list[tuple[int, float, Job]]()
    for own, batches in groups.items():
        duration = {batch: seconds(batch, grid, data) for batch in batches}
        code, packs = code_id(own), _packs(duration, grid, data)
        size = draws_per_job(sum(duration.values()), len(draws))
        for start in range(0, len(draws), size):
            of_job = draws[start : start + size]
            for pack in packs:
                job = Job(source, tuple(pack), of_job, grid, listed, data.ids, code)
                length = len(of_job) * sum(duration[batch] for batch in pack)
                made.append((min(start, max(size, len(draws) - 2 * size)), -length, job))
    return [job for *_, job in sorted(made, key=lambda one: one[:2])]


def _by_code(batch: LabelBatch) -> dict[frozenset[type], LabelBatch]:
    """The batch divided by the classes from outside simkit that its runs use."""
    scheme, specs = schemes.make(batch.scheme), dict[frozenset[type], list[str]]()
    for spec in batch.methods:
        specs.setdefault(own_classes([scheme, methods.make(spec)]), []).append(spec)
    divided = {}
    for own, of_own in specs.items():
        settings = tuple(filter(None, map(batch.setting, of_own)))
        divided[own] = dataclasses.replace(batch, methods=tuple(of_own), settings=settings)
    return divided


def _packs(
    duration: Mapping[LabelBatch, float], grid: Grid, data: StudyData
) -> list[list[LabelBatch]]:
    """Batches, with their estimated seconds, in packs of at least `LEAST` seconds, so that runs can
    be trained together.

    Batches that probably ask about every image, such as RPA and FPC at any budget, share a pack of
    up to `MOST` seconds, as one stack trains them, or more for a GPU. The estimate counts
    operations and measures nothing, so a grid has the same jobs on every machine.
    """
    every, most = data.truth("train").shape[0], MOST * (_ON_GPU if grid.device == "cuda" else 1)
    groups: list[list[LabelBatch]] = []
    all_images: list[LabelBatch] | None = None
    for batch in duration:
        if grid.pictures is not None or _asked(batch, grid, data) < every:
            groups.append([batch])
        elif all_images and sum(duration[b] for b in [*all_images, batch]) <= most:
            all_images.append(batch)
        else:
            groups.append(all_images := [batch])
    packs: list[list[LabelBatch]] = []
    enough = True
    for group in groups:
        if enough:
            packs.append([])
        packs[-1] += group
        enough = sum(duration[batch] for batch in packs[-1]) >= LEAST
    if not enough and len(packs) > 1:  # a small remainder joins the last pack
        packs[-2:] = [packs[-2] + packs[-1]]
    return packs


def draws_per_job(each: float, draws: int) -> int:
    """Number of draws that share a job if one takes `each` seconds."""
    return draws if each <= 0 else max(1, min(draws, math.ceil(LEAST / each)))


def trainings(job: Job) -> dict[LabelBatch, list[Method]]:
    """What is trained in each draw: methods that are the same on complete labels once."""
    made, seen = dict[LabelBatch, list[Method]](), set[Hashable]()
    for batch in job.batches:
        labels = dataclasses.replace(batch.labels, reference=False)
        whole = not labels.limit and labels.images == 1.0
        complete = schemes.make(batch.scheme).name == COMPLETE
        complete &= job.grid.pictures is None and (whole or job.grid.unasked == "skip")
        made[batch] = []
        for spec in batch.methods:
            method, setting = methods.make(batch.spelled(spec)), batch.setting(spec)
            key = labels, kind_of(method), setting and setting.lr, method.on_complete()
            if not complete or key not in seen:
                made[batch].append(method)
            seen.add(key)
    return made


def seconds(
    batch: LabelBatch, grid: Grid, data: StudyData, *, of: Sequence[Method] | None = None
) -> float:
    """Estimated seconds of a batch of labels on one core, if its runs of a kind share a stack.

    of: what is trained; by default every method of the batch.
    """
    images, classes = data.truth("train").shape
    if grid.pictures is not None:
        # The backward pass takes about twice as long as the forward one.
        return sum(
            3 * data.work[transform.size] / _FORWARDS * images * grid.training(spec).epochs
            for spec in batch.methods
            if (transform := transform_of(grid, spec))
        )
    if of is None:
        of = [methods.make(batch.spelled(spec)) for spec in batch.methods]
    kinds = [*map(kind_of, of)]
    asked, epochs = _asked(batch, grid, data), grid.train.epochs
    curve_of = "test" if grid.validation == "none" else "val"
    scored = data.truth("test").shape[0]
    if grid.curves or grid.validation != "none":
        scored += epochs * data.truth(curve_of).shape[0]
    steps = epochs * math.ceil(asked / grid.train.batch_size)
    total = 0.0
    for kind in dict.fromkeys(kinds):
        values = math.prod(data.features["train", kind].values.shape[1:])  # of one image
        operations = classes * values * (4 * epochs * asked + 2 * scored)
        per_run = _STEP * steps + operations / _RATE + _RANK * scored * classes
        reading = _READ * values * (epochs * asked + scored)
        total += _STACK * steps + reading + kinds.count(kind) * per_run
    return total


def _asked(batch: LabelBatch, grid: Grid, data: StudyData) -> int:
    """Estimated number of asked images: where a budget buys images, from the cost of some of them;
    all, where it buys something else, such as labels for each class."""
    truth, scheme, limit = data.truth("train"), schemes.make(batch.scheme), batch.limit
    most = how_many(batch.images, truth.shape[0])
    if not limit or scheme.amount is not None or grid.unasked == "absent":
        return most
    priced = min(most, _PRICED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people: dict[str, Any] = {"hierarchy": data.hierarchy, "habits": grid.habits}
        people |= {"boxes": data.data.boxes.get("train"), "seed": grid.seed}
        labels = simulate(truth, scheme, images=priced, **people)
        bill = cost(labels, prices(grid.prices).once_set_up())
    budget, unit = limit.amount
    spent = getattr(bill, unit)  # None if the price list has no times
    return max(1, min(most, round(priced * (budget / spent)))) if spent else most
