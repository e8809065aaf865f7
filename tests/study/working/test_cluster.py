"""A real cluster of processes on this machine."""

import os
import signal
import sys
import time

import pytest
from simkit.study.working.cluster import alone, cluster

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.compare import compare


@pytest.fixture(scope="module")
def local():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as found:
        yield found


def held(run, bundle, folder):
    """Whoever is at the bundle of draw 1 first says so and waits to be killed."""
    note = folder / f"{bundle.draw}"
    if bundle.draw == 1 and not note.exists():
        note.write_text(str(os.getpid()))
        time.sleep(600)
    return run(bundle)


class Holding:
    """An executor of workers one of which is killed in mid-work."""

    def __init__(self, inner, folder):
        self.inner, self.folder, self.killed = inner, folder, 0

    def submit(self, run, bundle):
        return self.inner.submit(held, run, bundle, self.folder)

    def kill(self, done, of):
        note = self.folder / "1"
        if done and not self.killed:
            while not (note.exists() and note.read_text()):
                time.sleep(0.01)
            self.killed = int(note.read_text())
            os.kill(self.killed, signal.SIGKILL)


def test_a_worker_killed_in_mid_work_loses_nothing(local, tiny, tmp_path):
    grid = tiny()
    (tmp_path / "notes").mkdir()
    with cluster(local.scheduler_address) as executor:
        holding = Holding(executor, tmp_path / "notes")
        there = compare(grid, out=tmp_path / "a", executor=holding, progress=holding.kill)
    here = compare(grid, out=tmp_path / "b", workers=1)
    assert holding.killed and there.failures == ()
    bits = [one.table.drop_columns(list(runs.MEASURED)).to_pylist() for one in (there, here)]
    assert bits[0] == bits[1] and len(bits[0]) == 3


def test_an_address_where_nobody_answers_is_one_sentence(monkeypatch):
    monkeypatch.setattr("simkit.study.working.cluster._PATIENCE", 0.2)
    for address, reason in (("tcp://127.0.0.1:1", ""), ("nowhere://x", " (unknown address scheme")):
        with pytest.raises(BadInput) as caught, cluster(address):
            pass
        told = str(caught.value)
        assert told.startswith(f"no scheduler answers at {address!r}{reason}")
        assert told.endswith(
            "; start one with `dask scheduler` and give the address that it prints, such as "
            "tcp://10.0.0.1:8786"
        )


def test_without_distributed_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput) as caught, cluster("tcp://10.0.0.1:8786"):
        pass
    assert str(caught.value) == (
        "scheduler 'tcp://10.0.0.1:8786' needs dask.distributed, which is not installed; run "
        "pip install 'simkit[cluster]'"
    )


def test_a_thread_waits_for_the_others_of_its_process():
    from concurrent.futures import ThreadPoolExecutor

    inside, most = [], []

    def work(number):
        inside.append(number)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(number)
        return number

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(lambda n: alone(work, n), range(8))) == list(range(8))
    assert set(most) == {1}


def test_what_would_leave_people_waiting_is_noted(local):
    from distributed import LocalCluster

    options = {"processes": False, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=0, **options) as empty:
        address = empty.scheduler_address
        with pytest.warns(UserWarning, match="has no worker yet; work begins when"):
            with cluster(address):
                pass
    with LocalCluster(n_workers=1, threads_per_worker=2, **options) as threads:
        with pytest.warns(UserWarning, match="have several threads, of which simkit uses one"):
            with cluster(threads.scheduler_address):
                pass
