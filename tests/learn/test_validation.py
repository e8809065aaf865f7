import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csc_array

from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.selection import Curve
from simkit.learn.train import train_stack
from simkit.learn.validation import Validation
from simkit.metrics import average_precision, mean_ap

PRESENT = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], bool)
SCORES = np.array([[0.9, 0.1], [0.5, 0.2], [0.1, 0.3], [0.0, 0.0]], np.float32)


def test_what_the_labels_are_is_said():
    truth, partial = Truth.of(PRESENT), PartialLabels.of(np.where(PRESENT, 1, -1))
    masked = Truth.of(PRESENT, known=np.ones((4, 2), bool))
    kinds = [Validation(None, labels).kind for labels in (truth, partial, masked, None)]
    assert kinds == ["complete", "partial", "partial", "none"]
    assert Validation(None, truth).id == truth.id and Validation(None).id is None


def test_scored_on_what_is_known():
    complete = Validation(None, Truth.of(PRESENT)).score(SCORES)
    assert complete == pytest.approx(((1 + 2 / 3) / 2 + 1) / 2)
    codes = np.where(PRESENT, 1, -1)
    codes[1, 0] = 0  # without the image between the two hits
    assert Validation(None, PartialLabels.of(codes)).score(SCORES) == 1.0


def test_scores_of_known_labels_alone_give_the_same(pooled, present):
    known = pooled.labels.codes.astype(bool)
    truth = Truth.of(present & known.toarray(), known=known)
    runs, settings = [(pooled, make("an")), (pooled, make("em"))], Settings(epochs=2)
    for trained in train_stack(
        runs, settings=settings, validation=Validation(pooled.inputs, truth)
    ):
        every = trained.scores(pooled.inputs)
        some = trained.scores(pooled.inputs, known=known)
        assert (
            some.nnz == known.nnz and (some.toarray() == np.where(known.toarray(), every, 0)).all()
        )
        wanted = average_precision(every, present, known)
        np.testing.assert_array_equal(average_precision(some, present), wanted)
        assert trained.validation[-1] == mean_ap(wanted)
        by_column = csc_array(known)
        assert (trained.scores(pooled.inputs, known=by_column) != some).nnz == 0
        held = Validation(pooled.inputs, Truth.of(present), known=by_column)
        assert (held.entries != known).nnz == 0


def test_only_what_counts_is_scored():
    truth, partial = Truth.of(PRESENT), PartialLabels.of(np.where(PRESENT, 1, -1))
    counts = np.ones((4, 2), bool)
    counts[1, 0] = False
    for labels in (truth, partial):
        assert Validation(None, labels, known=counts).score(SCORES) == 1.0
        first = Validation(None, labels, classes=np.array([0]))
        assert first.score(SCORES) == pytest.approx((1 + 2 / 3) / 2)
        assert Validation(None, labels, counts, np.array([0])).score(SCORES) == 1.0
        ids = {Validation(None, labels, known, classes).id
               for known in (None, counts) for classes in (None, np.array([0]))}  # fmt: skip
        assert len(ids) == 4
    masked = Truth.of(PRESENT, known=~np.eye(4, 2, dtype=bool))
    assert Validation(None, masked, known=counts).score(SCORES) == 1.0


def test_the_first_of_equals_is_kept_and_patience_ends_a_run():
    curve, settings = Curve(), Settings(select="best", patience=2)
    scores = [0.3, 0.5, 0.5, 0.4, 0.9]
    assert [e for e, s in enumerate(scores, 1) if curve.improves(e, s, settings)] == [1, 2]
    assert curve.epoch == 2 and curve.stopped


@pytest.mark.parametrize("scores, epoch", [("--1", 3), ("1--", 1), ("---", 3)])
def test_the_last_epoch_is_kept_until_there_is_a_score(scores, epoch):
    curve, settings = Curve(), Settings(select="best", patience=2)
    values = [float("nan") if score == "-" else 0.1 for score in scores]
    better = [e for e, value in enumerate(values, 1) if curve.improves(e, value, settings)]
    assert better[-1] == epoch == curve.epoch


def test_a_dense_mask_of_what_counts_stays_dense():
    rng = np.random.default_rng(0)
    scores, present = rng.random((20_000, 500), np.float32), rng.random((20_000, 500)) < 0.01
    counts = np.ones(present.shape, bool)
    counts[0] = False
    held = Validation(None, Truth.of(present), counts, np.arange(400))
    tracemalloc.start()
    found = held.score(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15e6  # a copy of the scores would be 32 MB, places of the mask 90
    assert found == mean_ap(average_precision(scores, present, counts)[:400])
