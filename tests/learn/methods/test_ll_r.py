import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import get, make, spell
from simkit.learn.methods.large_loss import growing_k
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import methods as slow


def at_epoch(method, state, epoch):
    for ended in range(1, epoch):
        method.after_epoch(ended, None, state)


@pytest.mark.parametrize("k_of", ["batch", "unknown"])
def test_equal_to_the_slow_loop(k_of):
    rng = np.random.default_rng(0)
    Z, x = rng.integers(-1, 2, (6, 9)), rng.standard_normal((6, 9)) * 3
    for epoch in (1, 2, 5, 40):
        method, state = started(f"ll-r(delta=3, k_of={k_of})", Z)
        at_epoch(method, state, epoch)
        places = slow.rejected(x, Z, epoch, 3, k_of)
        chosen = method.selected(batch_of(Z), plain(x), state).numpy()
        assert set(zip(*map(list, np.nonzero(chosen)), strict=True)) == places
        loss, gradient = loss_and_gradient(method, state, Z, x)
        left_out = sum(slow.negative_term(x[place]) for place in places) / x.size
        assert loss == pytest.approx(slow.assume_negative(x, Z) - left_out, rel=1e-12)
        assert (gradient[chosen] == 0).all() and (gradient[~chosen] != 0).all()


def test_each_run_of_a_stack_has_its_own_threshold():
    Z = np.zeros((2, 2, 10), int)
    x = np.stack([np.linspace(0, 1, 20), np.linspace(5, 2, 20)]).reshape(2, 2, 10)
    method, state = started("ll-r(delta=10)", Z[0])
    at_epoch(method, state, 2)
    chosen = method.selected(batch_of(Z), plain(x), state)
    assert [run.nonzero().tolist() for run in chosen] == [[[1, 8], [1, 9]], [[0, 0], [0, 1]]]


def test_delta_is_a_percentage():
    with pytest.raises(BadInput) as error:
        make("ll-r(delta=-1)")
    assert str(error.value) == "ll-r: delta is -1.0; a percentage from 0 to 100 is expected"


@pytest.mark.parametrize("variant", ["cvpr22", "cvpr23", "paper"])
def test_reference_vectors(golden, variant):
    g = np.load(golden / "largeloss.npz")
    for c in range(int(g["cases"])):
        Z, key = g[f"c{c}_Z"], f"c{c}_LLR_{variant}"
        delta = float(g[f"c{c}_delta_rel_percent"])
        method, state = started(make("ll-r", delta=delta, reproduce=variant), Z)
        replaced = "modified_mask" if variant == "paper" else "loss_replaced_mask"
        for e, x in enumerate(g[f"c{c}_logits"].astype(float)):
            k = growing_k(state, torch.as_tensor(Z == 0), delta, "batch", variant)
            assert k.item() == g[f"{key}_k"][e]
            if variant != "paper":
                assert state.kept.item() == g[f"{key}_clean_rate"][e]
            mask = method.selected(batch_of(Z), plain(x), state).numpy()
            np.testing.assert_array_equal(mask, g[f"{key}_{replaced}"][e])
            loss, gradient = loss_and_gradient(method, state, Z, x)
            name = "loss" if variant == "paper" else "official_loss"
            np.testing.assert_allclose(loss, g[f"{key}_{name}"][e], rtol=1e-9, atol=1e-12)
            if variant != "paper":
                np.testing.assert_allclose(
                    gradient, g[f"{key}_official_grad"][e], rtol=1e-9, atol=1e-12
                )
            method.after_epoch(e + 1, None, state)


def test_numbers_of_numpy_are_numbers():
    method = get("ll-r")(delta=np.float64(3))
    assert spell(method) == spell(make("ll-r", delta=3))
    Z = np.zeros((10, 10), int)
    _, state = started(method, Z)
    at_epoch(method, state, 3)
    assert method.selected(batch_of(Z), plain(np.zeros((10, 10))), state).all()  # all tie
    assert growing_k(state, torch.as_tensor(Z == 0), method.delta, "batch", None) == 6
    with pytest.raises(BadInput) as error:
        get("ll-r")(delta=None)
    assert str(error.value) == "ll-r: delta is None; a number is expected"
