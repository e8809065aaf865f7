"""Any text, as names of classes and files may be, spelled so that a card's reader gets it back.

Markdown is GitHub's (github.github.com/gfm), with its dollar signs for formulas; every function
gives one line, but for `fenced`.
"""

from __future__ import annotations

import json
import re

# A backslash before any of these is none of the text; "_" inside a word is a plain letter, and "#"
# means something at the end of a heading.
_MARKS = re.compile(r"[\\`*<&|~$]|(?<![^\W_])_|_(?![^\W_])|(?<=\])[(\[]|(?<![^ ])#(?=#*$)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def line(text: str) -> str:
    """On one line, white space as single blanks."""
    return " ".join(text.split())


def prose(text: str) -> str:
    """Markdown inside a line: of a sentence, a heading behind its #, a list item, a cell."""
    return _escaped(line(text))


def spans(text: str) -> str:
    """Markdown of a sentence of our own: what stands between two ` is a code span."""
    parts = re.split("(`[^`]+`)", line(text))
    return "".join(part if n % 2 else _escaped(part) for n, part in enumerate(parts))


def _escaped(line: str) -> str:
    return _MARKS.sub(lambda mark: "\\" + mark.group(), line)


def read(prose: str) -> str:
    """The line of text that `prose` spelled so."""
    return _ESCAPED.sub(r"\1", prose)


def code(text: str) -> str:
    """Markdown of a code span; not for a table, where a code span may hold no |."""
    inside, ticks = line(text), "`" * (_longest(text) + 1)
    blank = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{ticks}{blank}{inside}{blank}{ticks}"


def fenced(kind: str, text: str) -> str:
    """Markdown of a block of code, as it is."""
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{kind}\n{text}\n{ticks}"


def quoted(text: str) -> str:
    """A YAML string in double quotes; JSON's is one, but for letters that YAML wants escaped."""
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]",
        lambda odd: f"\\u{ord(odd.group()):04x}",
        json.dumps(text, ensure_ascii=False),
    )


def _longest(text: str) -> int:
    """Backticks in a row."""
    return max(map(len, re.findall("`+", text)), default=0)
