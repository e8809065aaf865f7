"""What a card is about: simulated labels with all that is known of them, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from simkit.annotate import schemes
from simkit.annotate.annotators import BY_CLASS, Habits
from simkit.annotate.prices import Cost
from simkit.annotate.schemes import Scheme
from simkit.data.terms import Terms
from simkit.errors import BadInput
from simkit.labels.effort import QUESTIONS
from simkit.labels.partial import PartialLabels


@dataclass(frozen=True, eq=False)
class Subject:
    """Labels that `simulate` made, the files they are in, and what they were made of.

    files    those of the labels, already written; the first one gives the card its name.
    form     the name of their format;  lost  what it does not hold of them, a sentence each.
    data     the name of the data set;  split  the part of it;  terms  what its owners say.
    bill     what the questions cost;  wrong  labels that contradict the truth, present and absent.
    command  the words of a shell command that makes the labels again.
    """

    labels: PartialLabels
    files: tuple[Path, ...]
    form: str
    lost: tuple[str, ...]
    data: str
    split: str
    terms: Terms
    bill: Cost
    wrong: Mapping[str, int]
    command: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.labels.history.command != "simulate":
            raise BadInput(
                f"these labels are of {self.labels.history.command!r}, and a card tells of a "
                "simulation; describe labels that `simkit simulate` made"
            )

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the simulation, from the labels' history."""
        return self.labels.history.settings

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme with its settings."""
        return schemes.make(self.settings["scheme"])

    @cached_property
    def habits(self) -> Habits:
        """How the people erred."""
        return Habits(**self.settings["habits"])

    @property
    def of_data(self) -> str:
        """The data set as its owners call it, or its name here."""
        return self.terms.title or self.data

    @property
    def partial(self) -> bool:
        """Whether anything is unknown."""
        return self.labels.counts()["unknown"] > 0

    @property
    def caution(self) -> str:
        """What the scheme's labels misrepresent, in its own words with `code`; "" of none."""
        return str(getattr(self.scheme, "caution", ""))

    @property
    def title(self) -> str:
        """A few words."""
        kind = "Partial labels" if self.partial else "Labels"
        return f"{kind} of {self.of_data}, simulated: {self.scheme.title}"

    def summary(self) -> str:
        """What it is, with the counts."""
        (N, L), counts = self.labels.shape, self.labels.counts()
        known = counts["present"] + counts["absent"]
        unknown = f"the other {counts['unknown']:,} are unknown, which is not absent"
        return (
            f"Simulated {'partial ' * self.partial}annotation of {self.of_data} ({self.split}, "
            f"{N:,} images x {L:,} classes). A simulated crowd was asked about "
            f"{int(self.labels.asked.sum()):,} of the images by the scheme {self.scheme.name}. "
            f"{known:,} labels are known ({known / (N * L):.2%}), {counts['present']:,} present "
            f"and {counts['absent']:,} absent; {unknown if self.partial else 'none is unknown'}."
        )

    def collection(self) -> str:
        """How the labels came about."""
        made = "the published simulator's arrays" if self.settings.get("legacy_rng") else "simkit"
        return (
            f"No person was asked: {made} drew the questions of the scheme {self.scheme.name} "
            f"({self.scheme.source}), and simulated people answered from the labels of "
            f"{self.of_data}, which are taken for the truth. Seed {self.labels.history.seed}, draw "
            f"{self.settings['draw']}."
        )

    def people(self) -> str:
        """Who annotated."""
        habits = self.habits
        answering = (
            f"{habits.workers} answers to each question, a class taken for present by at "
            f"least {habits.needed} of them"
        )
        if habits.workers is None:
            answering = "one answer to each question"
            if self.bill.workers > 1:
                answering += f", on which the {self.bill.workers} people paid for it agree"
        if habits.perfect:
            return f"Simulated people who never err; {answering}."
        rates = [
            f"{name} {_share(value)}"
            for name in (*BY_CLASS, "unsure_yes")
            if (value := getattr(habits, name)) and (name != "unsure_yes" or self._unsure)
        ]
        pool = f"; a pool of {habits.people} people who differ" if habits.people else ""
        said = (
            f"{self.wrong['present']:,} present and {self.wrong['absent']:,} absent labels "
            "contradict the truth"
        )
        return f"Simulated people who err ({', '.join(rates)}{pool}); {answering}. {said}."

    @property
    def _unsure(self) -> bool:
        return bool(self.habits.unsure_present or self.habits.unsure_absent)

    def questions(self) -> list[str]:
        """Each kind of question that was asked, with its number."""
        effort = self.labels.effort
        return [f"{kind}: {QUESTIONS[kind]} ({effort.count(kind):,})" for kind in effort.kinds()]

    def biases(self) -> list[str]:
        """What these labels misrepresent."""
        told = ["Every label is known, so that the scheme decided about the cost alone."]
        if self.partial:
            told = [self.caution]
        if any(self.wrong.values()):
            told.append("People erred as said above; their errors are among the labels.")
        told.append(
            f"What is wrong in the labels of {self.of_data} is wrong here too: simulated people "
            "answer from them."
        )
        return [text for text in told if text]

    def limits(self) -> list[str]:
        """What these labels, or the file, cannot tell."""
        told = [
            "People who never err are an assumption; real ones do."
            if self.habits.perfect
            else "People err as the settings say; real ones err in other ways as well."
        ]
        told += [f"The file does not hold {lost}." for lost in self.lost]
        return told


def _share(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{min(value):.3g} to {max(value):.3g} by class"
    return f"{value:.3g}"
