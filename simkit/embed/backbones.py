"""Backbones by name, with their weights."""

from __future__ import annotations

from os import PathLike
from typing import Literal

import torch

from simkit.embed.networks.base import Backbone
from simkit.embed.networks.convnext import ConvNeXtTiny
from simkit.embed.networks.mobilenet import MobileNetV2
from simkit.embed.networks.resnet import RESNETS, ResNet
from simkit.embed.networks.scenes_net import SCENES_WEIGHTS, ScenesNet
from simkit.embed.networks.vision_transformer import ViTB16
from simkit.embed.random_weights import balance
from simkit.embed.weights import fill, published, read_weights
from simkit.errors import BadInput, unknown
from simkit.files import readable

Padding = Literal["auto", "both", "right"]
BACKBONES = (ScenesNet.name, MobileNetV2.name, *RESNETS, ConvNeXtTiny.name, ViTB16.name)
_SEED = 0
_LARGEST = 4096  # pixels of a side; one picture then takes gigabytes inside a network


def backbone(
    name: str,
    weights: str | PathLike[str] | None = None,
    *,
    padding: Padding = "auto",
    size: int | None = None,
) -> Backbone:
    """The network `name` (one of BACKBONES) with its weights, in evaluation mode.

    weights: a .safetensors or .pth file with torchvision's key names, in fp32 or fp16; "imagenet"
    for torchvision's best ones, or the name of a set of them (IMAGENET1K_V1), which are downloaded;
    "random", the same at every call, with batch norms as `balance` sets them. scenes-net brings its
    own.
    padding, for mobilenet_v2: "both" sides as in PyTorch, "right" and bottom only as in TensorFlow,
    "auto" follows the note `stride2_padding` in a .safetensors file.
    size: side in pixels of the pictures it shall get, where not its usual one.
    Raises BadInput for an unknown name and for weights that are missing or do not fit.
    """
    if name not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    if size is not None and not 32 <= size <= _LARGEST:
        raise BadInput(f"backbone {name!r}: size is {size}; 32 to {_LARGEST:,} pixels are expected")
    if weights is None and name != ScenesNet.name:
        raise BadInput(
            f"backbone {name!r} has no built-in weights; give a weights file, .safetensors or .pth "
            "file with torchvision's key names, or `imagenet` to download torchvision's"
        )
    if weights == "random":
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_SEED)
            net = built(name, size, right=padding == "right").eval()
        balance(net)
        net.weights = "random"
        return net
    notes: dict[str, str] = {}
    if name != ScenesNet.name and (weights == "imagenet" or str(weights).startswith("IMAGENET")):
        state, told = published(name, str(weights))
        where = f"torchvision's {told}"
    else:
        path = readable(SCENES_WEIGHTS if weights is None else weights, "the weights of a network")
        (state, notes), where = read_weights(path), str(path)
        told = "its own" if weights is None else path.name
    noted = notes.get("stride2_padding", "").startswith("right")
    net = built(name, size, right=noted if padding == "auto" else padding == "right")
    fill(net, state, where)
    net.weights = told
    return net.eval()


def built(name: str, size: int | None, *, right: bool) -> Backbone:
    """The network without its weights; right: pads on the right, where it is mobilenet_v2."""
    net: Backbone
    if name == ViTB16.name:
        net = ViTB16(size or ViTB16.size)
    elif name == MobileNetV2.name:
        net = MobileNetV2(right)
    elif name in RESNETS:
        net = ResNet(name)
    else:
        net = ScenesNet() if name == ScenesNet.name else ConvNeXtTiny()
    net.size = size or net.size
    return net
