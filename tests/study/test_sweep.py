import dataclasses
import json

import pytest
from simkit.study.bundles.agenda import plan, source_of, sweep
from simkit.study.grids.limit import money
from simkit.study.material.material import opened
from simkit.study.sweep import choose, swept
from simkit.study.told.described import describe
from simkit.study.working.finish import Finished, finish, stored
from simkit.study.working.parts import Part

from simkit.study import kept, runs
from simkit.study.compare import compare

LR = {"all": {"lr": [0.0001, 0.001, 0.01, 0.1]}}


@pytest.fixture
def tuned(small):
    def made(**values):
        return small(
            **{
                "schemes": ["fpc(per_class=10)"],
                "validation": "complete",
                "budgets": [60],
                "methods": ["an", "ll-r"],
                "draws": 1,
                "train": {"epochs": 2, "lr": 0.01, "select": "last"},
                "tuning": {"runs": 3, "space": LR | {"ll-r": {"delta": [0.1, 0.5]}}},
            }
            | values
        )

    return made


def worked(grid, folder):
    """The sweep's bundles of a grid, and what they came to."""
    bundles = sweep(grid, opened(source_of(grid)))
    how = {"executor": None, "workers": 1, "progress": lambda done, of: None}
    return bundles, finish(bundles, folder, **how)


def test_what_reached_most_on_the_validation_labels_is_what_is_compared(tuned, tmp_path):
    grid, seen = tuned(), []
    result = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert result.failures == ()
    assert seen == [(0, 20), (15, 20), (15, 20), (20, 20)]
    bundles, found = worked(grid, tmp_path / "bundles")
    tried = found.done[bundles[0].key].table.to_pylist()
    assert len(tried) == 3 * 5 and {row["draw"] for row in tried} == {-1}
    assert all(row["tuned"] and row["tuned_runs"] is None for row in tried)
    for row in result.table.to_pylist():
        place = row["method"], row["reference"]
        own = [one for one in tried if (one["method"], one["reference"]) == place]
        best = max(own, key=lambda one: one["curve"][-1])
        assert (row["method_spec"], row["lr"]) == (best["method_spec"], best["lr"])
        assert row["tuned"] == best["tuned"] and row["tuned_map"] == best["curve"][-1]
        assert row["tuned_dollars"] == own[0]["dollars"] > 0
        assert row["tuned_runs"] == 3 and row["tuned_by"] == "complete" and row["draw"] == 0
    assert {row["method"] for row in result.table.to_pylist()} == {"an", "ll-r", "full"}
    (note,) = [one for one in result.notes if one.startswith("settings come")]
    spent = {row["reference"]: row["dollars"] for row in tried}
    assert note.startswith(
        "settings come from a sweep of 3 trainings for each method under each scheme and budget, "
        "by complete labels of the validation split; it had a draw of its own, whose labels cost "
        f"{money(sum(spent.values()))} beside the dollars of the runs, "
    )
    assert f"note: {note}" in result.text().splitlines()
    assert f"For $60, and {money(spent[False])} of labels that chose settings, " in result.text()
    summary = (tmp_path / "summary.md").read_text()
    assert "## Settings chosen by the sweep" in summary
    values = json.loads(result.table["tuned"][1].as_py())
    chosen = ", ".join(f"{name}={value}" for name, value in values.items())
    assert f"| fpc(per_class=10) | $60 | ll-r | {chosen} | " in summary


def test_another_method_or_more_draws_leave_the_choices_as_they_were(tuned, tmp_path):
    def choices(grid):
        bundles, found = worked(grid, tmp_path)
        chosen = choose(grid, bundles, found).chosen
        return {(str(one), method): made.text for (one, method), made in chosen.items()}

    before = choices(tuned(reference=False))
    wider = choices(tuned(reference=False, methods=["an", "ignore", "ll-r"], draws=3))
    assert len(wider) == 3 and before.items() <= wider.items()


def test_a_tuned_comparison_goes_on_where_it_stopped(tuned, tmp_path):
    grid, seen = tuned(), []

    def stop(done, of):
        if done == 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(grid, out=tmp_path, workers=1, progress=stop)
    assert len(list((tmp_path / "bundles").iterdir())) == 1
    with pytest.raises(Exception, match="of which no runs are finished yet"):
        describe(tmp_path)
    compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert seen == [(15, 20), (15, 20), (20, 20)]
    assert len(runs.table(tmp_path)) == 5


def test_ties_take_the_first_and_failures_leave_the_rest(tuned, tmp_path):
    grid = tuned(reference=False)
    bundles, found = worked(grid, tmp_path)
    key = bundles[0].key
    rows = found.done[key].table.to_pylist()
    an = [row for row in rows if row["method"] == "an"]
    level = [{**row, "curve": [0.1, 0.3]} for row in an]
    deaf = [{**row, "curve": [0.1, None]} for row in rows if row["method"] == "ll-r"]
    table = runs.tidy([*level[:2], *deaf], classes=())
    done = Finished({key: dataclasses.replace(found.done[key], table=table)}, {})
    swept = choose(grid, bundles, done)
    ((purchase, method), setting) = next(iter(swept.chosen.items()))
    assert (str(purchase), method) == ("fpc(per_class=10), budget 60", "an")
    assert (setting.lr, setting.score, setting.runs) == (level[0]["lr"], 0.3, 2)
    assert swept.failures == (
        "fpc(per_class=10), budget 60, tuning, ll-r: its validation labels know no present class, "
        "so nothing can be chosen by them; raise the budget or set validation to complete",
    )
    (bundle,) = plan(grid, opened(source_of(grid)), swept.chosen)
    assert bundle.purchases[0].methods == ("an",)


def test_a_method_that_no_setting_helps_is_told_and_left_out(tuned, tmp_path):
    tuning = {"runs": 3, "space": LR}
    grid = tuned(methods=["an", "full"], reference=False, tuning=tuning)
    result = compare(grid, out=tmp_path, workers=1)
    (told,) = result.failures
    assert told.startswith("fpc(per_class=10), budget 60, tuning, full: method 'full' needs")
    assert result.table["method"].to_pylist() == ["an"]


def test_a_part_helps_with_what_others_have_not_finished(tuned, tmp_path):
    grid = tuned(reference=False, budgets=[60, 70])
    bundle = sweep(grid, opened(source_of(grid)))[0]
    bundles = [dataclasses.replace(bundle, purchases=(one,)) for one in bundle.purchases]
    how = {"workers": 1, "part": Part(2, 3)}
    chosen = swept(grid, bundles, tmp_path, **how).chosen
    assert len(chosen) == 4 and {one.runs for one in chosen.values()} == {3}
    times = [kept.place(tmp_path, one.key).stat().st_mtime_ns for one in bundles]
    assert swept(grid, bundles, tmp_path, workers=1, part=Part(1, 3)).chosen == chosen
    assert times == [kept.place(tmp_path, one.key).stat().st_mtime_ns for one in bundles]
    assert len(stored(bundles, tmp_path).done) == 6
