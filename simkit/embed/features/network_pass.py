"""A frozen network that pictures go through, on whatever device, with the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from simkit.embed.features.feature_folder import Kind
from simkit.embed.networks import Backbone
from simkit.errors import BadInput

_AT_ONCE = 8
_LARGEST = float(np.finfo(np.float16).max)
_KINDS = ("cpu", "cuda")  # of devices whose numbers are known to agree


def device_for(name: str, backbone: Backbone) -> torch.device:
    """The device called `name`; "auto" is where the network is, or a GPU where it is on none.

    Raises BadInput for devices that are not there, and for kinds other than cpu and cuda.
    """
    own = next(backbone.parameters()).device
    if name == "auto":
        return own if own.type == "cuda" else torch.device(_KINDS[torch.cuda.is_available()])
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in _KINDS:
        raise BadInput(f"device is {name!r}; auto, cpu or cuda is expected")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BadInput(
            f"device is {name!r}, and this computer has {torch.cuda.device_count()} GPUs that "
            "PyTorch can use; take cpu"
        )
    return device


class NetworkPass:
    """Features of pictures under a frozen network.

    Everything is computed in full fp32 (TF32 and autocast are off), so that fp16 features are the
    same on every device but for their last bit. Raises BadInput for a network in another precision,
    for devices that are not there, and where features do not fit into fp16.
    """

    def __init__(self, backbone: Backbone, device: str) -> None:
        _check(backbone)
        self.backbone = backbone
        self.device = device_for(device, backbone)

    @contextmanager
    def ready(self) -> Iterator[None]:
        """The network in evaluation mode on the device; afterwards it is as it was."""
        was_training, home = self.backbone.training, next(self.backbone.parameters()).device
        self.backbone.to(self.device, memory_format=torch.channels_last).eval()
        try:
            with _full_precision(self.device), torch.inference_mode():
                yield
        except torch.OutOfMemoryError:
            raise BadInput(
                f"the memory of {self.device} is too small for a batch; give a smaller batch"
            ) from None
        finally:
            self.backbone.to(home, memory_format=torch.contiguous_format).train(was_training)

    def shape(self, kind: Kind) -> tuple[int, ...]:
        """Of one picture's features: (D,) or (D, h, w)."""
        if kind == "pooled":
            return (self.backbone.width,)
        empty = torch.zeros(3, self.backbone.size, self.backbone.size, dtype=torch.uint8)
        with self.ready():
            return tuple(self._maps([empty]).shape[1:])

    def of(
        self, images: Sequence[Tensor], kinds: Sequence[Kind]
    ) -> dict[Kind, NDArray[np.float16]]:
        """images: (3, size, size) uint8 each. By kind (b, D) and (b, D, h, w). Call it in ready."""
        # A CPU is fastest while the maps of all layers stay in memory that it holds already.
        part = _AT_ONCE if self.device.type == "cpu" else len(images)
        starts = range(0, len(images), part)
        maps = torch.cat([self._maps(images[start : start + part]) for start in starts])
        return {kind: self._half(maps.mean((2, 3)) if kind == "pooled" else maps) for kind in kinds}

    def _half(self, values: Tensor) -> NDArray[np.float16]:
        half = values.half().contiguous().cpu()
        if not half.isfinite().all():
            raise BadInput(
                f"backbone {self.backbone.name!r} gives features that are not finite or beyond "
                f"{_LARGEST:.0f}, which fp16 does not hold; give it other weights"
            )
        return half.numpy()

    def _maps(self, images: Sequence[Tensor]) -> Tensor:
        pictures = torch.stack(list(images)).to(self.device)
        prepared = self.backbone.prepare(pictures).contiguous(memory_format=torch.channels_last)
        return self.backbone(prepared).float()


def _check(backbone: Backbone) -> None:
    for name, values in backbone.named_parameters():
        if values.is_meta or values.dtype != torch.float32:
            found = "without values" if values.is_meta else f"in {values.dtype}"
            raise BadInput(
                f"backbone {backbone.name!r} has {name} {found}; bring its weights to float32, as "
                "backbone.float() does, since features are computed in full precision"
            )


@contextmanager
def _full_precision(device: torch.device) -> Iterator[None]:
    """TF32 keeps no more digits than fp16, so that its rounding would show in the features."""
    multiply, convolve = torch.backends.cuda.matmul, torch.backends.cudnn
    before = multiply.allow_tf32, convolve.allow_tf32
    multiply.allow_tf32 = convolve.allow_tf32 = False
    try:
        with torch.autocast(device.type, enabled=False):
            yield
    finally:
        multiply.allow_tf32, convolve.allow_tf32 = before
