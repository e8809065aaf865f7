"""The short list holds the largest products, without the row itself, and is as right as it says."""

import builtins
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simkit.embed.nearby.shortlist import (
    ENGINES,
    blas_core,
    imported_faiss,
    shortlist,
    without_own,
)
from simkit.errors import BadInput


def unit(n, width, seed=0):
    values = np.random.default_rng(seed).standard_normal((n, width))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("own", [None, np.array([5, 5, 90, 17])])
def test_largest_products_largest_first(engine, own):
    F = unit(100, 24)
    short = shortlist(F, 7, own=own, engine=engine, products=1)
    asking = np.arange(100) if own is None else own
    product = F[asking].astype(np.float64) @ F.T.astype(np.float64)
    product[np.arange(len(asking)), asking] = -np.inf
    wanted = np.argsort(-product, axis=1)[:, : short.place.shape[1]]
    assert short.place.shape[1] >= 7 and np.array_equal(short.place, wanted)
    exact = np.take_along_axis(product, wanted, 1)
    assert np.abs(short.product - exact).max() <= short.off < 1e-5


@pytest.mark.parametrize("engine", ENGINES)
def test_never_more_than_all_others(engine):
    short = shortlist(unit(6, 3), 5, engine=engine)
    assert [sorted(row) for row in short.place.tolist()] == [
        [other for other in range(6) if other != row] for row in range(6)
    ]


def test_a_row_that_does_not_find_itself_loses_the_last():
    product = np.array([[3, 2, 1], [9, 9, 9]], np.float32)
    place = np.array([[4, 0, 7], [1, 2, 3]])
    left = without_own(product, place, np.array([0, 8]))
    assert left[0].tolist() == [[3, 1], [9, 9]] and left[1].tolist() == [[4, 7], [1, 2]]


def no_faiss(imports):
    def without(name, *more):
        if name == "faiss":
            raise ImportError(name)
        return imports(name, *more)

    return without


def test_faiss_is_not_needed_unless_asked_for(monkeypatch):
    monkeypatch.setattr(builtins, "__import__", no_faiss(builtins.__import__))
    F = unit(30, 4)
    assert shortlist(F, 3).place.shape[0] == 30
    with pytest.raises(BadInput) as error:
        shortlist(F, 3, engine="faiss")
    assert str(error.value) == (
        "faiss is asked for and cannot be imported; install faiss-gpu or faiss-cpu, or search by "
        'blocks (engine="blocks")'
    )


def test_faiss_takes_the_threads_of_torch_and_gives_its_own_back():
    faiss = pytest.importorskip("faiss")
    faiss.omp_set_num_threads(2)
    shortlist(unit(30, 4), 3, engine="faiss")
    assert faiss.omp_get_max_threads() == 2
    faiss.omp_set_num_threads(1)


def test_faiss_multiplies_as_this_processor_can():
    pytest.importorskip("faiss")
    program = (
        "from simkit.embed.nearby.shortlist import imported_faiss; imported_faiss(); import os; "
    )
    program += "print(os.environ.get('OPENBLAS_CORETYPE', ''))"
    outside = {key: value for key, value in os.environ.items() if key != "OPENBLAS_CORETYPE"}
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, env=outside, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == blas_core()


def test_what_a_user_says_of_the_processor_stays(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_faiss(builtins.__import__))
    with pytest.raises(BadInput):
        imported_faiss()
    assert os.environ["OPENBLAS_CORETYPE"] == "Haswell"


@pytest.mark.parametrize(
    ("flags", "core"),
    [("sse2 avx2 avx512f", "SkylakeX"), ("avx avx2", "Haswell"), ("sse2 ssse3", ""), (None, "")],
)
def test_the_processor_is_known_by_its_flags(flags, core, monkeypatch):
    def read(path, *_):
        if flags is None:
            raise FileNotFoundError(path)
        return f"flags : {flags}\n"

    monkeypatch.setattr(Path, "read_text", read)
    assert blas_core() == core
