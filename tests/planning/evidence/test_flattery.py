"""mAP on few test images, and on many."""

import numpy as np
import pytest

from simkit.learn.metrics import average_precision
from simkit.planning.evidence.flattery import APART, few, flattered, many


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
    shares = np.array([0.5, 0.2, 0.05, 0.02, 0.01])
    here, there = map(np.array, flattered(np.array([8, 3, 1, 0, 0]), 15, shares))
    assert len(here) == len(APART)
    assert (np.diff(here) >= 0).all() and (np.diff(there) > 0).all()
    middle = (here > 0.5) & (here < 0.9)
    assert (here - there)[middle].min() > 0.1
    same = [np.array(one) for one in flattered((2000 * shares).astype(int), 2000, shares)]
    assert np.abs(same[0] - same[1]).max() < 0.02


def test_classes_of_which_nobody_knows_an_image_are_left_out() -> None:
    one = flattered(np.array([8, 3, 0]), 15, np.array([0.5, 0.2, 0.0]))
    assert one == flattered(np.array([8, 3]), 15, np.array([0.5, 0.2]))
