"""The atlas' grid on photographs, computed for a GPU: the operations that are sent to it.

    python benchmarks/grid_gpu.py                 # 32 methods on pooled features
    python benchmarks/grid_gpu.py --quick --json  # four methods; the last line is JSON

Heads are small, so a GPU waits for its operations: what decides is how many there are in a step,
and how fast a process sends them. Counted are the operations of torch in one step of a stack, of
every method alone and of all of them together, by the difference of trainings of ten and of two
epochs; views send nothing. Measured is the processor time of a step on a CPU with 8 features, where
little but sending is left (imcl also searches its dictionary). From both follow the times of the
grid of VOC animals (9 schemes, 2 budgets, 10 draws): the steps of its stacks, whose images are
asked about in atlas/voc12-animals/table.parquet, times the time of a step. Nothing here was
measured on a GPU.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Task, make, names
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare
from simkit.learn.train import train_stack

# They need maps, scores or complete labels; cnn-rnn takes as long as all others together.
ELSEWHERE = ("full", "boostlu", "cl", "scl", "vlpl", "aevlp", "cnn-rnn")
COUNTED = ("en", "ep", "epr", "role")  # need the number of classes of an image
CLASSES, BATCH, EPOCHS, DRAWS = 20, 64, 25, 10
# Mean images asked about in each scheme at $28 and $140; 2,015 are all, and share a stack.
ASKED = {
    28: (1592, 1572, 173, 232, 69, 87, 1507, 1553, 75), 140: (2015, 746, 1162, 345, 435, 376),
}  # fmt: skip
KERNEL = 3e-6  # seconds of a GPU for the smallest operation, which is assumed, not measured


class Counted(TorchDispatchMode):
    """Counts the operations that are not views."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        view = any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)
        self.count += not view and "empty" not in str(func)
        return func(*args, **(kwargs or {}))


def runs_of(specs: Sequence[str], images: int, width: int) -> list[tuple[Task, Any]]:
    """A run of each method on the same partial labels."""
    rng = np.random.default_rng(0)
    drawn = rng.random((images, CLASSES))
    codes = np.where(drawn < 0.06, 1, np.where(drawn > 0.8, -1, 0)).astype(np.int8)
    codes[np.arange(images), rng.integers(CLASSES, size=images)] = 1
    task = Task(codes, FeatureInputs(rng.random((images, width)).astype(np.float16)))
    made = [make(spec) for spec in specs]
    settings = Settings(epochs=1)
    return [(prepare(task, one, settings=settings, seed=0, draw=0), one) for one in made]


def trained(runs: list[tuple[Task, Any]], epochs: int) -> tuple[int, float]:
    """Operations and processor seconds of a training."""
    settings = Settings(epochs=epochs, batch_size=BATCH, lr=1e-3)
    with Counted() as counted:
        train_stack(runs, settings=settings)
    start = time.process_time()
    train_stack(runs, settings=settings)
    return counted.count, time.process_time() - start


def of_a_step(specs: Sequence[str]) -> tuple[float, float]:
    """Operations and processor seconds of one step: two and ten epochs of eight steps."""
    runs = runs_of(specs, 8 * BATCH, 8)
    trained(runs, 1)
    (few, short), (many, long) = trained(runs, 2), trained(runs, 10)
    return (many - few) / 64, (long - short) / 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="four methods")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    listed = ["an", "ll-r", "en", "gr-loss"] if given.quick else names()
    specs = [
        f"{name}(expected=1.3)" if name in COUNTED else name
        for name in listed
        if name not in ELSEWHERE
    ]
    rows, counts = [], {}
    for spec in specs:
        count, seconds = of_a_step([spec])
        counts[spec] = count
        rows.append([spec, f"{count:.0f}", f"{1e3 * seconds:.2f}"])
    count, seconds = of_a_step(specs)
    rows.append(["all in one stack", f"{count:.0f}", f"{1e3 * seconds:.2f}"])
    measuring.table(("method", "operations in a step", "sent in, ms"), rows)
    steps = (
        DRAWS
        * EPOCHS
        * sum(math.ceil(images / BATCH) for of_budget in ASKED.values() for images in of_budget)
    )
    print(f"\nthe grid of VOC animals: {steps:,} steps of such stacks")
    minutes = {n: steps * seconds / n / 60 for n in (1, 4, 8)}
    for n, each in minutes.items():
        print(f"sent by {n} processes: {each:.1f} minutes")
    computed = steps * count * KERNEL / 60
    print(f"computed by the GPU, at {1e6 * KERNEL:g} us an operation: {computed:.1f} minutes")
    sizes = {"classes": CLASSES, "batch": BATCH, "steps": steps}
    about = {"sizes": sizes, "counts": counts, "minutes": minutes}
    measuring.finish("grid_gpu", as_json=given.json, equal=True, ratios={}, **about)


if __name__ == "__main__":
    main()
