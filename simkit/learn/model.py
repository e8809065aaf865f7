"""The model: a linear head on features, or on a backbone that is trained with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from simkit.chance import Chance
from simkit.embed.devices import Batches, Precision, channels_last
from simkit.errors import BadInput
from simkit.learn.distributed import not_compiled, on_device
from simkit.learn.method import Method
from simkit.learn.task import Outputs

BATCH = 256  # features scored at a time
IMAGES = 64  # and images, of which more are no faster on GPUs and need more memory


class Head(nn.Module):
    """A linear layer over pooled features and over maps: weight (..., L, D), bias (..., L).

    Pooling and a linear layer commute: the logits are the means of the class maps, which include
    the bias. So maps are computed only for methods that use them.
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)

    def forward(self, features: Tensor, *, maps: bool = False) -> Outputs:
        """Outputs for pooled features (b, D) or maps (b, D, h, w); with class maps if `maps`."""
        bias = self.bias if self.bias.ndim == 1 else self.bias[:, None]
        pooled = features if features.ndim == 2 else features.mean((-2, -1))
        if not maps:
            return Outputs(pooled @ self.weight.mT + bias, None, pooled)
        b, D, h, w = features.shape
        points = features.flatten(2).mT.reshape(b * h * w, D)
        values = (points @ self.weight.mT + bias).unflatten(-2, (b, h, w)).movedim(-1, -3)
        return Outputs(values.mean((-2, -1)), values, pooled)


class Model(nn.Module):
    """A head on standardised features, or on a backbone that is trained with it.

    shift, scale (D): for the standardisation of cached features; 0 and 1 with a backbone.
    head_ratio: learning rate of the head over that of the backbone.  precision: of the backbone.
    """

    def __init__(
        self,
        head: Head,
        *,
        shift: Tensor | None = None,
        scale: Tensor | None = None,
        backbone: nn.Module | None = None,
        head_ratio: float = 1.0,
        precision: Precision = "fp32",
    ) -> None:
        super().__init__()
        width = head.weight.shape[-1]
        self.head = head
        self.backbone = backbone
        self.head_ratio = head_ratio
        self.precision = precision
        self.register_buffer("shift", torch.zeros(width) if shift is None else shift)
        self.register_buffer("scale", torch.ones(width) if scale is None else scale)

    def forward(self, x: Tensor, *, maps: bool = False) -> Outputs:
        """Outputs for features (b, D), (b, D, h, w), or images (b, 3, H, W) uint8.

        maps: with class maps.
        """
        if self.backbone is None:
            return self.head(standardised(x, self.shift, self.scale), maps=maps)
        with not_compiled(self.backbone):
            return self.head(backbone_maps(self.backbone, x, self.precision), maps=maps)


def standardised(features: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """(b, D) or (b, D, h, w) features with `shift` subtracted, divided by `scale`, both (D)."""
    if features.ndim == 4:
        shift, scale = shift[:, None, None], scale[:, None, None]
    return (features - shift).div_(scale)


def backbone_maps(backbone: Any, images: Tensor, precision: Precision) -> Tensor:
    """(b, D, h, w) float32 maps of images (b, 3, H, W) uint8; heads and losses stay in fp32."""
    prepared = backbone.prepare(images)
    if images.is_cuda:  # as in the backbone
        prepared = channels_last(prepared)
    with torch.autocast(images.device.type, torch.bfloat16, enabled=precision == "bf16"):
        return backbone(prepared).float()


def initial(chance: Chance, classes: int, width: int) -> tuple[Tensor, Tensor]:
    """Weight (L, D) and bias (L): uniform in +-1/sqrt(D), as torch.nn.Linear; zero bias.

    The numbers depend on `chance` alone: all runs of a draw have the same initial head.
    """
    bound = 1 / math.sqrt(width)
    weight = torch.rand(classes, width, generator=chance.torch())
    return (2 * weight - 1) * bound, torch.zeros(classes)


@torch.no_grad()
def scores(
    model: Model,
    method: Method,
    state: nn.Module,
    inputs: Any,
    *,
    rows: NDArray[np.int64] | None = None,
    batch: int | None = None,
    known: csr_array | None = None,
) -> Tensor:
    """(N, L) float32 logits for evaluation, on the device of the model; or as in `allocate`.

    rows: the N images to score; None for all.
    """
    check_inputs(model, inputs)
    maps = method.needs.maps and inputs.kind != "pooled"
    rows = np.arange(len(inputs)) if rows is None else rows
    shape = len(rows), model.head.bias.shape[-1]
    logits = allocate(shape, known, model.head.weight.device)
    for part, out in outputs(model, inputs, rows, batch=batch, maps=maps):
        scatter(logits, part, method.predict(out, state), known)
    return logits


def allocate(shape: tuple[int, ...], known: csr_array | None, device: torch.device) -> Tensor:
    """Memory for the scores (..., N, L), or for those of the m entries that `known` (N, L) stores.

    The latter are (..., m), in the order of these entries.
    """
    return torch.empty(shape if known is None else (*shape[:-2], known.nnz), device=device)


def scatter(logits: Tensor, rows: slice, values: Tensor, known: csr_array | None) -> None:
    """Write the scores (..., b, L) of these images to their place, as `allocate` has it."""
    if known is None:
        logits[..., rows, :] = values.float()
        return
    bounds = known.indptr[rows.start : rows.stop + 1]
    entries = slice(int(bounds[0]), int(bounds[-1]))
    image = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    cells = image * values.shape[-1] + known.indices[entries]
    logits[..., entries] = values.flatten(-2)[..., on_device(cells, values.device)].float()


def outputs(
    model: Model,
    inputs: Any,
    rows: NDArray[np.int64],
    *,
    batch: int | None = None,
    maps: bool = False,
) -> Iterator[tuple[slice, Outputs]]:
    """Outputs of the model for these rows of the inputs, one slice of them after the other.

    batch: inputs at a time, by default BATCH, or IMAGES for a backbone; fewer where the memory of a
    GPU is too small.
    """
    device, usual = model.head.weight.device, BATCH if model.backbone is None else IMAGES

    def of_part(part: slice) -> Outputs:
        # Not around the loop: interleaved generators would leave gradients disabled.
        with torch.no_grad(), evaluating(model):
            return model(inputs.batch(rows[part]).to(device), maps=maps)  # type: ignore[no-any-return]

    yield from Batches(batch or usual, device).over(len(rows), of_part)


def batches(n: int, size: int = BATCH) -> Iterator[slice]:
    """Rows 0 to n, `size` at a time."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode within the block; the previous mode is restored."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def check_inputs(model: Model, inputs: Any, *, maps: bool = False) -> None:
    """Raise BadInput for inputs of another kind or width than the model was trained on.

    maps: and for pooled features, of which class maps cannot be made.
    """
    width, trained = model.head.weight.shape[-1], model.backbone is not None
    message = ""
    if (inputs.kind == "images") != trained:
        wanted = "images (ImageInputs)" if trained else "features (FeatureInputs)"
        message = f"the model was trained on {wanted}, but {inputs.kind} came; bring the same kind"
    elif not trained and inputs.width != width:
        message = (
            f"the model was trained on features of width {width}, but width {inputs.width} came; "
            "use the same backbone"
        )
    elif maps and inputs.kind == "pooled":
        message = (
            "class maps are made from maps of features, and these are pooled; bring maps, as "
            "simkit features --kind maps writes them"
        )
    if message:
        raise BadInput(message)
