import subprocess
import sys

import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.optim import Averages, Optimiser, Settings, factor, regrouped

STEPS = 4  # in an epoch


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"epochs": 0}, "epochs"),
        ({"patience": 0, "select": "best"}, "patience"),
        ({"accumulate": 1.5}, "accumulate"),
        ({"head_epochs": -1}, "head_epochs"),
        ({"lr": 0.0}, "lr"),
        ({"lr": float("nan")}, "lr"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"momentum": 1.0}, "momentum"),
        ({"ema": 1.0}, "ema"),
        ({"max_drop": 0.0, "select": "best"}, "max_drop"),
        ({"optimiser": "lion"}, "adam, adamw, sgd"),
        ({"precision": "fp16"}, "fp32, tf32, bf16"),
        ({"select": "first"}, "last, best"),
        ({"schedule": "step"}, "milestones"),
        ({"schedule": "step", "milestones": (3, 2)}, "milestones"),
        ({"schedule": "step", "milestones": (3, 10)}, "before the last"),
        ({"milestones": (3,)}, "schedule is 'step'"),
        ({"cycle_momentum": True, "schedule": "cosine"}, "schedule is 'one-cycle'"),
        ({"patience": 2}, "select is 'best'"),
        ({"max_drop": 0.03}, "select is 'best'"),
        ({"ema": 0.9, "keep": "better"}, "set select to 'best'"),
    ],
)
def test_settings_are_checked(given, field):
    with pytest.raises(BadInput, match=f"training: .*{field}"):
        Settings(**given)


def test_the_rate_depends_on_what_is_trained():
    assert Settings().rate(backbone=False) > Settings().rate(backbone=True)
    assert Settings(lr=0.5).rate(backbone=True) == 0.5


def test_the_head_alone_learns_at_a_constant_rate_of_its_own():
    settings = Settings(epochs=9, lr=0.1, schedule="cosine", ema=0.9, head_epochs=2, head_lr=0.3,
                        batch_size=5, patience=2, select="best")  # fmt: skip
    head = settings.of_head()
    assert (head.epochs, head.lr, head.schedule, head.ema) == (2, 0.3, "constant", None)
    assert (head.batch_size, head.patience, head.head_epochs, head.select) == (5, None, 0, "best")


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


def test_equal_groups_are_one_and_vectors_have_no_decay():
    matrix, bias, other, more = (
        torch.zeros(size, requires_grad=True) for size in ((2, 2), (2,), (3, 3), (4, 4))
    )
    groups = [{"params": [bias, matrix], "lr": 0.1}, {"params": [other], "lr": 1.0}]
    found = regrouped([*groups, {"params": [more], "lr": 0.1}], {id(bias)})
    assert [[p.shape for p in group.pop("params")] for group in found] == [
        [(2, 2), (4, 4)], [(2,)], [(3, 3)]
    ]  # fmt: skip
    assert found == [{"lr": 0.1}, {"lr": 0.1, "weight_decay": 0.0}, {"lr": 1.0}]


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
from simkit.learn.optim import Settings
from simkit.learn.optim import Optimiser
for kind in ("adam", "sgd"):
    p = torch.zeros(2, requires_grad=True)
    p.grad = torch.ones(2)
    Optimiser([{"params": [p], "lr": 0.1}], Settings(optimiser=kind)).step()
    assert p.sum() < 0
print("torch._dynamo" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.stdout == "False\n", told.stderr


def rates(settings, lr=0.2):
    """What the schedule makes of the rate in every step."""
    p = torch.zeros(1, requires_grad=True)
    made = Optimiser([{"params": [p], "lr": lr}], settings)
    found = []
    for step in range(settings.epochs * STEPS):
        made.schedule(settings, step, STEPS)
        (group,) = made.param_groups
        found.append((group["lr"], group["betas"][0] if "betas" in group else group["momentum"]))
    return found


def torchs(make, settings, lr=0.2, **more):
    """The same by a scheduler of torch."""
    p = torch.zeros(1, requires_grad=True)
    adam = torch.optim.Adam([p], lr=lr)
    scheduler = make(adam, **more)
    found = []
    for _ in range(settings.epochs * STEPS):
        (group,) = adam.param_groups
        found.append((group["lr"], group["betas"][0]))
        adam.step()
        scheduler.step()
    return found


def test_cosine_is_torchs_over_all_steps():
    settings = Settings(epochs=3, schedule="cosine")
    wanted = torchs(torch.optim.lr_scheduler.CosineAnnealingLR, settings, T_max=12)
    assert [rate for rate, _ in rates(settings)] == pytest.approx([rate for rate, _ in wanted])
    assert factor(settings, 6, STEPS) == pytest.approx(0.5)


@pytest.mark.parametrize("warm_up", [0.2, 0.3, 0.5])
@pytest.mark.parametrize("cycle", [True, False])
def test_one_cycle_is_torchs(warm_up, cycle):
    settings = Settings(epochs=5, schedule="one-cycle", warm_up=warm_up, cycle_momentum=cycle)
    wanted = torchs(
        torch.optim.lr_scheduler.OneCycleLR, settings, max_lr=0.2, total_steps=20,
        pct_start=warm_up, cycle_momentum=cycle,
    )  # fmt: skip
    for found, one in zip(rates(settings), wanted, strict=True):
        assert found == pytest.approx(one)


def test_one_cycle_moves_the_momentum_of_sgd_too():
    settings = Settings(epochs=2, schedule="one-cycle", optimiser="sgd", cycle_momentum=True,
                        warm_up=0.5)  # fmt: skip
    momenta = [momentum for _, momentum in rates(settings)]
    assert momenta[0] == pytest.approx(0.95) and min(momenta) == pytest.approx(0.85)


def test_a_cycle_without_room_for_a_rise_starts_at_the_top():
    settings = Settings(epochs=1, schedule="one-cycle", warm_up=0.0)
    assert rates(settings)[0][0] == pytest.approx(0.2)
    assert factor(settings, 0, 1) == 1.0  # a training of a single step


def test_steps_fall_after_their_epochs():
    settings = Settings(epochs=4, schedule="step", milestones=(1, 3), step_factor=0.5)
    found = [rate for rate, _ in rates(settings)]
    assert found == pytest.approx([0.2] * 4 + [0.1] * 8 + [0.05] * 4)


def test_groups_keep_their_proportion():
    a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    settings = Settings(epochs=1, schedule="cosine")
    made = Optimiser([{"params": [a], "lr": 0.1}, {"params": [b], "lr": 1.0}], settings)
    made.schedule(settings, 3, STEPS)
    assert made.param_groups[1]["lr"] == pytest.approx(10 * made.param_groups[0]["lr"])


def test_warm_up_forgets_the_start():
    """In step 1 two elevenths stay, in step 2 a quarter: 9/11, then 9/44 + 3/4 * 2."""
    weights = {"w": torch.zeros(2)}
    averages = Averages(weights, 0.9997)
    for step in (1, 2):
        weights["w"].fill_(step)
        averages.update()
    assert averages.values["w"].unique().item() == pytest.approx(9 / 44 + 1.5)


def test_averages_are_shown_and_taken_away_again():
    weights = {"w": torch.zeros(2), "count": torch.tensor(3)}
    averages = Averages(weights, 0.5, warm_up=False)
    weights["w"].fill_(1)
    weights["count"].fill_(7)
    averages.update()
    with averages.shown():
        assert weights["w"].tolist() == [0.5, 0.5] and weights["count"].item() == 7
    assert weights["w"].tolist() == [1, 1] and averages.values["w"].tolist() == [0.5, 0.5]
