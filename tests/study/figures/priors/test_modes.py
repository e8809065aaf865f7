"""Panels by scheme and measure, lines by method; and the gap over the share of known labels."""

import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import figures
from simkit.study.analysis.priors.modes import GAPS, MODES


def row(family: str, value: float, mean: float, **more: object) -> dict[str, object]:
    where = {"scheme": f"{family}(x={value:g})", "family": family, "setting": "amount"}
    where |= {"value": value, "known": value / 1000, "measure": "map", "draws": 3}
    return {**where, "mean": mean, "low": mean - 0.1, "high": mean + 0.1, **more}


ROWS = [
    row(family, value, mean, method=method, measure=measure)
    for measure in ("map", "person")
    for family in ("rpa", "fpc")
    for method, mean in (("ignore", 0.95), ("an", 0.5))
    for value in (1000.0, 10.0)
]
LONE = row("proposals", 7.0, 0.5, method="an")


def test_a_panel_for_each_scheme_and_measure() -> None:
    drawing = figures.make("modes")(pa.Table.from_pylist([*ROWS, LONE], schema=MODES))
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["rpa", "fpc", "", ""]
    named = [axes.get_ylabel() for axes in drawing.axes[::2]]
    assert named == ["mAP, points", "AP of person, points"]
    first = drawing.axes[0]
    ignore, an = first.lines
    assert list(ignore.get_xdata()) == [10, 1000] and list(ignore.get_ydata()) == [95, 95]
    assert list(an.get_ydata()) == [50, 50] and ignore.get_marker() != an.get_marker()
    assert first.get_xscale() == "log" and first.get_ylim()[1] <= 100.5
    assert [t.get_text() for t in drawing.legends[0].get_texts()] == ["Ignore", "AN"]


def test_the_gap_over_known_labels() -> None:
    both = {"first": "ignore", "second": "an"}
    rows = [row("rpa", 10, 0.1, **both), row("rpa", 100, 0.05, **both)]
    rows += [row("fpc", 10, -0.2, **both), row("fpc", 100, -0.1, **both)]
    drawing = figures.make("mode-gap")(pa.Table.from_pylist(rows, schema=GAPS))
    (axes,) = drawing.axes
    rpa, fpc = axes.lines[:2]
    assert list(rpa.get_xdata()) == [0.01, 0.1] and list(fpc.get_ydata()) == [-20, -10]
    assert rpa.get_linestyle() != fpc.get_linestyle()
    assert axes.get_ylabel() == "Ignore minus AN, points"
    assert drawing.get_supxlabel().endswith("Above 0: Ignore is ahead. Bands: 95 % over 3 draws.")


@pytest.mark.parametrize("name, schema", [("modes", MODES), ("mode-gap", GAPS)])
def test_one_amount_is_too_few(name, schema) -> None:
    lone = LONE | {"first": "ignore", "second": "an"}
    with pytest.raises(BadInput) as error:
        figures.make(name)(pa.Table.from_pylist([lone], schema=schema))
    assert str(error.value) == (
        f"{name}: no scheme stands in the table with two amounts; compare several, such as "
        "fpc(per_class=10) and fpc(per_class=100)"
    )
