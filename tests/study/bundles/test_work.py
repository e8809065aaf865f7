import dataclasses
import math
import pickle

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from simkit.study.bundles import work
from simkit.study.bundles.agenda import plan, source_of
from simkit.study.bundles.buying import buy
from simkit.study.bundles.work import run
from simkit.study.material.material import open_material, opened
from sklearn.metrics import average_precision_score

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.methods import Task
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train
from simkit.study import runs


def first(grid):
    """The first draw's first purchase alone, as a bundle."""
    material = opened(source_of(grid))
    bundle = plan(grid, material)[0]
    return dataclasses.replace(bundle, purchases=bundle.purchases[:1]), material


def without_times(rows):
    return [{k: v for k, v in row.items() if k not in runs.MEASURED} for row in rows]


def test_one_row_for_each_method_in_the_grids_order(small):
    bundle, _ = first(small(methods=["an+boostlu", "ignore", "an"]))
    rows = run(bundle).rows
    assert [row["method"] for row in rows] == ["an+boostlu", "ignore", "an"]
    for row in rows:
        assert set(row) == set(runs.SCHEMA.names)
        assert row["key"] == bundle.key and row["budget"] == 10 and row["draw"] == 0
        assert row["present"] + row["absent"] + row["unknown"] == row["images"] * 52
        assert row["scheme_spec"].startswith("single-positive(positives=1,")
        assert row["present"] == row["images"]
        assert row["train_seconds"] > 0 and row["peak_memory_mb"] > 10
    assert rows[1]["method_spec"].startswith("ignore(")


def test_the_same_bundle_gives_the_same_bits(small):
    bundle, _ = first(small())
    assert without_times(run(bundle).rows) == without_times(
        run(pickle.loads(pickle.dumps(bundle))).rows
    )


def test_threads_are_as_before(small):
    before = torch.get_num_threads()
    run(first(small())[0])
    assert torch.get_num_threads() == before


def test_scores_are_those_of_a_training_by_hand(small):
    grid = small(methods=["an", "ignore"], schemes=["full-subset"], budgets=[])
    bundle, material = first(grid)
    labels = buy(bundle.purchases[0], bundle, material).train
    task = Task(labels=labels, inputs=material.inputs("train", "pooled"))
    trained = train(task, methods.make("an"), settings=grid.train, seed=0, draw=0)
    scores = trained.scores(material.inputs("test", "pooled"))
    present = material.truth("test").present.toarray()
    by_class = [
        average_precision_score(present[:, c], scores[:, c]) if present[:, c].any() else None
        for c in range(52)
    ]
    row = run(bundle).rows[0]
    assert [ap is None for ap in row["ap"]] == [ap is None for ap in by_class]
    valid = [c for c in range(52) if by_class[c] is not None]
    # The stack trains with others; that changes nothing but the last bits, which may swap ranks.
    assert np.allclose([row["ap"][c] for c in valid], [by_class[c] for c in valid], atol=2e-3)
    leaves = [by_class[c] for c in material.data.leaves if by_class[c] is not None]
    assert row["map"] == pytest.approx(np.mean(leaves), abs=1e-3)
    assert row["map_all"] == pytest.approx(np.mean([by_class[c] for c in valid]), abs=1e-3)
    counts = present.sum(0)
    own = [c for c in material.data.leaves if by_class[c] is not None]
    weighted = sum(by_class[c] * counts[c] for c in own) / sum(counts[c] for c in own)
    assert row["map_o"] == pytest.approx(weighted, abs=1e-3)


def test_methods_see_the_same_labels_and_differ(small):
    rows = run(first(small(methods=["an", "ignore"], schemes=["rpa"], budgets=[30]))[0]).rows
    assert rows[0]["labels_id"] == rows[1]["labels_id"]
    assert rows[0]["map"] != rows[1]["map"]


def test_labels_that_choose_the_epoch_are_recorded(small):
    grid = small(validation="complete", budgets=[60], train={"epochs": 3, "select": "best"})
    for row in run(first(grid)[0]).rows:
        assert row["validation"] == "complete" and row["select"] == "best"
        assert 1 <= row["epochs"] <= 3 and row["validation_dollars"] > 20
        assert row["dollars"] <= 60


def test_what_annotation_warned_about_is_noted(small):
    grid = small(schemes=["full-subset"], budgets=[1000])
    (note,) = run(first(grid)[0]).rows[0]["notes"]
    assert note.startswith("full-subset can spend 62.63 of 1,000.00 dollars; everything was bought")


def test_a_bundle_of_other_data_is_refused(small):
    bundle, _ = first(small())
    other = dataclasses.replace(bundle, ids={**bundle.ids, "truth train": "another"})
    with pytest.raises(
        BadInput, match=r"^the data or features changed since the comparison was planned"
    ):
        run(other)


def test_a_class_that_is_present_nowhere_has_no_ap(small):
    rows = run(first(small(data="scenes:images=60,val=10,test=4"))[0]).rows
    missing = [ap for ap in rows[0]["ap"] if ap is None]
    assert missing and not math.isnan(rows[0]["map"])


def test_a_method_that_cannot_work_with_the_labels_fails_alone(small):
    grid = small(methods=["an", "full", "ignore", "ll-r"], schemes=["rpa"], budgets=[30])
    done = run(first(grid)[0])
    assert [row["method"] for row in done.rows] == ["an", "ignore", "ll-r"] and done.lasting
    (name,) = done.failures
    assert name == "rpa, budget 30, draw 0, full"
    assert done.failures[name].startswith("method 'full' needs complete labels, but ")
    without = run(first(dataclasses.replace(grid, methods=("an", "ignore", "ll-r")))[0]).rows
    for one, other in zip(done.rows, without, strict=True):
        assert one["map"] == pytest.approx(other["map"], abs=1e-3)


def test_where_every_method_fails_there_are_no_rows_and_that_lasts(small):
    done = run(first(small(methods=["full", "full+boostlu"], schemes=["rpa"], budgets=[30]))[0])
    assert done.rows == [] and done.lasting
    assert list(done.failures) == [f"rpa, budget 30, draw 0, {m}" for m in ("full", "full+boostlu")]
    for told in done.failures.values():
        assert told.startswith("method 'full' needs complete labels, but ")


def test_an_error_that_is_no_fault_of_the_input_does_not_last(small, monkeypatch):
    def broken(self, task, chance=None):
        raise MemoryError("too much")

    monkeypatch.setattr(type(methods.make("ignore")), "start", broken)
    done = run(first(small(methods=["an", "ignore"]))[0])
    assert [row["method"] for row in done.rows] == ["an"] and not done.lasting
    name = "single-positive, budget 10, draw 0, ignore"
    assert done.failures == {name: "MemoryError: too much"}


def test_the_epoch_is_chosen_over_leaves_and_without_difficult_objects(small, monkeypatch):
    grid = small(validation="complete", budgets=[60], train={"epochs": 1, "select": "best"})
    bundle, material = first(grid)
    difficult = np.zeros(material.truth("val").shape, bool)
    difficult[:, ::2] = True
    material.data.difficult["val"] = csr_array(difficult)
    seen = []
    monkeypatch.setattr(work, "train_stack", lambda *a, validation, **k: seen.append(validation))
    assert run(bundle).rows == []  # nothing is trained here
    del material.data.difficult["val"]
    assert (seen[0].known == ~difficult).all()
    assert (seen[0].classes == material.data.leaves).all()
    assert isinstance(seen[0].labels, PartialLabels)


def test_files_that_changed_are_read_again(tmp_path, small):
    def features(factor):
        rng = np.random.default_rng(0)
        found = {}
        for split, images in (("train", 120), ("test", 80)):
            found[split] = str(tmp_path / f"{split}.npz")
            np.savez(found[split], features=factor * rng.normal(size=(images, 4)))
        return found

    grid = small(features=features(1), methods=["an"], reference=False)
    before = run(plan(grid, open_material(source_of(grid)))[0]).rows
    features(2)
    bundle = plan(grid, open_material(source_of(grid)))[0]
    after = run(bundle).rows
    assert after[0]["features_id"] == bundle.ids["features train pooled"]
    assert after[0]["features_id"] != before[0]["features_id"]


def test_a_loss_that_ran_away_is_noted(tiny):
    grid = tiny(methods=["an"], draws=1, reference=False)
    for lr, said in ((0.01, 0), (1e30, 1)):
        (bundle,) = plan(grid, opened(source_of(grid)))
        rows = run(dataclasses.replace(bundle, train=Settings(epochs=2, lr=lr))).rows
        found = [note for note in rows[0]["notes"] if note.startswith("an: its loss ran away, to")]
        assert len(found) == said
