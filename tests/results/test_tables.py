"""Every analysis of a table, given all kinds of tables: an answer, or one sentence with a mend.

No other error and no warning, whatever came; what a run needs is named where it lacks; and columns
that an analysis does not look at may be missing.
"""

import inspect
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from simkit import analysis
from simkit.errors import BadInput
from simkit.results import runs
from simkit.results.result_tables import opened
from tests.results import planted

WHERE = {"scheme", "method", "draw"}
AMOUNT = {"budget", "budget_hours"}
SCORED = WHERE | AMOUNT | {"reference", "map"}
COUNTED = {"present", "absent", "unknown"}
COURSE = WHERE | AMOUNT | {"reference", "epochs", "curve_of"}

# Each with the columns it needs.
OF_RUNS = {
    "ablation": (lambda t: analysis.ablation(t, "an"), SCORED),
    "sweep": (lambda t: analysis.sweep(t, "delta"), SCORED),
    "shares": (lambda t: analysis.shares(t, base="an"), SCORED | {"present", "absent"}),
    "images_or_labels": (
        analysis.images_or_labels,
        WHERE | AMOUNT | {"map", "images", "present", "absent"},
    ),
    "ranks": (analysis.ranks, SCORED | {"labels_id"}),
    "courses": (lambda t: analysis.courses(t, "curve"), COURSE | {"curve"}),
    "courses of losses": (lambda t: analysis.courses(t, "losses"), COURSE | {"losses"}),
    "by_class": (
        lambda t: analysis.by_class(of_rpa(t), methods="an, ll-r"),
        WHERE | {"images", "ap", "class_present", "class_absent"},
    ),
    "modes": (analysis.modes, SCORED | COUNTED | {"scheme_spec"}),
    "modes of a class": (
        lambda t: analysis.modes(t, "cat"),
        (SCORED | COUNTED | {"scheme_spec", "ap"}) - {"map"},
    ),
    "mode_gaps": (
        lambda t: analysis.mode_gaps(t, "ll-r", "an"),
        SCORED | COUNTED | {"scheme_spec"},
    ),
    "variance": (analysis.variance, SCORED),
    "with_class_ap": (lambda t: analysis.with_class_ap(t, "cat"), {"ap"}),
}
OF_RESULTS = {"damage_summary", "early_share", "loss_at", "loss_gradient", "top_score_medians"}
OF_SCORES = [name for name, (_, needs) in OF_RUNS.items() if "map" in needs]
EVERY = pytest.mark.parametrize("name", OF_RUNS)


def of_rpa(table):
    """Only the runs under one scheme, where they say so."""
    frame = opened(table)
    if not isinstance(frame, pd.DataFrame) or "scheme" not in frame:
        return table
    return frame[[scheme != "full-subset" for scheme in frame["scheme"]]]


def row(scheme, method, draw, score, **fields):
    return planted.row(
        scheme=scheme, scheme_spec=scheme, method=method, draw=draw, map=score, map_all=score,
        ap=[score, None], class_present=[3, 4], class_absent=[5, 6], present=7, absent=11,
        unknown=22, curve=[0.1, 0.2], losses=[1.0, 0.5], epochs=2, curve_of="val", test_id="t",
    ) | fields  # fmt: skip


def rows(**fields):
    luck = np.random.default_rng(0).normal(0.5, 0.02, (2, 3, 3))
    made = [
        row(scheme, method, draw, luck[s, m, draw])
        for s, scheme in enumerate(("full-subset", "rpa"))
        for m, method in enumerate(("an", "ll-r", "ll-r(delta=0.3)"))
        for draw in range(3)
    ]
    every = {"reference": True, "present": 20, "absent": 20, "unknown": 0, "class_present": [9, 9]}
    made += [row("full-subset", "full", draw, 0.9) | every for draw in range(3)]
    return [one | fields for one in made]


def table(made=None) -> pd.DataFrame:
    return opened(
        runs.to_table(
            rows() if made is None else made, {"classes": ("cat", "dog"), "leaves": (0, 1)}
        )
    )


def answer(name, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return OF_RUNS[name][0](given)


def refused(name, given) -> str:
    with pytest.raises(BadInput) as error:
        answer(name, given)
    return str(error.value)


def test_every_analysis_of_a_table_is_here() -> None:
    def first(name):
        value = getattr(analysis, name)
        if inspect.isclass(value) or not callable(value):
            return ""
        return next(iter(inspect.signature(value).parameters))

    of_tables = {name for name in dir(analysis) if first(name) in ("runs", "table")}
    assert of_tables - OF_RESULTS == {name for name in OF_RUNS if " " not in name}


@EVERY
def test_a_table_of_runs_has_an_answer_in_any_form(name) -> None:
    whole = table()
    found = answer(name, whole)
    arrow = runs.to_table(rows(), {"classes": ("cat", "dog"), "leaves": (0, 1)})
    coded = whole.astype(dict.fromkeys(("scheme", "method", "scheme_spec"), "category"))
    coded.attrs = whole.attrs
    if isinstance(found, pd.DataFrame) and name != "with_class_ap":
        pd.testing.assert_frame_equal(answer(name, arrow), found)
        pd.testing.assert_frame_equal(answer(name, coded), found)
    one_draw = table([one for one in rows() if not one["draw"]])
    if name == "variance":
        assert "at least two schemes" in refused(name, one_draw)
    else:
        assert answer(name, one_draw) is not None


@EVERY
def test_failed_runs_are_left_out(name) -> None:
    nothing = dict.fromkeys([*runs.SCHEMA.names[9:]])
    some = [one | nothing if one["draw"] == 1 and one["method"] != "an" else one for one in rows()]
    assert answer(name, table(some)) is not None


@EVERY
def test_a_column_that_is_missing_or_of_another_kind_is_named(name) -> None:
    whole, needs = table(), OF_RUNS[name][1]
    odd = [{"a": 1}] * len(whole)
    for column in needs:
        assert f"{column!r}" in refused(name, whole.drop(columns=column))
        assert f"{column!r}" in refused(name, whole.assign(**{column: odd}))
        if column in ("scheme", "method", "draw", "reference"):
            assert f"column {column!r} " in refused(name, table(rows(**{column: None})))
    others = [column for column in whole if column not in needs]
    answer(name, whole.drop(columns=others))
    optional = ("test_id", "tuned_error")  # read where they are there
    answer(name, whole.assign(**{column: odd for column in others if column not in optional}))


@EVERY
def test_tables_of_another_kind_are_refused(name) -> None:
    for given in (pd.DataFrame(), pa.table({"a": [1]}), pd.DataFrame({"a": [1]}), None, rows()):
        assert "; pass " in refused(name, given)
    mends = ("; run ", "; pass ", "; compare ", "; set ")
    assert any(mend in refused(name, table([])) for mend in mends)


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("score", [None, float("nan"), float("inf")])
def test_a_table_without_scores_is_refused(name, score) -> None:
    refused(name, table(rows(map=score)))


@EVERY
def test_several_data_sets_in_one_table_are_refused(name) -> None:
    both = [table(), table(rows(test_id="another"))]
    wanted = "scored on 2 test splits"
    assert wanted in refused(name, table([*rows(), *rows(test_id="another")]))
    if name == "images_or_labels":
        assert wanted in refused(name, both)


@pytest.mark.parametrize("name", [*OF_SCORES, "courses", "courses of losses", "by_class"])
def test_two_results_of_one_draw_are_refused(name) -> None:
    again = [
        one | {"map": one["map"] / 2, "curve": [0.0], "losses": [9.0], "ap": [0.1, None]}
        for one in rows()
        if one["method"] == "an" and one["scheme"] == "rpa"
    ]
    sentence = refused(name, table([*rows(), *again]))
    assert "two results of draw 0 of 'an' under 'rpa'" in sentence
    answer(name, table([*rows(), *rows()]))  # the same ones do no harm


@pytest.mark.parametrize(
    "name", ["ranks", "courses", "courses of losses", "modes", "mode_gaps", "variance"]
)
def test_several_budgets_where_one_is_expected_are_refused(name) -> None:
    bought = [one for one in rows() if not one["reference"]]
    both = table([one | {"budget": budget} for budget in (10.0, 20.0) for one in bought])
    assert "the budgets $10, $20; " in refused(name, both)


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (lambda t: analysis.ablation(t, "am"), "'am'"),
        (lambda t: analysis.shares(t, base="am"), "'am'"),
        (lambda t: analysis.modes(t, methods="am"), "'am'"),
        (lambda t: analysis.ablation(t, "an", metric="mat"), "'mat'"),
        (lambda t: analysis.sweep(t, "delta", metric="ap"), "'ap'"),
        (lambda t: analysis.shares(t, metric="curve_of"), "'curve_of'"),
        (lambda t: analysis.images_or_labels(t, metric="nope"), "'nope'"),
        (lambda t: analysis.ranks(t, metric="scheme"), "'scheme'"),
        (lambda t: analysis.ranks(t, test="pair"), "'pair'"),
        (lambda t: analysis.with_class_ap(t, "kat"), "'kat'"),
    ],
)
def test_what_is_not_there_is_named(act, name) -> None:
    with pytest.raises(BadInput, match=f"(called|column) {name}[ ;]"):
        act(table())
