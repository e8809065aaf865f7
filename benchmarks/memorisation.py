"""When does each kind of label reach its highest loss, and how much of what is rejected is wrong?

    SIMKIT_DATA=... python benchmarks/memorisation.py        # half a minute on one core

Memorisation and modification (Kim et al., CVPR 2022, Table 1 and Fig. 4) on real photographs: heads
on the features of the VOC 2012 animals of SIMKIT_DATA, single positives, five draws.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from findings import photographs, shown

from simkit import Source, open_source
from simkit.annotate.simulate import simulate
from simkit.history import versions
from simkit.learn.methods import Task
from simkit.learn.optim import Settings
from simkit.papers.analysis.learning import LABEL_KINDS, early_share, memorisation, modification

RATES, DRAWS = (0.0001, 0.001, 0.01), 5
LARGE = ("ll-r", "ll-ct", "ll-cp")
EPOCHS = (2, 4, 6, 8, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where = photographs(Path(folder))
        files = tuple(where["features"].items())
        data = open_source(Source(where["data"], ("train",), ("pooled",), features=files))
        truth, features = data.truth("train"), data.inputs("train", "pooled")
    tasks = [Task(simulate(truth, "single-positive", draw=d), features) for d in range(DRAWS)]
    numbers = {}
    print("| rate | " + " | ".join(f"{kind}s" for kind in LABEL_KINDS) + " |\n|--:|" + 3 * "--:|")
    for rate in RATES:
        how = Settings(lr=rate, batch_size=16)
        seen = [memorisation(t, truth, settings=how, draw=d) for d, t in enumerate(tasks)]
        shares = {kind: [early_share(one, "an", kind) for one in seen] for kind in LABEL_KINDS}
        print(f"| {rate:g} | " + " | ".join(map(shown, shares.values())) + " |")
        numbers |= {f"{kind}, {rate:g}": float(np.mean(s)) for kind, s in shares.items()}
    found = pd.concat(
        modification(t, truth, LARGE, settings=Settings(), draw=d) for d, t in enumerate(tasks)
    )
    print(f"\nat random: {100 * found['chance'].iloc[0]:.1f} %\n")
    precision = found.groupby(["epoch", "method"])["precision"].agg(list)
    print("| epoch | " + " | ".join(LARGE) + " |\n|--:|" + len(LARGE) * "--:|")
    for epoch in EPOCHS:
        own = {m: precision[epoch, m] for m in LARGE}
        print(f"| {epoch} | " + " | ".join(map(shown, own.values())) + " |")
        numbers |= {f"{m}, epoch {epoch}": float(np.mean(p)) for m, p in own.items()}
    if arguments.json:
        print(json.dumps({"name": "memorisation", "share": numbers, "versions": versions()}))


if __name__ == "__main__":
    main()
