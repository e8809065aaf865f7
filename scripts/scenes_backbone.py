"""Train scenes-net, the backbone for `scenes`: run `python scripts/scenes_backbone.py`.

The network sees single objects, never the labels of an image: for each object's box the mean of the
feature map inside it must tell the object's class and, apart, its colour; the mean of the places
without an object must tell "nothing", and the mean of the whole map the ground. Its pictures are
more crowded than those of the data set, half of their objects are drawn with equal chances, and
their handwritten digits occur in no split. At the end the test of the data set is made: a linear
head on frozen pooled features of the training split, complete labels, mAP on the test split.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from simkit.chance import Chance
from simkit.data.dataset import Dataset
from simkit.data.scenes import Scenes
from simkit.data.scenes_draw import (
    COLOURS,
    DIGITS,
    GROUNDS,
    LARGEST_DIGIT,
    OBJECTS,
    SIDE,
    Layout,
    below_count,
    draw,
    layout,
)  # fmt: skip
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
from simkit.embed.networks import SCENES_WEIGHTS, Backbone, ScenesNet
from simkit.files import whole

CELLS = 8
BATCH = 64
CROWDED = (1, 2, 3, 4, 10)  # weights of 1 to 5 objects in a picture


def batches(seed: int) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
    """Pictures (b, 3, 64, 64) uint8 and what is known about their objects, without end."""
    chance = Chance.seeded(seed).of("scenes", "backbone")
    for start in range(0, 1 << 40, BATCH):
        index = np.arange(start, start + BATCH)
        content = evened(layout(chance, index, CROWDED), chance.of("evened"), index)
        pixels = torch.from_numpy(draw(chance, "backbone", content, index)).permute(0, 3, 1, 2)
        picture, slot = np.nonzero(content.classes >= 0)
        shares = cover(*(a[picture, slot] for a in (content.x, content.y, content.size)))
        hidden = np.zeros((BATCH, CELLS, CELLS))
        np.add.at(hidden, picture, shares)
        facts = {
            "picture": picture,
            "class": content.classes[picture, slot],
            "colour": content.colours[picture, slot],
            "ground": np.where(content.ground < 0, len(GROUNDS), content.ground),
            "cover": (shares / shares.sum((1, 2), keepdims=True)).astype(np.float32),
            "empty": (hidden < 0.1).astype(np.float32),
        }
        yield pixels, {name: torch.from_numpy(values) for name, values in facts.items()}


def evened(content: Layout, chance: Chance, index: NDArray[np.int64]) -> Layout:
    """The same scenes with every second object replaced by one of any class, all equally likely."""
    numbers = chance(index[:, None], np.arange(content.classes.shape[1]))
    swap = (content.classes >= 0) & ((numbers & np.uint64(1)) == 1)
    classes = np.where(swap, below_count(numbers, len(OBJECTS)), content.classes)
    size = np.where(classes < len(DIGITS), np.minimum(content.size, LARGEST_DIGIT), content.size)
    return replace(content, classes=classes, size=size)


def cover(
    x: NDArray[np.int64], y: NDArray[np.int64], size: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(n, 8, 8) the share of each cell of the maps that a box covers."""
    cell = SIDE // CELLS
    lines = np.arange(CELLS) * cell
    across, down = (
        np.minimum(lines + cell, (low + size)[:, None]) - np.maximum(lines, low[:, None])
        for low in (x, y)
    )
    return np.clip(down, 0, None)[:, :, None] * np.clip(across, 0, None)[:, None, :] / cell**2


class Heads(nn.Module):
    """What the network must tell while it is trained; thrown away afterwards."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.classes = nn.Linear(width, len(OBJECTS) + 1)  # the last one: nothing
        self.colours = nn.Linear(width, len(COLOURS))
        self.ground = nn.Linear(width, len(GROUNDS) + 1)

    def loss(self, maps: Tensor, known: dict[str, Tensor]) -> Tensor:
        seen = (maps[known["picture"]] * known["cover"][:, None]).sum((2, 3))
        empty = known["empty"][:, None]
        nothing = (maps * empty).sum((2, 3)) / (empty.sum((2, 3)) + 1e-3)
        classes = torch.cat([known["class"], torch.full((len(maps),), len(OBJECTS))])
        return (
            F.cross_entropy(self.classes(torch.cat([seen, nothing])), classes, label_smoothing=0.05)
            + 0.5 * F.cross_entropy(self.colours(seen), known["colour"])
            + 0.3 * F.cross_entropy(self.ground(maps.mean((2, 3))), known["ground"])
            + 0.03 * maps.mean()  # quiet where there is nothing to say, so that means stay clear
        )


class Muon(torch.optim.Optimizer):
    """Momentum whose matrix is made orthogonal before it is applied; for convolutions only.

    Each filter bank is kept at a fixed length, which batch norm makes harmless. With as many
    pictures Adam came to 0.58 mAP and this to 0.78. Source: Jordan et al., "Muon", 2024.
    """

    def __init__(self, parameters: list[nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                mean = self.state[weight].setdefault("mean", torch.zeros_like(weight))
                mean.mul_(group["momentum"]).add_(weight.grad)
                ahead = weight.grad.add(mean, alpha=group["momentum"])
                weight.mul_(len(weight) ** 0.5 / weight.norm())
                weight.sub_(group["lr"] * orthogonal(ahead.flatten(1)).reshape(weight.shape))


def orthogonal(matrix: Tensor) -> Tensor:
    """About U V^T of the singular value decomposition, by four steps of Newton and Schulz."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix) / (matrix.norm() + 1e-7)
    for _ in range(4):
        square = x @ x.T
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    return x.T if tall else x


def folded(net: ScenesNet) -> ScenesNet:
    """The same network without batch norm, as it is kept."""
    plain = ScenesNet()
    parts = dict(net.eval().named_modules())
    for name, part in plain.named_modules():
        if isinstance(part, nn.Sequential) and isinstance(part[0], nn.Conv2d):
            conv, norm = parts[name]
            part[0] = fuse_conv_bn_eval(conv, norm)
    return plain.eval()


def train(images: int, seed: int) -> ScenesNet:
    """One pass over `images` fresh pictures, some five minutes on one core of a server."""
    torch.manual_seed(seed)
    net = ScenesNet(norm=True).to(memory_format=torch.channels_last)
    heads = Heads(net.width)
    banks = [p for p in net.parameters() if p.ndim == 4]
    others = [p for p in [*net.parameters(), *heads.parameters()] if p.ndim != 4]
    optimisers = [Muon(banks, lr=0.15), torch.optim.AdamW(others, lr=3e-3, weight_decay=0.02)]
    steps = images // BATCH

    def rate(step: int) -> float:
        return min(1, 20 * (step + 1) / steps) * (1 - step / steps)

    rates = [torch.optim.lr_scheduler.LambdaLR(o, rate) for o in optimisers]
    start = time.time()
    for step, (pixels, known) in zip(range(steps), batches(seed), strict=False):
        maps = net(net.prepare(pixels).to(memory_format=torch.channels_last))
        loss = heads.loss(maps, known)
        net.zero_grad()
        heads.zero_grad()
        loss.backward()
        for part in (*optimisers, *rates):
            part.step()
        if step % 100 == 0:
            speed = (step + 1) * BATCH / (time.time() - start)
            print(f"{step}/{steps} loss {loss.item():.3f} {speed:.0f} images/s", flush=True)
    return folded(net)


def save(net: ScenesNet, out: Path) -> None:
    with whole(out) as part:
        save_file({k: v.half().contiguous() for k, v in net.state_dict().items()}, str(part))


def probe(net: Backbone, seed: int = 0) -> tuple[Dataset, NDArray[np.float64]]:
    """AP of each class on the test split, of a linear head with complete labels."""
    from sklearn.metrics import average_precision_score

    dataset = Scenes(seed=seed).open()
    with tempfile.TemporaryDirectory() as folder:
        made = {s: extract(dataset, s, net, cache=folder)["pooled"] for s in ("train", "test")}
        values = {split: np.array(each.values, np.float32) for split, each in made.items()}
    middle, spread = values["train"].mean(0), values["train"].std(0) + 1e-6
    x, test_x = (torch.from_numpy((v - middle) / spread) for v in values.values())
    y, test_y = (dataset.truth[s].rows(range(len(values[s]))) for s in values)
    targets = torch.from_numpy(y).float()
    torch.manual_seed(seed)
    head = nn.Linear(x.shape[1], y.shape[1])
    optimiser = torch.optim.AdamW(head.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(30):
        for rows in torch.randperm(len(x)).split(64):
            loss = F.binary_cross_entropy_with_logits(head(x[rows]), targets[rows], reduction="sum")
            optimiser.zero_grad()
            (loss / len(rows)).backward()
            optimiser.step()
    scores = head(test_x).detach().numpy()
    precision = [average_precision_score(test_y[:, c], scores[:, c]) for c in range(y.shape[1])]
    return dataset, np.array(precision)


def report(net: Backbone) -> None:
    """Print AP by class, and the means for three seeds of the data set."""
    for seed in range(3):
        dataset, precision = probe(net, seed)
        share = dataset.truth["train"].counts / dataset.truth["train"].shape[0]
        leaf = np.isin(np.arange(len(share)), dataset.leaves)
        if seed == 0:
            for name, often, value in zip(dataset.classes, share, precision, strict=True):
                print(f"{name:16s} in {often:5.1%} of the images   AP {value:.3f}")
        groups = {"leaves": leaf, "all classes": share > 0, "rare leaves": leaf & (share < 0.03)}
        means = [f"{precision[group].mean():.3f} over {name}" for name, group in groups.items()]
        print(f"seed {seed}: mAP {', '.join(means)} (rare: in less than 3 % of the images)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=45_000, help="0: only report")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=SCENES_WEIGHTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.images:
        save(train(options.images, options.seed), options.out)
    report(backbone("scenes-net", options.out))


if __name__ == "__main__":
    main()
