"""The numbers of tables about priors and unknown labels are what is drawn."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from simkit import figures
from simkit.errors import BadInput
from tests.results.figures.made import legend, named_lines

PICTURE = np.zeros((4, 4, 3), np.uint8)
PRIORS = pd.DataFrame(
    {
        "estimate": ["ignore"] * 4 + ["labels"] * 4,
        "class": ["ape", "bee", "cow", "dog"] * 2,
        "true": [0.9, 0.5, 0.4, 0.1] * 2,
        "prior": [0.8, 0.2, 0.7, 0.3, 0.1, 0.2, 0.3, 0.4],
    }
)


def bars(axes) -> dict[str, tuple[float, str]]:
    """Length and colour at each name."""
    names = [text.get_text() for text in axes.get_yticklabels()]
    return {
        names[round(bar.get_center()[1])]: (
            pytest.approx(bar.get_width()),
            to_hex(bar.get_facecolor()),
        )
        for bar in axes.patches
    }


def test_common_classes_are_full_where_both_lists_agree() -> None:
    left, right = figures.make("common-classes", top=2)(PRIORS).axes
    assert bars(left) == {"ape": (0.9, "#0072b2"), "bee": (0.5, "#ffffff")}
    assert bars(right) == {"ape": (0.8, "#0072b2"), "cow": (0.7, "#ffffff")}
    assert right.get_title("left") == "by Ignore"
    counted = figures.make("common-classes", top=2, estimate="labels")(PRIORS).axes[1]
    assert [bar.get_width() for bar in counted.patches] == [0.4, 0.3]
    assert counted.get_title("left") == "by counted labels"


def test_likelihood_shows_the_first_the_middle_and_the_last_epoch() -> None:
    rows = [
        {"method": m, "epoch": e, "rank": r, "present": e / 10 / r, "chance": 0.2}
        for m in ("an", "csl")
        for e in range(1, 6)
        for r in (1, 2)
    ]
    left, right = figures.make("likelihood")(pd.DataFrame(rows)).axes
    assert [axes.get_title("left") for axes in (left, right)] == ["AN", "CSL"]
    shown = named_lines(right)
    assert list(shown) == ["chosen at random", "epoch 1", "epoch 3", "epoch 5"]
    np.testing.assert_allclose(shown["epoch 5"].get_ydata(), [0.5, 0.25])
    assert shown["chosen at random"].get_ydata() == [0.2, 0.2]
    assert len({line.get_marker() for line in shown.values()}) == 4


def test_likely_labels_stand_below_their_pictures() -> None:
    table = pd.DataFrame(
        {
            "row": [4] * 3 + [7] * 3, "rank": [1, 2, 3] * 2, "class": ["cat", "dog", "eel"] * 2,
            "probability": [0.5, 0.4, 0.2] * 2, "present": [True, False, False] * 2,
        }
    )  # fmt: skip
    drawing = figures.make("likely-labels", pictures=(PICTURE, PICTURE), ignored=1)(table)
    assert len(drawing.axes) == 4 and drawing.axes[0].images
    below = drawing.axes[2]
    assert bars(below) == {
        "cat": (0.5, "#0072b2"), "dog": (0.4, "#ffffff"), "eel": (0.2, "#ffffff")
    }  # fmt: skip
    assert below.lines[-1].get_ydata() == [0.5, 0.5]  # between the first and the second
    alone = figures.make("likely-labels")(table)
    assert len(alone.axes) == 2 and not alone.axes[0].lines
    with pytest.raises(BadInput, match="pictures has 1 items for 2 images"):
        figures.make("likely-labels", pictures=(PICTURE,))(table)


def scores(family: str, value: float, mean: float, **more: object) -> dict[str, object]:
    where = {"scheme": f"{family}(x={value:g})", "family": family, "setting": f"{family} amount"}
    where |= {"value": value, "known": value / 1000, "measure": "map", "draws": 3}
    return {**where, "mean": mean, "low": mean - 0.1, "high": mean + 0.1, **more}


MODES = [
    scores(family, value, mean, method=method, measure=measure)
    for measure in ("map", "person")
    for family in ("rpa", "fpc")
    for method, mean in (("ignore", 0.95), ("an", 0.5))
    for value in (1000.0, 10.0)
]
LONE = scores("proposals", 7.0, 0.5, method="an", first="ignore", second="an")


def test_modes_have_a_panel_for_each_scheme_with_amounts_and_measure() -> None:
    drawing = figures.make("modes")(pd.DataFrame([*MODES, LONE]))
    assert [axes.get_title("left") for axes in drawing.axes] == ["rpa", "fpc", "", ""]
    measures = [axes.get_ylabel() for axes in drawing.axes[::2]]
    assert measures == ["mAP, points", "AP of person, points"]
    assert [axes.get_xlabel() for axes in drawing.axes] == ["", "", "rpa amount", "fpc amount"]
    shown = named_lines(drawing.axes[0])
    np.testing.assert_allclose(shown["Ignore"].get_xydata(), [[10, 95], [1000, 95]])
    np.testing.assert_allclose(shown["AN"].get_ydata(), [50, 50])
    assert drawing.axes[0].get_xscale() == "log" and drawing.axes[0].get_ylim()[1] <= 100.5
    assert legend(drawing) == ["Ignore", "AN"]


def test_mode_gaps_are_over_known_labels() -> None:
    rows = [
        scores(family, value, mean, first="ignore", second="an")
        for family, value, mean in (
            ("rpa", 10, 0.1), ("rpa", 100, 0.05), ("fpc", 10, -0.2), ("fpc", 100, -0.1)
        )
    ]  # fmt: skip
    drawing = figures.make("mode-gap")(pd.DataFrame(rows))
    (axes,) = drawing.axes
    shown = named_lines(axes)
    assert shown["rpa"].get_xdata().tolist() == [0.01, 0.1]
    np.testing.assert_allclose(shown["fpc"].get_ydata(), [-20, -10])
    assert axes.get_ylabel() == "Ignore minus AN, points"
    assert drawing.get_supxlabel() == "Above 0: Ignore is ahead. Bands: 95 % over 3 draws."


@pytest.mark.parametrize("name", ["modes", "mode-gap"])
def test_one_amount_is_too_few(name: str) -> None:
    with pytest.raises(BadInput, match=f"{name}: .* two amounts; compare several"):
        figures.make(name)(pd.DataFrame([LONE]))


def test_score_pairs_have_both_scores_and_intervals() -> None:
    table = pd.DataFrame([*MODES, scores("rpa", 10.0, 0.3, method="csl")])
    scheme = "rpa(x=10)"
    table.loc[table["measure"] == "person", ["mean", "low", "high"]] -= 0.2
    (axes,) = figures.make("score-pair", scheme=scheme)(table).axes
    shown = named_lines(axes)
    assert list(shown) == ["Ignore", "AN"]  # csl lacks one of them
    np.testing.assert_allclose(shown["Ignore"].get_xydata(), [[95, 75]])
    across, up = axes.collections[:2]
    np.testing.assert_allclose(across.get_segments(), [[[85, 75], [105, 75]]])
    np.testing.assert_allclose(up.get_segments(), [[[95, 65], [95, 85]]])
    (turned,) = figures.make("score-pair", scheme=scheme, x="person", y="map")(table).axes
    assert turned.get_xlabel() == "AP of person, points"
    np.testing.assert_allclose(named_lines(turned)["AN"].get_xydata(), [[30, 50]])
    with pytest.raises(BadInput, match="score-pair: two measures are needed"):
        figures.make("score-pair")(table[table["measure"] == "map"])
    with pytest.raises(BadInput, match=r"score-pair: .*scheme.*did you mean 'rpa\(x=10\)'"):
        figures.make("score-pair", scheme="rpa(x=1)")(table)


def test_named_shares_are_dots_and_those_that_lack_most_have_names() -> None:
    table = pd.DataFrame(
        {
            "scheme": ["rpa"] * 3 + ["fpc"] * 3,
            "class": ["sky", "dog", "cat"] * 2,
            "true": [1000, 100, 20] * 2,
            "present": [100, 10, 2, 20, 20, 0],
        }
    )
    drawing = figures.make("named-share", named=2)(table)
    rpa, fpc = drawing.axes
    points = named_lines(fpc)["class"].get_xydata()
    np.testing.assert_array_equal(points, [[1000, 20], [100, 20], [20, 0.5]])
    assert {text.get_text() for text in fpc.texts} == {"sky", "dog"}
    assert (rpa.get_xscale(), rpa.get_yscale()) == ("log", "log")
    assert drawing.get_supxlabel() == "At 0.5: classes without a label."


def test_rank_agreement_has_a_line_for_each_estimate_that_ranks() -> None:
    table = pd.DataFrame(
        {
            "estimate": ["ignore"] * 3 + ["an"] * 3 + ["labels"] * 3,
            "top": [2, 3, 4] * 3,
            "spearman": [1.0, 0.9, 0.8, np.nan, 0.5, 0.1, *[np.nan] * 3],
        }
    )
    drawing = figures.make("rank-agreement")(table)
    (axes,) = drawing.axes
    shown = named_lines(axes)
    np.testing.assert_array_equal(shown["AN"].get_xydata(), [[2, np.nan], [3, 0.5], [4, 0.1]])
    assert sorted(legend(drawing)) == ["AN", "Ignore"] == sorted(shown)
    assert "Not shown: 1" in drawing.get_supxlabel()


def test_readings_stand_upon_each_other() -> None:
    counts = {
        "present": [10, 5], "absent": [10, 5], "ignored": [0, 90], "ignored_present": [0, 30],
        "assumed": [80, 0], "wrong": [60, 0],
    }  # fmt: skip
    one = pd.DataFrame({"rank": [0, 1], "images": [100, 100], **counts})
    table = pd.concat([one.assign(method=name)[::-1] for name in ("an", "csl")])
    drawing = figures.make("readings")(table)
    assert [axes.get_title("left") for axes in drawing.axes] == ["AN", "CSL"]
    parts = {part.get_label(): part for part in drawing.axes[0].containers}
    heights = {name: [bar.get_height() for bar in part] for name, part in parts.items()}
    assert heights == {
        "labelled": pytest.approx([0.2, 0.1]),
        "assumed absent, correct": pytest.approx([0.2, 0.0]),
        "assumed absent, wrong": pytest.approx([0.6, 0.0]),
        "ignored, absent": pytest.approx([0.0, 0.6]),
        "ignored, present": pytest.approx([0.0, 0.3]),
    }
    wrong = parts["assumed absent, wrong"][0]
    assert wrong.get_y() == pytest.approx(0.4) and wrong.get_hatch()
    assert legend(drawing) == list(heights)
