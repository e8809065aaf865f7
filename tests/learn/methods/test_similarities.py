"""Methods with pseudo-labels from an image-text model: VLPL and AEVLP."""

import numpy as np
import pytest

from simkit.annotate.similarities import Similarities
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import Task, make
from simkit.metrics import average_precision, mean_ap
from tests.learn.methods.steps import batch_of, plain
from tests.learn.methods.test_robust import agrees, settings_of

VLPL = ["alpha", "beta", "soft", "threshold", "temperature", "warmup", "negative_share"]
SCHEDULE = [
    *("w0", "w1", "b0", "b1", "mu0", "mu1", "sigma0", "sigma1"), *("q2", "q3", "epochs"),
    "linear_init",
]  # fmt: skip
AEVLP = [
    *SCHEDULE, "temperature", "eta", "threshold", "top_k", "negative_share", "lam1", "lam2", "rho",
    "reg", "expected",
]  # fmt: skip


def started(method, g, case):
    Z = g[f"{case}_Z"]
    task = Task(PartialLabels.of(Z), aids=(Similarities(g[f"{case}_cosines"]),))
    return Z, g[f"{case}_logits"], method.start(task)


@pytest.mark.parametrize(("key", "reproduce"), [("paper", None), ("official", "vlpl")])
def test_reference_vectors_of_vlpl(golden, key, reproduce):
    g = np.load(golden / "new_vlpl.npz")
    for case in (f"c{n}" for n in range(int(g["cases"]))):
        if f"{case}_{key}_loss" not in g:
            continue
        method = make("vlpl", **settings_of(g, case, VLPL), reproduce=reproduce)
        Z, x, state = started(method, g, case)
        assert np.array_equal(state.pseudo, g[f"{case}_pseudo"])
        for number, epoch in enumerate(g[f"{case}_epochs"]):
            method.after_epoch(int(epoch) - 1, None, state)
            loss, gradient = (g[f"{case}_{key}_{name}"][number] for name in ("loss", "grad"))
            agrees(method, state, Z, x, loss, gradient, rtol=1e-8)


@pytest.mark.parametrize(
    ("key", "settings"),
    [("paper", {}), ("official", {"reproduce": "aevlp"}), ("negatives", {"negatives": "absent"})],
)
def test_reference_vectors_of_aevlp(golden, key, settings):
    g = np.load(golden / "new_aevlp.npz")
    for case in (f"c{n}" for n in range(int(g["cases"]))):
        method = make("aevlp", **settings_of(g, case, AEVLP), **settings)
        Z, x, state = started(method, g, case)
        name = "pseudo_negatives" if key == "negatives" else "pseudo"
        assert np.array_equal(state.pseudo, g[f"{case}_{name}"])
        for number, loss in enumerate(g[f"{case}_{key}_loss"]):
            agrees(method, state, Z, x, loss, g[f"{case}_{key}_grad"][number], rtol=1e-8)
            method.after_epoch(number + 1, None, state)


def test_known_labels_override_pseudo_labels():
    cosines = np.array([[0.3, 0.1, 0.0], [0.0, 0.3, 0.1]])
    Z = np.array([[-1, 0, 0], [0, 0, 1]])
    method = make("vlpl")
    state = method.start(Task(PartialLabels.of(Z), aids=(Similarities(cosines),)))
    selected = method.selected(batch_of(Z), plain(np.zeros((2, 3))), state)
    assert selected.tolist() == [[False] * 3, [False, True, False]]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.full((2, 3), 30.0), "do not multiply"),
        (np.full((2, 3), np.nan), "nan"),
        (np.zeros(3), "shape"),
        (np.zeros((4, 3)), "4 images"),
    ],
)
def test_invalid_similarities_are_refused(values, word):
    labels = PartialLabels.of(np.array([[1, 0, 0], [0, 1, 0]]))
    with pytest.raises(BadInput, match=word):
        make("vlpl").start(Task(labels, aids=(Similarities(values),)))
    with pytest.raises(BadInput, match="Similarities"):
        make("aevlp").start(Task(labels))


def test_scores_give_csls_prior_and_the_expected_number_of_positives():
    rng = np.random.default_rng(0)
    labels = PartialLabels.of(rng.integers(-1, 2, (30, 6)).astype(np.int8))
    scores = Similarities(rng.uniform(-0.2, 0.2, (30, 6)), scale=20.0, bias=-2.0)
    p = scores.probabilities(labels.images, labels.classes)
    assert np.allclose(p, 1 / (1 + np.exp(2 - 20 * scores.values)))
    task = Task(labels, aids=(scores,))
    soft = make("csl(prior=soft, prior_from=scores, a=3)").start(task)
    assert np.allclose(soft.unknown_weight, np.exp(-3 * p.mean(axis=0)))
    for name in ("epr", "en", "ep", "role", "aevlp"):
        method = make(f"{name}(expected=scores)")
        state = method.start(task)
        assert state.positives.item() == pytest.approx(p.sum(axis=1).mean())
        assert method.estimates(task) == {"expected": state.positives.item()}
        with pytest.raises(BadInput, match="Similarities"):
            method.start(Task(labels))


def test_a_simulated_model_has_the_quality_over_the_known_labels():
    chance = np.random.default_rng(0)
    present = chance.random((400, 6)) < 0.3
    known = present | (chance.random((400, 6)) < 0.2)
    truth = Truth.of(present, [str(n) for n in range(400)], list("abcdef"), known=known)
    scores = Similarities.simulated(truth, 0.8).logits(truth.images, truth.classes)
    assert mean_ap(average_precision(scores, truth)) == pytest.approx(0.8, abs=0.005)
