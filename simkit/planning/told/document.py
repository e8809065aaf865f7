"""A document for people: headings, sentences and tables, before it is known who shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows under columns; the columns at `words` hold words, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)
    total: bool = False  # the last row is the sum of the others


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, in this order.

    lines  paragraphs;  chart  whether the chart stands here, where there can be one.
    items  a list;  code  lines of a shell;  notes  small print below.
    """

    title: str
    lines: tuple[str, ...] = ()
    chart: bool = False
    table: Table | None = None
    items: tuple[str, ...] = ()
    code: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """A title, what to be warned of before anything else, the answer in a sentence, sections."""

    title: str
    lead: str
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
