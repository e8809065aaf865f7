"""Figures of scores over an amount: settings, images, labels."""

import numpy as np
import pandas as pd
import pytest

from simkit import figures
from simkit.errors import BadInput
from tests.results.figures.made import legend, named_lines
from tests.results.figures.test_comparisons import means, panels, ticks


def swept(values: dict, **fields) -> pd.DataFrame:
    """Scores rise by a point with each value; the second is the default."""
    rows = means(0.5 + 0.01 * np.arange(len(values)), value=list(values), method="se", setting="k")
    default = [place == 1 for place in range(len(values))]
    return rows.assign(number=list(values.values()), default=default, **fields)


@pytest.mark.parametrize(
    "values, places, scale",
    [
        ({"20": 20, "5": 5, "10": 10}, [5, 10, 20], "linear"),
        ({"1": 1, "5": 5, "100": 100}, [1, 5, 100], "log"),
        ({"0": 0, "0.01": 0.01, "1": 1}, [0, 1, 2], "linear"),  # no place for 0 on a log axis
        ({"b": np.nan, "a": np.nan, "1": 1}, [0, 1, 2], "linear"),
    ],
)
def test_values_of_a_sweep_stand_at_their_numbers_or_side_by_side(values, places, scale) -> None:
    drawing = figures.make("sweep")(swept(values))
    (axes,) = drawing.axes
    words = "a" in values
    names = list(values) if words else sorted(values, key=values.get)
    assert ticks(axes) == names and axes.get_xscale() == scale
    line = named_lines(axes)["SE"]
    assert list(line.get_xdata()) == places
    assert list(line.get_ydata()) == pytest.approx([50 + list(values).index(v) for v in names])
    assert (line.get_linestyle() == "None") == words
    ring = named_lines(axes)["default"]
    assert ring.get_ydata() == pytest.approx([51]) and len(axes.collections) == 1


def test_a_sweep_has_panels_of_schemes_or_of_methods() -> None:
    values = {"1": 1, "2": 2}
    both = pd.concat([swept(values), swept(values).assign(scheme="fpc")])
    assert list(panels(figures.make("sweep")(both))) == ["rpa", "fpc"]
    drawing = figures.make("sweep", panels="method")(both)
    assert list(panels(drawing)) == ["SE"] and legend(drawing) == ["rpa", "fpc", "default"]


def test_images_and_labels_have_the_same_scores() -> None:
    full = means([0.3, 0.6], method="full", share=[0.25, 1], labels=[1000.0, 4000])
    weak = means([0.2, 0.4], method="an", share=[0.25, 1], labels=[100.0, 400])
    table = pd.concat([full.assign(scheme="full-subset"), weak, weak.assign(scheme="fpc")])
    drawing = figures.make("images-or-labels")(table)
    images, labels = drawing.axes
    assert legend(drawing) == ["Full labels, full-subset", "AN, rpa", "AN, fpc"]
    np.testing.assert_allclose(named_lines(images)["AN, rpa"].get_xydata(), [[0.25, 20], [1, 40]])
    line = named_lines(labels)["Full labels, full-subset"]
    np.testing.assert_allclose(line.get_xydata(), [[1000, 30], [4000, 60]])
    dashes = {line.get_linestyle() for line in named_lines(images).values()}
    assert len(dashes) == 3 and labels.get_xscale() == "log"


def shared(base: str | None) -> pd.DataFrame:
    columns = {"reference": False, "base": base, "positives": [0.5, 0.1], "labels": [0.2, 0.04]}
    gap = dict.fromkeys(("gap", "gap_low", "gap_high"), np.nan)
    an = means([0.4, 0.2], method="an", **columns, **gap)
    better = dict(zip(gap, (0.02, 0.01, 0.03), strict=True)) if base else gap
    rows = pd.concat([an, means([0.42, 0.22], method="se", **columns, **better)])
    whole = dict.fromkeys(("positives", "labels"), 1.0) | {"reference": True, "base": None}
    oracles = means([0.9, 0.8], method=["full", "an"], **whole, **gap).assign(scheme="")
    return pd.concat([rows, oracles])


def test_scores_by_share_stand_below_the_oracle() -> None:
    drawing = figures.make("label-shares")(shared(None))
    (axes,) = drawing.axes
    lines = named_lines(axes)
    assert list(lines) == ["AN", "SE", "Full labels: 90.0"]  # AN on all labels is no oracle
    np.testing.assert_allclose(lines["SE"].get_xydata(), [[0.1, 22], [0.5, 42]])
    assert set(legend(drawing)) == set(lines)
    other = figures.make("label-shares", share="labels")(shared(None)).axes[0]
    assert list(named_lines(other)["AN"].get_xdata()) == [0.04, 0.2]


def test_differences_to_a_base_stand_below_the_scores() -> None:
    drawing = figures.make("label-shares")(shared("an"))
    scores, gaps = drawing.axes
    assert list(named_lines(gaps)) == ["SE"] and "AN" in gaps.get_ylabel()
    assert list(named_lines(gaps)["SE"].get_ydata()) == pytest.approx([2, 2])
    assert list(named_lines(scores)["AN"].get_ydata()) == pytest.approx([20, 40])
    only = shared("an")[lambda rows: rows["reference"]]
    with pytest.raises(BadInput, match=r"label-shares.* references alone"):
        figures.make("label-shares")(only)
