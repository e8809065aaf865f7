"""The result of a sweep: the chosen settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from simkit.study.grid import Setting, at_edge
from simkit.study.jobs import Choices, Job, choice_of
from simkit.study.scheduler import Finished


def choose(tried: Sequence[Job], swept: Finished) -> tuple[Choices, list[str]]:
    """The setting with the highest mAP on the validation labels for each method and scheme (of
    equal ones the first that is not at the edge), and a sentence for each failure."""
    scores: dict[tuple[str, str], list[Setting]] = {}
    names: dict[str, str] = {}
    for job in tried:
        result = swept.done.get(job.key)
        columns = ["scheme", "reference", "method", "tuned", "tuned_map"]
        rows = result.table.select(columns).to_pylist() if result else []
        score_of = {
            (r["scheme"], r["reference"], r["method"], r["tuned"]): r["tuned_map"] for r in rows
        }
        for purchase in job.purchases:
            scheme = choice_of(purchase)
            names[scheme] = str(purchase)
            for spec, setting in zip(purchase.methods, purchase.settings, strict=True):
                score = score_of.get((purchase.scheme, purchase.reference, spec, setting.text))
                scored = dataclasses.replace(setting, score=score)
                scores.setdefault((scheme, spec), []).append(scored)
    chosen: dict[tuple[str, str], Setting] = {}
    sentences = swept.sentences(tried)
    for (scheme, spec), settings in scores.items():
        successful = [setting for setting in settings if setting.score is not None]
        if successful:
            best = max(successful, key=lambda one: (one.score or 0.0, not at_edge(one, settings)))
            edge = at_edge(best, settings)
            chosen[scheme, spec] = dataclasses.replace(best, runs=len(settings), edge=edge)
        else:
            sentences.append(
                f"{names[scheme]}, tuning, {spec}: no setting has a score on the validation "
                "labels; see the failures, or leave tuning out"
            )
    return chosen, sentences
