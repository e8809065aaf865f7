"""Fine-tuning a backbone, against a plain loop in fp32 that reads its pictures with a DataLoader.

    python benchmarks/finetune.py                   # where there is a GPU: ResNet-50 at 448 too
    python benchmarks/finetune.py --quick --json    # within 50 seconds; the last line is JSON

The plain loop is what published code does: Pillow decodes every picture in every epoch, the network
runs in fp32 with channels first. Ours goes through `train` on pictures that were decoded once. Both
start from the same weights and see the same pictures in the same order; without mirroring their
losses must agree. On a CPU everything is on one thread and counted in processor time, on a GPU in
time on the clock; the two take turns, after an epoch that does not count.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import finetune_gpu
import numpy as np
import torch
from finetune_plain import PlainLoop, drawn_files

from simkit.chance import Chance
from simkit.data.images import FilePictures
from simkit.embed.backbones import backbone
from simkit.learn.inputs import ImageInputs, sized
from simkit.learn.methods import Task, make
from simkit.learn.side_info import ClassPrior
from simkit.learn.train import Settings, train

SMALL = ("scenes-net", 64)
LARGER = (("resnet18", 224), ("mobilenet_v2", 224))
METHODS = (
    "ignore", "wan", "lsan", "epr(expected=9.5)", "role(expected=9.5)", "em", "asl", "p-asl", "csl",
    "ll-r", "ll-ct", "ll-cp", "ll-r+boostlu", "en(expected=9.5)", "en(expected=9.5)+cl",
    "en(expected=9.5)+scl",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Given:
    """Picture files, the size they are brought to, and labels (N, L), one known of each picture."""

    folder: Path
    files: list[str]
    codes: np.ndarray
    size: int

    @property
    def pictures(self) -> FilePictures:
        return FilePictures.of(self.folder, self.files)


def network(name: str, size: int) -> Any:
    """With its own weights where it brings some; else random ones, the same at every call."""
    return backbone(name, None if name == SMALL[0] else "random", size=size)


def ours(given: Given, net: Any, inputs: ImageInputs, *, epochs: int, spec: str = "an", **how: Any):
    """Train, and say how long each epoch but the first took."""
    task = Task(given.codes, inputs, aids=(ClassPrior(np.full(given.codes.shape[1], 0.1)),))
    ends: list[float] = []
    settings = Settings(epochs=epochs, head_ratio=1.0, **how)
    found = train(
        task,
        make(spec),
        settings=settings,
        backbone=net,
        device="cpu",
        progress=lambda *_: ends.append(time.process_time()),
    )
    return found, np.diff(ends).tolist()


def same_losses(given: Given, net: Any) -> bool:
    """Whether both loops, without mirroring, have the same losses in their first two epochs."""
    how = {"batch_size": 16, "lr": 1e-5}  # at 1e-3 Adam and batch norm blow up the last bits
    found, _ = ours(
        given, net, ImageInputs(sized(given.pictures, given.size), flip=False), epochs=2, **how
    )
    loop = PlainLoop(given.folder, given.files, given.codes, net, given.size, flip=False, **how)
    orders = Chance.seeded(0).of("train", 0)
    theirs = [loop.epoch(orders.of("order", epoch)) for epoch in (1, 2)]
    return all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(found.losses, theirs, strict=True))


def against_plain(given: Given, name: str, batch: int, rounds: int) -> dict[str, Any]:
    """Pictures per second of processor time, ours in fp32 and bf16, theirs from files and not."""
    net, N = network(name, given.size), len(given.files)
    decoding, pictures = measuring.timed(sized, given.pictures, given.size, threads=1)
    inputs = ImageInputs(pictures, crop=(0.25, 1))
    how = {"batch_size": batch, "lr": 1e-4}
    loop = PlainLoop(given.folder, given.files, given.codes, net, given.size, **how)
    resident = PlainLoop(given.folder, given.files, given.codes, net, given.size, kept=True, **how)
    seconds: dict[str, list[float]] = {"fp32": [], "bf16": [], "plain": [], "resident": []}
    for each in range(rounds):
        for precision in ("fp32", "bf16"):
            _, took = ours(given, net, inputs, epochs=2, precision=precision, **how)
            seconds[precision] += took
        for key, theirs in (("plain", loop), ("resident", resident)):
            if each == 0:
                theirs.epoch(Chance.seeded(0))  # the one that does not count
            seconds[key].append(measuring.timed(theirs.epoch, Chance.seeded(each))[0])
    rates = {key: N / min(took) for key, took in seconds.items()}
    speed = measuring.speed(seconds["fp32"], seconds["plain"])
    return {
        "case": f"{name} at {given.size}",
        "batch": batch,
        "images_per_second": {**rates, "decoding once": N / decoding},
        "ratio": speed["ratio"],
        "ratio_of_medians": speed["median ratio"],
    }


def method_steps(given: Given, specs: tuple[str, ...], rounds: int) -> dict[str, float]:
    """What an epoch with each method costs, as a multiple of one with plain cross-entropy (an)."""
    inputs = ImageInputs(sized(given.pictures, given.size), crop=(0.25, 1))
    net, best = network(*SMALL), dict.fromkeys(("an", *specs), math.inf)
    for _ in range(rounds):
        for spec in best:
            _, took = ours(given, net, inputs, epochs=3, spec=spec, batch_size=32, lr=1e-4)
            best[spec] = min(best[spec], *took)
    return {spec: best[spec] / best["an"] for spec in specs}


def compilations(given: Given) -> dict[str, int]:
    """Graphs that torch.compile makes of a backbone in ten epochs, and how often it breaks one."""
    from torch._dynamo.utils import counters

    counters.clear()
    torch._dynamo.reset()
    task = Task(given.codes, ImageInputs(sized(given.pictures, given.size), crop=(0.25, 1)))
    settings = Settings(epochs=10, batch_size=32)
    net = network(*SMALL)
    train(task, make("an"), settings=settings, backbone=net, device="cpu", compile=True)
    return {
        "graphs": int(counters["stats"]["unique_graphs"]),
        "breaks": int(sum(counters["graph_break"].values())),
    }


def cases(quick: bool) -> Iterator[tuple[str, int, int, int]]:
    """Network, size, pictures, batch."""
    yield (*SMALL, 96 if quick else 128, 32)
    if not quick:
        for name, size in LARGER:
            yield name, size, 32, 16


def show(rows: list[dict[str, Any]], steps: dict[str, float]) -> None:
    keys = ("fp32", "bf16", "plain", "resident", "decoding once")
    print(
        f"{'images per second':24}{'batch':>6}" + "".join(f"{key:>15}" for key in keys) + "  times"
    )
    for row in rows:
        numbers = "".join(f"{row['images_per_second'][key]:15.1f}" for key in keys)
        print(f"{row['case']:24}{row['batch']:6}{numbers}{row['ratio']:7.2f}")
    for spec, times in steps.items():
        print(f"an epoch with {spec}: {times:.3f} times that with an")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of all, within 50 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows, equal, shapes = [], True, {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files, codes = drawn_files(folder, 96 if given.quick else 128)
        gpu = finetune_gpu.measured(folder, files, codes, METHODS, quick=given.quick)  # at once
        for name, size, count, batch in cases(given.quick):
            case = Given(folder, files[:count], codes[:count], size)
            few = Given(folder, files[:32], codes[:32], size)
            equal = equal and same_losses(few, network(name, size))
            rows.append(against_plain(case, name, batch, 4 if given.quick else 2))
            shapes[f"{name} at {size}"] = [count, 3, size, size]
        small = Given(folder, files, codes, SMALL[1])
        steps = method_steps(small, ("ll-r",) if given.quick else METHODS, 2)
        graphs = {} if given.quick else compilations(small)
        show(rows, steps)
        print("equal losses" if equal else "LOSSES DIFFER")
        if graphs:
            print(f"ten epochs: {graphs['graphs']} graphs compiled, {graphs['breaks']} broken")
    measuring.finish(
        "finetune",
        as_json=given.json,
        equal=equal,
        ratios={row["case"]: row["ratio"] for row in rows} | gpu.get("ratios", {}),
        sizes=shapes | gpu.get("sizes", {}),
        memory_mb={"finetune": measuring.peak_mb()} | gpu.get("memory_mb", {}),
        rows=rows,
        times_an=steps,
        compiled=graphs,
        gpu=gpu,
        torch=torch.__version__,
    )


if __name__ == "__main__":
    main()
