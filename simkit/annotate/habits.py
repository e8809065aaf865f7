"""How people err, how many answer, and how their answers are counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simkit.annotate.people.pool import Pool
from simkit.annotate.people.voting import Rates, Share, check_names, for_names, heard
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.files import readable
from simkit.registry import setting, settle

SHARES = ("miss", "false_alarm", "unsure_present", "unsure_absent", "unsure_yes")
BY_CLASS = SHARES[:4]
BY_PERSON = ("miss_by_person", "false_alarm_by_person", "work_by_person")
_ALWAYS = ("miss", "false_alarm", "workers", "vote")


@dataclass(frozen=True)
class Habits:
    """People who answer; the default never errs.

    A person's error belongs to (image, class, person): asked again, the person says the same, and
    compared schemes meet the same errors. With `workers` None one answer is given to each question
    (the rates are then those of that answer) and the price list says how many people it took.

    Class and person join by their odds: somebody with 2 times the ordinary odds and a class of
    which 20 % are missed (odds 1/4) give odds of 1/2, a miss in a third of the cases. Of a share of
    the questions nobody is sure; `unsure_yes` then stands for the class's rate: all err together.
    """

    miss: Share = setting(0.0, "share of present classes overlooked; one for all or one per class")
    false_alarm: Share = setting(
        0.0, "share of absent classes reported; one for all or one per class"
    )
    workers: int | None = setting(None, "people who answer each question")
    vote: Literal["majority", "union"] = setting(
        "majority", "yes by more than half of the people, or by any of them (union)"
    )
    quorum: int | None = setting(None, "yes by at least so many people, whatever vote says")
    unsure_present: Share = setting(
        0.0, "share of present classes of which nobody is sure; all or per class"
    )
    unsure_absent: Share = setting(
        0.0, "share of absent classes of which nobody is sure; all or per class"
    )
    unsure_yes: float = setting(0.5, "how often a person says yes where nobody is sure")
    miss_by_person: tuple[float, ...] | None = setting(
        None, "a pool: each person's odds of a miss, as multiples of the ordinary"
    )
    false_alarm_by_person: tuple[float, ...] | None = setting(
        None, "a pool: each person's odds of a false alarm, as multiples"
    )
    work_by_person: tuple[int, ...] | None = setting(
        None, "a pool: how often each person answers, beside the others"
    )
    roster: Literal["question", "image"] = setting(
        "question", "whether a pool's people are drawn for each question or each image"
    )
    classes: tuple[str, ...] | None = setting(
        None, "names of the classes the rates per class are of"
    )

    def __post_init__(self) -> None:
        settle(self, "habits")
        self._rates.check()
        for name in ("workers", "quorum"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise BadInput(
                    f"habits: {name} is {number!r}; a whole number from 1 on is expected"
                )
        if self.quorum is not None and self.quorum > (self.workers or 1):
            raise BadInput(
                f"habits: quorum is {self.quorum} of {self.workers or 1} workers; "
                "give at least as many workers"
            )
        self._fill_in_people()
        if self.classes is not None:
            check_names(self.classes, {name: getattr(self, name) for name in BY_CLASS})

    @property
    def sees_ghosts(self) -> bool:
        """Whether anybody ever says yes to an absent class."""
        return self._rates.ever_imagine

    @property
    def perfect(self) -> bool:
        """Whether every answer agrees with the truth."""
        return not self._rates.ever_imagine and not self._rates.ever_miss

    @property
    def people(self) -> int | None:
        """How many people are in the pool; None: there is no pool, only `workers` alike."""
        return None if self.miss_by_person is None else len(self.miss_by_person)

    def check(self, classes: int) -> None:
        """Raise BadInput unless rates given by class fit this number of classes."""
        if self.classes is not None:
            raise BadInput(
                f"habits: the rates are of {len(self.classes)} classes by name; "
                "take habits.for_classes(truth.classes)"
            )
        for name in BY_CLASS:
            share = getattr(self, name)
            if isinstance(share, tuple) and len(share) != classes:
                raise BadInput(
                    f"habits: {name} has {len(share)} shares for {classes} classes; "
                    "give one for each class"
                )

    def for_classes(self, names: Sequence[str]) -> Habits:
        """These habits for other classes, in their order: rates by class go with the name.

        A class that is not among `classes` gets the mean over those that are. Without rates by name
        these habits as they are.
        """
        if self.classes is None:
            return self
        rates: dict[str, Any] = {
            name: for_names(getattr(self, name), self.classes, names) for name in BY_CLASS
        }
        return replace(self, classes=None, **rates)

    def answers(
        self,
        images: NDArray[np.integer],
        classes: NDArray[np.integer],
        present: NDArray[np.bool_],
        *,
        chance: Chance,
    ) -> NDArray[np.bool_]:
        """(n,) what the people say together about n places, given what is `present` there."""
        if self.perfect:
            return present
        people, pool = self.workers or 1, self._pool
        unsure = self._rates.unsure(images, classes, present, chance)
        rosters = None
        if pool is not None:
            keyed = chance.of("roster")
            keys = keyed(images) if self.roster == "image" else keyed(images, classes)
            rosters = pool.rosters(people, keys)
        yes = np.zeros(len(present), np.int32)
        for seat in range(people):
            who = seat if rosters is None else rosters[:, seat]
            yes += heard(self._rates, pool, who, (images, classes, present), unsure, chance)
        return yes >= self.needed

    def votes(
        self,
        images: NDArray[np.integer],
        classes: NDArray[np.integer],
        present: NDArray[np.bool_],
        *,
        who: NDArray[np.integer],
        chance: Chance,
    ) -> NDArray[np.bool_]:
        """(n,) what person `who[i]` alone says about place i."""
        unsure = self._rates.unsure(images, classes, present, chance)
        return heard(self._rates, self._pool, who, (images, classes, present), unsure, chance)

    def _fill_in_people(self) -> None:
        """A pool is complete or is not there: what is left out of it is alike for everybody."""
        given = [v for v in (getattr(self, name) for name in BY_PERSON) if v is not None]
        if not given:
            return
        for name, alike in zip(BY_PERSON, (1.0, 1.0, 1), strict=True):
            value = getattr(self, name)
            if value is not None and not isinstance(value, tuple):
                raise BadInput(f"habits: {name} is {value!r}; one number per person is expected")
            if value is None:
                object.__setattr__(self, name, (alike,) * len(given[0]))
        pool = self._pool
        assert pool is not None
        pool.check(self.workers or 1)

    @property
    def needed(self) -> int:
        """How many of the people must say yes; of an even number, half are not enough."""
        if self.quorum is not None:
            return self.quorum
        return 1 if self.vote == "union" else (self.workers or 1) // 2 + 1

    @property
    def _rates(self) -> Rates:
        return Rates(**{name: getattr(self, name) for name in SHARES})

    @property
    def _pool(self) -> Pool | None:
        if self.people is None:
            return None
        return Pool(*(getattr(self, name) for name in BY_PERSON))

    def to_json(self) -> dict[str, Any]:
        """As plain values. Fields that came later stand there where they are not at their default.

        So the records and keys of people who are described by four fields stay what they were.
        """
        plain = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name in _ALWAYS or getattr(self, f.name) != f.default
        }
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    @staticmethod
    def load(path: str | PathLike[str]) -> Habits:
        """Read habits from a JSON file: the fields of `to_json`, alone or under `habits`.

        Raises BadInput.
        """
        found = readable(path, "habits (JSON)")
        try:
            values = json.loads(found.read_text(encoding="utf-8"))
            return Habits(**values.get("habits", values))
        except BadInput as error:
            raise BadInput(f"{found}: {error}") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(
                f"{found} cannot be read as habits ({error}); make it with `simkit habits`"
            ) from None

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Habits:
        """Read back what `to_json` wrote."""
        return Habits(**values)
