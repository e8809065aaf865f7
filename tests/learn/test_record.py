import numpy as np
import torch

from simkit.labels.truth import Truth
from simkit.learn.methods import make
from simkit.learn.record import Record, mean_losses
from simkit.learn.steps.optim import Settings
from simkit.learn.validation import Validation
from tests.learn.heads.test_stack import stack_of


def test_losses_come_back_in_the_callers_order(task):
    stack = stack_of(
        [(task, make("an+boostlu")), (task, make("an")), (task, make("ignore"))], [0.1] * 3
    )
    sums = [torch.tensor([2.0]), torch.tensor([4.0]), torch.tensor([6.0])]  # an, ignore, boostlu
    assert mean_losses(sums, stack, 2).tolist() == [3.0, 1.0, 2.0]


def test_what_is_kept_does_not_change_with_training(task, present):
    stack = stack_of([(task, make("an"))], [0.1])
    record = Record(1, Settings(select="best"))
    check = Validation(task.inputs, Truth.of(present))
    record.end_epoch(1, stack, torch.tensor([0.5]), check)
    first = stack.heads.weight.clone()
    with torch.no_grad():
        stack.heads.weight.mul_(-1)  # every ranking turned round: the better one stays chosen
        stack.heads.bias.mul_(-1)
    record.end_epoch(2, stack, torch.tensor([0.25]), check)
    model, _, epoch = record.chosen(0, stack)
    best = int(np.argmax(record.validation[0]))
    assert epoch == best + 1 and record.losses == [[0.5, 0.25]]
    torch.testing.assert_close(model.head.weight.detach(), first[0] * (1 if best == 0 else -1))


def test_without_validation_the_last_epoch_is_taken(task):
    stack = stack_of([(task, make("an"))], [0.1])
    record = Record(1, Settings())
    for epoch in (1, 2):
        record.end_epoch(epoch, stack, torch.tensor([0.5]), None)
    assert record.chosen(0, stack)[2] == 2 and not record.over
