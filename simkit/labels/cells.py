"""Cells of tables: presence, numbers, times, and several names in one."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput, counted
from simkit.labels.names import key, plain

Minus = Literal["", "absent", "unknown"]  # the meaning of -1 in a table that does not decide it

# -- presence -------------------------------------------------------------------------------------

_WORDS = {  # of each kind of spelling, those for present and for absent
    "number": ("1", "0"),
    "yes": ("yes y ja oui si sí sì tak sim", "no n nein non nee nie não"),
    "true": ("true t wahr richtig vrai verdadero vero waar prawda verdadeiro",
             "false f falsch faux falso onwaar fałsz"),
    "present": ("present x+ positive on", "absent x- negative off"),
}  # fmt: skip
_KINDS = {word: kind for kind, pair in _WORDS.items() for word in " ".join(pair).split()}
BLANK = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "none", "<na>", "nil", "?", "-", "–"))
PRESENCE = dict.fromkeys(BLANK) | {
    word: 1 - place for pair in _WORDS.values() for place in (0, 1) for word in pair[place].split()
}
"""1 present, 0 absent, None unknown; by the text of a cell in lower case. -1 is not among them."""
UNSURE = frozenset((
    "unsure", "maybe", "not sure", "uncertain", "unclear", "perhaps", "skip", "skipped", "?",
    "unknown", "don't know", "dont know", "can't tell", "cannot tell", "unsicher", "vielleicht",
    "weiß nicht", "peut-être", "incertain", "quizás", "no sé", "forse", "non so", "misschien",
    "onzeker", "talvez", "não sei", "może", "nie wiem", "unklar", "weiss nicht", "nicht sicher",
    "i don't know", "undecided",
))  # fmt: skip
"""Answers of people who cannot decide, in lower case; looked up before `PRESENCE`, with ? too."""
BOTH = (
    "column 'state' holds 0 in some rows and -1 in others, and only one of them can be absent; "
    "leave out the rows whose state is unknown, or write 0 as -1 if both are absent"
)
"""The refusal of a long table with both codings: simkit's codes are 1, -1 and 0 for unknown."""
_ONE = re.compile(r"([+-]?)0*([01])(?:[.,]0*)?")


def state(text: str) -> int | None:
    """1 for a cell that says present, 0 for absent, -1 for -1 and None for unknown.

    Raises
    ------
    KeyError
        For any other text.
    """
    lower = text.lower()
    if lower in PRESENCE:
        return PRESENCE[lower]
    if number := _ONE.fullmatch(lower):
        return -int(number[2]) if number[1] == "-" else int(number[2])
    raise KeyError(text)


def means_state(text: str) -> bool:
    """Whether the text of a cell says present, absent or unknown."""
    return text.lower() in PRESENCE or _ONE.fullmatch(text) is not None


NUMBERINGS = frozenset("id index imageid unnamed0 level0 row rowid no nr number".split())
"""Names of columns, as `key`, that may number the rows."""
_NO_CLASS = (
    frozenset(
        "set split subset partition fold train val valid test istrain isval isvalid istest comment "
        "comments note notes remark remarks reviewed checked verified done flagged skip ignore "
        "total sum any count difficult truncated occluded crowd iscrowd worker annotator user "
        "weight gold".split()
    )
    | NUMBERINGS
)
"""Names of columns, as `key`, that say something about an image and seldom are classes."""


def doubtful(columns: Mapping[str, Iterable[str]]) -> str:
    """A note on columns among those of classes that may be none, or "".

    columns: for each name, the different texts of its cells. A column is named if it spells
    presence otherwise than most columns do, if it is empty, or for its name.
    """
    texts = {
        name: [text for text in cells if text.lower() not in BLANK]
        for name, cells in columns.items()
    }
    kinds = {
        name: {_KINDS.get(text.lower(), "number") for text in cells}
        for name, cells in texts.items()
    }
    counts = Counter(chain.from_iterable(kinds.values()))
    if not counts:
        return ""
    usual = max(counts, key=counts.__getitem__)
    odd = [
        f"{name!r} has {cells[0]!r}" if cells and usual not in kinds[name]
        else repr(name) if cells else f"{name!r} is empty"
        for name, cells in texts.items()
        if usual not in kinds[name] or key(name) in _NO_CLASS
    ]  # fmt: skip
    what = "columns that count as classes and may be something else"
    return f"{what}: {counted(odd)}; remove those that are no classes" if odd else ""


def meaning_of_minus(states: Iterable[int | None], minus: Minus, option: str) -> int | None:
    """The state of -1 in a table: 0 absent or None unknown.

    Parameters
    ----------
    states : iterable of int or None
        The states of all cells of the table, each at least once, as `state` gives them.
    minus : {"", "absent", "unknown"}
        Its meaning if it is stated.
    option : str
        How to state it, for the message, such as "minus=".

    Returns
    -------
    int or None

    Raises
    ------
    BadInput
        If neither the table nor `minus` decides it: with -1 and without 0.
    """
    present = {*states}
    if minus not in ("", "absent", "unknown"):
        raise BadInput(f"{option}{minus} is not understood; absent or unknown is expected")
    if -1 not in present:
        return None
    if not minus and 0 not in present:
        raise BadInput(
            f"no cell is 0, so -1 may mean absent or unknown; add {option}absent or {option}unknown"
        )
    if minus == "absent" and 0 in present:
        raise BadInput(f"it has both 0 and -1, so {option}absent is wrong: -1 is unknown; leave "
                       "it out")  # fmt: skip
    return 0 if minus == "absent" else None


UNKNOWN = -2  # an unknown label, as long as -1 stands for a -1 whose meaning is open


def decide_minus(codes: NDArray[np.int8], minus: Minus) -> None:
    """Replace each -1 by 0 or `UNKNOWN`, in place, as `meaning_of_minus` decides for all codes."""
    minuses = codes == -1
    occurring = [*[0] * bool((codes == 0).any()), *[-1] * bool(minuses.any())]
    meaning = meaning_of_minus(occurring, minus, "minus=")
    codes[minuses] = UNKNOWN if meaning is None else meaning


# -- formulas -------------------------------------------------------------------------------------

_FORMULA = re.compile("^(?='*[=+@-])")  # to spreadsheets, or marked before
_MARKED = re.compile("^'(?='*[=+@-])")


def as_text(text: str) -> str:
    """The text of a cell that no spreadsheet computes: an apostrophe marks = + - and @ in front."""
    return _FORMULA.sub("'", text)


def unmarked(text: str) -> str:
    """The text that `as_text` marked."""
    return _MARKED.sub("", text)


# -- numbers and times -----------------------------------------------------------------------------


def parse_number(text: str) -> float:
    """A number as text, also as a percentage."""
    if text.endswith("%"):
        return float(text[:-1]) / 100
    if "_" in text:  # which Python would read
        raise ValueError
    value = float(text)
    if not np.isfinite(value):
        raise ValueError
    return value


UNITS = {
    "ms": 1e-3, "msec": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "sek": 1, "sekunden": 1,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60, "m": 60,
    "h": 3600, "hr": 3600, "hour": 3600, "hours": 3600,
}  # fmt: skip
_CLOCK = re.compile(r"(?:(\d+) days?,? )?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")


def parse_seconds(text: str, unit: float = 1) -> float:
    """A time as text: a number with a unit, or without it in `unit` seconds, or a clock."""
    if clock := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    parts = re.fullmatch(r"([^a-zA-Z]*?(?:e[+-]?\d+)?)\s*([a-zA-Z]*)\.?", text)
    if parts is None or parts[2].lower() not in ("", *UNITS):
        raise ValueError
    return parse_number(parts[1]) * (UNITS[parts[2].lower()] if parts[2] else unit)


# -- several things in one cell -------------------------------------------------------------------

SEPARATORS = {
    "|": "bar", ";": "semicolon", "\n": "line", ",": "comma", "、": "、", "，": "，", "·": "·",
    "/": "/", "+": "+", "&": "ampersand", " and ": "and", " und ": "und", " et ": "et", " y ": "y",
    " - ": "dash", " ": "space",
}  # fmt: skip
"""What people put between names in a cell, and how it is typed."""
_LISTS = ("choices", "labels", "rectanglelabels", "polygonlabels", "brushlabels", "taxonomy",
          "value")  # fmt: skip


def separator(between: str) -> str:
    """What a name such as comma stands for; shells and data texts need some of these."""
    marks = {name: mark for mark, name in SEPARATORS.items()}
    return {**marks, "slash": "/", "plus": "+", "tab": "\t"}.get(between.lower(), between)


# Lists as programs print them: numpy leaves the commas out, which Python would take for one name.
_PRINTED = re.compile(r"(?:frozenset|set|array)\((.*?)(?:,\s*dtype=.*)?\)", re.DOTALL)
_NOTHING = re.compile(r"\[\s*nan\s*\]", re.IGNORECASE)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_OF_NUMPY = re.compile(rf"\[(?:\s*(?:{_QUOTED.pattern}))+\s*\]")


def listed(text: str) -> list[str] | None:
    """The names in a cell that is a list of JSON, Python or numpy, or an object of Label Studio.

    None for any other cell.
    """
    if printed := _PRINTED.fullmatch(text):
        text = printed[1] or "[]"
    text = _NOTHING.sub("[]", text)
    if not (text.startswith(("[", "(", "{")) and text.endswith(("]", ")", "}"))):
        return None
    if _OF_NUMPY.fullmatch(text):
        return [plain(one or other) for one, other in _QUOTED.findall(text)]
    try:
        value = json.loads(text)
    except ValueError:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
    names: list[Any] = [None] if value is None else [*_names(value)]
    return names if all(isinstance(name, str) for name in names) else None


def damaged_list(text: str) -> bool:
    """Whether a cell is a list that cannot be read, not a name such as [unclear] or (other)."""
    inside = re.fullmatch(r"\[.*\]|\{.*\}", text, re.DOTALL)
    return inside is not None and bool(re.search("[,'\"]", text)) and listed(text) is None


def _names(value: Any) -> Iterator[Any]:
    """The names in a value of JSON: texts, and the choices or labels of objects."""
    if isinstance(value, Mapping):
        inner = [value[name] for name in _LISTS if name in value]
        if value:
            yield from _names(inner[0]) if inner else [None]
    elif isinstance(value, list | tuple | set):
        for each in sorted(value, key=str) if isinstance(value, set) else value:
            yield from _names(each)
    elif value is not None:
        yield plain(str(value)) if type(value) in (str, int) else value


def offered(texts: Sequence[str]) -> tuple[str, str] | None:
    """A separator that may join several names in some of the cells, and such a cell.

    The one that is preferred leaves, in most cells that hold it, only parts that other cells have,
    too. A space counts only then, so that "hot dog" beside "dog" is one name.
    """
    first = None
    for mark in SEPARATORS:
        split = [[part for part in map(str.strip, text.split(mark)) if part] for text in texts]
        cells = Counter(part for parts in split for part in {*parts})
        joined = [n for n, parts in enumerate(split) if len(parts) > 1]
        again = [n for n in joined if min(cells[part] for part in split[n]) > 1]
        if len(again) * 2 > len(joined):
            return mark, texts[joined[0]]
        if joined and mark != " ":
            first = first or (mark, texts[joined[0]])
    return first
