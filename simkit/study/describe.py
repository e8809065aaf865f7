"""A comparison's folder in a few lines; loads neither pandas nor torch."""

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
    """Facts about a comparison's folder by name, and as `text` in sentences.

    Raises
    ------
    BadInput
        If the folder has no runs.
    """
    folder = Path(folder)
    table = read(folder, columns=_COLUMNS)
    about = {key.decode(): json.loads(text) for key, text in (table.schema.metadata or {}).items()}
    compared = table.filter(pc.invert(table["reference"]))

    def distinct(name: str, rows: pa.Table = table) -> list[Any]:
        return pc.drop_null(rows[name].unique()).to_pylist()

    by_job = table.group_by("key").aggregate([("bundle_seconds", "max")])
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
        "bundle_hours": (pc.sum(by_job["bundle_seconds_max"]).as_py() or 0.0) / 3600,
        "peak_memory_mb": pc.max(table["peak_memory_mb"]).as_py(),
        "environments": [json.loads(text) for text in distinct("environment")],
    }
    of = f" of {facts['planned']:,}" if facts["planned"] > facts["runs"] else ""
    backbones = "; whole backbones were trained" if facts["trained"] == ["backbone"] else ""
    lines = [
        f"{facts['runs']:,}{of} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} "
        f"methods, {facts['draws']} draw{'s' * (facts['draws'] != 1)}{backbones}",
        *_provenance(facts),
    ]
    if unfinished := _unfinished(folder):
        facts["unfinished"] = unfinished
        lines.append(f"a comparison in this folder is unfinished: {unfinished} are finished")
    summary = folder / "summary.md"
    if summary.is_file():  # names the failures, too
        lines.append(readable(summary, "a summary").read_text("utf-8", "replace"))
    else:
        lines += [f"failed: {why}" for why in facts["failures"]]
    return facts | {"text": "\n".join(lines)}


def _unfinished(folder: Path) -> str:
    """ "3 of 8 jobs" of a comparison under way, or nothing."""
    plan, grid_file = store.under_way(folder), folder / "grid.toml"
    finished_grid = grid_file.read_text("utf-8", "replace") if grid_file.is_file() else None
    if plan["grid"] in ("", finished_grid):
        return ""
    done = sum(store.finished(folder / "bundles", stem) for stem in plan["keys"])
    return f"{done} of {len(plan['keys'])} jobs"


def _provenance(facts: dict[str, Any]) -> Iterator[str]:
    """Versions, machines, training time and memory."""
    if environments := facts["environments"]:
        programs = [
            f"{name} {' and '.join(sorted({str(e[name]) for e in environments if name in e}))}"
            for name in ("simkit", "code", "torch", "python")
            if any(environment.get(name) for environment in environments)
        ]
        machines = {
            " ".join(str(e[name]) for name in ("system", "machine", "device") if name in e)
            for e in environments
        }
        yield f"made with {', '.join(programs)} on {' and '.join(sorted(machines))}"
    training, total, peak = facts["training_hours"], facts["bundle_hours"], facts["peak_memory_mb"]
    if training:
        annotation = f", {_time(total)} with annotation and evaluation" if total else ""
        memory = "" if peak is None else f"; at most {peak:,.0f} MB in one process"
        yield f"{_time(training)} of training{annotation}{memory}"


def _time(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} hours"
    return f"{60 * hours:,.1f} minutes" if hours >= 1 / 60 else f"{3600 * hours:,.1f} seconds"
