"""Whether runs, settings, backbone and validation fit together: asked once, before any work."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from simkit.errors import BadInput
from simkit.learn import catalogue
from simkit.learn.distributed import not_compiled
from simkit.learn.method import Method, spell
from simkit.learn.model import evaluating
from simkit.learn.optim import Settings
from simkit.learn.task import Task, check_aids
from simkit.learn.validation import Validation

Run = tuple[Task, Method]
_WANTED = (
    "a backbone has a whole number `width` (D), a method `prepare` from (b, 3, H, W) uint8 "
    "pictures to what it takes, and gives maps (b, D, h, w) of floats"
)


def check_training(
    runs: Sequence[Run],
    rates: Sequence[float],
    settings: Settings,
    validation: Validation | None,
    backbone: nn.Module | None,
    device: torch.device,
) -> None:
    """Raise BadInput for the first thing that does not fit."""
    if not runs:
        raise BadInput("there is nothing to train; give at least one (task, method)")
    if len(rates) != len(runs) or not all(0 < lr < math.inf for lr in rates):
        raise BadInput(f"lrs are {rates}; a number above 0 is expected for each of the runs")
    _check_shared(runs)
    for task, method in runs:
        _check_method(task, method, backbone is not None)
    _check_backbone(runs, backbone, settings)
    _check_files(runs, device)
    _check_sizes(runs, settings.state_gb)
    if settings.select == "best" and (validation is None or validation.labels is None):
        raise BadInput(
            "select is 'best', but there are no validation labels to choose by; give "
            "validation=Validation(inputs, labels), or select='last'"
        )
    if validation is not None:
        _check_validation(runs[0][0], validation)
    _warn(runs, settings)


def checked_backbone(
    backbone: nn.Module | None, runs: Sequence[Run]
) -> tuple[nn.Module | None, Sequence[Run]]:
    """A copy of the backbone to train, and the runs with the side of the class maps it makes.

    Raises BadInput for what is no module, and for what a backbone lacks: it is shown one image.
    """
    if backbone is None:
        return None, runs
    if not isinstance(backbone, nn.Module):
        raise BadInput(
            f"backbone is {backbone!r}; a torch.nn.Module is expected, such as one of "
            "simkit.embed.backbones.backbone(name, weights)"
        )
    backbone = copy.deepcopy(backbone)
    if len(runs) == 1:
        ((task, method),) = runs
        if getattr(task.inputs, "kind", "") == "images" and len(task.rows):
            side = _map_side(backbone, task.inputs.batch(task.rows[:1]))
            runs = [(replace(task, map_side=side), method)]
    return backbone, runs


def _map_side(backbone: Any, pictures: Tensor) -> int:
    """Height or width, whichever is larger, of its maps of pictures (b, 3, H, W) uint8."""
    kind = type(backbone).__name__
    width = getattr(backbone, "width", None)
    if type(width) is not int or not callable(getattr(backbone, "prepare", None)):
        lacking = "prepare" if type(width) is int else "width"
        raise BadInput(f"{kind} has no `{lacking}`, and {_WANTED}; add what is missing")
    device = next((p.device for p in backbone.parameters()), torch.device("cpu"))
    with torch.no_grad(), evaluating(backbone), not_compiled(backbone):
        maps = backbone(backbone.prepare(pictures.to(device)))
    if not isinstance(maps, Tensor) or maps.ndim != 4 or not maps.is_floating_point():
        gave = f"{tuple(maps.shape)}" if isinstance(maps, Tensor) else f"a {type(maps).__name__}"
        raise BadInput(
            f"{kind} gave {gave} for pictures {tuple(pictures.shape)}, and {_WANTED}; leave out "
            "its pooling and its last layer"
        )
    if maps.shape[1] != width:
        raise BadInput(
            f"{kind} says width {width} and gave maps of {maps.shape[1]} channels; set its width "
            "to what it gives"
        )
    return max(maps.shape[2:])


def _check_shared(runs: Sequence[Run]) -> None:
    """Raise BadInput unless all runs share inputs, classes and asked images, at least one."""
    first = runs[0][0]
    if first.inputs is None:
        raise BadInput(
            "the task has no inputs to train on; give Task(labels, FeatureInputs(...)) or "
            "Task(labels, ImageInputs(...))"
        )
    if not len(first.rows):
        raise BadInput("no image was asked about, so there is nothing to learn from; simulate more")
    for task, _ in runs[1:]:
        shared = {
            "inputs": getattr(task.inputs, "id", None) == first.inputs.id,
            "classes": task.labels.classes == first.labels.classes,
            "asked images": np.array_equal(task.labels.asked, first.labels.asked),
        }
        for what, same in shared.items():
            if not same:
                raise BadInput(
                    f"the runs of a stack have different {what}; train them in separate stacks"
                )


def _check_method(task: Task, method: Method, fine_tuned: bool) -> None:
    needs = method.needs
    kind = task.inputs.kind
    if (kind == "images") != fine_tuned:
        raise BadInput(
            "pictures (ImageInputs) are trained with a backbone and features without one; give "
            "backbone=... for pictures, or FeatureInputs"
        )
    if needs.features and fine_tuned:
        raise BadInput(
            f"method {_wanting(method, 'features')!r} reads features that are ready, and a "
            "backbone that learns changes them; train it on cached features (FeatureInputs)"
        )
    if needs.maps and kind == "pooled":
        raise BadInput(
            f"method {method.name!r} looks at class maps, but the features are pooled; compute "
            'features of kind "maps"'
        )
    if needs.views and getattr(task.inputs, "vertical", False):
        raise BadInput(
            f"{spell(method)} compares views of a picture and is not told which were mirrored top "
            "to bottom; train it on ImageInputs(..., vertical=False)"
        )
    check_aids(method.name, needs.aids, task.aids)


def _warn(runs: Sequence[Run], settings: Settings) -> None:
    """Of what the methods note about these settings, and of views that never differ."""
    going_on = settings.head_then == "go-on"
    how: Any = {"epochs": settings.epochs + going_on * settings.head_epochs}
    how |= {"optimiser": settings.optimiser}
    warned = [note for _, method in runs for note in method.notes(**how)]
    if getattr(runs[0][0].inputs, "crop", None) is None:
        wanting = [name for _, method in runs if (name := _wanting(method, "views"))]
        warned += [
            f"method {name!r} compares crops of a picture, and these inputs show every "
            "picture whole, so each is compared with itself; train it on "
            "ImageInputs(..., crop=(0.25, 1)) with a backbone"
            for name in wanting[:1]
        ]
    for note in dict.fromkeys(warned):
        warnings.warn(note, stacklevel=5)


def _wanting(method: Method, what: str) -> str:
    """The name of the innermost that needs it, "" where none does."""
    names = [each.name for each in _nested(method) if getattr(each.needs, what)]
    return names[-1] if names else ""


def _check_backbone(runs: Sequence[Run], backbone: nn.Module | None, settings: Settings) -> None:
    if backbone is not None and len(runs) > 1:
        raise BadInput(
            f"{len(runs)} runs cannot share a backbone that learns; train them one at a time"
        )
    if backbone is not None:
        return
    if settings.head_epochs:
        raise BadInput(
            f"head_epochs is {settings.head_epochs}, and there is nothing but heads to train; give "
            "backbone=... and pictures (ImageInputs), or set head_epochs to 0"
        )
    if settings.precision != "fp32":
        raise BadInput(
            f"precision is {settings.precision!r}, which is for backbones, and heads on features "
            "are always trained in fp32; give backbone=..., or set precision to 'fp32'"
        )


def _check_files(runs: Sequence[Run], device: torch.device) -> None:
    for _, method in runs:
        if device.type != "cpu" and any(getattr(part, "mapped", False) for part in _nested(method)):
            raise BadInput(
                f"{spell(method)} keeps its state in a file, where a GPU cannot reach it; train "
                "with device='cpu', or with mapped=False"
            )


def _check_sizes(runs: Sequence[Run], limit_gb: float) -> None:
    sizes = [catalogue.training_bytes(method, task.sizes) for task, method in runs]
    if sum(sizes) <= limit_gb * 1e9:
        return
    method = runs[int(np.argmax(sizes))][1]
    largest, total = catalogue.in_units(max(sizes)), catalogue.in_units(sum(sizes))
    what, fewer = f"the state of {catalogue.short(method)} takes {largest} in training", ""
    if len(runs) > 1:
        what = (
            f"the states of all {len(runs)} runs take {total} in training "
            f"({catalogue.short(method)} alone {largest})"
        )
        fewer = "train fewer runs at once, or "
    mapped = any(each.name == "scl" for each in _nested(method))
    raise BadInput(
        f"{what} and the limit is {catalogue.in_units(round(limit_gb * 1e9))}; {fewer}raise "
        "state_gb" + (", or keep the heat maps in a file with scl(mapped=True)" if mapped else "")
    )


def _nested(method: Method) -> list[Method]:
    """A method and, for what wraps others, those inside."""
    inner = getattr(method, "inner", None)
    return [method] if inner is None else [method, *_nested(inner)]


def _check_validation(task: Task, validation: Validation) -> None:
    if validation.labels is None:
        return
    if len(validation.inputs) != validation.labels.shape[0]:
        raise BadInput(
            f"validation has {len(validation.inputs)} inputs and labels of "
            f"{validation.labels.shape[0]} images; give one row for each"
        )
    if validation.labels.classes != task.labels.classes:
        raise BadInput(
            "the validation labels have other classes than the task; use the same data set"
        )
    if validation.inputs.kind != task.inputs.kind:
        raise BadInput(
            f"validation inputs are {validation.inputs.kind} and those of the task "
            f"{task.inputs.kind}; bring the same kind"
        )
