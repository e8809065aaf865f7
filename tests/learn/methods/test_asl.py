import numpy as np
import pytest

from simkit.learn.methods import make
from tests.learn.methods.elementwise import agrees, agrees_with_the_slow_loop
from tests.learn.methods.steps import loss_and_gradient, started
from tests.reference import methods as slow


def parts(gamma_pos, gamma_neg, clip, log=None):
    """A term of the loss, and its slope with the focusing weight held."""

    def weight(x, z):
        return slow.focus(x, z == 1, gamma_pos if z == 1 else gamma_neg, clip)

    def entry(x, z):
        return slow.focused_log(x, z == 1, clip, log)

    return (
        lambda x, z: weight(x, z) * entry(x, z),
        lambda x, z: weight(x, z) * slow.slope(lambda y: entry(y, z), x),
    )


def test_equal_to_the_slow_loop_with_the_defaults():
    term, held = parts(1, 4, 0.05)
    agrees_with_the_slow_loop("asl", term, how="sum", slope=held)
    agrees_with_the_slow_loop("asl(detach_focus=False)", term, how="sum")
    agrees_with_the_slow_loop("asl(reduction=mean_all)", term, slope=held)


def test_the_published_logs_end_at_a_floor():
    term, held = parts(0, 4, 0, "csl")
    agrees_with_the_slow_loop(
        "asl(gamma_pos=0, clip=0, reproduce=csl)", term, how="sum", slope=held
    )
    method, state = started("asl(gamma_pos=0, reproduce=csl)", [[1]])
    loss, gradient = loss_and_gradient(method, state, [[1]], [[-30.0]])
    assert loss == pytest.approx(-np.log(1e-8)) and gradient == 0


@pytest.mark.parametrize("spec", ["asl", "asl(reproduce=csl)", "asl(reproduce=paper)"])
def test_reference_vectors(golden, spec):
    g = np.load(golden / "asl.npz")
    for c in range(int(g["cases"])):
        case = f"c{c}"
        given = {key: float(g[f"{case}_{key}"]) for key in ("gamma_pos", "gamma_neg", "clip")}
        codes = 2 * g[f"{case}_Y"] - 1
        agrees(spec, g, case, "detach_official", codes=codes, **given)
        for key in ("nodetach_official", "opt_nodetach_official"):
            agrees(spec, g, case, key, codes=codes, detach_focus=False, **given)


def test_reproduce_sets_what_was_published():
    assert make("asl(reproduce=csl)").epsilon == "csl"
    assert make("asl(reproduce=paper)").epsilon is None
