import json
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array
from simkit.study.bundles import agenda
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.forecast.forecast import foretell
from simkit.study.grids.grid import Grid
from simkit.study.material.material import open_material
from simkit.study.told.described import describe

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.compare import compare

FILES = [
    "bundles",
    "cost_curve.png",
    "grid.toml",
    "heat_map.png",
    "summary.md",
    "table.csv",
    "table.parquet",
]


def bits(table):
    return table.drop_columns(list(runs.MEASURED)).to_pylist()


@pytest.fixture
def one_each(monkeypatch):
    """Every purchase travels alone, as it does where there is more work in it."""
    monkeypatch.setattr(agenda, "_LEAST", 0.0)


def test_a_comparison_leaves_everything_and_goes_on_where_it_stopped(small, tmp_path, one_each):
    grid, seen = small(), []
    result = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    assert len(list((tmp_path / "bundles").iterdir())) == 2 * (2 * 2 + 1)
    assert seen == [(n, 24) for n in (0, 2, 4, 6, 8, 12, 14, 16, 18, 20, 24)]
    assert result.failures == () and len(result.table) == 8 * 2 + 4 * 2
    assert Grid.load(tmp_path / "grid.toml") == grid
    assert runs.table(tmp_path).equals(result.table)
    assert len(runs.class_names(result.table)) == 52 and len(runs.leaves(result.table)) == 41

    (gone, damaged, *_) = sorted((tmp_path / "bundles").iterdir())
    gone.unlink()
    damaged.write_bytes(damaged.read_bytes()[:100])
    seen.clear()
    with pytest.warns(UserWarning, match="is damaged; its runs are repeated"):
        again = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert len(seen) == 3 and seen[-1] == (24, 24)  # the two bundles have 2 or 4 runs each
    assert bits(again.table) == bits(result.table)


def test_any_executor_and_any_number_of_workers_give_the_same_bits(small, tmp_path):
    grid = small(budgets=[10], draws=1)
    here = compare(grid, out=tmp_path / "a", workers=1).table
    processes = compare(grid, out=tmp_path / "b", workers=2).table
    with ThreadPoolExecutor(1) as pool:
        threads = compare(grid, out=tmp_path / "c", executor=pool).table
    assert bits(here) == bits(processes) == bits(threads)


def test_a_wider_grid_in_the_same_folder_keeps_what_is_there(small, tmp_path, one_each):
    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    seen = []
    wider = small(budgets=[10, 30], draws=2)
    compare(wider, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert seen[0] == (8, 24)
    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    assert len(runs.table(tmp_path)) == 2 * 2 + 4  # of this grid alone


def test_a_failing_bundle_does_not_stop_the_others(small, tmp_path):
    # An image costs $0.37 where one asks for a class that it shows, and $0.52 where for all.
    grid = small(schemes=["single-positive", "full-subset"], budgets=[0.45, 10], draws=1)
    result = compare(grid, out=tmp_path, workers=1)
    assert len(result.table) == 3 * 2 + 4
    told = [failure.split(": ")[0] for failure in result.failures]
    assert told == ["full-subset, budget 0.45, draw 0"]
    assert "raise the budget" in result.failures[0]
    again = compare(grid, out=tmp_path, workers=1)
    assert again.failures == result.failures


def test_when_all_fail_there_is_no_table(small, tmp_path):
    grid = small(schemes=["rpa"], methods=["full"], budgets=[10], draws=1, reference=False)
    with pytest.raises(BadInput, match=r"^every run failed; the first one said: rpa, budget 10, "):
        compare(grid, out=tmp_path, workers=1)
    assert not (tmp_path / "table.parquet").exists()


@pytest.mark.parametrize("work", [compare, foretell])
def test_a_limit_that_buys_nothing_is_told_before_any_work(small, tmp_path, work):
    with pytest.raises(BadInput, match=r"^budgets lists 1e-09, which buys nothing: the smallest"):
        work(small(budgets=[1e-9, 10]), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_budgets_amounts_are_as_written(small, tmp_path):
    grid = small(budgets=[], draws=1, schemes=["rpa(keep=0.2)", "rpa(keep=0.5)"])
    table = compare(grid, out=tmp_path, workers=1).table
    assert table["scheme_spec"].to_pylist()[:4:2] == ["rpa(keep=0.2)", "rpa(keep=0.5)"]
    assert table["budget"].null_count == len(table)
    assert "amounts as written" not in (tmp_path / "summary.md").read_text()


def test_the_result_tells_its_story(small, tmp_path):
    result = compare(small(budgets=[10]), out=tmp_path, workers=1)
    assert [(line.scheme, line.limit.dollars) for line in result.summary()] == [
        ("single-positive", 10.0),
        ("fpc(per_class=10)", 10.0),
    ]
    facts = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert len(facts["cells"]) == 4 and facts["runs"] == 16
    assert facts["cells"][0]["scheme"] == "single-positive" and facts["cells"][0]["draws"] == 2
    assert result.text().splitlines()[0].startswith("single-positive at $10: ")
    notes = [line for line in result.text().splitlines() if line.startswith("note: fpc")]
    assert notes and all(re.match(r"note: fpc\(per_class=10\): \d+ of", note) for note in notes)
    assert "## Notes" in (tmp_path / "summary.md").read_text()


def test_where_only_references_finish_the_reason_is_named(small, tmp_path):
    with pytest.raises(BadInput) as caught:
        grid = small(schemes=["rpa"], methods=["full"], budgets=[10], draws=1)
        compare(grid, out=tmp_path, workers=1)
    told = str(caught.value)
    assert told.startswith("every run failed; the first one said: rpa, budget 10, draw 0: method ")
    assert [path.name for path in tmp_path.iterdir()] == ["bundles"]
    assert len(list((tmp_path / "bundles").iterdir())) == 1


def test_one_method_that_fails_is_told_again_and_not_run_again(small, tmp_path):
    grid = small(methods=["an", "full"], schemes=["rpa"], budgets=[10], draws=1)
    first = compare(grid, out=tmp_path, workers=1)
    (told,) = first.failures
    assert told.startswith("rpa, budget 10, draw 0, full: method 'full' needs complete labels")
    assert first.table["method"].to_pylist() == ["an", "full", "an"]  # the last two are references
    seen = []
    again = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert seen == [(4, 4)] and again.failures == first.failures


def test_an_interrupted_comparison_leaves_the_results_of_the_one_before(small, tmp_path, one_each):
    def stop(done, of):
        if done == 10:
            raise KeyboardInterrupt

    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    other = small(budgets=[10], draws=1, train={"epochs": 1})
    with pytest.raises(KeyboardInterrupt):
        compare(small(budgets=[10, 20], draws=2), out=tmp_path, workers=1, progress=stop)
    assert before.items() <= {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}.items()
    facts = describe(tmp_path)
    assert facts["runs"] == 8 and facts["unfinished"] == "4 of 10 bundles"
    compare(other, out=tmp_path, workers=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    assert Grid.load(tmp_path / "grid.toml") == other
    assert set(runs.table(tmp_path)["epochs"].to_pylist()) == {1}
    assert "unfinished" not in describe(tmp_path)


def test_a_folder_in_place_of_a_bundle_stops_that_bundle_alone(small, tmp_path, one_each):
    grid = small(budgets=[10], draws=1)
    bundle = plan(grid, open_material(source_of(grid)))[0]
    (tmp_path / "bundles" / f"{bundle.key}.arrows").mkdir(parents=True)
    result = compare(grid, out=tmp_path, workers=1)
    (told,) = result.failures
    assert told.startswith("single-positive, budget 10, draw 0: ")
    assert told.endswith(".arrows is a folder where a file with results belongs; move it away")
    assert len(result.table) == 2 + 4


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"habits": {"miss": [0.1, 0.2]}},
            "habits: miss has 2 shares for 52 classes; give one for each class",
        ),
        (
            {"images": 100_000},
            "images is 100000, but there are 120; ask for that many or for fewer",
        ),
    ],
)
def test_what_no_bundle_could_use_is_refused_before_any_work(small, tmp_path, values, told):
    with pytest.raises(BadInput) as caught:
        compare(small(**values), out=tmp_path / "out", workers=1)
    assert str(caught.value) == told
    assert not (tmp_path / "out").exists()


def test_the_making_of_features_is_told(small, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMKIT_CACHE", str(tmp_path / "cache"))
    seen = []
    grid = small(budgets=[10], draws=1, methods=["an"], reference=False)
    compare(grid, out=tmp_path / "out", workers=1, preparing=lambda *at: seen.append(at))
    assert seen[-1] == (80, 80) and (120, 120) in seen


def test_a_file_in_place_of_the_folder_is_refused(small, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(BadInput, match=r"out is a file; give a folder for the results$"):
        compare(small(), out=tmp_path / "out")


def test_a_scheme_that_needs_a_hierarchy_is_refused_before_any_work(tmp_path):
    train, val, test = (written(tmp_path, place) for place in range(3))
    data = f"npz:{train},val={val},test={test}"
    np.savez(tmp_path / "f.npz", features=np.eye(6, 4))
    features = {split: str(tmp_path / "f.npz") for split in ("train", "test")}
    grid = Grid(("knowledge-graph",), ("an",), data=data, features=features)
    with pytest.raises(
        BadInput, match=r"^schemes lists 'knowledge-graph', which asks along a class"
    ):
        compare(grid, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def written(folder, place):
    truth = csr_array(np.eye(6, 3, dtype=bool))
    path = folder / f"labels-{place}.npz"
    np.savez(
        path,
        indptr=truth.indptr,
        indices=truth.indices,
        shape=truth.shape,
        class_names=np.array(["a", "b", "c"]),
        image_ids=np.arange(6) + 6 * place,
    )
    return path


def test_an_interruption_leaves_what_is_finished(small, tmp_path, one_each):
    def stop(done, of):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(small(), out=tmp_path, workers=1, progress=stop)
    assert len(list((tmp_path / "bundles").iterdir())) == 3


def test_a_grid_may_be_a_file_or_plain_values(tiny, tmp_path):
    (tmp_path / "grid.toml").write_text(tiny(draws=1).to_toml(), encoding="utf-8")
    one = compare(tmp_path / "grid.toml", out=tmp_path / "one", workers=1)
    two = compare(tomllib.loads(tiny(draws=1).to_toml()), out=tmp_path / "two", workers=1)
    assert bits(one.table) == bits(two.table) and len(one.table) == 1
    with pytest.raises(BadInput, match=r"^grid is a list; a simkit\.Grid, a TOML file or a dict"):
        compare(["an"], out=tmp_path)
