"""The columns of the table of runs: what each holds, and what that means."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa


class Column(NamedTuple):
    """A column's Arrow type, and its meaning in a line."""

    type: pa.DataType
    meaning: str


_TEXT, _WHOLE, _NUMBER, _YES = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_WHOLES, _NUMBERS, _TEXTS = pa.list_(_WHOLE), pa.list_(_NUMBER), pa.list_(_TEXT)

COLUMNS = {
    "scheme": Column(_TEXT, "the scheme as the grid says it"),
    "scheme_spec": Column(_TEXT, "complete, with the amount that was bought"),
    "method": Column(_TEXT, "the method as the grid says it"),
    "method_spec": Column(_TEXT, "complete, as it was trained: with what a sweep chose"),
    "reference": Column(_YES, "everything labelled, at its own cost; not what is compared"),
    "budget": Column(_NUMBER, "dollars that might be spent; null: hours, or amounts as written"),
    "budget_hours": Column(_NUMBER, "the same in hours of people's time"),
    "draw": Column(_WHOLE, "from 0; methods are compared within a draw"),
    "seed": Column(_WHOLE, "of the grid"),
    "dollars": Column(_NUMBER, "what all labels cost, paid validation labels included"),
    "seconds": Column(_NUMBER, "of people's time for the same labels; null: not known"),
    "validation_dollars": Column(_NUMBER, "how much of dollars went into validation labels"),
    "effort": Column(_TEXT, "questions behind the training labels, JSON"),
    "validation_effort": Column(_TEXT, "behind paid validation labels, JSON; null: none"),
    "images": Column(_WHOLE, "training images asked about; images x classes = present + absent + "
                             "unknown"),
    "present": Column(_WHOLE, "training labels known to be present"),
    "absent": Column(_WHOLE, "training labels known to be absent"),
    "unknown": Column(_WHOLE, "labels of asked images that stay unknown"),
    "class_present": Column(_WHOLES, "images each class is known to be present in"),
    "class_absent": Column(_WHOLES, "images each class is known to be absent from"),
    "map": Column(_NUMBER, "mean AP over leaf classes on the test split, 0 to 1"),
    "map_all": Column(_NUMBER, "mean AP over all classes"),
    "map_o": Column(_NUMBER, "mean AP over leaf classes, weighted by their positives"),
    "ap": Column(_NUMBERS, "AP of every class; null: present nowhere in the test split"),
    "epochs": Column(_WHOLE, "the epoch, from 1, whose weights are scored; losses tells how many "
                             "were trained"),
    "lr": Column(_NUMBER, "the learning rate"),
    "tuned": Column(_TEXT, "what a sweep set, JSON; null: nothing"),
    "tuned_runs": Column(_WHOLE, "of how many trainings of the sweep it was the best"),
    "tuned_map": Column(_NUMBER, "what that one reached on the sweep's validation labels"),
    "tuned_by": Column(_TEXT, "whose labels chose: complete or partial ones"),
    "tuned_dollars": Column(_NUMBER, "all labels of the sweep's own draw, not in dollars"),
    "trained": Column(_TEXT, "head (on features), or backbone (with its head, from pictures)"),
    "select": Column(_TEXT, "which epoch is scored: the last, or the best on validation labels"),
    "validation": Column(_TEXT, "validation labels: none, complete or partial"),
    "losses": Column(_NUMBERS, "mean training loss of every epoch"),
    "curve": Column(_NUMBERS, "mAP after every epoch; empty where nobody asked"),
    "curve_of": Column(_TEXT, "of which split: val, or test, by which nothing is chosen"),
    "stack": Column(_WHOLE, "how many runs were trained together"),
    "train_seconds": Column(_NUMBER, "training of the stack, divided by its runs"),
    "bundle_seconds": Column(_NUMBER, "of the whole bundle this run came with: labels, training "
                                      "and scores of all its runs"),
    "peak_memory_mb": Column(_NUMBER, "of the process so far"),
    "environment": Column(_TEXT, "versions, platform and device, JSON"),
    "notes": Column(_TEXTS, "what annotation and training warned about"),
    "labels_id": Column(_TEXT, "content id of the training labels"),
    "truth_id": Column(_TEXT, "content id of the truth they were asked of"),
    "test_id": Column(_TEXT, "content id of the truth that scores"),
    "features_id": Column(_TEXT, "content id of the features; of a backbone that was trained: of "
                                 "its weights before"),
    "key": Column(_TEXT, "of the bundle: a hash of all that decides its results"),
}  # fmt: skip
