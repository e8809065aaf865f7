"""mAP on few test images, and on many."""

import numpy as np
import pytest

from simkit.learn.metrics import average_precision
from simkit.planning.evidence.flattery import MOST, few, flattered, many


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
    assert len(here) == 2 * MOST + 1
    assert (np.diff(here) >= 0).all() and (np.diff(there) > 0).all()
    middle = (here > 0.5) & (here < 0.9)
    assert (here - there)[middle].min() > 0.1
    same = [np.array(one) for one in flattered(ap, (2000 * shares).astype(int), 2000, shares)]
    assert np.abs(same[0] - same[1]).max() < 0.02
    assert same[0][MOST] == pytest.approx(ap.mean(), abs=0.02)  # as it was measured


def test_classes_that_are_hard_are_not_taken_for_easy_ones() -> None:
    """What many images tell of two classes stays: one is found and the other is not."""
    shown, shares = np.array([300, 300, 1]), np.array([0.3, 0.3, 0.001])
    here, there = map(np.array, flattered(np.array([0.95, 0.35, 0.02]), shown, 1000, shares))
    assert here[MOST] == pytest.approx((0.95 + 0.35 + 0.02) / 3, abs=0.02)
    assert 0 < here[MOST] - there[MOST] < 0.03


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
