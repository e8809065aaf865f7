import pytest
import torch

from simkit.learn.steps.optim import Settings
from simkit.learn.steps.optimiser import Optimiser
from simkit.learn.steps.schedules import factor, set_rates

STEPS = 4  # in an epoch


def rates(settings, lr=0.2):
    """What the schedule makes of the rate in every step."""
    p = torch.zeros(1, requires_grad=True)
    made = Optimiser([{"params": [p], "lr": lr}], settings)
    found = []
    for step in range(settings.epochs * STEPS):
        set_rates(made, settings, step, STEPS)
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


def test_constant_leaves_rates_alone():
    assert rates(Settings(epochs=2)) == [(0.2, 0.9)] * 8


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
    set_rates(made, settings, 3, STEPS)
    assert made.param_groups[1]["lr"] == pytest.approx(10 * made.param_groups[0]["lr"])
