"""LL-R, LL-Ct, LL-Cp and their absolute variants on a batch that is visited once in each epoch."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from simkit.learn.methods import Batch, Outputs, Sizes, Task, make
from simkit.learn.methods.large_loss import Relative, pack, unpack
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import large_loss as slow

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
EFFECT = {"r": "reject", "ct": "correct", "cp": "correct"}


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
        visit = SimpleNamespace(above=None)
        visit.loss, visit.grad = loss_and_gradient(method, state, Z, x)
        visit.mask = method.selected(batch, out, state).numpy()
        if isinstance(method, Relative):
            unknown = method.open(batch, state)
            visit.k, visit.clean_rate = (
                method.k(unknown, state).item(),
                state.kept_bits.view(torch.float64).item(),
            )
            limit = method.threshold(out.logits, unknown, state)
            visit.above = (unknown & (out.logits > limit)).numpy()
        with torch.no_grad():
            method.after_batch(batch, out, state)
        visit.Z_after = labels_of(state, Z)
        yield visit
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


def equals_the_slow_loop(method, Z, logits, rule):
    """rule(epoch): which labels are modified, and which of these modifications stay."""
    kind, labels = method.name.split("-")[1], Z
    for epoch, visit in enumerate(visits(method, Z, logits), 1):
        large, stays = rule(epoch)
        more = (stays,) if kind == "cp" else ()
        loss, gradient, modified, after = slow.visit(
            logits[epoch - 1], labels, EFFECT[kind], large, *more
        )
        np.testing.assert_allclose(visit.loss, loss, **CLOSE)
        np.testing.assert_allclose(visit.grad, gradient, **CLOSE)
        assert {tuple(place) for place in np.argwhere(visit.mask).tolist()} == modified
        np.testing.assert_array_equal(visit.Z_after, after)
        labels = after if kind == "cp" else Z
    return visit, np.asarray(labels)


@pytest.mark.parametrize(("delta", "far"), [(3, False), (0.7, False), (3, True), (30, True)])
@pytest.mark.parametrize(
    "settings", [{}, {"k_of": "unknown"}, {"reproduce": "cvpr23"}, {"update": ">"}]
)
@pytest.mark.parametrize("name", ["ll-r", "ll-ct", "ll-cp"])
def test_percentages_equal_the_slow_loop(name, settings, delta, far):
    if "update" in settings and name != "ll-cp":
        return
    Z, logits = inputs(1, far=far)
    how = {"k_of": settings.get("k_of", "batch"), "floats": "reproduce" in settings}
    how["grows"] = name != "ll-cp"

    def rule(epoch):
        strict = "update" in settings
        return (
            slow.percentage(Z.size, epoch, delta, **how),
            slow.percentage(Z.size, epoch, delta, strict=strict, **how),
        )

    last, labels = equals_the_slow_loop(make(name, delta=delta, **settings), Z, logits, rule)
    if name == "ll-r":
        assert (last.grad[last.mask] == 0).all()
    if name == "ll-cp" and delta > 1:  # of one correction in a step none is above the threshold
        assert (labels[Z == 0] == 1).any()
    if name != "ll-cp" and delta == 30:  # more than is unknown
        assert (last.mask == (Z == 0)).all()


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("settings", [{}, {"min_threshold": 0.7}, {"skip_first_epoch": True}])
@pytest.mark.parametrize("name", ["ll-r-abs", "ll-ct-abs", "ll-cp-abs"])
def test_thresholds_equal_the_slow_loop(name, settings, far):
    Z, logits = inputs(2, far=far)

    def rule(epoch):
        limit = max(2 - 0.15 * epoch, settings.get("min_threshold", 0))
        large = slow.above(np.inf if epoch == 1 and "skip_first_epoch" in settings else limit)
        return large, large

    equals_the_slow_loop(make(name, r0=2, delta=0.15, **settings), Z, logits, rule)


@pytest.mark.parametrize("reproduce", ["cvpr22", "cvpr23"])
def test_rates_in_floats_where_published_code_has_them(reproduce):
    Z, logits = np.zeros((16, 20), int), inputs(3, shape=(16, 20))[1]
    ks = [visit.k for visit in visits(make("ll-r", delta=0.5, reproduce=reproduce), Z, logits)]
    assert ks[5] == 9  # of 320 labels 5 * 0.5 % are 8


def check_golden(g, key, method):
    """Every reference vector whose name begins with `key`, which holds the case."""
    case = key.split("_")[0]
    names = [name for name in g.files if name.startswith(key + "_")]
    names = [name for name in names if "as_shipped" in key or "as_shipped" not in name]
    assert len(names) >= 2
    for e, visit in enumerate(visits(method, g[f"{case}_Z"], g[f"{case}_logits"])):
        for name in names:
            what, wanted = name.removeprefix(f"{key}_").removeprefix("official_"), g[name][e]
            if what in ("loss", "grad"):
                np.testing.assert_allclose(getattr(visit, what), wanted, **CLOSE)
            elif what in ("loss_replaced_mask", "modified_mask"):
                np.testing.assert_array_equal(visit.mask, wanted)
            elif what == "correction_idx_mask":  # what the code reports; in 2022 without ties
                reported = visit.above if "cvpr22" in key else visit.mask
                np.testing.assert_array_equal(reported, wanted)
            else:  # k, clean_rate, Z_after
                np.testing.assert_array_equal(getattr(visit, what), wanted)


@pytest.mark.filterwarnings("ignore:method .* modifies every unknown label")
@pytest.mark.parametrize("kind", ["R", "Ct", "Cp"])
def test_reference_vectors(golden, kind):
    g = np.load(golden / "largeloss.npz")
    name = f"ll-{kind.lower()}"
    for c in range(int(g["cases"])):
        delta = float(g[f"c{c}_delta_rel_percent"])
        for variant in ("cvpr22", "cvpr23", "paper"):
            method = make(name, delta=delta, reproduce=variant)
            check_golden(g, f"c{c}_LL{kind}_{variant}", method)
            if (kind, variant) == ("Ct", "cvpr22"):  # what that code ran, asked for LL-Cp
                check_golden(g, f"c{c}_LLCp_cvpr22_as_shipped", method)
        settings = {"r0": float(g[f"c{c}_abs_R0"]), "delta": float(g[f"c{c}_abs_delta"])}
        check_golden(g, f"c{c}_LL{kind}abs_paper", make(f"{name}-abs", **settings))


def test_permanent_corrections_stay_with_their_image():
    Z = np.zeros((4, 5), int)
    method, state = started("ll-cp(delta=10)", Z)
    method.after_epoch(1, None, state)
    x = torch.arange(10.0).reshape(2, 5)
    batch = Batch(torch.tensor([3, 1]), torch.zeros(2, 5, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), state)
    assert np.argwhere(labels_of(state, Z)).tolist() == [[1, 4]]
    method.after_batch(batch, Outputs(x), state)  # what is corrected is not counted again
    assert np.argwhere(labels_of(state, Z)).tolist() == [[1, 3], [1, 4]]
    assert method.state_bytes(Sizes(3_400_000, 5_000)) == 3_400_000 * 625 + 24  # one bit a label


def test_confident_negatives_do_not_tie_by_rounding():
    x = -16 - torch.arange(20.0).reshape(2, 10) / 64  # in float32 their losses are rounded alike
    method, state = started("ll-r(delta=10)", np.zeros((2, 10), int))
    method.after_epoch(1, None, state)
    chosen = method.selected(batch_of(np.zeros((2, 10))), plain(x), state)
    assert chosen.nonzero().tolist() == [[0, 0], [0, 1]]


def in_epoch(spec, epoch):
    method = make(spec)
    state = method.start(Task(np.zeros((4, 10))) if method.needs.labels else Sizes(4, 10))
    for ended in range(1, epoch):
        method.after_epoch(ended, None, state)
    return method, state


@pytest.mark.parametrize(("k_of", "k"), [("unknown", 9), ("batch", 10)])
def test_the_rate_is_an_exact_fraction(k_of, k):
    # 5 epochs of 5 % of 36 unknown are exactly 9, of 40 exactly 10; floats give one more
    unknown = torch.ones(4, 10, dtype=torch.bool)
    unknown[0, :4] = False
    method, state = in_epoch(f"ll-r(delta=5, k_of={k_of})", 6)
    assert method.k(unknown, state).item() == k
    method, state = in_epoch("ll-r(delta=5, reproduce=cvpr22)", 6)
    assert method.k(unknown, state).item() == 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_state_that_is_cast_to_other_floats_stays_as_it_is(dtype):
    unknown = torch.ones(4, 10, dtype=torch.bool)
    for reproduce in ("cvpr22", "cvpr23"):
        method, state = in_epoch(f"ll-r(delta=5, reproduce={reproduce})", 6)
        assert method.k(unknown, state.to(dtype)).item() == 11
    x = np.log(np.expm1(1.3)) + np.array([[-1e-9, 1e-9]])
    method, state = in_epoch("ll-r-abs(r0=1.4)", 1)
    chosen = method.selected(batch_of([[0, 0]]), plain(x), state.to(dtype))
    assert chosen.tolist() == [[False, True]]


@pytest.mark.parametrize("k_of", ["batch", "unknown"])
def test_all_unknown_labels_are_large_when_fewer_are_left_than_the_rate_says(k_of):
    Z = np.ones((3, 4, 10), int)
    Z[1, 0, 0] = Z[2] = 0
    like = {"unknown": "paper", "batch": "cvpr22"}[k_of]
    for spec in (f"ll-r(delta=50, k_of={k_of})", f"ll-ct(delta=50, reproduce={like})"):
        method, state = in_epoch(spec, 99)
        chosen = method.selected(batch_of(Z), plain(np.zeros(Z.shape)), state)
        assert torch.equal(chosen, torch.as_tensor(Z == 0))


@pytest.mark.parametrize("reproduce", [None, "cvpr22", "cvpr23", "paper"])
def test_nothing_is_large_in_the_first_epoch(reproduce):
    method, state = in_epoch(f"ll-ct(delta=5, reproduce={reproduce})", 1)
    assert method.k(torch.ones(3, 4, dtype=torch.bool), state).item() == 0


def test_only_what_is_strictly_above_the_threshold_is_large():
    threshold = 1.5  # its logit is log(e^1.5 - 1)
    method, state = in_epoch("ll-r-abs(r0=1.5625, delta=0.0625)", 1)
    logit = np.log(np.expm1(threshold))
    x = [[logit - 1e-9, logit + 1e-9, 400.0, -400.0]]
    chosen = method.selected(batch_of([[0, 0, 0, 0]]), plain(x), state)
    assert chosen.tolist() == [[False, True, True, False]]


def test_a_threshold_that_falls_to_nothing_modifies_everything_and_is_noted():
    method, state = in_epoch("ll-ct-abs(r0=1, delta=0.2)", 5)
    (note,) = method.notes(epochs=5, optimiser="adam")
    assert "from epoch 5 on" in note and not method.notes(epochs=4, optimiser="adam")
    chosen = method.selected(batch_of([[0, 1, 0, -1]]), plain([[-500.0, 3.0, 3.0, 3.0]]), state)
    assert chosen.tolist() == [[True, False, True, False]]
    kept = make("ll-r-abs(r0=1, delta=0.2, min_threshold=0.1)")
    assert not kept.notes(epochs=20, optimiser="adam")


@pytest.mark.parametrize("classes", [1, 7, 8, 9, 80])
def test_bits_come_back(classes):
    flags = torch.rand(2, 5, classes, generator=torch.Generator().manual_seed(classes)) < 0.5
    rows = pack(flags)
    assert rows.dtype == torch.uint8 and rows.shape == (2, 5, -(-classes // 8))
    assert torch.equal(unpack(rows, classes), flags)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_corrections_stay_for_indices_of_any_width(dtype):
    Z = np.zeros((4, 5), int)
    method, state = started("ll-cp-abs(r0=1, delta=0.05)", Z)
    x = torch.full((4, 5), -9.0)
    x[0, 1] = x[2, 3] = x[1, 0] = 9.0
    index = torch.tensor([2, 0, 3, 1], dtype=dtype)
    batch = Batch(index, torch.zeros(4, 5, dtype=torch.int8))
    method.after_batch(batch, Outputs(x), state)
    assert unpack(state.present, 5).nonzero().tolist() == [[0, 0], [2, 1], [3, 3]]
