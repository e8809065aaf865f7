import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import get, make, spell
from tests.learn.methods.large_losses import check_golden, inputs, same, visits
from tests.learn.methods.steps import batch_of, plain, started
from tests.reference import large_loss as slow


@pytest.mark.parametrize("k_of", ["batch", "unknown"])
@pytest.mark.parametrize(("delta", "far"), [(3, False), (0.7, False), (3, True), (30, True)])
def test_equal_to_the_slow_loop(k_of, delta, far):
    Z, logits = inputs(0, far=far)
    method = make("ll-r", delta=delta, k_of=k_of)
    for epoch, found in enumerate(visits(method, Z, logits), 1):
        rule = slow.percentage(Z.size, epoch, delta, k_of=k_of)
        same(found, slow.visit(logits[epoch - 1], Z, "reject", rule))
        assert (found.grad[found.mask] == 0).all()
    assert delta < 30 or (found.mask == (Z == 0)).all()  # more than is unknown


@pytest.mark.parametrize("reproduce", ["cvpr22", "cvpr23"])
def test_rates_in_floats_where_published_code_has_them(reproduce):
    Z, logits = np.zeros((16, 20), int), inputs(3, shape=(16, 20))[1]
    ks = []
    method = make("ll-r", delta=0.5, reproduce=reproduce)
    for epoch, found in enumerate(visits(method, Z, logits), 1):
        rule = slow.percentage(Z.size, epoch, 0.5, floats=True)
        same(found, slow.visit(logits[epoch - 1], Z, "reject", rule))
        ks.append(found.k)
    assert ks[5] == 9  # of 320 labels 5 * 0.5 % are 8


def test_each_run_of_a_stack_has_its_own_threshold():
    Z = np.zeros((2, 2, 10), int)
    x = np.stack([np.linspace(0, 1, 20), np.linspace(5, 2, 20)]).reshape(2, 2, 10)
    method, state = started("ll-r(delta=10)", Z[0])
    method.after_epoch(1, None, state)
    chosen = method.selected(batch_of(Z), plain(x), state)
    assert [run.nonzero().tolist() for run in chosen] == [[[1, 8], [1, 9]], [[0, 0], [0, 1]]]


def test_confident_negatives_do_not_tie_by_rounding():
    x = -16 - torch.arange(20.0).reshape(2, 10) / 64  # in float32 their losses are rounded alike
    method, state = started("ll-r(delta=10)", np.zeros((2, 10), int))
    method.after_epoch(1, None, state)
    chosen = method.selected(batch_of(np.zeros((2, 10))), plain(x), state)
    assert chosen.nonzero().tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("variant", ["cvpr22", "cvpr23", "paper"])
def test_reference_vectors(golden, variant):
    g = np.load(golden / "largeloss.npz")
    for c in range(int(g["cases"])):
        method = make("ll-r", delta=float(g[f"c{c}_delta_rel_percent"]), reproduce=variant)
        check_golden(g, f"c{c}_LLR_{variant}", method)


def test_numbers_of_numpy_are_numbers():
    method = get("ll-r")(delta=np.float64(3))
    assert spell(method) == spell(make("ll-r", delta=3))
    Z = np.zeros((10, 10), int)
    found = list(visits(method, Z, np.zeros((3, 10, 10))))[-1]
    assert found.k == 6 and found.mask.all()  # all tie
    with pytest.raises(BadInput, match="a number is expected"):
        get("ll-r")(delta=None)
