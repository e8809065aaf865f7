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
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np

from simkit.errors import BadInput, unknown
from simkit.lazy import PACKAGES

T = TypeVar("T")
_PART = re.compile(r"([a-z0-9][a-z0-9_-]*)(?:\((.*)\))?", re.DOTALL | re.IGNORECASE)
_hints: Any = cache(typing.get_type_hints)  # annotations are text, and slow to evaluate


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
        """Class decorator: register `part` under its `name`."""
        name: str = part.name  # type: ignore[attr-defined]
        if self._found.get(name, part).__qualname__ != part.__qualname__:
            raise RuntimeError(f"two {self.kind}s are called {name!r}")
        self._found[name] = part
        return part

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
                raise BadInput(f"{text!r} is not a {self.kind}; write name or name(setting=value)")
            name, inside = match.groups()
            values = _settings(inside, text) if inside else {}
            if place == len(parts) - 1:
                values = {**values, **settings}
            part = self[name]
            wraps = "inner" in _fields(part)
            if wraps and made is None:
                raise BadInput(f"{self.kind} {name!r} wraps another one; write it after a plus, as "
                               f"in an+{name}")  # fmt: skip
            if made is not None and not wraps:
                raise BadInput(f"{self.kind} {name!r} wraps no other one and cannot follow a plus "
                               f"in {spec!r}")  # fmt: skip
            made = build(part, values if made is None else {**values, "inner": made}, self.kind)
        assert made is not None
        return made

    def spell(self, part: T) -> str:
        """The complete spelling of `part`, with defaults; `make` turns it into an equal part."""
        settings = {f.name: getattr(part, f.name) for f in dataclasses.fields(part)}  # type: ignore[arg-type]
        inner = settings.pop("inner", None)
        name: str = part.name  # type: ignore[attr-defined]
        inside = ", ".join(f"{key}={_plain(value)!r}" for key, value in settings.items())
        text = f"{name}({inside})" if inside else name
        return text if inner is None else f"{self.spell(inner)}+{text}"

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
            for module in pkgutil.walk_packages(folders, f"{name}."):
                importlib.import_module(module.name)
            self._imported += 1
        if self._plugged or wanted in self._found:
            return
        self._plugged = True
        for plug_in in entry_points(group=f"simkit.{self._packages[0].rpartition('.')[2]}"):
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


def short(part: Any, *, without: str | None = None) -> str:
    """The spelling of a part with the settings that differ from their defaults.

    without: the name of a setting to leave out.
    """
    settings = {
        field.name: getattr(part, field.name)
        for field in dataclasses.fields(part)
        if field.name not in ("inner", without) and getattr(part, field.name) != field.default
    }
    inside = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    text = f"{part.name}({inside})" if inside else str(part.name)
    inner = getattr(part, "inner", None)
    return text if inner is None else f"{short(inner)}+{text}"


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
    hints = _hints(part)
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


@cache
def _ranges(part: type) -> Mapping[str, Range]:
    """The ranges of the settings of a part, by name, from their types."""
    hints = typing.get_type_hints(part, include_extras=True)
    return {name: note for name, kind in hints.items() for note in _notes(kind)}


def _notes(kind: Any) -> Iterator[Range]:
    yield from (note for note in getattr(kind, "__metadata__", ()) if isinstance(note, Range))
    for inner in get_args(kind):
        yield from _notes(inner)


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
        limits = _ranges(type(part)).get(key)  # type: ignore[arg-type]
        for number in value if isinstance(value, tuple) else (value,):
            if limits is not None and isinstance(number, int | float) and number not in limits:
                raise BadInput(f"{where} is {number!r}; {limits} is expected")
        object.__setattr__(part, key, value)


def convert(value: Any, kind: Any, where: str, *, spelled: bool = True) -> Any:
    """`value` converted to the type `kind`; `where` names it in errors. Raises BadInput.

    spelled: also convert text from a shell, such as "3" or "yes".
    """
    value = _plain(value)
    if get_origin(kind) in (typing.Union, types.UnionType):
        return _one_of(value, get_args(kind), where, spelled)
    if get_origin(kind) is Literal:
        return _word(value, get_args(kind), where, spelled)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple | list | np.ndarray):
            raise BadInput(f"{where} is {value!r}; a list is expected")
        return tuple(convert(one, get_args(kind)[0], where, spelled=spelled) for one in value)
    if kind is bool:
        return _truth(value, where, spelled)
    if kind in (int, float):
        return _number(value, kind, where, spelled)
    if kind is str and not isinstance(value, str):
        raise BadInput(f"{where} is {value!r}; text is expected")
    return value  # a part, an array, a mapping: __post_init__ of the owner checks it


_TRUE, _FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _one_of(value: Any, kinds: tuple[Any, ...], where: str, spelled: bool) -> Any:
    """A value of a union: None, one of the words, a list, or the first other kind."""
    none = value is None or (spelled and isinstance(value, str) and value.lower() == "none")
    if none and type(None) in kinds:
        return None
    first, *others = (kind for kind in kinds if kind is not type(None))
    words = [word for kind in others if get_origin(kind) is Literal for word in get_args(kind)]
    if isinstance(value, str) and value in words:  # of float | Literal["auto"]
        return value
    lists = [kind for kind in (first, *others) if get_origin(kind) is tuple]
    if lists and isinstance(value, list | tuple | np.ndarray):
        return convert(value, lists[0], where, spelled=spelled)
    if {int, float} == {first, *others}:  # 1 and 1.0 differ: one image, and all images
        first = int if isinstance(value, int) else float
    if first in (int, float):
        return _number(value, first, where, spelled, words)
    return convert(value, first, where, spelled=spelled)


def _word(value: Any, words: tuple[Any, ...], where: str, spelled: bool) -> Any:
    word = value.lower() if spelled and isinstance(value, str) else value
    # By type too, as 1 == True.
    if any(isinstance(word, type(known)) and word == known for known in words):
        return word
    raise BadInput(f"{where} is {value!r}; it must be one of {', '.join(map(str, words))}")


def _truth(value: Any, where: str, spelled: bool) -> bool:
    if spelled and isinstance(value, str) and value.lower() in _TRUE | _FALSE:
        return value.lower() in _TRUE
    if not isinstance(value, bool):
        raise BadInput(f"{where} is {value!r}; true or false is expected")
    return value


def _number(
    value: Any, kind: Any, where: str, spelled: bool, words: Sequence[Any] = ()
) -> int | float:
    """A finite number. words: what may stand in its place, for the error."""
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
        settings = {word.arg: _literal(word.value) for word in call.keywords if word.arg}
        if len(settings) != len(call.keywords):
            raise ValueError
        return settings
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadInput(
            f"the settings in {text!r} cannot be read; write name(setting=value), with quotes "
            "around file names"
        ) from None


def _literal(node: ast.expr) -> Any:
    # Bare words are text: mode=path-only needs no quotes inside those of the shell.
    plain = all(isinstance(n, ast.Name | ast.BinOp | ast.Sub | ast.Load) for n in ast.walk(node))
    return ast.unparse(node).replace(" - ", "-") if plain else ast.literal_eval(node)
