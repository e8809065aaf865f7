"""Pictures are chosen by what was corrected, and cells say what was selected."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.feeding.inputs import FeatureInputs
from simkit.learn.methods import Task
from simkit.learn.train import Settings
from simkit.study.analysis.learning.corrections import CORRECTIONS, _telling, corrections
from simkit.study.analysis.learning.modification import selections

N, L = 48, 8
HOW = {"settings": Settings(epochs=4, batch_size=16, lr=0.05)}


def drawn():
    rng = np.random.default_rng(8)
    present = rng.random((N, L)) < 0.3
    present[:, 0] |= ~present.any(1)
    codes = np.zeros((N, L), int)
    codes[np.arange(N), (present * rng.random((N, L))).argmax(1)] = 1
    labels = PartialLabels.of(codes, [f"p{n}" for n in range(N)], asked=np.ones(N, bool))
    seen = present @ rng.standard_normal((L, 24)) + 0.1 * rng.standard_normal((N, 24))
    task = Task(labels, FeatureInputs(seen.astype(np.float32)))
    return task, Truth.of(present, labels.images, labels.classes)


def test_cells_are_the_selections_of_these_pictures() -> None:
    task, truth = drawn()
    table = corrections(task, truth, "ll-ct(delta=4)", images=[5, 2], **HOW)
    assert table.schema == CORRECTIONS
    chosen = selections(task, ["ll-ct(delta=4)"], **HOW)["ll-ct(delta=4)"].of_epochs()
    rows = table.to_pylist()
    assert list(dict.fromkeys(r["image"] for r in rows)) == ["p5", "p2"]
    assert {r["why"] for r in rows} == {"asked for"}
    for r in rows:
        c = truth.classes.index(r["class"])
        assert r["corrected"] == chosen[r["epoch"] - 1][r["row"], c]
        assert r["present"] == truth.rows([r["row"]])[0, c]
        assert r["given"] == (task.labels.rows([r["row"]])[0, c] == 1)
    for row in (5, 2):
        shown = {r["class"] for r in rows if r["row"] == row}
        ever = np.any([flags[row] for flags in chosen], axis=0) | truth.rows([row])[0]
        assert shown == {truth.classes[c] for c in np.flatnonzero(ever)}
        assert next(r for r in rows if r["row"] == row)["given"]  # what is given comes first


def test_pictures_are_chosen_by_right_and_wrong_corrections() -> None:
    present = np.zeros((4, 3), bool)
    present[0, :2] = present[3, 0] = True
    chosen = np.zeros((2, 4, 3), bool)
    chosen[:, 0, :2] = True  # four right
    chosen[:, 1, 0] = True  # two wrong
    chosen[1, 2, 2] = True  # one wrong
    chosen[1, 3, 0] = True  # one right
    assert _telling(chosen, present, 2, 1) == [
        (0, "most right"),
        (3, "most right"),
        (1, "most wrong"),
    ]
    assert _telling(chosen, present, 0, 2) == [(1, "most wrong"), (2, "most wrong")]
    assert len(_telling(chosen, present, 4, 3)) == 4  # no picture twice


def test_by_default_three_and_one() -> None:
    task, truth = drawn()
    rows = corrections(task, truth, **HOW).to_pylist()
    why = {r["row"]: r["why"] for r in rows}
    assert list(why.values()) == ["most right"] * 3 + ["most wrong"]
    assert {r["method"] for r in rows} == {"ll-ct"}


@pytest.mark.parametrize("image", [-1, N, 2.5])
def test_images_outside_are_refused(image: int) -> None:
    task, truth = drawn()
    for images in (image, [image]):
        with pytest.raises(BadInput) as error:
            corrections(task, truth, images=images, **HOW)
        wanted = f"corrections: there is no image {image}; rows from 0 to 47 are expected"
        assert str(error.value) == wanted


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"best": -1}, "best is -1; a whole number of at least 0 is expected"),
        ({"worst": 0.5}, "worst is 0.5; a whole number of at least 0 is expected"),
        ({"method": "an, ll-ct"}, "method is 'an, ll-ct'; one method is expected"),
    ],
)
def test_what_cannot_be_shown_is_refused(given, sentence) -> None:
    with pytest.raises(BadInput) as error:
        corrections(*drawn(), **given, **HOW)
    assert str(error.value) == f"corrections: {sentence}"
