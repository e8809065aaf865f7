import dataclasses

import numpy as np
import pytest
from simkit.study.bundles import work
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.bundles.stacks import stacks
from simkit.study.material.material import opened

from simkit.study import runs


def of_bundle(grid):
    """The runs of the first bundle, before they are trained."""
    material = opened(source_of(grid))
    bundle = plan(grid, material)[0]
    found = []
    for purchase in bundle.purchases:
        found += work._bought(purchase, bundle, material, {}, {})
    return found


def told(stack):
    return [(run.purchase.scheme, run.spec) for run in stack]


def test_runs_of_several_schemes_about_the_same_images_share_a_stack(small):
    grid = small(budgets=[], methods=["an", "an+boostlu", "ll-r"], images=0.5, reference=False)
    pooled, maps = stacks(of_bundle(grid), scored=80, memory=1.0)
    schemes = ("single-positive", "fpc(per_class=10)")
    assert told(pooled) == [(s, m) for s in schemes for m in ("an", "ll-r")]
    assert told(maps) == [(s, "an+boostlu") for s in schemes]
    assert {run.kind for run in pooled} == {"pooled"} and {run.kind for run in maps} == {"maps"}


def test_other_images_or_other_validation_labels_make_another_stack(small):
    grid = small(budgets=[10, 30], schemes=["full-subset"], methods=["an"], reference=False)
    found = of_bundle(grid)
    assert len(found[0].task.rows) < len(found[1].task.rows)
    assert [len(stack) for stack in stacks(found, scored=80, memory=1.0)] == [1, 1]
    held = small(budgets=[], validation="partial", methods=["an"], reference=False)
    assert [len(s) for s in stacks(of_bundle(held), scored=80, memory=1.0)] == [1, 1]
    complete = dataclasses.replace(held, validation="complete")
    assert [len(s) for s in stacks(of_bundle(complete), scored=80, memory=1.0)] == [2]


def test_a_stack_stays_within_its_memory(small):
    grid = small(budgets=[], methods=["an", "ignore", "ll-r", "role"], reference=False)
    found = of_bundle(grid)
    one = found[0].bytes(80)
    images, classes, width = 120, 52, found[0].task.inputs.width
    assert one == round(1.4 * (16 * classes * width + classes * (images + 4 * 80)))
    assert found[3].bytes(80) > one  # role keeps an estimate of every label
    sizes = [len(stack) for stack in stacks(found, scored=80, memory=3.5 * one / 1e9)]
    assert sum(sizes) == 8 and max(sizes) <= 3
    assert [len(stack) for stack in stacks(found, scored=80, memory=1e-9)] == [1] * 8


def test_how_runs_are_stacked_changes_the_last_bits_alone(small):
    grid = small(budgets=[], methods=["an", "ll-r"], reference=False)
    material = opened(source_of(grid))
    together = plan(grid, material)[0]
    alone = dataclasses.replace(together, memory=1e-9)
    rows, others = work.run(together).rows, work.run(alone).rows
    assert {row["stack"] for row in rows} == {4} and {row["stack"] for row in others} == {1}
    for one, other in zip(rows, others, strict=True):
        assert one["labels_id"] == other["labels_id"]
        np.testing.assert_allclose(one["losses"], other["losses"], atol=1e-5)
        assert one["map"] == pytest.approx(other["map"], abs=2e-3)
    assert set(rows[0]) == set(runs.SCHEMA.names)
