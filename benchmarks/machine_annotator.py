"""A real machine annotator: a detector's scores, and the same scores with independent errors.

    SIMKIT_DATA=... python benchmarks/machine_annotator.py --work FOLDER [--out FILE]

YOLOX-nano, a detector trained on COCO, scored photographs of VOC 2012 with an animal, whose labels
it never saw. Simulated scores have independent errors: whether one image is scored wrong says
nothing about another. To measure what this assumption does, the detector's scores of every class
are permuted among the images that show it, and among those that do not. Each class then has the
same scores and the same AP, and only the errors no longer depend on what is in the image. The
schemes that use scores buy labels with both, at `hourly` prices. Heads with tuned settings learn
from these labels and from the features that come with the data. Numbers are the mean mAP over the
draws on the test images, in points; differences are paired by draw, with 95 % intervals. A scheme
has no row at a budget that buys nothing of it. Finished runs lie in FOLDER.
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
from simkit.metrics import average_precision, mean_ap
from simkit.study.compare import compare
from simkit.study.grid import Grid

SCHEMES = (
    "machine(high=0.5,low=0.02)",
    "machine",
    "proposals(by=scores)",
    "fpc(search=scores)",
    "full-subset",
)
METHODS = ("an", "ignore", "em", "ll-r")
SHARES = (0.05, 0.2)  # of the price of complete labels
KINDS = ("detector", "independent")


def scores_of(pack: Pack) -> dict[str, dict[str, np.ndarray]]:
    """(N, L) scores of the classes of the pack by kind and split, as probabilities."""
    data = Path(os.environ["SIMKIT_DATA"])
    with np.load(data / "labels" / f"yolox_nano_scores-{pack.name}.npz") as file:
        every, names = file["scores"].astype(np.float64), file["file_names"].tolist()
        classes = file["class_names"].tolist()
    listed = json.loads((data / "meta" / "voc_categories.json").read_text("utf-8"))
    coco = {one["name"]: one["coco_name"] for one in listed}
    columns = [classes.index(coco[name]) for name in pack.data.classes]
    row = {name: place for place, name in enumerate(names)}
    found: dict[str, dict[str, np.ndarray]] = {kind: {} for kind in KINDS}
    rng = np.random.default_rng(0)
    for split in SPLITS:
        instances = json.loads((pack.archive / f"instances_{split}.json").read_text("utf-8"))
        name_of = {image["id"]: Path(image["file_name"]).name for image in instances["images"]}
        images = [row[name_of[image]] for image in pack.data.truth[split].images.tolist()]
        scores = every[np.ix_(images, columns)]
        permuted = scores.copy()
        present, counts = (of[split].T.astype(bool) for of in (pack.present, pack.counts))
        for c, (shown, counted) in enumerate(zip(present, counts, strict=True)):
            for group in (shown & counted, ~shown & counted):
                permuted[group, c] = rng.permutation(scores[group, c])
        found["detector"][split], found["independent"][split] = scores, permuted
    return found


def compared(pack: Pack, work: Path, kind: str, workers: int | None, draws: int) -> Any:
    """The finished comparison with one kind of scores."""
    scores = scores_of(pack)[kind]
    truth = pack.data.truth
    np.savez(
        work / f"{kind}.npz",
        scores=np.concatenate([scores[split] for split in SPLITS]),
        file_names=np.concatenate([truth[split].images.astype(str) for split in SPLITS]),
        class_names=np.array(pack.data.classes),
    )
    files = {split: str(work / f"{split}.npz") for split in SPLITS}
    price = simkit.cost(simkit.simulate(truth["train"], "full-subset"), "hourly").dollars
    grid = Grid(
        schemes=SCHEMES,
        methods=METHODS,
        draws=draws,
        budgets=[float(f"{share * price:.2g}") for share in SHARES],
        train=TRAINING,
        data=pack.spec,
        features=files,
        scores=str(work / f"{kind}.npz"),
        fair=True,
    )
    return compare(grid, out=work / kind, workers=workers)


def quality(pack: Pack) -> str:
    """mAP of the scores themselves on test, without any label: the same for both kinds."""
    of = scores_of(pack)
    values = [
        mean_ap(average_precision(of[kind]["test"], pack.present["test"], pack.counts["test"]))
        for kind in KINDS
    ]
    assert np.isclose(*values), values
    return f"{100 * values[0]:.1f}"


def best(found: dict[str, Any]) -> float:
    """The highest mAP of a model trained with the help of the detector, in points."""
    return max(100 * cell.score.mean for line in found[KINDS[0]].summary() for cell in line.cells)


def table(found: dict[str, Any]) -> str:
    """A row for each scheme, budget and method: mAP with either kind of scores, and the paired
    difference."""
    lines = ["| scheme | budget | method | detector | independent errors | difference |",
             "|---|--:|---|--:|--:|--:|"]  # fmt: skip
    rows = {kind: found[kind].summary() for kind in KINDS}
    for real, ideal in zip(*rows.values(), strict=True):
        assert (real.scheme, real.limit) == (ideal.scheme, ideal.limit)
        for method in METHODS:
            one, other = (line.cell(method) for line in (real, ideal))
            if one is None or other is None:
                continue
            gap = one.minus(other)
            texts = [f"{100 * cell.score.mean:.1f}" for cell in (one, other)]
            ends = f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
            first = f"{real.scheme} | {real.limit}" if method == METHODS[0] else " | "
            lines.append(f"| {first} | {method} | {' | '.join(texts)} | {ends} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is done")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore", UserWarning)
    pack = Pack("voc12-animals", 16, 1.5, arguments.work / "voc12-animals")
    arguments.work.mkdir(parents=True, exist_ok=True)
    for split, values in pack.brought().items():
        np.savez(arguments.work / f"{split}.npz", features=values)
    found = {
        kind: compared(pack, arguments.work, kind, arguments.workers, arguments.draws)
        for kind in KINDS
    }
    for failure in (one for kind in KINDS for one in found[kind].failures):
        print(f"failed: {failure}", file=sys.stderr)
    lines = [
        "# A detector as annotator", "",
        f"`python benchmarks/machine_annotator.py --work FOLDER --draws {arguments.draws}`", "",
        *__doc__.split("\n\n")[2].splitlines(), "",
        f"The scores themselves have {quality(pack)} mAP on the test images, without any label;",
        f"no model that was trained here reaches more than {best(found):.1f}.", "",
        table(found), "",
    ]  # fmt: skip
    measuring.printed("\n".join(lines), arguments.out)
    print(measuring.machine(), file=sys.stderr)


if __name__ == "__main__":
    main()
