"""Local processes that work: quiet on Ctrl-C, and gone when their parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

# Read by the libraries when they are loaded, so they must be set before a worker starts.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Worker:
    """One process ("spawn": the same on every platform, and safe with threads), begun when it is
    first needed and begun anew after it died or was stopped.

    It is a pool of its own, so that it is known which job it was at when it died.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._pool: ProcessPoolExecutor | None = None
        self._up: Future[None] | None = None

    def submit(self, run: Callable[[Job], Result], job: Job) -> Future[Result]:
        """One job at a time."""
        with interrupts_wait(), _environment(self._environment):
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    1, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
                )
                self._up = self._pool.submit(_nothing)
            return self._pool.submit(run, job)

    @property
    def came_up(self) -> bool:
        """Whether its process began to work at all."""
        return self._up is not None and self._up.done() and self._up.exception() is None

    def stop(self) -> None:
        """End the process at once; what it is at is lost."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        # No public call stops running work before Python 3.14, and to leave by itself takes a
        # process with torch in it a second. Nothing is cancelled: the pool sees that its worker is
        # gone and fails what is left, and could not if that were cancelled.
        processes = list((getattr(pool, "_processes", None) or {}).values())
        for process in processes:
            process.terminate()
        pool.shutdown(wait=bool(processes))


@contextmanager
def local_workers(count: int) -> Iterator[list[Worker]]:
    """`count` workers, each with one thread and, where there are GPUs, one of them, in turn.

    They are stopped when the block is left, at once, and what they are at then is lost.
    """
    devices = gpus()
    threads = {name: "1" for name in _THREADS}
    team = [
        Worker(threads | ({"CUDA_VISIBLE_DEVICES": devices[n % len(devices)]} if devices else {}))
        for n in range(count)
    ]
    try:
        yield team
    finally:
        for worker in team:
            worker.stop()


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    torch = sys.modules.get("torch")
    if torch is None:  # then no job here needs one: jobs come from modules that are loaded
        return []
    count = torch.cuda.device_count()
    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    return told.split(",")[:count] if told else [str(n) for n in range(count)]


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Ctrl-C is heard when the block ends, and not at all by processes that begin in it: one that
    is interrupted before it is up would print a traceback of its own."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin() -> None:
    # Ctrl-C reaches every process of a terminal; the driver alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    """What a process does first, to show that it came up."""


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
