"""From a grid to its jobs, and what is refused before any of them is worked on.

A job is what one worker does at a time: purchases of labels in some draws, each with all methods
that learn from them. Jobs follow from the grid and the data alone.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices, cost, prices
from simkit.annotate.simulate import how_many, simulate
from simkit.errors import BadInput
from simkit.history import content_id, versions
from simkit.learn import methods
from simkit.learn.steps.optim import Settings
from simkit.study.code import code_id
from simkit.study.grid import COMPLETE, REFERENCE, Grid, Pictures, Setting
from simkit.study.limit import Limit
from simkit.study.runs import SWEEP
from simkit.study.sources import ImageTransform, Source, StudyData, kind_of, needs_features

# Settings by what is bought and the method that learns from it, as the grid writes both.
Choices = Mapping[tuple[str, str], Setting]

LEAST = 10.0  # seconds of work in a job: less is not worth shipping
_MOST = 40.0  # for the sake of a larger stack; a draw should not wait for one worker
# Seconds of work on one thread of a server's core. The numbers fit stacks of 1, 11 and 44 heads
# within a third: 5,000 images, features of 256 and 2,048 numbers, 20 and 80 classes, batches of 64
# and 16, eleven methods of benchmarks/compare.py, least squares of relative errors.
_STACK = 2e-4  # for each step of a stack, however many runs are in it
_READ = 3.3e-8  # to read one number of the features
_STEP = 2.8e-4  # for the loss and the optimiser's step of one run
_RANK = 2e-8  # to rank one score, for average precision
_RATE = 4e10  # multiplications and additions in a second
_FORWARDS = 3e10  # of them in a backbone
_PRICED = 256  # images from which the cost of an image is estimated


@dataclass(frozen=True)
class Purchase:
    """Labels that are bought together, and the methods that learn from them.

    limit: what they may cost; empty: the scheme's amount as written.
    images: which share of them may be asked about (a float), or how many (a whole number).
    reference: everything is labelled, at its own cost.
    settings: one for each method, where they are chosen or tried; else the grid's hold.
    """

    scheme: str
    methods: tuple[str, ...]
    limit: Limit = Limit()
    images: float | int = 1.0
    reference: bool = False
    settings: tuple[Setting, ...] = ()

    def setting(self, spec: str) -> Setting | None:
        """What is set for one of its methods."""
        return self.settings[self.methods.index(spec)] if self.settings else None

    def spelled(self, spec: str) -> str:
        """One of its methods as it is trained."""
        setting = self.setting(spec)
        return spec if setting is None else setting.method(spec)

    def __str__(self) -> str:
        money = "" if self.limit.dollars is None else f", budget {self.limit.dollars:g}"
        time = "" if self.limit.hours is None else f", {self.limit.hours:g} hours"
        return f"{self.scheme}{money}{time}"

    @property
    def labels(self) -> Purchase:
        """What is bought, whichever methods learn from it."""
        return dataclasses.replace(self, methods=(), settings=())

    @cached_property  # the same purchase is in a job of every draw
    def decides(self) -> dict[str, Any]:
        """All of it as plain values, settings spelled out."""
        return dataclasses.asdict(self) | {
            "scheme": schemes.spell(schemes.make(self.scheme)),
            "methods": [methods.spell(methods.make(self.spelled(spec))) for spec in self.methods],
            "names": [self.scheme, *self.methods],
            "images": [type(self.images).__name__, self.images],
        }


@dataclass(frozen=True)
class Job:
    """Purchases in one draw, or in several where one is soon done; travels to any process.

    ids: of the truth and features it was planned for.  pictures: where the whole backbone is
    trained.  scored: whether the validation split is read for thresholds or a sweep.
    """

    source: Source
    purchases: tuple[Purchase, ...]
    draws: tuple[int, ...]
    seed: int
    unasked: str
    validation: str
    habits: Habits
    prices: Prices
    train: Settings
    curves: bool
    memory: float
    ids: Mapping[str, str]
    pictures: Pictures | None = None
    code: str = ""

    @cached_property  # every run of the job asks for it; it travels along with the job
    def key(self) -> str:
        """Sixteen hexadecimal digits: a hash of everything that decides the result but the code."""
        own = ("draws", "seed", "unasked", "validation", "curves", "memory")
        decides = {
            "purchases": [one.decides for one in self.purchases],
            "habits": self.habits.to_json(),
            "prices": repr(self.prices),
            "train": dataclasses.asdict(self.train),
            "pictures": self.pictures and dataclasses.asdict(self.pictures),
            "ids": dict(self.ids),
            "versions": {**versions(), "torch": torch.__version__},
            **{name: getattr(self, name) for name in own},
        }
        return content_id("job", json.dumps(decides, sort_keys=True))

    @property
    def stem(self) -> str:
        """What its file is called: the key and the code that runs it."""
        return f"{self.key}-{self.code}"

    @property
    def runs(self) -> int:
        """How many trainings it holds."""
        return len(self.draws) * sum(len(one.methods) for one in self.purchases)

    @property
    def draw(self) -> int:
        """The draw of a job that has one."""
        (draw,) = self.draws
        return draw

    @property
    def sweep(self) -> bool:
        """Whether it tries settings."""
        return self.draws == (SWEEP,)

    def each_draw(self) -> list[Job]:
        """One for each draw."""
        return [dataclasses.replace(self, draws=(draw,)) for draw in self.draws]

    def settings(self, spec: str) -> Settings:
        """How a method is trained."""
        return self.pictures.settings(spec, self.train) if self.pictures else self.train

    def transform(self, spec: str) -> ImageTransform:
        """How a method sees pictures; spec: as the grid writes it."""
        assert self.pictures is not None
        return transform_of(self.pictures, spec)

    def __str__(self) -> str:
        if self.pictures:  # every method has a purchase of its own
            names = [f"{one}, {', '.join(one.methods)}" for one in self.purchases]
            return f"{' and '.join(names)}, {_draws(self.draws)}"
        others = len(self.purchases) - 1
        more = f" and {others} more" if others else ""
        return f"{self.purchases[0]}{more}, {_draws(self.draws)}"


def draw_name(draw: int) -> str:
    """ "draw 3", or "tuning" for the draw of the sweep."""
    return "tuning" if draw == SWEEP else f"draw {draw}"


def _draws(draws: Sequence[int]) -> str:
    first = draw_name(draws[0])
    return first if len(draws) == 1 else f"{first.replace('draw', 'draws')} to {draws[-1]}"


def transform_of(pictures: Pictures, spec: str) -> ImageTransform:
    """How a method sees pictures: as the grid says, else its protocol, else the defaults."""
    own = pictures.protocol_of(spec)
    base = (
        ImageTransform(own.size, own.flip, own.upside_down, own.crop) if own else ImageTransform()
    )
    names = [f.name for f in dataclasses.fields(ImageTransform)]
    given = {name: value for name in names if (value := getattr(pictures, name)) is not None}
    return dataclasses.replace(base, **given).for_method(methods.make(spec))


def source_of(grid: Grid) -> Source:
    """Which truth and features a grid works on."""
    specs = set(grid.trained) | {
        one.method(spec) for spec in grid.trained for one in _tried(grid, spec)
    }
    kinds = {kind_of(spec) for spec in specs}
    needs_val = grid.validation != "none" or grid.tuning is not None
    splits = ("train", "val", "test") if needs_val else ("train", "test")
    sizes: tuple[int | None, ...] = ()
    if grid.pictures:
        kinds = {"pooled"} if any(needs_features(methods.make(spec)) for spec in specs) else set()
        sizes = tuple(dict.fromkeys(transform_of(grid.pictures, s).size for s in grid.trained))
    return Source(
        grid.data,
        splits,
        tuple(sorted(kinds, reverse=True)),
        "" if grid.features and not grid.pictures else grid.backbone,
        grid.weights,
        tuple(sorted(grid.features.items())),
        sizes,
    )


def check(grid: Grid, data: StudyData) -> None:
    """Raise BadInput for what no job could use."""
    grid.habits.check(len(data.data.classes))
    how_many(grid.images, data.truth("train").shape[0])
    for spec in grid.schemes:
        if schemes.make(spec).needs_hierarchy and data.hierarchy is None:
            raise BadInput(
                f"schemes lists {spec!r}, which asks along a class hierarchy, and {grid.data!r} "
                "has none; add one to data, such as ,hierarchy=coco-80 or ,hierarchy=FILE, or "
                "leave the scheme out"
            )


def jobs(grid: Grid, data: StudyData, chosen: Choices | None = None) -> list[Job]:
    """The jobs of a grid, by draw: its purchases in order, references last in each draw.

    chosen: settings that a sweep chose; what has none there is left out.
    Purchases of a draw share jobs, each of at least `LEAST` seconds of estimated work, so that
    runs can be trained together and none travels alone; those that ask about every image share
    one up to `_MOST` seconds, and where a draw takes less than `LEAST` several draws do. The
    estimate counts arithmetic and takes no time, so the same grid makes the same jobs anywhere.
    """
    ordered = purchases(grid)
    if chosen is not None:
        ordered = [own for one in ordered if (own := _with_chosen(one, chosen)).methods]
    return _jobs(grid, data, ordered, range(grid.draws))


def sweep(grid: Grid, data: StudyData) -> list[Job]:
    """The jobs that settings are chosen by, in a draw of their own: every scheme at its middle
    budget with each setting that is tried. None without a sweep."""
    if grid.tuning is None:
        return []
    middle = grid.limits[len(grid.limits) // 2]
    ordered = []
    for one in purchases(grid):
        if one.reference or one.limit == middle:
            tried = {spec: _tried(grid, spec) for spec in one.methods}
            for place in range(max(map(len, tried.values()))):
                specs = tuple(spec for spec in one.methods if place < len(tried[spec]))
                settings = tuple(tried[spec][place] for spec in specs)
                ordered.append(dataclasses.replace(one, methods=specs, settings=settings))
    return _jobs(grid, data, ordered, [SWEEP])


def purchases(grid: Grid) -> list[Purchase]:
    """What is bought in every draw, in the order of schemes and budgets; references last.

    A backbone that learns takes long for one method, so that each has a purchase of its own then;
    the labels are the same.
    """

    def together(specs: tuple[str, ...]) -> list[tuple[str, ...]]:
        return [(spec,) for spec in specs] if grid.pictures else [specs]

    made = [
        Purchase(scheme, specs, limit, images=grid.images)
        for scheme in grid.schemes
        for limit in grid.limits
        for specs in together(grid.methods)
    ]
    if grid.reference:
        made += [Purchase(COMPLETE, s, reference=True) for s in together(grid.references)]
    return [_with_settings(one, grid) for one in made]


def _with_settings(purchase: Purchase, grid: Grid) -> Purchase:
    """With the settings that the grid names; methods without keep their own."""
    table = grid.settings.get(choice_of(purchase), {})
    if not any(spec in table for spec in purchase.methods):
        return purchase
    settings = tuple(Setting(tuple(table.get(spec, {}).items())) for spec in purchase.methods)
    return dataclasses.replace(purchase, settings=settings)


def _with_chosen(purchase: Purchase, chosen: Choices) -> Purchase:
    """With the settings that were chosen, and without methods for which none was."""
    own = {
        spec: chosen[choice_of(purchase), spec]
        for spec in purchase.methods
        if (choice_of(purchase), spec) in chosen
    }
    return dataclasses.replace(purchase, methods=tuple(own), settings=tuple(own.values()))


def choice_of(purchase: Purchase) -> str:
    """What settings are chosen for: the scheme, or "reference"."""
    return REFERENCE if purchase.reference else purchase.scheme


def _tried(grid: Grid, spec: str) -> list[Setting]:
    if grid.tuning is None:
        return []
    lr = grid.training(spec).rate(backbone=grid.pictures is not None)
    return grid.tuning.settings(spec, lr=lr, seed=grid.seed)


def _jobs(
    grid: Grid, data: StudyData, ordered: Sequence[Purchase], draws: Iterable[int]
) -> list[Job]:
    common: dict[str, Any] = {
        name: getattr(grid, name)
        for name in ("seed", "unasked", "validation", "habits", "train", "curves", "memory",
                     "pictures")
    }  # fmt: skip
    parts = [methods.make(spec) for spec in grid.trained]
    common |= {"source": source_of(grid), "prices": prices(grid.prices), "ids": data.ids}
    common["code"] = code_id([*parts, *map(schemes.make, grid.schemes)])
    taken = {one: seconds(one, grid, data) for one in ordered}
    alone = [[one] for one in ordered]
    packs = _packed(alone if grid.pictures else _side_by_side(ordered, taken), taken)
    every = tuple(draws)
    size = draws_per_job(sum(taken.values()), len(every))
    return [
        Job(purchases=tuple(pack), draws=every[start : start + size], **common)
        for start in range(0, len(every), size)
        for pack in packs
    ]


def draws_per_job(each: float, draws: int) -> int:
    """How many draws share a job, where one takes `each` seconds."""
    return draws if each <= 0 else max(1, min(draws, math.ceil(LEAST / each)))


def _packed(
    neighbours: Iterable[list[Purchase]], taken: Mapping[Purchase, float]
) -> list[list[Purchase]]:
    """Neighbours put together until they take `LEAST` seconds; a rest joins the last."""
    packs: list[list[Purchase]] = []
    enough = True
    for some in neighbours:
        if enough:
            packs.append([])
        packs[-1] += some
        enough = sum(taken[one] for one in packs[-1]) >= LEAST
    if not enough and len(packs) > 1:
        last = packs.pop()
        packs[-1] += last
    return packs


def _side_by_side(
    ordered: Iterable[Purchase], taken: Mapping[Purchase, float]
) -> list[list[Purchase]]:
    """Each alone, but those together, where the first of them stands, that ask about every image:
    one stack trains them."""
    groups: list[list[Purchase]] = []
    whole: list[Purchase] | None = None
    for one in ordered:
        if one.limit or schemes.make(one.scheme).amount is not None:
            groups.append([one])
        elif whole and sum(taken[other] for other in [*whole, one]) <= _MOST:
            whole.append(one)
        else:
            groups.append(whole := [one])
    return groups


def seconds(purchase: Purchase, grid: Grid, data: StudyData) -> float:
    """About how long a purchase takes on one core, if its runs of a kind share a stack."""
    if grid.pictures is not None:  # backwards takes about twice as long as forwards
        images = data.truth("train").shape[0]
        return sum(
            3 * data.work[transform_of(grid.pictures, spec).size] / _FORWARDS
            * images * grid.training(spec).epochs
            for spec in purchase.methods
        )  # fmt: skip
    kinds = [kind_of(purchase.spelled(spec)) for spec in purchase.methods]
    asked = _asked(purchase, grid, data)
    return sum(
        _stack_seconds(kinds.count(kind), kind, asked, grid, data) for kind in dict.fromkeys(kinds)
    )


def _stack_seconds(runs: int, kind: str, images: int, grid: Grid, data: StudyData) -> float:
    """For so many heads that learn together from features of a kind."""
    classes = data.truth("train").shape[1]
    numbers = math.prod(data.features["train", kind].values.shape[1:])  # of one image
    epochs, held = grid.train.epochs, "test" if grid.validation == "none" else "val"
    scored = data.truth("test").shape[0]
    if grid.curves or grid.validation != "none":
        scored += epochs * data.truth(held).shape[0]
    steps = epochs * math.ceil(images / grid.train.batch_size)
    products = classes * numbers * (4 * epochs * images + 2 * scored)
    each = _STEP * steps + products / _RATE + _RANK * scored * classes
    return _STACK * steps + _READ * numbers * (epochs * images + scored) + runs * each


def _asked(purchase: Purchase, grid: Grid, data: StudyData) -> int:
    """About how many images: where the limit buys images, by what some of them cost; all, where it
    buys something else, such as labels for each class."""
    truth, scheme, limit = data.truth("train"), schemes.make(purchase.scheme), purchase.limit
    most = how_many(purchase.images, truth.shape[0])
    if not limit or scheme.amount is not None or grid.unasked == "absent":
        return most
    few = min(most, _PRICED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        people: dict[str, Any] = {"hierarchy": data.hierarchy, "habits": grid.habits}
        people |= {"boxes": data.data.boxes.get("train"), "seed": grid.seed}
        labels = simulate(truth, scheme, images=few, **people)
        bill = cost(labels, prices(grid.prices).once_set_up())
    share = (
        limit.dollars / bill.dollars if limit.dollars and bill.dollars
        else 3600 * limit.hours / bill.seconds if limit.hours and bill.seconds
        else most
    )  # fmt: skip
    return max(1, min(most, round(few * share)))
