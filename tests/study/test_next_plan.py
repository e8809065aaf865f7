"""Plans from earlier purchases: three rounds with simulated people."""

from __future__ import annotations

import dataclasses
import json
import shlex
import warnings

import numpy as np
import pytest

import simkit
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.orders.order import Order
from simkit.orders.receiving import checked, keep
from simkit.study.next_plan import plan_next
from tests.orders.people import rows
from tests.planning import planted

DATA = "scenes:images=900,seed=1,val=20,test=20"


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pilot")
    grid = simkit.Grid(
        data="scenes:images=150,val=20,test=400", schemes=["rpa", "full-subset"],
        methods=["an", "ll-r"], budgets=[1.5, 3, 6], prices="hourly", draws=3,
        train=dataclasses.replace(simkit.demo_grid().train, epochs=6),
    )  # fmt: skip
    simkit.compare(grid, out=folder, workers=1)
    return folder


def people_answer(order: Order, folder, number: int) -> None:
    """One person answers with 3 % errors and measured times, as the page writes them."""
    raw = rows(order, simkit.data.open(DATA).truth["train"], worker="ann", wrong=0.03)
    raw["seconds"] = np.random.default_rng(number).lognormal(0.5, 0.4, len(raw))
    file = folder / f"{number}.jsonl"
    raw.assign(order=order.id).to_json(file, orient="records", lines=True)
    assert code(["receive", str(order.folder), str(file)]) == 0


@pytest.mark.slow
def test_after_two_rounds_the_prediction_is_closer_to_the_result(pilot, tmp_path):
    before = simkit.plan(pilot, 30, images=900)
    folder = tmp_path / "order1"
    words = ["order", "--data", DATA, "--scheme", "rpa", "--budget", "8", "--to", "csv"]
    assert code([*words, "--out", str(folder)]) == 0
    people_answer(Order.read(folder), tmp_path, 1)
    first = plan_next(folder, pilot, 22, images=900)
    for number, dollars in ((2, "8"), (3, "14")):
        if number == 3:
            second = plan_next(folder, pilot, 14, images=900)
        assert code(["order", "--next", str(folder), "--budget", dollars, "--to", "csv"]) == 0
        people_answer(Order.read(folder), tmp_path, number)
    final = plan_next(folder, pilot, 14, images=900, prices="hourly").evidence.received
    expected = [np.median(made.curves.expected(final)) for made in (before, first, second)]
    errors = np.abs(np.array(expected) - final.score)
    assert errors[2] < 0.5 * errors[0]
    spread = [np.std(made.curves.expected(final)) for made in (before, first, second)]
    assert spread[0] > spread[1] and spread[2] < 0.5 * spread[0]
    # Measured times, 1.8 seconds in place of 1, make the questions dearer.
    assert 1.6 < second.prices.rates["verify"].seconds < 2.0
    assert "So far" in second.text() and "The plan starts from what was measured." in second.text()
    measured = plan_next(folder, pilot, 14, images=900, measured=30)
    assert measured.evidence.received.score == pytest.approx(0.3, abs=0.02)


def test_bad_input(pilot, tmp_path, capsys):
    words = ["order", "--data", DATA, "--scheme", "fpc(per_class=2)", "--to", "csv", "--answers"]
    assert code([*words, "2", "--out", str(tmp_path / "o")]) == 0
    with pytest.raises(BadInput, match="no answers yet"):
        plan_next(tmp_path / "o", pilot, 14)
    order = Order.read(tmp_path / "o")
    unsure = rows(order, simkit.data.open(DATA).truth["train"], worker="bo")
    keep(order, checked(order, unsure.assign(answer="unsure")).answers)
    with pytest.raises(BadInput, match="no answers yet that give labels"):
        plan_next(tmp_path / "o", pilot, 14)
    people_answer(Order.read(tmp_path / "o"), tmp_path, 1)
    with pytest.raises(BadInput, match="did not measure fpc"):
        plan_next(tmp_path / "o", pilot, 14)
    assert code(["plan", str(pilot), "--budget", "9", "--measured", "30"]) == 2
    assert "--continue" in capsys.readouterr().err


def test_further_answers_cost_what_their_order_costs(tmp_path):
    """A question that has several answers lacks fewer of them."""
    spec, folder = planted.data(tmp_path / "data", 400), tmp_path / "order1"
    flips = (0.05, 0.05)
    runs = planted.write(tmp_path / "runs", spec, wrong=flips, levels=(flips, (0.1, 0.1)))
    words = ["order", "--data", spec, "--scheme", "full-subset", "--images", "300", "--repeat"]
    assert code([*words, "50%", "--to", "csv", "--out", str(folder)]) == 0
    order, truth = Order.read(folder), simkit.data.open(spec).truth["train"]
    several = order.table[order.table["answers"] > 1]["question"]
    raw = {worker: rows(order, truth, worker, wrong=0.05) for worker in ("ann", "ben", "cat")}
    for worker, some in raw.items():
        kept = some if worker == "ann" else some[some["question"].isin(several)]
        keep(order, checked(order, kept).answers)
    plan = plan_next(folder, runs, 500, measured=40, images=300)
    assert set(plan.evidence.received.answers) == {1, 3}
    again = {one.answers.number: one for one in plan.choice.every if one.answers.again}
    assert code(["order", "--next", str(folder), "--answers", "2", "--to", "csv"]) == 0
    order = Order.read(folder)
    price = simkit.cost(order.effort(order.rounds[1].table), "hourly").dollars
    assert again[2].dollars - again[2].settling == pytest.approx(price, rel=0.001)
    assert len(order.rounds[1].table) == plan.evidence.received.answers[1]


def test_runs_on_central_squares_are_no_pilot_of_a_model_of_whole_images(tmp_path):
    """Earlier versions recorded no part of the images; given features are of no network."""
    spec, folder = planted.data(tmp_path / "data", 400), tmp_path / "order1"
    old, given = tmp_path / "old runs", tmp_path / "given"
    planted.write(old, spec, fit=None)
    planted.write(given, spec, fit=None, features={"train": "a.npz", "test": "b.npz"})
    words = ["order", "--data", spec, "--scheme", "rpa(keep=0.5)", "--to", "csv"]
    assert code([*words, "--out", str(folder)]) == 0
    order = Order.read(folder)
    truth = simkit.data.open(spec).truth["train"]
    keep(order, checked(order, rows(order, truth, "ann", wrong=0.1)).answers)
    mend = f"compare again: simkit compare '{old}/grid.toml' --out '{old}'"
    with pytest.raises(BadInput, match="central squares") as error:
        plan_next(folder, old, 50, images=400)
    assert mend in str(error.value) and "--measured" in str(error.value)
    for plan in (plan_next(folder, old, 50, measured=40, images=400),
                 simkit.plan(old, 50, images=400)):  # fmt: skip
        assert mend in " ".join(plan.trust.reasons)
    assert "central" not in " ".join(simkit.plan(given, 50, images=400).trust.reasons)
    with pytest.raises(BadInput, match="different parts of images"):
        simkit.plan([old, planted.write(tmp_path / "new", spec)], 50)


def test_the_plan_has_annotators_who_err_as_those_of_the_order(tmp_path, capsys):
    spec, folder = planted.data(tmp_path / "data", 400), tmp_path / "order1"
    erring = {"habits": {"miss": 0.1, "false_alarm": 0.1, "workers": 3}}
    pilots = [
        planted.write(tmp_path / name, spec, schemes=("rpa", "full-subset"), **habits)
        for name, habits in (("perfect", {}), ("erring", erring))
    ]
    words = ["order", "--data", spec, "--scheme", "rpa(keep=0.5)", "--answers", "3", "--to", "csv"]
    assert code([*words, "--out", str(folder)]) == 0
    order, truth = Order.read(folder), simkit.data.open(spec).truth["train"]
    for worker in ("ann", "ben", "cat"):
        keep(order, checked(order, rows(order, truth, worker, wrong=0.1)).answers)
    plan = plan_next(folder, pilots, 50, measured=40, images=400)
    received = plan.evidence.received
    assert received.errors == pytest.approx((0.1, 0.1), abs=0.02)
    assert {option.habits.miss for option, _ in plan.evidence.cells} == {0.1}
    assert plan.chosen.option.habits.workers == 3
    assert "the effect of annotators' errors" not in " ".join(plan.text().split())
    perfect = plan_next(folder, pilots[0], 50, measured=40, images=400)
    assert perfect.curves.errors == received.errors
    # The command repeats the plan: --continue measures errors and prices again, in all digits.
    assert "--errors" not in perfect.command and "--prices" not in perfect.command
    for plan in (perfect, plan_next(folder, pilots[0], 50, measured=40, images=400, prices="hourly",
                                    errors="1%")):  # fmt: skip
        capsys.readouterr()
        assert code([*shlex.split(plan.command)[1:], "--json"]) == 0
        repeated = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert repeated["chosen"] == plan.to_json()["chosen"]
    assert "--prices hourly" in plan.command and "--errors 1%,1%" in plan.command
    assert "--prices" not in simkit.plan(pilots[0], 50).command
    assert "the effect of annotators' errors was not measured" in " ".join(perfect.text().split())
    with warnings.catch_warnings(action="error"):  # hardly a sample agrees with this mAP
        plan_next(folder, pilots[0], 50, measured=99, images=400)
