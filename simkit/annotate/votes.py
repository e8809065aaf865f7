"""Votes of annotators on images and classes: tables, files, and agreement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simkit.annotate.annotators import Ints
from simkit.chance import Chance
from simkit.errors import BadInput, counted, examples
from simkit.files import AnyPath, reading
from simkit.labels.cells import UNSURE, Minus, meaning_of_minus, means_state
from simkit.labels.formats.npz import Arrays
from simkit.labels.names import look, note_alike, path_key
from simkit.labels.tables import USUAL, Column, Table, read_table

NO, MAYBE, YES = 0, 1, 2
WORDS = ("no", "maybe", "yes")
COLUMNS = ("image", "class", "worker", "answer")
Maybe = Literal["yes", "no", "drop"]
_NOTHING = 3  # code for a row without an answer
_NO_VOTE = frozenset(("skip", "skipped", "unknown", "?"))  # of `UNSURE`, what may be no vote
_FEW = 5  # expert answers, below which their rates say little anyway
_GUESSES = 0.8  # sum of error rates of people whose answers say too little; 1 is a guess
_CONTRADICTED = 0.5  # miss and false alarm together; answers by chance have 1
_WHAT = "votes (a table with image, class, worker and answer, or .npz)"


@dataclass(frozen=True, eq=False)
class Votes:
    """V votes of R workers on Q questions (image, class); arrays are read-only.

    Attributes
    ----------
    images, classes, workers
        Ids and names, to which the indices below refer.
    question_image, question_class : (Q,) int
        Image and class of each question.
    vote_question, vote_worker : (V,) int
        Question and worker of each vote.
    vote_answer : (V,) int8
        0 no, 1 maybe, 2 yes.
    gold : (Q,) int8
        Answer of experts: 1 present, 0 absent, -1 not asked.
    """

    images: NDArray[Any]
    classes: tuple[str, ...]
    workers: tuple[str, ...]
    question_image: Ints
    question_class: Ints
    vote_question: Ints
    vote_worker: Ints
    vote_answer: NDArray[np.int8]
    gold: NDArray[np.int8]

    def __post_init__(self) -> None:
        Q, V = len(self.question_image), len(self.vote_question)
        if not V:
            raise BadInput("there are no votes; give at least one answer of one worker")
        for name, length, lowest, stop in (
            ("question_image", Q, 0, len(self.images)),
            ("question_class", Q, 0, len(self.classes)),
            ("vote_question", V, 0, Q),
            ("vote_worker", V, 0, len(self.workers)),
            ("vote_answer", V, 0, 3),
            ("gold", Q, -1, 2),
        ):
            values = getattr(self, name)
            if values.shape != (length,) or ((values < lowest) | (values >= stop)).any():
                raise BadInput(
                    f"{name} has {values.size} numbers; {length} from {lowest} to {stop - 1} are "
                    "expected"
                )
        pairs = self.question_image * len(self.classes) + self.question_class
        if (twice := pd.Index(pairs).duplicated()).any():
            raise BadInput(f"{self._pair(twice.argmax())} have two questions; join them to one")
        places = self.vote_question * len(self.workers) + self.vote_worker
        if (twice := pd.Index(places).duplicated()).any():
            vote = twice.argmax()
            who, pair = self.workers[self.vote_worker[vote]], self._pair(self.vote_question[vote])
            raise BadInput(f"worker {who!r} votes twice on {pair}; keep one vote")
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def _pair(self, question: Any) -> str:
        image = self.images[self.question_image[question]]
        return f"image {image} and class {self.classes[self.question_class[question]]!r}"

    def decided(self, maybe: Maybe = "yes") -> Votes:
        """The votes with every maybe counted as yes or as no, or dropped."""
        if maybe not in ("yes", "no", "drop"):
            raise BadInput(f"maybe is {maybe!r}; it must be one of yes, no, drop")
        doubtful = self.vote_answer == MAYBE
        if not doubtful.any():
            return self
        if maybe == "drop":
            names = ("vote_question", "vote_worker", "vote_answer")
            return replace(self, **{name: getattr(self, name)[~doubtful] for name in names})
        answer = np.where(doubtful, YES if maybe == "yes" else NO, self.vote_answer)
        return replace(self, vote_answer=answer.astype(np.int8))

    @property
    def counts(self) -> Ints:
        """(Q, 3) numbers of no, maybe and yes for each question."""
        places = self.vote_question * 3 + self.vote_answer
        return np.bincount(places, minlength=3 * len(self.question_image)).reshape(-1, 3)

    @property
    def per_question(self) -> int:
        """The median number of votes on a question that has any."""
        numbers = self.counts.sum(1)
        return int(np.median(numbers[numbers > 0]))

    def several(self, number: int = 3) -> Votes | None:
        """The votes on questions with this many votes or more; None without any."""
        kept = self.counts.sum(1) >= number
        if not kept.any():
            return None
        places, cast = np.cumsum(kept) - 1, kept[self.vote_question]
        return replace(
            self, question_image=self.question_image[kept], gold=self.gold[kept],
            question_class=self.question_class[kept], vote_worker=self.vote_worker[cast],
            vote_question=places[self.vote_question[cast]], vote_answer=self.vote_answer[cast],
        )  # fmt: skip

    @property
    def same_roster(self) -> float:
        """The share of neighbouring questions about one image that the same people answered."""
        order = np.lexsort((self.vote_worker, self.vote_question))
        question, worker = self.vote_question[order], self.vote_worker[order]
        # Each worker gets a random 64-bit number. The sum over the voters of a question is then a
        # fingerprint of the set of voters, whatever their number and order: two different sets have
        # equal sums with probability 2**-64.
        names = Chance.seeded(0).of("roster")(np.arange(len(self.workers)))
        sums = np.zeros(len(self.question_image), np.uint64)
        np.add.at(sums, question, names[worker])
        by_image = np.argsort(self.question_image, kind="stable")
        alike = np.diff(self.question_image[by_image]) == 0
        return float((np.diff(sums[by_image]) == 0)[alike].mean()) if alike.any() else 0.0


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of workers, on questions with at least two votes.

    Attributes
    ----------
    yes : float
        Share of yes among all votes.
    yes_counts : (k + 1,) float
        Shares of the questions with k votes that have 0, 1, ... k yes; k is typical.
    unanimous, pairwise : float
        Shares of questions with equal votes, and of pairs of votes on one question that agree.
    kappa : float
        Fleiss' kappa (Fleiss, Psychological Bulletin 1971), for any numbers of votes.
    """

    yes: float
    yes_counts: NDArray[np.float64]
    unanimous: float
    pairwise: float
    kappa: float

    def rows(self) -> list[tuple[str, float]]:
        """The numbers with their names, as a small table."""
        k = len(self.yes_counts) - 1
        counts = [(f"{n} of {k} say yes", float(s)) for n, s in enumerate(self.yes_counts)]
        return [
            ("votes that say yes", self.yes),
            *counts,
            ("unanimous questions", self.unanimous),
            ("pairs that agree", self.pairwise),
            ("Fleiss' kappa", self.kappa),
        ]


def agreement(votes: Votes, *, maybe: Maybe = "yes") -> Agreement:
    """The agreement of the votes, with a maybe counted as yes or as no, or dropped."""
    votes = votes.decided(maybe)
    counts = votes.counts
    yes, numbers = counts[:, YES], counts.sum(1)
    several = numbers > 1
    if not several.any():
        raise BadInput("no question has two votes; agreement needs questions that several answer")
    k = votes.per_question
    typical = yes[numbers == k]
    # Of n votes, y yes: n (n - 1) / 2 pairs, of which y (y - 1) / 2 + (n - y)(n - y - 1) / 2 agree.
    pairs = numbers * (numbers - 1) / 2
    same = (yes * (yes - 1) + (numbers - yes) * (numbers - yes - 1)) / 2
    overall = yes.sum() / numbers.sum()
    # Fleiss: kappa = (P - P_e) / (1 - P_e), P the mean over questions of the share of agreeing
    # pairs, P_e the share expected if all votes were independent.
    by_chance = overall**2 + (1 - overall) ** 2
    agreeing = (same[several] / pairs[several]).mean()
    return Agreement(
        yes=float(overall),
        yes_counts=np.bincount(typical, minlength=k + 1) / max(1, len(typical)),
        unanimous=float((same == pairs)[several].mean()),
        pairwise=float(same.sum() / pairs.sum()),
        kappa=float((agreeing - by_chance) / (1 - by_chance)) if by_chance < 1 else float("nan"),
    )


def confusion(votes: Votes, present: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2, 3) expected number of votes by truth (absent, present) and answer (no, maybe, yes).

    present: (Q,) probability of presence; nan leaves a question out.
    """
    known = np.flatnonzero(~np.isnan(present))
    counts, weights = votes.counts[known], present[known]
    return np.stack([(1 - weights) @ counts, weights @ counts])


def error_rates(table: NDArray[np.float64], maybe: Maybe) -> tuple[float, float]:
    """Miss and false alarm in a confusion matrix (2, 3); nan without such votes."""
    no, doubtful, yes = table.T
    yes, no = yes + doubtful * (maybe == "yes"), no + doubtful * (maybe == "no")
    total = no + yes
    return float(ratio(no, total)[1]), float(ratio(yes, total)[0])


def measured(votes: Votes) -> NDArray[np.float64]:
    """(2, 3) the confusion matrix of the votes on which experts decided."""
    return confusion(votes, np.where(votes.gold >= 0, votes.gold, np.nan))


@dataclass(frozen=True)
class RepeatedAnswers:
    """Error rates of one answer, estimated where at least three people answered a question.

    Attributes
    ----------
    rates : (float, float)
        Shares of present classes missed and of absent ones reported.
    intervals : pair of (float, float)
        95 % intervals of both.
    questions : int
        Number of questions with at least three answers.
    others : bool
        Whether some of these answers have other error rates.
    """

    rates: tuple[float, float]
    intervals: tuple[tuple[float, float], ...]
    questions: int
    others: bool = False


def repeated_answers(
    votes: Votes, others: NDArray[np.bool_] | None = None
) -> RepeatedAnswers | None:
    """Estimate common error rates from votes of which most questions may have only one.

    Each question is present or absent, and people err independently: with y yes among n votes, a
    mixture of two binomials, fitted by expectation maximisation to all questions, so that asking
    doubtful ones more often does no harm.

    Parameters
    ----------
    votes : Votes
    others : (V,) bool, optional
        Votes with error rates of their own, which are fitted, too, and not returned.

    Returns
    -------
    RepeatedAnswers or None
        None if no question of three votes, two of them not of others, seems present, or none
        absent; or if the others' votes hardly depend on the truth.
    """
    others = np.zeros(len(votes.vote_answer), bool) if others is None else others
    counts = np.concatenate([
        np.stack([np.bincount(votes.vote_question[some & (votes.vote_answer == said)],
                              minlength=len(votes.gold)) for said in (NO, YES)], axis=1)
        for some in (~others, others)[: 1 + int(others.any())]
    ], axis=1)  # fmt: skip
    several = (counts.sum(1) >= 3) & (counts[:, :2].sum(1) >= 2)
    patterns, weights = np.unique(counts, axis=0, return_counts=True)
    no, yes = patterns.T.reshape(-1, 2, len(patterns)).swapaxes(0, 1).astype(float)  # (G, P)
    many = (patterns.sum(1) >= 3) & (patterns[:, :2].sum(1) >= 2)
    majority = (yes.sum(0) > no.sum(0)) * weights * many
    if not several.any() or not 0 < majority.sum() < several.sum():
        return None
    wrong, total, first = np.stack([no, yes]), no + yes, float(majority.sum() / several.sum())

    def presence(rates: NDArray[np.float64], share: float) -> NDArray[np.float64]:
        """(2, P) the probabilities of presence and absence."""
        miss, alarm = rates[..., None]
        odds = no * np.log(miss / (1 - alarm)) + yes * np.log((1 - miss) / alarm)
        present = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + odds.sum(0))))
        return np.stack([present, 1 - present])

    def fitted(more: float) -> tuple[NDArray[np.float64], float]:
        """(2, G) the rates, with so many wrong and right answers more to each, and the share
        present."""
        rates, share = np.tile([[0.05], [0.02]], len(no)), first
        for _ in range(20_000):
            before, part = (*rates.ravel(), share), presence(rates, share) * weights
            rates = ((part[:, None] * wrong).sum(2) + more) / (part @ total.T + 2 * more)
            rates = np.clip(rates, 1e-9, 1 - 1e-9)
            share = float(np.clip(part[0].sum() / weights.sum(), 1e-9, 1 - 1e-9))
            if np.abs(np.subtract(before, (*rates.ravel(), share))).max() < 1e-9:
                break
        return rates, share

    # Wald intervals of logits, with half an error more (Jeffreys), as there may be none. The
    # information is that of the scores, in which the unknown truth counts.
    (rates, _), (centres, share) = fitted(0.0), fitted(0.5)
    states = presence(centres, share)
    scores = np.vstack([  # own misses and reports first
        *(states[:, None] * (wrong - centres[..., None] * total)).swapaxes(0, 1),
        states[0] - share,
    ])  # fmt: skip
    information = (scores * weights) @ scores.T
    if others.any() and (centres.sum(0)[1] > _GUESSES or np.linalg.cond(information) > 1e12):
        return None
    spread = 1.96 * np.sqrt(np.diag(np.linalg.pinv(information))[:2])
    rates, centre = rates[:, 0], centres[:, 0]
    low, high = (
        1 / (1 + np.exp(-(np.log(centre / (1 - centre)) + sign * spread))) for sign in (-1, 1)
    )
    low, high = np.minimum(low, rates), np.maximum(high, rates)
    intervals = tuple(zip(low.tolist(), high.tolist(), strict=True))
    both = float(rates[0]), float(rates[1])
    return RepeatedAnswers(both, intervals, int(several.sum()), bool(others.any()))


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """`part` divided by `whole`; nan where `whole` is 0."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def read_votes(path: AnyPath, *, minus: Minus = "") -> Votes:
    """Read the votes of annotators from a file.

    Parameters
    ----------
    path
        A table (CSV, JSON, parquet, .xlsx; see `simkit.labels.tables`) with one row per vote:
        image, class, worker, answer (no, maybe or yes; 0 and 1 count as no and yes) and optionally
        gold (no or yes, the same in all rows of a question; empty if no expert was asked). Other
        columns are ignored, and rows without an answer left out.
        Or a .npz file in the layout of the votes behind ImageNet ReaL: question_image,
        question_class (Q,), vote_question, vote_rater and vote_answer (V,) with 0 no, 1 maybe,
        2 yes; optionally class_names, and the answers of experts: gold_image, gold_class (G,),
        gold_expert_question, gold_expert_answer (E,). The majority of the experts counts; a tie
        counts as not asked.
    minus : "", "absent" or "unknown"
        The meaning of -1 in a table with -1 and without 0.

    Returns
    -------
    Votes

    Warns
    -----
    UserWarning
        Where rows are left out, and for other decisions of the reader.

    Raises
    ------
    BadInput
        For missing columns or invalid values.

    References
    ----------
    Beyer et al., Are we done with ImageNet?, 2020.
    """
    with reading(path, _WHAT) as file:
        if file.suffix.lower() == ".npz":
            with ZipFile(file) as archive:
                return _from_arrays(Arrays(archive, file))
        return _from_table(file, minus)


def _from_arrays(arrays: Arrays) -> Votes:
    (images, image), (codes, of_class), (raters, worker) = (
        np.unique(arrays.whole(name), return_inverse=True)
        for name in ("question_image", "question_class", "vote_rater")
    )
    classes = tuple(map(str, codes.tolist()))
    if len(codes) and "class_names" in arrays:
        names = arrays.names()
        if not 0 <= codes[0] <= codes[-1] < len(names):
            raise BadInput(
                f"class_names has {len(names)} texts, question_class goes from {codes[0]} to "
                f"{codes[-1]}; give one text for each class"
            )
        classes = tuple(names[code] for code in codes.tolist())
    gold = np.full(len(image), -1, np.int8)
    if "gold_image" in arrays:
        asked, experts = (
            pd.MultiIndex.from_arrays([arrays.whole(f"{kind}_{of}") for of in ("image", "class")])
            for kind in ("question", "gold")
        )
        asked_at = asked.get_indexer(experts)
        about, size = arrays.whole("gold_expert_question"), len(asked_at)
        says = arrays.whole("gold_expert_answer") == YES
        if len(about) != len(says) or (len(about) and not 0 <= about.min() <= about.max() < size):
            raise BadInput(
                f"gold_expert_question has {len(about)} places among {size} gold questions and "
                f"gold_expert_answer {len(says)} answers; one of each per expert's answer is "
                "expected"
            )
        lead = np.bincount(about, np.where(says, 1, -1), minlength=size)  # 0 is a tie
        decided = (asked_at >= 0) & (lead != 0)
        gold[asked_at[decided]] = lead[decided] > 0
    # Other answers than 0, 1 and 2 are refused by Votes.
    answers = np.clip(arrays.whole("vote_answer"), -1, 3).astype(np.int8)
    return Votes(
        images, classes, tuple(map(str, raters.tolist())), image, of_class,
        arrays.whole("vote_question"), worker, answers, gold,
    )  # fmt: skip


def _from_table(path: Path, minus: Minus) -> Votes:
    table = read_table(path)
    if missing := [name for name in COLUMNS if not table.named(USUAL[name])]:
        has = examples(column.name for column in table.columns)
        raise BadInput(
            f"no column is called {' or '.join(missing)}, but {has}; "
            f"write a row for each vote, with the columns {', '.join(COLUMNS)}"
        )
    gold = _of_experts(table, minus)
    answer = _answers(table.pick("answer"), minus, UNSURE)
    if len(left_out := np.flatnonzero(answer == _NOTHING)):
        table.note(
            f"rows left out because -1 and empty cells are no answer: {len(left_out):,} of "
            f"{len(table):,}, such as row {table.row(left_out[0])}; write maybe where somebody is "
            "unsure"
        )
        kept = answer != _NOTHING
        table, answer, gold = table.select(kept), answer[kept], gold[kept]
    image, of_class, worker = (table.pick(name) for name in COLUMNS[:3])
    for column in (image, of_class, worker):
        if "" in column.texts:
            raise column.refused("", "fill in the cell or remove the row")
    image.note_shortened()
    note_alike(of_class.texts, "class names", table.note, look)
    note_alike(image.texts, "names of images", table.note, _by_path(image.texts))
    worker = worker.people()
    if len(worker.texts) == len(table) > 20:
        table.note(
            f"column {worker.name!r} has a different name in each of the {len(table):,} rows; "
            "write the people's names if these are numbers of rows"
        )
    pairs, question = np.unique(
        image.codes.astype(np.int64) * len(of_class.texts) + of_class.codes, return_inverse=True
    )
    question_image, question_class = np.divmod(pairs, len(of_class.texts))
    present, absent = (np.isin(np.arange(len(pairs)), question[gold == of]) for of in (YES, NO))
    if len(odd := np.flatnonzero(present & absent)):
        about = image.texts[question_image[odd[0]]], of_class.texts[question_class[odd[0]]]
        raise BadInput(
            "gold of image {} and class {!r} is yes in one row and no in another; give one answer "
            "for each question".format(*about)
        )
    votes = Votes(
        np.array(image.texts, dtype=str), tuple(of_class.texts), tuple(worker.texts),
        question_image, question_class, question, worker.codes.astype(np.int64), answer,
        np.where(present, 1, np.where(absent, 0, -1)).astype(np.int8),
    )  # fmt: skip
    _note_gold(votes, table)
    return votes


def _note_gold(votes: Votes, table: Table) -> None:
    """Notes where the experts gave one answer alone, or contradict most votes."""
    counts = np.zeros((2, len(votes.classes)), int)
    decided = votes.gold >= 0
    np.add.at(counts, (votes.gold[decided], votes.question_class[decided]), 1)
    absent, present = counts.sum(1) > 0
    if present != absent:
        said, other = ("yes", "no") if present else ("no", "yes")
        table.note(
            f"gold is {said} in all {counts.sum():,} questions that have it, and error rates by "
            f"gold are left out; add questions whose gold is {other}"
        )
        return
    one = (counts.min(0) == 0) & (counts.max(0) >= _FEW)
    if odd := [votes.classes[c] for c in np.flatnonzero(one)]:
        table.note(
            "classes for which gold is always yes or always no: "
            f"{counted(odd, len(votes.classes))}; their error rates by gold cover that answer "
            "alone; add questions with the other"
        )
    miss, alarm = error_rates(measured(votes), "yes")
    if decided.sum() >= _FEW and miss + alarm > _CONTRADICTED:
        table.note(
            f"{1 - miss:.0%} of the votes say yes where gold is yes, and {alarm:.0%} where it is "
            "no; rename the column if it marks gold questions and does not answer them"
        )


def _of_experts(table: Table, minus: Minus) -> NDArray[np.int8]:
    """(m,) the answer of experts in each row, as `_answers`."""
    experts = table.optional_column(
        USUAL["gold"], "the experts",
        fits=lambda column: column.name == "gold" or all(map(means_state, column.texts)),
    )  # fmt: skip
    if experts is None:
        return np.full(len(table), _NOTHING, np.int8)
    if experts.name != "gold":
        table.note(f"column {experts.name!r} is read as answers of experts; rename it if it is not")
    return _answers(experts, minus, frozenset())


def _by_path(images: Sequence[str]) -> Callable[[str], str]:
    """The form in which images look alike: without case, and without folders if one has none."""
    paths = {path_key(name).casefold() for name in images}

    def form(name: str) -> str:
        path = path_key(name).casefold()
        last = path.rpartition("/")[2]
        return last if last in paths else path

    return form


def _answers(column: Column, minus: Minus, unsure: frozenset[str]) -> NDArray[np.int8]:
    """(m,) 0 no, 1 maybe, 2 yes and 3 nothing for each row."""
    expected = "write yes, maybe or no, or remove the row" if unsure else (
        "write yes or no, leave it empty, or rename the column if it has no answers of experts"
    )  # fmt: skip
    states = column.states(expected, unsure)
    codes = {1: YES, 0: NO, None: _NOTHING}
    codes[-1] = codes[meaning_of_minus(states.values(), minus, "minus=")]
    answers = [MAYBE if text.lower() in unsure else codes[each] for text, each in states.items()]
    skipped = [n for n, text in enumerate(column.texts) if text.lower() in unsure & _NO_VOTE]
    if number := np.isin(column.codes, skipped).sum():
        words = examples([repr(column.texts[n]) for n in skipped])
        column.table.note(f"votes read as maybe: {number:,} ({words}); remove their rows if they "
                          "are no votes")  # fmt: skip
    return np.array(answers, np.int8)[column.codes]
