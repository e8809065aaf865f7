import pytest

from simkit.errors import BadInput
from simkit.study.agenda import check, plan, source_of
from simkit.study.material import opened


def test_bundles_come_by_scheme_budget_and_draw_and_references_last(small):
    grid = small(methods=["an", "an+boostlu"])
    bundles = plan(grid, opened(source_of(grid)))
    told = [(b.scheme, b.budget, b.draw) for b in bundles if not b.reference]
    assert told == [
        (scheme, budget, draw)
        for scheme in ("single-positive", "fpc(per_class=10)")
        for budget in (10.0, 30.0)
        for draw in (0, 1)
    ]
    assert [(b.methods, b.budget, b.draw) for b in bundles if b.reference] == [
        (("full", "full+boostlu"), None, draw) for draw in (0, 1)
    ]
    assert bundles[-1].reference and len({b.key for b in bundles}) == 10


def test_only_splits_and_kinds_that_are_used_are_opened(small):
    plain = source_of(small(methods=["an"]))
    assert plain.splits == ("train", "test") and plain.kinds == ("pooled",)
    chosen = source_of(small(validation="partial"))
    assert chosen.splits == ("train", "val", "test") and set(chosen.kinds) == {"pooled", "maps"}


def test_one_image_is_one_and_a_share_of_one_is_all(small):
    material = opened(source_of(small()))
    for images in (1, 1.0, 120):
        check(small(images=images), material)
    with pytest.raises(BadInput, match=r"^images is 121, but there are 120; ask for that many"):
        check(small(images=121), material)
