"""What a sweep came to: the settings that are compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from simkit.study.grid import Setting, at_edge
from simkit.study.jobs import Choices, Job, choice_of
from simkit.study.scheduler import Finished


def choose(tried: Sequence[Job], swept: Finished) -> tuple[Choices, list[str]]:
    """The setting of each method under each scheme with the highest mAP on the validation labels,
    the first of those that tie; and a sentence for each failure."""
    scores: dict[tuple[str, str], list[Setting]] = {}
    names: dict[str, str] = {}
    for job in tried:
        result = swept.done.get(job.key)
        columns = ["scheme", "reference", "method", "tuned", "tuned_map"]
        rows = result.table.select(columns).to_pylist() if result else []
        reached = {(r["scheme"], r["reference"], r["method"], r["tuned"]): r for r in rows}
        for one in job.purchases:
            names[choice_of(one)] = str(one)
            for spec, setting in zip(one.methods, one.settings, strict=True):
                row = reached.get((one.scheme, one.reference, spec, setting.text))
                score = row["tuned_map"] if row else None
                key = choice_of(one), spec
                scores.setdefault(key, []).append(dataclasses.replace(setting, score=score))
    chosen: dict[tuple[str, str], Setting] = {}
    sentences = swept.sentences(tried)
    for (scheme, spec), settings in scores.items():
        known = [one for one in settings if one.score is not None]
        if known:
            best = max(known, key=lambda one: one.score or 0.0)
            edge = at_edge(best, settings)
            chosen[scheme, spec] = dataclasses.replace(best, runs=len(settings), edge=edge)
        else:
            sentences.append(
                f"{names[scheme]}, tuning, {spec}: no setting has a score on the validation "
                "labels; see what failed, or leave tuning out"
            )
    return chosen, sentences
