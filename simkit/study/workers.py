"""Local worker processes: one thread each, quiet on Ctrl-C, gone when their parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

# Read by the libraries when they are loaded, so they must be set before a worker starts.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def outcomes(
    run: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
) -> Iterator[tuple[Job, Result | Exception]]:
    """Every job with its result or its error, in the order in which they end.

    executor: any; else as many local processes as `workers` or the cores say, and for one of them
    this process itself.
    """
    if executor is not None:
        futures = _submitted(executor, run, jobs)
        try:
            yield from _ended(futures)
        finally:
            for future in futures:
                future.cancel()
        return
    count = min(workers or usable_cores(), len(jobs))
    if count > 1:
        with local_workers(count) as pool:
            yield from _ended(_submitted(pool, run, jobs))
        return
    for job in jobs:
        try:
            yield job, run(job)
        except Exception as error:
            yield job, error


def _submitted(
    executor: Executor, run: Callable[[Job], Result], jobs: Sequence[Job]
) -> dict[Future[Result], Job]:
    with _interrupts_wait():
        return {executor.submit(run, job): job for job in jobs}


def _ended(futures: dict[Future[Result], Job]) -> Iterator[tuple[Job, Result | Exception]]:
    for future in as_completed(futures):
        error = future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        yield futures[future], error or future.result()


@contextmanager
def local_workers(count: int) -> Iterator[Executor]:
    """`count` fresh processes ("spawn": the same on every platform, and safe with threads).

    Left by an error or by Ctrl-C, they are stopped at once; what they were at is lost.
    """
    with _environment({name: "1" for name in _THREADS}):
        pool = ProcessPoolExecutor(
            count, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
        )
        try:
            yield pool
        except BaseException:
            # No public call stops running work before Python 3.14. Nothing is cancelled: the pool
            # sees that a worker is gone and fails all that is left, and could not if some of it
            # were cancelled already.
            processes = list((getattr(pool, "_processes", None) or {}).values())
            for process in processes:
                process.terminate()
            pool.shutdown(wait=bool(processes))
            raise
        pool.shutdown()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
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


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
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
