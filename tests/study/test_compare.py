"""A comparison from grid to files: resumed, widened, shared, tuned, failing, interrupted."""

import dataclasses
import importlib
import json
import multiprocessing
import re
import shutil
import sys
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import torch

import simkit
from simkit import methods
from simkit.annotate.schemes import schemes as SCHEMES
from simkit.errors import BadInput
from simkit.learn.method import methods as METHODS
from simkit.results import job_store, result_tables, runs
from simkit.results.runs import describe
from simkit.results.statistics import error_of_choice
from simkit.study import compare as module
from simkit.study import jobs, scheduler, worker
from simkit.study.compare import Hooks, compare, estimate
from simkit.study.grid import Grid
from simkit.study.scheduler import Finished
from simkit.study.sweep import choose, further, sweep
from tests.learn.pretended import pretended_gpu
from tests.study.conftest import save_truth
from tests.study.work import planned, repeatable

FILES = ["bundles", "cost_curve.png", "grid.toml", "heat_map.png", "reference.csv",
         "reference.parquet", "scores.parquet", "summary.md", "table.csv",
         "table.parquet"]  # fmt: skip
FILES_UNDRAWN = [name for name in FILES if not name.endswith(".png")]


@pytest.fixture
def undrawn(monkeypatch):
    """No pictures, which take longer than these runs."""
    monkeypatch.setattr(module, "PICTURES", {})


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def watch(seen: list):
    """Appends (done, total) of each call to `seen`."""
    return lambda *at: seen.append(at)


def test_a_comparison_leaves_everything_and_goes_on_where_it_stopped(small, tmp_path, one_each):
    grid, seen = small(), []
    result = compare(grid, out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert names(tmp_path) == FILES and result.failures == ()
    assert len(names(tmp_path / "bundles")) == 2 * (2 * 2 + 1)
    counts = [done for done, _ in seen]  # after each job, and perhaps within it
    assert counts == sorted(counts) and {total for _, total in seen} == {24}
    steps = np.diff(sorted({*counts}))  # every job has 2 or 4 runs
    assert counts[0] == 0 and counts[-1] == 24 and set(steps) <= {2, 4}
    assert len(result.table) == 8 * 2 and len(result.reference) == 4 * 2
    assert Grid.load(tmp_path / "grid.toml") == grid
    back = simkit.open_runs(tmp_path)
    for name in ("table", "reference"):
        pd.testing.assert_frame_equal(getattr(back, name), getattr(result, name))
    assert len(result_tables.class_names(back.table)) == 52
    assert len(result_tables.leaves(back.table)) == 41
    facts = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert len(facts["cells"]) == 8 and facts["runs"] == facts["planned"] == 24
    assert {"probability_best", "map", "low", "behind_low"} < set(facts["cells"][0])
    text, summary = result.text(), (tmp_path / "summary.md").read_text()
    untuned, split, assumed, first, *_ = text.splitlines()
    assert untuned.startswith("untuned: ") and split.startswith("one fixed test split of 80 images")
    assert "50% of which show the class: its labels cost $30; without such a model, sea" in assumed
    assert first.startswith("$10: ") and "\n\n# What to buy\n" in summary
    notes = [line for line in text.splitlines() if line.startswith("note: fpc")]
    assert notes and all(re.match(r"note: fpc\(per_class=10\): \d+ of", note) for note in notes)
    assert "## Notes" in summary and "Failed" not in summary and result.lacking() == []
    shown = result._repr_html_()
    assert "16 runs, 8 on all labels&gt;<br>untuned: " in shown
    assert "cost <span>$</span>30; without such a model" in shown

    (gone, damaged, *_) = sorted((tmp_path / "bundles").iterdir())
    gone.unlink()
    damaged.write_bytes(damaged.read_bytes()[:100])
    seen.clear()
    with pytest.warns(UserWarning, match="is damaged"):
        again = compare(grid, out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert seen[0][0] >= 16 and seen[-1] == (24, 24)  # the two jobs have 2 or 4 runs each
    assert repeatable(again) == repeatable(result)


def test_any_executor_and_any_number_of_workers_give_the_same_bits(small, tmp_path, undrawn):
    grid = small(budgets=[10], draws=1)
    here = compare(grid, out=tmp_path / "a", workers=1)
    processes = compare(grid, out=tmp_path / "b", workers=2)
    with ThreadPoolExecutor(1) as pool:
        threads = compare(grid, out=tmp_path / "c", executor=pool)
    assert repeatable(here) == repeatable(processes) == repeatable(threads)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_shown_within_a_job(tiny, tmp_path, undrawn, monkeypatch, workers):
    monkeypatch.setattr(jobs, "draws_per_job", lambda each, draws: 1)
    monkeypatch.setattr(scheduler, "_SHOW", 0.01)
    seen, slow = [], tiny(draws=2, methods=["an", "ignore"], train={"epochs": 60})
    compare(slow, out=tmp_path, workers=workers, hooks=Hooks(watch(seen)))
    assert seen == sorted(seen) and seen[0][0] == 0 and seen[-1][0] == seen[-1][1]
    assert len({*seen}) > 3  # the start, two jobs, and more


def test_another_grid_in_the_same_folder_keeps_what_is_there(small, tmp_path, undrawn, one_each):
    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    seen = []
    compare(small(), out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert seen[0] == (8, 24)
    narrow = small(budgets=[10], draws=1, reference=False)
    compare(narrow, out=tmp_path, workers=1)
    back = simkit.open_runs(tmp_path)
    assert len(back.table) == 2 * 2 and back.reference.empty  # of this grid alone
    assert Grid.load(tmp_path / "grid.toml") == narrow


def test_heads_are_trained_on_a_gpu_where_that_is_worth_it(small, tmp_path, undrawn, monkeypatch):
    """On a pretended one; other machines and parts of the work keep the keys of the CPU."""
    grid = small(draws=1)
    here = compare(grid, out=tmp_path / "cpu", workers=1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "pretended")
    with pretended_gpu(monkeypatch):
        assert estimate(grid, out=tmp_path / "gpu", workers=1).device == "cpu"
        monkeypatch.setattr(module, "WORTH", 0.0)
        assert estimate(grid, out=tmp_path / "gpu", workers=1, part="1/2").device == "cpu"
        planned = estimate(grid, out=tmp_path / "gpu", workers=1)
        assert planned.device == "cuda" and "trained on the GPU" in planned.text()
        assert planned.finished == 0
        # Eight processes keep a GPU busy; a small one has memory for fewer.
        monkeypatch.setattr(module, "usable_cores", lambda: 16)
        assert estimate(grid, out=tmp_path / "gpu").workers == 8
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (7 << 30, 8 << 30))
        assert estimate(grid, out=tmp_path / "gpu").workers == 2
        there = compare(grid, out=tmp_path / "gpu", workers=1)
        assert estimate(grid, out=tmp_path / "gpu", workers=1).finished == planned.jobs
    for one, other in ((here.table, there.table), (here.reference, there.reference)):
        np.testing.assert_allclose(other["map"], one["map"], atol=1e-5)
        assert {json.loads(text)["device"] for text in other["environment"]} == {"cuda (pretended)"}
        assert {json.loads(text)["device"] for text in one["environment"]} == {"cpu"}
    assert not {*here.table["key"]} & {*there.table["key"]}
    monkeypatch.undo()
    if not torch.cuda.is_available():
        with pytest.raises(BadInput, match="device is 'cuda', and torch sees 0 GPUs"):
            compare(dataclasses.replace(grid, device="cuda"), out=tmp_path / "no", workers=1)


def test_without_budgets_amounts_are_as_written(small, tmp_path, undrawn):
    grid = small(budgets=[], draws=1, schemes=["rpa(keep=0.2)", "rpa(keep=0.5)"])
    table = compare(grid, out=tmp_path, workers=1).table
    assert table["scheme_spec"].tolist()[::2] == ["rpa(keep=0.2)", "rpa(keep=0.5)"]
    assert table["budget"].isna().all()
    assert "What to buy" not in (tmp_path / "summary.md").read_text()


def test_levels_of_errors_have_a_file_that_nothing_else_reads(small, tmp_path, undrawn, one_each):
    """Labels at a level err at its rates beyond those of the data; other runs stay the same."""
    plain, grid = small(draws=1), small(draws=1, errors=[[0.2, 0.0], [0.2, 0.1]])
    before = compare(plain, out=tmp_path / "plain", workers=1)
    after = compare(grid, out=tmp_path / "levels", workers=1)
    left_out = [*runs.MEASURED, "environment", "key"]
    for name in ("table", "reference"):
        one, other = (getattr(each, name).drop(columns=left_out) for each in (before, after))
        pd.testing.assert_frame_equal(one, other)
    assert names(tmp_path / "levels") == sorted([*FILES_UNDRAWN, "errors.csv", "errors.parquet"])
    table = runs.read_errors(tmp_path / "levels").to_pandas()
    assert len(table) == 2 * len(grid.references)
    present, absent = (after.reference[side].iat[0] for side in ("present", "absent"))
    for (miss, false_alarm), rows in table.groupby(list(runs.ERRORS)):
        expected = (1 - miss) * present + false_alarm * absent
        assert rows["present"].iat[0] == pytest.approx(expected, rel=0.05)
    assert Grid.load(tmp_path / "levels" / "grid.toml") == grid
    assert "errors" not in (tmp_path / "plain" / "grid.toml").read_text()
    compare(plain, out=tmp_path / "levels", workers=1)
    assert not len(runs.read_errors(tmp_path / "levels"))


@pytest.mark.parametrize(
    "values", [{"errors": [[0.1]]}, {"errors": [[0.0, 0.0]]}, {"errors": [[0.1, 0]]} |
               {"reference": False}, {"errors": [[0.1, 0]], "habits": {"miss": 0.1}}]
)  # fmt: skip
def test_levels_of_errors_that_mean_nothing_are_refused(small, values):
    with pytest.raises(BadInput, match="errors"):
        small(**values)


def test_a_purchase_that_fails_does_not_stop_the_others(small, tmp_path, undrawn):
    # An image costs $0.37 where one asks for a class that it shows, and $0.52 where for all.
    grid = small(schemes=["single-positive", "full-subset"], budgets=[0.45, 0.5], draws=1)
    said_before = (
        r"^4 of 12 runs will fail, .*:\n- full-subset, budget 0.45, draw 0, an and 3 other runs .*:"
        r" a budget of \$0.45 buys"
    )
    with pytest.warns(UserWarning, match=said_before):
        module.estimate(grid, out=tmp_path)
    tuned = dataclasses.replace(grid, budgets=(0.45, 0.5, 5), fair=True)
    with pytest.warns(UserWarning, match=r"\(settings are tried at \$0.50, for all budgets\)$"):
        module.estimate(tuned, out=tmp_path)
    assert not names(tmp_path)
    with pytest.warns(UserWarning, match="failed") as seen:
        result = compare(grid, out=tmp_path, workers=1)
    assert re.match(said_before, str(seen[0].message))
    assert len(result.table) == 2 * 2 and len(result.reference) == 4
    why, *others = result.failures
    assert (
        len(others) == 3
        and why.startswith("full-subset, budget 0.45, draw 0, an: ")
        and "raise the budget" in why
    )
    (said,) = (str(one.message) for one in seen if "failed" in str(one.message))
    named = "4 of 12 runs failed and are left out everywhere: full-subset (every run)"
    assert named in said and f"the first error: {why}" in said
    assert said.endswith(str(tmp_path / "summary.md"))
    told = (tmp_path / "summary.md").read_text()
    assert told.index("# Failed") < told.index("# What to buy")
    assert re.search(r"- \$\S+ and \$\S+: without a result, and not compared: full-subset\n", told)
    assert named in result.text() and result.to_json()["planned"] == 12
    assert simkit.open_runs(tmp_path).failures == result.failures
    assert describe(tmp_path)["planned"] == 12


def test_methods_that_refuse_the_labels_of_a_scheme_are_named_before_training(
    small, tmp_path, monkeypatch
):
    grid = small(schemes=["single-positive", "rpa"], methods=["role", "an", "epr(expected=99)"])
    with pytest.warns(UserWarning, match="^14 of 32 runs will fail, and the others go on") as seen:
        plan = module.estimate(grid, out=tmp_path)
    first, second = plan.failures
    assert plan.failing == 14 and not names(tmp_path) and first in str(seen[0].message)
    # 2 budgets x 2 draws; rpa shows how many classes an image has.
    assert first.startswith("single-positive, budget 10, draw 0, role and 3 other runs: role: ")
    assert "give it, as in role(expected=2.9)" in first
    assert " and 9 other runs (single-positive, epr(" in second and "99 positives" in second

    def refuse(self, labels):
        if not labels.per_class(-1).any():
            raise BadInput("an: no label is absent; add some")

    mended = dataclasses.replace(grid, methods=("role(expected=2)", "an"))
    monkeypatch.setattr(type(methods.make("an")), "check", refuse)  # as a method of one's own
    with pytest.warns(UserWarning, match="draw 0, an and 3 other runs: an: no label is absent"):
        assert module.estimate(mended, out=tmp_path).failing == 4


def test_one_method_that_fails_is_said_again_and_not_run_again(tiny, tmp_path, undrawn):
    grid, seen = tiny(methods=["an", "full"], draws=1), []
    with pytest.warns(UserWarning, match=r"1 of 2 runs failed .*: rpa\(keep=0.5\) \(full\); "):
        first = compare(grid, out=tmp_path, workers=1)
    (why,) = first.failures
    assert why.startswith("rpa(keep=0.5), draw 0, full: ") and "complete labels" in why
    assert first.table["method"].tolist() == ["an"]
    again = compare(grid, out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert seen == [(2, 2)] and again.failures == first.failures


def test_a_training_whose_loss_is_no_number_has_no_score(tiny, tmp_path, undrawn, monkeypatch):
    """Its weights may be finite, as the gradient of log(-x) is."""
    log = lambda self, batch, out, state: torch.log(-out.logits.square()).mean((-2, -1))  # noqa: E731
    monkeypatch.setattr(type(methods.make("an")), "loss", log)
    with pytest.warns(UserWarning, match="2 of 4 runs failed"):
        result = compare(tiny(methods=["an", "ignore"], draws=2), out=tmp_path, workers=1)
    assert re.fullmatch(
        r"rpa\(keep=0.5\), draw 0, an: the training loss of an is nan from epoch 1 on, at a "
        "learning rate of .*; lower lr, or check the loss of the method", result.failures[0],
    )  # fmt: skip
    assert result.table["method"].tolist() == ["ignore"] * 2


@pytest.mark.parametrize("reference", [True, False])
def test_when_all_fail_there_is_no_table(small, tmp_path, reference, monkeypatch):
    grid = small(schemes=["rpa"], methods=["full"], budgets=[10], draws=1, reference=reference)
    with pytest.raises(BadInput, match=r"^every run would fail: .*draw 0, full: method"):
        compare(grid, out=tmp_path, workers=1)
    assert not names(tmp_path)
    monkeypatch.setattr(module, "refusals", lambda *of: {})  # not noticed before
    with pytest.raises(BadInput, match=r"^every run failed; .*draw 0, full: method"):
        compare(grid, out=tmp_path, workers=1)
    assert names(tmp_path) == ["bundles"] and len(names(tmp_path / "bundles")) == 1
    why = r"all runs of .* failed; the first error is: .*draw 0, full: method .*change the grid"
    with pytest.raises(BadInput, match=why):
        simkit.plan(tmp_path, 100)


def test_what_cannot_work_is_refused_before_anything_is_written(small, tiny, tmp_path):
    out = tmp_path / "out"
    for grid, how, words in (
        (small(images=100_000), {}, "images is 100000"),
        (tiny(schemes=["knowledge-graph"]), {}, "schemes lists 'knowledge-graph'"),
        (
            small(budgets=[0.01]),
            {},
            r"^every run would fail: single-positive, budget 0.01, .*; fpc",
        ),
        (tiny(pictures={"size": 32}), {}, "no images for 'train'"),
        (tiny(), {"part": "5/4"}, "part is '5/4'"),
    ):
        with pytest.raises(BadInput, match=words):
            compare(grid, out=out, workers=1, **how)
    assert not out.exists()
    out.write_text("")
    with pytest.raises(BadInput, match=r"out.* cannot be written"):
        compare(small(), out=out)


def test_classes_without_both_kinds_of_test_labels_are_counted(tiny, tmp_path, undrawn):
    test, present = tmp_path / "data" / "test.npz", np.ones((40, 4), bool)
    save_truth(test, present, "test")
    with pytest.raises(BadInput, match=r"split test: no class .* \(160 present and 0 absent"):
        compare(tiny(), out=tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()
    present[::2, :2] = False
    save_truth(test, present, "test")
    result = compare(tiny(draws=1), out=tmp_path / "out", workers=1)
    said = "2 of 4 classes; left out: 2 without absent labels (cow, owl)"
    assert said in result.text() and said in result.to_json()["notes"][0]
    assert said in describe(tmp_path / "out")["text"]
    assert said in (tmp_path / "out" / "summary.md").read_text("utf-8")
    ap = result.table["ap"][0]
    assert np.isnan(ap.astype(float)).tolist() == [False, False, True, True]
    assert result.table["map"][0] == pytest.approx(ap[:2].mean())


def test_a_grid_may_be_a_file_or_plain_values(tiny, tmp_path, undrawn):
    (tmp_path / "grid.toml").write_text(tiny(draws=1).to_toml(), encoding="utf-8")
    one = compare(tmp_path / "grid.toml", out=tmp_path / "one", workers=1)
    two = compare(tomllib.loads(tiny(draws=1).to_toml()), out=tmp_path / "two", workers=1)
    assert repeatable(one) == repeatable(two) and len(one.table) == 1


def test_an_interruption_leaves_what_is_finished_and_the_results_before(
    small, tmp_path, undrawn, one_each
):
    def stop(done, of):
        if done == 10:
            raise KeyboardInterrupt

    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(KeyboardInterrupt):
        compare(small(budgets=[10, 20]), out=tmp_path, workers=1, hooks=Hooks(stop))
    assert before.items() <= {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}.items()
    facts = describe(tmp_path)
    assert facts["runs"] == 8 and "10 of 24 trainings are" in facts["unfinished"]
    assert f"simkit compare GRID.toml --out {tmp_path}" in facts["text"]
    other = small(budgets=[10], draws=1, train={"epochs": 1})
    compare(other, out=tmp_path, workers=1)
    assert names(tmp_path) == [name for name in FILES if not name.endswith("png")]
    assert Grid.load(tmp_path / "grid.toml") == other and "unfinished" not in describe(tmp_path)
    assert set(simkit.open_runs(tmp_path).every["epochs"]) == {1}


def test_an_interruption_says_what_is_kept_and_progress_goes_on_from_there(
    tiny, tmp_path, undrawn, monkeypatch
):
    monkeypatch.setattr(jobs, "draws_per_job", lambda each, draws: draws)  # one job
    trained, seen, train = [], [], worker.train_stack

    def interrupted(*of, **how):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(1)
        return train(*of, **how)

    monkeypatch.setattr(worker, "train_stack", interrupted)
    trained += [1, 1]
    with pytest.raises(KeyboardInterrupt, match="before a training was finished; the same call"):
        compare(tiny(), out=tmp_path, workers=1)
    trained.clear()
    kept = r"interrupted; 2 of 3 trainings are finished and kept in "
    with pytest.raises(KeyboardInterrupt, match=kept):
        compare(tiny(), out=tmp_path, workers=1)
    monkeypatch.setattr(worker, "train_stack", train)
    compare(tiny(), out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert seen == [(2, 3), (3, 3)]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt, match="before any work"):
        patch.setattr(module, "open_source", lambda *of, **how: interrupted())
        compare(tiny(), out=tmp_path / "other", workers=1)


def test_results_of_several_older_codes_are_one_warning(tiny, tmp_path, undrawn):
    first = compare(tiny(), out=tmp_path, workers=1)
    bundles = tmp_path / "bundles"
    for path, code in zip(
        sorted(bundles.iterdir()), ("00c0de00", "00c0de00", "0ld00000"), strict=True
    ):
        key = path.stem.partition("-")[0]
        job_store.save(job_store.load(bundles, path.stem, runs.SCHEMA), bundles, f"{key}-{code}")
        path.unlink()
    with pytest.warns(UserWarning, match="other code") as warned:
        again = compare(tiny(), out=tmp_path, workers=1)
    (text,) = (str(one.message) for one in warned)
    assert text.startswith("results of other code are not used: 3 trainings (00c0de00) will run")
    assert text.endswith("; of 1 other code: 0ld00000 1") and repeatable(again) == repeatable(first)


def test_parts_share_the_work_and_the_last_one_writes_the_tables(tiny, tmp_path, undrawn):
    whole = compare(tiny(), out=tmp_path / "whole", workers=1)
    out = tmp_path / "parts"
    first = compare(tiny(), out=out, workers=1, part="2/2")
    assert first.left == 2 and first.table["draw"].tolist() == [1]
    assert (
        names(out) == ["bundles", "plan.json"]
        and "1 of 3 trainings " in describe(out)["unfinished"]
    )
    assert compare(tiny(), out=out, workers=1, part="4/4").left == 2  # a part of nothing
    last = compare(tiny(), out=out, workers=1, part="1/2")
    assert last.left == 0 and repeatable(last) == repeatable(out) == repeatable(whole)
    assert not (out / "plan.json").exists()
    again = compare(tiny(), out=out, workers=1, part="2/2")
    assert repeatable(again) == repeatable(whole)
    rest, seen = tmp_path / "rest", []
    compare(tiny(), out=rest, workers=1, part="3/3")
    found = compare(tiny(), out=rest, workers=1, hooks=Hooks(watch(seen)))
    assert seen[0] == (1, 3) and repeatable(found) == repeatable(whole)


def test_what_is_damaged_is_left_to_the_part_whose_it_is(tiny, tmp_path, undrawn):
    compare(tiny(), out=tmp_path, workers=1, part="1/2")
    file = next((tmp_path / "bundles").glob("*.arrows"))
    file.write_bytes(file.read_bytes()[:1000])
    for part, left in (("2/2", 1), ("1/2", 0)):
        with pytest.warns(UserWarning, match="damaged"):
            assert compare(tiny(), out=tmp_path, workers=1, part=part).left == left
    assert len(simkit.open_runs(tmp_path).table) == 3


def test_results_of_other_code_are_said_and_kept_where_they_are_accepted(tiny, tmp_path, undrawn):
    for grid in (tiny(), tiny(fair=True, draws=2)):
        one, two = tmp_path / f"{grid.fair}", tmp_path / f"{grid.fair} copy"
        bundles, trainings = one / "bundles", 0
        first = compare(grid, out=one, workers=1)
        assert json.loads(first.every["environment"][0])["code"] in first.every["key"][0]
        for path in list(bundles.iterdir()):  # as if other code had made them
            key, _, _ = path.stem.partition("-")
            rows = job_store.load(bundles, path.stem, runs.SCHEMA).table.to_pylist()
            for row in rows:
                row["environment"] = row["environment"].replace(path.stem[-8:], "00c0de00")
            result = job_store.Result(runs.to_table(rows))
            job_store.save(result, bundles, f"{key}-00c0de00")
            path.unlink()
            trainings += len(rows)
        shutil.copytree(one, two)
        kept = compare(grid, out=one, workers=1, accept="00c0de00")
        assert kept.every["environment"].str.contains("00c0de00").all()  # nothing was trained
        kept = compare(grid, out=one, workers=1)  # accepted once, without a warning
        with pytest.warns(UserWarning, match="other code") as warned:
            again = compare(grid, out=two, workers=1)
        compare(grid, out=two, workers=1)  # its own are there now: no warning
        assert repeatable(again) == repeatable(first)
        assert [row["map"] for row in repeatable(kept)] == [row["map"] for row in repeatable(first)]
        assert sum("00c0de00" in note for note in kept.notes) == 1
        said = [str(one.message) for one in warned]
        again = [int(re.search(r"(\d+) trainings? .*00c0de00", text)[1]) for text in said]
        assert sum(again) == trainings
        with pytest.raises(BadInput, match=r"accept: .*'00c0de0'.*'00c0de00'"):
            compare(grid, out=one, workers=1, accept="00c0de0")  # nothing is run by mistake
    with pytest.raises(BadInput, match="accept: no code"):
        compare(tiny(), out=tmp_path / "new", workers=1, accept="00c0de00")


OWN = """
from typing import ClassVar
from simkit import methods, schemes
from simkit.learn.losses import bce

def damped(values):
    return 0.5 * values

class Own(methods.Method):
    title: ClassVar[str] = "Own"
    source: ClassVar[str] = "ours"

@methods.register
class Damped(Own):
    name: ClassVar[str] = "damped"
    def loss(self, batch, out, state):
        return damped(bce(out.logits, batch.labels == 1)).mean((-2, -1))

@methods.register
class Doubled(Own):
    name: ClassVar[str] = "doubled"
    def loss(self, batch, out, state):
        return 2 * bce(out.logits, batch.labels == 1).mean((-2, -1))

@schemes.register
class First(schemes.Scheme):
    name: ClassVar[str] = "first"
    title: ClassVar[str] = "First"
    source: ClassVar[str] = "ours"
    amount: ClassVar[str | None] = None
    def ask(self, crowd, chance):
        crowd.sweep(crowd.images[:30])
    def largest(self, images, classes):
        return classes
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with two methods and a scheme; called with texts, it is edited and loaded again."""
    for registry in (METHODS, SCHEMES):
        registry.names()  # loads all
        monkeypatch.setattr(registry, "_found", dict(registry._found))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "ownparts.py"

    def edited(old="", new=""):
        text = file.read_text() if file.exists() else OWN
        assert old in text
        file.write_text(text.replace(old, new, 1))
        sys.modules.pop("ownparts", None)
        importlib.invalidate_caches()
        importlib.import_module("ownparts")

    edited()
    yield edited
    del sys.modules["ownparts"]


def test_classes_of_cells_run_in_this_process_and_those_of_modules_in_all(
    tiny, tmp_path, undrawn, own
):
    @methods.register
    class Cell(type(methods.make("doubled"))):
        name: ClassVar[str] = "of-a-cell"

    specs = ["an", "damped", "of-a-cell"]
    grid = tiny(schemes=["first", "rpa(keep=0.5)"], methods=specs, draws=2)
    here = compare(grid, out=tmp_path / "here", workers=1)
    with pytest.warns(UserWarning, match="runs with of-a-cell are trained in this") as seen:
        both = compare(grid, out=tmp_path / "both", workers=2)
    assert len(seen) == 1 and not both.failures
    assert repeatable(both) == repeatable(here) and len(repeatable(here)) == 12
    plan = estimate(grid, out=tmp_path / "new", workers=2)
    assert plan.minutes > 60 * plan.hours / 2
    known = dataclasses.replace(grid, methods=("an", "damped"))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        with pytest.raises(BadInput, match="workers do not know of-a-cell; put the class into a m"):
            compare(grid, out=tmp_path / "away", executor=pool)
        assert not (tmp_path / "away").exists()
        away = compare(known, out=tmp_path / "away", executor=pool)
    mine = [row for row in repeatable(here) if row["method"] != "of-a-cell"]
    assert repeatable(away) == mine


@pytest.mark.parametrize("fair", [False, True])
def test_an_edit_repeats_the_runs_of_the_edited_class_alone(tiny, tmp_path, undrawn, own, fair):
    out, plain = tmp_path / "runs", tiny(methods=["an", "ll-r"], draws=2, fair=fair)
    grid = dataclasses.replace(
        plain,
        schemes=("first", *plain.schemes),
        methods=("an", "damped", "ll-r", "doubled"),
    )

    def trained(grid, **how):
        """The number of trainings of a comparison by scheme and method, and the results."""
        before, seen = {*out.glob("bundles/*")}, []
        result = compare(grid, out=out, workers=1, hooks=Hooks(watch(seen)), **how)
        made = [
            job_store.load(p.parent, p.stem, runs.SCHEMA) for p in {*out.glob("bundles/*")} - before
        ]
        rows = (row for each in made for row in each.table.to_pylist())
        counts = Counter(
            (row["scheme"], row["method"]) for row in rows
            if "accept" not in how or json.loads(row["environment"])["code"] not in how["accept"]
        )  # fmt: skip
        assert fair or seen[-1][0] - seen[0][0] == counts.total()  # else after the sweep's
        return counts, result

    trained(plain)
    whole, first = trained(dataclasses.replace(plain, methods=("an", "damped", "ll-r")))
    assert {method for _, method in whole} == {"damped"}  # published ones were there already
    whole, first = trained(grid)
    assert {("first", "an"), ("rpa(keep=0.5)", "doubled")} <= whole.keys()
    assert ("rpa(keep=0.5)", "damped") not in whole
    order = first.table[["draw", "scheme", "method"]].apply(tuple, axis=1).tolist()
    assert order == [(d, s, m) for d in range(2) for s in grid.schemes for m in grid.methods]
    own("0.5 * values", "0.4 * values")  # in a function that the method uses
    with pytest.warns(UserWarning, match=r"other code .* trainings? of damped \(\w+\)"):
        planned = module.estimate(grid, out=out, workers=1)
    left = f"{planned.trainings - planned.kept}{' or more' * fair} to train"
    again = f"{planned.kept} finished, {left}, {planned.again} of them again, as"
    assert again in planned.text() and planned.kept > planned.again > 0 == planned.failing
    assert fair or planned.again == planned.trainings - planned.kept
    with pytest.warns(UserWarning, match=r"other code .* trainings? of damped \(\w+\)"):
        counts, _ = trained(grid)
    assert counts.keys() == {(scheme, "damped") for scheme in grid.schemes}
    own("crowd.images[:30]", "crowd.images[:20]")
    with pytest.warns(UserWarning, match="other code .* of first"):
        counts, changed = trained(grid)
    assert counts.keys() == {("first", spec) for spec in grid.methods}
    own("0.4 * values", "0.3 * values")
    own("crowd.images[:20]", "crowd.images[:10]")
    codes = {json.loads(text)["code"] for text in changed.table["environment"]}
    counts, kept = trained(grid, accept=", ".join(codes))
    assert not counts and repeatable(kept) == repeatable(changed)
    assert len(codes) == 6 and sum("as accepted" in note for note in kept.notes) > 2
    own("0.3 * values", "0.5 * values")
    own("crowd.images[:10]", "crowd.images[:30]")
    counts, back = trained(grid)
    assert not counts and repeatable(back) == repeatable(first)


@pytest.fixture
def fair(tiny):
    """A grid whose settings are tried first."""

    def made(**values):
        plain = {"methods": ["an", "ll-r"], "schemes": ["rpa(keep=0.5)", "full-subset"],
                 "draws": 1, "fair": True, "reference": True}  # fmt: skip
        return tiny(**plain | values)

    return made


def swept(grid, folder):
    """Jobs and rows of the settings that were tried."""
    data, done = planned(grid)[1], {}
    tried = following = sweep(grid, data)
    while following:
        done |= {
            job.key: job_store.load(folder / "bundles", job.stem, runs.SCHEMA) for job in following
        }
        following = further(grid, data, tried, done)
        tried = [*tried, *following]
    return tried, [row for job in tried for row in done[job.key].table.to_pylist()]


def test_a_fair_comparison_uses_what_is_best_on_the_validation_split(fair, tmp_path, undrawn):
    grid, seen = fair(budgets=[1, 2, 3], schemes=["rpa"], draws=2), []
    result = compare(grid, out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    _, tried = swept(grid, tmp_path)
    assert len(tried) > 2 * 5 * (2 + 3) and {row["draw"] for row in tried} == {-1, -2}
    assert {row["budget"] for row in tried if not row["reference"]} == {2.0}
    assert seen[0] == (0, 50 + 18) and seen[-1] == (len(tried) + 18,) * 2
    assert result.failures == () and [done for done, _ in seen] == sorted(done for done, _ in seen)
    for row in result.every.to_dict("records"):
        place = row["method"], row["reference"]
        own = [one for one in tried if (one["method"], one["reference"]) == place]
        scores = {}
        for one in own:
            scores.setdefault((one["method_spec"], one["lr"], one["tuned"]), []).append(
                one["tuned_map"]
            )
        assert {len(each) for each in scores.values()} == {2}
        best = max(scores, key=lambda one: np.mean(scores[one]))
        assert (row["method_spec"], row["lr"], row["tuned"]) == best
        assert row["tuned_map"] == pytest.approx(np.mean(scores[best]))
        assert row["tuned_error"] == pytest.approx(error_of_choice(np.array([*scores.values()])))
        assert row["tuned_runs"] == len(scores) and row["validation_dollars"] == 0
        rates = {one["lr"] for one in own}
        assert row["tuned_edge"] == (row["lr"] in (min(rates), max(rates)))
        assert row["draw"] in (0, 1) and not row["dollars"] > (row["budget"] or 99)
    assert set(result.table["budget"]) == {1, 2, 3} and result.table["precision"].notna().all()
    # 40 images and 4 classes, 8 people each, 0.3011 seconds at $15 an hour: once, beside budgets
    assert result.validation_dollars == pytest.approx(40 * 4 * 8 * 0.3011 * 15 / 3600)
    assert result.to_json()["validation_dollars"] == result.validation_dollars
    summary = (tmp_path / "summary.md").read_text()
    assert "## Chosen settings" in summary and "every budget" in summary
    assert ("at the edge" in summary) == result.every["tuned_edge"].any()
    rates = sorted({row["lr"] for row in tried if row["method"] == "ll-r"})
    assert f"lr {', '.join(f'{rate:g}' for rate in rates)}; delta" in summary


def test_the_test_split_chooses_nothing(fair, tmp_path, undrawn):
    grid = fair(reference=False)
    compare(grid, out=tmp_path / "one", workers=1)
    test = np.load(grid.features["test"])["features"]
    np.savez(grid.features["test"], features=test[::-1])
    compare(grid, out=tmp_path / "two", workers=1)
    files = [(tmp_path / name / "settings.toml").read_text() for name in ("one", "two")]
    assert files[0] == files[1] and repeatable(tmp_path / "one") != repeatable(tmp_path / "two")


def test_chosen_settings_are_a_file_that_another_grid_takes(fair, tmp_path, undrawn):
    first = compare(fair(), out=tmp_path / "first", workers=1)
    chosen = tomllib.loads((tmp_path / "first" / "settings.toml").read_text())
    assert set(chosen) == {"rpa(keep=0.5)", "full-subset", "reference"}
    assert set(chosen["reference"]) == {"full", "an", "ll-r"}
    plain = fair(fair=False).to_toml()
    (tmp_path / "first" / "again.toml").write_text('settings = "settings.toml"\n' + plain)
    grid = Grid.load(tmp_path / "first" / "again.toml")
    assert grid.settings == chosen and Grid.of(tomllib.loads(grid.to_toml())) == grid
    file = str(tmp_path / "first" / "settings.toml")
    assert dataclasses.replace(grid, settings=file) == grid == fair(fair=False, settings=file)
    again = compare(grid, out=tmp_path / "again", workers=1)
    same = ["scheme", "method", "method_spec", "lr", "tuned", "map", "labels_id", "reference"]
    pd.testing.assert_frame_equal(first.every[same], again.every[same])
    assert again.validation_dollars is None and again.table["tuned_runs"].isna().all()
    compare(grid, out=tmp_path / "first", workers=1)
    assert (tmp_path / "first" / "settings.toml").exists()  # the grid may have read it
    compare(fair(fair=False), out=tmp_path / "first", workers=1)
    assert not (tmp_path / "first" / "settings.toml").exists()  # of another comparison


def test_other_methods_and_draws_leave_the_choices_as_they_were(fair, tmp_path, undrawn):
    def chosen(name, **values):
        compare(fair(**values), out=tmp_path / name, workers=1)
        return tomllib.loads((tmp_path / name / "settings.toml").read_text())

    one, more = chosen("one"), chosen("more", methods=["an", "em", "ll-r"], draws=2)
    for scheme, table in one.items():
        assert table.items() <= more[scheme].items() and len(more[scheme]) == len(table) + 1


def test_fair_is_a_word_in_the_call_too_and_works_with_chosen_epochs(fair, tmp_path, undrawn):
    plain = fair(fair=False, validation="complete", draws=1)
    result = compare(plain, out=tmp_path, workers=1, fair=True)
    assert result.failures == () and result.grid.fair
    assert result.validation_dollars is None  # every budget pays for the same labels
    assert set(result.table["select"]) == {"best"} and (result.table["tuned_runs"] >= 5).all()
    assert (result.table["validation_dollars"] > 0).all()


def test_a_tuned_comparison_goes_on_where_it_stopped(fair, tmp_path, undrawn):
    grid, seen = fair(schemes=["rpa(keep=0.5)"]), []

    compare(grid, out=tmp_path / "whole", workers=1)
    every = len(swept(grid, tmp_path / "whole")[1])

    def stop(done, of):
        if done == every:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(grid, out=tmp_path, workers=1, hooks=Hooks(stop))
    tried, _ = swept(grid, tmp_path)
    assert len(names(tmp_path / "bundles")) == len(tried)
    plan = estimate(grid, out=tmp_path, workers=1)
    assert (plan.finished, plan.jobs) == (len(tried), len(tried) + 1)
    told = rf"{every} of {every + 5} trainings are finished, all of the sweep"
    with pytest.raises(BadInput, match=told):
        describe(tmp_path)
    compare(grid, out=tmp_path, workers=1, hooks=Hooks(watch(seen)))
    assert seen[-2:] == [(every, every + 5), (every + 5, every + 5)]
    assert len(runs.read(tmp_path)) == 5 and repeatable(tmp_path) == repeatable(tmp_path / "whole")


def test_parts_help_each_other_with_the_sweep(fair, tmp_path, undrawn, one_each):
    whole = compare(fair(), out=tmp_path / "whole", workers=1)
    out = tmp_path / "parts"
    first = compare(fair(), out=out, workers=1, part="2/3")
    assert len(swept(fair(), out)[1]) > 2 * 5 * 7 and first.left == 5 and len(first.every) == 2
    times = {path: path.stat().st_mtime_ns for path in (out / "bundles").iterdir()}
    for part in ("1/3", "3/3"):
        last = compare(fair(), out=out, workers=1, part=part)
    assert last.left == 0 and repeatable(last) == repeatable(whole)
    assert times.items() <= {p: p.stat().st_mtime_ns for p in (out / "bundles").iterdir()}.items()


def test_of_equal_settings_one_inside_is_taken_and_failures_leave_the_rest(fair, tmp_path, undrawn):
    grid = fair(reference=False, schemes=["rpa(keep=0.5)"])
    compare(grid, out=tmp_path, workers=1)
    job = sweep(grid, planned(grid)[1])[0]
    kept = job_store.load(tmp_path / "bundles", job.stem, runs.SCHEMA)
    changed = {"an": 0.3, "ll-r": None}
    rows = [row | {"tuned_map": changed[row["method"]]} for row in kept.table.to_pylist()]
    done = {job.key: dataclasses.replace(kept, table=runs.to_table(rows))}
    chosen, ((batch, spec),) = choose([job], done)
    (((scheme, method), setting),) = chosen.items()
    assert (scheme, method, setting.lr) == ("rpa(keep=0.5)", "an", 0.00316)
    assert (setting.score, setting.runs, setting.edge, setting.error) == (0.3, 5, False, 0)
    assert (batch.scheme, spec) == ("rpa(keep=0.5)", "ll-r")
    failing = fair(methods=["an", "full"], reference=False, schemes=["rpa(keep=0.5)"])
    result = compare(failing, out=tmp_path, workers=1)
    assert result.table["method"].tolist() == ["an"] and result.failures
    assert len(result.failures) == result.planned - len(result.every) > 0
    assert all(", full: method 'full' needs" in why for why in result.failures)


@pytest.mark.parametrize(("gpus", "count"), [([], None), (["0", "1"], 2)])
def test_backbones_have_a_worker_for_each_gpu(small, tmp_path, monkeypatch, gpus, count):
    asked = []

    def none_done(jobs, folder, workers, *called):
        asked.append(workers.count)
        return Finished({}, {job.key: "not now" for job in jobs})

    monkeypatch.setattr(module, "gpus", lambda: gpus)
    monkeypatch.setattr(module, "finish", none_done)
    for pictures, workers in (({"size": 32}, None), ({"size": 32}, 5), (None, None)):
        grid = small(data="scenes:images=12,val=4,test=8", pictures=pictures, budgets=[])
        with pytest.raises(BadInput, match="every run failed"):
            compare(grid, out=tmp_path, workers=workers)
    assert asked == [count, 5, None]


def test_heads_and_backbones_are_told_apart_and_kept(small, tmp_path, undrawn, monkeypatch):
    some = {"data": "scenes:images=20,val=4,test=10", "budgets": [], "schemes": ["rpa"],
            "methods": ["an"], "draws": 1, "reference": False, "train": {"epochs": 1}}  # fmt: skip
    for pictures, word in ((None, "head"), ({"size": 32}, "backbone")):
        result = compare(small(pictures=pictures, **some), out=tmp_path / word, workers=1)
        assert result.table["trained"].tolist() == [word]
        text = describe(tmp_path / word)["text"]
        assert ("whole backbones were trained" in text) == (word == "backbone")
    monkeypatch.setattr(scheduler, "run", exit)  # is not called
    again = compare(small(pictures={"size": 32}, **some), out=tmp_path / "backbone", workers=1)
    assert repeatable(again) == repeatable(result)
