"""Temperatures of a batch, computed from neighbours and distances, equal the stored ones."""

import itertools
import warnings

import numpy as np
import pytest
import torch

from simkit.embed.label_means import LabelMeans
from simkit.embed.medians import LabelMedians
from simkit.embed.neighbours import Neighbours
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.aids.prepare import prepare
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Batch, Sizes, Task, make
from simkit.learn.methods.state import for_prediction, size_in_bytes, stack
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain

NAMES = ["se", "se-l", "se-i"]
SETTINGS = [
    {},
    {"distance": "cosine", "maxima": "joint"},
    {"nearest": "median5", "gamma": 0.3, "beta": 2.0},
    {"temperature": "inverse", "distance": "cosine", "nearest": "median5"},
    {"k": 2, "nearest": "median5"},
    {"k": 40},  # more than there are
    {"uncovered": "negative"},
    {"psi": "mean", "nearest": "median5"},
]


def drawn(seed, *, N=23, L=9):
    """A task with all kinds of rows; three images were not asked."""
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1, 0, 0, 0, 1], (N, L)).astype(np.int8)
    Z[0], Z[1], Z[2] = 0, np.abs(Z[1]), -np.abs(Z[2])  # nothing, no negative, no positive
    Z[:, 0] = -np.abs(Z[:, 0])  # a class without positives
    asked = np.arange(N) % 9 != 8
    Z[~asked] = 0
    features = FeatureInputs(rng.standard_normal((N, 5)).astype(np.float32))
    return Task(PartialLabels.of(Z, asked=asked), features)


def both(name, given, task):
    """The method that stores and the one that does not, each with its state."""
    found = []
    for store in ("float64", "none"):
        method = make(name, store=store, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found.append((method, method.start(prepare(task, method))))
    return found


def fits(name, given):
    kinds = {"k": ("se", "se-i"), "uncovered": ("se-i",), "psi": ("se", "se-l")}
    return all(name in kinds.get(key, NAMES) for key in given)


CASES = [pair for pair in itertools.product(NAMES, SETTINGS) if fits(*pair)]


@pytest.mark.parametrize("name, given", CASES)
def test_a_batch_has_the_stored_temperatures(name, given):
    task = drawn(len(name))
    (kept, stored), (method, state) = both(name, given, task)
    assert {"temperature"} == set(stored.state_dict())
    assert size_in_bytes(state) == method.state_bytes(task.sizes)
    wanted = stored.temperature[task.rows].numpy()
    codes = task.labels.rows(task.rows)
    for rows in np.array_split(np.random.default_rng(0).permutation(len(task.rows)), 3):
        batch = batch_of(codes[rows], task.rows[rows])
        found = method.temperature_of(batch, state).numpy()
        np.testing.assert_allclose(found, wanted[rows], rtol=1e-12, atol=0)
        logits = np.random.default_rng(1).standard_normal(found.shape) * 5
        ours, theirs = (
            m.loss(batch, plain(logits), s) for m, s in ((method, state), (kept, stored))
        )
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
        chosen = method.selected(batch, plain(logits), state)
        assert torch.equal(chosen, kept.selected(batch, plain(logits), stored))
    everything = kept.temperatures(prepare(task, kept), np.arange(task.sizes.images))
    np.testing.assert_allclose(everything, stored.temperature.numpy(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_stacked_runs_equal_separate_ones(name):
    tasks = [drawn(seed) for seed in range(3)]
    runs = [both(name, {"nearest": "median5"}, task)[1] for task in tasks]
    method, together = runs[0][0], stack([state for _, state in runs])
    index = torch.tensor([3, 20, 1, 4])
    labels = torch.from_numpy(np.stack([task.labels.rows(index.numpy()) for task in tasks]))
    found = method.temperature_of(Batch(index, labels), together)
    for run, (_, state) in enumerate(runs):
        alone = method.temperature_of(Batch(index, labels[run]), state)
        assert torch.equal(found[run], alone)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_stays_on_its_device_and_looks_at_no_value(name):
    """Tensors of the device "meta" have no values: reading one, or mixing in the CPU, raises."""
    task = drawn(0)
    method, state = both(name, {"nearest": "median5"}, task)[1]
    index, labels = (
        torch.arange(4, device="meta"),
        torch.zeros(4, 9, dtype=torch.int8, device="meta"),
    )
    batch, logits = Batch(index, labels), torch.zeros(4, 9, device="meta", requires_grad=True)
    method.loss(batch, plain(logits), state.to("meta")).backward()
    assert logits.grad.device.type == "meta"
    assert method.selected(batch, plain(logits), state).shape == (4, 9)


@pytest.mark.parametrize("name", NAMES)
def test_training_gives_the_same_model(name):
    task, heads = drawn(1), []
    for store in ("float64", "none"):
        method = make(name, store=store)
        trained = train(prepare(task, method), method, settings=Settings(epochs=3, batch_size=4))
        heads.append(trained.scores(task.inputs))
    np.testing.assert_allclose(heads[1], heads[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("store", ["float64", "none"])
def test_prediction_needs_nothing_of_the_state(store):
    method = make("se", store=store)
    state = method.start(prepare(drawn(0), method))
    assert state.state_dict() and not for_prediction(state).state_dict()


def test_memory_that_stays_small():
    sizes = Sizes(1_700_000, 500)
    stored, none = (make("se", store=store).state_bytes(sizes) for store in ("float16", "none"))
    assert stored == 2 * 1_700_000 * 500
    assert none == 1_700_000 * (125 + 10 * 12) + 8 * 500 * 500
    assert make("se-l(store=none)").state_bytes(sizes) == 8 * 500 * 500
    assert make("se-i(store=none, k=5)").state_bytes(sizes) == 1_700_000 * (125 + 60)


def test_means_in_place_of_medians():
    assert make("se(psi=mean)").needs.aids == (Neighbours, LabelMeans)
    assert make("se").needs.aids == (Neighbours, LabelMedians)
    task = prepare(drawn(2), make("se-l"), make("se-l(psi=mean)"))
    means, medians = (make(f"se-l(psi={psi})").start(task) for psi in ("mean", "median"))
    assert not torch.equal(means.temperature, medians.temperature)
    swapped = task.with_aids(LabelMedians(task.aid(LabelMeans).psi))
    assert torch.equal(make("se-l").start(swapped).temperature, means.temperature)
    other = np.abs(task.labels.rows(np.arange(23)))
    with pytest.raises(BadInput) as error:
        make("se-l(psi=mean)").start(Task(other).with_aids(task.aid(LabelMeans)))
    assert str(error.value) == (
        "method 'se-l' got label means of other labels or features than these; build them of this "
        "task with LabelMeans.build(task)"
    )


def test_half_precision_under_autocast_keeps_the_temperatures():
    task = drawn(0)
    method, state = both("se", {}, task)[1]
    codes = task.labels.rows(np.arange(4))
    wanted = method.temperature_of(batch_of(codes), state)
    with torch.autocast("cpu", torch.bfloat16):
        found = method.temperature_of(batch_of(codes), state)
        loss = method.loss(batch_of(codes), plain(torch.zeros(4, 9, dtype=torch.bfloat16)), state)
    assert torch.equal(found, wanted) and loss.dtype == torch.float32
    assert np.isfinite(loss_and_gradient(method, state, codes, np.zeros((4, 9)))[0])


@pytest.mark.parametrize("what", ["labels", "features"])
def test_medians_of_another_task_are_refused_though_the_same_classes_have_none(what):
    task = drawn(2)
    aid = LabelMedians.build(task)
    if what == "labels":
        codes = task.labels.rows(np.arange(23))
        spare = np.flatnonzero((codes > 0).sum(1) > 1)[0]
        codes[spare, np.flatnonzero(codes[spare] > 0)[0]] = 0
        other = Task(PartialLabels.of(codes, asked=task.labels.asked), task.inputs)
    else:
        other = Task(task.labels, FeatureInputs(task.inputs.values * 2 + 1))
    assert np.array_equal(np.isnan(LabelMedians.build(other).psi), np.isnan(aid.psi))
    with pytest.raises(BadInput) as error:
        make("se-l").start(other.with_aids(aid))
    assert str(error.value) == (
        "method 'se-l' got label medians of other labels or features than these; build them of "
        "this task with LabelMedians.build(task)"
    )
    make("se-l").start(task.with_aids(aid))


def test_neighbours_by_other_features_are_refused():
    task = drawn(2)
    aid = Neighbours.build(task)
    other = Task(task.labels, FeatureInputs(np.random.default_rng(9).random((23, 5))))
    with pytest.raises(BadInput) as error:
        make("se-i").start(other.with_aids(aid))
    assert str(error.value) == (
        "method 'se-i' got neighbours of other labels or features than these; build them of this "
        "task with Neighbours.build(task)"
    )
    maps = FeatureInputs(np.random.default_rng(9).random((23, 5, 2, 2)))
    make("se-i").start(Task(task.labels, maps).with_aids(aid))  # whoever learns from maps may


@pytest.mark.parametrize("name", ["se", "se-i"])
def test_prepare_builds_as_many_neighbours_as_the_method_that_wants_most(name):
    task = drawn(3, N=70)
    few, many = make(name), make(f"{name}(k=50)")
    ready = prepare(task, few, many, make("an"))
    assert ready.aid(Neighbours).index.shape == (70, 50)
    many.start(ready)
    assert prepare(task, few).aid(Neighbours).index.shape == (70, 32)
    alone = few.start(prepare(task, few)).temperature
    assert torch.equal(few.start(ready).temperature, alone)


def test_an_exact_search_can_be_asked_for(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr("simkit.embed.neighbours.IN_LISTS_ABOVE", 10)
    with pytest.warns(UserWarning, match="were searched in lists"):
        prepare(drawn(4, N=90), make("se-i"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        ready = prepare(drawn(4, N=90), make("se-i(search=exact)"), make("se"))
    assert ready.aid(Neighbours).recall == 1
