"""Heads on feature maps (CAM level): all runs in one stack, against one by one in published style.

    python benchmarks/stacked.py                 # widths 512 and 2,048
    python benchmarks/stacked.py --quick --json  # width 512 alone; the last line is JSON

1,000 images of 7 x 7 maps in half precision, 20 classes, batches of 64, Adam. 20 runs: AN, LL-R,
LL-Ct and LL-Cp with BoostLU on five single-positive draws of labels. The other style trains a
module of its own, a 1 x 1 convolution, for each run, on maps that lie ready as floats, with the
same losses: BoostLU as published, and the loss functions of the methods on the boosted logits
(one run for each method, whose mean stands for all). Counted is the processor time of one thread,
in turns; logits of AN are compared.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import warnings
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.learn.inputs import FeatureInputs
from simkit.learn.methods import Batch, Outputs, Task, epochs, make
from simkit.learn.model import initial
from simkit.learn.optim import Settings
from simkit.learn.train import train_stack

IMAGES, CLASSES, SIDE, DRAWS, BAR = 1_000, 20, 7, 5, 1.8
METHODS = ("an", "ll-r", "ll-ct", "ll-cp")
SETTINGS = Settings(epochs=2, batch_size=64, lr=0.001)


def material(width: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Maps (N, D, h, w) float16, and labels (N, L) of each draw: one positive in an image."""
    rng = np.random.default_rng(0)
    maps = rng.random((IMAGES, width, SIDE, SIDE), np.float32).astype(np.float16)
    labels = [np.zeros((IMAGES, CLASSES), np.int8) for _ in range(DRAWS)]
    for codes in labels:
        codes[np.arange(IMAGES), rng.integers(CLASSES, size=IMAGES)] = 1
    return maps, labels


def together(maps: np.ndarray, labels: list[np.ndarray]) -> np.ndarray:
    """Logits (N, L) of AN with BoostLU on the first draw, of all runs trained in one stack."""
    inputs = FeatureInputs(maps)
    tasks = [Task(codes, inputs) for codes in labels]
    runs = [(task, make(f"{name}+boostlu")) for name in METHODS for task in tasks]
    return train_stack(runs, settings=SETTINGS)[0].scores(inputs)


def one_by_one(maps: np.ndarray, labels: list[np.ndarray]) -> np.ndarray:
    """The same of one run for each method, each with a module, an optimiser and a loop."""
    ready = torch.from_numpy(maps).float()
    found = [_alone(name, ready, labels[0]) for name in METHODS]
    return found[0]


def _alone(name: str, maps: Tensor, codes: np.ndarray) -> np.ndarray:
    method = make(name)
    state = method.start(Task(codes, FeatureInputs(np.zeros((IMAGES, 1), np.float32))))
    chance = Chance.seeded(0).of("train", 0)
    layer = nn.Conv2d(maps.shape[1], CLASSES, 1)
    weight, bias = initial(chance.of("head"), CLASSES, maps.shape[1])
    layer.load_state_dict({"weight": weight[..., None, None], "bias": bias})
    optimiser = torch.optim.Adam(layer.parameters(), lr=SETTINGS.rate(backbone=False))
    target = torch.from_numpy(codes)
    for epoch in epochs(SETTINGS.epochs, method, state):
        order = chance.of("order", epoch).permutation(IMAGES).at(np.arange(IMAGES))
        for index in torch.from_numpy(order).split(SETTINGS.batch_size):
            optimiser.zero_grad()
            out = Outputs(_boosted(layer(maps[index])).mean((-2, -1)))
            batch = Batch(index, target[index])
            method.loss(batch, out, state).backward()
            optimiser.step()
            with torch.no_grad():
                seen = Outputs(out.logits.detach())
                method.after_batch(batch, seen, state)
    with torch.no_grad():
        return torch.cat([_boosted(layer(x)).mean((-2, -1)) for x in maps.split(64)]).numpy()


def _boosted(maps: Tensor) -> Tensor:
    return maps + 4 * torch.relu(maps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="width 512 alone")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    runs = len(METHODS) * DRAWS
    rows, ratios, apart = [], {}, {}
    for width in (512,) if given.quick else (512, 2_048):
        maps, labels = material(width)
        ours, theirs, mine, other = measuring.turns(
            partial(together, maps, labels), partial(one_by_one, maps, labels), 2
        )
        scale = SETTINGS.epochs * runs
        each = [seconds * DRAWS / scale for seconds in theirs]  # stands for every draw
        found = measuring.speed([seconds / scale for seconds in ours], each)
        case = f"{width:,} channels"
        ratios[case] = found["ratio"]
        apart[case] = float(np.abs(mine - other).max())
        rows.append([case, f"{found['ours']:.4f}", f"{found['theirs']:.4f}",
                     f"{found['ratio']:.1f}", f"{apart[case]:.1e}"])  # fmt: skip
    heads = ("maps of", "one stack, s", "one by one, s", "times as fast", "logits apart")
    print(f"seconds of a processor for an epoch of one of {runs} runs")
    measuring.table(heads, rows)
    measuring.against(ratios, BAR, theirs="a training loop of PyTorch for each run")
    equal = max(apart.values()) <= 1e-4
    sizes = {"images": IMAGES, "side": SIDE, "classes": CLASSES, "runs": runs}
    measuring.finish(
        "stacked", as_json=given.json, equal=equal, ratios=ratios, sizes=sizes, apart=apart
    )


if __name__ == "__main__":
    main()
