"""Orders: rounds of questions in a folder, and the answers to them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit.annotate.prices import prices
from simkit.annotate.simulate import simulate
from simkit.annotate.votes import read_votes
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.labels.formats import for_path
from simkit.orders.answers import checked, keep
from simkit.orders.order import Order
from simkit.orders.receiving import State
from simkit.orders.tools import label_studio, sheet
from tests.orders.people import rows

SCENES = simkit.data.open("scenes:images=60")
TRUTH = SCENES.truth["train"]


def ordered(folder: Path, *options: str) -> Order:
    """An order about scenes, as the command makes it."""
    words = ["order", "--data", "scenes:images=60", "--to", "csv", "--out", str(folder), *options]
    assert code(words) == 0
    return Order.read(folder)


def answer(order: Order, **options) -> State:
    """One person answers all open questions."""
    keep(order, checked(order, rows(order, TRUTH, **options)).answers)
    return State.of(order)


@pytest.fixture
def rpa(tmp_path) -> Order:
    return ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")


@pytest.mark.parametrize(
    "spec",
    [
        "rpa(keep=0.1)",
        "full-subset",
        "single-positive(positives=2, negatives=2, keep_looks=true)",
        "mixed(share=0.2)",
        "fpc(per_class=4, search=random, keep_looks=true)",
        "knowledge-graph",
    ],
)
def test_orders_answered_in_rounds_give_the_simulated_labels(tmp_path, spec):
    images = ["--images", "12"] if spec == "full-subset" else []
    order = ordered(tmp_path / "one", "--scheme", spec, *images)
    for _ in range(60):
        state = answer(order)
        assert not len(state.open)
        if code(["order", "--next", str(order.folder), "--to", "csv"]) == 2:
            break  # nothing is left to ask
        order = Order.read(order.folder)
    assert order.table["question"].is_unique
    assert not order.table.duplicated(["kind", "image", "class", "nth"]).any()
    labels = simulate(TRUTH, spec, images=12 if images else 1.0, hierarchy=SCENES.hierarchy, seed=0)
    if "search" in set(order.table["kind"]):  # batches look at more images
        both = (state.labels.codes != 0).multiply(labels.codes != 0)
        assert both.nnz == labels.codes.nnz
    else:
        assert (state.labels.codes != labels.codes).nnz == 0
        assert state.labels.effort.count("verify") == labels.effort.count("verify")


def test_a_budget_buys_the_largest_amount_and_a_further_round_adds_to_it(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa", "--budget", "0.5")
    bill = simkit.cost(order.effort(order.table), "hourly").dollars
    assert 0.45 < bill <= 0.5
    answer(order)
    assert code(["order", "--next", str(order.folder), "--budget", "0.3", "--to", "csv"]) == 0
    later = Order.read(order.folder)
    second = later.rounds[1].table
    assert 0.25 < simkit.cost(later.effort(second), "hourly").dollars <= 0.3
    assert not later.table.duplicated(["image", "class"]).any()


def test_a_search_is_limited_by_the_budget_and_needs_an_amount(tmp_path, capsys):
    words = ["order", "--data", "scenes:images=60", "--scheme", "fpc", "--budget", "0.2"]
    assert code([*words, "--to", "csv", "--out", str(tmp_path / "one")]) == 2
    assert "fpc(per_class=50)" in capsys.readouterr().err
    assert not (tmp_path / "one").exists()
    order = ordered(tmp_path / "two", "--scheme", "fpc", "--per-class", "9", "--budget", "0.2")
    assert simkit.cost(order.effort(order.table), "hourly").dollars <= 0.2
    assert order.table["class"].value_counts().max() <= 2  # all classes take turns


def test_gold_questions_look_like_others_and_measure_people(tmp_path):
    known = simulate(TRUTH, "rpa(keep=0.9)", seed=9)
    for_path(tmp_path / "known.parquet", writing=True).write(known, tmp_path / "known.parquet")
    options = ("--gold", "0.5", "--known", str(tmp_path / "known.parquet"))
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", *options)
    gold = order.table[order.table["gold"] != 0]
    assert len(gold) == round(len(order.table) / 3)
    assert abs(gold["gold"].mean()) < 0.02
    table = pd.read_csv(order.place() / "questions.csv")
    assert "gold" not in table and set(table["question"]) == set(order.table["question"])
    answer(order, worker="good")
    state = answer(order, worker="good")
    assert state.people["right"].tolist() == [1.0]
    assert (state.labels.codes != simulate(TRUTH, "rpa(keep=0.1)").codes).nnz == 0


def test_the_same_answers_a_second_time_change_nothing(rpa):
    raw = rows(rpa, TRUTH)
    assert keep(rpa, checked(rpa, raw).answers) is not None
    before = {file: file.read_bytes() for file in rpa.folder.rglob("*") if file.is_file()}
    again = checked(rpa, raw)
    assert not len(again.answers) and not len(again.problems)
    assert keep(rpa, again.answers) is None
    assert {f: f.read_bytes() for f in rpa.folder.rglob("*") if f.is_file()} == before


def test_what_does_not_count_is_listed(rpa):
    raw = rows(rpa, TRUTH).reset_index(drop=True)
    keep(rpa, checked(rpa, raw).answers)
    flipped = raw.assign(answer=raw["answer"].map({"yes": "no", "no": "yes"}))
    strange = pd.DataFrame({
        "question": [99999, 1, 2], "worker": ["bo", "bo", ""], "answer": ["yes", "perhaps", "no"],
    })  # fmt: skip
    result = checked(rpa, pd.concat([flipped, strange], ignore_index=True))
    assert not len(result.answers) and len(result.problems) == len(raw) + 3
    assert result.problems["problem"].iloc[0].endswith("the first answer counts")


@pytest.mark.parametrize(("join", "said"), [("majority", 1), ("union", 1)])
def test_several_people_are_joined(tmp_path, join, said):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--people", "3", "--join", join)
    raw = [rows(order, TRUTH, worker=name) for name in ("a", "b", "c")]
    raw[0]["answer"] = "yes"
    keep(order, checked(order, raw[0]).answers)
    assert len(State.of(order).open) == len(order.table)
    for one in raw[1:]:
        keep(order, checked(order, one).answers)
    state = State.of(order)
    assert not len(state.open) and state.labels.effort.workers == 3
    truth = simulate(TRUTH, "rpa(keep=0.1)").codes
    wrong = (state.labels.codes != truth).nnz
    assert wrong == (0 if join == "majority" else (truth == -1).nnz)


def test_a_tie_is_unsure_and_leaves_the_label_unknown(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--people", "2")
    for worker, word in (("a", "yes"), ("b", "no")):
        raw = rows(order, TRUTH, worker=worker).assign(answer=word)
        keep(order, checked(order, raw).answers)
    labels = State.of(order).labels
    assert labels.codes.nnz == 0 and labels.asked.sum() > 0


def test_dawid_skene_weighs_people_by_their_errors(tmp_path):
    options = ("--people", "5", "--join", "dawid-skene")
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.5)", *options)
    for worker, wrong in (("a", 0.02), ("b", 0.02), ("c", 0.4), ("d", 0.4), ("e", 0.4)):
        keep(order, checked(order, rows(order, TRUTH, worker=worker, wrong=wrong)).answers)
    truth = simulate(TRUTH, "rpa(keep=0.5)").codes
    state = State.of(order)
    terms = dataclasses.replace(order.terms, join="majority")
    rounds = (dataclasses.replace(order.rounds[0], terms=terms),)
    majority = dataclasses.replace(state, order=dataclasses.replace(order, rounds=rounds))
    errors = [(one.labels.codes != truth).nnz for one in (state, majority)]
    assert errors[0] < 0.5 * errors[1]


def test_receive_writes_labels_votes_and_measured_prices(rpa, tmp_path, capsys):
    rows(rpa, TRUTH).assign(order=rpa.id).to_json(
        tmp_path / "a.jsonl", orient="records", lines=True
    )
    assert code(["receive", str(rpa.folder), str(tmp_path / "a.jsonl"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["added"] == len(rpa.table) and facts["open"] == 0 and not facts["problems"]
    labels = for_path(rpa.folder / "labels.parquet").read(rpa.folder / "labels.parquet")
    assert labels.history.command == "receive" and labels.history.parents == (rpa.id,)
    votes = read_votes(rpa.folder / "votes.csv")
    assert len(votes.vote_answer) == len(rpa.table) and "ann" not in votes.workers
    measured = prices(rpa.folder / "measured.toml")
    assert measured.rates["verify"].seconds == 2.0
    assert simkit.cost(labels, measured).seconds == 2.0 * len(rpa.table)
    assert rpa.id in measured.rates["verify"].source


def test_label_studio_keeps_the_three_states(rpa, tmp_path):
    (place,) = label_studio.write(rpa, rpa.table, tmp_path, "http://images/")
    tasks = json.loads((place / "tasks.json").read_text())
    assert 'value="$ask"' in (place / "config.xml").read_text()
    present = TRUTH.present.toarray()
    index = {name: c for c, name in enumerate(TRUTH.classes)}
    ids = {f"http://images/{image}": n for n, image in enumerate(TRUTH.images.tolist())}
    for number, task in enumerate(tasks):
        image = ids[task["data"]["image"]]
        ticked = [c["value"] for c in task["data"]["ask"] if present[image, index[c["value"]]]]
        choices = {"type": "choices", "from_name": "present", "value": {"choices": ticked}}
        task["annotations"] = [
            {"completed_by": {"id": 7, "email": "x@y"}, "lead_time": 3.0, "was_cancelled": False,
             "result": [choices] if ticked else []}
        ]  # fmt: skip
        if not number:
            task["annotations"].insert(0, {"completed_by": 8, "was_cancelled": True, "result": []})
    file = tmp_path / "export.json"
    file.write_text(json.dumps(tasks))
    keep(rpa, checked(rpa, label_studio.read(file, rpa)).answers)
    state = State.of(rpa)
    assert (state.labels.codes != simulate(TRUTH, "rpa(keep=0.1)").codes).nnz == 0
    assert len(state.people) == 1
    tasks[1]["annotations"][0]["result"] = [
        {"type": "choices", "from_name": "present", "value": {"choices": ["renamed"]}}
    ]
    file.write_text(json.dumps(tasks[1:2]))
    problems = checked(rpa, label_studio.read(file, rpa)).problems
    assert problems["problem"].str.contains("renamed").all() and len(problems)


def test_tables_of_vendors_are_read_by_the_names_of_their_columns(rpa, tmp_path):
    raw = sheet.listed(rpa, rpa.table).merge(rows(rpa, TRUTH), on="question")
    named = {"image": "File", "class": "Label", "answer": "response", "worker": "Annotator"}
    file = tmp_path / "vendor.csv"
    raw[[*named]].rename(columns=named).to_csv(file, index=False, sep=";")
    keep(rpa, checked(rpa, sheet.read(file, rpa, {})).answers)
    assert not len(State.of(rpa).open)
    two = raw.rename(columns={"answer": "response"}).assign(result="yes")
    two.to_csv(file, index=False)
    with pytest.raises(BadInput, match=r"response or result.*--columns answer=NAME"):
        sheet.read(file, rpa, {})
    assert len(sheet.read(file, rpa, {"answer": "response"})) == len(raw)


def test_bad_input_is_one_sentence_and_changes_nothing(rpa, tmp_path, capsys):
    other = ordered(tmp_path / "two", "--scheme", "rpa(keep=0.2)")
    foreign = tmp_path / "foreign.jsonl"
    rows(other, TRUTH).assign(order=other.id).to_json(foreign, orient="records", lines=True)
    broken = tmp_path / "broken.json"
    broken.write_text('{"a": ')
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    before = {file: file.read_bytes() for file in rpa.folder.rglob("*") if file.is_file()}
    cases = [
        (["receive", str(rpa.folder), str(foreign)], f"answers order {other.id}"),
        (["receive", str(rpa.folder), str(broken)], "no JSON export of Label Studio"),
        (["receive", str(rpa.folder), str(empty)], "no rows"),
        (["receive", str(rpa.folder)], "no answers yet"),
        (["receive", str(tmp_path / "nowhere")], "holds no order"),
        (["order", "--next", str(rpa.folder), "--data", "scenes"], "same images"),
        (["order", "--data", "scenes:images=60", "--scheme", "rpa", "--out", str(rpa.folder)],
         "an order already"),
        (["order", "--scheme", "rpa"], "--data is missing"),
        (["order", "--data", "scenes:images=60", "--scheme", "fraction-of-positives", "--out",
          str(tmp_path / "no")], "rpa instead"),
    ]  # fmt: skip
    capsys.readouterr()
    for words, text in cases:
        assert code(words) == 2, words
        assert text in capsys.readouterr().err
    assert {f: f.read_bytes() for f in rpa.folder.rglob("*") if f.is_file()} == before


def test_an_order_or_answers_edited_by_hand_are_refused(rpa):
    state = answer(rpa)
    about = rpa.place() / "order.json"
    text = about.read_text()
    about.write_text(text.replace('"people": 1', '"people": 2'))
    with pytest.raises(BadInput, match="changed after it was written"):
        Order.read(rpa.folder)
    about.write_text(text)
    (file,) = (rpa.folder / "answers").iterdir()
    file.write_text(file.read_text().replace('"yes"', '"no"'))
    with pytest.raises(BadInput, match="changed after it was received"):
        State.of(Order.read(rpa.folder))
    assert len(state.answers)


def test_scores_make_a_search_shorter(tmp_path):
    scores = TRUTH.present.toarray() + np.random.default_rng(0).uniform(0, 0.9, TRUTH.shape)
    table = pd.DataFrame(scores, columns=list(TRUTH.classes))
    table.insert(0, "image", TRUTH.images)
    table.to_csv(tmp_path / "scores.csv", index=False)
    scheme = ("--scheme", "fpc(per_class=3)")
    looks = []
    for name, options in (("a", ()), ("b", ("--scores", str(tmp_path / "scores.csv")))):
        order = ordered(tmp_path / name, *scheme, *options)
        found = answer(order).labels.counts()["present"]
        looks.append(found / len(order.table))
    assert looks[1] > 1.5 * looks[0]
