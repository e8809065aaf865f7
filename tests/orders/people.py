"""Simulated people who answer the questions of an order from a truth, by the keyed choices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import simkit
from simkit.annotate import schemes
from simkit.annotate.schemes import Scheme
from simkit.annotate.simulated_crowd import SimulatedCrowd
from simkit.annotate.sparse_draws import lookup
from simkit.chance import Chance
from simkit.cli.main import code
from simkit.labels.truth import Truth
from simkit.orders.order import NOTHING, Order
from simkit.orders.order_crowd import END, NO, YES, Asked, JoinedAnswers, OrderCrowd, ask
from simkit.orders.receiving import OrderState, checked, keep


def naming_chance(scheme: Scheme, seed: int = 0) -> Chance:
    """The random numbers by which simulated people choose what to name."""
    chance = Chance.seeded(seed).of("draw", 0).of("scheme", scheme.name)
    if scheme.name != "mixed":
        return chance
    rest = schemes.make(scheme.rest)
    return chance.of("rest", rest.name)


def names(truth: Truth, scheme: Scheme, most: int, seed: int = 0) -> np.ndarray:
    """(N, most) the classes that people name in each image; -1: none is left."""
    crowd = SimulatedCrowd(truth, chance=Chance.seeded(seed))
    naming = schemes.make(scheme.rest) if scheme.name == "mixed" else scheme
    bias = getattr(naming, "bias", "none")
    chance = naming_chance(scheme, seed)
    return crowd.name(crowd.images, chance=chance, most=most, bias=bias)


def answered(
    joined: JoinedAnswers, questions: pd.DataFrame, truth: Truth, named: np.ndarray
) -> JoinedAnswers:
    """The answers so far and the true answers to these questions."""
    naming = (questions["kind"] == "name").to_numpy()
    images, classes = questions[["image", "class"]].to_numpy()[~naming].T
    says = np.where(lookup(truth.present, images, classes), YES, NO).astype(np.int8)
    places = np.concatenate([joined.places, images * truth.shape[1] + classes])
    order = np.argsort(places, kind="stable")
    every = dict(joined.named)
    for image, nth in questions.loc[naming, ["image", "nth"]].itertuples(index=False):
        chosen = int(named[image, nth])
        given = every.get(int(image), ())
        if END not in given:
            every[int(image)] = (*given, chosen if chosen >= 0 else END)
    return JoinedAnswers(places[order], np.concatenate([joined.states, says])[order], every)


def finish(
    truth: Truth, scheme: Scheme, *, most: int = 1, part: float = 1.0, once: bool = True, **options
) -> tuple[Asked, int]:
    """Ask and answer until nothing is left; the result, and the number of rounds.

    once: no question may be asked twice.
    """
    named, joined, rounds, seen = names(truth, scheme, most), JoinedAnswers(), 0, set()
    while True:
        crowd = OrderCrowd(truth.images, truth.classes, joined, **options)
        asked = ask(scheme, crowd, part=part)
        if not len(asked.questions):
            return asked, rounds
        columns = asked.questions[["kind", "image", "class", "nth"]]
        new = set(columns.itertuples(index=False, name=None))
        assert not once or (len(new) == len(columns) and not new & seen)
        seen |= new
        joined = answered(joined, asked.questions, truth, named)
        rounds += 1


def rows(order: Order, truth: Truth, worker: str = "ann", wrong: float = 0.0) -> pd.DataFrame:
    """Raw answers of one person to all open questions; a share of yes and no is wrong."""
    state = OrderState.of(order)
    table = state.open if len(state.answers) else order.table
    scheme = order.settings.parsed_scheme
    most = int(table["nth"].max()) + 1 if len(table) else 1
    named, answers = names(truth, scheme, most, order.settings.seed), []
    present = truth.present.toarray()
    chance = Chance.seeded(0).of("wrong", worker)
    for one in table.itertuples():
        if one.kind == "name":
            c = named[one.image, one.nth]
            answers.append(NOTHING if c < 0 else order.classes[c])
            continue
        c = table.at[one.Index, "class"]
        err = chance(one.image, c) < np.uint64(wrong * 2**63) * np.uint64(2)
        answers.append("yes" if present[one.image, c] ^ bool(err) else "no")
    return pd.DataFrame(
        {"question": table["question"], "worker": worker, "answer": answers, "seconds": 2.0}
    )


SCENES = simkit.data.open("scenes:images=60")
TRUTH = SCENES.truth["train"]


def ordered(folder: Path, *options: str) -> Order:
    """An order about scenes, as the command makes it."""
    words = ["order", "--data", "scenes:images=60", "--to", "csv", "--out", str(folder), *options]
    assert code(words) == 0
    return Order.read(folder)


def answer(order: Order, **options) -> OrderState:
    """One person answers all open questions."""
    keep(order, checked(order, rows(order, TRUTH, **options)).answers)
    return OrderState.of(order)
