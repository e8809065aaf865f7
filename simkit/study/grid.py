"""The grid of a comparison: its schemes, methods, budgets and settings, as TOML or in Python."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.simulate import how_many
from simkit.chance import Chance
from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.learn import methods
from simkit.learn.methods import Around, Method
from simkit.learn.optim import Settings
from simkit.learn.protocols import Protocol, protocol
from simkit.registry import Positive, Range, build, convert, setting, settle, split_sum
from simkit.study.limit import Limit
from simkit.study.toml import toml, toml_lines

DEMO = Path(__file__).with_name("demo.toml")
MOST = 10_000  # draws, or trainings of a sweep: more are a typing error and take minutes to plan
SPLITS = ("train", "val", "test")
COMPLETE = "full-subset"  # the scheme of complete labels
REFERENCE = "reference"  # stands for a scheme in the settings of references
ALL = "all"
Unasked = Literal["skip", "absent"]
Validation = Literal["none", "complete", "partial"]
_UNSET = Settings()  # compared by identity: `train` was not set
_EXAMPLE = {"schemes": '"single-positive", "fpc"', "methods": '"an", "ll-r"'}


@dataclass(frozen=True)
class Setting:
    """Settings of one method by name: `lr` is a setting of the training, all others of the method.

    Attributes
    ----------
    score
        mAP in [0, 1] on validation labels, on which a sweep chose these settings.
    runs
        Number of settings that the sweep tried for this method.
    edge
        Whether one of the numbers is the smallest or largest that was tried.
    """

    values: tuple[tuple[str, Any], ...]
    score: float | None = None
    runs: int = 0
    edge: bool = False

    @property
    def lr(self) -> float | None:
        """The learning rate; None for that of the training."""
        return dict(self.values).get("lr")

    @property
    def text(self) -> str:
        """As JSON."""
        return json.dumps(dict(self.values))

    def method(self, spec: str) -> str:
        """The complete name of the method with these settings. Raises BadInput."""
        method = methods.make(spec)
        for name, value in self.values:
            if name != "lr":
                method = _with_setting(method, spec, name, value)
        return methods.spell(method)


@dataclass(frozen=True)
class Tuning:
    """A sweep: settings of every method under every scheme, tried before methods are compared.

    They are tried at the middle budget in a separate draw, chosen on complete labels of the
    validation split, and used at all budgets. The cost of these labels is a separate line of the
    bill.

    A method without a space is tried with the learning rate times 0.1, 1 and 10 and, if it has
    one, with the alternative value of its most important setting. Raises BadInput.
    """

    runs: Annotated[int, Range(2, MOST)] = setting(4, "trainings for each method with a space")
    space: Mapping[str, Mapping[str, Sequence[Any]]] = setting(
        dict,
        'values to try by name of the setting, for methods as the grid lists them and for "all": '
        "lr of the training, or a field of the method (of the innermost that has it: delta of ll-r "
        "in ll-r+boostlu); `runs` points of the product of the values are sampled",
    )

    def __post_init__(self) -> None:
        settle(self, "tuning")
        _expect_table(self.space, "tuning.space")
        space = {spec: _values(table, f"tuning.space.{spec}") for spec, table in self.space.items()}
        object.__setattr__(self, "space", space)

    def check(self, specs: Sequence[str]) -> None:
        """Raise BadInput if a space is of another method, invalid or too small."""
        for spec in self.space:
            if spec not in (ALL, *specs):
                error = unknown("method of this grid", spec, [ALL, *specs])
                raise BadInput(f"tuning.space: {error}")
        for spec in specs:
            values = self.values(spec)
            try:
                for name, choices in values.items():
                    for value in choices:
                        Setting(((name, value),)).method(spec)
            except BadInput as error:
                raise BadInput(f"tuning.space: {error}") from None
            count = math.prod(map(len, values.values()))
            if values and count < self.runs:
                fewer = f", or set runs to {count} at most" if count > 1 else ""
                raise BadInput(
                    f"tuning.runs is {self.runs}, but {spec!r} has only {count} to try; add values "
                    f"or settings to [tuning.space.{ALL}] or [tuning.space.{toml(spec)}]{fewer}"
                )
            _expect(count < 2**31, f"the space of {spec!r}", count, "fewer than 2**31 settings")

    def values(self, spec: str) -> dict[str, Sequence[Any]]:
        """The values to try for a method, by name of the setting."""
        return {**self.space.get(ALL, {}), **self.space.get(spec, {})}

    def settings(self, spec: str, *, lr: float, seed: int) -> list[Setting]:
        """The settings to try for a method; they depend only on its space and the seed."""
        values = self.values(spec)
        if not values:
            points = [(("lr", float(f"{factor * lr:.6g}")),) for factor in (0.1, 1.0, 10.0)]
            return [Setting(p) for p in [*points, *_alternative(spec, lr)]]
        shape = [len(choices) for choices in values.values()]
        order = Chance.seeded(seed).of("tuning", spec).permutation(math.prod(shape))
        sampled = np.sort(order.at(np.arange(self.runs)))
        return [
            Setting(tuple((name, values[name][at]) for name, at in zip(values, point, strict=True)))
            for point in zip(*np.unravel_index(sampled, shape), strict=True)
        ]


def at_edge(setting: Setting, tried: Sequence[Setting]) -> bool:
    """Whether a number of the setting is the smallest or largest of three or more values."""
    for name, value in setting.values:
        values: set[Any] = {dict(other.values).get(name) for other in tried} - {None}
        numeric = len(values) > 2 and all(type(other) in (int, float) for other in values)
        if numeric and value in (min(values), max(values)):
            return True
    return False


@dataclass(frozen=True)
class Pictures:
    """Training of the whole backbone from images, with every method.

    Backbone and weights are those of the grid, not of the protocol, so that all methods start from
    the same ones. Features serve only to find neighbours (SE). Results repeat bit for bit on the
    CPU; on a GPU the last bits differ from run to run. Raises BadInput that names the field.
    """

    size: Annotated[int, Range(32)] | None = setting(
        None, "side of the images in pixels; by default the protocol's, or the backbone's own"
    )
    flip: bool | None = setting(None, "mirror half of the images")
    vertical: bool | None = setting(None, "turn half of the images upside down")
    crop: tuple[float, float] | None = setting(None, "smallest and largest share of the area")
    protocol: str = setting("", "the paper whose protocol is used; by default [train] holds")
    protocols: Mapping[str, str] = setting(dict, "protocols of single methods of the grid")
    changed: Mapping[str, Any] = setting(dict, "settings that replace those of every protocol")

    def __post_init__(self) -> None:
        settle(self, "pictures")
        if self.crop is not None and not (
            len(self.crop) == 2 and 0 < self.crop[0] <= self.crop[1] <= 1
        ):
            raise BadInput(
                f"pictures: crop is {list(self.crop)}; the smallest and the largest share of the "
                "area are expected, such as [0.25, 1]"
            )
        for name in ("protocols", "changed"):
            _expect_table(getattr(self, name), f"pictures.{name}")
        named = {f"protocols.{spec}": name for spec, name in self.protocols.items()}
        named |= {"protocol": self.protocol} if self.protocol else {}
        if self.changed and not named:
            raise BadInput(
                "pictures.changed is set and changes settings of protocols, but no protocol is "
                "named; put the settings into [train], or name a protocol"
            )
        for where, name in named.items():
            try:
                protocol(name).changed(self.changed)
            except (BadInput, TypeError) as error:
                raise BadInput(f"pictures.{where}: {error}") from None

    def check(self, specs: Sequence[str], train: Settings, validation: str) -> None:
        """Raise BadInput if this does not fit the methods and other fields of the grid."""
        made = {methods.make(spec) for spec in specs}
        for spec in self.protocols:
            try:
                listed = methods.make(spec) in made
            except BadInput:
                error = unknown("method of this grid", spec, specs)
                raise BadInput(f"pictures.protocols: {error}") from None
            if not listed:
                raise BadInput(
                    f"pictures.protocols names {spec!r}, which is not among the methods; leave it "
                    "out, or add it to methods"
                )
        if self.protocol and train != Settings():
            raise BadInput(
                "train is set, but pictures.protocol has the settings of all methods; put those "
                "that shall differ from the protocol into [pictures.changed]"
            )
        for spec in specs:
            if validation == "none" and self.settings(spec, train).select == "best":
                raise BadInput(
                    f"the protocol of {spec!r} chooses the epoch on validation labels, but "
                    "validation is none; set validation to complete or partial, or select in "
                    "[pictures.changed] to last"
                )

    def settings(self, spec: str, train: Settings) -> Settings:
        """Training settings of a method: those of its protocol, or `train` if it has none."""
        chosen = self.protocol_of(spec)
        return chosen.changed(self.changed) if chosen else train

    def protocol_of(self, spec: str) -> Protocol | None:
        """The protocol of a method, if any."""
        made = methods.make(spec)
        named = [name for other, name in self.protocols.items() if methods.make(other) == made]
        name = named[0] if named else self.protocol
        return protocol(name) if name else None


@dataclass(frozen=True)
class Grid:
    """Every scheme with every method, at every budget, over several draws.

    `simkit list grid` shows the meaning of every field.

    Raises BadInput that names the field.
    """

    schemes: tuple[str, ...] = setting(..., 'from `simkit list schemes`: "fpc(search=random)"')
    methods: tuple[str, ...] = setting(..., 'from `simkit list methods`: "ll-r(delta=0.2)+boostlu"')
    data: str = setting("scenes", "data set, as in `--data`; methods are scored on its test split")
    backbone: str = setting("scenes-net", "frozen network that computes the features")
    weights: str = setting("", "its file, if the name alone does not determine it")
    features: Mapping[str, str] = setting(
        dict,
        "precomputed features instead: for each split (train, val, test) an npz file with an array "
        "`features`, a row for each image, or a folder that `simkit features` wrote",
    )
    budgets: tuple[Positive, ...] = setting((), "dollars for all annotation")
    hours: tuple[Positive, ...] = setting(
        (), "hours for all annotation; without hours and budgets schemes keep their amounts"
    )
    prices: str = setting("coco-tagging", "a preset or a TOML file")
    draws: Annotated[int, Range(1, MOST)] = setting(5, "draws, each with other labels and weights")
    seed: Annotated[int, Range(-(2**63), 2**63 - 1)] = setting(0, "seed of all draws")
    images: float | int = setting(
        1.0,
        "share of the images that may be asked about (1.0 is all), or their number (1 is one); "
        "schemes without an amount spend a budget on as many of these as it pays for",
    )
    unasked: Unasked = setting(
        "skip", "images without any question: skip them, or train on them with all labels unknown"
    )
    validation: Validation = setting(
        "none",
        "labels of the validation split that choose the epoch, charged to the budget: complete, or "
        "partial by the scheme itself; none: the last epoch is scored",
    )
    reference: bool = setting(True, "also train on complete labels of all images, at their cost")
    curves: bool = setting(False, "score every epoch on val, or without one on test")
    memory: Positive = setting(2.0, "largest memory of runs trained together, in GB")
    pictures: Pictures | None = setting(None, "train whole backbones from images")
    habits: Habits = setting(Habits(), "annotation errors; none by default")
    train: Settings = setting(_UNSET, "settings of the training")
    fair: bool = setting(False, "try settings of every method first, compare the best")
    tuning: Tuning | None = setting(None, "settings to try; references are tuned as well")
    settings: Mapping[str, Mapping[str, Mapping[str, Any]]] = setting(
        dict, "settings chosen before, by scheme and method: [settings.fpc.an], or a TOML file"
    )

    def __post_init__(self) -> None:
        for name in ("budgets", "hours"):
            if isinstance(value := getattr(self, name), int | float):
                object.__setattr__(self, name, (value,))
        settle(self)
        _check_listed(self.schemes, "schemes", schemes.make)
        _check_listed(self.methods, "methods", methods.make)
        for name in ("budgets", "hours"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise BadInput(f"{name} is {list(values)!r}, which names one twice; leave one out")
            object.__setattr__(self, name, tuple(sorted(values)))
        if self.train is _UNSET:
            select: Any = "best" if _chooses(self.validation, self.pictures) else "last"
            object.__setattr__(self, "train", Settings(select=select))
        if self.fair and self.tuning is None:
            object.__setattr__(self, "tuning", Tuning())
        for name, kind in _TABLES.items():
            value = getattr(self, name)
            fine = isinstance(value, kind) or (value is None and name in ("tuning", "pictures"))
            _expect(fine, name, value, f"{kind.__name__}(...)")
        object.__setattr__(self, "features", _files(self.features))
        how_many(self.images, sys.maxsize)  # the number of images is not known yet
        if isinstance(self.settings, str | os.PathLike):
            chosen = _toml_file(readable(self.settings, "settings (TOML)"), "compare again")
            object.__setattr__(self, "settings", chosen)
        self._check_together()

    def _check_together(self) -> None:
        if self.validation == "none" and self.train.select == "best":
            raise BadInput(
                "train.select is 'best', which needs validation labels; set validation to complete "
                "or partial"
            )
        if self.tuning is not None:
            self.tuning.check(self.trained)
        if self.pictures is not None:
            self.pictures.check(self.trained, self.train, self.validation)
        _check_chosen(self)
        selections = {self.training(spec).select for spec in self.methods}
        if self.validation != "none" and selections == {"last"}:
            by_protocol = self.pictures is not None and self.pictures.protocol
            field = "select in [pictures.changed]" if by_protocol else "train.select"
            raise BadInput(
                f"validation is {self.validation!r}, but its labels would be paid for and not "
                f"used, as {field} is 'last'; set {field} to best, or validation to none"
            )

    def training(self, spec: str) -> Settings:
        """Training settings of a method."""
        return self.pictures.settings(spec, self.train) if self.pictures else self.train

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Budgets and hours; one empty limit if amounts are as written."""
        dollars = [Limit(dollars=value) for value in self.budgets]
        return (*dollars, *(Limit(hours=value) for value in self.hours)) or (Limit(),)

    @property
    def references(self) -> tuple[str, ...]:
        """The methods that are trained on complete labels; empty without `reference`."""
        return on_complete_labels(self.methods) if self.reference else ()

    @property
    def trained(self) -> tuple[str, ...]:
        """The methods, and those of the references."""
        return tuple(dict.fromkeys([*self.methods, *self.references]))

    @staticmethod
    def load(path: str | os.PathLike[str], *, seed: int | None = None) -> Grid:
        """Read a TOML file; `seed`, unless None, replaces the seed of the file.

        Raises BadInput that names file and field.
        """
        file = readable(path, "a grid (TOML)")
        values = _toml_file(file, f"see the shipped {DEMO}")
        if isinstance(values.get("settings"), str):
            values["settings"] = file.parent / values["settings"]
        try:
            return Grid.of(values if seed is None else {**values, "seed": seed})
        except BadInput as error:
            raise BadInput(f"{file}: {error}") from None

    @staticmethod
    def of(values: Mapping[str, Any]) -> Grid:
        """A grid from plain values, as in a TOML file. Raises BadInput that names the field."""
        fields = [f.name for f in dataclasses.fields(Grid)]
        for name in values:
            if name in (f.name for f in dataclasses.fields(Settings)):
                raise BadInput(f"{name} is a setting of the training; write it below [train]")
            if name not in fields:
                raise unknown("field of a grid", name, fields)
        for name in ("schemes", "methods"):
            if name not in values:
                raise BadInput(
                    f"{name} is missing; list at least one, such as {name} = [{_EXAMPLE[name]}]"
                )
        arguments = dict(values)
        for name in ("habits", "tuning", "pictures"):
            if values.get(name) is not None:
                arguments[name] = _table(_TABLES[name], values[name], name)
        if isinstance(values.get("train"), Mapping):
            chooses = _chooses(values.get("validation", "none"), arguments.get("pictures"))
            arguments["train"] = {**({"select": "best"} if chooses else {}), **values["train"]}
        if arguments.get("train") is not None:
            arguments["train"] = _table(Settings, arguments["train"], "train")
        return Grid(**arguments)

    def to_toml(self) -> str:
        """The grid with every field; `Grid.load` reads an equal one."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in ("train", "tuning", "pictures"):
            values[name] = values[name] and dataclasses.asdict(values[name])
        return "\n".join(toml_lines(values | {"habits": self.habits.to_json()})) + "\n"


_TABLES = {"train": Settings, "habits": Habits, "tuning": Tuning, "pictures": Pictures}


def demo_grid(*, seed: int | None = None) -> Grid:
    """The grid that ships with simkit; it needs no data and takes minutes on two cores."""
    return Grid.load(DEMO, seed=seed)


def on_complete_labels(specs: Sequence[str]) -> tuple[str, ...]:
    """The methods that are trained on complete labels: `full`, `around_full` of each method, and
    the methods themselves, as some score higher or lower than `full` on the same labels."""
    return tuple(dict.fromkeys(["full", *map(around_full, specs), *specs]))


def around_full(spec: str) -> str:
    """`full` with those wrappers of a method that change the outputs of the model, such as
    `full+boostlu` for `an+boostlu`; `full` alone if there are none."""
    method, wrappers = methods.make(spec), []
    _, *wrapper_specs = split_sum(spec)
    for wrapper in reversed(wrapper_specs):
        if isinstance(method, Around):
            if type(method).changed is not Around.changed:
                wrappers.append(wrapper.strip())
            method = method.inner
    return "+".join(["full", *reversed(wrappers)])


def _toml_file(path: Path, mend: str) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not a TOML file ({error}); {mend}") from None


def _chooses(validation: str, pictures: Pictures | None) -> bool:
    """Whether validation labels choose the epoch by default: a protocol decides itself."""
    return validation != "none" and not (pictures and pictures.protocol)


def _check_chosen(grid: Grid) -> None:
    """Raise BadInput for invalid settings, and for schemes or methods that the grid lacks."""
    _expect_table(grid.settings, "settings")
    for scheme, table in grid.settings.items():
        if scheme not in (*grid.schemes, REFERENCE):
            raise BadInput(f"settings: {unknown('scheme of this grid', scheme, grid.schemes)}")
        _expect_table(table, f"settings.{scheme}")
        for spec, values in table.items():
            where = f"settings.{scheme}.{spec}"
            _expect_table(values, where)
            if spec not in grid.trained:
                error = unknown("method of this grid", spec, grid.trained)
                raise BadInput(f"settings.{scheme}: {error}")
            try:
                Setting(tuple(values.items())).method(spec)
            except BadInput as error:
                raise BadInput(f"{where}: {error}") from None
            if "lr" in values:
                _expect(convert(values["lr"], float, f"{where}.lr") > 0, f"{where}.lr",
                        values["lr"], "a number above 0")  # fmt: skip
    if grid.settings and grid.tuning is not None:
        raise BadInput("settings are set, but tuning would choose new ones; leave out one of both")


def _check_listed(specs: tuple[str, ...], name: str, make: Callable[[str], Any]) -> None:
    """Raise BadInput unless `make` accepts each specification, and no two are the same."""
    if not specs:
        raise BadInput(f"{name} is empty; list at least one, such as [{_EXAMPLE[name]}]")
    parts: dict[Any, str] = {}
    for spec in specs:
        try:
            part = make(spec)
        except BadInput as error:
            raise BadInput(f"{name}: {error}") from None
        if part in parts:
            raise BadInput(
                f"{name} lists {spec!r} and {parts[part]!r}, which are the same; leave one out"
            )
        parts[part] = spec


def _files(values: Any) -> dict[str, str]:
    """The file or folder of features of each split."""
    _expect_table(values, "features")
    for split, file in values.items():
        if split not in SPLITS:
            raise BadInput(f"features: {unknown('split', split, SPLITS)}")
        fine = isinstance(file, str | os.PathLike)
        _expect(fine, f"features.{split}", file, "the path of a file or folder")
    if values and "train" not in values:
        raise BadInput(f"features names only files for {', '.join(values)}; add one for train")
    return {split: os.fspath(file) for split, file in values.items()}


def _table(kind: type, values: Any, name: str) -> Any:
    """A table of settings as a dataclass of this kind."""
    _expect_table(values, name)
    return build(kind, values, name)


def _values(table: Any, where: str) -> dict[str, tuple[Any, ...]]:
    """The values to try for each setting of a space."""
    _expect_table(table, where)
    space: dict[str, tuple[Any, ...]] = {}
    for name, values in table.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise BadInput(f"{where}.{name} is {values!r}; a list of values to try is expected")
        if name == "lr":
            values = [convert(value, float, f"{where}.lr") for value in values]
            for value in values:
                _expect(value > 0, f"{where}.lr", value, "a number above 0")
        choices = tuple(_value(value, f"{where}.{name}") for value in values)
        if len(set(choices)) < len(choices):
            raise BadInput(
                f"{where}.{name} is {list(values)!r}, which names one twice; leave one out"
            )
        space[name] = choices
    return space


def _value(value: Any, where: str) -> Any:
    """A value to try in plain Python types, which can be compared and written to files."""
    if isinstance(value, list | tuple):
        return tuple(_value(element, where) for element in value)
    value = value.item() if isinstance(value, np.generic) else value
    fine = isinstance(value, bool | int | float | str)
    _expect(fine, where, value, "a list of numbers, strings or booleans")
    return value


def _alternative(spec: str, lr: float) -> list[tuple[tuple[str, Any], ...]]:
    """The alternative setting of a method as a point of a sweep, if it has one.

    The alternative of a wrapper is tried only if the method that it wraps has none.
    """
    outermost: Any = methods.make(spec)
    chain = [outermost]
    while isinstance(chain[-1], Around):
        chain.append(chain[-1].inner)
    for method in reversed(chain):
        for name, value in method.alternative.items():
            return [(("lr", float(f"{lr:.6g}")), (name, value))]
    return []


def _with_setting(method: Method, spec: str, name: str, value: Any) -> Method:
    """The method with one setting changed, that of the innermost part that has it."""
    changed = _changed(method, name, value)
    if changed is not None:
        return changed
    if name in {each.name for each in dataclasses.fields(Settings)}:
        raise BadInput(f"{name!r} is a setting of [train], of which only lr can be tried")
    raise unknown(f"setting of method {spec!r}", name, ["lr", *_names(method)])


def _changed(method: Method, name: str, value: Any) -> Method | None:
    if isinstance(method, Around):
        inner = _changed(method.inner, name, value)
        if inner is not None:
            return dataclasses.replace(method, inner=inner)
    values = {each.name: getattr(method, each.name) for each in dataclasses.fields(method)}
    if name == "inner" or name not in values:
        return None
    return build(type(method), {**values, name: value}, "method")


def _names(method: Method) -> list[str]:
    inner = _names(method.inner) if isinstance(method, Around) else []
    return inner + [each.name for each in dataclasses.fields(method) if each.name != "inner"]


def _expect(holds: bool, name: str, value: Any, wanted: str) -> None:
    """Raise BadInput that names the field, unless the condition `holds`."""
    if not holds:
        raise BadInput(f"{name} is {value!r}; {wanted} is expected")


def _expect_table(value: Any, name: str) -> None:
    _expect(isinstance(value, Mapping), name, value, f"a table such as [{name}]")
