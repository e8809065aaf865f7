import numpy as np
import pytest
import torch

from simkit.learn.methods import make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.learn.methods.test_elementwise import agrees, cases
from tests.reference import methods as slow


def weight(codes, spec):
    known = sum(1 for z in codes if z)
    if spec.startswith("partial-bce(normalise"):
        return 1 + 1 / (1 + known)
    share = known / len(codes)
    return -4.45 * share + 5.45 if spec == "partial-bce" else 1 / share


@pytest.mark.parametrize(
    "spec", ["partial-bce", "partial-bce(alpha=1, beta=0, gamma=-1)", "partial-bce(normalise=csl)"]
)
def test_equal_to_the_slow_loop(spec):
    for Z, x in cases():
        total, slopes = 0.0, np.zeros(x.shape)
        for i, codes in enumerate(Z):
            for c, z in enumerate(codes):
                if z:
                    total += weight(codes, spec) * slow.positive_term(z * x[i, c])
                    slopes[i, c] = -z * weight(codes, spec) / (1 + np.exp(z * x[i, c]))
        n = 1 if "csl" in spec else x.size
        loss, gradient = loss_and_gradient(*started(spec, Z), Z, x)
        assert loss == pytest.approx(total / n, rel=1e-9)
        np.testing.assert_allclose(gradient, slopes / n, rtol=1e-9, atol=1e-12)


def test_weights_of_the_two_sides():
    Z, x = np.array([[1, 0, -1]]), np.zeros((1, 3))
    _, gradient = loss_and_gradient(
        *started("partial-bce(alpha=0, beta=1, alpha_pos=0.3, alpha_neg=1.7)", Z), Z, x
    )
    np.testing.assert_allclose(gradient, [[-0.05, 0, 1.7 / 6]], rtol=1e-12)


def test_the_published_logs_end_at_a_floor():
    Z, x = np.array([[1, 0]]), np.array([[-30.0, 0.0]])
    for spec, wanted in (("normalise=csl", 30), ("reproduce=csl", -np.log(1e-8))):
        loss, _ = loss_and_gradient(*started(f"partial-bce({spec})", Z), Z, x)
        assert loss == pytest.approx(1.5 * wanted)


def test_unknown_labels_are_reported():
    Z = np.array([[1, 0, -1]])
    method, state = started("partial-bce", Z)
    chosen = method.selected(batch_of(Z), plain(np.zeros((1, 3))), state)
    assert chosen.tolist() == [[False, True, False]]
    assert method.selected(batch_of(Z), plain(np.zeros((2, 1, 3))), state).shape == (2, 1, 3)


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for name, settings in (("default", {}), ("inv", {"alpha": 1, "beta": 0, "gamma": -1})):
        for spec in ("partial-bce", "partial-bce(reproduce=paper)"):
            agrees(spec, g, "c2", f"partial_bce_{name}", **settings)
        found = make("partial-bce", **settings).weights(torch.as_tensor(g["c2_Z"]))
        np.testing.assert_allclose(found[:, 0], g[f"c2_partial_bce_{name}_g"], rtol=1e-9)


def test_reference_vectors_of_the_counting_weights(golden):
    g = np.load(golden / "csl.npz")
    for c in range(int(g["cases"])):
        case, key = f"c{c}", "ignore_normalize_classes_official"
        names = ("gamma_pos", "gamma_neg", "alpha_pos", "alpha_neg", "clip")
        given = {name: float(g[f"{case}_{name}"]) for name in names}
        agrees("partial-bce(reproduce=csl)", g, case, key, rtol=2e-6, atol=1e-7, **given)
        Z = torch.as_tensor(g[f"{case}_Z"])
        found = make("partial-bce(normalise=csl)").weights(Z) * (Z != 0)
        np.testing.assert_allclose(found, g[f"{case}_{key}_weights"], rtol=2e-6)


def test_reductions_differ_by_the_number_of_entries():
    Z, x = np.array([[1, 0, -1], [0, 0, 1]]), np.array([[0.3, 1.0, -2.0], [0.0, 4.0, -1.0]])
    for normalise in ("durand", "csl"):
        found = {}
        for how in (None, "mean_all", "sum", "sum_classes"):
            method = make("partial-bce", normalise=normalise, reduction=how)
            found[how] = loss_and_gradient(*started(method, Z), Z, x)[0]
        assert found["sum"] == pytest.approx(6 * found["mean_all"], rel=1e-12)
        assert found["sum_classes"] == pytest.approx(3 * found["mean_all"], rel=1e-12)
        assert found[None] == found["mean_all" if normalise == "durand" else "sum"]
