"""The next step of a project depends on the content of its files, not on their times."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.orders.order import Order
from simkit.orders.project import Project, next_step
from simkit.orders.project_state import record
from tests.cli.test_quickstart import photographs, richer
from tests.cli.test_status import answers


def step(folder: Path) -> str:
    project = Project.read(folder)
    return next_step(project, project.states).replace(str(folder), "PROJECT")


def shuffled(folder: Path, seed: int) -> None:
    """New times for all files, in any order, as after `git clone`."""
    for file, time in zip(
        sorted(folder.rglob("*")), np.random.default_rng(seed).permutation(10_000), strict=False
    ):
        os.utime(file, (time, time))


def same_in_copies(folder: Path, command: str) -> None:
    """The next command is this one, in the project and in its copies."""
    assert step(folder).startswith(command)
    for seed in range(2):
        copy = folder.parent / f"copy-{seed}"
        shutil.copytree(folder, copy)
        shuffled(copy, seed)
        assert step(copy) == step(folder)
        shutil.rmtree(copy)


@pytest.fixture
def project(tmp_path) -> Path:
    photos, folder = photographs(tmp_path / "photos", 660), tmp_path / "project"
    words = ["quickstart", f"folder:{photos}", "--classes", str(tmp_path / "names.txt")]
    assert code([*words, "--budget", "8", "--out", str(folder)]) == 0
    richer(folder, 50)
    return folder


def receive(folder: Path) -> None:
    order = Order.read(folder / "order1")
    file = answers(str(folder.parent / f"{len(order.rounds)}.jsonl"), order)
    assert code(["receive", str(folder), str(file)]) == 0


def compared(folder: Path) -> None:
    """Stand-ins for the results of the comparison."""
    for grid in folder.glob("grid-*.toml"):
        out = folder / "runs" / grid.stem.removeprefix("grid-")
        out.mkdir(parents=True)
        (out / "table.csv").touch()


def trained(folder: Path, name: str) -> None:
    (folder / "model").mkdir(exist_ok=True)
    facts = {"history": {"settings": {"backbone": name}}}
    (folder / "model" / "model.json").write_text(json.dumps(facts))


def test_every_step_is_the_same_in_copies(project):
    same_in_copies(project, "simkit receive")
    receive(project)
    same_in_copies(project, "simkit compare")
    compared(project)
    same_in_copies(project, "simkit plan")
    plan = project / "plan.json"
    plan.write_text('{"purchase_needed": true}')
    same_in_copies(project, "simkit order --next")
    order_next(project)
    same_in_copies(project, "simkit receive")
    receive(project)
    same_in_copies(project, "simkit plan")  # the plan was made before the last round
    plan.write_text('{"purchase_needed": false}')  # by hand
    same_in_copies(project, "simkit train")
    trained(project, "first")
    same_in_copies(project, "simkit predict")
    (project / "scores.csv").write_text("scores of the first")
    same_in_copies(project, "nothing")
    trained(project, "second")
    same_in_copies(project, "simkit predict")
    (project / "scores.csv").write_text("scores of the second")
    same_in_copies(project, "nothing")


def test_a_plan_is_made_again_after_its_comparisons(project, capsys):
    """Later answers change labels of the pilot, so the comparisons, and then the plan."""
    receive(project)
    compared(project)
    plan = project / "plan.json"
    plan.write_text('{"purchase_needed": true}')
    same_in_copies(project, "simkit order --next")
    order = Order.read(project / "order1")
    files = [
        answers(str(project.parent / f"{name}.jsonl"), order, worker=name)
        for name in ("ben", "eve")
    ]
    for file in files:
        file.write_text(file.read_text().replace('"unsure"', '"yes"'))
    assert code(["receive", str(project), *map(str, files)]) == 0
    same_in_copies(project, "simkit compare")
    runs = project / "runs" / "1"
    assert code(["plan", str(runs), "--budget", "10"]) == 2  # its runs are stand-ins
    again = f"simkit compare {project / 'grid-1.toml'} --out {runs}"
    assert f"compare again, then plan: {again}" in capsys.readouterr().err
    (runs / "table.csv").write_text("after the answers")
    same_in_copies(project, "simkit plan")
    plan.write_text('{"purchase_needed": false}')
    same_in_copies(project, "simkit train")


def test_a_plan_that_searches_by_a_model_first_makes_the_scores(project):
    """The model is trained on the pilot, and its scores of all images go with the order."""
    receive(project)
    compared(project)
    (project / "plan.json").write_text('{"purchase_needed": true, "searched": {"right": 0.2}}')
    same_in_copies(project, "simkit train")
    trained(project, "first")
    same_in_copies(project, "simkit predict")
    (project / "scores.csv").write_text("scores of the first")
    same_in_copies(project, "simkit order --next")
    assert step(project).endswith("--plan PROJECT/plan.json --scores PROJECT/scores.csv")


def test_an_image_that_cannot_be_read_does_not_stop_the_scores(tmp_path):
    photos, folder = photographs(tmp_path / "photos", 6), tmp_path / "project"
    (photos / "torn.png").write_bytes((photos / "0001.png").read_bytes()[:60])
    words = ["quickstart", f"folder:{photos}", "--classes", str(tmp_path / "names.txt")]
    assert code([*words, "--budget", "8", "--out", str(folder)]) == 0
    receive(folder)
    trained(folder, "first")
    same_in_copies(folder, "simkit predict")
    assert "--unreadable skip" in step(folder)


def order_next(project: Path) -> None:
    words = ["order", "--next", str(project / "order1"), "--scheme", "rpa(keep=0.05)"]
    assert code([*words, "--images", "1.0", "--to", "csv"]) == 0


def test_results_that_no_step_saw_count_for_the_sources_before_the_next_step(project):
    """A plan and scores are made, and a round is ordered, without `simkit status` in between."""
    receive(project)
    compared(project)
    (project / "plan.json").write_text('{"purchase_needed": true}')
    order_next(project)
    receive(project)
    assert step(project).startswith("simkit plan")


def test_a_result_made_again_with_equal_content_is_up_to_date(project):
    """As a model from labels that a second annotator only confirmed."""
    receive(project)
    compared(project)
    plan = project / "plan.json"
    plan.write_text('{"purchase_needed": true}')
    order_next(project)
    receive(project)
    plan.write_text('{"purchase_needed": true}')
    assert step(project).startswith("simkit plan")
    record(project, made=plan)  # as `simkit plan --report` does
    same_in_copies(project, "simkit order --next")


def test_projects_without_a_state_file_go_by_file_times_once(project):
    receive(project)
    compared(project)
    plan = project / "plan.json"
    plan.write_text('{"purchase_needed": true}')
    for time, command in ((1, "simkit plan"), (2e9, "simkit order --next")):
        (project / "state.json").unlink(missing_ok=True)
        os.utime(plan, (time, time))
        same_in_copies(project, command)


def test_scores_under_their_earlier_name_are_refused_with_the_mend(project, capsys):
    (project / "given_scores.parquet").write_bytes(b"")
    assert code(["status", str(project)]) == 2
    mend = f"mv {project / 'given_scores.parquet'} {project / 'project_scores.parquet'}"
    assert mend in capsys.readouterr().err


def test_a_damaged_state_is_refused(project):
    file = project / "state.json"
    file.write_text(file.read_text().replace("results", "result"))
    with pytest.raises(BadInput, match=r"state\.json.*delete it"):
        step(project)
