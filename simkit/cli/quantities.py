"""Types of options: dollars, counts, shares and scores, read as `simkit.quantities` reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from simkit import quantities


class Quantity(click.ParamType):
    """An option whose text `read` turns into a number; `name` stands in the help."""

    def __init__(self, name: str, read: Callable[[Any, str], float]) -> None:
        self.name = name
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.read(value, max(param.opts, key=len) if param else self.name)


DOLLARS = Quantity("dollars", quantities.dollars)
COUNT = Quantity("number", quantities.count)
SHARE = Quantity("share", quantities.share)
SCORE = Quantity("score", quantities.score)
