"""`simkit compare`: a small grid from a file, resumed, and refused where it is wrong."""

import csv
import json
import re
from pathlib import Path

import pytest

from simkit.history import versions
from simkit.results import runs
from simkit.study import compare, worker
from tests.cli.test_quickstart import photographs

GRID = """
data = "scenes:images=150,val=20,test=100"
schemes = ["single-positive", "rpa"]
methods = ["an", "ignore"]
budgets = [40]
prices = "coco-tagging"
draws = 2
[train]
epochs = 2
"""


def test_a_small_grid_leaves_its_results_and_resumes(shell) -> None:
    Path("grid.toml").write_text(GRID)
    done = shell("compare", "grid.toml", "--out", "runs", "--workers", 1)
    assert done.code == 0, done.err
    with open("runs/table.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 2
    assert {(row["scheme"], row["method"]) for row in rows} == {
        (s, m) for s in ("single-positive", "rpa") for m in ("an", "ignore")
    }
    for row in rows:
        assert 30 < float(row["dollars"]) <= 40
        assert 0 < float(row["map"]) < 1
    for name in ("heat_map.png", "cost_curve.png", "summary.md", "table.parquet"):
        assert Path("runs", name).stat().st_size > 100
    assert done.out.count("\n$40: ") == 1 and "rpa at $40" not in done.out
    assert done.out.endswith("simkit plan runs --budget 40\n")
    bundles = {p: p.stat().st_mtime_ns for p in Path("runs/bundles").iterdir()}
    again = shell("compare", "grid.toml", "--out", "runs", "--workers", 1)
    assert again.code == 0
    assert {p: p.stat().st_mtime_ns for p in Path("runs/bundles").iterdir()} == bundles
    # In a project, the plan alone states the purchase and the mAP on new images.
    photographs(Path("photos"), 6)
    Path("names.txt").write_text("cat\ndog\n")
    assert shell("quickstart", "photos", "--classes", "names.txt", "--budget", 50).code == 0
    Path("runs").rename("project/runs")
    third = shell("compare", "grid.toml", "--out", "project/runs", "--workers", 1)
    assert third.out.count("on new images") == 1
    assert "simkit plan decides on the purchase" in third.out and "\n$40: " not in third.out
    following = shell("status", "project", "--json").json["next"]
    assert third.out.endswith(f"next: {following}\n") and following.startswith("simkit receive ")
    Path("grid-2.toml").write_text(GRID.replace("draws = 2", "draws = 1\nreference = false"))
    other = shell("compare", "grid-2.toml", "--out", "project/further", "--workers", 1)
    assert other.code == 0 and other.out.endswith(f"next: {following}\n")
    shown = shell("show", "project/runs").out
    assert "\n$40: " in shown and "|" not in shown
    assert shown.endswith("full table: project/runs/summary.md\n")


def test_the_seed_of_the_file_counts_unless_another_is_given(shell) -> None:
    Path("grid.toml").write_text("seed = 7\n" + GRID.replace("draws = 2", "draws = 1"))
    for options, seed in (((), "7"), (("--seed", 9), "9")):
        out = f"runs{seed}"
        done = shell("compare", "grid.toml", "--out", out, "--workers", 1, *options)
        assert done.code == 0, done.err
        with open(f"{out}/table.csv") as file:
            assert {row["seed"] for row in csv.DictReader(file)} == {seed}


BAD = {
    "unknown scheme": ('schemes = ["fcp"]\nmethods = ["an"]', "did you mean 'fpc'?"),
    "unknown key": ('scheme = ["fpc"]', "did you mean 'schemes'?"),
    "not toml": ("schemes = [", "grid.toml"),
    "negative budget": ('schemes = ["rpa"]\nmethods = ["an"]\nbudgets = [-3]', "-3"),
    "no methods": ('schemes = ["rpa"]\nmethods = []', "methods"),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=list(BAD))
def test_bad_grid(shell, text: str, message: str) -> None:
    Path("grid.toml").write_text(text)
    done = shell("compare", "grid.toml", "--out", "runs")
    assert done.code == 2
    assert message in done.err and done.err.count("\n") == 1
    assert not Path("runs").exists()


def test_missing_grid(shell) -> None:
    done = shell("compare", "nowhere.toml")
    assert done.code == 2
    assert "nowhere.toml does not exist" in done.err


def test_another_grid_in_the_same_folder_is_noted(shell) -> None:
    Path("grid.toml").write_text(GRID.replace("draws = 2", "draws = 1"))
    first = shell("compare", "grid.toml", "--workers", 1)
    assert (first.code, "another grid" in first.err) == (0, False)
    assert re.search(r"\$40: .+ with .+ is highest, .+; one draw", first.out)
    assert "# What to buy" in Path("runs/summary.md").read_text()
    Path("grid.toml").write_text(GRID.replace("draws = 2", "draws = 1").replace('"an", ', ""))
    second = shell("compare", "grid.toml", "--workers", 1)
    assert "simkit: note: runs has the results of another grid" in second.err
    assert "the plan counts those that this grid shares" in second.err


def test_parts_and_schedulers_that_cannot_be(shell, monkeypatch) -> None:
    Path("grid.toml").write_text(GRID)
    done = shell("compare", "grid.toml", "--part", "9/8")
    message = "simkit: part is '9/8'; I/N with I from 1 to N is expected, such as 1/16\n"
    assert done.code == 2 and done.err.endswith(message)
    for option in (("--workers", 2), ("--dry-run",)):
        done = shell("compare", "grid.toml", "--scheduler", "tcp://10.0.0.1:8786", *option)
        assert done.code == 2 and f"--scheduler and {option[0]}" in done.err
    monkeypatch.setattr("simkit.study.scheduler._PATIENCE", 0.2)
    done = shell("compare", "grid.toml", "--scheduler", "tcp://127.0.0.1:1")
    assert done.code == 2 and "no scheduler answers at 'tcp://127.0.0.1:1'; start" in done.err
    assert not Path("runs").exists()


def test_the_help_shows_a_file_for_an_array(shell) -> None:
    shown = shell("compare", "--help").out
    assert "#SBATCH --array=1-16\n" in shown
    assert "simkit compare grid.toml --out runs/ --part $SLURM_ARRAY_TASK_ID/16\n" in shown


def test_a_part_says_what_is_left(shell, monkeypatch) -> None:
    # The draws of this small grid would be one job.
    monkeypatch.setattr("simkit.study.jobs.draws_per_job", lambda each, draws: 1)
    Path("grid.toml").write_text(GRID)
    done = shell("compare", "grid.toml", "--part", "1/2", "--workers", 1)
    assert done.code == 0 and done.out.startswith(
        "part 1/2 has 7 runs in runs; unfinished trainings of the grid: 7; "
    )
    assert "the same command without --part" in done.out and done.out.count("\n") == 1


def test_a_dry_run_prints_the_plan_and_computes_nothing(shell, monkeypatch) -> None:
    Path("grid.toml").write_text(GRID)
    monkeypatch.setenv("SIMKIT_CACHE", "empty")
    done = shell("compare", "grid.toml", "--dry-run", "--workers", 2)
    assert done.code == 0 and re.fullmatch(
        r"plan: 2 schemes x 1 budget x 2 methods x 2 draws: 8 trainings, and 6 with all labels\n"
        r"14 trainings in 1 job, 4 of them shared \(methods that are equal on complete labels are "
        r"trained once\)\n"
        r"features: 0\.\d MB in empty; to compute: \d\d\d images\n"
        r"roughly 0:0\d:\d\d of processor time, 0:0\d:\d\d if each of 2 workers .*; "
        r"about [\d,]+ MB per worker\n",
        done.out,
    )
    facts = json.loads(shell("compare", "grid.toml", "--dry-run", "--json").out)
    assert (facts["runs"], facts["jobs"], facts["finished"]) == (8, 1, 0)
    assert not Path("runs").exists()
    run = shell("compare", "grid.toml", "--workers", 1)
    assert "simkit: plan" not in run.err and "plan: 2 schemes x 1 budget" in run.err
    done = shell("compare", "grid.toml", "--dry-run")
    assert done.out.endswith("14 trainings in 1 job, 14 finished\nnothing is left to train\n")


def test_an_interrupted_comparison_says_what_is_kept(shell, monkeypatch) -> None:
    def interrupted(*of, **how):
        raise KeyboardInterrupt

    Path("grid.toml").write_text(GRID)
    with monkeypatch.context() as patch:
        patch.setattr("simkit.study.compare.open_source", interrupted)
        done = shell("compare", "grid.toml")
    assert done.code == 130 and done.err.endswith("simkit: interrupted before any work began\n")
    monkeypatch.setattr("simkit.study.compare.finish", interrupted)
    done = shell("compare", "grid.toml", "--workers", 1)
    assert done.code == 130
    assert "simkit: interrupted before a training was finished; the same call" in done.err


def test_the_sweep_of_an_interrupted_comparison_is_counted(shell, monkeypatch) -> None:
    done, finish = [], compare.finish

    def interrupted(share, *others):
        if done:
            raise KeyboardInterrupt
        done.extend(share)
        return finish(share, *others)

    Path("grid.toml").write_text(GRID.replace('"rpa"', "").replace('"ignore"', ""))
    monkeypatch.setattr(compare, "finish", interrupted)
    told = shell("compare", "grid.toml", "--fair", "--workers", 1).err
    trainings = sum(job.runs for job in done)
    # Six compare, and the results of the first settings tell which others to try.
    said = re.search(r"interrupted; (\d+) of (\d+) trainings are finished and kept", told)
    assert int(said[1]) == trainings and int(said[2]) > trainings + 6


def interrupted_after_two():
    """The sizes of the trained stacks, and a training that is interrupted at the third."""
    trained, train = [], worker.train_stack

    def interrupted(runs, **how):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(len(runs))
        return train(runs, **how)

    return trained, interrupted


def test_finished_trainings_of_an_interrupted_job_are_not_repeated(shell, monkeypatch) -> None:
    trained, interrupted = interrupted_after_two()
    Path("grid.toml").write_text(GRID)
    command = "compare", "grid.toml", "--workers", 1, "--out"
    shell(*command, "undisturbed")
    monkeypatch.setattr(worker, "train_stack", interrupted)
    done = shell(*command, "runs")
    assert sum(trained) == 5  # on complete labels the three methods are one training
    said = "7 of 14 trainings are finished"
    assert f"interrupted; {said} and kept in runs; the same call or command" in done.err
    shown = shell("show", "runs")
    assert shown.code == 2 and said in shown.err
    assert shown.err.endswith("resume it: simkit compare GRID.toml --out runs\n")
    trained += [0, 0]  # the third is no longer interrupted
    assert shell(*command, "runs").code == 0
    assert sum(trained) == 2 * (2 * 2 + 1)  # draws, schemes x methods, and complete labels
    first, second = (runs.read(folder).drop_columns(runs.MEASURED) for folder in
                     ("undisturbed", "runs"))  # fmt: skip
    assert first.equals(second)
    assert len([*Path("runs/bundles").iterdir()]) == 1  # the job


def test_trainings_by_other_versions_of_the_libraries_are_repeated(shell, monkeypatch) -> None:
    trained, interrupted = interrupted_after_two()
    Path("grid.toml").write_text(GRID)
    monkeypatch.setattr(worker, "train_stack", interrupted)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "versions", lambda: {**versions(), "numpy": "1.0"})
        assert shell("compare", "grid.toml", "--workers", 1).code == 130
    trained += [0, 0, 0]
    assert shell("compare", "grid.toml", "--workers", 1).code == 0
    made_with = runs.read("runs")["environment"].to_pylist()
    assert {json.loads(text)["numpy"] for text in made_with} == {versions()["numpy"]}


def test_what_failed_stays_on_disk(shell) -> None:
    Path("grid.toml").write_text(GRID.replace('"ignore"', '"full"'))
    done = shell("compare", "grid.toml", "--workers", 1)
    assert done.code == 1 and "4 of 12 runs failed and are left out everywhere" in done.out
    assert (
        "wrote summary.md, grid.toml, heat_map.png, cost_curve.png, table.csv, table.parquet"
        in done.out
    )
    assert done.err.count("single-positive (full), rpa (full); the first error: ") == 1
    told = Path("runs/summary.md").read_text()
    assert told.startswith(
        "# Comparison\n\nscenes:images=150,val=20,test=100: 150 training images and 100 test "
        "images, 52 classes; features of scenes-net; prices coco-tagging, annotators never err; "
        f"2 draws, seed 0; 2 epochs, the last is scored; simkit {versions()['simkit']}\n"
    )
    assert "# Failed\n\n4 of 12 runs failed" in told
    others = "full and 3 other runs (single-positive, full; rpa, full): method 'full' needs"
    assert told.count(others) == 1 and re.search(
        f"\n- single-positive, .*{re.escape(others)}", done.err
    )
    planned = shell("compare", "grid.toml", "--dry-run", "--out", "elsewhere")
    assert "4 of these will fail, for the reasons in the note" in planned.out
    assert others in planned.err and not Path("elsewhere").exists()
    shown = shell("show", "runs")
    assert shown.out.startswith("8 of 12 runs: ") and "method 'full' needs complete" in shown.out
    assert len(shell("show", "runs", "--json").json["failures"]) == 4
