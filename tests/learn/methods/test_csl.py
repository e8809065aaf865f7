import warnings

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Sizes, Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import ClassPrior, prepare
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain
from tests.learn.methods.test_p_asl import drawn, settings
from tests.reference import csl as slow

# Reference vectors have priors above eta for most of their few classes.
pytestmark = pytest.mark.filterwarnings("ignore:csl. the prior puts")


def begun(method, Z, prior):
    """A method and its state on labels Z and a prior."""
    method = make(method) if isinstance(method, str) else method
    return method, method.start(Task(Z, aids=(ClassPrior(prior),)))


def places(mask):
    return set(map(tuple, np.argwhere(np.asarray(mask)).tolist()))


@pytest.mark.parametrize("scope", ["image", "batch"])
@pytest.mark.parametrize("prior", ["threshold", "soft", "none"])
def test_equal_to_the_slow_loop(scope, prior):
    for seed, shape, k, scale in ((0, (6, 9), 2, 3), (1, (3, 12), 7, 30), (2, (7, 8), 0, 3)):
        Z, x = drawn(seed, shape, scale)
        shares = np.random.default_rng(seed).random(shape[1]) * 0.4
        method = make("csl", top_k=k, top_k_scope=scope, prior=prior, eta=0.2)
        _, state = begun(method, Z, shares)
        chosen = slow.likely(x, Z, k, scope)
        if prior == "threshold":
            chosen |= slow.common(Z, shares, 0.2)
        weights = np.tile(np.exp(-10 * shares) if prior == "soft" else 1.0, shape[0]).reshape(-1)
        weights = np.resize(weights, shape)
        for place in chosen:
            weights[place] = 0
        assert places(method.selected(batch_of(Z), plain(x), state)) == chosen
        wanted, slopes = slow.partial_asymmetric(x, Z, (0, 1, 2), unknown=weights)
        loss, gradient = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-13)


def test_of_equal_scores_the_first_count():
    Z = np.array([[0, 0, -1, 0, 0], [0, 0, 0, 0, 0]])
    x = np.array([[1.0, 2.0, 9.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    method, state = begun("csl(top_k=2, prior=none)", Z, np.zeros(5))
    chosen = method.selected(batch_of(Z), plain(x), state)
    assert places(chosen) == {(0, 1), (0, 3), (1, 0), (1, 1)}
    method, state = begun("csl(top_k=2, top_k_scope=batch, prior=none)", Z, np.zeros(5))
    chosen = method.selected(batch_of(Z), plain(x), state)
    assert places(chosen) == {(0, 1), (0, 3), (0, 4), (0, 0)}


def test_a_prior_at_eta_is_not_above_it():
    Z = np.array([[0, 0, -1, 1]])
    method, state = begun("csl(top_k=0, eta=0.3)", Z, [0.3, 0.3000001, 0.9, 0.9])
    assert places(method.selected(batch_of(Z), plain(np.zeros((1, 4))), state)) == {(0, 1)}


def test_what_it_needs_depends_on_the_prior():
    assert make("csl").needs.aids == (ClassPrior,) and make("csl(prior=soft)").needs.labels
    free = make("csl(prior=none)")
    assert not free.needs.aids and not free.needs.labels
    free.start(Sizes(images=3, classes=9))
    with pytest.raises(BadInput, match=r"`prepare\(task, method\)` builds it, or pass"):
        make("csl").start(Task(np.array([[1, -1]])))


DEGENERATE = "csl: .* by likelihood alone; pass a ClassPrior"


def estimated(values, labels) -> ClassPrior:
    """A prior that was estimated from these labels, as its history says."""
    return ClassPrior(values, history=History("class-prior", {}, 0, (labels.id,)))


@pytest.mark.parametrize("prior", ["threshold", "soft"])
def test_without_negatives_an_estimated_prior_is_put_aside(prior):
    Z, x = np.eye(4, 9, dtype=int), np.random.default_rng(0).standard_normal((4, 9))
    method = make(f"csl(top_k=2, prior={prior})")
    likelihood = make("csl(top_k=2, prior=none)")
    wanted = loss_and_gradient(likelihood, likelihood.start(Task(Z)), Z, x)
    for values in (np.full(9, 0.99), np.linspace(0, 1, 9)):
        with pytest.warns(UserWarning, match=DEGENERATE) as caught:
            state = method.start(Task(Z, aids=(estimated(values, Task(Z).labels),)))
        assert len(caught) == 1 and caught[0].filename == __file__
        loss, gradient = loss_and_gradient(method, state, Z, x)
        assert loss == wanted[0] and (gradient == wanted[1]).all()


def test_an_estimated_prior_knows_nothing_of_classes_without_negatives():
    Z = np.array([[1, 1, 0, -1, -1], [1, 0, 0, 1, -1]])  # of 0 and 1 no negative, of 2 nothing
    labels = Task(Z).labels
    prior = estimated([0.9, 0.9, 0.9, 0.9, 0.0], labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = make("csl(top_k=0, eta=0.05)").start(Task(labels, aids=(prior,)))
        soft = make("csl(top_k=0, prior=soft)").start(Task(labels, aids=(prior,)))
    assert state.common.tolist() == [False, False, False, True, False]
    np.testing.assert_allclose(soft.unknown_weight, [1, 1, 1, np.exp(-9), 1])
    state = make("csl(top_k=0, eta=0.5)").start(Task(labels, aids=(ClassPrior(prior.values / 2),)))
    assert not state.common.any()  # of a prior from elsewhere every value counts


@pytest.mark.parametrize(
    ("spec", "shares", "message"),
    [
        ("csl(top_k=2, eta=0.05)", [0.1] * 5 + [0.0] * 4, "5 of 9 classes above eta=0.05"),
        ("csl(top_k=2, reproduce=csl)", [0.99] * 9, "9 of 9 classes above eta=0.05"),
        ("csl(top_k=2, eta=0)", [1e-9] * 9, "9 of 9 classes above eta=0,"),
    ],
)
def test_a_prior_that_covers_most_classes_is_warned_of_and_used(spec, shares, message):
    with pytest.warns(UserWarning, match=f"csl: .* {message}.* or eta=auto") as caught:
        _, state = begun(spec, np.eye(4, 9, dtype=int), shares)
    assert len(caught) == 1 and caught[0].filename.endswith("test_csl.py")
    assert state.common.sum() == sum(share > 0 for share in shares)


def test_by_itself_eta_is_five_times_the_mean_of_the_prior():
    shares = [0.5, 0.06, 0.05, 0.04, 0.03, 0.03, 0.03, 0.02, 0.04]  # a mean of 0.8 / 9
    method, state = begun("csl(top_k=0)", np.eye(4, 9, dtype=int), shares)
    assert state.common.tolist() == [True] + [False] * 8
    task = Task(np.eye(4, 9, dtype=int), aids=(ClassPrior(shares),))
    assert method.estimates(task) == {"eta": pytest.approx(5 * 0.8 / 9)}
    assert make("csl(eta=0.1)").estimates(task) == make("csl(prior=soft)").estimates(task) == {}
    assert method.estimates(Task(task.labels, aids=(ClassPrior([0.9] * 9),))) == {"eta": 1.0}
    labels = PartialLabels.of([[1, 1, -1], [1, -1, -1]])  # of class 0 the prior knows nothing
    blind = Task(labels, aids=(estimated([0.99, 0.02, 0.04], labels),))
    assert method.estimates(blind) == {"eta": pytest.approx(0.15)}


@pytest.mark.parametrize("source", ["scenes-like", "COCO"])
def test_by_itself_no_prior_makes_it_ignore(source):
    if source == "COCO":  # 64 of 80 classes of the published prior are above 0.05
        shares = np.append(0.54, np.geomspace(0.24, 0.02, 79))
    else:  # as estimated from FPC: every class is above 0.05
        shares = np.linspace(0.1, 0.9, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, state = begun("csl", np.eye(4, len(shares), dtype=int), shares)
    assert 5 * state.common.sum() <= len(shares)


def test_the_published_code_has_a_prior_of_its_own(pooled):
    """Of all outputs during the temporary training, and not of those at its end."""
    task = prepare(pooled, make("csl(reproduce=csl)"), settings=Settings(epochs=2))
    built = task.aid(ClassPrior)
    eta = float(np.sort(built.running)[2])  # two classes are above it
    state = make("csl(top_k=1, reproduce=csl)", eta=eta).start(task)
    assert state.common.tolist() == (built.running > eta).tolist()
    assert state.common.tolist() != (built.values > eta).tolist()
    from_elsewhere = pooled.with_aids(ClassPrior(built.values, built.classes))
    state = make("csl(top_k=1, reproduce=csl)", eta=eta).start(from_elsewhere)
    assert state.common.tolist() == (built.values > eta).tolist()


def test_a_top_k_of_all_classes_is_called_what_it_is():
    Z, x = drawn(0, (4, 6))
    Z[2, 0] = -1
    for spec in ("csl(top_k=6)", "csl(top_k=200, top_k_scope=batch)"):
        with pytest.warns(UserWarning, match="csl: top_k is .* choose a smaller top_k"):
            method, state = begun(spec, Z, np.zeros(6))
        ignoring = make("p-asl(mode=ignore)")
        wanted = loss_and_gradient(ignoring, ignoring.start(Sizes(4, 6)), Z, x)[0]
        assert loss_and_gradient(method, state, Z, x)[0] == wanted


def test_the_published_code_pools_the_batch_and_takes_eta_0_for_no_prior():
    assert make("csl(reproduce=csl)").top_k_scope == "batch"
    assert make("csl(reproduce=csl)").prior == "threshold"
    assert make("csl(reproduce=csl, eta=0)").prior == "none"
    assert make("csl(eta=0)").prior == "threshold"
    assert make("csl(reproduce=csl)").eta == make("csl(reproduce=paper)").eta == 0.05
    paper = make("csl(reproduce=paper, top_k=200, gamma_pos=1)")
    assert (paper.top_k_scope, paper.top_k, paper.gamma_pos) == ("image", 200, 1)


@pytest.mark.parametrize("mode", ["selective", "selective_noprior"])
def test_reference_vectors_of_the_published_code(golden, mode):
    g = np.load(golden / "csl.npz")
    for c in range(int(g["cases"])):
        Z, x, key = g[f"c{c}_Z"], g[f"c{c}_logits"], f"c{c}_{mode}_official"
        eta = float(g[f"c{c}_prior_threshold"]) if mode == "selective" else 0
        for more in ({"reproduce": "csl"}, {"top_k_scope": "batch"}):
            if not eta:
                more = {**more, "prior": "none"}
            k = int(g[f"c{c}_likelihood_topk"])
            method = make("csl", top_k=k, eta=eta, **more, **settings(g, c))
            _, state = begun(method, Z, g[f"c{c}_prior"])
            chosen = method.selected(batch_of(Z), plain(x), state).numpy()
            np.testing.assert_array_equal(chosen, g[f"{key}_weights"] == 0)
            close = {"rtol": 2e-6, "atol": 1e-7}
            loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
            np.testing.assert_allclose(loss, g[f"{key}_loss"], **close)
            np.testing.assert_allclose(gradient, g[f"{key}_grad"], **close)
            loss, gradient = loss_and_gradient(method, state, Z, x)
            np.testing.assert_allclose(loss, g[f"{key}_loss_f32"], rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(gradient, g[f"{key}_grad_f32"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("c", range(4))
def test_reference_vectors_of_the_paper(golden, c):
    g = np.load(golden / "csl.npz")
    Z, x = g[f"c{c}_Z"], g[f"c{c}_logits"].astype(float)
    k, eta = int(g[f"c{c}_likelihood_topk"]), float(g[f"c{c}_prior_threshold"])
    paper = {"reproduce": "paper"}
    for key, more in {
        "OmegaL_per_sample": {"prior": "none"},
        "OmegaP": {"top_k": 0},
        "union_per_sample": {},
    }.items():
        method = make("csl", **{"top_k": k, "eta": eta, **settings(g, c), **paper, **more})
        _, state = begun(method, Z, g[f"c{c}_prior"])
        chosen = method.selected(batch_of(Z), plain(x), state).numpy()
        np.testing.assert_array_equal(chosen, g[f"c{c}_selective_paper_weights_{key}"] == 0)
    wanted = g[f"c{c}_selective_paper_union_per_sample_loss"]
    assert loss_and_gradient(method, state, Z, x)[0] == pytest.approx(wanted, rel=1e-9)
    method = make("csl", top_k=k, prior="soft", **settings(g, c), **paper)
    _, state = begun(method, Z, g[f"c{c}_prior"])
    chosen = method.selected(batch_of(Z), plain(x), state).numpy()
    weights = g[f"c{c}_soft_prior_alpha10_weights"]
    np.testing.assert_array_equal(chosen, weights == 0)
    outside = np.broadcast_to(state.unknown_weight.numpy(), Z.shape)[(Z == 0) & ~chosen]
    np.testing.assert_allclose(outside, weights[(Z == 0) & ~chosen], rtol=1e-9)
    loss, _ = loss_and_gradient(method, state, Z, x)
    np.testing.assert_allclose(loss, g[f"c{c}_soft_prior_alpha10_loss"], rtol=1e-9)
