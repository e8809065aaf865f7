import subprocess
import sys

import pytest
import torch

from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import Optimiser, joined, without_decay


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_one_step_is_that_of_the_plain_optimiser(name):
    gradient, start = torch.tensor([0.3, -2.0]), torch.tensor([1.0, 1.0])
    twins = [start.clone().requires_grad_() for _ in range(2)]
    settings = Settings(optimiser=name, weight_decay=0.1)
    ours = Optimiser([{"params": [twins[0]], "lr": 0.1}], settings)
    plain = {
        "adam": lambda: torch.optim.Adam([twins[1]], lr=0.1, weight_decay=0.1),
        "adamw": lambda: torch.optim.AdamW([twins[1]], lr=0.1, weight_decay=0.1),
        "sgd": lambda: torch.optim.SGD([twins[1]], lr=0.1, weight_decay=0.1, momentum=0.9),
    }[name]()
    for _ in range(3):
        for twin, one in zip(twins, (ours, plain), strict=True):
            twin.grad = gradient.clone()
            one.step()
    assert torch.equal(*twins)


def test_decoupled_decay_is_not_divided_by_the_gradients():
    p = torch.ones(1, requires_grad=True)
    made = Optimiser([{"params": [p], "lr": 0.1}], Settings(optimiser="adamw", weight_decay=0.5))
    p.grad = torch.zeros(1)
    made.step()
    assert p.item() == pytest.approx(1 - 0.1 * 0.5)  # Adam's own would make a whole step of 0.1


def test_vectors_are_set_apart_and_groups_keep_what_they_are():
    matrix, bias, other = (torch.zeros(size, requires_grad=True) for size in ((2, 2), (2,), (3, 3)))
    groups = [{"params": [matrix, bias], "lr": 0.1}, {"params": [other], "lr": 1.0}]
    found = without_decay(groups, {id(bias)})
    assert [[p.shape for p in group.pop("params")] for group in found] == [
        [(2, 2)], [(2,)], [(3, 3)]
    ]  # fmt: skip
    assert found == [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.0}, {"lr": 1.0}]


def test_equal_groups_are_one():
    a, b, c = (torch.zeros(1) for _ in range(3))
    found = joined(
        [{"params": [a], "lr": 1.0}, {"params": [b], "lr": 2.0}, {"params": [c], "lr": 1.0}]
    )
    assert [[id(p) for p in group["params"]] for group in found] == [[id(a), id(c)], [id(b)]]
    assert [group["lr"] for group in found] == [1.0, 2.0]


def test_moments_come_back_in_the_layout_of_what_they_move():
    """A fused step goes through memory as it lies; files hold rows one after another."""
    parameters = [torch.nn.Parameter(torch.arange(6.0).reshape(3, 2).T) for _ in range(2)]
    whole, again = (Optimiser([{"params": [p], "lr": 0.1}], Settings()) for p in parameters)
    for made, parameter in zip((whole, again), parameters, strict=True):
        parameter.grad = parameter.detach().clone()
        made.step()
    again.restore(
        {
            key: value.clone(memory_format=torch.contiguous_format)
            for key, value in whole.tensors().items()
        }
    )
    assert again.tensors()["0.exp_avg"].stride() == (1, 2)
    for made, parameter in zip((whole, again), parameters, strict=True):
        parameter.grad = parameter.detach().clone()
        made.step()
    assert torch.equal(*parameters)


def test_a_step_does_not_load_the_compiler():
    code = """
import sys, torch
from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import Optimiser
for kind in ("adam", "sgd"):
    p = torch.zeros(2, requires_grad=True)
    p.grad = torch.ones(2)
    Optimiser([{"params": [p], "lr": 0.1}], Settings(optimiser=kind)).step()
    assert p.sum() < 0
print("torch._dynamo" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stdout == "False\n", told.stderr
