"""Questions that several people answer: to measure errors, and again after the first answers."""

import re
import shlex

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit.annotate.simulate import simulate
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState, checked, keep
from tests.orders.people import TRUTH, answer, ordered, rows

ALL = ("--scheme", "full-subset", "--images", "40")


def true_codes(order: Order):
    """The true labels of the images that were asked about."""
    return simulate(TRUTH, order.rounds[0].settings.scheme, images=40).codes


def test_repeated_questions_are_in_a_file_for_others_and_block_nothing(tmp_path, capsys):
    order = ordered(tmp_path / "one", *ALL, "--repeat", "10%")
    place = order.round_folder
    first, again = (pd.read_csv(place / f"questions{end}.csv") for end in ("", "-again"))
    assert first["question"].is_unique and len(first) == len(order.table)
    assert again["image"].nunique() == 4 and (again["question"].value_counts() == 2).all()
    assert f"{len(again) // 2:,} of the questions" in capsys.readouterr().out
    plain = ordered(tmp_path / "two", *ALL)
    extra = order.effort(order.table).count("sweep") + order.effort(order.table).count("verify")
    usual = plain.effort(plain.table).count("sweep") + plain.effort(plain.table).count("verify")
    assert extra == usual + len(again)  # the bill counts the further answers
    state = answer(order)
    assert not len(state.open) and len(state.further) == len(again) // 2
    assert code(["receive", str(order.folder)]) == 0
    assert "errors are unknown" in capsys.readouterr().out
    everything = rows(plain, TRUTH)
    for worker in ("ben", "cat"):
        raw = everything[everything["question"].isin(again["question"])].assign(worker=worker)
        keep(order, checked(order, raw).answers)
    state = OrderState.of(order)
    assert not len(state.further) and state.errors == pytest.approx((0, 0), abs=1e-6)
    assert code(["receive", str(order.folder)]) == 0
    assert "missed about 0.0%" in capsys.readouterr().out
    assert state.labels.effort.count("sweep") + state.labels.effort.count("verify") == extra


def test_further_answers_are_declined_and_only_ties_are_asked(tmp_path, capsys):
    order = ordered(tmp_path / "one", *ALL, "--repeat", "50%")
    said = rows(order, TRUTH, worker="ben")
    answer(order)
    again = pd.read_csv(order.round_folder / "questions-again.csv")["question"].unique()
    said = said[said["question"].isin(again)].assign(seconds=2.0)
    where = said["question"] % 10 == 0  # ben differs in these
    said.loc[where, "answer"] = said.loc[where, "answer"].map({"yes": "no", "no": "yes"})
    keep(order, checked(order, said).answers)
    folder = str(order.folder)
    capsys.readouterr()
    assert code(["receive", folder]) == 0
    out = capsys.readouterr().out
    (number, price, command), (ties, cheaper, ask) = re.findall(
        r"(?:to these|differ,) ([\d,]+) .*\(about (\S+) by .*:\n  simkit (.*)\n", out
    )
    further = len(OrderState.of(order).further)
    assert int(number.replace(",", "")) == further == len(again)
    assert float(price[1:]) == pytest.approx(further * 2 * 15 / 3600, abs=0.006)
    assert int(ties) == where.sum() and float(cheaper[1:]) < float(price[1:]) / 2
    assert code(shlex.split(command)) == 0
    state, out = OrderState.of(order), capsys.readouterr().out
    assert not len(state.further) and not len(state.of_others) and "questions-again" not in out
    assert len(state.ties) == int(ties) and not len(state.ties_to_ask)  # may be asked, or not
    assert "--ties" not in out[out.index("next: ") :]
    assert code([*shlex.split(command)]) == 2  # nothing is left to decline
    assert code([*shlex.split(ask), "--to", "csv"]) == 0
    assert len(Order.read(order.folder).rounds[1].table) == int(ties)
    keep(order, checked(order, said.assign(worker="cat")).answers)  # they count if they come
    assert OrderState.of(order).errors is not None


def test_answered_questions_are_asked_again_of_other_people(tmp_path, capsys):
    order = ordered(tmp_path / "one", *ALL)
    words = ["order", "--next", str(order.folder), "--answers", "3", "--to", "csv"]
    assert code(words) == 2 and "receive" in capsys.readouterr().err
    raw = rows(order, TRUTH, worker="ann", wrong=0.1)
    keep(order, checked(order, raw).answers)
    before = (OrderState.of(order).labels.codes != true_codes(order)).nnz
    assert code(words) == 0
    order = Order.read(order.folder)
    second = order.rounds[1].table
    assert len(second) == len(raw) and (order.rounds[1].answers == 2).all()
    same = checked(order, rows(order, TRUTH, worker="ann"))  # not of the same person
    assert not len(same.answers) and sum(same.left_out.values()) == len(second)
    for worker in ("ben", "cat"):
        keep(order, checked(order, rows(order, TRUTH, worker=worker, wrong=0.1)).answers)
    state = OrderState.of(order)
    assert not len(state.open) and len(state.answers) == 3 * len(raw)
    assert (state.labels.codes != true_codes(order)).nnz < before / 2  # the majority counts
    assert code(words) == 2 and "--answers" in capsys.readouterr().err


def test_answers_for_which_a_part_waits_are_not_ordered_again(tmp_path, capsys):
    order = ordered(tmp_path / "one", *ALL, "--repeat", "10%")
    answer(order, worker="ann")
    repeated = int((order.rounds[0].answers == 3).sum())  # two others are to answer these
    words = ["order", "--next", str(order.folder), "--answers", "5", "--to", "csv"]
    assert code(words) == 0
    order = Order.read(order.folder)
    numbers = order.rounds[1].answers.value_counts().to_dict()
    assert numbers == {4: len(order.rounds[0].table) - repeated, 2: repeated}
    asked = pd.DataFrame({"question": order.rounds[1].table["question"], "answer": "no"})
    for worker, count in (("ben", 2), ("cat", 2), ("dan", 4), ("eve", 4)):
        said = asked[order.rounds[1].answers >= count].assign(worker=worker)
        keep(order, checked(order, said).answers)
    state = OrderState.of(order)
    assert not len(state.open) and len(state.further) == repeated
    assert code(words) == 2 and "or waits for them" in capsys.readouterr().err


def test_a_budget_asks_those_in_doubt_first(tmp_path):
    order = ordered(tmp_path / "one", *ALL)
    raw = rows(order, TRUTH, worker="ann")
    doubtful = raw["question"].iloc[[5, 200, 900]]
    raw.loc[doubtful.index, "answer"] = "unsure"
    keep(order, checked(order, raw).answers)
    words = ["order", "--next", str(order.folder), "--answers", "2", "--budget", "0.2"]
    assert code([*words, "--to", "csv"]) == 0
    second = Order.read(order.folder).rounds[1].table
    pair = ["image", "class"]
    wanted = order.table.loc[doubtful, pair]
    assert len(second) < len(raw) and len(wanted.merge(second[pair])) == 3


def test_rounds_of_equal_answers_keep_their_id(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    assert "answers" not in order.rounds[0].table
    assert order.id == ordered(tmp_path / "two", "--scheme", "rpa(keep=0.1)", "--repeat", "0").id
    about = order.round_folder / "order.json"  # as written up to version 0.2
    old = about.read_text("utf-8").replace('"answers": 1', '"people": 1')
    about.write_text(old.replace(' "repeat": 0.0,\n', ""), "utf-8")
    assert Order.read(order.folder).id == order.id


@pytest.fixture
def rpa(tmp_path) -> Order:
    return ordered(tmp_path / "one", "--scheme", "rpa(keep=0.3)")


def again(order: Order, *words: str) -> Order:
    assert code(["order", "--next", str(order.folder), "--to", "csv", *words]) == 0
    return Order.read(order.folder)


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


def places(table: pd.DataFrame) -> list[list[int]]:
    return table[["image", "class"]].to_numpy().tolist()


def listed(path, order: Order, rows: list[int]) -> tuple[list[list[int]], list[str]]:
    """The places of these questions of an order, and the option with their table."""
    chosen = order.table.iloc[rows]
    names = {
        "image": order.images[chosen["image"]],
        "class": np.array(order.classes)[chosen["class"]],
    }
    pd.DataFrame(names).to_csv(path, index=False)
    return places(chosen), ["--only", str(path)]


def test_a_list_of_questions_is_asked_again_in_its_order(tmp_path, capsys):
    order = ordered(tmp_path / "one", *ALL)
    answer(order)
    pairs, only = listed(tmp_path / "issues.csv", order, [900, 5, 200, 5])
    new = again(order, "--answers", "2", *only).rounds[1].table
    assert places(new) == pairs[:3]
    assert "in the order of" in capsys.readouterr().out
    words = ["order", "--next", str(order.folder), "--answers", "2", *only]
    assert code(words) == 2  # those questions are open
    assert "none of the 3 pairs" in capsys.readouterr().err
    both, only = listed(tmp_path / "more.csv", order, [5, 300])
    words = ["order", "--next", str(order.folder), "--answers", "2", *only, "--to", "csv"]
    assert code(words) == 0
    assert "left out: 1 of 2" in capsys.readouterr().err
    third = Order.read(order.folder).rounds[2].table
    assert places(third) == both[1:]


def test_a_list_of_questions_is_an_order_of_its_own(tmp_path, capsys):
    every = ordered(tmp_path / "every", *ALL)
    pairs, only = listed(tmp_path / "issues.csv", every, [900, 5, 200])
    order = ordered(tmp_path / "one", *only)
    assert places(order.table) == pairs
    assert {*order.table["kind"]} == {"verify"}  # the price of a class that is asked alone
    answer(order)
    capsys.readouterr()
    assert code(["receive", str(order.folder)]) == 0
    said = capsys.readouterr().out
    step = said[said.index("next: ") :]  # to the end: not an order of the hundreds of others
    assert re.fullmatch(r"next: all questions of the list are answered: simkit train .*\n", step)
    words = ["order", "--next", str(order.folder), "--images", "20", "--to", "csv"]
    assert code(words) == 0  # those of the scheme may still be asked for
    assert not Order.read(order.folder).settings.listed
    one = ordered(tmp_path / "two", *only, "--budget", "0.009")  # two questions at one second
    assert places(one.table) == pairs[:2]
    images = pd.read_csv(tmp_path / "issues.csv")[["image"]]
    doubted = {"doubt": [0.9, 0.7, 0.1], "is_issue": [True, True, False]}
    images.assign(**doubted).to_csv(tmp_path / "images.csv", index=False)
    whole = ordered(tmp_path / "three", "--only", str(tmp_path / "images.csv"))
    assert len(whole.table) == 3 * len(every.classes) and {*whole.table["kind"]} == {"sweep"}
    assert "columns that choose no rows: 1 (is_issue); all 3 rows count" in capsys.readouterr().err
    other = pd.read_csv(tmp_path / "issues.csv").assign(image=["x.jpg", *images["image"][1:]])
    other.to_csv(tmp_path / "other.csv", index=False)
    assert len(ordered(tmp_path / "four", "--only", str(tmp_path / "other.csv")).table) == 2
    assert "not in the order, left out: 1 of 3 (x.jpg, " in capsys.readouterr().err
    other.assign(image="x.jpg").to_csv(tmp_path / "other.csv", index=False)
    words = ["order", "--data", "scenes:images=60", "--only", str(tmp_path / "other.csv")]
    assert code([*words, "--out", str(tmp_path / "five")]) == 2
    assert "none of its images and classes" in capsys.readouterr().err
