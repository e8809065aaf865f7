"""The plain loop that benchmarks/finetune.py compares with, and pictures for both.

Decode, resize to a square, mirror, to floats, normalise: torchvision's transforms on Pillow images
in a DataLoader; a network in fp32 with channels first, binary cross-entropy, Adam.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from simkit.chance import Chance
from simkit.data.scenes import ScenePictures
from simkit.learn.model import initial

CLASSES = 80


def drawn_files(folder: Path, count: int) -> tuple[list[str], np.ndarray]:
    """JPEG files of 500 x 375 pixels, twelve scenes each, with labels (count, 80) in {+1, 0, -1}.

    They are about as large as photographs of that size. One label of each picture is known.
    """
    rng, drawn = np.random.default_rng(0), ScenePictures(0, "train", 600)
    scenes = drawn.read(np.arange(600))
    files = []
    for number in range(count):
        whole = Image.new("RGB", (500, 375))
        for place, scene in enumerate(rng.integers(0, 600, 12)):
            part = Image.fromarray(scenes[scene]).resize((125, 125), Image.Resampling.BICUBIC)
            whole.paste(part, (place % 4 * 125, place // 4 * 125))
        noisy = np.asarray(whole, np.int16) + rng.integers(-12, 13, (375, 500, 1))
        files.append(f"{number:05}.jpg")
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(folder / files[-1], quality=90)
    codes = np.zeros((count, CLASSES), np.int8)
    codes[np.arange(count), rng.integers(0, CLASSES, count)] = 1
    return files, codes


class Files(Dataset[tuple[Tensor, Tensor]]):
    """Pictures from their files, as a DataLoader wants them."""

    def __init__(self, folder: Path, files: list[str], target: Tensor, transform: Any) -> None:
        self.paths = [folder / file for file in files]
        self.target, self.transform = target, transform

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        with Image.open(self.paths[index]) as image:
            return self.transform(image.convert("RGB")), self.target[index]


class Kept(Dataset[tuple[Tensor, Tensor]]):
    """The same pictures as they come out of the transform, read once and kept on the device."""

    def __init__(self, files: Files, device: str) -> None:
        pairs = (files[index] for index in range(len(files)))
        self.pairs = [(picture.to(device), target.to(device)) for picture, target in pairs]

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.pairs[index]


class PlainLoop:
    """A network and a linear layer, trained epoch by epoch from files.

    kept: pictures lie ready as floats, so that what remains is the network's work.
    """

    def __init__(
        self,
        folder: Path,
        files: list[str],
        codes: np.ndarray,
        net: Any,
        size: int,
        *,
        batch_size: int,
        lr: float,
        flip: bool = True,
        kept: bool = False,
        workers: int = 0,
        device: str = "cpu",
    ) -> None:
        target = torch.from_numpy((codes == 1).astype(np.float32))
        steps: list[Any] = [transforms.Resize((size, size))]
        steps += [transforms.RandomHorizontalFlip()] if flip else []
        steps += [transforms.ToTensor(), transforms.Normalize(net.mean, net.std)]
        read = Files(folder, files, target, transforms.Compose(steps))
        self.pictures: Dataset[tuple[Tensor, Tensor]] = Kept(read, device) if kept else read
        self.net, self.device = copy.deepcopy(net).to(device).train(), torch.device(device)
        weight, bias = initial(Chance.seeded(0).of("train", 0, "head"), codes.shape[1], net.width)
        self.head = nn.Linear(net.width, codes.shape[1]).to(device)
        with torch.no_grad():
            self.head.weight.copy_(weight)
            self.head.bias.copy_(bias)
        every = [*self.net.parameters(), *self.head.parameters()]
        self.adam = torch.optim.Adam(every, lr=lr)
        self.batch_size, self.workers, self.n = batch_size, workers, len(files)
        self.pinned = self.device.type == "cuda" and not kept

    def epoch(self, order: Chance) -> float:
        """One pass in the order that `order` gives; returns the mean loss of the pictures."""
        places = order.permutation(self.n).at(np.arange(self.n)).tolist()
        loader = DataLoader(
            self.pictures,
            batch_size=self.batch_size,
            sampler=places,
            num_workers=self.workers,
            pin_memory=self.pinned,
        )
        total = 0.0
        for pictures, target in loader:
            pictures, target = pictures.to(self.device), target.to(self.device)
            logits = self.head(self.net(pictures).mean((-2, -1)))
            loss = F.binary_cross_entropy_with_logits(logits, target)
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            total += loss.item() * len(pictures)
        return total / self.n
