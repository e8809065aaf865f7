"""Models as files: safetensors and JSON, nothing pickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from simkit.embed.backbones import BACKBONES
from simkit.embed.backbones import backbone as load_backbone
from simkit.embed.networks.base import Backbone
from simkit.errors import BadInput
from simkit.files import readable, whole
from simkit.history import History
from simkit.learn.heads.heads import Head, Model
from simkit.learn.method import Around, Method, make, spell
from simkit.learn.trained import Trained

_FORM = "simkit model 1"
_BY_NAME = {"its own": None, "imagenet": "imagenet", "random": "random"}  # weights of a backbone
_CURVES = ("validation", "validation_plain", "head_losses", "head_validation")


def save(trained: Trained, folder: str | PathLike[str]) -> None:
    """Write model.safetensors, then model.json that vouches for it, into a folder."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise BadInput(f"{target} is a file; give a folder for the model")
    tensors = {f"model.{k}": v for k, v in trained.model.state_dict().items()}
    tensors |= {f"state.{k}": v for k, v in trained.state.state_dict().items()}
    write(target / "model.safetensors", tensors, {})
    facts = {
        "form": _FORM,
        "id": trained.id,
        "method": spell(trained.method),
        "backbone": trained.model.backbone is not None,
        "classes": list(trained.classes),
        "epoch": trained.epoch,
        "losses": list(trained.losses),
        **{name: _plain(getattr(trained, name)) for name in _CURVES},
        "history": json.loads(trained.history.to_json()),
        "tensors": _digest(target / "model.safetensors"),
    }
    with whole(target / "model.json") as part:
        part.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(folder: str | PathLike[str], *, backbone: nn.Module | None = None) -> Trained:
    """Read a model back. Raises BadInput for damaged files, and for a backbone that is missing."""
    facts = _facts(Path(folder))
    tensors, _ = read(Path(folder) / "model.safetensors", "the weights of a model")
    if facts["tensors"] != _digest(Path(folder) / "model.safetensors"):
        raise BadInput(
            f"{folder} holds weights of another model than its model.json describes; save it again"
        )
    if facts["backbone"] and backbone is None:
        backbone = backbone_of(facts["history"]["settings"])
    head = Head(tensors["model.head.weight"], tensors["model.head.bias"])
    model = Model(head, backbone=backbone if facts["backbone"] else None)
    method = make(facts["method"])
    state = _as_state(below(tensors, "state."), method)
    try:
        model.load_state_dict(below(tensors, "model."))
    except RuntimeError as error:
        raise BadInput(f"the backbone does not fit the model in {folder} ({error})") from None
    curves = {
        name: tuple(float("nan") if v is None else v for v in facts.get(name, ()))
        for name in _CURVES
    }
    history = History.from_json(json.dumps(facts["history"]))
    return Trained(
        model,
        method,
        state,
        tuple(facts["classes"]),
        facts["epoch"],
        tuple(facts["losses"]),
        history=history,
        **curves,
    )


def backbone_of(settings: Mapping[str, Any]) -> Backbone:
    """The backbone that the settings of a model name.

    Raises BadInput for one of one's own and where its weights came from a file: their name alone
    does not find them again, and a file may say how a network pads its images.
    """
    name, weights = settings.get("backbone"), str(settings.get("weights"))
    if name not in BACKBONES or not (weights in _BY_NAME or weights.startswith("IMAGENET")):
        raise BadInput(
            f"the model was trained with backbone {name!r} and weights {weights!r}, which are not "
            "found by name; give backbone=simkit.backbone(name, weights)"
        )
    return load_backbone(name, _BY_NAME.get(weights, weights))


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """What a model is and how it was made, for people and programs."""
    facts = _facts(Path(folder))
    history = facts["history"]
    return {
        "id": facts["id"],
        "method": facts["method"],
        "classes": len(facts["classes"]),
        "epoch": facts["epoch"],
        "loss": facts["losses"][-1] if facts["losses"] else None,
        "seed": history["seed"],
        "settings": history["settings"],
        "parents": list(history["parents"]),
        "versions": history["versions"],
    }


def _plain(curve: tuple[float, ...]) -> list[float | None]:
    return [None if v != v else v for v in curve]


def _as_state(tensors: dict[str, Tensor], method: Method) -> nn.Module:
    """A state of this method with these tensors as buffers, nested as their names are."""
    state = module = nn.Module()
    while isinstance(method, Around):  # what stands inside may have no tensors of its own
        module.inner = nn.Module()
        module, method = module.inner, method.inner
    for name, tensor in tensors.items():
        *path, last = name.split(".")
        module = state
        for step in path:
            if step not in module._modules:
                module.add_module(step, nn.Module())
            module = module.get_submodule(step)
        module.register_buffer(last, tensor)
    return state


def below(tensors: dict[str, Tensor], head: str) -> dict[str, Tensor]:
    return {k.removeprefix(head): v for k, v in tensors.items() if k.startswith(head)}


def write(path: Path, tensors: dict[str, Tensor], texts: dict[str, str]) -> None:
    with whole(path) as part:
        save_file({name: _alone(tensor) for name, tensor in tensors.items()}, part, texts)


def _alone(tensor: Tensor) -> Tensor:
    """The tensor in a memory of its own: safetensors writes no two views of one memory.

    Copied only where it must be, for some states are large.
    """
    tensor = tensor.detach()
    whole_memory = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole_memory and tensor.is_contiguous() else tensor.clone().contiguous()


def read(path: Path, what: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(readable(path, what), framework="pt") as file:
            names = list(file.keys())
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise BadInput(f"{path} cannot be read ({error}); {what} is expected") from None


def _facts(folder: Path) -> dict[str, Any]:
    path = readable(folder / "model.json", "the description of a model")
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if facts["form"] != _FORM:
            raise KeyError("form")
    except (ValueError, KeyError, TypeError):
        raise BadInput(
            f"{path} does not describe a simkit model; train and save it again"
        ) from None
    return facts


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
