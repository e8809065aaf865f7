"""The fields of a grid with their defaults and meanings, as `simkit list grid` shows them."""

from __future__ import annotations

from typing import Any

from simkit.cli.detail import detail
from simkit.cli.settings import settings


def fields() -> list[dict[str, Any]]:
    """A row for each field; defaults are spelled as TOML has them."""
    from simkit.study.grid import Grid
    from simkit.study.toml import toml

    rows = []
    for one in settings(Grid):
        if one.name in ("features", *_tables()):
            default = f"[{one.name}]"
        elif one.needed:
            default = "(needed)"
        else:
            default = toml(one.default)
        rows.append({"name": one.name, "default": default, "meaning": one.told})
    return rows


def inside(name: str) -> dict[str, Any]:
    """The settings of a field that is a table of them; of another one nothing."""
    found = _tables().get(name)
    return {} if found is None else {"settings": detail(found)["settings"]}


def _tables() -> dict[str, type[Any]]:
    from simkit.annotate.habits import Habits
    from simkit.learn.steps.optim import Settings
    from simkit.study.grid import Pictures, Tuning

    return {"pictures": Pictures, "habits": Habits, "train": Settings, "tuning": Tuning}
