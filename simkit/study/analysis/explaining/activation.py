"""Class activation maps of single pictures: what each model goes by when it names a class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import nn

from simkit.data.dataset import Boxes
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.heads.heads import Model
from simkit.learn.methods import Method
from simkit.learn.methods.base import Around
from simkit.learn.trained import BATCH, Trained, check_inputs, evaluating
from simkit.study.analysis.asked import by_name, count, picked
from simkit.study.analysis.explaining.boxes import check_boxes, corners

_MAP = pa.list_(pa.list_(pa.float64()))
ACTIVATION = pa.schema(
    [
        ("model", pa.string()),
        ("image", pa.int64()),
        ("class", pa.string()),
        ("present", pa.bool_()),
        ("probability", pa.float64()),
        ("map", _MAP),
        ("boxes", _MAP),
    ]
)


def explanations(
    trained: Trained, inputs: Any, *, batch: int = BATCH
) -> Iterator[NDArray[np.float32]]:
    """(b, L, h, w) class maps as the method scores by them: boosted, where it boosts.

    Their means are the scores of methods that score by the mean. inputs: maps of features, or
    pictures where a backbone was trained. batch: how many at a time. Raises BadInput for other
    inputs, and for a batch that is no whole number from 1.
    """
    check_maps(trained.model, inputs)
    count(batch, "batch")
    model, method, state = trained.model, trained.method, trained.state
    return (
        explained(model, method, state, inputs, np.arange(at, min(at + batch, len(inputs))))
        for at in range(0, len(inputs), batch)
    )


def explained(
    model: Model, method: Method, state: nn.Module, inputs: Any, rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """(b, L, h, w) class maps of these rows behind what the method's wrappers do at inference."""
    with torch.no_grad(), evaluating(model):
        out = model(inputs.batch(rows).to(model.head.weight.device), maps=True)
        while isinstance(method, Around):
            out = method.changed(out, state, training=False)
            method, state = method.inner, state.inner
    assert out.maps is not None
    found: NDArray[np.float32] = out.maps.float().cpu().numpy()
    return found


def check_maps(model: Model, inputs: Any) -> None:
    """Raise BadInput for inputs that the model does not read, and for pooled features."""
    check_inputs(model, inputs)
    if inputs.kind == "pooled":
        raise BadInput(
            "class maps are made from maps of features, and these are pooled; bring maps, as "
            "simkit features --kind maps writes them"
        )


class Snapshots:
    """A watcher that keeps the maps of a few inputs after every epoch; `maps[epoch]` (n, L, h, w).

    method: the one that is trained. inputs: few, since all their maps are kept. Epochs count
    from 1.
    """

    def __init__(self, method: Method, inputs: Any) -> None:
        self.method, self.inputs = method, inputs
        self.maps: dict[int, NDArray[np.float32]] = {}

    def __call__(self, *step: object) -> None:
        """Nothing is kept of single steps."""

    def after_epoch(self, epoch: int, model: Model, state: nn.Module) -> None:
        """Keep the maps of this epoch."""
        rows = np.arange(len(self.inputs))
        self.maps[epoch] = explained(model, self.method, state, self.inputs, rows)


def activation(
    models: Mapping[str, Trained],
    inputs: Any,
    picks: Sequence[tuple[int, str]],
    *,
    truth: Truth,
    boxes: Boxes | None = None,
) -> pa.Table:
    """The map of each picked (image, class) under each model, one row for each of them.

    inputs: of the split that `truth` and `boxes` are about; picks: row of an image and name of a
    class. Columns: model (its name in `models`), image (row), class, present (in truth),
    probability (the sigmoid of its score), map (h lists of w numbers, boosted where the model
    boosts) and boxes (x0, y0, x1, y1 of the class's objects as shares of width and height; empty
    where none are known). Raises BadInput for another image or class, and where there is no model
    or no pick.
    Source: BoostLU (Kim et al., CVPR 2023), Figs 1 and 4; Large Loss (Kim et al., CVPR 2022),
    suppl. Fig. 1.
    """
    check_models(models, inputs, truth, "activation")
    picks = picked(picks, truth.classes, len(truth.images), "activation")
    if boxes is not None and boxes.sizes is not None:
        check_boxes(boxes, truth.shape)
    columns = {name: c for c, name in enumerate(truth.classes)}
    found = []
    for model, trained in models.items():
        for image, name in picks:
            maps, score = _one(trained, inputs, image)
            c = columns[name]
            found.append(
                {
                    "model": model,
                    "image": image,
                    "class": name,
                    "present": bool(truth.rows([image])[0, c]),
                    "probability": float(1 / (1 + np.exp(-np.float64(score[c])))),
                    "map": maps[c].astype(float).tolist(),
                    "boxes": corners(boxes, image, c).tolist(),
                }
            )
    return pa.Table.from_pylist(found, schema=ACTIVATION)


def check_models(models: Mapping[str, Trained], inputs: Any, truth: Truth, asker: str) -> None:
    """Raise BadInput where there is no model, or where inputs or classes are not the truth's."""
    by_name(models, "model", "{'AN': trained}", asker)
    if len(inputs) != len(truth.images):
        raise BadInput(
            f"{asker}: {len(inputs):,} inputs came with a truth of {len(truth.images):,} images; "
            "give those of one split"
        )
    for name, trained in models.items():
        if tuple(trained.classes) != tuple(truth.classes):
            raise BadInput(
                f"{asker}: {name!r} was trained on other classes than the truth has; give the "
                "truth of the data it was trained on"
            )


def _one(trained: Trained, inputs: Any, image: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Maps (L, h, w) and scores (L) of one image."""
    model, rows = trained.model, np.array([image])
    with torch.no_grad(), evaluating(model):
        x = inputs.batch(rows).to(model.head.weight.device)
        score = trained.method.predict(model(x, maps=True), trained.state)
    maps = explained(model, trained.method, trained.state, inputs, rows)
    return maps[0], score[0].cpu().numpy()
