"""What a comparison's folder holds, in a few lines for a person."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simkit.files import readable
from simkit.study import kept, runs

# Lists over classes are most of a table; none of them is needed here.
_COLUMNS = (
    "scheme",
    "method",
    "reference",
    "budget",
    "budget_hours",
    "draw",
    "trained",
    "train_seconds",
    "peak_memory_mb",
    "environment",
    "bundle_seconds",
    "key",
)


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """Facts about a comparison's folder, and as `text` what a person wants to read.

    Raises BadInput where there are no runs.
    """
    place = Path(folder)
    table = runs.table(place, columns=_COLUMNS)
    compared = table.filter(pc.invert(table["reference"]))  # references are not what is compared
    facts: dict[str, Any] = {
        "runs": len(table),
        "schemes": compared["scheme"].unique().to_pylist(),
        "methods": compared["method"].unique().to_pylist(),
        "budgets": pc.drop_null(compared["budget"].unique()).to_pylist(),
        "budgets_hours": pc.drop_null(compared["budget_hours"].unique()).to_pylist(),
        "draws": len(table["draw"].unique()),
        "trained": pc.drop_null(table["trained"].unique()).to_pylist(),
        "planned": runs.planned(table),
        "failures": list(runs.failures(table)),
        "training_hours": (pc.sum(table["train_seconds"]).as_py() or 0.0) / 3600,
        "bundle_hours": _worked(table) / 3600,
        "peak_memory_mb": pc.max(table["peak_memory_mb"]).as_py(),
        "environments": _environments(table),
    }
    of = f" of {facts['planned']:,}" if facts["planned"] > facts["runs"] else ""
    lines = [
        f"{facts['runs']:,}{of} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} "
        f"methods, {facts['draws']} draws"
        + ("; whole backbones were trained" if facts["trained"] == ["backbone"] else ""),
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
    plan, finished = kept.under_way(place), place / "grid.toml"
    shown = finished.read_text("utf-8", "replace") if finished.is_file() else None
    if plan["grid"] in ("", shown):
        return ""
    there = sum(kept.is_there(place / "bundles", key) for key in plan["keys"])
    return f"{there} of {len(plan['keys'])} bundles"


def _worked(table: pa.Table) -> float:
    """Seconds of all bundles, each once."""
    each = table.group_by("key").aggregate([("bundle_seconds", "max")])
    return float(pc.sum(each["bundle_seconds_max"]).as_py() or 0.0)


def _environments(table: pa.Table) -> list[dict[str, Any]]:
    """With what the runs were computed; each once."""
    return [json.loads(text) for text in pc.drop_null(table["environment"].unique()).to_pylist()]


def _how(facts: dict[str, Any]) -> list[str]:
    """With which versions, where and how long."""
    lines = []
    if made := facts["environments"]:
        programs = [
            f"{name} {' and '.join(sorted({str(one[name]) for one in made if name in one}))}"
            for name in ("simkit", "torch", "python")
            if any(name in one for one in made)
        ]
        places = sorted(
            {
                " ".join(str(one[name]) for name in ("system", "machine", "device") if name in one)
                for one in made
            }
        )
        lines.append(f"made with {', '.join(programs)} on {' and '.join(places)}")
    hours, peak = facts["training_hours"], facts["peak_memory_mb"]
    if hours:
        all_of_it = facts["bundle_hours"]
        within = f", with annotating and scoring {_time(all_of_it)}" if all_of_it else ""
        memory = "" if peak is None else f"; at most {peak:,.0f} MB in one process"
        lines.append(f"{_time(hours)} of training{within}{memory}")
    return lines


def _time(hours: float) -> str:
    if hours >= 1:
        return f"{hours:,.1f} hours"
    return f"{60 * hours:,.1f} minutes" if hours >= 1 / 60 else f"{3600 * hours:,.1f} seconds"
