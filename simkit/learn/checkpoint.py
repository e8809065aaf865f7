"""Checkpoints: an unfinished training as a file, which resumes to the same numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from torch import Tensor

from simkit.errors import BadInput
from simkit.files import may_write, reading
from simkit.history import sealed, unsealed
from simkit.learn.optim import Optimiser
from simkit.learn.selection import Record
from simkit.learn.stack import Stack
from simkit.learn.trained import read_tensors, with_prefix, write_tensors
from simkit.registry import short

_FORM = "simkit training 3"
_WHAT = "an unfinished training"


class Checkpoint:
    """The checkpoint of a training, written after every epoch; None for no file.

    Parameters
    ----------
    path
        Path of the file.
    key
        Identifies the training; the file of another one is refused.
    earlier
        Key of the previous stage, whose file is overwritten.
    """

    def __init__(
        self, path: str | PathLike[str] | None, key: str, earlier: str | None = None
    ) -> None:
        self.path = None if path is None else Path(path)
        self.key, self.earlier = key, earlier
        if self.path is not None:  # an error after an epoch would be too late
            may_write(self.path)

    def save(self, epoch: int, stack: Stack, optimiser: Optimiser, record: Record) -> None:
        """Write everything that the epochs after `epoch` depend on.

        The order, the views of images and dropout are keyed by index and epoch, and learning rates
        follow from the epoch: no generator or schedule is stored.
        """
        if self.path is None or not stack.team.first:
            return
        facts = {"form": _FORM, "key": self.key, "epoch": epoch, "record": record.to_json()}
        facts["about"] = {
            "method": ", ".join(dict.fromkeys(short(method) for _, method in stack.runs)),
            "phase": "head" if stack.frozen else "all",
            "settings": stack.settings.to_json(),
        }
        if record.averages is not None:
            facts["averaged"] = record.averages.step
        moments = {f"optimiser.{name}": value for name, value in optimiser.tensors().items()}
        tensors = {**stack.tensors(), **record.tensors(), **moments}
        write_tensors(self.path, tensors, {"simkit": json.dumps(sealed(facts))})

    def resume(self, stack: Stack, optimiser: Optimiser, record: Record) -> int:
        """Restore a training to the state of `save`; returns its number of finished epochs.

        This is 0 without a file, and for a file of the previous stage. Raises BadInput if it
        belongs to another training.
        """
        if self.path is None or not self.path.exists():
            return 0
        with _opened(self.path) as (facts, tensors):
            if facts["key"] == self.earlier:
                return 0
            if facts["key"] != self.key:
                raise BadInput(
                    f"{self.path} belongs to a training with other tasks, settings or initial "
                    "weights; choose another file or delete it"
                )
            for name, tensor in stack.tensors().items():
                tensor.copy_(tensors[name])
            optimiser.restore(with_prefix(tensors, "optimiser."))
            if record.averages is not None:
                record.averages.restore(facts["averaged"], tensors)
            record.restore(facts["record"], tensors, stack)
            return int(facts["epoch"])

    @property
    def is_current(self) -> bool:
        """Whether there is a file of this training, after the previous stage."""
        if self.path is None or not self.path.exists():
            return False
        with _opened(self.path) as (facts, _):
            return bool(facts["key"] == self.key)


def describe(path: str | PathLike[str]) -> dict[str, Any]:
    """Facts about an unfinished training, for people and programs. Raises BadInput for other
    files."""
    with _opened(Path(path)) as (facts, _):
        record, about = facts["record"], facts["about"]
        return {
            "unfinished training": about["method"],
            "phase": about["phase"],
            "epoch": facts["epoch"],
            "epochs": about["settings"]["epochs"],
            "loss": record["losses"][0][-1],
            "validation": record["validation"][0][-1] if record["validation"][0] else None,
            "settings": about["settings"],
        }


@contextmanager
def _opened(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Tensor]]]:
    """Facts and tensors of a checkpoint, for a block whose errors it explains."""
    with reading(path, _WHAT, "choose another file"):
        tensors, texts = read_tensors(path, _WHAT)
        facts = unsealed(json.loads(texts["simkit"]))
        if facts["form"] != _FORM:
            raise KeyError("form")
        yield facts, tensors
