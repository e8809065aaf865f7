"""A row for each pick, a column for each model and epoch, one scale for all."""

import numpy as np
import pandas as pd
import pytest

from simkit.errors import BadInput
from simkit.study import figures


def row(model: str, epoch: int, name: str) -> dict[str, object]:
    return {
        "model": model,
        "epoch": epoch,
        "image": 3,
        "class": name,
        "kind": "annotated positive" if name == "star" else "negative",
        "map": [[0.0, 0.2], [0.1 * epoch, 0.5]],
        "boxes": [[0.25, 0.5, 0.75, 1.0]] if name == "star" else [],
    }


def table(models: list[str], epochs: list[int]) -> pd.DataFrame:
    rows = [row(m, e, c) for m in models for e in epochs for c in ("star", "five")]
    return pd.DataFrame(rows)


PICTURES = tuple(np.full((4, 4, 3), n, np.uint8) for n in (10, 20))


def test_epochs_stand_side_by_side_on_one_scale() -> None:
    drawing = figures.make("heat-maps", pictures=PICTURES)(table(["en+scl"], [0, 2, 9]))
    axes = drawing.axes
    assert len(axes) == 8
    assert [a.get_gid() for a in axes] == [
        None, "en+scl 0 star", "en+scl 2 star", "en+scl 9 star",
        None, "en+scl 0 five", "en+scl 2 five", "en+scl 9 five",
    ]  # fmt: skip
    maps = [a for a in axes if a.get_gid()]
    assert {a.images[0].get_clim() for a in maps} == {(0, 1)}
    np.testing.assert_allclose(maps[2].images[0].get_array(), [[0, 0.2], [0.9, 0.5]])
    assert [len(a.patches) for a in axes] == [2] * 4 + [0] * 4
    assert int(axes[4].images[0].get_array()[0, 0, 0]) == 20
    said = [text.get_text() for text in drawing.texts]
    assert {"before", "epoch 2", "epoch 9", "star", "five", "negative"} <= set(said)
    boxes = [a.get_position() for a in axes]
    assert all(0 < b.x0 < b.x1 < 1 and 0 < b.y0 < b.y1 < 1 for b in boxes)
    assert boxes[0].x1 < boxes[1].x0 and boxes[4].y1 < boxes[0].y0


def test_models_are_named_where_there_are_several() -> None:
    drawing = figures.make("heat-maps")(table(["en+scl", "en"], [4]))
    said = [text.get_text() for text in drawing.texts]
    assert "EN + SCL" in said and "EN" in said and len(drawing.axes) == 4


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(BadInput) as error:
        figures.make("heat-maps", pictures=PICTURES[:1])(table(["en+scl"], [0]))
    assert str(error.value) == (
        "heat-maps: 1 pictures came for 2 picked images and classes; give one for each, in the "
        "order of the table"
    )


@pytest.mark.parametrize("odd", [[], [[]], [[0.1], [0.1, 0.2]], [[0.1, float("inf")]]])
def test_maps_that_cannot_be_drawn_are_refused(odd: list[list[float]]) -> None:
    rows = [row("en+scl", 0, "star") | {"map": odd}, row("en+scl", 0, "five")]
    with pytest.raises(BadInput, match="heat-maps: the map of 'star' in image 3 cannot be drawn"):
        figures.make("heat-maps")(pd.DataFrame(rows))
