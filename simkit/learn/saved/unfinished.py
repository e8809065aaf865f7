"""A training in progress as a file: from there it goes on to the same numbers."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor

from simkit.errors import BadInput
from simkit.learn.catalogue import short
from simkit.learn.heads.stack import Stack
from simkit.learn.record import Record
from simkit.learn.saved.checkpoint import below, read, write
from simkit.learn.steps.averaging import Averages
from simkit.learn.steps.optimiser import Optimiser

_FORM = "simkit training 3"
_WHAT = "an unfinished training"


def save_training(
    path: str | PathLike[str],
    key: str,
    epoch: int,
    stack: Stack,
    optimiser: Optimiser,
    record: Record,
    averages: Averages | None = None,
) -> None:
    """Write everything that the epochs after `epoch` depend on; `key` says whose training it is.

    Order, views of pictures and dropout are keyed by place and epoch, and rates follow from the
    epoch: neither generators nor a schedule have to be kept.
    """
    known = {"form": _FORM, "key": key, "epoch": epoch, "record": record.to_json()}
    known["about"] = _about(stack)
    tensors = {**_of_stack(stack), **record.tensors()}
    tensors |= {f"optimiser.{name}": value for name, value in optimiser.tensors().items()}
    if averages is not None:
        known["averaged"] = averages.step
        tensors |= averages.tensors()
    write(Path(path), tensors, {"simkit": json.dumps(known)})


def resume(
    path: str | PathLike[str],
    key: str,
    stack: Stack,
    optimiser: Optimiser,
    record: Record,
    averages: Averages | None = None,
    *,
    earlier: str | None = None,
) -> int:
    """Put a training back to where `save_training` left it; returns the epoch it had finished.

    0 where there is no such file, and where it is of the phase `earlier` of the same training.
    Raises BadInput when it belongs to another one.
    """
    if not Path(path).exists():
        return 0
    known, tensors = _opened(path)
    if known["key"] == earlier is not None:
        return 0
    if known["key"] != key:
        other = _differences(known.get("about", {}), _about(stack))
        raise BadInput(
            f"{path} belongs to a training with other "
            + (f"settings ({other})" if other else "tasks, settings or weights at the start")
            + "; choose another file or delete it"
        )
    own = _of_stack(stack)
    for name, tensor in own.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            raise BadInput(
                f"{path} holds no {name} of shape {tuple(tensor.shape)}, which this training has; "
                "choose another file or delete it"
            )
    for name, tensor in own.items():
        tensor.copy_(tensors[name])
    optimiser.restore(below(tensors, "optimiser."))
    if averages is not None:
        averages.restore(known["averaged"], tensors)
    record.restore(known["record"], tensors, stack)
    return int(known["epoch"])


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """What a training in progress is, for people and programs. Raises BadInput for other files."""
    known, _ = _opened(path)
    record, about = known["record"], known.get("about", {})
    return {
        "unfinished training": about.get("method", ""),
        "phase": about.get("phase", ""),
        "epoch": known["epoch"],
        "epochs": about.get("settings", {}).get("epochs"),
        "loss": record["losses"][0][-1] if record["losses"][0] else None,
        "validation": record["validation"][0][-1] if record["validation"][0] else None,
        "settings": about.get("settings", {}),
    }


def _about(stack: Stack) -> dict[str, Any]:
    """What a training is, in words: the key alone could not say what differs."""
    return {
        "method": ", ".join(dict.fromkeys(short(method) for _, method in stack.runs)),
        "phase": "head" if stack.frozen else "all",
        "settings": stack.settings.to_json(),
    }


def _differences(one: dict[str, Any], other: dict[str, Any]) -> str:
    """In which settings two trainings differ, where they can be compared."""
    if not one or one["phase"] != other["phase"]:
        return ""
    pairs = [("method", one["method"], other["method"])]
    pairs += [(key, one["settings"].get(key), now) for key, now in other["settings"].items()]
    return ", ".join(f"{key} {was} -> {now}" for key, was, now in pairs if was != now)


def key_of(path: str | PathLike[str] | None) -> str | None:
    """Whose training a file is; None without a file. Raises BadInput for a file of another kind."""
    if path is None or not Path(path).exists():
        return None
    return str(_opened(path)[0]["key"])


def _opened(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    tensors, texts = read(Path(path), _WHAT)
    try:
        known: dict[str, Any] = json.loads(texts["simkit"])
        if known["form"] != _FORM:
            raise KeyError
    except (KeyError, ValueError):
        raise BadInput(f"{path} is not {_WHAT}; choose another file") from None
    return known, tensors


def _of_stack(stack: Stack) -> dict[str, Tensor]:
    found = stack.weights()
    for k, part in enumerate(stack.parts):
        found |= {f"part.{k}.{name}": value for name, value in part.state.state_dict().items()}
    return found
