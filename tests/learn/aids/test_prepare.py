from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simkit.learn.aids.aids import Aid
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Needs, make
from simkit.learn.methods.an import AssumeNegative
from simkit.learn.steps.optim import Settings
from simkit.learn.train import train_stack


@dataclass(frozen=True, eq=False)
class MeanScore:
    """Mean logits of a model that was trained for it."""

    values: np.ndarray
    name: ClassVar[str] = "mean-score"

    @property
    def id(self) -> str:
        return f"{self.values.sum():.6f}"

    @classmethod
    def build(cls, task, *, train):
        return cls(train(task, make("ignore")).scores(task.inputs).mean(0))


@dataclass(frozen=True)
class NeedsScores(AssumeNegative):
    name: ClassVar[str] = "needs-scores"

    @property
    def needs(self) -> Needs:
        return Needs(aids=(MeanScore,))


def test_what_a_method_lacks_is_built_once(pooled):
    ready = prepare(pooled, NeedsScores(), settings=Settings(epochs=1), seed=3)
    assert ready.aid(MeanScore).values.shape == (5,) and isinstance(ready.aids[0], Aid)
    assert prepare(ready, NeedsScores()).aids[0] is ready.aids[0]
    again = prepare(pooled, NeedsScores(), settings=Settings(epochs=1), seed=3)
    assert again.aids[0].id == ready.aids[0].id


def test_a_method_without_needs_leaves_the_task_alone(pooled):
    assert prepare(pooled, make("an")) is pooled


def test_several_methods_share_what_was_built(pooled):
    ready = prepare(pooled, make("an"), NeedsScores(), NeedsScores(pos_weight=2))
    assert len(ready.aids) == 1
    plain, aided = train_stack([(ready, make("an")), (ready, NeedsScores())])
    assert ready.aids[0].id in aided.history.parents
    assert ready.aids[0].id not in plain.history.parents
