import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from simkit.study.workers import local_workers, outcomes


def work(number):
    if number == 3:
        raise ValueError("three is odd")
    return os.getpid(), os.environ.get("OMP_NUM_THREADS")


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


def test_the_environment_is_as_before():
    before = dict(os.environ)
    with local_workers(1) as pool:
        assert pool.submit(work, 1).result()[1] == "1"
    assert dict(os.environ) == before


def test_no_job_is_no_work():
    assert list(outcomes(work, [])) == []


def test_an_interruption_is_not_taken_for_a_failure():
    with pytest.raises(KeyboardInterrupt):
        list(outcomes(interrupt, [1], workers=1))


CANCELLED = """
import os, threading, time
from simkit.study.workers import outcomes
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


PROGRAM = """
import time
from simkit.study.workers import outcomes
def sleep(number):
    print("begun", flush=True)
    time.sleep(60)
if __name__ == "__main__":
    list(outcomes(sleep, [1, 2, 3], workers=2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of terminals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_are_gone_when_the_driver_stops(tmp_path, how):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    driver = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert driver.stdout.readline() == b"begun\n"
    driver.send_signal(how)
    driver.wait(20)
    # The pipe ends once no process holds it any more: driver and workers alike.
    start = time.monotonic()
    driver.stdout.read()
    assert time.monotonic() - start < 20
