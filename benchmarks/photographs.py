"""Real photographs from pixels to a table: features, a full-label probe, schemes and methods.

    SIMKIT_DATA=... python benchmarks/photographs.py --work FOLDER
    SIMKIT_DATA=... python benchmarks/photographs.py --quick --json    # within 50 seconds

Photographs of VOC 2012 (3,608, with an animal) and of COCO (700) lie in SIMKIT_DATA as archives.
FOLDER keeps the unpacked pictures, their features and finished runs: the same command goes on
where it was stopped. Features are those of MobileNetV2 through `extract`, with the padding its
weights were trained with. Two checks come first: logistic regression on these features and on
those that come with the data, and a head of our own on complete labels, both trained on train and
val and scored on test. Then `compare` trains every method on every scheme, on train alone, at the
amounts below, which are published ones (Ben-Baruch et al., CVPR 2022; Soft Exposure, 4.1.1).
A class that shows in difficult objects only counts nowhere in that photograph, neither in training
nor in mAP. --quick takes the features that come with the data, checks probe and head on VOC and
leaves the comparison out. The command fails where a run failed, and where our head on complete
labels of VOC is not within a point of what the data's own description says.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from findings import shown
from photographs_packs import SPLITS, TRAINING, Pack, head, probe, quick, right

from simkit.study.compare import compare
from simkit.study.grid import Grid

SCHEMES = (
    "single-positive",
    "rpa(keep=0.1)",
    "rpa(keep=0.5)",
    "fpc(per_class=20)",
    "fpc(per_class=100)",
    "fraction-of-positives(keep=0.1)",
    "fraction-of-positives(keep=0.5)",
)


def table(pack: Pack, rows: list[dict[str, Any]]) -> str:
    """mAP of every scheme and method over the scored classes, and what was bought."""
    lines = ["| scheme | present | absent | " + " | ".join(pack.methods) + " |",
             "|---|--:|--:|" + len(pack.methods) * "--:|"]  # fmt: skip
    for scheme in SCHEMES:
        own = [row for row in rows if row["scheme"] == scheme and not row["reference"]]
        bought = [f"{np.mean([row[kind] for row in own]):,.0f}" for kind in ("present", "absent")]
        cells = [
            shown([_score(pack, row) for row in own if row["method"] == method])
            for method in pack.methods
        ]
        lines.append(f"| {scheme} | " + " | ".join([*bought, *cells]) + " |")
    full = [_score(pack, row) for row in rows if row["reference"] and row["method"] == "full"]
    lines.append(f"\nEverything labelled, `full` on train alone: {shown(full)}.")
    return "\n".join(lines)


def _score(pack: Pack, row: dict[str, Any]) -> float:
    return float(np.mean([row["ap"][c] for c in pack.scored]))


def report(pack: Pack, draws: int, workers: int | None) -> tuple[str, dict[str, float], bool]:
    """The chapter of one pack, its checks, and whether all is right."""
    pack.unpack()
    features, start = pack.features(), time.perf_counter()
    given, ours = (probe(pack, found) for found in (pack.brought(), features))
    heads = [head(pack, features, draw) for draw in range(draws)]
    grid = Grid(
        schemes=SCHEMES,
        methods=pack.methods,
        draws=draws,
        train=TRAINING,
        data=pack.spec,
        features={split: str(pack.folder / "features" / split) for split in SPLITS},
    )
    found = compare(grid, out=pack.folder / "runs", workers=workers)
    for failure in found.failures:
        print(f"failed: {failure}", file=sys.stderr)
    checks = {f"{pack.name}, probe": ours, f"{pack.name}, head": float(np.mean(heads))}
    names = ", ".join(pack.data.classes[c] for c in pack.scored)
    sizes = ", ".join(f"{len(pack.present[split]):,} {split}" for split in SPLITS)
    text = "\n".join([
        f"## {pack.name} ({sizes})",
        "",
        f"Scored are the {len(pack.scored)} classes with {pack.least} or more positives in test: "
        f"{names}.",
        "",
        "| complete labels of train and val | mAP |",
        "|---|--:|",
        f"| logistic regression, the features that come with the data | {100 * given:.1f} |",
        f"| logistic regression, features of `simkit features` | {100 * ours:.1f} |",
        f"| our head, features of `simkit features` | {shown(heads)} |",
        "",
        table(pack, found.every.to_dict("records")),
        "",
        f"{time.perf_counter() - start:,.0f} seconds after the features were there.",
        "",
    ])  # fmt: skip
    return text, checks, right(pack, heads) and not found.failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="folder that keeps what is done")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, help="file for the tables")
    parser.add_argument("--quick", action="store_true", help="probe and head alone, on VOC")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    if arguments.work is None and not arguments.quick:
        sys.exit("name a folder with --work, or ask for --quick")
    warnings.simplefilter("ignore", UserWarning)  # they come again as notes of the comparison
    work = arguments.work or Path("unused")
    packs = (
        Pack("voc12-animals", 100, 1.5, work / "voc12-animals"),
        Pack("coco-mini", 10, 2.9, work / "coco-mini"),
    )
    if arguments.quick:
        packs = packs[:1]
        found = [quick(pack) for pack in packs]
    else:
        found = [report(pack, arguments.draws, arguments.workers) for pack in packs]
    text = "\n".join(chapter for chapter, _, _ in found)
    measuring.printed(text, arguments.out)
    checks = {name: value for _, one, _ in found for name, value in one.items()}
    used = measuring.peak_mb()
    measuring.finish(
        "photographs",
        as_json=arguments.json,
        equal=all(fine for _, _, fine in found),
        ratios={f"{p.name}, head to probe": checks[f"{p.name}, head"] / checks[f"{p.name}, probe"]
                for p in packs},
        sizes={p.name: {s: list(p.present[s].shape) for s in SPLITS} for p in packs},
        memory_mb={"photographs": used},
        map=checks,
    )  # fmt: skip


if __name__ == "__main__":
    main()
