"""What a method's loss and its gradient cost, against plain binary cross-entropy.

    python benchmarks/losses.py                   # every method that looks at logits, and SCL
    python benchmarks/losses.py --quick --json    # within 50 seconds; the last line is JSON

One step is the loss of a batch and its gradient for the logits (SCL: for the class maps), in
epoch 10 and on one thread, in seconds of processor time. The batch is as large as the one that
OpenImages V3 is trained with. Methods and cross-entropy take turns, and each counts with its best
go. LL-R and LL-Ct are also measured against a direct way to write them, with torch.topk; both must
give the same loss and gradient.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from simkit.chance import Chance
from simkit.history import History
from simkit.labels.partial import PartialLabels
from simkit.learn import methods
from simkit.learn.methods import Batch, Outputs, Task
from simkit.learn.side_info import ClassPrior

OPENIMAGES = (288, 5000)
SPATIAL = (16, 80, 14)  # images, classes, side of the maps
EPOCH = 10
BARS = {"ll-r": 4, "csl": 8}
# In these epochs and at these rates LL-R must be below its bar.
LARGE = {
    f"ll-r(delta={d}), epoch {e}": (f"ll-r(delta={d})", e) for d in (0.005, 0.5) for e in (2, 20)
}
SPELLED = {"csl": "csl(top_k=200)"}  # as on OpenImages

Step = Callable[[], Tensor]


class Given:
    """A batch of labels, of which one in a thousand is known, and leaves for logits or maps."""

    def __init__(self, shape: tuple[int, ...], seed: int = 0) -> None:
        b, L, *side = shape
        rng = np.random.default_rng(seed)
        known, present = rng.random((b, L)) < 0.001, rng.random((b, L)) < 0.5
        known[:, 0], present[0, 0], present[1, 0] = True, True, False
        codes = (known * np.where(present, 1, -1)).astype(np.int8)
        values = rng.normal(-3, 2, (b, L, *side, *side)).astype(np.float32)
        prior = ClassPrior(np.minimum(0.3 / np.arange(1, L + 1), 1))
        history = History("simulate", {"scheme": "rpa(keep=0.001)"})
        self.task = Task(PartialLabels.of(codes, history=history), aids=(prior,))
        boxes = torch.tensor([0.1, 0.2, 0.8, 0.9]).expand(b, 4)
        self.batch = Batch(torch.arange(b), torch.from_numpy(codes), boxes, torch.arange(b) % 2 > 0)
        self.leaf = torch.from_numpy(values).requires_grad_()
        self.target = (self.batch.labels == 1).float()

    def outputs(self) -> Outputs:
        if self.leaf.dim() == 2:
            return Outputs(self.leaf)
        return Outputs(self.leaf.mean((-2, -1)), self.leaf)

    def step(self, loss: Callable[[Outputs], Tensor]) -> Step:
        """Loss and gradient, from a fresh leaf on."""

        def run() -> Tensor:
            self.leaf.grad = None
            value = loss(self.outputs())
            value.backward()
            return value

        return run

    def bce(self) -> Step:
        """The yardstick; its target lies ready."""
        return self.step(lambda out: F.binary_cross_entropy_with_logits(out.logits, self.target))

    def method(self, spec: str, epoch: int = EPOCH) -> Step:
        """A step of a method in this epoch; it has seen the batch once."""
        made = methods.make(spec)
        state = made.start(self.task, Chance.seeded(0))
        with torch.no_grad():
            out = self.outputs()
            made.after_batch(self.batch, out, state)
            for ended in range(1, epoch):
                made.after_epoch(ended, out.logits if made.needs.epoch_scores else None, state)
        return self.step(lambda out: made.loss(self.batch, out, state))

    def direct(self, rate: float, *, correct: bool) -> Step:
        """LL-R or LL-Ct written down directly: k is a number, the k largest are sorted out."""
        unknown = self.batch.labels == 0
        k = math.ceil(unknown.numel() * rate)

        def loss(out: Outputs) -> Tensor:
            x = out.logits
            values = F.binary_cross_entropy_with_logits(x, self.target, reduction="none")
            other = F.binary_cross_entropy_with_logits(x, 1 - self.target, reduction="none")
            doubtful = torch.where(unknown, values.detach(), 0.0)
            limit = torch.topk(doubtful.flatten(), k).values[-1]
            instead = other if correct else torch.zeros_like(values)
            return torch.where(doubtful < limit, values, instead).mean()

        return self.step(loss)


def turns(steps: dict[str, Step], repeats: int) -> dict[str, float]:
    """Seconds of the best go of every step, all of them in turn."""
    best = dict.fromkeys(steps, math.inf)
    for step in steps.values():
        step()
    for _ in range(repeats):
        for name, step in steps.items():
            best[name] = min(best[name], measuring.timed(step)[0])
    return best


def on_logits() -> tuple[dict[str, str], list[str]]:
    """Methods that need nothing but logits, labels and perhaps a prior; and the names of others."""
    specs, others = {}, []
    for name in methods.names():
        wraps = "inner" in {field.name for field in dataclasses.fields(methods.get(name))}
        spec = ("en+" if wraps else "") + SPELLED.get(name, name)
        needs = methods.make(spec).needs
        if needs.maps or needs.features or set(needs.aids) - {ClassPrior} or name == "full":
            others.append(name)
        else:
            specs[spec.split("(")[0]] = spec
    return specs, others


def every(repeats: int) -> tuple[list[dict[str, Any]], list[str]]:
    """A line for each method: milliseconds, and how many times those of cross-entropy."""
    given, lines = Given(OPENIMAGES), []
    specs, others = on_logits()
    cases = {name: (spec, EPOCH) for name, spec in specs.items()} | LARGE
    for name, (spec, epoch) in cases.items():
        best = turns({"bce": given.bce(), "method": given.method(spec, epoch)}, repeats)
        lines.append(line(name, OPENIMAGES, best["method"], best["bce"]))
    if "scl" in others:
        maps = Given(SPATIAL)
        best = turns({"bce": maps.bce(), "method": maps.method("en+scl")}, repeats)
        lines.append(line("en+scl", SPATIAL, best["method"], best["bce"]))
    return lines, others


def against_direct(repeats: int) -> tuple[list[dict[str, Any]], bool]:
    """LL-R and LL-Ct against the direct way, and whether both agree."""
    given, lines, equal = Given(OPENIMAGES), [], True
    for name in ("ll-r", "ll-ct"):
        for delta in (0.005, 0.5):
            ours = given.method(f"{name}(delta={delta})")
            rate = (EPOCH - 1) * delta / 100
            theirs = given.direct(rate, correct=name == "ll-ct")
            equal = equal and same(given, ours, theirs)
            best = turns({"theirs": theirs, "ours": ours}, repeats)
            case = f"{name}(delta={delta})"
            lines.append({**line(case, OPENIMAGES, best["ours"], None), "direct": best["theirs"]})
    return lines, equal


def same(given: Given, ours: Step, theirs: Step) -> bool:
    """Whether loss and gradient agree, but for the rounding of losses in float32."""
    found = []
    for step in (ours, theirs):
        value, grad = step(), given.leaf.grad
        assert grad is not None
        found.append((value.item(), grad.clone() * grad.numel()))
    near = math.isclose(found[0][0], found[1][0], rel_tol=1e-5)
    return near and torch.allclose(found[0][1], found[1][1], atol=1e-5)


def line(name: str, shape: tuple[int, ...], seconds: float, bce: float | None) -> dict[str, Any]:
    """One line of the table."""
    times = None if bce is None else seconds / bce
    return {"case": name, "shape": list(shape), "seconds": seconds, "bce": bce, "times": times}


def show(lines: list[dict[str, Any]], other: str, heading: str) -> None:
    print(f"{'':28}{'batch':>14}{'ms':>9}{heading:>10}{'times':>8}")
    for row in lines:
        theirs, shape = row[other], " x ".join(map(str, row["shape"]))
        times = row["seconds"] / theirs if other == "bce" else theirs / row["seconds"]
        numbers = f"{row['seconds'] * 1e3:9.1f}{theirs * 1e3:10.1f}{times:8.2f}"
        print(f"{row['case']:28}{shape:>14}{numbers}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, within 50 seconds")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # so few labels are known here that some methods warn
    repeats = 3 if given.quick else 15
    lines, others = every(repeats)
    direct, equal = against_direct(repeats)
    show(lines, "bce", "BCE ms")
    print(f"left out, because they look at more than logits: {', '.join(others)}\n")
    show(direct, "direct", "direct ms")
    print("equal losses and gradients" if equal else "LOSSES OR GRADIENTS DIFFER")
    for name, bar in BARS.items():
        worst = max((r["times"] for r in lines if r["case"].startswith(name)), default=math.nan)
        print(f"{name}: at most {worst:.2f} times cross-entropy; the bar is {bar}")
    measuring.finish(
        "losses",
        as_json=given.json,
        equal=equal,
        ratios={row["case"]: row["direct"] / row["seconds"] for row in direct},
        sizes={row["case"]: row["shape"] for row in lines},
        memory_mb={"losses": measuring.peak_mb()},
        times_bce={row["case"]: round(row["times"], 2) for row in lines},
        seconds={row["case"]: row["seconds"] for row in lines},
        torch=torch.__version__,
    )


if __name__ == "__main__":
    main()
