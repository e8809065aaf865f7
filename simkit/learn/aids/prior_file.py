"""Class priors in files: our JSON, and the CSV that the code of Ben-Baruch et al. writes."""

from __future__ import annotations

import csv
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.history import History
from simkit.learn.aids.prior import ClassPrior


def write(prior: ClassPrior, path: str | PathLike[str]) -> None:
    """Write JSON: priors by class name, or as a list where there are no names; the history.

    Running means are a list in the order of the priors.
    """
    values = prior.values.tolist()
    content = {
        "priors": dict(zip(prior.classes, values, strict=True)) if prior.classes else values,
        "history": json.loads(prior.history.to_json()),
    }
    if prior.running is not None:
        content["running"] = prior.running.tolist()
    with whole(path) as temporary:
        text = json.dumps(content, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def read(path: str | PathLike[str]) -> ClassPrior:
    """Read what `write` wrote, or a .csv of class and prior with or without a line of headings.

    The published CSVs end with a line that holds a count and no class; such a last line is left
    out. Raises BadInput.
    """
    found = readable(path, "a class prior (JSON or CSV)")
    try:
        return _csv(found) if found.suffix.lower() == ".csv" else _json(found)
    except BadInput as error:
        raise BadInput(f"{found}: {error}") from None
    except (ValueError, TypeError, KeyError, AttributeError, csv.Error, RecursionError) as error:
        raise BadInput(
            f"{found} cannot be read as a class prior ({error}); write it with ClassPrior.save"
        ) from None


def _json(path: Path) -> ClassPrior:
    content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    priors = content["priors"]
    history = History.from_json(json.dumps(content["history"]))
    named = isinstance(priors, dict)
    values = np.array(list(priors.values()) if named else priors)
    if values.dtype.kind not in "iuf":
        raise TypeError("a prior is no number")
    return ClassPrior(values, tuple(priors) if named else None, history, content.get("running"))


def _csv(path: Path) -> ClassPrior:
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    if rows and len(rows[-1]) == 1:
        del rows[-1]
    for place, row in enumerate(rows):
        if len(row) != 2:
            raise ValueError(f"line {place + 1} has {len(row)} fields, and 2 are expected")
    if rows and not _is_number(rows[0][1]):
        del rows[0]
    values = np.array([float(value) for _, value in rows])
    return ClassPrior(values, tuple(name for name, _ in rows), History("given", {"file": "csv"}))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys differ."""
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"{key!r} stands there twice")
        made[key] = value
    return made
