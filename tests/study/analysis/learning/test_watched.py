"""Every method has its own watcher, and truth says what assumed negatives are."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, train
from simkit.study.analysis.learning.watched import KINDS, innermost, kinds, watched

CODES = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 0], [1, 0, -1]])
PRESENT = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 0, 1]], bool)
ASKED = np.array([True, True, False, True])
LABELS = PartialLabels.of(CODES, asked=ASKED)
TRUTH = Truth.of(PRESENT, LABELS.images, LABELS.classes)
MAPS = np.random.default_rng(0).random((4, 5, 2, 2)).astype(np.float32)
TASK = Task(LABELS, FeatureInputs(MAPS))


class Counting:
    def __init__(self, method) -> None:
        self.method, self.seen = method, []

    def __call__(self, epoch, batch, out, state) -> None:
        self.seen.append((epoch, sorted(batch.index.tolist()), out.logits.clone()))


def test_kinds_of_labels() -> None:
    tp, tn, fn = range(len(KINDS))
    # A class that somebody wrongly said to be absent is a false negative too.
    expected = [[tp, fn, tn], [tn, tn, fn], [-1, -1, -1], [tp, tn, fn]]
    np.testing.assert_array_equal(kinds(LABELS, TRUTH), expected)
    known = np.ones((4, 3), bool)
    known[0, 1] = False
    partly = Truth.of(PRESENT & known, LABELS.images, LABELS.classes, known)
    assert kinds(LABELS, partly)[0].tolist() == [tp, -1, tn]


def test_truth_about_other_images_is_refused() -> None:
    with pytest.raises(BadInput, match="other images or classes than the truth"):
        kinds(LABELS, Truth.of(PRESENT, LABELS.images + 1, LABELS.classes))


def test_methods_are_watched_each_as_if_it_were_alone() -> None:
    settings = Settings(epochs=2, batch_size=2)
    found = watched(TASK, ["an", "ll-r"], Counting, settings=settings, seed=3)
    assert list(found) == ["an", "ll-r"] and found["ll-r"].method == make("ll-r")
    alone = Counting(None)
    train(TASK, make("ll-r"), watch=[alone], settings=settings, seed=3)
    assert [step[:2] for step in found["ll-r"].seen] == [step[:2] for step in alone.seen]
    for (*_, logits), (*_, same) in zip(found["ll-r"].seen, alone.seen, strict=True):
        np.testing.assert_allclose(logits, same, atol=1e-5)
    assert {epoch for epoch, *_ in alone.seen} == {1, 2}
    assert {row for _, rows, _ in alone.seen for row in rows} == {0, 1, 3}  # asked


def test_one_method_as_text() -> None:
    assert list(watched(TASK, "an", Counting, settings=Settings(epochs=1))) == ["an"]


def test_a_backbone_learns_with_one_method_after_the_other() -> None:
    import torch

    from simkit.learn.feeding.inputs import ImageInputs

    class Small(torch.nn.Module):
        width = 4

        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)

        def prepare(self, pictures):
            return pictures.float() / 255

        def forward(self, x):
            return torch.relu(self.conv(x))

    pictures = np.random.default_rng(1).integers(0, 256, (4, 3, 8, 8), np.uint8)
    task = Task(LABELS, ImageInputs(pictures))
    how = {"settings": Settings(epochs=1), "device": "cpu"}
    torch.manual_seed(0)
    found = watched(task, ["an", "ignore"], Counting, backbone=Small(), **how)
    first, second = (found[name].seen[0][2] for name in ("an", "ignore"))
    np.testing.assert_allclose(first.detach(), second.detach())  # both from the same start


def test_no_methods_and_unknown_settings_are_refused() -> None:
    with pytest.raises(BadInput, match="no method is named"):
        watched(TASK, [], Counting)
    with pytest.raises(BadInput, match="no setting of a watched training is called 'checkpoint'"):
        watched(TASK, ["an"], Counting, checkpoint="file")


def test_innermost_sees_what_wrappers_change() -> None:
    method = make("ll-r+boostlu")
    seen = []

    def look(epoch, batch, out, state) -> None:
        seen.append((out.logits, *innermost(method, out, state)))

    train(TASK, method, watch=[look], settings=Settings(epochs=1))
    plain, inside, out, state = seen[0]
    assert inside == make("ll-r") and hasattr(state, "rate")
    assert (out.logits >= plain - 1e-6).all() and (out.logits > plain + 1e-3).any()
