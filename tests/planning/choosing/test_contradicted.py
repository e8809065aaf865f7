"""What was measured, against what is chosen."""

from dataclasses import replace

import numpy as np

from simkit.planning.choosing.candidates import candidates
from simkit.planning.choosing.choice import by_pair
from simkit.planning.choosing.contradicted import contradicted
from simkit.planning.choosing.followed import followed
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted
from tests.planning import planted


def told(evidence, scheme, method, budget=400.0, curves=None, **project):
    """Sentences about the purchase of a way with a method for all the money."""
    wanted = Project(budget, **project)
    own = followed(curves or fitted(evidence, wanted, resamples=20)[0], evidence, wanted)
    groups = by_pair(candidates(own, evidence, wanted))
    (pair,) = (p for p in groups if (p[0].scheme, p[1]) == (scheme, method))
    return list(contradicted(groups[pair][-1], own, evidence, wanted))


def test_a_method_that_was_behind_everywhere_leads_by_extrapolation_alone(curves, evidence):
    # LL-R is 2 points over AN at all sizes.
    (found, *_) = told(evidence, "rpa", "an", curves=curves)
    assert found.startswith(
        "an was behind ll-r at every size of rpa that was measured; its lead at $400.00 is "
        "extrapolated, so train both on what is bought."
    )
    assert not any("was behind" in text for text in told(evidence, "rpa", "ll-r", curves=curves))
    near = told(evidence, "rpa", "an", budget=79.0, curves=curves)
    assert not any("was behind" in text for text in near)  # there it was measured


def test_a_reference_that_no_curve_foretells_is_said(curves, evidence):
    # Planted: 80 mAP for everything, and 65 on the curve of complete labels.
    for scheme, method in (("full-subset", "ll-r"), ("full-subset", "full"), ("fpc", "ll-r")):
        (found,) = told(evidence, scheme, method, curves=curves)
        assert found.startswith(
            "Complete labels of all 3,000 images of the pilot gave 80.1 mAP, and the curve of "
            "full-subset with ll-r promises "
        )
        assert found.endswith("curves this far beyond the pilot promise less than was measured.")


def test_a_reference_on_the_curve_is_not(write_runs):
    def level(scheme, method, dollars):
        return 0.8 - 0.3 * (np.asarray(dollars) / 301.1) ** -0.2 + 0.3

    own = Evidence.of(write_runs(schemes=("full-subset",), methods=("an",), expect=level))
    assert planted.CEILING == 0.8
    assert told(own, "full-subset", "an") == []


def test_most_labels_of_some_images_are_compared_with_all_of_them(curves, evidence):
    near = told(evidence, "rpa", "ll-r", budget=280.0, curves=curves, images=3000)
    # 280 of the 301.10 dollars that all labels cost.
    assert any(
        "buys 93 % of all labels of its 3,000 images for $280.00; to label them completely costs "
        "$301.10 and leaves nothing unknown." in text
        for text in near
    )
    far = told(evidence, "rpa", "ll-r", budget=100.0, curves=curves, images=3000)
    assert not any("to label them completely" in text for text in far)


def test_other_sizes_are_not_compared(curves, evidence):
    moved = {
        pair: replace(curve, points=replace(curve.points, dollars=1.1 * curve.points.dollars))
        if pair[1] == "ll-r"
        else curve
        for pair, curve in curves.items()
    }
    assert not any("was behind" in text for text in told(evidence, "rpa", "an", curves=moved))
