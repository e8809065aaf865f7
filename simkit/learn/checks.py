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
from torch import nn

from simkit.errors import BadInput
from simkit.learn.distributed import not_compiled
from simkit.learn.method import Method, in_units, layers, spell, training_bytes
from simkit.learn.model import evaluating
from simkit.learn.settings import Settings
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
    device: torch.device,
    *,
    fine_tuned: bool,
) -> None:
    """Raise BadInput for the first mismatch, and warn of settings that do not suit a method."""
    if len(rates) != len(runs) or not all(0 < lr < math.inf for lr in rates):
        raise BadInput(f"lrs are {rates}; a rate above 0 for each of {len(runs)} runs is expected")
    first = runs[0][0]
    if first.inputs is None:
        raise BadInput(
            "the task has no inputs to train on; give Task(labels, FeatureInputs(...)) or "
            "Task(labels, ImageInputs(...))"
        )
    if not len(first.rows):
        raise BadInput("no image was asked about, so there is nothing to learn from; simulate more")
    if not all(
        getattr(task.inputs, "id", None) == first.inputs.id
        and task.labels.classes == first.labels.classes
        and np.array_equal(task.labels.asked, first.labels.asked)
        for task, _ in runs[1:]
    ):
        raise BadInput(
            "the runs of a stack have different inputs, classes or asked images; train them in "
            "separate stacks"
        )
    for task, method in runs:
        _check_needs(task, method, device, fine_tuned=fine_tuned)
    if fine_tuned and len(runs) > 1:
        raise BadInput(
            f"{len(runs)} runs cannot share a backbone that learns; train them one at a time"
        )
    if not fine_tuned and (settings.head_epochs or settings.precision != "fp32"):
        raise BadInput(
            f"head_epochs is {settings.head_epochs} and precision {settings.precision!r}, which "
            "are for training a backbone; add --fine-tune (in Python, backbone=... and "
            "ImageInputs), or set them to 0 and fp32"
        )
    _check_memory(runs, settings.state_gb)
    _check_validation(first, settings, validation)
    notes = [note for _, method in runs for note in notes_of(method, settings)]
    comparing = [name for _, method in runs if (name := _wanting(method, "views"))]
    if comparing and getattr(first.inputs, "crop", None) is None:
        notes.append(
            f"method {comparing[0]!r} compares crops of an image, and these inputs show every "
            "whole image, so each is compared with itself; add --fine-tune (in Python, a backbone "
            "and ImageInputs(..., crop=(0.25, 1)))"
        )
    for note in dict.fromkeys(notes):
        warnings.warn(note, stacklevel=4)


def notes_of(method: Method, settings: Settings) -> tuple[str, ...]:
    """Warnings, in sentences, for a training of this method."""
    epochs = settings.epochs + settings.head_epochs * (settings.head_then == "go-on")
    return method.notes(epochs=epochs, optimiser=settings.optimiser)


def checked_backbone(
    backbone: nn.Module | None, runs: Sequence[Run]
) -> tuple[nn.Module | None, Sequence[Run]]:
    """A copy of the backbone to train, and the runs with the side of its class maps.

    Raises BadInput for other objects than modules, and for missing parts of a backbone, which is
    tried on one image: a backbone of a user fails here, not after the features are read.
    """
    if backbone is None:
        return None, runs
    if not isinstance(backbone, nn.Module):
        raise BadInput(
            f"backbone is {backbone!r}; a torch.nn.Module is expected, such as one of "
            "simkit.embed.backbones.backbone(name, weights)"
        )
    network: Any = copy.deepcopy(backbone)
    (task, method), *others = runs
    if others or getattr(task.inputs, "kind", "") != "images" or not len(task.rows):
        return network, runs  # `check_training` refuses them
    width, prepare = getattr(network, "width", None), getattr(network, "prepare", None)
    maps: Any = None
    if callable(prepare):
        device = next((p.device for p in network.parameters()), torch.device("cpu"))
        image = task.inputs.batch(task.rows[:1]).to(device)
        with torch.no_grad(), evaluating(network), not_compiled(network):
            maps = network(prepare(image))
    shape = tuple(getattr(maps, "shape", ()))
    if len(shape) != 4 or shape[1] != width or not maps.is_floating_point():
        raise BadInput(
            f"{type(network).__name__} has width {width} and {'a' if prepare else 'no'} prepare, "
            f"and gave a {type(maps).__name__} of shape {shape}; a backbone has a number `width` "
            "(D), a method `prepare` from (b, 3, H, W) uint8 images to its input, and gives maps "
            "(b, D, h, w) of floats; leave out its pooling and its last layer"
        )
    return network, [(replace(task, map_side=max(shape[2:])), method)]


def _check_needs(task: Task, method: Method, device: torch.device, *, fine_tuned: bool) -> None:
    """Raise BadInput for the first need of a method that inputs or device do not meet."""
    needs, kind, message = method.needs, task.inputs.kind, ""
    if (kind == "images") != fine_tuned:
        message = (
            "images (ImageInputs) are trained with a backbone and features without one; give "
            "backbone=... for images, or FeatureInputs"
        )
    elif needs.features and fine_tuned:
        message = (
            f"method {_wanting(method, 'features')!r} reads features that are ready, and a "
            "backbone that learns changes them; train it on cached features (FeatureInputs)"
        )
    elif needs.maps and kind == "pooled":
        message = (
            f"method {method.name!r} looks at class maps, but the features are pooled; compute "
            'features of kind "maps"'
        )
    elif needs.views and getattr(task.inputs, "vertical", False):
        message = (
            f"{spell(method)} compares views of an image and does not know which were mirrored top "
            "to bottom; train it on ImageInputs(..., vertical=False)"
        )
    elif device.type != "cpu" and any(getattr(each, "mapped", False) for each in layers(method)):
        message = (
            f"{spell(method)} keeps its state in a file, where a GPU cannot reach it; train with "
            "device='cpu', or with mapped=False"
        )
    if message:
        raise BadInput(message)
    check_aids(method.name, needs.aids, task.aids)


def _wanting(method: Method, need: str) -> str:
    """The name of the innermost method with this need, as a wrapper has those of both."""
    return next((each.name for each in layers(method) if getattr(each.needs, need)), "")


def _check_memory(runs: Sequence[Run], limit_gb: float) -> None:
    sizes = [training_bytes(method, task.sizes) for task, method in runs]
    if any(method.needs.epoch_scores for _, method in runs):  # all runs are then scored together
        sizes = [size + _SCORE_BYTES * math.prod(runs[0][0].labels.shape) for size in sizes]
    if sum(sizes) <= limit_gb * 1e9:
        return
    method = runs[int(np.argmax(sizes))][1]
    together, mend = "", "a method without a state for each image"
    if len(runs) > 1:
        together, mend = f" and all {len(runs)} runs {in_units(sum(sizes))}", "fewer runs at once"
    in_file = [each.name for each in layers(method) if hasattr(each, "mapped")]
    mend += ", or raise state_gb"
    mend += f", or keep its state in a file with {in_file[0]}(mapped=True)" if in_file else ""
    raise BadInput(
        f"the state of {short(method)} takes {in_units(max(sizes))} in training{together}, and the "
        f"limit is {in_units(round(limit_gb * 1e9))}; train {mend}"
    )


def _check_validation(task: Task, settings: Settings, validation: Validation | None) -> None:
    if validation is None or validation.labels is None:
        if settings.select == "best":
            raise BadInput(
                "select is 'best', but there are no validation labels to choose by; give "
                "validation=simkit.learn.validation.Validation(inputs, labels), or select='last'"
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
    if settings.select == "best":
        validation.counts.check(
            "validation",
            "choose the epoch by labels of both kinds (in a grid, validation = 'complete'), or set "
            "select to 'last'",
        )
