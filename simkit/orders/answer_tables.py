"""Read tables of answers from people and vendors.

Columns are recognized by their content. The image and the class of a row decide which question it
answers; the number of a question counts where it agrees with them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from simkit.annotate.prices import SLOWEST
from simkit.errors import BadInput, counted, examples, unknown
from simkit.files import reading
from simkit.labels import tables
from simkit.labels.cells import BLANK, UNSURE, Minus, listed, meaning_of_minus, means_state, state
from simkit.labels.names import class_places, image_places, key, person, plain, respelled
from simkit.labels.tables import Column, Table
from simkit.orders import label_studio
from simkit.orders.order import NOTHING, Order

USUAL = {
    name: tables.USUAL[name]
    for name in ("question", "image", "class", "answer", "worker", "seconds")
}
"""Usual names of columns by field; the first is that of simkit."""
USUAL["answer"] += ("label",)
_TIMES = (*USUAL["seconds"][1:6], "elapsed", "response_time")
_UNITS = ("ms", "s", "sec", "seconds", "min", "minutes", "h", "hours", "in_s", "in_min")
USUAL["seconds"] += tuple(f"{name}_{unit}" for name in _TIMES for unit in _UNITS)
_TIME = re.compile(r"[\d.,:]+ ?[a-z]{0,3}")
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d(?!\d).*|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*|\d+:\d\d.*|\d{10,13}"
)
_REJECTED = ("rejected", "cancelled", "canceled", "skipped", "returned", "timed-out")
_REJECTING = ("reject", "rejected", "is_rejected", "rejection_time", "was_cancelled", "skipped")
FEW = 8  # steps from time to time, with which it is no chance that all are equal or go up
_LIKE_TIMES = re.compile(
    "sec|sek|time(?!stamp)|duration|zeit|dauer|durée|temps|tiempo|tempo|tijd|minut|hours"
)
FIELDS = (*USUAL, "milliseconds")
ABSENT = "none"  # FIELD=none: no column has this field
DAY = 86_400  # seconds; longer times count as not measured
# Medians of seconds per question. People take 0.3 s at least, so milliseconds that are read as
# seconds give hundreds; yes or no about a class takes them a few seconds, and rarely a minute.
FASTEST = 0.05
WHY = ("problem", "cause", "reason")  # a sentence; equal for rows with one mistake; what is counted
RAW = {"row": 0, "question": -1, "worker": "", "answer": "", "seconds": np.nan, "shared": 1,
       "untimed": "", "problem": "", "cause": "", "reason": "", "note": ""}  # fmt: skip
"""Columns of raw answers, with their defaults.

`untimed` is the reason for a missing time, `note` what a person noted about the image.
"""


def read(
    file: Path, order: Order, columns: Mapping[str, str] | None = None, minus: Minus = ""
) -> pd.DataFrame:
    """Read the raw answers in a table, a file of the page, or an export of Label Studio.

    Parameters
    ----------
    file : Path
    order : Order
    columns : mapping of str to str
        Names of columns by field (see `FIELDS`), for columns with unusual names; "none" for a field
        without a column.
    minus : {"", "absent", "unknown"}
        The meaning of -1 in answers with 1 and -1 but no 0.

    Returns
    -------
    DataFrame
        Columns `RAW`; row is that of the file, question -1 if there is none.

    Raises
    ------
    BadInput
        If a column is missing or ambiguous, or the file answers another order.
    """
    columns = columns or {}
    for name in columns:
        if name not in FIELDS:
            raise unknown("field", name, FIELDS)
    if file.suffix.lower() not in tables.ENDINGS:
        raise BadInput(f"{file} is not a file of answers; give one of {', '.join(tables.ENDINGS)}")
    mend = "save it again as CSV UTF-8, or restore the file"
    if file.suffix.lower() in (".jsonl", ".ndjson"):  # mostly of the page
        mend = "it may have been cut off; download or copy it again"
    with reading(file, "answers", mend):
        try:
            if not file.stat().st_size:
                raise tables.NoRows("it is empty")
            if (tasks := label_studio.exported(file)) is None:
                table = tables.read_table(file)
        except tables.NoRows:
            warnings.warn(f"{file} has no answers, and is left out", stacklevel=2)
            return pd.DataFrame(columns=[*RAW])
        if tasks is None:
            if (tasks := label_studio.tasks_of(table)) is None:
                for column in table.named(["order"]):  # which may be anything else, too
                    for text in column.texts:
                        if re.fullmatch("[0-9a-f]{16}", text):
                            order.check_id(file, text)
                return _Answers(_long(table, order), order, columns, minus).rows()
        with reading(file, "an export of Label Studio", "export it again as JSON"):
            rows = [{**RAW, **row} for row in label_studio.answers(tasks, order, file)]
        raw = pd.DataFrame(rows, columns=[*RAW])
        raw["seconds"] *= 1e-3 if "milliseconds" in columns else 1
        if columns.get("seconds") == ABSENT:
            raw["seconds"] = np.nan
        elif not {"seconds", "milliseconds"} & {*columns}:
            _check_times(file, "lead_time", raw["seconds"] / raw["shared"])
        return raw


def _long(table: Table, order: Order) -> Table:
    """A sheet with a column for each class, as a table with a row for each image and class."""
    others = [*table.columns]
    of_class = class_places([column.name for column in others], order.classes)
    wide = [column for column in others if column.name in of_class]
    others = [column for column in others if column not in wide]
    long = {*map(key, (*USUAL["class"], *USUAL["answer"]))} & {key(one.name) for one in others}
    if long or len(wide) < min(2, len(order.classes)) or "name" in {*order.table["kind"]}:
        return table
    names = counted([column.name for column in wide])
    table.note(f"columns named as classes are read as answers: {names}; rename those that are not")
    filled = np.sum([column.filled for column in wide], axis=0)
    out = Table(table.path, [], np.tile(table.rows, len(wide)), table.separator, table.notes)
    cells = {column.name: column.cells() * len(wide) for column in others}
    cells |= {"shared": [*map(str, filled)] * len(wide)}  # the time of a row is for all its classes
    cells |= {"class": [column.name for column in wide for _ in range(len(table))]}
    cells |= {"answer": [text for column in wide for text in column.cells()]}
    out.columns.extend(
        Column(name, pa.array(texts, pa.string()), out) for name, texts in cells.items()
    )
    return out


def _check_times(file: Path | str, name: str, each: pd.Series[float] | NDArray[np.float64]) -> None:
    """Raise BadInput for seconds a question that are probably of another unit, or no times."""
    each = each[(each > 0) & (each <= DAY)]
    median = float(np.median(each)) if len(each) else FASTEST
    if FASTEST <= median <= SLOWEST:
        return
    shown = f"{median:,.0f}" if median > 10 else f"{median:.2g}"
    leave = f"--columns seconds={ABSENT}"
    mend = (
        f"if it has milliseconds, add --columns milliseconds={name}, for seconds --columns "
        f"seconds={name}, and for anything else {leave}"
    )
    if median < FASTEST:
        mend = f"write seconds, or times such as 00:00:02, or leave it out with {leave}"
    raise BadInput(f"{file}: column {name!r} has a median of {shown} s a question; {mend}")


# -- names and answers as people write them -------------------------------------------------------


@cache
def _misnamed(name: str, classes: tuple[str, ...]) -> str:
    return str(unknown("class of this order", name, classes))


def standard(texts: Iterable[str]) -> dict[str, str | None]:
    """Answers about a class in their standard spelling: yes, no, unsure, "" if blank, else None."""
    words: dict[Any, str] = {1: "yes", 0: "no", None: ""}
    return {
        text: "unsure" if text.casefold() in UNSURE else words.get(_state(text)) for text in texts
    }


def standard_names(texts: Sequence[str], classes: Sequence[str]) -> dict[str, str | None]:
    """Names of classes in the spelling of the order, "" if blank, None for other texts."""
    places, other = class_places(texts, classes), dict.fromkeys(BLANK, "")
    other |= dict.fromkeys((NOTHING, "none", "nothing else"), NOTHING)
    return {
        text: classes[places[text]] if text in places else other.get(text.casefold())
        for text in texts
    }


def _state(text: str) -> int | str | None:
    """The state in a cell as `state` has it, and any other text as it is."""
    return state(text) if means_state(text) else text


def _single(text: str) -> str:
    """The name in a list of one, such as {"choices": ["yes"]}; other texts as they are."""
    names = listed(text)
    return text if names is None or len(names) > 1 else "".join(names)


def _number(text: str) -> int:
    """A number of a question: -1 if blank, 0 for other text, such as 1.000 for 1000."""
    if text.lower() in BLANK:
        return -1
    whole = re.fullmatch(r"(\d{1,18})(?:[.,]0(?:0|0{3,})?)?", text)
    return int(whole[1]) if whole else 0


# -- the columns of a table -----------------------------------------------------------------------


@dataclass(eq=False)
class _Answers:
    """A table of answers to an order."""

    table: Table
    order: Order
    stated: Mapping[str, str]
    minus: Minus

    def __post_init__(self) -> None:
        self.images = [*map(str, self.order.images.tolist())]
        self.naming = (self.order.table["kind"] == "name").to_numpy()
        self.cells: dict[str, list[str]] = {}  # of the columns image and class
        columns = {key(column.name): column for column in self.table.columns}
        self.chosen = {name: columns.get(key(text)) for name, text in self.stated.items()}
        for name, text in self.stated.items():
            if self.chosen[name] is None and text != ABSENT:
                raise self._missing(name, repr(text))
        if {"seconds", "milliseconds"} <= {*self.chosen}:
            raise BadInput("--columns names seconds and milliseconds; name one of them")
        self.taken = [column for column in self.chosen.values() if column is not None]

    def rows(self) -> pd.DataFrame:
        """The raw answers."""
        self.image = self._places("image", self.images)
        self.class_ = np.full(len(self.table), -2)
        if not self.naming.all():  # otherwise the column may hold the classes that people named
            self.class_ = self._places("class", self.order.classes)
        said = "classes of the order" if self.naming.all() else "yes, no or unsure"
        answer = self._needed("answer", said, "yes, no or unsure")
        self.worker = self._needed("worker", "names", "the names of the people")
        self.worker.note_people()
        questions, why = self._questions()
        self.counted = (questions >= 0) & self.worker.filled
        for column in self.table.named(["AssignmentStatus", "status", "state"]):
            for place in np.flatnonzero([text.lower() in _REJECTED for text in column.cells()]):
                why[place] = "", "", "rejected or skipped"
        for column in self.table.named(_REJECTING):  # which give a reason, a time, or yes
            refused = [not means_state(text) or state(text) == 1 for text in column.texts]
            for place in np.flatnonzero(np.array(refused)[column.codes]):
                why[place] = "", "", "rejected or skipped"
        seconds, shared = self._seconds()
        return pd.DataFrame({
            "row": self.table.rows, "question": questions, "worker": self.worker.cells(),
            "answer": self._decided(answer).cells(), "seconds": seconds, "shared": shared,
            "untimed": self.untimed, **dict(zip(WHY, zip(*why, strict=True), strict=True)),
            "note": self._notes(questions),
        })  # fmt: skip

    def _missing(self, name: str, wanted: str, more: str = "") -> BadInput:
        has = ", ".join(column.name[:30] for column in self.table.columns[:12])
        return BadInput(
            f"{self.table.path} has no column {wanted} (columns: {has}); name it with --columns "
            f"{name}=NAME{more}"
        )

    def _needed(self, name: str, expected: str, words: str) -> Column:
        """As `_column`. Raises BadInput, with the words to write into a new column, for none."""
        column = self._column(name, expected)
        if column is None:
            more = f", or add a column {name} with {words}"
            if name == "answer" and not self.naming.any():
                first = examples(self.order.classes)
                more += f" in a row for each image and class, or a column for each class ({first})"
            raise self._missing(name, f"for {name}", more)
        return column

    def _column(self, name: str, expected: str) -> Column | None:
        """The stated column of a field, or the first usual one whose cells fit; None without one.

        Cells fit if at least half of those that are not blank have a value of the field.
        """
        if name in self.chosen:
            return self.chosen[name]
        columns = [c for c in self.table.named(USUAL[name]) if c not in self.taken]
        filled = [c for c in columns if c.filled.any()]
        values = {c: np.array([*self._values(name, c), None], object)[c.codes] for c in filled}
        fitting = [c for c in filled if 2 * _some(values[c]).sum() >= c.filled.sum()]
        if name == "worker":  # one account in all rows says less than names of people
            fitting.sort(key=lambda column: len({*values[column]} - {None}) < 2)
        if not fitting:
            if filled:
                self._misfit(name, filled[0], values[filled[0]], expected)
            return columns[0] if columns and not filled else None
        first = fitting[0]
        self.taken.append(first)
        for other in filled:
            one, two = values[first], values[other]
            both = np.flatnonzero(_some(one) & _some(two))
            if name == "worker":  # who may have different names in two columns
                one = pd.Series(two[both]).groupby(one[both]).transform("first").to_numpy()
            else:
                one = one[both]
            differ = both[one != two[both]]
            if other in fitting[1:] and len(differ):
                row, twice = self.table.row(differ[0]), key(other.name) == key(first.name)
                mend = "rename one" if twice else f"name one with --columns {name}=NAME"
                if twice or key(first.name) != key(USUAL[name][0]):
                    raise BadInput(
                        f"{self.table.path}: {name} could be {first.name} or {other.name}, which "
                        f"differ in row {row}; {mend}"
                    )
            elif filled.index(other) >= filled.index(first):
                continue
            self.table.note(
                f"{name} is read from column {first.name!r}, not from {other.name!r}; if that is "
                f"wrong, add --columns {name}={other.name}"
            )
        return first

    def _values(self, name: str, column: Column) -> list[Any]:
        """A value of the field for each different text of a column, None where it is none."""
        texts, classes = column.texts, self.order.classes
        single = [*map(_single, texts)]
        if name == "worker":
            return [person(text) or None for text in texts]
        if name == "seconds":
            values = np.full(len(texts), np.nan)
            values[column.codes] = column.seconds(strict=False)
            return [None if np.isnan(value) else value for value in values.tolist()]
        if name == "image":
            return [*map(image_places(texts, self.images).get, texts)]
        if name == "class":
            return [*map(class_places(single, classes).get, single)]
        said = standard_names(single, classes) if self.naming.any() else {}
        words = {} if self.naming.all() else standard(single)
        minus = [not self.naming.all() and _state(text) == -1 for text in single]
        return [
            said.get(text) or ("-1" if negative else words.get(text)) or None
            for text, negative in zip(single, minus, strict=True)
        ]

    def _misfit(self, name: str, column: Column, values: NDArray[Any], expected: str) -> None:
        """Note that a column is left out. Raises BadInput for a column that is needed."""
        odd = column.filled & ~_some(values)
        text = column.texts[column.codes[np.argmax(odd)]]
        expected = f"{expected} are expected"
        if name == "class":
            expected = _misnamed(_single(text), self.order.classes)
        mends = [f"name another column with --columns {name}=NAME"]
        if name == "answer":
            names = class_places(listed(text) or [text], self.order.classes)
            mends.append("write a row for each image and class" if names else "correct the column")
        elif name == "class":
            mends.insert(0, "write the names of the order")
        if name == "seconds" or (name != "answer" and self.table.named(USUAL["question"])):
            mends.append(f"leave it out with --columns {name}={ABSENT}")
        error = f"{column.refused(text, expected)}; {', or '.join(mends)}"
        if name == "answer" or (name != "seconds" and key(column.name) == name):
            raise BadInput(error)
        self.table.note(f"{error}; it is left out")

    def _notes(self, questions: NDArray[np.int64]) -> list[str]:
        """What people noted on the page, by row, and a note on it: no label holds it."""
        for column in self.table.named(["note"]) if self.table.named(["order"]) else []:
            images = self.order.table["image"].reindex(questions).to_numpy()
            texts = [
                f"{text!r} on {self.images[int(image)]}"
                for text, image in zip(column.cells(), images, strict=True)
                if text and image == image
            ]
            if texts:
                self.table.note(
                    f"notes from the page: {counted(texts)}; notes do not become labels"
                )
            return column.cells()
        return [""] * len(self.table)

    # images, classes and questions

    def _places(self, name: str, names: Sequence[str]) -> NDArray[np.int64]:
        """(m,) the image or class of each row: -1 if it is none of the order, -2 if blank."""
        kind = {"image": "images", "class": "classes"}[name]
        column = self._column(name, f"{kind} of the order, such as {names[0]!r},")
        if column is None:
            return np.full(len(self.table), -2)
        self.cells[name] = column.cells()
        places = [-1 if place is None else place for place in self._values(name, column)]
        pairs = zip(column.texts, places, strict=True)
        if other := [(t, names[n]) for t, n in pairs if n >= 0 and plain(names[n]) != t]:
            self.table.note(f"column {column.name!r}: {respelled(other, len(column.texts), kind)}")
        rows = np.array(places, np.int64)[column.codes]
        return np.where((rows < 0) & ~column.filled, -2, rows)

    def _questions(self) -> tuple[NDArray[np.int64], list[tuple[str, str, str]]]:
        """(m,) the number of each row's question, -1 for none, and the reason (`WHY`)."""
        asked, L = self.order.table, len(self.order.classes)
        whole = "image" in self.cells and ("class" in self.cells or bool(self.naming.all()))
        # A question that asks to name a class is not about one.
        places = asked["image"] * (L + 1) + np.where(self.naming, 0, asked["class"] + 1)
        about = pd.Series(asked["question"].to_numpy(), places.to_numpy()).groupby(level=0).first()
        pairs = about.reindex(self.image * (L + 1) + np.maximum(self.class_ + 1, 0)).fillna(-1)
        sure = whole & (self.image >= 0) & (self.class_ != -1)
        questions = np.where(sure, pairs, -1).astype(np.int64)
        stated, wrong = self._numbers(whole)
        if not whole and (stated < 0).all():
            vague = next((column.name for column in self.table.named(["id"])), None)
            more = f" (--columns question={vague} if these are numbers of the order's questions)"
            wanted = "for question, or for image and class"
            raise self._missing("question", wanted, "" if vague is None else more)
        questions = np.where(wrong, -1, np.where(stated >= 0, stated, questions))
        why = [
            self._why(place, int(stated[place])) if question < 0 else ("", "", "")
            for place, question in enumerate(questions.tolist())
        ]
        return questions, why

    def _numbers(self, whole: bool) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(m,) the stated number of each row's question (see `_number`), and whether it contradicts
        the row. All numbers are -1 if no column has numbers of the order's questions.

        whole: whether images and classes identify the questions, too.
        """
        asked, stated = self.order.table, "question" in self.chosen
        for column in [self.chosen["question"]] if stated else self.table.named(USUAL["question"]):
            if column is None or (column in self.taken and not stated):
                continue
            numbers = np.array([*map(_number, column.texts)], np.int64)[column.codes]
            self.cells["question"] = column.cells()
            rows, filled = asked.index.get_indexer(numbers), numbers >= 0
            wrong = (self.image != -2) & (self.image != asked["image"].to_numpy()[rows])
            classes = np.where(self.naming, -2, asked["class"])[rows]
            wrong |= (self.class_ != -2) & (classes != -2) & (self.class_ != classes)
            wrong = filled & ((rows < 0) | wrong)
            vague = not (numbers > 0).any() or (key(column.name) == "id" and not stated)
            if not filled.any() or (vague and not whole):
                continue
            most, foreign = 2 * wrong.sum() > filled.sum(), filled & (rows < 0)
            if most or (not whole and foreign.any()):
                place = int(np.argmax(wrong if most else foreign))
                problem = self._why(place, int(numbers[place]))[0]
                text = f"column {column.name!r}, row {self.table.row(place)}: {problem}"
                if vague:
                    self.table.note(f"{text}; it is left out, and image and class decide")
                    continue
                leave = f"leave it out with --columns question={ABSENT}: image and class decide"
                mend = leave if whole else "add the columns image and class"
                raise BadInput(f"{self.table.path}: {text}; correct the numbers, or {mend}")
            if not (whole or stated or self.table.named(["order"])):
                self.table.note(
                    f"the numbers in column {column.name!r} alone decide which question a row "
                    "answers; add the columns image and class if they may be of another order"
                )
            return numbers, wrong
        return np.full(len(self.table), -1), np.zeros(len(self.table), bool)

    def _why(self, place: int, number: int) -> tuple[str, str, str]:
        """The reason (`WHY`) why a row with this number answers no question of the order."""
        row = {name: cells[place] for name, cells in self.cells.items()}
        asked, classes = self.order.table, self.order.classes
        if self.class_[place] == -1:
            return _misnamed(row["class"], classes), row["class"], "unknown class"
        if self.image[place] == -1:
            return f"image {row['image']!r} is not in this order", "image", "unknown image"
        about = " in image ".join(repr(row[n]) for n in ("class", "image") if row.get(n))
        if number in asked.index:
            image, c = asked.loc[number, ["image", "class"]]
            other = f"{classes[c]!r} in image {self.images[image]!r}"
            return (f"question {number} is about {other}, and the row about {about}", "other",
                    "contradicting number")  # fmt: skip
        if number >= 0:
            stated = row["question"]
            return f"question {stated!r} is not in this order", "question", "unknown question"
        if about:
            return f"the order does not ask about {about}", "pair", "not asked"
        return "it names no question", "question", "unknown question"

    # answers, people and times

    def _decided(self, answer: Column) -> Column:
        """The answers, with no or unsure for -1. Raises BadInput for scales and undecided -1."""
        answer = answer.cleaned(_single)
        if self.naming.all():
            return answer
        # Not a sum below the answers.
        texts = [answer.texts[code] for code in np.unique(answer.codes[self.counted])]
        numbers = re.compile(r"[+-]?\d*[.,]?\d+\s*%?")
        for text in texts:
            if not means_state(text) and numbers.fullmatch(text) and text not in self.order.classes:
                expected = "numbers say 1 (yes), 0 (no) or -1; write yes, no or unsure"
                raise BadInput(
                    f"{answer.refused(text, expected)}, or name another column with --columns "
                    "answer=NAME"
                )
        codes = [state(text) for text in texts if means_state(text)]
        absent = meaning_of_minus(codes, self.minus, "--minus ") == 0
        if -1 in codes and not self.minus:
            self.table.note(
                f"-1 in column {answer.name!r} is read as unsure, because 0 means no; write no if "
                "it means no"
            )
        word = "no" if absent else "unsure"
        return answer.cleaned(lambda text: word if _state(text) == -1 else text)

    def _seconds(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(m,) the time of each row, and the number of questions that it was for."""
        m, thousandths = len(self.table), self.chosen.get("milliseconds")
        column = thousandths or self._column("seconds", "times")
        self.untimed = np.full(m, "", object)
        if column is None:
            self._note_unread_times()
            return np.full(m, np.nan), np.ones(m, np.int64)
        stated = column in self.chosen.values()
        seconds = column.seconds(milliseconds=True if thousandths else None, strict=stated)
        self.untimed[np.isnan(seconds) & column.filled] = "time not readable"
        shared = self._shared(column, seconds)
        of_page = self.table.named(["shared"]) and self.table.named(["order"])
        if not stated and not of_page:
            times = pd.Series(seconds / shared)[self.counted & (seconds > 0) & (seconds <= DAY)]
            _check_times(self.table.path, column.name, times)
            steps = times.groupby(self.worker.codes[times.index]).diff().dropna()
            for odd, words in ((steps == 0, "are all equal"), (steps > 0, "rise in every row")):
                if odd.all() and len(steps) >= FEW:
                    self.table.note(
                        f"the {len(times):,} times in column {column.name!r} {words}; if they are "
                        f"not of single answers, leave them out with --columns seconds={ABSENT}"
                    )
        return seconds, shared

    def _note_unread_times(self) -> None:
        """A note about columns that seem to hold times, where none is read as such."""
        free = [c for c in self.table.columns if c not in self.taken and c.filled.any()]
        names, moments = (
            [c.name for c in free if all(form.fullmatch(text) for text in c.texts if text)]
            for form in (_TIME, _MOMENT)
        )
        names = [name for name in names if _LIKE_TIMES.search(name.casefold())]
        mend = (
            f"if column {names[0]!r} has them, add --columns 'seconds={names[0]}'" if names else ""
        )
        if len(moments) > 1:
            mend = (f"add a column seconds with the difference of {moments[0]!r} and "
                    f"{moments[1]!r} if they are the start and the end")  # fmt: skip
        if mend and "seconds" not in self.chosen:
            self.table.note(f"no times are read; {mend}")

    def _shared(self, column: Column, seconds: NDArray[np.float64]) -> NDArray[np.int64]:
        """(m,) the number of questions that the time of each row was for."""
        for shared in self.table.named(["shared"]):
            counts = np.array([*map(_number, shared.texts)], np.int64)[shared.codes]
            return np.where((counts > 0) & (counts <= len(self.order.table)), counts, 1)
        times = pd.Series(seconds).where(self.counted)
        kinds = [
            (f"rows with the same {task.name}", times.groupby(task.codes), "" not in task.texts)
            for task in self.table.named(["annotation_id", "AssignmentId"])
        ]
        groups = times.groupby([self.image, self.worker.codes])
        several = (groups.size() > 1).sum() > 2 and times.nunique() > 1 and "image" in self.cells
        for rows, each, sure in (*kinds, ("answers of a person about an image", groups, several)):
            if sure and each.nunique().le(1).all() and each.size().max() > 1:
                self.table.note(
                    f"column {column.name!r} has one time for all {rows}, which share it"
                )
                return each.transform("size").fillna(1).to_numpy(np.int64)
        return np.ones(len(seconds), np.int64)


def _some(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(values != None)  # noqa: E711
