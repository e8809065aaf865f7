"""Every analysis of a table, given all kinds of tables: an answer, or one sentence with a mend.

No other error and no warning, whatever came; what a run needs is named where it lacks; and what an
analysis does not look at may be missing.
"""

import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pyarrow as pa
import pytest

from simkit.errors import BadInput
from simkit.study import analysis, runs
from simkit.study.analysis.comparing.ablation import ablation
from simkit.study.analysis.comparing.by_class import by_class
from simkit.study.analysis.comparing.chosen import some_methods, under, within
from simkit.study.analysis.comparing.courses import courses
from simkit.study.analysis.comparing.images_or_labels import images_or_labels
from simkit.study.analysis.comparing.paired import paired
from simkit.study.analysis.comparing.ranks import ranks
from simkit.study.analysis.comparing.shares import shares
from simkit.study.analysis.comparing.sweep import sweep
from simkit.study.analysis.priors.modes import mode_gaps, modes, with_class_ap
from tests.study import planted

WHERE = {"scheme", "method", "draw"}
AMOUNT = {"budget", "budget_hours"}
PAIRED = WHERE | AMOUNT | {"reference", "map"}
COUNTED = {"present", "absent", "unknown"}
COURSE = WHERE | AMOUNT | {"reference", "epochs", "curve_of"}
LIMIT = {"budget": None, "hours": None}

# Each with the columns it needs.
OF_RUNS = {
    "ablation": (lambda t: ablation(t, "an"), PAIRED),
    "sweep": (lambda t: sweep(t, "delta"), PAIRED),
    "paired": (lambda t: paired(t, metric="map", asker="x", **LIMIT), PAIRED),
    "shares": (lambda t: shares(t, base="an"), PAIRED | {"present", "absent"}),
    "images_or_labels": (
        images_or_labels,
        WHERE | AMOUNT | {"map", "images", "present", "absent"},
    ),
    "ranks": (ranks, PAIRED | {"labels_id", "dollars", "seconds", "images"}),
    "courses": (lambda t: courses(t, "curve"), COURSE | {"curve"}),
    "losses": (lambda t: courses(t, "losses"), COURSE | {"losses"}),
    "by_class": (
        lambda t: by_class(of_rpa(t), methods="an, ll-r", asker="x"),
        WHERE | {"images", "ap", "class_present", "class_absent", "map", "map_all"},
    ),
    "modes": (modes, PAIRED | COUNTED | {"scheme_spec"}),
    "modes of a class": (lambda t: modes(t, "cat"), PAIRED | COUNTED | {"scheme_spec", "ap"}),
    "mode_gaps": (lambda t: mode_gaps(t, "ll-r", "an"), PAIRED | COUNTED | {"scheme_spec"}),
    "with_class_ap": (lambda t: with_class_ap(t, "cat"), {"ap"}),
    "within": (lambda t: within(t, asker="x", **LIMIT), AMOUNT | {"reference"}),
    "under": (lambda t: under(t, scheme="", asker="x"), {"scheme"}),
    "some_methods": (lambda t: some_methods(t, wanted="", most=3, asker="x"), {"method", "map"}),
}
EVERY = {name: act for name, (act, _) in OF_RUNS.items()}
SCORED = ("ablation", "sweep", "paired", "shares", "images_or_labels", "ranks", "modes")
RUNS = pytest.mark.parametrize("name", OF_RUNS)


def of_rpa(given):
    """Only its runs under one scheme, where it says so."""
    if not isinstance(given, pa.Table) or given.column_names.count("scheme") != 1:
        return given
    kept = [
        scheme in ("rpa", None) or isinstance(scheme, dict)
        for scheme in given["scheme"].to_pylist()
    ]
    return given.filter(pa.array(kept, pa.bool_()))


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


def table(made=None) -> pa.Table:
    return runs.tidy(rows() if made is None else made, classes=("cat", "dog"), leaves=(0, 1))


def answer(act, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return act(given)


def refused(act, given) -> str:
    with pytest.raises(BadInput) as error:
        answer(act, given)
    return str(error.value)


def test_every_analysis_of_a_table_is_here() -> None:
    found = set()
    for module in pkgutil.walk_packages(analysis.__path__, f"{analysis.__name__}."):
        for name, one in vars(importlib.import_module(module.name)).items():
            if inspect.isfunction(one) and one.__module__ == module.name and name[0] != "_":
                first, *_ = inspect.signature(one).parameters.values()
                makes = inspect.signature(one).return_annotation != "None"
                if "pa.Table" in str(first.annotation) and makes:
                    found.add(name)
    assert found == {name for name in EVERY if " " not in name} - {"losses"}


@RUNS
def test_a_right_table_has_an_answer(name) -> None:
    act, _ = OF_RUNS[name]
    assert answer(act, table()) is not None
    one_draw = [one for one in rows() if not one["draw"]]
    assert answer(act, table(one_draw)) is not None


@RUNS
def test_failed_runs_are_left_out(name) -> None:
    act, _ = OF_RUNS[name]
    nothing = dict.fromkeys([*runs.SCHEMA.names[9:]])
    some = [one | nothing if one["draw"] == 1 and one["method"] != "an" else one for one in rows()]
    assert answer(act, table(some)) is not None


@RUNS
def test_a_column_that_is_missing_is_named(name) -> None:
    act, needs = OF_RUNS[name]
    whole = table()
    for column in whole.column_names:
        less = whole.drop_columns([column])
        if column not in needs:
            answer(act, less)
        elif column == "map" and name in (*SCORED, "mode_gaps", "some_methods"):
            assert "'map'" in refused(act, less)  # as a metric
        else:
            assert f"the table has no column {column!r}; give a table of runs" in refused(act, less)


@RUNS
def test_a_column_of_another_kind_is_named(name) -> None:
    act, needs = OF_RUNS[name]
    whole = table()
    for place, column in enumerate(whole.column_names):
        odd = pa.array([{"a": 1}] * len(whole))
        other = whole.set_column(place, column, odd)
        if column in needs:
            assert f"{column!r}" in refused(act, other)
        else:
            answer(act, other)


@pytest.mark.parametrize("name", EVERY)
def test_tables_of_another_kind_are_refused(name) -> None:
    act = EVERY[name]
    for given in (pa.table({}), pa.table({"a": [1], "b": ["x"]}), None, table().to_pylist()):
        assert "; give " in refused(act, given)
    empty = table([])
    assert any(word in refused(act, empty) for word in ("; run a ", "; give ", "; compare "))


@pytest.mark.parametrize("name", [*SCORED, "mode_gaps"])
@pytest.mark.parametrize("score", [None, float("nan"), float("inf")])
def test_a_table_without_scores_is_refused(name, score) -> None:
    refused(OF_RUNS[name][0], table(rows(map=score)))


@RUNS
@pytest.mark.parametrize("column", ["scheme", "method", "draw", "reference"])
def test_a_run_without_a_place_is_refused(name, column) -> None:
    act, needs = OF_RUNS[name]
    if column in needs:
        told = refused(act, table(rows(**{column: None})))
        assert f"column {column!r} lacks values; " in told


@RUNS
def test_several_data_sets_in_one_table_are_refused(name) -> None:
    both = table([*rows(), *rows(test_id="another")])
    told = refused(OF_RUNS[name][0], both)
    assert told.endswith("the runs were scored on 2 test splits; give the runs of one data set")


def test_several_tables_of_data_sets_are_refused() -> None:
    told = refused(images_or_labels, [table(), table(rows(test_id="another"))])
    assert told.endswith("the runs were scored on 2 test splits; give the runs of one data set")


@pytest.mark.parametrize("name", [*SCORED, "mode_gaps", "courses", "losses", "by_class"])
def test_two_results_of_one_draw_are_refused(name) -> None:
    again = [
        one | {"map": one["map"] / 2, "curve": [0.0], "losses": [9.0], "ap": [0.1, None]}
        for one in rows()
        if one["method"] == "an" and one["scheme"] == "rpa"
    ]
    told = refused(OF_RUNS[name][0], table([*rows(), *again]))
    assert "draw 0 of 'an' under 'rpa' is in the table twice, with different results" in told
    answer(OF_RUNS[name][0], table([*rows(), *rows()]))  # the same ones do no harm


@pytest.mark.parametrize("name", ["ranks", "courses", "losses", "modes", "mode_gaps"])
def test_several_budgets_where_one_is_expected_are_refused(name) -> None:
    bought = [one for one in rows() if not one["reference"]]
    both = table([one | {"budget": budget} for budget in (10.0, 20.0) for one in bought])
    told = refused(OF_RUNS[name][0], both)
    assert "the table holds the budgets $10, $20; " in told and told.endswith(
        ("give the runs of one of them", "name one of them as budget")
    )


def test_several_schemes_where_one_is_expected_are_refused() -> None:
    told = refused(lambda t: by_class(t, methods="an", asker="x"), table())
    assert told == "x: the runs are of the schemes full-subset, rpa; give those of one of them"


@pytest.mark.parametrize(
    ("act", "name"),
    [
        (lambda t: ablation(t, "am"), "'am'"),
        (lambda t: ablation(t, "an", methods=["am"]), "'am'"),
        (lambda t: shares(t, base="am"), "'am'"),
        (lambda t: modes(t, methods="am"), "'am'"),
        (lambda t: mode_gaps(t, "an", "am"), "'am'"),
        (lambda t: some_methods(t, wanted="am", most=3, asker="x"), "'am'"),
        (lambda t: ablation(t, "an", metric="mat"), "'mat'"),
        (lambda t: ranks(t, metric="scheme"), "'scheme'"),
        (lambda t: ranks(t, test="pair"), "'pair'"),
        (lambda t: courses(t, "curves"), "'curves'"),
        (lambda t: sweep(t, "delta", of="methods"), "'methods'"),
        (lambda t: under(t, scheme="rpaa", asker="x"), "'rpaa'"),
        (lambda t: modes(t, "kat"), "'kat'"),
        (lambda t: with_class_ap(t, "kat"), "'kat'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(act, name) -> None:
    assert name in refused(act, table())
