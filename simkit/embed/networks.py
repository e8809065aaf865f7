"""Backbones: networks from images to feature maps, without their weights.

Networks of timm are called `timm:NAME`; timm is imported at first use, as it is an extra.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils.fusion import fuse_conv_bn_weights

from simkit.errors import BadInput, unknown
from simkit.history import content_id

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
SCENES_WEIGHTS = Path(__file__).with_name("scenes-net.safetensors")
TIMM = "pretrained"  # weights: timm's
_ROUNDING = 1e-3  # of the largest value of maps
_PREFIX, _HUB = "timm:", "hf-hub:"


class Backbone(nn.Module):
    """Images in, feature maps out; a linear layer on them gives class maps.

    A new one is a subclass with forward, name and width, constructed without arguments and
    registered by `simkit.embed.backbones.BACKBONES.register`.

    Attributes
    ----------
    name
        Its name in lists, options and grids.
    width
        D, the channels of the maps.
    size
        Side in pixels of the square input.
    mean, std
        Of the RGB values (0..1) of its training images.
    classifier
        Prefix of the keys of published weights to drop.
    own_weights
        Built-in .safetensors file; None if users bring the weights.
    weights
        Source of the weights, for the history.
    license
        Of the published weights, if their source states it.
    pooled_width
        Number of pooled features if it is not D.
    """

    name: str
    width: int
    size: int = 224
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD
    classifier: tuple[str, ...] = ()
    own_weights: Path | None = None
    weights: str = "own"
    license: str = ""
    pooled_width: int | None = None

    @classmethod
    def built(cls, size: int | None = None, *, right_padding: bool = False) -> Backbone:
        """The network without its weights, for images of this size.

        right_padding: as required by weights from TensorFlow, in networks that support it.
        """
        net = cls()
        net.size = size or cls.size
        return net

    def prepare(self, pictures: Tensor) -> Tensor:
        """Normalise (b, 3, size, size) uint8 RGB to floats of the same shape."""
        # (3, 1, 1), created on the device: a transfer would make a GPU wait.
        shift, scale = (
            torch.stack([torch.full((1, 1), value, device=pictures.device) for value in values])
            * 255
            for values in (self.mean, self.std)
        )
        return (pictures.float() - shift) / scale

    def maps_and_pooled(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Maps (b, D, h, w) of prepared images, and pooled features, by default their means."""
        maps = self(images).float()
        return maps, maps.mean((2, 3))

    def adapted(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Published weights converted to the key names and the size of `body`."""
        return state

    @property
    def body(self) -> nn.Module:
        """The module with the key names of published weights."""
        return self

    @property
    def id(self) -> str:
        """Content id of the name and all weights, and of mean and std unless they are the usual."""
        parts: list[Any] = [self.name]
        if (self.mean, self.std) != (type(self).mean, type(self).std):
            parts.append(f"{self.mean} {self.std}")
        for key, value in sorted(self.state_dict().items()):
            parts += [key, value.detach().cpu().numpy()]
        return content_id(*parts)


class ScenesNet(Backbone):
    """A small residual network for the images of `scenes`: (b, 3, 64, 64) to (b, 128, 8, 8).

    It was trained by scripts/scenes_backbone.py; `norm=True` is the form with batch norm during
    training, which is folded into the convolutions afterwards.
    """

    name = "scenes-net"
    width = 128
    size = 64
    mean = (0.5, 0.5, 0.5)
    std = (0.25, 0.25, 0.25)
    own_weights = SCENES_WEIGHTS

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
        """Prepared images (b, 3, 64, 64) to (b, 128, 8, 8), at least 0."""
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

    right_padding: convolutions of stride 2 pad on the right and at the bottom only, as in
    TensorFlow, which weights trained in TensorFlow need (otherwise ImageNet top-1 drops). Source:
    Sandler et al., CVPR 2018.
    """

    name = "mobilenet_v2"
    width = 1280
    classifier = ("classifier.",)

    def __init__(self, right_padding: bool = False) -> None:
        super().__init__()
        from torchvision.models import mobilenet_v2

        self.features = mobilenet_v2(weights=None).features
        self.right_padding = right_padding
        for layer in self.features.modules():
            if right_padding and isinstance(layer, nn.Conv2d) and layer.stride == (2, 2):
                layer.__class__ = _RightPadded
                layer.padding = (0, 0)

    @classmethod
    def built(cls, size: int | None = None, *, right_padding: bool = False) -> Backbone:
        net = cls(right_padding)
        net.size = size or cls.size
        return net

    def forward(self, images: Tensor) -> Tensor:
        """Prepared images (b, 3, H, W) to (b, 1280, H/32, W/32), at least 0."""
        return self.features(images)

    @property
    def id(self) -> str:
        return content_id(super().id, "right" if self.right_padding else "both")


class _RightPadded(nn.Conv2d):
    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(F.pad(input, (0, 1, 0, 1)), self.weight, self.bias)


class ResNet(Backbone):
    """A residual network of torchvision without its classifier: (b, D, size/32, size/32).

    D is 512 for resnet18 and resnet34, else 2048. Sources: He et al., CVPR 2016; Xie et al.,
    CVPR 2017 (ResNeXt).
    """

    classifier = ("fc.",)
    name = "resnet50"

    def __init__(self) -> None:
        super().__init__()
        from torchvision.models import get_model

        whole = get_model(self.name, weights=None)
        self.width = whole.fc.in_features
        for name, part in [*whole.named_children()][:-2]:  # without pooling and classifier
            self.add_module(name, part)

    def forward(self, images: Tensor) -> Tensor:
        """Prepared images (b, 3, H, W) to (b, D, H/32, W/32), at least 0."""
        x = images
        for part in self.children():
            x = part(x)
        return x


_RESNETS = ("resnet18", "resnet34", "resnet50", "resnet101", "resnext101_32x8d")
SHIPPED = (ScenesNet, MobileNetV2, *(
    type(name, (ResNet,), {"name": name, "__doc__": ResNet.__doc__}) for name in _RESNETS
))  # fmt: skip


class TimmNetwork(Backbone):
    """A network of timm, with the input size and the colours of its pretrained weights.

    Maps are the last ones of a convolutional network, or the patch tokens of a transformer, after
    the norm in front of the classifier. Pooled features are timm's own: a class token, an attention
    pool, or a mean with further layers, so they may differ from the means of the maps. Source:
    Wightman, PyTorch Image Models, 2019.
    """

    def __init__(self, net: Any, size: int | None) -> None:
        from timm.data import resolve_model_data_config

        super().__init__()
        self.net = net.eval()
        config, published = resolve_model_data_config(net), net.pretrained_cfg
        self.size = size or config["input_size"][-1]
        self.mean, self.std = tuple(config["mean"]), tuple(config["std"])
        self.license = published.get("license") or ""
        ends = published.get("classifier") or ()
        self.classifier = tuple(f"{end}." for end in ([ends] if isinstance(ends, str) else ends))
        if not self.name.startswith(_PREFIX + _HUB) and published.get("tag"):
            self.name = f"{_PREFIX}{published['architecture']}.{published['tag']}"
        # The widths are those of an empty image, on the meta device: nothing is computed.
        tensors = [*self.named_parameters(), *self.named_buffers()]
        blank = {key: torch.empty_like(value, device="meta") for key, value in tensors}
        body = {key.removeprefix("net."): value for key, value in blank.items()}
        image = torch.empty(1, 3, self.size, self.size, device="meta")
        try:
            with torch.no_grad():  # without a classifier, timm's output is what it pools
                self.width = functional_call(self, blank, image).shape[1]
                self.pooled_width = functional_call(self.net, body, image).shape[1]
        except Exception as error:  # each network raises its own type
            raise BadInput(
                f"backbone {self.name!r} gives no feature maps of {self.size} x {self.size} pixels "
                f"({str(error) or type(error).__name__}); choose another size or network"
            ) from None

    @classmethod
    def built(cls, size: int | None = None, *, right_padding: bool = False) -> Backbone:
        return cls(created(cls.name, size), size)

    @property
    def body(self) -> nn.Module:
        return self.net

    def forward(self, images: Tensor) -> Tensor:
        """Prepared images (b, 3, size, size) to maps (b, D, h, w)."""
        return self._last(images)[0]

    def maps_and_pooled(self, images: Tensor) -> tuple[Tensor, Tensor]:
        maps, last = self._last(images)
        return maps, self.net.forward_head(last, pre_logits=True)

    def adapted(self, state: dict[str, Tensor]) -> dict[str, Tensor]:
        """Weights with timm's key names, and position embeddings of the right size."""
        convert = getattr(sys.modules[type(self.net).__module__], "checkpoint_filter_fn", None)
        try:
            return convert(state, self.net) if convert else state
        except Exception:  # weights of another network; the loader reports their keys
            return state

    def _last(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Maps (b, D, h, w), and the last features in timm's layout."""
        last, (maps,) = self.net.forward_intermediates(
            images, indices=1, norm=True, output_fmt="NCHW"
        )
        if last.ndim == 4 and last.shape[1] == self.net.num_features:  # after the last convolution
            maps = last
        head = getattr(self.net, "head", None)
        norm = getattr(self.net, "fc_norm", None) or getattr(head, "norm", None)
        if isinstance(norm, nn.LayerNorm) and norm.normalized_shape == maps.shape[1:2]:
            parts: Any = (norm.normalized_shape, norm.weight, norm.bias, norm.eps)
            maps = F.layer_norm(maps.movedim(1, -1), *parts).movedim(-1, 1)
        return maps, last


def folded(net: Backbone) -> Backbone:
    """A copy in evaluation mode, with batch norms folded into the convolutions before them.

    This changes roundings alone, and takes 11 % less time for MobileNetV2
    (benchmarks/results/features.md). A network whose maps it would change in another way, such as
    one that also uses a convolution's output without the norm, is copied as it is.
    """
    fused, pairs = copy.deepcopy(net).eval(), dict[str, nn.Conv2d]()

    def note(layer: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if isinstance(layer, nn.Conv2d):
            output.made_by = layer
        elif made_by := getattr(inputs[0], "made_by", None):
            pairs[names[layer]] = made_by

    convolutions = [layer for layer in fused.modules() if isinstance(layer, nn.Conv2d)]
    norms = {name: each for name, each in fused.named_modules() if isinstance(each, nn.BatchNorm2d)}
    names = {layer: name for name, layer in norms.items()}
    if not norms:
        return fused
    chance = torch.Generator().manual_seed(0)
    noise = torch.randint(0, 256, (1, 3, net.size, net.size), generator=chance, dtype=torch.uint8)
    image = net.prepare(noise.to(next(net.parameters()).device))
    with torch.no_grad():
        hooks = [layer.register_forward_hook(note) for layer in (*convolutions, *names)]
        maps = fused(image)
        for hook in hooks:
            hook.remove()
        for name, conv in pairs.items():
            norm = norms[name]
            conv.weight, conv.bias = fuse_conv_bn_weights(
                conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight,
                norm.bias,
            )  # fmt: skip
            fused.set_submodule(name, nn.Sequential(*norm.children()))  # timm's: activations
        error = (fused(image) - maps).abs().max()
    return fused if error <= _ROUNDING * maps.abs().max() else copy.deepcopy(net).eval()


def timm_class(name: str) -> type[TimmNetwork] | None:
    """The class of the network called `timm:NAME` or `hf-hub:OWNER/NAME`; None for other names.

    Raises BadInput if timm is not installed, and for names that it does not know.
    """
    if not name.startswith((_PREFIX, _HUB)):
        return None
    called = name.removeprefix(_PREFIX)
    try:
        import timm
    except ImportError:
        raise BadInput(
            f"backbone {name!r} is a network of timm, which is not installed; pip install timm"
        ) from None
    known = {*timm.list_models(), *timm.list_pretrained()}
    if not called.startswith(_HUB) and called not in known:
        alike = {each for each in known if called in each}
        raise unknown("network of timm", called, alike or known)
    return type("TimmNetwork", (TimmNetwork,), {"name": _PREFIX + called})


def created(name: str, size: int | None = None, *, pretrained: bool = False) -> Any:
    """timm's network without a classifier, if `pretrained` with the weights that timm caches.

    Raises BadInput if it cannot be made or downloaded.
    """
    import timm

    sized = {} if size is None else {"img_size": size}
    # Transformers with position embeddings for one size can interpolate them, or are built for it.
    for options in ({"dynamic_img_size": True}, sized, {}):
        try:
            called = name.removeprefix(_PREFIX)
            return timm.create_model(called, pretrained, num_classes=0, **options)
        except Exception as error:  # of the network, of the connection, or of the hub
            if options and isinstance(error, TypeError):  # not an option of this network
                continue
            mend = "fetch its weights elsewhere and give the file as weights"
            raise BadInput(
                f"backbone {name!r} cannot be {'downloaded' if pretrained else 'built'} "
                f"({str(error) or type(error).__name__}); "
                + (mend if pretrained or _HUB in name else "choose another size or network")
            ) from None
