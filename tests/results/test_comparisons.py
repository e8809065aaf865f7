"""Methods compared on planted runs: ablations, mean ranks, courses, and two splits at once."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import simkit
from simkit.errors import BadInput
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.side_info import prepare
from simkit.learn.train import train
from simkit.metrics import average_precision, f1, f1_thresholds, mean_ap
from simkit.papers.analysis.learning import both_scores
from simkit.results import runs
from simkit.results.comparisons import ablation, courses, ranks, variance
from simkit.results.result_tables import failures, leaves
from simkit.results.runs import COLUMNS
from simkit.results.statistics import error_of_choice
from simkit.study.sources import StudySource, open_source
from tests.results import planted, planted_classes

SCORES = {
    "an": [0.50, 0.52, 0.51, 0.53],
    "an+boostlu": [0.60, 0.62, 0.612, 0.63],  # +10 points, for sure
    "an+cl": [0.52, 0.51, 0.54, 0.52],  # not significant
    "an+scl": [0.49, 0.512, 0.502, 0.519],  # about -1
}


def scored(scores=SCORES, schemes=("rpa",), labels=None, **fields):
    """{method: score of each draw} under each scheme, or {scheme: {method: ...}}."""
    by_scheme = scores if labels is not None else dict.fromkeys(schemes, scores)
    return [
        planted.row(scheme=scheme, method=method, draw=draw, map=score, **fields)
        | {"labels_id": (labels or {}).get(scheme)}
        for scheme, methods in by_scheme.items()
        for method, values in methods.items()
        for draw, score in enumerate(values)
    ]


def table(*args, **options):
    return runs.to_table(scored(*args, **options))


def test_ablation_pairs_every_method_with_the_base() -> None:
    found = ablation(table(), "an")
    assert found["method"].tolist() == list(SCORES) and found["draws"].tolist() == [4] * 4
    means = [np.mean(values) for values in SCORES.values()]
    np.testing.assert_allclose(found["mean"], means)
    np.testing.assert_allclose(found["gap"][1:], np.array(means[1:]) - means[0])
    assert found["base"].tolist() == [True, False, False, False]
    assert found["significant"].tolist() == [None, True, False, True]
    assert found.loc[0, ["gap", "gap_low", "gap_high", "p"]].isna().all()
    gaps = [np.subtract(values, SCORES["an"]) for values in list(SCORES.values())[1:]]
    ps = [stats.ttest_1samp(gap, 0).pvalue for gap in gaps]
    factors = 3 - np.argsort(np.argsort(ps))  # Holm's, of three differences
    np.testing.assert_allclose(found["p"][1:], factors * ps)


@pytest.mark.parametrize("seed", range(5))
def test_ablation_intervals_hold_zero_exactly_where_holm_rejects_nothing(seed) -> None:
    rng = np.random.default_rng(seed)
    scores = {f"m{k}": 0.5 + 0.004 * k + rng.normal(0, 0.005, 5) for k in range(7)}
    found = ablation(table(scores), "m0")[1:]
    assert set(found["significant"]) == {True, False}
    for row in found.itertuples():
        assert (row.gap_low < 0 < row.gap_high) == (not row.significant) == (row.p >= 0.05)


def test_ablation_tests_each_scheme_by_itself() -> None:
    both = ablation(table(schemes=("rpa", "fpc")), "an")
    assert both["scheme"].tolist() == ["rpa"] * 4 + ["fpc"] * 4
    alone = ablation(table(), "an").drop(columns="scheme")
    again = both[4:].drop(columns="scheme").reset_index(drop=True)
    pd.testing.assert_frame_equal(again, alone)


def test_ablation_of_one_draw_has_no_interval() -> None:
    found = ablation(table({name: values[:1] for name, values in SCORES.items()}), "an")
    row = found.iloc[1]
    assert row["gap"] == pytest.approx(0.1) and row["significant"] is None
    assert row[["low", "high", "gap_low", "gap_high", "p"]].isna().all()


def test_an_ablation_of_two_hundredths_of_a_point_is_not_significant() -> None:
    tiny = {"an": SCORES["an"], "wan": [score + 2e-4 for score in SCORES["an"]]}
    assert not ablation(table(tiny), "an")["significant"][1]


def test_ablation_counts_failed_runs() -> None:
    lost = table(SCORES | {"an+boostlu": [0.60, 0.62, None, float("nan")]})
    found = ablation(lost.replace_schema_metadata({"failures": '["it failed"]'}), "an")
    assert found.loc[1, ["draws", "missing"]].tolist() == [2, 2]
    assert found.loc[1, "gap"] == pytest.approx(0.1) and failures(found) == ("it failed",)
    other = runs.to_table([*scored(), *scored({"an+cl": [0.5]}, ["fpc"])])
    last = ablation(other, "an").iloc[-1]
    assert last["scheme"] == "fpc" and np.isnan(last["gap"]) and last["significant"] is None


def test_ranks_are_means_over_blocks_and_ties_share() -> None:
    # fpc: a b c = 1 2 3 in both draws; rpa: a and b share 1.5, c is third
    same = {"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.3, 0.4]}
    found = ranks(
        table({"fpc": same | {"b": [0.4, 0.5]} | {"c": [0.3, 0.4]}, "rpa": same}, labels={})
    )
    assert found.methods == ("a", "b", "c")
    assert found.mean == {"a": 1.25, "b": 1.75, "c": 3.0}
    assert found.by_scheme["rpa"] == {"a": 1.5, "b": 1.5, "c": 3.0}
    assert (found.blocks, found.left_out, found.draws, found.distance) == (4, 0, 2, None)
    shown = " ".join(re.findall(r"<t[hd]>(.*?)</t[hd]>", found._repr_html_()))
    assert shown == " mean rank fpc rpa a 1.25 1.00 1.50 b 1.75 2.00 1.50 c 3.00 3.00 3.00"
    assert "&lt;i&gt;" in ranks(table({"<i>": [0.5], "b": [0.4]}))._repr_html_()


def test_methods_that_do_not_differ_are_one_group() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, (4, 5))
    (a, b), (c, d) = 0.6 + noise[:2], 0.3 + noise[2:]
    found = ranks(table({"a": a, "b": b, "c": c, "d": d}))
    assert [set(group) for group in found.alike] == [{"a", "b"}, {"c", "d"}]
    # The gaps of a to b and of b to c vary over draws, that of a to c does not.
    swing = np.array([0.02, -0.02, 0.03, -0.03, 0.0])
    scores = {"a": np.full(5, 0.52), "b": 0.51 + swing, "c": 0.50 + 0.0001 * swing}
    assert ranks(table(scores)).alike == (("a", "b"), ("b", "c"))
    assert ranks(table({"a": [0.5], "b": [0.4]})).alike is None  # one draw
    # The same order in every draw: far ranks differ, as near ones that vary do, neighbours may not.
    fixed = {name: 0.9 - 0.1 * k + np.arange(4) / 100 for k, name in enumerate("abcde")}
    pairs = {frozenset(group) for group in ranks(table(fixed)).alike}
    assert not any({"a", "e"} <= group or {"a", "d"} <= group for group in pairs)


def test_the_paired_test_is_of_the_mean_ranks_and_not_of_map() -> None:
    draws = np.arange(5) / 100
    # a is far ahead under one scheme and last under the other: equal mean ranks, different mAP.
    fpc = {"a": 0.9 + draws, "b": 0.5 + draws, "c": 0.1 + draws}
    rpa = {"a": 0.30 + draws, "b": 0.31 + draws, "c": 0.1 + draws}
    found = ranks(table({"fpc": fpc, "rpa": rpa}, labels={}))
    assert found.mean == {"a": 1.5, "b": 1.5, "c": 3.0} and found.alike == (("a", "b"),)
    # By rank b is one behind a in every draw; c is last in four draws, and first in one.
    fpc["c"] = fpc["b"] - np.where(draws < 0.04, 0.001, -0.5)
    found = ranks(table({"fpc": fpc}, labels={}))
    assert found.mean == pytest.approx({"a": 1.2, "b": 2.2, "c": 2.6})
    assert found.alike == (("a", "c"), ("b", "c"))


def test_ranks_hold_their_level_where_settings_were_chosen() -> None:
    # The best of five settings, by its mean over two draws, is ranked in five others.
    rng, wrong, found = np.random.default_rng(0), np.zeros(2), 0
    true = -0.05 * (np.linspace(-1, 1, 5) - 0.13) ** 2
    for _ in range(25):
        rows = []
        for scheme, method in np.ndindex(2, 5):
            tried = true[:, None] + 0.012 * rng.standard_normal((5, 2))
            # The last is six points ahead, all others are equal but for their choice.
            mean = 0.6 + true[tried.mean(1).argmax()] + 0.06 * (method == 4)
            scores = {f"m{method}": mean + rng.normal(0, 0.002, 5)}
            rows += scored(scores, [f"s{scheme}"], tuned_error=error_of_choice(tried))
        for place, fields in enumerate(({"tuned_error": None}, {})):
            groups = ranks(runs.to_table([one | fields for one in rows])).alike
            wrong[place] += {"m0", "m1", "m2", "m3"} not in map(set, groups)
        found += not any("m4" in group for group in groups)
    assert wrong[0] >= 8 and wrong[1] <= 2 and found >= 24


def test_the_critical_difference_is_the_published_one() -> None:
    # Demsar 2006, table 5 (a): q = 2.343 for three methods; 2.343 sqrt(3 * 4 / (6 * 10)) = 1.0478
    schemes = {f"s{i}": {"a": [0.5], "b": [0.4], "c": [0.3 + 0.3 * (i % 2)]} for i in range(10)}
    found = ranks(table(schemes, labels={}), test="nemenyi")
    assert found.distance == pytest.approx(1.0478, abs=2e-3)
    assert [set(group) for group in found.alike] == [{"a", "b", "c"}]  # at 1.5, 2.5 and 2
    apart = {f"s{i}": {"a": [0.5], "b": [0.4], "c": [0.3]} for i in range(10)}  # at 1, 2 and 3
    assert ranks(table(apart, labels={}), test="nemenyi").alike == (("a", "b"), ("b", "c"))


def test_incomplete_blocks_copies_and_references_have_no_rank() -> None:
    some = {"fpc": {"a": [0.5, 0.6], "b": [0.4, 0.7]}, "rpa": {"a": [0.1, 0.1]}}
    found = ranks(table(some, labels={}))
    assert (found.blocks, found.left_out) == (2, 2)
    none = {"fpc": {"a": [0.5]}, "rpa": {"b": [0.5], "a": []}}
    with pytest.raises(
        BadInput, match=r"no scheme has scores of all 2 methods .*'a', which is missing"
    ):
        ranks(table(none, labels={}))
    with pytest.raises(BadInput, match="one method, 'a'; two are needed"):
        ranks(table({"a": [0.5]}))
    same = {"a": [0.3, 0.4], "b": [0.5, 0.6]}
    scores = {"fpc": {"a": [0.5, 0.6], "b": [0.4, 0.5]}, "rpa": same, "full-subset": same}
    copied = table(scores, labels={"fpc": "x", "rpa": "all", "full-subset": "all"})
    full = planted.row(scheme="full-subset", method="full", draw=0, map=0.9, reference=True)
    found = ranks(runs.to_table([*copied.to_pylist(), full]))
    assert found == ranks(copied)
    assert found.mean == {"a": 1.5, "b": 1.5}
    assert (found.blocks, found.copies, found.left_out, found.draws) == (4, 2, 0, 2)
    assert found.by_scheme["full-subset"] == {"a": 2.0, "b": 1.0}


def test_variance_of_two_by_two_is_the_square_of_paired_t_tests() -> None:
    rng = np.random.default_rng(0)
    scores = {
        scheme: {method: rng.uniform(0.4, 0.6, 6).tolist() for method in "ab"}
        for scheme in ("fpc", "rpa")
    }
    found = variance(table(scores, labels={})).set_index("source")
    (fpc_a, fpc_b), (rpa_a, rpa_b) = (np.array(list(by.values())) for by in scores.values())
    pairs = {
        "scheme": (fpc_a + fpc_b, rpa_a + rpa_b),
        "method": (fpc_a + rpa_a, fpc_b + rpa_b),
        "scheme x method": (fpc_a + rpa_b, fpc_b + rpa_a),
    }
    for source, (first, second) in pairs.items():
        test = stats.ttest_rel(first, second)
        np.testing.assert_allclose(found.loc[source, ["F", "p"]], [test[0] ** 2, test[1]])
    assert found["share"].sum() == pytest.approx(1) and found["freedom"].sum() == 2 * 2 * 6 - 1
    everywhere = found["share"].to_dict()
    scores["fpc"]["c"] = [0.5] * 6  # without a score under rpa
    scores["rpa"]["a"].append(0.9)  # a draw that the others lack
    again = variance(table(scores, labels={})).set_index("source")["share"].to_dict()
    assert again == pytest.approx(everywhere)
    with pytest.raises(BadInput, match="at least two schemes"):
        variance(table({"a": [0.5, 0.6], "b": [0.4, 0.5]}))


def course(what="curve", **fields):
    (found,) = courses(planted_classes.table(schemes=["fpc"], methods=["an"], **fields), what)
    return found


def test_a_course_is_a_mean_with_an_interval_at_each_epoch() -> None:
    found = course()
    assert (found.scheme, found.method, found.of, found.draws) == ("fpc", "an", "test", 3)
    assert [point.mean for point in found.points] == pytest.approx([0.2, 0.4, 0.5])
    # t(0.975, 2) * 0.01 / sqrt(3)
    assert found.points[1].half == pytest.approx(4.3027 * 0.01 / 3**0.5, rel=1e-4)
    assert found.chosen == {3: 3}
    tuned = course(tuned_error=0.03)
    assert tuned.points[1].half == pytest.approx(4.3027 * np.hypot(0.01 / 3**0.5, 0.03), rel=1e-4)
    losses = course("losses", tuned_error=0.03)
    assert losses.points[1].half == course("losses").points[1].half
    assert losses.of == "train" and [p.mean for p in losses.points] == [1.0, 0.5, 0.25]


def test_a_course_leaves_out_draws_that_stopped_and_epochs_without_numbers() -> None:
    rows = planted_classes.rows(schemes=["fpc"], methods=["an"])
    rows[0] |= {"curve": [0.2, None], "epochs": 1}
    (found,) = courses(planted_classes.table(rows), "curve")
    assert [point.draws for point in found.points] == [3, 2, 2]
    assert found.chosen == {1: 1, 3: 2}
    found = course("losses", losses=[None, float("inf"), 1.0])
    assert found.points[:2] == (None, None) and found.points[2].mean == 1.0


@pytest.mark.parametrize("value", [[], None])
def test_runs_without_courses_are_refused(value) -> None:
    with pytest.raises(BadInput, match=r"'curve'.* curves = true"):
        course(curve=value)
    with pytest.raises(BadInput, match=r"'losses'.* curves = true"):
        course("losses", losses=value)


SETTINGS = Settings(epochs=2, batch_size=32, lr=0.1)
DATA = "scenes:images=120,val=40,test=80"


@pytest.fixture(scope="module")
def material():
    return open_source(StudySource(DATA, ("train", "val", "test"), ("pooled",), "scenes-net"))


@pytest.fixture(scope="module")
def labelled(material):
    truth = material.truth("train")
    return {("rpa", d): simkit.simulate(truth, "rpa(keep=0.3)", draw=d) for d in (0, 1)}


def test_both_scores_are_those_of_the_metrics(material, labelled) -> None:
    table = both_scores(material, labelled, ["an", "ignore"], settings=SETTINGS)
    assert list(zip(table["draw"], table["method"], strict=True)) == [
        (d, method) for d in (0, 1) for method in ("an", "ignore")
    ]
    last = table.iloc[3]
    counts = labelled["rpa", 1].counts()
    assert last[list(counts)].to_dict() == counts and last["images"] == 120
    assert len(leaves(table)) and set(COLUMNS) < set(table)
    method, training = make("ignore"), {"settings": SETTINGS, "seed": 0, "draw": 1}
    task = Task(labelled["rpa", 1], material.inputs("train", "pooled"))
    trained = train(prepare(task, method, **training), method, **training)
    places = material.data.leaves
    scores, present = {}, {}
    for split in ("val", "test"):
        scores[split] = trained.scores(material.inputs(split, "pooled"))[:, places]
        present[split] = material.truth(split).present[:, places]
    thresholds = f1_thresholds(scores["val"], present["val"])
    for split, prefix in (("test", ""), ("val", "val_")):
        ap = average_precision(scores[split], present[split])
        assert last[f"{prefix}map"] == pytest.approx(mean_ap(ap), abs=1e-3)
        reached = mean_ap(f1(scores[split], present[split], thresholds))
        assert last[f"{prefix}mf1"] == pytest.approx(reached, abs=1e-3)
    worth = ablation(table, "an", metric="mf1")
    means = table.groupby("method")["mf1"].mean()
    np.testing.assert_allclose(worth["mean"], means[worth["method"]])


def test_both_scores_use_the_settings_of_a_comparison(material, labelled) -> None:
    chosen = {"scheme": "rpa", "method": "ll-r", "tuned": '{"lr": 0.02, "delta": 0.1}'}
    tuned = pd.DataFrame([chosen | {"tuned_error": 0.01}])
    table = both_scores(material, labelled, ["an", "ll-r"], settings=SETTINGS, tuned=tuned)
    others = {"settings": replace(SETTINGS, lr=0.02)}
    alone = both_scores(material, labelled, ["ll-r(delta=0.1)"], **others)
    pairs = table.set_index("method").loc["ll-r", "map"], alone["map"]
    np.testing.assert_allclose(*pairs, atol=1e-5)
    assert table.set_index("method").loc["ll-r", "tuned_error"].tolist() == [0.01, 0.01]
    early = both_scores(
        material, labelled, ["ll-r"], settings=SETTINGS, tuned=tuned.drop(columns="tuned_error")
    )
    assert early["tuned_error"].tolist() == [0.0, 0.0] and set(early["tuned"]) == {chosen["tuned"]}
    with pytest.raises(BadInput, match="both_scores: the table has no column 'tuned'; pass the"):
        both_scores(material, labelled, ["an"], tuned=tuned.drop(columns="tuned"))
    plain = both_scores(material, labelled, ["an"], settings=SETTINGS)
    np.testing.assert_allclose(table.set_index("method").loc["an", "map"], plain["map"], atol=1e-5)


def test_full_learns_from_complete_labels_once_in_a_draw(material, labelled) -> None:
    both = {("rpa", 0): labelled["rpa", 0], ("mine", 0): labelled["rpa", 0]}
    table = both_scores(material, both, "an, full", settings=SETTINGS)
    assert table[["scheme", "method", "reference"]].to_numpy().tolist() == [
        ["rpa", "an", False],
        ["mine", "an", False],
        ["full-subset", "full", True],
    ]
    assert table.loc[2, ["unknown", "images"]].tolist() == [0, 120]
