"""Registries of parts by name: schemes, methods, formats, data sets and figures.

A part is a frozen dataclass in its own file; its fields are its settings. The registry finds the
file, builds the part from text, flags or a table, and spells it completely.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import math
import pkgutil
import re
import types
import typing
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np

from simkit.errors import BadInput, located, unknown
from simkit.lazy import PACKAGES

T = TypeVar("T")
_PART = re.compile(r"([a-z0-9][a-z0-9_-]*)(?:\((.*)\))?", re.DOTALL | re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_hints: Any = cache(typing.get_type_hints)  # annotations are text, and slow to evaluate
_entry_points: Any = cache(entry_points)  # of all installed distributions


def _class_attributes(part: type) -> Iterator[str]:
    """The names of the attributes that base classes declare for the class."""
    for base in part.__mro__:
        for name, kind in getattr(base, "__annotations__", {}).items():
            if "ClassVar" in str(kind):
                yield name


class Registry(Generic[T]):
    """The parts of one kind, imported at first use.

    They are in `package` and its subpackages, and in modules that other packages name as entry
    points of the group "simkit." plus the last part of `package`, such as "simkit.schemes". A
    `package` that is one module registers its parts itself.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._packages = [package]
        self._imported, self._plugged = 0, False  # number of packages; whether plug-ins are too
        self._found: dict[str, type[T]] = {}
        _REGISTRIES.setdefault(kind, self)

    def also_in(self, package: str) -> None:
        """Look for parts in another package as well, after the others."""
        if package not in self._packages:
            self._packages.append(package)

    def register(self, part: type[T]) -> type[T]:
        """Class decorator: register `part` under its `name`.

        A class of the same name in Python replaces the one before, as in a notebook cell that runs
        again. Raises BadInput for a name in use, or one that cannot be written, and for a class
        that lacks an attribute of the interface.
        """
        here = f"{self.kind} class {part.__qualname__}"
        for needed in _class_attributes(part):
            if not hasattr(part, needed):
                raise BadInput(f"{here} has no {needed!r}; set it as the other {self.kind}s do")
        name: str = part.name  # type: ignore[attr-defined]
        if not _NAME.fullmatch(name):
            raise BadInput(f"{here}: its name is {name!r}; write a-z, 0-9, - and _ only")
        other = self._found.get(name, part).__qualname__
        if other != part.__qualname__:
            raise BadInput(f"{here}: the class {other} is called {name!r} too; choose another name")
        self._found[name] = part
        return part

    def register_frozen(self, part: type[T]) -> type[T]:
        """Class decorator: register `part` as a frozen dataclass, which it may be already."""
        made = "__dataclass_fields__" in vars(part)
        return self.register(part if made else dataclasses.dataclass(frozen=True)(part))

    def names(self) -> list[str]:
        """All names, sorted."""
        self._load()
        return sorted(self._found)

    def __iter__(self) -> Iterator[type[T]]:
        return (self._found[name] for name in self.names())

    def __getitem__(self, name: str) -> type[T]:
        """The class called `name`, in any case. Raises BadInput with the nearest name otherwise."""
        wanted = name.strip().lower()
        self._load(wanted)
        part = self._found.get(wanted)
        if part is None:
            raise unknown(self.kind, name, self._found)
        return part

    def make(self, spec: str, **settings: Any) -> T:
        """Build a part from its spelling.

        Parameters
        ----------
        spec : str
            `"fpc"`, `"fpc(per_class=100)"` or `"ll-r(delta=0.5)+boostlu"`. The part after a `+`
            wraps the part before it and receives it as its field `inner`.
        **settings
            Further settings, of the last part of a sum.

        Raises
        ------
        BadInput
            For unknown names and settings, and for values of another type or out of range.
        """
        made: T | None = None
        if not isinstance(spec, str):
            raise BadInput(f"{self.kind} is {spec!r}; write its name or name(setting=value)")
        parts = split_sum(spec)
        for place, text in enumerate(parts):
            match = _PART.fullmatch(text.strip())
            if match is None:
                raise BadInput(
                    f"{text!r} is not a {self.kind}; write name or name(setting=value)"
                    f"{_as_typed(text)}"
                )
            name, inside = match.groups()
            values = _settings(inside, text) if inside else {}
            if place == len(parts) - 1:
                values = {**values, **settings}
            part = self[name]
            wraps = "inner" in _fields(part)
            if wraps == (made is None):
                mend = f"wraps no other one and cannot follow a plus in {spec!r}"
                if wraps:
                    mend = f"wraps another one; write it after a plus, as in an+{name}"
                raise BadInput(f"{self.kind} {name!r} {mend}")
            made = build(part, values if made is None else {**values, "inner": made}, self.kind)
        assert made is not None
        return made

    def spell(self, part: T) -> str:
        """The complete spelling of `part`, with defaults; `make` turns it into an equal part."""
        return short(part, complete=True)

    def shortened(self, spec: str) -> str:
        """The spelling without settings at their defaults; of an unknown part, `spec` itself."""
        try:
            return short(self.make(spec))
        except BadInput:
            return spec

    def _load(self, wanted: str = "") -> None:
        """Import the packages in order, then plug-ins, only as far as the part `wanted`."""
        while self._imported < len(self._packages) and wanted not in self._found:
            name = self._packages[self._imported]
            package = importlib.import_module(name)
            folders = getattr(package, "__path__", [])  # a module has none
            likely = f"{name}.{wanted.replace('-', '_')}"  # most parts are in a file of their name
            for module in pkgutil.iter_modules(folders, f"{name}."):
                if module.name == likely:
                    importlib.import_module(likely)
            if wanted in self._found:
                return
            for module in pkgutil.walk_packages(folders, f"{name}."):
                importlib.import_module(module.name)
            self._imported += 1
        if self._plugged or wanted in self._found:
            return
        self._plugged = True
        group = f"simkit.{self._packages[0].rpartition('.')[2]}"
        for plug_in in _entry_points().select(group=group):
            try:
                plug_in.load()
            except Exception as error:  # of foreign code; only its parts are missing
                warnings.warn(
                    f"plug-in {plug_in.name!r} ({plug_in.value}) cannot be loaded: {error}",
                    stacklevel=2,
                )


_REGISTRIES: dict[str, Registry[Any]] = {}


def registry_of(kind: str) -> Registry[Any]:
    """The registry of a kind, such as "method", of a package that the caller may not import."""
    if kind not in _REGISTRIES:
        importlib.import_module(PACKAGES[kind])
    return _REGISTRIES[kind]


def short(part: Any, *, without: str | None = None, complete: bool = False) -> str:
    """The spelling of a part with the settings that differ from their defaults.

    without: the name of a setting to leave out;  complete: with all settings.
    """
    settings = {
        field.name: getattr(part, field.name)
        for field in dataclasses.fields(part)
        if field.name not in ("inner", without)
        and (complete or getattr(part, field.name) != field.default)
    }
    inside = ", ".join(f"{key}={plain(value)!r}" for key, value in settings.items())
    text = f"{part.name}({inside})" if inside else str(part.name)
    inner = getattr(part, "inner", None)
    return text if inner is None else f"{short(inner, complete=complete)}+{text}"


def setting(default: Any, meaning: str) -> Any:
    """A field of a part, with its default and its meaning for lists and help.

    Parameters
    ----------
    default : any
        The default; a type, such as dict, makes a new one each time. `...`: the field is needed.
    meaning : str
        Short description.

    Returns
    -------
    dataclasses.Field
    """
    metadata = {"help": meaning}
    if isinstance(default, type):
        return dataclasses.field(default_factory=default, metadata=metadata)
    default = dataclasses.MISSING if default is ... else default
    return dataclasses.field(default=default, metadata=metadata)


def build(part: type[T], settings: Mapping[str, Any], kind: str) -> T:
    """`part(**settings)` with every value converted to the type of its field. Raises BadInput.

    kind: noun for the part in errors.
    """
    known = _fields(part)
    name = getattr(part, "name", "")
    called = f"{kind} {name!r}" if name not in ("", kind) else kind
    values = {}
    for key, value in settings.items():
        key = key.replace("-", "_")
        if key not in known:
            raise unknown(f"setting of {called}", key, known)
        values[key] = convert(value, known[key], f"{name or kind}: {key}")
    for field in dataclasses.fields(part):  # type: ignore[arg-type]
        default = (field.default, field.default_factory)
        if field.init and field.name not in values and default == (dataclasses.MISSING,) * 2:
            example = getattr(part, "example", f"{name or kind}({field.name}=...)")
            raise BadInput(f"{called} needs {field.name}; write for example {example}")
    return part(**values)


def _fields(part: type) -> Mapping[str, Any]:
    hints = _hints(part, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(part) if f.init}


@dataclasses.dataclass(frozen=True)
class Range:
    """The allowed numbers of a setting, as in `share: Annotated[float, Range(0, below=1)]`."""

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most and self.above < value < self.below

    def __str__(self) -> str:
        if math.isfinite(self.least) and math.isfinite(self.most):
            return f"a number from {self.least:,} to {self.most:,}"
        ends = {"of at least": self.least, "above": self.above}
        ends |= {"of at most": self.most, "below": self.below}
        words = [f"{word} {end:,}" for word, end in ends.items() if math.isfinite(end)]
        return f"a number {' and '.join(words)}"


NonNegative = Annotated[float, Range(0)]
Positive = Annotated[float, Range(above=0)]
Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1)]


def settle(part: Any, called: str = "") -> None:
    """Convert every field of a new `part` to its declared type, numpy's numbers to Python's.

    Called at the start of `__post_init__`. Raises BadInput for a value of another type (text is
    not converted to numbers) or outside the range of its type. called: name of
    the part in errors, by default its `name`.
    """
    called = called or getattr(part, "name", "")
    for key, kind in _fields(type(part)).items():
        where = f"{called}: {key}" if called else key
        value = convert(getattr(part, key), kind, where, spelled=False)
        object.__setattr__(part, key, value)


_LISTS = (tuple, Sequence)  # origins of the types of lists
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def plain(value: Any) -> Any:
    """A setting without types of numpy; a list becomes a tuple."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) else value


def expect(holds: Any, name: str, value: Any, wanted: str) -> None:
    """Raise a BadInput that names the field, unless the condition `holds`."""
    if not holds:
        raise BadInput(f"{name} is {value!r}; {wanted} is expected")


def as_table(
    value: Any, name: str, kind: str = "", known: Sequence[str] | None = None
) -> Mapping[str, Any]:
    """A field that is a table, with keys from `known` if these are given. Raises BadInput."""
    expect(isinstance(value, Mapping), name, value, f"a table such as [{name}]")
    for key in value if known is not None else ():
        if key not in (known or ()):
            with located(name):
                raise unknown(kind, key, known or ())
    return value


def convert(value: Any, kind: Any, where: str, *, spelled: bool = True) -> Any:
    """`value` converted to the type `kind`, and within its `Range`. Raises BadInput.

    A union takes None, one of its words, a list, or else a value of its first type. A list becomes
    a tuple.
    where: the name in errors;  spelled: also convert text from a shell, such as "3" or "yes".
    """
    value = value if isinstance(value, list) else plain(value)  # errors show lists as given
    union = get_origin(kind) in (typing.Union, types.UnionType)
    kinds = get_args(kind) if union else (kind,)
    text = spelled and isinstance(value, str)
    word = value.lower() if text else value
    if type(None) in kinds and (value is None or (text and word == "none")):
        return None
    words = [known for one in kinds if get_origin(one) is Literal for known in get_args(one)]
    # By type too, as 1 == True.
    if any(isinstance(word, type(known)) and word == known for known in words):
        return word
    for one in kinds:
        if get_origin(one) in _LISTS and isinstance(value, tuple | list | np.ndarray):
            return tuple(convert(part, get_args(one)[0], where, spelled=spelled) for part in value)
    limits = {get_args(one)[0]: get_args(one)[1] for one in kinds if get_origin(one) is Annotated}
    bare = [get_args(one)[0] if get_origin(one) is Annotated else one for one in kinds]
    first, *others = (one for one in bare if one is not type(None))
    if {int, float} == {first, *others}:  # 1 and 1.0 differ: one image, and all images
        first = int if isinstance(value, int) else float
    if first in (int, float):
        number = _number(value, first, where, spelled, words)
        if number not in limits.get(first, Range()):
            raise BadInput(f"{where} is {number!r}; {limits[first]} is expected")
        return number
    if first is bool and text and word in _TRUTH:
        return _TRUTH[word]
    if get_origin(first) is Literal:
        expected = f"it must be one of {', '.join(map(str, words))}"
    elif get_origin(first) in _LISTS and str not in others:
        expected = "a list is expected"
    elif first is bool and not isinstance(value, bool):
        expected = "true or false is expected"
    elif first is str and not isinstance(value, str):
        expected = "text is expected"
    else:
        return value  # a part, an array, a mapping: __post_init__ of the owner checks it
    raise BadInput(f"{where} is {value!r}; {expected}")


def _number(
    value: Any, kind: Any, where: str, spelled: bool, words: Sequence[Any] = ()
) -> int | float:
    """A finite number. words: the allowed alternatives to a number, for the error."""
    try:
        # bool is an int, but nobody who writes true means 1.
        if isinstance(value, bool) or not isinstance(
            value, int | float | (str if spelled else int)
        ):
            raise ValueError
        if kind is int and isinstance(value, str) and value.strip().lstrip("+-").isdecimal():
            return int(value)  # not through a float, which holds 15 digits
        number = float(value)
        if not math.isfinite(number) or (kind is int and number != int(number)):
            raise ValueError
        return int(value if isinstance(value, int) else number) if kind is int else number
    except (ValueError, OverflowError):
        wanted = ["a whole number" if kind is int else "a number", *map(repr, words)]
        raise BadInput(f"{where} is {value!r}; {' or '.join(wanted)} is expected") from None


def split_sum(spec: str) -> list[str]:
    """Split at the pluses outside parentheses and quotes."""
    parts, depth, start, quote, escaped = [], 0, 0, "", False
    for place, letter in enumerate(spec):
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter == "+" and depth == 0:
            parts.append(spec[start:place])
            start = place + 1
        depth += (letter == "(") - (letter == ")") if not quote else 0
    return [*parts, spec[start:]]


def _settings(inside: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"part({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            raise ValueError  # an(a=1)(b=2): only the last parentheses would count
        settings: dict[Any, Any] = {}
        for word in call.keywords:
            names = ast.Name | ast.BinOp | ast.Sub | ast.Load
            if all(isinstance(node, names) for node in ast.walk(word.value)):
                # Bare words are text: mode=path-only needs no quotes inside those of the shell.
                settings[word.arg] = ast.unparse(word.value).replace(" - ", "-")
            else:
                settings[word.arg] = ast.literal_eval(word.value)
        if None in settings or len(settings) != len(call.keywords):
            raise ValueError
        return settings
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput(
            f"the settings in {text!r} cannot be read; write name(setting=value), with quotes "
            f"around file names{_as_typed(text)}"
        ) from None


_QUOTES = dict.fromkeys(map(ord, "‘’‚“”„"), "'")


def _as_typed(text: str) -> str:
    """For an error: the text in ASCII, without full-width characters and typographic quotes."""
    typed = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    others = dict.fromkeys(one for one in text if one not in typed)
    what = "is not an ASCII character" if len(others) == 1 else "are not ASCII characters"
    return f"; {' '.join(others)} {what}: did you mean {typed!r}?" if others else ""
