"""What settings mean is read where it is written: in `setting`, comments or docstrings."""

from dataclasses import dataclass, field
from typing import Literal

from simkit.cli.settings import settings
from simkit.registry import setting


@dataclass(frozen=True)
class Above:
    """A parent.

    far, farther: how far to go; near: how near to come. Not a field: nothing.
    """

    far: float = 1.0
    farther: float = 2.0
    near: float = 3.0


@dataclass(frozen=True)
class Part(Above):
    """A part.

    listed: only here.

    Source: listed: not this.
    """

    needed: int = field(kw_only=True)
    beside: int = 1  # in one line
    # above it,
    # in two lines.
    over: Literal["", "a", "b"] = "a"
    both: int = 1  # beside wins
    wide: Literal["x"] | None = field(
        default=None,  # in the middle
    )
    helped: int = setting(1, "from setting")  # not this
    listed: bool = True
    plain: int = 0
    near: float = 4.0  # nearer


def test_meanings_and_defaults() -> None:
    assert {s.name: (s.default, s.described) for s in settings(Part)} == {
        "far": (1.0, "how far to go"),
        "farther": (2.0, "how far to go"),
        "near": (4.0, "nearer"),
        "needed": (None, ""),
        "beside": (1, "in one line"),
        "over": ("a", "above it, in two lines; one of nothing, a, b"),
        "both": (1, "beside wins"),
        "wide": (None, "in the middle; one of x, none"),
        "helped": (1, "from setting"),
        "listed": (True, "only here"),
        "plain": (0, ""),
    }
    assert [s.name for s in settings(Part) if s.needed] == ["needed"]


def test_a_part_made_without_a_file_has_no_comments() -> None:
    space: dict[str, type] = {}
    exec("from dataclasses import dataclass\n@dataclass\nclass Made:\n  a: int = 1 # no", space)
    assert [(s.name, s.described) for s in settings(space["Made"])] == [("a", "")]
