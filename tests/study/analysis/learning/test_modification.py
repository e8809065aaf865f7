"""What is modified is counted, against truth and against each method's own rule."""

import numpy as np
import pytest
import torch

from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.methods.pieces.remembered import unpack
from simkit.learn.train import Settings, train
from simkit.study.analysis.learning.modification import MODIFICATION, modification, selections

N, L = 64, 10


def drawn():
    """One named class for each of 64 images with about three; maps that show what is there."""
    rng = np.random.default_rng(6)
    present = rng.random((N, L)) < 0.3
    present[:, 0] |= ~present.any(1)
    codes = np.zeros((N, L), int)
    codes[np.arange(N), (present * rng.random((N, L))).argmax(1)] = 1
    labels = PartialLabels.of(codes, asked=np.ones(N, bool))
    seen = present @ rng.standard_normal((L, 32)) + 0.1 * rng.standard_normal((N, 32))
    maps = (seen[..., None, None] * rng.random((N, 1, 2, 2))).astype(np.float32)
    return Task(labels, FeatureInputs(maps)), Truth.of(present, labels.images, labels.classes)


HOW = {"settings": Settings(epochs=4, batch_size=16, lr=0.05)}


def test_counts_follow_the_rules_of_the_methods() -> None:
    task, truth = drawn()
    specs = ["ll-r(delta=5)", "ll-ct(delta=5)", "ll-cp(delta=5)", "an"]
    table = modification(task, truth, specs, **HOW)
    assert table.schema == MODIFICATION
    counts = {
        spec: [row["modified"] for row in table.to_pylist() if row["method"] == spec]
        for spec in specs
    }
    # (t - 1) * 5 % of 640 labels; LL-Cp always 5 %, added up; batches of 160 divide evenly.
    assert counts["ll-r(delta=5)"] == counts["ll-ct(delta=5)"] == [0, 32, 64, 96]
    assert counts["ll-cp(delta=5)"] == [0, 32, 64, 96] and counts["an"] == [0, 0, 0, 0]
    assert {row["method"] for row in table.to_pylist() if row["lasting"]} == {"ll-cp(delta=5)"}
    missed = truth.present.nnz - N
    for row in table.to_pylist():
        assert row["chance"] == pytest.approx(missed / (N * L - N))
        assert row["found"] == pytest.approx(row["right"] / missed)
        assert row["precision"] == (row["right"] / row["modified"] if row["modified"] else None)
    best = table.to_pylist()[3]  # ll-r in the fourth epoch
    assert best["precision"] > 1.3 * best["chance"]
    *_, before, last = selections(task, ["ll-r(delta=5)"], **HOW)["ll-r(delta=5)"].of_epochs()
    assert best["right"] == (last & truth.rows(range(N))).sum()
    assert best["again"] == pytest.approx((before & last).sum() / 64) and best["again"] < 1
    lasting = [row["again"] for row in table.to_pylist() if row["lasting"]]
    assert lasting == [None, None, 1, 1]


def test_corrections_for_good_are_those_of_the_state() -> None:
    task, _ = drawn()
    trained = train(task, make("ll-cp(delta=5)"), **HOW)
    seen = selections(task, "ll-cp(delta=5)", **HOW)["ll-cp(delta=5)"]
    known = task.labels.rows(range(N)) == 1
    last = unpack(trained.state.present, L).numpy() & ~known
    np.testing.assert_array_equal(seen.of_epochs()[-1], last)
    first, second = seen.of_epochs()[1:3]
    assert (second | first == second).all() and seen.lasting


def test_selections_are_those_of_a_wrapped_method() -> None:
    task, _ = drawn()
    method, kept = make("ll-cp(delta=5)+boostlu"), np.zeros((N, L), bool)

    def look(epoch, batch, out, state) -> None:
        with torch.no_grad():
            kept[batch.index] |= method.selected(batch, out, state).numpy()

    train(task, method, watch=[look], **HOW)
    spec = "ll-cp(delta=5)+boostlu"
    seen = selections(task, [spec], **HOW)[spec]
    assert seen.lasting
    np.testing.assert_array_equal(seen.of_epochs()[-1], kept)


@pytest.mark.filterwarnings("ignore:method 'll-r-abs' modifies every unknown label")
def test_known_labels_and_images_without_labels_are_not_counted() -> None:
    task, truth = drawn()
    asked = np.arange(N) < 40
    codes = np.where(asked[:, None], task.labels.rows(range(N)), 0)
    fewer = Task(PartialLabels.of(codes, asked=asked), task.inputs)
    table = modification(fewer, truth, ["ll-r-abs(r0=0.1,delta=0.1)"], **HOW)
    # From the first epoch on the threshold is 0: all that is unknown is modified.
    assert table["modified"].to_pylist() == [40 * (L - 1)] * 4
    assert table["found"].to_pylist() == [1.0] * 4
    assert table["precision"].to_pylist() == table["chance"].to_pylist()


def test_complete_labels_leave_nothing_to_modify() -> None:
    task, truth = drawn()
    full = Task(PartialLabels.of(np.where(truth.rows(range(N)), 1, -1)), task.inputs)
    (last,) = modification(full, truth, ["ll-r"], settings=Settings(epochs=1)).to_pylist()
    assert last["modified"] == 0
    assert last["precision"] is last["found"] is last["chance"] is None
