"""How learning rates and momentum move over the steps of a training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simkit.learn.steps.optim import Settings
    from simkit.learn.steps.optimiser import Optimiser

_FIRST, _LAST = 1 / 25, 1e-4 / 25  # of one cycle: shares of the rate at its start and its end
_HIGH, _LOW = 0.95, 0.85  # between which one cycle moves the momentum


def set_rates(made: Optimiser, settings: Settings, step: int, steps: int) -> None:
    """Bring the optimiser to what the schedule wants of its step number `step`, from 0.

    steps: in an epoch. Every group moves from the rate it remembers as `base_lr`.
    """
    if settings.schedule == "constant":
        return
    share = factor(settings, step, steps)
    for group in made.param_groups:
        group["lr"] = group["base_lr"] * share
    if settings.schedule == "one-cycle" and settings.cycle_momentum:
        momentum = _cycle(settings, step, steps, _HIGH, _LOW, _HIGH)
        for group in made.param_groups:
            if "betas" in group:
                group["betas"] = (momentum, group["betas"][1])
            else:
                group["momentum"] = momentum


def factor(settings: Settings, step: int, steps: int) -> float:
    """What the learning rate is multiplied with in step `step`, from 0, of a whole training.

    constant   1.
    cosine     falls from 1 to 0 over all steps.
    one-cycle  rises from 1/25 to 1 in the first `warm_up` of all steps and falls to 4e-6, both
               along a cosine: Smith and Topin 2019, as torch's OneCycleLR has it. Where that is
               less than one step it begins at 1, and torch's somewhat lower.
    step       times `step_factor` after each epoch of `milestones`.
    """
    if settings.schedule == "cosine":
        return (1 + math.cos(math.pi * step / (steps * settings.epochs))) / 2
    if settings.schedule == "one-cycle":
        return _cycle(settings, step, steps, _FIRST, 1.0, _LAST)
    if settings.schedule == "step":
        passed = sum(step >= steps * epoch for epoch in settings.milestones or ())
        return settings.step_factor**passed
    return 1.0


def _cycle(
    settings: Settings, step: int, steps: int, first: float, middle: float, last: float
) -> float:
    """From `first` to `middle` in the share `warm_up` of all steps, then to `last`."""
    end = steps * settings.epochs - 1
    turn = max(settings.warm_up * (end + 1) - 1, 0)
    if step <= turn or end <= turn:
        return _between(first, middle, step / turn if turn > 0 else 1.0)
    return _between(middle, last, (step - turn) / (end - turn))


def _between(first: float, last: float, share: float) -> float:
    """A cosine from `first` at share 0 to `last` at share 1."""
    return last + (first - last) * (1 + math.cos(math.pi * share)) / 2
