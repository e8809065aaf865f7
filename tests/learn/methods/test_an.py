import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


def test_one_image_by_hand():
    # at logit 0 every term is log 2, whatever the target; the gradients are -1/2 and +1/2 over 3
    method, state = started("an", [[1, -1, 0]])
    loss, gradient = loss_and_gradient(method, state, [[1, -1, 0]], [[0.0, 0.0, 0.0]])
    assert loss == pytest.approx(np.log(2))
    np.testing.assert_allclose(gradient, [[-1 / 6, 1 / 6, 1 / 6]])


def test_equal_to_the_slow_loop():
    rng = np.random.default_rng(0)
    Z, x = rng.integers(-1, 2, (5, 7)), rng.standard_normal((5, 7)) * 9
    method, state = started("an(pos_weight=3)", Z)
    assert loss_and_gradient(method, state, Z, x)[0] == pytest.approx(
        slow.assume_negative(x, Z, 3.0), rel=1e-12
    )


def test_pos_weight_must_be_positive():
    with pytest.raises(BadInput) as error:
        make("an(pos_weight=0)")
    assert str(error.value) == "an: pos_weight is 0.0; a number above 0 is expected"


def close(found, g, key, *, rtol=1e-9, atol=1e-12, grad_atol=None):
    np.testing.assert_allclose(found[0], g[f"{key}_loss"], rtol=rtol, atol=atol)
    np.testing.assert_allclose(found[1], g[f"{key}_grad"], rtol=rtol, atol=grad_atol or atol)


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for c in range(int(g["cases"])):
        Z, x = g[f"c{c}_Z"], g[f"c{c}_logits"]
        if f"c{c}_an_official_loss" not in g:
            continue
        method, state = started("an", Z)
        close(loss_and_gradient(method, state, Z, x.astype(float)), g, f"c{c}_an_paper")
        method, state = started("an(epsilon=spml)", Z)
        close(loss_and_gradient(method, state, Z, x.astype(float)), g, f"c{c}_an_official")
        single = {k.removesuffix("_f32"): g[k] for k in g.files if k.endswith("_f32")}
        close(loss_and_gradient(method, state, Z, x), single, f"c{c}_an_official",
              rtol=1e-4, atol=1e-6, grad_atol=1e-4)  # fmt: skip


def test_reference_vectors_with_known_negatives(golden):
    g = np.load(golden / "an_family.npz")
    Z, x = g["c2_Z"], g["c2_logits"].astype(float)
    method, state = started("an", Z)
    close(loss_and_gradient(method, state, Z, x), g, "c2_an_partial_paper")
    method, state = started("an(pos_weight=5, reduction=sum_classes)", Z)
    close(loss_and_gradient(method, state, Z, x), g, "c2_fe_pos5_sumL_meanB")
