import pytest
import torch

from simkit.learn.methods import make
from simkit.learn.steps.averaging import Averages
from tests.learn.heads.test_stack import stack_of


@pytest.fixture
def stack(task):
    return stack_of([(task, make("an")), (task, make("ignore"))], [0.1, 0.1])


def test_an_average_is_the_sum_written_out(stack):
    """Weights 0, then 1, 2, 3: with 3/4 staying, 0, 1/4, 11/16, and 81/64 in the end."""
    stack.heads.weight.zero_()
    averages = Averages(stack, 0.75, warm_up=False)
    for step in (1, 2, 3):
        stack.heads.weight.fill_(step)
        averages.update()
    assert averages.values["heads.weight"].unique().item() == pytest.approx(81 / 64)


def test_warm_up_forgets_the_start(stack):
    """In step 1 two elevenths stay, in step 2 a quarter: 9/11, then 9/44 + 3/4 * 2."""
    stack.heads.bias.zero_()
    averages = Averages(stack, 0.9997)
    for step in (1, 2):
        stack.heads.bias.fill_(step)
        averages.update()
    assert averages.values["heads.bias"].unique().item() == pytest.approx(9 / 44 + 1.5)


def test_averages_are_shown_and_taken_away_again(stack):
    averages = Averages(stack, 0.5, warm_up=False)
    first = stack.heads.weight.clone()
    stack.heads.weight.add_(1)
    averages.update()
    with averages.shown():
        torch.testing.assert_close(stack.model(1).head.weight.detach(), first[1] + 0.5)
    torch.testing.assert_close(stack.heads.weight, first + 1)
    torch.testing.assert_close(averages.values["heads.weight"], first + 0.5)


def test_statistics_are_averaged_and_counts_taken_over(task):
    stack = stack_of([(task, make("an"))], [0.1])
    stack.backbone = torch.nn.BatchNorm2d(2)
    averages = Averages(stack, 0.5, warm_up=False)
    stack.backbone.running_mean.fill_(4)
    stack.backbone.num_batches_tracked.fill_(7)
    averages.update()
    assert averages.values["backbone.running_mean"].tolist() == [2, 2]
    assert averages.values["backbone.num_batches_tracked"].item() == 7
