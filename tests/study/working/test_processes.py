import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import pytest
from simkit.study.working import processes
from simkit.study.working.processes import gpus, local_workers, usable_cores

NAMES = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


def seen(_):
    return os.getpid(), *(os.environ.get(name) for name in NAMES)


def die(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_environment_is_as_before_and_a_worker_outlives_its_process():
    before = dict(os.environ)
    with local_workers(1) as (worker,):
        first, threads, _ = worker.submit(seen, 0).result()
        assert threads == "1" and first != os.getpid()
        assert isinstance(worker.submit(die, 0).exception(), BrokenProcessPool)
        assert worker.came_up
        worker.stop()
        second, *_ = worker.submit(seen, 0).result()
        assert second not in (first, os.getpid())
    assert dict(os.environ) == before


def test_each_worker_sees_one_gpu(monkeypatch):
    monkeypatch.setattr(processes, "gpus", lambda: ["0", "GPU-5b"])
    with local_workers(3) as team:
        futures = [worker.submit(seen, 0) for worker in team]
        assert [future.result()[2] for future in futures] == ["0", "GPU-5b", "0"]


@pytest.mark.parametrize(
    ("told", "count", "found"),
    [
        (None, 0, []),
        (None, 2, ["0", "1"]),
        ("2,3", 2, ["2", "3"]),
        ("GPU-5b", 1, ["GPU-5b"]),
        ("", 0, []),
        ("0,1", 0, []),  # named, though none can be used
    ],
)
def test_gpus_are_those_that_this_process_may_use(monkeypatch, told, count, found):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    if told is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    assert gpus() == found


def test_without_torch_nobody_needs_a_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert gpus() == []


def test_there_is_a_core():
    assert usable_cores() >= 1


PROGRAM = """
import time
from simkit.study.working.workers import outcomes
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
