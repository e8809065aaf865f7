import numpy as np
import pytest

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.analysis.comparing.ablation import ABLATION, ablation
from simkit.study.statistics import rank
from tests.study import planted

SCORES = {
    "an": [0.50, 0.52, 0.51, 0.53],
    "an+boostlu": [0.60, 0.62, 0.612, 0.63],  # +10 points, for sure
    "an+cl": [0.52, 0.51, 0.54, 0.52],  # noise
    "an+scl": [0.49, 0.512, 0.502, 0.519],  # about -1
}


def table(scores=SCORES, schemes=("rpa",), **fields):
    return runs.tidy(
        [
            planted.row(scheme=scheme, method=method, draw=draw, map=score, **fields)
            for scheme in schemes
            for method, values in scores.items()
            for draw, score in enumerate(values)
        ],
        classes=(),
    )


def by_method(found):
    return {row["method"]: row for row in found.to_pylist()}


def test_rows_keep_the_order_of_the_table_and_are_paired_with_the_base():
    found = ablation(table(), "an")
    assert found.schema.equals(ABLATION) and found["method"].to_pylist() == list(SCORES)
    rows = by_method(found)
    assert rows["an"]["base"] and rows["an"]["gap"] is None and rows["an"]["noise"] is None
    for name, row in rows.items():
        assert row["mean"] == pytest.approx(np.mean(SCORES[name]))
        if name != "an":
            assert row["gap"] == pytest.approx(np.mean(SCORES[name]) - np.mean(SCORES["an"]))
    assert [row["noise"] for row in rows.values()] == [None, False, True, False]


def test_p_is_holms_over_the_differences_to_the_base():
    rows = by_method(ablation(table(), "an"))
    alone = {
        name: rank({name: dict(enumerate(SCORES[name])), "an": dict(enumerate(SCORES["an"]))})
        .difference(name, "an").p
        for name in SCORES if name != "an"
    }  # fmt: skip
    first, second, third = sorted(alone, key=alone.get)
    assert rows[first]["p"] == pytest.approx(3 * alone[first])
    assert rows[second]["p"] == pytest.approx(2 * alone[second])
    assert rows[third]["p"] == pytest.approx(alone[third])


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_zero_exactly_where_holm_calls_it_noise(seed):
    rng = np.random.default_rng(seed)
    scores = {f"m{k}": 0.5 + 0.004 * k + rng.normal(0, 0.005, 5) for k in range(7)}
    rows = [row for row in ablation(table(scores), "m0").to_pylist() if not row["base"]]
    assert {row["noise"] for row in rows} == {True, False}
    for row in rows:
        assert (row["gap_low"] < 0 < row["gap_high"]) == row["noise"] == (row["p"] >= 0.05)


def test_intervals_get_wider_the_more_is_tested():
    few = by_method(ablation(table(), "an", methods="an+boostlu"))
    many = by_method(ablation(table(), "an"))
    assert list(few) == ["an", "an+boostlu"]
    wide = [many["an+boostlu"][end] for end in ("gap_low", "gap_high")]
    assert wide[0] < few["an+boostlu"]["gap_low"] < few["an+boostlu"]["gap_high"] < wide[1]


def test_each_scheme_is_tested_by_itself():
    found = ablation(table(schemes=("rpa", "fpc")), "an").to_pylist()
    assert [row["scheme"] for row in found] == ["rpa"] * 4 + ["fpc"] * 4
    alone = ablation(table(), "an").to_pylist()
    assert [row["p"] for row in found[4:]] == [row["p"] for row in alone]


def test_one_draw_has_no_interval_and_is_no_noise():
    found = ablation(table({name: values[:1] for name, values in SCORES.items()}), "an")
    row = by_method(found)["an+boostlu"]
    assert row["gap"] == pytest.approx(0.1)
    assert [row[name] for name in ("low", "gap_low", "p", "noise")] == [None] * 4


def test_a_sure_difference_that_nobody_sees_is_noise():
    tiny = {"an": SCORES["an"], "wan": [score + 1e-5 for score in SCORES["an"]]}
    assert by_method(ablation(table(tiny), "an"))["wan"]["noise"]


def test_failed_runs_are_left_out_and_counted():
    scores = SCORES | {"an+boostlu": [0.60, 0.62, None, float("nan")]}
    lost = runs.with_failures(table(scores), ["rpa, draw 2, an+boostlu: it failed"])
    found = ablation(lost, "an")
    row = by_method(found)["an+boostlu"]
    assert (row["draws"], row["missing"]) == (2, 2)
    assert row["gap"] == pytest.approx(0.1)
    assert runs.failures(found) == ("rpa, draw 2, an+boostlu: it failed",)


def test_where_the_base_failed_there_is_no_difference():
    other = table({"an+cl": [0.5, 0.6]}, schemes=("fpc",))
    both = runs.together([table(), other], classes=())
    row = ablation(both, "an").to_pylist()[-1]
    assert row["scheme"] == "fpc" and row["gap"] is None and row["noise"] is None


def test_a_base_that_is_not_there_is_named():
    with pytest.raises(BadInput, match=r"^no method of the table \(ablation\) is called 'am'; "):
        ablation(table(), "am")
    with pytest.raises(BadInput, match=r"is called 'an\+bostlu'; did you mean 'an\+boostlu'\?"):
        ablation(table(), "an", methods=("an+bostlu",))
    with pytest.raises(BadInput) as caught:
        ablation(table({"an": [0.5]}), "an")
    assert str(caught.value) == "ablation: the table holds one method, 'an'; two are needed"
