"""Labels from a file, put over the images and classes of the data set that they are of."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from simkit.data import Dataset
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth


def of_train(labels: PartialLabels, data: Dataset, where: str) -> PartialLabels:
    """Labels of the train split; those of the undivided training set lose the held-out images."""
    train = data.truth["train"]
    whole = data.truth[data.to_label]
    if labels.history.command != "simulate":
        labels = _aligned(labels, whole, where)
    if len(labels.images) != len(whole.images):
        labels.check_about(train, where)
        return labels
    labels.check_about(whole, where)
    return labels.of_images(train.images)


def _aligned(labels: PartialLabels, truth: Truth, where: str) -> PartialLabels:
    """Labels from a plain table, which names only what is known, over all images and classes."""
    rows, columns = (
        {name: place for place, name in enumerate(np.asarray(names).tolist())}
        for names in (truth.images, truth.classes)
    )
    for what, names, known in (
        ("class", labels.classes, columns),
        ("image", np.asarray(labels.images).tolist(), rows),
    ):
        strange = [name for name in names if name not in known]
        if strange:
            raise BadInput(
                f"{where} is about {what} {strange[0]!r}, which the data set does not have; "
                "name the data set the labels are of, or where they use other names (Open Images' "
                "ids), translate them with simkit convert --from \"openimages(names='FILE')\""
            )
    place = np.array([rows[name] for name in np.asarray(labels.images).tolist()])
    found = labels.codes.tocoo()
    own = np.array([columns[name] for name in labels.classes])
    codes = coo_array((found.data, (place[found.row], own[found.col])), shape=truth.shape)
    asked = np.zeros(truth.shape[0], bool)
    asked[place] = labels.asked
    return PartialLabels.of(
        codes, truth.images, truth.classes, asked, effort=labels.effort, history=labels.history
    )
