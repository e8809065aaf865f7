"""Scores over an amount, on planted runs: settings, shares of labels, numbers of images, modes."""

from itertools import chain

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simkit.errors import BadInput
from simkit.papers.analysis.amounts import (
    images_or_labels,
    mode_gaps,
    modes,
    shares,
    sweep,
    with_class_ap,
)
from simkit.results import runs
from simkit.results.result_tables import failures
from tests.results.planted import row

LL = {"ll-r(delta=0.3)": 0.5, "ll-r(delta=0.05)": 0.4, "ll-r": 0.45, "an": 0.3}


def spelled(scores, schemes=("rpa",), draws=3, **fields):
    """{method: mean}, draws apart by two points."""
    rows = [
        row(scheme=scheme, method=method, draw=d, map=score + 0.02 * d, **fields)
        for scheme in schemes
        for d in range(draws)
        for method, score in scores.items()
    ]
    return runs.to_table(rows)


def test_a_sweep_ascends_and_marks_the_default() -> None:
    found = sweep(spelled(LL), "delta")
    assert set(found["method"]) == {"ll-r"} and set(found["setting"]) == {"delta"}
    assert found["value"].tolist() == ["0.05", "0.3", "0.5"]
    assert found["number"].tolist() == [0.05, 0.3, 0.5]
    assert found["default"].tolist() == [False, False, True]
    np.testing.assert_allclose(found["mean"], [0.42, 0.52, 0.47])
    # t(0.975, 2) * 0.02 / sqrt(3)
    np.testing.assert_allclose(found["high"] - found["mean"], 4.3027 * 0.02 / 3**0.5, rtol=1e-4)
    np.testing.assert_allclose(found["gap"], [-0.05, 0.05, np.nan])
    close = sweep(spelled({"se": 0.5, "se(k=20)": 0.51}), "k").iloc[1]
    assert close["gap_high"] - close["gap_low"] < close["high"] - close["low"]
    without = sweep(spelled({"ll-r(delta=0.3)": 0.5, "ll-r(delta=0.1)": 0.4}), "delta")
    assert without["gap"].isna().all()  # the default was not run


def test_every_interval_has_the_error_of_the_choice_of_settings() -> None:
    scores, luck = {"an": 0.5, "ll-r": 0.45, "ll-r(delta=0.3)": 0.4}, np.array([0.0, 0.01, -0.01])
    fields = {"scheme_spec": "rpa", "budget": 9.0, "tuned_error": 0.03}
    counts = {"present": 5, "absent": 5, "unknown": 10}
    rows = [
        row(scheme="rpa", method=name, draw=d, map=score + luck[d - place], **fields, **counts)
        for place, (name, score) in enumerate(scores.items()) for d in range(3)
    ]  # fmt: skip
    whole = {"scheme": "full-subset", "method": "an", "reference": True, **counts}
    table = runs.to_table([*rows, *(row(draw=d, map=0.7, **whole) for d in range(3))])
    t = stats.t.ppf(0.975, 2)
    of_mean = t * np.hypot(np.std(luck, ddof=1) / 3**0.5, 0.03)
    for found in (
        modes(table), sweep(table, "delta"), shares(table), images_or_labels(table),
    ):  # fmt: skip
        np.testing.assert_allclose((found["high"] - found["mean"])[:2], of_mean)
    of_gap = t * np.hypot(np.std(luck - np.roll(luck, 1), ddof=1) / 3**0.5, 0.03 * 2**0.5)
    for found in (sweep(table, "delta"), shares(table, base="ll-r")):
        by = found.dropna(subset="gap")
        assert len(by) and np.allclose(by["gap_high"] - by["gap"], of_gap)
    by = mode_gaps(table, "an", "ll-r").iloc[0]
    assert by["high"] - by["mean"] == pytest.approx(of_gap)


def test_a_value_that_is_spelled_twice_counts_once() -> None:
    found = sweep(spelled({"se": 0.5, "se(k=10)": 0.9, "se(k=20)": 0.5}), "k")
    assert found["value"].tolist() == ["10", "20"] and found["mean"].round(3).tolist() == [0.52] * 2
    close = {"ll-r(delta=0.12345678)": 0.5, "ll-r(delta=0.12345679)": 0.4, "ll-r(delta=0.1)": 0.3}
    wanted = ["0.1", "0.12345678", "0.12345679"]
    assert sweep(spelled(close), "delta")["value"].tolist() == wanted


def test_a_sweep_keeps_other_settings_apart() -> None:
    scores = {
        "ll-r+boostlu": 0.5,
        "ll-r+boostlu(alpha=2)": 0.4,
        "ll-r(delta=0.3)+boostlu(alpha=2)": 0.3,
        "ll-r(delta=0.3)+boostlu(beta=1.0)": 0.3,
        "ll-r(delta=0.3)+boostlu(beta=1.0, alpha=3)": 0.3,
        "an+boostlu": 0.2,
        "from-elsewhere": 0.2,
    }
    found = sweep(spelled(scores, schemes=("rpa", "fpc")), "alpha")
    names = ("ll-r+boostlu", "ll-r(delta=0.3)+boostlu(beta=1.0)")
    lines = set(found[["scheme", "method"]].itertuples(index=False, name=None))
    assert lines == {(scheme, name) for scheme in ("rpa", "fpc") for name in names}
    assert set(sweep(spelled(scores), "delta")["method"]) == {"ll-r+boostlu(alpha=2.0)"}


@pytest.mark.parametrize(
    ("scores", "setting", "values"),
    [
        ({"se": 0.5, "se(temperature=inverse)": 0.4}, "temperature", ["printed", "inverse"]),
        ({"an+boostlu": 0.5, "an+boostlu(eval=no)": 0.4}, "eval", ["true", "false"]),
    ],
)
def test_values_that_are_no_numbers_keep_the_order_of_the_table(scores, setting, values) -> None:
    found = sweep(spelled(scores), setting)
    assert found["value"].tolist() == values and found["number"].isna().all()
    assert found["default"].tolist() == [True, False]


def test_schemes_are_swept_where_no_method_is() -> None:
    schemes = ("rpa(keep=0.1)", "rpa(keep=0.3)", "fpc(per_class=10)")
    runs_of = spelled({"an": 0.5, "se": 0.4}, schemes=schemes)
    found = sweep(runs_of, "keep")
    assert set(found["scheme"]) == {"rpa"}
    assert found["method"].tolist() == ["an", "an", "se", "se"]
    assert found["value"].tolist() == ["0.1", "0.3"] * 2
    bought = spelled({"an": 0.5}, schemes=("rpa", "rpa(keep=0.3)"), budget=8.0)
    with pytest.raises(BadInput, match=r"'keep' of rpa; sweep another"):
        sweep(bought, "keep")
    assert len(sweep(spelled(LL, budget=8.0), "delta")) == 3


def test_a_sweep_counts_failed_runs() -> None:
    rows = spelled(LL).to_pylist()
    lost = [r for r in rows if (r["method"], r["draw"]) != ("ll-r(delta=0.3)", 2)]
    lost[0]["map"] = np.nan  # of delta=0.3 too
    found = sweep(runs.to_table(lost, {"failures": ["why"]}), "delta")
    assert found.loc[1, ["draws", "missing"]].tolist() == [1, 2] and failures(found) == ("why",)
    assert np.isnan(found.loc[1, "low"]) and not np.isnan(found.loc[1, "gap"])


AMOUNT = "fraction-of-positives(keep={})"


def some_bought(keeps=(0.5, 0.1), methods=("an", "se"), draws=2, reference=True, **fields):
    """SE is two points ahead of AN, and each draw five luckier than the last."""
    made = [
        row(
            scheme=AMOUNT.format(keep), method=method, draw=d,
            map=0.5 * keep + 0.02 * place + 0.05 * d,
            present=int(100 * keep), absent=int(120 * keep), unknown=int(400 - 220 * keep),
        ) | fields
        for keep in keeps
        for d in range(draws)
        for place, method in enumerate(methods)
    ]  # fmt: skip
    every = {"present": 100, "absent": 300, "unknown": 0, "reference": True}
    for d in range(draws if reference else 0):
        made.append(row(scheme="full-subset", method="full", draw=d, map=0.9) | every)
    return made


def bought(**options):
    return runs.to_table(some_bought(**options))


def test_shares_are_of_all_labels_and_the_oracle_stands_last() -> None:
    found = shares(bought())
    first = found.iloc[0]
    assert (first["scheme"], first["method"]) == ("fraction-of-positives", "an")
    assert found["bought"][:2].tolist() == [AMOUNT.format(0.1), AMOUNT.format(0.5)]  # ascending
    assert found["positives"].tolist() == pytest.approx([0.1, 0.5, 0.1, 0.5, 1])
    assert found["labels"].tolist() == pytest.approx([22 / 400, 110 / 400] * 2 + [1])
    assert first["mean"] == pytest.approx(0.075) and first["draws"] == 2
    # t(0.975, 1) * 0.025
    assert first["high"] - first["mean"] == pytest.approx(12.706 * 0.025, rel=1e-3)
    last = found.iloc[-1]
    assert (last["reference"], last["method"], last["scheme"]) == (True, "full", "")
    assert last["mean"] == pytest.approx(0.9) and found["gap"].isna().all()


def test_gaps_of_shares_are_paired_and_on_the_same_labels() -> None:
    found = shares(bought(), base="an")
    assert found["base"].tolist()[:4] == ["an"] * 4
    np.testing.assert_allclose(found["gap"], [np.nan, np.nan, 0.02, 0.02, np.nan])
    wide = found.iloc[2]
    assert wide["gap_high"] - wide["gap_low"] < 0.5 * (wide["high"] - wide["low"])  # ends at 0


def test_budgets_and_other_settings_make_other_shares() -> None:
    parts = [some_bought(keeps=(), reference=True)]
    for budget, keep in ((1234568.0, 0.5), (1234567.0, 0.1)):
        parts.append(some_bought(keeps=(keep,), budget=budget, reference=False))
    found = shares(runs.to_table(list(chain(*parts))))
    spent = found["bought"][found["method"] == "an"].tolist()
    assert spent == [
        f"{AMOUNT.format(k)}, 1,23{n} dollars" for k, n in ((0.1, "4,567"), (0.5, "4,568"))
    ]
    other = [
        r | {"scheme": scheme}
        for scheme in ("fraction-of-positives(keep=0.5, ratio=0.0)", "ours(v2)")
        for r in some_bought(keeps=(0.5,), reference=False)
    ]
    names = set(shares(runs.to_table([*some_bought(), *other]))["scheme"])
    assert names == {"fraction-of-positives", "fraction-of-positives(ratio=0.0)", "ours(v2)", ""}


def test_shares_leave_out_failed_runs() -> None:
    some = some_bought()
    some[0]["map"], some[1]["map"] = None, np.nan
    found = shares(runs.to_table(some), base="an")
    lost = found[found["bought"] == AMOUNT.format(0.5)]
    assert lost["draws"].tolist() == [1, 1] and lost["low"].isna().all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reference": False}, "no reference .* reference = true"),
        ({"keeps": ()}, "no runs; run a comparison"),
        ({"present": None}, "no runs; run a comparison"),
    ],
)
def test_shares_without_what_they_are_of_are_refused(options, words) -> None:
    with pytest.raises(BadInput, match=words):
        shares(bought(**options))
    nothing = [r | {"present": 0} for r in some_bought()]
    with pytest.raises(BadInput, match="no reference with present labels"):
        shares(runs.to_table(nothing))


def some(scheme: str, method: str, points: dict[int, list[float]], labels: int, **more):
    return [
        row(
            scheme=scheme, method=method, images=images, draw=draw, map=score,
            present=images, absent=images * (labels - 1), unknown=0, dollars=1.0, **more,
        )
        for images, scores in points.items()
        for draw, score in enumerate(scores)
    ]  # fmt: skip


def tables(*parts):
    return runs.to_table(list(chain(*parts)), {"classes": ("cat", "dog")})


FULL = some("full-subset", "full", {100: [0.4, 0.6], 200: [0.6], 400: [0.8, 0.8]}, 10)
WEAK = some("single-positive", "an", {100: [0.3], 200: [0.4], 400: [0.7, 0.7]}, 1)


def compared(*parts):
    return images_or_labels(tables(*parts)).set_index(["method", "images"])


def test_images_or_labels_says_what_is_equal() -> None:
    found = compared(FULL, WEAK)
    first, best = found.loc[("full", 100)], found.loc[("an", 400)]
    assert first["complete"] and first["labels"] == 1000 and first["share"] == 0.25
    assert first["mean"] == pytest.approx(0.5) and first["draws"] == 2 and first["low"] < 0.4
    assert np.isnan(first["equal_images"]) and np.isnan(first["fewer"])
    # 0.7 lies half way between 200 and 400 images, on a log scale.
    assert best["equal_images"] == pytest.approx(np.sqrt(200 * 400))
    assert best["fewer"] == pytest.approx(10 * np.sqrt(200 * 400) / 400)
    assert np.isnan(found.loc[("an", 200), "equal_images"])  # below 100 complete images
    assert np.isnan(found.loc[("an", 200), "low"])  # one draw


def test_images_or_labels_takes_several_tables_and_references() -> None:
    reference = some("full-subset", "full", {400: [0.8, 0.8]}, 10, reference=True)
    apart = images_or_labels([tables(FULL[:3]), tables(WEAK, reference)])
    pd.testing.assert_frame_equal(apart, images_or_labels(tables(FULL, WEAK)))


def test_budgets_stand_apart_and_their_draws_together() -> None:
    fpc = [
        row(scheme="fpc", method="an", budget=budget, draw=draw, map=score + 0.02 * draw,
            images=images - 2 * draw, present=labels, absent=0, unknown=0)
        for budget, images, labels, score in ((5.0, 399, 100, 0.55), (9.0, 399, 200, 0.7))
        for draw in range(2)
    ]  # fmt: skip
    found = images_or_labels(tables(FULL, fpc))[3:]
    assert found[["images", "labels", "draws"]].to_numpy().tolist() == [
        [398, 100, 2],
        [398, 200, 2],
    ]
    np.testing.assert_allclose(found["mean"], [0.56, 0.71])
    parts = [tables(FULL), tables(fpc[:2]), tables(fpc[:2])]
    assert len(images_or_labels(parts)) == 5  # the budgets of two grids are two


def test_scores_beyond_complete_labels_equal_nothing() -> None:
    scores = {"an": 0.81, "ignore": 0.49, "ll-r": 0.5}
    weak = [some("single-positive", name, {400: [score]}, 1) for name, score in scores.items()]
    found = compared(FULL, *weak)["equal_images"]
    assert np.isnan(found["an", 400]) and np.isnan(found["ignore", 400])
    assert found["ll-r", 400] == pytest.approx(100)
    dips = some("full-subset", "full", {100: [0.6], 200: [0.5], 400: [0.8]}, 10)
    found = compared(dips, some("single-positive", "an", {400: [0.6]}, 1))
    assert found["equal_images"].iloc[-1] == pytest.approx(100)  # more images are never worse
    nothing = [r | {"present": 0, "absent": 0} for r in some("rpa", "an", {400: [0.7]}, 1)]
    last = compared(FULL, nothing).iloc[-1]
    assert not np.isnan(last["equal_images"]) and np.isnan(last["fewer"])


@pytest.mark.parametrize("parts", [(FULL,), (WEAK,), ([WEAK[0] | {"map": None}],)])
def test_images_or_labels_needs_complete_and_other_labels(parts) -> None:
    with pytest.raises(BadInput, match="compare full-subset and another scheme"):
        images_or_labels([tables(part) for part in parts])


MODES = {
    ("fpc(per_class=10)", "an"): (0.5, 0.6),
    ("fpc(per_class=10)", "ignore"): (0.2, 0.4),
    ("fpc", "an"): (0.8, 0.8),
    ("fpc", "ignore"): (0.7, 0.7),
    ("single-positive", "an"): (0.3, 0.3),
}


def of_modes(scores=MODES, classes=("cat", "dog")):
    made = [
        row(
            scheme=scheme, method=method, draw=draw, map=value, map_all=value,
            ap=[1 - value, None], present=4, absent=6, unknown=30,
        )
        for (scheme, method), maps in scores.items()
        for draw, value in enumerate(maps)
    ]  # fmt: skip
    return runs.to_table(made, {"classes": classes})


def test_modes_stand_over_the_amount_of_the_scheme() -> None:
    found = modes(of_modes(), ("map", "cat"))
    assert found["family"][:5].tolist() == ["fpc"] * 4 + ["single-positive"]
    assert set(found["setting"][:4]) == {"per_class"} and pd.isna(found["setting"][4])
    np.testing.assert_array_equal(found["value"][:5], [10, 10, 100, 100, np.nan])
    assert set(found["known"]) == {0.25}
    means = found.set_index(["measure", "scheme", "method"])["mean"]
    assert means["map", "fpc(per_class=10)", "an"] == pytest.approx(0.55)
    assert means["cat", "fpc(per_class=10)", "an"] == pytest.approx(0.45)
    first = found.iloc[0]
    assert first["draws"] == 2 and first["low"] < first["mean"] < first["high"]
    few = modes(of_modes(), methods="ignore")
    assert set(few["method"]) == {"ignore"} and len(few) == 2
    pd.testing.assert_frame_equal(modes(of_modes(), "cat"), modes(of_modes(), ["cat"]))


def test_gaps_of_modes_are_paired_by_draw() -> None:
    found = mode_gaps(of_modes(), measures=("map", "cat"))
    assert found["scheme"].tolist() == ["fpc(per_class=10)", "fpc"] * 2
    assert found["mean"].tolist() == pytest.approx([-0.25, -0.1, 0.25, 0.1])
    assert (found[["first", "second", "draws"]] == ["ignore", "an", 2]).all(axis=None)


def in_budgets(*budgets: float):
    made = [
        row(
            scheme="rpa", scheme_spec=f"rpa(keep={keep})", method=method, budget=budget, draw=draw,
            map=budget / 100, present=int(budget), absent=0, unknown=int(100 - budget),
        )
        for budget in budgets
        for method in ("an", "ignore")
        for draw, keep in enumerate((budget / 100, budget / 50))
    ]  # fmt: skip
    failed = made[0] | {"draw": 2, "map": None} | dict.fromkeys(("present", "absent", "unknown"))
    full = made[0] | {"method": "full", "reference": True, "budget": None, "scheme_spec": "rpa"}
    return runs.to_table([*made, failed, full | {"present": 100, "unknown": 0}])


def test_amounts_of_modes_are_those_of_one_budget() -> None:
    found = modes(in_budgets(10, 20, 40), budget=20)
    assert found["method"].tolist() == ["an", "ignore"]
    assert found.loc[0, ["known", "mean"]].tolist() == pytest.approx([0.2, 0.2])
    assert found.loc[0, "value"] == pytest.approx(0.3)  # bought: 0.2 and 0.4 in the two draws
    assert mode_gaps(in_budgets(10))["known"].tolist() == pytest.approx([0.1])


def test_the_ap_of_a_class_becomes_a_column() -> None:
    table = with_class_ap(of_modes(), ["cat", "dog"])
    np.testing.assert_allclose(table["cat"][:2], [0.5, 0.4])
    assert table["dog"].isna().all()
    assert list(with_class_ap(table, "cat")) == list(table)
    with pytest.raises(BadInput, match="does not name classes; compare"):
        with_class_ap(of_modes(classes=()), ["cat"])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: modes(of_modes(), [3]), "no class of the runs is called .3"),
        (lambda: modes(of_modes(), ("cut",)), "'cut'; did you mean 'cat'"),
        (lambda: mode_gaps(of_modes(), "ignore", "am"), "'am'; known are an, ignore"),
        (
            lambda: mode_gaps(of_modes({("fpc", "an"): (0.5,), ("rpa", "ignore"): (0.5,)})),
            "ignore and an share no draw; compare",
        ),
    ],
)
def test_modes_name_what_is_not_there(act, words) -> None:
    with pytest.raises(BadInput, match=words):
        act()
