"""What would change a plan: wages, people's errors, rarer classes, a worse machine.

A change makes labels dearer or cheaper. It is worked out on the questions behind the pilot's runs,
which are priced again; what the same labels would teach a model under it is known only where runs
show it, and a change says so where they do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from simkit.annotate import schemes
from simkit.annotate.rates import Prices
from simkit.annotate.schemes import Scheme
from simkit.annotate.schemes.mixed import Mixed
from simkit.labels.effort import Effort
from simkit.planning.evidence.evidence import Evidence, Way
from simkit.planning.evidence.measured import Run
from simkit.planning.money.project import Project

STEP = 0.1  # ten points
NEAR = 0.03  # of recall: so near, people of a pilot stand for those of a change
_LABELLING = ("sweep", "verify")  # kinds of questions that label whatever comes
_LEAST = 0.05  # of precision or recall that must be left


@dataclass(frozen=True)
class Change:
    """One thing that is otherwise than planned.

    what     short, for a table;  project  with what it changes of prices;
    assumed  in one sentence: what is changed and what is taken to stay as it is.
    recall, precision, prevalence  by how much people's recall and a proposer's precision are less,
             and by how much the share of images that show a class is multiplied.
    """

    what: str
    project: Project
    assumed: str
    recall: float = 0.0
    precision: float = 0.0
    prevalence: float = 1.0

    def of(self, evidence: Evidence) -> Evidence:
        """The evidence as it would be: questions that the same labels take, rarer classes.

        Runs of people who overlook as much stand in for those of a way, where there are such.
        """
        shares = None if evidence.shares is None else evidence.shares * self.prevalence
        runs: list[Run] = []
        made: dict[tuple[Way, int], Effort] = {}
        for run in evidence.runs:
            if run.reference or self._measured(evidence, run.way) is None:
                runs.append(_asked(run, self.factors(run.way), made))
        for way in evidence.ways:
            stand_in = self._measured(evidence, way)
            if stand_in is not None:
                runs += [replace(run, way=way) for run in evidence.of_way(stand_in)]
        return evidence.with_runs(runs, shares)

    def scores(self, evidence: Evidence, way: Way) -> bool:
        """Whether what is on file tells the mAP under this change too, and not the cost alone."""
        if self._blind(evidence, way):
            return False
        return not self.recall or self._measured(evidence, way) is not None

    def _blind(self, evidence: Evidence, way: Way) -> bool:
        """Whether other questions are asked, of runs that do not hold theirs."""
        untold = any(run.effort is None for run in evidence.of_way(way))
        return untold and bool(self.factors(way))

    def told(self, evidence: Evidence, way: Way) -> str:
        """What is assumed, and what is not known, about one way of buying."""
        if self._blind(evidence, way):
            return (
                f"{self.assumed}; the runs of {way} do not hold the questions behind their labels, "
                "so nothing is worked out: compare again with this version"
            )
        if not self.recall:
            asked = {
                kind for run in evidence.of_way(way) if run.effort for kind in run.effort.kinds()
            }
            if asked & set(self.factors(way)) or not (self.precision or self.prevalence != 1):
                return self.assumed
            return f"{self.assumed}; {way} takes as many questions as before"
        found = self._measured(evidence, way)
        if found is not None:
            return f"{self.assumed}; measured: runs of {found} stand for it"
        return (
            f"{self.assumed}; how models learn from such answers is not on file, so this is what "
            f"it costs and no more: compare with habits = {{ miss = {_missed(way) + STEP:g} }} to "
            "know"
        )

    def factors(self, way: Way) -> Mapping[str, float]:
        """By kind of question: how many times as many the same labels take; others stay."""
        part = way.part
        found = {
            "search": self._looks(way),
            "sweep": 1 / self.prevalence,
            "verify": self._verified(_asking(part)),
        }
        return {kind: times for kind, times in found.items() if times != 1}

    def _looks(self, way: Way) -> float:
        """Looks for k present and about as many absent answers.

        Among images as they come a k-th positive is found after k / (prevalence x recall) looks.
        A proposer's precision is the share of candidates that people confirm, so that there they
        are found after k / precision, whatever is overlooked; the others are absent answers.
        """
        if getattr(way.part, "search", "") != "proposals":
            recall = 1 - _missed(way)
            return recall / max(_LEAST, recall - self.recall) / self.prevalence
        q, ratio = way.part.precision, getattr(way.part, "ratio", 1.0)  # type: ignore[attr-defined]

        def looks(precision: float) -> float:
            return 1 + max(1 / precision - 1, ratio)

        return looks(self._less_precise(q)) / looks(q)

    def _verified(self, part: Scheme) -> float:
        if part.name == "proposals":
            return part.precision / self._less_precise(part.precision)  # type: ignore[attr-defined]
        return 1 / self.prevalence if part.name == "rpa" else 1.0

    def _less_precise(self, q: float) -> float:
        """A proposer's precision: its odds go with the prevalence, then points are taken off."""
        rarer = q * self.prevalence / (q * self.prevalence + 1 - q)
        return max(_LEAST, rarer - self.precision) if self.precision else rarer

    def _measured(self, evidence: Evidence, way: Way) -> Way | None:
        """A way that differs by its people alone, who overlook that much more."""
        if not self.recall:
            return None
        wanted = _missed(way) + self.recall
        for other in evidence.ways:
            same = (other.scheme, other.images) == (way.scheme, way.images)
            if same and abs(_missed(other) - wanted) <= NEAR:
                return other
        return None


def changes(project: Project) -> list[Change]:
    """The changes that a plan tells of: wage, annotators' recall, prevalence, a proposer's
    precision."""
    return [
        *_wages(project),
        Change(
            "people overlook 10 points more",
            project,
            "people find 10 points less of what is present, so that a search among images as they "
            "come takes more looks",
            recall=STEP,
        ),
        Change(
            "classes half as frequent",
            project,
            "every class is in half as many images: random looks, complete labels and random "
            "questions take twice as many for the same present labels, by which mAP is taken to "
            "go; the odds of a proposer's candidates halve; naming takes as long, and "
            "images with nothing to name are left aside; a test set needs more images",
            prevalence=0.5,
        ),
        Change(
            "proposals 10 points less precise",
            project,
            "10 points fewer of a machine's candidates show their class, and mAP goes by the "
            "present labels that are found",
            precision=STEP,
        ),
    ]


def _wages(project: Project) -> Iterator[Change]:
    listed = project.prices
    timed = _timed(listed)
    for sign, times in (("-", 0.5), ("+", 1.5)):
        told = f"an hour costs ${times * (listed.wage or 0):g} and not ${listed.wage or 0:g}"
        assumed = f"{told}; what has a price of its own stays as it is"
        if not timed:
            assumed = f"nothing on price list {listed.name!r} is paid by time, so nothing moves"
        wage = None if listed.wage is None else times * listed.wage
        name = f"{listed.name}, wage {sign}50 %" if timed else listed.name
        dearer = replace(project, prices=replace(listed, name=name, wage=wage))
        yield Change(f"wage {sign}50 %", dearer, assumed)


def _timed(listed: Prices) -> bool:
    """Whether anything on the list is paid by the hour."""
    rates = [*listed.rates.values(), *([listed.image] if listed.image else [])]
    return listed.wage is not None and any(rate.dollars is None for rate in rates)


def _asking(part: Scheme) -> Scheme:
    """The scheme whose questions are verified: of a mixture the one beside the complete images."""
    return schemes.make(part.rest) if isinstance(part, Mixed) else part


def _missed(way: Way) -> float:
    """The share of what is present that people overlook; over classes where it is by class."""
    return float(np.mean(way.habits.miss))


def _asked(run: Run, factors: Mapping[str, float], made: dict[tuple[Way, int], Effort]) -> Run:
    """A run whose present labels took that many times the questions; equal efforts stay one value.

    Those who search drop what they do not want; whoever labels what comes has more labels then, of
    more images or of the same ones, as the scheme has it.
    """
    if not factors or run.effort is None:
        return run
    key = run.way, id(run.effort)
    if key not in made:
        made[key] = _scaled(run.effort, factors)
    after = made[key]
    before = sum(map(run.effort.count, _LABELLING))
    if not before:
        return replace(run, effort=after)
    more = sum(map(after.count, _LABELLING)) - before
    kept = min(1.0, run.labels / before)  # answers that are no labels; those named are none of them
    images = sum(after.images(kind) - run.effort.images(kind) for kind in _LABELLING)
    return replace(
        run,
        effort=after,
        images=run.images + images if run.way.grows == "images" else run.images,
        labels=run.labels + round(kept * more),
        amount=None if run.amount is None else run.amount * (1 + more / before),
    )


def _scaled(effort: Effort, factors: Mapping[str, float]) -> Effort:
    """As many questions about each image, about more images."""
    questions = {
        kind: np.rint(counted * factors.get(kind, 1.0)).astype(np.int64)
        for kind, counted in effort.questions.items()
    }
    looks = np.rint(effort.looks * factors.get("search", 1.0)).astype(np.int64)
    return replace(effort, questions=questions, looks=looks)
