"""Methods whose loss is a sum over entries: by hand, by slow loops, by reference vectors."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn.methods import Task, make
from tests.learn.methods.steps import batch_of, loss_and_gradient, plain, started
from tests.reference import methods as slow


def cases() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(Z, logits): several shapes, logits up to +-30, an image and a class without labels."""
    rng = np.random.default_rng(0)
    for shape in ((1, 2), (3, 4), (7, 5)):
        for codes in ((-1, 2), (0, 2), (0, 1)):
            Z = rng.integers(*codes, shape)
            Z[-1, 1:] = Z[:-1, 0] = 0
            x = rng.standard_normal(shape) * 4
            x[0] = rng.choice([-30.0, 30.0], shape[1])
            yield Z, x


def agrees_with_the_slow_loop(spec: str, term, *, how: str = "mean_all", slope=None) -> None:
    """term(x, z) is the loss of one entry, slope(x, z) its derivative where that is another one."""
    slope = slope or (lambda x, z: slow.slope(lambda y: term(y, z), x))
    for Z, x in cases():
        method, state = started(spec, Z)
        loss, gradient = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(slow.total(x, Z, term, how), rel=1e-9, abs=1e-12)
        share = slow.total(x, Z, lambda *_: 1.0, how) / x.size
        wanted = [
            [share * slope(*entry) for entry in zip(*row, strict=True)]
            for row in zip(x, Z, strict=True)
        ]
        np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-9)


def agrees(
    spec, g, case: str, key: str, *, codes=None, grad=True, rtol=1e-9, atol=1e-12, **settings
):
    """Loss and gradient are those of the reference vectors; in float32 too, where they hold it."""
    Z, x = g[f"{case}_Z"] if codes is None else codes, g[f"{case}_logits"]
    method, state = started(make(spec, **settings), Z)
    loss, gradient = loss_and_gradient(method, state, Z, x.astype(float))
    np.testing.assert_allclose(loss, g[f"{case}_{key}_loss"], rtol=rtol, atol=atol)
    if grad:
        np.testing.assert_allclose(gradient, g[f"{case}_{key}_grad"], rtol=rtol, atol=atol)
    if f"{case}_{key}_loss_f32" in g:
        loss, gradient = loss_and_gradient(method, state, Z, x)
        np.testing.assert_allclose(loss, g[f"{case}_{key}_loss_f32"], rtol=1e-4, atol=1e-6)
        single = g[f"{case}_{key}_grad_f32"]
        np.testing.assert_allclose(gradient, single, rtol=1e-4, atol=1e-6)


def to_targets(present, absent, unknown, log=None, weights=(1, 1, 1)):
    """The term of cross-entropy against targets, times weights of present, absent, unknown."""
    targets = dict(zip((1, -1, 0), (present, absent, unknown), strict=True))
    factors = dict(zip((1, -1, 0), weights, strict=True))
    return lambda x, z: factors[z] * slow.cross_entropy(x, targets[z], log)


NEGATIVE = (1, 0, 0)
FORMULAS = [
    *[
        (f"an(pos_weight=1.1, reduction={how}, epsilon={log})", how,
         to_targets(*NEGATIVE, log, (1.1, 1, 1)))
        for how in ("mean_all", "sum", "sum_classes") for log in (None, "spml", "csl")
    ],
    ("fe", "sum_classes", to_targets(*NEGATIVE, None, (5, 1, 1))),
    ("focal(gamma=0, reduction=sum)", "sum", to_targets(*NEGATIVE)),
    *[(f"ignore(epsilon={log})", "mean_all", to_targets(*NEGATIVE, log, (1, 1, 0)))
      for log in (None, "spml", "csl")],
    *[
        (f"lsan({settings}log_epsilon={log})", "mean_all", to_targets(*targets, log))
        for log in (None, "spml")
        for settings, targets in {
            "": (0.9, 0.1, 0.1),
            "epsilon=0.2, ": (0.8, 0.2, 0.2),
            "epsilon=0, ": NEGATIVE,
            "eps_convention=half, ": (0.95, 0.05, 0.05),
            "smooth=unknown_only, ": (1, 0, 0.1),
            "smooth=unknown_only, eps_convention=half, ": (1, 0, 0.05),
        }.items()
    ],
    *[
        (f"ls-constant(temperature={T}, pos_weight={w})", "sum_classes",
         lambda x, z, T=T, w=w: (w if z == 1 else 1) * slow.positive_term(z * x if z else x / T))
        for T, w in ((-1.0, 1), (-2.0, 5), (-50.0, 1))
    ],
    *[
        (f"em(alpha=0.2, epsilon={log})", "mean_all",
         lambda x, z, log=log: slow.cross_entropy(x, float(z == 1), log) if z
         else -0.2 * slow.entropy(x, log))
        for log in (None, "spml")
    ],
    *[
        (f"focal(alpha={a})", "sum",
         lambda x, z, a=a: (1 if a is None else a if z == 1 else 1 - a)
         * slow.focus(x, z == 1, 2) * slow.cross_entropy(x, float(z == 1)))
        for a in (None, 0.3)
    ],
]  # fmt: skip


@pytest.mark.parametrize(("spec", "how", "term"), FORMULAS, ids=[spec for spec, *_ in FORMULAS])
def test_every_entry_by_the_formula(spec, how, term):
    agrees_with_the_slow_loop(spec, term, how=how)


@pytest.mark.parametrize(
    ("spec", "how", "gammas", "clip", "log"),
    [
        ("asl", "sum", (1, 4), 0.05, None),
        ("asl(reduction=mean_all)", "mean_all", (1, 4), 0.05, None),
        ("asl(gamma_pos=0, clip=0, reproduce=csl)", "sum", (0, 4), 0, "csl"),
    ],
)
def test_asl_focuses_with_and_without_a_gradient(spec, how, gammas, clip, log):
    def weight(x, z):
        return slow.focus(x, z == 1, gammas[int(z != 1)], clip)

    def entry(x, z):
        return slow.focused_log(x, z == 1, clip, log)

    def term(x, z):
        return weight(x, z) * entry(x, z)

    def held(x, z):
        return weight(x, z) * slow.slope(lambda y: entry(y, z), x)

    agrees_with_the_slow_loop(spec, term, how=how, slope=held)
    if spec == "asl":
        agrees_with_the_slow_loop("asl(detach_focus=False)", term, how=how)


@pytest.mark.parametrize(
    ("spec", "loss", "gradient"),
    [
        ("an", np.log(2), [-1 / 6, 1 / 6, 1 / 6]),
        ("wan", 2.5 / 3 * np.log(2), [-1 / 6, 1 / 6, 1 / 12]),  # weights 1, 1 and 1/2
        ("ignore", 2 / 3 * np.log(2), [-1 / 6, 1 / 6, 0]),
    ],
)
def test_one_image_by_hand(spec, loss, gradient):
    # at logit 0 every term is log 2, whatever the target; the gradients are -1/2 and +1/2 over 3
    Z = [[1, -1, 0]]
    computed, slopes = loss_and_gradient(*started(spec, Z), Z, [[0.0, 0.0, 0.0]])
    assert computed == pytest.approx(loss)
    np.testing.assert_allclose(slopes, [gradient])


def test_lsan_of_the_paper_by_hand():
    Z = [[1, 0]]  # targets 0.95 and 0.05
    loss, _ = loss_and_gradient(*started("lsan(reproduce=paper)", Z), Z, [[0.3, -1.2]])
    assert loss == pytest.approx(0.4463, abs=5e-5)


@pytest.mark.parametrize("log", [None, "spml"])
@pytest.mark.parametrize("weak", [False, True])
def test_known_negatives_of_wan_weigh_fully_or_like_assumed_ones(log, weak):
    Z = np.array([[1, -1, 0, 0], [0, 0, -1, 1]])
    x = np.random.default_rng(0).standard_normal(Z.shape) * 10
    term = to_targets(*NEGATIVE, log, (1, 1 / 3 if weak else 1, 1 / 3))
    method = make("wan", weight_known_negatives=weak, epsilon=log)
    loss, _ = loss_and_gradient(*started(method, Z), Z, x)
    assert loss == pytest.approx(slow.total(x, Z, term, "mean_all"), rel=1e-9)


def test_full_wants_complete_labels_of_the_asked_images():
    with pytest.raises(BadInput, match="annotate with full-subset, or train 'an' or"):
        started("full", [[1, 0, -1], [1, 1, -1]])
    make("full").start(Task(PartialLabels.of(np.array([[1, -1], [0, 0]]))))
    method, state = started("full", np.ones((1, 3), int))
    _, gradient = loss_and_gradient(method, state, [[1, 0, -1]], np.zeros((1, 3)))
    np.testing.assert_allclose(gradient, [[-1 / 6, 0, 1 / 6]])  # one that comes along is left out


def test_ignore_reduces_over_all_or_known_labels_and_reports_the_unknown():
    Z = np.array([[1, 0, -1, 0], [0, 0, 0, 0], [1, 1, -1, -1]])
    x = np.random.default_rng(0).standard_normal((3, 4)) * 5
    for how, factor in (("mean_all", 1), ("sum", 12), ("sum_classes", 4), ("mean_observed", 2)):
        method, state = started(f"ignore(reduction={how})", Z)
        loss, gradient = loss_and_gradient(method, state, Z, x)
        assert loss == pytest.approx(factor * slow.ignore(x, Z), rel=1e-12)
        assert (gradient[Z == 0] == 0).all()
    loss, gradient = loss_and_gradient(method, state, Z * 0, x)
    assert loss == 0 and (gradient == 0).all()
    chosen = method.selected(batch_of(Z), plain(np.stack([x, x])), state)
    assert torch.equal(chosen, torch.as_tensor(np.stack([Z, Z]) == 0))


def test_reference_vectors_of_assumed_negatives(golden):
    g = np.load(golden / "an_family.npz")
    for spec in ("an", "wan"):
        for reproduce, key in ((None, "paper"), ("paper", "paper"), ("spml", "official")):
            for case in ("c0", "c1", "c3"):
                agrees(spec, g, case, f"{spec}_{key}", reproduce=reproduce)
            if key == "paper":
                agrees(spec, g, "c2", f"{spec}_partial_paper", reproduce=reproduce)
    for spec in ("fe", "an(pos_weight=5, reduction=sum_classes)"):
        agrees(spec, g, "c2", "fe_pos5_sumL_meanB")
    for reproduce, key in ((None, "paper"), ("paper", "paper"), ("spml", "official")):
        agrees("ignore", g, "c2", f"iu_{key}", reproduce=reproduce)
    agrees("ignore(reduction=mean_observed)", g, "c2", "iu_mean_over_observed", grad=False)
    for c in range(int(g["cases"])):
        case, complete = f"c{c}", 2 * g[f"c{c}_T"] - 1
        agrees("full(reproduce=spml)", g, case, "bce_official", codes=complete)
        smooth = {"epsilon": float(g[f"{case}_ls_coef"])}
        if f"{case}_an_ls_paper_loss" in g:
            agrees("lsan", g, case, "an_ls_paper", **smooth)
            twice = {"epsilon": 2 * smooth["epsilon"]}  # the paper halves it, its code does not
            if twice["epsilon"] < 0.5:
                agrees("lsan(reproduce=paper)", g, case, "an_ls_paper", **twice)
            agrees("lsan(reproduce=spml)", g, case, "an_ls_official", **smooth)
        agrees("lsan(reproduce=spml)", g, case, "bce_ls_official", codes=complete, **smooth)


def test_reference_vectors_of_focused_losses(golden):
    g = np.load(golden / "asl.npz")
    for c in range(int(g["cases"])):
        case, codes = f"c{c}", 2 * g[f"c{c}_Y"] - 1
        how = {key: float(g[f"{case}_{key}"]) for key in ("gamma_pos", "gamma_neg", "clip")}
        for spec in ("asl", "asl(reproduce=csl)", "asl(reproduce=paper)"):
            agrees(spec, g, case, "detach_official", codes=codes, **how)
            for key in ("nodetach_official", "opt_nodetach_official"):
                agrees(spec, g, case, key, codes=codes, detach_focus=False, **how)
    for case, gamma in (("c2", 2), ("c3", 0)):  # equal gammas, no clip
        codes = 2 * g[f"{case}_Y"] - 1
        agrees("focal", g, case, "nodetach_official", codes=codes, gamma=gamma)
        agrees("focal(detach_focus=True)", g, case, "detach_official", codes=codes, gamma=gamma)


def test_reference_vectors_of_entropies_and_temperatures(golden):
    g = np.load(golden / "em_apl.npz")
    for case in ("c0", "c1"):
        for reproduce, key in ((None, "paper"), ("paper", "paper"), ("em", "official")):
            alpha = float(g[f"{case}_alpha"])
            agrees("em", g, case, f"em_{key}", alpha=alpha, reproduce=reproduce)
    g = np.load(golden / "soft_exposure_reference.npz")
    method = make("ls-constant", temperature=float(g["LS_constant_temperature"]))
    loss, _ = loss_and_gradient(*started(method, g["Z"]), g["Z"], g["logits"].astype(float))
    np.testing.assert_allclose(loss, g["LS_loss_sumL_meanB"], rtol=1e-9)
