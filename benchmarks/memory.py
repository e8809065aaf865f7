"""How much memory of a GPU each path of simkit takes, counted without a GPU.

    python benchmarks/memory.py                     # all tables, five minutes
    python benchmarks/memory.py --quick --json      # one network; the last line is JSON

simkit's own code runs on torch's meta device, whose tensors have shapes but neither values nor
memory, and a dispatch mode adds up the sizes of the storages that live at the same time. Trainings
are `simkit.train`, ended by a watcher after the second step, by when the optimiser has its moments.
Features are `NetworkPass.of`, ended where it copies values to the CPU, which meta tensors cannot;
scores are `simkit.learn.model.outputs`; stacks are `train_stack`; images and maps are `OnGpu`. In
bf16 the factors of convolutions are cast by a function mode, since autocast does not know the meta
device. Channels come first here, which takes the same memory. The memory of faiss for neighbours
is computed, not counted: its index, what it reserves, and the results of a batch.

The counter is checked by the same code on tensors with values, on the CPU with a small batch and,
for bf16, with torch's own autocast: the counts must agree to a thousandth.

Not counted are the CUDA context, the work space of cuDNN and the fragments of the allocator.
CONTEXT and SHARE allow for them: a count fits if it is at most SHARE of the card without CONTEXT.
Nothing of this was measured on a GPU.
"""

from __future__ import annotations

import measuring  # isort: skip; before numpy, which it gives one thread

import argparse
import copy
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from simkit.embed.backbones import backbone
from simkit.embed.features import NetworkPass
from simkit.embed.neighbours import BATCH
from simkit.learn import inputs as loading
from simkit.learn.inputs import FeatureInputs, ImageInputs, SizedPictures
from simkit.learn.methods import Sizes, Task, make
from simkit.learn.model import IMAGES, Head, Model, outputs
from simkit.learn.train import Settings, train, train_stack
from simkit.study.worker import run_bytes

META, CPU = torch.device("meta"), torch.device("cpu")
GIB = 2**30
CARDS = (8, 12, 24, 80)  # GiB
CONTEXT, SHARE = 0.5 * GIB, 0.9
NETWORKS = ("mobilenet_v2", "resnet50", "resnet101")
SIDES = (224, 448)
CLASSES = 80
LARGEST = 2048  # images in a batch
FEW = 4  # of a check
ROWS = 5_000  # of a stack
FAISS = 1.5 * GIB  # that faiss reserves on a card above 8 GiB, for temporary values
ALIKE = 1e-3  # share by which counts may differ


class Ended(Exception):
    """The part of a training that is counted is over."""


class Count(TorchDispatchMode):
    """Bytes of the storages of a device that live at the same time, and the most of them.

    A storage counts from the first operator that returns it until it is released.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device, self.bytes, self.most = device, 0, 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, torch.Tensor) and value.device.type == self.device.type:
                self.note(value)
        return found

    def leave_out(self, *modules: torch.nn.Module) -> None:
        """Do not count the tensors of these modules."""
        for module in modules:
            values = (*module.parameters(), *module.buffers())
            self._known |= {value.untyped_storage()._cdata for value in values}

    def note(self, value: torch.Tensor) -> None:
        """Count the storage of a tensor, once."""
        storage = value.untyped_storage()
        if (key := storage._cdata) in self._known:
            return
        self._known.add(key)
        self.bytes += (size := storage.nbytes())
        self.most = max(self.most, self.bytes)
        weakref.finalize(storage, self._released, key, size)

    def _released(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.bytes -= size


class CastFactors(TorchFunctionMode):
    """Convolutions of a backbone in bf16, as autocast has them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.conv2d:
            args = [x.bfloat16() if isinstance(x, torch.Tensor) else x for x in args]
        return func(*args, **(kwargs or {}))


@contextmanager
def on_meta(device: torch.device) -> Iterator[None]:
    """Let the meta device pass for one with autocast and with fused steps of optimisers."""
    if device != META:
        yield
        return

    def autocast(kind: str, dtype: Any = None, enabled: bool = True) -> Any:
        return CastFactors() if enabled else nullcontext()

    fused = "torch.optim.optimizer._get_fused_kernels_supported_devices"
    with patch("torch.autocast", autocast), patch(fused, lambda: ["meta"]):
        yield


def counted(
    device: torch.device, work: Callable[[], Any], held: Any = None, *, outside: Any = None
) -> int:
    """The most bytes that `work` holds at a time.

    held: a network that it uses, which counts.  outside: one on the CPU that it copies.
    """
    count = Count(device)
    if outside is not None:
        count.leave_out(outside)
    for value in [] if held is None else (*held.parameters(), *held.buffers()):
        count.note(value)
    with on_meta(device), count, suppress(Ended):
        work()
    return count.most


def pictures(n: int, side: int) -> ImageInputs:
    """Black images, which take no memory."""
    black = np.broadcast_to(np.zeros((1, 3, side, side), np.uint8), (n, 3, side, side))
    return ImageInputs(SizedPictures([black], f"black {n} {side}"), crop=(0.25, 1))


def codes(n: int, classes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1, 2, (n, classes)).astype(np.int8)


class AfterTwo:
    """A watcher that ends a training after two steps."""

    def __init__(self) -> None:
        self.left = 2

    def __call__(self, *_: Any) -> None:
        self.left -= 1
        if not self.left:
            raise Ended


def training(net: Any, batch: int, settings: Settings, device: torch.device = META) -> int:
    """A whole backbone by AN."""
    task = Task(codes(2 * batch, CLASSES), pictures(2 * batch, net.size))
    settings = replace(settings, batch_size=batch)
    how: dict[str, Any] = {"backbone": net, "device": device, "watch": [AfterTwo()]}
    return counted(device, lambda: train(task, make("an"), settings=settings, **how), outside=net)


def features(net: Any, batch: int, device: torch.device = META) -> int:
    """Pooled features and maps of a batch, by a network that is on the device."""
    images = [torch.zeros(3, net.size, net.size, dtype=torch.uint8)] * batch

    def work() -> None:
        run: Any = NetworkPass(net, device, batch)  # type: ignore[arg-type]
        run._batches.size = batch  # on a CPU too
        with run.ready(), suppress(NotImplementedError):  # copies values of the meta device
            run._of_some(images, ("pooled", "maps"))

    return counted(device, work, net)


def scoring(net: Any, device: torch.device = META, *, batch: int = IMAGES) -> int:
    """Scores of a batch, by a model of a backbone that is on the device."""
    head = Head(torch.zeros(CLASSES, net.width), torch.zeros(CLASSES)).to(device)
    model, inputs = Model(head, backbone=net).to(device), pictures(batch, net.size)

    def work() -> None:
        for _ in outputs(model, inputs, np.arange(batch), batch=batch):
            pass

    return counted(device, work, model)


def stack(runs: int, classes: int, width: int, device: torch.device = META) -> int:
    """Heads by AN, each on labels of its own."""
    rows = FeatureInputs(np.zeros((ROWS, width), np.float16), "zeros")
    made = [(Task(codes(ROWS, classes, seed), rows), make("an")) for seed in range(runs)]
    how: dict[str, Any] = {"settings": Settings(), "device": device, "watch": {0: [AfterTwo()]}}
    return counted(device, lambda: train_stack(made, **how))


def kept(read: Callable[[Any], torch.Tensor], n: int) -> int:
    """What `OnGpu` holds from the second epoch on, and while it is filled."""
    with patch.object(loading, "room_for", lambda *_: True):
        return counted(META, loading.OnGpu(read, n, META)._held)


def checked(net: Any) -> dict[str, Callable[[torch.device], int]]:
    """What is counted on both devices, for a network."""
    cases: dict[str, Callable[[torch.device], int]] = {}
    for precision in ("fp32", "bf16"):
        for ema in (None, 0.9):
            settings = Settings(precision=precision, ema=ema)  # type: ignore[arg-type]
            what = f"training, {precision}{', average' if ema else ''}"
            cases[what] = lambda device, how=settings: training(net, FEW, how, device)
    cases["features"] = lambda device: features(copy.deepcopy(net).to(device), FEW, device)
    cases["scores"] = lambda device: scoring(copy.deepcopy(net).to(device), device, batch=FEW)
    return cases


def checks() -> tuple[list[list[str]], bool]:
    """The same code on tensors with values, and whether both counts agree.

    A training reads images in a thread of its own, which the counter does not see on the CPU: one
    batch of them is added there. What may still differ is the moment at which single vectors of
    batch normalisation are released.
    """
    lines, equal = [], True
    for name in ("mobilenet_v2", "resnet18"):
        net = backbone(name, "random", size=64)
        for case, work in checked(net).items():
            with patch("simkit.embed.devices._multiplies_bf16", lambda: True):
                meta, real = work(META), work(CPU)
            real += FEW * 3 * net.size**2 if case.startswith("training") else 0
            equal &= abs(meta - real) <= ALIKE * real
            lines.append([f"{name}, {case}", f"{meta:,}", f"{real:,}", f"{meta / real - 1:+.4%}"])
    return lines, equal


def fitting(at: Callable[[int], float], card: int) -> int:
    """The largest power of two of images in a batch; 0 if none fits."""
    powers = [2**k for k in range(LARGEST.bit_length())]
    return max((b for b in powers if at(b) <= SHARE * (card * GIB - CONTEXT)), default=0)


def trainings(networks: Sequence[str]) -> list[list[str]]:
    """Memory at the default batch, and the largest batches; between two counts it is linear."""
    low, usual, lines = 32, Settings().batch_size, []
    for name in networks:
        for side in SIDES:
            net = backbone(name, "random", size=side)
            for precision in ("fp32", "bf16"):
                settings = Settings(precision=precision)  # type: ignore[arg-type]
                counts = [training(net, b, settings) for b in (low, usual)]
                each = (counts[1] - counts[0]) / (usual - low)

                def at(b: int, each: float = each, first: int = counts[0]) -> float:
                    return first + (b - low) * each

                largest = [f"{fitting(at, card):,}" for card in CARDS]
                lines.append([f"{name}, {side}, {precision}", gib(counts[1]), *largest])
    return lines


def passes(networks: Sequence[str]) -> list[list[str]]:
    """Features and scores: the least card on which their batches fit."""
    lines = []
    for name in networks:
        for side in SIDES:
            net = backbone(name, "random", size=side).to(META)
            for what, found in (
                ("features, 32 images", features(net, 32)),
                ("features, 256 images", features(net, 256)),
                (f"scores, {IMAGES} images", scoring(net)),
            ):
                lines.append([f"{name}, {side}: {what}", gib(found), smallest(found)])
    return lines


def others() -> list[list[str]]:
    """Images, maps and stacks that stay on the GPU, and the search for neighbours."""
    lines = []
    for n, side in ((5_000, 224), (5_000, 448), (50_000, 224)):
        found = kept(pictures(n, side).batch, n)
        lines.append([f"{n:,} images of {side}", gib(found), smallest(found)])
    maps = np.broadcast_to(np.zeros((1, 2048, 14, 14), np.float16), (5_000, 2048, 14, 14))
    found = kept(lambda rows: torch.from_numpy(maps[rows]), 5_000)
    lines.append(["5,000 maps of 2,048 x 14 x 14, fp16", gib(found), smallest(found)])
    for n, width in ((65_000, 2_048), (1_000_000, 512), (1_000_000, 2_048)):
        found = 4 * n * width + FAISS + 4 * BATCH + 12 * (BATCH // width) * 42
        lines.append([f"neighbours among {n:,} x {width:,}", gib(found), smallest(found)])
    return lines


def stacks() -> list[list[str]]:
    """Runs of AN that fit by the estimate of comparisons, and that estimate against the count."""
    lines = []
    for classes in (20, 80, 1000):
        for width in (512, 2048):
            sizes = Sizes(ROWS, classes)
            one = run_bytes(make("an"), sizes, width=width, rows=ROWS, scored=0)
            more = (stack(12, classes, width) - stack(4, classes, width)) / 8
            scored = run_bytes(make("an"), sizes, width=width, rows=ROWS, scored=ROWS)
            runs = [f"{int(SHARE * (card * GIB - CONTEXT) / scored):,}" for card in CARDS]
            share = f"{one / more:.2f}"
            lines.append([f"{classes} x {width}", f"{scored / 1e6:.1f}", share, *runs])
    return lines


def gib(count: float) -> str:
    return f"{count / GIB:.2f}"


def smallest(count: float) -> str:
    """The smallest card, in GiB, on which so many bytes fit."""
    fits = (card for card in CARDS if count <= SHARE * (card * GIB - CONTEXT))
    return str(next(fits, "none"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one network, without the other paths")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    networks, cards = NETWORKS[: 1 if given.quick else None], [f"{card} GiB" for card in CARDS]
    compared, equal = checks()
    measuring.table(("check", "meta", "real", "apart"), compared)
    print()
    measuring.table(
        (f"training, GiB at {Settings().batch_size}", "GiB", *cards), trainings(networks)
    )
    print()
    rows = passes(networks) + ([] if given.quick else others())
    measuring.table(("path", "GiB", "smallest card"), rows)
    if not given.quick:
        print()
        measuring.table(("stack", "MB a run", "of the count", *cards), stacks())
    sizes = {"training": [Settings().batch_size, 3, *SIDES]}
    measuring.finish("memory", as_json=given.json, equal=equal, ratios={}, sizes=sizes)


if __name__ == "__main__":
    main()
