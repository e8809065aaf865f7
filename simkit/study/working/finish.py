"""Working through the bundles of a comparison: what is kept is not run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import torch

from simkit.errors import BadInput
from simkit.history import versions
from simkit.study import kept, runs
from simkit.study.bundles.bundle import Bundle
from simkit.study.bundles.work import run
from simkit.study.kept import Kept
from simkit.study.runs import Done, told
from simkit.study.working.workers import NoWorker, outcomes

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Finished:
    """By key all bundles that are or became finished, and why others are not."""

    done: Mapping[str, Kept]
    failures: Mapping[str, str]

    def sentences(self, bundles: Sequence[Bundle]) -> list[str]:
        """One for each failure, of whole bundles and of methods, in the order of the bundles."""
        found = []
        for bundle in bundles:
            if bundle.key in self.failures:
                found.append(f"{bundle}: {self.failures[bundle.key]}")
            elif bundle.key in self.done:
                failed = self.done[bundle.key].failures.items()
                found += [f"{what}: {why}" for what, why in failed]
        return found


def finish(
    bundles: Sequence[Bundle],
    folder: Path,
    *,
    executor: Executor | None,
    workers: int | None,
    progress: Progress,
) -> Finished:
    """Run what is left of the bundles and keep each as it ends, in this process alone.

    progress gets (runs done, runs).
    """
    there = stored(bundles, folder)
    done, failures = dict(there.done), dict(there.failures)
    left = [b for b in bundles if b.key not in done and b.key not in failures]
    every = sum(b.runs for b in bundles)
    ended = every - sum(b.runs for b in left)
    progress(ended, every)
    for bundle, outcome in outcomes(run, left, executor=executor, workers=workers):
        key = bundle.key
        if isinstance(outcome, Exception):
            failures[key] = _told(outcome, own=executor is None)
        elif others := _others(outcome):
            failures[key] = others
        else:
            done[key] = Kept(runs.tidy(outcome.rows, classes=()), outcome.failures)
            if outcome.lasting:
                kept.save(done[key], folder=folder, key=key)
        ended += bundle.runs
        progress(ended, every)
    return Finished(done, failures)


def stored(bundles: Sequence[Bundle], folder: Path) -> Finished:
    """What is finished already, and why a bundle's file cannot even be written."""
    done: dict[str, Kept] = {}
    failures: dict[str, str] = {}
    for bundle in bundles:
        key = bundle.key
        try:
            found = kept.load(folder, key, runs.SCHEMA)
        except BadInput as error:
            failures[key] = str(error)
            continue
        if found is not None:
            done[key] = found
    return Finished(done, failures)


def _others(done: Done) -> str:
    """Why rows are not what this process would have computed: their worker's versions differ."""
    here = {**versions(), "torch": str(torch.__version__)}
    for row in done.rows:
        made = json.loads(row["environment"])
        if differ := [f"{name} {made[name]}" for name in here if made[name] != here[name]]:
            return (
                f"its worker has other versions than this process ({', '.join(differ)}); install "
                "the same everywhere"
            )
    return ""


def _told(error: Exception, *, own: bool) -> str:
    """own: whether the processes are those of this comparison, and not an executor's."""
    if isinstance(error, NoWorker):
        return (
            "no worker process came up, though each was started three times; they were killed, or "
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
    return told(error)
