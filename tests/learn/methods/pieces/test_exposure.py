import itertools
import warnings

import numpy as np
import pytest
import torch

from simkit.embed.medians import LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Batch, Outputs, Sizes, Task, make
from simkit.learn.methods.state import size_in_bytes
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain
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


@pytest.fixture(scope="module")
def vectors(golden):
    with np.load(golden / "soft_exposure_reference.npz") as file:
        return dict(file)


@pytest.fixture(scope="module")
def reference_task(vectors):
    """The images of the reference vectors, all of them asked, also those with nothing known."""
    Z = vectors["Z"]
    labels = PartialLabels.of(Z, asked=np.ones(len(Z), bool))
    return Task(labels, FeatureInputs(vectors["features_l2norm"]))


@pytest.mark.parametrize("name, distance, nearest", list(itertools.product(NAMES, BOTH, NEAREST)))
def test_reference_temperatures_and_losses(vectors, reference_task, name, distance, nearest):
    extra = {"uncovered": "negative"} if name == "se-i" else {}
    method = make(name, distance=distance, nearest=nearest, **extra)
    state = ready(method, reference_task)
    key = f"{distance}_{nearest}_{name.replace('-', '').upper()}_"
    found = state.temperature.numpy()
    np.testing.assert_allclose(
        np.where(found == 0, np.nan, found), vectors[key + "temperature"], rtol=1e-9, atol=1e-12
    )
    logits = vectors["logits"].astype(np.float64)
    loss, gradient = loss_and_gradient(method, state, vectors["Z"], logits)
    np.testing.assert_allclose(loss, vectors[key + "loss_sumL_meanB"], rtol=1e-9)
    np.testing.assert_allclose(gradient, vectors[key + "grad"], rtol=1e-9, atol=1e-12)


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


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_finds_its_images(name):
    F, Z, asked = example(0)
    method, task = make(name), Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    state, rows = ready(method, task), [7, 3, 2, 7]
    X = torch.from_numpy(np.random.default_rng(0).standard_normal(Z.shape))
    alone = [
        method.loss(Batch(torch.tensor([n]), torch.from_numpy(Z[[n]])), Outputs(X[[n]]), state)
        for n in rows
    ]
    batch = Batch(torch.tensor(rows), torch.from_numpy(Z[rows]))
    torch.testing.assert_close(method.loss(batch, Outputs(X[rows]), state), sum(alone) / 4)


@pytest.mark.parametrize("store, beta", [("float32", 100), ("float16", 5), ("float16", 100)])
def test_smaller_numbers_cost_little(store, beta):
    F, Z, _ = example(0)
    task = Task(Z, FeatureInputs(F))
    method, exact = make("se", store=store, beta=beta), make("se", beta=beta)
    state = ready(method, task)
    assert size_in_bytes(state) == method.state_bytes(Sizes(*Z.shape))
    assert size_in_bytes(state) == Z.size * (4 if store == "float32" else 2)
    X = np.random.default_rng(0).standard_normal(Z.shape) * 3
    loss, gradient = loss_and_gradient(method, state, Z, X)
    wanted, wanted_gradient = loss_and_gradient(exact, ready(exact, task), Z, X)
    np.testing.assert_allclose(loss, wanted, rtol=1e-3)
    np.testing.assert_allclose(gradient, wanted_gradient, atol=1e-3)


def test_labels_of_another_task_are_noticed():
    F, Z, asked = example(0)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    everyone = Task(PartialLabels.of(Z, asked=asked | True), FeatureInputs(F))
    aids = Neighbours.build(task), LabelMedians.build(task)
    fewer = Task(PartialLabels.of(Z[:9]), FeatureInputs(F[:9]))
    without = np.where(np.arange(7) == 3, 0, Z)
    for other, name, what, kind in (
        (everyone, "se-i", "neighbours", "Neighbours"),
        (fewer, "se", "neighbours", "Neighbours"),
        (Task(without), "se-l", "label medians", "LabelMedians"),
        (Task(Z[:, :5]), "se-l", "label medians", "LabelMedians"),
    ):
        with pytest.raises(BadInput) as error:
            make(name).start(other.with_aids(*aids))
        assert str(error.value) == (
            f"method {name!r} got {what} of other labels or features than these; build them of "
            f"this task with {kind}.build(task)"
        )


def test_more_neighbours_than_there_are_at_hand():
    F, Z, asked = example(0, N=20)
    task = Task(PartialLabels.of(Z, asked=asked), FeatureInputs(F))
    few = task.with_aids(Neighbours.build(task, k=4))
    with pytest.raises(BadInput) as error:
        make("se-i(k=6)").start(few)
    assert str(error.value) == (
        "se-i: k is 6, and the neighbours of this task are 4 for each image; give it more with "
        "task.with_aids(Neighbours.build(task, k=6))"
    )
    more = few.with_aids(Neighbours.build(task, k=6))
    four = make("se-i(k=4)")
    assert torch.equal(four.start(more).temperature, four.start(few).temperature)


def test_a_gamma_of_one_is_mentioned_and_harmless():
    F, Z, _ = example(0)
    method = make("se(gamma=1)")
    task = prepare(Task(Z, FeatureInputs(F)), method)
    with pytest.warns(UserWarning) as heard:
        state = method.start(task)
    assert [str(one.message) for one in heard] == [
        "method 'se' with gamma=1.0 brings temperatures of soft negatives to 0 or above it, where "
        "they pull hard or the wrong way; the paper takes gamma below 1"
    ]
    assert (state.temperature == -1e-6).any()
    _, gradient = loss_and_gradient(method, state, Z, np.full(Z.shape, 100.0))
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(
    "spec, message",
    [
        ("se(beta=-1)", "se: beta is -1.0; a number of at least 0 is expected"),
        ("se-l(gamma=-0.1)", "se-l: gamma is -0.1; a number of at least 0 is expected"),
        ("se-i(k=0)", "se-i: k is 0; a whole number above 0 is expected"),
        ("se(pos_weight=0)", "se: pos_weight is 0.0; a number above 0 is expected"),
        ("se-l(k=3)", "setting of method 'se-l'"),
        ("se(distance=l1)", "se: distance is 'l1'; it must be one of euclidean, cosine"),
    ],
)
def test_impossible_settings_are_refused(spec, message):
    with pytest.raises(BadInput) as error:
        make(spec)
    assert message in str(error.value)


def test_what_is_missing_is_named():
    _, Z, _ = example(0)
    for name, kind in (("se", "Neighbours"), ("se-l", "LabelMedians"), ("se-i", "Neighbours")):
        with pytest.raises(BadInput) as error:
            make(name).start(Task(Z))
        assert str(error.value) == (
            f"method {name!r} needs {kind}, which this task does not carry; `prepare(task, method)`"
            " builds it, or pass one with task.with_aids(...)"
        )
    with pytest.raises(BadInput) as error:
        make("se").start(Sizes(3, 4))
    assert str(error.value) == (
        "method 'se' needs the whole label matrix to start, and only sizes came; give "
        "Task(labels=...) instead of Sizes"
    )
