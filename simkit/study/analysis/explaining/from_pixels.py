"""Whole networks, one for each method, that learned from the same pictures and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simkit.annotate.simulate import simulate
from simkit.data import Dataset
from simkit.embed.backbones import backbone
from simkit.errors import BadInput
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task, make
from simkit.learn.steps.optim import Settings
from simkit.learn.train import Watcher, train
from simkit.learn.trained import Trained
from simkit.study.analysis.asked import listed
from simkit.study.analysis.explaining.models import FULL
from simkit.study.sources import ImageTransform, decoded


def from_pixels(
    data: Dataset,
    methods: Sequence[str],
    scheme: str,
    *,
    network: str = "scenes-net",
    weights: str = "",
    shown: ImageTransform = ImageTransform(),
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    watch: Mapping[str, Sequence[Watcher]] | None = None,
) -> dict[str, Trained]:
    """A network trained by each method on pictures of the train split, by the method's spelling.

    `full` learns from complete labels of all pictures, the others from the labels of `scheme` in
    this draw. All begin with the same network (weights: a file, "random", or empty for those that
    come with it), the same head and the same crops: shown says how pictures are shown, to all
    alike. watch: watchers by method. Raises BadInput for no method, for watchers of another one,
    and for data without pictures. What needs to know which pictures are near (SE) is not for here.
    Source: the training of "Spatial Consistency Loss" (WACV 2023), section 4.1, in small.
    """
    methods = listed(methods, "from_pixels: methods")
    if not methods:
        raise BadInput("from_pixels: no method was named; name some, such as an and en+scl")
    watch = watch or {}
    for name in watch:
        if name not in methods:
            raise BadInput(
                f"from_pixels: {name!r} is watched and not trained; methods are "
                f"{', '.join(methods)}"
            )
    net = backbone(network, weights or None, size=shown.size)
    inputs = shown.inputs(decoded(data, "train", net.size))
    bought: dict[str, Any] = {"hierarchy": data.hierarchy, "boxes": data.boxes.get("train")}
    how: dict[str, Any] = {"settings": settings, "seed": seed, "draw": draw, "backbone": net}
    found = {}
    for spec in dict.fromkeys(methods):
        own = "full-subset" if spec.partition("+")[0] == FULL else scheme
        labels = simulate(data.truth["train"], own, seed=seed, draw=draw, **bought)
        task = prepare(Task(labels, inputs), make(spec), **how)
        found[spec] = train(task, make(spec), watch=watch.get(spec, ()), **how)
    return found
