"""Questions that are asked again of other people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState, checked, keep
from tests.orders.people import TRUTH, answer, ordered, rows


def again(order: Order, *words: str) -> Order:
    asked = ["order", "--next", str(order.folder), "--to", "csv", *words]
    assert code(asked) == 0
    return Order.read(order.folder)


@pytest.fixture
def rpa(tmp_path) -> Order:
    return ordered(tmp_path / "one", "--scheme", "rpa(keep=0.3)")


def test_other_people_outvote_the_first_one(rpa):
    first = answer(rpa, wrong=0.2).joined
    order = again(rpa, "--answers", "3")
    table = order.rounds[1].table
    pairs = ["image", "class"]
    assert len(table) == len(rpa.table) and (table["answers"] == 2).all()
    assert not table.duplicated(pairs).any() and (OrderState.of(order).open["round"] == 2).all()
    for worker in ("ben", "cat"):
        keep(order, checked(order, rows(order, TRUTH, worker, wrong=0.2)).answers)
    state = OrderState.of(order)
    present = TRUTH.present.toarray().ravel()
    wrong = [((one.states == 1) != present[one.places]).mean() for one in (first, state.joined)]
    assert 0.14 < wrong[0] < 0.26 and wrong[1] < 0.7 * wrong[0]
    assert not len(state.open) and state.votes.per_question == 3
    effort = state.labels.effort
    assert effort.workers * effort.count("verify") == 3 * len(rpa.table)
    assert (state.again(4)["answers"] == 1).all()
    with pytest.raises(BadInput, match="answers"):
        state.again(3)


def test_the_same_person_is_not_counted_twice(rpa):
    answer(rpa)
    order = again(rpa, "--answers", "2")
    said = rows(order, TRUTH, "ann")
    result = checked(order, said)
    assert not len(result.answers) and sum(result.left_out.values()) == len(said)
    assert len(OrderState.of(order).open) == len(said)


def test_answers_without_numbers_close_the_questions_asked_again(rpa, tmp_path):
    answer(rpa)
    order = again(rpa, "--answers", "2")
    second = OrderState.of(order).open
    table = pd.DataFrame({
        "image": order.images[second["image"]],
        "class": np.array(order.classes)[second["class"]], "worker": "ben", "answer": "no",
    })  # fmt: skip
    table.to_csv(tmp_path / "said.csv", index=False)
    assert code(["receive", str(order.folder), str(tmp_path / "said.csv")]) == 0
    state = OrderState.of(order)
    assert not len(state.open)


def test_within_a_budget_those_in_doubt_come_first(rpa):
    said = rows(rpa, TRUTH)
    said.loc[said.index[::9], "answer"] = "unsure"
    keep(rpa, checked(rpa, said).answers)
    unsure = said.loc[said["answer"] == "unsure", "question"]
    asked = rpa.effort(rpa.table[rpa.table["question"].isin(unsure)])
    budget = round(1.5 * simkit.cost(asked, "hourly").dollars, 2)
    order = again(rpa, "--answers", "2", "--budget", str(budget))
    second = order.table[order.table["round"] == 2]
    assert simkit.cost(order.effort(second), "hourly").dollars <= budget
    assert {*unsure} < {*order.first[second.index]} and len(second) < len(rpa.table)


def test_an_order_asked_again_is_read_as_it_was_written(rpa):
    answer(rpa)
    order = again(rpa, "--answers", "2")
    assert Order.read(order.folder).rounds[1].id == order.rounds[1].id
    file = order.round_folder / "questions.parquet"
    changed = pd.read_parquet(file).assign(answers=9)
    changed.to_parquet(file)
    with pytest.raises(BadInput, match="was changed"):
        Order.read(order.folder)


def test_images_asked_about_again_are_paid_again(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "10")
    bill = simkit.cost(answer(order).labels, "coco-tagging").dollars
    order = again(order, "--answers", "2")
    bills = [
        simkit.cost(order.effort(part), "coco-tagging").dollars
        for _, part in order.table.groupby("round")
    ]
    keep(order, checked(order, rows(order, TRUTH, "ben")).answers)
    assert bills == pytest.approx([bill, bill])
    both = OrderState.of(order).labels
    assert simkit.cost(both, "coco-tagging").dollars == pytest.approx(2 * bill)
