"""List schemes, methods, data sets, formats, prices and more."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import click

import simkit
from simkit.cli import options
from simkit.cli.options import settings
from simkit.cli.output import print_json, say, table, width
from simkit.errors import unknown
from simkit.quantities import exact_money

Row = dict[str, Any]
_WIDE = 120  # columns of a terminal in which a row of all parts is readable
_NARROW = 80  # columns below which papers are left out
_NUMBERS = ("epochs", "px", "features", "parameters")
_NOT_DETAILS = ("name", "title", "what", "about", "settings", "wraps", "bytes")


@click.command(epilog="Example: simkit list methods csl")
@click.argument("what", metavar="[WHAT]", required=False, shell_complete=lambda *a: _complete(*a))
@click.argument("name", required=False, shell_complete=lambda *a: _complete(*a))
@options.json
def command(what: str | None, name: str | None) -> None:
    """List schemes, methods, data sets, formats, price lists and more.

    WHAT is schemes, methods, data, formats, figures, prices, protocols, backbones, grid or columns;
    without it, the lists are listed. With a NAME from one of them: what it does, and every setting
    with its default and meaning.
    """
    if what is None:
        about = {key: listed.about for key, listed in LISTS.items()}
        print_json({"lists": about})
        table(["list", "of"], [list(row) for row in about.items()], words=(0, 1))
        say("\n`simkit list schemes` shows a list, `simkit list schemes fpc` one entry")
        return
    what = what.lower()
    if what not in LISTS:
        raise unknown("list", what, LISTS)
    rows = list(LISTS[what].rows())
    if name is None:
        brief = [{k: v for k, v in row.items() if k != "details"} for row in rows]
        print_json({what: brief})
        _print(what, rows)
        return
    name = name.lstrip("+").partition("(")[0].strip(" []")  # as in a grid: +boostlu, [train]
    row = next((row for row in rows if row["name"].lower() == name.lower()), None)
    if row is None:
        raise unknown(f"name in {what!r}", name, [row["name"] for row in rows])
    row |= row.pop("details", {})
    print_json(row)
    _print_details(row)


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    known = options.names(ctx.params["what"]) if param.name == "name" else LISTS
    return [word for word in known if word.startswith(incomplete)]


def _print(what: str, rows: list[Row]) -> None:
    columns = LISTS[what].columns.split(", ")
    if what in options.REGISTRIES and width() < _WIDE:  # a line each
        about = next(name for name in ("gist", "what") if name in columns)
        shown = ("name", about, "scaled by", "paper" if width() >= _NARROW else "")
        columns = [name for name in shown if name in columns]
        if what == "methods":
            rows = [row | {"paper": _authors(row["paper"])} for row in rows]
    cells = [[_name(row), *(row[column] for column in columns[1:])] for row in rows]
    words = [place for place, name in enumerate(columns) if name not in _NUMBERS]
    long = next((name for name in ("what", "paper") if name in columns), None)
    table(columns, cells, words=words, cut=None if long is None else columns.index(long))
    if LISTS[what].note:
        say(f"\n{LISTS[what].note}")
    named = next((row["name"] for row in rows if "details" in row), rows[0]["name"])
    say(f"\n`simkit list {what} {named}` shows the details of one")


def _print_details(row: Row) -> None:
    if "memory" in row:
        from simkit.learn.method import COCO_WORDS

        row = row | {"memory": f"{row['memory']} at COCO's size ({COCO_WORDS})"}
    say(f"{_name(row)}: {row['title']}" if "title" in row else _name(row))
    if row.get("about"):
        say(f"\n{row['about']}")
    say()
    for key, value in row.items():
        if key not in _NOT_DETAILS and value:
            say(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
    if row.get("settings"):
        say()
        every = [options.Setting(**setting) for setting in row["settings"]]
        cells = [[each.name, each.spelled, each.meaning] for each in every]
        table(["setting", "default", "meaning"], cells, words=(0, 1, 2))
    elif "settings" in row:
        say("no settings")


def _authors(paper: str) -> str:
    """Authors and year of a paper: "Cole et al. 2021"."""
    match = re.match(r"(.+? et al\.|[^,;]+? & \w+),? .*?(\d{4})", paper)
    return " ".join(match.groups()) if match else re.split("[,;]", paper)[0]


def _name(row: Row) -> str:
    return f"+{row['name']}" if row.get("wraps") else str(row["name"])


def _parts(what: str) -> Iterator[Row]:
    """The parts of a registry."""
    package = getattr(simkit, what)
    for part in map(package.get, package.names()):
        about, every = _docstring(part), settings(part)
        what_it_does = about.partition("\n")[0] or part.title
        row = {"name": part.name, "title": part.title, "what": what_it_does}
        for key in ("source", "amount", "example"):
            if hasattr(part, key):
                row["scaled by" if key == "amount" else key] = getattr(part, key) or "images"
        if what == "figures":
            row["draws"] = f"what {part.made_by} returns"
        if what == "methods":
            from simkit.learn.method import in_units, needs_in_words, plain, training_bytes

            method = plain(part)
            row |= {
                "gist": method.gist or row["what"], "needs": needs_in_words(method),
                "memory": in_units(training_bytes(method)), "bytes": training_bytes(method),
                "wraps": hasattr(method, "inner"), "paper": row.pop("source"),
            }  # fmt: skip
        row["details"] = {"about": about, "settings": list(map(vars, every))}
        if not part.__module__.startswith("simkit."):
            row["details"]["not described"] = _not_described(part, about, every)
        yield row


def _docstring(part: type) -> str:
    """The docstring of a part, without the signature that `dataclass` writes if there is none."""
    text = inspect.cleandoc(part.__doc__ or "")
    return "" if text.startswith(f"{part.__name__}(") else text


def _not_described(part: type, about: str, every: Sequence[options.Setting]) -> str:
    """What a part of another package does not describe, and how it can."""
    mends = [] if about else [f"what it does: write a docstring in class {part.__name__}"]
    if lacking := [each for each in every if not each.meaning]:
        names = ", ".join(each.name for each in lacking)
        default = "..." if lacking[0].needed else repr(lacking[0].default)
        mends.append(
            f"{names}: write `{lacking[0].name}: TYPE = setting({default}, 'MEANING')`, with "
            "`from simkit.registry import setting`"
        )
    return "; ".join(mends)


def _prices() -> Iterator[Row]:
    """The price lists with the date of their numbers, their age, and the price of each work."""
    from simkit.annotate.prices import preset, presets

    for each in map(preset, presets()):
        age = f"{date.today().year - int(each.as_of[:4])} years" if each.as_of else "unknown"
        row = {"name": each.name, "as of": each.as_of, "age": age, "title": each.title}
        more = {"ended": each.ended, "people for a question": str(each.workers)}
        if each.wage is not None:
            more["wage"] = f"{exact_money(each.wage)} an hour; {each.wage_source}"
        for kind, rate in each.rates.items():
            amounts = [f"${rate.dollars:g}"] if rate.dollars is not None else []
            amounts += [f"{rate.seconds:g} s"] if rate.seconds is not None else []
            unit = f"page of {rate.page}" if rate.per == "page" else rate.per
            more[f"to {kind}"] = f"{' and '.join(amounts)} for each {unit}; {rate.source}"
        more["a machine's scores"] = f"${each.machine:g} for each image; {each.machine_source}"
        yield row | {"details": more}


def _protocols() -> Iterator[Row]:
    from simkit.learn.protocols import names, protocol, summary

    for each in map(protocol, names()):
        epochs = (each.settings.head_epochs, each.settings.epochs)
        yield {
            "name": each.name, "paper": each.source, "backbone": each.backbone, "px": each.size,
            "epochs": " + ".join(str(number) for number in epochs if number),
            "training": summary(each), "left out": each.left_out,
        }  # fmt: skip


def _backbones() -> list[Row]:
    from simkit.embed.backbones import outlines

    return outlines()


def _grid() -> Iterator[Row]:
    """A row for each field; defaults are spelled as TOML has them."""
    from simkit.annotate.annotators import Habits
    from simkit.files import toml
    from simkit.learn.settings import Settings
    from simkit.study.grid import Grid, Pictures
    from simkit.study.tuning import Tuning

    tables = {"train": Settings, "pictures": Pictures, "habits": Habits, "tuning": Tuning}
    for field in settings(Grid):
        default = "(needed)" if field.needed else toml(field.default)
        if field.name in ("features", *tables):
            default = f"[{field.name}]"
        row: Row = {"name": field.name, "default": default, "meaning": field.meaning}
        if field.name in tables:
            row["details"] = {"settings": list(map(vars, settings(tables[field.name])))}
        yield row


def _columns() -> Iterator[Row]:
    from simkit.results.runs import COLUMNS

    for name, column in COLUMNS.items():
        yield {"name": name, "type": str(column.type), "meaning": column.meaning}


@dataclass(frozen=True)
class _Listed:
    """One list. columns: of its table; details have the others, too.  note: below the table."""

    about: str
    rows: Callable[[], Any]
    columns: str
    note: str = ""


LISTS = {
    "schemes": _Listed(
        "annotation schemes", partial(_parts, "schemes"), "name, title, what, source, scaled by"
    ),
    "methods": _Listed(
        "training methods for partial labels", partial(_parts, "methods"),
        "name, title, gist, needs, paper",
        "names with a plus are added to another method: ll-r+boostlu",
    ),
    "data": _Listed(
        "data sets, and how to name your own", partial(_parts, "data"),
        "name, title, what, example",
    ),
    "formats": _Listed("label file formats", partial(_parts, "formats"), "name, title, what"),
    "figures": _Listed(
        "figures of comparisons and analyses", partial(_parts, "figures"), "name, title, what"
    ),
    "prices": _Listed("price lists for questions", _prices, "name, as of, age, title"),
    "protocols": _Listed(
        "fine-tuning settings of the papers", _protocols, "name, paper, backbone, px, epochs",
        "epochs 25 + 10: first the head alone, then the whole network",
    ),
    "backbones": _Listed(
        "networks that compute features", _backbones, "name, features, px, parameters, weights",
        "timm:NAME is a network of timm (pip install timm), such as timm:vit_small_patch14_dinov2\n"
        "or timm:hf-hub:OWNER/NAME; weights: FILE, pretrained (a download) or random",
    ),
    "grid": _Listed("fields of a grid for simkit compare", _grid, "name, default, meaning",
                    "fields in brackets are tables with fields of their own"),
    "columns": _Listed(
        "columns of the result table of simkit compare", _columns, "name, type, meaning"
    ),
}  # fmt: skip
