from itertools import combinations

import pytest
from matplotlib.figure import Figure

from simkit.learn import methods
from simkit.study.figures.looks import look

KNOWN = ["an", "ignore", "ll-r", "csl", "se", "role", "en", "full"]


def grey(one):
    """What is left of a look without colour."""
    return one.marker, one.dashes, one.fill


def test_a_method_looks_the_same_everywhere_and_apart_from_others():
    assert len({look(m).color for m in KNOWN}) == len(KNOWN)
    assert len({look(m).marker for m in KNOWN}) == len(KNOWN)
    assert look("brand-new") == look("brand-new")
    assert look("ll-r", ["an", "ll-r(delta=1)"]) == look("ll-r")


def test_no_two_methods_share_colour_and_marker():
    alone = [name for name in methods.names() if name not in ("boostlu", "cl", "scl")]
    looks = {(look(name).color, look(name).marker) for name in alone}
    assert len(looks) == len(alone)


def test_a_wrapped_method_keeps_colour_and_marker_but_is_dashed_and_hollow():
    plain, wrapped = look("ll-r"), look("ll-r+boostlu")
    assert (wrapped.color, wrapped.marker) == (plain.color, plain.marker)
    assert (plain.dashes, plain.fill, wrapped.dashes, wrapped.fill) == ("-", "full", "--", "none")
    assert wrapped.line()["markerfacecolor"] == "white"


@pytest.mark.parametrize("base", ["ll-r", "en", "brand-new"])
def test_wrappers_and_settings_tell_apart_without_colour(base):
    rests = ["", "(delta=1)", "+boostlu", "+cl", "+scl", "+boostlu(alpha=3)"]
    names = [base + rest for rest in rests]
    looks = [look(name, names) for name in names]
    assert len(set(map(grey, looks))) == len(looks)
    lines = [look(name, reversed(names)) for name in names]
    assert lines == looks  # whatever the order of the table


def test_names_alone_tell_the_usual_apart():
    names = ["en", "en+cl", "en+scl", "en+boostlu", "ll-r", "ll-r(delta=1)", "ll-r(delta=0.5)"]
    assert all(look(a) != look(b) for a, b in combinations(names, 2))


def test_a_sweep_of_a_setting_has_fifteen_looks():
    names = [f"ll-r(delta={k})" for k in range(15)]
    assert len({str(look(name, names)) for name in names}) == 15


def test_every_look_can_be_drawn():
    axes = Figure().add_subplot()
    for rest in ("", "(delta=1)", "+boostlu", "+cl", "+scl", "+boostlu(alpha=3)", "+cl+scl"):
        axes.plot([0, 1], [0, 1], **look("ll-r" + rest).line())
    axes.figure.draw_without_rendering()
