"""`simkit order`: rounds of questions in a folder."""

from __future__ import annotations

import base64
import io
import json
import re
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import simkit
from simkit.annotate.simulate import simulate
from simkit.cli.main import code
from simkit.labels.formats import for_path
from simkit.labels.partial import PartialLabels
from simkit.orders.order import Order
from simkit.orders.receiving import checked, keep
from tests.cli.test_quickstart import photographs
from tests.orders.people import SCENES, TRUTH, answer, ordered, rows


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


def test_picked_images_grow_from_round_to_round(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "picked(share=0.1)")
    for share in (0.1, 0.2):
        state, order = answer(order), Order.read(order.folder)
        labels = simulate(TRUTH, f"picked(share={share})", features=order.features)
        assert labels.asked.sum() == round(share * 60)
        assert (state.labels.codes != labels.codes).nnz == 0
        assert code(["order", "--next", str(order.folder), "--share", "0.2", "--to", "csv"]) == (
            0 if share == 0.1 else 2  # nothing is left to ask
        )
        order = Order.read(order.folder)
    assert not order.table.duplicated(["image", "class"]).any()


def test_a_further_round_asks_about_uncertain_images(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "picked(share=0.1, by=random)")
    first = answer(order).labels.asked
    scores = np.random.default_rng(0).normal(0, 3, TRUTH.shape)
    table = pd.DataFrame(scores, TRUTH.images, list(TRUTH.classes))
    table.rename_axis("image").to_csv(tmp_path / "scores.csv")
    scheme = "picked(share=0.2, by=uncertainty)"
    words = ["order", "--next", str(order.folder), "--scheme", scheme, "--to", "csv"]
    assert code(words) == 2
    assert "--scores FILE" in capsys.readouterr().err
    percent = 100 / (1 + np.exp(-table))
    percent.iloc[0, 0] = np.nan
    for wrong, text in ((percent, "p / 100 in a table"), (table[[]], "no column is called")):
        wrong.rename_axis("image").to_csv(tmp_path / "wrong.csv")
        assert code([*words, "--scores", str(tmp_path / "wrong.csv")]) == 2
        error = capsys.readouterr().err
        assert text in error.splitlines()[-1]
    assert code([*words, "--scores", str(tmp_path / "scores.csv")]) == 0
    later = Order.read(order.folder)
    rest = f"picked(share={6 / 54}, by=uncertainty)"
    others = simulate(TRUTH.select(np.flatnonzero(~first)), rest, scores=scores[~first])
    expected = TRUTH.images[~first][others.asked]
    assert set(TRUTH.images[later.rounds[1].table["image"]]) == set(expected)
    labels = answer(later).labels
    assert labels.asked.sum() == 12 and (labels.codes[labels.asked] != 0).sum() == 12 * 52


def test_a_budget_buys_the_largest_amount_and_a_further_round_adds_to_it(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa", "--budget", "0.5")
    bill = simkit.cost(order.effort(order.table), "hourly").dollars
    assert 0.45 < bill <= 0.5
    answer(order)  # 2 seconds a question, and one in the price list
    assert code(["order", "--next", str(order.folder), "--budget", "0.3", "--to", "csv"]) == 0
    later = Order.read(order.folder)
    second = later.rounds[1].table
    assert len(second) == 36  # at $15 an hour
    assert not later.table.duplicated(["image", "class"]).any()


def test_nothing_is_offered_once_all_is_answered(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "full-subset")
    answer(order)
    capsys.readouterr()
    assert code(["receive", str(order.folder)]) == 0
    assert "simkit order" not in capsys.readouterr().out.partition("next: ")[2]
    for options in (["--budget", "30"], ["--budget", "30", "--scheme", "rpa"], []):
        assert code(["order", "--next", str(order.folder), *options]) == 2
        assert f"all {len(order.table):,} questions are answered" in capsys.readouterr().err


def test_a_round_of_the_same_images_names_the_option_for_more(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "5")
    answer(order)
    words = ["order", "--next", str(order.folder), "--to", "csv"]
    assert code(words) == 2
    said = capsys.readouterr().err
    assert "about 5 of the 60 images" in said
    (fewest,) = re.findall(r"--images (\d+) or more", said)
    assert code([*words, "--images", str(int(fewest) - 1)]) == 2
    assert code([*words, "--images", fewest]) == 0


def test_a_search_without_scores_names_the_commands_that_make_them(tmp_path, capsys):
    ordered(tmp_path / "one", "--scheme", "fpc(per_class=2)")
    assert "simkit score" in capsys.readouterr().out


def test_a_search_is_limited_by_the_budget_and_what_does_not_fit_is_refused(tmp_path, capsys):
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
    table = pd.read_csv(order.round_folder / "questions.csv")
    assert "gold" not in table and set(table["question"]) == set(order.table["question"])
    answer(order, worker="good")
    state = answer(order, worker="good")
    assert state.people["right"].tolist() == [1.0]
    assert (state.labels.codes != simulate(TRUTH, "rpa(keep=0.1)").codes).nnz == 0


@pytest.mark.parametrize(("state", "word"), [(1, "absent"), (-1, "present")])
def test_gold_questions_with_one_answer_are_noted(tmp_path, capsys, state, word):
    known = simulate(TRUTH, "full-subset")
    codes = known.codes.multiply(known.codes == state).tocsr()
    known = PartialLabels.of(codes, known.images, known.classes[::-1])  # in another order
    file = tmp_path / "known.parquet"
    for_path(file, writing=True).write(known, file)
    order = ordered(
        tmp_path / "one", "--scheme", "rpa(keep=0.1)", "--gold", "0.1", "--known", str(file)
    )
    assert {*order.table["gold"]} == {
        0,
        state,
    } and f"{word} classes are not" in capsys.readouterr().err
    about = order.table[order.table["gold"] != 0]
    classes = len(order.classes) - 1 - about["class"].to_numpy()
    assert (codes.toarray()[about["image"], classes] == state).all()


def test_a_budget_includes_gold_questions_at_their_own_price(tmp_path):
    known = simulate(TRUTH, "rpa(keep=0.9)", seed=9)
    for_path(tmp_path / "known.parquet", writing=True).write(known, tmp_path / "known.parquet")
    options = ("--gold", "0.5", "--known", str(tmp_path / "known.parquet"), "--budget", "2")
    for name, scheme in (("a", "full-subset"), ("b", "picked(share=1, by=random)")):
        order = ordered(tmp_path / name, "--scheme", scheme, *options)
        assert {*order.table["kind"]} == {"sweep", "verify"}
        assert 1.8 < simkit.cost(order.effort(order.table), "hourly").dollars <= 2


def test_bad_input_is_one_sentence_and_changes_nothing(rpa, tmp_path, capsys):
    other = ordered(tmp_path / "two", "--scheme", "rpa(keep=0.2)")
    foreign = tmp_path / "foreign.jsonl"
    rows(other, TRUTH).assign(order=other.id).to_json(foreign, orient="records", lines=True)
    broken = tmp_path / "broken.json"
    broken.write_text('{"a": ')
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    blank = tmp_path / "blank.csv"
    blank.write_text("question,worker,answer\n1,ann,\n")
    before = {file: file.read_bytes() for file in rpa.folder.rglob("*") if file.is_file()}
    cases = [
        (["receive", str(rpa.folder), str(foreign)], f"answers order {other.id}"),
        (["receive", str(rpa.folder), str(broken)], "cannot be read as answers"),
        (["receive", str(rpa.folder), str(empty)], f"{empty} has an answer; have the"),
        (["receive", str(rpa.folder)], "give the files with people's answers"),
        (["receive", str(rpa.folder), str(blank)], f"no row of {blank} has an answer"),
        (["receive", str(tmp_path / "nowhere")], "is no order"),
        (["order", "--next", str(rpa.folder), "--data", "scenes"], "--next and --data"),
        (["order", "--data", "scenes:images=60", "--scheme", "rpa", "--out", str(rpa.folder)],
         "an order already"),
        (["order", "--scheme", "rpa"], "--data and --scheme are needed"),
        (["order", "--data", "scenes:images=60", "--scheme", "fraction-of-positives", "--out",
          str(tmp_path / "no")], "rpa instead"),
    ]  # fmt: skip
    capsys.readouterr()
    for words, text in cases:
        assert code(words) == 2, words
        assert text in capsys.readouterr().err
    assert {f: f.read_bytes() for f in rpa.folder.rglob("*") if f.is_file()} == before


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
    pd.concat([table, table[:1]]).to_csv(tmp_path / "scores.csv", index=False)
    words = ["order", "--data", "scenes:images=60", *scheme, *options, "--to", "csv"]
    assert code([*words, "--out", str(tmp_path / "c")]) == 2


def test_an_order_buys_the_purchase_of_a_plan(tmp_path, capsys):
    parts = [{"scheme": "rpa(keep=0.2)", "images": 30}, {"scheme": "full-subset", "images": 5}]
    (tmp_path / "plan.json").write_text(json.dumps({"order": parts}))
    options = ("--plan", str(tmp_path / "plan.json"))
    a, b = (ordered(tmp_path / part, *options, "--part", part) for part in "ab")
    assert (a.settings.scheme, a.settings.images) == ("rpa(keep=0.2)", 30)
    assert b.settings.images == 5 and len(b.table) == 5 * len(b.classes)
    (tmp_path / "plan.json").write_text("{}")
    words = ["order", "--data", "scenes:images=60", *options, "--out", str(tmp_path / "c")]
    (tmp_path / "one.json").write_text(json.dumps({"order": parts[:1]}))
    assert code([*words[:3], "--plan", str(tmp_path / "one.json"), "--part", "b"]) == 2
    assert "no part (b)" in capsys.readouterr().err
    assert code(words) == 2
    assert "cannot be read as a plan" in capsys.readouterr().err


def test_an_order_gets_as_many_answers_as_its_plan_chose(tmp_path, capsys):
    part = {"scheme": "rpa(keep=0.2)", "images": 30, "answers": 3, "dollars": 0.5}
    file, known = tmp_path / "plan.json", {"errors": [0.03, 0.03]}
    orders = []
    for name, about in (("known", known), ("unknown", {"errors": None})):
        file.write_text(json.dumps({"order": [part], **about}))
        orders.append(ordered(tmp_path / name, "--plan", str(file)))
    assert [order.settings.answers for order in orders] == [3, 1]
    file.write_text(json.dumps({"order": [part | {"again": True}], **known}))
    data = ["order", "--data", "scenes:images=60", "--out", str(tmp_path / "new")]
    assert code([*data, "--plan", str(file)]) == 2 and "--next" in capsys.readouterr().err
    first = orders[1]
    answer(first)
    words = ["order", "--next", str(first.folder), "--to", "csv", "--plan", str(file)]
    assert code(words) == 0
    order = Order.read(first.folder)
    second = order.table[order.table["round"] == 2]
    assert (second["answers"] == 2).all() and {*order.first[second.index]} <= {*first.table.index}
    assert second["answers"].sum() == 60  # 2 seconds each, at $15 an hour: $0.50


def test_a_round_of_another_scheme_keeps_all_answers(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)")
    before = answer(order).labels
    words = ["order", "--next", str(order.folder), "--scheme", "single-positive", "--to", "csv"]
    assert code(words) == 0
    state = answer(Order.read(order.folder))
    assert (before.codes.multiply(state.labels.codes) != 0).nnz == before.codes.nnz
    named = simulate(TRUTH, "single-positive").codes
    assert (named.multiply(state.labels.codes) != 0).nnz == named.nnz
    assert state.labels.effort.count("verify") == before.effort.count("verify")
    assert state.labels.effort.count("name") == len(TRUTH.images)


def test_open_questions_are_not_asked_again(rpa, capsys):
    half = rows(rpa, TRUTH).iloc[: len(rpa.table) // 2]
    keep(rpa, checked(rpa, half).answers)
    words = ["order", "--next", str(rpa.folder), "--to", "csv"]
    assert code(words) == 2
    assert "questions are open" in capsys.readouterr().err
    assert code([*words, "--keep", "0.2"]) == 0
    order = Order.read(rpa.folder)
    assert not order.table.duplicated(["image", "class"]).any()
    assert (answer(order).labels.codes != simulate(TRUTH, "rpa(keep=0.2)").codes).nnz == 0


def test_gold_questions_are_not_those_of_earlier_rounds(tmp_path):
    known = simulate(TRUTH, "rpa(keep=0.9)", seed=9)
    for_path(tmp_path / "known.parquet", writing=True).write(known, tmp_path / "known.parquet")
    options = ("--gold", "0.5", "--known", str(tmp_path / "known.parquet"))
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", *options)
    answer(order)
    words = ["order", "--next", str(order.folder), "--keep", "0.2", "--to", "csv", *options[2:]]
    assert code(words) == 0
    first, second = (part.table for part in Order.read(order.folder).rounds)
    gold = second[second["gold"] != 0].merge(first, on=["image", "class"])
    assert len(second[second["gold"] != 0]) and not len(gold)
    answer(Order.read(order.folder))
    words = ["order", "--next", str(order.folder), "--keep", "0.3", "--to", "csv"]
    assert code(words) == 2  # --known is missing
    assert code([*words, "--gold", "0"]) == 0
    assert not (Order.read(order.folder).rounds[2].table["gold"] != 0).any()


def test_a_further_round_is_priced_by_the_measured_times(rpa, capsys):
    answer(rpa)
    capsys.readouterr()
    assert code(["order", "--next", str(rpa.folder), "--keep", "0.3", "--to", "csv"]) == 0
    questions = len(Order.read(rpa.folder).rounds[1].table)
    dollars = [f"{questions * seconds * 15 / 3600:,.2f}" for seconds in (2, 1)]
    said = capsys.readouterr().out
    assert "cost at measured prices" in said and re.search(rf"\ntotal .* {dollars[0]}\n", said)
    assert f"; at hourly prices: ${dollars[1]}\n" in said


def test_a_budget_buys_labels_of_the_images_that_are_named_only(tmp_path):
    order = ordered(tmp_path / "one", "--scheme", "rpa", "--budget", "0.5", "--images", "0.1")
    assert order.table["image"].nunique() <= 6


def test_a_round_that_is_cut_short_or_made_twice_leaves_one_round(rpa, monkeypatch, capsys):
    answer(rpa)
    write, files = Order.write, {*rpa.folder.rglob("*")}
    words = ["order", "--next", str(rpa.folder), "--to"]

    def cut(order, place):
        raise KeyboardInterrupt

    def overtaken(order, place):
        monkeypatch.setattr(Order, "write", write)
        assert code([*words, "jsonl", "--keep", "0.3"]) == 0
        write(order, place)

    monkeypatch.setattr(Order, "write", cut)
    assert code([*words, "csv", "--keep", "0.2"]) != 0
    assert {*rpa.folder.rglob("*")} == files
    monkeypatch.setattr(Order, "write", overtaken)
    assert code([*words, "csv", "--keep", "0.2"]) == 2
    assert "round-2 exists and is not overwritten" in capsys.readouterr().err
    assert Order.read(rpa.folder).settings.scheme == "rpa(keep=0.3)"
    names = {file.name for file in {*rpa.folder.rglob("*")} - files}
    assert names == {
        "round-2", "order.json", "questions.parquet", "questions-round-2.jsonl", "instructions.md"
    }  # fmt: skip


def test_a_further_round_keeps_the_settings_of_the_scheme(tmp_path, capsys):
    order = ordered(tmp_path / "one", "--scheme", "single-positive(positives=2, negatives=1)")
    answer(order)
    words = ["order", "--next", str(order.folder), "--to", "csv"]
    assert code([*words, "--negatives", "3"]) == 0
    scheme = Order.read(order.folder).settings.parsed_scheme
    assert (scheme.positives, scheme.negatives, scheme.keep_looks) == (2, 3, True)
    assert code([*words, "--keep", "0.1"]) == 2
    assert "not of single-positive" in capsys.readouterr().err
    assert code([*words, "--scheme", "knowledge-graph"]) == 2
    assert "make a new order with --hierarchy" in capsys.readouterr().err


def test_equal_questions_about_other_images_are_another_order(tmp_path, monkeypatch, capsys):
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    for month in ("may", "june"):
        (tmp_path / month / "photos").mkdir(parents=True)
        for n in range(3):
            Image.new("RGB", (8, 8)).save(tmp_path / month / "photos" / f"{month}{n}.png")
        monkeypatch.chdir(tmp_path / month)
        words = ["order", "--data", "folder:photos,labels=none", "--classes", "../names.txt"]
        assert code([*words, "--scheme", "full-subset", "--to", "csv"]) == 0
    table = pd.read_csv("../may/order1/round-1/questions.csv").assign(answer="yes", worker="bob")
    table.to_csv("may.csv", index=False)
    assert code(["receive", "order1", "may.csv"]) == 2
    assert "answers order" in capsys.readouterr().err


def test_a_picture_that_cannot_be_read_leaves_nothing(tmp_path, capsys):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"\xff\xd8\xff torn")
    (tmp_path / "names.txt").write_text("cat\n")
    words = ["order", "--data", f"folder:{tmp_path / 'photos'},labels=none", "--scheme", "rpa"]
    words += ["--keep", "1", "--classes", str(tmp_path / "names.txt")]
    assert code([*words, "--out", str(tmp_path / "one")]) == 2
    assert "cannot be read" in capsys.readouterr().err and not (tmp_path / "one").exists()
    (tmp_path / "photos" / "a.jpg").rename(tmp_path / "photos" / "two\nlines.jpg")
    assert code([*words, "--to", "csv", "--out", str(tmp_path / "one")]) == 2
    assert "rename the image" in capsys.readouterr().err


def test_an_order_works_from_any_folder(tmp_path, monkeypatch):
    photos = tmp_path / "made" / "photos"
    photos.mkdir(parents=True)
    for n in range(3):
        Image.new("RGB", (8, 8), (80 * n, 0, 0)).save(photos / f"{n}.png")
    (tmp_path / "made" / "names.txt").write_text("cat\ndog\n")
    (tmp_path / "made" / "mine.toml").write_text('like = "hourly"\n')
    monkeypatch.chdir(photos.parent)
    words = ["order", "--data", "photos", "--classes", "names.txt", "--scheme", "full-subset"]
    assert code([*words, "--images", "2", "--prices", "mine.toml"]) == 0
    monkeypatch.chdir(tmp_path)
    order = Order.read("made/order1")
    said = pd.DataFrame({"question": order.table["question"], "worker": "ann", "answer": "no"})
    said.assign(order=order.id, seconds=2).to_csv("said.csv", index=False)
    assert code(["receive", "made/order1", "said.csv"]) == 0
    assert code(["order", "--next", "made/order1", "--images", "1.0"]) == 0
    assert [*Order.read("made/order1").round_folder.glob("page-round-2.html")]
    assert simkit.data.open("made/order1/data.toml").truth["train"].shape == (3, 2)


def examples(order: Order) -> dict[str, tuple[list[str], list[str]]]:
    """For each class, the images that the instructions name as with it and as without it."""
    text = (order.round_folder / "instructions.md").read_text()
    lines = [line.split("**") for line in text.splitlines() if "** is in " in line]
    assert bool(lines) == ("## Examples" in text)
    parts = {name: rest.partition("; not in ") for _, name, rest in lines}
    return {
        name: (re.findall("`(.*?)`", typical), re.findall("`(.*?)`", alike))
        for name, (typical, _, alike) in parts.items()
    }


def test_the_instructions_name_examples_where_labels_and_features_are_known(tmp_path, capsys):
    known = simulate(TRUTH, "rpa(keep=0.9)", seed=9)
    for_path(tmp_path / "known.parquet", writing=True).write(known, tmp_path / "known.parquet")
    present = TRUTH.present.toarray()
    numbers = np.random.default_rng(0).normal(size=(60, 4))
    np.savez(tmp_path / "a.npz", features=np.hstack([4 * present, numbers]))
    features = ("--features", str(tmp_path / "a.npz"))
    options = ("--gold", "0.2", "--known", str(tmp_path / "known.parquet"))
    order = ordered(tmp_path / "one", "--scheme", "rpa(keep=0.1)", *options, *features)
    place = {str(image): row for row, image in enumerate(TRUTH.images.tolist())}
    asked = {*order.table[["image", "class"]].itertuples(index=False, name=None)}
    named = examples(order)
    assert len(named) > len(order.classes) / 2
    for name, (typical, alike) in named.items():
        c = order.classes.index(name)
        assert 1 <= len(typical) <= 3 and len(alike) <= 2
        assert all(present[place[image], c] for image in typical)
        assert not any(present[place[image], c] for image in alike)
        assert not asked & {(place[image], c) for image in (*typical, *alike)}
    plain = ordered(tmp_path / "two", "--scheme", "rpa(keep=0.1)", *options)
    assert not examples(plain)
    words = ["order", "--data", "scenes:images=60", "--scheme", "rpa(keep=0.1)", *features]
    assert code([*words, "--out", str(tmp_path / "three")]) == 2
    assert "--features needs --known LABELS" in capsys.readouterr().err
    words = ["order", "--data", "scenes:images=60", "--scheme", "rpa(keep=0.1)", *options[2:]]
    assert code([*words, "--out", str(tmp_path / "three")]) == 2
    assert "--known needs --gold" in capsys.readouterr().err
    answer(plain)
    words = ["order", "--next", str(plain.folder), "--keep", "0.2", *options[2:], *features]
    assert code([*words, "--to", "csv"]) == 0
    typical = [
        image for first, *_ in examples(Order.read(plain.folder)).values() for image in first
    ]
    answered = {str(plain.images[row]) for row in plain.table["image"]}
    assert typical and set(typical) <= answered


def test_images_that_browsers_do_not_show_are_converted_for_annotators(tmp_path, capsys):
    photos = tmp_path / "photos"
    photos.mkdir()
    shades = np.array([[0, 4095]], np.uint16)
    Image.fromarray(shades).save(photos / "a.png")
    Image.fromarray((shades >> 4).astype(np.uint8)).save(photos / "b.tif")
    Image.fromarray((shades >> 4).astype(np.uint8)).save(
        photos / "u\u0308.png"
    )  # as macOS stores it
    (tmp_path / "names.txt").write_text("cat\n")
    words = ["order", "--data", str(photos), "--scheme", "full-subset", "--to", "html"]
    words += ["--to", "label-studio", "--classes", str(tmp_path / "names.txt")]
    assert code([*words, "--out", f"{tmp_path}/one"]) == 0
    said = capsys.readouterr().err
    assert "show too dark or not at all: 2 of 3, such as a.png" in said
    place = tmp_path / "one" / "round-1"
    (text,) = re.findall(r'\{"order".*\}', (place / "page.html").read_text())
    images = json.loads(text)["images"]
    assert [image["name"] for image in images] == ["a.png", "b.tif", "\xfc.png"]
    for image in images:
        shown = base64.b64decode(image["src"].partition(",")[2])
        shown = np.asarray(Image.open(io.BytesIO(shown)).convert("L"))
        assert np.abs(shown.astype(int) - [[0, 255]]).max() < 9
    listed = json.loads((place / "label-studio" / "present" / "tasks.json").read_text())
    names = [unquote(task["data"]["image"]) for task in listed]
    assert names == [f"/data/local-files/?d=photos/{n}" for n in ("a.png", "b.tif", "u\u0308.png")]


def test_cosines_get_a_note(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 4)
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    files = sorted(path.name for path in (tmp_path / "photos").iterdir())
    rows = [f"{file},{0.3 - place / 10},{place / 10 - 0.1}" for place, file in enumerate(files)]
    (tmp_path / "scores.csv").write_text("\n".join(["image,cat,dog", *rows]))
    done = shell(
        "order", "--data", "folder:photos,labels=none", "--classes", "names.txt", "--scheme",
        "machine", "--scores", "scores.csv", "--out", "o",
    )  # fmt: skip
    assert done.code == 0 and done.err.count("count as logits; do not give cosines") == 1


def test_a_budget_asks_about_a_random_part_of_the_images_that_are_named(tmp_path):
    """About whole images, and in every part of their list."""
    order = ordered(tmp_path / "one", "--scheme", "full-subset", "--images", "1.0",
                    "--budget", "1.5")  # fmt: skip
    asked = order.table["image"].unique()
    assert 8 <= len(asked) <= 50 and len(order.table) == len(asked) * len(order.classes)
    assert abs(asked.mean() - 29.5) < 3 * 17.3 / np.sqrt(len(asked))
    assert asked.max() >= len(asked) + 5
