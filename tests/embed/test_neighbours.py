import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from simkit.embed import neighbours as place
from simkit.embed.neighbours import Neighbours, nearest, nearest_in_lists
from simkit.embed.unit_features import UnitFeatures
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task
from tests.reference import exposure as slow


def unit(values):
    values = np.asarray(values, np.float64)
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def task(features, asked=None):
    codes = np.zeros((len(features), 2), np.int8)
    everyone = np.ones(len(features), bool) if asked is None else asked
    return Task(PartialLabels.of(codes, asked=everyone), FeatureInputs(features))


def test_only_asked_images_have_and_are_neighbours():
    rng = np.random.default_rng(0)
    F, asked = rng.standard_normal((12, 4)), np.arange(12) % 3 > 0
    found = Neighbours.build(task(F, asked), k=3)
    assert found.index.dtype == np.int32
    wanted = slow.neighbours(unit(F).astype(float).tolist(), asked, 3)
    assert [row for row in found.index.tolist() if row[0] >= 0] == [row for row in wanted if row]
    assert (found.index[~asked] == -1).all()
    assert np.isnan(found.distance[~asked]).all() and np.isnan(found.cosine[~asked]).all()


def test_k_is_32_or_all_others():
    rng = np.random.default_rng(0)
    assert Neighbours.build(task(rng.standard_normal((40, 3)))).index.shape == (40, 32)
    assert Neighbours.build(task(rng.standard_normal((5, 3)))).index.shape == (5, 4)
    assert Neighbours.build(task(rng.standard_normal((1, 3)))).index.shape == (1, 0)
    assert nearest_in_lists(np.ones((0, 1), np.float32), 3)[0].place.shape == (0, 0)
    nobody = np.zeros(3, bool)
    assert Neighbours.build(task(rng.standard_normal((3, 3)), nobody)).index.shape == (3, 0)


def test_maps_are_pooled_and_lengths_do_not_count():
    maps = np.random.default_rng(0).standard_normal((9, 4, 3, 3)).astype(np.float32)
    pooled = maps.astype(np.float64).mean((2, 3)) * np.arange(1, 10)[:, None]
    of_maps = Neighbours.build(task(maps), k=4)
    of_pooled = Neighbours.build(task(pooled), k=4)
    assert np.array_equal(of_maps.index, of_pooled.index)
    np.testing.assert_allclose(of_maps.distance, of_pooled.distance, rtol=1e-5)


def test_one_search_serves_the_same_inputs_and_asked_images(monkeypatch):
    rng = np.random.default_rng(1)
    F, seen = rng.standard_normal((10, 3)), []
    search = place.nearest
    monkeypatch.setattr(place, "nearest", lambda *a: seen.append(1) or search(*a))
    first = Neighbours.build(task(F))
    assert Neighbours.build(task(F.copy())) is first and len(seen) == 1
    other = Neighbours.build(task(F, np.arange(10) > 0))
    assert len(seen) == 2 and other.id != first.id
    Neighbours.build(task(F), k=2)
    Neighbours.build(task(F + 1))
    assert len(seen) == 4
    Neighbours.build(task(F + 2))
    assert Neighbours.build(task(F)) is not first  # only the last few are kept


def test_very_many_images_are_searched_in_part_and_say_how_well():
    rng = np.random.default_rng(0)
    F, asked = unit(rng.standard_normal((900, 8))), np.arange(900) % 9 > 0
    exact = Neighbours.build(task(F, asked), k=3, in_lists_above=None)
    assert exact.recall == 1
    assert Neighbours.build(task(F, asked), k=3, in_lists_above=800) is exact  # 800 are asked
    with pytest.warns(UserWarning, match=r"in_lists_above=None\) finds all"):
        found = Neighbours.build(task(F, asked), k=3, in_lists_above=799)
    assert 0.99 <= found.recall <= 1
    same = (found.index[asked] == exact.index[asked]).mean()
    assert same > 0.97 and (found.index[~asked] == -1).all()


def test_what_has_no_features_is_refused():
    pictures = ImageInputs(np.zeros((3, 3, 4, 4), np.uint8))
    codes = np.eye(3, dtype=np.int8)
    for inputs in (pictures, None):
        with pytest.raises(BadInput, match=r"neighbours come from.*give it features"):
            Neighbours.build(Task(codes, inputs))
    with pytest.raises(BadInput, match=r"neighbours come from.*clean them first"):
        Neighbours.build(task(np.array([[1.0, np.nan], [1, 0]])))


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_equal_to_the_slow_search(k):
    F = unit(np.random.default_rng(k).standard_normal((20, 5)))
    index, distance, cosine = nearest(F, k)
    wanted = slow.neighbours(F.astype(float).tolist(), [True] * 20, k)
    assert index.tolist() == wanted
    for n, row in enumerate(wanted):
        others = [F[m].astype(float) for m in row]
        own = F[n].astype(float)
        away = [slow.euclidean(own, x) for x in others]
        np.testing.assert_allclose(distance[n], away, rtol=1e-12)
        np.testing.assert_allclose(cosine[n], [slow.cosine(own, x) for x in others], atol=1e-15)


def clouds(rng, kind):
    """Features that are hard for float32: near one another, or equal, or zero."""
    F = rng.standard_normal((150, 64))
    if kind == "close":
        F = F[:1] + 1e-4 * F
    if kind == "few places":
        F = F[rng.integers(0, 4, 150)]
    if kind == "one place":
        F = np.repeat(F[:1], 150, axis=0)
    F = unit(F)
    if kind == "zeros":
        F[rng.integers(0, 150, 40)] = 0
    return F


def plainly(F, k):
    exact = F.astype(np.float64)
    distance = np.sqrt(((exact[:, None] - exact) ** 2).sum(-1))
    np.fill_diagonal(distance, np.inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distance, order, 1)


@pytest.mark.parametrize("products", [1 << 25, 0], ids=["products", "faiss"])
@pytest.mark.parametrize("kind", ["wide", "close", "few places", "one place", "zeros"])
@pytest.mark.parametrize("k", [1, 10, 120, 149])
def test_no_neighbour_is_missed_and_batches_change_nothing(kind, k, products, monkeypatch):
    F = clouds(np.random.default_rng(3), kind)
    order, away = plainly(F, k)
    monkeypatch.setattr(place, "_PRODUCTS", products)
    for batch in (1 << 22, 64 * 7, 1):
        monkeypatch.setattr(place, "BATCH", batch)
        index, distance, _ = nearest(F, k)
        assert np.array_equal(index, order) and np.array_equal(distance, away)


@pytest.mark.parametrize("kind", ["wide", "few places", "zeros"])
def test_features_beyond_memory_are_read_again_and_give_the_same(kind, monkeypatch):
    F = clouds(np.random.default_rng(5), kind)
    held = nearest(F, 9)
    queries = np.array([149, 3, 3, 77, 0, 20, 21])
    assert equal([part[queries] for part in held], nearest(F, 9, queries=queries))
    assert nearest(F, 9, queries=queries[:0]).place.shape == (0, 9)
    monkeypatch.setattr(place, "_PRODUCTS", 0)
    monkeypatch.setattr(place, "_HELD", 64 * 100)
    for batch in (1 << 22, 64 * 7):
        monkeypatch.setattr(place, "BATCH", batch)
        assert equal(held, nearest(F, 9))


def test_rows_on_disk_and_threads_give_the_same(monkeypatch):
    values = np.random.default_rng(7).standard_normal((90, 6)).astype(np.float16)
    rows = UnitFeatures(FeatureInputs(values), np.arange(0, 90, 2), "these")
    held = nearest(rows[:], 5)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        monkeypatch.setattr(place, "BATCH", 1)
        assert equal(held, nearest(rows, 5))
        monkeypatch.setattr(place, "_PRODUCTS", 0)
        assert equal(held, nearest(rows, 5))
    finally:
        torch.set_num_threads(before)


def test_an_image_without_features_is_as_far_as_length_says():
    F = unit([[1, 0], [0.6, 0.8], [-1, 0]])
    F[1] = 0
    index, distance, cosine = nearest(F, 2)
    assert index.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert distance.tolist() == cosine.tolist() == [[1, 2], [1, 1], [1, 2]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same():
    F = clouds(np.random.default_rng(9), "zeros")
    assert equal(nearest(F, 10, device="cpu"), nearest(F, 10, device="cuda"))


class OneGpu:
    """faiss as it is with a GPU: its search is that of the CPU, and its memory may end."""

    def __init__(self, faiss, fails=""):
        self._faiss, self._fails = faiss, fails
        self.searched, self.resources = [], 0

    def __getattr__(self, name):
        return getattr(self._faiss, name)

    def get_num_gpus(self):
        return 1

    def StandardGpuResources(self):
        self.resources += 1
        return object()

    def index_cpu_to_gpu_multiple_py(self, resources, index):
        assert len(resources) == 1
        return OnGpu(self, index)


class OnGpu:
    def __init__(self, faiss, index):
        self._faiss, self._index = faiss, index

    def add(self, rows):
        self._end("add")
        self._index.add(rows)

    def search(self, rows, count):
        assert count <= 2048  # faiss refuses more
        self._end("search")
        self._faiss.searched.append(len(rows))
        return self._index.search(rows, count)

    def _end(self, when):
        if self._faiss._fails == when:
            raise RuntimeError("Error in virtual void* faiss::gpu::StandardGpuResourcesImpl")


@pytest.mark.parametrize("fails", ["", "add", "search"])
def test_gpus_search_once_and_the_cpu_the_rest(monkeypatch, fails):
    """Rows of many ties stay undecided; a GPU would compare them with all rows."""
    rows = unit(np.random.default_rng(0).standard_normal((500, 6)))
    rows[:60] = rows[0]
    wanted, gpu = nearest(rows, 10, device="cpu"), OneGpu(place.imported_faiss(), fails)
    monkeypatch.setattr(place, "imported_faiss", lambda: gpu)
    for times in (1, 2):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = nearest(rows, 10, device="cuda")
        assert equal(found, wanted)
        assert gpu.searched == ([] if fails else [500] * times)
        assert gpu.resources == 1
        said = ["searched on the CPU" in str(each.message) for each in told]
        assert said == [True] * bool(fails)
    assert nearest(rows, 499, device="cuda").place.shape == (500, 499)


def test_features_of_one_domain_are_decided_by_the_first_search(monkeypatch):
    """They lie close together and far from zero, where float32 around zero tells nothing."""
    rng, gpu = np.random.default_rng(0), OneGpu(place.imported_faiss())
    rows = unit(rng.standard_normal(64) + 1e-3 * rng.standard_normal((500, 64)))
    wanted = nearest(rows, 10, device="cpu")
    monkeypatch.setattr(place, "imported_faiss", lambda: gpu)
    monkeypatch.setattr(place._ExactSearch, "_cpu_search", None)  # of undecided rows
    assert equal(nearest(rows, 10, device="cuda"), wanted) and gpu.searched == [500]


def test_faiss_that_fails_in_any_way_is_one_sentence(monkeypatch, tmp_path):
    (tmp_path / "faiss.py").write_text("raise AttributeError('no\\nsymbol')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "faiss", raising=False)
    with pytest.raises(BadInput, match=r"cannot be imported \(no symbol\); run pip install"):
        place.imported_faiss()


def test_faiss_gets_the_best_kernels_for_this_processor(monkeypatch):
    cpu = Path("/proc/cpuinfo")
    flags = set(cpu.read_text().split()) if cpu.exists() else set()
    if "avx2" not in flags:
        pytest.skip("the processor is not known")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    program = "from simkit.embed.neighbours import imported_faiss; imported_faiss(); import os; "
    program += "print(os.environ['OPENBLAS_CORETYPE'])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout.split() == ["SkylakeX" if "avx512f" in flags else "Haswell"]


# --- in lists -------------------------------------------------------------------------------------


@pytest.mark.parametrize("enough", [0.5, 0.9, 1.0])
def test_recall_is_reached_and_distances_are_exact(enough):
    F = unit(np.random.default_rng(0).standard_normal((3000, 16)))
    exact = nearest(F, 5)
    near, recall = nearest_in_lists(F, 5, enough=enough)
    assert recall >= enough
    true = (near.place[:, :, None] == exact.place[:, None]).any(2).mean()
    assert abs(true - recall) < 5 * np.sqrt(0.25 / 2000)  # of 1000 rows, not all independent
    gap = F[near.place].astype(np.float64) - F[:, None]
    np.testing.assert_array_equal(near.distance, np.sqrt((gap**2).sum(-1)))
    assert (np.diff(near.distance) >= 0).all() and (near.place != np.arange(3000)[:, None]).all()
    again, _ = nearest_in_lists(F, 5, enough=enough)
    assert equal(near, again)


PROGRAM = """
import sys, numpy, torch
torch.set_num_threads(int(sys.argv[1]))
from simkit.embed.neighbours import nearest_in_lists
F = numpy.random.default_rng(0).standard_normal((5000, 150)).astype(numpy.float32)
F /= numpy.linalg.norm(F, axis=1, keepdims=True)
near, recall = nearest_in_lists(F, 5, enough=0.6)
print(recall, *(part.tobytes().hex() for part in near))
"""


@pytest.mark.slow
def test_threads_change_no_byte_of_a_search_in_lists():
    def told(threads):
        words = [sys.executable, "-c", PROGRAM, threads]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert told("1") == told("3")


def test_clustered_features_are_found_in_few_lists():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((200, 64))
    F = unit(centres[rng.integers(200, size=20_000)] + 0.5 * rng.standard_normal((20_000, 64)))
    own = rng.choice(20_000, 300, replace=False)
    near, recall = nearest_in_lists(F, 10, queries=own)
    exact = nearest(F, 10, queries=own)
    true = (near.place[:, :, None] == exact.place[:, None]).any(2).mean()
    assert min(recall, true) > 0.99


def test_rows_that_meet_too_few_ask_all():
    F = unit(np.random.default_rng(0).standard_normal((400, 8)))
    F[:60] = F[0]
    near, _ = nearest_in_lists(F, 100, enough=0.0)
    assert near.place.min() >= 0 and all(len(set(row)) == 100 for row in near.place.tolist())
