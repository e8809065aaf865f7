"""Divide the questions of a round among annotators, whole images each, in files of their own.

round-1/annotators.csv    who answers about which image, and as which of the people (nth: 1, ...);
                          for those in place of somebody who left also which questions
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simkit.errors import BadInput
from simkit.files import reading, whole
from simkit.labels.names import person
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState, pseudonyms

FILE = "annotators.csv"
AGAIN = "-again"  # ends the names of files for further people
LONGEST = 100  # bytes of a name, which stands in names of files
MOST = 100  # annotators of a round
NEW = "NEW"  # for a name, in printed commands
COLUMNS = ["annotator", "image", "nth"]
REPLACED = ["in_place_of", "questions"]  # further columns once somebody was replaced


@dataclass(frozen=True, eq=False)
class Part:
    """Questions that are in one file.

    Attributes
    ----------
    questions : DataFrame
        Rows of `Order.table`; answers is the number that people give by this file.
    round : int
        Number of the round.
    annotator : str
        Who answers; empty for anybody.
    again : bool
        Whether others answer these questions first.
    in_place_of : str
        Who had these questions before; empty for nobody.
    left : bool
        Whether somebody else has taken over the other questions of the part.
    turn : int
        How often files of this part were written; a name of a file is used once, as files are sent.
    """

    questions: pd.DataFrame
    round: int
    annotator: str = ""
    again: bool = False
    in_place_of: str = ""
    left: bool = False
    turn: int = 1

    @property
    def suffix(self) -> str:
        """The end of the file's name, with the round, as pages of several rounds are mailed."""
        return self.whose + f"-round-{self.round}" * (self.round > 1) + self.again_written

    @property
    def again_written(self) -> str:
        """The end of `suffix` for files that are written once more."""
        return f"-{self.turn}" * (self.turn > 1)

    @property
    def whose(self) -> str:
        """The suffix without the round."""
        text = f"-{self.annotator}" if self.annotator else ""
        text += f"-for-{self.in_place_of}" if self.in_place_of else ""
        return text + AGAIN * self.again


def names(text: str) -> tuple[str, ...]:
    """The annotators in a text such as "ann, ben"; a number gives a1, a2, ... Raises BadInput."""
    if re.fullmatch(r"\s*[0-9]+\s*", text):
        if not 1 <= int(text) <= MOST:
            raise BadInput(f"--annotators is {text}; give names, or a number from 1 to {MOST}")
        return tuple(f"a{n}" for n in range(1, int(text) + 1))
    found = [" ".join(name.split()) for name in text.split(",")] if text else []
    for place, name in enumerate(found):
        check_name(name, "--annotators")
        if person(name) in map(person, found[:place]):
            raise BadInput(f"--annotators has {name} twice; give two people different names")
    if len(found) > MOST:
        raise BadInput(f"--annotators has {len(found)} names; give at most {MOST}")
    return tuple(found)


def check_name(name: str, option: str) -> None:
    """Raise BadInput if the name of an annotator cannot be in the name of a file."""
    if len(name.encode()) > LONGEST:
        raise BadInput(f"{option} has {name[:20]}..., a name of {len(name.encode()):,} bytes; give "
                       f"names of at most {LONGEST}")  # fmt: skip
    if name == NEW:
        raise BadInput(f"{option} has {NEW}, which stands for a name; put the name of the person "
                       "who is to answer in its place")  # fmt: skip
    ours = r"(^|-)(again|round|[0-9]+)$|-for-"
    if not re.fullmatch(r"\w[\w. -]*", name) or re.search(ours, name):
        raise BadInput(
            f"{option} has {name!r}, which cannot be in the name of a file; give names of letters, "
            "such as ann,ben, that do not end in a number, again or round, nor contain -for-"
        )


def divide(order: Order, annotators: Sequence[str]) -> pd.DataFrame:
    """Divide the images of the last round; further answers are by other people.

    Nobody gets an image about which they have answered, or have yet to answer, these questions in
    an earlier round.

    Returns
    -------
    DataFrame
        Columns annotator, image (its index), nth (as which of the people, counted from 1, the
        annotator answers the questions about the image), in_place_of and questions (both empty).
    """
    questions, first = _asked(order, len(order.rounds))
    state = OrderState.of(order)
    done, workers = _engaged(state, len(order.rounds)), pseudonyms_of(state, annotators)
    # Images about which several people answer are dealt first, so that everybody has as many.
    wanted = questions.groupby("image", sort=False)["answers"].max()
    wanted = wanted.sort_values(ascending=False, kind="stable")
    own, further = dict.fromkeys(annotators, 0), dict.fromkeys(annotators, 0)
    rows = list[tuple[str, int, int]]()
    for image, people in zip(wanted.index.tolist(), wanted.tolist(), strict=True):
        free = [name for name in annotators if (image, workers[name]) not in done]
        chosen = sorted(free, key=own.__getitem__)[: min(first, people)]
        others = sorted((name for name in free if name not in chosen), key=further.__getitem__)
        others = others[: people - len(chosen)]
        for load, some in ((own, chosen), (further, others)):
            for name in some:
                load[name] += 1
        rows += [(name, image, nth) for nth, name in enumerate((*chosen, *others), 1)]
    if not rows:
        raise BadInput(
            f"no question of the round is left for {', '.join(annotators)}, who have answered all "
            "of them or have yet to answer them; name somebody else with --annotators"
        )
    if idle := [name for name in annotators if not own[name] + further[name]]:
        warnings.warn(
            f"no images are left for {', '.join(idle)}: there are too few that they have not "
            "answered",
            stacklevel=3,
        )
    return pd.DataFrame(rows, columns=COLUMNS).assign(**dict.fromkeys(REPLACED, ""))


def parts(order: Order, number: int, division: pd.DataFrame | None) -> list[Part]:
    """The parts of a round, each for a file of its own.

    What further people are to answer is apart, because one person answers once. Answers for which
    there are too few annotators are in a part for anybody else.
    """
    questions, first = _asked(order, number)
    if division is None:
        further = questions[questions["answers"] > first]
        rest = [Part(further.assign(answers=further["answers"] - first), number, again=True)]
        everything = Part(questions.assign(answers=questions["answers"].clip(upper=first)), number)
        return [everything, *rest[: len(further)]]
    held = _held(division, questions)
    whose = ["annotator", "in_place_of"]
    taken = _taken(held)
    left = {*held.loc[taken, whose].itertuples(index=False, name=None)}
    held, found = held[~taken & (held["annotator"] != "")], []
    for again in (False, True):
        rows = held[(held["nth"] > first) == again]
        for name, before in division[whose].drop_duplicates().itertuples(index=False, name=None):
            own = rows["question"][(rows[whose] == [name, before]).all(axis=1)]
            part = questions[questions["question"].isin(own)].assign(answers=1)
            gone = (name, before) in left
            found += [Part(part, number, name, again, before, gone)][: len(part)]
    people = questions["question"].map(held["question"].value_counts()).fillna(0).astype(int)
    lacking = questions.assign(answers=questions["answers"] - people)
    lacking = lacking[lacking["answers"] > 0]
    return [*found, *[Part(lacking, number, again=True)][: len(lacking)]]


def unanswered(state: OrderState, part: Part) -> Part:
    """A part without the questions that lack no answer, or that its annotator has answered."""
    worker, received = pseudonyms_of(state, [part.annotator])[part.annotator], state.received
    own = received["question"][received["worker"] == worker]
    numbers = part.questions["question"]
    waits = numbers.isin(state.lacking["question"]) & ~numbers.isin(own)
    return replace(part, questions=part.questions[waits])


def whole_parts(state: OrderState) -> pd.DataFrame:
    """The questions of each part whose questions one person has answered all: columns worker and
    question.

    The parts are those into which the images were divided at random, before anybody left; only
    yes-or-no questions without a known answer count.
    """
    order, said = state.order, state.answers
    done = said["question"].map(order.first).groupby(said["worker"].astype(str)).agg(set)
    found = [pd.DataFrame(columns=["worker", "question"]).astype({"question": int})]
    for number in range(1, len(order.rounds) + 1):
        division = read(order, number)
        dealt = None if division is None else division[division["questions"] == ""]
        for part in parts(order, number, dealt):
            asked = part.questions[part.questions["gold"].eq(0) & part.questions["kind"].ne("name")]
            pairs = {*order.first[asked.index]}
            found += [pd.DataFrame({"worker": worker, "question": asked["question"]})
                      for worker, own in done.items() if pairs <= own]  # fmt: skip
    return pd.concat(found).drop_duplicates(ignore_index=True)


def _held(division: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """The rows of a division with their questions, a row for each, also those of earlier people."""
    asked, listed = questions[["question", "image", "answers"]], division["questions"] != ""
    some = division[listed]
    some = some.assign(question=some["questions"].str.split()).explode("question")
    some = some.astype({"question": np.int64}).merge(asked, on=["image", "question"])
    held = pd.concat([division[~listed].merge(asked, on="image"), some], ignore_index=True)
    return held[held["nth"] <= held["answers"]]


def _taken(held: pd.DataFrame) -> pd.Series[bool]:
    """Which rows somebody else has taken over: of several people who had a question as the same
    nth person, the last one has it now."""
    return held.duplicated(["question", "nth"], keep="last")


def _asked(order: Order, number: int) -> tuple[pd.DataFrame, int]:
    """The questions of a round, and the number of answers that each of them gets at least."""
    questions = order.table[order.table["round"] == number]
    return questions, int(questions["answers"][questions["gold"] == 0].min())


def write(order: Order, division: pd.DataFrame, folder: Path) -> Path:
    """Write who answers about which image; returns the file."""
    columns = [*COLUMNS, *(REPLACED if (division["questions"] != "").any() else ())]
    with whole(folder / FILE) as part:
        division.assign(image=order.images[division["image"]])[columns].to_csv(part, index=False)
    return folder / FILE


def read(order: Order, number: int) -> pd.DataFrame | None:
    """Who answers about which image of a round; None if it is not divided. Raises BadInput."""
    file = order.folder / f"round-{number}" / FILE
    if not file.is_file():
        return None
    places = {str(image): place for place, image in enumerate(order.images.tolist())}
    with reading(file, "the annotators of a round", "restore the file") as place:
        table = pd.read_csv(place, dtype=str, keep_default_na=False)
        table = table[COLUMNS].assign(**{name: table.get(name, "") for name in REPLACED})
        if table[table["questions"] == ""].duplicated(["annotator", "image"]).any():
            raise ValueError("an annotator has an image twice")
        numbers = {*map(str, order.rounds[number - 1].table["question"])}
        if not {text for texts in table["questions"] for text in texts.split()} <= numbers:
            raise ValueError("a question is not one of the round")
        return table.assign(
            image=np.array([places[image] for image in table["image"]], np.int64),
            nth=table["nth"].astype(int),
        )


def replaced(state: OrderState, leaver: str, name: str) -> dict[int, pd.DataFrame]:
    """The divisions of the rounds in which one annotator takes over the open questions of another.

    Questions that the new annotator already has, or has answered in another round, are left to
    anybody else.

    Parameters
    ----------
    state : OrderState
    leaver, name : str
        Who leaves, and who answers in their place.

    Returns
    -------
    dict of int to DataFrame
        As `divide`, by number of the round.

    Raises
    ------
    BadInput
        If nobody is called `leaver`, or that person has no open question.
    """
    check_name(name, "--for")
    if person(name) == person(leaver):
        raise BadInput(f"--for and --in-place-of are both {name}; name two people")
    order, divisions, people = state.order, dict[int, pd.DataFrame](), annotators_of(state.order)
    gone, new = people.get(person(leaver)), people.get(person(name), name)
    if gone is None:
        known = f"its annotators are {', '.join(people.values())}" if people else _UNDIVIDED
        raise BadInput(f"--in-place-of is {leaver}, who has no part of {order.folder}; {known}")
    worker, waiting = pseudonyms_of(state, [new])[new], [*_waiting(state)]
    lost = reopened(state, state.lacking).get(gone, state.lacking.head(0))
    for number in range(1, len(order.rounds) + 1):
        if (division := read(order, number)) is None:
            continue
        engaged = _engaged(state, number)
        held = _held(division, _asked(order, number)[0])
        held = held[~_taken(held) & (held["annotator"] == gone)]
        open_ = [part.questions["question"][waits] for one, part, _, waits in waiting
                 if one == number and part.annotator == gone]  # fmt: skip
        own = held[held["question"].isin(pd.concat(open_))] if open_ else held.head(0)
        if len(lost):  # the annotator keeps the other open questions
            own = own[own["question"].isin(lost["question"])]
        if len(own):
            both = [(image, worker) in engaged for image in own["image"]]
            own = own.assign(annotator=np.where(both, "", new), in_place_of=gone)
            divisions[number] = _added(division, own)
    if not divisions:
        raise BadInput(f"{leaver} has no open question in {order.folder}, so nothing is left for "
                       f"{name}; leave --for and --in-place-of out")  # fmt: skip
    return divisions


_UNDIVIDED = "nobody has a part of it, as it was ordered without --annotators"


def extended(state: OrderState, name: str) -> dict[int, pd.DataFrame]:
    """The divisions of the rounds with a further annotator, who gets the open questions that no
    annotator has.

    Parameters
    ----------
    state : OrderState
    name : str
        The further annotator, who has no part of the rounds yet.

    Returns
    -------
    dict of int to DataFrame
        As `divide`, by number of the round.

    Raises
    ------
    BadInput
        If no such question is left for `name`.
    """
    check_name(name, "--for")
    order, divisions, people = state.order, dict[int, pd.DataFrame](), annotators_of(state.order)
    new = people.get(person(name), name)
    worker = pseudonyms_of(state, [new])[new]
    for one in waiting(state):
        division = read(order, one.part.round)
        if one.part.annotator or division is None:
            continue
        questions, engaged = one.part.questions[one.waits], _engaged(state, one.part.round)
        held = _held(division, _asked(order, one.part.round)[0])
        held = held[~_taken(held) & (held["annotator"] != "")]
        numbers = held.groupby("question")["nth"].agg(set)
        own = questions[[(image, worker) not in engaged for image in questions["image"]]]
        if len(own):
            nth = [min({*range(1, len(taken) + 2)} - taken) for taken in
                   (numbers.get(question, set()) for question in own["question"])]  # fmt: skip
            own = own.assign(annotator=new, in_place_of="", nth=nth)
            divisions[one.part.round] = _added(division, own)
    if not divisions:
        why = "every question has its annotators" if people else _UNDIVIDED
        raise BadInput(f"nothing of {order.folder} is left for {name}: {why}; to ask one more "
                       "person, use --next with --ties or --answers")  # fmt: skip
    return divisions


def annotators_of(order: Order) -> dict[str, str]:
    """The annotators of all divided rounds, by `person`."""
    divisions = (read(order, number) for number in range(1, len(order.rounds) + 1))
    return {person(name): name for division in divisions if division is not None
            for name in division["annotator"].unique() if name}  # fmt: skip


def _added(division: pd.DataFrame, held: pd.DataFrame) -> pd.DataFrame:
    """A division with further rows, for questions with their annotators."""
    by = ["annotator", "image", "nth", "in_place_of"]
    texts = (
        held["question"].astype(str).groupby([held[key] for key in by], sort=False).agg(" ".join)
    )
    more = texts.rename("questions").reset_index()
    return pd.concat([division, more[[*COLUMNS, *REPLACED]]], ignore_index=True)


def team(state: OrderState) -> list[str]:
    """Who answers the last divided round with new questions; empty if none is divided.

    Without people who left, people with answers that are set aside, and people who only answer
    questions again.
    """
    order = state.order
    for number in range(len(order.rounds), 0, -1):
        asked = order.rounds[number - 1].table["question"]
        again = (order.first[asked] != asked.to_numpy()).all()
        if not again and (division := read(order, number)) is not None:
            found = parts(order, number, division)
            at_work = {part.annotator for part in found if part.annotator and not part.left}
            workers = pseudonyms_of(state, [*at_work])
            aside = {worker for worker, _ in state.aside}
            at_work -= {name for name in at_work if workers[name] in aside}
            return [name for name in division["annotator"].unique() if name in at_work]
    return []


def annotators_option(state: OrderState) -> list[str]:
    """`--annotators` with those at work, for a further round; empty if no round is divided."""
    names = team(state)
    return ["--annotators", ",".join(names)] if names else []


def further_people(state: OrderState, lacking: int = 1) -> list[str]:
    """As `annotators_option`, for so many further answers to a question: two people cannot settle
    their own ties, nor give three answers, so a further person gets a page."""
    names = team(state)
    if names and len(names) < 3:
        names = [*names, NEW] if lacking == len(names) == 2 else [NEW]
    return ["--annotators", ",".join(names)] if names else []


def in_place_of_new(words: Collection[str]) -> str:
    """What to say before a command that has `NEW` for a name; or ""."""
    stands = any(NEW in word.split(",") for word in words)
    return f"; put a name in place of {NEW}" if stands else ""


def reopened(state: OrderState, questions: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By annotator, those of these questions in the annotator's parts that are open because
    answers are set aside."""
    found = dict[str, list[pd.DataFrame]]()
    for _, part, worker, waits in _waiting(state):
        asked = part.questions[waits & part.questions["question"].isin(questions["question"])]
        asked = asked[state.are_aside(worker, asked["class"])]
        if len(asked):
            found.setdefault(part.annotator, []).append(asked)
    return {name: pd.concat(some) for name, some in found.items()}


def handover_command(state: OrderState, name: str) -> list[str]:
    """The words of the command that gives an annotator's open questions to somebody else."""
    return ["simkit", "order", "--export", str(state.order.folder), "--for", NEW,
            "--in-place-of", name]  # fmt: skip


def progress(state: OrderState) -> list[dict[str, Any]]:
    """For each annotator of each divided round: the number of images, and of those answered.

    An image is answered if the annotator has answered all its questions, or nobody is needed any
    more. Answers that are set aside do not count.
    """
    rows = list[dict[str, Any]]()
    for number, part, worker, waits in _waiting(state):
        images = part.questions["image"].nunique()
        left = part.questions["image"][waits].nunique()
        rows.append({
            "order": state.order.folder.name, "round": number, "annotator": part.annotator,
            "in_place_of": part.in_place_of, "again": part.again, "images": images,
            "answered": images - left, "aside": worker in state.workers_aside,
        })  # fmt: skip
    return rows


def _waiting(state: OrderState) -> Iterator[tuple[int, Part, str, pd.Series[bool]]]:
    """Each part of an annotator: the round, the part, the pseudonym, and which questions wait."""
    order = state.order
    lacking = {*state.lacking["question"]}
    for number in range(1, len(order.rounds) + 1):
        if (division := read(order, number)) is None:
            continue
        workers = pseudonyms_of(state, division["annotator"].unique().tolist())
        for part in parts(order, number, division):
            if part.annotator:
                by = state.answers["worker"] == workers[part.annotator]
                waits = lacking - {*state.answers["question"][by]}
                yield (number, part, workers[part.annotator],
                       part.questions["question"].isin(waits))  # fmt: skip


@dataclass(frozen=True)
class Waiting:
    """A part of a round with questions that wait for answers, in files of its own.

    Attributes
    ----------
    part : Part
    waits : (Q,) Series of bool
        Which of the questions wait.
    free : tuple of str, optional
        Who of the annotators may answer some of a part without a name, because they neither have
        nor had these questions; None for other parts.
    """

    part: Part
    waits: pd.Series[bool]
    free: tuple[str, ...] | None = None

    @property
    def open(self) -> Part:
        """The part with the questions that wait alone."""
        return replace(self.part, questions=self.part.questions[self.waits])


def waiting(state: OrderState) -> list[Waiting]:
    """The parts with open questions, without questions whose answers are set aside."""
    order, at_work = state.order, team(state)
    workers, found = pseudonyms_of(state, at_work), list[Waiting]()
    for number in range(1, len(order.rounds) + 1):
        lacking = state.lacking.set_index("question")["lacking"]
        division = read(order, number)
        for one, part, worker, waits in _waiting(state):
            if one == number and waits.any():
                own = waits & ~state.are_aside(worker, part.questions["class"])
                found += [Waiting(part, own)] * bool(own.any())
                lacking = lacking.sub(waits[waits].astype(int), fill_value=0)
        for part in parts(order, number, division):
            if part.annotator:
                continue
            if division is None and part.again:
                wait = part.questions["question"].isin(state.of_others["question"])
            elif division is None:
                wait = part.questions["question"].isin(state.open["question"])
            else:
                wait = part.questions["question"].map(lacking).fillna(0) > 0
            if not wait.any():
                continue
            free = None
            if division is not None:
                engaged, images = _engaged(state, number), part.questions["image"][wait].unique()
                free = tuple(
                    name for name in at_work
                    if any((image, workers[name]) not in engaged for image in images)
                )  # fmt: skip
            found.append(Waiting(part, wait, free))
    return found


def files_to_fill(state: OrderState) -> list[tuple[str, Path]]:
    """The files with questions that wait, each with its form: those of annotators, or else those
    for further people."""
    parts = waiting(state)
    needed = [one for one in parts if one.part.annotator or not one.part.again] or parts
    return [pair for one in needed for pair in files_of(state.order, one.part)]


def files_of(order: Order, part: Part) -> list[tuple[str, Path]]:
    """The existing files and folders of a part of a round, each with its form."""
    folder, files = order.folder / f"round-{part.round}", list[tuple[str, Path]]()
    for suffix in dict.fromkeys((part.suffix, part.whose)):  # earlier: no round in names
        for form, name, ending, numbers in (
            ("html", "page", ".html", 2),  # of the turn, and of one of several pages
            ("csv", "questions", ".csv", 1),
            ("jsonl", "questions", ".jsonl", 1),
            ("label-studio", "label-studio", "", 1),
        ):
            pattern = re.compile(rf"{name}{re.escape(suffix)}(-[0-9]+){{0,{numbers}}}{ending}")
            files += [(form, file) for file in sorted(folder.glob(f"{name}{suffix}*{ending}"))
                      if pattern.fullmatch(file.name)]  # fmt: skip
    return files


def next_turn(order: Order, part: Part) -> Part:
    """The part with names of files that none of its files has, or had."""
    ends = [re.search(r"-([0-9]+)$", file.stem) for _, file in files_of(order, part)]
    used = [1 if end is None else int(end[1]) for end in ends]
    return replace(part, turn=1 + max(used, default=0))


def _engaged(state: OrderState, number: int) -> set[tuple[int, str]]:
    """Pairs of image and pseudonym: who has answered, or has yet to answer, a round's questions."""
    first = state.order.first
    asked = {*first[_asked(state.order, number)[0].index]}
    answers = state.received[state.received["question"].map(first).isin(asked)]
    engaged = {*zip(answers["image"].tolist(), answers["worker"].tolist(), strict=True)}
    for _, part, worker, waits in _waiting(state):
        own = part.questions[waits & part.questions["question"].map(first).isin(asked)]
        engaged |= {(image, worker) for image in own["image"].tolist()}
    return engaged


def pseudonyms_of(state: OrderState, annotators: Sequence[str]) -> dict[str, str]:
    """The pseudonym of each of these names."""
    spelled = pd.DataFrame({"worker": [*annotators], "file": str(state.order.folder)})
    return pseudonyms(state.order, spelled, {*state.received["worker"]})
