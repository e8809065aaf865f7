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
from simkit.data.scene_drawing import draw
from simkit.data.scene_layout import (
    COLOURS,
    DIGITS,
    GROUNDS,
    LARGEST_DIGIT,
    LEAVES,
    OBJECTS,
    SIDE,
    Layout,
    below_count,
    layout,
    leaf_matrix,
)  # fmt: skip
from simkit.embed.backbones import SCENES_WEIGHTS, ScenesNet
from simkit.files import whole

CELLS = 8
BATCH = 64
CROWDED = (1, 2, 3, 4, 10)  # weights of 1 to 5 objects in a picture


def batches(seed: int) -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
    """Pictures (b, 3, 64, 64) uint8 and what is known about their objects, without end."""
    chance = Chance.seeded(seed).of("scenes", "backbone")
    for start in range(0, 1 << 40, BATCH):
        index = np.arange(start, start + BATCH)
        scenes = evened(layout(chance, index, CROWDED), chance.of("evened"), index)
        pixels = torch.from_numpy(draw(chance, "backbone", scenes, index)).permute(0, 3, 1, 2)
        picture, slot = np.nonzero(scenes.classes >= 0)
        shares = cover(*(a[picture, slot] for a in (scenes.x, scenes.y, scenes.size)))
        hidden = np.zeros((BATCH, CELLS, CELLS))
        np.add.at(hidden, picture, shares)
        facts = {
            "picture": picture,
            "class": scenes.classes[picture, slot],
            "colour": scenes.colours[picture, slot],
            "ground": np.where(scenes.ground < 0, len(GROUNDS), scenes.ground),
            "cover": (shares / shares.sum((1, 2), keepdims=True)).astype(np.float32),
            "empty": (hidden < 0.1).astype(np.float32),
        }
        yield pixels, {name: torch.from_numpy(values) for name, values in facts.items()}


def evened(scenes: Layout, chance: Chance, index: NDArray[np.int64]) -> Layout:
    """The same scenes with every second object replaced by one of any class, all equally likely."""
    numbers = chance(index[:, None], np.arange(scenes.classes.shape[1]))
    swap = (scenes.classes >= 0) & ((numbers & np.uint64(1)) == 1)
    classes = np.where(swap, below_count(numbers, len(OBJECTS)), scenes.classes)
    size = np.where(classes < len(DIGITS), np.minimum(scenes.size, LARGEST_DIGIT), scenes.size)
    return replace(scenes, classes=classes, size=size)


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
        self.among = nn.Linear(width, len(OBJECTS) + len(COLOURS))

    def loss(self, maps: Tensor, known: dict[str, Tensor], among: float) -> Tensor:
        """What single objects teach, and with weight `among` what windows on the picture teach."""
        loss = self.objects(maps, known)
        return loss + among * self.windows(maps, known) if among else loss

    def objects(self, maps: Tensor, known: dict[str, Tensor]) -> Tensor:
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

    def windows(self, maps: Tensor, known: dict[str, Tensor]) -> Tensor:
        """Which objects and colours lie in a random window of 3 to 8 cells a side.

        An object counts when 70 % of its box lie inside; from 20 to 70 % it is left open.
        """
        b, picture = len(maps), known["picture"]
        side = torch.randint(3, CELLS + 1, (b, 2, 1))
        start = (torch.rand(b, 2, 1) * (CELLS + 1 - side)).long()
        line = torch.arange(CELLS)
        inside = ((line >= start) & (line < start + side)).float()
        window = inside[:, 0, :, None] * inside[:, 1, None, :]
        mean = (maps * window[:, None]).sum((2, 3)) / window.sum((1, 2))[:, None]
        share = (known["cover"] * window[picture]).sum((1, 2))
        scores = self.among(mean)
        some, most = torch.zeros_like(scores), torch.zeros_like(scores)
        for column in (known["class"], known["colour"] + len(OBJECTS)):
            some[picture[share > 0.2], column[share > 0.2]] = 1
            most[picture[share > 0.7], column[share > 0.7]] = 1
        loss = F.binary_cross_entropy_with_logits(scores, most, weight=(some == most).float())
        return loss * scores.shape[1] / 4


def folded(net: ScenesNet) -> ScenesNet:
    """The same network without batch norm."""
    plain = ScenesNet()
    parts = dict(net.eval().named_modules())
    for name, part in plain.named_modules():
        if isinstance(part, nn.Sequential) and isinstance(part[0], nn.Conv2d):
            conv, norm = parts[name]
            part[0] = fuse_conv_bn_eval(conv, norm)
    return plain.eval()


def train(images: int, seed: int, out: Path) -> ScenesNet:
    """One pass over `images` fresh pictures; a checkpoint every few minutes."""
    torch.manual_seed(seed)
    net = ScenesNet(norm=True).to(memory_format=torch.channels_last)
    heads = Heads(net.width)
    parameters = [*net.parameters(), *heads.parameters()]
    steps = images // BATCH
    optimiser = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.02)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, steps, pct_start=0.1)
    start = saved = time.time()
    for step, (pixels, known) in zip(range(steps), batches(seed), strict=False):
        maps = net(net.prepare(pixels).to(memory_format=torch.channels_last))
        among = min(1.0, max(0.0, 5 * step / steps - 2))  # from two to three fifths of the way
        loss = heads.loss(maps, known, among)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        rate.step()
        if step % 100 == 0:
            speed = (step + 1) * BATCH / (time.time() - start)
            print(f"{step}/{steps} loss {loss.item():.3f} {speed:.0f} images/s", flush=True)
        if time.time() - saved > 180:
            save(folded(net), out)
            net.train()
            saved = time.time()
    return folded(net)


def save(net: ScenesNet, out: Path) -> None:
    with whole(out) as part:
        save_file({k: v.half().contiguous() for k, v in net.state_dict().items()}, str(part))


def pooled(net: ScenesNet, split: str, images: int) -> tuple[Tensor, Tensor]:
    """Mean features (n, D) and leaf labels (n, 41) of a split of the data set with seed 0."""
    chance = Chance.seeded(0).of("scenes", split)
    values, labels = [], []
    for start in range(0, images, 250):
        index = np.arange(start, min(start + 250, images))
        scenes = layout(chance, index)
        pixels = torch.from_numpy(draw(chance, split, scenes, index)).permute(0, 3, 1, 2)
        with torch.no_grad():
            values.append(net(net.prepare(pixels)).mean((2, 3)))
        labels.append(torch.from_numpy(leaf_matrix(scenes)))
    return torch.cat(values), torch.cat(labels).float()


def probe(net: ScenesNet, seed: int = 0) -> NDArray[np.float64]:
    """AP of each leaf class on the test split, of a linear head with complete labels."""
    from sklearn.metrics import average_precision_score

    x, y = pooled(net, "train", 3000)
    test_x, test_y = pooled(net, "test", 2000)
    mean, std = x.mean(0), x.std(0) + 1e-6
    x, test_x = (x - mean) / std, (test_x - mean) / std
    torch.manual_seed(seed)
    head = nn.Linear(x.shape[1], y.shape[1])
    optimiser = torch.optim.AdamW(head.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(30):
        for rows in torch.randperm(len(x)).split(64):
            loss = F.binary_cross_entropy_with_logits(head(x[rows]), y[rows]) * y.shape[1]
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    scores = head(test_x).detach().numpy()
    return np.array(
        [average_precision_score(test_y[:, c], scores[:, c]) for c in range(y.shape[1])]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=240_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=SCENES_WEIGHTS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    net = train(options.images, options.seed, options.out)
    save(net, options.out)
    precision = probe(net)
    for name, value in zip(LEAVES, precision, strict=True):
        print(f"{name:12s} {value:.3f}")
    print(f"mAP over leaf classes {precision.mean():.3f}")


if __name__ == "__main__":
    main()
