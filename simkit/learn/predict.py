"""Scores of a trained model as a table of images and classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from simkit.data import Dataset
from simkit.data import open as open_data
from simkit.data.dataset import WHOLE
from simkit.embed.decoding import FIT
from simkit.embed.features import Kind, extract
from simkit.embed.networks import Backbone
from simkit.errors import BadInput, examples, note
from simkit.labels.partial import PartialLabels
from simkit.learn.inputs import FeatureInputs, ImageInputs, array_of, sized
from simkit.learn.trained import Trained, backbone_of
from simkit.progress import Progress, silent

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: Trained | str | PathLike[str],
    data: Any,
    *,
    split: str | None = None,
    backbone: nn.Module | None = None,
    unreadable: Literal["stop", "skip"] = "stop",
    device: str = "auto",
    progress: Progress = silent,
) -> pd.DataFrame:
    """Score images by a trained model.

    Parameters
    ----------
    model
        The result of `train`, or a folder written by `Trained.save` or `simkit train --out`.
    data
        A data set or its text, such as ``"folder:photos,labels=none"``; or inputs of the kind that
        the model was trained on: `FeatureInputs` or features (N, D) or (N, D, h, w), `ImageInputs`
        or uint8 images (N, 3, H, W); arrays or tensors.
    split
        The split of a data set to score; by default all of them, one after the other.
    backbone
        The network that computes the features of a data set, or into which a fine-tuned model is
        loaded; by default the one named in the model, if its weights are available by name. For
        images of another size than usual in training, pass ``simkit.backbone(name, weights,
        size=...)``.
    unreadable
        "stop" at an unreadable image, or "skip" it: its scores are nan (features only).
    device
        "auto", "cpu", "cuda" or "cuda:1".
    progress
        Called with (images done, images) while features are computed or images decoded.

    Returns
    -------
    pandas.DataFrame
        (N, L) float32 logits, higher is likelier; ``1 / (1 + exp(-scores))`` is in [0, 1]. The
        index holds image ids (row numbers, for arrays), the columns are the classes.

    Raises
    ------
    BadInput
        For inputs that the model was not trained on, data without images, a network other than
        that of the training's features, and if no backbone is passed or named by the model.
    """
    import pandas as pd

    if not isinstance(model, Trained):
        model = Trained.load(model, backbone=backbone)
    if isinstance(data, str):
        data = open_data(data)
    if not isinstance(data, Dataset):
        if not isinstance(data, FeatureInputs | ImageInputs):
            data = array_of(data, "inputs")
            data = ImageInputs(data) if data.dtype == np.uint8 else FeatureInputs(data)
        scores = model.scores(data, device=device)
        return pd.DataFrame(scores, columns=pd.Index(model.classes, name="class"))
    how: dict[str, Any] = {"unreadable": unreadable, "device": device, "progress": progress}
    found = predict_splits(model, data, splits_of(data, split), backbone=backbone, **how)
    return pd.concat([part.scores for part in found.values()])


@dataclass(frozen=True, eq=False)
class Prediction:
    """Scores of N images, and which of them are training images of the model.

    Attributes
    ----------
    scores
        As `predict` returns them.
    seen
        (N,) whether each image is a training image of the model.
    checked
        Whether the model records its training images, so that `seen` is complete.
    """

    scores: pd.DataFrame
    seen: NDArray[np.bool_]
    checked: bool


def predict_splits(
    model: Trained,
    data: Dataset,
    splits: Sequence[str],
    *,
    backbone: nn.Module | None = None,
    unreadable: Literal["stop", "skip"] = "stop",
    device: str = "auto",
    progress: Progress = silent,
) -> dict[str, Prediction]:
    """By split, the scores of a data set with images; see `predict`."""
    trained = model.model.backbone
    network = cast(Backbone, trained or backbone or backbone_of(model.history.settings))
    expected = model.history.settings.get("backbone_id")
    if trained is None and expected not in (None, network.id):
        raise BadInput(
            f"the model was trained on features of {model.history.settings['backbone']} with the "
            f"weights {expected}, but the backbone is {network.name} with {network.id}; name the "
            "network and the weights of the training"
        )
    if trained is None and expected is not None:
        same_fit(model.history.settings, FIT)
    kind: Kind = "maps" if model.method.needs.maps else "pooled"
    found = dict[str, Prediction]()
    for name in splits:
        lost = np.zeros(0, np.int64)
        inputs: FeatureInputs | ImageInputs
        if trained is not None:
            inputs = ImageInputs(sized(data.pictures_of(name), network.size, progress=progress))
        else:
            how: dict[str, Any] = {"unreadable": unreadable, "device": device}
            features = extract(data, name, network, kinds=(kind,), progress=progress, **how)[kind]
            inputs = FeatureInputs(cast(Any, features.values), features.id)
            lost = np.array([image.row for image in features.skipped], np.int64)
            lacking = "images without scores because their file cannot be read: {}"
            note(name, [image.image for image in features.skipped],
                 f"{lacking}; replace the files", total=len(features.values))  # fmt: skip
        found[name] = predict_split(model, data, name, inputs, lost=lost, device=device)
    return found


def predict_split(
    model: Trained,
    data: Dataset,
    split: str,
    inputs: FeatureInputs | ImageInputs,
    *,
    lost: NDArray[np.int64],
    device: str,
) -> Prediction:
    """The scores of a split with these inputs; lost: rows of its unreadable images."""
    import pandas as pd

    scores = model.scores(inputs, device=device)
    scores[lost] = np.nan
    images = pd.Index(data.truth[split].images, name="image")
    table = pd.DataFrame(scores, images, pd.Index(model.classes, name="class"))
    pictures, features = data.pictures.get(split), getattr(inputs, "values", None)
    seen = None if model.trained_on is None else model.trained_on.seen(pictures, features)
    if seen is None:  # its history still has the content id of its inputs
        was = str(inputs.id) in model.history.parents
        return Prediction(table, np.full(len(table), was), False)
    return Prediction(table, seen, True)


def same_fit(settings: Mapping[str, Any], fit: str | None) -> None:
    """Refuse a model of features of another part of the images than `fit`.

    settings: of the model's history; earlier versions recorded no part.
    """
    if settings.get("fit") != fit:
        seen, now = (
            "whole images" if one == FIT
            else "the central squares of images (as earlier versions of simkit computed them)"
            for one in (settings.get("fit"), fit)
        )  # fmt: skip
        raise BadInput(
            f"the model was trained on features of {seen}, and these are features of {now}; "
            "compute features and train again"
        )


def tags_of(
    model: Trained, scores: pd.DataFrame, people: Sequence[PartialLabels] = ()
) -> pd.DataFrame:
    """Tags of images: the labels of people and, without one, the decisions of the model.

    Parameters
    ----------
    model
        The model with its thresholds, if any.
    scores
        (N, L) as `predict` returns them.
    people
        Labels by people, of these images and classes by name; the last of several prevails.

    Returns
    -------
    pandas.DataFrame
        N * L rows, image by image: `image`, `class`; `tag`, 1 or 0, and its `source`, "people" or
        "model"; both are missing without either. `people` and `model` are the label of people and
        the decision of the model, and `score` is the logit.

    Raises
    ------
    BadInput
        For labels without any of the images or of the classes.
    """
    import pandas as pd

    (N, L), limits = scores.shape, np.array(model.thresholds or [np.nan] * scores.shape[1])
    decided = np.where(scores >= limits, 1, -1)
    decided[np.isnan(limits) | scores.isna().to_numpy()] = 0
    said = np.zeros((N, L), np.int64)
    for labels in people:
        rows = pd.Index(labels.images.astype(str)).get_indexer(scores.index.astype(str))
        columns = pd.Index(labels.classes).get_indexer(scores.columns)
        for what, places, names in (
            ("images", rows, labels.images), ("classes", columns, labels.classes),
        ):  # fmt: skip
            if (places < 0).all():
                raise BadInput(f"the labels have none of the scored {what}, but {examples(names)}; "
                               "give labels of these images by their names")  # fmt: skip
        new = labels.codes[rows[rows >= 0]][:, columns[columns >= 0]].toarray()
        places = np.ix_(rows >= 0, columns >= 0)
        said[places] = np.where(new, new, said[places])
    tags, kinds = np.where(said, said, decided), pd.Index(["model", "people"])

    def states(codes: NDArray[np.int64]) -> Any:
        return pd.Series(codes.ravel() > 0, dtype="Int8").mask(codes.ravel() == 0)

    return pd.DataFrame({
        "image": np.repeat(scores.index, L), "class": np.tile(scores.columns, N),
        "tag": states(tags),
        "source": pd.Series(kinds[(said != 0).astype(int).ravel()]).mask(tags.ravel() == 0),
        "people": states(said), "model": states(decided), "score": scores.to_numpy().ravel(),
    })  # fmt: skip


def splits_of(data: Dataset, split: str | Sequence[str] | None) -> list[str]:
    """The splits that `predict` scores, in this order; split: one, several, or None for all."""
    every = [name for name in data.pictures if name != WHOLE] or [data.to_label]
    return every if split is None else [split] if isinstance(split, str) else [*split]
