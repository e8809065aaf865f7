"""Should a network see a whole photograph, or its central square, as is usual for ImageNet?

    SIMKIT_DATA=... python benchmarks/whole_images.py     # five minutes on one core

Features of MobileNetV2 (ImageNet weights) are computed of the photographs of MSRC v2 and of CCP
(clothes, tall photographs) in three ways. *Whole*: resized to 224 x 224, the aspect ratio is not
kept, as simkit does it. *Centre*: the shorter side becomes 256, and the central 224 x 224 are cut
out. *Padded*: the longer side becomes 224, grey fills the rest. A head (`full`, complete labels of
train and val) is scored on the test split, over the classes that 10 or more test images show and 10
or more do not; the mean of five draws.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import measuring
import numpy as np
import torch
from photographs_packs import WEIGHTS, Pack, head
from torch import Tensor
from torchvision.transforms.v2.functional import pad, resize

from simkit.embed import decoding
from simkit.embed.backbones import backbone
from simkit.embed.features import extract

SPLITS = ("train", "val", "test")
PACKS = {"msrc-v2": 3.0, "clothing-ccp": 6.0}
DRAWS = 5
Fit = Callable[[np.ndarray, int], Tensor]


class Scored(Pack):
    """Classes that nearly all images show tell nothing."""

    @property
    def scored(self) -> np.ndarray:
        shown, images = self.present["test"].sum(0), len(self.present["test"])
        return np.flatnonzero((shown >= self.least) & (shown <= images - self.least))


def centre(picture: np.ndarray, size: int) -> Tensor:
    image = resize(torch.from_numpy(picture).permute(2, 0, 1), [size * 8 // 7], antialias=True)
    top, left = ((side - size) // 2 for side in image.shape[1:])
    return image[:, top : top + size, left : left + size]


def padded(picture: np.ndarray, size: int) -> Tensor:
    image = torch.from_numpy(picture).permute(2, 0, 1)
    scale = size / max(image.shape[1:])
    sides = [max(1, round(scale * side)) for side in image.shape[1:]]
    rest = [size - side for side in sides]
    margins = [rest[1] // 2, rest[0] // 2, rest[1] - rest[1] // 2, rest[0] - rest[0] // 2]
    return pad(resize(image, sides, antialias=True), margins, fill=124)


WAYS: dict[str, Fit] = {"whole": decoding.fit, "centre": centre, "padded": padded}


def scores(pack: Pack, fit: Fit) -> list[float]:
    """mAP of each draw, in points."""
    net = backbone("mobilenet_v2", Path(os.environ["SIMKIT_DATA"]) / WEIGHTS)
    usual, decoding.fit = decoding.fit, fit
    try:
        with tempfile.TemporaryDirectory() as cache:
            found = {
                split: np.asarray(extract(pack.data, split, net, cache=cache)["pooled"].values[:])
                for split in SPLITS
            }
    finally:
        decoding.fit = usual
    return [100 * head(pack, found, draw) for draw in range(DRAWS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packs", nargs="+", default=[*PACKS])
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    rows, sizes = [], {}
    with tempfile.TemporaryDirectory() as work:
        for name in arguments.packs:
            pack = Scored(name, 10, PACKS[name], Path(work) / name)
            pack.folder.mkdir()
            pack.unpack()
            sizes[name] = len(pack.present["test"])
            of = {way: np.array(scores(pack, fit)) for way, fit in WAYS.items()}
            for way, one in of.items():
                gap = one - of["centre"]
                rows.append((f"{name}: {way}", f"{len(pack.scored)}", f"{one.mean():.1f}",
                             f"{gap.mean():+.1f}", f"{gap.std(ddof=1):.1f}"))  # fmt: skip
    heads = ("classes", "mAP", "above centre", "its deviation over draws")
    measuring.table(("pack: way", *heads), rows)
    measuring.finish("whole_images", as_json=arguments.json, equal=True, ratios={}, sizes=sizes)


if __name__ == "__main__":
    main()
