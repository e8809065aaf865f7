import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.methods import Batch, Outputs, Sizes, make
from tests.learn.methods.large_losses import check_golden, inputs, labels_of, same, visits
from tests.learn.methods.steps import batch_of, started
from tests.reference import large_loss as slow


@pytest.mark.parametrize(
    "settings", [{}, {"k_of": "unknown"}, {"update": ">"}, {"reproduce": "cvpr23"}]
)
@pytest.mark.parametrize(("delta", "far"), [(3, False), (0.7, False), (3, True), (30, True)])
def test_equal_to_the_slow_loop(settings, delta, far):
    Z, logits = inputs(1, far=far)
    labels = Z
    more = {
        "grows": False,
        "k_of": settings.get("k_of", "batch"),
        "floats": "reproduce" in settings,
    }
    for epoch, found in enumerate(visits(make("ll-cp", delta=delta, **settings), Z, logits), 1):
        rule = slow.percentage(Z.size, epoch, delta, **more)
        stays = slow.percentage(Z.size, epoch, delta, strict="update" in settings, **more)
        wanted = slow.visit(logits[epoch - 1], labels, "correct", rule, stays)
        same(found, wanted)
        labels = wanted[-1]
    if delta > 1:  # of one correction in a step none is above the threshold
        assert (np.asarray(labels)[Z == 0] == 1).any()


def test_corrections_stay_with_their_image():
    Z = np.zeros((4, 5), int)
    method, state = started("ll-cp(delta=10)", Z)
    method.after_epoch(1, None, state)
    x = torch.arange(10.0).reshape(2, 5)
    batch = Batch(torch.tensor([3, 1]), torch.zeros(2, 5, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), state)
    assert np.argwhere(labels_of(state, Z)).tolist() == [[1, 4]]
    method.after_batch(batch, Outputs(x), state)  # what is corrected is not counted again
    assert np.argwhere(labels_of(state, Z)).tolist() == [[1, 3], [1, 4]]


def test_the_labels_of_the_batch_have_the_word_where_they_are_known():
    Z = np.array([[1, 0, 0]])
    method, state = started("ll-cp(delta=0)", Z)
    x = torch.tensor([[-2.0, 1.0, 0.5]])
    loss = method.loss(batch_of([[-1, 0, 0]]), Outputs(x), state)
    assert loss == pytest.approx(float(torch.nn.functional.softplus(x).mean()))


def test_sizes_are_not_enough():
    with pytest.raises(BadInput, match=r"give Task\(labels=\.\.\.\) instead of Sizes"):
        make("ll-cp").start(Sizes(4, 3))


def test_state_is_one_bit_for_each_label():
    assert make("ll-cp").state_bytes(Sizes(3_400_000, 5_000)) == 3_400_000 * 625 + 24


@pytest.mark.parametrize("variant", ["cvpr22", "cvpr23", "paper"])
def test_reference_vectors(golden, variant):
    g = np.load(golden / "largeloss.npz")
    for c in range(int(g["cases"])):
        method = make("ll-cp", delta=float(g[f"c{c}_delta_rel_percent"]), reproduce=variant)
        assert method.update == (">" if variant == "cvpr22" else ">=")
        check_golden(g, f"c{c}_LLCp_{variant}", method)
