"""Whether a mixture of two schemes is worth measuring; it is never recommended unmeasured."""

import numpy as np
import pytest

from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import choose
from simkit.planning.choosing.mixtures import PowerLaw, gain, hull, power_law, suggestions
from simkit.planning.curves.fit import fit
from simkit.planning.evidence.evidence import Evidence as Measured
from simkit.planning.money.bill import Project
from tests.planning import planted
from tests.planning.fakes import Evidence, Line, candidate, way

PROJECT = Project(1000.0)


def suggested(**lines):
    """Mixtures for 1,000 dollars with `an`; lines by scheme, "_" for "-"."""
    curves = {(way(name.replace("_", "-")), "an"): line for name, line in lines.items()}
    chosen = candidate("full-subset", "an", 1000, next(iter(lines.values())))
    return suggestions(curves, chosen, Evidence(), PROJECT)


def test_a_power_law_is_recovered():
    dollars = np.geomspace(10, 1000, 7)
    found = power_law(0.2 * dollars**0.15, dollars)
    assert found.scale == pytest.approx(0.2) and found.exponent == pytest.approx(0.15)
    falling = power_law(0.2 * dollars**-0.1, dollars)
    assert falling.exponent == 0  # a curve that only noise bends down is flat
    assert falling(50.0) == pytest.approx(np.exp(np.log(0.2 * dollars**-0.1).mean()))


def test_a_source_mixed_with_itself_gains_nothing():
    law = PowerLaw(0.2, 0.15)
    assert gain(law, law, (300.0, 700.0)) == 0


def test_a_mixture_gains_where_each_source_is_better_at_its_own_dollars():
    weak, full = PowerLaw(0.3, 0.1), PowerLaw(0.15, 0.25)
    # They meet at 2^(1 / 0.15) = 101.6 dollars.
    assert gain(weak, full, (50.0, 950.0)) == pytest.approx(
        min(weak(50.0) - full(50.0), full(950.0) - weak(950.0))
    )
    assert gain(weak, full, (50.0, 950.0)) > 0
    assert gain(weak, full, (500.0, 500.0)) < 0
    assert gain(full, weak, (950.0, 50.0)) == gain(weak, full, (50.0, 950.0))


def test_the_hull_is_the_least_concave_curve_above():
    points = [(10.0, 0.2), (20.0, 0.22), (30.0, 0.5), (40.0, 0.45), (20.0, 0.3)]
    # From (0, 0) straight to (10, 0.2), then to (30, 0.5), then flat: (20, 0.3) lies below 0.35.
    assert hull(points, [0, 5, 10, 20, 30, 60]) == pytest.approx([0, 0.1, 0.2, 0.35, 0.5, 0.5])


def test_curves_that_cross_below_the_budget_suggest_a_mixture():
    # At 1,000 dollars 0.646 against 0.669; at 100 dollars 0.60 against 0.50: they cross at 727.
    found = suggested(single_positive=Line(0.60, 0.02), full_subset=Line(0.50, 0.0735))
    (one,) = found
    assert [str(each) for each in one.ways] == ["full-subset", "single-positive"]
    assert one.spec == f"mixed(share={one.share:g})"
    # Both buy ten images for a dollar, so images are in proportion to dollars.
    assert one.share in (0.8, 0.9)
    assert one.gain > 0.005 and one.guess == pytest.approx(0.669 + one.gain, abs=1e-3)
    assert one.bound >= 0.669 - 1e-3
    assert one.dollars == 100.0
    assert one.told == (
        f"{one.spec} with an is worth a pilot point ($100.00 of labels, or nothing where the "
        "pilot's images are labelled completely): by the additive law it would be "
        f"{100 * one.gain:.1f} points above the better of its two parts, and nothing of that is "
        "measured"
    )


def test_a_scheme_that_is_always_behind_suggests_none():
    assert suggested(full_subset=Line(0.60, 0.05), single_positive=Line(0.50, 0.05)) == []


def test_schemes_that_do_not_decide_image_by_image_suggest_none():
    assert suggested(fpc=Line(0.60, 0.02), full_subset=Line(0.50, 0.0735)) == []


def test_a_scheme_with_an_amount_is_mixed_with_what_its_dollars_buy():
    (one,) = suggested(rpa=Line(0.60, 0.02), full_subset=Line(0.50, 0.0735))
    # A dollar buys a thousandth of all labels; 10 or 20 % of 1,000 dollars are spent on them.
    assert one.spec in (
        "mixed(share=0.9, rest='rpa(keep=0.1)')",
        "mixed(share=0.8, rest='rpa(keep=0.2)')",
    )


def test_a_mixture_that_was_measured_is_a_way_of_its_own():
    lines = {"single_positive": Line(0.60, 0.02), "full_subset": Line(0.50, 0.0735)}
    assert suggested(**lines, mixed=Line(0.62, 0.05)) == []


def test_a_mixture_is_recommended_only_when_it_was_measured(write_runs, monkeypatch):
    """The same curves twice, with and without runs of `mixed`, which would be the best."""
    monkeypatch.setitem(planted.CURVES, "mixed", (0.10, 0.60, 0.35))
    bought = planted.bought

    def both(scheme, dollars, **settings):
        name = "single-positive" if scheme == "mixed" else scheme
        effort, spec, *counts = bought(name, dollars, **settings)
        return effort, scheme if scheme == "mixed" else spec, *counts

    monkeypatch.setattr(planted, "bought", both)
    recommended = {}
    for schemes in (
        ("single-positive", "full-subset"),
        ("single-positive", "full-subset", "mixed"),
    ):
        folder = write_runs(f"with-{len(schemes)}", schemes=schemes, methods=("an",))
        evidence, project = Measured.of(folder), Project(200.0)
        curves = {
            pair: fit(evidence.points(*pair, project.prices), resamples=30)
            for pair in evidence.pairs
        }
        chosen = choose(candidates(curves, evidence, project, steps=8))
        recommended[len(schemes)] = chosen.way.part.name
        for one in suggestions(curves, chosen, evidence, project):
            assert len(schemes) == 2 and one.spec.startswith("mixed(")
    assert recommended == {2: "single-positive", 3: "mixed"}
