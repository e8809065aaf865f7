"""Every scheme, and further spellings of those whose settings change what they do."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simkit.annotate import schemes
from simkit.data.dataset import Boxes
from simkit.labels.truth import Truth

SPECS = [
    *schemes.names(),
    "rpa(keep=0.7)",
    "fpc(per_class=7)",
    "fpc(per_class=7, search='random')",
    "fpc(per_class=7, search=scores)",
    "fpc(per_class=7, keep_looks=True, precision=0.2)",
    "fpc(per_class=7, search='random', keep_looks=True)",
    "single-positive(positives=2, negatives=2)",
    "single-positive(positives=0, negatives=3, keep_looks=True)",
    "single-positive(bias=size)",
    "single-positive(positives=3, negatives=1, bias=centre)",
    "single-positive(positives=2, bias=typical)",
    "single-positive(negatives=1, bias=rare)",
    "single-positive(bias='{}')",
    "fraction-of-positives(keep=0.5, ratio=0)",
    "fraction-of-positives(keep=1)",
    "fraction-of-positives(keep=0.3, ratio=4)",
    "federated(search=random, ratio=2.5)",
    "federated(search=scores, ratio=2.5, keep_looks=True)",
    "federated(per_class=9, exponent=0.5, keep_looks=True)",
    "proposals(per_image=2, skew=3, precision=0.9)",
    "knowledge-graph(mode=truth)",
    "knowledge-graph(mode=path-only)",
    "mixed(share=0.5, rest='rpa(keep=0.3)')",
    "mixed(share=0.3, rest='knowledge-graph(mode=verify)')",
    "mixed(share=0.1, rest='single-positive(positives=2, negatives=1, bias=size)')",
    "mixed(share=0.4, rest=proposals)",
    "mixed(share=0.3, rest='single-positive(bias=rare)')",
    "picked(by=typicality, rest='single-positive(positives=2)')",
    "picked(share=0.5, by=random, rest='rpa(keep=0.3)')",
    "picked(share=0.4, rest=knowledge-graph)",
    "picked(share=0.3, by=uncertainty, rest='rpa(keep=0.5)')",
    "proposals(per_image=2, by=scores)",
    "machine(high=0.8, low=0.1)",
    "machine(verify=0.5, wrong_present=0.4, low=0.02)",
]


def options_of(truth: Truth) -> dict[str, Any]:
    """Boxes, features and scores of a truth, as keywords of `simulate`."""
    scores = np.random.default_rng(truth.shape).normal(-1, 2, truth.shape).round(1)
    scores[0] = -1.5  # not all above 0, as those of no model are
    return {"boxes": boxes_of(truth), "features": features_of(truth), "scores": scores}


@cache
def features_of(truth: Truth) -> NDArray[np.float32]:
    """Of all images, some of them alike; the same ones every time."""
    values = np.random.default_rng(truth.shape).normal(size=(truth.shape[0], 5)).round(1)
    values[1::7] = values[0]
    return values.astype(np.float32)


@cache
def boxes_of(truth: Truth) -> Boxes:
    """One to three boxes for two of three present classes, the same ones every time."""
    rng = np.random.default_rng(truth.shape)
    rows, columns = truth.present.nonzero()
    chosen = np.repeat(np.arange(len(rows)), rng.integers(0, 4, len(rows)))
    start = rng.integers(0, 60, (len(chosen), 2))
    corners = np.concatenate([start, start + rng.integers(1, 30, (len(chosen), 2))], 1)
    sizes = rng.integers(60, 90, (truth.shape[0], 2))
    return Boxes(rows[chosen], columns[chosen], corners.astype(np.float32), sizes)
