"""Heads on maps of features, one for each method, learned from the same draw of a scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.learn.aids.prepare import prepare
from simkit.learn.methods import Task, make
from simkit.learn.steps.optim import Settings
from simkit.learn.train import Watcher, train
from simkit.learn.trained import Trained
from simkit.study.analysis.asked import listed
from simkit.study.sources import StudyData

FULL = "full"


def models(
    material: StudyData,
    methods: Sequence[str],
    scheme: str,
    *,
    settings: Settings = Settings(),
    seed: int = 0,
    draw: int = 0,
    watch: Mapping[str, Sequence[Watcher]] | None = None,
) -> dict[str, Trained]:
    """Each method trained on maps of the train split, by its name as it is spelled here.

    `full` learns from complete labels of all images, the others from the labels of `scheme` in this
    draw, as a comparison would buy them. All begin with the same head. watch: watchers by method.
    Raises BadInput for material without maps, for no method, and for watchers of another one.
    """
    if ("train", "maps") not in material.features:
        raise BadInput(
            "class maps are made from maps of features, and the material has none of train; open "
            'it with kinds ("maps",)'
        )
    methods = listed(methods, "models: methods")
    if not methods:
        raise BadInput("models: no method was named; name some, such as full and an")
    watch = watch or {}
    for name in watch:
        if name not in methods:
            raise BadInput(
                f"models: {name!r} is watched and not trained; methods are {', '.join(methods)}"
            )
    truth, inputs = material.truth("train"), material.inputs("train", "maps")
    how = {"hierarchy": material.hierarchy, "boxes": material.data.boxes.get("train")}
    about = {"settings": settings, "seed": seed, "draw": draw}
    found = {}
    for spec in dict.fromkeys(methods):
        bought = "full-subset" if spec.partition("+")[0] == FULL else scheme
        labels = simulate(truth, bought, seed=seed, draw=draw, **how)  # type: ignore[arg-type]
        task = Task(material.readable(labels, "train"), inputs)
        method = make(spec)
        task = prepare(task, method, **about)
        found[spec] = train(task, method, watch=watch.get(spec, ()), **about)
    return found
