import math

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Batch, Outputs, Task, make
from simkit.learn.methods.imcl import Products
from simkit.learn.model import Head, Model, initial
from tests.reference import estimators as slow

RNG = np.random.default_rng(0)
Z = np.where(RNG.random((12, 5)) < 0.6, RNG.integers(0, 2, (12, 5)) * 2 - 1, 0)
FEATURES = RNG.standard_normal((12, 3)).astype(np.float32)
X = RNG.standard_normal((12, 5)) * 2


def begun(spec="imcl(memory=6, alpha_features=0.5)"):
    method = make(spec)
    return method, method.start(Task(Z, FeatureInputs(FEATURES)))


def seen(rows, scale=1.0):
    rows = np.asarray(rows)
    batch = Batch(torch.as_tensor(rows), torch.as_tensor(Z[rows], dtype=torch.int8))
    return batch, Outputs(torch.tensor(scale * X[rows]), None, torch.tensor(FEATURES[rows]))


def answer(x, c):
    y = x - math.log(c) / 2
    return (math.exp(y) - math.exp(-y) / c) / (math.exp(y) + math.exp(-y))


@pytest.mark.parametrize("c", [1.0, 2.0])
def test_completions_lie_between_the_codes_of_labels(c):
    method = make("imcl", c=c)
    x = np.linspace(-4, 4, 9)
    found = method.answer(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, [answer(v, c) for v in x], atol=1e-12)
    assert found[4] == pytest.approx(0)
    far = method.answer(torch.tensor([-100.0, 100.0]))
    torch.testing.assert_close(far, torch.tensor([-1 / c, 1.0]))


def test_classes_that_come_together_are_linked_at_the_start():
    labels = np.array([[1, 1, 0], [1, 0, -1], [0, 0, 1], [1, -1, 0]])
    state = make("imcl").start(Task(labels, FeatureInputs(FEATURES[:4])))
    # 0 comes three times, once with 1: rows [1, 1/3, 0], [1, 1, 0], [0, 0, 1], columns to sum 1
    wanted = [[1 / 2, 1 / 4, 0], [1 / 2, 3 / 4, 0], [0, 0, 1]]
    torch.testing.assert_close(state.graph.detach(), torch.tensor(wanted))
    state.graph.data += 0.6
    batch, out = seen([0, 1])
    cut = Batch(batch.index, batch.labels[:, :3])
    with torch.no_grad():
        make("imcl").after_batch(cut, Outputs(out.logits[:, :3], None, out.features), state)
    torch.testing.assert_close(
        state.graph.detach(), torch.tensor([[1, 0.85, 0], [1, 1, 0], [0, 0, 1.0]])
    )


def test_the_dictionary_is_the_last_images_seen():
    method, state = begun()
    for rows in ([0, 1, 2, 3], [4, 5, 6, 7]):
        method.after_batch(*seen(rows), state)
    assert state.owner.tolist() == [6, 7, 2, 3, 4, 5] and state.next == 2
    np.testing.assert_array_equal(state.features, FEATURES[state.owner])
    np.testing.assert_allclose(state.products, state.features @ state.features.T, rtol=1e-5)
    np.testing.assert_array_equal(state.codes, Z[state.owner])
    np.testing.assert_allclose(
        state.predicted, [[answer(x, 1) for x in X[n]] for n in state.owner], rtol=1e-5
    )
    method.after_batch(*seen(range(12)), state)  # more at once than there are places
    assert sorted(state.owner.tolist()) == [6, 7, 8, 9, 10, 11]


def logistic(rows):
    terms = [slow.soft_term(x, z > 0) for x, z in zip(X[rows].flat, Z[rows].flat, strict=True) if z]
    return sum(terms) / len(terms)


@pytest.mark.parametrize("c", [1.0, 2.0])
def test_equal_to_the_slow_loop(c):
    method, state = begun(f"imcl(c={c}, memory=6, alpha_features=0.5, alpha=0.8)")
    method.after_batch(*seen(range(6)), state)
    rows = np.array([3, 8, 9, 10])  # 3 is in the dictionary: not for itself
    graph = state.graph.detach().double().numpy()

    def completed(answers, codes):
        return np.where(codes == 0, answers, np.where(codes == 1, 1, -1 / c))

    entries = completed(state.predicted.double().numpy() @ graph, state.codes.numpy())
    left = whole = 0.0
    for n in rows:
        labels = completed(np.array([answer(x, c) for x in X[n]]), Z[n])
        weights = slow.pursuit(
            (labels, FEATURES[n].astype(float)),
            (entries, FEATURES[:6].astype(float)),
            [m != n for m in range(6)],
            (0.8, 0.5),
            3,
            1e-3,
        )
        whole += labels @ labels
        if weights:
            left += ((labels - sum(w * entries[m] for m, w in weights.items())) ** 2).sum()
    loss = method.loss(*seen(rows), state)
    wanted = logistic(rows) + 0.8 * math.log(2) * left / whole
    assert loss.item() == pytest.approx(wanted, rel=1e-6)
    assert left / whole > 0.01


def test_both_classifier_and_graph_learn_from_what_is_unexplained():
    method, state = begun()
    method.after_batch(*seen(range(6)), state)
    batch, out = seen([8, 9, 10])
    x = out.logits.clone().requires_grad_()
    method.loss(batch, Outputs(x, None, out.features), state).backward()
    assert (x.grad[batch.labels == 0] != 0).any() and (state.graph.grad != 0).any()


def test_the_graph_learns_more_slowly_and_does_not_decay():
    method, state = begun("imcl(ratio=0.2)")
    model = Model(Head(*initial(Chance.seeded(0), 5, 3)))
    head, own = method.groups(model, state, 0.5)
    assert head["lr"] == 0.5 and own["lr"] == 0.1 and own["weight_decay"] == 0
    assert own["params"] == [state.graph]


@pytest.mark.parametrize("say", [(0.5, 0.25), (1.0, 0.0), (0.2, 1.0)])
@pytest.mark.parametrize("threshold", [1e-9, 0.05])
@pytest.mark.parametrize("atoms", [1, 3, 20])
def test_pursuit_equals_the_slow_loop(say, threshold, atoms):
    rng = np.random.default_rng(atoms)
    targets = rng.standard_normal((6, 30)), rng.standard_normal((6, 25))
    entries = rng.standard_normal((8, 30)), rng.standard_normal((8, 25))
    targets[0][3], targets[1][3] = entries[0][2] * 2, entries[1][2]  # one entry says it all
    allowed = rng.random((6, 8)) < 0.7
    allowed[5] = False
    method = make("imcl", alpha=say[0], alpha_features=say[1], atoms=atoms, threshold=threshold)
    (labels, t), (entry_labels, e) = (map(torch.tensor, each) for each in (targets, entries))
    products = Products(t @ e.T, e @ e.T, t.norm(dim=1, keepdim=True))
    chosen, weights = method.similar(labels, entry_labels, products, torch.tensor(allowed))
    assert chosen.shape == weights.shape == (6, min(atoms, 8))
    for i in range(6):
        wanted = slow.pursuit([t[i] for t in targets], entries, allowed[i], say, atoms, threshold)
        found = {m: w for m, w in zip(chosen[i].tolist(), weights[i].tolist(), strict=True) if w}
        assert found.keys() == wanted.keys()
        for m, weight in found.items():
            assert weight == pytest.approx(wanted[m], rel=1e-3, abs=1e-5)
