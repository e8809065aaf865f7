import dataclasses

import pytest

from simkit.errors import BadInput
from simkit.learn.optim import Settings
from simkit.study.agenda import _packed, check, plan, purchases, source_of
from simkit.study.material import opened


def test_purchases_come_by_scheme_and_limit_and_references_last(small):
    grid = small(methods=["an", "an+boostlu"], hours=[2])
    told = [(one.scheme, one.budget, one.hours) for one in purchases(grid)]
    assert told == [
        (scheme, *limit)
        for scheme in ("single-positive", "fpc(per_class=10)")
        for limit in ((10.0, None), (30.0, None), (None, 2.0))
    ] + [("full-subset", None, None)]
    last = purchases(grid)[-1]
    assert last.reference and last.methods == ("full", "full+boostlu")


def test_little_work_travels_together_and_much_of_it_does_not(small):
    grid = small()
    bundles = plan(grid, opened(source_of(grid)))
    assert [b.draw for b in bundles] == [0, 1]
    assert [b.purchases for b in bundles] == [tuple(purchases(grid))] * 2
    assert len({b.key for b in bundles}) == 2
    longer = dataclasses.replace(grid, train=Settings(epochs=3000, batch_size=16))
    parts = plan(longer, opened(source_of(longer)))
    assert [b.purchases for b in parts] == [(one,) for one in purchases(longer)] * 2


def test_neighbours_share_a_bundle_until_it_is_worth_shipping():
    work = {"a": 4.0, "b": 5.0, "c": 3.0, "d": 30.0, "e": 2.0}
    assert _packed([*"abcde"], work.get) == [["a", "b", "c"], ["d", "e"]]
    assert _packed([*"abcdab"], work.get) == [["a", "b", "c"], ["d", "a", "b"]]
    assert _packed(["e"], work.get) == [["e"]]


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
