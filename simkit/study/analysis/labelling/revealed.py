"""What does each scheme reveal of one image?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from simkit.annotate.prices import Prices, cost
from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.study.analysis.asked import by_name, rows


def revealed(
    truth: Truth, labelled: Mapping[str, PartialLabels], image: int, *, prices: Prices
) -> pa.Table:
    """One row for each scheme and class: what is true of this image and what the scheme knows.

    `labelled` maps the name of a scheme to its labels of the same images; `image` is an index.
    Columns: scheme, class, present (bool), state (int8: +1, -1, 0), dollars (mean cost of an asked
    image under the scheme at these prices). Raises BadInput for labels of other images or classes,
    for none, and for an image that is not there.
    """
    by_name(labelled, "labels", "{'rpa': labels}", "revealed")
    (image,) = rows([image], len(truth.images), "revealed")
    present = truth.rows([image])[0]
    columns: dict[str, list[object]] = {
        key: [] for key in ("scheme", "class", "present", "state", "dollars")
    }
    for name, labels in labelled.items():
        check_same(truth, labels, name)
        mean = cost(labels, prices).dollars / max(1, int(labels.asked.sum()))
        columns["scheme"] += [name] * len(truth.classes)
        columns["class"] += truth.classes
        columns["present"] += present.tolist()
        columns["state"] += labels.rows([image])[0].tolist()
        columns["dollars"] += [mean] * len(truth.classes)
    return pa.table(columns).set_column(3, "state", pa.array(columns["state"], pa.int8()))


def check_same(truth: Truth, labels: PartialLabels, name: str) -> None:
    """Raise BadInput unless labels and truth are about the same images and classes."""
    if labels.classes != truth.classes or not np.array_equal(labels.images, truth.images):
        raise BadInput(
            f"the labels called {name!r} are about other images or classes than the truth; "
            "simulate them from this truth"
        )
