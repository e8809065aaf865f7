"""Jobs on their way through workers: local processes, or those of any executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, as_completed
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from typing import Generic, TypeVar

from simkit.study.working.processes import Worker, interrupts_wait, local_workers, usable_cores

Job = TypeVar("Job")
Result = TypeVar("Result")


_STARTS = 3  # a process that ends before it has begun may have been unlucky so often


class NoWorker(BrokenProcessPool):
    """No process could even begin."""


def outcomes(
    run: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
) -> Iterator[tuple[Job, Result | Exception]]:
    """Every job with its result or its error, in the order in which they end.

    executor: any; else as many local processes as `workers` or the cores say, and for one of them
    this process itself. Where there are GPUs, each process sees one. A job whose process dies is
    tried once more, alone, when all others have ended; its error is BrokenProcessPool if that dies
    too, and NoWorker where no process could begin. A process that ends before it has begun is
    started again, twice.
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
        with local_workers(count) as team:
            yield from _Shift(team, run, jobs).results()
        return
    for job in jobs:
        try:
            yield job, run(job)
        except Exception as error:
            yield job, error


def _submitted(
    executor: Executor, run: Callable[[Job], Result], jobs: Sequence[Job]
) -> dict[Future[Result], Job]:
    with interrupts_wait():
        return {executor.submit(run, job): job for job in jobs}


def _ended(futures: dict[Future[Result], Job]) -> Iterator[tuple[Job, Result | Exception]]:
    for future in as_completed(futures):
        error = future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        yield futures[future], error or future.result()


class _Shift(Generic[Job, Result]):
    """Jobs on their way through a team of workers."""

    def __init__(
        self, team: Sequence[Worker], run: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> None:
        self.team, self.run = team, run
        self.idle = list(team)
        self.waiting = deque(jobs)
        self.again: deque[Job] = deque()  # their process died once
        self.alone = False  # all that is left is tried for the second time
        self.busy: dict[Future[Result], tuple[Worker, Job]] = {}
        self.unborn = dict.fromkeys(team, 0)  # how often in a row a worker's process did not begin

    def results(self) -> Iterator[tuple[Job, Result | Exception]]:
        ended: list[tuple[Job, Result | Exception]] = []
        while True:
            self._start()
            yield from ended  # while the workers are at the next ones
            if not self.busy:
                break
            done, _ = wait_for(self.busy, return_when=FIRST_COMPLETED)
            ended = [pair for future in done for pair in self._end(future)]
        for job in [*self.waiting, *self.again]:
            yield job, NoWorker("no worker process came up")

    def _start(self) -> None:
        while self.waiting and self.idle:
            self._give(self.waiting.popleft())
        if not self.busy and not self.waiting and self.again and self.idle:
            if not self.alone:
                for worker in self.team:  # their memory may be what is missing
                    worker.stop()
            self.alone = True
            self._give(self.again.popleft())

    def _give(self, job: Job) -> None:
        worker = self.idle.pop(0)
        self.busy[worker.submit(self.run, job)] = worker, job

    def _end(self, future: Future[Result]) -> Iterator[tuple[Job, Result | Exception]]:
        worker, job = self.busy.pop(future)
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            began = worker.came_up
            worker.stop()
            self.unborn[worker] = 0 if began else self.unborn[worker] + 1
            if self.unborn[worker] < _STARTS:
                self.idle.append(worker)
            if not began:  # no fault of the job
                (self.again if self.alone else self.waiting).appendleft(job)
                return
            if not self.alone:
                self.again.append(job)
                return
        else:
            self.idle.append(worker)
        if error is not None and not isinstance(error, Exception):
            raise error
        yield job, error or future.result()
