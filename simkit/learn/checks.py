"""Checks before training: whether runs, settings, backbone and validation fit together."""

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
from simkit.learn import method_info as catalogue
from simkit.learn.distributed import not_compiled
from simkit.learn.method import Method, spell
from simkit.learn.model import evaluating
from simkit.learn.optim import Settings
from simkit.learn.task import Task, check_aids
from simkit.learn.validation import Validation
from simkit.registry import short

Run = tuple[Task, Method]
_SCORE_BYTES = 4  # of a score, float32


def check_training(
    runs: Sequence[Run],
    rates: Sequence[float],
    settings: Settings,
    validation: Validation | None,
    backbone: nn.Module | None,
    device: torch.device,
) -> None:
    """Raise BadInput for the first mismatch."""
    if len(rates) != len(runs) or not all(0 < lr < math.inf for lr in rates):
        raise BadInput(f"lrs are {rates}; a rate above 0 for each of {len(runs)} runs is expected")
    _check_shared(runs)
    for task, method in runs:
        _check_method(task, method, backbone is not None, device)
    _check_backbone(len(runs), backbone, settings)
    _check_sizes(runs, settings.state_gb)
    _check_validation(runs[0][0], settings, validation)
    _warn(runs, settings)


def checked_backbone(
    backbone: nn.Module | None, runs: Sequence[Run]
) -> tuple[nn.Module | None, Sequence[Run]]:
    """A copy of the backbone to train, and the runs with the side of its class maps.

    Raises BadInput for other objects than modules, and for missing parts of a backbone, which is
    tried on one image.
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


def _map_side(backbone: Any, images: Tensor) -> int:
    """Height or width, whichever is larger, of its maps of images (b, 3, H, W) uint8."""
    width, prepare = getattr(backbone, "width", None), getattr(backbone, "prepare", None)
    maps: Any = None
    if callable(prepare):
        device = next((p.device for p in backbone.parameters()), torch.device("cpu"))
        with torch.no_grad(), evaluating(backbone), not_compiled(backbone):
            maps = backbone(prepare(images.to(device)))
    shape = tuple(getattr(maps, "shape", ()))
    if len(shape) != 4 or shape[1] != width or not maps.is_floating_point():
        raise BadInput(
            f"{type(backbone).__name__} has width {width} and {'a' if prepare else 'no'} prepare, "
            f"and gave a {type(maps).__name__} of shape {shape}; a backbone has a number `width` "
            "(D), a method `prepare` from (b, 3, H, W) uint8 images to its input, and gives maps "
            "(b, D, h, w) of floats; leave out its pooling and its last layer"
        )
    return max(shape[2:])


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
        if not (
            getattr(task.inputs, "id", None) == first.inputs.id
            and task.labels.classes == first.labels.classes
            and np.array_equal(task.labels.asked, first.labels.asked)
        ):
            raise BadInput(
                "the runs of a stack have different inputs, classes or asked images; train them in "
                "separate stacks"
            )


def _check_method(task: Task, method: Method, fine_tuned: bool, device: torch.device) -> None:
    needs = method.needs
    kind = task.inputs.kind
    if (kind == "images") != fine_tuned:
        raise BadInput(
            "images (ImageInputs) are trained with a backbone and features without one; give "
            "backbone=... for images, or FeatureInputs"
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
            f"{spell(method)} compares views of an image and does not know which were mirrored top "
            "to bottom; train it on ImageInputs(..., vertical=False)"
        )
    if device.type != "cpu" and any(getattr(part, "mapped", False) for part in _nested(method)):
        raise BadInput(
            f"{spell(method)} keeps its state in a file, where a GPU cannot reach it; train with "
            "device='cpu', or with mapped=False"
        )
    check_aids(method.name, needs.aids, task.aids)


def _warn(runs: Sequence[Run], settings: Settings) -> None:
    """Notes of the methods about these settings, and about views that never differ."""
    going_on = settings.head_then == "go-on"
    how: Any = {"epochs": settings.epochs + going_on * settings.head_epochs}
    how |= {"optimiser": settings.optimiser}
    warned = [note for _, method in runs for note in method.notes(**how)]
    wanting = [name for _, method in runs if (name := _wanting(method, "views"))]
    if wanting and getattr(runs[0][0].inputs, "crop", None) is None:
        warned.append(
            f"method {wanting[0]!r} compares crops of an image, and these inputs show every image "
            "whole, so each is compared with itself; train it on ImageInputs(..., crop=(0.25, 1)) "
            "with a backbone"
        )
    for note in dict.fromkeys(warned):
        warnings.warn(note, stacklevel=5)


def _wanting(method: Method, what: str) -> str:
    """The name of the innermost method with this need, "" if none has it."""
    names = [each.name for each in _nested(method) if getattr(each.needs, what)]
    return names[-1] if names else ""


def _check_backbone(runs: int, backbone: nn.Module | None, settings: Settings) -> None:
    if backbone is not None and runs > 1:
        raise BadInput(f"{runs} runs cannot share a backbone that learns; train them one at a time")
    if backbone is None and (settings.head_epochs or settings.precision != "fp32"):
        raise BadInput(
            f"head_epochs is {settings.head_epochs} and precision {settings.precision!r}, which "
            "are for backbones; give backbone=... and images (ImageInputs), or set them to 0 and "
            "'fp32'"
        )


def _check_sizes(runs: Sequence[Run], limit_gb: float) -> None:
    sizes = [catalogue.training_bytes(method, task.sizes) for task, method in runs]
    if any(method.needs.epoch_scores for _, method in runs):  # all runs are then scored together
        sizes = [size + _SCORE_BYTES * math.prod(runs[0][0].labels.shape) for size in sizes]
    if sum(sizes) <= limit_gb * 1e9:
        return
    method = runs[int(np.argmax(sizes))][1]
    largest, total = catalogue.in_units(max(sizes)), catalogue.in_units(sum(sizes))
    mapped = any(each.name == "scl" for each in _nested(method))
    together, mend = "", "a method without a state for each image"
    if len(runs) > 1:
        together, mend = f" and all {len(runs)} runs {total}", "fewer runs at once"
    raise BadInput(
        f"the state of {short(method)} takes {largest} in training{together}, and the "
        f"limit is {catalogue.in_units(round(limit_gb * 1e9))}; train {mend}, or raise state_gb"
        + (", or keep the heat maps in a file with scl(mapped=True)" if mapped else "")
    )


def _nested(method: Method) -> list[Method]:
    """A method and those that it wraps."""
    inner = getattr(method, "inner", None)
    return [method] if inner is None else [method, *_nested(inner)]


def _check_validation(task: Task, settings: Settings, validation: Validation | None) -> None:
    if validation is None or validation.labels is None:
        if settings.select == "best":
            raise BadInput(
                "select is 'best', but there are no validation labels to choose by; give "
                "validation=Validation(inputs, labels), or select='last'"
            )
        return
    inputs, labels = validation.inputs, validation.labels
    same = inputs.kind == task.inputs.kind and labels.classes == task.labels.classes
    if not same or len(inputs) != labels.shape[0]:
        raise BadInput(
            f"validation has {len(inputs)} inputs ({inputs.kind}) and labels of "
            f"{labels.shape[0]} images and {labels.shape[1]} classes, and the task is of "
            f"{task.inputs.kind} and {task.labels.shape[1]} classes; give one row for each image, "
            "and inputs and classes as those of the task"
        )
