"""A marker for each method, at its two scores."""

import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.analysis.priors.modes import MODES


def table(*measures: str) -> pa.Table:
    rows = [
        {
            "scheme": scheme,
            "method": method,
            "measure": measure,
            "draws": 2,
            "mean": mean + 0.01 * n,
            "low": mean,
            "high": mean + 0.1,
        }
        for n, measure in enumerate(measures)
        for scheme, shift in (("fpc", 0.0), ("rpa", 0.2))
        for method, mean in (("ignore", 0.5 + shift), ("csl", 0.7))
    ]
    rows.append({"scheme": "fpc", "method": "an", "measure": "map", "draws": 1, "mean": 0.1})
    return pa.Table.from_pylist(rows, schema=MODES)


def test_a_marker_at_both_scores_and_bars_for_both_intervals() -> None:
    drawing = figures.make("score-pair", scheme="rpa")(table("map", "person"))
    (axes,) = drawing.axes
    points = {line.get_gid(): line.get_xydata()[0].tolist() for line in axes.lines}
    assert points == {"ignore": pytest.approx([70, 71]), "csl": pytest.approx([70, 71])}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mAP, points", "AP of person, points")
    assert len(axes.collections) == 4
    other = figures.make("score-pair", x="person", y="map")(table("map", "person"))
    assert set(line.get_gid() for line in other.axes[0].lines) == {"ignore", "csl"}  # an lacks one
    assert other.axes[0].get_xlabel() == "AP of person, points"


@pytest.mark.parametrize(
    "given, options, sentence",
    [
        (
            table("map"),
            {},
            "score-pair: two measures are needed; give modes() two, such as map and a class",
        ),
        (
            table("map", "person"),
            {"scheme": "fp"},
            "no scheme of the table (score-pair) is called 'fp'; did you mean 'fpc'?",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, options, sentence) -> None:
    with pytest.raises(BadInput) as error:
        figures.make("score-pair", **options)(given)
    assert str(error.value) == sentence
