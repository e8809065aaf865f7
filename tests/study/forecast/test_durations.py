import dataclasses

import pytest
from simkit.study.bundles.agenda import purchases, source_of
from simkit.study.forecast.durations import Size, of_backbone, of_stack, seconds, size_of
from simkit.study.material.material import opened


def test_a_stack_is_read_once_and_stepped_for_every_run():
    size = Size(images=100, classes=4, width=10, each_epoch=20, at_end=30)
    steps, scored = 2 * 2, 2 * 20 + 30
    once = 2e-4 * steps + 3.3e-8 * 10 * (2 * 100 + scored)
    each = 2.8e-4 * steps + 4 * 10 * (4 * 2 * 100 + 2 * scored) / 4e10 + 2e-8 * scored * 4
    assert of_stack(3, size, epochs=2, batch_size=64) == pytest.approx(once + 3 * each)
    assert of_backbone(60_000_000_000) == 2.0


def test_what_heads_work_on(small):
    grid = small(curves=True)
    material = opened(source_of(grid))
    pooled, maps = (size_of(kind, grid, material) for kind in ("pooled", "maps"))
    assert (pooled.images, pooled.classes, pooled.points) == (120, 52, 1)
    assert (pooled.each_epoch, pooled.at_end) == (80, 80)
    assert maps == dataclasses.replace(pooled, points=maps.points) and maps.points > 1
    assert size_of("pooled", small(), material).each_epoch == 0


def test_a_budget_that_buys_images_is_counted_by_their_price(small):
    grid = small(schemes=["full-subset", "rpa"], budgets=[20, 60], hours=[2])
    material = opened(source_of(grid))
    full = {str(one): seconds(one, grid, material) for one in purchases(grid)}
    everything = seconds(purchases(small(budgets=[], schemes=["rpa"]))[0], grid, material)
    # All 120 images cost about 63 dollars, and asking about them takes 4.2 hours.
    assert full["full-subset, budget 20"] < 0.5 * everything
    assert full["full-subset, budget 20"] < full["full-subset, 2 hours"] < 0.7 * everything
    assert 0.9 * everything < full["full-subset, budget 60"] < everything
    assert full["rpa, budget 20"] == everything  # it buys more labels of the same images
