import numpy as np
import pytest

from tests.learn.methods.elementwise import agrees, agrees_with_the_slow_loop
from tests.reference import methods as slow


@pytest.mark.parametrize("alpha", [None, 0.3])
def test_equal_to_the_slow_loop(alpha):
    def term(x, z):
        share = 1 if alpha is None else alpha if z == 1 else 1 - alpha
        return share * slow.focus(x, z == 1, 2) * slow.cross_entropy(x, float(z == 1))

    agrees_with_the_slow_loop(f"focal(alpha={alpha})", term, how="sum")


def test_without_focus_it_is_an_summed():
    agrees_with_the_slow_loop(
        "focal(gamma=0, reduction=sum)",
        lambda x, z: slow.cross_entropy(x, float(z == 1)),
        how="sum",
    )


def test_reference_vectors(golden):
    g = np.load(golden / "asl.npz")
    for case, gamma in (("c2", 2), ("c3", 0)):  # equal gammas, no clip
        codes = 2 * g[f"{case}_Y"] - 1
        agrees("focal", g, case, "nodetach_official", codes=codes, gamma=gamma)
        agrees("focal(detach_focus=True)", g, case, "detach_official", codes=codes, gamma=gamma)
