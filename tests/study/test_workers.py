import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from simkit.study.workers import outcomes


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
