"""Losses for missing labels since 2021: SPLC, Hill and GR-Loss."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started


def agrees(method, state, Z, x, loss, gradient, rtol=1e-9):
    computed, slopes = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(computed, loss, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(slopes, gradient, rtol=10 * rtol, atol=1e-12)
    single, slopes = loss_and_gradient(method, state, Z, x.astype(np.float32))
    np.testing.assert_allclose(single, loss, rtol=1e-4)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-3, atol=1e-5)


def settings_of(g, case, names):
    return {name: g[f"{case}_{name}"].item() for name in names}


@pytest.mark.parametrize("key", ["paper", "official"])
def test_reference_vectors_of_splc(golden, key):
    g = np.load(golden / "new_splc.npz")
    for case in (f"c{n}" for n in range(int(g["cases"]))):
        if f"{case}_{key}_loss" not in g:
            continue
        Z, x = g[f"{case}_Z"], g[f"{case}_logits"]
        method, state = started(
            make("splc", **settings_of(g, case, ["tau", "warmup", "margin", "gamma"])), Z
        )
        for number, epoch in enumerate(g[f"{case}_epochs"]):
            method.after_epoch(int(epoch) - 1, None, state)
            loss, gradient = (g[f"{case}_{key}_{name}"][number] for name in ("loss", "grad"))
            agrees(method, state, Z, x, loss, gradient)
            selected = method.selected(batch_of(Z), plain(x.astype(float)), state)
            assert np.array_equal(selected, g[f"{case}_corrected"][number])


def test_reference_vectors_of_hill(golden):
    g = np.load(golden / "new_hill.npz")
    for case in (f"c{n}" for n in range(int(g["cases"]))):
        method = make("hill", **settings_of(g, case, ["lamb", "margin", "gamma"]))
        Z, x = g[f"{case}_Z"], g[f"{case}_logits"]
        expected = (g[f"{case}_official_{name}"] for name in ("loss", "grad"))
        agrees(*started(method, Z), Z, x, *expected)


@pytest.mark.parametrize(("key", "reproduce"), [("paper", None), ("official", "grloss")])
def test_reference_vectors_of_gr_loss(golden, key, reproduce):
    g = np.load(golden / "new_gr_loss.npz")
    names = ["w0", "w1", "b0", "b1", "mu0", "mu1", "sigma0", "sigma1", "q2", "q3", "epochs"]
    for case in (f"c{n}" for n in range(int(g["cases"]))):
        if f"{case}_{key}_loss" not in g:
            continue
        Z, x = g[f"{case}_Z"], g[f"{case}_logits"]
        settings = settings_of(g, case, [*names, "linear_init"])
        method, state = started(make("gr-loss", **settings, reproduce=reproduce), Z)
        for number, loss in enumerate(g[f"{case}_{key}_loss"]):
            agrees(method, state, Z, x, loss, g[f"{case}_{key}_grad"][number])
            method.after_epoch(number + 1, None, state)


def test_a_schedule_is_longer_than_its_start():
    with pytest.raises(BadInput, match="linear_init"):
        make("gr-loss", epochs=3, linear_init=3)
    assert make("gr-loss").notes(epochs=8, optimiser="adam") == ()
    assert "epochs=20" in make("gr-loss").notes(epochs=20, optimiser="adam")[0]
