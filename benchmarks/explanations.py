"""What missing labels do to class maps, on real photographs and where the network learns as well.

    SIMKIT_DATA=... python benchmarks/explanations.py --work FOLDER

Photographs of VOC 2012 that show an animal, maps of MobileNetV2 features (7 x 7), linear heads on
them: damage to maps (BoostLU, Fig. 2), the seven uses of BoostLU (its Table 1) and the pointing
game (Large Loss, Table 4; on real object boxes alone, which the five animals have). Then `scenes`
with the network trained along, in place of heads on frozen features: the damage again.
Tables go to stdout; FOLDER keeps the unpacked pictures, the cache of features is the usual one.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import measuring  # noqa: F401  one thread
import numpy as np
import pandas as pd
from findings import shown
from photographs_packs import TRAINING, WEIGHTS, Pack

import simkit
from simkit import ImageTransform, Source, decoded_pictures, open_source
from simkit.data.dataset import Boxes
from simkit.embed.backbones import backbone
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import Trained, train
from simkit.metrics import average_precision
from simkit.papers.analysis.explaining import blind, damage, damage_summary, models, pointing

USES = (
    "full",
    "full+boostlu",
    "an",
    "an+boostlu(train=false)",
    "an+boostlu",
    "ll-r",
    "ll-r+boostlu(eval=false)",
    "ll-r+boostlu(train=false)",
    "ll-r+boostlu",
)
PLAYERS = ("wan", "lsan", "epr(expected=1.5)", "role(expected=1.5)", "ll-ct", "ll-cp")
SCHEME = "single-positive"


def damage_table(table: pd.DataFrame) -> list[str]:
    """Medians of `damage` as Markdown."""
    lines = [
        "| model | classes | correlation | above 0 | control | highest: full | highest | "
        "lowest: full | lowest |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in damage_summary(table).to_dict("records"):
        values = [f"{row['agreement']:.2f}", f"{100 * row['positive']:.0f} %"]
        values.append(f"{row['control']:.2f}")
        values += [f"{row[key]:.1f}" for key in ("full_top", "top", "full_bottom", "bottom")]
        lines.append(f"| {row['model']} | {row['labels']} | " + " | ".join(values) + " |")
    return lines


def photographs(pack: Pack, draws: int) -> list[str]:
    """Damage, uses and pointing game on photographs."""
    pack.unpack()
    weights = str(Path(os.environ["SIMKIT_DATA"]) / WEIGHTS)
    splits = ("train", "test")
    material = open_source(Source(pack.spec, splits, ("maps",), "mobilenet_v2", weights))
    truth, inputs = material.truth("test"), material.inputs("test", "maps")
    known, data = material.known("test"), material.data
    boxes = objects(data.boxes["test"])
    material = replace(material, data=replace(data, boxes={**data.boxes, "test": boxes}))
    several = [
        models(material, [*USES, *PLAYERS], SCHEME, settings=TRAINING, draw=draw)
        for draw in range(draws)
    ]
    games = pointing(material, several, size=backbone("mobilenet_v2", weights).size)
    hits = games.groupby("method")["pointing"].agg(list)
    first = several[0]
    partial = {name: first[name] for name in USES[2:5]}
    lines = [*damage_table(damage(first["full"], partial, inputs, truth)), ""]
    lines += ["| method | mAP | pointing game |", "|---|--:|--:|"]
    for name in (*USES, *PLAYERS):
        scores = []
        for trained in several:
            ap = average_precision(trained[name].scores(inputs), truth.present, known)
            scores.append(float(ap[pack.scored].mean()))
        lines.append(f"| {name} | {shown(scores)} | {shown(hits[name])} |")
    eyeless = blind(boxes)
    return [*lines, "", f"Pointing at the centre: {100 * eyeless['centre']:.1f}."]


def objects(boxes: Boxes) -> Boxes:
    """Without boxes that are the whole image: those stand where nobody drew one."""
    assert boxes.sizes is not None
    corners = boxes.corners
    whole = (corners[:, :2] <= 1).all(1) & (corners[:, 2:] >= boxes.sizes[boxes.images] - 1).all(1)
    return Boxes(boxes.images[~whole], boxes.classes[~whole], corners[~whole], boxes.sizes)


def fine_tuned() -> list[str]:
    """Damage on `scenes` where the network learns along."""
    net, data = backbone("scenes-net"), simkit.data.open("scenes:images=1000,test=400")
    pictures = {
        s: ImageTransform().inputs(decoded_pictures(data, s, net.size)) for s in ("train", "test")
    }
    truth, lines = data.truth["train"], ["| model | mAP |", "|---|--:|"]
    trained: dict[str, Trained] = {}
    for name in ("full", "an", "an+boostlu(train=false)"):
        bought = "full-subset" if name == "full" else SCHEME
        task = Task(simkit.simulate(truth, bought, hierarchy=data.hierarchy), pictures["train"])
        how: dict[str, Any] = {"settings": Settings(epochs=6, batch_size=16, lr=3e-4)}
        trained[name] = train(task, make(name), backbone=net, device="cpu", **how)
        ap = average_precision(trained[name].scores(pictures["test"]), data.truth["test"].present)
        lines.append(f"| {name} | {100 * np.nanmean(ap[data.leaves]):.1f} |")
    full = trained.pop("full")
    return [*lines, "", *damage_table(damage(full, trained, pictures["test"], data.truth["test"]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for unpacked pictures")
    parser.add_argument("--draws", type=int, default=3)
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore", UserWarning)
    pack = Pack("voc12-animals", 100, 1.5, arguments.work / "voc12-animals")
    print("## Photographs\n", *photographs(pack, arguments.draws), sep="\n", flush=True)
    print("\n## The network learns along\n", *fine_tuned(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
