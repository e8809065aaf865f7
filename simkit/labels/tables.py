"""The reader of all tables from outside, as people and other programs write them.

Every decision that was not trivial is a note: a warning, and an entry of `Table.notes`. What is
read, decided and asked stands in docs/data.md.
"""

from __future__ import annotations

import codecs
import csv
import functools
import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.errors import BadInput, counted, examples, noting
from simkit.files import parse_json
from simkit.labels.cells import (
    BLANK,
    NUMBERINGS,
    UNKNOWN,
    Minus,
    decide_minus,
    doubtful,
    means_state,
    parse_number,
    parse_seconds,
    state,
)
from simkit.labels.names import key, note_same, person, plain, whole

USUAL = {
    "question": ("question", "question_id", "id"),
    "image": ("image", "file", "file_name", "file_path", "image_name", "image_id", "image_path",
              "image_file", "path", "picture", "photo", "img", "img_name", "img_path", "bild",
              "datei", "dateiname", "fichier", "imagen", "archivo"),
    "class": ("class", "label", "labels", "category", "class_name", "label_name", "tag", "tags",
              "klasse", "kategorie", "classe", "clase", "categoría"),
    "answer": ("answer", "value", "response", "result", "present", "vote", "judgment", "judgement",
               "choice", "choices", "annotation", "decision", "is_present", "antwort", "réponse",
               "respuesta"),
    "worker": ("worker", "annotator", "worker_id", "annotator_id", "user", "user_id", "username",
               "rater", "rater_id", "labeler", "labeller", "completed_by", "who",
               "bearbeiter", "annotateur", "anotador"),
    "seconds": ("seconds", "time", "duration", "lead_time", "work_time", "time_spent",
                "seconds_spent", "duration_s", "milliseconds", "time_ms", "duration_ms", "elapsed",
                "elapsed_ms", "response_time", "response_time_ms", "WorkTimeInSeconds",
                "sekunden", "dauer", "zeit", "durée", "segundos"),
    "split": ("split", "set", "subset", "partition"),
    "weight": ("weight", "weights"),
    "gold": ("gold", "gold_label", "ground_truth", "expert", "truth"),
}  # fmt: skip
"""Usual names of columns by content, compared as `key`; the first is that of simkit."""
ENDINGS = (
    ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".xlsx", ".xlsm",
)  # fmt: skip

_PICTURE = re.compile(r"\.(jpe?g|png|webp|bmp|gif|tiff?)$", re.IGNORECASE)
_WIDE = 2_000  # columns; pyarrow needs ten thousand bytes for each
_ROWS = 20  # first rows, from which the separator and the header are detected
_SEPARATORS = ",;\t|"
_UNCOMPUTED = re.compile(rb'<c r="(\w+)"[^>]*><f[^>]*>[^<]*</f>(?:<v ?/>|<v></v>)?</c>')
_HIDDEN = re.compile(rb'<row r="(\d+)"[^>]* hidden="(?:1|true)"')
_COMMENT = "# "  # at the start of lines above the header
_PEOPLE = re.compile(r"[,;|&/\n]|\s(?:\+|and|und|et|y|e|en|oder|or)\s", re.IGNORECASE)
_SHORTENED = re.compile(r"\d[.,]\d{1,5}E\+\d\d")


class NoRows(BadInput):
    """The table has no rows with content."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column of m cells.

    Attributes
    ----------
    name : str
    raw : pyarrow.Array
        The m cells as they are in the file: text, or numbers of a parquet file.
    table : Table
    """

    name: str
    raw: pa.Array
    table: Table

    @functools.cached_property
    def _coded(self) -> tuple[list[str], NDArray[np.int32]]:
        array = _as_text(self.raw)
        array = array.fill_null("") if array.null_count else array
        coded = array.dictionary_encode()
        texts, places = _plain_texts(self, coded.dictionary)
        return texts, places[coded.indices.to_numpy(zero_copy_only=False)]

    @property
    def texts(self) -> list[str]:
        """The different texts, in the order of their first rows."""
        return self._coded[0]

    @property
    def codes(self) -> NDArray[np.int32]:
        """(m,) for each row, the index of its text."""
        return self._coded[1]

    @property
    def array(self) -> pa.Array:
        """(m,) the text of each row, for pyarrow."""
        return pa.array(self.texts, pa.string()).take(pa.array(self.codes))

    def cells(self) -> list[str]:
        """The text of each row."""
        return self.array.to_pylist()

    def cleaned(self, clean: Callable[[str], str]) -> Column:
        """The column with changed texts."""
        texts = pa.array([clean(text) for text in self.texts], pa.string())
        return Column(self.name, texts.take(pa.array(self.codes)), self.table)

    def people(self) -> Column:
        """The column with one name for each person; a note if several spellings are one."""
        self.note_people()
        first: dict[str, str] = {}
        pairs = [(first.setdefault(person(text), text), text) for text in self.texts]
        note_same(pairs, "names of people", self.table.note)
        return self.cleaned(lambda text: whole(first[person(text)]))

    def note_people(self) -> None:
        """Notes about names of people that look shortened, and about cells with several names."""
        self.note_shortened()
        several = [t for t in self.texts if _PEOPLE.search(whole(t)) and "://" not in t]
        if several:
            self.table.note(
                f"cells of column {self.name!r} that may name several people and count as one: "
                f"{counted(several)}, from row {self.row(several[0])}; write a row for each person "
                "if they do"
            )

    def note_shortened(self) -> None:
        """A note if ids look like 1.23457E+12, which several long numbers may have become."""
        long = (text for text in self.texts if "E+" in text)  # a quick test of many
        short = next(filter(_SHORTENED.fullmatch, long), None)
        if short is not None:
            self.table.note(
                f"column {self.name!r} holds {short!r}, as spreadsheets shorten long numbers, and "
                "different ids may look the same; export it again with this column as text"
            )

    def row(self, text: str) -> int:
        """The first row of the file that holds `text`; the first line of the file is row 1."""
        return self.table.row(int(np.argmax(self.codes == self.texts.index(text))))

    def refused(self, text: str, expected: str) -> BadInput:
        """The error for a cell with this text."""
        return BadInput(
            f"column {self.name[:60]!r} holds {text[:40]!r} in row {self.row(text)}; {expected}"
        )

    def states(self, expected: str, unsure: frozenset[str] = frozenset()) -> dict[str, int | None]:
        """The state of each text as `state` has it. Raises BadInput, naming the row.

        unsure: texts, in lower case, that say nothing.
        """
        texts = [None if text.lower() in unsure else text for text in self.texts]
        for text in texts:
            if text is not None and not means_state(text):
                raise self.refused(text, expected)
        states = [None if text is None else state(text) for text in texts]
        return dict(zip(self.texts, states, strict=True))

    @property
    def filled(self) -> NDArray[np.bool_]:
        """(m,) whether each cell says something."""
        return np.array([text.lower() not in BLANK for text in self.texts])[self.codes]

    def check_different(self, content: str) -> None:
        """Raise BadInput, naming the content, if two rows have the same text."""
        if len(self.texts) < len(self.codes):
            twice = self.texts[int(np.argmax(np.bincount(self.codes) > 1))]
            raise BadInput(f"{content} {twice[:100]!r} has two rows; keep one")

    def numbers(self, expected: str = "a number is expected") -> NDArray[np.float64]:
        """(m,) the cells as numbers, nan where blank. Raises BadInput, naming the row."""
        import pyarrow.compute as pc

        try:
            raw = self.raw  # very many numbers, at the speed of pyarrow
            if pa.types.is_string(raw.type) and pc.any(blank := pc.equal(raw, "")).as_py():
                raw = pc.if_else(blank, None, raw)
            values = raw.cast(pa.float64()).to_numpy(zero_copy_only=False)
            if not np.isinf(values).any():
                return values
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        return self._parsed(parse_number, expected)

    def seconds(
        self, *, milliseconds: bool | None = None, strict: bool = True
    ) -> NDArray[np.float64]:
        """(m,) the cells as times in seconds, nan where blank.

        Parameters
        ----------
        milliseconds : bool, optional
            Whether numbers without a unit are milliseconds. By default the column's name says so,
            or that they are minutes or hours.
        strict : bool, default True
            Raise BadInput, naming the row, for a cell that is no time; otherwise it is nan.
        """
        expected = "seconds, as in 1.8, 1.8 s, 300 ms or 00:00:02, are expected"
        named = bool(re.search(r"ms$|msecs?$|millis|milliseconds?", key(self.name)))
        longer = re.search(r"[\W_](?:(min(?:ute)?s?)|h|hrs?|hours?)\W*$", self.name.casefold())
        if milliseconds or (named and milliseconds is None):
            unit, word = 1e-3, "milliseconds"
        elif longer:
            unit, word = (60.0, "minutes") if longer[1] else (3600.0, "hours")
        else:
            unit, word = 1.0, ""
        parse = functools.partial(parse_seconds, unit=unit)
        values = self._parsed(parse, expected, strict=strict)
        bare = any(re.fullmatch("[^a-zA-Z:]+", text) for text in self.texts)
        if word and milliseconds is None and bare:
            self.table.note(f"column {self.name!r} is read as {word}; call it seconds if it "
                            "holds seconds")  # fmt: skip
        return values

    def _parsed(
        self, parse: Callable[[str], float], expected: str, *, strict: bool = True
    ) -> NDArray[np.float64]:
        texts = self._without_commas()
        values = np.full(len(texts) + 1, np.nan)
        for place, text in enumerate(texts):
            if text.lower() not in BLANK:
                try:
                    values[place] = parse(text)
                except ValueError:
                    if strict:
                        raise self.refused(self.texts[place], expected) from None
        return values[self.codes]

    def _without_commas(self) -> list[str]:
        """The texts with a decimal point: commas as most of Europe writes them, or of thousands."""
        if not any("," in text for text in self.texts):
            return self.texts
        one = re.compile(r"[^\d,]*[\d.,]*\d\s*[^\d,]*")  # a single number, maybe with a unit
        numbers = [*filter(one.fullmatch, self.texts)]
        commas = [text for text in numbers if "," in text]
        if not commas:
            return self.texts
        thousands = [re.fullmatch(r"\D*[1-9]\d{0,2}(,\d{3})+(\.\d+)?\D*", text) for text in commas]
        decimal = [re.fullmatch(r"\D*(\d{1,3}(\.\d{3})+|\d*),\d+\D*", text) for text in commas]
        pointed = any("." in text and "," not in text for text in numbers)
        sure = self.table.separator == ";" or not all(thousands)
        if all(decimal) and not pointed and sure:
            if not any("decimal commas" in note for note in self.table.notes):
                self.table.note(
                    f"column {self.name!r} is read with decimal commas: {commas[0]} is "
                    f"{commas[0].replace('.', '').replace(',', '.')}; write numbers without "
                    "commas if this is wrong"
                )
            number, decimals = str.maketrans(",", ".", "."), {*commas}
            return [text.translate(number) if text in decimals else text for text in self.texts]
        if all(thousands) and (pointed or any("." in text for text in commas)):
            return [text.replace(",", "") for text in self.texts]
        raise self.refused(
            commas[0], "its comma may separate decimals or thousands; write numbers with a point "
            "and without commas"
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """A table from outside: its named columns and what was decided about it.

    Attributes
    ----------
    path : Path or str
    columns : list of Column
        Those with a name.
    rows : (m,) int
        The number of each row in the file.
    separator : str
        Of a text file, or "".
    notes : list of str
        Decisions that were not trivial; each is also a warning.
    """

    path: Path | str
    columns: list[Column]
    rows: NDArray[np.int64]
    separator: str = ""
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, place: int) -> int:
        """The number of a row in the file, to be named in messages."""
        return int(self.rows[place])

    def note(self, text: str) -> None:
        """Add a note, unless there is the same already, and give it as a warning."""
        if text not in self.notes:
            self.notes.append(text)
            warnings.warn(f"{self.path}: {text}", stacklevel=2)

    def named(self, names: Iterable[str]) -> list[Column]:
        """All columns with one of these names, those that come first in `names` first."""
        order = {key(name): place for place, name in reversed([*enumerate(names)])}

        def place(column: Column) -> int:  # Mechanical Turk writes Input.image and Answer.answer
            return order.get(key(re.sub(r"^(Input|Answer)\.", "", column.name)), -1)

        return sorted((column for column in self.columns if place(column) >= 0), key=place)

    def column(
        self,
        names: Sequence[str],
        content: str,
        *,
        fits: Callable[[Column], bool] = lambda _: True,
    ) -> Column:
        """The column with one of these names.

        Parameters
        ----------
        names : sequence of str
            Usual names; a column with the first of them is preferred to the others.
        content : str
            Its content, for messages.
        fits : callable
            Whether the cells of a column with such a name can be this content.

        Raises
        ------
        BadInput
            If there is none, or several of which none has the first name.
        """
        column = self.optional_column(names, content, fits=fits)
        if column is None:
            has = ", ".join(repr(column.name[:30]) for column in self.columns[:6])
            mend = f"call one {names[0]}"
            if len(self.columns) == 1:
                mend = f"separate the columns by commas, also in the header, and {mend}"
            raise BadInput(f"no column is called {names[0]}, but {has}; {mend}")
        return column

    def optional_column(
        self,
        names: Sequence[str],
        content: str,
        *,
        fits: Callable[[Column], bool] = lambda _: True,
    ) -> Column | None:
        """As `column`, but None if there is none."""
        columns = [*filter(fits, self.named(names))]
        exact = [column for column in columns if key(column.name) == key(names[0])]
        if len(columns) > 1 and len(exact) != 1:
            both = f"{columns[0].name!r} and {columns[1].name!r}"
            mend = f"call one {names[0]} and remove the other"
            raise BadInput(f"columns {both} could both name {content}; {mend}")
        return next(iter(exact or columns), None)

    def pick(self, field: str) -> Column:
        """The column with a usual name of this field. Raises BadInput as `column` does."""
        return self.column(USUAL[field], f"the {field}")

    def by_name(self) -> dict[str, Column]:
        """The columns by their names. Raises BadInput if two have the same."""
        columns = {column.name: column for column in self.columns}
        if len(columns) < len(self.columns):
            ((twice, _),) = Counter(column.name for column in self.columns).most_common(1)
            raise BadInput(f"two columns are called {twice[:60]!r}; rename one")
        return columns

    def classes(self, columns: Sequence[Column], most: float = -1.0) -> list[Column]:
        """The columns that may say whether a class is present; a note names the others.

        Others number the rows, or say something else: at most the share `most` of their different
        cells says present or absent, and they are no counts, such as 0, 1 and 2.
        """
        kept, left = list[Column](), list[Column]()
        for column in columns:
            texts = [text for text in column.texts if text.lower() not in BLANK]
            whole = all(text.isdigit() for text in texts)
            distinct = len(texts) == len(self)
            numbers = whole and distinct and key(column.name) in NUMBERINGS
            counts = whole and not distinct and "0" in texts
            other = texts and not counts and sum(map(means_state, texts)) <= most * len(texts)
            (left if numbers or other else kept).append(column)
        if most == 0 and not kept:  # the refusal of one of them names a cell
            return left
        if left:
            names = counted([repr(column.name[:30]) for column in left])
            self.note(f"columns that do not say present or absent are left out: {names}; write 1 "
                      "and 0 into them if they are classes")  # fmt: skip
        return kept

    def select(self, kept: NDArray[np.bool_]) -> Table:
        """The table of some rows; (m,) bool. Notes stay those of the whole."""
        table = Table(self.path, [], self.rows[kept], self.separator, self.notes)
        mask = pa.array(kept)
        for column in self.columns:
            table.columns.append(Column(column.name, column.raw.filter(mask), table))
        return table


# -- reading --------------------------------------------------------------------------------------


def read_table(path: Path) -> Table:
    """Read a table; see docs/data.md.

    Parameters
    ----------
    path : Path
        Text with separators, .json, .jsonl, .ndjson, .parquet or .xlsx.

    Returns
    -------
    Table
        Its rows as text; columns without a name are left out if they are empty.

    Raises
    ------
    BadInput, ValueError
        For a file that is not a table, naming the row if there is one. Errors of damaged files are
        of many kinds: use it inside `simkit.files.reading`.
    """
    notes: list[str] = []
    kind = path.suffix.lower()
    if kind in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        arrow, first, separator = pq.read_table(path, page_checksum_verification=True), 1, ""
        names = arrow.column_names
        for field in arrow.schema:
            if pa.types.is_struct(field.type) and field.type.get_field_index("bytes") >= 0:
                raise BadInput(
                    f"column {field.name!r} holds images, not their names; write them to files, "
                    "and the paths of the files into this column"
                )
    elif kind in (".json", ".jsonl", ".ndjson") or _of_objects(path, notes):
        return from_records(_records(path, notes), path, notes)
    elif kind in (".xlsx", ".xlsm"):
        rows = _sheet(path, notes)
        start = _header_at(rows)
        names, first, separator = [*map(_cell, rows[start])], start + 2, ""
        body = [[*map(_cell, row), *[""] * (len(names) - len(row))] for row in rows[start + 1 :]]
        arrow = _arrow([list(cells) for cells in zip(*body, strict=True)] or [[] for _ in names])
        _titles(rows[:start], notes)
    else:
        names, arrow, first, separator = _delimited(path, notes)
    table = Table(path, [], np.arange(first, first + len(arrow)), separator)
    for note in notes:
        table.note(note)
    return _filled(table, [*map(plain, names)], arrow)


def from_records(
    records: Sequence[Mapping[str, Any]], path: Path | str, notes: Sequence[str] = ()
) -> Table:
    """A table with a row for each object of JSON; see `read_table`.

    path: the name of the table.  notes: decisions on it that were made before.
    """
    names = [*dict.fromkeys(name for record in records for name in record)]
    cells = [[_cell(record.get(name)) for record in records] for name in names]
    table = Table(path, [], np.arange(1, len(records) + 1))
    for note in notes:
        table.note(note)
    return _filled(table, [*map(plain, names)], _arrow(cells))


def from_columns(columns: Mapping[str, NDArray[Any]], path: Path) -> Table:
    """A table of arrays of m values by name; see `read_table`."""
    arrow = pa.table({name: pa.array(values) for name, values in columns.items()})
    return _filled(Table(path, [], np.arange(1, len(arrow) + 1)), [*map(plain, columns)], arrow)


def _filled(table: Table, names: list[str], arrow: pa.Table) -> Table:
    """The table with its columns, without blank rows and repeated headers."""
    for place, header in enumerate(names):
        name = "" if re.fullmatch(r"Unnamed: [\d.]+", header) else header
        cells = arrow.column(place)
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        column = Column(name or f"column {place + 1}", cells.combine_chunks(), table)
        if name:
            table.columns.append(column)
        elif any(texts := column.cells()):
            # pandas writes row numbers into a column without a name
            different = all(text.isdigit() for text in texts) and len({*texts}) == len(texts)
            if not different or (place and not header):
                mend = "name it or remove it"
                raise BadInput(f"column {place + 1} has no name in the first row; {mend}")
    blank = _all_equal(table.columns, lambda _: "")
    repeated = _all_equal(table.columns, lambda column: column.name)
    left_out = blank | repeated
    if repeated.any():
        table.note(
            f"the header is repeated in row {table.row(int(repeated.argmax()))} "
            f"and left out (repetitions: {repeated.sum():,})"
        )
    if left_out.all():
        raise NoRows("it has no rows with content; add at least one")
    return table.select(~left_out) if left_out.any() else table


def _all_equal(columns: list[Column], text: Callable[[Column], str]) -> NDArray[np.bool_]:
    """(m,) bool: the rows in which each column has this text, "" for blank cells."""
    rows = np.ones(len(columns[0].raw) if columns else 0, bool)
    for column in columns:
        wanted = text(column)
        rows &= column.codes == (column.texts.index(wanted) if wanted in column.texts else -1)
        if not rows.any():
            break
    return rows


def _plain_texts(column: Column, raw: pa.Array) -> tuple[list[str], NDArray[np.int32]]:
    """Different texts as `plain`, and for each of the raw ones its place among them.

    A note says where texts that only look alike become one.
    """
    import pyarrow.compute as pc  # slow to load; every command loads this module

    if pc.all(pc.string_is_ascii(raw)).as_py():  # the usual case, and many times faster
        trimmed = pc.ascii_trim_whitespace(raw)
        stripped = plains = trimmed.to_pylist()
        if trimmed.equals(raw):
            return plains, np.arange(len(raw), dtype=np.int32)
    else:
        stripped = [text.strip() for text in raw.to_pylist()]
        plains = [*map(plain, stripped)]
    firsts: dict[str, int] = {}
    places = np.array([firsts.setdefault(text, len(firsts)) for text in plains], np.int32)
    if plains is not stripped and len(firsts) < len({*stripped}):
        first: dict[str, str] = {}
        pairs = [(first.setdefault(t, b), b) for b, t in zip(stripped, plains, strict=True)]
        note_same(pairs, f"texts in column {column.name!r}", column.table.note)
    return [*firsts], places


def _arrow(columns: list[list[str]]) -> pa.Table:
    names = [str(place) for place in range(len(columns))]
    return pa.table([pa.array(cells, pa.string()) for cells in columns], names=names)


def _as_text(column: pa.Array) -> pa.Array:
    """A column as text; lists as JSON."""
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_large_string(kind) or pa.types.is_integer(kind):
        return column.cast(pa.string())
    return pa.array([*map(_cell, column.to_pylist())], pa.string())


def _cell(value: Any) -> str:
    """A value of JSON, of a workbook or of parquet as the text of a cell."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} s"
    if isinstance(value, time | datetime):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _of_objects(path: Path, notes: list[str]) -> bool:
    """Whether a file of text with another ending holds JSON Lines, as a renamed download does."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        return False
    with path.open("rb") as stream:
        found = stream.read(8).removeprefix(codecs.BOM_UTF8).startswith(b'{"')
    if found:
        notes.append(f"its lines are JSON objects, so it is read as .jsonl, not as {path.suffix}")
    return found


def _records(path: Path, notes: list[str]) -> list[dict[str, Any]]:
    """The objects in a JSON or JSON Lines file."""
    text = text_of(path, notes.append)
    if path.suffix.lower() == ".json":
        rows = parse_json(text, "replace")
        if isinstance(rows, dict) and rows and all(isinstance(v, list) for v in rows.values()):
            if len({*map(len, rows.values())}) > 1:
                raise BadInput("its lists have different lengths; write a list of objects")
            rows = [
                dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)
            ]
    else:
        rows = [parse_json(line, "replace") for line in text.split("\n") if line.strip()]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadInput("it is not a list of objects; write a list with one object per row")
    return rows


def _sheet(path: Path, notes: list[str]) -> list[tuple[Any, ...]]:
    """The rows of the sheet of a workbook whose header has most of the usual names."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise BadInput(
            f"{path} is a workbook, which openpyxl reads: pip install openpyxl, or save the sheet "
            "as CSV"
        ) from None
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets = {sheet: [*sheet.iter_rows(values_only=True)] for sheet in book.worksheets}
    full = [sheet for sheet, rows in sheets.items() if any(v is not None for r in rows for v in r)]
    if not full:
        raise BadInput("its sheets are empty; save the one with the table")
    usual = {key(name) for names in USUAL.values() for name in names}

    def quality(sheet: Any) -> tuple[bool, int]:
        header = sheets[sheet][_header_at(sheets[sheet])]
        named = sum(key(_cell(value)) in usual for value in header)
        return sheet.sheet_state == "visible", named

    chosen = max(full, key=quality)
    with ZipFile(path) as archive:
        content = archive.read(chosen._worksheet_path)
    if bare := _UNCOMPUTED.findall(content):
        notes.append(
            f"cells with a formula but no result, which count as empty: {len(bare):,}, such as "
            f"{bare[0].decode()}; open the file in a spreadsheet program, and save it again"
        )
    if hidden := _HIDDEN.findall(content):
        notes.append(
            f"rows that are hidden, by a filter or by hand, are read, too: {len(hidden):,}, such "
            f"as row {hidden[0].decode()}; delete them if they do not count"
        )
    if others := [repr(sheet.title) for sheet in full if sheet is not chosen]:
        notes.append(
            f"only its sheet {chosen.title!r} is read, not {examples(others)}; save another one as "
            "CSV if it is the table"
        )
    return sheets[chosen]


def _header_at(rows: Sequence[Sequence[Any]]) -> int:
    """The place of the header: the first row that has more than one cell and is no comment."""
    filled = [
        0 if row and str(row[0]).startswith(_COMMENT)
        else sum(plain(_cell(value)) != "" for value in row)
        for row in rows[:_ROWS]
    ]  # fmt: skip
    return next((place for place, count in enumerate(filled) if count > 1),
                next((place for place, count in enumerate(filled) if count), 0))  # fmt: skip


def _titles(rows: Sequence[Sequence[Any]], notes: list[str]) -> None:
    """A note about the rows above the header."""
    texts = [text for row in rows for value in row if (text := plain(_cell(value)))]
    if texts:
        notes.append(
            f"row {len(rows) + 1} is read as the header, below {texts[0][:60]!r}; remove the rows "
            "above the header if this is wrong"
        )


def _delimited(path: Path, notes: list[str]) -> tuple[list[str], pa.Table, int, str]:
    """The names and rows of a text file, the number of the first row, and the separator."""
    from pyarrow import csv as arrow_csv

    with _utf8(path, notes) as stream:
        head = [line.decode("utf-8", "ignore") for line in islice(stream, _ROWS)]
        head[:1] = [line.removeprefix("\ufeff") for line in head[:1]]
        mark = re.fullmatch(r'"?sep=(.)"?\s*', head[0], re.IGNORECASE) if head else None
        separator = mark[1] if mark else _separator(head)
        reader = csv.reader(head, delimiter=separator)
        records = [(cells, reader.line_num) for cells in _parsed(reader)]
        records = records[1:] if mark else records
        start = _header_at([cells for cells, _ in records])
        names, lines = records[start] if records else ([], 0)
        if not any(map(plain, names)):
            raise BadInput("it has no header; write the column names into its first row")
        data = next((cell for cell in names if _PICTURE.search(cell.strip())), None)
        if data is not None:
            raise BadInput(
                f"its first row is no header, as {data.strip()[:60]!r} names an image; write the "
                "names of the columns above it, as in file,class"
            )
        _titles([cells for cells, _ in records[:start]], notes)
        stream.seek(0)
        for _ in range(lines):
            stream.readline()
        places = [str(place) for place in range(len(names))]
        begin = stream.tell()
        try:
            if len(names) > _WIDE:
                raise pa.ArrowInvalid("read row by row")
            arrow = arrow_csv.read_csv(
                stream,
                parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(places, pa.string()), strings_can_be_null=False
                ),
                read_options=arrow_csv.ReadOptions(use_threads=False, column_names=places),
            )
        except pa.ArrowInvalid:  # rows of different lengths, or none at all
            stream.seek(begin)
            arrow = _ragged(stream, separator, len(names), lines)
    return names, arrow, lines + 1, separator


def text_rows(path: Path) -> list[list[str]]:
    """The rows of a text file without a header, as `plain` cells; blank rows are left out.

    Raises BadInput and errors of many kinds, as `read_table` does.
    """
    text = text_of(path, noting(path))
    lines = text.splitlines(keepends=True)
    rows = csv.reader(lines, delimiter=_separator(lines[:_ROWS]))
    return [cells for row in rows if any(cells := [*map(plain, row)])]


def _parsed(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to the first that is no CSV, such as a cell longer than the first rows."""
    while True:
        try:
            yield next(reader)
        except (StopIteration, csv.Error):
            return


def _separator(lines: Sequence[str]) -> str:
    """The separator that gives the most even rows, with the fewest titles above them."""

    lines = [line for line in lines if not line.startswith(_COMMENT)]

    def quality(mark: str) -> tuple[bool, bool, int, int]:
        counts = [len(row) for row in _parsed(csv.reader(lines, delimiter=mark)) if row]
        titles = _header_at([["x"] * count for count in counts])
        counts = counts[titles:] or [0]
        return counts[0] > 1, len({*counts}) == 1, -titles, counts[0]

    return max(_SEPARATORS, key=quality)


def _ragged(stream: BinaryIO, separator: str, width: int, lines: int) -> pa.Table:
    """Rows of different lengths: further cells are left out if empty, missing ones refused."""
    reader = csv.reader(codecs.iterdecode(stream, "utf-8"), delimiter=separator)
    rows = []
    for row in reader:
        if row and (len(row) < width or any(map(plain, row[width:]))):
            place, shown = lines + reader.line_num, separator.join(row)[:60]
            raise BadInput(
                f"row {place} has {len(row)} cells and the header {width}: {shown!r}; correct it, "
                "and put a cell that holds the separator in quotation marks"
            )
        if row:
            rows.append(row[:width])
    return _arrow([list(cells) for cells in zip(*rows, strict=True)] or [[] for _ in range(width)])


# -- encodings ------------------------------------------------------------------------------------

_BLOCK = 1 << 22  # letters that are checked at a time


def text_of(path: Path, note: Callable[[str], None]) -> str:
    """The text of a file in any encoding that is read; `note` takes what was decided.

    Raises
    ------
    BadInput
        For damaged text, and a workbook in disguise.
    """
    encoding = _encoding(path, note)
    return path.read_bytes().decode(encoding).removeprefix("\ufeff")


def _utf8(path: Path, notes: list[str]) -> BinaryIO:
    """The file as a stream of UTF-8."""
    encoding = _encoding(path, notes.append)
    with path.open("rb") as stream:
        start = stream.read(1 << 16)
    old_mac = b"\r" in start and b"\n" not in start
    if encoding == "utf-8" and not old_mac:
        return path.open("rb")
    text = path.read_bytes().decode(encoding)
    return io.BytesIO((text.replace("\r", "\n") if old_mac else text).encode("utf-8"))


def _encoding(path: Path, note: Callable[[str], None]) -> str:
    """The encoding of a text file. Raises BadInput if it is damaged or not text."""
    with path.open("rb") as stream:
        start = stream.read(1 << 12)
        if start.startswith(b"PK\3\4"):
            raise BadInput(
                f"{path} is an archive or a workbook; unpack it, call it .xlsx if Excel "
                "wrote it, or save its sheet as CSV"
            )
        if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return "utf-32"
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        zeros = [start[place::2].count(0) / max(1, len(start) // 2) for place in (0, 1)]
        if max(zeros) > 0.4 and min(zeros) < 0.1:
            return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
        if b"\0" in start:
            raise BadInput("it is not text; save it again as CSV UTF-8")
    with suppress(UnicodeDecodeError), path.open(encoding="utf-8", newline="") as text:
        while text.read(_BLOCK):
            pass
        return "utf-8"
    return _windows(path, note)


def _windows(path: Path, note: Callable[[str], None]) -> str:
    """cp1252 for text that is not UTF-8, unless most of it is. Raises BadInput."""
    raw = path.read_bytes()
    utf8 = raw.decode("utf-8", "replace")
    bad = utf8.count("\ufffd")
    row = utf8.count("\n", 0, utf8.index("\ufffd")) + 1
    damaged = BadInput(f"it is not UTF-8 text in row {row}; save it again as CSV UTF-8")
    if sum(not char.isascii() for char in utf8) > 2 * bad:
        raise damaged
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        raise damaged from None
    word = next(word for word in re.split(r"[,;\t|\r\n]", text) if not word.isascii())
    note(f"it is not UTF-8 and is read as cp1252, in which row {row} has {plain(word)[:40]!r}; "
         "save it as UTF-8 if that is wrong")  # fmt: skip
    return "cp1252"


# -- presence -------------------------------------------------------------------------------------


def _note_two_codings(columns: Sequence[Column], codes: NDArray[np.int8], minus: Minus) -> None:
    """A note if -1 and 0 are never in the same column, so that they may be of two codings."""
    minuses, zeros = (codes == -1).any(0), (codes == 0).any(0)
    if not minus and minuses.any() and zeros.any() and not (minuses & zeros).any():
        names = [repr(column.name) for column, has in zip(columns, minuses, strict=True) if has]
        columns[0].table.note(
            "-1 is read as unknown, because 0 means absent, but the columns with -1 have no 0: "
            f"{counted(names)}; write 0 there if their -1 means absent"
        )


def presence(columns: Sequence[Column], minus: Minus = "") -> NDArray[np.int8]:
    """The cells of columns as labels.

    Parameters
    ----------
    columns : sequence of Column
        L columns of m cells.
    minus : {"", "absent", "unknown"}
        Meaning of -1 if the columns have no 0.

    Returns
    -------
    (m, L) int8
        1 present, 0 absent, -1 unknown.

    Raises
    ------
    BadInput
        For other cells, naming column and row, and for a -1 whose meaning is not decided.
    """
    expected = (
        "1 (present), 0 (absent) and an empty cell (unknown) are expected; remove the column if it "
        "is no class, or write names of classes into one column called class"
    )
    code = {1: 1, 0: 0, None: UNKNOWN, -1: -1}
    out = np.empty((len(columns[0].raw), len(columns)), np.int8)
    texts: dict[str, list[str]] = {}
    for c, column in enumerate(columns):
        fresh = Column(column.name, column.raw, column.table)  # keeps nothing of many columns
        codes = [code[value] for value in fresh.states(expected).values()]
        out[:, c], texts[column.name] = np.array(codes, np.int8)[fresh.codes], fresh.texts
    if sentence := doubtful(texts):
        columns[0].table.note(sentence)
    _note_two_codings(columns, out, minus)
    decide_minus(out, minus)
    return np.maximum(out, -1)
