"""Training at the size of OpenImages: peak memory, and the time of an epoch against a plain loop.

    python benchmarks/scale.py FOLDER            # about 15 minutes on one core, 0.5 GB in FOLDER
    python benchmarks/scale.py FOLDER --quick    # a minute, small sizes

FOLDER gets label files as Open Images publishes them (100,000 images to train on, 9,600 classes,
about seven verified labels in an image) and generated features (2,048) as `simkit features` writes
them. Then:

commands   convert, train and score by the commands, each a process of its own; kill -9 after the
           first epoch of a training of two, and the same command again.
memory     twenty steps of each method on 1,000,000 images, whose features are one sparse file, with
           the labels and the reference open.
time       seconds of processor time of an epoch against those of a plain loop, in turn; minima.

Peak memory counts the pages of the mapped feature file that the process has touched, which the
kernel can drop; anonymous memory does not.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import measuring
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.sparse import csr_array

import simkit.data
from simkit.embed.feature_files import FeatureWriter, Index, MappedRows
from simkit.errors import BadInput
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn import inputs, methods, stack
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.side_info import ClassPrior
from simkit.learn.train import Settings, train

METHODS = ("an", "ignore", "ll-r", "csl", "em")
STATEFUL = ("role(expected=3)", "en(expected=3)", "an+cl", "em-apl", "ll-cp")
KNOWN, BATCH, STEPS = 7, 256, 20
SIZES = {"images": 100_000, "asked": 10_000, "classes": 9600, "width": 2048, "full": 1_000_000}
QUICK = {"images": 3000, "asked": 1500, "classes": 300, "width": 64, "full": 20_000}


def codes(images: int, classes: int, seed: int) -> csr_array:
    """(images, classes) int8: KNOWN labels in an image at most, few classes having most of them."""
    draw = np.random.default_rng(seed)
    shape = images, KNOWN
    columns = np.minimum(classes * draw.random(shape) ** 3, classes - 1).astype(np.int32)
    states = np.where(draw.random(shape) < 0.4, 1, -1)
    rows = np.repeat(np.arange(images), KNOWN)
    matrix = csr_array((states.ravel(), (rows, columns.ravel())), shape=(images, classes))
    matrix.sum_duplicates()
    matrix.data = np.sign(matrix.data).astype(np.int8)
    matrix.eliminate_zeros()
    return matrix


def write(file: Path, matrix: csr_array) -> None:
    """Labels as Open Images publishes them; an image's id begins with the name of its file."""
    labels = matrix.tocoo()
    rows = zip(*(x.tolist() for x in (*labels.coords[::-1], labels.data)), strict=True)
    with file.open("w") as stream:
        stream.write("ImageID,Source,LabelName,Confidence\n")
        stream.writelines(
            f"{file.stem[:2]}{i:014x},verification,/m/{c:06x},{(state + 1) // 2}\n"
            for c, i, state in rows
        )


def make(folder: Path, size: dict[str, int]) -> None:
    """Write the label files, the class descriptions and the features of three splits."""
    lines = ["LabelName,DisplayName", *(f"/m/{c:06x},Class {c}" for c in range(size["classes"]))]
    (folder / "classes.csv").write_text("\n".join(lines) + "\n")
    shape = size["classes"], size["width"]
    looks = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for seed, (split, share) in enumerate({"train": 1, "val": 24, "test": 8}.items()):
        matrix = codes(size["images"] // share, size["classes"], seed)
        write(folder / f"{split}.csv", matrix)
        shape = matrix.shape[0], size["width"]
        index = Index(f"{split} {shape}", "pooled", shape, History("given"))
        writer = FeatureWriter(folder / "features" / split / "pooled", index)
        draw = np.random.default_rng(seed)
        for block in writer.blocks:
            shown = (matrix[block.start : block.stop] == 1).astype(np.float32)
            noise = draw.normal(size=(shown.shape[0], shape[1]))
            writer.put(block, (shown @ looks + 2 * noise).astype(np.float16))
        writer.finish()


def measured(command: list[str], until: Callable[[], bool] | None = None) -> dict[str, Any]:
    """Run a command to its end, or kill it as soon as `until` holds: memory, time, output."""
    before, peak, anonymous = getrusage(RUSAGE_CHILDREN), 0.0, 0.0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            break
        held = {line.split(":")[0]: line.split() for line in status}
        peak = max(peak, float(held.get("VmHWM", "00")[1]) / 1e6)
        anonymous = max(anonymous, float(held.get("RssAnon", "00")[1]) / 1e6)
        if until is not None and until():
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    out = process.communicate()[0]
    if process.returncode and until is None:
        sys.exit(f"{' '.join(command)} failed")
    after = getrusage(RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"out": out, "peak": peak, "anonymous": anonymous, "seconds": seconds}


def of_simkit(*words: Any) -> list[str]:
    return [sys.executable, "-m", "simkit", *map(str, words)]


def commands(folder: Path, size: dict[str, int]) -> bool:
    """Convert, train and score by the commands; whether a killed training gave the same model."""
    spec = f"openimages:{folder}/train.csv,names={folder}/classes.csv"
    spec += "".join(f",{split}={folder}/{split}.csv" for split in ("val", "test"))
    source, whole, few = f"openimages(names='{folder}/classes.csv')", "whole.parquet", "few.parquet"
    rows = [["convert", measured(of_simkit("convert", "--from", source, folder / "train.csv",
                                        folder / whole))]]  # fmt: skip
    labels = PartialLabels.load(folder / whole)
    labels.of_images(labels.images[: size["asked"]]).save(folder / few)

    def training(file: str, epochs: int, *more: Any) -> list[str]:
        data = "--labels", folder / file, "--data", spec, "--features", folder / "features"
        how = "--epochs", epochs, "--batch-size", BATCH, "--method", "ll-r", "--json"
        return of_simkit("train", *data, *how, *more)

    rows.append(["train and score", measured(training(whole, 1))])
    rows.append(["two epochs", measured(training(few, 2, "--set", "select=best"))])
    kept = folder / "unfinished"
    kept.unlink(missing_ok=True)
    again = training(few, 2, "--set", "select=best", "--checkpoint", kept)
    rows.append(["killed in the second epoch", measured(again, kept.exists)])
    rows.append(["the same command again", measured(again)])
    print(f"\nBy the commands, ll-r, {size['images']:,} images, {size['asked']:,} in two epochs:\n")
    table(rows)
    for what, done in rows[1:]:
        if done["out"]:
            facts = json.loads(done["out"])
            print(f"{what}: mAP {100 * facts['map']:.3f}, model {facts['id']}")
    alone, resumed = (json.loads(rows[k][1]["out"])["id"] for k in (2, 4))
    return bool(alone == resumed)


def table(rows: list[list[Any]]) -> None:
    cells = [[what, *(f"{done[key]:.2f}" for key in ("peak", "anonymous", "seconds"))]
             for what, done in rows]  # fmt: skip
    measuring.table(["", "peak, GB", "anonymous, GB", "processor, s"], cells)


def memory(folder: Path, size: dict[str, int], quick: bool) -> None:
    """Peak memory of each method at the full number of images, or how it is refused."""
    file, shape = folder / "full.npy", (size["full"], size["width"])
    with file.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f2", "fortran_order": False, "shape": shape}
        )
        stream.truncate(stream.tell() + 2 * shape[0] * shape[1])
    write(folder / "full.csv", codes(size["full"], size["classes"], 0))
    rows, refused = [], []
    for spelled in (*METHODS, *STATEFUL):
        step = [sys.executable, __file__, str(folder), "--steps", spelled, *["--quick"] * quick]
        done = measured(step)
        (refused if done["out"] else rows).append([spelled, done])
    print(f"\n{STEPS} steps, {size['full']:,} images x {size['classes']:,} classes:\n")
    table(rows)
    for spelled, done in refused:
        print(f"{spelled}, with a peak of {done['peak']:.2f} GB: {done['out'].strip()}")
    for each in (file, folder / "full.csv"):
        each.unlink()


class Enough(Exception):
    pass


class Stop:
    """Ends a training after some steps."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, *_: Any) -> None:
        self.steps += 1
        if self.steps == STEPS:
            raise Enough


def steps(folder: Path, size: dict[str, int], spelled: str) -> None:
    """Some steps of a method on all images of an open data set; a refusal is printed."""
    spec = f"openimages:{folder}/full.csv,val={folder}/val.csv,names={folder}/classes.csv"
    truth = simkit.data.open(spec).truth["train"]
    assert truth.known is not None
    states = 2 * truth.present.astype(np.int8) - truth.known.astype(np.int8)
    labels = PartialLabels.of(states, truth.images, truth.classes)
    prior = ClassPrior(np.full(size["classes"], 0.01))
    task = Task(labels, FeatureInputs(MappedRows((folder / "full.npy",)), "features"), (prior,))
    try:
        train(task, methods.make(spelled), settings=Settings(batch_size=BATCH), watch=(Stop(),))
    except Enough:
        pass
    except BadInput as error:
        print(error)


class Epochs:
    """Notes the processor time at the end of every epoch."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def __call__(self, done: int, of: int) -> None:
        self.ends.append(time.process_time())


def plain(values: Any, matrix: csr_array, order: NDArray[np.int64], head: Any, adam: Any) -> None:
    """An epoch of cross-entropy as anybody would write it."""
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        x = torch.from_numpy(values[rows]).float()
        target = torch.from_numpy((matrix[rows] == 1).toarray()).float()
        adam.zero_grad()
        F.binary_cross_entropy_with_logits(head(x), target).backward()
        adam.step()


def epochs(folder: Path, size: dict[str, int], images: int, turns: int) -> dict[str, float]:
    """Seconds of the second epoch of each method over those of the plain loop; minima of turns."""
    inputs._POOLED_BYTES = stack._LABEL_BYTES = 0  # as where there are more images
    rows = np.random.default_rng(1).permutation(size["images"])[:images]
    values = MappedRows((folder / "features" / "train" / "pooled" / "features.npy",), rows)
    matrix = csr_array(codes(size["images"], size["classes"], 0)[rows])
    labels, prior = PartialLabels.of(matrix), ClassPrior(np.full(size["classes"], 0.01))
    task = Task(labels, FeatureInputs(values, "features"), (prior,))
    head = torch.nn.Linear(size["width"], size["classes"])
    adam = torch.optim.Adam(head.parameters(), lr=0.01, fused=True)
    best: dict[str, float] = {}
    for turn in range(turns):
        order = np.random.default_rng(turn).permutation(images)
        took = {"plain": measuring.timed(plain, values, matrix, order, head, adam)[0]}
        for spelled in METHODS:
            ends = Epochs()
            settings = Settings(epochs=2, batch_size=BATCH)
            train(task, methods.make(spelled), settings=settings, progress=ends)
            took[spelled] = ends.ends[1] - ends.ends[0]
        best = {name: min(best.get(name, np.inf), second) for name, second in took.items()}
    print(f"\nThe second epoch over {images:,} images, minima of {turns} turns:\n")
    measuring.instead("a loop of PyTorch over mapped rows and dense targets of a batch (plain)")
    each = {name: 1e6 * second / images for name, second in best.items()}
    measuring.table(
        ["", "ms an image", "times plain", "minutes an epoch of 1,000,000"],
        [[name, f"{us / 1000:.3f}", f"{us / each['plain']:.2f}", f"{us / 60:.1f}"]
         for name, us in each.items()],
    )  # fmt: skip
    return {name: each[name] / each["plain"] for name in METHODS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=["commands", "memory", "time"])
    parser.add_argument("--steps", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    folder, size = chosen.folder, QUICK if chosen.quick else SIZES
    if chosen.steps:
        return steps(folder, size, chosen.steps)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "features" / "test").exists():
        make(folder, size)
    equal, ratios = True, {}
    if "commands" in chosen.only:
        equal = commands(folder, size)
    if "memory" in chosen.only:
        memory(folder, size, chosen.quick)
    if "time" in chosen.only:
        ratios = epochs(folder, size, 1024 if chosen.quick else 2560, 3)
    measuring.finish("scale", as_json=False, equal=equal, ratios=ratios, sizes=size)


if __name__ == "__main__":
    main()
