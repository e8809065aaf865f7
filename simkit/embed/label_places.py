"""Where each class lies among the features: what label medians and label means share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from simkit.embed.unit import same_features
from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.history import content_id
from simkit.labels.partial import PRESENT
from simkit.labels.truth import locked


@dataclass(frozen=True, eq=False)
class LabelPlaces:
    """psi (L, D) float64: a point for each class, nan where there is none.

    key: what the array is called in a file.  labels, inputs: the ids of the labels and features
    that it is made of, "" where nobody said.
    """

    psi: NDArray[np.float64]
    labels: str = ""
    inputs: str = ""

    name: ClassVar[str]
    key: ClassVar[str]

    @cached_property
    def id(self) -> str:
        """Content id."""
        return content_id(self.name, self.psi)

    def fits(self, task: Any) -> bool:
        """Whether these may be of the task: its classes and, where known, labels and features."""
        without = task.labels.per_class(PRESENT) == 0
        if len(self.psi) != len(without) or (np.isnan(self.psi).any(1) != without).any():
            return False
        return self.labels in ("", task.labels.id) and same_features(self.inputs, task)

    @classmethod
    def of(cls, psi: NDArray[np.float64], task: Any) -> Self:
        """These places, which know of which task they are."""
        return cls(locked(psi), task.labels.id, str(task.inputs.id))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file of psi and the ids of what it is made of."""
        arrays: dict[str, Any] = {self.key: self.psi}
        arrays |= {"labels": np.array(self.labels), "inputs": np.array(self.inputs)}
        with whole(path) as part, open(part, "wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote. Raises BadInput for another file."""
        what = cls.name.replace("-", " ")
        found = readable(path, f"{what} (npz)")
        try:
            with np.load(found, allow_pickle=False) as file:
                psi = file[cls.key]
                ids = [str(file[key]) if key in file else "" for key in ("labels", "inputs")]
            if psi.ndim != 2 or psi.dtype != np.float64:
                raise ValueError
        except (OSError, ValueError, EOFError, KeyError, TypeError, IndexError, BadZipFile):
            raise BadInput(
                f"{found} cannot be read as {what}; a file that {cls.__name__}.save wrote is "
                "expected"
            ) from None
        return cls(locked(psi), *ids)
