import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.compare import compare
from simkit.study.grid import Grid

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


def test_a_comparison_leaves_everything_and_goes_on_where_it_stopped(small, tmp_path):
    grid, seen = small(), []
    result = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    assert len(list((tmp_path / "bundles").iterdir())) == 2 * 2 * 2 + 2
    assert seen == [(done, 10) for done in range(11)]
    assert result.failures == () and len(result.table) == 8 * 2 + 2 * 2
    assert Grid.load(tmp_path / "grid.toml") == grid
    assert runs.table(tmp_path).equals(result.table)
    assert len(runs.class_names(result.table)) == 52

    (gone, damaged, *_) = sorted((tmp_path / "bundles").iterdir())
    gone.unlink()
    damaged.write_text(damaged.read_text()[:100])
    seen.clear()
    with pytest.warns(UserWarning, match="is damaged; its runs are repeated"):
        again = compare(grid, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert seen == [(8, 10), (9, 10), (10, 10)]
    assert bits(again.table) == bits(result.table)


def test_any_executor_and_any_number_of_workers_give_the_same_bits(small, tmp_path):
    grid = small(budgets=[10], draws=1)
    here = compare(grid, out=tmp_path / "a", workers=1).table
    processes = compare(grid, out=tmp_path / "b", workers=2).table
    with ThreadPoolExecutor(1) as pool:
        threads = compare(grid, out=tmp_path / "c", executor=pool).table
    assert bits(here) == bits(processes) == bits(threads)


def test_a_wider_grid_in_the_same_folder_keeps_what_is_there(small, tmp_path):
    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    seen = []
    wider = small(budgets=[10, 30], draws=2)
    compare(wider, out=tmp_path, workers=1, progress=lambda *at: seen.append(at))
    assert seen[0] == (3, 10)
    compare(small(budgets=[10], draws=1), out=tmp_path, workers=1)
    assert len(runs.table(tmp_path)) == 2 * 2 + 2  # of this grid alone


def test_a_failing_bundle_does_not_stop_the_others(small, tmp_path):
    grid = small(budgets=[0.001, 10], draws=1)
    result = compare(grid, out=tmp_path, workers=1)
    assert len(result.table) == 2 * 2 + 2
    told = [failure.split(": ")[0] for failure in result.failures]
    assert told == [
        "single-positive, budget 0.001, draw 0",
        "fpc(per_class=10), budget 0.001, draw 0",
    ]
    assert "raise the budget" in result.failures[0]
    again = compare(grid, out=tmp_path, workers=1)
    assert again.failures == result.failures


def test_when_all_fail_there_is_no_table(small, tmp_path):
    grid = small(budgets=[0.001], draws=1, reference=False)
    with pytest.raises(
        BadInput, match=r"^every run failed; the first one said: single-positive, budget"
    ):
        compare(grid, out=tmp_path, workers=1)
    assert not (tmp_path / "table.parquet").exists()


def test_without_budgets_amounts_are_as_written(small, tmp_path):
    grid = small(budgets=[], draws=1, schemes=["rpa(keep=0.2)", "rpa(keep=0.5)"])
    table = compare(grid, out=tmp_path, workers=1).table
    assert table["scheme_spec"].to_pylist()[:4:2] == ["rpa(keep=0.2)", "rpa(keep=0.5)"]
    assert table["budget"].null_count == len(table)
    assert "amounts as written" not in (tmp_path / "summary.md").read_text()


def test_the_result_tells_its_story(small, tmp_path):
    result = compare(small(budgets=[10]), out=tmp_path, workers=1)
    assert [(line.scheme, line.budget) for line in result.summary()] == [
        ("single-positive", 10.0),
        ("fpc(per_class=10)", 10.0),
    ]
    facts = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert len(facts["cells"]) == 4 and facts["runs"] == 12
    assert facts["cells"][0]["scheme"] == "single-positive" and facts["cells"][0]["draws"] == 2
    assert result.text().splitlines()[0].startswith("single-positive at $10: ")
    assert "note: fpc(per_class=10): fpc: " in result.text()
    assert "## Notes" in (tmp_path / "summary.md").read_text()


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


def test_an_interruption_leaves_what_is_finished(small, tmp_path):
    def stop(done, of):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(small(), out=tmp_path, workers=1, progress=stop)
    assert len(list((tmp_path / "bundles").iterdir())) == 3
