"""Later rounds of a project: ties, answers asked again, test images, and purchases of a plan."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import simkit
from simkit.chance import Chance
from simkit.orders.order import Order
from simkit.orders.receiving import OrderState
from simkit.results.cells import NETWORK
from tests.cli.conftest import shell  # noqa: F401
from tests.cli.test_quickstart import photographs, richer, start
from tests.planning import planted

PILOT = 220  # a third of the images


def present(image: int, c: int) -> bool:
    """The truth: every third image shows a class."""
    return (image + c) % 3 == 0


def answers(order: Order, wrong: float = 0.0, share: float = 1.0) -> Path:
    """Answers to everything that is open, by people who have not answered the question before."""
    state = OrderState.of(order)
    todo = pd.concat([state.open, state.further])
    people = state.answers.groupby(["image", "class"])["worker"].nunique().to_dict()
    rows, chance = [], Chance.seeded(1)
    names = ["question", "image", "class", "answers", "answered", "kind"]
    columns = todo[names].to_numpy().tolist()
    for question, image, c, wanted, so_far, kind in columns[: round(share * len(columns))]:
        for nth in range(people.get((image, c), 0), people.get((image, c), 0) + wanted - so_far):
            err = int(chance.of("wrong", nth)(image, c)) < wrong * 2**64
            said = "yes" if present(image, c) ^ err else "no"
            said = order.classes[-image % 3] if kind == "name" else said
            rows.append({"order": order.id, "question": question, "worker": f"p{nth}",
                         "answer": said, "seconds": 0.3})  # fmt: skip
    file = Path(f"said-{len(rows)}-{len(order.rounds)}.jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def project(shell, tmp_path, request):  # noqa: F811
    """A project whose pilot was answered by people who get some answers wrong."""
    photographs(tmp_path / "photos", 3 * PILOT)
    assert start(shell, "--budget", 9, *getattr(request, "param", ())).code == 0
    richer(Path("project"), 50)
    assert shell("receive", "project", answers(Order.read("project/order1"), wrong=0.1)).code == 0
    return shell


def step(shell) -> list[str]:  # noqa: F811
    return shlex.split(shell("status", "project", "--json").json["next"])[1:]


def compared() -> None:
    """An empty comparison, as if it were finished."""
    for grid in Path("project").glob("grid-*.toml"):
        runs = Path("project/runs") / grid.stem.removeprefix("grid-")
        runs.mkdir(parents=True, exist_ok=True)
        (runs / "table.csv").write_text(str(np.random.default_rng().random()))
        (runs / "grid.toml").write_text(grid.read_text())


def labels() -> pd.DataFrame:
    return pd.read_csv("project/labels.csv").set_index("file")


@pytest.mark.parametrize("project", [("--annotators", "ann,ben,carl")], indirect=True)
def test_the_next_plan_is_for_those_at_work(project) -> None:
    compared()
    words = step(project)
    assert words[0] == "plan" and words[words.index("--annotators") + 1] == "3"


@pytest.mark.parametrize("project", [("--answers", 2, "--repeat", 0)], indirect=True)
def test_a_tie_asks_one_more_person(project) -> None:
    state = OrderState.of(Order.read("project/order1"))
    tied = state.tied
    assert tied > 50 and labels().isna().to_numpy().sum() == tied
    words = step(project)
    assert words[:4] == ["order", "--next", "project/order1", "--ties"]
    done = project(" ".join(words), "--json")
    assert done.code == 0 and 0 <= float(words[-1]) - done.json["dollars"] < 0.01  # its price
    order = Order.read("project/order1")
    assert len(order.rounds[1].table) == tied and (order.rounds[1].answers == 1).all()
    assert project("receive", "project", answers(order, wrong=0.1)).code == 0
    assert not labels().isna().to_numpy().any()
    assert step(project)[0] == "compare"
    assert tomllib.loads(Path("project/order1/measured.toml").read_text())["workers"] == 2
    done = project("order", "--next", "project/order1", "--ties")
    assert done.code == 2 and "--ties" in done.err


def test_after_answers_asked_again_plans_know_errors_and_the_number_of_answers(project) -> None:
    compared()
    errors = step(project)[step(project).index("--errors") + 1]
    again = ("order", "--next", "project/order1", "--answers", 2, "--to", "csv")

    def workers() -> int:
        return int(tomllib.loads(Path("project/order1/measured.toml").read_text())["workers"])

    assert project(*again, "--budget", 0.2).code == 0
    order = Order.read("project/order1")
    assert project("receive", "project", answers(order, wrong=0.1)).code == 0
    assert workers() == 1  # the usual question has one answer still
    assert project(*again).code == 0
    assert project("receive", "project", answers(Order.read("project/order1"), wrong=0.1)).code == 0
    assert workers() == 2
    counts = pd.read_csv("project/answers.csv").set_index(["split", "answers"])["questions"]
    assert counts.sum() == 3 * PILOT and counts["train", 2] > 350 and counts["train", 3] > 20
    assert step(project)[3] == "--ties"
    assert project(" ".join(step(project))).code == 0
    assert project("receive", "project", answers(Order.read("project/order1"), wrong=0.1)).code == 0
    compared()
    words = step(project)
    assert words[0] == "plan" and "--continue" not in words
    later = words[words.index("--errors") + 1]
    for one, other in zip(errors.split(","), later.split(","), strict=True):
        assert float(one.strip("%")) == pytest.approx(float(other.strip("%")), abs=5)


def test_a_grid_has_levels_at_the_measured_errors_until_it_is_edited_or_compared(
    shell, tmp_path,  # noqa: F811
) -> None:  # fmt: skip
    photographs(tmp_path / "photos", 3 * PILOT)
    assert start(shell, "--budget", 9).code == 0
    richer(Path("project"), 50)
    every = answers(Order.read("project/order1"), wrong=0.1).read_text().splitlines()
    grid = Path("project/grid-1.toml")

    def received(number: int) -> list[list[float]]:
        Path("some.jsonl").write_text("\n".join(every[:number]))
        assert shell("receive", "project", "some.jsonl").code == 0
        return tomllib.loads(grid.read_text())["errors"]

    every.sort(key=lambda line: json.loads(line)["worker"])
    alone = sum('"p0"' in line for line in every)
    assert received(alone) == [[0.02, 0.02], [0.05, 0.05]]  # nobody was asked twice yet
    written, levels = grid.read_text(), received(len(every))
    measured = OrderState.of(Order.read("project/order1")).errors
    assert levels[0] == [round(rate, 4) for rate in measured]
    assert levels[1] == pytest.approx([2 * rate for rate in measured], abs=1e-4)
    assert shell("receive", "project").out.count("grid-1.toml") == 1  # next: compare it
    edited = [re.sub("errors = .*", f"errors = {levels}", written)
              for levels in ("[[0.1, 0.01]]", "[]", "0.1", "[[0.1")]  # fmt: skip
    for text in (written.replace("draws = 3", "draws = 4"), *edited):
        grid.write_text(text)
        assert shell("receive", "project").code == 0
        assert grid.read_text() == text
    # It follows where answers are set aside; an edited one is named.
    grid.write_text(written)
    for who, words in (("p1", ["--without", "p1"]), ("", ["--with", "p1"])):
        assert shell("receive", "project", *words).code == 0
        state = OrderState.of(Order.read("project/order1"))
        now = [round(rate, 4) for rate in state.errors] if state.errors else [0.02, 0.02]
        assert tomllib.loads(grid.read_text())["errors"][0] == now
        assert (now == levels[0]) == (not who)
    grid.write_text(edited[0])
    noted = shell("receive", "project", "--without", "p1").err
    assert "has the errors [[0.1, 0.01]], as edited or measured before answers of p1" in noted
    assert shell("receive", "project", "--with", "p1").code == 0
    grid.write_text(written)
    compared()
    received(len(every))
    assert grid.read_text() == written


def test_further_test_images_are_new_and_never_train(project) -> None:
    before = labels()
    assert project("order", "--next", "project/order1", "--test", 30, "--to", "csv").code == 0
    order = Order.read("project/order1")
    tests, pilot = order.rounds[1].table, order.rounds[0].table
    assert tests["image"].nunique() == 30 and len(tests) == 90
    assert not {*tests["image"]} & {*pilot["image"]}
    assert project("receive", "project", answers(order)).code == 0
    after = labels()
    assert after.loc[before.index].equals(before) and len(after) == PILOT + 30
    new = after.loc[after.index.difference(before.index)]
    assert (new["split"] == "test").all() and new.notna().all(axis=None)
    assert step(project)[0] == "compare"
    compared()
    words = step(project)
    assert words[0] == "plan" and words[words.index("--images") + 1] == str(2 * PILOT - 30)
    # A purchase of all other images leaves the test images out, and no model is trained on them.
    text = {"scheme": "full-subset", "images": 5 * PILOT, "answers": 1, "again": False}
    Path("project/plan.json").write_text(json.dumps({"order": [text]}))
    assert project("order", "--next", "project/order1", "--plan", "project/plan.json",
                   "--to", "csv").code == 0  # fmt: skip
    order = Order.read("project/order1")
    assert order.rounds[2].table["image"].nunique() == 2 * PILOT - 30
    assert not order.rounds[2].table["image"].isin(tests["image"]).any()
    assert project("receive", "project", answers(order)).code == 0
    rest = np.setdiff1d(np.arange(3 * PILOT), [*pilot["image"], *tests["image"]])
    assert OrderState.of(order).about(rest).labels.asked.sum() == 2 * PILOT - 30  # to plan from
    data = simkit.data.open("project/order1/data.toml")
    assert {*new.index} <= {*data.truth["test"].images}
    assert not {*new.index} & {*data.truth["train"].images}
    done = project("order", "--next", "project/order1", "--test", 1)
    assert done.code == 2 and "without those that a round has asked about" in done.err
    done = project("order", "--next", "project/order1", "--images", 3 * PILOT)
    said = f"{3 * PILOT - 30} of the {3 * PILOT} can be asked about: without 30 images for testing"
    assert done.code == 2 and said in done.err


def test_test_images_alone_are_asked_again(project) -> None:
    words = ("order", "--next", "project/order1", "--answers", 2, "--split", "test", "--to", "csv")
    assert project(*words).code == 0
    order = Order.read("project/order1")
    asked = {*order.images[order.rounds[1].table["image"].unique()]}
    assert asked <= {*labels().query("split == 'test'").index}
    assert project("receive", "project", answers(order)).code == 0
    counts = pd.read_csv("project/answers.csv").query("answers == 1").groupby("split").size()
    assert "test" not in counts and counts["train"] == 1
    done = project(*words[:-3], "nowhere")
    assert done.code == 2 and "labels.csv" in done.err


def test_a_search_of_a_plan_looks_for_images_besides_the_pilot(project) -> None:
    part = {"scheme": "fpc(per_class=12, search=random, keep_looks=False)", "images": 2 * PILOT,
            "answers": 1, "again": False, "dollars": 1.0}  # fmt: skip
    Path("project/plan.json").write_text(json.dumps({"order": [part]}))
    words = ("order", "--next", "project/order1", "--plan", "project/plan.json", "--to", "csv")
    assert project(*words).code == 0  # the pilot shows each class more often
    order = Order.read("project/order1")
    looks = order.rounds[1].table
    assert (looks.groupby("class").size() >= 12).all() and looks["class"].nunique() == 3
    assert not looks["image"].isin(order.rounds[0].table["image"]).any()
    assert "answers" not in looks  # the plan pays for one answer to each
    # The search goes on for the plan's money, in further rounds, also after one that asks again.
    for n in range(9):
        assert project("receive", "project", answers(order)).code == 0
        if n == 0:
            again = ("order", "--next", "project/order1", "--answers", 2, "--to", "csv")
            assert project(*again, "--budget", 0.02).code == 0
            order = Order.read("project/order1")
            assert project("receive", "project", answers(order)).code == 0
        words = step(project)
        if words[0] != "order":
            break
        assert words[:3] == ["order", "--next", "project/order1"]
        assert words[3] in ("--budget", "--ties")
        assert project(" ".join(words)).code == 0
        order = Order.read("project/order1")
    found = [state for state in OrderState.of(order).answers.query("kind == 'search'").groupby(
        "class")["answer"]]  # fmt: skip
    assert len(order.rounds) > 3 and all((said == "yes").sum() >= 12 for _, said in found)
    assert not any(part.table["image"].isin(order.rounds[0].table["image"]).any()
                   for part in order.rounds if (part.table["kind"] == "search").any())  # fmt: skip


def test_another_scheme_of_a_plan_leaves_out_what_is_complete(project) -> None:
    file = Path("project/plan.json")

    def buys(scheme: str, images: int) -> tuple[Order, str]:
        part = {"scheme": scheme, "images": images, "answers": 1, "again": False, "dollars": 9.0}
        file.write_text(json.dumps({"order": [part]}))
        done = project("order", "--next", "project/order1", "--plan", file, "--to", "csv")
        assert done.code == 0
        order = Order.read("project/order1")
        assert project("receive", "project", answers(order)).code == 0
        return order, done.out

    buys("full-subset", 300)
    order, said = buys("single-positive", 100)
    pilot, complete, named = ({*part.table["image"]} for part in order.rounds)
    assert len(complete) == 300 and "left out: 300 images" in said
    assert len(named) == 100 and not named & (pilot | complete)
    order, said = buys("rpa(keep=1)", 999)
    others = {*range(3 * PILOT)} - pilot - complete
    assert "140" in said and {*order.rounds[3].table["image"]} == others
    part = {"order": [{"scheme": "single-positive", "images": 140}]}
    file.write_text(json.dumps(part))
    done = project("order", "--next", "project/order1", "--plan", file)
    assert done.code == 2 and "--answers" in done.err


def planted_runs() -> None:
    """A comparison for each grid of the project."""
    for grid in Path("project").glob("grid-*.toml"):
        runs = Path("project/runs") / grid.stem.removeprefix("grid-")
        data = tomllib.loads(grid.read_text())["data"]
        schemes = ("full-subset", "rpa")
        planted.write(runs, data, schemes=schemes, listed="hourly", **NETWORK)


def test_answers_set_aside_do_not_make_later_ones_dearer(project) -> None:
    """They are paid, at the price of those in use; at half of it, the plan says so."""
    order = Order.read("project/order1")
    table = OrderState.of(order).answers.drop_duplicates("question")
    said = [{"order": order.id, "question": question, "worker": "zoe", "answer": "no",
             "seconds": 0.3} for question in table["question"].tolist()]  # fmt: skip
    Path("zoe.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    before = project("status", "project", "--json").json["spent"]
    assert project("receive", "project", "zoe.jsonl").code == 0
    assert project("receive", "project", "--without", "zoe").code == 0
    aside = project("status", "project", "--json").json["spent"] - before
    assert aside > 0.5 * before
    planted_runs()
    words = step(project)
    done = project(" ".join(words))
    assert f"Paid before: ${before + aside:.2f}, ${aside:.2f} of it for answers" in done.out
    assert "times the price" not in done.out
    listed = Path("cheap.toml")
    listed.write_text('like = "hourly"\n[sweep]\nper = "question"\nseconds = 0.15\n'
                      'source = "a guess"\n')  # fmt: skip
    words[words.index("--prices") + 1] = str(listed)
    assert "2.0 times the price at which this plan is made" in project(" ".join(words)).out


def test_the_bills_of_plan_order_and_status_agree(project) -> None:
    """With the repeated questions of the pilot, and without any in the round of the plan."""
    planted_runs()
    words, before = step(project), project("status", "project", "--json").json["spent"]
    assert words[0] == "plan" and project(" ".join(words)).code == 0
    plan = json.loads(Path("project/plan.json").read_text())
    (part,), tests = plan["order"], plan["test_images"]["dollars"]
    paid = [sum(line["dollars"] for line in plan["bill"] if line["when"] == when)
            for when in ("before", "now", "later")]  # fmt: skip
    assert plan["budget"] == pytest.approx(50 - before, abs=0.005)
    assert paid == pytest.approx([before, tests, part["dollars"]], abs=0.006)
    assert sum(paid[1:]) + plan["left"] == pytest.approx(plan["budget"], abs=0.01)
    words = ("order", "--next", "project/order1", "--plan", "project/plan.json", "--to", "csv")
    done = project(*words)
    (printed,) = re.findall(r"\ntotal .* ([\d.]+)\n", done.out)
    assert float(printed) == pytest.approx(part["dollars"], abs=0.011)
    (apart,) = re.findall(r"not in this round: .*\n  simkit (.*)", done.out)
    assert project("receive", "project", answers(Order.read("project/order1"))).code == 0
    spent = project("status", "project", "--json").json["spent"]
    assert spent - before == pytest.approx(part["dollars"], abs=0.006)
    assert 50 - spent == pytest.approx(plan["left"] + tests, abs=0.01)
    done = project(apart)
    (printed,) = re.findall(r"\ntotal .* ([\d.]+)\n", done.out)
    assert float(printed) == pytest.approx(tests, abs=0.011)


def test_options_that_a_further_round_would_ignore_are_refused(project) -> None:
    for options, says in (
        ("--answers 2 --repeat 50%", "--answers and --repeat are both given"),
        ("--split test", "give --answers"),
        ("--answers 2 --split test --images 0.9", "give --answers, and no scheme or images"),
    ):
        done = project("order --next project/order1 " + options)
        assert done.code == 2 and says in done.err and not done.out
    assert not Path("project/order1/round-2").exists()


def test_test_images_and_ties_need_an_order_of_a_project(shell, tmp_path) -> None:  # noqa: F811
    words = ("order", "--data", "scenes:images=60", "--scheme", "rpa(keep=0.1)", "--to", "csv")
    for more in (("--test", 5), ("--ties",)):
        done = shell(*words, *more)
        assert done.code == 2 and "--next" in done.err
    assert shell(*words).code == 0
    done = shell("order", "--next", "order1", "--test", 5)
    assert done.code == 2 and "project" in done.err
    done = shell("order", "--data", "scenes:images=60", "--scheme", "single-positive", "--repeat",
                 "20%", "--out", "named")  # fmt: skip
    assert done.code == 2 and "names measure no errors" in done.err
    assert not Path("named").exists()
