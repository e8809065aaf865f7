import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.shares import SHARES, shares
from tests.study import planted

AMOUNT = "fraction-of-positives(keep={})"


def rows(keeps=(0.5, 0.1), methods=("an", "se"), draws=2, reference=True, **fields):
    """SE is two points ahead of AN, and each draw five luckier than the last."""
    made = [
        planted.row(
            scheme=AMOUNT.format(keep),
            method=method,
            draw=d,
            map=0.5 * keep + 0.02 * place + 0.05 * d,
            present=int(100 * keep),
            absent=int(120 * keep),
            unknown=int(400 - 220 * keep),
        )
        | fields
        for keep in keeps
        for d in range(draws)
        for place, method in enumerate(methods)
    ]
    every = {"present": 100, "absent": 300, "unknown": 0, "reference": True}
    for d in range(draws if reference else 0):
        made.append(planted.row(scheme="full-subset", method="full", draw=d, map=0.9) | every)
    return made


def table(**options):
    return runs.tidy(rows(**options), classes=())


def test_shares_are_of_all_that_is_there():
    found = shares(table())
    assert found.schema.equals(SHARES)
    first, second = found.to_pylist()[:2]
    assert (first["scheme"], first["method"]) == ("fraction-of-positives", "an")
    assert first["bought"] == AMOUNT.format(0.1)  # the fewest labels first
    assert first["positives"] == pytest.approx(0.1) and second["positives"] == pytest.approx(0.5)
    assert first["labels"] == pytest.approx(22 / 400)
    assert first["mean"] == pytest.approx(0.075) and first["draws"] == 2
    # t(0.975, 1) * 0.025
    assert first["high"] - first["mean"] == pytest.approx(12.706 * 0.025, rel=1e-3)


def test_the_oracle_stands_last():
    last = shares(table()).to_pylist()[-1]
    assert (last["reference"], last["method"], last["scheme"]) == (True, "full", "")
    assert last["positives"] == last["labels"] == 1 and last["mean"] == pytest.approx(0.9)


def test_differences_are_paired_and_on_the_same_labels():
    found = [row for row in shares(table(), base="an").to_pylist() if not row["reference"]]
    assert {row["base"] for row in found} == {"an"}
    gaps = {(row["method"], row["bought"]): row["gap"] for row in found}
    assert gaps["an", AMOUNT.format(0.1)] is None
    assert gaps["se", AMOUNT.format(0.1)] == pytest.approx(0.02)
    wide = next(row for row in found if row["method"] == "se")
    assert wide["gap_high"] - wide["gap_low"] < 0.3 * (wide["high"] - wide["low"])
    assert all(row["gap"] is None for row in shares(table()).to_pylist())


def test_budgets_are_amounts_too():
    cheap, dear = rows(keeps=(0.1,), budget=10.0), rows(keeps=(0.5,), budget=50.0, reference=False)
    found = shares(runs.tidy([*dear, *cheap], classes=())).to_pylist()
    told = [row["bought"] for row in found if row["method"] == "an"]
    assert told == [f"{AMOUNT.format(0.1)}, 10 dollars", f"{AMOUNT.format(0.5)}, 50 dollars"]


def test_other_settings_make_another_scheme():
    some = rows() + [
        row | {"scheme": f"fraction-of-positives(keep={keep}, ratio=0.0)"}
        for keep in (0.1, 0.5)
        for row in rows(keeps=(keep,), reference=False)
    ]
    found = shares(runs.tidy(some, classes=())).to_pylist()
    names = {row["scheme"] for row in found if not row["reference"]}
    assert names == {"fraction-of-positives", "fraction-of-positives(ratio=0.0)"}


def test_schemes_from_elsewhere_keep_their_name():
    some = rows(keeps=(0.5,), scheme="ours(v2)")
    for row in some[-2:]:
        row["scheme"] = "full-subset"
    assert shares(runs.tidy(some, classes=())).to_pylist()[0]["scheme"] == "ours(v2)"


def test_failed_runs_are_left_out():
    some = rows()
    some[0]["map"], some[1]["map"] = None, np.nan
    found = shares(runs.tidy(some, classes=()), base="an").to_pylist()
    assert [row["draws"] for row in found if row["bought"] == AMOUNT.format(0.5)] == [1, 1]
    assert all(row["low"] is None for row in found if row["draws"] == 1)


def test_what_is_missing_is_named():
    with pytest.raises(BadInput) as caught:
        shares(table(reference=False))
    assert str(caught.value) == (
        "shares: the table has no reference to say how many labels there are; compare again with "
        "reference = true"
    )
    with pytest.raises(BadInput, match=r"^no method of the table \(shares\) is called 'am'"):
        shares(table(), base="am")
    with pytest.raises(BadInput) as caught:
        shares(table(keeps=()))
    assert str(caught.value) == "shares: no run but the references has map; compare again"


@pytest.mark.parametrize("column", ["present", "absent"])
def test_without_counts_nothing_is_a_share(column):
    with pytest.raises(BadInput) as caught:
        shares(table(**{column: None}))
    assert str(caught.value) == (
        f"shares: a run with a score says nothing in its column {column!r}; give a table of runs "
        "whose labels were counted, as a comparison leaves it"
    )


def test_without_positives_nothing_is_a_share():
    nothing = [row | {"present": 0} for row in rows()]
    with pytest.raises(BadInput) as caught:
        shares(runs.tidy(nothing, classes=()))
    assert str(caught.value) == (
        "shares: no label of the references is present, so nothing is a share of them; give runs "
        "whose references were counted"
    )


def test_budgets_that_are_nearly_the_same_stay_apart():
    some = [rows(keeps=(0.1,), budget=b, reference=False) for b in (1234567.0, 1234568.0)]
    found = shares(runs.tidy([*rows(keeps=()), *some[0], *some[1]], classes=())).to_pylist()
    told = {row["bought"].split(", ", 1)[-1] for row in found if not row["reference"]}
    assert told == {"1,234,567 dollars", "1,234,568 dollars"}
