"""How well test images tell mAP."""

import numpy as np
import pytest

from simkit.annotate.evaluation import evaluation_set
from simkit.planning.pilot.half_width import half_width, of_counts
from simkit.planning.pilot.standin import like

TRUTH = like(20, 2.0, images=1000)


def test_so_many_images_are_enough_for_it() -> None:
    found = half_width(TRUTH, 225)
    assert evaluation_set(found * 1.0001, TRUTH, "careful").images <= 225
    assert evaluation_set(found * 0.9, TRUTH, "careful").images > 225


def test_more_images_tell_more_and_one_tells_nothing() -> None:
    few, many = (half_width(TRUTH, images) for images in (100, 400))
    assert 1.8 < few / many < 2.2
    assert half_width(TRUTH, 1) == 99.0
    assert half_width(np.zeros(3), 50) == 99.0


def test_it_is_of_this_set_though_a_smaller_one_had_less_classes_to_miss() -> None:
    """Of 49 images, the four rare classes would be left out."""
    shares = np.array([0.9] + [1 / 50] * 4)
    assert half_width(shares, 49) < 20 < 35 < half_width(shares, 50)
    assert half_width(shares, 50) == pytest.approx(38.9, abs=0.1)


def test_what_is_counted_is_known() -> None:
    assert of_counts(np.array([0, 0])) == 99.0
    one = 98.0 * (0.25 + 1 + 1) ** 0.5 / 3  # 1.96 sqrt(0.25), in points
    assert of_counts(np.array([4, 1, 1, 0])) == pytest.approx(one, rel=1e-3)
    plenty = np.array([400, 200, 100])
    assert of_counts(plenty) == pytest.approx(half_width(plenty / 1000, 1000), rel=0.02)
