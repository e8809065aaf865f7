"""Backbones by name, with weights from a file, from torchvision's collection, or at random."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor, nn

from simkit.embed.networks import SHIPPED, TIMM, Backbone, TimmNetwork, created, timm_class
from simkit.errors import BadInput, unknown
from simkit.files import readable
from simkit.registry import Registry

Padding = Literal["auto", "both", "right"]
BACKBONES: Registry[Backbone] = Registry("backbone", "simkit.embed.backbones")
for _each in SHIPPED:
    BACKBONES.register(_each)
BEST = "imagenet"  # weights: torchvision's best
_SEED = 0
_PATIENCE = 20.0  # seconds to wait for a server that does not answer
_LARGEST = 4096  # pixels of a side; one image then takes gigabytes inside a network
_PICTURES, _SIDE = 8, 96  # generated images, for the batch norms of random weights
_GRIDS = (2, 6, 24, 96)  # squares along a side, from large patches to single pixels


def backbone(
    name: str,
    weights: str | PathLike[str] | None = None,
    *,
    padding: Padding = "auto",
    size: int | None = None,
) -> Backbone:
    """The network `name` with its weights, in evaluation mode.

    Parameters
    ----------
    name
        A backbone of simkit or of a plug-in (`simkit list backbones`), or a network of timm:
        `timm:NAME`, `timm:hf-hub:OWNER/NAME`.
    weights
        A .safetensors or .pth file with torchvision's or timm's key names, in fp32 or fp16;
        "imagenet" for torchvision's best weights, or the name of a set of them (IMAGENET1K_V1), or
        "pretrained" for timm's, which are downloaded; "random", the same at every call, with
        batch-norm statistics from `balance`. scenes-net has built-in weights.
    padding
        For mobilenet_v2: "both" sides as in PyTorch, "right" and bottom only as in TensorFlow;
        "auto" follows the note `stride2_padding` in a .safetensors file.
    size
        Side in pixels of the input images; by default the usual size of the network.

    Returns
    -------
    Backbone

    Raises
    ------
    BadInput
        For an unknown name and for missing or unsuitable weights.
    """
    kind = timm_class(name) or BACKBONES[name]
    name = kind.name
    if size is not None and not 32 <= size <= _LARGEST:
        raise BadInput(f"backbone {name!r}: size is {size}; 32 to {_LARGEST:,} pixels are expected")
    if weights is None and kind.own_weights is None:
        library, word = ("timm", TIMM) if issubclass(kind, TimmNetwork) else ("torchvision", BEST)
        raise BadInput(
            f"backbone {name!r} has no built-in weights; give a weights file, .safetensors or .pth "
            f"file with {library}'s key names, or `{word}` to download {library}'s"
        )
    if weights == "random":
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_SEED)
            net = kind.built(size, right_padding=padding == "right").eval()
        balance(net)
        net.weights = "random"
        return net
    text, noted = str(weights), ""
    if issubclass(kind, TimmNetwork) and text == TIMM:
        state = created(name, pretrained=True).state_dict()
        source, where = TIMM, "timm's download"
    elif (text == BEST or text.startswith("IMAGENET")) and (sets := collection(name)):
        if text not in sets:
            raise unknown(f"set of weights of {name!r}", text, sets)
        source, where = sets[text].name, f"torchvision's {sets[text].name}"
        try:  # torch caches the file
            with _patient():
                state = dict(sets[text].get_state_dict(progress=False, check_hash=True))
        except (OSError, RuntimeError) as error:
            raise BadInput(
                f"{sets[text].url} could not be downloaded ({str(error) or type(error).__name__}); "
                f"fetch it elsewhere and give the file: --backbone {name} --weights FILE (in a "
                'project.toml or a grid: weights = "FILE")'
            ) from None
    else:
        path = readable(weights or kind.own_weights, "the weights of a network")  # type: ignore[arg-type]
        state, notes = read_weights(path)
        noted = notes.get("stride2_padding", "")
        source, where = "its own" if weights is None else path.name, str(path)
    right = padding == "right" or (padding == "auto" and noted.startswith("right"))
    net = kind.built(size, right_padding=right)
    fill(net, state, where)
    net.weights = source
    return net.eval()


@contextmanager
def _patient() -> Iterator[None]:
    """Within the block a connection without an answer fails, where torch would wait for ever."""
    usual = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(usual)


def outlines() -> list[dict[str, Any]]:
    """A row for each backbone: name, description, features (D), px (input size), parameters,
    weights.

    No weights are loaded: the networks lie on torch's meta device.
    """
    rows = []
    for kind in sorted(BACKBONES, key=lambda kind: kind.own_weights is None):
        with torch.device("meta"):
            net = kind.built()
        about = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
        weights = ["FILE", "random"] if kind.own_weights is None else ["its own", "FILE", "random"]
        weights[1:1] = collection(kind.name)
        count = sum(parameter.numel() for parameter in net.parameters())
        row = {"name": kind.name, "features": net.width, "px": net.size, "parameters": count}
        rows.append(row | {"weights": weights, "about": " ".join(about.split())})
    return rows


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors by name, and the metadata of the file. Nothing in the file is executed.

    Wrappers of other programs are removed: a dictionary with an entry `state_dict` or `model`, and
    the prefix "module." of every name. Raises BadInput for files that hold no weights.
    """
    notes: dict[str, str] = {}
    content: object = None
    try:
        if path.suffix.lower() == ".safetensors":
            with safe_open(path, "pt") as file:
                content = {key: file.get_tensor(key) for key in file.keys()}
                notes = file.metadata() or {}
        else:
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # readers raise a dozen kinds of exceptions for damaged files
        pass
    for outer in ("state_dict", "model"):
        if isinstance(content, dict) and isinstance(content.get(outer), dict):
            content = content[outer]
    values = content if isinstance(content, dict) else {}
    state = {str(key): value for key, value in values.items() if isinstance(value, Tensor)}
    if not state:
        raise BadInput(
            f"{path} cannot be read as weights; a .safetensors file, or a .pth file that holds "
            "tensors by name, is expected"
        )
    if all(key.startswith("module.") for key in state):
        state = {key.removeprefix("module."): value for key, value in state.items()}
    return state, notes


def collection(name: str) -> dict[str, Any]:
    """torchvision's sets of weights of a network by name, "imagenet" for the best; {} for none."""
    from torchvision.models import get_model_weights, list_models

    if name not in list_models():
        return {}
    sets: Any = get_model_weights(name)
    return {BEST: sets.DEFAULT} | {each.name: each for each in sets}


def fill(net: Backbone, state: Mapping[str, Tensor], where: str) -> None:
    """Load weights into a network; `where` names their source in error messages.

    The classifier of published weights is dropped. Raises BadInput with the missing and unknown
    keys, and those of another shape.
    """
    initial = net.body.state_dict()
    weights = {
        key: value
        for key, value in net.adapted(dict(state)).items()
        if not key.startswith(net.classifier or ("\0",))
    }
    # The counter of batches is unused in evaluation, and older files lack it.
    wanted = {key for key in initial if not key.endswith("num_batches_tracked")}
    both = wanted & weights.keys()
    faults = {
        "lacks": wanted - weights.keys(),
        "has unknown": weights.keys() - initial.keys(),
        "has another shape for": {k for k in both if weights[k].shape != initial[k].shape},
    }
    differences = []
    for what, keys in faults.items():
        more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
        differences += [f"{what} {', '.join(sorted(keys)[:3])}{more}"] if keys else []
    if differences:
        raise BadInput(
            f"{where} does not fit backbone {net.name!r}: it {'; '.join(differences)}; give its "
            "own weights"
        )
    net.body.load_state_dict({**initial, **weights})


def balance(net: Backbone) -> None:
    """Set the statistics of every batch norm from eight generated images, as training would.

    Without them each layer scales its input by a constant, and in a deep network these constants
    multiply: features under random weights vanish or exceed the range of fp16. Networks with other
    normalisations stay unchanged. Statistics are computed in float64 and rounded to eight bits, so
    that the weights do not depend on threads and processors. Source: Ioffe and Szegedy, ICML 2015,
    algorithm 1.
    """
    norms = [layer for layer in net.modules() if isinstance(layer, nn.BatchNorm2d)]
    if not norms:
        return

    def normalise(layer: nn.BatchNorm2d, inputs: tuple[Tensor]) -> None:
        variance, mean = torch.var_mean(inputs[0], (0, 2, 3), correction=0)
        for statistic, value in ((layer.running_mean, mean), (layer.running_var, variance)):
            assert statistic is not None
            statistic.copy_(value.bfloat16())

    hooks = [layer.register_forward_pre_hook(normalise) for layer in norms]
    # (8, 3, 96, 96) uint8: coloured patches of four sizes, one size or all in an image.
    chance = torch.Generator().manual_seed(_SEED)
    layers = torch.empty(len(_GRIDS), _PICTURES, 3, _SIDE, _SIDE, dtype=torch.int64)
    for layer, squares in zip(layers, _GRIDS, strict=True):
        drawn = torch.randint(0, 256, (_PICTURES, 3, squares, squares), generator=chance)
        each = _SIDE // squares
        layer[:] = drawn.repeat_interleave(each, 2).repeat_interleave(each, 3)
    pictures = layers.sum(0) // len(_GRIDS)
    pictures[: len(_GRIDS)] = layers[range(len(_GRIDS)), range(len(_GRIDS))]
    pictures = pictures.to(torch.uint8)
    if isinstance(net, TimmNetwork):  # some take images of their own size alone
        pictures = F.interpolate(pictures, (net.size, net.size))
    try:
        with torch.no_grad():
            net.double().eval().maps_and_pooled(net.prepare(pictures).double())
    finally:
        for hook in hooks:
            hook.remove()
        net.float()
