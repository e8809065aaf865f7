import math

import numpy as np
import pytest
import torch

from simkit.chance import Chance
from simkit.learn.methods import Task, make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain

Z = np.array([[1, 1, 0, 0], [0, 1, 0, -1], [0, 1, 1, 0], [0, -1, 0, 0], [0, 1, 1, 1]])
X = np.random.default_rng(0).standard_normal((5, 4))
# per class 1, 4, 2, 1 positives: most frequent first is 1, 2, 0, 3
SPEC = "cnn-rnn(embedding=3, hidden=6, longest=2)"


def begun(spec=SPEC, scale=20.0):
    """A method and a state with large weights, in float64, and an LSTM of PyTorch like it."""
    method = make(spec)
    state = method.start(Task(Z), Chance.seeded(0))
    for key, value in list(state.named_parameters()):
        setattr(state, key, torch.nn.Parameter(value.detach().double() * scale / 10))
    state.stop.data += 0.3
    cell = torch.nn.LSTMCell(3, 6).double()
    with torch.no_grad():  # its gates are input, forget, new, output: the order of ours
        cell.weight_ih.copy_(state.weight[:, :3])
        cell.weight_hh.copy_(state.weight[:, 3:])
        cell.bias_ih.copy_(state.bias)
        cell.bias_hh.zero_()
    return method, state, cell


def scores(state, cell, x, said, memory):
    """One step of one image: scores of the classes and of the end, and what is remembered."""
    memory = cell(state.labels[said][None], memory)
    image = torch.cat([torch.tensor(x), state.stop])
    return image + state.labels @ (state.out @ memory[0][0]), memory


def test_images_without_an_order_start_with_the_most_frequent_class():
    _, state, _ = begun()
    assert state.rank.tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("longest", [1, 2, 3, 9])
def test_equal_to_the_slow_loop(longest):
    method, state, cell = begun(f"cnn-rnn(embedding=3, hidden=6, longest={longest})")
    total, steps = 0.0, 0
    for x, codes in zip(X, Z, strict=True):
        named = [c for c in (1, 2, 0, 3) if codes[c] == 1][:longest]
        memory, said = None, 4
        for target in [*named, 4]:
            values, memory = scores(state, cell, x, said, memory)
            total -= torch.log_softmax(values, 0)[target].item()
            said, steps = target, steps + 1
    loss, gradient = loss_and_gradient(method, state, Z, X)
    assert loss == pytest.approx(total / steps, rel=1e-9)
    assert (gradient != 0).all()


@pytest.mark.parametrize("longest", [1, 2, 9])
def test_prediction_names_classes_until_that_was_all(longest):
    method, state, cell = begun(f"cnn-rnn(embedding=3, hidden=6, longest={longest})")
    found = method.predict(plain(X), state).detach().numpy()
    ended = 0
    for x, row in zip(X, found, strict=True):
        best, memory, said, named = [-math.inf] * 4, None, 4, []
        for _ in range(min(longest, 4)):
            values, memory = scores(state, cell, x, said, memory)
            p = torch.softmax(values, 0).tolist()
            best = [max(b, math.log(q / (1 - q))) for b, q in zip(best, p, strict=False)]
            said = max((c for c in range(5) if c not in named), key=lambda c: p[c])
            named.append(said)
            if said == 4:
                ended += 1
                break
        np.testing.assert_allclose(row, best, rtol=1e-6)
    assert longest < 9 or 0 < ended


def test_certain_scores_keep_their_order():
    method = make(SPEC)
    state = method.start(Task(Z), Chance.seeded(0))
    for key in ("labels", "stop"):
        getattr(state, key).data.zero_()
    x = torch.tensor([[100.0, 0.0, -100.0, -50.0], [200.0, 0.0, -100.0, -50.0]])
    found = method.predict(plain(x), state)
    assert torch.isfinite(found).all() and found[1, 0] > found[0, 0] > 90
    assert found[0].argsort().tolist() == [2, 3, 1, 0]


def test_an_image_without_positives_learns_that_it_was_all():
    method, state, _ = begun()
    before = method.loss(batch_of(np.zeros((1, 4), int)), plain(X[:1]), state)
    state.stop.data += 5
    assert method.loss(batch_of(np.zeros((1, 4), int)), plain(X[:1]), state) < before - 1
