"""The best buy of each budget, by hand."""

import numpy as np
import pyarrow as pa
import pytest
from simkit.study.summary import sentences
from simkit.study.told.verdict import verdicts

from simkit.study import runs
from tests.study.planted import row


def table(scores):
    rows = [
        row(scheme=scheme, method=method, budget=100.0, draw=draw, map=one)
        for (scheme, method), values in scores.items()
        for draw, one in enumerate(values)
    ]
    rows.append(row(scheme="full-subset", method="full", draw=0, map=0.99, reference=True))
    return pa.Table.from_pylist(rows, schema=runs.SCHEMA)


def test_the_best_of_each_scheme_are_compared_draw_by_draw():
    told = verdicts(
        table(
            {
                ("rpa", "an"): [0.50, 0.54, 0.581],
                ("rpa", "ll-r"): [0.60, 0.64, 0.68],
                ("fpc", "an"): [0.55, 0.58, 0.64],
            }
        )
    )
    # 5, 6 and 4 points: mean 5, standard error 1 / sqrt 3, t(2) = 4.303: 2.5 to 7.5.
    assert told == [
        "For $100 buy rpa and train ll-r: 64.0 ±9.9 mAP, +5.0 points (2.5 to 7.5) over fpc with an."
    ]


def test_a_lead_within_noise_names_both_schemes():
    assert verdicts(table({("rpa", "an"): [0.5, 0.6], ("fpc", "an"): [0.56, 0.52]})) == [
        "For $100 buy any of rpa, fpc, which cannot be told apart: rpa with an has 55.0 ±63.5 mAP, "
        "+1.0 points (-87.9 to 89.9) over fpc with an."
    ]


def test_methods_that_cannot_be_told_apart_are_all_named():
    told = verdicts(
        table(
            {
                ("rpa", "csl(top_k=3)"): [0.60, 0.64, 0.68],
                ("rpa", "an"): [0.30, 0.34, 0.38],
                ("rpa", "ll-r"): [0.64, 0.60, 0.66],
                ("fpc", "an"): [0.55, 0.58, 0.64],
            }
        )
    )
    assert told == [
        "For $100 buy rpa and train any of csl(top_k=3), ll-r, which cannot be told apart: "
        "csl(top_k=3) has 64.0 ±9.9 mAP, +5.0 points (2.5 to 7.5) over fpc with an."
    ]


def test_of_schemes_that_some_beat_and_some_do_not_all_is_said():
    told = verdicts(
        table(
            {
                ("rpa", "an"): [0.60, 0.62, 0.64, 0.63],
                ("fpc", "an"): [0.50, 0.521, 0.539, 0.53],  # 10 points, always
                ("single-positive", "an"): [0.10, 0.70, 0.20, 0.75],
            }
        )
    )
    # -16.25, 8, -44 and 12 points of single-positive's own spread: 18.5 on the mean
    (one,) = told
    assert one.startswith(
        "For $100 buy any of rpa, single-positive, which cannot be told apart: rpa with an has "
        "62.2 ±2.7 mAP, +18.5 points (-"
    )
    assert one.endswith(") over single-positive with an; worse beyond noise: fpc.")


LUCK = [0.0, 0.0, 0.0, 0.10, 0.10]


def unpaired(better, worse):
    """`better` in every shared draw; `worse` lacks the unlucky ones and has the higher mean."""
    rows = [
        row(scheme=scheme, method=method, budget=50.0, draw=draw, map=score)
        for (scheme, method), first, level in ((better, 0, 0.501), (worse, 2, 0.48))
        for draw in range(first, 5)
        for score in [level + LUCK[draw] + 0.0005 * (draw % 2)]
    ]
    rows[0]["map"] += 0.0001
    rows[-1]["map"] += 0.0001
    return pa.Table.from_pylist(rows, schema=runs.SCHEMA)


def test_luckier_draws_do_not_make_a_scheme_the_best():
    (told,) = verdicts(unpaired(("rpa", "an"), ("fpc", "an")))
    assert told.startswith("For $50 buy rpa and train an: 54.1 ±6.8 mAP, +2.1 points (")
    assert told.endswith(") over fpc with an.")


def test_luckier_draws_do_not_make_a_method_the_best():
    found = unpaired(("rpa", "an"), ("rpa", "ll-r"))
    assert verdicts(found) == ["For $50 buy rpa and train an: 54.1 ±6.8 mAP."]
    (sentence,) = sentences(found)
    assert sentence.startswith("rpa at $50: an wins with 54.1 ±6.8 mAP, +2.1 points (")


@pytest.mark.parametrize(("schemes", "methods", "draws"), [(6, 1, 5), (4, 4, 3)])
def test_of_equal_schemes_none_is_left_out_more_often_than_stated(schemes, methods, draws):
    rng, repetitions, left_out = np.random.default_rng(5), 150, 0
    for _ in range(repetitions):
        luck = rng.normal(0.5, 0.01, draws)
        places = [(f"s{s}", f"m{m}") for s in range(schemes) for m in range(methods)]
        (told,) = verdicts(table({p: luck + rng.normal(0, 0.01, draws) for p in places}))
        left_out += "worse beyond noise" in told or "buy any of" not in told
    assert left_out <= repetitions * 0.05 + 3 * (repetitions * 0.05 * 0.95) ** 0.5


def test_one_scheme_that_is_better_is_found():
    rng, repetitions, found = np.random.default_rng(6), 40, 0
    for _ in range(repetitions):
        places = [(f"s{s}", f"m{m}") for s in range(6) for m in range(3)]
        scores = {p: rng.normal(0.5 + 0.1 * (p[0] == "s4"), 0.01, 5) for p in places}
        (told,) = verdicts(table(scores))
        found += told.startswith("For $100 buy s4 and train ")
    assert found >= 0.9 * repetitions


def test_labels_of_the_sweep_are_named_beside_the_budget():
    swept = {"tuned": "{}", "tuned_runs": 3, "tuned_dollars": 192.0}
    rows = [
        row(scheme="rpa", method="an", budget=20.0, draw=draw, map=0.5, **swept) for draw in (0, 1)
    ]
    assert verdicts(pa.Table.from_pylist(rows, schema=runs.SCHEMA)) == [
        "For $20, and $192 of labels that chose settings, buy rpa and train an: 50.0 ±0.0 mAP."
    ]


def test_one_draw_tells_nothing():
    assert verdicts(table({("rpa", "an"): [0.5], ("fpc", "an"): [0.4]})) == [
        "For $100 rpa with an is highest with 50.0 mAP, but one draw cannot tell."
    ]


@pytest.mark.parametrize("scheme", ["rpa"])
def test_one_scheme_alone(scheme):
    assert verdicts(table({(scheme, "an"): [0.5, 0.5]})) == [
        "For $100 buy rpa and train an: 50.0 ±0.0 mAP."
    ]


def test_amounts_as_written_have_no_budget_and_no_verdict():
    rows = [row(scheme="rpa", method="an", budget=None, draw=0, map=0.5)]
    assert verdicts(pa.Table.from_pylist(rows, schema=runs.SCHEMA)) == []
