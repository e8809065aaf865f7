"""A document as Markdown, for a repository or an issue."""

from __future__ import annotations

import re

from simkit.planning.told.document import Document, Section, Table

# What would be read as a mark, wherever it stands; "<" and "&" would begin HTML.
_CODE = re.compile(r"`([^`|]+)`")
_MARKS = re.compile(r"([\\`*_\[\]<>&|#~$])")


def render(document: Document) -> str:
    """As Markdown with tables in the widespread pipe form. Ends with a line break."""
    parts = [f"# {_plain(document.title)}"]
    parts += [f"> **Warning:** {_plain(text)}" for text in document.warnings]
    parts += [f"**{_plain(document.lead)}**"]
    for section in document.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {_plain(section.title)}", *(_plain(text) for text in section.lines)]
    if section.table is not None and section.table.rows:
        parts.append(_table(section.table))
    if section.items:
        parts.append("\n".join(f"- {_plain(item)}" for item in section.items))
    if section.code:
        parts.append("    " + "\n    ".join(section.code.splitlines()))
    return [*parts, *(f"*{_plain(note)}*" for note in section.notes)]


def _table(table: Table) -> str:
    rules = ("---" if place in table.words else "---:" for place in range(len(table.columns)))
    rows = [table.columns, tuple(rules), *(tuple(map(_cell, row)) for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    return _plain(text) or " "


def _plain(text: str) -> str:
    """`text` as it is read: one line, no marks, but for what stands between backticks as code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        f"`{part}`" if place % 2 else _MARKS.sub(r"\\\1", part) for place, part in enumerate(parts)
    )
