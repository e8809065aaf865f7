"""Labels do not depend on the sizes of pieces, on threads or on processes: 5 x 3 combinations."""

from __future__ import annotations

import importlib
import multiprocessing
import pkgutil
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from types import ModuleType

import pytest

import simkit.annotate
from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.simulate import simulate
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from tests.annotate.schemes.variants import SPECS, options_of
from tests.long_runs import some

NAMES = ("CHUNK", "_CHUNK", "_WALKED", "GROUP", "DENSE")
SIZES = [9, 50, 333, 1 << 12, None]  # None: as they are
HABITS = [Habits(), Habits(miss=0.2, false_alarm=0.05, workers=3, vote="union")]
PLACES = [(where, size) for where in ("one thread", "threads", "processes") for size in SIZES]
IN_EVERY_RUN = [("one thread", 9), ("threads", 50), ("processes", None)]
CASES = [(spec, habits) for spec in SPECS for habits in HABITS]


def pieces() -> list[tuple[ModuleType, str]]:
    """Every constant of annotation and chance that is the size of a piece of work."""
    parts = pkgutil.walk_packages(simkit.annotate.__path__, "simkit.annotate.")
    modules = [importlib.import_module(part.name) for part in parts]
    modules.append(importlib.import_module("simkit.chance"))
    return [(module, name) for module in modules for name in NAMES if hasattr(module, name)]


def resize(size: int | None) -> None:
    """In a new process: work in pieces of this size."""
    warnings.simplefilter("ignore")
    for module, name in pieces() if size is not None else ():
        setattr(module, name, size)


def made(case: tuple[str, Habits], truth: Truth, hierarchy: Hierarchy) -> tuple[str, str]:
    """Content id and bill."""
    spec, habits = case
    settings = {"hierarchy": hierarchy, "habits": habits, **options_of(truth)}
    labels = simulate(truth, spec, images=0.8, **settings)
    return labels.id, repr(labels.effort.to_json())


@pytest.fixture(scope="module")
def small(closed, diamond) -> tuple[Truth, Hierarchy]:
    return closed.select(range(90)), diamond


@pytest.fixture(scope="module")
def expected(small) -> list[tuple[str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [made(case, *small) for case in CASES]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("where, size", some(PLACES, keep=IN_EVERY_RUN.__contains__))
def test_the_same_labels_everywhere(where, size, small, expected, monkeypatch):
    truth, hierarchy = small
    found = {name for _, name in pieces()}
    assert found == set(NAMES), "a size of pieces has another name now; change NAMES"
    if where == "processes":
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        context = multiprocessing.get_context("spawn")
        pool: Executor = ProcessPoolExecutor(2, context, initializer=resize, initargs=(size,))
    else:
        for module, name in pieces() if size is not None else ():
            monkeypatch.setattr(module, name, size)
        pool = ThreadPoolExecutor(4 if where == "threads" else 1)
    with pool:
        same = [truth] * len(CASES), [hierarchy] * len(CASES)
        assert list(pool.map(made, CASES, *same, chunksize=8)) == expected


def test_all_schemes_are_among_the_cases():
    assert {schemes.make(spec).name for spec, _ in CASES} == set(schemes.names())
