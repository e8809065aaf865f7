"""How a method was trained where it was measured: its full spelling and what matters most in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from simkit.planning.evidence.ways import Way
from simkit.study import runs

MOST = 2  # settings that are told of each method
_NUMBER = re.compile(r"(\w+)=(-?\d[\d.]*(?:e[-+]?\d+)?)(?=[,)])")
_NEEDED = ("scheme", "method", "method_spec", "reference", "dollars", "draw", "lr", "epochs")


@dataclass(frozen=True)
class TrainedWith:
    """The method spelled with all its settings, and two of them by name: what a sweep chose, then
    the method's own first number that is not neutral (0 or 1), learning rate and epochs."""

    spec: str
    settings: tuple[tuple[str, str], ...]


def trained_with(folders: Iterable[Any], way: Way, method: str) -> TrainedWith:
    """From the largest run of a method along a way; the method's name alone where none is on file.

    folders: of comparisons.
    """
    every = [row for folder in folders for row in _rows(folder, method)]
    found = [row for row in every if not row["reference"]] or every
    own = [row for row in found if Way.of(row["scheme"]).scheme == way.scheme] or found
    if not own:
        return TrainedWith(method, ())
    row = max(own, key=lambda one: (one["dollars"] or 0.0, -one["draw"]))
    return TrainedWith(row["method_spec"] or method, key_settings(row))


def _rows(folder: Any, method: str) -> Iterable[dict[str, Any]]:
    table = runs.table(folder)
    names = [name for name in (*_NEEDED, "tuned") if name in table.column_names]
    for row in table.select(names).to_pylist():
        if row["method"] == method and row["draw"] != runs.SWEEP:
            yield dict.fromkeys((*_NEEDED, "tuned")) | row


def key_settings(row: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """At most two (name, value): of a row of runs with method_spec, lr, epochs and tuned."""
    tuned = json.loads(row["tuned"]) if row["tuned"] else {}
    found = {_named(name): f"{value}, tuned" for name, value in tuned.items()}
    found |= {name: value for name, value in _own(row["method_spec"] or "") if name not in found}
    for name, value in (("learning rate", row["lr"]), ("epochs", row["epochs"])):
        if value is not None:
            found.setdefault(name, f"{value:g}")
    return tuple(found.items())[:MOST]


def _own(spec: str) -> Sequence[tuple[str, str]]:
    """The first number that is not neutral."""
    numbers = [(name, value) for name, value in _NUMBER.findall(spec) if float(value) not in (0, 1)]
    return numbers[:1]


def _named(name: str) -> str:
    return {"lr": "learning rate"}.get(name, name.replace("_", " "))
