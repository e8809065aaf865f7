"""How labels are bought: a scheme, the images it may ask about, and the people who answer."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

from simkit.annotate import schemes
from simkit.annotate.habits import Habits
from simkit.annotate.schemes import Scheme


@dataclass(frozen=True)
class Way:
    """One way of buying labels; each method has a curve of its own along it.

    scheme  as users type it, without its amount and without what is at its default:
            "fpc(search='random')".
    images  the share (float) or number (int) of the pilot's images that may be asked about; 1.0
            where the number of images is itself what grows.
    habits  how people err and how many answer (`habits.workers`; None: the price list says).
    """

    scheme: str
    images: float | int = 1.0
    habits: Habits = Habits()

    @staticmethod
    def of(scheme: str, images: float | int = 1.0, habits: Habits = Habits()) -> Way:
        """The way of a scheme as a grid writes it: its amount is what is bought and left out."""
        part = _made(scheme)
        grown = part.amount is None
        return Way(spelled(part), 1.0 if grown else images, habits)

    @property
    def part(self) -> Scheme:
        """The scheme itself, with an amount that means nothing."""
        return _made(self.scheme)

    @property
    def grows(self) -> str:
        """What more dollars buy more of: "images", or the field that is the scheme's amount."""
        return self.part.amount or "images"

    @property
    def shared(self) -> bool:
        """Whether the amount is one for each image (a share, or a mean number), not a count."""
        return self.grows != "images" and isinstance(getattr(self.part, self.grows), float)

    def with_amount(self, amount: float) -> str:
        """The scheme spelled with an amount, a share of at most 1 or a whole number."""
        if self.grows == "images":
            return self.scheme
        value = float(f"{amount:.4g}") if self.shared else max(1, round(amount))
        return spelled(self.part, amount=value)

    def __str__(self) -> str:
        """For people: the scheme, and what is unusual about its images and its people."""
        told = [self.scheme]
        if isinstance(self.images, int):
            told.append(f"on {self.images:,} images")
        elif self.images != 1:
            told.append(f"on {100 * self.images:g} % of the images")
        if self.habits.workers is not None:
            told.append(
                f"by {self.habits.workers} {'people' if self.habits.workers > 1 else 'person'}"
            )
        if not self.habits.perfect:
            told.append(_errors(self.habits))
        return " ".join(told)


@lru_cache(maxsize=1024)
def _made(scheme: str) -> Scheme:
    return schemes.make(scheme)


def spelled(part: Scheme, *, amount: float | None = None) -> str:
    """A scheme with what is not at its default, and with this amount or none."""
    told = []
    for f in dataclasses.fields(part):  # type: ignore[arg-type]
        value, usual = getattr(part, f.name), f.default
        if f.name == part.amount:
            value, usual = amount, None
        if value != usual:
            told.append(f"{f.name}={value!r}")
    return f"{part.name}({', '.join(told)})" if told else part.name


def _errors(habits: Habits) -> str:
    """ "who miss 10 %", or that people err where that takes more than a number."""
    if isinstance(habits.miss, float) and habits == dataclasses.replace(
        Habits(), miss=habits.miss, workers=habits.workers
    ):
        return f"who miss {100 * habits.miss:g} %"
    return "who err"
