"""Complete labels for a share of the images, weak ones for the others."""

import numpy as np
import pytest

from simkit.annotate import schemes
from simkit.annotate.prices import cost
from simkit.annotate.simulate import simulate
from simkit.chance import Chance
from simkit.errors import BadInput


def complete(seed: int, share: float, images: np.ndarray) -> np.ndarray:
    """Which images are complete, worked out from their own numbers."""
    chance = Chance.seeded(seed).of("draw", 0).of("scheme", "mixed").of("complete")
    return np.array([int(number) < share * 2**64 for number in chance(images)])


def test_a_share_is_complete_and_the_others_have_one_label(truth):
    labels = simulate(truth, "mixed(share=0.25)", seed=4)
    codes, present = labels.codes.toarray(), truth.present.toarray()
    full = complete(4, 0.25, np.arange(300))
    assert np.array_equal(codes[full], np.where(present[full], 1, -1))
    assert (codes[~full].sum(1) == 1).all() and (codes[~full] >= 0).all()
    assert labels.asked.all()
    # A quarter of 300 images, with 4 standard deviations of a binomial number: 75 +- 30.
    assert 45 < full.sum() < 105


def test_every_question_is_billed_under_its_own_kind(truth):
    labels = simulate(truth, "mixed(share=0.25)", images=120, seed=4)
    asked = np.flatnonzero(labels.asked)
    full = int(complete(4, 0.25, asked).sum())
    assert labels.effort.counts() == {
        "name": 120 - full, "sweep": 12 * full, "workers": None, "dropped": 0,
    }  # fmt: skip
    bill = cost(labels, "careful")  # 1 s for a class of a sweep, 2 s for a name, at $15 an hour
    assert bill.dollars == pytest.approx((12 * full + 2 * (120 - full)) * 15 / 3600)


def test_the_rest_is_spelled_completely():
    spelled = schemes.spell(schemes.make("mixed(rest=rpa)"))
    assert spelled == "mixed(share=0.2, rest='rpa(keep=0.1)')"
    assert schemes.make("mixed(rest=single-positive)") == schemes.make("mixed")
    assert schemes.make(spelled) == schemes.make("mixed(rest='rpa(keep=0.1)')")


def test_it_needs_what_its_rest_needs():
    plain, deep = schemes.make("mixed"), schemes.make("mixed(rest=knowledge-graph)")
    assert not plain.needs_hierarchy and deep.needs_hierarchy
    assert not plain.needs_boxes
    assert schemes.make("mixed(rest='single-positive(bias=size)')").needs_boxes


@pytest.mark.parametrize(
    "spec,message",
    [
        ("mixed(rest=rpb)", "no scheme is called 'rpb'"),
        ("mixed(rest=fpc)", "mixed: rest is 'fpc'"),
        ("mixed(rest=mixed)", "mixed: rest is 'mixed'"),
    ],
)
def test_rests_that_cannot_be(spec, message):
    with pytest.raises(BadInput) as error:
        schemes.make(spec)
    assert message in str(error.value)
