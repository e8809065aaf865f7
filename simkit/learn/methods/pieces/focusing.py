"""Cross-entropy that looks away from what is already well answered: focal loss, ASL."""

from __future__ import annotations

import torch
from torch import Tensor

from simkit.errors import BadInput
from simkit.learn.methods.pieces.losses import Epsilon, bce, wide


def focused(
    logits: Tensor,
    present: Tensor,
    *,
    gamma_pos: float,
    gamma_neg: float,
    clip: float = 0.0,
    detach: bool = True,
    epsilon: Epsilon | None = None,
) -> Tensor:
    """Losses of all entries, (..., b, L): cross-entropy times (probability of error) ** gamma.

    present (..., b, L) bool. The probability that counts against a negative is reduced by `clip`:
    one below it has no loss and no gradient. detach: no gradient flows through the focusing weight
    (the reference class of ASL; its optimised twin and focal loss let it flow).
    """
    logits = wide(logits)
    error = torch.sigmoid(torch.where(present, -logits, logits))
    values = bce(logits, present, epsilon)
    if clip:
        # A clip keeps the log away from 0 already, unless it drowns in the digits.
        rest = (error - clip).clamp(0, 1 - torch.finfo(error.dtype).eps)
        values = torch.where(present, values, -torch.log1p(-rest))
        error = torch.where(present, error, rest)
    if gamma_pos == gamma_neg == 0:
        return values
    return values * _weight(error.detach() if detach else error, present, gamma_pos, gamma_neg)


def _weight(error: Tensor, present: Tensor, gamma_pos: float, gamma_neg: float) -> Tensor:
    if gamma_pos == gamma_neg:
        return _power(error, gamma_pos)
    return torch.where(present, _power(error, gamma_pos), _power(error, gamma_neg))


def _power(error: Tensor, gamma: float) -> Tensor:
    """error ** gamma; small whole powers by multiplication, many times as fast."""
    if gamma == 0:
        return torch.ones_like(error)
    if gamma in (1, 2, 3, 4):
        square = error * error if gamma > 1 else error
        return square if gamma < 3 else square * (error if gamma == 3 else square)
    # Away from 0, where the derivative of a power below 1 has no end.
    return error.clamp(min=torch.finfo(error.dtype).tiny).pow(gamma)


def check_focus(name: str, *, clip: float = 0.0, **gammas: float) -> None:
    """Raise BadInput for a gamma below 0 or beyond 100, or for a clip that is no share below 1."""
    for key, gamma in gammas.items():
        if not 0 <= gamma <= 100:
            raise BadInput(f"{name}: {key} is {gamma}; a number from 0 to 100 is expected")
    if not 0 <= clip < 1:
        raise BadInput(f"{name}: clip is {clip}; a probability from 0 to below 1 is expected")
