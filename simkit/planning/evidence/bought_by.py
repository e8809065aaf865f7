"""What a comparison's grid says of how its labels were bought: by which people and prices."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simkit.annotate.habits import Habits
from simkit.annotate.prices import Prices, prices
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.study import kept


def grid(folder: Path) -> dict[str, Any]:
    """The grid as plain values, without `study.grids.grid`, which takes seconds to load torch."""
    path = folder / "grid.toml"
    try:
        there = path.is_file()
        text = path.read_text(encoding="utf-8") if there else kept.under_way(folder)["grid"]
        found = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); compare again into this folder") from None
    if not found:
        raise BadInput(f"{folder} holds no grid.toml; give the folder that `simkit compare` made")
    if not isinstance(found.get("prices"), str):
        raise BadInput(f"{path}: prices is missing; compare again into this folder")
    return found


def habits(grid: Mapping[str, Any], where: Any) -> Habits:
    """Those of the grid. Raises BadInput that names `where`."""
    try:
        return Habits(**grid.get("habits", {}))
    except (BadInput, TypeError) as error:
        raise BadInput(f"{where}: grid.toml: {error}") from None


def listed(grid: Mapping[str, Any]) -> Prices | None:
    """The grid's price list; None where its file is not there any more."""
    try:
        return prices(grid["prices"])
    except BadInput:
        return None


def list_id(listed: Prices) -> str:
    """What a price list says, as a content id: two files of one name may be different lists."""
    return content_id(repr(listed))
