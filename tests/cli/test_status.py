"""`simkit status`: money spent, open questions, and the next command."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from dataclasses import replace
from math import isnan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from simkit import Trained, data
from simkit.annotate.prices import cost
from simkit.cli.main import code
from simkit.orders.order import Order, effort_of
from simkit.orders.project import Project
from simkit.study.grid import Grid
from tests.cli.test_quickstart import photographs, richer, start
from tests.planning import planted


def answers(file: str, order: Order, *, share: float = 1.0, worker: str = "ann") -> Path:
    """The first of the answers of one person, as the page writes them; every fifth is unsure."""
    words = ["yes", "no", "no", "yes", "unsure"]
    numbers = order.table["question"].tolist()
    rows = [
        {"order": order.id, "question": n, "worker": worker, "answer": words[n % 5], "seconds": 6.0,
         "shared": 3}
        for n in numbers[: round(share * len(numbers))]
    ]  # fmt: skip
    path = Path(file)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def project(shell, tmp_path, request) -> Order:
    photographs(tmp_path / "photos", getattr(request, "param", 12), side=32)
    done = start(shell, "--backbone", "mobilenet_v2", "--weights", "random", "--per-image", 1)
    assert done.code == 0, done.err
    return Order.read("project/order1")


def test_questions_are_open_until_they_are_answered(shell, project, monkeypatch) -> None:
    before = shell("status", "project", "--json").json
    assert before["spent"] == before["spent_by_prices"] == 0
    (row,) = before["rounds"]
    assert (row["questions"], row["answered"], row["open"], row["people"]) == (36, 0, 36, 0)
    step = before["next"]
    assert step == f"simkit receive project ~/Downloads/answers-{project.id}-*.jsonl"
    assert shell("receive", "project", answers("half.jsonl", project, share=0.5)).code == 0
    (row,) = shell("status", "project", "--json").json["rounds"]
    assert len(Path("project/labels.csv").read_text().splitlines()) == 1 + 6
    assert (row["answered"], row["open"], row["people"]) == (18, 18, 1)
    monkeypatch.chdir("project")
    done = shell("status")
    assert "order1/round-1/page.html" in done.out and "simkit receive . ~/Down" in done.out


def test_spent_is_the_price_of_the_answers(shell, project) -> None:
    whole = cost(effort_of(project.table, project.shape, 1), "hourly").dollars
    for name, share, expected in (("a", 0.5, 0.5), ("b", 1.0, 1.5)):
        shell("receive", "project", answers(f"{name}.jsonl", project, share=share, worker=name))
        facts = shell("status", "project", "--json").json
        assert facts["spent_by_prices"] == pytest.approx(expected * whole)
        # Two seconds each, at $15 an hour.
        assert facts["spent"] == pytest.approx(expected * 36 * 2 * 15 / 3600)
    assert f"${expected * 36 * 2 * 15 / 3600:.2f} of $50 " in shell("status", "project").out


def test_a_budget_is_kept_by_the_rule_of_status(shell, project) -> None:
    """At the measured times: twice as long here as the price list says."""
    first = answers("ann.jsonl", project)
    first.write_text(first.read_text().replace('"seconds": 6.0', '"seconds": 18.0'))
    assert shell("receive", "project", first).code == 0
    before = shell("status", "project", "--json").json
    assert before["spent"] == 0.9 > 2 * before["spent_by_prices"]  # 36 x 6 s at $15 an hour
    words = "order --next project/order1 --answers 2 --to csv --json --budget"
    facts = shell(words, 0.33).json
    assert facts["dollars"] == pytest.approx(0.325)  # 13 questions
    assert facts["dollars_by_prices"] < 0.5 * facts["dollars"]
    again = Order.read("project/order1")
    rows = again.rounds[1].table.assign(worker="ben", answer="no", seconds=6.0)
    rows[["question", "worker", "answer", "seconds"]].to_csv("ben.csv", index=False)
    assert shell("receive", "project", "ben.csv").code == 0
    spent = shell("status", "project", "--json").json["spent"] - before["spent"]
    assert 0.3 < spent <= 0.33


@pytest.mark.parametrize("project", [24, 3], indirect=True)  # 3: too few for test images
def test_the_next_command_runs_as_printed(shell, project) -> None:
    done = shell("receive", "project", answers("all.jsonl", project))
    assert done.code == 0 and "../labels.csv" in done.out
    step = shell("status", "project", "--json").json["next"]
    assert f"next: {step}" in done.out
    assert step.startswith("simkit train ") and "--data" in step
    assert code(shlex.split(step)[1:]) == 0
    step = shell("status", "project", "--json").json["next"]
    assert step.startswith("simkit predict project/model ")
    file = Path("project/project.toml")
    text = file.read_text()
    file.write_text(text.replace('"random"', '"imagenet"'))  # trained with others
    assert "--weights random" in shell("status", "project", "--json").json["next"]
    file.write_text(text)
    assert code(shlex.split(step)[1:]) == 0
    step = shell("status", "project", "--json").json["next"]
    scores, tags = "project/scores.csv", "project/tags.csv"
    assert step == f"nothing; the scores of all images are in {scores}, their tags in {tags}"
    assert "people" in {*pd.read_csv("project/tags.csv")["source"]}
    scored = Trained.load("project/model").scored
    last = shell("status", "project").out.splitlines()[-1]
    stated = "no mAP was measured; "
    if scored:
        stated = f"{100 * scored['expected']:.1f} mAP (95% interval "
        assert f" images (split test): {100 * scored['map']:.1f}" in last
    assert last.startswith(f"model: {stated}")
    command = "simkit predict project/model --data folder:NEW,labels=NEW.csv --backbone"
    assert f"; on new labelled images: {command} " in last
    assert last.endswith("project/new_scores.csv --report project/model.html")
    assert shell("receive", "project").code == 0  # the same labels
    assert shell("status", "project", "--json").json["next"] == step
    assert shell("receive", "project", answers("ben.jsonl", project, worker="ben")).code == 0
    assert "next: simkit train " in shell("status", "project").out


@pytest.mark.parametrize("project", [24], indirect=True)
def test_the_printed_training_chooses_thresholds(shell, project) -> None:
    sure = answers("all.jsonl", project)
    sure.write_text(sure.read_text().replace("unsure", "no"))
    assert shell("receive", "project", sure).code == 0
    data = Path("project/order1/data.toml")
    copy = Path("copy.toml")
    copy.write_text(data.read_text().replace("val=0", "val=0.4"))
    step = shlex.split(shell("status", "project", "--json").json["next"])[1:]
    done = shell(*step)
    trained = Trained.load("project/model")
    how = ("18 training images with labels of nearly all classes, each scored by a model trained "
           "without it")  # fmt: skip
    assert trained.thresholds_from == 18 and f"highest F1 on {how})" in done.out
    shown = shell("show", "project/model").out
    assert f"(with 95% confidence for each class), on {how}" in shown
    none = [x for x, one in zip(trained.classes, trained.thresholds, strict=True) if isnan(one)]
    for out in (done.out, shown):
        said = out.partition(" reaches 50% precision with certainty: ")[2].partition(";")[0]
        assert none and said.split(", ") == none
    last = shell("status", "project").out.splitlines()[-1]
    lower = "; trained with a lower --tag-precision: 0 at 40%, 0 at 30%, 0 at 20%; what further "
    more = ("labels give is unknown: 0 images that no order asks about, and 4 are the fewest for "
            "which their tags were computed")  # fmt: skip
    assert last == f"tags: 0 of 3 classes at 50% precision{lower}{more}"
    tags = shell("status", "project", "--json").json["model"]["tags"]
    assert "to tag more" not in last and tags["train"] == ""  # no lower precision tags more
    options = {"lower": {"40%": 0, "30%": 1, "20%": 2}, "more": {"100%": 1}}
    replace(trained, tag_options=options).save("project/model")
    last = shell("status", "project").out.splitlines()[-1]
    *lowered, out, folder = shlex.split(last.partition("; to tag more: simkit ")[2])
    assert [*lowered, out, folder] == [*step[:-2], "--tag-precision", "30%", *step[-2:]]
    # The chosen precision stays with the project until another one is given.
    assert shell(*lowered, out, folder).code == 0
    assert Trained.load("project/model").tag_precision == 0.3
    assert shell("receive", "project", answers("ben.jsonl", project, worker="ben")).code == 0
    assert shell("status", "project", "--json").json["next"] == shlex.join(
        ["simkit", *lowered, out, folder]
    )
    done = shell(*[str(copy) if word == str(data) else word for word in step])
    assert "images: val, and training images with labels of nearly all" in done.out, done.err


def test_a_precision_of_tags_is_a_share_or_percent(shell) -> None:
    how = ("train", "--method", "an", "--labels", "labels.csv", "--report", "--tag-precision")
    done = shell(*how, "30")
    assert done.code == 2
    assert "--tag-precision is '30'" in done.err and "write 30% or 0.3" in done.err


@pytest.mark.parametrize("project", [24], indirect=True)
def test_the_expected_map_is_that_on_true_labels(shell, project, monkeypatch) -> None:
    """Errors that the answers measured are corrected for by training, as by plans; a model that was
    trained before says that it is not."""
    assert shell("receive", "project", answers("all.jsonl", project)).code == 0
    step = shell("status", "project", "--json").json["next"]
    assert code(shlex.split(step)[1:]) == 0
    before = Trained.load("project/model").scored
    monkeypatch.setattr(Project, "test_errors", lambda *_: (0.02, 0.01))
    assert "not corrected for the errors of these labels" in shell("status", "project").out
    done = shell(*shlex.split(step)[1:])
    after = Trained.load("project/model").scored
    assert after["map"] == before["map"] and after["errors"] == [0.02, 0.01]
    assert after["as_true"] == pytest.approx(before["expected"])
    assert after["expected"] != pytest.approx(before["expected"], abs=1e-3)
    by, way = 100 * (after["expected"] - before["expected"]), {True: "low", False: "high"}
    said = (f"errors of these labels (2.0% of present classes missed, 1.0% of absent ones reported)"
            f" make mAP look {abs(by):.1f} points too {way[by > 0]}")  # fmt: skip
    mean, *ends = (f"{100 * after[name]:.1f}" for name in ("expected", "low", "high"))
    expected = f"{mean} mAP (95% interval {' to '.join(ends)}) expected on new images; a random "
    for text in (done.out, shell("status", "project").out, shell("show", "project/model").out):
        assert expected in text and said in text and "not corrected" not in text
    network = shlex.split(step.partition("--backbone")[2].partition(" --report")[0])
    data = ("--data", "project/order1/data.toml", "--out", "all.csv", "--backbone", *network)
    for spec in ("project/order1/data.toml", "folder:photos,labels=project/labels.csv,val=0"):
        again = shell("predict", "project/model", "--data", spec, *data[2:])
        text = " ".join(again.out.split())
        assert expected in text and said in text and "After training" not in text, again.err
    table = pd.read_csv("project/labels.csv").drop(columns="split")
    table.to_csv("theirs.csv", index=False)
    again = shell(
        "predict", "project/model", "--data", "folder:photos,labels=theirs.csv", *data[2:]
    )
    text = " ".join(again.out.split())
    assert "labels are taken as true, as their errors are unknown" in text
    was = (
        f"After training {100 * after['expected']:.1f} was expected, from {after['images']} images "
    )
    assert f"{was}(split test), corrected for errors of their labels." in text
    facts = shell("predict", "project/model", *data, "--json").json["evaluation"]
    assert facts["expected"] == pytest.approx(after["expected"]) and facts["errors"] == [0.02, 0.01]


def test_a_pilot_is_compared_and_then_planned_with(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 660)
    assert start(shell, "--budget", 15, "--answers", 2).code == 0
    richer(Path("project"), 50)
    order = Order.read("project/order1")
    files = [answers(f"{name}.jsonl", order, worker=name) for name in ("ann", "ben")]
    assert shell("receive", "project", *files).code == 0
    table = Path("project/labels.csv").read_text().splitlines()
    assert len(table) == 1 + 220 and table[0] == "file,split,cat,dog,horse"
    assert sum(",test," in row for row in table) == 55 and not any(",val," in row for row in table)
    grid = Path("project/grid-1.toml")
    assert (
        f'data = "folder:{tmp_path}/photos,labels={tmp_path}/project/labels.csv' in grid.read_text()
    )
    project = Path("project/project.toml")
    settings = project.read_text()
    project.write_text(
        settings.replace('"mobilenet_v2"', '"scenes-net"').replace('"imagenet"', '""')
    )
    parts = data.open(tomllib.loads(grid.read_text())["data"]).truth
    assert {split: len(part.images) for split, part in parts.items()} == {"train": 165, "test": 55}
    assert "workers = 2" in grid.read_text()
    assert "errors = [[0.02, 0.02], [0.05, 0.05]]" in grid.read_text()  # two answers tell nothing
    done = shell("compare", grid, "--dry-run")
    assert done.code == 0 and "have no row" not in done.err
    assert (Grid.load(grid).backbone, Grid.load(grid).weights) == ("scenes-net", "")
    copied = grid.read_text().replace("schemes =", 'weights = "old.pth"\nschemes =')
    Path("project/copied.toml").write_text(copied)
    done = shell("compare", "project/copied.toml", "--dry-run")
    assert done.code == 2 and "weights is 'old.pth', but '' in project/project.toml" in done.err
    facts = shell("status", "project", "--json").json
    assert facts["next"] == "simkit compare project/grid-1.toml --out project/runs/1"
    runs = Path("project/runs/1")
    runs.mkdir(parents=True)
    (runs / "table.csv").touch()
    (runs / "grid.toml").write_text(Grid.load(grid).to_toml())
    compare = facts["next"]
    project.write_text(settings)  # of another network than the comparison
    assert shell("status", "project", "--json").json["next"] == compare
    (runs / "grid.toml").write_text(Grid.load(grid).to_toml())
    earlier = planted.write(tmp_path / "earlier", planted.data(tmp_path / "data", 30), fit=None)
    shutil.move(earlier / "table.parquet", runs)  # on central squares of the images
    assert shell("status", "project", "--json").json["next"] == compare
    (runs / "table.parquet").unlink()
    rest = f"{50 - facts['spent']:.2f}"
    step = shell("status", "project", "--json").json["next"]
    command = f"simkit plan project/runs/1 --budget {rest} --images 440"
    measured = "--prices project/order1/measured.toml"
    assert step == f"{command} {measured} --report project/plan.json"
    rows = [json.loads(line) for line in answers("eve.jsonl", order, worker="eve").open()]
    for row in rows[::10]:  # what the others call absent
        row["answer"] = "yes" if row["answer"] == "no" else row["answer"]
    Path("eve.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    grid.unlink()
    assert shell("receive", "project", "eve.jsonl").code == 0
    missed, reported = tomllib.loads(grid.read_text())["errors"][0]
    assert missed < 0.01 < reported < 0.1
    step = shell("status", "project", "--json").json["next"]
    assert f"--errors {round(100 * missed, 2):g}%,{round(100 * reported, 2):g}%" in step
    labels = Path("project/labels.csv").read_text()
    Path("project/labels.csv").write_text(labels.replace(",0", ",1", 1))  # as after other answers
    again = shell("status", "project", "--json").json["next"]
    assert again == "simkit compare project/grid-1.toml --out project/runs/1"
    Path("project/labels.csv").write_text(labels)
    assert shell("status", "project", "--json").json["next"] == step
    Path("project/plan.json").write_text('{"purchase_needed": true}')
    assert "order --next" in shell("status", "project", "--json").json["next"]
    trained = {"method": "ll-r", "lr": 0.02, "epochs": 7}
    text = json.dumps({"purchase_needed": False, "trained_as": trained})
    Path("project/plan.json").write_text(text)
    step = shell("status", "project", "--json").json["next"]
    assert "simkit train --method ll-r --lr 0.02 --epochs 7" in step
    Path("project/plan.json").unlink()
    Path("project/model").mkdir()
    shares = {"25%": 1, "50%": 1, "75%": 2, "100%": 3}
    Path("project/model/model.json").write_text(json.dumps({
        "thresholds": [None] * 3, "thresholds_from": 600, "tag_precision": 0.5,
        "tag_options": {"lower": {"40%": 0}, "more": shares}, "history": {"settings": {}},
    }))  # fmt: skip
    said = shell("status", "project").out
    assert (
        "with complete labels of 300 more training images, of the 440 images that no order asks "
        "about, if their tags are right as often: 1 ($15 by measured times, within the $"
    ) in said  # 3 classes, 2 answers, 2 s at $15 an hour; 450 images are not left
    shutil.rmtree("project/model")
    more = ("order", "--next", "project/order1", "--scheme", "rpa(keep=0.05)")
    assert shell(*more, "--images", "1.0", "--to", "csv").code == 0
    files = [answers(f"{n}.jsonl", Order.read("project/order1"), worker=n) for n in ("ann", "ben")]
    assert shell("receive", "project", *files).code == 0
    assert Path("project/labels.csv").read_text().splitlines() == table


@pytest.mark.parametrize("project", [24], indirect=True)
def test_a_model_is_compared_with_what_the_plan_expected_of_its_labels(shell, project) -> None:
    assert shell("receive", "project", answers("all.jsonl", project)).code == 0
    chosen = {"median": 0.511, "band90": [0.418, 0.604], "dollars": 12.15}
    order = [{"scheme": "full-subset"}]
    Path("project/plan.json").write_text(json.dumps(
        {"purchase_needed": True, "today": 0.411, "chosen": chosen, "order": order}
    ))  # fmt: skip
    promised = "41.1 mAP on new images with the labels that it used, 51.1 after $12.15 more\n"
    assert promised in shell("status", "project").out
    again = ("order", "--next", "project/order1", "--answers", 2, "--to", "csv")
    assert shell(*again).code == 0
    assert "; older than the labels" in shell("status", "project").out
    second = Order.read("project/order1")
    for worker in ("ben", "eve"):
        assert shell("receive", "project", answers("b.jsonl", second, worker=worker)).code == 0
    step = shell("status", "project", "--json").json["next"]
    assert code(shlex.split(step)[1:]) == 0, step
    scored = Trained.load("project/model").scored
    low, has, high = (f"{100 * scored[key]:.1f}" for key in ("low", "expected", "high"))
    gain = 100 * scored["expected"] - 41.1
    (line,) = (one for one in shell("status", "project").out.splitlines() if "plan:" in one)
    assert line.startswith(
        "plan: it expected 51.1 mAP (41.8 to 60.4) after the last purchase; the "
    )
    assert f" has {has} ({low} to {high}), " in line
    word = "more" if gain >= 0 else "less"
    assert line.endswith(f": {abs(gain):.1f} {word} than the 41.1 before")
    # A plan after the purchase says what the one before it promised.
    promised = {"map": 0.306, "band90": [0.2, 0.35], "before": 0.411}
    Path("project/plan.json").write_text(json.dumps(
        {"purchase_needed": False, "today": 0.5, "chosen": chosen, "promised": promised}
    ))  # fmt: skip
    (again,) = (one for one in shell("status", "project").out.splitlines() if "plan:" in one)
    assert again.startswith("plan: it expected 30.6 mAP (20.0 to 35.0) after the last purchase; ")
    assert again.endswith(f": {abs(gain):.1f} {word} than the 41.1 before")


@pytest.mark.parametrize("edited", ['["cat", "dog", "horse", "cow"]', '["cat", "dog"]'])
def test_classes_that_differ_from_those_asked_are_refused(shell, project, edited) -> None:
    file = Path("project/project.toml")
    before = file.read_text()
    file.write_text(before.replace('["cat", "dog", "horse"]', edited))
    done = shell("status", "project")
    assert done.code == 2 and "project.toml: classes was edited after order1" in done.err
    assert ("horse" if "horse" not in edited else "cow") in done.err
    file.write_text(before)
    assert shell("status", "project").code == 0


def test_the_next_command_holds_no_shell_code(shell, project, tmp_path) -> None:
    shell("receive", "project", answers("all.jsonl", project))
    file = Path("project/project.toml")
    file.write_text(file.read_text().replace('"mobilenet_v2"', '"x; touch PWN #"'))
    step = shell("status", "project", "--json").json["next"]
    words = shlex.split(step)
    assert words[words.index("--backbone") + 1] == "x; touch PWN #"


def test_answers_find_their_order_among_several(shell, project) -> None:
    words = ["--data", "folder:photos,labels=none", "--classes", "names.txt", "--scheme", "rpa"]
    assert shell("order", *words, "--keep", 0.2, "--out", "project/order2").code == 0
    second = Order.read("project/order2")
    assert shell("receive", "project", answers("two.jsonl", second)).code == 0
    assert (second.folder / "labels.parquet").exists()
    rows = shell("status", "project", "--json").json["rounds"]
    assert [(row["order"], row["open"]) for row in rows] == [("order1", 36), ("order2", 0)]
    both = Path("mixed.csv")
    both.write_text("question,worker,answer\n1,ann,yes\n")
    done = shell("receive", "project", both)
    assert done.code == 2 and "project/order1" in done.err


def test_what_is_over_the_budget_is_said_and_pay_is_what_people_get(shell, project) -> None:
    file = Path("project/project.toml")
    file.write_text(re.sub(r"budget = .*", "budget = 0.1", file.read_text()))
    given = answers("all.jsonl", project)
    given.write_text(given.read_text().replace('"seconds": 6.0', '"seconds": 5.0'))
    done = shell("receive", "project", given, "--json")
    paid = sum(round(one["pay"], 2) for one in done.json["people"])
    assert paid == 0.25  # 36 questions of 5/3 s at $15 an hour
    assert shell("status", "project", "--json").json["spent"] == pytest.approx(paid, abs=1e-6)
    said = shell("status", "project").out
    assert "spent $0.25 of $0.10" in said and "; $0.15 over" in said


def test_the_files_of_those_who_have_open_questions_are_named(shell, tmp_path) -> None:
    photographs(tmp_path / "photos", 12, side=32)
    assert start(shell, "--to", "csv", "--annotators", "ann,ben").code == 0
    folder = "project/order1/round-1"
    step = f"simkit receive project {folder}/questions-ann.csv {folder}/questions-ben.csv"
    assert shell("status", "project", "--json").json["next"].startswith(step)
    file = Path(folder, "questions-ann.csv")
    pd.read_csv(file).assign(answer="no", seconds=2.0).to_csv(file, index=False)
    done = shell("receive", "project", file)
    assert done.code == 0, done.err
    words = done.out.splitlines()[-1].split()
    assert f"{folder}/questions-ben.csv" in words and f"{folder}/questions-ann.csv" not in words


def test_what_rounds_and_people_cost_adds_up_to_the_cent(shell, project) -> None:
    everything = answers("a.jsonl", project).read_text().replace("6.0", "7.7")
    everything = everything.replace('"seconds": 7.7', '"seconds": 77.0', 3)  # Ann made a pause
    for name, share in (("ann", 12), ("ben", 24), ("eve", 36)):
        file = Path(f"{name}.jsonl")
        lines = everything.replace('"ann"', f'"{name}"').splitlines()[share - 12 : share]
        file.write_text("\n".join(lines))
        assert shell("receive", "project", file).code == 0
    words = "order --next project/order1 --answers 2".split()
    assert shell(*words, "--to", "csv").code == 0
    order = Order.read("project/order1")
    rows = order.rounds[1].table.assign(worker="zoe", answer="no", seconds=1.9)
    rows[["question", "worker", "answer", "seconds"]].to_csv("second.csv", index=False)
    done = shell("receive", "project", "second.csv", "--json").json
    pay = [round(one["pay"], 2) for one in done["people"]]
    assert [one["pay"] for one in done["people"]] == pay  # whole cents
    status = shell("status", "project", "--json").json
    spent = [row["dollars"] for row in status["rounds"]]
    seconds = np.array([24, 12, 12]) * 7.7 / 3, np.array([len(rows) * 1.9])  # a pause is cut
    each = [(times * 15 / 3600).round(2).sum() for times in seconds]
    assert spent == pytest.approx(each)  # each person's pay is rounded alone
    assert round(sum(spent), 2) == status["spent"] == round(sum(pay), 2)
    said = shell("receive", "project").out
    (total,) = re.findall(r"all +\d+ +\$([\d.]+) +\$([\d.]+) +\$([\d.]+)", said)
    assert [*map(float, total)] == [*spent, status["spent"]]
    assert f"${spent[1]:.2f}" in shell("status", "project").out
    # Slow answers that come later would cut less of a pause; pay for earlier answers stays.
    before = {one["name"]: one["pay"] for one in done["people"]}
    late = (
        answers("late.jsonl", project).read_text().replace('"ann"', '"dan"').replace("6.0", "600")
    )
    Path("late.jsonl").write_text(late)
    done = shell("receive", "project", "late.jsonl", "--json").json
    after = {one["name"]: one["pay"] for one in done["people"]}
    assert {**after, **before} == after and {*after} - {*before} == {"dan"}
    status = shell("status", "project", "--json").json
    assert round(sum(after.values()), 2) == status["spent"]
    assert status["rounds"][1]["dollars"] == spent[1]
