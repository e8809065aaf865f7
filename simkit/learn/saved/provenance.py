"""What decided a training, told in the history of each of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from simkit.embed.networks.base import Backbone
from simkit.history import History, content_id, versions
from simkit.learn.heads.stack import Run
from simkit.learn.method import spell
from simkit.learn.steps.optim import Settings
from simkit.learn.validation import Validation


def histories(
    runs: Sequence[Run],
    rates: Sequence[float],
    *,
    settings: Settings,
    seed: int,
    draw: int,
    validation: Validation | None,
    backbone: nn.Module | None,
) -> list[History]:
    """One history for each run. Where it was computed is told apart: see `computed_on`.

    The weights that a backbone begins with are among its parents, by their content.
    """
    known: dict[str, Any] = {
        "training": settings.to_json(),
        "draw": int(draw),
        "validation": "none" if validation is None else validation.kind,
        "backbone": None if backbone is None else getattr(backbone, "name", "own"),
    }
    if isinstance(backbone, Backbone):
        known["weights"] = getattr(backbone, "weights", "own")
    known |= getattr(runs[0][0].inputs, "augmentation", {})
    shared = [str(runs[0][0].inputs.id)]
    if backbone is not None:
        shared.append(_id(backbone))
    if validation is not None and validation.id is not None:
        shared.append(validation.id)
    made_with = {**versions(), "torch": torch.__version__}
    found = []
    for (task, method), lr in zip(runs, rates, strict=True):
        own = {**known, "method": spell(method), "lr": lr}
        if estimates := method.estimates(task):
            own["estimates"] = estimates
        used = [aid for aid in task.aids if isinstance(aid, method.needs.aids)]
        # Of an aid that was found in part: which share.
        part = {f"{aid.name} recall": aid.recall for aid in used if getattr(aid, "recall", 1) < 1}
        own |= part
        parents = (task.labels.id, *shared, *(aid.id for aid in used))
        found.append(History("train", own, int(seed), parents, made_with))
    return found


def _id(backbone: nn.Module) -> str:
    """Content id of what a backbone is at the start."""
    if isinstance(backbone, Backbone):
        return backbone.id
    parts: list[Any] = ["own backbone"]
    for name, value in sorted(backbone.state_dict().items()):
        parts += [name, value.detach().cpu().numpy()]
    return content_id(*parts)


def computed_on(
    history: History, device: torch.device, *, compiled: bool, processes: int = 1
) -> History:
    """The history with the kind of device among its versions, where that is not the plain CPU.

    Results of different devices agree to about 1e-5, so this says with what a number was made and
    not what was made: a training that is interrupted may go on elsewhere.
    """
    kind = device.type + (" compiled" if compiled else "")
    kind += f" in {processes} processes" if processes > 1 else ""
    if kind == "cpu":
        return history
    made_with = {**history.versions, "device": kind}
    return History(history.command, history.settings, history.seed, history.parents, made_with)
