"""The columns of a CSV table, read as text whatever they hold."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.errors import BadInput
from simkit.labels.formats.tables import first_seen

_LONGEST = 4 << 20  # bytes of a first row
_FIRST = 20  # rows that tell what stands between cells, where the first one does not


@dataclass(frozen=True)
class Column:
    """One column: its different texts, and for each row the place of its text among them."""

    name: str
    texts: list[str]
    codes: NDArray[np.int32]

    @staticmethod
    def of(
        name: str, texts: list[str], codes: NDArray[np.int32], clean: Callable[[str], str]
    ) -> Column:
        """With cleaned texts, of which some may then be the same, in order of first appearance."""
        used, places = first_seen(codes)
        index: dict[str, int] = {}
        merged = [index.setdefault(clean(texts[i]), len(index)) for i in used]
        return Column(name, list(index), np.array(merged, np.int32)[places])

    def row(self, text: str) -> int:
        """The first row of the file that holds `text`; the header is row 1."""
        return int(np.argmax(self.codes == self.texts.index(text))) + 2

    def one_of(self, names: tuple[str, ...]) -> bool:
        """Whether its name is one of these, however it is written."""
        return self.name.lower().replace(" ", "_").replace("-", "_") in names


def read_columns(path: Path) -> list[Column]:
    """All columns with a name, cells without blanks at their ends.

    Commas, semicolons and tabs are told apart by the first rows. Raises BadInput, which names no
    file, as its callers do, and what pyarrow raises for broken files.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    _check_encoding(path)
    header, delimiter = _header(path)
    keys = [str(place) for place in range(len(header))]
    coded = pa.dictionary(pa.int32(), pa.string())
    bad: list[str] = []

    def refuse(row: Any) -> str:
        bad.append(f"a row has {row.actual_columns} cells, {row.text[:60]!r}")
        return "error"

    try:
        table = arrow_csv.read_csv(
            path,
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, coded), strings_can_be_null=False
            ),
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=keys, skip_rows=1),
        )
    except pa.ArrowInvalid as error:
        if bad:
            raise BadInput(f"{bad[0]}, where the first row has {len(header)}; correct it") from None
        if "Empty" in str(error):
            raise BadInput(_EMPTY) from None
        raise
    if not len(table):
        raise BadInput(_EMPTY)
    found = [_column(name, table[key]) for name, key in zip(header, keys, strict=True)]
    for place, column in enumerate(found):
        if not column.name and column.texts != [""]:
            raise BadInput(
                f"column {place + 1} has no name in the first row; give it one or take it out"
            )
    return [column for column in found if column.name]


_ENCODING = "it is {} text; save it as CSV with the encoding UTF-8"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_EMPTY = "it has no rows below the first; name pictures in it"


def _check_encoding(path: Path) -> None:
    """Before pyarrow reads the file, which tells of other encodings in several ways."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        try:
            if stream.read(2) in _UTF_16:  # of a spreadsheet, most often
                raise BadInput(_ENCODING.format("UTF-16"))
            stream.seek(0)
            while raw := stream.read(1 << 20):
                if b"\x00" in raw:
                    raise BadInput(_ENCODING.format("not UTF-8"))
                decoder.decode(raw)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise BadInput(_ENCODING.format("not UTF-8")) from None


def _header(path: Path) -> tuple[list[str], str]:
    """The names in the first row, and what stands between them."""
    with path.open("rb") as stream:
        raw = stream.readline(_LONGEST + 1)
    if len(raw) > _LONGEST:
        raise BadInput("its first row is longer than 4 MB; names of columns are expected there")
    first = raw.decode("utf-8-sig", "replace").strip("\r\n").partition("\r")[0]
    rows = {mark: next(_cells([first], mark), []) for mark in ",;\t"}
    several = [mark for mark in rows if len(rows[mark]) > 1]
    even = [mark for mark in several if len(several) > 1 and _is_even(path, mark)]
    delimiter = max(even or several or rows, key=lambda mark: len(rows[mark]))
    header = [name.strip() for name in rows[delimiter]]
    given = [name for name in header if name]
    if len(set(given)) != len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise BadInput(f"column {twice[:60]!r} occurs twice; give every column its own name")
    if len(given) < 2:
        raise BadInput(
            f"its first row is {first[:60]!r}; at least the names of two columns, such as "
            "file,class, are expected there"
        )
    return header, delimiter


def _cells(lines: Iterable[str], mark: str) -> Iterator[list[str]]:
    """The rows, as far as they can be read: a cell with all of a long row is none."""
    try:
        yield from csv.reader(lines, delimiter=mark)
    except csv.Error:
        return


def _is_even(path: Path, mark: str) -> bool:
    """Whether the first rows have as many cells each when `mark` stands between cells."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return len({len(row) for row in islice(_cells(stream, mark), _FIRST) if row}) == 1


def _column(name: str, values: Any) -> Column:
    array: Any = values.unify_dictionaries().combine_chunks()
    codes = array.indices.to_numpy().astype(np.int32)
    return Column.of(name, array.dictionary.to_pylist(), codes, str.strip)
