"""Highest probabilities by rank, and who is shy."""

import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study.analysis.explaining.top_scores import medians, top_scores


def test_ranks_are_those_of_the_scores(scenes, trained) -> None:
    inputs = scenes.inputs("test", "maps")
    some = {name: trained[name] for name in ("full", "an")}
    table = top_scores(some, inputs, ranks=3, classes=scenes.data.leaves)
    assert len(table) == 2 * 3 * 80
    scores = trained["an"].scores(inputs)[:, scenes.data.leaves].astype(float)
    wanted = 1 / (1 + np.exp(-np.sort(scores, 1)[:, ::-1][:, :3]))
    found = [row for row in table.to_pylist() if row["model"] == "an"]
    for rank in (1, 2, 3):
        values = [row["probability"] for row in found if row["rank"] == rank]
        np.testing.assert_allclose(values, wanted[:, rank - 1])
    middle = medians(table)
    np.testing.assert_allclose(middle["an"], np.median(wanted, 0))
    assert middle["full"][0] > middle["an"][0]  # single positives make shy


def test_what_does_not_fit_is_named(scenes, trained) -> None:
    inputs = scenes.inputs("test", "maps")
    for models, ranks, message in (
        ({}, 1, "top_scores: no model came; give some, as {'an': trained}"),
        ({"an": trained["an"]}, 53, "top_scores: ranks is 53; a whole number from 1 to 52 is "
         "expected"),
        ({"an": trained["an"]}, 2.5, "top_scores: ranks is 2.5; a whole number from 1 to 52 is "
         "expected"),
    ):  # fmt: skip
        with pytest.raises(BadInput) as error:
            top_scores(models, inputs, ranks=ranks)
        assert str(error.value) == message


@pytest.mark.parametrize("classes", [[52], [-1], [True, False], [0, 0], [], ["one"]])
def test_classes_are_indices(scenes, trained, classes) -> None:
    with pytest.raises(BadInput, match=r"^top_scores: classes (are|go from) .* expected"):
        top_scores({"an": trained["an"]}, scenes.inputs("test", "maps"), ranks=1, classes=classes)
