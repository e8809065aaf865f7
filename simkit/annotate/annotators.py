"""The annotator model: error rates, annotators per question, and voting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.chance import Chance
from simkit.errors import BadInput, located
from simkit.files import AnyPath, reading
from simkit.registry import Range, Share, setting, settle

Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
People = Annotated[int, Range(1, (1 << 31) - 1)]
Odds = Annotated[float, Range(0, 1e300)]
Rate = Share | tuple[Share, ...]  # of all classes or of each
Limits = tuple[NDArray[np.uint64], Bools]
# Images, classes, the truth, and whether all people are unsure, of n questions each.
_Questions = tuple[Ints, Ints, Bools, Bools]

BY_CLASS = ("miss", "false_alarm", "unsure_present", "unsure_absent")
BY_PERSON = {"miss_by_person": 1.0, "false_alarm_by_person": 1.0, "work_by_person": 1}
ORDERS = 64  # random orders of the pool; each question uses one of them
_ALWAYS = ("miss", "false_alarm", "workers", "vote")


@dataclass(frozen=True)
class Habits:
    """The annotator model: error rates and voting; the default never errs.

    `simkit list grid habits` shows the meaning of every field.

    Errors are keyed by (image, class, person): the same question to the same person always gets the
    same answer, and compared schemes share the errors. With `workers` None each question has
    one answer (the rates are those of that answer), and the price list gives the number of people
    paid for it.

    The odds of class and person multiply: a person with 2 times the ordinary odds and a class with
    20 % misses (odds 1/4) give odds of 1/2, a miss rate of 1/3. For a share of the questions all
    annotators are unsure: each then says yes with probability `unsure_yes`, so errors are
    correlated.
    """

    miss: Rate = setting(
        0.0, "share of present classes overlooked; one for all, or one per class such as 0.1,0.3"
    )
    false_alarm: Rate = setting(
        0.0, "share of absent classes reported; one for all, or one per class such as 0.1,0.3"
    )
    workers: People | None = setting(
        None, "people who answer each question; by default as many as in the price list"
    )
    vote: Literal["majority", "union"] = setting(
        "majority", "a class is present if more than half say yes, or if anybody does (union)"
    )
    quorum: People | None = setting(None, "least number of people who say yes; overrides vote")
    unsure_present: Rate = setting(
        0.0, "share of present classes on which all are unsure; one for all or one per class"
    )
    unsure_absent: Rate = setting(
        0.0, "share of absent classes on which all are unsure; one for all or one per class"
    )
    unsure_yes: Share = setting(0.5, "probability that an unsure person says yes")
    miss_by_person: tuple[Odds, ...] | None = setting(
        None, "pool of people: odds of a miss per person, as multiples of the ordinary odds"
    )
    false_alarm_by_person: tuple[Odds, ...] | None = setting(
        None, "pool of people: odds of a false alarm per person, as multiples"
    )
    work_by_person: tuple[People, ...] | None = setting(
        None, "pool of people: relative number of answers per person"
    )
    roster: Literal["question", "image"] = setting(
        "question", "draw people from the pool for each question or for each image"
    )
    classes: tuple[str, ...] | None = setting(None, "names of the classes of the rates per class")

    def __post_init__(self) -> None:
        settle(self, "habits")
        if self.quorum is not None and self.quorum > (self.workers or 1):
            raise BadInput(
                f"habits: quorum is {self.quorum} of {self.workers or 1} workers; "
                "give at least as many workers"
            )
        stated = [len(v) for v in (getattr(self, name) for name in BY_PERSON) if v is not None]
        if stated:
            for name, alike in BY_PERSON.items():  # people do not differ in values that are missing
                if getattr(self, name) is None:
                    object.__setattr__(self, name, (alike,) * stated[0])
            seats, work = self.workers or 1, self.work_by_person or ()
            if len({*stated}) > 1 or not work:
                raise BadInput(
                    "habits: the pool has odds of a miss, odds of a false alarm or work of "
                    f"{stated} people; give one of each per person"
                )
            if seats * max(work) > sum(work) or sum(work) >= 1 << 31:
                raise BadInput(
                    f"habits: with {seats} workers nobody can do more than 1/{seats} of the work, "
                    f"and one of {len(work)} people does {max(work)} of {sum(work)}; give fewer "
                    "workers, more people or other shares of work (below 2**31 together)"
                )
        if self.classes is not None:
            from simkit.labels.truth import check_distinct  # which loads scipy

            with located("habits"):
                check_distinct(np.array(self.classes, object), "class")
            self._check_lengths(len(self.classes))

    def _check_lengths(self, L: int) -> None:
        for name in BY_CLASS:
            share = getattr(self, name)
            if isinstance(share, tuple) and len(share) != L:
                raise BadInput(
                    f"habits: {name} has {len(share)} shares for {L} classes; give one for each"
                )

    def check(self, classes: int) -> None:
        """Raise BadInput unless rates given by class fit this number of classes."""
        if self.classes is not None:
            raise BadInput("habits: rates are by class name; use habits.for_classes(truth.classes)")
        self._check_lengths(classes)

    @property
    def ever_imagine(self) -> bool:
        """Whether anybody ever says yes to an absent class."""
        unsure = self.unsure_yes > 0 and np.any(self.unsure_absent)
        return bool(unsure or np.any(self.false_alarm))

    @property
    def errors(self) -> str:
        """How the annotators err, in words that follow "annotators"."""
        if self.perfect:
            return "never err"

        def spread(value: Any) -> str:
            if isinstance(value, tuple):
                return f"{min(value):.3g} to {max(value):.3g} by class"
            return f"{value:.3g}"

        names = [*BY_CLASS, *["unsure_yes"] * bool(self.unsure_present or self.unsure_absent)]
        values = {name: getattr(self, name) for name in names}
        rates = ", ".join(f"{name} {spread(value)}" for name, value in values.items() if value)
        pool = f"; a pool of {self.people} people who differ" if self.people else ""
        return f"err ({rates}{pool})"

    @property
    def perfect(self) -> bool:
        """Whether every answer agrees with the truth."""
        unsure = self.unsure_yes < 1 and np.any(self.unsure_present)
        return not (self.ever_imagine or unsure or np.any(self.miss))

    @property
    def people(self) -> int | None:
        """The number of people in the pool; None without a pool, where all people are alike."""
        return None if self.miss_by_person is None else len(self.miss_by_person)

    @property
    def needed(self) -> int:
        """The number of yes answers that a yes vote needs; more than half for a majority."""
        if self.quorum is not None:
            return self.quorum
        return 1 if self.vote == "union" else (self.workers or 1) // 2 + 1

    def for_classes(self, names: Sequence[str]) -> Habits:
        """These habits for the classes `names`, in their order, with rates matched by name.

        A class without a rate gets the mean of all rates; if no name matches, the mean becomes the
        rate of all classes. Habits without rates by name are returned unchanged.
        """
        if self.classes is None:
            return self
        rates: dict[str, Any] = {}
        for key in BY_CLASS:
            share = getattr(self, key)
            if isinstance(share, tuple):
                by_name = dict(zip(self.classes, share, strict=True))
                mean = sum(share) / len(share) if share else 0.0
                several = tuple(by_name.get(name, mean) for name in names)
                rates[key] = several if any(name in by_name for name in names) else mean
        return replace(self, classes=None, **rates)

    # -- answers ----------------------------------------------------------------------------------

    def answers(self, images: Ints, classes: Ints, present: Bools, *, chance: Chance) -> Bools:
        """(n,) bool: the votes of the annotators on n questions, given the truth `present` (n,)."""
        if self.perfect:
            return present
        seats = self.workers or 1
        questions = images, classes, present, self._unsure(images, classes, present, chance)
        if self.people is None:
            says = (self._says(seat, questions, chance) for seat in range(seats))
        else:
            keyed = chance.of("roster")
            keys = keyed(images) if self.roster == "image" else keyed(images, classes)
            says = (self._say(who, questions, chance) for who in self._rosters(seats, keys).T)
        return sum(says, np.zeros(len(present), np.int32)) >= self.needed

    def votes(
        self, images: Ints, classes: Ints, present: Bools, *, who: Ints, chance: Chance
    ) -> Bools:
        """(n,) bool: the answer of person `who[i]` to question i."""
        unsure = self._unsure(images, classes, present, chance)
        return self._say(who, (images, classes, present, unsure), chance)

    def _unsure(self, images: Ints, classes: Ints, present: Bools, chance: Chance) -> Bools:
        """(n,) bool: questions on which all annotators are unsure."""
        if not np.any(self.unsure_present) and not np.any(self.unsure_absent):
            return np.zeros(len(present), bool)
        numbers = chance.of("unsure")(images, classes)
        shares = self.unsure_absent, self.unsure_present
        absent, shown = (under(numbers, limits(share), classes) for share in shares)
        return np.where(present, shown, absent)

    def _says(self, person: int, questions: _Questions, chance: Chance) -> Bools:
        """(n,) bool: the answers of one person, from one keyed integer per question."""
        miss, imagine = 1.0, 1.0
        if self.miss_by_person is not None and self.false_alarm_by_person is not None:
            miss, imagine = self.miss_by_person[person], self.false_alarm_by_person[person]
        images, classes, present, unsure = questions
        numbers = chance.of("person", person)(images, classes)

        def errs(share: Rate, times: float) -> Bools:
            return under(numbers, limits(tilted(share, times)), classes)

        missed, imagined = errs(self.miss, miss), errs(self.false_alarm, imagine)
        if unsure.any():
            missed = np.where(unsure, errs(1 - self.unsure_yes, miss), missed)
            imagined = np.where(unsure, errs(self.unsure_yes, imagine), imagined)
        return np.where(present, ~missed, imagined)

    def _say(self, who: Ints, questions: _Questions, chance: Chance) -> Bools:
        """(n,) bool: the answer of person `who[i]` to question i, independent of other people."""
        images, classes, present, unsure = questions
        # Few bits make the sort a radix sort.
        small = who.astype(np.min_scalar_type(int(who.max(initial=0))))
        order = np.argsort(small, kind="stable")
        people, starts = np.unique(who[order], return_index=True)
        out = np.empty(len(who), bool)
        for person, places in zip(people, np.split(order, starts[1:]), strict=False):
            some = images[places], classes[places], present[places], unsure[places]
            out[places] = self._says(int(person), some, chance)
        return out

    # -- the pool ---------------------------------------------------------------------------------

    def _rosters(self, seats: int, keys: NDArray[np.uint64]) -> Ints:
        """(n, seats) different people for each of n questions, one number for each question.

        Systematic sampling (Madow, Annals of Mathematical Statistics 1949): people are intervals
        on a line, as long as their work, and `seats` marks at equal distances pick them. A person
        is picked with a probability proportional to their work, and at most once, because nobody
        does more than 1 / seats of the work.
        """
        # With one order of the line only neighbours at the distance of the marks would ever meet;
        # 64 keyed orders let most pairs of people answer some question together.
        orders, ends = self._lines
        total = int(ends[0, -1])
        which = (keys & np.uint64(ORDERS - 1)).astype(np.int64)
        # High bits decide where the first mark stands; the low ones have chosen the order.
        first = ((keys >> np.uint64(32)) * np.uint64(total)) >> np.uint64(32)
        marks = first.astype(np.int64)[:, None] + total * np.arange(seats)
        out = np.empty((len(keys), seats), np.int64)
        for order in range(ORDERS):
            asked = np.flatnonzero(which == order)
            place = np.searchsorted(seats * ends[order], marks[asked], side="right")
            out[asked] = orders[order][place]
        return out

    @cached_property
    def _lines(self) -> tuple[Ints, Ints]:
        """(64, P) the people in each order, and the end of each interval on the line of work."""
        work = np.array(self.work_by_person, np.int64)
        keyed = Chance.seeded(0).of("pool").permutation(len(work))
        orders = np.stack([keyed.at(np.arange(len(work)), order) for order in range(ORDERS)])
        return orders, np.cumsum(work[orders], axis=1)

    # -- files ------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain values, without later fields at their defaults.

        The records and keys of habits with the four original fields thereby stay the same.
        """
        plain = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name in _ALWAYS or getattr(self, f.name) != f.default
        }
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    @staticmethod
    def load(path: AnyPath) -> Habits:
        """Read habits from a JSON file: the fields of `to_json`, alone or under `habits`.

        Raises BadInput.
        """
        with reading(path, "habits (JSON)", "make it with `simkit habits`") as file:
            values = json.loads(file.read_text(encoding="utf-8"))
            return Habits(**values.get("habits", values))


def tilted(share: Any, times: Any) -> Any:
    """The share whose odds are `times` those of `share`: times * s / (1 - s + times * s).

    Shares of 0 and 1 are unchanged.
    """
    # Sums, products and one division, which round alike on all machines; exp and log do not.
    if isinstance(times, float) and times == 1:
        return share
    s, by = np.broadcast_arrays(np.asarray(share, np.float64), times)
    odds = by * s
    whole = (1 - s) + odds
    return np.divide(odds, whole, out=np.array(s), where=whole > 0)


def outvoted(rate: float, answers: int) -> float:
    """Probability that the majority of so many independent answers is wrong.

    One more answer settles a tie, so that 2 answers are as good as 3, and 4 as good as 5.
    """
    from scipy.special import betainc  # slow to load

    # The binomial distribution as an incomplete beta function, which large numbers do not overflow.
    majority = answers // 2 + 1  # of the answers with the one that settles a tie
    return float(betainc(majority, majority, rate))


def ties(rate: float, answers: int) -> float:
    """Probability that so many independent answers tie; 0 for an odd number."""
    from scipy.special import betainc

    half = answers // 2
    return 0.0 if answers % 2 else float(
        betainc(half, half + 1, rate) - betainc(half + 1, half, rate)
    )  # fmt: skip


def limits(share: Rate | NDArray[np.float64]) -> Limits:
    """The largest 64-bit number below the threshold of each share, and whether there is one.

    The limit of `chance.threshold`, one lower: 2**64 itself does not fit.
    """
    scaled = np.rint(np.atleast_1d(np.asarray(share, np.float64)) * 2.0**64)
    some, whole = scaled >= 1, scaled >= 2.0**64
    last = np.where(some & ~whole, scaled, 1.0).astype(np.uint64) - np.uint64(1)
    last[whole] = np.iinfo(np.uint64).max
    return last, some


def under(numbers: NDArray[np.uint64], limits: Limits, classes: Ints) -> Bools:
    """Which numbers are within the limit, of all classes or per class; compares integers only."""
    last, some = limits
    if len(last) == 1:
        return (numbers <= last[0]) & some[0]
    return (numbers <= last[classes]) & some[classes]
