"""Whoever waits for a training is told after every step, every epoch and when it goes on."""

import numpy as np
import pytest

from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.selection import TrainingProgress
from simkit.learn.train import train
from simkit.learn.validation import Validation


class Seen:
    """A progress that keeps what it is told, and may stop at one place."""

    def __init__(self, stop: float = 0) -> None:
        self.stop = stop
        self.calls: list[tuple[int, int]] = []
        self.told_of: list[TrainingProgress] = []

    def __call__(self, done: int, of: int) -> None:
        self.calls.append((done, of))

    def report(self, here: TrainingProgress) -> None:
        self.told_of.append(here)
        if here.epochs == self.stop and here.loss is None:
            raise KeyboardInterrupt


def test_steps_epochs_and_what_goes_on(tmp_path) -> None:
    rng = np.random.default_rng(0)
    codes = rng.choice([-1, 1], (12, 3))
    inputs = FeatureInputs(rng.random((12, 5), np.float32))
    task = Task(labels=PartialLabels.of(codes), inputs=inputs)
    held = Validation(inputs, Truth.of(codes > 0))
    given = {"settings": Settings(epochs=2, batch_size=6), "validation": held}
    given["checkpoint"] = tmp_path / "ck"
    seen = Seen(stop=1.5)
    with pytest.raises(KeyboardInterrupt):
        train(task, make("an"), progress=seen, **given)
    assert [here.epochs for here in seen.told_of] == [0.5, 1, 1, 1.5]
    again = Seen()
    found = train(task, make("an"), progress=again, **given)
    first, *steps, last = again.told_of
    assert first == TrainingProgress(1, 2, found.losses[0], found.validation[0], resumed=True)
    assert [here.epochs for here in steps] == [1.5, 2]
    assert all(here.loss is None and not here.resumed for here in steps)
    assert last == TrainingProgress(2, 2, found.losses[1], found.validation[1])
    assert seen.calls == [(1, 2)] and again.calls == [(2, 2)]
