"""What a scheme is, and how it is found by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from simkit.chance import Chance
from simkit.errors import BadInput
from simkit.registry import Registry

if TYPE_CHECKING:
    from simkit.annotate.crowd import Crowd


class Scheme(Protocol):
    """Which questions to ask: a frozen dataclass whose fields are its settings.

    name    as users type it;  title  as the field writes it;  source  paper and section.
    amount  the one field that scales it, or None: only the number of images does. A larger amount
            asks for more and keeps what a smaller one found.
    needs_hierarchy  whether it asks along a class hierarchy.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    amount: ClassVar[str | None]
    needs_hierarchy: ClassVar[bool]

    def ask(self, crowd: Crowd, chance: Chance) -> None:
        """Put all questions to the crowd; a scheme sees the answers and nothing else."""
        ...


schemes: Registry[Scheme] = Registry("scheme", "simkit.annotate.schemes")
register = schemes.register
get = schemes.__getitem__
make = schemes.make
names = schemes.names
spell = schemes.spell


def check_share(scheme: Scheme, field: str, *, above_zero: bool = False) -> None:
    """Raise BadInput unless this field is a share."""
    value = getattr(scheme, field)
    if isinstance(value, str) or not 0 <= value <= 1 or (above_zero and value == 0):
        wanted = "a share above 0 and up to 1" if above_zero else "a share from 0 to 1"
        raise BadInput(f"{scheme.name}: {field} is {value!r}; {wanted} is expected")


def check_count(scheme: Scheme, field: str) -> None:
    """Raise BadInput unless this field is a whole number from 1 on."""
    value = getattr(scheme, field)
    if isinstance(value, str) or value < 1 or value != int(value):
        raise BadInput(f"{scheme.name}: {field} is {value!r}; a whole number from 1 on is expected")


def check_choice(scheme: Scheme, field: str, known: tuple[str, ...]) -> None:
    """Raise BadInput unless this field is one of the `known` texts."""
    value = getattr(scheme, field)
    if value not in known:
        raise BadInput(f"{scheme.name}: {field} is {value!r}; it must be one of {', '.join(known)}")
