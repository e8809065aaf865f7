import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from simkit.errors import BadInput
from simkit.learn.metrics import average_precision, blocks, mean_ap
from simkit.learn.metrics.parts import Part, class_groups, group_map, map_by_labels
from simkit.learn.side_info import ClassPrior


def test_groups_are_consecutive_by_annotations_and_equal_ones_by_index():
    assert class_groups([5, 1, 5, 0, 9, 5], 3).tolist() == [2, 1, 2, 1, 3, 3]
    assert class_groups([3, 3, 3, 3], 2).tolist() == [1, 1, 2, 2]
    assert np.bincount(class_groups(np.arange(13), 5))[1:].tolist() == [3, 3, 3, 2, 2]


def test_a_group_of_classes_that_are_all_nan_is_nan():
    found = group_map(np.array([0.5, np.nan, 0.7, np.nan]), np.array([1, 2, 1, 2]))
    np.testing.assert_allclose(found, [0.6, np.nan])


def test_images_are_told_apart_by_their_labels():
    scores = np.array([[3, 1, 2], [1, 3, 2], [3, 2, 1], [1, 2, 3], [9, 9, 9]])
    present = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0]], bool)
    parts = map_by_labels(scores, present, counts=(1, 2), at_least=3)
    assert [(p.name, p.images) for p in parts] == [("1", 2), ("2", 1), (">=3", 1)]
    assert [p.map for p in parts] == [1, 1, 1]
    zeros = map_by_labels(scores, present, counts=(1, 2), at_least=None, convention="spml")
    assert [p.map for p in zeros] == pytest.approx([1 / 3, 2 / 3])


def test_equal_to_the_rows_alone_in_every_form(monkeypatch):
    monkeypatch.setattr(blocks, "_ENTRIES", 100)
    rng = np.random.default_rng(2)
    scores, present = rng.standard_normal((300, 7)), rng.random((300, 7)) < 0.25
    labels = present.sum(1)
    wanted = [
        Part(name, int(rows.sum()), mean_ap(average_precision(scores[rows], present[rows])))
        for name, rows in (("1", labels == 1), ("2", labels == 2), ("3", labels == 3),
                           (">=4", labels >= 4))
    ]  # fmt: skip
    for form in (np.asarray, csr_array, torch.from_numpy, np.ndarray.tolist):
        assert map_by_labels(scores, form(present)) == wanted
    assert map_by_labels(torch.from_numpy(scores), present) == wanted


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


@pytest.mark.parametrize(
    ("annotations", "groups", "message"),
    [
        ([1, 2, 3], 5, "5 groups are asked for and annotations have shape (3,); at least one "
         "group is expected, and at least one class for each"),
        ([1, 1, 2, 3, 4], 2.5, "2.5 groups are asked for and annotations have shape (5,); at least "
         "one group is expected, and at least one class for each"),
        ([np.nan, 1, 2], 2, "annotations hold nan or are no numbers; how many images are annotated "
         "is expected for each class"),
        ([[1, 2]], 1, "1 groups are asked for and annotations have shape (1, 2); at least one "
         "group is expected, and at least one class for each"),
    ],
)  # fmt: skip
def test_impossible_groups_are_explained(annotations, groups, message):
    with pytest.raises(BadInput) as error:
        class_groups(annotations, groups)
    assert str(error.value) == message


def test_groups_of_other_classes_are_explained():
    with pytest.raises(BadInput) as error:
        group_map(np.zeros(3), np.ones(2, int))
    assert str(error.value) == "ap has shape (3,) and groups (2,); they must agree"


@pytest.mark.parametrize(
    ("groups", "held"), [([0, 1], "0 and are of int64"), ([1.0, 2.0], "1.0 and are of float64")]
)
def test_groups_that_are_not_counted_from_one_are_explained(groups, held):
    with pytest.raises(BadInput) as error:
        group_map([0.1, 0.2], groups)
    assert str(error.value) == (
        f"groups hold {held}; whole numbers from 1 on are expected, as class_groups gives them"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counts": (99,), "convention": "voc"},
         "convention is 'voc'; it must be one of nan, csl, spml, cvpr22, imcl"),
        ({"counts": (1, 1.5)}, "a number of labels per image is 1.5; whole numbers from 1 on are "
         "expected in counts and at_least"),
        ({"at_least": 0}, "a number of labels per image is 0; whole numbers from 1 on are expected "
         "in counts and at_least"),
    ],
)  # fmt: skip
def test_impossible_parts_are_explained(options, message):
    with pytest.raises(BadInput) as error:
        map_by_labels(np.zeros((2, 2)), np.ones((2, 2), bool), **options)
    assert str(error.value) == message


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


def test_the_prior_ranks_classes_as_the_reference_says(golden):
    g = np.load(golden / "metrics.npz")
    prior = ClassPrior(g["prior_est"])
    for n, wanted in zip(g["ref_spearman_n"], g["ref_spearman_top_n"], strict=True):
        assert prior.spearman(g["prior_true"], top=int(n)) == pytest.approx(wanted, rel=1e-9)
