"""The grid of a comparison: its schemes, methods, budgets and settings, as TOML or in Python."""

from __future__ import annotations

import dataclasses
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from html import escape
from itertools import compress
from pathlib import Path
from typing import Annotated, Any, Literal

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.simulate import how_many
from simkit.data.dataset import near as near_data
from simkit.embed.feature_files import of_splits
from simkit.errors import BadInput, located, noting, unknown
from simkit.files import beside, reading, toml_lines
from simkit.learn import methods
from simkit.learn.method import layers
from simkit.learn.methods import Wrapper
from simkit.learn.optim import Settings
from simkit.learn.protocols import Protocol, protocol
from simkit.registry import (
    Positive,
    Range,
    Share,
    as_table,
    build,
    expect,
    setting,
    settle,
    split_sum,
)
from simkit.results.cells import FULL, NETWORK, REFERENCE, Budget
from simkit.study.sources import SCENES_NET
from simkit.study.tuning import MOST, Setting, Tuning

DEMO = Path(__file__).with_name("demo.toml")
SPLITS = ("train", "val", "test")
COMPLETE = FullSubset.name  # the scheme of complete labels
Unasked = Literal["skip", "absent"]
Validation = Literal["none", "complete", "partial"]
_EXAMPLE = {"schemes": '"single-positive", "fpc"', "methods": '"an", "ll-r"'}


@dataclass(frozen=True)
class Pictures:
    """Training of the whole backbone from images, with every method.

    Backbone and weights are those of the grid, not of the protocol, so that all methods start from
    the same ones. Features serve only to find neighbours (SE). Results repeat bit for bit on the
    CPU; on a GPU the last bits differ from run to run. Raises BadInput that names the field.
    """

    size: Annotated[int, Range(32)] | None = setting(None, "side of the images in pixels")
    flip: bool | None = setting(None, "mirror half of the images")
    vertical: bool | None = setting(None, "turn half of the images upside down")
    crop: tuple[float, float] | None = setting(None, "smallest and largest share of the area")
    protocol: str = setting("", "the paper whose protocol is used; by default [train] holds")
    protocols: Mapping[str, str] = setting(dict, "protocols of single methods of the grid")
    changed: Mapping[str, Any] = setting(dict, "settings that replace those of every protocol")

    def __post_init__(self) -> None:
        settle(self, "pictures")
        crop = self.crop or (1, 1)
        fine = len(crop) == 2 and 0 < crop[0] <= crop[1] <= 1
        wanted = "the smallest and the largest share of the area, such as [0.25, 1],"
        expect(fine, "pictures: crop", list(crop), wanted)
        as_table(self.changed, "pictures.changed")
        protocols = as_table(self.protocols, "pictures.protocols")
        named = {f"protocols.{spec}": name for spec, name in protocols.items()}
        named |= {"protocol": self.protocol} if self.protocol else {}
        if self.changed and not named:
            raise BadInput("pictures.changed needs a protocol; put these settings into [train]")
        for where, name in named.items():
            with located(f"pictures.{where}"):
                protocol(name).changed(self.changed)

    def check(self, specs: Sequence[str], train: Settings) -> None:
        """Raise BadInput if this does not fit the methods and other fields of the grid."""
        with located("pictures.protocols"):
            for spec in self.protocols:
                if methods.make(spec) not in map(methods.make, specs):
                    raise unknown("method of this grid", spec, specs)
        if self.protocol and train != Settings():
            raise BadInput("pictures.protocol replaces train; change it in [pictures.changed]")

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

    schemes: Sequence[str] = setting(..., 'from `simkit list schemes`: "fpc(search=random)"')
    methods: Sequence[str] = setting(..., 'from `simkit list methods`: "ll-r(delta=0.2)+boostlu"')
    data: str = setting("scenes", "data set, as in `--data`; methods are scored on its test split")
    backbone: str = setting(SCENES_NET, "frozen network that computes the features")
    weights: str = setting("", "its file, if the name alone does not determine it")
    features: Mapping[str, str] = setting(
        dict,
        "instead, for each split an npz file with `features`, or a folder of `simkit features`; or "
        "one folder with all splits",
    )
    scores: str = setting("", "file of `simkit score`, or a table of scores for schemes alone")
    budgets: Sequence[Positive] = setting((), "dollars for all annotation")
    hours: Sequence[Positive] = setting((), "or hours; without both, schemes keep their amounts")
    prices: str = setting("hourly", "a preset or a TOML file")
    draws: Annotated[int, Range(1, MOST)] = setting(5, "draws, each with other labels and weights")
    seed: Annotated[int, Range(-(2**63), 2**63 - 1)] = setting(0, "seed of all draws")
    images: float | int = setting(
        1.0, "share of the images that may be asked about (1.0 is all), or their number (1 is one)"
    )
    unasked: Unasked = setting("skip", "images without any question: skip, or train on them too")
    validation: Validation = setting(
        "none", "paid validation labels that choose the epoch: complete, or partial by the scheme"
    )
    reference: bool = setting(True, "also train on complete labels of all images, at their cost")
    curves: bool = setting(False, "score every epoch on val, or without one on test")
    memory: Positive = setting(2.0, "largest memory of runs trained together, in GB")
    device: Literal["auto", "cpu", "cuda"] = setting(
        "auto",
        "where heads are trained: auto is a GPU of this machine, if it has one and a core would "
        "need more than ten minutes; whole backbones use any GPU",
    )
    pictures: Pictures | None = setting(None, "train whole backbones from images")
    habits: Habits = setting(Habits(), "annotation errors; none by default")
    errors: Sequence[Sequence[Share]] = setting(
        (),
        "levels of errors such as [[0.03, 0.002], [0.06, 0.004]]: shares of present labels missed "
        "and of absent ones reported in addition to those of the data; the references are trained "
        "at each level as well, so that a plan can judge several answers per question",
    )
    train: Settings = setting(dict, "settings of the training")
    fair: bool = setting(False, "try settings of every method first, compare the best")
    tuning: Tuning | None = setting(None, "settings to try; references are tuned as well")
    settings: Mapping[str, Mapping[str, Mapping[str, Any]]] = setting(
        dict, "settings chosen before, by scheme and method: [settings.fpc.an], or a TOML file"
    )

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        for name in ("budgets", "hours"):
            if isinstance(value := getattr(self, name), int | float):
                put(name, (value,))
        if isinstance(self.features, str | os.PathLike):
            put("features", _features(Path(self.features)))
        settle(self)
        for name, make in (("schemes", schemes.make), ("methods", methods.make)):
            parts: dict[Any, str] = {}
            for spec in getattr(self, name):
                with located(name):
                    other = parts.setdefault(make(spec), spec)  # type: ignore[operator]
                if other is not spec:
                    text = f"{name} lists {spec!r} and {other!r}, which are equal; leave one out"
                    raise BadInput(text)
            if not parts:
                raise BadInput(f"{name} is empty; list at least one, such as [{_EXAMPLE[name]}]")
        for name in ("budgets", "hours"):
            put(name, tuple(sorted(set(getattr(self, name)))))
        if self.fair and self.tuning is None:
            put("tuning", Tuning())
        for name, kind in _TABLES.items():
            value = getattr(self, name)
            if name == "train" and isinstance(value, Mapping):
                # Validation labels choose the epoch unless a protocol decides.
                by_protocol = self.pictures and self.pictures.protocol
                chooses = self.validation != "none" and not by_protocol
                value = {"select": "best" if chooses else "last", **value}
            if not isinstance(value, kind) and (value is not None or name in ("habits", "train")):
                check_keys(as_table(value, name), name)
                put(name, build(kind, value, name))
        for split, path in as_table(self.features, "features", "split", SPLITS).items():
            fine = isinstance(path, str | os.PathLike)
            expect(fine, f"features.{split}", path, "the path of a file or folder")
        put("features", {split: os.fspath(path) for split, path in self.features.items()})
        if self.features and not self.pictures and self.backbone == SCENES_NET:
            put("backbone", "")  # no network computes features
        how_many(self.images, sys.maxsize)  # the number of images is not known yet
        if isinstance(self.settings, str | os.PathLike):
            with reading(self.settings, "settings (TOML)", "compare again") as file:
                put("settings", tomllib.loads(file.read_text(encoding="utf-8")))
        self._check_together()

    def _check_together(self) -> None:
        """Raise BadInput for fields that do not fit each other."""
        if self.tuning is not None:
            self.tuning.check(self.trained)
        if self.pictures is not None:
            self.pictures.check(self.trained, self.train)
        known = [*self.schemes, REFERENCE]
        for scheme, table in as_table(
            self.settings, "settings", "scheme of this grid", known
        ).items():
            trained = self.trained if scheme == REFERENCE else self.methods
            table = as_table(table, f"settings.{scheme}", "method of this grid", trained)
            for spec, values in table.items():
                where = f"settings.{scheme}.{spec}"
                with located(where):
                    Setting(tuple(as_table(values, where).items())).method(spec)
        by_protocol = self.train.select == "last" and self.pictures is not None
        field = "select in [pictures.changed]" if by_protocol else "train.select"
        for spec in self.trained:
            if self.validation == "none" and self.training(spec).select == "best":
                raise BadInput(
                    f"{field} is 'best' (by protocol for {spec!r}), which needs validation labels; "
                    "set it to last, or validation to complete or partial"
                )
        selections = {self.training(spec).select for spec in self.methods}
        if self.validation != "none" and selections == {"last"}:
            raise BadInput(
                f"validation is {self.validation!r}, but its labels would be paid for and not "
                f"used, as {field} is 'last'; set {field} to best, or validation to none"
            )
        for level in self.errors:
            expect(len(level) == 2 and 0 < sum(level) < 1, "errors", list(level),
                    "a pair such as [0.03, 0.002] (missed, reported), not both 0,")  # fmt: skip
        if self.errors and not self.reference:
            raise BadInput("errors are added to complete labels; set reference to true")
        if self.errors and not self.habits.perfect:
            raise BadInput(
                "habits simulate annotators who err on true labels, errors are added to labels of "
                "annotators who err; leave out one of both"
            )
        if self.settings and self.tuning is not None:
            raise BadInput("settings are set, but tuning would replace them; leave out one of both")

    def _repr_html_(self) -> str:
        """A row for each field that differs from its default."""
        usual, rows = vars(Grid(self.schemes, self.methods)), ""
        for name, value in vars(self).items():
            if name in _EXAMPLE or value != usual[name]:
                text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
                rows += f"<tr><th>{name}</th><td>{escape(text)}</td></tr>"
        return f"<table>{rows}</table>"

    def training(self, spec: str) -> Settings:
        """Training settings of a method."""
        return self.pictures.settings(spec, self.train) if self.pictures else self.train

    @property
    def limits(self) -> tuple[Budget, ...]:
        """Budgets and hours; one empty limit if amounts are as written."""
        dollars = [Budget(dollars=value) for value in self.budgets]
        return (*dollars, *(Budget(hours=value) for value in self.hours)) or (Budget(),)

    @property
    def references(self) -> tuple[str, ...]:
        """The methods that are trained on complete labels, empty without `reference`.

        These are `full`, alone and with those wrappers of each method that change the outputs of
        the model, such as `full+boostlu` for `an+boostlu`, and the methods themselves, as some
        score higher or lower than `full` on the same labels.
        """
        full = [FULL]
        for spec in self.methods:
            (_, *texts), (_, *wrappers) = split_sum(spec), layers(methods.make(spec))
            changes = [type(wrapper).changed is not Wrapper.changed for wrapper in wrappers]
            full.append("+".join([FULL, *(text.strip() for text in compress(texts, changes))]))
        return tuple(dict.fromkeys([*full, *self.methods])) if self.reference else ()

    @property
    def trained(self) -> tuple[str, ...]:
        """The methods, and those of the references."""
        return tuple(dict.fromkeys([*self.methods, *self.references]))

    @staticmethod
    def load(path: str | os.PathLike[str], *, seed: int | None = None) -> Grid:
        """Read a TOML file; `seed`, unless None, replaces the seed of the file.

        The network of a grid in the folder of a project is that of project.toml, which the grid
        need not repeat. Paths of data, features and scores that do not exist are looked for beside
        the file, as `simkit.files.beside` does, with a warning that names what is read instead.
        Raises BadInput that names file and field.
        """
        with reading(path, "a grid (TOML)", f"see the shipped {DEMO}") as file:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
            if isinstance(values.get("settings"), str):
                values["settings"] = file.parent / values["settings"]
            _find_moved(values, file)
            if "features" not in values or "pictures" in values:
                _take_network(values, file)
            return Grid.of(values if seed is None else {**values, "seed": seed})

    @staticmethod
    def of(values: Mapping[str, Any]) -> Grid:
        """A grid from plain values, as in a TOML file. Raises BadInput that names the field."""
        check_keys(values)
        for name, example in _EXAMPLE.items():
            if name not in values:
                raise BadInput(f"{name} is missing; list at least one, as in {name} = [{example}]")
        return Grid(**values)

    def to_toml(self) -> str:
        """The grid with every field; `Grid.load` reads an equal one."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if not self.errors:  # grids of earlier versions keep their bytes
            del values["errors"]
        for name in ("train", "tuning", "pictures"):
            values[name] = values[name] and dataclasses.asdict(values[name])
        return "\n".join(toml_lines(values | {"habits": self.habits.to_json()})) + "\n"


_TABLES = {"habits": Habits, "tuning": Tuning, "pictures": Pictures, "train": Settings}
_KINDS: dict[str, type] = {"": Grid, **_TABLES}
# The keys of a grid, and of each of its tables.
KEYS = {name: [f.name for f in dataclasses.fields(kind) if f.init] for name, kind in _KINDS.items()}


def check_keys(values: Mapping[str, Any], table: str = "") -> None:
    """Raise BadInput for a key that a table of the grid, or the grid itself, does not have: with
    the place where it belongs, or with the nearest name."""
    for key in (name.replace("-", "_") for name in values):
        if key in KEYS[table]:
            continue
        tables = [other for other in reversed(KEYS) if other != table]
        others = {name: other for other in tables for name in KEYS[other]}  # the grid itself first
        own, where = f"table [{table}]" if table else "grid itself", others.get(key)
        if where is not None:
            raise BadInput(f"{key} is no key of the {own}; write it {_place(where)}")
        near = get_close_matches(key, others, n=1, cutoff=0.8)
        if near and not get_close_matches(key, KEYS[table], n=1):
            place = _place(others[near[0]])
            raise BadInput(f"no key is called {key!r}; did you mean {near[0]!r}, {place}?")
        raise unknown(f"setting of {table}" if table else "field of a grid", key, KEYS[table])


def _place(table: str) -> str:
    return f"below [{table}]" if table else "above all tables"


def _features(folder: Path) -> dict[str, str]:
    """The folder of each split in a folder that `simkit features --out` wrote. Raises BadInput."""
    if not (splits := of_splits(folder)):
        raise BadInput(
            f"features is {str(folder)!r}, which holds no features by split; name a folder that "
            "`simkit features --out` wrote, or a file for each split below [features]"
        )
    return {split: str(place) for split, place in splits.items()}


def demo_grid(*, seed: int | None = None) -> Grid:
    """The grid that ships with simkit; it needs no data and takes minutes on two cores."""
    return Grid.load(DEMO, seed=seed)


def _take_network(values: dict[str, Any], file: Path) -> None:
    """Add the network of the project to the values of a grid in its folder, if there is one.

    Raises BadInput if the grid names another: it would be compared with, but not trained.
    """
    place = file.parent / "project.toml"
    if not place.is_file():
        return
    with reading(place, "a project (TOML)", "correct it"):
        project = tomllib.loads(place.read_text("utf-8"))
    for key, usual in NETWORK.items():
        theirs = project.get(key, usual)
        if values.setdefault(key, theirs) != theirs:
            raise BadInput(
                f"{key} is {values[key]!r}, but {theirs!r} in {place}, which the training of the "
                f"project uses; delete {key} here, or change it there"
            )


def _find_moved(values: dict[str, Any], file: Path) -> None:
    """Replace paths in a grid's values that do not exist with those found beside its file."""

    def existing(name: str, path: Any, search: Callable[[str, Path], str] = beside) -> Any:
        if not isinstance(path, str) or not path or (moved := search(path, file.parent)) == path:
            return path
        noting(file, stacklevel=5)(f"{name} {path} is not there, so {moved} is read")
        return moved

    for name, search in (("data", near_data), ("scores", beside)):
        if name in values:
            values[name] = existing(name, values[name], search)
    if isinstance(features := values.get("features"), str):
        values["features"] = existing("features", features)
    elif isinstance(features, dict):
        values["features"] = {
            split: existing(f"features.{split}", path) for split, path in features.items()
        }
