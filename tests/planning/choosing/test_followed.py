"""Curves through what was measured, and never above complete labels."""

from dataclasses import replace

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.planning.choosing.followed import between, check_wide, followed, rising
from simkit.planning.curves.points import Points
from simkit.planning.evidence.evidence import Evidence
from simkit.planning.money.project import Project
from simkit.planning.plan import fitted
from tests.planning import planted


@pytest.fixture(scope="module")
def found(curves, evidence):
    return followed(curves, evidence, Project(400.0))


def test_at_every_measured_size_it_is_what_was_measured(found, curves) -> None:
    gaps = []
    for pair, curve in curves.items():
        means = np.nanmean(curve.points.table, axis=0)
        gaps.append(np.abs(curve.median(curve.points.costs[:-1]) - means[:-1]))
        own = found[pair].median(curve.points.costs[:-1])
        np.testing.assert_allclose(own, means[:-1], atol=0.003)
        assert found[pair].agrees == curve.points.costs[0]
    assert np.max(gaps) > 0.01  # which the fitted curves miss


def test_beyond_the_pilot_it_is_the_fitted_curve_and_rises_throughout(found, curves) -> None:
    x = np.geomspace(1, 4000, 200)
    for pair, curve in curves.items():
        one = found[pair].samples(x)
        assert (np.diff(one, axis=1) >= -1e-12).all()
        far = x > curve.reach
        if pair[0].scheme == "full-subset":
            np.testing.assert_array_equal(one[:, far], curve.samples(x[far]))


def test_samples_stay_paired(found) -> None:
    """Draws are the same luck in both."""
    (one, other), x = [c for (w, m), c in found.items() if w.scheme == "rpa"][:2], 20.0
    assert np.corrcoef(one.samples(x)[:, 0], other.samples(x)[:, 0])[0, 1] > 0.3


def test_bands_at_measured_sizes_hold_single_draws(found) -> None:
    inside = [
        (low <= own) & (own <= high)
        for (_, method), curve in found.items()
        for (low, high), own in zip(
            curve.band(curve.points.costs).T, curve.points.table.T, strict=True
        )
        if method != "full"
    ]
    assert np.mean(inside) > 0.85


def eager(scheme, method, dollars):
    """Half of the labels of all images teach as much as all of them would."""
    slope = {"full-subset": 0.06, "rpa": 0.10}[scheme]
    return 0.30 + slope * np.log(dollars / 5)


@pytest.mark.parametrize("known", [True, False])
def test_nothing_beats_complete_labels_that_were_measured(write_runs, monkeypatch, known) -> None:
    monkeypatch.setattr(planted, "CEILING", 0.60)  # of all 3,000 images, at $301
    own = Evidence.of(
        write_runs(schemes=("full-subset", "rpa"), methods=("an",), expect=eager, noise=0.001,
                   luck=0.001, reference=known)
    )  # fmt: skip
    project = Project(1000.0, images=3000)
    fits, _ = fitted(own, project, resamples=40)
    (rpa,) = (c for pair, c in followed(fits, own, project).items() if pair[0].scheme == "rpa")
    # What the pilot measured stands: at $80 rpa is 11 points above complete labels of $80, below
    # those of all the images that it asked about.
    assert rpa.median(79.0)[0] == pytest.approx(eager("rpa", "an", 79.0), abs=0.01)
    beyond, fit = rpa.samples(300.0), fits[next(p for p in fits if p[0].scheme == "rpa")]
    assert fit.median(300.0)[0] > 0.62
    if known:
        assert (beyond <= 0.61).all()
    else:  # a curve of complete labels beyond its own sizes is no bound for another
        assert beyond == pytest.approx(fit.samples(300.0))


def test_fewer_images_lower_the_cap(curves, evidence) -> None:
    few = followed(curves, evidence, Project(400.0, images=100))
    for pair, curve in few.items():
        if pair[0].scheme == "rpa":
            # The reference is of 3,000 images; 100 of them cost $10.04 completely.
            full = next(c for (w, m), c in few.items() if w.scheme == "full-subset" and
                        m == pair[1])  # fmt: skip
            assert curve.median(80.0) <= full.median(10.04) + 0.02


def test_a_pilot_is_held_against_its_own_images(found, curves, evidence) -> None:
    """However few the project has: its cap lowers what is promised and not what was measured."""
    few = followed(curves, evidence, Project(400.0, images=100))
    assert any(one.median(one.reach) < found[pair].median(one.reach) for pair, one in few.items())
    for pair, one in few.items():
        assert (one.agrees, one.note) == (found[pair].agrees, found[pair].note)


def test_what_was_measured_above_complete_labels_stands(found) -> None:
    # Planted so: 215 images with one label each teach more than all labels of 215 images.
    for pair, curve in found.items():
        if pair[0].scheme == "single-positive":
            means = np.nanmean(curve.points.table, axis=0)
            np.testing.assert_allclose(curve.median(curve.points.costs), means, atol=0.005)


def test_scores_that_do_not_rise_are_known_where_they_were_measured(write_runs) -> None:
    def flat(scheme, method, dollars):
        return 0.9 if scheme == "fpc" else 0.3 + 0.08 * np.log(dollars)

    own = Evidence.of(
        write_runs(schemes=("rpa", "fpc"), methods=("an",), expect=flat, noise=0.0, luck=0.0)
    )
    project = Project(400.0)
    fits, unfit = fitted(own, project, resamples=40)
    assert [way.scheme for way, _ in fits] == ["rpa"] and len(unfit) == 1
    (one,) = [c for (way, _), c in followed(fits, own, project).items() if way.scheme == "fpc"]
    assert one.measured
    np.testing.assert_allclose(one.samples([10.0, 50.0]), 0.9, atol=0.05)
    with pytest.raises(BadInput, match="there is no curve to follow"):
        followed({}, own, project)


def test_sizes_that_hardly_differ_are_no_curve(found) -> None:
    points = next(iter(found.values())).points
    near = replace(points, dollars=10.0 + 0.1 * points.size)
    with pytest.raises(BadInput) as error:
        check_wide(near)
    assert str(error.value) == (
        "the pilot's sizes go from $10.00 to $10.40, too little for a curve: the largest has to "
        "cost at least 2 times the smallest; compare again with more budgets, each about twice "
        "the one before"
    )
    check_wide(Points([10, 15, 20], [0.1, 0.2, 0.3], [0, 0, 0], [0, 1, 2]))


def test_rows_that_fall_take_the_mean_of_those_that_do() -> None:
    given = np.array([[1.0, 3.0, 2.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_allclose(
        rising(given), [[1, 2.5, 2.5, 4], [2.5, 2.5, 2.5, 2.5], [1, 2, 3, 4]]
    )


def test_between_sizes_lie_straight_lines_of_log_dollars() -> None:
    knots = np.array([[0.2, 0.4, 0.5], [0.1, 0.1, 0.3]])
    x = np.array([5.0, 10.0, 20.0, 40.0, 80.0, 160.0])
    found = between(x, np.array([10.0, 40.0, 160.0]), knots)
    np.testing.assert_allclose(
        found, [[0.2, 0.2, 0.3, 0.4, 0.45, 0.5], [0.1, 0.1, 0.1, 0.1, 0.2, 0.3]]
    )
    one = between(np.array([1.0, 9.0]), np.array([3.0]), np.array([[0.2], [0.3]]))
    np.testing.assert_allclose(one, [[0.2, 0.2], [0.3, 0.3]])
