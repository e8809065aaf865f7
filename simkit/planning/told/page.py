"""A document as one page of HTML that needs nothing from elsewhere: style and chart stand in it."""

from __future__ import annotations

import re
from html import escape

from simkit.planning.told.document import Document, Section, Table

# Every rule is about what stands inside .simkit-plan, so that a notebook keeps its own look. On a
# phone the cells of wide tables stand one below the other, so that nothing is cut off.
_STYLE = """
.simkit-plan { color: #1a1a1a; background: #fff; max-width: 46rem; margin: 0 auto; padding: 1rem;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere; text-align: left; box-sizing: border-box; }
.simkit-plan h1 { font-size: 1.45rem; line-height: 1.25; margin: 0 0 1rem; color: inherit; }
.simkit-plan h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-top: .5rem;
  border-top: 1px solid #bbb; color: inherit; }
.simkit-plan p, .simkit-plan ul { margin: .5rem 0; }
.simkit-plan .lead { font-size: 1.15rem; font-weight: 600; border-left: .4rem solid #0072B2;
  padding: .4rem 0 .4rem .8rem; margin: 1rem 0; }
.simkit-plan .warning { border: 2px solid #a00; padding: .5rem .8rem; margin: .75rem 0;
  background: #fff4f2; }
.simkit-plan .scroll { overflow-x: auto; margin: .5rem 0; }
.simkit-plan table { border-collapse: collapse; min-width: 100%; font-size: .92rem; color: inherit;
  background: #fff; overflow-wrap: normal; }
.simkit-plan th, .simkit-plan td { padding: .3rem .6rem .3rem 0; vertical-align: top;
  text-align: right; border-bottom: 1px solid #ddd; color: inherit; background: #fff; }
.simkit-plan th { border-bottom: 2px solid #555; vertical-align: bottom; font-weight: 600; }
.simkit-plan .word { text-align: left; min-width: 7em; white-space: normal; }
.simkit-plan .number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.simkit-plan th.number { white-space: normal; }
.simkit-plan .total td { border-top: 2px solid #555; font-weight: 600; }
.simkit-plan pre { white-space: pre; overflow-x: auto; background: #f2f2f2; color: inherit;
  padding: .6rem; font-size: .88rem; border: 1px solid #ddd; margin: .5rem 0; }
.simkit-plan .note { color: #444; font-size: .9rem; }
.simkit-plan figure { margin: .5rem 0; }
.simkit-plan figure > svg, .simkit-plan figure > img { width: 100%; height: auto; display: block;
  background: #fff; }
.simkit-plan svg text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  fill: #1a1a1a; }
.simkit-plan svg .strong { font-weight: 700; paint-order: stroke; stroke: #fff; stroke-width: 4px; }
.simkit-plan svg .grid { stroke: #ddd; stroke-width: 1; }
.simkit-plan svg .tick { stroke: #1a1a1a; stroke-width: 1; }
.simkit-plan svg .budget { stroke: #1a1a1a; stroke-width: 1.6; }
.simkit-plan svg .pilot { stroke: #555; stroke-width: 1.2; stroke-dasharray: 3 3; }
.simkit-plan svg line.choice { stroke: #1a1a1a; stroke-width: 2.5; }
.simkit-plan svg circle.choice { fill: #fff; stroke: #1a1a1a; stroke-width: 3; }
.simkit-plan .legend { list-style: none; padding: 0; font-size: .92rem; }
.simkit-plan .key { width: 44px; height: 14px; vertical-align: middle; }
@media (max-width: 36rem) {
  .simkit-plan .wide, .simkit-plan .wide tbody, .simkit-plan .wide tr, .simkit-plan .wide td {
    display: block; min-width: 0; text-align: left; }
  .simkit-plan .wide thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%); }
  .simkit-plan .wide tr { border-bottom: 1px solid #999; padding: .3rem 0; }
  .simkit-plan .wide td { display: flex; gap: .8rem; border: 0; padding: 0; white-space: normal; }
  .simkit-plan .wide td::before { content: attr(data-column); flex: 0 0 42%; color: #444; }
  .simkit-plan pre { white-space: pre-wrap; }
}
@media print {
  .simkit-plan { max-width: none; padding: 0; font-size: 10.5pt; }
  .simkit-plan .scroll { overflow: visible; }
  .simkit-plan table, .simkit-plan svg, .simkit-plan pre { break-inside: avoid; }
  .simkit-plan h2 + p, .simkit-plan section > p:has(+ .scroll) { break-after: avoid; }
  .simkit-plan section > p:last-child { break-after: auto; }
  .simkit-plan th, .simkit-plan td { padding-top: .15rem; padding-bottom: .15rem; }
  .simkit-plan .legend li { display: inline-block; margin-right: 1.5rem; }
  .simkit-plan h2 { break-after: avoid; }
  .simkit-plan .number { white-space: normal; }
  .simkit-plan figure > svg, .simkit-plan figure > img { width: auto; max-width: 100%;
    max-height: 6.5cm; }
  .simkit-plan pre { white-space: pre-wrap; }
}
"""
_CODE = re.compile(r"`([^`]+)`")
WIDE = 4  # columns from which on a table does not fit a phone
# A page of its own may load nothing at all, whatever stands in it.
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>html, body {{ margin: 0; background: #fff; }} @page {{ margin: 15mm; }}</style>
</head>
<body>
"""


def page(told: Document, *, name: str, figure: str = "") -> str:
    """A whole page, to be opened from disk. Everything in the document is escaped.

    name: what ids begin with;  figure: HTML, as it is, where the document has its chart.
    """
    inside = fragment(told, name=name, figure=figure)
    return f"{_HEAD.format(title=escape(told.title))}{inside}</body>\n</html>\n"


def fragment(told: Document, *, name: str, figure: str = "") -> str:
    """The same as a part of another page, such as a notebook; its style holds inside it only."""
    parts = [
        f'<div class="simkit-plan">\n<style>{_STYLE}</style>',
        f"<h1>{escape(told.title)}</h1>",
    ]
    parts += [
        f'<p class="warning"><strong>Warning:</strong> {_inline(text)}</p>'
        for text in told.warnings
    ]
    parts.append(f'<p class="lead">{_inline(told.lead)}</p>')
    for place, section in enumerate(told.sections):
        parts.append(_section(section, f"{name}-{place}", figure if section.chart else ""))
    return "\n".join([*parts, "</div>\n"])


def _inline(text: str) -> str:
    """Escaped, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _section(section: Section, name: str, figure: str) -> str:
    parts = [f'<section aria-labelledby="{name}">', f'<h2 id="{name}">{escape(section.title)}</h2>']
    parts += [f"<p>{_inline(text)}</p>" for text in section.lines]
    if section.table is not None and section.table.rows:
        parts.append(_table(section.table, section.title))
    if section.items:
        parts.append(f"<ul>{''.join(f'<li>{_inline(item)}</li>' for item in section.items)}</ul>")
    if section.code:
        parts.append(f"<pre>{escape(section.code)}</pre>")
    parts += [f'<p class="note">{_inline(note)}</p>' for note in section.notes]
    return "\n".join([*parts, *([figure] if figure else []), "</section>"])


def _table(table: Table, title: str) -> str:
    kinds = ["word" if place in table.words else "number" for place in range(len(table.columns))]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(name)}</th>'
        for kind, name in zip(kinds, table.columns, strict=True)
    )
    rows = []
    for place, row in enumerate(table.rows):
        cells = "".join(
            f'<td class="{kind}" data-column="{escape(name)}">{_inline(cell)}</td>'
            for name, kind, cell in zip(table.columns, kinds, row, strict=True)
        )
        last = table.total and place == len(table.rows) - 1
        rows.append(f"<tr{' class=total' if last else ''}>{cells}</tr>")
    return (
        f'<div class="scroll" role="region" aria-label="{escape(title)}" tabindex="0">'
        f"<table{' class=wide' if len(kinds) >= WIDE else ''}>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
