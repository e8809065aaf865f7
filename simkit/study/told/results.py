"""What a comparison gives: a table, sentences, and the files that it leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from simkit.errors import BadInput
from simkit.study import figures, kept, runs, summary
from simkit.study.grids.grid import Grid
from simkit.study.told import tuned
from simkit.study.told.edges import at_the_edge
from simkit.study.told.verdict import verdicts

_PICTURES = {"heat_map.png": "heat-map", "cost_curve.png": "cost-curve"}


@dataclass(frozen=True, eq=False)
class Comparison:
    """All finished runs of a grid.

    table     one row for each run; columns are those of `study.columns.COLUMNS`.
    failures  one sentence for each bundle, or method of a bundle, that failed.
    notes     what was odd, such as a budget that a scheme could not spend.
    left      bundles of other parts that are not there yet; then `table` has this part's runs.
    parts     with more parts than this (`part`), some have no bundle to work on.
    """

    table: pa.Table
    grid: Grid
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: int = 0
    parts: int = 1

    def summary(self) -> list[summary.Line]:
        """For each scheme and budget: means, intervals, costs and ranks of the methods."""
        return summary.lines(self.table)

    def text(self) -> str:
        """The sentences that a person wants to read."""
        return "\n".join(
            [
                *summary.sentences(self.table),
                *verdicts(self.table),
                *self.lacking(),
                *(f"note: {note}" for note in self.notes),
            ]
        )

    def lacking(self) -> list[str]:
        """A sentence where runs failed, and are in nothing that is told."""
        planned, there = runs.planned(self.table), len(self.table)
        if there >= planned:
            return []
        return [
            f"{planned - there:,} of {planned:,} runs failed: no table, figure or sentence has them"
        ]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        cells = [
            {
                "scheme": cell.scheme,
                "method": cell.method,
                "budget": cell.limit.dollars,
                "budget_hours": cell.limit.hours,
                "map": cell.score.mean,
                "low": cell.score.low,
                "high": cell.score.high,
                "draws": cell.score.draws,
                "rank": line.ranking.ranks[cell.method],
                "dollars": cell.dollars,
                "hours": cell.hours,
            }
            for line in self.summary()
            for cell in line.cells
        ]
        return {
            "cells": cells,
            "sentences": summary.sentences(self.table),
            "verdicts": verdicts(self.table),
            "runs": len(self.table),
            "planned": runs.planned(self.table),
            "failures": list(self.failures),
            "notes": list(self.notes),
            "left": self.left,
        }


def written(result: Comparison, folder: Path) -> Comparison:
    """The comparison, with its files in the folder."""
    if pc.all(result.table["reference"], min_count=0).as_py():
        kept.ended(folder)
        raise BadInput(f"every run failed; the first one said: {result.failures[0]}")
    runs.write(_files(result), folder)
    kept.ended(folder)
    return result


def _bought(table: pa.Table) -> list[str]:
    """The verdicts as a chapter of the summary, where there are any."""
    told = [f"- {text}" for text in verdicts(table)]
    return ["# What to buy", "", *told, ""] if told else []


def _failed(result: Comparison) -> list[str]:
    """What is missing and why, as a chapter of the summary, where something is."""
    told = [f"- {text}" for text in result.failures]
    return (
        ["# Failed", "", *[f"{text}." for text in result.lacking()], "", *told, ""] if told else []
    )


def notes(table: pa.Table, grid: Grid) -> tuple[str, ...]:
    """What was odd, of the sweep first."""
    return (*tuned.notes(table), *at_the_edge(table, grid.tuning), *_notes(table))


def _notes(table: pa.Table) -> tuple[str, ...]:
    """Each kind of note once for each scheme, in its last form: that of the largest budget."""
    found = {}
    for scheme, notes in zip(
        *(table[name].to_pylist() for name in ("scheme", "notes")), strict=True
    ):
        for note in notes or ():
            name = scheme.partition("(")[0]
            # Some notes name their scheme, though never with its settings.
            text = re.sub(rf"^{re.escape(name)}(: | (?=can spend ))", "", note)
            found[scheme, re.sub(r"[\d.,]+", "", note)] = f"{scheme}: {text}"
    return tuple(found.values())


def _files(result: Comparison) -> dict[str, Callable[[Path], object]]:
    """The files of a comparison by name, and what writes each of them."""
    told = [f"- {note}" for note in result.notes]
    more = ["", "## Notes", "", *told, ""] if told else []
    texts = {
        "grid.toml": result.grid.to_toml(),
        "summary.md": "\n".join(
            [
                *_bought(result.table),
                *_failed(result),
                summary.markdown(result.table),
                *more,
                *tuned.chapter(result.table),
            ]
        ),
    }
    found = runs.writers(result.table)
    for name, text in texts.items():
        found[name] = partial(_write_text, text=text)
    for file, name in _PICTURES.items():
        found[file] = partial(figures.make(name)(result.table).savefig, format="png")
    return found


def _write_text(path: Path, *, text: str) -> None:
    path.write_text(text, encoding="utf-8")
