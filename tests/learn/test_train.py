from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Needs, Task, make
from simkit.learn.methods.assume_negative import AssumeNegative
from simkit.learn.optim import Settings
from simkit.learn.train import train, train_stack
from simkit.learn.validation import Validation
from simkit.metrics import average_precision, mean_ap

SPECS = ["an", "ignore", "ll-r(delta=5)", "an+boostlu", "ll-r(delta=5)+boostlu"]
SHORT = Settings(epochs=3, batch_size=16, lr=0.02)


def runs_of(*tasks, specs=SPECS):
    return [(task, make(spec)) for task in tasks for spec in specs]


@pytest.mark.parametrize("standardise", [False, True])
def test_stacked_runs_equal_separate_runs(task, complete, standardise):
    settings = Settings(epochs=3, batch_size=16, lr=0.02, standardise=standardise)
    runs = runs_of(task, complete)
    lrs = [0.02 if k % 3 else 0.005 for k in range(len(runs))]
    together = train_stack(runs, settings=settings, lrs=lrs)
    for (one_task, method), lr, found in zip(runs, lrs, together, strict=True):
        (alone,) = train_stack([(one_task, method)], settings=settings, lrs=[lr])
        np.testing.assert_allclose(
            found.scores(task.inputs), alone.scores(task.inputs), atol=1e-5, rtol=0
        )
        np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-5)
        assert found.history == alone.history and found.method == method


def test_a_method_may_be_its_spelling(task):
    spelled, made = (train(task, one, settings=SHORT) for one in ("ll-r(delta=5)", make(SPECS[2])))
    np.testing.assert_array_equal(spelled.scores(task.inputs), made.scores(task.inputs))
    assert spelled.id == made.id
    with pytest.raises(BadInput, match="'anx'"):
        train(task, "anx", settings=SHORT)


def test_same_seed_same_bits_other_draw_other_numbers(task):
    first, second, other = (
        train_stack(runs_of(task), settings=SHORT, seed=1, draw=draw) for draw in (0, 0, 1)
    )
    for a, b, c in zip(first, second, other, strict=True):
        np.testing.assert_array_equal(a.scores(task.inputs), b.scores(task.inputs))
        assert a.id == b.id != c.id


def test_training_is_the_plain_loop_of_torch(pooled):
    """One run of AN against a linear layer, torch's Adam and the same order of images."""
    trained = train(pooled, make("an"), settings=SHORT)
    seen = []
    start = train(pooled, make("an"), settings=Settings(epochs=1, batch_size=16, lr=1e-12))
    layer = nn.Linear(6, 5)
    layer.load_state_dict({"weight": start.model.head.weight, "bias": start.model.head.bias})
    adam = torch.optim.Adam(layer.parameters(), lr=0.02)
    train(
        pooled, make("an"), settings=SHORT, watch=[lambda e, batch, o, s: seen.append(batch.index)]
    )
    x = torch.tensor(pooled.inputs.values)
    y = torch.tensor(pooled.labels.rows(np.arange(90)) == 1).float()
    for index in seen:
        adam.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(layer(x[index]), y[index]).backward()
        adam.step()
    np.testing.assert_allclose(
        trained.scores(pooled.inputs), layer(x).detach().numpy(), atol=2e-5, rtol=0
    )
    for epoch in range(3):
        index = torch.cat(seen[6 * epoch : 6 * epoch + 6])
        assert index.sort().values.tolist() == list(range(90))


def test_only_asked_images_enter(task):
    codes = task.labels.rows(np.arange(90))
    asked = np.arange(90) % 3 == 0
    few = Task(PartialLabels.of(codes * asked[:, None], asked=asked), task.inputs)
    spoilt = task.inputs.values.copy()
    spoilt[~asked] = 1000
    seen = []
    settings = Settings(epochs=2, standardise=True)
    a = train(few, make("an+boostlu"), settings=settings,
              watch=[lambda e, batch, o, s: seen.extend(batch.index.tolist())])  # fmt: skip
    b = train(Task(few.labels, FeatureInputs(spoilt)), make("an+boostlu"), settings=settings)
    assert set(seen) == set(np.flatnonzero(asked)) and len(seen) == 60
    np.testing.assert_array_equal(a.scores(task.inputs), b.scores(task.inputs))


def test_it_learns(complete, present, maps):
    found = train(complete, make("full"), settings=Settings(epochs=60, lr=0.02))
    assert mean_ap(average_precision(found.scores(complete.inputs), present)) > 0.95
    assert found.losses[-1] < 0.8 * found.losses[0]


def test_pooled_and_map_features_give_the_same_model_without_maps(task, pooled):
    a = train(task, make("ll-r"), settings=SHORT)
    b = train(pooled, make("ll-r"), settings=SHORT)
    np.testing.assert_allclose(a.scores(task.inputs), b.scores(pooled.inputs), atol=1e-5, rtol=0)
    np.testing.assert_allclose(a.scores(task.inputs), a.scores(pooled.inputs), atol=1e-5, rtol=0)


def test_the_best_epoch_is_chosen_as_alone(task, complete, present, maps):
    check = Validation(FeatureInputs(maps[:40]), Truth.of(present[:40]))
    settings = Settings(epochs=8, lr=0.3, select="best", patience=2)
    runs = runs_of(task)
    for (t, method), found in zip(
        runs, train_stack(runs, settings=settings, validation=check), strict=True
    ):
        scores = [mean_ap(average_precision(found.scores(check.inputs), present[:40]))]
        assert scores[0] == pytest.approx(max(found.validation[: found.epoch + 2]), abs=1e-9)
        assert found.epoch == 1 + int(np.argmax(found.validation[: found.epoch + 2]))
        alone = train(t, method, settings=settings, validation=check)
        assert alone.epoch == found.epoch
        np.testing.assert_allclose(
            found.scores(check.inputs), alone.scores(check.inputs), atol=1e-4, rtol=0
        )
        assert found.history.settings["validation"] == "complete"


def test_the_history_tells_everything_that_decides(task):
    found = train(task, make("an+boostlu"), settings=SHORT, seed=4, draw=2)
    history = found.history
    assert history.command == "train" and history.seed == 4
    assert history.parents == (task.labels.id, task.inputs.id)
    assert history.settings["draw"] == 2 and history.settings["lr"] == 0.02
    assert history.settings["method"].startswith("an(pos_weight=1.0, ")
    assert history.settings["training"]["epochs"] == 3
    assert history.settings["validation"] == "none" and "torch" in history.versions


class Small(nn.Module):
    """A backbone with dropout, so that torch's own random numbers matter."""

    width = 8
    name = "small"

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.layer = nn.Conv2d(3, 8, 3, padding=1)
        with torch.no_grad():
            self.layer.weight.copy_(0.2 * torch.randn(8, 3, 3, 3, generator=generator))
            self.layer.bias.zero_()
        self.drop = nn.Dropout(0.3)

    def prepare(self, pictures):
        return pictures.float() / 128 - 1

    def forward(self, x):
        return self.drop(torch.relu(self.layer(x)))


@pytest.fixture
def pictures() -> tuple[np.ndarray, np.ndarray]:
    """40 pictures (40, 3, 6, 6) and which of red, green and blue is bright in them."""
    rng = np.random.default_rng(0)
    present = rng.random((40, 3)) < 0.4
    noise = rng.integers(0, 80, (40, 3, 6, 6))
    return (noise + 150 * present[:, :, None, None]).astype(np.uint8), present


@pytest.mark.parametrize("spec", ["an", "ll-r+boostlu"])
def test_a_backbone_learns_through_the_same_loop(pictures, spec):
    values, present = pictures
    task = Task(PartialLabels.of(np.where(present, 1, -1)), ImageInputs(values))
    backbone = Small()
    before = {k: v.clone() for k, v in backbone.state_dict().items()}
    settings = Settings(epochs=6, batch_size=8, lr=0.01)
    torch.manual_seed(1)
    found = train(task, make(spec), settings=settings, backbone=backbone)
    torch.manual_seed(2)
    np.random.default_rng(5)
    again = train(task, make(spec), settings=settings, backbone=backbone)
    np.testing.assert_array_equal(found.scores(task.inputs), again.scores(task.inputs))
    assert all(torch.equal(before[k], v) for k, v in backbone.state_dict().items())
    moved = found.model.backbone.layer.weight
    assert not torch.equal(moved, before["layer.weight"])
    assert mean_ap(average_precision(found.scores(task.inputs), present)) > 0.9


def test_torchs_own_random_numbers_are_left_alone(pictures):
    values, present = pictures
    task = Task(PartialLabels.of(np.where(present, 1, -1)), ImageInputs(values))
    backbone = Small()
    before = torch.get_rng_state()
    train(task, make("an"), settings=Settings(epochs=1), backbone=backbone)
    assert torch.equal(before, torch.get_rng_state())


@dataclass(frozen=True)
class Stateful(AssumeNegative):
    """Counts visits of every image, learns a parameter whose gradient is 1, keeps epoch scores."""

    name: ClassVar[str] = "stateful"

    @property
    def needs(self) -> Needs:
        return Needs(epoch_scores=True)

    def start(self, task, chance=None):
        state = super().start(task, chance)
        state.register_buffer("visits", torch.zeros(task.sizes.images, dtype=torch.int64))
        state.register_buffer("scores", torch.zeros(task.sizes.images, task.sizes.classes))
        state.theta = nn.Parameter(torch.zeros(1))
        return state

    def loss(self, batch, out, state):
        return super().loss(batch, out, state) + state.theta.sum(-1)

    def after_batch(self, batch, out, state):
        state.visits[..., batch.index] += 1

    def after_epoch(self, epoch, scores, state):
        state.scores.copy_(scores)


@dataclass(frozen=True)
class OneForAll(AssumeNegative):
    name: ClassVar[str] = "one-for-all"

    def loss(self, batch, out, state):
        return super().loss(batch, out, state).mean()


def test_a_loss_that_is_not_one_number_for_each_run_is_refused(task):
    with pytest.raises(BadInput, match=r"'one-for-all' has the shape \(\);.*mean\(\(-2, -1\)\)"):
        train(task, OneForAll(), settings=SHORT)


def test_states_are_trained_counted_and_given_scores(task, complete):
    method = Stateful()
    settings = Settings(epochs=3, batch_size=32, lr=0.01, optimiser="sgd", momentum=0.0)
    both = train_stack([(task, method), (complete, method), (task, make("an"))], settings=settings)
    for found in both[:2]:
        assert (found.state.visits == 3).all()
        assert found.state.theta.item() == pytest.approx(-0.01 * 9)  # 3 epochs of 3 steps
        np.testing.assert_allclose(found.state.scores, found.scores(task.inputs), atol=1e-6)
    np.testing.assert_allclose(  # the state's own part of the loss leaves the head alone
        both[0].scores(task.inputs), both[2].scores(task.inputs), atol=1e-5
    )
