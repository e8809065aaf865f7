"""Trying large loss methods on a batch that is visited once in each epoch."""

from types import SimpleNamespace

import numpy as np
import torch

from simkit.learn.large_loss import Relative, kept_share, unpack
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started

CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def visits(method, Z, logits):
    """What a method does with each epoch's logits.

    loss, grad; mask: modified labels; above: those above the threshold; Z_after: the labels after
    the step; k and clean_rate where the method has them.
    """
    Z = np.asarray(Z)
    method, state = started(method, Z)
    batch = batch_of(Z)
    for epoch, x in enumerate(np.asarray(logits, float), 1):
        out = plain(x)
        found = SimpleNamespace(above=None)
        found.loss, found.grad = loss_and_gradient(method, state, Z, x)
        found.mask = method.selected(batch, out, state).numpy()
        if isinstance(method, Relative):
            unknown = method.open(batch, state)
            found.k, found.clean_rate = method.k(unknown, state).item(), kept_share(state).item()
            limit = method.threshold(out.logits, unknown, state)
            found.above = (unknown & (out.logits > limit)).numpy()
        with torch.no_grad():
            method.after_batch(batch, out, state)
        found.Z_after = labels_of(state, Z)
        yield found
        method.after_epoch(epoch, None, state)


def labels_of(state, Z):
    """The labels that the method learns from next."""
    if not hasattr(state, "present"):
        return Z
    present = unpack(state.present, Z.shape[1]).numpy()
    assert (present[Z == 1]).all() and not present[Z == -1].any()
    return np.where(present, 1, Z)


def inputs(seed, *, epochs=10, shape=(6, 11), far=False):
    """Labels of which one row and one class know nothing, and logits; far: all near +-30."""
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 2, shape)
    Z[0], Z[:, 1] = 0, 0
    x = rng.standard_normal((epochs, *shape)) * 3
    return Z, np.sign(x) * 30 + x / 100 if far else x


def same(found, wanted):
    """One visit against the slow loop's answer."""
    loss, gradient, modified, after = wanted
    np.testing.assert_allclose(found.loss, loss, **CLOSE)
    np.testing.assert_allclose(found.grad, gradient, **CLOSE)
    assert {tuple(place) for place in np.argwhere(found.mask).tolist()} == modified
    np.testing.assert_array_equal(found.Z_after, after)


def check_golden(g, key, method):
    """Every reference vector whose name begins with `key`, which holds the case."""
    case = key.split("_")[0]
    names = [name for name in g.files if name.startswith(key + "_")]
    names = [name for name in names if "as_shipped" in key or "as_shipped" not in name]
    assert len(names) >= 2
    for e, found in enumerate(visits(method, g[f"{case}_Z"], g[f"{case}_logits"])):
        for name in names:
            what, wanted = name.removeprefix(f"{key}_").removeprefix("official_"), g[name][e]
            if what in ("loss", "grad"):
                np.testing.assert_allclose(getattr(found, what), wanted, **CLOSE)
            elif what in ("loss_replaced_mask", "modified_mask"):
                np.testing.assert_array_equal(found.mask, wanted)
            elif what == "correction_idx_mask":  # what the code reports; in 2022 without ties
                reported = found.above if "cvpr22" in key else found.mask
                np.testing.assert_array_equal(reported, wanted)
            else:  # k, clean_rate, Z_after
                np.testing.assert_array_equal(getattr(found, what), wanted)
