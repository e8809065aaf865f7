"""The value that a fair comparison tries beside the default of each method, on photographs.

    SIMKIT_DATA=... python benchmarks/alternatives.py --work FOLDER [--out FILE]

`alternative` of a method is the value of its most important setting that `fair` tries beside the
default. Which value helps depends on the labels, so values on both sides of the default are tried
on photographs of VOC 2012 with an animal (2,015 to train, 400 to choose; features of MobileNetV2,
which come with the data), under three schemes at 11.5 % of the price of
complete labels: each with seven learning rates, in two draws. The table has the mAP on complete
labels of the validation images at the best rate. The proposed value is the one that gains most when
the better of it and the default is taken under every scheme. Finished runs lie in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import measuring
import numpy as np
from photographs_packs import SPLITS, TRAINING, Pack

import simkit
from simkit.learn import methods
from simkit.study.compare import compare
from simkit.study.grid import Grid
from simkit.study.tuning import Setting, Tuning

SCHEMES = ("single-positive", "rpa", "fpc")
SHARE = 0.115  # of the price of complete labels
RATES = tuple(float(f"{TRAINING.lr * 10 ** (half / 2):.3g}") for half in range(-3, 4))
# Default first. Several fields that belong together are one value.
VALUES: dict[str, list[dict[str, Any]]] = {
    "an": [{"pos_weight": one} for one in (1, 2, 5)],
    "lsan": [{"epsilon": one} for one in (0.1, 0.02, 0.2)],
    "ls-constant": [{"temperature": one} for one in (-2, -1, -4)],
    "fe": [{"pos_weight": one} for one in (5, 2, 10)],
    "em": [{"alpha": one} for one in (0.1, 0.01, 0.5)],
    "em-apl": [{"alpha": one} for one in (0.1, 0.01, 0.5)],
    "curriculum": [{"theta": one} for one in (2, 1, 4)],
    "asl": [{"gamma_neg": one} for one in (4, 2, 1)],
    "focal": [{"gamma": one} for one in (2, 1, 4)],
    "p-asl": [{"gamma_unknown": one} for one in (2, 4, 1)],
    "csl": [{"eta": one} for one in ("auto", 0.01, 0.1)],
    "ll-r": [{"delta": one} for one in (0.5, 0.1, 2)],
    "ll-ct": [{"delta": one} for one in (0.2, 0.05, 1)],
    "ll-cp": [{"delta": one} for one in (0.1, 0.02, 0.5)],
    "ll-r-abs": [{"delta": one} for one in (0.1, 0.02, 0.5)],
    "ll-ct-abs": [{"delta": one} for one in (0.1, 0.02, 0.5)],
    "ll-cp-abs": [{"delta": one} for one in (0.1, 0.02, 0.5)],
    "en(expected=1.5)": [{"mu": one} for one in (0.8, 0.5, 0.95)],
    "ep(expected=1.5)": [{"mu": one} for one in (0.8, 0.5, 0.95)],
    "role(expected=1.5)": [{"ratio": one} for one in (10, 1, 100)],
    "gr-loss": [{"w1": 2, "b1": -2}, {"w1": 10, "b1": -8}, {"w1": 2, "b1": -4}],
    "hill": [{"margin": one} for one in (1, 0.5, 2)],
    "splc": [{"tau": one} for one in (0.6, 0.8, 0.4)],
    "latent-noise": [{"reported": one} for one in (0.9, 0.7, 0.97)],
    "imcl": [{"alpha": one} for one in (0.5, 0.1, 0.9)],
    "se": [{"beta": one} for one in (5, 1, 20)],
    "se-l": [{"beta": one} for one in (5, 1, 20)],
    "se-i": [{"beta": one} for one in (5, 1, 20)],
}


def named(name: str, values: dict[str, Any]) -> str:
    """A method with these settings, spelled in full."""
    return Setting(tuple(values.items())).method(name)


def tried(work: Path, workers: int | None) -> Any:
    """The runs of all values: a row for each scheme and method, with `tuned_map`."""
    pack = Pack("voc12-animals", 16, 1.5, work / "voc12-animals")
    work.mkdir(parents=True, exist_ok=True)
    files = {split: str(work / f"{split}.npz") for split in SPLITS}
    for split, values in pack.brought().items():
        np.savez(files[split], features=values)
    price = simkit.cost(simkit.simulate(pack.data.truth["train"], "full-subset"), "hourly").dollars
    grid = Grid(
        schemes=SCHEMES,
        methods=[named(name, value) for name, values in VALUES.items() for value in values],
        draws=1,
        budgets=[float(f"{SHARE * price:.2g}")],
        reference=False,
        train=TRAINING,
        data=pack.spec,
        features=files,
        tuning=Tuning(runs=len(RATES), space={"all": {"lr": RATES}}),
    )
    return compare(grid, out=work / "runs", workers=workers)


def table(runs: Any) -> str:
    """The table, with the declared and the proposed value of every method."""
    rows = runs.drop_duplicates(["scheme", "method"]).set_index(["scheme", "method"])
    scores = 100 * rows["tuned_map"]
    lines = ["| method | value | " + " | ".join(SCHEMES) + " | |",
             "|---|---|" + len(SCHEMES) * "--:|" + "---|"]  # fmt: skip
    for name, values in VALUES.items():
        of_values = [
            np.array([scores.get((scheme, named(name, value)), np.nan) for scheme in SCHEMES])
            for value in values
        ]
        gains = [np.maximum(one - of_values[0], 0).sum() for one in of_values]
        best = int(np.nanargmax(gains))
        declared = dict(methods.make(name).alternative)
        for place, (value, of_value) in enumerate(zip(values, of_values, strict=True)):
            marks = ["default"] * (place == 0) + ["declared"] * (value == declared)
            marks += ["proposed"] * (place == best > 0)
            text = ", ".join(f"{key} {one}" for key, one in value.items())
            cells = " | ".join(f"{one:.1f}" for one in of_value)
            lines.append(f"| {name if not place else ''} | {text} | {cells} | {', '.join(marks)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is done")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, help="file for the table")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore", UserWarning)
    found = tried(arguments.work, arguments.workers)
    for failure in found.failures:
        print(f"failed: {failure}", file=sys.stderr)
    text = table(found.table)
    measuring.printed(text, arguments.out)
    if arguments.json:
        print(json.dumps({"runs": len(found.table), "peak_mb": measuring.peak_mb()}))


if __name__ == "__main__":
    main()
