"""Weights of networks: from a file, from torchvision's collection, or drawn at random."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from simkit.embed.networks.base import Backbone
from simkit.errors import BadInput, unknown


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors by name, and the notes in the file's head. Nothing in the file is executed.

    What other programs put around them is taken off: a dictionary with an entry `state_dict` or
    `model`, and "module." before every name. Raises BadInput for files that hold no weights, and
    for sparse, quantised or complex ones.
    """
    notes: dict[str, str] = {}
    try:
        if path.suffix.lower() == ".safetensors":
            with safe_open(path, "pt") as file:
                found: object = {key: file.get_tensor(key) for key in file.keys()}
                notes = file.metadata() or {}
        else:
            found = torch.load(path, map_location="cpu", weights_only=True)
    except _BROKEN:
        found = None
    for outer in ("state_dict", "model"):
        if isinstance(found, dict) and isinstance(found.get(outer), dict):
            found = found[outer]
    values = found if isinstance(found, dict) else {}
    state = {str(key): value for key, value in values.items() if isinstance(value, Tensor)}
    if not state:
        raise BadInput(
            f"{path} cannot be read as weights; a .safetensors file, or a .pth file that holds "
            "nothing but tensors by name, is expected"
        )
    for key, value in state.items():
        if not _plain(value):
            raise BadInput(
                f"{path} holds {key} as a sparse, quantised, complex or empty tensor; save the "
                "weights as ordinary tensors of numbers"
            )
    if all(key.startswith("module.") for key in state):
        state = {key.removeprefix("module."): value for key, value in state.items()}
    return state, notes


_BROKEN = (
    SafetensorError, UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, TypeError,
    AttributeError, IndexError, AssertionError, OverflowError, MemoryError, OSError, ImportError,
    struct.error,
)  # fmt: skip


def _plain(value: Tensor) -> bool:
    strange = value.is_quantized or value.is_meta or value.is_nested or value.is_complex()
    return value.layout == torch.strided and not strange


def published(name: str, which: str) -> tuple[dict[str, Tensor], str]:
    """torchvision's own weights of network `name`: "imagenet" for its best, or IMAGENET1K_V1 ...

    Also the name of these, which "imagenet" leaves open. They are downloaded once and kept where
    torch keeps such files. Raises BadInput where there are none of that name, and where the
    download fails.
    """
    from torchvision.models import get_model_weights

    known = {each.name: each for each in get_model_weights(name)}
    best = get_model_weights(name).DEFAULT  # type: ignore[attr-defined]
    if which != "imagenet" and which not in known:
        raise unknown(f"set of weights of {name!r}", which, ("imagenet", *known))
    chosen = best if which == "imagenet" else known[which]
    try:
        return dict(chosen.get_state_dict(progress=False, check_hash=True)), chosen.name
    except (OSError, RuntimeError) as error:
        raise BadInput(
            f"{chosen.url} could not be downloaded ({str(error) or type(error).__name__}); fetch "
            "it elsewhere and give the file as weights"
        ) from None


def fill(net: Backbone, state: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a network; `where` says in errors where they come from.

    The classifier of published weights is left out. Raises BadInput that names keys which are
    missing, unknown, or of another shape, and a key whose values are not finite.
    """
    own = net.state_dict()
    given = {
        key: value
        for key, value in net.adapted(dict(state)).items()
        if not key.startswith(net.classifier or ("\0",))
    }
    # The counter of batches does nothing in evaluation, and older files lack it.
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
            f"{where} does not fit backbone {net.name!r}: it {told}; give its own weights"
        )
    for key in sorted(wanted):
        if not given[key].float().isfinite().all():
            raise BadInput(
                f"{where} holds values in {key} that are not finite; give a file that is whole"
            )
    net.load_state_dict({**own, **given})


def _some(keys: set[str]) -> str:
    first = sorted(keys)[:3]
    more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return ", ".join(first) + more
