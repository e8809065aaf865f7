import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import pytest
from simkit.study.working import workers
from simkit.study.working.workers import NoWorker, outcomes


def work(number):
    if number == 3:
        raise ValueError("three is odd")
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


def deadly(job):
    """Two kill their process: one the first time, one whenever it is tried."""
    name, folder = job
    with open(folder / "tried", "a") as file:
        file.write(f"{name} ")
    if name == "always" or (name == "once" and (folder / "tried").read_text().count("once") == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def interrupt(number):
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", ["here", "threads", "processes"])
def test_every_job_ends_with_a_result_or_its_error(how):
    given = {"here": {"workers": 1}, "processes": {"workers": 2}, "threads": {}}[how]
    if how == "threads":
        given["executor"] = ThreadPoolExecutor(2)
    found = dict(outcomes(work, [1, 2, 3, 4], **given))
    assert sorted(found) == [1, 2, 3, 4]
    assert isinstance(found.pop(3), ValueError)
    away = {pid for pid, _ in found.values()} - {os.getpid()}
    assert bool(away) == (how == "processes")
    if how == "processes":
        assert {threads for _, threads in found.values()} == {"1"}


def test_no_job_is_no_work():
    assert list(outcomes(work, [])) == []


def test_an_interruption_is_not_taken_for_a_failure():
    with pytest.raises(KeyboardInterrupt):
        list(outcomes(interrupt, [1], workers=1))


CANCELLED = """
import os, threading, time
from simkit.study.working.workers import outcomes
def sleep(number):
    time.sleep(60 if number else 0)
if __name__ == "__main__":
    try:
        for _ in outcomes(sleep, list(range(40)), workers=2):
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("stopped with", threading.active_count(), "thread")
"""


def test_an_interruption_leaves_no_thread_and_no_traceback(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CANCELLED)
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=60
        )
        assert (done.stdout, done.stderr) == ("stopped with 1 thread\n", "")


def test_a_job_whose_process_dies_is_tried_alone_at_the_end_and_harms_no_other(tmp_path):
    jobs = [(name, tmp_path) for name in ("always", "a", "once", "b", "c")]
    ended = list(outcomes(deadly, jobs, workers=2))
    found = {name: outcome for (name, _), outcome in ended}
    assert isinstance(found.pop("always"), BrokenProcessPool)
    assert found == {name: name for name in ("a", "once", "b", "c")}
    tried = (tmp_path / "tried").read_text().split()
    assert sorted(tried[:5]) == ["a", "always", "b", "c", "once"]
    assert sorted(tried[5:]) == ["always", "once"]


class Dead:
    """A worker whose process never comes up."""

    came_up = False

    def submit(self, run, job):
        future = Future()
        future.set_exception(BrokenProcessPool("gone"))
        return future

    def stop(self):
        pass


def test_where_no_process_comes_up_every_job_says_so(monkeypatch):
    @contextmanager
    def team(count):
        yield [Dead() for _ in range(count)]

    monkeypatch.setattr(workers, "local_workers", team)
    found = dict(outcomes(work, [1, 2, 4], workers=2))
    assert sorted(found) == [1, 2, 4]
    assert all(isinstance(error, NoWorker) for error in found.values())


class Late(Dead):
    """A worker whose process comes up at the third start."""

    def __init__(self):
        self.starts = 0

    def submit(self, run, job):
        self.starts += 1
        if self.starts < 3:
            return super().submit(run, job)
        future = Future()
        future.set_result(run(job))
        return future


def test_a_process_that_ended_before_it_began_is_started_again(monkeypatch):
    @contextmanager
    def team(count):
        yield [Late() for _ in range(count)]

    monkeypatch.setattr(workers, "local_workers", team)
    assert sorted(outcomes(work, [1, 2, 4], workers=2)) == [(n, work(n)) for n in (1, 2, 4)]
