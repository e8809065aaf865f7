"""The paper's gradients, by autograd against the closed forms, in float64."""

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import Batch, Outputs
from simkit.study.analysis.explaining.gradients import KINDS, cell_gradients, logit_gaps
from tests.learn.methods.steps import started

EXACT = {"rtol": 0, "atol": 1e-12}
RNG = np.random.default_rng(0)
PRESENT = RNG.random((70, 6)) < 0.4
PRESENT[:, 5] = False
PRESENT[0, 5] = True
CODES = np.where(PRESENT, 1, -1) * (RNG.random((70, 6)) < 0.5)
CODES[:, 5] = 0  # never named: stays plain in training
MAPS = 2 * RNG.standard_normal((70, 6, 3, 4))
TRUTH, LABELS = Truth.of(PRESENT), PartialLabels.of(CODES.astype(np.int8), asked=np.ones(70, bool))


def sigma(x):
    return 1 / (1 + np.exp(-x))


def test_equation_4_the_gradient_of_the_two_losses() -> None:
    g = torch.tensor(np.linspace(-9, 9, 7), requires_grad=True)
    for sign, wanted in ((1, sigma(g.detach().numpy()) - 1), (-1, sigma(g.detach().numpy()))):
        method, state = started("an", [[sign] * 7])
        codes = torch.full((1, 7), sign, dtype=torch.int8)
        loss = method.loss(Batch(torch.arange(1), codes), Outputs(g[None]), state)
        (found,) = torch.autograd.grad(7 * loss, g)
        np.testing.assert_allclose(found, wanted, **EXACT)


def test_equation_5_the_gap_is_the_share_of_false_negatives_whatever_the_logits() -> None:
    missed = (PRESENT & (CODES != 1)).sum(1)
    assert missed.max() > 2
    for logits in (MAPS.mean((2, 3)), 30 * RNG.standard_normal((70, 6))):
        found = logit_gaps(logits, LABELS, TRUTH)
        np.testing.assert_array_equal(found["false_negatives"].to_numpy(), missed)
        np.testing.assert_allclose(found["measured"].to_numpy(), missed / 6, **EXACT)
        np.testing.assert_array_equal(found["closed"].to_numpy(), missed / 6)


def test_false_alarms_push_the_other_way() -> None:
    wrong = CODES.copy()
    wrong[3:9, :3] = 1
    alarms = ((wrong == 1) & ~PRESENT).sum(1)
    gap = (PRESENT & (wrong != 1)).sum(1) - alarms
    labels = PartialLabels.of(wrong.astype(np.int8), asked=np.ones(70, bool))
    found = logit_gaps(MAPS.mean((2, 3)), labels, TRUTH)
    assert alarms.max() > 1
    np.testing.assert_array_equal(found["false_alarms"].to_numpy(), alarms)
    np.testing.assert_allclose(found["measured"].to_numpy(), gap / 6, **EXACT)
    np.testing.assert_allclose(found["closed"].to_numpy(), gap / 6, **EXACT)


def test_what_the_truth_does_not_know_is_left_out() -> None:
    known = np.arange(70 * 6).reshape(70, 6) % 3 > 0
    partly = Truth.of(PRESENT & known, known=known)
    missed = (PRESENT & known & (CODES != 1)).sum(1)
    found = logit_gaps(MAPS.mean((2, 3)), LABELS, partly)
    for name in ("measured", "closed"):
        np.testing.assert_allclose(found[name].to_numpy(), missed / 6, **EXACT)
    rows = cell_gradients(MAPS, LABELS, partly, ["an"]).to_pylist()
    cells = {kind: sum(r["number"] for r in rows if r["labels"] == kind) for kind in KINDS}
    wanted = ((CODES == 1) & known, PRESENT & known & (CODES != 1), ~PRESENT & known)
    assert list(cells.values()) == [12 * entries.sum() for entries in wanted]


def test_a_truth_about_other_images_is_refused() -> None:
    other = Truth.of(PRESENT, images=[f"z{i}" for i in range(70)])
    for act, values in ((logit_gaps, MAPS.mean((2, 3))), (cell_gradients, MAPS)):
        with pytest.raises(BadInput, match="are about other images or classes than the truth"):
            act(values, LABELS, other)


def test_images_that_were_not_asked_about_are_left_out() -> None:
    asked = np.arange(70) % 3 == 0
    some = PartialLabels.of((CODES * asked[:, None]).astype(np.int8), asked=asked)
    found = logit_gaps(MAPS.mean((2, 3)), some, TRUTH)
    np.testing.assert_array_equal(found["image"].to_numpy(), np.flatnonzero(asked))


@pytest.mark.parametrize(("alpha", "beta"), [(5, 0.0), (3, 0.7), (2, -1.0)])
def test_equation_9_places_above_the_threshold_count_alpha_times(alpha, beta) -> None:
    spec = f"an+boostlu(alpha={alpha},beta={beta},zero_positive=boost)"
    method, state = started(spec, CODES)
    maps = torch.tensor(MAPS, requires_grad=True)
    out = method.changed(Outputs(maps.mean((-2, -1)), maps), state, training=True)
    (found,) = torch.autograd.grad(out.logits.sum(), maps)
    np.testing.assert_allclose(found, np.where(MAPS > beta, alpha, 1) / 12, **EXACT)


@pytest.mark.parametrize("zero_positive", ["plain", "boost"])
def test_equation_10_the_product_of_both(zero_positive) -> None:
    """By hand, entry by entry; the table's means and errors agree."""
    spec = f"an+boostlu(zero_positive={zero_positive})"
    alpha = np.full(6, 5.0)
    alpha[5] = 1 if zero_positive == "plain" else 5
    slope = np.where(MAPS > 0, alpha[:, None, None], 1)
    logits = (slope * MAPS).mean((2, 3))
    push = (sigma(logits) - (CODES == 1))[..., None, None] * slope
    kinds = {
        "named present": CODES == 1,
        "false negative": PRESENT & (CODES != 1),
        "true negative": ~PRESENT,
    }
    rows = cell_gradients(MAPS, LABELS, TRUTH, [spec]).to_pylist()
    assert len(rows) == 6
    for row in rows:
        side = MAPS > 0 if row["cells"] == "above" else MAPS <= 0
        at = side & kinds[row["labels"]][..., None, None]
        assert row["number"] == at.sum()
        np.testing.assert_allclose([row["push"], row["closed"]], push[at].mean(), **EXACT)
        assert row["error"] < 1e-12


def test_a_boost_pushes_false_negatives_down_harder_where_the_class_is_seen() -> None:
    rows = cell_gradients(MAPS, LABELS, TRUTH).to_pylist()
    push = {(row["method"], row["labels"], row["cells"]): row["push"] for row in rows}
    for cells, least in (("above", 4), ("below", 1)):
        plain, boosted = (push[m, "false negative", cells] for m in ("an", "an+boostlu"))
        assert boosted > least * plain > 0  # down, though the class is there
    assert all(row["error"] < 1e-6 for row in rows)


def test_other_methods_and_shapes_are_refused() -> None:
    for spec in ("ll-r", "ll-r+boostlu", "an+boostlu(train=false)"):
        with pytest.raises(BadInput) as error:
            cell_gradients(MAPS, LABELS, TRUTH, [spec])
        assert str(error.value) == (
            f"{spec!r} has none of the gradients that are looked at; name an, or an+boostlu with "
            "settings of the boost"
        )
    with pytest.raises(BadInput) as error:
        logit_gaps(MAPS, LABELS, TRUTH)
    assert str(error.value) == (
        "values of shape (70, 6, 3, 4) came with labels of (70, 6) and a truth of (70, 6); all "
        "three are of the same images and classes"
    )
    nobody = PartialLabels.of(np.zeros((70, 6), np.int8), asked=np.zeros(70, bool))
    with pytest.raises(BadInput) as error:
        logit_gaps(MAPS.mean((2, 3)), nobody, TRUTH)
    assert str(error.value) == (
        "no image was asked about, so there is nothing to learn from; ask about some"
    )


def test_one_text_names_its_methods() -> None:
    found = cell_gradients(MAPS, LABELS, TRUTH, "an, an+boostlu")
    assert found.equals(cell_gradients(MAPS, LABELS, TRUTH))
    with pytest.raises(BadInput) as error:
        cell_gradients(MAPS, LABELS, TRUTH, ())
    wanted = "cell_gradients: no method is named; name an, an+boostlu or both"
    assert str(error.value) == wanted
