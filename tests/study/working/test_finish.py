import dataclasses
import json
from concurrent.futures.process import BrokenProcessPool

import pyarrow as pa
import pytest
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.bundles.work import run
from simkit.study.material.material import open_material
from simkit.study.working import finish as module
from simkit.study.working.finish import finish, stored
from simkit.study.working.workers import NoWorker

from simkit.errors import BadInput
from simkit.study.compare import compare


def dies_in_draw_1(run, jobs, **options):
    """As workers do whose process is killed twice by one bundle, to which they come back last."""
    yield from ((job, run(job)) for job in jobs if job.draw != 1)
    yield from ((job, BrokenProcessPool("gone")) for job in jobs if job.draw == 1)


def no_process(run, jobs, **options):
    yield from ((job, NoWorker("gone")) for job in jobs)


def elsewhere(bundle):
    """As a machine with another torch would return it."""
    done = run(bundle)
    rows = []
    for row in done.rows:
        made = json.loads(row["environment"]) | {"torch": "1.0", "numpy": "2.9"}
        rows.append(row | {"environment": json.dumps(made)})
    return dataclasses.replace(done, rows=rows)


def test_a_bundle_that_kills_its_process_is_named_and_the_rest_go_on(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "outcomes", dies_in_draw_1)
    result = compare(tiny(), out=tmp_path / "out")
    assert result.table["draw"].to_pylist() == [0, 2]
    assert result.failures == (
        "rpa(keep=0.5), draw 1: its worker process died twice, the second time with no other "
        "beside it; it may have run out of memory (a smaller memory in the grid, or a larger "
        "machine, helps)",
    )
    monkeypatch.undo()
    again = compare(tiny(), out=tmp_path / "out", workers=1)  # it is not kept as failed
    assert again.failures == () and again.table["draw"].to_pylist() == [0, 1, 2]


def test_where_no_process_comes_up_the_reason_is_named(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "outcomes", no_process)
    with pytest.raises(BadInput) as caught:
        compare(tiny(), out=tmp_path / "out")
    assert str(caught.value) == (
        "every run failed; the first one said: rpa(keep=0.5), draw 0: no worker process came up, "
        "though each was started three times; they were killed, or a script calls compare without "
        '`if __name__ == "__main__":` around it'
    )


def test_what_another_version_computed_is_not_taken(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run", elsewhere)
    bundles = plan(tiny(), open_material(source_of(tiny())))[:1]
    options = {"executor": None, "workers": 1, "progress": lambda done, of: None}
    found = finish(bundles, tmp_path / "bundles", **options)
    assert found.sentences(bundles) == [
        "rpa(keep=0.5), draw 0: its worker has other versions than this process (numpy 2.9, torch "
        "1.0); install the same everywhere"
    ]
    assert not found.done and not stored(bundles, tmp_path / "bundles").done


def test_what_is_kept_is_read_and_not_run(tiny, tmp_path, monkeypatch):
    bundles = plan(tiny(), open_material(source_of(tiny())))[:2]
    seen = []
    options = {"executor": None, "workers": 1, "progress": lambda *at: seen.append(at)}
    first = finish(bundles, tmp_path / "bundles", **options)
    monkeypatch.setattr(module, "run", None)
    again = finish(bundles, tmp_path / "bundles", **options)
    assert seen == [(0, 2), (1, 2), (2, 2), (2, 2)]
    tables = [[one.done[b.key].table for b in bundles] for one in (first, again)]
    assert pa.concat_tables(tables[0]).equals(pa.concat_tables(tables[1]))
