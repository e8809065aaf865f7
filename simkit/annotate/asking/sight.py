"""What people see in the images they may be asked about."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate.asking.answers import answered, by_class, lookup
from simkit.annotate.habits import Habits
from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.labels.truth import Truth


class Sight:
    """One truth as people with these habits see it.

    images  indices of the n images that may be asked about, ascending; None: all.
    chance  keys people's errors by (image, class, person), so that the same question gets the same
            answer however often and in whatever way it is asked.
    """

    def __init__(self, truth: Truth, images: Any, habits: Habits, chance: Chance) -> None:
        check_complete(truth)
        N, _ = truth.shape
        self.truth, self.habits, self._chance = truth, habits, chance
        self.images = np.arange(N) if images is None else np.unique(np.asarray(images, np.int64))
        self.all = len(self.images) == N

    @cached_property
    def present(self) -> csr_array:
        """(n, L) what is there; row i is about `images[i]`."""
        return self.truth.present if self.all else csr_array(self.truth.present[self.images])

    @cached_property
    def yes(self) -> csr_array:
        """(n, L) where people say yes; row i is about `images[i]`."""
        return answered(self.present, self.images, self.habits, self._chance)

    @cached_property
    def by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """`yes` by class: (L + 1,) pointers and rows, ascending in a class."""
        if self.all and self.habits.perfect:
            return self.truth.by_class
        return by_class(self.yes)

    def answers(self, images: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n,) what people say about n pairs."""
        yes = lookup(self.truth.present, images, classes)
        return self.habits.answers(images, classes, yes, chance=self._chance)

    def rows(self, images: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these images stand in `yes`. Raises BadInput for others than `self.images`."""
        self.check(images)
        return images if self.all else np.searchsorted(self.images, images)

    def check(self, images: NDArray[np.int64]) -> None:
        """Raise BadInput for an image that may not be asked about."""
        if self.all or images is self.images:
            return
        strange = ~self._allowed[images]
        if strange.any():
            stranger = int(images[strange][0])
            raise BadInput(f"image {stranger} is not among those this crowd is asked about")

    def among(self, images: NDArray[np.int64]) -> Sight:
        """The same people before these images only. Raises BadInput for others."""
        self.check(images)
        return Sight(self.truth, images, self.habits, self._chance)

    @cached_property
    def _allowed(self) -> NDArray[np.bool_]:
        allowed = np.zeros(self.truth.shape[0], bool)
        allowed[self.images] = True
        return allowed


def check_complete(truth: Truth) -> None:
    """Raise BadInput for a truth that is known in part only."""
    if truth.known is not None:
        raise BadInput(
            "this truth is known in part only, but people answer from a complete one; open the "
            "data with unknown=absent-in-train, which takes what is not known for absent (an "
            "assumption), or train on the label file itself"
        )
