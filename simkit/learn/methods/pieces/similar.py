"""Writing images as mixtures of a few similar ones: orthogonal matching pursuit on two views."""

from __future__ import annotations

import torch
from torch import Tensor

_RIDGE = 1e-6  # keeps mixtures of nearly equal images solvable

Views = tuple[Tensor, Tensor]


def similar(
    targets: Views,
    dictionary: Views,
    allowed: Tensor,
    *,
    say: tuple[float, float],
    atoms: int,
    threshold: float,
) -> tuple[Tensor, Tensor]:
    """Which of M entries best make up each target, and with what weights in the first view.

    targets (..., b, L) and (..., b, D);  dictionary (..., M, L) and (..., M, D);  allowed
    (..., b, M) bool;  say: of each view in the choice. Returns indices (..., b, k) and weights
    (..., b, k), 0 where fewer entries were found; k is `atoms`, at most M.

    One entry after another is the one whose squared correlations with what is left of the target,
    in both views, are largest; then all weights are fitted again by least squares, each view its
    own. Correlations count double where both views agree that they are positive, nothing where they
    disagree. A score of less than `threshold` ends the search. Source: Huynh & Elhamifar CVPR 2020.
    """
    say = (say[0] / max(say), say[1] / max(say))
    views = list(zip(targets, dictionary, strict=True))
    rest = list(targets)
    sizes = [t.square().sum(-1)[..., None] * e.square().sum(-1)[..., None, :] for t, e in views]
    chosen: list[Tensor] = []
    alive: list[Tensor] = []
    weights = torch.zeros_like(allowed[..., :0], dtype=targets[0].dtype)
    for _ in range(min(atoms, allowed.shape[-1])):
        score = _scores(rest, dictionary, sizes, say).masked_fill(~allowed, -torch.inf)
        best = score.max(-1)
        alive.append(best.values >= threshold)  # once below, always below: nothing changes
        chosen.append(best.indices)
        allowed = allowed & (
            torch.arange(score.shape[-1], device=score.device) != best.indices[..., None]
        )
        index, live = torch.stack(chosen, -1), torch.stack(alive, -1)
        for view, (target, entries) in enumerate(views):
            fitted, rest[view] = _fit(target, entries, index, live)
            weights = fitted if view == 0 else weights
    return index, weights


def _scores(
    rest: list[Tensor], dictionary: Views, sizes: list[Tensor], say: tuple[float, float]
) -> Tensor:
    """(..., b, M), at most twice the summed say."""
    total: Tensor | float = 0.0
    signs: Tensor | float = 0.0
    for left, entries, size, share in zip(rest, dictionary, sizes, say, strict=True):
        inner = left @ entries.mT
        total = total + share * inner.square() / size.clamp(min=1e-12)
        signs = signs + (share > 0) * inner.sign()
    return torch.as_tensor(total * signs)


def _fit(target: Tensor, entries: Tensor, index: Tensor, live: Tensor) -> tuple[Tensor, Tensor]:
    """Least-squares weights (..., b, k) of the chosen entries, and what they leave of targets."""
    b, k = index.shape[-2:]
    flat = index.flatten(-2)[..., None]
    places = flat.expand(*flat.shape[:-1], entries.shape[-1])
    wide = entries.expand(*places.shape[:-2], *entries.shape[-2:])
    rows = wide.gather(-2, places).unflatten(-2, (b, k)) * live[..., None]
    gram = rows @ rows.mT
    ridge = _RIDGE * gram.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None] + 1e-12
    ridge = ridge * torch.eye(k, dtype=gram.dtype, device=gram.device)
    wanted = rows @ target[..., None]
    fitted = torch.linalg.solve_ex(gram + ridge, wanted).result.squeeze(-1)
    return fitted, target - (rows * fitted[..., None]).sum(-2)
