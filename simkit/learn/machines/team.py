"""The processes that train one model together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.learn.method import Method
from simkit.learn.task import Needs, Outputs

if TYPE_CHECKING:
    from simkit.learn.heads.stack import Stack

T = TypeVar("T")


class Team:
    """A process that trains alone; `parallel.Processes` are several.

    Every process has the same stack. It shows its own part of every batch to the backbone and the
    heads; what these say is put together, so that each process computes the loss of the whole
    batch, whatever a method selects in it, and learns from its own part.
    """

    first: bool = True  # whether it validates, writes files and reports progress
    processes: int = 1

    def check(self, methods: Sequence[Method]) -> None:
        """Raise BadInput for a method that cannot be trained like this."""

    def device(self, device: torch.device) -> torch.device:
        """Where this process works, of the kind of `device`."""
        return device

    def begin(self, stack: Stack, done: int) -> None:
        """Have all processes begin at the same numbers, after the same number of epochs."""

    def part(self, place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of a batch's places (b,) that this process works on: at least one."""
        return place

    def whole(self, out: Outputs, images: int, needs: Needs) -> Outputs:
        """The outputs of all `images` of a batch from those of this part; gradients flow back.

        needs: of the method that looks at them; features that it does not need may be left out.
        """
        return out

    def gathered(self, values: Tensor | None, images: int) -> Tensor | None:
        """The rows of all `images` of a batch from those of this part."""
        return values

    def sum_gradients(self, stack: Stack) -> None:
        """Put the gradients of the whole batch where there are those of this part."""

    def from_first(self, find: Callable[[], list[float]]) -> list[float]:
        """What `find` returns in the first process, which alone calls it."""
        return find()

    def in_turn(self, make: Callable[[], T]) -> T:
        """Call `make` in the first process and then in the others, which find its files."""
        return make()
