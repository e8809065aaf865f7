"""Options of commands: shared ones, their types, and those made from signatures and docstrings.

An option's type, default and help are thus written once. The source of library functions is read,
not imported: help answers in a quarter of a second, and many modules take seconds to import.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

import simkit
from simkit import quantities
from simkit.cli.output import JSON
from simkit.errors import BadInput
from simkit.files import may_write

if TYPE_CHECKING:
    from simkit.registry import Count

FILE = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
POSITIVE = click.IntRange(min=1)
REGISTRIES = {  # public names of simkit, and the folders of their parts
    "schemes": ("annotate/schemes",),
    "methods": ("learn/methods",),
    "data": ("data",),
    "formats": ("labels/formats",),
    "figures": ("results/figures", "papers/figures"),
}
_NAME = re.compile(r'^    name(?:: ClassVar\[str\])? = "([a-z0-9-]+)"$', re.MULTILINE)


class Quantity(click.ParamType):
    """An option whose text `read` turns into a value; `name` stands in the help."""

    def __init__(self, name: str, read: Callable[[Any, str], Any]) -> None:
        self.name = name
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.read(value, max(param.opts, key=len) if param else self.name)


def names(what: str, files: str = "*.py") -> list[str]:
    """The names of a list whose entries have names; empty for others.

    They are read from the source files that match `files`: a shell waits for them at every Tab, and
    importing methods takes seconds. Names from other packages are missing for that reason.
    """
    if what == "prices":
        from simkit.annotate.prices import presets

        return presets()
    root = Path(__file__).parents[1]
    paths = [p for place in REGISTRIES.get(what, ()) for p in (root / place).rglob(files)]
    return sorted(name for path in paths for name in _NAME.findall(path.read_text("utf-8")))


class Name(click.ParamType):
    """Text that begins with a name of `simkit list WHAT`, or a file; shells complete both."""

    name = "text"

    def __init__(self, what: str) -> None:
        self.what = what

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        head = incomplete[: incomplete.rfind("+") + 1]  # of ll-r+boostlu
        files = "wrappers.py" if head else "*.py"  # only wrappers stand behind a plus
        items = [CompletionItem(head + name) for name in names(self.what, files)]
        items = [item for item in items if item.value.startswith(incomplete)]
        return items or [CompletionItem(incomplete, type="file")]


class Output(click.Path):
    """A file to write, whose name has one of these endings; checked before any work."""

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(value)
        if path.suffix.lower() not in self.endings:
            option = max(param.opts, key=len) if param else self.name
            listed = " or ".join(", ".join(self.endings).rsplit(", ", 1))
            raise BadInput(f"{option} is {path}; a name that ends in {listed} is expected")
        may_write(path)
        return path


SCHEME, METHOD, DATA = Name("schemes"), Name("methods"), Name("data")
FORMAT, PRICES = Name("formats"), Name("prices")
DOLLARS = Quantity("dollars", quantities.dollars)
WAGE = Quantity("wage", partial(quantities.dollars, hourly=True))
COUNT = Quantity("number", quantities.count)
SHARE = Quantity("share", quantities.share)
RATES = Quantity("rates", quantities.rates)
NUMBER = Quantity("number", partial(quantities.count, least=0))
SCORE = Quantity("map", quantities.score)
PICTURE = Output(".png", ".pdf", ".svg")


_TYPES: dict[str, click.ParamType] = {  # by annotation
    "int": click.INT, "float": click.FLOAT, "Path": FILE, "Count": POSITIVE,
    "Share": click.FloatRange(0, 1), "NonNegative": click.FloatRange(min=0),
    "Positive": click.FloatRange(min=0, min_open=True),
}  # fmt: skip
_PLACEHOLDERS: dict[str, click.ParamType] = {  # by type in a docstring
    "SCHEME": SCHEME, "METHOD": METHOD, "DATA": DATA, "FORMAT": FORMAT, "PRICES": PRICES,
    "DOLLARS": DOLLARS, "WAGE": WAGE, "AMOUNT": DOLLARS, "SHARE": SHARE, "MAP": SCORE,
    "FOLDER": FOLDER, "RATES": RATES, "ORDER": FOLDER, "PICTURE": PICTURE,
    "TABLE": Output(".csv", ".parquet"), "NPZ": Output(".npz"),
    "PAGE": Output(".html", ".md", ".json", ".txt"),
}  # fmt: skip
_ENDS = {"least": "min", "most": "max", "above": "min", "below": "max"}  # of registry.Range
# Heads of entries of a numpydoc section: "budget : float", "data, split".
_HEAD = re.compile(r"(?m)^(\w[\w, ]*?)(?: : (.*))?\n((?:(?:    .*)?\n)+)")
_SECTION = re.compile(r"(?ms)^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)")


def signature(command: Callable[..., Any]) -> Any:
    """Decorator: parameters of a command that its docstring describes become its options.

    Types, defaults and meanings are written once, in the signature and the section Parameters. A
    type in capitals in the docstring is the placeholder in the help and may name a special type, as
    DOLLARS does; `labels_file`, `data_spec` and `set_` are --labels, --data and --set.
    """
    _describe(command, command)
    command.__doc__ = _SECTION.sub("", inspect.cleandoc(command.__doc__ or "") + "\n").strip()
    return command


def fields_of(kind: type[Any]) -> Callable[[Any], Any]:
    """A decorator: the fields of a dataclass are options, and the command gets one object of it."""

    def decorate(command: Callable[[Any], Any]) -> Any:
        @wraps(command)  # with the options that it already has
        def _call(**values: Any) -> Any:
            return command(kind(**values))

        _describe(_call, kind)
        return _call

    return decorate


def _describe(command: Any, source: Any) -> None:
    """Add the options that the docstring of a function or dataclass describes to a command."""
    parameters = inspect.signature(source).parameters
    for name, (meaning, placeholder) in reversed(_documented(source.__doc__).items()):
        default = parameters[name].default
        default = ... if default is inspect.Parameter.empty else default
        kind = ast.parse(source.__annotations__[name], mode="eval").body
        _option(name, Parameter(kind, default, meaning, placeholder))(command)


@dataclass(frozen=True)
class Parameter:
    """A keyword of a function or a field of a dataclass; default `...`: it must be given."""

    kind: ast.expr
    default: Any
    meaning: str
    placeholder: str | None = None  # in the help


def of(
    path: str, *names: str, unset: bool = False, only: str = "", **types: click.ParamType
) -> Callable[[Any], Any]:
    """A decorator with options for parameters of a public function or dataclass.

    Parameters
    ----------
    path
        Module and name, such as "simkit.learn.predict.predict".
    *names
        Parameters with the type of their annotation.
    unset
        Pass None where an option is not given, and only name the default in the help: something
        else, such as a protocol, may decide then.
    only
        Put before every meaning, such as "With --pilot: ".
    **types
        Parameters whose text is read by another type, such as `DOLLARS`.
    """
    known = parameters(path)

    def decorate(command: Any) -> Any:
        for name in reversed((*names, *types)):
            parameter = replace(known[name], meaning=only + known[name].meaning)
            command = _option(name, parameter, types.get(name), unset=unset)(command)
        return command

    return decorate


def _option(
    name: str, parameter: Parameter, read: click.ParamType | None = None, *, unset: bool = False
) -> Callable[[Any], Any]:
    kind, default, meaning, placeholder = vars(parameter).values()
    words = [flag(name), name]
    if ast.unparse(kind) == "bool":
        return click.option(*words, is_flag=True, help=meaning)
    several = ast.unparse(kind).startswith("tuple")
    shown = default not in (None, ..., "", ())
    read = read or _PLACEHOLDERS.get(placeholder or "") or _type(kind)
    how: dict[str, Any] = {"type": read, "multiple": several, "metavar": placeholder}
    how |= {"default": default, "show_default": True} if shown and not unset else {}
    meaning += f" [default: {default}]" if shown and unset else ""
    return click.option(*words, required=default is ..., help=meaning, **how)


@cache
def parameters(path: str) -> dict[str, Parameter]:
    """The parameters of a function, or the fields of a dataclass, by name."""
    module, _, name = path.rpartition(".")
    file = Path(simkit.__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    node = next(each for each in tree.body if getattr(each, "name", "") == name)
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    documented = _documented(ast.get_docstring(node))
    declared: dict[str, tuple[Any, ast.expr | None]] = {}  # annotation and default
    if isinstance(node, ast.FunctionDef):
        keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        declared = {argument.arg: (argument.annotation, value) for argument, value in keywords}
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and isinstance(node, ast.ClassDef):
            declared[ast.unparse(field.target)] = field.annotation, field.value
    made = {}
    for key, (kind, value) in declared.items():
        meaning, placeholder = documented.get(key, ("", None))
        if isinstance(value, ast.Call) and ast.unparse(value.func) == "setting":
            text = str(_literal(value.args[1]))
            value, meaning = value.args[0], f"{text[:1].upper()}{text[1:]}."
        for word in re.findall(r"`(\w+)`", meaning):  # docstrings name parameters as Python does
            meaning = meaning.replace(f"`{word}`", flag(word)) if word in declared else meaning
        default = ... if value is None else _literal(value)
        made[key] = Parameter(kind, default, meaning, placeholder)
    return made


def _literal(node: ast.expr) -> Any:
    """The value of a default; None for one that is no literal, such as `silent`."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _documented(doc: str | None) -> dict[str, tuple[str, str | None]]:
    """Meanings, and types in capitals, in the section Parameters or Attributes of a docstring.

    A meaning is the first paragraph; further ones are for users of Python.
    """
    section = _SECTION.search(inspect.cleandoc(doc or "") + "\n")
    rows: dict[str, tuple[str, str | None]] = {}
    for names, kind, text in _HEAD.findall(section[1] if section else ""):
        meaning = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
        rows |= dict.fromkeys(names.split(", "), (meaning, kind if kind.isupper() else None))
    return rows


def _type(kind: ast.expr) -> click.ParamType:
    """The click type of an annotation; of a union, its first part, which a shell can type."""
    if isinstance(kind, ast.BinOp):
        return _type(kind.left)
    outer = ast.unparse(kind.value) if isinstance(kind, ast.Subscript) else ""
    if outer == "Literal":
        words = ast.literal_eval(kind.slice)  # type: ignore[attr-defined]
        return click.Choice(words if isinstance(words, tuple) else (words,))
    if outer == "tuple":
        return _type(kind.slice.elts[0])  # type: ignore[attr-defined]
    if outer == "Annotated":
        base, limits = kind.slice.elts  # type: ignore[attr-defined]
        named = dict(zip(("least", "most"), limits.args, strict=False))
        named |= {word.arg: word.value for word in limits.keywords}
        ends: dict[str, Any] = {_ENDS[name]: _literal(end) for name, end in named.items()}
        if ast.unparse(base) == "int":
            return click.IntRange(**ends)
        return click.FloatRange(**ends, min_open="above" in named, max_open="below" in named)
    return _TYPES.get(ast.unparse(kind), click.STRING)


def _remember(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    ctx.meta[JSON] = wanted


json = click.option(
    "--json", is_flag=True, expose_value=False, callback=_remember,
    help="Print one JSON object instead of text.",
)  # fmt: skip


@dataclass(frozen=True)
class Shared:
    """Options of several commands.

    Attributes
    ----------
    scheduler : ADDRESS
        Run on the dask.distributed cluster at tcp://HOST:PORT.
    part : I/N
        Compute only this share of the images: --part 3/16. All parts need the same cache folder or
        --out; the one that finishes last joins them. With few images, some parts are empty.
    split
        Such as train; may be repeated. [default: all]
    batch
        Images at a time.
    classes_file
        The classes, one per line. [default: those of the data]
    instructions_file
        Descriptions of the classes for the page: a text file, or the instructions.md of another
        order. [default: those of the previous round, if any]
    to
        Files for people: a page for the browser, a table, Label Studio; repeatable. [default: html]
    annotators : NAMES
        Divide the images among these people, such as ann,ben, each with files of their own; or a
        number of people, a1, a2 and so on. [default: everybody gets all images]
    image_root : ADDRESS
        Where Label Studio finds the images. [default: its local files, in a folder of the same
        name]
    prices : PRICES
        A preset or a TOML file; see `simkit list prices`.
    weights : FILE
        A weights file; imagenet, or pretrained for timm:NAME, to download them; or random.
    """

    scheduler: str = ""
    part: str | None = None
    split: tuple[str, ...] = ()
    batch: Count = 32
    classes_file: Path | None = None
    instructions_file: Path | None = None
    to: tuple[Literal["html", "csv", "jsonl", "label-studio"], ...] = ()
    annotators: str | None = None
    image_root: str = ""
    prices: str = "hourly"
    weights: str | None = None


def shared(*names: str) -> Callable[[Any], Any]:
    """A decorator with these fields of `Shared` as options."""
    return of("simkit.cli.options.Shared", *names)


def only_one(values: Mapping[str, Any]) -> None:
    """Raise BadInput if more than one of these options has a value."""
    names = [name for name, value in values.items() if value]
    if len(names) > 1:
        raise BadInput(f"{' and '.join(names)} are both given; leave one of them out")


def needs(values: Mapping[str, Any], other: str, present: Any) -> None:
    """Raise BadInput if one of these options has a value, but the `other` is not present."""
    for name, value in values.items():
        if value not in (None, False, "", ()) and not present:
            raise BadInput(f"{name} needs {other}; add it, or leave {name} out")


def network(backbone: str | None, weights: str | None) -> Any:
    """The network of `--backbone` and `--weights`; None without --backbone."""
    needs({"--weights": weights}, "--backbone", backbone)
    return None if backbone is None else simkit.backbone(backbone, weights)


def split_of(data: simkit.data.Dataset, name: str | None) -> str:
    """The split of this name; by default the one to label."""
    if name is not None and name not in data.truth:
        raise BadInput(f"{data.name} has no split {name!r}; it has {', '.join(data.truth)}")
    return name or data.to_label


def flag(name: str) -> str:
    """The option of a parameter or setting: `per_class` is `--per-class`."""
    return f"--{re.sub('_(file|spec)?$', '', name).replace('_', '-')}"


def pairs(texts: tuple[str, ...], option: str, expected: str) -> dict[str, str]:
    """Texts such as `ema=0.999` by name; hyphens in names become underscores. Raises BadInput."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not equals or not name:
            raise BadInput(f"{option} is {text!r}; write {expected}")
        if name in values:
            raise BadInput(f"{option} gives {name} twice; give it once")
        values[name] = value
    return values


def features(texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of a split and its file; a folder of splits stands for all that are in it."""
    from simkit.embed.feature_files import of_splits

    spelled: list[str] = []
    for text in texts:
        splits = {} if "=" in text else of_splits(Path(text))
        spelled += [f"{split}={place}" for split, place in splits.items()] or [text]
    expected = "a split and a file, as in train=FILE.npz, or a folder of splits"
    return tuple(pairs(tuple(spelled), "--features", expected).items())


@dataclass(frozen=True)
class Setting:
    """One field of a part: its default (None where `needed`), what it means and may be."""

    name: str
    default: Any
    needed: bool
    meaning: str

    @property
    def spelled(self) -> str:
        """The default as one would write it in a grid."""
        if self.needed:
            return "(needed)"
        text = str(self.default)
        return text.lower() if isinstance(self.default, bool) or self.default is None else text


def settings(part: type[Any]) -> list[Setting]:
    """The settings of a registered part, in their order; the method it wraps is none of them."""
    types = get_type_hints(part)
    rows = []
    for field in dataclasses.fields(part):
        if field.init and field.name != "inner":
            factory = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            needed = default is dataclasses.MISSING
            meanings = filter(None, (field.metadata.get("help"), _choices(types[field.name])))
            default = None if needed else default
            rows.append(Setting(field.name, default, needed, "; ".join(meanings)))
    return rows


def _choices(kind: Any) -> str:
    """The choices of a Literal, also in a union with None; empty if numbers are allowed too."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(str(choice) or 'nothing' for choice in get_args(kind))}"
    first = next(iter(get_args(kind)), None)
    return f"{_choices(first)}, none" if get_origin(first) is Literal else ""
