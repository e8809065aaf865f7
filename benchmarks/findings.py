"""Do the papers' findings show, on `scenes` and on real photographs?

    python benchmarks/findings.py                       # scenes; about five minutes on one core
    SIMKIT_DATA=... python benchmarks/findings.py photographs

LL-R beats AN on single positives (Kim et al., CVPR 2022); Ignore beats AN under RPA, and AN beats
Ignore under FPC once the labels per class come near the positives of a typical class, while the
most frequent class suffers (Ben-Baruch et al., CVPR 2022). And LSAN, which leads on `scenes` under
many schemes: there as well? A head on frozen features, five draws.
The photographs are the VOC 2012 animals of SIMKIT_DATA with the features that come with them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np

import simkit.data
from simkit.history import versions
from simkit.results.statistics import interval
from simkit.study.compare import compare
from simkit.study.grid import Grid, demo_grid

METHODS = ("an", "ignore", "ll-r", "lsan")
ALWAYS = ("single-positive", "rpa(keep=0.1)", "rpa(keep=0.3)")
PER_CLASS = {"scenes": (10, 30, 100, 200, 400, 1000), "photographs": (10, 50, 200)}
PACK = "voc12-animals"


def photographs(
    folder: Path,
    pack: str = PACK,
    *,
    network: str = "mobilenet_v2",
    classes: Collection[int] | None = None,
    kept: Callable[[str, dict[str, Any]], bool] | None = None,
) -> dict[str, Any]:
    """Where truth and features of photographs are; features go to one file for each split.

    classes: ids of the classes that count, by default all.  kept: whether a split has an image, as
    its file describes it, by default all.
    """
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    data = Path(os.environ["SIMKIT_DATA"])
    with np.load(data / "features" / f"{pack}-{network}-gap.npz") as file:
        values, place = file["features"], {name: i for i, name in enumerate(file["file_names"])}
    listed = {}
    folder.mkdir(parents=True, exist_ok=True)
    for split in ("train", "val", "test"):
        listed[split] = next(data.glob(f"*/{pack}/instances_{split}.json"))
        content = json.loads(listed[split].read_text())
        if kept is not None:
            content["images"] = [one for one in content["images"] if kept(split, one)]
        if classes is not None or kept is not None:
            images = {one["id"] for one in content["images"]}
            content["annotations"] = [
                one for one in content["annotations"]
                if one["image_id"] in images and (classes is None or one["category_id"] in classes)
            ]  # fmt: skip
            content["categories"] = [
                one for one in content["categories"] if classes is None or one["id"] in classes
            ]
            listed[split] = folder / f"{split}.json"
            listed[split].write_text(json.dumps(content))
        rows = [place[image["file_name"]] for image in content["images"]]
        np.savez(folder / f"{split}.npz", features=values[rows])
    return {
        "data": "coco:" + ",".join(f"{split}={path}" for split, path in listed.items()),
        "features": {split: str(folder / f"{split}.npz") for split in listed},
    }


def shown(points: list[float]) -> str:
    """Mean and 95 % interval over draws, of shares as points."""
    found = interval([100 * point for point in points])
    return f"{found.mean:.1f} ({found.low:.1f} to {found.high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=list(PER_CLASS), default="scenes")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    arguments = parser.parse_args()
    schemes = (*ALWAYS, *(f"fpc(per_class={k})" for k in PER_CLASS[arguments.what]), "full-subset")
    with tempfile.TemporaryDirectory() as folder:
        source: dict[str, Any] = {"data": "scenes", "train": demo_grid().train}
        if arguments.what == "photographs":
            source = photographs(Path(folder))  # with the trainer's default settings
        grid = Grid(schemes=schemes, methods=METHODS, draws=5, **source)
        rows = compare(grid, out=Path(folder) / "runs", workers=1).every.to_dict("records")
    data = simkit.data.open(grid.data)
    top = data.leaves[data.truth["train"].counts[data.leaves].argmax()]
    print(f"mAP over leaf classes, and the AP of {data.classes[top]!r}, the most frequent one\n")
    print("| scheme | " + " | ".join(METHODS) + " | ll-r − an | ignore − an | lsan − an | "
          + " | ".join(f"{data.classes[top]}: {m}" for m in METHODS[:2]) + " |")  # fmt: skip
    print("|---|" + 9 * "--:|")
    means = {}
    for scheme in schemes:
        own = {m: [r for r in rows if (r["scheme"], r["method"]) == (scheme, m)] for m in METHODS}
        maps = {m: [r["map"] for r in own[m]] for m in METHODS}
        gaps = [np.subtract(maps[m], maps["an"]).tolist() for m in ("ll-r", "ignore", "lsan")]
        tops = [[r["ap"][top] for r in own[m]] for m in METHODS[:2]]
        print(f"| {scheme} | " + " | ".join(map(shown, [*maps.values(), *gaps, *tops])) + " |")
        means |= {f"{scheme}, {m}": float(np.mean(maps[m])) for m in METHODS}
    if arguments.json:
        print(
            json.dumps({"name": f"findings {arguments.what}", "map": means, "versions": versions()})
        )


if __name__ == "__main__":
    main()
