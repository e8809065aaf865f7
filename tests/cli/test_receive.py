"""`simkit receive`: which answers to an order count, and the files made from them."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex

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
from simkit.orders import answer_tables, label_studio, sheet
from simkit.orders.annotators import team
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState, checked, keep, write
from simkit.orders.who_errs import class_differences
from tests.orders.people import TRUTH, answer, ordered, rows


@pytest.fixture
def rpa(tmp_path) -> Order:
    return ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")


def test_receiving_the_same_answers_again_changes_nothing(rpa):
    raw = rows(rpa, TRUTH)
    assert keep(rpa, checked(rpa, raw).answers) is not None
    before = {file: file.read_bytes() for file in rpa.folder.rglob("*") if file.is_file()}
    again = checked(rpa, raw)
    assert not len(again.answers) and not len(again.problems)
    assert keep(rpa, again.answers) is None
    assert {f: f.read_bytes() for f in rpa.folder.rglob("*") if f.is_file()} == before


@pytest.mark.parametrize(
    ("empty", "content"),
    [("b.csv", "question,worker,answer\n"), ("b.csv", ""), ("b.jsonl", ""), ("b.json", "")],
)
def test_a_file_without_answers_is_named_and_the_others_are_received(
    rpa, tmp_path, capsys, empty, content
):
    table = pd.read_csv(rpa.round_folder / "questions.csv")
    table.assign(worker="ann", answer="no").to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / empty).write_text(content)
    words = ["receive", str(rpa.folder), str(tmp_path / empty)]
    assert code(words) == 2  # alone
    said = capsys.readouterr().err
    assert f"no row of {tmp_path / empty} has an answer; have" in said
    assert not (rpa.folder / "labels.parquet").exists()
    assert code([*words, str(tmp_path / "a.csv")]) == 0
    assert f"note: {tmp_path / empty} has no answers" in capsys.readouterr().err
    assert len(OrderState.of(rpa).answers) == len(rpa.table)


def test_refused_rows_are_listed(rpa):
    raw = rows(rpa, TRUTH).reset_index(drop=True)
    keep(rpa, checked(rpa, raw).answers)
    flipped = raw.assign(answer=raw["answer"].map({"yes": "no", "no": "yes"}))
    strange = pd.DataFrame({
        "question": [99999, 1, 2], "worker": ["bo", "bo", ""], "answer": ["yes", "purple", "no"],
    })  # fmt: skip
    result = checked(rpa, pd.concat([flipped, strange], ignore_index=True))
    assert not len(result.answers) and len(result.problems) == len(raw) + 3
    assert result.problems["problem"].iloc[0].endswith("the earlier answer counts")


def test_a_second_file_of_the_same_person_corrects_the_first_one(rpa, tmp_path, capsys):
    table = pd.read_csv(rpa.round_folder / "questions.csv").assign(worker="ann", seconds=2.0)
    files = [tmp_path / name for name in ("first.csv", "second.csv")]
    table.assign(answer="no").to_csv(files[0], index=False)
    table["answer"] = ["yes", *["no"] * (len(table) - 1)]
    table.assign(seconds=9.0).to_csv(files[1], index=False)
    assert code(["receive", str(rpa.folder), str(files[0])]) == 0
    assert OrderState.of(rpa).labels.counts()["present"] == 0
    assert code(["receive", str(rpa.folder), str(files[1])]) == 0
    said = capsys.readouterr().out
    assert "\n1 row does not count:\n" in said
    assert OrderState.of(rpa).labels.counts()["present"] == 0
    (mend,) = re.findall(r"answers in .*second.csv instead, .*: simkit (.*)", said)
    assert code([*shlex.split(mend), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (facts["added"], facts["corrected"], facts["problems"]) == (1, 1, [])
    state = OrderState.of(rpa)
    assert state.labels.counts()["present"] == 1
    assert state.people["answers"].tolist() == [len(table)]
    assert state.people["time"].tolist() == [2.0 * len(table)]  # what was paid stays paid
    assert code(shlex.split(mend)) == 0
    assert capsys.readouterr().out.startswith("0 answers added;")
    assert code(["receive", str(rpa.folder), "--correct"]) == 2  # no file
    # Downloads of one page in one command, in the order of a shell: which is the later one?
    stored = sorted((rpa.folder / "answers").iterdir())
    for words in (["--correct"], []):
        again = code(["receive", str(rpa.folder), *words, *map(str, reversed(files))])
        assert again == (2 if words else 0)
    captured = capsys.readouterr()
    assert f"{files[0]}, row 2: the same person answered yes in {files[1]} and no " in captured.err
    assert f"instead, if they are the later ones: simkit receive {rpa.folder} --correct {files[0]}"\
        in captured.out  # fmt: skip
    assert sorted((rpa.folder / "answers").iterdir()) == stored


def test_of_two_downloads_given_together_the_first_counts_and_both_are_named(
    rpa, tmp_path, capsys
) -> None:
    table = pd.read_csv(rpa.round_folder / "questions.csv").assign(worker="ann", seconds=2.0)
    files = [tmp_path / name for name in ("page (1).csv", "page.csv")]
    table.assign(answer="yes").to_csv(files[0], index=False)
    table.assign(answer="no").head(5).to_csv(files[1], index=False)
    assert code(["receive", str(rpa.folder), *map(str, files)]) == 0
    said = capsys.readouterr().out
    text = f"{files[1]}, row 2 and 4 more: question 1: the same person answered yes in {files[0]}"
    assert text in (said)
    assert OrderState.of(rpa).labels.counts()["present"] == len(table)
    (mend,) = re.findall(r"if they are the later ones: simkit (.*)", said)
    assert code(shlex.split(mend)) == 0
    assert OrderState.of(rpa).labels.counts()["present"] == len(table) - 5


def test_the_command_for_as_much_again_orders_as_much(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "6",
                    "--annotators", "ann,ben")  # fmt: skip
    said = rows(order, TRUTH)
    said.to_csv(tmp_path / "answers.csv", index=False)
    capsys.readouterr()
    assert code(["receive", str(order.folder), str(tmp_path / "answers.csv")]) == 0
    out = capsys.readouterr().out
    # Each image was answered by one of two people, so that three answers need a further person.
    (more,) = re.findall(r"measure them; put a name in place of NEW:\s+simkit (.*)", out)
    assert more.endswith("--annotators ann,ben,NEW")
    assert code(shlex.split(more)) == 2  # NEW is nobody
    (command,) = re.findall(r"^or order as much again: simkit (.*)", out, re.M)
    assert code([*shlex.split(command), "--to", "csv"]) == 0
    first, second = Order.read(order.folder).rounds
    assert len(second.table) == len(first.table)
    assert not {*second.table["image"]} & {*first.table["image"]}
    assert code([*shlex.split(more.replace("NEW", "zoe")), "--to", "csv"]) == 0
    assert "too few" not in capsys.readouterr().out


@pytest.mark.parametrize(("join", "said"), [("majority", 1), ("union", 1)])
def test_answers_of_several_people_are_joined(tmp_path, join, said):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--answers", "3", "--join", join)
    raw = [rows(order, TRUTH, worker=name) for name in ("a", "b", "c")]
    raw[0]["answer"] = "yes"
    keep(order, checked(order, raw[0]).answers)
    assert len(OrderState.of(order).open) == len(order.table)
    for one in raw[1:]:
        keep(order, checked(order, one).answers)
    state = OrderState.of(order)
    assert not len(state.open) and state.labels.effort.workers == 3
    truth = simulate(TRUTH, "rpa(keep=0.1)").codes
    wrong = (state.labels.codes != truth).nnz
    assert wrong == (0 if join == "majority" else (truth == -1).nnz)


def test_a_tie_is_unsure_and_leaves_the_label_unknown(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--answers", "2")
    for worker, word in (("a", "yes"), ("b", "no")):
        raw = rows(order, TRUTH, worker=worker).assign(answer=word)
        keep(order, checked(order, raw).answers)
    labels = OrderState.of(order).labels
    assert labels.codes.nnz == 0 and labels.asked.sum() > 0
    assert code(["receive", str(order.folder)]) == 0
    assert f"{len(order.table)} unknown: people disagreed" in capsys.readouterr().out


def test_dawid_skene_weighs_people_by_their_errors(tmp_path):
    options = ("--answers", "5", "--join", "dawid-skene")
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.5)", *options)
    for worker, wrong in (("a", 0.02), ("b", 0.02), ("c", 0.4), ("d", 0.4), ("e", 0.4)):
        keep(order, checked(order, rows(order, TRUTH, worker=worker, wrong=wrong)).answers)
    truth = simulate(TRUTH, "rpa(keep=0.5)").codes
    state = OrderState.of(order)
    settings = dataclasses.replace(order.settings, join="majority")
    rounds = (dataclasses.replace(order.rounds[0], settings=settings),)
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
    listed = prices("hourly").rates["name"].seconds  # twice as slow in all questions
    assert measured.rates["name"].seconds == pytest.approx(2 * listed)
    assert simkit.cost(labels, measured).seconds == 2.0 * len(rpa.table)
    assert rpa.id in measured.rates["verify"].source


def test_label_studio_keeps_the_three_states(rpa, tmp_path):
    addresses = [f"http://images/{image}" for image in rpa.images]
    (place,) = label_studio.write(rpa, rpa.table, tmp_path, addresses)
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
    keep(rpa, checked(rpa, answer_tables.read(file, rpa)).answers)
    state = OrderState.of(rpa)
    assert (state.labels.codes != simulate(TRUTH, "rpa(keep=0.1)").codes).nnz == 0
    assert len(state.people) == 1
    tasks[1]["annotations"][0]["result"] = [
        {"type": "choices", "from_name": "present", "value": {"choices": ["renamed"]}}
    ]
    file.write_text(json.dumps(tasks[1:2]))
    problems = checked(rpa, answer_tables.read(file, rpa)).problems
    assert problems["problem"].str.contains("renamed").all() and len(problems)


def test_tables_of_vendors_are_read_by_the_names_of_their_columns(rpa, tmp_path):
    raw = sheet.listed(rpa, rpa.table).merge(rows(rpa, TRUTH), on="question")
    named = {"image": "File", "class": "Label", "answer": "response", "worker": "Annotator"}
    file = tmp_path / "vendor.csv"
    raw[[*named]].rename(columns=named).to_csv(file, index=False, sep=";")
    keep(rpa, checked(rpa, answer_tables.read(file, rpa, {})).answers)
    assert not len(OrderState.of(rpa).open)
    two = raw.rename(columns={"answer": "response"}).assign(result="yes")
    two.to_csv(file, index=False)
    with pytest.raises(BadInput, match=r"response or result.*--columns answer=NAME"):
        answer_tables.read(file, rpa, {})
    assert len(answer_tables.read(file, rpa, {"answer": "response"})) == len(raw)


def test_a_misspelt_class_is_one_problem_whatever_the_number_of_rows(rpa, tmp_path, capsys):
    raw = sheet.listed(rpa, rpa.table).merge(rows(rpa, TRUTH), on="question")
    raw = raw.drop(columns="question").astype({"image": object})
    name = raw["class"].mode()[0]
    wrong = raw["class"] == name
    raw.loc[wrong, "class"] = f"{name}s"
    raw.loc[(~wrong).to_numpy().nonzero()[0][:3], "image"] = ["x.jpg", "y.jpg", "z.jpg"]
    raw.to_csv(tmp_path / "a.csv", index=False)
    assert code(["receive", str(rpa.folder), str(tmp_path / "a.csv")]) == 0
    out = capsys.readouterr().out
    assert out.count("did you mean") == 1 and f"{name!r}?" in out
    assert f"{wrong.sum() - 1} more" in out
    assert "x.jpg" in out and "y.jpg" not in out


def test_an_order_or_answers_edited_by_hand_are_refused(rpa):
    state = answer(rpa)
    about = rpa.round_folder / "order.json"
    text = about.read_text()
    about.write_text(text.replace('"answers": 1', '"answers": 2'))
    with pytest.raises(BadInput, match="changed after it was written"):
        Order.read(rpa.folder)
    about.write_text(text)
    (file,) = (rpa.folder / "answers").iterdir()
    file.write_text(file.read_text().replace('"yes"', '"no"'))
    with pytest.raises(BadInput, match="changed after it was received"):
        OrderState.of(Order.read(rpa.folder))
    assert len(state.answers)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "question,answer,worker\n1,yes,Zoë ë ë\n".encode()[:-2], "not UTF-8"),
        ("a.jsonl", b'{"question": 1, "worker": "\xeb"}\n', "not UTF-8"),
        ("a.csv", b"question,answer,worker,answer\n1,yes,bob,no\n", "could be answer or answer"),
        ("a.csv", b"question\n1\n", "no column for answer"),
    ],
)
def test_tables_that_cannot_be_read_are_refused_in_a_sentence(
    rpa, tmp_path, capsys, name, content, says
):
    (tmp_path / name).write_bytes(content)
    assert code(["receive", str(rpa.folder), str(tmp_path / name)]) == 2
    assert says in capsys.readouterr().err
    assert not (rpa.folder / "answers").exists()


def test_odd_values_do_not_count_and_odd_times_are_no_times(rpa):
    raw = pd.DataFrame({
        "question": ["inf", [1], True, "1.5", 1, "2.0", 3],
        "worker": "bob", "answer": "yes",
        "seconds": [1, 1, 1, 1, "inf", -5, [2]], "shared": [1, 1, 1, 1, "inf", 0, None],
    })  # fmt: skip
    result = checked(rpa, raw)
    assert result.problems["row"].tolist() == [1, 2, 3, 4]
    assert result.answers["question"].tolist() == [1, 2, 3]
    assert result.answers["seconds"].isna().all() and (result.answers["shared"] == 1).all()


def test_a_cell_may_hold_line_breaks(rpa, tmp_path):
    raw = rows(rpa, TRUTH).assign(comment='one\ntwo\u2028"three"')
    raw.to_csv(tmp_path / "a.csv", index=False)
    result = checked(rpa, answer_tables.read(tmp_path / "a.csv", rpa, {}))
    assert len(result.answers) == len(raw) and not len(result.problems)


def test_two_who_receive_the_same_answers_at_once_count_them_once(rpa):
    answers = checked(rpa, rows(rpa, TRUTH)).answers  # both have checked before one of them keeps
    keep(rpa, answers)
    keep(rpa, answers)
    assert len(OrderState.of(rpa).answers) == len(rpa.table)


def test_a_further_round_for_more_people_does_not_change_earlier_ones(rpa):
    answer(rpa)
    words = ["order", "--next", str(rpa.folder), "--keep", "0.2", "--answers", "3", "--to", "csv"]
    assert code(words) == 0
    order = Order.read(rpa.folder)
    first, second = (len(part.table) for part in order.rounds)
    assert (OrderState.of(order).open["round"] == 2).all()
    assert OrderState.of(order).labels.effort.workers == 1
    for worker in ("ann", "ben", "cat"):
        keep(order, checked(order, rows(order, TRUTH, worker)).answers)
    effort = OrderState.of(order).labels.effort
    assert effort.workers * effort.count("verify") == first + 3 * second


def test_measured_times_do_not_change_a_price_in_dollars(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text('like = "hourly"\n[verify]\nper = "question"\ndollars = 0.01\nsource = "x"\n')
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--prices", str(file))
    write(answer(order))
    measured = prices(order.folder / "measured.toml")
    assert measured.rates["verify"].dollars == 0.01


def test_impossible_times_are_not_measured(rpa, tmp_path, capsys):
    line = {"answer": "yes", "worker": "ann", "shared": 1}
    times = [1e308, 1e12, 3.0]
    lines = [json.dumps({**line, "question": n, "seconds": s}) for n, s in enumerate(times, 1)]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    assert code(["receive", str(rpa.folder), str(tmp_path / "said.jsonl")]) == 0
    assert prices(rpa.folder / "measured.toml").rates["verify"].seconds == 3.0


def test_a_class_that_is_shown_alone_takes_its_own_time(tmp_path, capsys):
    """Beside images shown with all classes at once, it is no pause, is paid, and is a price."""
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "12")
    classes, alone = len(order.classes), 50
    times = [(2.5, 1)] * alone + [(0.4 * classes, classes)] * (len(order.table) - alone)
    lines = [
        {
            "answer": "no",
            "worker": "ann",
            "question": int(question),
            "seconds": seconds,
            "shared": shared,
        }
        for question, (seconds, shared) in zip(order.table["question"], times, strict=True)
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert code(["receive", str(order.folder), str(tmp_path / "said.jsonl")]) == 0
    assert "pause" not in capsys.readouterr().out
    state, rates = OrderState.of(order), prices(order.folder / "measured.toml").rates
    assert rates["sweep"].seconds == pytest.approx(0.4)
    assert rates["verify"].seconds == pytest.approx(2.5)
    seconds = alone * 2.5 + (len(order.table) - alone) * 0.4
    assert state.pay.to_numpy().sum() == pytest.approx(seconds * 15 / 3600, abs=0.006)


def test_times_that_give_no_price_list_are_noted(tmp_path, capsys):
    file = tmp_path / "prices.toml"
    file.write_text('wage = 10\n[verify]\nper = "question"\nseconds = 1e-9\n'
                    '[sweep]\nper = "question"\nseconds = 1e6\n')  # fmt: skip
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--prices", str(file))
    line = {"question": 1, "answer": "yes", "worker": "ann", "seconds": 100}
    (tmp_path / "said.jsonl").write_text(json.dumps(line))
    assert code(["receive", str(order.folder), str(tmp_path / "said.jsonl")]) == 0
    assert "price list" in capsys.readouterr().err
    assert (order.folder / "labels.parquet").exists()
    assert not (order.folder / "measured.toml").exists()


def test_half_a_character_in_a_name_is_read(rpa, tmp_path):
    line = {"question": 1, "answer": "yes", "worker": "\ud83d"}
    (tmp_path / "said.jsonl").write_text(json.dumps(line))
    assert code(["receive", str(rpa.folder), str(tmp_path / "said.jsonl")]) == 0
    assert len(OrderState.of(rpa).answers) == 1


def test_a_renamed_download_is_read_and_half_of_one_is_downloaded_again(rpa, tmp_path, capsys):
    raw = rows(rpa, TRUTH)[["question", "worker", "answer"]].to_dict("records")
    text = "".join(json.dumps({"order": rpa.id, **row}) + "\n" for row in raw)
    (tmp_path / "half.jsonl").write_text(text[:-9])
    (tmp_path / "answers (1).csv").write_text(text)
    assert code(["receive", str(rpa.folder), str(tmp_path / "half.jsonl")]) == 2
    assert "download or copy it again" in capsys.readouterr().err
    assert not len(OrderState.of(rpa).answers)
    assert code(["receive", str(rpa.folder), str(tmp_path / "answers (1).csv")]) == 0
    assert "is read as .jsonl, not as .csv" in capsys.readouterr().err
    assert len(OrderState.of(rpa).answers) == len(raw)


def test_answers_of_a_person_are_set_aside_and_used_again(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.5)", "--answers", "3")
    files = []
    for worker, wrong in (("ann", 0.02), ("zoe", 0.02), ("ben", 0.5)):
        files.append(str(tmp_path / f"{worker}.csv"))
        rows(order, TRUTH, worker=worker, wrong=wrong).to_csv(files[-1], index=False)
    words = ["receive", str(order.folder)]
    assert code([*words, *files]) == 0
    said = capsys.readouterr().out
    assert "ben errs more often than the others: ben said yes on 607 of 645 disputed " in said
    assert "ann errs" not in said and "zoe errs" not in said
    assert f"simkit receive {order.folder} --without ben\n" in said
    names = ["labels.parquet", "votes.csv", "people.csv", "open.csv"]
    before = {name: (order.folder / name).read_bytes() for name in names}
    paid, pairs = OrderState.of(order), len(order.table)
    for given in (["--without", "Ben"], []):  # it stays so without the option
        assert code([*words, *given]) == 0
        assert f"set aside: the {pairs:,} answers of ben, which are paid" in capsys.readouterr().out
    state = OrderState.of(order)
    bills = [simkit.cost(one.labels, "hourly").dollars for one in (state, paid)]
    assert bills[0] == bills[1] > 0  # what was answered is billed
    assert len(state.votes.vote_answer) == 2 * pairs and len(paid.votes.vote_answer) == 3 * pairs
    assert len(state.votes.workers) == 2 and len(state.open) == pairs  # each lacks a third answer
    people = pd.read_csv(order.folder / "people.csv").set_index("aside")
    assert people.loc[True, "answers"] == pairs and people.loc[True, "pay"] > 0
    assert np.isnan(people.loc[True, "yes"]) and (people.loc[False, "yes"] > 0.85).all()
    assert state.joined.states_at(paid.joined.places).tolist() != paid.joined.states.tolist()
    assert code([*words, "--with", "ben", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {one["name"]: one["errs"] for one in facts["people"]} == {
        "ann": False, "zoe": False, "ben": True
    }  # fmt: skip
    assert {name: (order.folder / name).read_bytes() for name in names} == before
    assert not (order.folder / "without.csv").exists()


def test_only_the_answers_about_a_missed_class_are_set_aside(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--answers", "3")
    L, files = len(order.classes), []
    present = TRUTH.present.toarray().sum(0)
    c = int(present.argmax())
    about, name = order.table["class"] == c, order.classes[c]
    for worker, wrong in (("ann", 0.02), ("zoe", 0.02), ("ben", 0.02)):
        said = rows(order, TRUTH, worker=worker, wrong=wrong)
        if worker == "ben":
            said.loc[about[said["question"]].to_numpy(), "answer"] = "no"
        files.append(str(tmp_path / f"{worker}.csv"))
        said.to_csv(files[-1], index=False)
    words = ["receive", str(order.folder)]
    assert code([*words, *files]) == 0
    said, before = capsys.readouterr().out, OrderState.of(order)
    number, paid, again, price, *commands = re.findall(
        rf"those about {name}: (\d+) answers, which cost \$(\S+); asking (\d+) questions again "
        r"costs about \$(\S+) by measured times:\n  simkit (.*)\n  all: .*\n  simkit (.*)", said,
    )[0]  # fmt: skip
    N = int(about.sum())
    assert int(number) == int(again) == N
    wage = prices("hourly").wage / 3600
    assert float(paid) == pytest.approx(2 * N * wage, abs=0.006)
    # A class alone takes as much longer than one of a whole image as in the price list.
    whole, alone = (before.prices().rates[kind].seconds for kind in ("sweep", "verify"))
    assert float(price) == pytest.approx(N * alone * wage, abs=0.006) and alone > whole == 2
    assert [shlex.split(one)[2:] for one in commands] == [
        ["--without", f"ben:{name}"], ["--without", "ben"]
    ]  # fmt: skip
    for given in (shlex.split(commands[0]), words):  # it stays so
        assert code(given) == 0
        out = capsys.readouterr().out
        assert f"set aside: the {N:,} answers of ben about {name}, which are paid" in out
        assert "ben errs" not in out
    state = OrderState.of(order)
    assert {*state.open["class"]} == {c} and len(state.open) == N
    assert len(state.votes.vote_answer) == len(before.votes.vote_answer) - N
    assert state.errors[0] < 0.05 < before.errors[0]
    capsys.readouterr()
    # Without ben two answers are left; with ben's as third ones they measure the others' errors.
    assert code([*words, "--without", "ben"]) == 0
    (miss, low, high), (alarm, _, _) = (
        [float(text) / 100 for text in found] for found in re.findall(
            r"([\d.]+)% \(([\d.]+)% to ([\d.]+)%\) of", capsys.readouterr().out)[-2:]
    )  # fmt: skip
    assert low <= 0.02 <= high < 0.1 and max(miss, alarm) < 0.05
    assert code([*words, "--with", "ben", "--without", f"ben:{name}"]) == 0
    carl = rows(order, TRUTH, worker="carl")
    assert len(carl) == N and L > 1
    carl.to_csv(tmp_path / "carl.csv", index=False)
    assert code([*words, str(tmp_path / "carl.csv")]) == 0
    state = OrderState.of(order)
    assert not len(state.open)
    assert (state.labels.codes[:, [c]] == 1).sum() == present[c] >= 10
    capsys.readouterr()
    assert code([*words, "--with", "ben", "--without", "ben:nothing"]) == 2
    assert f"'nothing' is no class of {order.folder}" in capsys.readouterr().err
    assert code([*words, "--without", "ben"]) == 0  # all is more than some
    assert code([*words, "--without", f"ben:{name}"]) == 2
    assert "all answers of ben are set aside" in capsys.readouterr().err
    assert code([*words, "--with", "ben", "--without", f"ben:{name}"]) == 0
    assert OrderState.of(order).answers.equals(state.answers)
    assert code([*words, "--with", f"ben:{name}"]) == 0
    assert not (order.folder / "without.csv").exists()


def test_only_the_first_round_pays_the_set_up(tmp_path, capsys):
    listed = tmp_path / "listed.toml"
    listed.write_text('like = "hourly"\nsetup = 5\nsetup_source = "a quote"\n')
    words = ("--scheme", "full-subset", "--answers", "2", "--prices", str(listed))
    order = ordered(tmp_path / "one", *words)
    assert float(re.findall(r"set-up .* ([\d.]+)", capsys.readouterr().out)[0]) == 5
    for worker, said in (("ann", "yes"), ("ben", "no")):
        answers = rows(order, TRUTH, worker=worker).assign(answer=said, seconds=1.5)
        answers.to_csv(tmp_path / "answers.csv", index=False)
        assert code(["receive", str(order.folder), str(tmp_path / "answers.csv")]) == 0
    wage = prices(str(listed)).wage
    number, timed, command = re.findall(
        r"answers to (\d+) of them can \(\$(\S+) by measured times\):\s+simkit (.*)",
        capsys.readouterr().out,
    )[-1]
    assert float(timed) == pytest.approx(int(number) * 1.5 * wage / 3600, abs=0.006)
    assert code([*shlex.split(command), "--to", "csv"]) == 0
    out = capsys.readouterr().out
    assert "set-up" not in out and re.search(rf"total .* {timed}\n", out)
    assert len(Order.read(order.folder).rounds[1].table) == int(number)


def test_where_two_differ_a_third_person_tells_who_errs(tmp_path, capsys):
    words = ("--scheme", "full-subset", "--answers", "2", "--annotators", "ann,ben")
    order = ordered(tmp_path / "one", *words)
    folder, files = str(order.folder), []
    for worker in ("ann", "ben"):
        said = rows(order, TRUTH, worker=worker)
        # Ben finds nothing in every second question.
        said.loc[(said["question"] % 2 == 0) & (worker == "ben"), "answer"] = "no"
        files.append(str(tmp_path / f"{worker}.csv"))
        said.to_csv(files[-1], index=False)
    capsys.readouterr()
    assert code(["receive", folder, *files]) == 0
    out = capsys.readouterr().out
    assert "errs more" not in out
    missed = int(TRUTH.present.toarray().ravel()[1::2].sum())
    total = len(order.table)
    assert f"ann and ben differ on {missed} of {total:,} questions with two answers, and " in out
    (number, price, command) = re.findall(
        r"a third person's answers to (\d+) of them can \((\S+) by measured times\); put a name in "
        r"place of NEW:\n  simkit (.*) --annotators NEW\n",
        out,
    )[0]
    assert out.splitlines()[-2].endswith("; put a name in place of NEW: simkit order --next "
                                         f"{folder} --ties --annotators NEW")  # fmt: skip
    by_class = pd.read_csv(order.folder / "yes_by_class.csv")
    assert (by_class["answers"] == len(TRUTH.images)).all()
    found = by_class.groupby("class")["yes"].max()[[*TRUTH.classes]]
    assert found.tolist() == TRUTH.present.sum(0).tolist()  # Ann's
    shown = re.findall(r"^(\S.*?) +ann (\d+)% of 60 +ben (\d+)% of 60", out, re.M)
    assert 1 <= len(shown) <= 3
    for name, ann, ben in shown:
        yes = by_class[by_class["class"] == name]["yes"]
        assert sorted(f"{n / 60:.0%}" for n in yes) == sorted([f"{ann}%", f"{ben}%"])
    assert code([*shlex.split(command), "--annotators", "ann,ben"]) == 2  # both have answered
    refused = capsys.readouterr().err
    assert "no question of the round is left for ann, ben, who have answered" in refused
    assert len(Order.read(folder).rounds) == 1 and not (order.folder / "round-2").exists()
    assert code([*shlex.split(command), "--annotators", "zoe", "--to", "csv"]) == 0
    order = Order.read(folder)
    asked = order.rounds[1].table
    assert len(asked) == int(number) >= 38  # 40, without an image in part
    out = capsys.readouterr().out
    (total,) = re.findall(r"total .* ([\d.]+)", out)
    assert f"${total}" == price
    # Zoe has a page of her own, with the questions on which the two differ.
    own = pd.read_csv(order.round_folder / "questions-zoe-round-2.csv")
    assert sorted(own["question"]) == sorted(asked["question"])
    assert re.findall(r"zoe-round-2.csv +zoe +(.*)", out) == [f"0 of {own['image'].nunique()}"]
    assert team(OrderState.of(order)) == ["ann", "ben"]  # of further rounds
    # Zoe, who is right, was asked only where the two differ: that is no rate of her own.
    third = rows(order, TRUTH, worker="zoe").set_index("question").loc[asked["question"]]
    third.reset_index().to_csv(tmp_path / "zoe.csv", index=False)
    assert code(["receive", folder, str(tmp_path / "zoe.csv")]) == 0
    out = capsys.readouterr().out
    assert (f"ben errs more often than ann: on {number} of {number} questions on which they "
            "differ, most others agree with ann") in out  # fmt: skip
    assert "cannot tell who errs" not in out
    assert "\nnot in this table: zoe (no questions in common" in out
    assert pd.read_csv(order.folder / "yes_by_class.csv")["worker"].nunique() == 2


def test_rates_of_yes_are_compared_once_whole_parts_are_answered(tmp_path, capsys):
    """Images are sorted by class, so that who is not through a page has seen other classes."""
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--repeat", "0", "--annotators",
                    "ann,ben,carl")  # fmt: skip
    table, first = order.table, 0.75 * len(order.images)
    files = dict[str, pd.DataFrame]()
    for name in ("ann", "ben", "carl"):
        own = pd.read_csv(order.round_folder / f"questions-{name}.csv")
        image = table["image"].loc[own["question"]].to_numpy()
        says = ((image < first) == (table["class"].loc[own["question"]] % 2 == 0)) & (
            name != "carl"
        )
        files[name] = own.assign(answer=np.where(says, "yes", "no"), early=image < first)

    def receive(name: str, part: pd.DataFrame) -> bool:
        part.drop(columns="early").to_csv(tmp_path / "said.csv", index=False)
        assert code(["receive", str(order.folder), str(tmp_path / "said.csv")]) == 0
        return "people say yes at different rates" in capsys.readouterr().out

    assert not receive("ann", files["ann"])
    assert not receive("ben", files["ben"][files["ben"]["early"]])
    swap = ["order", "--export", str(order.folder), "--for", "zoe", "--in-place-of", "ben"]
    assert code([*swap, "--to", "csv"]) == 0
    rest = files["ben"][~files["ben"]["early"]].assign(worker="zoe")
    assert not receive("zoe", rest)  # all that zoe has, and only the end of ben's part
    carl = files["carl"]
    assert not receive("carl", carl[carl["early"]])
    capsys.readouterr()
    assert receive("carl", carl[~carl["early"]])  # who says no to everything
    state = OrderState.of(order)
    found = {state.names[who] for one in class_differences(state) for who in one.workers}
    assert found == {"ann", "carl"}


def test_who_cannot_be_set_aside(rpa, tmp_path, capsys):
    new = tmp_path / "new.csv"
    rows(rpa, TRUTH, worker="zoe").head(50).to_csv(new, index=False)
    file = tmp_path / "ann.csv"
    rows(rpa, TRUTH, worker="ann").to_csv(file, index=False)
    assert code(["receive", str(rpa.folder), str(file)]) == 0
    before = {*OrderState.of(rpa).answers["worker"]}
    for given, message in (
        (["--without", "bob"], "--without is bob, who has no answers"),
        (["--without", "ann"], "--without leaves no answers"),
        (["--without", "ann", "--with", "ann"], "--without and --with both name"),
        ([str(new), "--without", "bob"], "name one of ann, zoe"),
    ):
        assert code(["receive", str(rpa.folder), *given]) == 2
        assert message in capsys.readouterr().err
        assert not (rpa.folder / "without.csv").exists()
        assert {*OrderState.of(rpa).answers["worker"]} == before  # nothing of the file is stored
    assert code(["receive", str(rpa.folder), str(new), "--without", "zoe"]) == 0
    assert "set aside: the 50 answers of zoe" in capsys.readouterr().out


def test_one_file_under_two_names_is_refused_and_uninvited_people_are_named(tmp_path, capsys):
    words = ["--scheme", "full-subset", "--images", "8", "--annotators", "ann,ben"]
    order = ordered(tmp_path / "one", *words)
    own = pd.read_csv(order.round_folder / "questions-ben.csv")["question"]
    said = rows(order, TRUTH, worker="ben")
    said = said[said["question"].isin(own)].assign(seconds=1 + np.arange(len(own)) % 20 / 100)
    said.to_csv(tmp_path / "ben.csv", index=False)
    said.assign(worker="zoe").to_csv(tmp_path / "zoe.csv", index=False)
    said.assign(worker="carl", seconds=2).head(3).to_csv(tmp_path / "carl.csv", index=False)
    assert code(["receive", str(order.folder), str(tmp_path / "ben.csv")]) == 0
    assert f" answers added ({len(own):,} of ben); " in capsys.readouterr().out
    before = sorted((order.folder / "answers").iterdir())
    assert code(["receive", str(order.folder), str(tmp_path / "zoe.csv")]) == 2
    assert f"zoe.csv: {len(own):,} of the {len(own):,} new answers of zoe are those of ben" in (
        capsys.readouterr().err
    )
    assert sorted((order.folder / "answers").iterdir()) == before
    assert code(["receive", str(order.folder), str(tmp_path / "carl.csv")]) == 0
    said = capsys.readouterr().out
    assert "\ncarl had no part of this order; the answers count, and are paid; " in said
    (mend,) = re.findall(r"set them aside:\n  simkit (.*)", said)
    assert code(shlex.split(mend)) == 0 and "set aside: the 3 answers of carl" in (
        capsys.readouterr().out
    )
