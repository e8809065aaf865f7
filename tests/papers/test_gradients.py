"""The paper's gradients, by autograd against the closed forms, in float64."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.papers.analysis.losses import cell_gradients, logit_gaps

EXACT = {"rtol": 0, "atol": 1e-12}
RNG = np.random.default_rng(0)
PRESENT = RNG.random((70, 6)) < 0.4
PRESENT[:, 5] = False
PRESENT[0, 5] = True
CODES = (np.where(PRESENT, 1, -1) * (RNG.random((70, 6)) < 0.5)).astype(np.int8)
CODES[:, 5] = 0  # never named: stays plain in training
MAPS = 2 * RNG.standard_normal((70, 6, 3, 4))
LOGITS = MAPS.mean((2, 3))
TRUTH, LABELS = Truth.of(PRESENT), PartialLabels.of(CODES, asked=np.ones(70, bool))
KNOWN = np.arange(70 * 6).reshape(70, 6) % 3 > 0
PARTLY = Truth.of(PRESENT & KNOWN, known=KNOWN)
MISSED = PRESENT & (CODES != 1)


def sigma(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("logits", [LOGITS, 30 * RNG.standard_normal((70, 6))])
def test_equation_5_the_gap_is_the_share_of_false_negatives_whatever_the_logits(logits) -> None:
    for truth, missed in ((TRUTH, MISSED.sum(1)), (PARTLY, (MISSED & KNOWN).sum(1))):
        table = logit_gaps(logits, LABELS, truth)
        assert missed.max() > 2
        np.testing.assert_array_equal(table["false_negatives"], missed)
        np.testing.assert_allclose(table["measured"], missed / 6, **EXACT)
        np.testing.assert_array_equal(table["closed"], missed / 6)


def test_false_alarms_push_the_other_way() -> None:
    wrong = CODES.copy()
    wrong[3:9, :3] = 1
    alarms = ((wrong == 1) & ~PRESENT).sum(1)
    gap = (PRESENT & (wrong != 1)).sum(1) - alarms
    table = logit_gaps(LOGITS, PartialLabels.of(wrong, asked=np.ones(70, bool)), TRUTH)
    assert alarms.max() > 1
    np.testing.assert_array_equal(table["false_alarms"], alarms)
    np.testing.assert_allclose(table["measured"], gap / 6, **EXACT)
    np.testing.assert_allclose(table["closed"], gap / 6, **EXACT)


def test_images_that_were_not_asked_about_are_left_out() -> None:
    asked = np.arange(70) % 3 == 0
    some = PartialLabels.of((CODES * asked[:, None]).astype(np.int8), asked=asked)
    assert logit_gaps(LOGITS, some, TRUTH)["image"].tolist() == np.flatnonzero(asked).tolist()
    number = cell_gradients(MAPS, some, TRUTH, ["an"])["number"].sum()
    assert number == asked.sum() * 6 * 12


@pytest.mark.parametrize(
    ("alpha", "beta", "zero_positive"), [(5, 0.0, "plain"), (3, 0.7, "boost"), (2, -1.0, "boost")]
)
@pytest.mark.parametrize("truth", [TRUTH, PARTLY], ids=["complete", "partly known"])
def test_equations_9_and_10_the_product_of_both(alpha, beta, zero_positive, truth) -> None:
    """By hand, entry by entry; the table's means and errors agree."""
    spec = f"an+boostlu(alpha={alpha},beta={beta},zero_positive={zero_positive})"
    alphas = np.full((6, 1, 1), alpha, float)
    alphas[5] = 1 if zero_positive == "plain" else alpha
    logits = np.where(MAPS > beta, alphas * MAPS + (1 - alphas) * beta, MAPS).mean((2, 3))
    outer = sigma(logits) - (CODES == 1)
    push = outer[..., None, None] * np.where(MAPS > beta, alphas, 1)
    kinds = {"named present": CODES == 1, "false negative": MISSED, "true negative": ~PRESENT}
    table = cell_gradients(MAPS, LABELS, truth, [spec])
    assert table["labels"].tolist() == [kind for kind in kinds for _ in range(2)]
    assert table["cells"].tolist() == ["above", "below"] * 3
    for row in table.to_dict("records"):
        side = MAPS > beta if row["cells"] == "above" else MAPS <= beta
        counts = kinds[row["labels"]] & truth.known_rows(range(70))
        at = side & counts[..., None, None]
        assert row["number"] == at.sum()
        np.testing.assert_allclose([row["push"], row["closed"]], push[at].mean(), **EXACT)
        assert row["error"] < 1e-12


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: cell_gradients(MAPS, LABELS, TRUTH, ["ll-r"]), "'ll-r' has no closed form"),
        (lambda: cell_gradients(MAPS, LABELS, TRUTH, ["an+boostlu(train=false)"]), "an, or an[+]b"),
        (lambda: cell_gradients(MAPS, LABELS, TRUTH, ()), "methods is empty"),
        (lambda: logit_gaps(MAPS, LABELS, TRUTH), r"shape \(70, 6, 3, 4\)"),
        (lambda: logit_gaps(LOGITS, PartialLabels.of(0 * CODES), TRUTH), "some were asked about"),
        (lambda: logit_gaps(LOGITS, LABELS, Truth.of(PRESENT, range(1, 71))), "image ids differ"),
    ],
)
def test_what_has_no_closed_form_is_refused(act, said) -> None:
    with pytest.raises(BadInput, match=said):
        act()
