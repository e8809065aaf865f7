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

    def assumed(self, pool: int, images: int | None) -> str:
        """What is taken to hold beyond a pilot on a pool of images, where so many exist.

        How far off it is: on `scenes` (rpa and fpc on 600 images up to $120, two methods, three
        draws), curves fell short by 6 to 10 points of what $300 gave on 1,500 images, and were off
        by -3 to +5 points for $300 on the same 600.
        """
        if self.grows == "images":
            return (
                f"{self}: more dollars buy more images in the same way, which are taken to be like "
                f"the pilot's {pool:,}."
            )
        told = f"{self}: the pilot bought a growing {self.grows} on {pool:,} images"
        if images is not None and images <= pool:
            return f"{told}, and there are no more; the curve is taken to go on until all is asked."
        return (
            f"{told}; beyond its largest purchase the same is bought on more images, and only then "
            "more about each; the curve is taken to hold for both, though for more images it is "
            "rather too low: a pilot on as many images as the project has would tell."
        )

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


Pair = tuple[Way, str]  # a way of buying and a method trained on its labels


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
