"""Working through the bundles of a comparison: what is kept is not run again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from simkit.errors import BadInput
from simkit.history import versions
from simkit.study import kept, runs
from simkit.study.bundle import Bundle
from simkit.study.kept import Kept
from simkit.study.runs import Done, told
from simkit.study.work import run
from simkit.study.workers import NoWorker, outcomes

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
    keys = {id(bundle): bundle.key for bundle in bundles}
    left = [b for b in bundles if keys[id(b)] not in done and keys[id(b)] not in failures]
    every = sum(b.runs for b in bundles)
    ended = every - sum(b.runs for b in left)
    progress(ended, every)
    for bundle, outcome in outcomes(run, left, executor=executor, workers=workers):
        key = keys[id(bundle)]
        if isinstance(outcome, Exception):
            failures[key] = _told(outcome)
        elif others := _others(outcome, key):
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


def _others(done: Done, key: str) -> str:
    """Why rows are not those of the bundle: whoever computed them is another program."""
    if all(row["key"] == key for row in done.rows):
        return ""
    made, here = json.loads(done.rows[0]["environment"]), versions()
    differ = [f"{name} {made[name]}" for name in here if made.get(name) != here[name]]
    return (
        f"it was computed by a worker with other versions than here ({', '.join(differ) or 'torch'}"
        "); install the same everywhere"
    )


def _told(error: Exception) -> str:
    if isinstance(error, NoWorker):
        return (
            "no worker process came up; a script that calls compare needs "
            '`if __name__ == "__main__":` around it'
        )
    if isinstance(error, BrokenProcessPool):
        return (
            "its worker process died twice, the second time with no other beside it; it may have "
            "run out of memory (a smaller memory in the grid, or a larger machine, helps)"
        )
    return told(error)
