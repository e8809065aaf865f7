"""Runs jobs in this process, in local processes, or on the workers of a cluster.

All three are executors behind `outcomes`, and each can run a part of the jobs.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import pickle
import re
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import torch

from simkit.errors import BadInput, examples
from simkit.history import versions
from simkit.progress import Progress, usable_cores
from simkit.quantities import numbered
from simkit.results import job_store, runs
from simkit.results.cells import listed
from simkit.study import known_classes
from simkit.study.code_id import own_classes
from simkit.study.jobs import Job
from simkit.study.worker import run, sentence

Task = TypeVar("Task")
Value = TypeVar("Value")

# The libraries read these when they are loaded, so they must be set before a process starts.
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_PATIENCE = 20  # seconds to wait for the scheduler of a cluster
_LOOK = 5  # seconds between looks at its workers
_SHOW = 1.0  # seconds between two looks at the progress of jobs
_PARTS, _LEAST = 64, 32  # parts of work on a cluster, and images in a part
_lock = threading.Lock()


@dataclass(frozen=True)
class Part:
    """The `number`-th of `of` shares of the jobs, counted from 1; written 3/16.

    For processes that do not communicate, such as those of a SLURM array.
    """

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Part:
        """From text such as "3/16". Raises BadInput."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", str(text))
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise BadInput(f"part is {text!r}; I/N with I from 1 to N is expected, such as 1/16")
        return Part(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def share(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs of this part, in order. Jobs are dealt to the parts in turn, the largest first;
        this depends on the jobs alone, so each is in one part."""
        largest_first = sorted(range(len(jobs)), key=lambda index: -jobs[index].runs)
        return [jobs[index] for index in sorted(largest_first[self.number - 1 :: self.of])]


@dataclass(frozen=True)
class Workers:
    """The processes that run jobs.

    Attributes
    ----------
    executor
        An executor of concurrent.futures; None for local processes.
    count
        Number of local processes; None for one per core.
    """

    executor: futures.Executor | None = None
    count: int | None = None


@dataclass(eq=False)
class Finished:
    """Results of finished jobs, and error messages of failed ones, by key."""

    done: dict[str, job_store.Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def without(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs that have neither finished nor failed."""
        return [job for job in jobs if job.key not in self.done and job.key not in self.failures]

    def reasons(self, jobs: Sequence[Job]) -> dict[str, str]:
        """The reason of each failed run by its name, in the order of the jobs."""
        reasons = dict[str, str]()
        for job in jobs:
            if job.key in self.done:
                reasons |= self.done[job.key].failures
            elif job.key in self.failures:
                reasons |= dict.fromkeys(job.names, self.failures[job.key])
        return reasons


def finish(
    jobs: Sequence[Job], folder: Path, workers: Workers, progress: Progress,
    between: Callable[[], None] = lambda: None,
) -> Finished:  # fmt: skip
    """Run the unfinished jobs and store each result as its job ends.

    Local processes keep the finished stacks of their job until then; nothing else writes. Jobs with
    classes that local processes do not know run last, in this process.

    Parameters
    ----------
    progress
        Called with (runs done, runs), with local processes also during a job.
    between
        Called after every job but the last.
    """
    finished = stored(jobs, folder)
    local = workers.executor is None  # others may see no such folder
    away, here = list[Job](), list[Job]()
    for job in finished.without(jobs):
        (here if local and runs_here(job) else away).append(job)
    unfinished = [*away, *here]
    trained = [kept_trainings(job, folder) if local else 0 for job in unfinished]
    count = _Count(jobs, unfinished, trained, progress)
    places = {job.key: place for place, job in enumerate(unfinished)}
    work: Callable[..., job_store.Result] = run
    if local:
        work = partial(_run, folder=folder, places=places)
    kinds = frozenset[type]().union(*(each for job in away for each in job.own.values()))
    modules = known_classes.modules(kinds)
    others = outcomes(
        partial(known_classes.import_and_call, modules, work), away,
        executor=workers.executor, workers=workers.count, told=count.under_way,
    )  # fmt: skip
    own = outcomes(work, here, workers=1, told=count.under_way) if here else ()
    for job, outcome in chain(others, own):
        if failure := _failure(outcome, local=local):
            finished.failures[job.key] = failure
        elif isinstance(outcome, job_store.Result):
            finished.done[job.key] = outcome
            if outcome.lasting:
                job_store.save(outcome, folder, job.stem)
                for stack in job_store.stacks(folder, job.stem):
                    stack.unlink(missing_ok=True)
        if count.ended(places[job.key]):
            between()
    return finished


def runs_here(job: Job) -> bool:
    """Whether local processes do not know classes of a job, so that it runs in this one."""
    return any(map(known_classes.unknown_elsewhere, job.own.values()))


def check_classes(parts: Iterable[object], workers: Workers) -> None:
    """Warn of schemes and methods that local processes do not know.

    Raises
    ------
    BadInput
        If the workers of an executor do not know them.
    """
    own = own_classes(parts)
    if workers.executor is not None and own:
        wanted = known_classes.modules(own), known_classes.names(own)
        for _, lacking in outcomes(known_classes.unregistered, [wanted], executor=workers.executor):
            if lacking and not isinstance(lacking, Exception):
                raise BadInput(
                    f"the workers do not know {listed(lacking, len(lacking))}; put the class into "
                    "a module that they can import, such as one of an installed package"
                )
    elif workers.executor is None and (workers.count or usable_cores()) > 1:
        if unknown := known_classes.names(known_classes.unknown_elsewhere(own)):
            warnings.warn(
                f"runs with {listed(unknown, len(unknown))} are trained in this process, one after "
                "another: other processes do not know classes of notebook cells or sessions; "
                "to train them by all workers, put the class into a module that you import",
                stacklevel=5,
            )


class _Count:
    """Counts the trainings of jobs, and shows their number: after every job, and each second."""

    def __init__(
        self, jobs: Sequence[Job], unfinished: Sequence[Job], trained: list[int], show: Progress
    ) -> None:
        self.total, self.runs = sum(job.runs for job in jobs), [job.runs for job in unfinished]
        self.before = self.total - sum(self.runs)
        self.done = [float(number) for number in trained]  # of each unfinished job
        self.show, self.left, self.last = show, {*range(len(self.runs))}, time.monotonic()
        self._show()

    def _show(self) -> None:
        self.show(self.before + int(sum(self.done)), self.total)

    def under_way(self, place: int, trainings: float) -> None:
        """A job has so many finished trainings, in fractions."""
        if place in self.left:
            self.done[place] = max(self.done[place], trainings)
            if time.monotonic() >= self.last + _SHOW:
                self.last = time.monotonic()
                self._show()

    def ended(self, place: int) -> bool:
        """A job has ended; whether others are left."""
        self.left.discard(place)
        self.done[place] = self.runs[place]
        self._show()
        return bool(self.left)


# Tells the main process how many trainings of the job at a place are finished.
_tell: Callable[[int, float], None] = lambda place, trainings: None  # noqa: E731


def _run(job: Job, folder: Path, places: Mapping[str, int]) -> job_store.Result:
    return run(job, folder, partial(_tell, places[job.key]))


def kept_trainings(job: Job, folder: Path) -> int:
    """Number of finished trainings of an interrupted job."""
    return sum(
        not _other_versions(each) for each in job_store.trainings(folder, job.stem, *runs.SCHEMAS)
    )


def _other_versions(environment: str) -> list[str]:
    """The versions in an environment that differ from those of this process."""
    ours, theirs = {**versions(), "torch": str(torch.__version__)}, json.loads(environment)
    return [f"{name} {theirs[name]}" for name in ours if theirs[name] != ours[name]]


def _failure(outcome: job_store.Result | Exception, *, local: bool) -> str:
    """Why an outcome is not used, or ""; `local`: it comes from a local process."""
    if isinstance(outcome, job_store.Result):
        for environment in outcome.table["environment"].to_pylist():
            if odd := _other_versions(environment):
                return f"its worker has {', '.join(odd)}; install the same versions everywhere"
        return ""
    if isinstance(outcome, NoWorker):
        return 'no worker process started; call compare below `if __name__ == "__main__":`'
    if isinstance(outcome, futures.BrokenExecutor) and not local:
        return "a worker died, which ended the executor; resume with a new one and the same call"
    if isinstance(outcome, BrokenProcessPool):
        return (
            "its worker process died twice, the second time alone, perhaps out of memory; set a "
            "smaller memory in the grid, or use a larger machine"
        )
    return sentence(outcome)


def stored(jobs: Sequence[Job], folder: Path) -> Finished:
    """Stored results."""
    results = {job.key: job_store.load(folder, job.stem, *runs.SCHEMAS) for job in jobs}
    return Finished({key: result for key, result in results.items() if result})


def adopt(jobs: Sequence[Job], folder: Path, accept: Sequence[str]) -> None:
    """Store the results of accepted code as those of these jobs, so that it is accepted once.

    Their rows keep the hash of the code that made them.
    """
    for job in jobs if accept else ():
        for code in accept:
            if job_store.finished(folder, job.stem):
                break
            if result := job_store.load(folder, f"{job.key}-{code}", *runs.SCHEMAS):
                job_store.save(result, folder, job.stem)


class NoWorker(BrokenProcessPool):
    """No worker process could start."""


def outcomes(
    work: Callable[[Task], Value],
    tasks: Sequence[Task],
    *,
    executor: futures.Executor | None = None,
    workers: int | None = None,
    told: Callable[[int, float], None] = lambda place, trainings: None,
) -> Iterator[tuple[Task, Value | Exception]]:
    """Every task with its result or its error, in the order in which they end.

    Three kinds of execution behind one call: any executor, such as that of a `cluster`; local
    processes; or this process. Each can run a share of the tasks (`Part`).

    Parameters
    ----------
    executor
        By default local processes, each of which sees one GPU if there are any. A task whose
        process dies is tried once more, alone, after all others; if its process dies again, its
        error is BrokenProcessPool.
    workers
        Number of local processes, by default one per core; a single one is this process itself.
    told
        Called with the place of a task and what `work` tells of it, without an executor.
    """
    global _tell
    count = min(workers or usable_cores(), len(tasks))
    if executor is not None:
        with _interrupts_deferred():
            submitted = {executor.submit(partial(_alone, work), task): task for task in tasks}
        watch, waiting = getattr(executor, "watch", lambda: None), {*submitted}
        try:
            while waiting:
                ended, waiting = futures.wait(waiting, _LOOK, futures.FIRST_COMPLETED)
                watch()
                for future in ended:
                    yield submitted[future], _outcome(future)
        finally:
            for future in submitted:
                future.cancel()
    elif count > 1:
        yield from _in_processes(work, tasks, count, told)
    else:
        _tell = told
        for task in tasks:
            try:
                yield task, work(task)
            except Exception as error:
                yield task, error


def _alone(work: Callable[[Task], Value], task: Task) -> Value:
    """Call `work` in one thread of this process at a time, as the number of torch threads and the
    capture of warnings are global to the process."""
    with _lock:
        return _with_picklable_errors(work, task)


def _with_picklable_errors(work: Callable[[Task], Value], task: Task) -> Value:
    """Call `work` in a worker. An error that cannot be pickled is replaced by one with its text, as
    it would break a pool and block a cluster for ever."""
    try:
        return work(task)
    except Exception as error:
        failed = error
    try:
        pickle.loads(pickle.dumps(failed))
    except Exception:
        failed = RuntimeError(sentence(failed))
    raise failed


def _in_processes(
    work: Callable[[Task], Value], tasks: Sequence[Task], count: int,
    told: Callable[[int, float], None],
) -> Iterator[tuple[Task, Value | Exception]]:  # fmt: skip
    ahead = RawArray("d", len(tasks))  # without a lock, which a killed process would keep
    waiting, again = deque(tasks), deque[Task]()
    while waiting or again:
        # A task whose process died runs alone: memory may have been short.
        alone, lost = not waiting, list[Task]()
        batch = deque([again.popleft()]) if alone else waiting
        busy: dict[futures.Future[Value], Task] = {}
        with _processes(min(count, len(batch)), ahead) as (pool, starts):
            while busy or (batch and not lost):
                # One task more than there are processes, so that none idles while a result is used.
                while batch and len(busy) <= len(starts) and not lost:
                    task = batch.popleft()
                    try:
                        busy[pool.submit(_with_picklable_errors, work, task)] = task
                    except BrokenProcessPool:
                        lost.append(task)
                ended = futures.wait(busy, _SHOW, futures.FIRST_COMPLETED).done
                for place, trainings in enumerate(ahead):
                    told(place, trainings)
                for future in ended:
                    task, outcome = busy.pop(future), _outcome(future)
                    if isinstance(outcome, BrokenProcessPool):
                        lost.append(task)
                    else:
                        yield task, outcome
            started = any(f.done() and not f.cancelled() and not f.exception() for f in starts)
        if lost and not started:
            yield from ((task, NoWorker()) for task in [*lost, *waiting, *again])
            return
        if alone:
            yield from ((task, BrokenProcessPool()) for task in lost)
        else:
            again.extend(lost)


@contextmanager
def _processes(
    count: int, ahead: Any
) -> Iterator[tuple[futures.Executor, list[futures.Future[int]]]]:
    """Local processes, each with one thread and, if there are GPUs, one of them; and their starts.

    They are spawned, which is the same on every platform and safe with threads, and terminated when
    the block is left.
    """
    context = multiprocessing.get_context("spawn")
    devices = context.SimpleQueue()
    for index in range(count):
        devices.put(gpus()[index % len(gpus())] if gpus() else "")
    pool = futures.ProcessPoolExecutor(
        count, mp_context=context, initializer=_set_up, initargs=(devices, ahead)
    )
    try:
        with _interrupts_deferred(), patch.dict(os.environ, dict.fromkeys(_THREADS, "1")):
            # The first task of a process shows that it has started.
            starts = [pool.submit(int) for _ in range(count)]
        yield pool, starts
    finally:
        # Before Python 3.14 no public call stops running work. Futures are not cancelled: the pool
        # notices that its processes are gone and fails its futures, which cancelled ones prevent.
        processes = list((getattr(pool, "_processes", None) or {}).values())
        for process in processes:
            process.terminate()
        pool.shutdown(wait=bool(processes))


def _outcome(future: futures.Future[Any]) -> Any:
    if future.cancelled():  # as dask does with all work when the scheduler is lost
        raise BadInput(
            "the scheduler of the cluster was lost; what is finished is kept: start a scheduler "
            "and workers, and the same call or command runs the rest"
        )
    error = future.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return error or future.result()


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    count = torch.cuda.device_count()
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",")[:count] if named else [str(n) for n in range(count)]


def _set_up(devices: Any, ahead: Any) -> None:
    global _tell
    _tell = ahead.__setitem__
    # Ctrl-C reaches every process of a terminal; only the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if device := devices.get():
        os.environ["CUDA_VISIBLE_DEVICES"] = device  # read when CUDA is first used
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Ctrl-C takes effect after the block. Processes that start in it ignore Ctrl-C, as one that is
    interrupted during its start would print its own traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_parts(work: Callable[[Part], object], address: str, images: int, progress: Progress) -> None:
    """Do some work in parts, on the workers of a `cluster`.

    Parameters
    ----------
    work
        Does one part of the work, and stores what it computes in files that all workers see.
    address
        Of the scheduler.
    images
        Number of images, which limits the number of parts.
    progress
        Called with (parts done, parts).

    Raises
    ------
    BadInput
        If no scheduler answers, and for a part that fails; finished parts stay.
    """
    count = max(1, min(_PARTS, images // _LEAST))
    parts = [Part(number, count) for number in range(1, count + 1)]
    with cluster(address) as executor:
        for done, (part, outcome) in enumerate(outcomes(work, parts, executor=executor), 1):
            if isinstance(outcome, Exception):
                raise BadInput(f"part {part}: {sentence(outcome)}; run the same command to resume")
            progress(done, count)


@contextmanager
def cluster(address: str) -> Iterator[futures.Executor]:
    """The workers of a dask.distributed scheduler at an address such as tcp://10.0.0.1:8786.

    They must have the same simkit and torch as this process and see the same files. The scheduler
    reassigns the work of lost workers.

    Raises
    ------
    BadInput
        If distributed is not installed or no scheduler answers.
    """
    try:
        from distributed import Client
    except ImportError:
        mend = "run pip install 'simkit-annotation[cluster]'"
        raise BadInput(f"scheduler {address!r} needs dask.distributed; {mend}") from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError):
        raise BadInput(
            f"no scheduler answers at {address!r}; start one with `dask scheduler --host 10.0.0.1` "
            "(the machine's address in a trusted network: without TLS, whoever reaches it can run "
            "programs) and use the address that it prints, such as tcp://10.0.0.1:8786"
        ) from None
    try:
        workers = {*client.scheduler_info(n_workers=-1)["workers"]}
        if not workers:
            warnings.warn(
                f"the scheduler at {address} has no worker yet; start one "
                f"(`dask worker {address} --nthreads 1`)",
                stacklevel=3,
            )
        executor = client.get_executor(pure=False)
        executor.workers = max(len(workers), 1)
        executor.watch = _Watch(client, address, workers)
        yield executor
    finally:
        if client.status != "running":  # it tries to connect again, and would log its end
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        client.close()


@dataclass(eq=False)
class _Watch:
    """Gives a note when workers of a cluster are lost, as their work begins again elsewhere."""

    client: Any
    address: str
    workers: set[str]

    def __call__(self) -> None:
        if self.client.status != "running":
            return
        now = {*self.client.scheduler_info(n_workers=-1)["workers"]}
        lost, self.workers = self.workers - now, now
        if not lost:
            return
        what = f"lost: {numbered(len(lost), 'worker')} of the cluster ({examples(sorted(lost))})"
        if not now:
            text = f"{what}; none is left, so start one: dask worker {self.address} --nthreads 1"
        else:
            text = f"{what}; its work begins again once one of the {len(now)} others is free"
        warnings.warn(text, stacklevel=4)
