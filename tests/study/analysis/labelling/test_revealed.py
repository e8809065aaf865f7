"""What a scheme reveals of one image, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from simkit.annotate.prices import prices
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.study.analysis.labelling import revealed as module
from simkit.study.analysis.labelling.revealed import revealed

TRUTH = Truth.of(
    np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]]), classes=("cat", "dog", "cow")
)


def test_complete_labels_reveal_everything_and_cost_their_price() -> None:
    labels = simulate(TRUTH, "full-subset")
    table = revealed(TRUTH, {"full": labels}, 2, prices=prices("openimages")).to_pylist()
    assert [(row["class"], row["present"], row["state"]) for row in table] == [
        ("cat", True, 1),
        ("dog", True, 1),
        ("cow", False, -1),
    ]
    # Three classes at $0.0058 each.
    assert table[0]["dollars"] == pytest.approx(3 * 0.0058)


def test_mean_cost_counts_asked_images_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cost", lambda labels, prices: SimpleNamespace(dollars=10.0))
    labels = simulate(TRUTH, "full-subset", images=2)
    table = revealed(TRUTH, {"full": labels}, 0, prices=prices("google"))
    assert set(table["dollars"].to_pylist()) == {5.0}


def test_labels_of_other_classes_are_refused() -> None:
    other = Truth.of(TRUTH.present, classes=("a", "b", "c"))
    with pytest.raises(BadInput, match="'full' are about other images or classes"):
        revealed(TRUTH, {"full": simulate(other, "full-subset")}, 0, prices=prices("google"))


@pytest.mark.parametrize("image", [4, -1, 0.5])
def test_images_that_are_not_there_are_refused(image) -> None:
    with pytest.raises(BadInput) as error:
        revealed(TRUTH, {"full": simulate(TRUTH, "full-subset")}, image, prices=prices("google"))
    wanted = f"revealed: there is no image {image}; rows from 0 to 3 are expected"
    assert str(error.value) == wanted
    with pytest.raises(BadInput, match=r"^revealed: no labels came; give some, as {'rpa': labels}"):
        revealed(TRUTH, {}, 0, prices=prices("google"))
