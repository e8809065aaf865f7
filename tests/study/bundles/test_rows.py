import json

import numpy as np
import pytest
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.bundles.buying import buy
from simkit.study.bundles.work import run
from simkit.study.material.material import opened

from simkit.annotate.prices import cost
from simkit.labels.effort import Effort


def rows_of(grid):
    material = opened(source_of(grid))
    bundle = plan(grid, material)[0]
    return run(bundle).rows, bundle, material


def test_what_is_known_of_each_class_is_counted(small):
    rows, bundle, material = rows_of(small(budgets=[30], methods=["an"], reference=False))
    for row, purchase in zip(rows, bundle.purchases, strict=True):
        codes = buy(purchase, bundle, material).train.codes.toarray()
        assert row["class_present"] == (codes == 1).sum(0).tolist()
        assert row["class_absent"] == (codes == -1).sum(0).tolist()
        assert sum(row["class_present"]) == row["present"]


@pytest.mark.parametrize(
    ("values", "of"),
    [
        ({}, None),
        ({"curves": True}, "test"),
        ({"validation": "complete", "budgets": [60]}, "val"),
    ],
)
def test_the_curve_says_which_split_it_is_of(small, values, of):
    rows, *_ = rows_of(small(methods=["an"], **values))
    for row in rows:
        assert row["curve_of"] == of and len(row["curve"]) == (0 if of is None else 2)
        assert len(row["losses"]) == 2 and np.isfinite(row["losses"]).all()
    if of == "test":
        assert rows[0]["curve"][-1] == pytest.approx(rows[0]["map"], abs=1e-6)


def test_watching_the_test_split_changes_nothing(small):
    plain, *_ = rows_of(small(methods=["an"]))
    watched, *_ = rows_of(small(methods=["an"], curves=True))
    assert [row["ap"] for row in plain] == [row["ap"] for row in watched]


def test_the_environment_is_recorded(small):
    rows, *_ = rows_of(small(methods=["an"]))
    found = json.loads(rows[0]["environment"])
    assert {"simkit", "torch", "numpy", "python", "system", "machine", "device"} < set(found)
    assert found["threads"] == 1
    assert 0 < rows[0]["train_seconds"] < rows[0]["bundle_seconds"]


@pytest.mark.parametrize("validation", ["none", "complete"])
def test_the_questions_can_be_priced_again(small, validation):
    rows, bundle, _ = rows_of(small(budgets=[60], methods=["an"], validation=validation))
    for row in rows:
        dollars = cost(Effort.from_json(json.loads(row["effort"])), bundle.prices).dollars
        assert (row["validation_effort"] is None) == (validation == "none")
        if row["validation_effort"]:
            held = Effort.from_json(json.loads(row["validation_effort"]))
            dollars += cost(held, bundle.prices.once_set_up()).dollars
        assert dollars == pytest.approx(row["dollars"], abs=1e-9)
