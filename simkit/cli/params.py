"""Options that several commands share, and their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import simkit
from simkit import quantities
from simkit.cli.output import JSON
from simkit.errors import BadInput
from simkit.files import may_write

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
COUNT = Quantity("number", quantities.count)
SHARE = Quantity("share", quantities.share)
SCORE = Quantity("score", quantities.score)
PICTURE = Output(".png", ".pdf", ".svg")


def _remember(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    ctx.meta[JSON] = wanted


# fmt: off
json = click.option("--json", is_flag=True, expose_value=False, callback=_remember,
                    help="Print one JSON object instead of text.")
scheduler = click.option("--scheduler", metavar="ADDRESS", default="",
                         help="Run on the dask.distributed cluster at tcp://HOST:PORT.")
splits = click.option("--split", "splits", multiple=True,
                      help="Such as train; may be repeated. [default: all]")
batch = click.option("--batch", type=POSITIVE, default=32, show_default=True,
                     help="Images at a time.")
classes = click.option("--classes", "names_file", type=FILE,
                       help="The classes, one per line. [default: those of the data]")
instructions = click.option(
    "--instructions", "described", type=FILE,
    help="Descriptions of the classes for the page: a text file, or the instructions.md of another "
    "order. [default: those of the previous round, if any]",
)
prices = click.option("--prices", type=PRICES, default="hourly", show_default=True,
                      help="A preset or a TOML file; see `simkit list prices`.")


def data(meaning: str) -> Callable[[Any], Any]:
    """`--data`, the text of a data set; its default is `scenes`."""
    return click.option("--data", "spec", type=DATA, default="scenes", show_default=True,
                        help=meaning)


def seed(meaning: str) -> Callable[[Any], Any]:
    """`--seed`; its default is 0."""
    return click.option("--seed", type=int, default=0, show_default=True, help=meaning)


def backbone(meaning: str, default: str | None = None) -> Callable[[Any], Any]:
    """`--backbone` and `--weights` of a command that computes features."""
    name = click.option("--backbone", default=default, show_default=True, help=meaning)
    weights = click.option(
        "--weights", metavar="FILE",
        help="A weights file; imagenet, or pretrained for timm:NAME, to download them; or random.",
    )
    return lambda command: name(weights(command))
# fmt: on


def network(backbone: str | None, weights: str | None) -> Any:
    """The network of `--backbone` and `--weights`; None without --backbone."""
    if backbone is None and weights is not None:
        raise BadInput("--weights are those of --backbone; name the backbone too")
    return None if backbone is None else simkit.backbone(backbone, weights)


def split_of(data: simkit.data.Dataset, name: str | None) -> str:
    """The split of this name; by default the one to label."""
    if name is not None and name not in data.truth:
        raise BadInput(f"{data.name} has no split {name!r}; it has {', '.join(data.truth)}")
    return name or data.to_label


def flag(name: str) -> str:
    """The option of a parameter or setting: `per_class` is `--per-class`."""
    return f"--{name.replace('_', '-')}"


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
