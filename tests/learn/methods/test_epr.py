import numpy as np
import pytest
import torch

from simkit import methods, schemes
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Sizes, Task, make
from simkit.learn.methods.expected import expected_positives, positives_per_image
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack
from tests.learn.methods.steps import loss_and_gradient, started
from tests.learn.methods.test_elementwise import agrees, cases
from tests.reference import methods as slow


@pytest.mark.parametrize("log", [None, "spml"])
def test_equal_to_the_slow_loop(log):
    method = make("epr", expected=1.5, epsilon=log)
    for Z, x in cases():
        b, L = Z.shape
        loss, gradient = loss_and_gradient(*started(method, Z), Z, x)
        p = 1 / (1 + np.exp(-x))
        off = p.sum() / b - 1.5

        def term(x, z):
            return slow.cross_entropy(x, float(z == 1), log) if z else 0.0

        known = slow.total(x, Z, term, "mean_all")
        assert loss == pytest.approx(known + (off / L) ** 2, rel=1e-9)
        own = np.vectorize(lambda x, z: slow.slope(lambda y: term(y, z), x))(x, Z) / Z.size
        wanted = own + 2 * off / L**2 * p * (1 - p) / b
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-9)


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for case in ("c0", "c1", "c3"):
        expected = float(g[f"{case}_expected_num_pos"])
        agrees("epr", g, case, "epr_paper", expected=expected)
        agrees("epr(reproduce=paper)", g, case, "epr_paper", expected=expected)
        agrees("epr(reproduce=spml)", g, case, "epr_official", expected=expected)
        x = torch.as_tensor(g[f"{case}_logits"]).double()
        regular = expected_positives(torch.sigmoid(x), torch.tensor(expected, dtype=torch.float64))
        np.testing.assert_allclose(regular, g[f"{case}_epr_official_reg"], rtol=1e-9)


EXPECTING = ("epr", "role", "en", "ep")
N, L = 2000, 12
TRUTH = Truth.of(np.random.default_rng(0).random((N, L)) < np.linspace(0.02, 0.5, L))
MEAN = TRUTH.present.nnz / N


def test_complete_images_tell_it_exactly():
    asked = simulate(TRUTH, "full-subset", images=300)
    codes = asked.rows(np.flatnonzero(asked.asked))
    wanted = (codes == 1).sum() / 300
    assert positives_per_image(asked) == pytest.approx(wanted, rel=1e-12)
    assert positives_per_image(PartialLabels.of(codes)) == pytest.approx(wanted, rel=1e-12)
    mixed = simulate(TRUTH, "mixed(share=0.3)")
    rows = mixed.rows(np.arange(N))
    complete = rows[(rows != 0).all(1)]
    assert 0 < len(complete) < N
    assert positives_per_image(mixed) == pytest.approx((complete == 1).sum() / len(complete))


@pytest.mark.parametrize("keep", [0.02, 0.1, 0.6, 1.0])
def test_a_random_part_tells_it_up_to_chance(keep):
    p = TRUTH.present.toarray().mean()
    error = L * np.sqrt(p * (1 - p) * (1 - keep) / (keep * N * L))
    found = [positives_per_image(simulate(TRUTH, f"rpa(keep={keep})", seed=s)) for s in range(5)]
    assert found == pytest.approx([MEAN] * 5, abs=4 * error + 1e-9)
    few = positives_per_image(simulate(TRUTH, f"rpa(keep={keep})", images=400, seed=1))
    assert few == pytest.approx(MEAN, abs=4 * error * np.sqrt(5) + 0.5)  # and chance of the images


@pytest.mark.parametrize("name", sorted({*schemes.names()} - {"full-subset", "mixed", "rpa"}))
def test_labels_that_are_selected_do_not(name):
    classes = tuple("abcdefghijkl")
    hierarchy = Hierarchy.of(classes, ())
    truth = Truth.of(TRUTH.present, classes=classes)
    for more in ("", "(mode=truth)") if name == "knowledge-graph" else ("",):
        given = hierarchy if name == "knowledge-graph" else None
        known = {"features": TRUTH.present.toarray(), "scores": 9.0 * TRUTH.present.toarray() - 5}
        labels = simulate(truth, name + more, hierarchy=given, **known)
        assert positives_per_image(labels) is None


def test_labels_of_unknown_origin_tell_it_by_complete_images_that_stand_apart():
    complete = np.where(TRUTH.present.toarray(), 1, -1)[:100]
    one = np.zeros((50, L), int)
    one[np.arange(50), np.arange(50) % L] = 1
    wanted = (complete == 1).sum() / 100
    together = PartialLabels.of(np.concatenate([complete, one]))
    assert positives_per_image(together) == pytest.approx(wanted)
    assert positives_per_image(PartialLabels.of(one)) is None
    nearly = np.where(np.arange(L) < L - 1, complete, 0)  # some may be complete by chance
    assert positives_per_image(PartialLabels.of(np.concatenate([complete, nearly]))) is None
    assert positives_per_image(PartialLabels.of(-np.ones((5, L), int))) is None  # nothing present
    pairs = np.array([[1, 0], [0, 1], [1, 1], [1, -1]])  # half of two classes is one
    assert positives_per_image(PartialLabels.of(pairs)) is None


@pytest.mark.parametrize("name", EXPECTING)
def test_what_labels_do_not_tell_must_be_given(name):
    labels = simulate(TRUTH, "single-positive")
    inputs = FeatureInputs(np.zeros((N, 3), np.float32))
    for start in (
        lambda: make(name).start(Task(labels)),
        lambda: make(name).start(Sizes(N, L)),
        lambda: make(f"{name}+cl").start(Task(labels)),
        lambda: train(Task(labels, inputs), make(name), settings=Settings(epochs=1)),
    ):
        with pytest.raises(BadInput) as error:
            start()
        for part in (f"{name}(expected=2.9)", "VOC 1.5", "NUS-WIDE 1.9", "CUB 31.4"):
            assert part in str(error.value)
    assert make(name, expected=1.5).start(Task(labels)).positives == 1.5
    with pytest.raises(BadInput, match="expected is 'much'; a number or 'auto'"):
        make(f"{name}(expected=much)")


@pytest.mark.parametrize("spec", ["epr(reproduce=spml)", "epr(reproduce=paper)",
                                  "role(reproduce=spml)"])  # fmt: skip
def test_what_reproduces_keeps_the_published_number(spec):
    assert make(spec).expected == 2.9 and "expected=2.9" in methods.spell(make(spec))
    assert make(spec.replace(")", ", expected=1.5)")).expected == 1.5


@pytest.mark.parametrize("name", EXPECTING)
def test_stacks_use_the_estimate_of_each_run_and_tell_it(name):
    rng = np.random.default_rng(1)
    inputs = FeatureInputs(rng.standard_normal((40, 6)).astype(np.float32))
    history = History("simulate", {"scheme": "rpa(keep=0.5)"})
    tasks = [
        Task(PartialLabels.of(np.where(rng.random((40, 5)) < share, 1, -1)
                              * (rng.random((40, 5)) < 0.5), asked=np.ones(40, bool),
                              history=history), inputs)
        for share in (0.2, 0.6)
    ]  # fmt: skip
    wanted = [positives_per_image(task.labels) for task in tasks]
    assert wanted[1] > 2 * wanted[0]
    how = {"settings": Settings(epochs=3, batch_size=16, lr=0.05)}
    together = train_stack([(task, make(name)) for task in tasks], **how)
    for task, found, positives in zip(tasks, together, wanted, strict=True):
        assert found.state.positives.item() == positives
        assert found.history.settings["estimates"] == {"expected": positives}
        assert "expected='auto'" in found.history.settings["method"]
        given = train(task, make(name, expected=positives), **how)
        np.testing.assert_allclose(found.losses, given.losses, rtol=1e-5)
        np.testing.assert_allclose(found.scores(inputs), given.scores(inputs), atol=1e-5)
        assert "estimates" not in given.history.settings
