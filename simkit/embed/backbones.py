"""Networks that turn pictures into feature maps."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.history import content_id

SCENES_WEIGHTS = Path(__file__).with_name("scenes-net.safetensors")


class Backbone(nn.Module):
    """Pictures in, feature maps out.

    name; width: D, the channels of the maps; size: side in pixels of the square it wants;
    mean, std: of the RGB values (0..1) it was trained on.
    """

    name: str
    width: int
    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def prepare(self, pictures: Tensor) -> Tensor:
        """(b, 3, size, size) uint8 RGB to normalised floats of the same shape."""
        scale = torch.tensor(self.std, device=pictures.device).view(3, 1, 1) * 255
        shift = torch.tensor(self.mean, device=pictures.device).view(3, 1, 1) * 255
        return (pictures.float() - shift) / scale

    @property
    def id(self) -> str:
        """Content id of the name and all weights."""
        parts: list[Any] = [self.name]
        for key, value in sorted(self.state_dict().items()):
            parts += [key, value.detach().cpu().numpy()]
        return content_id(*parts)


Padding = Literal["auto", "both", "right"]


class ScenesNet(Backbone):
    """A small residual network for the pictures of `scenes`: (b, 3, 64, 64) to (b, 128, 8, 8).

    It was trained by scripts/scenes_backbone.py; `norm=True` is the form with batch norm that the
    script trains, whose norms are then folded into the convolutions.
    """

    name = "scenes-net"
    width = 128
    size = 64
    mean = (0.5, 0.5, 0.5)
    std = (0.25, 0.25, 0.25)

    def __init__(self, norm: bool = False) -> None:
        super().__init__()

        def conv(inside: int, outside: int, stride: int = 1) -> nn.Sequential:
            layer = nn.Conv2d(inside, outside, 3, stride, 1)
            return nn.Sequential(layer, nn.BatchNorm2d(outside)) if norm else nn.Sequential(layer)

        self.stem = conv(3, 16, 2)
        self.wide = conv(16, 32)
        self.middle = conv(32, 64, 2)
        self.middle_more = nn.ModuleList([conv(64, 64), conv(64, 64)])
        self.deep = conv(64, self.width, 2)
        self.deep_more = nn.ModuleList([conv(self.width, self.width) for _ in range(3)])

    def forward(self, images: Tensor) -> Tensor:
        """(b, 3, 64, 64) as `prepare` gives them to (b, 128, 8, 8), at least 0."""
        x = F.relu(self.wide(F.relu(self.stem(images))))
        x = F.relu(self.middle(x))
        for layer in self.middle_more:
            x = F.relu(x + layer(x))
        x = F.relu(self.deep(x))
        for layer in self.deep_more:
            x = F.relu(x + layer(x))
        return x


class MobileNetV2(Backbone):
    """MobileNetV2 as torchvision builds it, without its classifier: (b, 1280, size/32, size/32).

    right_padding: convolutions of stride 2 pad on the right and at the bottom only, as TensorFlow
    does; weights that were trained there need it (ImageNet top-1 suffers otherwise).
    Source: Sandler et al., CVPR 2018.
    """

    name = "mobilenet_v2"
    width = 1280
    size = 224
    mean = (0.485, 0.456, 0.406)
    std = (0.229, 0.224, 0.225)

    def __init__(self, right_padding: bool = False) -> None:
        super().__init__()
        from torchvision.models import mobilenet_v2

        self.features = mobilenet_v2(weights=None).features
        self.right_padding = right_padding
        for layer in self.features.modules():
            if right_padding and isinstance(layer, nn.Conv2d) and layer.stride == (2, 2):
                layer.__class__ = _RightPadded
                layer.padding = (0, 0)

    def forward(self, images: Tensor) -> Tensor:
        """(b, 3, H, W) as `prepare` gives them to (b, 1280, H/32, W/32), at least 0."""
        return self.features(images)

    @property
    def id(self) -> str:
        return content_id(super().id, "right" if self.right_padding else "both")


class _RightPadded(nn.Conv2d):
    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(F.pad(input, (0, 1, 0, 1)), self.weight, self.bias)


BACKBONES = ("scenes-net", "mobilenet_v2")


def backbone(
    name: str, weights: str | PathLike[str] | None = None, *, padding: Padding = "auto"
) -> Backbone:
    """The network `name` (one of BACKBONES) with its weights, in evaluation mode.

    weights: a .safetensors or .pth file with torchvision's key names, in fp32 or fp16; scenes-net
    brings its own. padding, for mobilenet_v2: "both" sides as in PyTorch, "right" and bottom only
    as in TensorFlow, "auto" follows the note `stride2_padding` in a .safetensors file.
    Raises BadInput for an unknown name and for weights that are missing or do not fit.
    """
    if name not in BACKBONES:
        raise unknown("backbone", name, BACKBONES)
    if weights is None and name != ScenesNet.name:
        raise BadInput(
            f"backbone {name!r} has no built-in weights; give a weights file, .safetensors or .pth "
            "file with torchvision's key names"
        )
    path = readable(SCENES_WEIGHTS if weights is None else weights, "the weights of a network")
    state, notes = read_weights(path)
    net: Backbone
    if name == ScenesNet.name:
        net = ScenesNet()
    else:
        noted = notes.get("stride2_padding", "").startswith("right")
        net = MobileNetV2(noted if padding == "auto" else padding == "right")
    _fill(net, state, path)
    return net.eval()


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors by name, and the notes in the file's head. Nothing in the file is executed."""
    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                return {key: file.get_tensor(key) for key in file.keys()}, file.metadata() or {}
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, UnpicklingError, RuntimeError, EOFError, ValueError, KeyError):
        raise BadInput(
            f"{path} cannot be read as weights; a .safetensors file, or a .pth file that holds "
            "nothing but tensors by name, is expected"
        ) from None
    state = state.get("state_dict", state) if isinstance(state, dict) else {}
    return {str(key): value for key, value in state.items() if isinstance(value, Tensor)}, {}


def _fill(net: Backbone, state: Mapping[str, Tensor], path: Path) -> None:
    own = net.state_dict()
    # A backbone has no classifier; the counter of batches does nothing in evaluation.
    given = {key: value for key, value in state.items() if not key.startswith("classifier.")}
    wanted = {key for key in own if not key.endswith("num_batches_tracked")}
    faults = {
        "lacks": wanted - given.keys(),
        "has unknown": given.keys() - own.keys(),
        "has another shape for": {
            k for k in wanted & given.keys() if given[k].shape != own[k].shape
        },
    }
    if any(faults.values()):
        told = "; ".join(f"{what} {_some(keys)}" for what, keys in faults.items() if keys)
        raise BadInput(
            f"{path} does not fit backbone {net.name!r}: it {told}; give its own weights"
        )
    net.load_state_dict({**own, **given})


def _some(keys: set[str]) -> str:
    first = sorted(keys)[:3]
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return ", ".join(first) + more
