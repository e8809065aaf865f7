"""Soft Exposure: temperatures and losses of se, se-l and se-i."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch

from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs
from simkit.learn.label_embeddings import LabelMeans, LabelMedians
from simkit.learn.method import state_for_prediction
from simkit.learn.methods import Sizes, Task, make
from simkit.learn.side_info import prepare
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain
from tests.learn.methods.zoo import state_size
from tests.reference import exposure as slow

NAMES = ["se", "se-l", "se-i"]
BOTH = ["euclidean", "cosine"]
NEAREST = ["min", "median5"]


def ready(method, task):
    """The task with its aids, and a state; without the sentence about missing negatives."""
    task = prepare(task, method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method.start(task)


@pytest.mark.parametrize("name, distance, nearest", list(itertools.product(NAMES, BOTH, NEAREST)))
def test_reference_temperatures_and_losses(
    exposure_vectors, exposure_task, name, distance, nearest
):
    extra = {"uncovered": "negative"} if name == "se-i" else {}
    method = make(name, distance=distance, nearest=nearest, **extra)
    state = ready(method, exposure_task)
    key = f"{distance}_{nearest}_{name.replace('-', '').upper()}_"
    found = state.temperature.numpy()
    np.testing.assert_allclose(
        np.where(found == 0, np.nan, found),
        exposure_vectors[key + "temperature"],
        rtol=1e-9,
        atol=1e-12,
    )
    logits = exposure_vectors["logits"].astype(np.float64)
    loss, gradient = loss_and_gradient(method, state, exposure_vectors["Z"], logits)
    np.testing.assert_allclose(loss, exposure_vectors[key + "loss_sumL_meanB"], rtol=1e-9)
    np.testing.assert_allclose(gradient, exposure_vectors[key + "grad"], rtol=1e-9, atol=1e-12)


def example(seed, *, N=17, L=7):
    """Labels with all kinds of rows and columns, and features of unit length."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 0, 1], (N, L)).astype(np.int8)
    Z[0], Z[1], Z[2] = 0, np.abs(Z[1]), -np.abs(Z[2])  # nothing, no negative, no positive
    Z[3] = np.where(Z[3] == 0, 1, Z[3])  # everything
    Z[:, 0] = -np.abs(Z[:, 0])  # a class without positives
    Z[:, 1] = 0  # a class of which nothing is known
    asked = np.arange(N) % 5 != 4
    Z[~asked] = 0
    F = rng.standard_normal((N, 5))
    F = (F / np.linalg.norm(F, axis=1, keepdims=True)).astype(np.float32)
    return F, Z, asked


SETTINGS = [
    {},
    {"distance": "cosine", "maxima": "joint"},
    {"nearest": "median5", "gamma": 0.3, "beta": 2.0},
    {"temperature": "inverse", "beta": 8.0},
    {"k": 2, "nearest": "median5", "distance": "cosine"},
    {"k": 1000},
    {"uncovered": "negative", "maxima": "joint"},
]


@pytest.mark.parametrize("name, given", list(itertools.product(NAMES, SETTINGS)))
def test_equal_to_the_slow_loop(name, given):
    if ("uncovered" in given and name != "se-i") or ("k" in given and name == "se-l"):
        return
    F, Z, asked = example(len(name) + len(given))
    method = make(name, **given, pos_weight=2.5)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    state = ready(method, task)
    form = {"temperature_form" if key == "temperature" else key: v for key, v in given.items()}
    T = slow.temperatures(name, F.astype(float).tolist(), Z.tolist(), asked, **form)
    wanted = np.zeros(Z.shape)
    for place, value in T.items():
        wanted[place] = value
    np.testing.assert_allclose(state.temperature.numpy(), wanted, rtol=1e-9, atol=1e-12)
    assert T and len(T) < (Z == 0).sum()
    for scale in (3, 30):
        X = np.random.default_rng(1).choice([-1.0, -0.4, 0.7, 1.0], Z.shape) * scale
        loss, gradient = loss_and_gradient(method, state, Z, X)
        assert loss == pytest.approx(slow.loss(X.tolist(), Z.tolist(), T, 2.5), rel=1e-12)
        ignored = (Z == 0) & (wanted == 0)
        assert (gradient[ignored] == 0).all()
    chosen = method.selected(batch_of(Z), plain(X), state).numpy()
    assert np.array_equal(chosen, (Z == 0) & (wanted >= 0))


@pytest.mark.parametrize("store, beta", [("float32", 100), ("float16", 5), ("float16", 100)])
def test_smaller_numbers_cost_little(store, beta):
    F, Z, _ = example(0)
    task = Task(Z, FeatureInputs(F))
    method, exact = make("se", store=store, beta=beta), make("se", beta=beta)
    state = ready(method, task)
    assert state_size(state) == Z.size * (4 if store == "float32" else 2)
    X = np.random.default_rng(0).standard_normal(Z.shape) * 3
    loss, gradient = loss_and_gradient(method, state, Z, X)
    wanted, wanted_gradient = loss_and_gradient(exact, ready(exact, task), Z, X)
    np.testing.assert_allclose(loss, wanted, rtol=1e-3)
    np.testing.assert_allclose(gradient, wanted_gradient, atol=1e-3)


@pytest.mark.parametrize("name, settings", list(itertools.product(NAMES, SETTINGS)))
def test_without_a_store_a_batch_has_the_same_temperatures(name, settings):
    if ("uncovered" in settings and name != "se-i") or ("k" in settings and name == "se-l"):
        return
    F, Z, asked = example(1)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    stored, method = make(name, **settings), make(name, store="none", **settings)
    table, state = ready(stored, task).temperature.numpy(), ready(method, task)
    assert state_size(state) == method.state_bytes(task.sizes)
    for rows in np.array_split(np.random.default_rng(0).permutation(task.rows), 3):
        T = method.temperature_of(batch_of(Z[rows], rows), state).numpy()
        np.testing.assert_array_equal(T, table[rows])
    everything = stored.temperatures(prepare(task, stored), np.arange(len(Z)))
    np.testing.assert_array_equal(everything, table)


@pytest.mark.parametrize("store", ["float64", "none"])
def test_prediction_needs_nothing_of_the_state(store):
    F, Z, _ = example(0)
    state = ready(make("se", store=store), Task(Z, FeatureInputs(F)))
    assert state.state_dict() and not state_for_prediction(state).state_dict()


def test_means_in_place_of_medians():
    assert make("se(psi=mean)").needs.aids == (Neighbours, LabelMeans)
    assert make("se").needs.aids == (Neighbours, LabelMedians)
    F, Z, _ = example(2)
    task = prepare(Task(Z, FeatureInputs(F)), make("se-l"), make("se-l(psi=mean)"))
    means, medians = (ready(make(f"se-l(psi={psi})"), task) for psi in ("mean", "median"))
    assert not torch.equal(means.temperature, medians.temperature)
    swapped = task.with_aids(LabelMedians(task.aid(LabelMeans).psi))
    assert torch.equal(ready(make("se-l"), swapped).temperature, means.temperature)


def test_side_information_of_other_labels_or_features_is_refused():
    F, Z, asked = example(0)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    aids = Neighbours.build(task), LabelMedians.build(task)
    codes = Z.copy()
    image = np.flatnonzero((codes > 0).sum(1) > 1)[0]
    codes[image, np.flatnonzero(codes[image] > 0)[0]] = 0
    stretched = FeatureInputs(F * 2 + 1)
    for other, name, kind in (
        (Task(PartialLabels.of(Z, asked=asked | True), task.inputs), "se-i", "Neighbours"),
        (Task(PartialLabels.of(Z[:9]), FeatureInputs(F[:9])), "se", "Neighbours"),
        (Task(task.labels, stretched), "se-i", "Neighbours"),
        (Task(Z[:, :5]), "se-l", "LabelMedians"),
        (Task(PartialLabels.of(codes, asked=asked), task.inputs), "se-l", "LabelMedians"),
        (Task(task.labels, stretched), "se-l", "LabelMedians"),
    ):
        with pytest.raises(BadInput, match=rf"{name}.*build them of this task with {kind}.build"):
            ready(make(name), other.with_aids(*aids))
    maps = FeatureInputs(np.random.default_rng(9).random((17, 5, 2, 2)))
    ready(make("se-i"), Task(task.labels, maps).with_aids(aids[0]))  # learning from maps may


def test_neighbours_are_as_many_as_the_method_with_most_wants():
    F, Z, asked = example(0, N=70)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    few = task.with_aids(Neighbours.build(task, k=4))
    with pytest.raises(BadInput, match=r"k is 6.*Neighbours.build\(task, k=6\)"):
        make("se-i(k=6)").start(few)
    more = few.with_aids(Neighbours.build(task, k=6))
    assert torch.equal(*(ready(make("se-i(k=4)"), t).temperature for t in (more, few)))
    for methods, k in ((("se", "se-i(k=50)", "an"), 50), (("se",), 32)):
        assert prepare(task, *map(make, methods)).aid(Neighbours).index.shape == (70, k)


def test_a_gamma_of_one_is_mentioned_and_harmless():
    F, Z, _ = example(0)
    method = make("se(gamma=1)")
    task = prepare(Task(Z, FeatureInputs(F)), method)
    with pytest.warns(UserWarning, match="the paper takes gamma below 1"):
        state = method.start(task)
    assert (state.temperature == -1e-6).any()
    _, gradient = loss_and_gradient(method, state, Z, np.full(Z.shape, 100.0))
    assert np.isfinite(gradient).all()


# Labels that know one side alone are noticed, also where a handful say the other.


def single(images=200, classes=20):
    """One class of each image is known to be present."""
    Z = np.zeros((images, classes), np.int8)
    Z[np.arange(images), np.random.default_rng(0).integers(classes, size=images)] = 1
    return Z


def warned(name, Z, asked=None):
    """Temperatures, and the one warning at the start, "" without."""
    features = np.abs(np.random.default_rng(1).normal(size=(len(Z), 8)))
    task = prepare(Task(PartialLabels.of(Z, asked=asked), FeatureInputs(features)), make(name))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        T = make(name).start(task).temperature.numpy()
    assert len(caught) <= 1
    return T, str(caught[0].message) if caught else ""


@pytest.mark.parametrize("name", NAMES)
def test_one_absent_label_does_not_silence_the_warning(name):
    Z = single()
    Z[0, np.argmin(Z[0])] = -1
    T, warning = warned(name, Z)
    lack = "only 1 of 201 known labels" if name == "se-i" else "only 1 of 200 images"
    assert name in warning and lack in warning
    assert (T > 0).sum() > 9 * (T < 0).sum() or (name == "se-l" and (T == 0).mean() > 0.99)


@pytest.mark.parametrize("name", NAMES)
def test_with_one_side_alone_unknown_labels_fall_to_it(name):
    T, warning = warned(name, -single())
    assert "say of nothing that it is present" in warning and not (T > 0).any()
    assert {"se": (T < 0).sum() == 200 * 19, "se-l": not T.any(), "se-i": (T < 0).any()}[name]
    T, warning = warned(name, single())
    assert "say of nothing that it is absent" in warning
    assert (T > 0).sum() > 4 * (T < 0).sum() or (name == "se-l" and not T.any())


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_is_known_that_is_said(name):
    T, warning = warned(name, np.zeros((5, 3), np.int8), np.ones(5, bool))
    assert "nothing that it is present or absent" in warning
    assert (T == (-1 if name == "se" else 0)).all()


def test_images_that_know_one_side_each_are_enough_for_neighbours():
    Z = single()
    Z[::2] *= -1
    assert not warned("se-i", Z)[1]
    assert "in only 0 of 200 images" in warned("se-l", Z)[1]
    both = single()
    both[:3] = np.where(both[:3] == 0, -1, 1)  # 3 of 200 are more than one in a hundred
    assert not warned("se", both)[1] and not warned("se-l", both)[1]


def test_without_negatives_se_l_is_ignore():
    rng = np.random.default_rng(0)
    Z, F = (rng.random((30, 5)) < 0.2).astype(np.int8), rng.standard_normal((30, 4))
    method = make("se-l")
    task = prepare(Task(Z, FeatureInputs(F)), method)
    with pytest.warns(UserWarning, match="say of nothing that it is absent"):
        state = method.start(task)
    X = rng.standard_normal(Z.shape)
    ours = loss_and_gradient(method, state, Z, X)
    ignore = make("ignore", reduction="sum_classes")
    theirs = loss_and_gradient(ignore, ignore.start(Sizes(*Z.shape)), Z, X)
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-12)


# Images 0 and 1 are neighbours, and 2 and 3: cosines 0.96, distances sqrt(0.08).
F_PAIRS = np.array([[1, 0], [0.96, 0.28], [-0.96, 0.28], [-1, 0]], np.float32)
Z_PAIRS = np.array([[1, -1, 0], [0, 0, 1], [0, 1, 1], [-1, 0, 0]], np.int8)


def temperatures(spec, labels=Z_PAIRS):
    method = make(spec)
    return method.start(prepare(Task(labels, FeatureInputs(F_PAIRS)), method)).temperature.numpy()


def test_se_i_by_hand():
    hot = math.exp(5 * (1 - math.sqrt(0.08)))
    wanted = [[0, 0, hot], [hot, -hot, 0], [-hot, 0, 0], [0, hot, hot]]
    np.testing.assert_allclose(temperatures("se-i(k=1, maxima=joint)"), wanted, rtol=1e-6)
    # Each over its own maximum: where all d+ are alike they are 1, as d- is, and ties are negative.
    wanted = [[0, 0, -1], [hot, -hot, 0], [-1, 0, 0], [0, -1, -1]]
    np.testing.assert_allclose(temperatures("se-i(k=1)"), wanted, rtol=1e-6)


def test_what_no_neighbour_covers_is_ignored_or_a_hard_negative():
    less = Z_PAIRS.copy()
    less[3] = [0, 1, -1]  # nothing about class 0 in image 3, nor in image 2
    ignored, hard = (
        temperatures(f"se-i(k=1, uncovered={how})", less) for how in ("ignore", "negative")
    )
    assert ignored[2:, 0].tolist() == [0, 0] and hard[2:, 0].tolist() == [-1, -1]
    assert np.array_equal(ignored[:, 1:], hard[:, 1:])
