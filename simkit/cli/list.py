"""`simkit list`: what there is to choose from."""

from __future__ import annotations

import importlib
from typing import Any

import click

from simkit.cli.detail import detail, print_detail
from simkit.cli.grid_fields import fields, inside
from simkit.cli.report import print_json, table, width
from simkit.errors import unknown

REGISTRIES = {
    "schemes": "simkit.annotate.schemes",
    "methods": "simkit.learn.methods",
    "data": "simkit.data",
    "formats": "simkit.labels.formats",
    "figures": "simkit.study.figures",
}
LISTS = {
    "schemes": "ways to ask people for labels",
    "methods": "ways to train on what they said",
    "data": "data sets, and how to name your own",
    "formats": "label files that are read and written",
    "figures": "what can be drawn",
    "prices": "what a question costs",
    "protocols": "how the papers fine-tuned",
    "backbones": "networks that look at pictures",
    "grid": "fields of a grid for simkit compare",
    "columns": "columns of the table that simkit compare leaves",
}
# With them no terminal is wide enough; what a method does is shown from _WIDE columns on.
_UNSEEN = {
    ("methods", "bytes"), ("methods", "wraps"), ("methods", "processes"), ("protocols", "training"),
    ("protocols", "left out"), ("backbones", "about"), ("figures", "draws"),
}  # fmt: skip
_WIDE = 160
# What a narrow terminal can do without, first to last, so that words stay whole.
_SPARE = (
    "scaled by", "source", "example", "memory", "needs", "backbone", "parameters", "px", "epochs",
    "type", "title",
)  # fmt: skip
_LEAST = 13  # columns of a terminal that a column of words needs
_ONE = {"data": "data set", "prices": "price list", "grid": "field of a grid"}


@click.command(epilog="Example: simkit list methods csl")
@click.argument("what", metavar="[WHAT]", required=False)
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(what: str | None, name: str | None, as_json: bool) -> None:
    """List what there is to choose from.

    WHAT is schemes, methods, data, formats, figures, prices, protocols, backbones, grid or columns;
    without it, the lists are listed. With a NAME from one of them: what it does, and every setting
    with its default and meaning.
    """
    if what is None:
        _lists(as_json)
        return
    if what not in LISTS:
        raise unknown("list", what, LISTS)
    others = {
        "prices": _prices, "protocols": _protocols, "backbones": _backbones, "grid": fields,
        "columns": _columns,
    }  # fmt: skip
    rows = others[what]() if what in others else _parts(what)
    if name is not None:
        _one(what, name, rows, as_json)
    elif as_json:
        print_json({what: rows})
    else:
        _print(what, rows)


def _lists(as_json: bool) -> None:
    if as_json:
        print_json({"lists": LISTS})
        return
    table(["list", "of"], [[name, told] for name, told in LISTS.items()], words=(0, 1), whole=(0,))
    click.echo("\n`simkit list schemes` shows one, `simkit list schemes fpc` one of its rows")


def _one(what: str, name: str, rows: list[dict[str, Any]], as_json: bool) -> None:
    """One of a list in detail; its name as in a grid will do: `+boostlu`, `[train]`."""
    name = name.lstrip("+").partition("(")[0].strip(" []")
    found = next((row for row in rows if row["name"] == name), None)
    if found is None:
        raise unknown(_ONE.get(what, what.removesuffix("s")), name, [row["name"] for row in rows])
    registry = REGISTRIES.get(what)
    if registry:
        found = found | detail(importlib.import_module(registry).get(name))
    more = {"prices": _rates, "grid": inside}
    if what in more:
        found = found | more[what](name)
    if as_json:
        print_json(found)
    else:
        print_detail(found)


def _print(what: str, rows: list[dict[str, Any]]) -> None:
    unseen = _UNSEEN | ({("methods", "what")} if width() < _WIDE else set())
    columns = [column for column in rows[0] if (what, column) not in unseen]
    columns = _fitting(columns, rows)
    cells = [[_cell(row[c]) for c in columns] for row in rows]
    if what == "methods":
        for line, row in zip(cells, rows, strict=True):
            line[0] = f"+{line[0]}" if row["wraps"] else line[0]
    whole = [columns.index(c) for c in ("name", "memory") if c in columns]
    numbers = ("epochs", "px", "features", "parameters")
    words = [place for place, name in enumerate(columns) if name not in numbers]
    table(columns, cells, words=words, whole=whole)
    if what == "methods":
        from simkit.learn.catalogue import COCO_WORDS

        wrappers = ", ".join(row["name"] for row in rows if row["wraps"])
        alone = ", ".join(row["name"] for row in rows if row["processes"] == "one")
        click.echo(
            f"\nmemory: what one run keeps besides the model, at COCO's size ({COCO_WORDS})\n"
            f"{wrappers} go around another method, behind a plus: ll-r+boostlu\n"
            f"{alone} keep a state for each image, so that one process alone can train them"
        )
    if what == "protocols":
        click.echo("\nepochs 25 + 10: the head learns alone at first")
    more = {
        "protocols": "all settings of one, and what it leaves out of its paper",
        "backbones": "what one is, and which weights it takes",
        "grid": "the settings of [train]; also habits, pictures, tuning",
    } | dict.fromkeys(REGISTRIES, "one with its settings")
    if what in more:
        name = "train" if what == "grid" else rows[0]["name"]
        click.echo(f"\n`simkit list {what} {name}` shows {more[what]}")


def _fitting(columns: list[str], rows: list[dict[str, Any]]) -> list[str]:
    """Those for which the terminal is wide enough; the first says what a row is, and stays."""
    longest = {c: max(len(_cell(row[c])) for row in rows) for c in columns}
    for spare in _SPARE:
        needed = longest[columns[0]] + sum(2 + min(longest[c], _LEAST) for c in columns[1:])
        if needed <= width() or len(columns) == 2:
            break
        columns = [c for c in columns if c != spare]
    return columns


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _parts(what: str) -> list[dict[str, Any]]:
    package = importlib.import_module(REGISTRIES[what])
    rows = []
    for name in package.names():
        part = package.get(name)
        told = (part.__doc__ or "").strip().splitlines()
        row = {"name": name, "title": part.title, "what": told[0] if told else ""}
        for more in ("source", "amount", "example"):
            if hasattr(part, more):
                row["scaled by" if more == "amount" else more] = getattr(part, more) or "images"
        if what == "figures":
            row["draws"] = f"what {part.made_by} returns"
        if what == "methods":
            row |= {**_training(part), "paper": row.pop("source")}
        rows.append(row)
    return rows


def _training(part: type[Any]) -> dict[str, Any]:
    from simkit.learn import catalogue

    method = catalogue.plain(part)
    return {
        "needs": catalogue.needs(method),
        "memory": catalogue.memory(method),
        "bytes": catalogue.training_bytes(method, catalogue.COCO),
        "wraps": hasattr(method, "inner"),
        "processes": "one" if method.per_image else "several",
    }


def _prices() -> list[dict[str, Any]]:
    from simkit.annotate.prices import presets, prices

    return [{"name": name, "title": prices(name).title} for name in presets()]


def _rates(name: str) -> dict[str, str]:
    """What a price list asks for one unit of each kind of work, in words."""
    from simkit.annotate.prices import prices

    given = prices(name)
    told = {"people for a question": str(given.workers)}
    if given.wage is not None:
        told["wage"] = f"${given.wage:,.2f} an hour; {given.wage_source}"
    for kind, rate in given.rates.items():
        amounts = [f"${rate.dollars:g}"] if rate.dollars is not None else []
        amounts += [f"{rate.seconds:g} s"] if rate.seconds is not None else []
        unit = f"page of {rate.page}" if rate.per == "page" else rate.per
        told[f"to {kind}"] = f"{' and '.join(amounts)} for each {unit}; {rate.source}"
    return told


def _protocols() -> list[dict[str, Any]]:
    from simkit.learn.protocols import names, protocol, summary

    return [
        {
            "name": one.name,
            "paper": one.source,
            "backbone": one.backbone,
            "px": one.size,
            "epochs": " + ".join(
                str(epochs) for epochs in (one.settings.head_epochs, one.settings.epochs) if epochs
            ),
            "training": summary(one),
            "left out": one.left_out,
        }
        for one in map(protocol, names())
    ]


def _backbones() -> list[dict[str, Any]]:
    from simkit.embed.outlines import outlines

    return outlines()


def _columns() -> list[dict[str, Any]]:
    from simkit.study.runs import COLUMNS

    return [
        {"name": name, "type": str(one.type), "meaning": one.meaning}
        for name, one in COLUMNS.items()
    ]
