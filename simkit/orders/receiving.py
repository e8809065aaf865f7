"""Answers to an order: checked, stored in immutable files, and turned into results.

The results are labels, votes, times, agreement and open questions.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.peers import Peers, WorseWorker, peers, worse_of_pairs
from simkit.annotate.prices import Prices, cost
from simkit.annotate.prices import prices as price_list
from simkit.annotate.votes import NO as SAID_NO
from simkit.annotate.votes import YES as SAID_YES
from simkit.annotate.votes import RepeatedAnswers, Votes, error_rates, measured, repeated_answers
from simkit.chance import Chance
from simkit.errors import BadInput, noting
from simkit.files import parse_json, reading, toml_lines, whole
from simkit.history import History, sha256
from simkit.labels.formats import for_path
from simkit.labels.formats.base import write_lines
from simkit.labels.names import note_same, person, plain
from simkit.labels.partial import PartialLabels
from simkit.orders import project_state, side_tables
from simkit.orders.answer_tables import DAY, FASTEST, RAW, standard, standard_names
from simkit.orders.order import LABELS, NOTHING, Order, RoundSettings, effort_of
from simkit.orders.order_crowd import END, NO, UNSURE, YES, JoinedAnswers
from simkit.orders.sheet import listed as with_names

if TYPE_CHECKING:
    from simkit.annotate.dawid_skene import Fitted

DATA = "data.toml"  # the images as a data set, to train on with the labels
YES_BY_CLASS = "yes_by_class.csv"  # how often each person says yes about each class
COLUMNS = ("question", "worker", "answer", "seconds", "shared")
TYPES = {"question": int, "worker": str, "answer": str, "seconds": float, "shared": int}
TWICE = "twice"  # the cause of a problem: a person answers differently than before
COPIED, DIFFERENT_TIMES = 0.9, 10  # least share of equal answers of two people, and of times
LONG = 5  # times are cut at this multiple of the median of their kind, because of breaks
_STATES = {"yes": YES, "no": NO, "unsure": UNSURE}


@dataclass(frozen=True, eq=False)
class Checked:
    """Answers after the check.

    Attributes
    ----------
    answers : DataFrame
        Valid new answers: columns question, worker (hashed), answer, seconds (nan: not measured)
        and shared (the number of questions that these seconds are for).
    problems : DataFrame
        Rows that do not count: columns file, row (in the file), problem, and cause, which is the
        same text for rows with the same mistake. Every such row is listed, except empty answers and
        repetitions.
    left_out : dict of str to int
        Numbers of all rows and times that do not count, by reason.
    names : DataFrame
        The people with answers, new or earlier: columns worker (hashed) and name.
    notes : DataFrame
        What people noted about images: columns image, worker (hashed) and note.
    corrected : int
        Number of the valid new answers that replace an earlier one of the same person.
    """

    answers: pd.DataFrame
    problems: pd.DataFrame
    left_out: dict[str, int]
    names: pd.DataFrame
    notes: pd.DataFrame
    corrected: int


def checked(order: Order, rows: pd.DataFrame, *, correct: bool = False) -> Checked:
    """Check raw answers against the questions of an order and its earlier answers.

    Parameters
    ----------
    order : Order
    rows : DataFrame
        Raw answers: columns question, worker, answer, and optionally file and others of
        `answer_tables.RAW`.
    correct : bool, default False
        Count an answer in place of an earlier, different one of the same person; it is refused
        otherwise.

    Returns
    -------
    Checked
    """
    raw = {"file": str(order.folder), **RAW, "row": range(1, len(rows) + 1)}
    rows = rows.assign(**{name: raw[name] for name in raw if name not in rows})
    kinds, stored = order.table["kind"].to_dict(), kept(order)
    # A person answers about an image and class once, in whichever round.
    first = order.first.to_dict()
    earlier_ones = stored[["question", "worker", "answer"]].itertuples(False)
    before = {(first[q], w): (q, a, "") for q, w, a in earlier_ones}
    workers = pseudonyms(order, rows, {*stored["worker"]})
    texts = [*map(plain, map(str, rows["answer"]))]
    said, named = standard({*texts}), standard_names([*{*texts}], order.classes)
    rows = rows.assign(
        text=texts, seconds=_numbers(rows, "seconds"),
        number=_numbers(rows, "question", order.table["question"].max()).fillna(-1),
        shared=_numbers(rows, "shared", len(order.table)).fillna(1).clip(lower=1),
    )  # fmt: skip
    problems, valid, left_out, corrected, said_in = [], [], Counter[str](), 0, dict[Any, Any]()
    for row in rows.to_dict("records"):
        number, text, kind = int(row["number"]), row["text"], kinds.get(row["number"])
        answer, worker = (named if kind == "name" else said)[text], workers[str(row["worker"])]
        about, why = (first.get(number), worker), None
        asked, earlier, source = before.get(about, (number, None, ""))
        if row["reason"] and not row["problem"]:
            left_out[row["reason"]] += 1
        elif answer == "":
            left_out["no answer"] += 1
        elif row["problem"]:
            why = row["problem"], row["cause"], row["reason"]
        elif kind is None:
            problem = f"question {row['question']!r} is not in this order"
            why = problem, "question", "unknown question"
        elif answer is None:
            what = "a class of the order or nothing" if kind == "name" else "yes, no or unsure"
            why = f"question {number}: {text!r} is not {what}", text, "answer not understood"
        elif not worker:
            why = f"question {number}: the worker is not named", "worker", "worker not named"
        elif correct and _another(said_in.setdefault(about, (answer, row["file"])), answer, row):
            raise BadInput(_one_correction(said_in[about], answer, row))
        elif earlier is None or (correct and asked == number and earlier != answer):
            corrected += earlier is not None
            before[about] = number, answer, row["file"]
            seconds, untimed = _seconds(row)
            valid.append((number, worker, answer, seconds, int(row["shared"])))
            left_out.update(untimed)
        elif asked != number:
            left_out["the same person answered in an earlier round; ask another one"] += 1
        elif earlier == answer:
            left_out["repeated"] += 1
        else:
            why = _differs(number, earlier, answer, source)
        if why is not None:
            problems.append((row["file"], row["row"], *why[:2]))
            left_out[why[2]] += 1
    return Checked(
        _without_copies(order, rows, workers, stored, valid),
        pd.DataFrame(problems, columns=["file", "row", "problem", "cause"]),
        dict(left_out),
        *_names_and_notes(order, rows, workers, {*stored["worker"], *(one[1] for one in valid)}),
        corrected,
    )


def _without_copies(
    order: Order, rows: pd.DataFrame, workers: Mapping[str, str], stored: pd.DataFrame,
    valid: list[tuple[Any, ...]],
) -> pd.DataFrame:  # fmt: skip
    """The valid answers as a table.

    Raises BadInput if those of a person are those of another one, with the same times: one file
    under two names would be counted and paid twice.
    """
    answers = pd.DataFrame(valid, columns=list(COLUMNS))
    by = ["question", "answer", "seconds", "shared"]
    timed = answers[answers["seconds"].notna()]
    if not len(timed):
        return answers
    pairs = timed.merge(pd.concat([stored, answers])[[*by, "worker"]], on=by)
    pairs = pairs[pairs["worker_x"] != pairs["worker_y"]]
    for (who, other), same in pairs.groupby(["worker_x", "worker_y"]):
        total = int((timed["worker"] == who).sum())
        if len(same) < COPIED * total or same["seconds"].nunique() < DIFFERENT_TIMES:
            continue
        own = rows[rows["worker"].astype(str).map(workers) == who].iloc[0]
        names = dict(side_tables.read(order.folder, side_tables.NAMES).to_numpy().tolist())
        names |= {worker: plain(text) for text, worker in workers.items()}
        raise BadInput(
            f"{own['file']}: {len(same):,} of the {total:,} new answers of {names[who]} are those "
            f"of {names.get(other, other)}, with the same times, and one file under two names "
            "would be paid twice; leave the file out"
        )
    return answers


def _another(first: tuple[str, str], answer: str, row: Mapping[str, Any]) -> bool:
    """Whether an answer differs from the first one of the same person in another file."""
    return first[0] != answer and first[1] != row["file"]


def _one_correction(first: tuple[str, str], answer: str, row: Mapping[str, Any]) -> str:
    """The error about two files that correct an answer differently."""
    return (
        f"{row['file']}, row {row['row']}: the same person answered {first[0]} in {first[1]} and "
        f"{answer} here, and only one can be used; give only the file with the answers to use"
    )


def _differs(number: int, earlier: str, answer: str, source: str) -> tuple[str, str, str]:
    """The problem of an answer that differs from an earlier one, its cause and the reason.

    source: the file of the earlier answer, if it came with the others; else "".
    """
    where = f"in {source}" if source else "before"
    text = (
        f"the same person answered {earlier} {where} and {answer} here; the earlier answer counts"
    )
    return f"question {number}: {text}", TWICE, "another answer of the same person"


def _names_and_notes(
    order: Order, rows: pd.DataFrame, workers: Mapping[str, str], answering: set[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The names and notes of raw answers, as in `Checked`. answering: workers with answers."""
    spelled = rows["worker"].astype(str)
    rows = rows.assign(name=spelled.map(plain), worker=spelled.map(workers))
    noted = rows[(rows["note"] != "") & rows["number"].isin(order.table.index)]
    images = order.images[order.table["image"][noted["number"]]]
    names = rows[rows["worker"].isin(answering)].drop_duplicates("worker")
    return names[["worker", "name"]], noted[["worker", "note"]].assign(image=images)


def _seconds(row: Mapping[str, Any]) -> tuple[float, list[str]]:
    """The time of a raw answer, nan if it is none, and the reason for leaving it out, if any."""
    seconds = row["seconds"]
    if np.isnan(seconds):
        return seconds, [row["untimed"]] if row["untimed"] else []
    if not 0 <= seconds <= DAY:
        return float("nan"), ["time above a day" if seconds > 0 else "time below 0"]
    short = seconds < FASTEST * row["shared"]
    return seconds, [f"time below {FASTEST} s a question"] * short


def pseudonyms(order: Order, rows: pd.DataFrame, stored: set[str]) -> dict[str, str]:
    """For each spelling of a person's name, a pseudonym that differs between orders; "" for "".

    stored: pseudonyms in use. Up to version 0.3 each spelling of a name had one.
    """

    def pseudonym(text: str) -> str:
        return f"w-{sha256(f'{order.id} {text}'.encode())[:10]}"

    workers, first = {"": ""}, dict[str, str]()
    merged, files = list[tuple[str, str]](), list[str]()
    for name, file in (
        rows[["worker", "file"]].astype(str).drop_duplicates("worker").itertuples(False)
    ):
        text, compared = plain(name), person(name)
        forms = [text, compared, *(form(text) for form in (str.title, str.upper)), f"{compared}.0"]
        used = next((one for one in map(pseudonym, forms) if one in stored), pseudonym(compared))
        workers[name] = used if compared else ""
        other = first.setdefault(compared, text)
        if other != text or compared != text.casefold():
            merged.append((other if other != text else compared, text))
            files.append(file)
    if merged:
        note_same(merged, "names of people", noting(files[0]))
    return workers


def keep(order: Order, answers: pd.DataFrame) -> Path | None:
    """Add answers to the order's folder as a new file; None if there are no answers."""
    if not len(answers):
        return None
    rows = answers.astype(object).where(answers.notna(), None).to_dict("records")
    lines = [json.dumps({"order": order.id, **row}) for row in rows]
    count = len(list((order.folder / "answers").glob("*.jsonl")))
    digest = sha256("".join(f"{line}\n" for line in lines).encode())[:12]
    file = order.folder / "answers" / f"{count + 1:04d}-{digest}.jsonl"
    write_lines(file, lines)
    return file


def kept(order: Order) -> pd.DataFrame:
    """All answers of an order as they were received, the last one per person and question.

    Returns
    -------
    DataFrame
        Columns question, worker, answer, seconds, shared, and file (numbered from 1, in the order
        of receipt).

    Raises
    ------
    BadInput
        If a file was changed or belongs to another order.
    """
    tables = [pd.DataFrame(columns=list(COLUMNS)).astype(TYPES).assign(file=0)]
    kinds, classes = order.table["kind"].to_dict(), {*order.classes, NOTHING}
    for number, file in enumerate(sorted((order.folder / "answers").glob("*.jsonl")), 1):
        with reading(file, "answers", "restore the file"):
            text = file.read_bytes()
            if sha256(text)[:12] != file.stem.partition("-")[2]:
                raise BadInput("it was changed after it was received; restore the file")
            rows: list[dict[str, Any]] = [parse_json(line) for line in text.decode().splitlines()]
            for other in {row["order"] for row in rows} - {order.id}:
                raise BadInput(f"it answers order {other}; move it to the folder of that order")
            if any(row["answer"] not in (classes if kinds[row["question"]] == "name" else _STATES)
                   for row in rows):  # fmt: skip
                raise ValueError("an answer is not valid")
            table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(TYPES)
            tables.append(table.assign(file=number))
    answers = pd.concat(tables)
    answers["seconds"] = _numbers(answers, "seconds", DAY)
    # A later answer is a correction, or two processes received the same file at the same time. The
    # time is that of the first one, so that what was paid stays paid.
    by, paid = ["question", "worker"], ["seconds", "shared", "file"]
    last = answers.drop_duplicates(by, keep="last", ignore_index=True)
    first = answers.drop_duplicates(by)[[*by, *paid]]
    return last.drop(columns=paid).merge(first, on=by, validate="1:1")


def _numbers(rows: pd.DataFrame, column: str, most: float | None = None) -> pd.Series[float]:
    """A column as numbers; nan for anything else, and outside 0 to `most` if it is given."""
    numbers = pd.to_numeric(rows[column].astype(str), errors="coerce").astype(float)
    return numbers if most is None else numbers.where(numbers.between(0, most))


@dataclass(frozen=True, eq=False)
class OrderState:
    """An order with its answers so far.

    Attributes
    ----------
    order : Order
    received : DataFrame
        As `kept`, with the columns of the questions.
    aside : frozenset of (str, str)
        Worker and class, or "" for all classes, whose answers are set aside: they are paid and
        counted as effort, and not used.
    declined : frozenset of int
        Questions for which no further answers are awaited; they count if they come.
    """

    order: Order
    received: pd.DataFrame
    aside: frozenset[tuple[str, str]] = frozenset()
    declined: frozenset[int] = frozenset()

    @staticmethod
    def of(order: Order) -> OrderState:
        """Read the answers in the order's folder. Raises BadInput."""
        answers = kept(order)
        about = order.table.drop(columns="question")
        table = side_tables.read(order.folder, side_tables.WITHOUT)
        aside = frozenset(zip(table["worker"], table["class"], strict=True))
        declined = {str(number) for number in order.table["question"]}
        declined &= {*side_tables.read(order.folder, side_tables.DECLINED)["question"]}
        received = answers.join(about, on="question")
        return OrderState(order, received, aside, frozenset(map(int, declined)))

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of workers, as far as they are known."""
        return dict(side_tables.read(self.order.folder, side_tables.NAMES).to_numpy().tolist())

    @cached_property
    def answers(self) -> pd.DataFrame:
        """The received answers, without those that are set aside."""
        return self.received[~self.are_aside(self.received["worker"], self.received["class"])]

    @property
    def workers_aside(self) -> set[str]:
        """The workers whose answers are all set aside."""
        return {worker for worker, about in self.aside if not about}

    def are_aside(self, worker: pd.Series[str] | str, about: pd.Series[int]) -> pd.Series[bool]:
        """Whether answers of these workers about these classes (indices) are set aside."""
        places = {name: c for c, name in enumerate(self.order.classes)}
        found = pd.Series(False, about.index)
        for who, name in self.aside:
            classes = about == places[name] if name else pd.Series(True, about.index)
            found |= classes & (worker == who)
        return found

    def about(self, images: NDArray[np.integer]) -> OrderState:
        """The state of the questions about these images (indices) alone."""
        tables = [part.table[part.table["image"].isin(images)] for part in self.order.rounds]
        kept = [n for n, table in enumerate(tables) if len(table)]
        rounds = tuple(replace(self.order.rounds[n], table=tables[n]) for n in kept)
        answers = self.received[self.received["image"].isin(images)]
        numbers = answers["round"].map({n + 1: place for place, n in enumerate(kept, 1)})
        part = replace(self.order, rounds=rounds)
        if rounds:  # too few of them to say which images a further round leaves out
            part = replace(part, without=self.order.left_out(part.settings))
        return OrderState(part, answers.assign(round=numbers), self.aside, self.declined)

    @cached_property
    def usual(self) -> int:
        """Answers to a typical question of the first round: those ordered, or those received since.

        Prices and plans are for so many answers.
        """
        first = self.order.rounds[0]
        people = self._people.reindex(first.table["question"]).dropna()
        return max(first.settings.answers, int(people.median()) if len(people) else 0)

    @cached_property
    def joined(self) -> JoinedAnswers:
        """One joined answer for each answered question; gold questions are left out."""
        real = self.answers[self.answers["gold"] == 0]
        naming = real["kind"] == "name"
        L = self.order.shape[1]
        said = real[~naming]
        said = said.assign(place=said["image"] * L + said["class"])
        each = said["answer"].map(_STATES).astype(np.int64).groupby(said["place"])
        states = np.sign(each.sum())  # a tie of yes and no is unsure
        if self.order.settings.join == "union":
            states = states.mask(each.max() == YES, YES)
        if self.order.settings.join == "dawid-skene" and self.votes is not None:
            if self._fitted is None:
                warnings.warn(
                    "dawid-skene needs at least 3 answers to most questions, and 50 answers each "
                    "on present and on absent classes; until then answers are joined by majority",
                    stacklevel=2,
                )
            else:
                places = self.votes.question_image * L + self.votes.question_class
                states.update(pd.Series(np.where(self._fitted.present > 0.5, YES, NO), places))
        named = self._names(real[naming])
        return JoinedAnswers(states.index.to_numpy(np.int64), states.to_numpy(np.int8), named)

    @cached_property
    def labels(self) -> PartialLabels:
        """The labels of all answers, with the answered questions as effort.

        They are the labels of the scheme (with a hierarchy, an answer may label further classes)
        and, unless the scheme has keep_looks=False, all other answers, such as those of rounds with
        other schemes.
        """
        order, settings, joined = self.order, self.order.settings, self.joined
        of_scheme = order.ask(settings, joined).labels
        codes, L = of_scheme.codes, order.shape[1]
        if getattr(settings.parsed_scheme, "keep_looks", True):
            sure, named = joined.states != UNSURE, joined.named.items()
            said = pd.Series(joined.states[sure], joined.places[sure])
            places = [image * L + c for image, given in named for c in given if c != END]
            said = pd.concat([said, pd.Series(YES, places, dtype=np.int8)]).groupby(level=0).max()
            where = np.divmod(said.index.to_numpy(np.int64), L)
            others = csr_array((said.to_numpy(np.int8), where), shape=order.shape)
            codes = codes + others - others.multiply(codes != 0)
        used = self.answers[self.answers["gold"] == 0]
        asked = np.zeros(order.shape[0], bool)
        asked[used["image"].to_numpy(np.int64)] = True
        answered = self.received[self.received["gold"] == 0].drop_duplicates("question")
        # Further answers count as they come.
        given = self.received.groupby("question")["worker"].nunique()[answered["question"]]
        each = np.maximum(answered["needed"], np.minimum(given.to_numpy(), answered["answers"]))
        # An image that is asked about again is opened again, as if it were another one.
        pair = answered["question"].map(order.first).fillna(answered["question"])
        visit = answered.groupby(pair).cumcount()
        (N, L), visits = order.shape, 1 + int(visit.max()) if len(visit) else 1
        opened = answered.assign(image=answered["image"] + N * visit)
        effort = effort_of(opened, (N * visits, L), each)
        about = {
            "scheme": settings.scheme, "order": order.id, "join": settings.join,
            "people": settings.answers, "answers": len(self.answers),
        }  # fmt: skip
        dropped, machine = of_scheme.effort.dropped, of_scheme.effort.machine
        return PartialLabels.of(
            codes, order.images, order.classes, of_scheme.asked | asked,
            effort=replace(effort, dropped=dropped, machine=machine),
            history=History("receive", about, settings.seed, (order.id,)),
        )  # fmt: skip

    @cached_property
    def open(self) -> pd.DataFrame:
        """Questions that fewer people answered than required.

        The column answered is their number, and lacking the number of missing answers.
        """
        return self._unanswered("needed")

    @cached_property
    def further(self) -> pd.DataFrame:
        """Questions that lack only further answers, which measure errors, of other people."""
        return self.lacking[~self.lacking["question"].isin(self.open["question"])]

    @cached_property
    def lacking(self) -> pd.DataFrame:
        """Questions that lack answers, also further ones, with columns as of `open`."""
        return self._unanswered("answers")

    @cached_property
    def of_others(self) -> pd.DataFrame:
        """Questions that lack further answers, of other people, whether open or not."""
        several = self.lacking["answers"] > self.lacking["needed"]
        several &= ~self.lacking["question"].isin(self.declined)
        return self.lacking[several | ~self.lacking["question"].isin(self.open["question"])]

    def _unanswered(self, number: str) -> pd.DataFrame:
        table, first = self.order.table, self.order.first
        people = self.answers.groupby("question")["worker"].nunique()
        answered = people.reindex(table.index, fill_value=0)
        # Surplus answers to one question count for others about its image and class, because an
        # answer without a number belongs to the first of them.
        beyond = (answered - table["answers"]).clip(lower=0).groupby(first).transform("sum")
        wanted = table[number].where(~table["question"].isin(self.declined), table["needed"])
        lacking = (wanted - answered).clip(lower=0)
        lacking = np.minimum(lacking, lacking.groupby(first).cumsum() - beyond)
        missing = lacking > 0
        closed = [image for image, given in self.joined.named.items() if END in given]
        ended = (table["kind"] == "name") & table["image"].isin(closed)
        missing &= ~ended
        return table[missing].assign(answered=answered[missing], lacking=lacking[missing])

    @cached_property
    def _people(self) -> pd.Series[int]:
        """The number of people who answered, by the first question about the same pair."""
        first = self.answers["question"].map(self.order.first)
        return self.answers.groupby(first)["worker"].nunique()

    def again(self, number: int) -> pd.DataFrame:
        """The pairs with fewer than `number` answers, or as many yes as no, to be asked again.

        Those in doubt (disagreement or an unsure answer) are first, then the images at random.
        Column answers is the number of answers that they lack, apart from those still open. A pair
        that was searched for is verified, as it is no look for a class any more.

        Raises
        ------
        BadInput
            If there are none.
        """
        table = self.below(number)
        if not len(table):
            raise BadInput(
                f"every answered question has {number} answers or more, or waits for them; raise "
                "--answers"
                if len(self.joined.places)
                else "no question is answered yet, so none can be asked again; receive the first "
                "answers, or leave --answers out"
            )
        return table.drop(columns="people")

    @cached_property
    def ties(self) -> pd.DataFrame:
        """The pairs with as many yes as no, as `again`; empty without any.

        One more person is asked than were ordered: after an unsure answer a tie stays unknown.
        """
        table, pair = self.below(0), ["image", "class"]
        ordered = max(part.settings.answers for part in self.order.rounds)
        each = self.order.table.groupby(pair)["answers"].max().clip(lower=ordered)
        each = each.reindex(pd.MultiIndex.from_frame(table[pair])).to_numpy()
        undecided = (table["people"] <= each) & (self.order.settings.join == "majority")
        return table[undecided].drop(columns="people")

    @cached_property
    def ties_to_ask(self) -> pd.DataFrame:
        """`ties` without the questions for which further answers are declined."""
        pair = ["image", "class"]
        declined = self.order.table["question"].isin(self.declined)
        gone = pd.MultiIndex.from_frame(self.order.table.loc[declined, pair])
        return self.ties[~pd.MultiIndex.from_frame(self.ties[pair]).isin(gone)]

    def below(self, number: int) -> pd.DataFrame:
        """As `again`, with a column people: the number of answers so far; empty if none are."""

        def real(table: pd.DataFrame) -> pd.DataFrame:
            return table[(table["gold"] == 0) & (table["kind"] != "name")]

        said = real(self.answers)
        pair = ["image", "class"]
        words = [(said["answer"] == word).rename(word) for word in _STATES]
        counts = pd.concat([said[pair], *words], axis=1).groupby(pair).sum()
        counts["kind"] = said.groupby(pair)["kind"].first().replace("search", "verify")
        waiting = real(self._unanswered("answers"))
        open_ = waiting.groupby(pair)["lacking"].sum().reindex(counts.index, fill_value=0)
        yes, no, unsure = (counts[word] for word in _STATES)
        tied, people = (yes == no) & (yes > 0), yes + no + unsure
        lacking = np.maximum(number - people, tied.astype(int)) - open_
        table = (
            counts[["kind"]]
            .assign(
                nth=0, answers=lacking, people=people, doubt=(unsure > 0) | ((yes > 0) & (no > 0))
            )[lacking > 0]
            .reset_index()
        )
        chance = Chance.seeded(self.order.settings.seed).of("again", len(self.order.rounds))
        order = np.lexsort((chance(table["image"].to_numpy()), ~table["doubt"]))
        return shown_alone(table.iloc[order].drop(columns="doubt"), self.order)

    @cached_property
    def _decided(self) -> pd.DataFrame:
        """The yes and no answers in use; early: those that were not asked for because of earlier
        ones."""
        return self._said[~self._said["aside"]]

    @cached_property
    def _said(self) -> pd.DataFrame:
        """As `_decided`, with those that are set aside (aside)."""
        received = self.received  # those set aside came first, too
        ordered = received["question"].map(self.order.first).map(self.order.table["answers"])
        early = received.groupby(["image", "class"]).cumcount() < ordered
        early &= received["question"].map(self.order.first) == received["question"]
        early |= received["question"].isin(self._of_whole_images)
        aside = self.are_aside(received["worker"], received["class"])
        said = received.assign(early=early, aside=aside)
        said = said[said["answer"].isin(["yes", "no"])]
        return said.drop_duplicates(["image", "class", "worker"])

    @property
    def _of_whole_images(self) -> pd.Index[int]:
        """Yes-or-no questions that ask again about all classes of their image, whatever the earlier
        answers."""
        table = self.order.table[(self.order.table["gold"] == 0)
                                 & (self.order.table["kind"] != "name")]  # fmt: skip
        first = self.order.first[table.index]
        here = first.groupby([table["round"], table["image"]]).transform("nunique")
        whole = here == first.groupby(table["image"]).transform("nunique")
        return table.index[whole & (first != table["question"])]

    @cached_property
    def worse_of_pairs(self) -> list[WorseWorker]:
        """Who of two people errs more often, by the answers of others."""
        early = self._decided["early"].to_numpy(bool)
        return [] if self.votes is None else worse_of_pairs(self.votes, early)

    @cached_property
    def votes(self) -> Votes | None:
        """The yes and no answers in use, for `simkit habits`; None without any."""
        return self._votes(self._decided) if len(self._decided) else None

    def _votes(self, said: pd.DataFrame) -> Votes:
        question = said.groupby(["image", "class"], sort=False).ngroup()
        pairs, gold = said[~question.duplicated()], said["gold"].groupby(question).max().to_numpy()
        workers, who = np.unique(said["worker"], return_inverse=True)
        return Votes(
            images=self.order.images,
            classes=self.order.classes,
            workers=tuple(map(str, workers)),
            question_image=pairs["image"].to_numpy(np.int64),
            question_class=pairs["class"].to_numpy(np.int64),
            vote_question=question.to_numpy(),
            vote_worker=who,
            vote_answer=np.where(said["answer"] == "yes", SAID_YES, SAID_NO).astype(np.int8),
            gold=np.where(gold == 0, -1, gold > 0).astype(np.int8),
        )

    @cached_property
    def tied(self) -> int:
        """The number of labels that stay unknown because people disagreed."""
        real = self.answers[(self.answers["gold"] == 0) & (self.answers["kind"] != "name")]
        said = real[real["answer"] != "unsure"]
        places = said["image"] * self.order.shape[1] + said["class"]
        both = said["answer"].groupby(places).nunique()
        places = both.index[both > 1].to_numpy(np.int64)
        return int((self.joined.states_at(places) == UNSURE).sum())

    @cached_property
    def errors(self) -> tuple[float, float] | None:
        """Shares of present classes missed and of absent ones reported, in one person's answers.

        By the model of Dawid and Skene if most questions have three answers, else by the questions
        that have, or by the gold questions; None without any.
        """
        if self.votes is None:
            return None
        if self._fitted:
            return self._fitted.rates
        if self.repeated is not None:
            return self.repeated.rates
        rates = error_rates(measured(self.votes), "yes")
        return None if np.isnan(rates).any() else rates

    @cached_property
    def repeated(self) -> RepeatedAnswers | None:
        """The errors as estimated from questions with at least three answers.

        Where there are none without the answers that are set aside, these are the third ones, as
        if by people with other error rates.
        """
        found = None if self.votes is None else repeated_answers(self.votes)
        if found is None and len(self._said) > len(self._decided) > 0:
            others = self._said["aside"].to_numpy(bool)
            found = repeated_answers(self._votes(self._said), others)
        return found

    @cached_property
    def _fitted(self) -> Fitted | None:
        """The model of Dawid and Skene of the votes; None if they are too few."""
        from simkit.annotate.dawid_skene import fit_annotators

        try:
            return None if self.votes is None else fit_annotators(self.votes)
        except BadInput:
            return None

    @cached_property
    def peers(self) -> Peers | None:
        """The agreement of the people in `votes` with each other; None without votes."""
        early = self._decided["early"].to_numpy(bool)
        return None if self.votes is None else peers(self.votes, early)

    @cached_property
    def unselected(self) -> pd.DataFrame:
        """The yes and no answers to questions that no earlier answers chose, with columns as of
        `answers`; round is that of the first question about the pair, and yes is a bool.

        Questions asked again count only in rounds that ask again about all classes of their image.
        """
        table = self.order.table[(self.order.table["gold"] == 0)
                                 & (self.order.table["kind"] != "name")]  # fmt: skip
        once = table.index[self.order.first[table.index] == table["question"]]
        said = self.answers[self.answers["question"].isin(once.append(self._of_whole_images))]
        said = said[said["answer"].isin(["yes", "no"])]
        began = self.order.table.loc[self.order.first[said["question"]], "round"].to_numpy()
        return said.assign(round=began, yes=said["answer"] == "yes")

    @cached_property
    def _times(self) -> pd.DataFrame:
        """Columns kind, each (seconds per question and person) and most (`LONG` medians)."""
        timed = self._timed(self.answers)
        return timed.assign(most=LONG * timed.groupby("kind")["each"].transform("median"))

    @cached_property
    def _worked(self) -> pd.Series[float]:
        """Seconds of each received answer with a time, cut at `LONG` medians of the answers of its
        kind and round up to its file; what is received later does not change them."""
        timed = self._timed(self.received).sort_values("file", kind="stable")
        worked = timed["each"].copy()
        for _, some in timed.groupby(["kind", "round"])["each"]:
            files = timed["file"][some.index].to_numpy()
            ends = np.searchsorted(files, files, "right")
            medians = {end: np.median(some.iloc[:end]) for end in np.unique(ends)}
            worked[some.index] = some.clip(upper=LONG * np.array([medians[end] for end in ends]))
        return worked

    @staticmethod
    def _timed(answers: pd.DataFrame) -> pd.DataFrame:
        """Columns kind, round, file and each (seconds per question), of answers with a time.

        Where others of a round are shown all classes of an image at once, a class that is shown
        alone takes longer, as one to verify does.
        """
        each = answers["seconds"] / answers["shared"]
        timed = answers[["kind", "round", "file", "shared"]].assign(each=each)[each >= FASTEST]
        at_once = timed.groupby("round")["shared"].transform("max") > 1
        alone = at_once & (timed["shared"] == 1) & (timed["kind"] == "sweep")
        return timed.assign(kind=timed["kind"].mask(alone, "verify")).drop(columns="shared")

    @cached_property
    def seconds(self) -> pd.Series[float]:
        """Mean seconds per question and person, by kind; long pauses are cut at `LONG` medians."""
        times = self._times
        return times["each"].clip(upper=times["most"]).groupby(times["kind"]).mean()

    @property
    def pauses(self) -> int:
        """The number of times that are cut."""
        return int((self._times["each"] > self._times["most"]).sum())

    @cached_property
    def people(self) -> pd.DataFrame:
        """By worker: answers, unsure (share), seconds (median), time, untimed, pay, gold, right.

        Of answers with a time, time is the sum in seconds, with pauses cut; untimed is the number
        of the others. pay is the sum of `pay`. gold is a number of answers, right a share of them.
        Of the others' yes, those to which the person said yes are the share yes, with the interval
        yes_low to yes_high and the number of questions yes_questions; in the same way for no.
        Answers that are set aside have no such shares, and are paid.
        """
        received = self.received
        rows = received.assign(each=received["seconds"] / received["shared"])
        gold = rows[rows["gold"] != 0]
        right = (gold["answer"] == "yes") == (gold["gold"] > 0)
        by, timed = rows.groupby("worker"), self._worked.groupby(received["worker"])
        table = pd.DataFrame({
            "answers": by.size(), "unsure": by["answer"].agg(lambda a: (a == "unsure").mean()),
            "seconds": by["each"].median(), "time": timed.sum(),
            "untimed": by.size().sub(timed.size(), fill_value=0).astype(int),
            "pay": self.pay.sum(axis=1, min_count=1),
            "gold": gold.groupby("worker").size(), "right": right.groupby(gold["worker"]).mean(),
        })  # fmt: skip
        workers = [] if self.votes is None else [*self.votes.workers]
        for said, word in enumerate(("no", "yes")):
            for end in ("", "_low", "_high", "_questions"):
                values = [] if self.peers is None else getattr(self.peers, end[1:] or "share")
                column = [row[said] for row in values]
                table[word + end] = pd.Series(column, workers, dtype=float).reindex(table.index)
            number = word + "_questions"
            table[number] = table[number].fillna(0).astype(int)
        return table.assign(aside=table.index.isin(self.workers_aside))

    @cached_property
    def pay(self) -> pd.DataFrame:
        """Dollars of each worker (rows) for each round (columns), in whole cents.

        Answers that the price list prices in dollars, and the time of all others at its wage; nan
        where there is neither. Each amount is rounded alone and depends on no answers that are
        received later, so that sums add up, and what was paid stays paid.
        """
        received, listed = self.received, price_list(self.order.settings.prices).once_set_up()
        keys, priced = ["worker", "round"], received["kind"].isin(_in_dollars(listed))
        wage = float("nan") if listed.wage is None else listed.wage / 3600
        hourly = self._worked[~priced].groupby([received[key] for key in keys]).sum() * wage
        fixed = {
            key: sum(line.dollars for line in cost(effort_of(rows, self.order.shape, 1), listed)
                     .lines if line.kind in _in_dollars(listed))
            for key, rows in received[priced].groupby(keys)
        }  # fmt: skip
        pairs = received[keys].drop_duplicates().sort_values("round", kind="stable")
        index = pd.MultiIndex.from_frame(pairs)
        dollars = pd.Series([fixed.get(pair, float("nan")) for pair in index], index, dtype=float)
        return hourly.reindex(index).add(dollars, fill_value=0).round(2).unstack()

    def paid(self, rows: pd.DataFrame) -> float:
        """The pay in dollars for these received answers of one person: measured times at the wage,
        and list prices for answers without times."""
        listed = price_list(self.order.settings.prices)
        timed = rows.index.intersection(self._worked.index)
        timed = timed[~rows["kind"][timed].isin(_in_dollars(listed)) & (listed.wage is not None)]
        hourly = float(self._worked[timed].sum()) * (listed.wage or 0) / 3600
        effort = effort_of(rows.drop(timed), self.order.shape, 1)
        return hourly + cost(effort, self.rates()).dollars

    @cached_property
    def untimed(self) -> pd.DataFrame:
        """The received answers that are paid by the hour and have no time."""
        timed = self.received.index.isin(self._worked.index)
        priced = _in_dollars(price_list(self.order.settings.prices))
        return self.received[~timed & ~self.received["kind"].isin(priced)]

    def rates(self, settings: RoundSettings | None = None) -> Prices:
        """The prices of further questions: by the measured times, or by the list without any.

        settings: those of a further round, which may name another price list.
        """
        settings = settings or self.order.settings
        return (self.prices(settings.prices) or self.order.prices_of(settings)).once_set_up()

    def prices(self, name: str = "") -> Prices | None:
        """The price list of the order, or the one of this name, with the measured times; None
        without any.

        Kinds of questions that were not asked take longer, or less long, by the same factor. Times
        that give no price list are noted in a warning, and None is returned.
        """
        listed = price_list(name or self.order.settings.prices)
        if not len(self.seconds) or listed.wage is None:
            return None
        counts, rates = self._times.groupby("kind").size(), dict(listed.rates)
        # A price in dollars does not depend on the time that an answer takes.
        timed = {kind: rate for kind, rate in rates.items() if rate.dollars is None}
        ratios: list[float] = []
        try:
            for kind, seconds in self.seconds.items():
                rate = timed.pop(str(kind), None)
                if rate is None or rate.seconds is None:
                    continue
                if rate.per != "image" and rate.seconds * seconds > 0:
                    ratios.append(seconds * (rate.page or 1) / rate.seconds)
                source = f"measured on {counts[kind]:,} answers to order {self.order.id}"
                rates[str(kind)] = replace(
                    rate, per="question", page=0, seconds=round(float(seconds), 2), source=source
                )
            pace = float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
            for kind, rate in timed.items():
                seconds = round((rate.seconds or 0) * pace, 3)
                source = f"{rate.source}; times {pace:.2f}, as measured for other questions"
                rates[kind] = replace(rate, seconds=seconds, source=source)
            return replace(listed, name="measured", rates=rates)
        except BadInput as error:
            warnings.warn(f"the measured times are not used, as they give no price list ({error})",
                          stacklevel=2)  # fmt: skip
            return None

    def _names(self, said: pd.DataFrame) -> dict[int, tuple[int, ...]]:
        """The classes named in each image: the most frequent answer to each question."""
        index = {name: c for c, name in enumerate(self.order.classes)} | {NOTHING: END}
        named: dict[int, list[int]] = {}
        counts = said.groupby(["image", "nth", "answer"]).size().reset_index(name="people")
        counts = counts.sort_values(["image", "nth", "people"], ascending=[True, True, False],
                                    kind="stable")  # fmt: skip
        frequent = counts.drop_duplicates(["image", "nth"])
        for image, text in zip(frequent["image"], frequent["answer"], strict=True):
            answer, given = index[text], named.setdefault(int(image), [])
            if END not in given and answer not in given:
                given.append(answer)
        return {image: tuple(classes) for image, classes in named.items()}


def shown_alone(questions: pd.DataFrame, order: Order) -> pd.DataFrame:
    """The questions with kind verify where they are about a single class of an image: it takes
    longer than one of all classes that are shown at once."""
    single = questions.groupby("image")["class"].transform("nunique") == 1
    swept = (questions["kind"] == "sweep") & single & (order.shape[1] > 1)
    return questions.assign(kind=questions["kind"].mask(swept, "verify"))


def _in_dollars(listed: Prices) -> list[str]:
    """The kinds of questions that a price list prices in dollars, not in seconds."""
    return [kind for kind, rate in listed.rates.items() if rate.dollars is not None]


def write(state: OrderState) -> list[str]:
    """Write labels, votes, times and open questions into the order's folder; the files' names."""
    order, folder, columns = state.order, state.order.folder, ["question", "round", "kind"]
    questions = with_names(order, state.open)[[*columns, "image", "class"]]
    files = {
        "open.csv": questions.assign(answered=state.open["answered"]),
        "people.csv": state.people.reset_index(),
    }
    if len(state.unselected):
        by = state.unselected.groupby(["class", "worker"])["yes"]
        habits = by.agg(answers="size", yes="sum").reset_index()
        named = np.array(order.classes, object)[habits["class"]]
        share = habits["yes"] / habits["answers"]
        files[YES_BY_CLASS] = habits.assign(**{"class": named, "share": share})
    if (votes := state.votes) is not None:
        about = votes.vote_question
        files["votes.csv"] = pd.DataFrame({
            "image": votes.images[votes.question_image[about]],
            "class": np.array(votes.classes, object)[votes.question_class[about]],
            "worker": np.array(votes.workers, object)[votes.vote_worker],
            "answer": np.array(["no", "maybe", "yes"])[votes.vote_answer],
            "gold": np.array(["no", "yes", ""])[votes.gold][about],  # -1, the last one: not asked
        })  # fmt: skip
    named = state.answers.query("kind == 'name' and nth == 0 and answer != @NOTHING")
    if len(named):
        images = order.images[named["image"].to_numpy(np.int64)]
        files["named.csv"] = named[["worker"]].assign(image=images, **{"class": named["answer"]})
    project_state.record(folder.absolute().parent)
    for_path(folder / LABELS, writing=True).write(state.labels, folder / LABELS)
    for name, table in files.items():
        with whole(folder / name) as part:
            table.to_csv(part, index=False)
    write_data(order, folder / DATA)
    names, prices, file = [LABELS, *files, DATA], state.prices(), folder / "measured.toml"
    if prices is None:
        file.unlink(missing_ok=True)
        return sorted(names)
    listed = order.settings.prices
    # `like` accepts only shipped presets, so a price list from a file is written in full.
    values: dict[str, Any] = {"like": listed}
    if listed.endswith(".toml"):
        values = tomllib.loads(Path(listed).read_text("utf-8"))
    values["workers"] = state.usual
    for kind, rate in prices.rates.items():
        if rate.dollars is None:
            values[kind] = {"per": rate.per, "seconds": rate.seconds, "source": rate.source}
            values[kind] |= {"page": rate.page} if rate.per == "page" else {}
    write_lines(file, [f"# measured on the answers to order {order.id}", *toml_lines(values)])
    return sorted([*names, file.name])


def write_data(order: Order, file: Path, scored: str | None = None) -> None:
    """Write the images of an order as a data set (TOML), with val and test of the data `scored`."""
    settings = order.settings
    write_lines(file, toml_lines({
        "source": "unlabelled", "images": settings.data, "split": settings.split,
        "scored": scored, "classes": settings.classes,
    }))  # fmt: skip
