import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.learn.methods import make
from tests.learn.methods.elementwise import agrees, agrees_with_the_slow_loop
from tests.reference import methods as slow


@pytest.mark.parametrize("log", [None, "spml"])
@pytest.mark.parametrize(("spec", "present", "absent", "unknown"), [
    ("lsan", 0.9, 0.1, 0.1),
    ("lsan(epsilon=0.2)", 0.8, 0.2, 0.2),
    ("lsan(epsilon=0)", 1, 0, 0),
    ("lsan(reproduce=paper)", 0.9, 0.1, 0.1),
    ("lsan(eps_convention=half)", 0.95, 0.05, 0.05),
    ("lsan(smooth=unknown_only)", 1, 0, 0.1),
    ("lsan(smooth=unknown_only, eps_convention=half)", 1, 0, 0.05),
])  # fmt: skip
def test_targets(spec, present, absent, unknown, log):
    targets = {1: present, -1: absent, 0: unknown}
    if log:
        spec = spec.rstrip(")") + (", " if "(" in spec else "(") + "log_epsilon=spml)"
        if "paper" in spec:
            return  # exact by definition
    agrees_with_the_slow_loop(spec, lambda x, z: slow.cross_entropy(x, targets[z], log))


def test_a_smoothing_is_a_share():
    with pytest.raises(BadInput, match=r"a smoothing from 0 to below 0\.5 is expected"):
        make("lsan(epsilon=0.5)")
    make("lsan(epsilon=0.5, eps_convention=half)")
    with pytest.raises(BadInput, match="a smoothing from 0 to below 1 is expected"):
        make("lsan(epsilon=1, eps_convention=half)")


def test_reference_vectors(golden):
    g = np.load(golden / "an_family.npz")
    for c in range(int(g["cases"])):
        case, epsilon = f"c{c}", float(g[f"c{c}_ls_coef"])
        if f"{case}_an_ls_paper_loss" in g:
            agrees("lsan", g, case, "an_ls_paper", epsilon=epsilon)
            agrees("lsan(reproduce=paper)", g, case, "an_ls_paper", epsilon=epsilon)
            agrees("lsan(reproduce=spml)", g, case, "an_ls_official", epsilon=epsilon)
        complete = 2 * g[f"{case}_T"] - 1
        agrees("lsan(reproduce=spml)", g, case, "bce_ls_official", codes=complete, epsilon=epsilon)
