"""What a scheme is, and how it is found by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol

from simkit.registry import Range, Registry, settle

if TYPE_CHECKING:
    from simkit.annotate.crowd import Crowd
    from simkit.chance import Chance
    from simkit.labels.partial import PartialLabels

MOST = 10**15  # of anything that is counted
Count = Annotated[int, Range(1, MOST)]
# Of a machine's candidates: fractions with denominators up to a million.
Precision = Annotated[float, Range(1e-6, 1)]


class Scheme(Protocol):
    """Which questions to ask: a frozen dataclass whose fields are its settings.

    name    as users type it;  title  as the field writes it;  source  paper and section.
    amount  the one field that scales it, or None: only the number of images does. A larger amount
            asks for more and keeps what a smaller one found.
    needs_hierarchy  whether it asks along a class hierarchy.
    needs_boxes  whether it chooses by the boxes of the objects.

    A scheme may also have `gist`, its questions in a few plain words; `caution`, what its labels
    misrepresent, for the data sheets beside them; `by_image`, whether the labels of an image depend
    on this image alone (so that `mixed` may use it); `even`, whether labels are chosen whatever
    they say, so that each class is among them as often as it occurs; `complete_images`, whether a
    random part of the images is labelled completely; and `largest`.

    Schemes that inherit from this class have their fields checked: types and the limits of their
    `registry.setting`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    amount: ClassVar[str | None]

    def __post_init__(self) -> None:
        settle(self)

    @property
    def needs_hierarchy(self) -> bool:
        return False

    @property
    def needs_boxes(self) -> bool:
        return False

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        """Put all questions to the crowd; a scheme sees the answers and nothing else."""
        ...


def largest(scheme: Scheme, images: int, classes: int) -> int:
    """The amount above which nothing more can be asked about so many images and classes.

    1 for a share and the number of images for a count, unless the scheme says otherwise by a
    method of this name.
    """
    if hasattr(scheme, "largest"):
        return min(MOST, int(scheme.largest(images, classes)))
    assert scheme.amount is not None
    return 1 if isinstance(getattr(scheme, scheme.amount), float) else images


def by_image(scheme: Scheme | type[Scheme]) -> bool:
    """Whether the labels of an image depend on this image alone: so of schemes without an amount,
    unless the scheme says otherwise by an attribute of this name."""
    return bool(getattr(scheme, "by_image", scheme.amount is None))


def of_labels(labels: PartialLabels) -> type[Scheme] | None:
    """The scheme that made labels; None where they are of no scheme that is known here."""
    name = str(labels.history.settings.get("scheme", "")).partition("(")[0]
    return get(name) if name in names() else None


schemes: Registry[Scheme] = Registry("scheme", "simkit.annotate.schemes")
register = schemes.register
get = schemes.__getitem__
make = schemes.make
names = schemes.names
spell = schemes.spell
