"""Does Soft Exposure's order of methods show on real photographs?

    SIMKIT_DATA=... python benchmarks/soft_exposure.py      # some five minutes on one core

The paper's baselines and its three methods, along a class hierarchy and at its six fractions of
positives: heads on the features that come with the VOC 2012 animals of SIMKIT_DATA, the 20 classes
closed under the shipped hierarchy `voc-20`, the trainer's default settings, five draws. What
notebooks/09_the_knowledge_graph does on `scenes`.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

from findings import photographs, shown

from simkit.study.compare import compare
from simkit.study.grid import Grid

METHODS = ("ignore", "partial-bce", "an", "fe", "ls-constant", "se-i", "se-l", "se", "se(beta=20)")
GRAPH = ("knowledge-graph", "knowledge-graph(mode=truth)")
FRACTIONS = tuple(f"fraction-of-positives(keep={k})" for k in (0.05, 0.1, 0.3, 0.5, 0.7, 0.9))


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)  # what SE says of labels without negatives
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        source = photographs(Path(folder))
        source["data"] += ",hierarchy=voc-20"
        grid = Grid(schemes=(*GRAPH, *FRACTIONS), methods=METHODS, draws=5, **source)
        found = compare(grid, out=Path(folder) / "runs", workers=1)
    if found.failures:
        sys.exit("\n".join(found.failures))
    rows = found.every.to_dict("records")
    print("| scheme | " + " | ".join(METHODS) + " |\n|---|" + len(METHODS) * "--:|")
    for scheme in grid.schemes:
        own = [row for row in rows if row["scheme"] == scheme and not row["reference"]]
        cells = [shown([r["map"] for r in own if r["method"] == method]) for method in METHODS]
        print(f"| {scheme} | " + " | ".join(cells) + " |")
    full = [row["map"] for row in rows if row["reference"] and row["method"] == "full"]
    print(f"\nEverything labelled: {shown(full)}.")
    print(f"{time.perf_counter() - start:.0f} seconds.", file=sys.stderr)


if __name__ == "__main__":
    main()
