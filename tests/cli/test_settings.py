from dataclasses import dataclass, field
from typing import Literal

from simkit.cli.settings import settings
from simkit.registry import setting


@dataclass(frozen=True)
class Part:
    needed: int = setting(..., "how far to go")
    choice: Literal["", "a", "b"] = setting("a", "which")
    optional: Literal["x"] | None = setting(None, "")
    table: dict[str, int] = setting(dict, "a table")
    plain: int = field(default=0)


def test_meanings_and_defaults() -> None:
    assert {s.name: (s.default, s.meaning) for s in settings(Part)} == {
        "needed": (None, "how far to go"),
        "choice": ("a", "which; one of nothing, a, b"),
        "optional": (None, "one of x, none"),
        "table": ({}, "a table"),
        "plain": (0, ""),
    }
    assert [s.name for s in settings(Part) if s.needed] == ["needed"]
