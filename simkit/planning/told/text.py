"""A document in a terminal."""

from __future__ import annotations

import textwrap

from simkit.planning.told.document import Document, Section, Table

WIDEST = 100  # columns of running text, however wide the terminal is
_GAP = "  "
_WORD = 16  # letters of a word in a table that are kept together


def render(document: Document, *, width: int = 100) -> str:
    """As plain text in so many columns; warnings stand first. Ends without a line break."""
    wide = min(width, WIDEST)
    parts = [_underlined(document.title, wide, "=")]
    parts += [_wrapped(f"WARNING: {text}", wide) for text in document.warnings]
    parts += [_wrapped(document.lead, wide)]
    for section in document.sections:
        parts += _section(section, width, wide)
    return "\n\n".join(parts)


def _section(section: Section, width: int, wide: int) -> list[str]:
    parts = [_wrapped(text, wide) for text in section.lines]
    if section.table is not None and section.table.rows:
        parts.append(table(section.table, width=width))
    if section.items:
        parts.append("\n".join(_wrapped(item, wide, "- ") for item in section.items))
    if section.code:
        parts.append(textwrap.indent(section.code, "    "))
    parts += [_wrapped(note, wide) for note in section.notes]
    first = _underlined(section.title, wide, "-") + ("\n" + parts[0] if parts else "")
    return [first, *parts[1:]]


def table(drawn: Table, *, width: int) -> str:
    """Columns side by side, words folded; one below the other where the terminal is too narrow."""
    sizes = _sizes(drawn, width)
    if not sizes:
        return _records(drawn, width)
    lines = []
    for row in (drawn.columns, *drawn.rows):
        cells = [_folded(cell, size) for cell, size in zip(row, sizes, strict=True)]
        height = max(map(len, cells))
        # Headings stand on the line, cells hang from it.
        up = row is drawn.columns
        full = [[""] * (height - len(c)) + c if up else c + [""] * (height - len(c)) for c in cells]
        for line in zip(*full, strict=True):
            parts = (
                text.ljust(size) if place in drawn.words else text.rjust(size)
                for place, (text, size) in enumerate(zip(line, sizes, strict=True))
            )
            lines.append(_GAP.join(parts).rstrip())
    return "\n".join(lines)


def _sizes(drawn: Table, width: int) -> list[int]:
    """Letters for each column, the widest made narrower until all fit; none where they cannot."""
    columns = list(zip(drawn.columns, *drawn.rows, strict=True))
    sizes = [max(map(len, cells)) for cells in columns]
    least = [_least(drawn, place) for place in range(len(columns))]
    room = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > room:
        return []
    while sum(sizes) > room:
        spare = [size if size > low else 0 for size, low in zip(sizes, least, strict=True)]
        sizes[spare.index(max(spare))] -= 1
    return sizes


def _folded(cell: str, size: int) -> list[str]:
    return textwrap.wrap(cell, size, break_on_hyphens=False) or [""]


def _least(drawn: Table, place: int) -> int:
    """Letters that a column needs: numbers stay whole, words and headings unless they are long."""
    cells = [row[place] for row in drawn.rows]
    heading = drawn.columns[place].split()
    words = [word for cell in cells for word in cell.split()]
    if place in drawn.words:
        return min(max(map(len, words + heading), default=1), _WORD)
    return max(*map(len, cells), *map(len, heading), 1)


def _records(drawn: Table, width: int) -> str:
    """Each row as lines of its own, named by the columns."""
    rows = []
    for row in drawn.rows:
        named = zip(drawn.columns, row, strict=True)
        first, *rest = (f"{name}: {cell}" for name, cell in named if cell)
        rows += [_wrapped(first, width), *(_wrapped(one, width, "  ") for one in rest)]
    return "\n".join(rows)


def _underlined(title: str, wide: int, line: str) -> str:
    text = _wrapped(title, wide)
    return f"{text}\n{line * max(map(len, text.splitlines()), default=0)}"


def _wrapped(text: str, wide: int, mark: str = "") -> str:
    return textwrap.fill(
        text,
        width=max(wide, 20),
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
