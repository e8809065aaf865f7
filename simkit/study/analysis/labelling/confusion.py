"""Who said what to what is there, how workers differ, and whether fitted habits say the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from simkit.annotate.people.fitting import Fitted, measured, simulate_votes
from simkit.annotate.people.votes import WORDS, Votes, agreement

_SCHEMA = pa.schema(
    [
        ("part", pa.string()),
        ("name", pa.string()),
        ("answer", pa.string()),
        ("votes", pa.float64()),
        ("share", pa.float64()),
        ("simulated", pa.float64()),
        ("miss", pa.float64()),
        ("false_alarm", pa.float64()),
    ]
)


def confusion(votes: Votes, fitted: Fitted, *, seed: int = 0) -> pa.Table:
    """Everything the figure `confusion` draws; `part` says what a row is about, the rest is null.

    matrix, gold  name (present, absent), answer (no, maybe, yes), votes, share of the votes on such
                  classes: by the estimated truth, and by the experts' where there is one
    worker        name, votes, miss and false_alarm (nan where the worker met no such question)
    yes           name: how many of the typical number of people say yes; share of questions, and
                  that share simulated from the habits with this seed
    agreement     name, share (the number measured), simulated
    """
    rows = [*_matrix("matrix", fitted.confusion)]
    if (votes.gold >= 0).any():
        rows += _matrix("gold", measured(votes))
    workers = zip(votes.workers, fitted.votes, fitted.miss, fitted.false_alarm, strict=True)
    for name, cast, miss, imagined in workers:
        row = {"part": "worker", "name": name, "votes": float(cast)}
        rows.append({**row, "miss": float(miss), "false_alarm": float(imagined)})
    real = agreement(votes, maybe=fitted.maybe)
    again = agreement(simulate_votes(fitted, votes, seed=seed))
    for n, (share, simulated) in enumerate(zip(real.yes_counts, again.yes_counts, strict=True)):
        row = {"part": "yes", "name": str(n), "share": float(share)}
        rows.append({**row, "simulated": float(simulated)})
    for (name, number), (_, simulated) in zip(real.rows(), again.rows(), strict=True):
        rows.append({"part": "agreement", "name": name, "share": number, "simulated": simulated})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _matrix(part: str, table: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Present first: it is what one looks for."""
    rows = []
    for truth, numbers in (("present", table[1]), ("absent", table[0])):
        total = numbers.sum()
        for answer, number in zip(WORDS, numbers, strict=True):
            share = number / total if total else float("nan")
            row = {"part": part, "name": truth, "answer": answer}
            rows.append({**row, "votes": float(number), "share": float(share)})
    return rows
