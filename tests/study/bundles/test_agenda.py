import dataclasses

import pytest
from simkit.study.bundles import agenda
from simkit.study.bundles.agenda import _packed, _side_by_side, check, plan, purchases, source_of
from simkit.study.bundles.bundle import Purchase
from simkit.study.bundles.work import run
from simkit.study.material.material import opened

from simkit.errors import BadInput
from simkit.learn.steps.optim import Settings
from simkit.study.runs import MEASURED, SWEEP

IN_GROUPS = agenda._in_groups  # the other tests have it keep draws apart


def test_purchases_come_by_scheme_and_limit_and_references_last(small):
    grid = small(methods=["an", "an+boostlu"], hours=[2])
    told = [(one.scheme, one.budget, one.hours) for one in purchases(grid)]
    assert told == [
        (scheme, *limit)
        for scheme in ("single-positive", "fpc(per_class=10)")
        for limit in ((10.0, None), (30.0, None), (None, 2.0))
    ] + [("full-subset", None, None)]
    last = purchases(grid)[-1]
    assert last.reference and last.methods == ("full", "full+boostlu", "an", "an+boostlu")


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

    def packed(*names):
        return ["".join(pack) for pack in _packed([[*some] for some in names], work)]

    assert packed(*"abcde") == ["abc", "de"]
    assert packed(*"abcdab") == ["abc", "dab"]
    assert packed("ab", "c", "de") == ["abc", "de"]
    assert packed("e") == ["e"]


def test_what_asks_about_every_image_travels_together():
    def together(*ordered, seconds=1.0):
        found = _side_by_side(ordered, dict.fromkeys(ordered, seconds))
        return [[str(one) for one in some] for some in found]

    whole = [Purchase(name, ("an",)) for name in ("single-positive", "full-subset")]
    cells = [Purchase(name, ("an",)) for name in ("rpa(keep=0.1)", "fpc(per_class=3)")]
    bought = Purchase("single-positive", ("an",), budget=5.0)
    assert together(whole[0], cells[0], bought, whole[1], cells[1]) == [
        ["single-positive", "full-subset"],
        ["rpa(keep=0.1)"], ["single-positive, budget 5"], ["fpc(per_class=3)"],
    ]  # fmt: skip
    assert together(*whole, seconds=25.0) == [["single-positive"], ["full-subset"]]


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


def test_draws_that_are_soon_done_travel_together():
    assert IN_GROUPS((0, 1, 2, 3, 4), 30.0) == [(0,), (1,), (2,), (3,), (4,)]
    assert IN_GROUPS((0, 1, 2, 3, 4), 4.0) == [(0, 1, 2), (3, 4)]
    assert IN_GROUPS((0, 1, 2, 3, 4), 0.0) == [(0, 1, 2, 3, 4)]
    assert IN_GROUPS((SWEEP,), 0.1) == [(SWEEP,)]


def test_draws_that_travel_together_give_what_they_give_alone(tiny, monkeypatch):
    grid = tiny(methods=["an", "full"], draws=3)  # full fails under rpa
    material = opened(source_of(grid))
    alone = [run(bundle) for bundle in plan(grid, material)]
    monkeypatch.setattr(agenda, "_in_groups", IN_GROUPS)
    (bundle,) = plan(grid, material)
    assert bundle.draws == (0, 1, 2) and str(bundle).endswith("draws 0 to 2")
    done = run(bundle)
    assert {row["key"] for row in done.rows} == {bundle.key}
    measured = {name: 0.0 for name in (*MEASURED, "key")}
    together = [row | measured for row in done.rows]
    assert together == [row | measured for one in alone for row in one.rows]
    assert done.failures == {k: v for one in alone for k, v in one.failures.items()}
    assert len(done.failures) == 3
