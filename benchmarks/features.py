"""How fast features of photographs are computed on a CPU, against loops that people write.

    python benchmarks/features.py                         # 200 drawn photographs, MobileNetV2
    python benchmarks/features.py --folder DIR --network resnet50
    python benchmarks/features.py --quick --json          # within 50 seconds; the last line is JSON

Ours is `extract`, the function behind `simkit features`, from JPEG files to a file of pooled
features. The others decode, resize to a square and normalise with torchvision on Pillow images in a
DataLoader with two workers, in batches of 32:

- torchvision: the same network in evaluation mode under no_grad;
- timm: its network of that name with num_classes=0, as its documentation extracts features;
- onnxruntime: the same network exported by torch.onnx, with all its optimisations.

timm and onnxruntime (with onnx and onnxscript) take part if they are installed. Every network runs
on one thread. All take turns; the seconds are processor time of the process and its workers, the
least of the goes. Weights are random, unless given. Drawn photographs have 500 x 375 pixels;
--folder has JPEG files of your own.

Equal means that our pooled features are those of the plain network on the same pixels: the length
of the difference is at most a thousandth of theirs, in every photograph.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from finetune_plain import Files, drawn_files
from torch import Tensor
from torch.utils.data import DataLoader
from torchvision import transforms

from simkit import data
from simkit.embed.backbones import backbone
from simkit.embed.decoding import fitted
from simkit.embed.features import extract
from simkit.embed.networks import Backbone

TIMM = {"mobilenet_v2": "mobilenetv2_100", "resnet50": "resnet50", "resnet18": "resnet18"}
BATCH, WORKERS = 32, 2
BAR = 1.2  # times as fast as torchvision's network in a plain loop
CLOSE = 1e-3


class Pooled(torch.nn.Module):
    """Pooled features alone, as one output."""

    def __init__(self, net: Backbone) -> None:
        super().__init__()
        self.net = net

    def forward(self, images: Tensor) -> Tensor:
        return self.net.maps_and_pooled(images)[1]


def used() -> float:
    """Seconds of processor time of this process and its workers that have ended."""
    return sum(os.times()[:4])


def loop(folder: Path, files: list[str], net: Backbone, compute: Callable[[Tensor], Any]) -> Any:
    """Features of all files by a plain loop around `compute`."""
    steps: list[Any] = [transforms.Resize((net.size, net.size)), transforms.ToTensor()]
    steps += [transforms.Normalize(net.mean, net.std)]
    pictures = Files(folder, files, torch.zeros(len(files)), transforms.Compose(steps))
    loader = DataLoader(pictures, batch_size=BATCH, num_workers=WORKERS)
    with torch.no_grad():
        return np.concatenate([np.asarray(compute(images)) for images, _ in loader])


def by_onnx(net: Backbone, folder: Path) -> Callable[[Tensor], Any] | None:
    """The network in onnxruntime; None if it is not installed."""
    runtime = measuring.rival("onnxruntime")
    if runtime is None or measuring.rival("onnx") is None or measuring.rival("onnxscript") is None:
        return None
    path, example = folder / "net.onnx", torch.zeros(2, 3, net.size, net.size)
    torch.onnx.export(
        Pooled(net), (example,), path, input_names=["images"], dynamo=True, verbose=False,
        dynamic_shapes=({0: torch.export.Dim("images")},),
    )  # fmt: skip
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda images: session.run(None, {"images": images.numpy()})[0]


def contestants(
    folder: Path, files: list[str], net: Backbone, scratch: Path
) -> dict[str, Callable[[], Any]]:
    """What each computes the features with; the first two are always there."""
    pictures, made = data.open(f"folder:{folder},labels=none"), iter(range(1000))

    def ours() -> Any:
        (split,) = pictures.pictures
        out = scratch / str(next(made))
        return extract(pictures, split, net, kinds=("pooled",), out=out)["pooled"].values[:]

    ways: dict[str, Callable[[], Any]] = {"simkit": ours}
    ways["torchvision"] = lambda: loop(folder, files, net, Pooled(net))
    timm = measuring.rival("timm")
    if timm is not None and net.name in TIMM:
        theirs = timm.create_model(TIMM[net.name], num_classes=0).eval()
        ways["timm"] = lambda: loop(folder, files, net, theirs)
    session = by_onnx(net, scratch)
    if session is not None:
        ways["onnxruntime"] = lambda: loop(folder, files, net, session)
    return ways


def farthest(folder: Path, net: Backbone, found: Any) -> float:
    """The largest relative difference of ours from the plain network on the same pixels."""
    (pictures,) = data.open(f"folder:{folder},labels=none").pictures.values()
    wanted = fitted(pictures, np.arange(len(pictures)), net.size)
    with torch.no_grad():
        plain = [net.maps_and_pooled(net.prepare(image[None]))[1] for image in wanted]  # type: ignore[index]
    theirs = torch.cat(plain).double().numpy()
    gap = np.linalg.norm(theirs - found.astype(np.float64), axis=1)
    return float((gap / np.linalg.norm(theirs, axis=1)).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="mobilenet_v2")
    parser.add_argument("--weights", default="random")
    parser.add_argument("--size", type=int, default=None, help="side of the images in pixels")
    parser.add_argument("--folder", type=Path, help="JPEG files; drawn ones by default")
    parser.add_argument("--images", type=int, default=200, help="of the drawn ones")
    parser.add_argument("--goes", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="64 photographs, two goes")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    net = backbone(arguments.network, arguments.weights, size=arguments.size)
    with tempfile.TemporaryDirectory() as made:
        scratch = folder = Path(made)
        if arguments.folder is None:
            folder = scratch / "photographs"
            folder.mkdir()
            drawn_files(folder, 64 if arguments.quick else arguments.images)
        folder = arguments.folder or folder
        files = sorted(path.name for path in folder.glob("*.jpg"))
        if not files:
            sys.exit(f"{folder} has no .jpg files")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what exporters say of themselves
            ways = contestants(folder, files, net, scratch)
            seconds: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(2 if arguments.quick else arguments.goes):
                for name, way in ways.items():
                    start, found = used(), way()
                    seconds[name].append(used() - start)
                    if name == "simkit":
                        ours = found
        gap = farthest(folder, net, ours)
    best = {name: min(took) for name, took in seconds.items()}
    ratios = {name: best[name] / best["simkit"] for name in ways if name != "simkit"}
    print(f"{len(files):,} photographs, {net.name} at {net.size} pixels, one thread")
    rows = [[name, f"{best[name]:.1f}", f"{1000 * best[name] / len(files):.1f}",
             f"{best[name] / best['simkit']:.2f}"] for name in ways]  # fmt: skip
    measuring.table(("features by", "s", "ms per image", "times ours"), rows)
    print(f"ours differ from the plain network's by {gap:.1e} of their length at most")
    plain = "the network of torchvision in a plain loop"
    measuring.against({"torchvision": ratios["torchvision"]}, BAR, theirs=plain)
    measuring.finish(
        "features",
        as_json=arguments.json,
        equal=gap <= CLOSE,
        ratios=ratios,
        sizes={"photographs": len(files), "side": net.size},
        network=net.name,
        seconds=best,
    )


if __name__ == "__main__":
    main()
