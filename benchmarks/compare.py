"""How fast `compare` is, against the same trainings one by one in the style of published code.

    python benchmarks/compare.py                 # 4 schemes x 11 methods x 5 draws, 10 epochs
    python benchmarks/compare.py --quick --json  # within 50 seconds; the last line is JSON

The size is VOC's: 5,000 images to learn from and 5,823 to score, 20 classes, pooled features of
2,048 numbers, batches of 64, Adam, mAP of every run after every epoch. Ours is `compare` with two
workers, from the grid to the table, labels and files included; counted are the clock and the
processor time of all its processes. The other style trains a module of its own for each run, from a
DataLoader, with scikit-learn's average precision after every epoch; three methods are timed on one
thread and their mean stands for each of the runs. Both are timed twice (once with --quick), in
turns, and the least processor time of each counts. The same start and order of images are given to
both, and where they end is compared: logits of AN and Ignore with those of our stack, and our stack
with our runs trained alone.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import resource
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from published_training import LOSSES, train_alone
from scipy.sparse import csr_array

from simkit.labels.hierarchy import shipped
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.stack import scores_of_all
from simkit.learn.train import train, train_stack
from simkit.study.compare import compare
from simkit.study.grid import Grid

IMAGES, TEST, WIDTH = 5_000, 5_823, 2_048
SCHEMES = ("single-positive", "rpa(keep=0.1)", "fpc(per_class=100)", "knowledge-graph")
METHODS = (
    "an", "wan", "ignore", "lsan", "focal", "asl", "em", "role(expected=1.5)", "ll-r", "ll-ct",
    "ll-cp",
)  # fmt: skip
TRAINING = {"epochs": 10, "batch_size": 64, "lr": 0.001}
BARS = {"times as little processor time": 8.0, "seconds on two cores": 60.0}


def written(folder: Path) -> dict[str, Any]:
    """Labels with a long tail, features that follow them, and the fields of a grid about them."""
    rng = np.random.default_rng(0)
    classes = shipped("voc-20").classes
    share = 1.46 / len(classes) * (1.8 - 1.6 * np.arange(len(classes)) / len(classes))
    directions = rng.standard_normal((len(classes), WIDTH), np.float32)
    files, features = {}, {}
    for split, count in (("train", IMAGES), ("test", TEST)):
        present = rng.random((count, len(classes))) < share
        present[np.arange(count), rng.integers(len(classes), size=count)] |= ~present.any(1)
        values = rng.standard_normal((count, WIDTH), np.float32) + 0.12 * present @ directions
        features[split] = str(folder / f"{split}-features.npz")
        np.savez(features[split], features=np.maximum(values, 0).astype(np.float16))
        files[split] = folder / f"{split}.npz"
        sparse = csr_array(present)
        parts = {"indptr": sparse.indptr, "indices": sparse.indices, "shape": sparse.shape}
        ids = np.array([f"{split}-{n:05}" for n in range(count)])
        np.savez(files[split], **parts, class_names=np.array(classes), image_ids=ids)
    data = f"npz:{files['train']},test={files['test']},hierarchy=voc-20"
    return {"data": data, "features": features}


def ours(grid: Grid, folder: Path) -> dict[str, float]:
    """Seconds of the clock and of all processors that `compare` takes."""
    before = _processor()
    start = time.perf_counter()
    found = compare(grid, out=folder, workers=2)
    taken = {"clock": time.perf_counter() - start, "processor": _processor() - before}
    assert not found.failures, found.failures
    memory = float(found.every["peak_memory_mb"].max())
    return {**taken, "runs": len(found.table), "memory_mb": memory}


def _processor() -> float:
    """Of this process and of those that it waited for."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)


def theirs(material: dict[str, Any], epochs: int) -> tuple[float, dict[str, np.ndarray]]:
    """Mean processor seconds of a run in the published style, scaled to all epochs; its logits."""
    seconds, logits = [], {}
    for method in LOSSES:
        start = time.process_time()
        logits[method] = train_alone(method, **material, epochs=epochs, **_rates())
        seconds.append((time.process_time() - start) * TRAINING["epochs"] / epochs)
    return float(np.mean(seconds)), logits


def _rates() -> dict[str, Any]:
    return {"batch_size": TRAINING["batch_size"], "lr": TRAINING["lr"]}


def material(given: dict[str, Any]) -> dict[str, Any]:
    """Features, single positive labels and the truth of the test images as arrays."""
    rng = np.random.default_rng(1)
    parts = {}
    for split, path in given["features"].items():
        parts[split] = np.load(path)["features"]
    files = dict(part.split("=") for part in given["data"].split(",")[1:2])
    test = np.load(files["test"])
    present = csr_array((np.ones(len(test["indices"]), bool), test["indices"], test["indptr"]))
    labels = np.zeros((IMAGES, present.shape[1]), np.int8)
    labels[np.arange(IMAGES), rng.integers(present.shape[1], size=IMAGES)] = 1
    labels[rng.random(labels.shape) < 0.2] = -1
    return {"features": parts["train"], "labels": labels, "test": parts["test"],
            "present": present.toarray()}  # fmt: skip


def gaps(given: dict[str, Any], published: dict[str, np.ndarray], epochs: int) -> dict[str, float]:
    """Largest differences of logits: our stack from our single runs, and from the other style."""
    task = Task(given["labels"], FeatureInputs(given["features"]))
    test = FeatureInputs(given["test"])
    settings = Settings(epochs=epochs, **_rates())
    stack = train_stack([(task, make(spec)) for spec in METHODS], settings=settings)
    scores = dict(zip(METHODS, scores_of_all(stack, test).numpy(), strict=True))
    alone = max(
        float(np.abs(train(task, make(spec), settings=settings).scores(test) - scores[spec]).max())
        for spec in METHODS
    )
    others = max(float(np.abs(published[spec] - scores[spec]).max()) for spec in ("an", "ignore"))
    return {"stacked and alone": alone, "ours and published": others}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one draw, within 50 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    turns, draws, epochs = (1, 1, 1) if given.quick else (2, 5, 2)
    with tempfile.TemporaryDirectory() as place:
        about = written(Path(place))
        values = {**about, "schemes": SCHEMES, "methods": METHODS, "draws": draws}
        training = {**TRAINING, "epochs": 3} if given.quick else TRAINING
        grid = Grid.of({**values, "train": training, "curves": True, "reference": False})
        arrays = material(about)
        timed = [
            (ours(grid, Path(place) / f"runs-{turn}"), theirs(arrays, epochs))
            for turn in range(turns)
        ]
        used = min((mine for mine, _ in timed), key=lambda mine: mine["processor"])
        one, logits = min((other for _, other in timed), key=lambda other: other[0])
        apart = gaps(arrays, logits, epochs)
    one *= training["epochs"] / TRAINING["epochs"]
    ratio = one * used["runs"] / used["processor"]
    equal = apart["stacked and alone"] <= 1e-5 and apart["ours and published"] <= 1e-3
    print(f"{used['runs']:.0f} runs of {training['epochs']} epochs, mAP after every one of them")
    print(f"ours: {used['clock']:.1f} s of the clock on two cores, {used['processor']:.1f} s of "
          f"processors, {used['memory_mb']:,.0f} MB in a worker")  # fmt: skip
    print(f"one by one: {one:.2f} s of a processor for a run, {one * used['runs']:,.0f} s for all")
    measuring.against({"compare": ratio}, 8, theirs="a training loop of PyTorch for each run")
    for what, gap in apart.items():
        print(f"logits of {what}: at most {gap:.1e} apart")
    measuring.finish(
        "compare",
        as_json=given.json,
        equal=equal,
        ratios={"processor time": ratio},
        sizes={"images": IMAGES, "test": TEST, "width": WIDTH, "runs": used["runs"]},
        memory_mb={"worker": used["memory_mb"]},
        seconds=used,
        apart=apart,
    )


if __name__ == "__main__":
    main()
