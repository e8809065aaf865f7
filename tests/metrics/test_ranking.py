"""Ranks from every form of scores and labels, whole and in blocks."""

import tracemalloc

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.metrics import average_precision, f1_thresholds, ranking
from simkit.metrics.ap import ap_of_classes
from simkit.metrics.ranking import ranked
from tests.reference import metrics as slow

FORMS = {
    "array": lambda a: a,
    "by class": lambda a: np.ascontiguousarray(a.T).T,
    "every other": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "sparse": csr_array,
    "tensor": torch.from_numpy,
    "list": lambda a: a.tolist(),
}
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def example(seed=0, N=60, L=11, levels=12):
    rng = np.random.default_rng(seed)
    scores = (rng.integers(0, levels, (N, L)) / 4).astype(np.float32)
    present = rng.random((N, L)) < np.linspace(0, 1, L)  # the first is never there, the last always
    return scores, present, rng.random((N, L)) < 0.6


@pytest.mark.parametrize("known_form", FORMS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same(form, known_form):
    scores, present, known = example()
    wanted = slow.average_precision(scores, present & known, known)
    found = average_precision(
        FORMS["array" if form == "sparse" else form](scores),
        FORMS[form](present),
        FORMS[known_form](known),
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("form", ["array", "sparse", "tensor"])
def test_few_known_entries_are_picked_one_by_one(form):
    scores, present, _ = example()
    known = np.random.default_rng(1).random(scores.shape) < 0.1
    assert csr_array(known).nnz * ranking._FEW < known.size
    found = average_precision(scores, FORMS[form](present), csr_array(known))
    wanted = slow.average_precision(scores, present & known, known)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    halves = torch.from_numpy(scores).bfloat16()  # quarters below 3 are exact in it
    np.testing.assert_array_equal(average_precision(halves, present, csr_array(known)), found)


def same(one, other):
    """Whether two lists of Ranks agree field by field, however they are cut into blocks."""
    for name in ("hits", "images", "known", "top", "present", "scores"):
        a, b = (np.concatenate([getattr(r, name) for r in many]) for many in (one, other))
        np.testing.assert_array_equal(a, b, err_msg=name)


@needs_gpu
def test_tensors_on_a_gpu_are_read():
    scores, present, known = example()
    on_gpu = [torch.from_numpy(a).cuda() for a in (scores, present, known)]
    np.testing.assert_array_equal(
        average_precision(*on_gpu), average_precision(scores, present, known)
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int64, torch.float64])
def test_tensors_of_every_type_are_read(dtype):
    scores, present, known = example()
    tensor = torch.from_numpy(4 * scores).to(dtype)  # whole numbers, which every type holds exactly
    np.testing.assert_array_equal(
        average_precision(tensor, present, known), average_precision(scores, present, known)
    )


def test_blocks_change_nothing(monkeypatch):
    scores, present, known = example()
    whole = list(ranked(scores, present, known))
    assert len(whole) == 1
    monkeypatch.setattr(ranking, "_BLOCK_BYTES", 60 * 4 * 3)
    monkeypatch.setattr(ranking, "_CACHE_BYTES", 1)
    monkeypatch.setattr(ranking, "_STRIP", 7)
    for labels in ((present, known), (csr_array(present), csr_array(known))):
        found = list(ranked(scores, *labels))
        assert [len(b.known) for b in found] == [3, 3, 3, 2]
        same(found, whole)
        found = list(ranked(torch.from_numpy(scores).bfloat16(), *labels))
        assert [len(b.known) for b in found] == [3, 3, 3, 2]
        same(found, whole)
    few = csr_array(known & (np.random.default_rng(1).random(known.shape) < 0.1))
    wanted = slow.average_precision(scores, present & few.toarray(), few.toarray())
    np.testing.assert_allclose(average_precision(scores, present, few), wanted, rtol=1e-14)
    monkeypatch.setattr(ranking, "_BLOCK_BYTES", 1)
    found = list(ranked(scores, present, known))
    assert len(found) == 11
    same(found, whole)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_images_or_no_classes(shape, dtype):
    scores, present = torch.zeros(shape, dtype=dtype), np.zeros(shape, bool)
    for known in (None, present, csr_array(present)):
        for convention, value in (("csl", np.nan), ("cvpr22", np.nan), ("spml", 0.0)):
            found = ap_of_classes(scores, present, known, convention=convention)
            np.testing.assert_array_equal(found, np.full(shape[1], value))


def test_one_image_ties_and_nothing_known():
    one = np.ones((1, 2), bool)
    assert average_precision(np.zeros((1, 2)), one, convention="nan").tolist() == [1, 1]
    present = np.array([[True], [False], [False], [True]])
    assert average_precision(np.full((4, 1), np.inf), present).tolist() == [0.5]
    nothing = np.zeros((4, 1), bool)
    for known in (nothing, csr_array(nothing), torch.from_numpy(nothing)):
        for scores in (np.zeros((4, 1)), torch.zeros(4, 1, dtype=torch.bfloat16)):
            assert np.isnan(ap_of_classes(scores, present, known)).all()


@pytest.mark.parametrize("kind", [np.asarray, lambda a: torch.from_numpy(a).bfloat16()])
def test_nan_matters_where_it_is_known(kind):
    scores, present, known = example()
    scores[5, 3], known[5, 3] = np.nan, False
    clean = np.nan_to_num(scores)
    for form in (known, csr_array(known)):
        np.testing.assert_array_equal(
            average_precision(kind(scores), present, form),
            average_precision(clean, present, known),
        )
    known[5, 3] = True
    few = np.zeros_like(known)
    few[5, 3] = True
    for form in (None, known, csr_array(known), csr_array(few)):
        with pytest.raises(BadInput, match="diverged, lower its lr"):
            average_precision(kind(scores), present, form)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["array", "by class", "sparse", "tensor", "bfloat16"])
def test_memory_is_that_of_a_block(form):
    """80 MB of scores, 20 MB of labels that are present, 20 MB of those known: none is copied."""
    rng = np.random.default_rng(0)
    scores = rng.random((20_000, 1_000), dtype=np.float32)
    present, known = np.zeros(scores.shape, bool), np.ones(scores.shape, bool)
    present[rng.integers(0, 20_000, 20_000), rng.integers(0, 1_000, 20_000)] = True
    known[::3] = False
    if form == "bfloat16":
        given = torch.from_numpy(scores).bfloat16(), present, known
    else:
        given = FORMS["array" if form == "sparse" else form](scores), FORMS[form](present), known
    for function in (average_precision, f1_thresholds):
        tracemalloc.start()
        function(*given)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 19e6


def test_ranks_by_hand():
    scores = np.array([[3, 1, 2, 7], [3, 1, 4, 7], [1, 1, 9, 7]])
    present = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]], bool)
    (ranks,) = ranked(scores, present, np.array([[1, 1, 1, 0]] * 3, bool))
    assert ranks.present.tolist() == [2, 0, 2, 0] and ranks.pointers.tolist() == [0, 2, 2, 4, 4]
    assert ranks.scores.tolist() == [1, 3, 2, 9]
    assert ranks.hits.tolist() == [2, 1, 2, 1]
    assert ranks.images.tolist() == [3, 2, 3, 1]  # the image that ties counts too
    assert ranks.known.tolist() == [3, 3, 3, 0] and ranks.top.tolist() == [3, 1, 9, -np.inf]
    assert ranks.reduce(np.add, ranks.images, -1).tolist() == [5, -1, 4, -1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_many_images_are_counted_exactly(dtype):
    """Smooth, tied, infinite and very uneven scores; zeros of both signs."""
    rng = np.random.default_rng(0)
    smooth = rng.standard_normal(6000)
    uneven = np.copysign(np.exp(np.minimum(np.abs(9 * smooth), 85)), smooth)
    endless = np.where(np.abs(smooth) > 1, smooth * np.inf, smooth)
    kinds = [smooth, np.round(3 * smooth) / 3, uneven, endless, np.full(6000, 0.5), -np.abs(smooth)]
    with np.errstate(over="ignore"):
        scores = np.array([np.clip(k, -1e18, 1e18) if dtype == np.int64 else k for k in kinds])
        scores = scores.T.astype(dtype)
    present = rng.random(scores.shape) < 0.1
    present[0] = True
    (ranks,) = ranked(scores, present)
    for c in range(len(kinds)):
        of_present = ranks.scores[slice(*ranks.pointers[c : c + 2])]
        found = ranks.images[slice(*ranks.pointers[c : c + 2])]
        assert np.array_equal(of_present, np.sort(scores[present[:, c], c], kind="stable"))
        wanted = [(scores[:, c] >= one).sum() for one in of_present]
        assert found.tolist() == wanted
