import numpy as np
import torch

from simkit.chance import Chance
from simkit.learn.feeding.feed import FeatureFeed
from simkit.learn.heads.stack import Stack
from simkit.learn.methods import make
from simkit.learn.steps.optim import Settings


def stack_of(runs, lrs):
    feed = FeatureFeed(runs[0][0].inputs, runs[0][0].rows, maps=True, standardise=False)
    return Stack(runs, lrs, feed, settings=Settings(), chance=Chance.seeded(0))


def test_equal_methods_at_equal_rates_are_one_part_and_maps_come_last(task, complete):
    runs = [
        (task, make("an+boostlu")),
        (task, make("an")),
        (complete, make("an")),
        (task, make("ignore")),
        (task, make("an")),
    ]
    stack = stack_of(runs, [0.1, 0.1, 0.1, 0.1, 0.2])
    assert [part.runs for part in stack.parts] == [(1, 2), (3,), (4,), (0,)]
    assert [group["lr"] for group in stack.groups()] == [0.1, 0.2]


def test_labels_are_kept_once_where_runs_share_them(task, complete):
    an = make("an")
    shared = stack_of([(task, an), (task, an)], [0.1, 0.1]).parts[0]
    apart = stack_of([(task, an), (complete, an)], [0.1, 0.1]).parts[0]
    assert shared.labels.shape == (1, 90, 5) and apart.labels.shape == (2, 90, 5)
    place = np.array([3, 8])
    for part in (shared, apart):
        batch = part.batch(torch.from_numpy(place), torch.from_numpy(place), None)
        assert batch.labels.shape == (2, 2, 5)
        np.testing.assert_array_equal(batch.labels[0], task.labels.rows(place))


def test_models_of_all_runs_start_alike_and_share_the_stacks_memory(task):
    stack = stack_of([(task, make("an")), (task, make("ignore"))], [0.1, 0.1])
    first, second = stack.model(0), stack.model(1)
    assert torch.equal(first.head.weight, second.head.weight)
    stack.heads.weight[1] = 5
    assert (second.head.weight == 5).all() and not (first.head.weight == 5).any()
