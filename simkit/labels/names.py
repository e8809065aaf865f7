"""Names of images, classes, people and columns: the forms in which they are compared.

A name matches the equal name of another list, or else the only one with the same form. A name that
fits several matches none.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from simkit.errors import counted, examples

NO_CLASS = re.compile(
    r"_*((no|not|none)\W*(finding|label|object|class|tag|disease)s?\W*(ed|s)?|none|nothing"
    r"|un\W?labell?ed|un\W?annotated|background|ignore|void|normal|negative|empty|healthy|no|null|nan|n/?a)_*"
)
"""Names, in lower case, that may mean the absence of all classes."""
SHEET_ERROR = re.compile(
    r"#(REF!|N/A|NAME\?|VALUE!|DIV/0!|NULL!|NUM!)|=[A-Z]{1,2}\d+|=[A-Z]+\(.*\)"
)
"""Cells in which a spreadsheet shows an error, or a formula without its result."""
# What spreadsheets make of names such as MARCH1, SEPT2 and 3-1.
_MONTH = "(jan|feb|mar|mär|mrz|apr|may|mai|jun|jul|aug|sept?|oct|okt|nov|dec|dez)"
_DATE = re.compile(
    rf"\d\d?[-. ]+{_MONTH}\.?|{_MONTH}\.?[- ]\d\d|\d\d?[./]\d\d?[./](\d\d)?\d\d"
    r"|\d{4}-\d\d-\d\d( 00:00:00)?"
)
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad\u202a-\u202e\u2066-\u2069]")
_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_WHOLE = re.compile(r"^(\d+)[.,]0+$")  # a number that a spreadsheet made a fraction
_SPELLED = re.compile(r"([+-]?[0-9]{1,19})(?:\.0+)?")  # of a number, in any usual way
_ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")  # of the name of a file
_SIMILAR = 0.5  # of the letters of two names that may mean the same
UPLOADED = re.compile("(^|/)[0-9a-f]{8}-(?=[^/]*$)")  # before names of uploads in Label Studio


# -- forms ----------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """The text in Unicode's form NFC, without zero-width characters and outer spaces.

    All names of classes, files, people and columns are compared in this form. Other kinds of
    spaces, such as non-breaking ones, become plain spaces.
    """
    if text.isascii():
        return text.strip()
    return _INVISIBLE.sub("", _SPACES.sub(" ", unicodedata.normalize("NFC", text))).strip()


def key(name: str) -> str:
    """A name of a column in the form in which such names are compared: File Name is filename."""
    return re.sub(r"[\W_]+", "", plain(name).casefold())


def person(name: str) -> str:
    """A name of a person in the form in which such names are compared: 7.0 is 7, Anna is anna."""
    return whole(" ".join(plain(name).split()).casefold())


def whole(name: str) -> str:
    """7 for 7.0, as spreadsheets write it; any other name unchanged."""
    return _WHOLE.sub(r"\1", name)


def look(name: str) -> str:
    """A name as it looks: without entities of HTML, garbled letters, quotes, - and _; 3 for 3.0."""
    with suppress(UnicodeError):
        name = name.encode("cp1252").decode("utf-8")  # Ã© was é
    return person(re.sub(r"[\s_-]+", " ", html.unescape(name)).strip("\"'“”„‘’"))


def alike(names: Iterable[str], form: Callable[[str], str]) -> list[str]:
    """Each name that has the form of an earlier, different one, with that one."""
    first: dict[str, str] = {}
    pairs = ((first.setdefault(form(name), name), name) for name in names)
    return [_both(one, other, " and ") for one, other in pairs if one != other]


def _both(one: str, other: str, word: str) -> str:
    """Two names; escapes distinguish Unicode forms that look alike."""
    return word.join(map(ascii if plain(one) == plain(other) else repr, (one, other)))


def note_alike(
    names: Iterable[str], kind: str, note: Callable[[str], None], form: Callable[[str], str]
) -> None:
    """Give a note on different names that have the same form; kind: such as class names."""
    if pairs := alike(names, form):
        note(f"{kind} that look alike and count as different: {counted(pairs)}; spell them alike "
             "if they are the same")  # fmt: skip


def note_same(pairs: Iterable[tuple[str, str]], kind: str, note: Callable[[str], None]) -> None:
    """Give a note on pairs of different spellings that count as one; kind: as in `note_alike`."""
    if different := [*dict.fromkeys(pair for pair in pairs if pair[0] != pair[1])]:
        both = counted([_both(one[:80], other[:80], " and ") for one, other in different])
        note(f"{kind} that look alike and count as one: {both}; spell them differently if they are "
             "different")  # fmt: skip


def note_classes(
    names: Sequence[str], note: Callable[[str], None], alone: Container[str] = ()
) -> None:
    """Give notes on names of classes.

    They say which look alike, which programs may have changed, and which may mean no class.

    Parameters
    ----------
    names : sequence of str
    note : callable
        Called with each note.
    alone : container of str
        Names that never occur beside another one.
    """
    note_alike(names, "class names", note, look)
    if dates := [name for name in names if _DATE.fullmatch(name.lower())]:
        note(f"class {dates[0]!r} looks like a date, into which spreadsheets turn names such as "
             "MARCH1 and 3-1; correct the names if this happened")  # fmt: skip
    all_names = {*names}
    again = (name for name in names if name.rpartition(".")[0] in all_names)
    if twice := next((name for name in again if name.rpartition(".")[2].isdigit()), None):
        note(f"class {twice!r} may be a second column {twice.rpartition('.')[0]!r}, which pandas "
             "renamed; remove one of them if they are the same")  # fmt: skip
    nothing = [name for name in names if name in alone and NO_CLASS.fullmatch(name.lower())]
    if nothing and len(names) > 1:
        note(f"names that count as classes and may mean that none is present: {counted(nothing)}; "
             "if so, leave them out (no line in a list of classes, an empty cell in a column "
             "class, no column where each class has one)")  # fmt: skip


def path_key(name: str) -> str:
    """The name of a file with slashes, and without ./ in front."""
    return plain(name).replace("\\", "/").removeprefix("./")


def id_key(identity: Any) -> int | str:
    """An image id: 7, 7.0, "7" and "007" are one number; other text is as in `path_key`."""
    text = path_key(str(identity))
    number = _SPELLED.fullmatch(text)
    return int(number[1]) if number else text


def _address(text: str) -> str:
    """The path in an address: /data/local-files/?d=photos%2Fa.JPG is photos/a.jpg; 7.0 is 7."""
    if (number := whole(text)) != text:
        return number
    if "?d=" in text:
        text = text.partition("?d=")[2].partition("&")[0]
    elif "://" in text:
        text = re.split("[?#]", text.partition("://")[2])[0]
    path = re.sub("^[./]*/", "", plain(unquote(text)).replace("\\", "/"))
    return _ENDING.sub(lambda ending: ending[0].lower(), path)


# -- matching -------------------------------------------------------------------------------------


def matches(
    among: Sequence[Any],
    wanted: Sequence[Any],
    *forms: Callable[[Any], Hashable],
    once: bool = False,
) -> NDArray[np.int64]:
    """Find names in a list, even where the spelling differs.

    Parameters
    ----------
    among : sequence
    wanted : sequence
        m names.
    *forms : callable
        Forms in which names are compared, in order of preference. By default `id_key`.
    once : bool, default False
        Match none of several different names of one form.

    Returns
    -------
    (m,) int
        The index in `among` of each wanted name; -1 for a name that fits none or several.
    """
    index = _unique(among)
    rows = [index.get(name, -1) for name in wanted]
    for form in forms or (id_key,):
        if -1 not in rows:
            break
        index = _unique([*map(form, among)])
        asked = Counter(map(form, {*wanted})) if once else Counter[Hashable]()
        for place, name in enumerate(wanted):
            if rows[place] < 0 and asked[text := form(name)] < 2:
                rows[place] = index.get(text, -1)
    return np.array(rows, np.int64)


def _unique(names: Sequence[Hashable]) -> dict[Hashable, int]:
    """The place of each name that occurs once."""
    places = {name: place for place, name in enumerate(names)}
    if len(places) == len(names):
        return places
    counts = Counter(names)
    return {name: place for name, place in places.items() if counts[name] == 1}


def ends(paths: Iterable[str]) -> dict[str, list[int]]:
    """The places of the paths with each end: the ends of a/b/c are a/b/c, b/c and c."""
    places: dict[str, list[int]] = {}
    for place, path in enumerate(paths):
        for end in _ends(path):
            places.setdefault(end, []).append(place)
    return places


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def same_end(path: str, among: Mapping[str, list[int]]) -> list[int]:
    """The places of the paths that share most of their last parts with this one; see `ends`."""
    return next((among[end] for end in _ends(path) if end in among), [])


def class_places(texts: Sequence[str], classes: Sequence[str]) -> dict[str, int]:
    """For each text that names a class, its place; by spelling, or else ignoring case."""
    rows = matches([*map(plain, classes)], texts, plain, lambda text: plain(text).casefold())
    return {text: n for text, n in zip(texts, rows.tolist(), strict=True) if n >= 0}


def nearest(name: str, among: Iterable[str]) -> str:
    """The most similar of other names, or "" if none is similar."""
    forms = {look(other): other for other in among}
    return next((forms[form] for form in get_close_matches(look(name), forms, 1, _SIMILAR)), "")


def similar(names: Sequence[str], among: Sequence[str], most: int = 8) -> list[str]:
    """Names for a message, the first `most` with the most similar of others, if any is."""
    pairs = [(name, nearest(name, among)) for name in names[:most]]
    shown = [f"{name!r} (perhaps {other!r})" if other else repr(name) for name, other in pairs]
    return [*shown, *names[most:]]


def image_places(texts: Sequence[str], images: Sequence[str]) -> dict[str, int]:
    """For each text that names an image, its place.

    Where no image has this id, the text may be a path or an address. It then matches the image
    whose id it ends in, or else the image that shares most of its last parts, even without the
    ending. Files of different folders are not matched to one image.
    """
    rows = matches(images, texts, plain, _address)
    places = {text: n for text, n in zip(texts, rows.tolist(), strict=True) if n >= 0}
    if len(places) == len(texts):
        return places
    taken, paths = {*places.values()}, [*map(_address, images)]
    parts, stems = ends(paths), ends(_ENDING.sub("", path) for path in paths)
    wholes = {path: [n for n in parts[path] if paths[n] == path] for path in paths}
    by_end, asked = dict[str, int](), dict[int, set[str]]()
    for text in texts:
        if text and text not in places:
            path = _address(text)
            forms = (path, UPLOADED.sub(r"\1", path), _ENDING.sub("", path))
            tries = [(same_end(form, index), index) for form in forms for index in (wholes, parts)]
            tries.append((same_end(path, stems), stems))
            place, index = next(((a[0], i) for a, i in tries if len(a) == 1), (-1, wholes))
            if place >= 0 and (index is wholes or place not in taken):
                by_end[text] = place
                asked.setdefault(place, set()).add(path)
    return places | {text: n for text, n in by_end.items() if len(asked[n]) == 1}


def no_files() -> Sequence[str]:
    """No names of files, for images whose ids are all that is known."""
    return ()


def find_images(
    texts: Sequence[str],
    images: Iterable[Any],
    note: Callable[[str], None],
    files: Callable[[], Sequence[str]] = no_files,
) -> NDArray[np.int64]:
    """Find images by their ids as `image_places` does, or by the names of their files.

    Parameters
    ----------
    texts : sequence of str
        m names, such as the cells of a table.
    images : iterable
        N ids.
    note : callable
        Called with a sentence about names that are spelled otherwise, or are those of files.
    files : callable
        Gives the N names of the files. If a text is an id, they count only for others that have
        the ending of a file.

    Returns
    -------
    (m,) int
        The index of the image of each text, -1 for none.
    """
    ids, different = [*map(str, images)], [*dict.fromkeys(texts)]
    others = different
    if exact := not {*different}.isdisjoint(ids):
        known = {*ids}
        others = [text for text in different if text not in known and _ENDING.search(text)]
    names = [*files()] if others else []
    by_file = {} if names in ([], ids) else image_places(others, names)
    if by_file:
        pairs = [(text, ids[place]) for text, place in by_file.items()]
        shown = examples(f"{text!r} is {image}" for text, image in pairs)
        note(f"images matched by file name: {len(pairs):,} of {len(different):,} ({shown})")
    rest = [text for text in different if text not in by_file] if exact or not by_file else []
    places = image_places(rest, ids)
    if pairs := [(text, ids[place]) for text, place in places.items() if text != ids[place]]:
        note(respelled(pairs, len(different)))
    places |= by_file
    return np.array([places.get(text, -1) for text in texts], np.int64)


def respelled(pairs: Sequence[tuple[str, str]], total: int, kind: str = "images") -> str:
    """A note on names that were matched with differently spelled ones; total: of all names."""
    shown = examples(_both(name, other, " is ") for name, other in pairs)
    return (
        f"names of {kind} that are spelled differently and were matched: {len(pairs):,} of "
        f"{total:,} ({shown}); correct them if they are different"
    )
