"""mAP on few test images, and on many."""

import numpy as np
import pytest

from simkit.learn.metrics import average_precision
from simkit.planning.evidence.flattery import _drawn, few, flattered, many


def measured(d: float, shown: int, images: int, times: int = 1500) -> float:
    """Mean AP of normal scores, of which those of the images that show the class are d higher."""
    rng = np.random.default_rng(0)
    present = np.zeros((images, times), bool)
    present[:shown] = True
    scores = rng.normal(size=(images, times)) + d * present
    return float(average_precision(scores, present).mean())


@pytest.mark.parametrize(("d", "shown", "images"), [(0.0, 1, 15), (1.5, 1, 15), (2.0, 4, 40)])
def test_few_is_what_drawn_scores_give_on_average(d, shown, images) -> None:
    assert few(d, shown, images) == pytest.approx(measured(d, shown, images), abs=0.02)


def test_many_is_what_very_many_images_give() -> None:
    assert many(1.5, 0.1) == pytest.approx(measured(1.5, 2000, 20_000, times=4), abs=0.01)
    assert many(0.0, 0.1) == pytest.approx(0.1)  # by chance
    assert few(1.5, 200, 2000) == pytest.approx(many(1.5, 0.1), abs=0.01)


def test_rare_classes_make_few_images_flatter_and_many_images_hardly_do() -> None:
    shares, ap = np.array([0.5, 0.2, 0.05, 0.02, 0.01]), np.array([0.9, 0.7, 0.6, 0.3, 0.2])
    here, there = map(np.array, flattered(ap, np.array([8, 3, 1, 0, 0]), 15, shares))
    assert (np.diff(here) > 0).all() and (np.diff(there) > 0).all()
    middle = (here > 0.5) & (here < 0.9)
    assert (here - there)[middle].min() > 0.1
    same = [np.array(one) for one in flattered(ap, (2000 * shares).astype(int), 2000, shares)]
    assert np.abs(same[0] - same[1]).max() < 0.02


@pytest.mark.parametrize("strong", [1.0, 2.5, 4.0])
def test_weak_models_are_told_weak_however_good_the_measured_ones_are(strong) -> None:
    shares = np.full(20, 0.2)
    ap = np.full(20, few(strong, 12, 60))
    here, there = flattered(ap, np.full(20, 12), 60, shares)
    assert (here[0], there[0], here[-1], there[-1]) == (0.0, 0.0, 1.0, 1.0)
    for d in (0.0, 0.3, 1.0, 2.0, strong):
        measured, told = few(d, 12, 60), np.interp(few(d, 12, 60), here, there)
        assert told == pytest.approx(many(d, 0.2), abs=0.04) and told <= measured
    assert np.interp(0.01, here, there) < 0.01


def test_nothing_is_told_above_what_was_measured() -> None:
    """Though the frequent class, which alone was scored, is harder than usual ones."""
    here, there = flattered(np.array([0.2, 0.1, np.nan]), np.array([30, 20, 0]), 100,
                            np.array([0.3, 0.2, 0.4]))  # fmt: skip
    assert (np.array(there) <= np.array(here)).all()


def test_one_image_says_nothing() -> None:
    here, there = flattered(np.array([1.0, np.nan]), np.array([1, 0]), 1, np.array([0.3, 0.1]))
    assert here == (0.0, 1.0) and 0.3 < there[1] < 0.7


def test_without_a_class_that_is_scored_or_known_nothing_is_taken_off() -> None:
    same = (0.0, 1.0), (0.0, 1.0)
    assert flattered(np.array([0.5]), np.array([2]), 20, np.array([0.0])) == same
    assert flattered(np.array([np.nan]), np.array([0]), 20, np.array([0.1])) == same


@pytest.mark.parametrize(("shown", "images"), [(1, 60), (2, 30), (12, 200)])
def test_drawn_ap_have_the_mean_that_is_known(shown, images) -> None:
    drawn = _drawn(shown, images).mean(axis=1)
    assert drawn[[25, 30, 35]] == pytest.approx(
        [few(d, shown, images) for d in (0, 1, 2)], abs=0.05
    )


def test_classes_that_are_hard_are_not_taken_for_easy_ones() -> None:
    """What many images tell of two classes stays: one is found and the other is not."""
    shown, shares = np.array([300, 300, 1]), np.array([0.3, 0.3, 0.001])
    here, there = map(np.array, flattered(np.array([0.95, 0.35, 0.02]), shown, 1000, shares))
    measured = (0.95 + 0.35 + 0.02) / 3
    assert -0.01 < measured - np.interp(measured, here, there) < 0.03


def test_it_foretells_mean_ap_of_many_images() -> None:
    """Classes whose distances scatter, scored on 40 images and on 8,000."""
    rng, gaps = np.random.default_rng(1), []
    shares = np.geomspace(0.4, 0.01, 30)
    for _ in range(6):
        d = rng.normal(1.5, 0.8, 30)
        shown = {n: rng.binomial(n, shares) for n in (40, 8000)}
        ap = {}
        for n, counts in shown.items():
            present = np.arange(n)[:, None] < counts
            ap[n] = average_precision(rng.normal(size=(n, 30)) + d * present, present)
        here, there = flattered(ap[40], shown[40], 40, shares)
        measured, real = np.nanmean(ap[40]), np.nanmean(ap[8000])
        gaps.append((measured - real, np.interp(measured, here, there) - real))
    before, after = np.mean(gaps, axis=0)
    assert before > 0.1 and abs(after) < 0.4 * before


def test_classes_of_which_nobody_knows_an_image_are_left_out() -> None:
    ap = np.array([0.8, 0.6, np.nan])
    one = flattered(ap, np.array([8, 3, 0]), 15, np.array([0.5, 0.2, 0.0]))
    assert one == flattered(ap[:2], np.array([8, 3]), 15, np.array([0.5, 0.2]))


def test_classes_that_show_once_are_not_taken_for_what_they_were_measured_at() -> None:
    """Of 300 classes most of which show once or not at all, far less is true than is measured."""
    rng, gaps = np.random.default_rng(5), []
    shares = 0.4 / np.arange(1, 301)
    for _ in range(3):
        d, shown = rng.normal(1.7, 0.6, 300), rng.binomial(60, shares)
        present = np.arange(60)[:, None] < shown
        ap = average_precision(rng.normal(size=(60, 300)) + d * present, present)
        real = np.mean([many(one, share) for one, share in zip(d, shares, strict=True)])
        measured = np.nanmean(ap)
        gaps.append(
            (measured - real, np.interp(measured, *flattered(ap, shown, 60, shares)) - real)
        )
    before, after = np.mean(gaps, axis=0)
    assert before > 0.25 and abs(after) < 0.06


@pytest.mark.parametrize("ends", [(3.0, 0.2), (0.2, 3.0)])
def test_rare_classes_may_be_harder_or_easier(ends) -> None:
    rng, gaps = np.random.default_rng(2), []
    shares, d = 0.6 / np.arange(1, 21) ** 1.2, np.linspace(*ends, 20)
    real = np.mean([many(one, share) for one, share in zip(d, shares, strict=True)])
    for _ in range(12):
        shown = rng.binomial(60, shares)
        present = np.arange(60)[:, None] < shown
        ap = average_precision(rng.normal(size=(60, 20)) + d * present, present)
        gaps.append(np.interp(np.nanmean(ap), *flattered(ap, shown, 60, shares)) - real)
    assert abs(np.mean(gaps)) < 0.08
