"""The training protocols of the papers: presets of settings, backbone and images."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simkit.errors import unknown
from simkit.learn.settings import Settings
from simkit.registry import build


@dataclass(frozen=True)
class Protocol:
    """A paper's protocol for training a backbone.

    size: side in pixels of the square images.  flip: mirror half of them;  upside_down: turn half
    of them upside down, too.  crop: share of the area of random crops. weights: argument of
    `backbone`. left_out: differences to the paper, and choices if the paper searched or is silent.
    """

    name: str
    source: str
    backbone: str
    size: int
    settings: Settings
    left_out: str
    weights: str = "imagenet"
    flip: bool = True
    upside_down: bool = False
    crop: tuple[float, float] | None = None

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """Its settings, with `changed` ones replaced. Raises BadInput.

        With another schedule or selection, the protocol's options for its own are dropped.
        """
        settings = {k: v for k, v in self.settings.to_json().items() if v is not None}
        changes = {key.replace("-", "_"): value for key, value in changes.items()}
        for key, details in _DETAILS.items():
            if changes.get(key, settings[key]) != settings[key]:
                settings = {k: v for k, v in settings.items() if k not in details}
        return build(Settings, {**settings, **changes}, "training")


_DETAILS = {
    "schedule": ("milestones", "step_factor", "warm_up", "cycle_momentum"),
    "select": ("patience", "max_drop", "keep"),
}


@cache
def _shipped() -> dict[str, Protocol]:
    """The protocols in protocols.toml, by name."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    texts = tables.pop("texts")
    shipped: dict[str, Protocol] = {}
    for name, table in tables.items():
        values = vars(shipped[table.pop("like")]) if "like" in table else {}
        values = {**values, **table, "name": name}
        values["settings"] = build(Settings, table["settings"], "training")
        values["left_out"] = values["left_out"].format(**texts)
        values["crop"] = tuple(values["crop"]) if values.get("crop") else None
        shipped[name] = Protocol(**values)
    return shipped


def names() -> list[str]:
    """All protocols, sorted."""
    return sorted(_shipped())


def protocol(name: str) -> Protocol:
    """The protocol of this name. Raises BadInput with the nearest name otherwise."""
    if name.lower() not in _shipped():
        raise unknown("protocol", name, _shipped())
    return _shipped()[name.lower()]


def summary(one: Protocol) -> str:
    """Backbone, size, views, and the settings that differ from the defaults."""
    plain = Settings().to_json()
    special = {k: v for k, v in one.settings.to_json().items() if v != plain[k]}
    views = ["flip"] * one.flip + ["upside down"] * one.upside_down
    if one.crop is not None:
        views.append(f"crop {one.crop[0]:g}-{one.crop[1]:g}")
    changed = [
        f"{key}={','.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in special.items()
    ]
    return ", ".join([one.backbone, f"{one.size} px", *views, " ".join(changed)])
