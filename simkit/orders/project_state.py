"""The state file of a project: which of its results are up to date.

A comparison depends on the pilot's labels, a plan on a round and on comparisons, a model on labels,
and scores on a model. `state.json` keeps the content id of each of these results with that of its
sources. File times do not count, because copies of a project (cp -r, git clone, a zip) have
different ones.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np

from simkit.errors import BadInput
from simkit.files import reading
from simkit.history import content_id, sealed, unsealed
from simkit.labels.formats.base import write_lines
from simkit.orders.order import ABOUT, LABELS

FILE, STATE = "project.toml", "state.json"
TABLE = "labels.csv"  # of the pilot and of further test images
PLAN_PAGE = "plan.html"  # the plan as a page
PLAN, MODEL, SCORES = "plan.json", "model/model.json", "scores.csv"
TAGS = "tags.csv"  # decisions at the thresholds of the model


def start(folder: Path) -> None:
    """Write the state of a new project, without results."""
    write_lines(folder / STATE, [json.dumps(sealed({"results": {}}))])


def record(folder: Path, *, made: Path | None = None) -> set[str]:
    """Update the state file, and return the results that are up to date.

    Each step that replaces a source calls this first. The content id of a result that is new or
    was changed since the last call, by a command or by hand, differs from the recorded one. Such a
    result was made from the current source, because no step has replaced the source since. Outside
    a project nothing happens.

    Parameters
    ----------
    folder : path
        Folder of the project.
    made : path, optional
        A result that was written just now. Its content may equal the recorded one although its
        source has changed.

    Returns
    -------
    set of str
        Names of the results that are up to date.
    """
    if not (folder / FILE).is_file():
        return set()
    orders = sorted(place.parents[1] for place in folder.glob(f"*/round-1/{ABOUT}"))
    if not orders:
        return set()
    rounds = len(list(orders[-1].glob(f"round-*/{ABOUT}")))
    runs = sorted(folder.glob("runs/*/table.csv"))
    compared = [run for run in runs if (folder / f"grid-{run.parent.name}.toml").is_file()]
    sources = {
        PLAN: [orders[-1] / f"round-{rounds}" / ABOUT, *compared],
        MODEL: [orders[-1] / LABELS],
        SCORES: [folder / MODEL],
    }
    sources |= {run.relative_to(folder).as_posix(): [folder / TABLE] for run in runs}
    file, recorded = folder / STATE, dict[str, list[str]]()
    by_time = not file.is_file()
    if not by_time:
        with reading(file, "the state of a project", "restore it, or delete it"):
            recorded = dict(unsealed(json.loads(file.read_text("utf-8")))["results"])
    results, current = dict(recorded), set[str]()
    for name, files in sources.items():
        result = folder / name
        if not all(file.is_file() for file in (result, *files)):
            continue
        content, ids = _id(result), [_id(file) for file in files]
        of = ids[0] if len(ids) == 1 else content_id(*ids)
        new = made is not None and made.absolute() == result.absolute()
        if new or recorded.get(name, [""])[0] != content:
            # Projects of version 0.2 have no state file: file times decide this one time.
            latest = max(file.stat().st_mtime for file in files)
            late = by_time and result.stat().st_mtime <= latest
            results[name] = [content, "" if late and not new else of]
        if results[name][1] == of:
            current.add(name)
    if by_time or results != recorded:
        with suppress(BadInput):  # a read-only folder cannot be updated, but its next step is right
            write_lines(file, [json.dumps(sealed({"results": results}), indent=1)])
    return current


def _id(file: Path) -> str:
    # Mapped, because scores of many images are large; an empty file cannot be mapped.
    return content_id(np.memmap(file, np.uint8, "r") if file.stat().st_size else b"")
