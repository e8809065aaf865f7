"""The part of benchmarks/finetune.py that needs a GPU: ResNet-50 at 448 pixels.

Ours: bf16, pictures and their augmentation on the device, random crops, the loss included. Shares
are of the rate at which the same GPU multiplies large bf16 matrices in the same run, at 97.2 GFLOP
for the forward and backward pass of a picture.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from finetune_plain import PlainLoop

from simkit.chance import Chance
from simkit.data.images import FilePictures
from simkit.embed.backbones import backbone
from simkit.learn.inputs import ImageInputs, sized
from simkit.learn.methods import Task, make
from simkit.learn.side_info import ClassPrior
from simkit.learn.train import Settings, train

SIZE, BATCH, STEPS = 448, 128, 20
DEVICE = "cuda"
GFLOP = 97.2  # of a picture, forward and backward
# Those whose k, or choice of entries, changes with the epoch: a graph might be made anew there.
CHANGING = ("ll-r", "ll-ct", "ll-cp", "csl", "p-asl")
COMPILED = ("an", "ll-r")  # a compilation takes a minute
CASES = (("channels last", False), ("channels last, compiled", True))


def say(text: str) -> None:
    """Print a result at once, since the machine may end before the benchmark does."""
    print(text, flush=True)


def measured(
    folder: Path, files: list[str], codes: np.ndarray, methods: Sequence[str], *, quick: bool
) -> dict[str, Any]:
    """All of it; where there is no GPU, an empty dict and a sentence."""
    if not torch.cuda.is_available():
        say("no GPU was at hand: ResNet-50 at 448 in bf16 was not measured")
        return {}
    bench = _Bench(folder, files, codes, 8 if quick else STEPS)
    rate = matrix_rate()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "tflops": rate / 1e12}
    found["copy_gb_s"] = copy_rate() / 1e9
    found["sizes"] = {"resnet50": [bench.steps * BATCH, 3, SIZE, SIZE]}
    say(f"{found['device']}: {found['tflops']:.0f} TFLOP/s in bf16 products, "
          f"{found['copy_gb_s']:.0f} GB/s read and written in a copy")  # fmt: skip
    for name, compiled in CASES[: 1 if quick else 2]:
        speed = bench.speed("an", compile=compiled)
        found[name] = {"images_per_second": speed, "share": speed * GFLOP * 1e9 / rate}
        say(f"ours, {name}: {speed:.0f} images/s, {speed * GFLOP * 1e9 / rate:.1%} of the rate")
    best = max(found[name]["images_per_second"] for name, _ in CASES if name in found)
    found["ratios"] = {}
    for kept, batch in ((False, 16), (False, BATCH), (True, BATCH)):
        speed = bench.plain(batch, kept=kept)
        where = "on pictures in memory" if kept else "from files, 4 workers"
        say(f"plain loop {where}, batch {batch}: {speed:.0f} images/s, {best / speed:.2f} times")
        found["ratios"][f"resnet50 at 448, plain {where}, batch {batch}"] = round(best / speed, 2)
    found["syncs_per_step"], found["compiled"] = {}, {}
    for spec in ("an", "ll-r") if quick else ("an", *CHANGING):
        found["syncs_per_step"][spec] = bench.syncs_per_step(spec)
        say(f"{spec}: host synchronisations in a step {found['syncs_per_step'][spec]:g}")
    for spec in COMPILED:
        found["compiled"][spec] = bench.compilations(spec)
        say(f"{spec}: over ten epochs {found['compiled'][spec]}")
    found["memory_mb"] = {"resnet50 on the GPU": torch.cuda.max_memory_allocated() / 1e6}
    found["times_an"] = {}
    for spec in () if quick else methods:
        found["times_an"][spec] = bench.times_an(spec)
        say(f"a step with {spec}: {found['times_an'][spec]:.3f} times that with an")
    return found


def matrix_rate(side: int = 8192, repeats: int = 50) -> float:
    """Floating-point operations per second in products of bf16 matrices."""
    a, b = (torch.randn(side, side, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(10):
        a @ b
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        a @ b
    torch.cuda.synchronize()
    return 2 * side**3 * repeats / (time.perf_counter() - start)


def copy_rate(megabytes: int = 4096, repeats: int = 20) -> float:
    """Bytes per second that the device's memory gives and takes in a copy, both counted."""
    a = torch.empty(megabytes << 20, dtype=torch.uint8, device=DEVICE)
    b = torch.empty_like(a)
    b.copy_(a)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        b.copy_(a)
    torch.cuda.synchronize()
    return 2 * a.numel() * repeats / (time.perf_counter() - start)


class _Bench:
    """Pictures, as many as fill `steps` steps; the files are repeated to have that many."""

    def __init__(self, folder: Path, files: list[str], codes: np.ndarray, steps: int) -> None:
        self.folder, self.files, self.codes, self.steps = folder, files, codes, steps
        decoded = sized(FilePictures.of(folder, files), SIZE)
        self.some = decoded[np.arange(len(files))]
        self.net = backbone("resnet50", "random", size=SIZE)

    def train(self, spec: str, steps: int, epochs: int, *, compile: bool = False) -> list[float]:
        """Seconds of each epoch but the first."""
        rows = np.arange(steps * BATCH) % len(self.files)
        prior = ClassPrior(np.full(self.codes.shape[1], 0.1))
        task = Task(self.codes[rows], ImageInputs(self.some[rows], crop=(0.25, 1)), aids=(prior,))
        ends: list[float] = []

        def note(*_: int) -> None:
            torch.cuda.synchronize()
            ends.append(time.perf_counter())

        settings = Settings(epochs=epochs, batch_size=BATCH, lr=1e-5, precision="bf16", state_gb=64)
        how: dict[str, Any] = {"backbone": self.net, "device": DEVICE, "compile": compile}
        train(task, make(spec), settings=settings, progress=note, **how)
        return np.diff(ends).tolist()

    def speed(self, spec: str, *, compile: bool = False) -> float:
        """Images per second of the best of three epochs."""
        return self.steps * BATCH / min(self.train(spec, self.steps, 4, compile=compile))

    def times_an(self, spec: str) -> float:
        """What a step costs, as a multiple of one with plain cross-entropy; they take turns."""
        best = {"an": float("inf"), spec: float("inf")}
        for _ in range(2):
            for each in best:
                best[each] = min(best[each], *self.train(each, self.steps, 3))
        return best[spec] / best["an"]

    def plain(self, batch: int, *, kept: bool) -> float:
        """Images per second of the plain loop, in the better of two epochs.

        Files are repeated, so that starting the workers does not count for much.
        """
        times = 8 if kept else 16
        how: dict[str, Any] = {"batch_size": batch, "lr": 1e-5, "workers": 0 if kept else 4}
        codes = np.tile(self.codes, (times, 1))
        given = (self.folder, self.files * times, codes, self.net, SIZE)
        loop = PlainLoop(*given, kept=kept, device=DEVICE, **how)
        took = []
        for epoch in range(3):
            torch.cuda.synchronize()
            start = time.perf_counter()
            loop.epoch(Chance.seeded(epoch))
            torch.cuda.synchronize()
            took.append(time.perf_counter() - start)
        return len(codes) / min(took[1:])

    def syncs_per_step(self, spec: str) -> float:
        """How often a step waits for the device: what more steps add to a whole training."""
        return (self._syncs(spec, 12) - self._syncs(spec, 4)) / 8

    def _syncs(self, spec: str, steps: int) -> int:
        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.train(spec, steps, 1)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchronizing" in str(each.message) for each in caught)

    def compilations(self, spec: str) -> dict[str, int]:
        """Graphs compiled in ten epochs, and how many were broken."""
        from torch._dynamo.utils import counters

        counters.clear()
        torch._dynamo.reset()
        self.train(spec, 3, 10, compile=True)
        graphs, breaks = counters["stats"]["unique_graphs"], counters["graph_break"]
        return {"graphs": int(graphs), "breaks": int(sum(breaks.values()))}
