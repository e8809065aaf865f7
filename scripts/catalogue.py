"""Write the catalogue, docs/catalogue.md, from the registries, and the names of columns in data.md.

python scripts/catalogue.py
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterable
from pathlib import Path

from simkit.labels import cells, tables

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
DATA = PAGE.with_name("data.md")
BEGIN, END = "<!-- written by python scripts/catalogue.py -->\n", "<!-- end -->\n"
OPENING = (
    "Schemes decide which labels are bought; methods train on partial labels. `simkit list` prints "
    "the same tables, and `simkit list methods csl` explains the settings of one method."
)
KINDS = {
    "scheme": "simkit.annotate.schemes",
    "method": "simkit.learn.methods",
    "data set": "simkit.data",
    "label format": "simkit.labels.formats",
}


def catalogue() -> str:
    """Markdown: one table for each kind of part, one row for each part."""
    lines = ["<!-- written by python scripts/catalogue.py -->", "# Catalogue", "", OPENING, ""]
    for kind, package in KINDS.items():
        lines += [f"## {kind.capitalize()}s", ""]
        lines += _methods() if kind == "method" else _table(kind, package)
    return "\n".join(lines)


def _methods() -> Iterable[str]:
    """What methods need and keep in the table; their many settings fold away below it."""
    from simkit.learn.method import COCO_WORDS, in_units, needs_in_words, plain, training_bytes
    from simkit.learn.methods import get, names

    yield "| method | description | needs | memory | source |"
    yield "|---|---|---|---|---|"
    for name in names():
        method = plain(get(name))
        needs = ", ".join(needs_in_words(method))
        row = f"| `{name}` | {_what(get(name))} | {needs} | {in_units(training_bytes(method))} |"
        yield f"{row} {method.source} |"
    yield ""
    yield f"Memory: state of one run besides the model, at the size of COCO ({COCO_WORDS})."
    yield ""
    yield "### Settings of the methods"
    yield ""
    for name in names():
        if settings := _settings(get(name)):
            yield f"- `{name}`: {settings}"
    yield ""


def _table(kind: str, package: str) -> Iterable[str]:
    parts = importlib.import_module(package)
    sourced = hasattr(parts.get(parts.names()[0]), "source")
    yield f"| {kind} | what it is | settings |" + (" source |" if sourced else "")
    yield "|---|---|---|" + ("---|" if sourced else "")
    for name in parts.names():
        part = parts.get(name)
        row = f"| `{name}` | {_what(part)} | {_settings(part)} |"
        yield row + (f" {part.source} |" if sourced else "")
    yield ""


def _what(part: type) -> str:
    """The title, and the first line of the docstring where it says more."""
    first = (part.__doc__ or "").strip().splitlines()[0].rstrip(".")
    if first[1:2].islower() or first[1:2] == " ":
        first = first[0].lower() + first[1:]
    return f"**{part.title}**: {first}" if first else f"**{part.title}**"


def _settings(part: type) -> str:
    fields = dataclasses.fields(part) if dataclasses.is_dataclass(part) else ()
    return ", ".join(f"`{_setting(f)}`" for f in fields if f.name != "inner")


def _setting(f: dataclasses.Field[object]) -> str:
    if f.default is dataclasses.MISSING:
        return f.name
    return f"{f.name}={f.default!r}" if f.default != "" else f.name


def words() -> str:
    """Markdown: the endings, words, units and names of columns that the reader of tables knows."""
    by_state: dict[int | None, list[str]] = {}
    for word, state in cells.PRESENCE.items():
        by_state.setdefault(state, []).append(word)
    usual = (f"`{first}` ({', '.join(more)})" for first, *more in tables.USUAL.values() if more)
    rows = {
        "Files": tables.ENDINGS,
        "Present": by_state[1], "Absent": by_state[0],
        "Unknown": ["the empty cell", *sorted(by_state[None])[1:]],
        "People who cannot decide": sorted(cells.UNSURE),
        "Units of time": cells.UNITS,
        "Separators in a cell, as between= takes them": cells.SEPARATORS.values(),
    }  # fmt: skip
    lines = [f"* **{name}**: {', '.join(values)}." for name, values in rows.items()]
    return "\n".join([*lines, f"* **Names of columns**: {'; '.join(usual)}.", ""])


def with_words(page: str) -> str:
    """The page with these words between its two marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{words()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    DATA.write_text(with_words(DATA.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(catalogue(), encoding="utf-8")
