"""What a comparison's folder holds, in a few lines; loads neither pandas nor torch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simkit.files import readable
from simkit.study import store
from simkit.study.runs import read

# Lists over classes are most of a table; none of them is needed to describe a folder.
_COLUMNS = (
    "scheme", "method", "reference", "budget", "budget_hours", "draw", "trained", "train_seconds",
    "peak_memory_mb", "environment", "bundle_seconds", "key",
)  # fmt: skip


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """Facts about a comparison's folder, and as `text` those that a person wants to read.

    Raises BadInput where there are no runs.
    """
    place = Path(folder)
    table = read(place, columns=_COLUMNS)
    about = {key.decode(): json.loads(text) for key, text in (table.schema.metadata or {}).items()}
    compared = table.filter(pc.invert(table["reference"]))

    def distinct(name: str, rows: pa.Table = table) -> list[Any]:
        return pc.drop_null(rows[name].unique()).to_pylist()

    each = table.group_by("key").aggregate([("bundle_seconds", "max")])  # every job once
    facts: dict[str, Any] = {
        "runs": len(table),
        "schemes": distinct("scheme", compared),
        "methods": distinct("method", compared),
        "budgets": distinct("budget", compared),
        "budgets_hours": distinct("budget_hours", compared),
        "draws": len(distinct("draw")),
        "trained": distinct("trained"),
        "planned": about.get("planned", 0),
        "failures": about.get("failures", []),
        "training_hours": (pc.sum(table["train_seconds"]).as_py() or 0.0) / 3600,
        "bundle_hours": (pc.sum(each["bundle_seconds_max"]).as_py() or 0.0) / 3600,
        "peak_memory_mb": pc.max(table["peak_memory_mb"]).as_py(),
        "environments": [json.loads(text) for text in distinct("environment")],
    }
    of = f" of {facts['planned']:,}" if facts["planned"] > facts["runs"] else ""
    backbones = "; whole backbones were trained" if facts["trained"] == ["backbone"] else ""
    lines = [
        f"{facts['runs']:,}{of} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} "
        f"methods, {facts['draws']} draws{backbones}",
        *_how(facts),
    ]
    if unfinished := _unfinished(place):
        facts["unfinished"] = unfinished
        lines.append(f"a comparison did not come to its end here: {unfinished} are there")
    if not (place / "summary.md").is_file():  # which would say it as well
        lines += [f"failed: {why}" for why in facts["failures"]]
    else:
        lines.append(readable(place / "summary.md", "a summary").read_text("utf-8", "replace"))
    return facts | {"text": "\n".join(lines)}


def _unfinished(place: Path) -> str:
    plan, finished = store.under_way(place), place / "grid.toml"
    shown = finished.read_text("utf-8", "replace") if finished.is_file() else None
    if plan["grid"] in ("", shown):
        return ""
    done = sum(store.finished(place / "bundles", stem) for stem in plan["keys"])
    return f"{done} of {len(plan['keys'])} jobs"


def _how(facts: dict[str, Any]) -> Iterator[str]:
    """With which versions, where and how long."""
    if made := facts["environments"]:
        programs = [
            f"{name} {' and '.join(sorted({str(one[name]) for one in made if name in one}))}"
            for name in ("simkit", "code", "torch", "python")
            if any(one.get(name) for one in made)
        ]
        places = {
            " ".join(str(one[name]) for name in ("system", "machine", "device") if name in one)
            for one in made
        }
        yield f"made with {', '.join(programs)} on {' and '.join(sorted(places))}"
    hours, every, peak = facts["training_hours"], facts["bundle_hours"], facts["peak_memory_mb"]
    if hours:
        within = f", with annotating and scoring {_time(every)}" if every else ""
        memory = "" if peak is None else f"; at most {peak:,.0f} MB in one process"
        yield f"{_time(hours)} of training{within}{memory}"


def _time(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} hours"
    return f"{60 * hours:,.1f} minutes" if hours >= 1 / 60 else f"{3600 * hours:,.1f} seconds"
