"""A grid: what a comparison compares. From keywords or from a TOML file."""

from __future__ import annotations

import dataclasses
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.annotate.simulate import how_many
from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.learn import methods
from simkit.learn.steps.optim import Settings
from simkit.registry import convert
from simkit.study.bundles.bundle import on_complete_labels
from simkit.study.grids.fields import (
    EXAMPLE,
    MOST,
    check_made,
    expect,
    files,
    limits,
    part,
    plain,
    texts,
    whole,
)
from simkit.study.grids.pictures import Pictures
from simkit.study.grids.toml import text_of
from simkit.study.grids.tuning import Tuning

Validation = Literal["none", "complete", "partial"]
DEMO = Path(__file__).with_name("demo.toml")
_UNSAID = Settings()  # known by its identity: nobody set anything of the training


@dataclass(frozen=True)
class Grid:
    """Every scheme with every method, at every budget, over several draws.

    schemes, methods  as `simkit list` names them, with or without settings: "fpc(search=random)".
    data        the data set, as `--data` takes it; its test split is what scores are about.
    backbone    the network, frozen, whose features are trained on; weights: its file, where the
                name alone does not say.
    features    or features from elsewhere: for each split (train, val, test) an npz file with an
                array `features`, a row for each image, or a folder that `simkit features` wrote.
    budgets     dollars for all annotation;  hours: of people's time for it. Where neither is given,
                the schemes' amounts are taken as written.
    prices      a preset or a TOML file.
    draws       how often all is done, with other labels, batches and starting weights each time.
    seed        of all draws.
    images      which share of the images may be asked about (a float: 1.0 is all), or how many (a
                whole number: 1 is one). Schemes without an amount of their own spend a budget on
                as many of these images as it pays for.
    validation  none: the last epoch is scored. complete: the validation split is labelled
                completely; partial: it is labelled by the scheme itself. Both are charged to the
                budget, and they choose the epoch (train.select is "best" then, unless it is set).
    reference   for each draw, all labels of all images trained with `full` and with every method,
                at their own cost; with `full+boostlu` too where boostlu is among the methods.
    curves      score after every epoch: the validation split, or without one the test split, by
                which nothing is chosen.
    memory      GB that runs trained together may take; what does not fit is trained afterwards.
    pictures    where it is there, the backbone itself is trained, from pictures, with every method.
    habits      how people err; the default never does.
    train       settings of the training.
    tuning      a sweep, in a draw of its own, that chooses the settings of every method by the
                validation labels; the references are tuned as well.

    Raises BadInput that names the field.
    """

    schemes: tuple[str, ...]
    methods: tuple[str, ...]
    data: str = "scenes"
    backbone: str = "scenes-net"
    weights: str = ""
    features: Mapping[str, str] = field(default_factory=dict)
    budgets: tuple[float, ...] = ()
    hours: tuple[float, ...] = ()
    prices: str = "coco-tagging"
    draws: int = 5
    seed: int = 0
    images: float | int = 1.0
    validation: Validation = "none"
    reference: bool = True
    curves: bool = False
    memory: float = 2.0
    pictures: Pictures | None = None
    habits: Habits = Habits()
    train: Settings = _UNSAID
    tuning: Tuning | None = None

    def __post_init__(self) -> None:
        for name, make in (("schemes", schemes.make), ("methods", methods.make)):
            object.__setattr__(self, name, texts(getattr(self, name), name))
            check_made(getattr(self, name), name, make)
        for name, unit in (("budgets", "dollars"), ("hours", "hours")):
            object.__setattr__(self, name, limits(getattr(self, name), name, unit))
        for name in ("data", "backbone", "weights", "prices"):
            expect(isinstance(getattr(self, name), str), name, getattr(self, name), "text")
        for name in ("draws", "seed", "images"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        fine = whole(self.draws) and 1 <= self.draws <= MOST
        expect(fine, "draws", self.draws, f"a whole number from 1 to {MOST:,}")
        fine = whole(self.seed) and -(2**63) <= self.seed < 2**63
        expect(fine, "seed", self.seed, "a whole number from -2**63 to 2**63 - 1")
        for name in ("reference", "curves"):
            value = getattr(self, name)
            expect(isinstance(value, bool), name, value, "true or false")
        object.__setattr__(self, "memory", convert(self.memory, float, "memory"))
        expect(self.memory > 0, "memory", self.memory, "gigabytes above 0")
        choices = get_args(Validation)
        fine = self.validation in choices
        expect(fine, "validation", self.validation, f"one of {', '.join(choices)}")
        for name, kind in _TABLES.items():
            given = getattr(self, name)
            fine = isinstance(given, kind) or (given is None and name in ("tuning", "pictures"))
            expect(fine, name, given, f"{kind.__name__}(...)")
        object.__setattr__(self, "features", files(self.features, "features"))
        if self.train is _UNSAID and _chooses(self.validation, self.pictures):
            object.__setattr__(self, "train", Settings(select="best"))
        how_many(self.images, sys.maxsize)  # how many there are is not known yet
        self._check_together()

    def _check_together(self) -> None:
        """Raise BadInput for fields that do not go with each other."""
        if self.validation == "none" and self.train.select == "best":
            raise BadInput(
                "train.select is 'best', which needs labels to choose by; set validation to "
                "complete or partial"
            )
        if self.tuning is not None:
            if self.validation == "none":
                raise BadInput(
                    "tuning needs labels to choose by; set validation to complete or partial"
                )
            self.tuning.check(self.trained)
        if self.pictures is not None:
            self.pictures.check(self.trained, self.train, self.validation)
        if self.validation != "none" and self.tuning is None:
            self._check_choosing()

    def _check_choosing(self) -> None:
        """Raise BadInput where validation labels would be paid for and nothing goes by them."""
        own = self.pictures
        ways = [own.settings(spec, self.train) if own else self.train for spec in self.methods]
        if all(one.select == "last" for one in ways):
            where = "select in [pictures.changed]" if own and own.protocol else "train.select"
            raise BadInput(
                f"validation is {self.validation!r}, which is paid for, and nothing goes by its "
                f"labels where {where} is 'last' and there is no tuning; set {where} to best, or "
                "validation to none"
            )

    @property
    def trained(self) -> tuple[str, ...]:
        """The methods, and those that references are trained with."""
        more = on_complete_labels(self.methods) if self.reference else ()
        return tuple(dict.fromkeys([*self.methods, *more]))

    @staticmethod
    def load(path: str | PathLike[str], *, seed: int | None = None) -> Grid:
        """From a TOML file; `seed`, where given, takes the place of the file's.

        Raises BadInput that names file and field.
        """
        found = readable(path, "a grid (TOML)")
        try:
            values = tomllib.loads(found.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadInput(
                f"{found} is not a TOML file ({error}); see the shipped {DEMO}"
            ) from None
        try:
            return Grid.of(values if seed is None else {**values, "seed": seed})
        except BadInput as error:
            raise BadInput(f"{found}: {error}") from None

    @staticmethod
    def of(values: Mapping[str, Any]) -> Grid:
        """From plain values such as a TOML file holds. Raises BadInput that names the field."""
        known = [f.name for f in dataclasses.fields(Grid)]
        for name in values:
            if name not in known:
                raise unknown("field of a grid", name, known)
        for name in ("schemes", "methods"):
            if name not in values:
                raise BadInput(
                    f"{name} is missing; list at least one, such as {name} = [{EXAMPLE[name]}]"
                )
        given = dict(values)
        for name in ("habits", "tuning", "pictures"):
            if values.get(name) is not None:
                given[name] = part(_TABLES[name], values[name], name)
        if isinstance(values.get("train"), Mapping):
            chooses = _chooses(values.get("validation", "none"), given.get("pictures"))
            more = {"select": "best"} if chooses else {}
            given["train"] = {**more, **values["train"]}
        if "train" in given:
            given["train"] = part(Settings, given["train"], "train")
        return Grid(**given)

    def to_toml(self) -> str:
        """The grid with every field resolved; `Grid.load` gives an equal one back."""
        plain: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        tables = {"train": dataclasses.asdict(self.train), "habits": self.habits.to_json()}
        if self.features:
            tables["features"] = dict(self.features)
        if self.tuning is not None:
            tables |= self.tuning.tables()
        if self.pictures is not None:
            tables |= self.pictures.tables()
        lines = [
            f"{name} = {text_of(value)}"
            for name, value in plain.items()
            if name not in ("train", "habits", "features", "tuning", "pictures")
        ]
        for name, table in tables.items():
            lines += ["", f"[{name}]"]
            # TOML has no word for nothing: what is None is left out, and None again when read.
            lines += [
                f"{key} = {text_of(value)}" for key, value in table.items() if value is not None
            ]
        return "\n".join(lines) + "\n"


_TABLES = {"train": Settings, "habits": Habits, "tuning": Tuning, "pictures": Pictures}


def _chooses(validation: str, pictures: Pictures | None) -> bool:
    """Whether validation labels choose the epoch unless somebody says otherwise; a protocol for
    all methods says it for them."""
    return validation != "none" and not (pictures and pictures.protocol)


def demo(*, seed: int | None = None) -> Grid:
    """The grid that ships with simkit: it needs no data and takes minutes on two cores."""
    return Grid.load(DEMO, seed=seed)
