"""Jobs on their way through processes: local ones, those of a cluster, or a share for each part."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from simkit.errors import BadInput
from simkit.history import versions
from simkit.progress import Progress
from simkit.study import runs, store
from simkit.study.jobs import Job
from simkit.study.store import Result
from simkit.study.worker import Done, run, sentence

Task = TypeVar("Task")
Value = TypeVar("Value")

# Read by the libraries when they are loaded, so they must be set before a process starts.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_STARTS = 3  # pools in a row that end before a process has begun to work
_PATIENCE = 20  # seconds until a cluster's scheduler has answered
_one = threading.Lock()


@dataclass(frozen=True)
class Part:
    """The `number`-th of `of` shares, counted from 1; written 3/16.

    For machines that know nothing of each other, such as those of a SLURM array.
    """

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Part:
        """From text such as "3/16". Raises BadInput."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise BadInput(
                f"part is {text!r}; I/N with I from 1 to N is expected, such as 1/16 for the first "
                "of sixteen"
            )
        return Part(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, jobs: Sequence[Job]) -> list[Job]:
        """This part's jobs, in their order: the largest go first to whoever has least so far.

        It depends on the jobs alone, so that all parts together have each job once.
        """
        loads = [0] * self.of
        mine = []
        for place in sorted(range(len(jobs)), key=lambda place: -jobs[place].runs):
            least = loads.index(min(loads))
            loads[least] += jobs[place].runs
            if least == self.number - 1:
                mine.append(place)
        return [jobs[place] for place in sorted(mine)]


@dataclass(frozen=True)
class Workers:
    """Who works: an executor, or so many local processes; results of which other code are kept.

    count: by default one for each core, or for each GPU where backbones are trained.
    """

    executor: Executor | None = None
    count: int | None = None
    accept: str = ""


@dataclass(frozen=True, eq=False)
class Finished:
    """By key all jobs that are or became finished, and why others are not."""

    done: Mapping[str, Result]
    failures: Mapping[str, str]

    def sentences(self, jobs: Sequence[Job]) -> list[str]:
        """One for each failure, of whole jobs and of methods, in the order of the jobs."""
        sentences = []
        for job in jobs:
            if job.key in self.failures:
                sentences.append(f"{job}: {self.failures[job.key]}")
            elif job.key in self.done:
                failed = self.done[job.key].failures.items()
                sentences += [f"{what}: {why}" for what, why in failed]
        return sentences


def finish(jobs: Sequence[Job], folder: Path, workers: Workers, progress: Progress) -> Finished:
    """Run what is left of the jobs and store each as it ends, in this process alone.

    progress gets (runs done, runs).
    """
    before = stored(jobs, folder, workers.accept)
    done, failures = dict(before.done), dict(before.failures)
    left = [job for job in jobs if job.key not in done and job.key not in failures]
    every = sum(job.runs for job in jobs)
    ended = every - sum(job.runs for job in left)
    progress(ended, every)
    for job, outcome in outcomes(run, left, executor=workers.executor, workers=workers.count):
        if isinstance(outcome, Exception):
            failures[job.key] = _reason(outcome, own=workers.executor is None)
        elif difference := _other_versions(outcome):
            failures[job.key] = difference
        else:
            rows = runs.tidy(outcome.rows).replace_schema_metadata(None)
            done[job.key] = Result(rows, outcome.failures)
            if outcome.lasting:
                store.save(done[job.key], folder, job.stem)
        ended += job.runs
        progress(ended, every)
    return Finished(done, failures)


def stored(jobs: Sequence[Job], folder: Path, accept: str = "") -> Finished:
    """What is finished already, and why a job's file cannot even be written."""
    done: dict[str, Result] = {}
    failures: dict[str, str] = {}
    for job in jobs:
        try:
            result = store.load(folder, stem(job, folder, accept), runs.SCHEMA)
        except BadInput as error:
            failures[job.key] = str(error)
            continue
        if result is not None:
            done[job.key] = result
    return Finished(done, failures)


def stem(job: Job, folder: Path, accept: str = "") -> str:
    """What the job's file is called: its own, or that of the accepted code where that alone is
    there."""
    other = f"{job.key}-{accept}"
    own = store.finished(folder, job.stem) or not (accept and store.finished(folder, other))
    return job.stem if own else other


def outcomes(
    work: Callable[[Task], Value],
    tasks: Sequence[Task],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
) -> Iterator[tuple[Task, Value | Exception]]:
    """Every task with its result or its error, in the order in which they end.

    executor: any; else as many local processes as `workers` or the cores say, and for one of them
    this process itself. Where there are GPUs, each process sees one. Tasks under way when a process
    dies are tried once more, alone, when all others have ended; the error of one whose process dies
    again is BrokenProcessPool.
    """
    if executor is not None:
        with _interrupts_wait():
            futures = {executor.submit(work, task): task for task in tasks}
        try:
            for future in as_completed(futures):
                yield futures[future], _outcome(future)
        finally:
            for future in futures:
                future.cancel()
        return
    count = min(workers or usable_cores(), len(tasks))
    if count > 1:
        yield from _in_processes(work, tasks, count)
        return
    for task in tasks:
        try:
            yield task, work(task)
        except Exception as error:
            yield task, error


class NoWorker(BrokenProcessPool):
    """No process could even begin."""


def _in_processes(
    work: Callable[[Task], Value], tasks: Sequence[Task], count: int
) -> Iterator[tuple[Task, Value | Exception]]:
    waiting, again = deque(tasks), deque[Task]()
    unborn = 0  # pools in a row that ended before a process came up
    while waiting or again:
        # What was under way when a process died goes alone: memory may be what was missing.
        left, size = (waiting, count) if waiting else (deque([again.popleft()]), 1)
        first = left is waiting
        with _Pool(min(size, len(left))) as pool:
            yield from pool.outcomes(work, left)
            lost = pool.lost
        unborn = 0 if pool.came_up else unborn + 1
        if lost and not pool.came_up and unborn < _STARTS:
            (waiting if first else again).extendleft(reversed(lost))
        elif lost and first and pool.came_up:
            again.extend(lost)
        elif lost:
            error = BrokenProcessPool() if pool.came_up else NoWorker()
            every = lost if pool.came_up else [*lost, *waiting, *again]
            yield from ((task, error) for task in every)
            if not pool.came_up:
                return


class _Pool:
    """Local processes ("spawn": the same on every platform, and safe with threads), each with one
    thread and, where there are GPUs, one of them. They are stopped at once when the block is left.
    """

    def __init__(self, count: int) -> None:
        self.count, self.lost = count, list[Any]()
        context = multiprocessing.get_context("spawn")
        devices = context.SimpleQueue()
        for place in range(count):
            devices.put(gpus()[place % len(gpus())] if gpus() else "")
        self._pool = ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(devices,)
        )
        with _interrupts_wait(), _environment(dict.fromkeys(_THREADS, "1")):
            self._up = [self._pool.submit(_nothing) for _ in range(count)]

    @property
    def came_up(self) -> bool:
        """Whether any process began to work at all."""
        return any(f.done() and not f.cancelled() and f.exception() is None for f in self._up)

    def outcomes(
        self, work: Callable[[Task], Value], left: deque[Task]
    ) -> Iterator[tuple[Task, Value | Exception]]:
        """Takes tasks from `left` as processes get free; those whose process died are `lost`."""
        busy: dict[Future[Value], Task] = {}
        broken = False
        while busy or (left and not broken):
            while left and len(busy) < self.count and not broken:
                task = left.popleft()
                try:
                    busy[self._pool.submit(work, task)] = task
                except BrokenProcessPool:
                    left.appendleft(task)
                    broken = True
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                task, outcome = busy.pop(future), _outcome(future)
                if isinstance(outcome, BrokenProcessPool):
                    broken = True
                    self.lost.append(task)
                else:
                    yield task, outcome

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        # No public call stops running work before Python 3.14. Nothing is cancelled: the pool sees
        # that its processes are gone and fails what is left, and could not if that were cancelled.
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        for process in processes:
            process.terminate()
        self._pool.shutdown(wait=bool(processes))


def _outcome(future: Future[Any]) -> Any:
    error = future.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return error or future.result()


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(n) for n in range(count)]


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _begin(devices: Any) -> None:
    # Ctrl-C reaches every process of a terminal; the driver alone answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if device := devices.get():
        os.environ["CUDA_VISIBLE_DEVICES"] = device  # read when CUDA is first used
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    """What a process does first, to show that it came up."""


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


def _other_versions(done: Done) -> str:
    """Why rows are not what this process would have computed: their worker's versions differ."""
    here = {**versions(), "torch": str(torch.__version__)}
    for row in done.rows:
        there = json.loads(row["environment"])
        if differ := [f"{name} {there[name]}" for name in here if there[name] != here[name]]:
            return (
                f"its worker has other versions than this process ({', '.join(differ)}); install "
                "the same everywhere"
            )
    return ""


def _reason(error: Exception, *, own: bool) -> str:
    """own: whether the processes are those of this comparison, and not an executor's."""
    if isinstance(error, NoWorker):
        return (
            "no worker process came up, though they were started three times; they were killed, or "
            'a script calls compare without `if __name__ == "__main__":` around it'
        )
    if isinstance(error, BrokenExecutor) and not own:
        return (
            "a worker of the executor died, which ended the executor; the same call with a new one "
            "goes on from here"
        )
    if isinstance(error, BrokenProcessPool):
        return (
            "its worker process died twice, the second time with no other beside it; it may have "
            "run out of memory (a smaller memory in the grid, or a larger machine, helps)"
        )
    return sentence(error)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of a dask.distributed scheduler at an address such as tcp://10.0.0.1:8786.

    They need the same simkit and torch as this process and see the same files. Work of one that is
    lost is given to another by the scheduler. Raises BadInput where distributed is not installed or
    no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BadInput(
            f"scheduler {address!r} needs dask.distributed, which is not installed; run "
            "pip install 'simkit[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = f" ({error})" if isinstance(error, ValueError | TypeError) else ""
        raise BadInput(
            f"no scheduler answers at {address!r}{reason}; start one with `dask scheduler` and "
            "give the address that it prints, such as tcp://10.0.0.1:8786"
        ) from None
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            warnings.warn(
                f"the scheduler at {address} has no worker yet; work begins when one comes "
                f"(`dask worker {address} --nthreads 1`)",
                stacklevel=3,
            )
        if any(worker["nthreads"] > 1 for worker in workers):
            warnings.warn(
                f"workers at {address} have several threads, of which simkit uses one; start one "
                "worker for each core (`dask worker --nworkers N --nthreads 1`)",
                stacklevel=3,
            )
        yield _OneAtATime(client.get_executor(pure=False), len(workers))
    finally:
        client.close()


class _OneAtATime(Executor):
    """Another executor, of whose workers each does one thing at a time; workers: how many."""

    def __init__(self, inner: Executor, count: int) -> None:
        self._inner, self.workers = inner, max(count, 1)

    def submit(  # type: ignore[override]
        self, work: Callable[..., Value], /, *values: Any, **named: Any
    ) -> Future[Value]:
        return self._inner.submit(_alone, work, *values, **named)


def _alone(work: Callable[..., Value], *values: Any, **named: Any) -> Value:
    """Call `work` when no other thread of this process is in it: how many threads torch uses, and
    what is warned about, belong to the whole process."""
    with _one:
        return work(*values, **named)
