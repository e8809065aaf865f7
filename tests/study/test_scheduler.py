"""Jobs on their way through processes, a cluster, or parts: each ends once, whoever is killed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest
import torch

from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.learn.label_embeddings import LabelMedians
from simkit.progress import silent
from simkit.results import runs
from simkit.results.job_store import Result
from simkit.study import scheduler
from simkit.study.compare import compare
from simkit.study.scheduler import NoWorker, Part, Workers, cluster, finish, outcomes
from simkit.study.worker import run
from tests.long_runs import some
from tests.study.work import planned, repeatable, rows_of

HERE = Workers(count=1)


def wait_until(holds):
    """Wait, but not for ever: a task that never comes must end the test."""
    for _ in range(6000):
        if holds():
            return
        time.sleep(0.01)
    raise TimeoutError


def odd(number):
    if number == 3:
        raise ValueError("three is odd")
    return number


def seen(task):
    """Where a task works, once three of them do at the same time."""
    number, folder = task
    (folder / str(number)).touch()
    wait_until(lambda: len(list(folder.iterdir())) >= 3)
    return os.getpid(), os.environ.get("OMP_NUM_THREADS"), os.environ.get("CUDA_VISIBLE_DEVICES")


def deadly(task):
    """Two kill their process: one the first time, one whenever it is tried, after the other."""
    name, folder = task
    tried = folder / "tried"
    with open(tried, "a") as file:
        file.write(f"{name} ")
    wait_until(lambda: name != "always" or "once" in tried.read_text())
    if name == "always" or (name == "once" and tried.read_text().count("once") == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return name


class Fussy(Exception):
    """An error that no other process can be sent."""

    def __init__(self, number, why):
        super().__init__(f"{number} {why}")


def fussy(number):
    raise Fussy(number, "is odd")


def interrupt(number):
    raise KeyboardInterrupt


def test_every_task_ends_with_a_result_or_its_error():
    for how in ({"workers": 1}, {"executor": ThreadPoolExecutor(2)}):
        found = dict(outcomes(odd, [1, 2, 3, 4], **how))
        assert isinstance(found.pop(3), ValueError) and found == {1: 1, 2: 2, 4: 4}
    for how in ({"workers": 2}, {"executor": ThreadPoolExecutor(1)}):
        errors = dict(outcomes(fussy, [3, 5], **how))
        texts = {number: str(pickle.loads(pickle.dumps(one))) for number, one in errors.items()}
        # Where tblib is imported, as by some clusters, any error can be pickled as it is.
        texts = {
            number: text.removeprefix("Fussy: ").partition(" (")[0]
            for number, text in texts.items()
        }
        assert texts == {3: "3 is odd", 5: "5 is odd"}
    assert list(outcomes(odd, [])) == []
    with pytest.raises(KeyboardInterrupt):  # it is not taken for a failure
        list(outcomes(interrupt, [1], workers=1))


@pytest.mark.slow
def test_local_processes_have_one_thread_and_one_gpu_each(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "gpus", lambda: ["0", "GPU-5b"])
    before = dict(os.environ)
    found = dict(outcomes(seen, [(n, tmp_path) for n in range(3)], workers=3))
    assert dict(os.environ) == before
    processes, threads, devices = zip(*found.values(), strict=True)
    assert len({*processes, os.getpid()}) == 4 and set(threads) == {"1"}
    assert sorted(devices) == ["0", "0", "GPU-5b"]


@pytest.mark.slow
def test_a_task_whose_process_dies_is_tried_alone_at_the_end_and_harms_no_other(tmp_path):
    tasks = [(name, tmp_path) for name in ("always", "a", "once", "b", "c")]
    found = {name: outcome for (name, _), outcome in outcomes(deadly, tasks, workers=2)}
    assert isinstance(found.pop("always"), BrokenProcessPool)
    assert found == {name: name for name in ("a", "once", "b", "c")}
    tried = (tmp_path / "tried").read_text().split()
    assert tried.count("once") == 2
    assert tried.count("always") in (1, 2)  # once if its first process dies before it begins


def test_processes_that_ended_before_they_began_fail_every_task(monkeypatch):
    class Pool(Executor):
        """As a pool of processes that do not come up."""

        def __init__(self, *args, **how):
            pass

        def submit(self, work, *args):
            future = Future()
            future.set_exception(BrokenProcessPool("gone"))
            return future

    monkeypatch.setattr(scheduler.futures, "ProcessPoolExecutor", Pool)
    found = dict(outcomes(odd, [1, 2, 4, 5], workers=2))
    assert sorted(found) == [1, 2, 4, 5]
    assert all(isinstance(error, NoWorker) for error in found.values())


def test_gpus_are_those_that_this_process_may_use(monkeypatch):
    for named, count, usable in (
        ("", 0, []), ("", 2, ["0", "1"]), ("2,3", 2, ["2", "3"]), ("GPU-5b", 1, ["GPU-5b"]),
        ("0,1", 0, []),  # named, though none can be used
    ):  # fmt: skip
        monkeypatch.setattr(torch.cuda, "device_count", lambda count=count: count)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
        assert scheduler.gpus() == usable


PROGRAM = """
import threading, time
from simkit.study.scheduler import outcomes
def sleep(number):
    if number:
        print("begun", flush=True)
        time.sleep(600)
if __name__ == "__main__":
    try:
        for _ in outcomes(sleep, [FIRST, 1, 2, 3], workers=2):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("stopped with", threading.active_count(), "thread")
"""


def program(folder, text):
    (folder / "program.py").write_text(text)
    return subprocess.Popen(
        [sys.executable, str(folder / "program.py")], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.getcwd()},
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="signals of terminals")
@pytest.mark.parametrize("how", some([signal.SIGKILL, signal.SIGINT], 2))
def test_no_process_stays_when_the_driver_stops(tmp_path, how):
    driver = program(tmp_path, PROGRAM.replace("FIRST", "4"))
    assert driver.stdout.readline() == "begun\n"
    driver.send_signal(how)
    # The pipes end once no process holds them any more: driver and workers alike.
    out, errors = driver.communicate(timeout=30)
    if how == signal.SIGINT:
        assert out.endswith("stopped with 1 thread\n") and errors == ""


@pytest.mark.slow
def test_an_interruption_between_tasks_leaves_no_thread_and_no_traceback(tmp_path):
    out, errors = program(tmp_path, PROGRAM.replace("FIRST", "0")).communicate(timeout=100)
    assert out.endswith("stopped with 1 thread\n") and errors == ""


def dies_in_draw_1(run, jobs, **options):
    """As workers do whose process is killed twice by one job, to which they come back last."""
    yield from ((job, run(job)) for job in jobs if job.draw != 1)
    yield from ((job, BrokenProcessPool("gone")) for job in jobs if job.draw == 1)


def test_a_job_that_kills_its_process_is_named_and_the_rest_is_kept(tiny, tmp_path, monkeypatch):
    jobs, _ = planned(tiny())
    monkeypatch.setattr(scheduler, "outcomes", dies_in_draw_1)
    found = finish(jobs, tmp_path, HERE, silent)
    ((run_name, why),) = found.reasons(jobs).items()
    assert run_name == "rpa(keep=0.5), draw 1, an" and "smaller memory" in why
    monkeypatch.setattr(scheduler, "outcomes", lambda run, jobs, **how: [(jobs[0], NoWorker())])
    (why,) = finish(jobs, tmp_path, HERE, silent).reasons(jobs).values()
    assert '`if __name__ == "__main__":`' in why
    assert set(found.done) == {jobs[0].key, jobs[2].key}
    monkeypatch.undo()
    again = finish(jobs, tmp_path, HERE, silent)  # it is not kept as failed
    assert not again.failures and len(again.done) == 3


def test_what_another_version_computed_is_not_taken(tiny, tmp_path, monkeypatch):
    def elsewhere(job, *how):
        (row,) = rows_of(run(job))
        made = json.loads(row["environment"]) | {"torch": "1.0", "numpy": "2.9"}
        return Result(runs.to_table([row | {"environment": json.dumps(made)}]))

    monkeypatch.setattr(scheduler, "run", elsewhere)
    jobs, _ = planned(tiny(draws=1))
    found = finish(jobs, tmp_path, HERE, silent)
    (sentence,) = found.reasons(jobs).values()
    assert "numpy 2.9, torch 1.0" in sentence and "install the same" in sentence
    assert not found.done and not scheduler.stored(jobs, tmp_path).done


def test_what_is_kept_is_read_and_not_run(tiny, tmp_path, monkeypatch):
    jobs, _ = planned(tiny(draws=2))
    at = []
    first = finish(jobs, tmp_path, HERE, lambda *now: at.append(now))
    monkeypatch.setattr(scheduler, "run", exit)
    again = finish(jobs, tmp_path, HERE, lambda *now: at.append(now))
    assert at == [(0, 2), (1, 2), (2, 2), (2, 2)]
    assert all(first.done[job.key].table.equals(again.done[job.key].table) for job in jobs)


@pytest.mark.parametrize("of", [1, 3, 16, 40])
def test_the_parts_have_each_job_once_and_about_the_same_work(of):
    jobs = [SimpleNamespace(name=name, runs=1 + name % 7) for name in range(37)]
    shares = [[job.name for job in Part(n, of).share(jobs)] for n in range(1, of + 1)]
    assert sorted(name for share in shares for name in share) == list(range(37))
    assert all(share == sorted(share) for share in shares)
    loads = [sum(jobs[name].runs for name in share) for share in shares]
    assert max(loads) - min(loads) <= 7  # never more than one job apart


def test_a_part_is_read_as_it_is_written():
    assert Part.read("3/16") == Part(3, 16) and str(Part(3, 16)) == "3/16"
    for text in ("0/4", "5/4", "1/0", "-1/4", "3", "a/b", "1/2/3", "1.5/4", ""):
        with pytest.raises(BadInput, match=r"part .*1/16"):
            Part.read(text)


@pytest.fixture(scope="module")
def local():
    """A real cluster of processes on this machine."""
    from distributed import LocalCluster

    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **quiet) as found:
        yield found


def held(run, job, folder):
    """Whoever is at the job of draw 1 first says so and waits to be killed."""
    note = folder / f"{job.draw}"
    if job.draw == 1 and not note.exists():
        note.write_text(str(os.getpid()))
        time.sleep(600)
    return run(job)


class Holding(Executor):
    """An executor of workers one of which is killed in mid-work."""

    def __init__(self, inner, folder):
        self.inner, self.folder, self.killed = inner, folder, 0
        self.watch = inner.watch

    def submit(self, run, job):
        return self.inner.submit(held, run, job, self.folder)

    def kill(self, done, of):
        note = self.folder / "1"
        if done and not self.killed:
            wait_until(lambda: note.exists() and note.read_text())
            self.killed = int(note.read_text())
            os.kill(self.killed, signal.SIGKILL)


def test_a_worker_of_a_cluster_killed_in_mid_work_loses_nothing(local, tiny, tmp_path):
    jobs, _ = planned(tiny())
    (tmp_path / "notes").mkdir()
    with cluster(local.scheduler_address) as executor:
        assert executor.workers == 2
        holding = Holding(executor, tmp_path / "notes")
        with pytest.warns(
            UserWarning, match=r"lost: 1 worker of the cluster \(tcp://.* begins again"
        ):
            away = finish(jobs, tmp_path / "a", Workers(holding), holding.kill)
    here = finish(jobs, tmp_path / "b", HERE, silent)
    assert holding.killed and not away.failures and len(away.done) == 3
    for job in jobs:
        one, other = (found.done[job.key].table.to_pylist() for found in (away, here))
        assert repeatable(one) == repeatable(other)


@pytest.mark.slow
def test_workers_compute_neighbours_and_label_medians(local, tiny, tmp_path, monkeypatch):
    built = []
    for kind in (Neighbours, LabelMedians):

        def build(cls, *args, original=kind.build, **how):
            built.append(cls)
            return original(*args, **how)

        monkeypatch.setattr(kind, "build", classmethod(build))
    grid = tiny(methods=["se"])
    here = compare(grid, out=tmp_path / "here", workers=1)
    assert {*built} == {Neighbours, LabelMedians}
    built.clear()
    with cluster(local.scheduler_address) as executor:
        away = compare(grid, out=tmp_path / "away", executor=executor)
    assert not built and not away.failures
    assert repeatable(away) == repeatable(here) and len(repeatable(here)) == 3


INSIDE, MOST = [], []


def crowded(number):
    """Notes how many threads are in it."""
    INSIDE.append(number)
    MOST.append(len(INSIDE))
    time.sleep(0.02)
    INSIDE.remove(number)
    return number


def test_threads_of_a_worker_wait_for_each_other_and_what_delays_work_is_said():
    from distributed import LocalCluster

    quiet = {"processes": False, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=1, threads_per_worker=4, **quiet) as threads:
        with cluster(threads.scheduler_address) as executor:
            done = outcomes(crowded, range(8), executor=executor)
            assert sorted(done) == [(number, number) for number in range(8)]
    assert MOST == [1] * 8
    with LocalCluster(n_workers=0, **quiet) as empty:
        with pytest.warns(UserWarning, match="has no worker yet"):
            with cluster(empty.scheduler_address):
                pass


class Lost(Executor):
    """An executor that cancels its work, as that of dask does without a scheduler."""

    def submit(self, work, task):
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def test_a_lost_scheduler_is_one_sentence_that_says_what_is_kept():
    with pytest.raises(BadInput, match=r"scheduler .* lost; what is finished is kept: .* command"):
        [*outcomes(odd, [1, 2], executor=Lost())]


def test_an_address_where_nobody_answers_and_a_missing_package_are_one_sentence(monkeypatch):
    monkeypatch.setattr(scheduler, "_PATIENCE", 0.2)
    for address in ("tcp://127.0.0.1:1", "nowhere://x"):
        with pytest.raises(BadInput, match=rf"{address}.*dask scheduler"), cluster(address):
            pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match="pip install"), cluster("tcp://10.0.0.1:8786"):
        pass
