"""List schemes, methods, data sets, formats, prices and more."""

from __future__ import annotations

import importlib
import inspect
import re
from datetime import date
from typing import Any

import click

from simkit.cli import params
from simkit.cli.output import print_json, say, table, width
from simkit.cli.settings import settings, spelled
from simkit.errors import unknown

LISTS = {
    "schemes": "annotation schemes",
    "methods": "training methods for partial labels",
    "data": "data sets, and how to name your own",
    "formats": "label file formats",
    "figures": "figures of comparisons and analyses",
    "prices": "price lists for questions",
    "protocols": "fine-tuning settings of the papers",
    "backbones": "networks that compute features",
    "grid": "fields of a grid for simkit compare",
    "columns": "columns of the result table of simkit compare",
}
_UNSEEN = {  # columns that only the details of a row have
    "methods": ("what", "memory", "bytes", "wraps"),
    "figures": ("draws",),
    "protocols": ("training", "left out"),
    "backbones": ("about",),
}
_WIDE = 120  # columns of a terminal in which a row of all parts is readable
_NARROW = 80  # columns below which papers are left out
_NUMBERS = ("epochs", "px", "features", "parameters")


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    known = params.names(ctx.params["what"]) if param.name == "name" else LISTS
    return [word for word in known if word.startswith(incomplete)]


@click.command(epilog="Example: simkit list methods csl")
@click.argument("what", metavar="[WHAT]", required=False, shell_complete=_complete)
@click.argument("name", required=False, shell_complete=_complete)
@params.json
def command(what: str | None, name: str | None) -> None:
    """List schemes, methods, data sets, formats, price lists and more.

    WHAT is schemes, methods, data, formats, figures, prices, protocols, backbones, grid or columns;
    without it, the lists are listed. With a NAME from one of them: what it does, and every setting
    with its default and meaning.
    """
    if what is None:
        print_json({"lists": LISTS})
        table(["list", "of"], [list(row) for row in LISTS.items()], words=(0, 1))
        say("\n`simkit list schemes` shows a list, `simkit list schemes fpc` one entry")
        return
    what = what.lower()
    if what not in LISTS:
        raise unknown("list", what, LISTS)
    rows = _rows(what)
    if name is None:
        print_json({what: rows})
        _print(what, rows)
    else:
        row = _detailed(what, name, rows)
        print_json(row)
        _print_detail(row)


def _rows(what: str) -> list[dict[str, Any]]:
    if what in params.REGISTRIES:
        return _parts(what)
    if what == "prices":
        return _prices()
    if what == "protocols":
        return _protocols()
    if what == "backbones":
        from simkit.embed.backbones import outlines

        return outlines()
    if what == "grid":
        return _grid()
    from simkit.results.runs import COLUMNS

    return [
        {"name": name, "type": str(column.type), "meaning": column.meaning}
        for name, column in COLUMNS.items()
    ]


def _detailed(what: str, name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One row with its details; its name as in a grid will do: `+boostlu`, `[train]`."""
    name = name.lstrip("+").partition("(")[0].strip(" []")
    by_name = {row["name"].lower(): row for row in rows}
    if name.lower() not in by_name:
        raise unknown(f"name in {what!r}", name, [row["name"] for row in rows])
    row = by_name[name.lower()]
    if what in params.REGISTRIES:
        part = importlib.import_module(params.REGISTRIES[what]).get(row["name"])
        about = inspect.cleandoc(part.__doc__ or "")
        return row | {"about": about, "settings": list(map(vars, settings(part)))}
    if what == "prices":
        return row | _rates(row["name"])
    if what == "grid" and row["name"] in _tables():
        return row | {"settings": list(map(vars, settings(_tables()[row["name"]])))}
    return row


def _print(what: str, rows: list[dict[str, Any]]) -> None:
    columns = [column for column in rows[0] if column not in _UNSEEN.get(what, ())]
    if what in params.REGISTRIES and width() < _WIDE:  # a line each
        about = next(name for name in ("gist", "what", "title") if name in columns)
        shown = ("name", about, "scaled by", "paper" if width() >= _NARROW else "")
        columns = [name for name in shown if name in columns]
        if what == "methods":
            rows = [row | {"paper": _authors(row["paper"])} for row in rows]
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    for line, row in zip(cells, rows, strict=True):
        line[0] = _name(row)
    words = [place for place, name in enumerate(columns) if name not in _NUMBERS]
    long = next((name for name in ("what", "paper") if name in columns), None)
    table(columns, cells, words=words, cut=None if long is None else columns.index(long))
    if what == "methods":
        wrappers = ", ".join(row["name"] for row in rows if row["wraps"])
        say(f"\n{wrappers} are added to another method with a plus: ll-r+boostlu")
    if what == "protocols":
        say("\nepochs 25 + 10: first the head alone, then the whole network")
    if what == "grid":
        say(f"\n`simkit list grid train` shows [train]; also {', '.join(_tables())}")
    else:
        say(f"\n`simkit list {what} {rows[0]['name']}` shows the details of one")
    if what == "backbones":
        from simkit.embed.networks import ABOUT

        say(ABOUT)


def _authors(paper: str) -> str:
    """Authors and year of a paper: "Cole et al. 2021"."""
    found = re.match(r"(.+? et al\.|[^,;]+? & \w+),? .*?(\d{4})", paper)
    return " ".join(found.groups()) if found else re.split("[,;]", paper)[0]


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _name(row: dict[str, Any]) -> str:
    return f"+{row['name']}" if row.get("wraps") else str(row["name"])


def _print_detail(row: dict[str, Any]) -> None:
    if "memory" in row:
        from simkit.learn.method_info import COCO_WORDS

        row = row | {"memory": f"{row['memory']} at COCO's size ({COCO_WORDS})"}
    say(f"{_name(row)}: {row['title']}" if "title" in row else _name(row))
    if row.get("about"):
        say(f"\n{row['about']}")
    say()
    for key, value in row.items():
        if key not in ("name", "title", "what", "about", "settings", "wraps", "bytes") and value:
            say(f"{key}: {', '.join(value) if isinstance(value, list) else value}")
    if row.get("settings"):
        say()
        cells = [
            [s["name"], "(needed)" if s["needed"] else spelled(s["default"]), s["meaning"]]
            for s in row["settings"]
        ]
        table(["setting", "default", "meaning"], cells, words=(0, 1, 2))
    elif "settings" in row:
        say("no settings")


def _parts(what: str) -> list[dict[str, Any]]:
    package = importlib.import_module(params.REGISTRIES[what])
    rows = []
    for name in package.names():
        part = package.get(name)
        summary = (part.__doc__ or "").strip().partition("\n")[0]
        row = {"name": name, "title": part.title, "what": summary}
        for key in ("source", "amount", "example"):
            if hasattr(part, key):
                row["scaled by" if key == "amount" else key] = getattr(part, key) or "images"
        if what == "figures":
            row["draws"] = f"what {part.made_by} returns"
        if what == "methods":
            from simkit.learn import method_info as catalogue

            method = catalogue.plain(part)
            row |= {
                "gist": method.gist,
                "needs": catalogue.needs(method),
                "memory": catalogue.memory(method),
                "bytes": catalogue.training_bytes(method, catalogue.COCO),
                "wraps": hasattr(method, "inner"),
                "paper": row.pop("source"),
            }
        rows.append(row)
    return rows


def _prices() -> list[dict[str, Any]]:
    """The price lists with the date of their numbers, and their age."""
    from simkit.annotate.prices import preset, presets

    rows = []
    for name in presets():
        listed = preset(name)
        age = f"{date.today().year - int(listed.as_of[:4])} years" if listed.as_of else "unknown"
        rows.append({"name": name, "as of": listed.as_of, "age": age, "title": listed.title})
    return rows


def _rates(name: str) -> dict[str, str]:
    """What a price list asks for one unit of each kind of work, in words."""
    from simkit.annotate.prices import preset

    chosen = preset(name)
    rates = {"ended": chosen.ended} if chosen.ended else {}
    rates["people for a question"] = str(chosen.workers)
    if chosen.wage is not None:
        rates["wage"] = f"${chosen.wage:,.2f} an hour; {chosen.wage_source}"
    for kind, rate in chosen.rates.items():
        amounts = [f"${rate.dollars:g}"] if rate.dollars is not None else []
        amounts += [f"{rate.seconds:g} s"] if rate.seconds is not None else []
        unit = f"page of {rate.page}" if rate.per == "page" else rate.per
        rates[f"to {kind}"] = f"{' and '.join(amounts)} for each {unit}; {rate.source}"
    rates["a machine's scores"] = f"${chosen.machine:g} for each image; {chosen.machine_source}"
    return rates


def _protocols() -> list[dict[str, Any]]:
    from simkit.learn.protocols import names, protocol, summary

    rows = []
    for each in map(protocol, names()):
        epochs = (each.settings.head_epochs, each.settings.epochs)
        rows.append({
            "name": each.name,
            "paper": each.source,
            "backbone": each.backbone,
            "px": each.size,
            "epochs": " + ".join(str(number) for number in epochs if number),
            "training": summary(each),
            "left out": each.left_out,
        })  # fmt: skip
    return rows


def _grid() -> list[dict[str, Any]]:
    """A row for each field; defaults are spelled as TOML has them."""
    from simkit.study.grid import Grid
    from simkit.toml import toml

    rows = []
    for field in settings(Grid):
        default = "(needed)" if field.needed else toml(field.default)
        if field.name in ("features", *_tables()):
            default = f"[{field.name}]"
        rows.append({"name": field.name, "default": default, "meaning": field.meaning})
    return rows


def _tables() -> dict[str, type[Any]]:
    """The fields of a grid that have settings of their own."""
    from simkit.annotate.annotators import Habits
    from simkit.learn.optim import Settings
    from simkit.study.grid import Pictures, Tuning

    return {"train": Settings, "pictures": Pictures, "habits": Habits, "tuning": Tuning}
