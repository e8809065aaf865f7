"""What do similar photographs, and similar classes, know of a label?

    SIMKIT_DATA=... python benchmarks/similar.py        # a minute on one core

What notebooks/03_embeddings_and_temperatures asks of `scenes`, on the photographs of SIMKIT_DATA
with the features that come with them: do neighbours show the same classes, how many unknown labels
do SE-I, SE-L and SE reach, and how many of their soft positives are right? Five draws.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from findings import shown
from photographs_packs import Pack

from simkit.annotate.simulate import simulate
from simkit.embed.neighbours import Neighbours
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.side_info import prepare
from simkit.papers.analysis.embedding import reached

PACKS, DRAWS, METHODS = ("voc12-animals", "coco-mini"), 5, ("se-i", "se-l", "se")
# The last one asks about every image, so that its tasks know the neighbours of all.
SCHEMES = ("fraction-of-positives(keep=0.1)", "fraction-of-positives(keep=0.3)", "single-positive")


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # what SE says of labels without negatives
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    lines = []
    print("| data | nearest | tenth | at random |\n|---|--:|--:|--:|")
    for name in PACKS:
        pack = Pack(name, 1, 1.0, Path("unused"))
        truth, features = pack.data.truth["train"], FeatureInputs(pack.brought()["train"])
        rows, se = np.arange(len(truth.images)), make("se")
        present = truth.rows(rows)
        tables = []
        for draw in range(DRAWS):
            for scheme in SCHEMES:
                task = prepare(Task(simulate(truth, scheme, draw=draw), features), se)
                found = reached(task, METHODS, truth=truth)
                tables.append(found.assign(scheme=scheme, draw=draw))
        near = task.aid(Neighbours).index[:, [0, 9]].T
        shares = [(present & present[of]).sum() / present.sum() for of in near]
        shares.append(present.mean(0) @ present.sum(0) / present.sum())
        print(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
        for (scheme, method), of in pd.concat(tables).groupby(["scheme", "method"], sort=False):
            if of["positive"].sum() == 0:  # SE-L on single positives
                continue
            counts = (f"{of[count].mean():.2f}" for count in ("unknown", "reached", "positive"))
            cells = (shown(of[share]) for share in ("chance", "right"))
            lines.append("| " + " | ".join([name, scheme, method, *counts, *cells]) + " |")
    head = ("data", "scheme", "method", "unknown", "reached", "positive", "chance", "right")
    print("\n| " + " | ".join(head) + " |\n|---|---|---|--:|--:|--:|--:|--:|", *lines, sep="\n")


if __name__ == "__main__":
    main()
