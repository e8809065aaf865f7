import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csc_array, csr_array, lil_array
from sklearn.metrics import average_precision_score

from simkit import metrics
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.metrics import (
    Part,
    at_k,
    average_precision,
    class_groups,
    f1,
    f1_thresholds,
    group_map,
    map_by_labels,
    mean_ap,
    overall_ap,
    present_counts,
    top1,
)
from simkit.metrics.ap import LabelCounts, ap_of_classes
from tests.reference import metrics as slow


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_equal_to_scikit_learn_with_and_without_ties(dtype):
    rng = np.random.default_rng(5)
    present = rng.random((400, 12)) < np.linspace(0.01, 0.9, 12)
    present[0] = True
    for scores in (rng.standard_normal((400, 12)), rng.integers(0, 9, (400, 12)) / 4):
        scores = scores.astype(dtype)
        wanted = [average_precision_score(present[:, c], scores[:, c]) for c in range(12)]
        assert np.abs(average_precision(scores, present) - wanted).max() < 1e-12


@given(
    arrays(np.int8, (7, 3), elements=st.integers(-3, 3)),
    arrays(bool, (7, 3)),
    arrays(bool, (7, 3)),
)
def test_equal_to_the_slow_loop_where_labels_are_masked(scores, present, known):
    wanted = slow.average_precision(scores, present & known, known)
    found = ap_of_classes(scores, present, known)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_each_convention_gives_classes_of_one_kind():
    scores = np.array([[0.1] * 4, [0.2] * 4, [0.3] * 4])
    #                    both, no present, no absent, nothing known
    codes = np.array([[1, -1, 1, 0], [-1, -1, 1, 0], [1, -1, 1, 0]])
    present, known = codes == 1, codes != 0
    both = (1 + 2 / 3) / 2
    wanted = {
        "nan": [both, np.nan, 1, np.nan],
        "csl": [both, np.nan, np.nan, np.nan],
        "cvpr22": [both, 0, 1, np.nan],
        "spml": [both, 0, 1, 0],
        "imcl": [both, 0, 1, 0],
    }
    for convention, ap in wanted.items():
        found = average_precision(scores, present, known, convention=convention)
        np.testing.assert_allclose(found, ap, rtol=1e-15, err_msg=convention)
    np.testing.assert_array_equal(average_precision(scores, present, known), wanted["csl"])
    counts = LabelCounts.of(present, known)
    assert counts.present.tolist() == [2, 0, 3, 0] and counts.absent.tolist() == [1, 3, 0, 0]
    assert counts.left_out("abcd", "test") == (
        "test: mAP is the mean over 1 of 4 classes; left out: 2 without present labels (b, d) and "
        "1 without absent labels (c)"
    )
    assert LabelCounts(np.array([1, 2]), np.array([0, 1])).left_out("ab", "val") == (
        "val: mAP is the mean over 1 of 2 classes; left out: 1 without absent labels (a)"
    )
    assert "4 without present labels (a, b, c ...)" in LabelCounts(
        np.array([0, 0, 0, 0, 1]), np.ones(5, int)
    ).left_out("abcde", "val")
    first = LabelCounts.of(Truth.of(present, known=known), classes=[0])
    assert first.scored.all() and first.left_out("a", "test") == ""


@pytest.mark.parametrize(
    ("present", "known", "counts"),
    [
        (np.ones((3, 2)), None, "6 present and 0 absent"),
        (np.zeros((3, 2)), None, "0 present and 6 absent"),
        (np.eye(3, 2), np.eye(3, 2), "2 present and 0 absent"),  # present and unknown labels alone
        (np.array([[1, 0]] * 3), None, "3 present and 3 absent"),
        (csr_array(np.eye(3, 2)), np.zeros((3, 2)), "0 present and 0 absent"),
        (Truth.of(np.eye(3, 2), known=np.eye(3, 2)), None, "2 present and 0 absent"),
    ],
)
def test_a_score_needs_a_class_with_both_kinds_of_labels(present, known, counts):
    scores = np.random.default_rng(0).random((3, 2))
    with pytest.raises(BadInput, match=f"no class has both .*{counts} .*give labels of both kinds"):
        average_precision(scores, present, known)


def test_one_class_leaves_the_scores_as_they_were():
    scores = np.array([[0.3], [0.1], [0.2]])
    average_precision(scores, np.eye(3, 1, dtype=bool))
    assert scores.ravel().tolist() == [0.3, 0.1, 0.2]


def test_means_leave_nan_out():
    ap = np.array([0.5, np.nan, 1.0])
    assert mean_ap(ap) == mean_ap(ap.tolist()) == 0.75
    assert overall_ap(ap, np.array([3, 0, 1])) == pytest.approx(0.625)
    assert np.isnan(mean_ap(np.array([np.nan]))) and np.isnan(overall_ap(ap, np.zeros(3, int)))


def test_counts_are_of_known_present_labels():
    present = np.array([[1, 1], [1, 0]], bool)
    known = np.array([[1, 0], [1, 1]], bool)
    assert present_counts(present, known).tolist() == [2, 0]
    assert present_counts(csr_array(present)).tolist() == [2, 1]
    for one in (np.asarray, csr_array, torch.from_numpy):
        for other in (np.asarray, csr_array, torch.from_numpy):
            assert present_counts(one(present), other(known)).tolist() == [2, 0]


def test_counts_of_sparse_labels_and_a_mask_copy_neither():
    places = np.arange(1000)
    present = csr_array((np.ones(1000, bool), (places, places)), (20_000, 1_000))
    known = np.ones(present.shape, bool)
    tracemalloc.start()
    counts = present_counts(present, known)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts.tolist() == [1] * 1000 and peak < 2e6  # the mask alone is 20 MB


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (np.zeros(3), {}, "scores have shape"),
        (np.zeros((3, 2)), {}, "present has shape .* must agree"),
        (np.full((2, 2), np.nan), {}, "scores hold nan; .* lower its lr"),
    ],
)
def test_bad_input_is_explained(scores, options, message):
    with pytest.raises(BadInput, match=message):
        average_precision(scores, np.ones((2, 2), bool), **options)


def test_published_numbers_with_complete_labels(golden):
    g = np.load(golden / "metrics.npz")
    Y = g["Y"] == 1
    has = Y.any(0)
    tied = average_precision(g["scores"], Y, convention="nan")
    np.testing.assert_allclose(tied[has], g["sklearn_ap_per_class"][has], rtol=1e-9)
    assert np.isnan(tied[~has]).all()
    zeros = average_precision(g["scores"], Y, convention="spml")
    assert 100 * mean_ap(zeros) == pytest.approx(float(g["spml_map"]), rel=1e-9)
    assert 100 * mean_ap(zeros) == pytest.approx(float(g["cvpr22_map"]), rel=1e-9)
    np.testing.assert_allclose(100 * zeros, g["cvpr23_ap_times100"], rtol=1e-9, atol=1e-12)
    apart = average_precision(g["scores_notie"], Y, convention="spml")
    np.testing.assert_allclose(apart, g["notie_sklearn_ap_per_class"], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(apart, g["notie_alibaba_ap_per_class"], rtol=1e-7, atol=1e-12)


def test_published_numbers_with_partial_labels(golden):
    g = np.load(golden / "metrics.npz")
    scores, present, known = g["scores_notie"], g["Z"] == 1, g["Z"] != 0
    csl = average_precision(scores, present, known, convention="csl")
    wanted = g["partial_alibaba_ap_per_class_minus1_invalid"]
    np.testing.assert_array_equal(np.isnan(csl), wanted == -1)
    np.testing.assert_allclose(csl[wanted != -1], wanted[wanted != -1], rtol=1e-7)
    assert 100 * mean_ap(csl) == pytest.approx(float(g["partial_alibaba_mAP_C"]), rel=1e-7)
    shown, told = present.any(0), known.any(0)
    left_out = ~told, shown & (known <= present).all(0), told & ~shown
    assert [int(out.sum()) for out in left_out] == g[
        "partial_alibaba_counts_nolabel_noneg_nopos"
    ].tolist()
    overall = overall_ap(csl, present_counts(present, known))
    assert 100 * overall == pytest.approx(float(g["partial_alibaba_mAP_O"]), rel=1e-7)
    cvpr = average_precision(scores, present, known, convention="cvpr22")
    assert 100 * mean_ap(cvpr) == pytest.approx(float(g["partial_cvpr22_openimages_map"]), rel=1e-9)
    np.testing.assert_allclose(
        cvpr[~np.isnan(cvpr)], g["partial_cvpr22_openimages_aps_skipping_unlabelled"], rtol=1e-9
    )
    imcl = average_precision(scores, present, known, convention="imcl")
    np.testing.assert_allclose(imcl, g["partial_imcl_ap_per_class"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", [csr_array, csc_array, coo_array])
def test_stored_zeros_are_neither_present_nor_known(form):
    rng = np.random.default_rng(4)
    scores, present, known = (
        rng.random((30, 3)),
        rng.random((30, 3)) < 0.4,
        rng.random((30, 3)) < 0.6,
    )
    full = form(np.ones((30, 3), bool))
    sparse = []
    for values in (present, known):
        matrix = form(full, copy=True)
        places = matrix.tocoo()
        matrix.data = values[places.row, places.col]
        sparse.append(matrix)
    stored = [matrix.nnz for matrix in sparse]
    np.testing.assert_array_equal(
        average_precision(scores, *sparse), average_precision(scores, present, known)
    )
    assert [matrix.nnz for matrix in sparse] == stored == [90, 90]


@pytest.mark.parametrize("form", [csr_array, csc_array])
def test_sparse_scores_stay_as_they_are(form):
    rng = np.random.default_rng(4)
    known, present = rng.random((60, 3)) < 0.5, rng.random((60, 3)) < 0.4
    dense = np.where(known, rng.random((60, 3)) + 1, 0)
    wanted, scores = average_precision(dense, present, known), form(dense)
    for start, stop in pairwise(scores.indptr):  # each row or column backwards
        scores.indices[start:stop] = scores.indices[start:stop][::-1]
        scores.data[start:stop] = scores.data[start:stop][::-1]
    scores.has_sorted_indices = False
    scores.data.flags.writeable = False
    for _ in range(2):
        np.testing.assert_array_equal(average_precision(scores, present), wanted)
    assert (scores.toarray() == dense).all()


def test_a_truth_brings_what_is_present_and_known() -> None:
    rng = np.random.default_rng(5)
    scores, present = rng.random((30, 4)), rng.random((30, 4)) < 0.4
    known = rng.random((30, 4)) < 0.7
    truth, whole = Truth.of(present, known=known), Truth.of(present)
    for measure in (
        average_precision,
        f1_thresholds,
        lambda scores, *labels: f1(scores, labels[0], 0.5, *labels[1:]),
        lambda *given: map_by_labels(*given, counts=(1, 2), at_least=None),
        lambda scores, *labels: present_counts(*labels),
    ):
        partly = measure(scores, present, known)
        np.testing.assert_equal(measure(scores, truth), partly)
        np.testing.assert_equal(measure(scores, whole, known), partly)
        np.testing.assert_equal(measure(scores, whole), measure(scores, present))
    assert at_k(scores, truth, 2) == at_k(scores, present, 2)
    assert top1(scores, truth) == top1(scores, present)


def test_groups_are_consecutive_by_annotations_and_equal_ones_by_index():
    assert class_groups([5, 1, 5, 0, 9, 5], 3).tolist() == [2, 1, 2, 1, 3, 3]
    assert class_groups([3, 3, 3, 3], 2).tolist() == [1, 1, 2, 2]
    assert np.bincount(class_groups(np.arange(13), 5))[1:].tolist() == [3, 3, 3, 2, 2]


def test_a_group_of_classes_that_are_all_nan_is_nan():
    found = group_map(np.array([0.5, np.nan, 0.7, np.nan]), np.array([1, 2, 1, 2]))
    np.testing.assert_allclose(found, [0.6, np.nan])
    assert group_map(np.zeros(0), np.zeros(0, int)).tolist() == []


def test_images_are_told_apart_by_their_labels():
    scores = np.array([[3, 1, 2], [1, 3, 2], [3, 2, 1], [1, 2, 3], [9, 9, 9]])
    present = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]], bool)
    parts = map_by_labels(scores, present, counts=(1, 2), at_least=3)
    assert [(p.name, p.images) for p in parts] == [("1", 2), ("2", 1), (">=3", 1)]
    assert np.isnan([p.map for p in parts]).all()  # no class has both kinds of labels
    published = map_by_labels(scores, present, counts=(1, 2), at_least=3, convention="nan")
    assert [p.map for p in published] == [1, 1, 1]
    zeros = map_by_labels(scores, present, counts=(1, 2), at_least=None, convention="spml")
    assert [p.map for p in zeros] == pytest.approx([1 / 3, 2 / 3])


def test_unknown_labels_are_neither_counted_nor_ranked():
    rng = np.random.default_rng(3)
    scores, present, known = (
        rng.random((60, 4)),
        rng.random((60, 4)) < 0.4,
        rng.random((60, 4)) < 0.7,
    )
    labels = (present & known).sum(1)
    wanted = [
        Part(
            name,
            int(rows.sum()),
            mean_ap(average_precision(scores[rows], present[rows], known[rows])),
        )
        for name, rows in (("1", labels == 1), ("2", labels == 2))
    ]
    for form in (np.asarray, csr_array, torch.from_numpy):
        found = map_by_labels(scores, present, form(known), counts=(1, 2), at_least=None)
        assert found == wanted


def test_a_part_without_images_is_nan():
    part = map_by_labels(np.zeros((2, 2)), np.ones((2, 2), bool), counts=(1,), at_least=None)
    assert part[0].images == 0 and np.isnan(part[0].map)


def test_reference_numbers(golden):
    g = np.load(golden / "metrics.npz")
    scores, present = g["scores_notie"], g["Y"] == 1
    annotations = (g["Z"] != 0).sum(0)
    np.testing.assert_array_equal(annotations, g["ref_group_class_counts"])
    groups = class_groups(annotations)
    np.testing.assert_array_equal(groups, g["ref_group_of_class"])
    found = 100 * group_map(average_precision(scores, present, convention="spml"), groups)
    np.testing.assert_allclose(found, g["ref_group_map"], rtol=1e-9)
    for convention, key in (("nan", "skip_empty"), ("spml", "empty_as_zero")):
        parts = map_by_labels(scores[:, 4:], present[:, 4:], convention=convention)[:3]
        for k, part in enumerate(parts, 1):
            assert part.images == int(g[f"ref_map_k{k}_n_images"])
            assert 100 * part.map == pytest.approx(float(g[f"ref_map_k{k}_{key}"]), rel=1e-9)


CODES = np.array([[1, 0, -1], [0, 1, 1], [-1, -1, 0], [1, 1, 0]], np.int8)
SCORES = np.random.default_rng(0).random(CODES.shape)
FORMS = {
    "array": lambda a: a,
    "turned": lambda a: np.asfortranarray(a),
    "64 bits": lambda a: a.astype(np.int64),
    "float": lambda a: a.astype(np.float32),
    "list": lambda a: a.tolist(),
    "csr": csr_array,
    "coo": coo_array,
    "lil": lil_array,
    "tensor": torch.from_numpy,
    "float tensor": lambda a: torch.from_numpy(a).bfloat16(),
}
METRICS = {
    "average_precision": metrics.average_precision,
    "f1_thresholds": metrics.f1_thresholds,
    "f1": lambda scores, *labels: metrics.f1(scores, labels[0], 0.5, *labels[1:]),
    "map_by_labels": lambda scores, present: metrics.map_by_labels(
        scores, present, counts=(1, 2), at_least=None, convention="spml"
    ),
    "top1": metrics.top1,
    "at_k": lambda scores, present: metrics.at_k(scores, present, 2),
    "present_counts": lambda scores, *labels: metrics.present_counts(*labels),
}
MENDED = "and only 0 and 1 or booleans are expected; of codes pass present = codes == 1"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", FORMS)
def test_codes_are_refused_and_zeros_and_ones_are_not(form, metric):
    name = "truth: present" if metric == "top1" else "present"
    held = "-1.0" if "float" in form else "-1"
    with pytest.raises(BadInput, match=f"^{name} holds {held}, {MENDED}"):
        METRICS[metric](SCORES, FORMS[form](CODES))
    ones = (CODES == 1).astype(np.int8)
    one, other = (METRICS[metric](SCORES, a) for a in (FORMS[form](ones), CODES == 1))
    np.testing.assert_equal(one, other)


@pytest.mark.parametrize("metric", ["average_precision", "f1_thresholds", "f1", "present_counts"])
@pytest.mark.parametrize("form", FORMS)
def test_codes_are_refused_as_what_is_known(form, metric):
    with pytest.raises(BadInput, match=r"^known holds -1(\.0)?, and only 0 and 1"):
        METRICS[metric](SCORES, CODES == 1, FORMS[form](CODES))


@pytest.mark.parametrize(
    ("labels", "held"),
    [
        (np.full((2, 2), "0"), "0"),
        (np.full((2, 2), 0.5), "0.5"),
        (np.full((2, 2), 2, np.uint8), "2"),
    ],
)
def test_neither_is_anything_else(labels, held):
    with pytest.raises(BadInput, match=f"^present holds {held}, {MENDED}"):
        metrics.average_precision(np.zeros((2, 2)), labels)


def test_the_ap_of_a_random_order_is_the_mean_over_all_orders() -> None:
    # Of 3 images with 2 present, those at ranks 1 and 2, 1 and 3, or 2 and 3: 1, 5/6 and 7/12.
    counts = LabelCounts(np.array([2, 1, 0, 3, 500]), np.array([1, 2, 3, 0, 9500]))
    np.testing.assert_allclose(
        counts.chance[:4], [(1 + 5 / 6 + 7 / 12) / 3, 11 / 18, np.nan, np.nan]
    )
    np.testing.assert_allclose(counts.share, [2 / 3, 1 / 3, np.nan, np.nan, 0.05])
    assert counts.chance[4] == pytest.approx(0.05, abs=0.001)
