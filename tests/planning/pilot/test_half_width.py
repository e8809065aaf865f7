"""How well test images tell mAP."""

from simkit.annotate.evaluation import evaluation_set
from simkit.annotate.prices import prices
from simkit.planning.pilot.half_width import half_width
from simkit.planning.pilot.standin import like

TRUTH = like(20, 2.0, images=1000)


def test_so_many_images_are_just_enough_for_it() -> None:
    found = half_width(TRUTH, prices("careful"), 225)
    assert evaluation_set(found, TRUTH, "careful").images <= 225
    assert evaluation_set(found * 0.98, TRUTH, "careful").images > 225


def test_more_images_tell_more_and_one_tells_nothing() -> None:
    few, many = (half_width(TRUTH, prices("careful"), images) for images in (100, 400))
    assert 1.8 < few / many < 2.2
    assert half_width(TRUTH, prices("careful"), 1) > 50
