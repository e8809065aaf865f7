"""Do the papers' findings show on frozen features of real photographs?

    SIMKIT_DATA=... python benchmarks/findings.py [--json]

Two findings of the papers are looked for, and one more: LL-R beats AN on single positives (Kim et
al., CVPR 2022), Ignore beats AN under RPA, and AN beats Ignore under FPC with many labels for each
class (both Ben-Baruch et al., CVPR 2022). The photographs are the VOC 2012 animals of SIMKIT_DATA
(2,015 / 400 / 1,193), the features those that come with them. Takes about half a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from simkit.history import versions
from simkit.study.compare import compare
from simkit.study.grid import Grid
from simkit.study.summary import markdown

PACK = "voc12-animals"
SCHEMES = (
    "single-positive", "rpa(keep=0.1)", "rpa(keep=0.5)",
    "fpc(per_class=10)", "fpc(per_class=50)", "fpc(per_class=200)", "full-subset",
)  # fmt: skip


def features(data: Path, folder: Path) -> dict[str, str]:
    """One npz file for each split, rows in the order of its instances file."""
    files = {}
    with np.load(data / "features" / f"{PACK}-mobilenet_v2-gap.npz") as file:
        values, place = file["features"], {name: i for i, name in enumerate(file["file_names"])}
    for split in ("train", "val", "test"):
        listed = json.loads((data / "images" / PACK / f"instances_{split}.json").read_text())
        rows = [place[image["file_name"]] for image in listed["images"]]
        np.savez(folder / f"{split}.npz", features=values[rows])
        files[split] = str(folder / f"{split}.npz")
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    wants = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    data = Path(os.environ["SIMKIT_DATA"])
    listed = data / "images" / PACK
    files = [f"{split}={listed / f'instances_{split}.json'}" for split in ("train", "val", "test")]
    with tempfile.TemporaryDirectory() as folder:
        grid = Grid(
            data="coco:" + ",".join(files),
            schemes=SCHEMES,
            methods=("an", "ignore", "ll-r"),
            features=features(data, Path(folder)),
            draws=5,
        )
        done = compare(grid, out=Path(folder) / "runs", workers=1)
    print(done.text() + "\n\n" + markdown(done.table).partition("| scheme ")[1], end="")
    print(markdown(done.table).partition("| scheme ")[2])
    if wants.json:
        means = {
            f"{line.scheme}, {cell.method}": cell.score.mean
            for line in done.summary()
            for cell in line.cells
        }
        print(json.dumps({"name": "findings", "map": means, "versions": versions()}))


if __name__ == "__main__":
    main()
