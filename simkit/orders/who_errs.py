"""Who errs, and which further answers would show it, as sentences for messages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from shlex import join, quote

import numpy as np
import pandas as pd

from simkit.annotate import peers
from simkit.annotate.peers import Contradiction, worse_than_others
from simkit.annotate.prices import cost
from simkit.annotate.votes import NO, YES
from simkit.labels.effort import Effort
from simkit.orders.annotators import further_people, in_place_of_new, whole_parts
from simkit.orders.order import RoundSettings, effort_of
from simkit.orders.receiving import OrderState, shown_alone
from simkit.orders.rounds import REPEATED, round_of
from simkit.quantities import exact_money

DISPUTED = 40  # questions on which two people differ: enough to show which of them errs
MEASURED = 20  # images with all classes, about which three people answer to measure errors
MOST_CLASSES = 3  # in a sentence
_SAID = "no", "yes"


def errs(state: OrderState) -> dict[str, str]:
    """The people who err clearly more often than others, and a sentence about each.

    By votes of three people or more, by known answers, or by the votes of third people where two
    differ.
    """
    if (found := state.peers) is None or state.votes is None:
        return {}
    workers, cases = state.votes.workers, dict[str, str]()
    name = {who: state.names.get(who, who) for who in state.people.index}
    for place, who in enumerate(workers):
        if own := [one for one in found.named if one.worker == place]:
            cases[who] = f"than the others: {name[who]} {_contradictions(own, state)}"
    for who, case in _wrong_on_gold(state.people, name).items():
        cases.setdefault(who, case)
    pairs, classes = state.worse_of_pairs, state.order.classes
    for one in pairs:
        who, other = workers[one.worker], name[workers[one.other]]
        among = [f"; {of.against:,} of {of.differ:,} about {classes[of.about]}" for of in pairs
                 if one.about is None and of.about is not None
                 and (of.worker, of.other) == (one.worker, one.other)]  # fmt: skip
        numbers = f"{one.against:,} of {one.differ:,} questions{_about(one.about, classes)}"
        cases.setdefault(who, f"than {other}: on {numbers} on which they differ, most others agree "
                         f"with {other}{''.join(among[:MOST_CLASSES])}")  # fmt: skip
    folder = quote(str(state.order.folder))
    texts = dict[str, str]()
    for who, case in cases.items():
        place = workers.index(who) if who in workers else -1
        of = {one.about for one in found.named if one.worker == place}
        of |= {one.about for one in pairs if one.worker == place}
        some = [classes[c] for c in sorted(c for c in of if c is not None)]
        ways = [
            _asked_of_others(state, who, about)
            for about in [some, []][not 0 < len(some) <= MOST_CLASSES :]
        ]
        texts[who] = "\n".join([
            f"{name[who]} errs more often {case}",
            f"  {name[who]} is {who} in {folder}/votes.csv; to set answers aside, so that somebody "
            "else gets their questions:", *ways,
        ])  # fmt: skip
    return texts


def option(name: str, person: str, classes: Sequence[str]) -> list[str]:
    """The words of --without or --with of `simkit receive` for a person, or for some classes."""
    alone = [about for about in classes if "," in about]
    listed = ",".join(about for about in classes if about not in alone)
    texts = [f"{person}:{text}" for text in (listed, *alone) if text] or [person]
    return [word for text in texts for word in (name, text)]


def _asked_of_others(state: OrderState, who: str, classes: Sequence[str]) -> str:
    """The command that sets a person's answers about some classes or all aside, with the cost of
    these answers and of asking their questions again."""
    name, pairs = state.names.get(who, who), {(who, about) for about in classes or [""]}
    after = replace(state, aside=state.aside | pairs)
    own = state.received[state.received["worker"] == who]
    rows = own[after.are_aside(who, own["class"])]
    before = state.lacking["lacking"].reindex(after.lacking.index, fill_value=0)
    opened = after.lacking[after.lacking["lacking"] > before]
    what = f"those about {', '.join(classes)}" if classes else "all"
    words = ["simkit", "receive", str(state.order.folder), *option("--without", name, classes)]
    return (f"  {what}: {len(rows):,} answers, which cost {exact_money(state.paid(rows))}; asking "
            f"{len(opened):,} questions again costs {price_again(state, opened)}:\n"
            f"  {join(words)}")  # fmt: skip


def price_again(
    state: OrderState, questions: pd.DataFrame, answers: int | pd.Series[int] = 1
) -> str:
    """What so many more answers to each of these questions of an order cost, by the measured times
    if there are any."""
    effort = effort_of(shown_alone(questions, state.order), state.order.shape, answers)
    return f"about {exact_money(cost(effort, state.rates()).dollars)} {by_which(state)}"


def by_which(state: OrderState) -> str:
    """What `OrderState.rates` counts by, in words."""
    measured = state.prices() is not None
    return "by measured times" if measured else f"at {state.order.settings.prices} prices"


def _about(c: int | None, classes: tuple[str, ...]) -> str:
    return "" if c is None else f" about {classes[c]}"


def _contradictions(own: Sequence[Contradiction], state: OrderState) -> str:
    """Where a person contradicts most others: in all classes if that is clear, or in some."""
    texts, classes = list[str](), state.order.classes
    for one in [one for one in own if one.about is None] or own:
        most = _SAID[1 - one.said]
        among = [f"{of.against:,} of them about {classes[of.about]}" for of in own
                 if one.about is None and of.about is not None and of.said == one.said]  # fmt: skip
        texts.append(
            f"said {_SAID[one.said]} on {one.against:,} of {one.disputed:,} disputed questions"
            f"{_about(one.about, classes)} where most said {most} ({one.expected:.0f} expected of "
            f"people who are equally good{''.join(f'; {text}' for text in among[:MOST_CLASSES])})"
        )
    return ", and ".join(texts[: 2 * MOST_CLASSES])


def _wrong_on_gold(people: pd.DataFrame, name: Mapping[str, str]) -> dict[str, str]:
    """Who is wrong on significantly more gold questions than the others, and how many."""
    gold = people[people["gold"] > 0]
    asked = gold["gold"].to_numpy(int)
    wrong = np.rint(asked * (1 - gold["right"].to_numpy(float))).astype(int)
    worse = np.flatnonzero(worse_than_others(wrong, asked)).tolist()
    return {
        str(gold.index[place]): f"than the others: {name[gold.index[place]]} is wrong on "
        f"{wrong[place]:,} of {asked[place]:,} gold questions, the others on "
        f"{wrong.sum() - wrong[place]:,} of {asked.sum() - asked[place]:,}"
        for place in worse
    }


@dataclass(frozen=True)
class ClassDifference:
    """A class about which two people say yes at different rates.

    Attributes
    ----------
    about : int
    workers : (str, str)
        Who says yes most often, and who least often.
    yes, answers : (int, int)
        Of each of them: the number of yes, and of all answers that are compared.
    """

    about: int
    workers: tuple[str, str]
    yes: tuple[int, int]
    answers: tuple[int, int]


def class_differences(state: OrderState) -> list[ClassDifference]:
    """Where two people say yes at significantly different rates, clearest first.

    Of each person, only the parts count that this person has answered completely: a page shows
    images in the order of their files, so the first half of it is no random sample.
    """
    said = state.unselected.merge(whole_parts(state), on=["worker", "question"])
    workers, who = np.unique(said["worker"].astype(str), return_inverse=True)
    shape = len(workers), len(state.order.rounds), state.order.shape[1]
    yes, asked = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    where = who, said["round"].to_numpy(np.int64) - 1, said["class"].to_numpy(np.int64)
    np.add.at(yes, where, said["yes"].to_numpy(bool))
    np.add.at(asked, where, 1)
    most, every = yes.sum(1).tolist(), asked.sum(1).tolist()
    return [
        ClassDifference(c, (str(workers[a]), str(workers[b])), (most[a][c], most[b][c]),
                        (every[a][c], every[b][c]))
        for c, a, b in peers.class_differences(yes, asked)
    ]  # fmt: skip


def third_answers(state: OrderState) -> str:
    """Where two answers differ, the command and price of third ones, which show who errs; or ""."""
    if state.votes is None or state.errors is not None:  # three answers, or known ones, show it
        return ""
    counts = state.votes.counts
    two = counts.sum(1) == 2
    differ, both = int((two & (counts[:, NO] == counts[:, YES])).sum()), int(two.sum())
    if not differ:
        return ""
    who = [state.names.get(worker, worker) for worker in state.votes.workers]
    text = (f"{' and '.join(who) if len(who) == 2 else 'people'} differ on {differ:,} of {both:,} "
            "questions with two answers, and two answers cannot tell who errs")  # fmt: skip
    if not len(state.ties):
        waits = f"{text};\nthe further answers that are still open can"
        return waits if len(state.of_others) else ""
    order, ties = state.order, state.ties
    budget = price_of(state, ties.head(DISPUTED))
    number, effort = _asked(state, ties, budget)
    price = f"{exact_money(cost(effort, state.rates()).dollars)} {by_which(state)}"
    words = ["simkit", "order", "--next", str(order.folder), "--ties", "--budget", f"{budget:.2f}"]
    words += ["--gold", "0"] * bool(order.settings.gold)
    words += further_people(state)
    return (f"{text};\na third person's answers to {number:,} of them can ({price})"
            f"{in_place_of_new(words)}:\n  {join(words)}")  # fmt: skip


def _terms(state: OrderState) -> RoundSettings:
    return replace(state.order.settings, repeat=0.0, gold=0.0)


def _asked(state: OrderState, again: pd.DataFrame, budget: float | None) -> tuple[int, Effort]:
    """The number of these questions that a budget pays for, and their effort."""
    order = state.order
    part = round_of(_terms(state), order, state.joined, again=again, budget=budget,
                    prices=state.rates())  # fmt: skip
    return len(part.table), replace(order, rounds=(*order.rounds, part)).effort(part.table)


def price_of(state: OrderState, again: pd.DataFrame) -> float:
    """The dollars, in whole cents, that it costs to ask these questions again."""
    _, effort = _asked(state, again, None)
    return math.ceil(100 * cost(effort, state.rates()).dollars - 1e-6) / 100


def errors_line(state: OrderState) -> str:
    """The measured errors of the annotators, or why there are none, and what would measure them."""
    lacking, further, waiting = len(state.of_others), state.further, ""
    if len(further):
        price = price_again(state, further, further["lacking"])
        waiting = f"; {len(further):,} questions have a label and wait for further answers, which "
        waiting += f"measure errors ({price})"
    elif lacking:
        waiting = f"; further answers to {lacking:,} of the open questions measure errors"
    if state.errors is None:
        again = (state.order.first[state.open.index] != state.open.index).any()
        mend = "" if lacking or again or len(state.ties) else _more_answers(state)
        return f"the annotators' errors are unknown{waiting}{mend}"
    rates, how = [f"{rate:.1%}" for rate in state.errors], ""
    if (found := state.repeated) is not None:  # one estimate with its own intervals
        rates = [
            f"{rate:.1%} ({low:.1%} to {high:.1%})"
            for rate, (low, high) in zip(found.rates, found.intervals, strict=True)
        ]
        how = f", from {found.questions:,} questions with {REPEATED} answers or more"
        how += ", the third of them set aside" * found.others
    return (f"annotators missed about {rates[0]} of present classes and reported {rates[1]} of "
            f"absent ones{how}{waiting}")  # fmt: skip


def _more_answers(state: OrderState) -> str:
    """How `REPEATED` answers to some questions measure errors, with the command; or ""."""
    again = state.below(REPEATED)
    if not len(again):
        return ""
    enough = again.head(MEASURED * len(state.order.classes))
    words = ["simkit", "order", "--next", str(state.order.folder), "--answers", str(REPEATED),
             "--budget", f"{price_of(state, enough):.2f}"]  # fmt: skip
    words += ["--gold", "0"] * bool(state.order.settings.gold)
    words += further_people(state, int(enough["answers"].max()))
    return (f"; {REPEATED} answers to some questions measure them{in_place_of_new(words)}:\n"
            f"  {join(words)}")  # fmt: skip
