"""What a table of runs says: cells, sentences, verdicts, the summary, and what a folder holds."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from simkit.annotate.evaluation_set import half_width
from simkit.errors import BadInput
from simkit.results import job_store, runs, summary
from simkit.results.cells import Budget, listed, references, summary_rows, zero_shot
from simkit.results.runs import describe
from simkit.results.statistics import paired_interval
from tests.results import planted


def table(scores, *, budget=100.0, **more):
    """Runs by (scheme, method) or method: scores by draw, or {draw: score}."""
    rows = []
    for name, values in scores.items():
        scheme, method = ("fpc", name) if isinstance(name, str) else name
        by_draw = values if isinstance(values, dict) else dict(enumerate(values))
        rows += [
            planted.row(scheme=scheme, method=method, budget=budget, draw=draw, map=one)
            | {"dollars": budget}
            | more
            for draw, one in by_draw.items()
        ]
    return runs.to_table(rows)


def said(scores, **more):
    sentence, *_ = summary.sentences(table(scores, **more))
    return sentence


def bought(scores):
    (verdict,) = summary.verdicts(table(scores))
    return verdict


LUCK = np.array([0.0, 0.02, -0.01, 0.01, -0.02])


def test_cells_hold_means_intervals_and_costs():
    (line,) = summary_rows(table({"an": [0.25, 0.75], "ll-r": [0.5, 0.75]}, dollars=9.5))
    cell = line.cell("an")
    assert (cell.score.mean, cell.score.draws, cell.by_draw) == (0.5, 2, {0: 0.25, 1: 0.75})
    assert cell.score.half == pytest.approx(12.706 * 0.25, abs=1e-3)  # t(0.975, 1) s / sqrt 2
    assert (cell.dollars, cell.hours, cell.images) == (9.5, 0.5, 20)
    assert line.cell("csl") is None
    (line,) = summary_rows(table({"an": [0.5]}, seconds=None))
    assert line.cell("an").hours is None


def test_lines_stand_for_schemes_and_limits_and_references_stand_apart():
    planted_runs = planted.table()
    every = {(line.scheme, line.limit.dollars): line for line in summary_rows(planted_runs)}
    assert len(every) == 15 and {len(line.cells) for line in every.values()} == {5}
    assert every["rpa", 150.0].best.first == "ignore" and every["rpa", 150.0].best.sure
    assert not every["full-subset", 450.0].best.sure
    (full,) = references(planted_runs)
    assert full.score.mean == pytest.approx(0.8, abs=0.01) and full.dollars == 1650
    assert "$1,650" in summary.sentences(planted_runs)[-1]
    assert references(planted.table(reference=False)) == []
    some = ((None, 12.0), (50.0, None), (None, 1.0), (None, None))
    cell = planted.row(scheme="fpc", method="an", draw=0, map=0.5)
    rows = [cell | {"budget": dollars, "budget_hours": hours} for dollars, hours in some]
    mixed = runs.to_table(rows)
    assert sorted(map(Budget.of, rows[:3])) == [Budget(50.0), Budget(hours=1.0), Budget(hours=12.0)]
    assert [text.split(":")[0] for text in summary.sentences(mixed)] == [
        "fpc", "fpc at $50", "fpc in 1 hour", "fpc in 12 hours",
    ]  # fmt: skip
    assert len(summary.verdicts(mixed)) == 3  # amounts as written have none


def test_budgets_in_dollars_and_hours():
    money, time, none = Budget(1250.0), Budget(hours=2.0), Budget()
    assert [one.amount for one in (money, time, none)] == [
        (1250.0, "dollars"), (7200.0, "seconds"), (0.0, "seconds"),
    ]  # fmt: skip
    assert [one.at for one in (money, time, none)] == [" at $1,250", " in 2 hours", ""]
    assert [str(one) for one in (money, time, none)] == ["$1,250", "2 hours", ""]
    assert [bool(one) for one in (money, time, none, Budget(0.0))] == [True, True, False, True]
    assert money < time and not time < money and Budget(3.0) < money and not money < money


def test_names_in_a_sentence():
    assert [listed([*"abcde"[:n]]) for n in range(1, 6)] == [
        "a", "a and b", "a, b and c", "a, b, c and d", "a, b, c and 2 others",
    ]  # fmt: skip
    assert listed([*"abcd"], 2, last="or") == "a, b or 2 others"
    assert listed([*"abc"], 2, last="or") == "a, b or c"


def test_the_scores_of_an_image_text_model_are_a_cell_without_labels():
    rows = [planted.row(scheme="fpc", method="an", draw=0, map=0.5)]
    found = zero_shot(runs.to_table(rows, {"zero_shot": 0.25, "scored_by": "clip"}))
    assert (found.scheme, found.method, found.limit) == (
        "no labels",
        "zero-shot, clip",
        Budget(0.0),
    )
    assert (found.score.mean, found.score.draws, found.score.low) == (0.25, 1, None)
    assert (found.dollars, found.hours, found.images, found.by_draw) == (0.0, 0.0, 0.0, {0: 0.25})
    assert zero_shot(runs.to_table(rows)) is None
    assert zero_shot(runs.to_table(rows, {"zero_shot": 0.25}), metric="mf1") is None


def test_differences_are_within_draws_that_both_have():
    (line,) = summary_rows(table({"an": {0: 0.5, 1: 0.25, 2: 0.5}, "em": {1: 0.5, 2: 0.625, 3: 1}}))
    gap = line.behind("an")
    assert (gap.mean, gap.draws) == (0.1875, 2)
    assert line.highest.method == "em" and line.highest.score.mean == 0.5625
    assert line.behind("em") is None
    assert gap.low == pytest.approx(0.1875 - 12.706 * 0.0625, abs=1e-3)  # t(0.975, 1) s / sqrt 2


def test_other_tables_are_refused():
    with pytest.raises(BadInput, match=r"method.*open_runs"):
        summary_rows(pd.DataFrame({"scheme": ["fpc"], "map": [0.5]}))


def test_a_best_method_is_named_with_its_score_probability_and_the_next():
    text = said({"an": 0.4 + LUCK, "ll-r": 0.51 + LUCK + 0.001 * LUCK[::-1]})
    assert text.startswith("fpc at $100: ll-r is best with 51.0 ±") and ">0.99" in text
    assert re.search(r"an follows, 11\.0 \(1\d\.\d to 1\d\.\d\) behind", text)


def test_all_that_may_be_the_best_are_named_with_their_probabilities():
    scores = {"an": [0.40, 0.50, 0.42], "ll-r": [0.45, 0.41, 0.47]}
    text = said(scores)
    first, other = map(
        float, re.findall(r"probability (0\.\d\d); .* also be an \((0\.\d\d)\)\.", text)[0]
    )
    assert text.startswith("fpc at $100: ll-r is highest with 44.3")
    soon = summary.sentences(table(scores | {"ll-r": [0.45, 0.51, 0.41]}))
    assert soon[0].endswith("; 13 more draws would separate the first two.")
    assert soon[1].endswith("of the first two stays the same.")
    hardly = table({(scheme, m): by for scheme in ("fpc", "rpa") for m, by in scores.items()})
    *each, once = summary.sentences(hardly)
    assert len(each) == 2 and not any("draws" in text for text in each)
    assert once == (
        "For fpc at $100 and rpa at $100, more than 100 more draws would be needed to separate the "
        "first two."
    )
    assert first + other == pytest.approx(1)
    scores = {"a": [0.1, 0.1, 0.1], "b": [0.5, 0.52, 0.54], "c": [0.51, 0.5, 0.54]}
    assert re.search(r"b is highest .* may also be c \(0\.\d\d\)", said(scores))
    assert "but one draw" in said({"an": [0.4], "ll-r": [0.5]})
    assert "reaches 40.0" in said({"an": [0.4]})


def test_equal_methods_are_said_to_be_equal():
    same = 0.5 + LUCK
    assert "an and ll-r have the same scores: 50.0" in said({"an": same, "ll-r": same})
    text = said({"an": same, "ll-r": same, "em": same - 0.2 + 0.01 * LUCK[::-1]})
    assert "an and ll-r are best and equal with 50.0" in text and "em follows, 20.0 (" in text
    text = said({"an": same, "ll-r": same, "em": same[::-1] - 0.001})
    assert "an and ll-r are highest and equal" in text and "may also be em (" in text
    equal = "$100: buy fpc, train an or ll-r (same scores in every draw"
    assert bought({"an": same, "ll-r": same}).startswith(f"{equal}): 50.0")
    text = bought({"an": same, "ll-r": same, "em": same[::-1] - 0.001})
    assert re.match(re.escape(equal) + r"; 0\.\d\d\) or em \(0\.\d\d\): 50.0", text)


def test_a_draw_with_two_results_is_refused_and_a_repeated_row_counts_once():
    scores = table({"an": 0.4 + LUCK, "em": 0.5 + LUCK})
    assert summary.markdown(runs.Runs(pa.concat_tables([scores] * 2))) == summary.markdown(scores)
    other = table({"an": 0.2 + LUCK, "em": 0.3 + LUCK}, seed=1)
    with pytest.raises(BadInput, match="two results of draw 0 of 'an' under 'fpc'"):
        summary_rows(pa.concat_tables([scores, other]))


def test_what_is_called_highest_has_the_highest_mean_that_is_said():
    seldom = {"an": [0.16, 0.17, 0.168], "ll-r": [0.161, 0.169, 0.168], "epr": [0.31, 0.1, 0.295]}
    assert said(seldom).startswith("fpc at $100: epr is highest with 23.5")
    assert bought(seldom).startswith("$100: buy fpc, train epr")


def test_luckier_draws_make_nothing_the_highest():
    scores = {"an": {0: 0.40, 1: 0.42, 2: 0.41}, "ll-r": {0: 0.41, 1: 0.43, 5: 0.1},
              "em": {0: 0.39, 1: 0.41, 2: 0.99}}  # fmt: skip
    for text in (said(scores), bought(scores)):
        assert "ll-r" in text.partition(" 42.0")[0] and "over the 2 draws that all have" in text
        assert "59.7" not in text
    text = said({"an": [0.4, 0.5], "em": {0: 0.3}})
    assert "over the one draw that all have; em under fpc has 1" in text
    apart = {"an": {0: 0.4, 1: 0.5}, "em": {2: 0.3}}
    assert "an is highest with 45.0" in said(apart) and "no draw has all" in said(apart)


def test_a_verdict_compares_all_pairs_and_sums_over_the_methods_of_a_scheme():
    noise = np.random.default_rng(1).normal(0, 0.002, (4, 5))
    rpa, fpc = {("rpa", "an"): 0.4 + LUCK + noise[0]}, {("fpc", "an"): 0.5 + LUCK + noise[1]}
    text = bought(rpa | fpc)
    assert text.startswith("$100: buy fpc, train an: 50.0 ±")
    gap = paired_interval(fpc["fpc", "an"] - rpa["rpa", "an"])
    low, mean, high = (f"{100 * one:.1f}" for one in (gap.low, gap.mean, gap.high))
    assert text.endswith(f" mAP, {mean} ({low} to {high}) above rpa")
    more = rpa | fpc | {("fpc", "ll-r"): 0.5001 + LUCK + noise[2]}
    train = re.match(
        r"\$100: buy fpc, train (\S+) \((0\.\d+)\) or (\S+) \((0\.\d+)\): 50", bought(more)
    )
    (row,) = [row for row in summary_rows(table(more)) if row.scheme == "fpc"]
    first, p, second, q = train.groups()  # as below, for this scheme
    assert [first, second] == [*row.best.order]
    assert [float(p), float(q)] == pytest.approx(
        [row.best.probability[m] for m in (first, second)], abs=0.006
    )
    near = {("rpa", "an"): 0.501 + LUCK + noise[2], ("fpc", "em"): 0.5 + LUCK + noise[3]}
    first, second = re.search(
        r"open, \w+ \((0\.\d\d)\) or \w+ \((0\.\d\d)\);", bought(fpc | near)
    ).groups()
    assert 0.4 < float(first) < 0.9 and float(first) + float(second) == pytest.approx(1, abs=0.011)
    twins = {("rpa", "an"): 0.5 + LUCK, ("rpa", "em"): 0.5 + LUCK, ("fpc", "an"): 0.5 + LUCK[::-1]}
    chance = float(re.search(r"open, rpa \((0\.\d\d)\)", bought(twins))[1])
    assert 0.4 < chance < 0.6  # equal scores count once
    twins = {("rpa", "an"): 0.5 + LUCK, ("fpc", "an"): 0.5 + LUCK, ("fpc", "em"): 0.2 + LUCK**2}
    assert "open, rpa (>0.99) or fpc (>0.99); highest: rpa with an, 50.0" in bought(twins)
    assert "one draw is too few" in bought({("rpa", "an"): [0.5], ("fpc", "an"): [0.4]})
    assert bought({("rpa", "an"): [0.5]}) == "$100: buy rpa, train an: 50.0 mAP"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.004, "<0.01"), (0.62, "0.62"), (0.97, "0.970"), (0.9748, "<0.975"), (0.975, "0.975"),
     (0.9752, ">0.975"), (0.98, "0.980"), (0.988, "0.99"), (0.996, ">0.99")],
)  # fmt: skip
def test_a_probability_says_on_which_side_of_the_rule_it_is(value, text):
    assert summary.shown_probability(value) == text


def test_intervals_of_map_end_where_scores_end():
    text = summary.markdown(table({"an": [0.5, 0.95], "em": [0.02, 0.4]}))
    assert "an is best with 72.5 mAP (0.0 to 100.0)" in text
    assert "| an | 72.5 | 0.0 to 100.0 |" in text and "| em | 21.0 | 0.0 to 100.0 |" in text


def test_other_methods_do_not_make_a_scheme_surer_than_the_interval_beside_it():
    noisy = {("fpc", "an"): [0.5, 0.6, 0.55], ("rpa", "an"): [0.5, 0.48, 0.53]}
    text = bought(noisy | {("fpc", "em"): [0.53, 0.53, 0.56]})
    assert re.match(r"\$100: open, fpc \(0\.8\d\) or rpa \(", text)


def test_markdown_has_every_cell_with_its_probability():
    text = summary.markdown(planted.table())
    rows = [row for row in text.splitlines() if row.startswith("| ") and "interval" not in row]
    assert len(rows) == 5 * 3 * 5 + 1 and {row.count("|") for row in rows} == {12}
    assert text.index("# What to buy") < text.index("# Which method") < text.index("| rpa |")
    chances = {row.split("|")[7].strip() for row in rows if row.startswith("| rpa | $150 |")}
    assert chances == {">0.99", "<0.01"}
    (line,) = (
        one
        for one in summary_rows(planted.table())
        if (one.scheme, one.limit) == ("rpa", Budget(150.0))
    )
    gap = line.difference("ignore", "an")  # planted: 9 points, and noise
    assert 8.5 < 100 * gap.low < 100 * gap.mean < 100 * gap.high < 9.5
    shown = f"| {100 * gap.mean:.1f} ({100 * gap.low:.1f} to {100 * gap.high:.1f}) |"
    assert shown in next(row for row in rows if row.startswith("| rpa | $150 | an |"))
    assert "|  | >0.99 |" in next(row for row in rows if row.startswith("| rpa | $150 | ignore |"))
    hours = summary.markdown(table({"an": [0.5]}, budget=None, budget_hours=2.5, seconds=None))
    assert "| fpc | 2.5 hours | an |" in hours and "| unknown |" in hours and "to buy" in hours


def test_budgets_ascend_within_a_scheme_whatever_the_order_of_the_runs():
    order = [("mixed", 9.4), ("fpc", 8.03), ("mixed", 0.59), ("fpc", 10.0), ("fpc", 0.5)]
    parts = [table({(scheme, "an"): [0.5]}, budget=dollars) for scheme, dollars in order]
    text = summary.markdown(runs.Runs(runs.concat(parts)))
    shown = re.findall(r"^\| (\w+) \| (\S+) \|", text, re.MULTILINE)[1:]
    limits = {"mixed": ["$0.59", "$9.40"], "fpc": ["$0.50", "$8.03", "$10"]}
    assert shown == [(scheme, limit) for scheme in limits for limit in limits[scheme]]
    spoken = re.findall(r"^- (\w+) at (\S+):", text, re.MULTILINE)
    assert spoken == shown


@pytest.mark.parametrize(
    ("leaves", "said"), [([0, 1], "over classes"), ([0], "over leaf classes"), ([], "over classes")]
)
def test_leaf_classes_are_named_only_where_a_class_lies_above_another(leaves, said):
    about = {"classes": ("cat", "dog"), "leaves": leaves}
    assert f"mean AP {said} on" in summary.markdown(runs.to_table(planted.rows(), about))


MADE = {"simkit": "0.1.0", "torch": "2.11.0", "python": "3.11.9", "numpy": "2.0.0", "code": "ab12",
        "system": "Linux", "machine": "x86_64", "device": "cpu", "threads": 1}  # fmt: skip


def test_a_folder_is_described(tmp_path):
    here = {"environment": json.dumps(MADE), "train_seconds": 36.0, "peak_memory_mb": 850.4}
    there = here | {"environment": json.dumps(MADE | {"torch": "2.12.0", "machine": "arm64"})}
    both = zip(planted.rows(draws=2), [here, there] * 76, strict=True)
    rows = [row | how | {"bundle_seconds": 90.0, "key": f"{row['draw']}"} for row, how in both]
    table = runs.to_table(rows, {"failures": ["fpc, draw 1: it broke"], "planned": 154})
    runs.write(runs.writers(table), tmp_path)
    facts = describe(tmp_path)
    json.dumps(facts)
    counts = (facts["runs"], facts["planned"], facts["draws"], len(facts["methods"]))
    assert counts == (152, 154, 2, 5) and facts["budgets"] == [50.0, 150.0, 450.0]
    assert facts["training_hours"] == pytest.approx(152 / 100) and facts["bundle_hours"] == 0.05
    assert facts["environments"] == [json.loads(one["environment"]) for one in (here, there)]
    for words in (
        "152 of 154 runs", "5 schemes", "torch 2.11.0 and 2.12.0", "arm64", "code ab12",
        "1.5 hours of training", "3.0 minutes", "850 MB", "failed: fpc, draw 1",
    ):  # fmt: skip
        assert words in facts["text"]
    summary = tmp_path / "summary.md"
    summary.write_text("# What to buy\n\n- $50: buy fpc\n\n# Tables\n\n- others\n", "utf-8")
    text = describe(tmp_path)["text"]
    assert text.endswith(f"\n$50: buy fpc\nfull table: {summary}") and "others" not in text
    about = {"classes": [], "leaves": [], "trainings": 4}
    job_store.begin(tmp_path, grid="draws = 2", keys=["a", "b"], about=about)
    assert describe(tmp_path)["unfinished"] == "0 of 4 trainings are finished"


def test_a_summary_says_first_how_settings_were_chosen_and_which_images_were_scored():
    def first(*parts, **about):
        return "\n".join(summary.conditions(runs.concat(parts, about)))

    an, em = table({"an": [0.4, 0.5]}), table({"em": [0.4, 0.5]})
    tried = table({"em": [0.4]}, tuned='{"lr": 0.1}', tuned_runs=4, tuned_map=0.5, tuned_edge=False)
    before = table({"em": [0.4]}, tuned='{"lr": 0.1}')
    assert first(an, em).startswith("untuned: ") and "--fair" in first(an, em)
    assert first(an, tried).startswith("tuned: of up to 4 settings")
    assert first(an, before).startswith("tuned before: 1 of 2 pairs ") and "untuned" in first(
        an, before
    )
    assert first(before).startswith("tuned before: 1 of 1 pair ") and "untuned" not in first(before)
    assert "\n" not in first(an)
    said = first(an, test_images=100, test_present=[4, 25], test_absent=[96, 75])
    assert "one fixed test split of 100 images: " in said
    shown = np.array([4, 25])
    highest, half = (half_width(shown, level=level) for level in (0.45, 0.5))
    assert said.endswith(
        f"would move the highest mAP, 45.0 (an under fpc at $100), by up to {highest:.1f} points, "
        f"and a mAP of 50 by up to {half:.1f} points (95 %)"
    )
    none = first(table({"an": [None]}), test_images=100, test_present=[4, 25], test_absent=[1, 1])
    assert f"would move a mAP of 50 by up to {half:.1f} points (95 %)" in none
    written = summary.markdown(runs.concat([an, em]))
    assert written.startswith("# Comparison\n\n- untuned: ")
    assert written.index("untuned") < written.index("# What")


def test_nothing_that_was_compared_is_missing_without_a_word():
    scores = runs.concat([table({"an": [0.4, 0.5]}), table({"em": [None, None]})])
    said = "without mAP, and left out everywhere: em under fpc (2 runs)"
    assert f"- {said}\n" in summary.markdown(scores)
    kinds, why = [("fpc", "csl"), ("fpc", "epr"), ("rpa", "epr")], "it diverged"
    failures = [f"{s}, budget 20, draw {n}, {m}: {why}" for s, m in kinds for n in (0, 1)]
    text = runs.Runs(runs.concat([scores], {"failures": failures})).text()
    assert text.endswith(
        "failed and left out everywhere: fpc, budget 20, draw 0, csl and 5 other runs (fpc, csl; "
        f"fpc, epr; rpa, epr): {why}"
    )


def test_a_purchase_says_what_was_not_compared_at_equal_cost():
    scores = {"an": 0.4 + LUCK, "em": 0.3 + LUCK}
    named = [({"rpa": 0.0, "fpc": 0.1, "csl": 0.2}[s], s) for s in ("rpa", "fpc", "csl")]
    paid = {"rpa": 4.74, "fpc": 4.76, "csl": 4.02}
    parts = [
        table({(s, m): by + better for m, by in scores.items()}, budget=5.0, dollars=paid[s])
        for better, s in named
    ]
    about = {"schemes": ["rpa", "name-check", "fpc", "csl"], "compared": "cats: 20 images",
             "assumes": ["fpc assumes a free model"]}  # fmt: skip
    rows = runs.concat(parts, about)
    verdict, meaning, *remarks = summary.purchases(rows)
    assert verdict.startswith("$5: buy csl, train an: 60.0 ")
    assert verdict.endswith(" above fpc (if a free model proposes images)")
    assert meaning.startswith("buy: ") and remarks == [
        "rpa spent $4.74 of $5 on average, so that it is compared with schemes that cost more",
        "csl spent $4.02 of $5 on average, so that it is compared with schemes that cost more",
        "$5: without a result, and not compared: name-check",
    ]
    told = summary.markdown(rows, before="# Failed")
    assert told.startswith("# Comparison\n\ncats: 20 images\n\n# Failed\n\n- untuned: ")
    assert f"# What to buy\n\n- {verdict}\n" in told
    assert "compared: name-check\n- fpc assumes a free model\n\n# Which" in told
    assert "fpc assumes a free model" in runs.Runs(rows).text()
    about = {"test_images": 40, "test_present": [10, 30], "test_absent": [30, 10]}
    poor = table({"an": [0.6, 0.7], "em": [0.45, 0.46]})
    *_, remark = summary.purchases(runs.concat([poor], about))
    assert remark.startswith("not above a random order (54.2 mAP): em under fpc at $100; ")
    hours = table({"an": [0.4, 0.5]}, budget=None, budget_hours=2.0, seconds=3600.0 * 1.5)
    assert summary.purchases(hours)[1].startswith("fpc spent 1.5 hours of 2 hours on average")


def test_the_methods_to_buy_are_those_that_their_scheme_calls_best():
    noise = np.random.default_rng(1).normal(0, 1, (4, 5))
    fpc = {("fpc", "an"): 0.50 + 0.002 * noise[0], ("fpc", "em"): 0.49 + 0.002 * noise[1]}
    rpa = {("rpa", "an"): 0.30 + 0.030 * noise[2], ("rpa", "em"): 0.20 + 0.030 * noise[3]}
    scores = table(fpc | rpa)
    assert summary.sentences(scores)[0].startswith("fpc at $100: an is best with 50.")
    (verdict,) = summary.verdicts(scores)  # though the noise of all pairs together hides it
    assert verdict.startswith("$100: buy fpc, train an: 50.")


def test_the_highest_on_complete_labels_has_the_interval_and_the_others_a_difference():
    full = table(
        {"full": 0.5 + LUCK, "full+boostlu": 0.51 + LUCK + 0.01 * LUCK[::-1]}, reference=True
    )
    (text,) = summary.sentences(full)
    assert text.count("±") == 1 and re.search(
        r"reach 51\.0 ±.* with full\+boostlu; full is 1\.0 \(1\.0 to 1\.0\) behind", text
    )


def test_chosen_settings_are_a_chapter_and_edges_a_remark():
    inside = {"tuned": '{"lr": 0.01}', "tuned_runs": 4, "tuned_map": 0.5, "tuned_edge": False}
    edge = inside | {"tuned": '{"lr": 0.1, "delta": 0.2}', "tuned_edge": True}
    parts = [table({"an": [0.4, 0.5]}, **inside), table({"ll-r": [0.4, 0.5]}, **edge)]
    rows = runs.Runs(runs.concat(parts)).every
    chosen = summary.choices(rows)
    assert [one["method"] for one in chosen] == ["an", "ll-r"]  # each once, whatever the draws
    lines = summary.chapter_of_settings(rows).splitlines()
    (an,), (ll_r,) = ([line for line in lines if f"| {m} |" in line] for m in ("an", "ll-r"))
    assert "lr=0.01 | 50.0 | 4 | no" in an and "lr=0.1, delta=0.2 | 50.0 | 4 | yes" in ll_r
    (note,) = (text for text in summary.purchases(rows) if "[tuning.space]" in text)
    assert "ll-r under fpc" in note and "an " not in note
    rates = {"lr": [0.001, 0.01, 0.1]}
    of_fpc = {"an": rates, "ll-r": rates | {"delta": [0.1, 0.2]}}
    wider = {"an": {"lr": [0.01, 0.1, 0.3]}}
    about = {"tried": json.dumps({"fpc": of_fpc, "rpa": {"an": rates}})}
    rows = runs.Runs(runs.concat(parts, about)).every
    text = summary.chapter_of_settings(rows)
    assert "- tried for an: lr 0.001, 0.01, 0.1\n" in text
    assert "- tried for ll-r: lr 0.001, 0.01, 0.1; delta 0.1, 0.2\n" in text
    assert "| 4 | lr=0.1, the largest of 0.001, 0.01, 0.1 |" in text
    (note,) = (text for text in summary.purchases(rows) if "[tuning.space]" in text)
    values = "lie at the edge of the values tried (lr=0.1, the largest of 0.001, 0.01, 0.1); "
    assert f"for ll-r under fpc {values}" in note
    several = [*parts, table({"an": [0.4, 0.5]}, **edge | {"scheme": "rpa"})]
    shared = runs.Runs(runs.concat(several, about)).every
    (note,) = (text for text in summary.purchases(shared) if "[tuning.space]" in text)
    assert f"for ll-r under fpc and an under rpa {values}" in note
    of_rpa = {"tried": json.dumps({"fpc": of_fpc, "rpa": wider})}  # each scheme has its own edge
    apart = runs.Runs(runs.concat([*parts, table({"an": [0.4, 0.5]}, **edge | {
        "scheme": "rpa", "tuned": '{"lr": 0.3}',
    })], of_rpa)).every  # fmt: skip
    first, second = (text for text in summary.purchases(apart) if "[tuning.space]" in text)
    assert f"for ll-r under fpc {values}" in first
    assert "for an under rpa lie at the edge of the values tried (lr=0.3, the largest of" in second
    chapter = summary.chapter_of_settings(apart)
    assert "- tried for an under fpc: lr 0.001, 0.01, 0.1\n" in chapter
    assert "- tried for an under rpa: lr 0.01, 0.1, 0.3\n" in chapter
    old = runs.Runs(runs.concat(parts, {"tried": json.dumps(of_fpc)})).every  # by method alone
    assert "tried for" not in summary.chapter_of_settings(old)
    about |= {"untried": json.dumps({"ll-r": {"lr": [0.0001, 1.0]}}), "tuned_at": "$5"}
    about["val_images"] = 57
    rows = runs.Runs(runs.concat(parts, about)).every
    (note,) = (text for text in summary.purchases(rows) if "lie at the edge" in text)
    assert note.endswith("; raise runs in [tuning], as lr=1 of the space was not tried")
    tuned, *_ = summary.conditions(rows)
    assert (
        " complete labels of 57 images of the validation split, at $5 in separate draws, are"
        in tuned
        and "unequal" not in tuned
    )
    for tried, more in [
        ({"ll-r": {"lr": [0.1, 1.0]}}, "methods were tried with different values of lr"),
        ({"em": rates}, "4 for an and ll-r and 7 for em"),
    ]:
        extra = table({"em": [0.3, 0.4]}, **inside | {"tuned_runs": 7})
        of = {"tried": json.dumps({"fpc": {"an": rates, **tried}})}
        rows = runs.concat([*parts, extra] if "em" in tried else parts, of)
        tuned, *_ = summary.conditions(rows)
        assert tuned.endswith(f"; the search is unequal: {more}")


def test_notes_stand_once_for_each_scheme_in_their_last_form():
    parts = [
        table({"an": [0.4]}, notes=[f"fpc can spend {spent} of {of} dollars", "odd"])
        for spent, of in (("1.5", "10"), ("2,000.5", "3,000"))
    ]
    notes = summary.notes_of(runs.Runs(runs.concat(parts)).every)
    assert notes == ("fpc: can spend 2,000.5 of 3,000 dollars", "fpc: odd")


def test_equal_notes_stand_once_with_their_schemes_and_methods():
    several = {"an": [0.4], "ll-r+boostlu": [0.5], "csl(eta=0.1)": [0.5]}
    parts = [table(several, scheme=scheme, notes=["2 images are empty"]) for scheme in "ab"]
    for name, of in (("an", "a"), ("ll-r", "a"), ("an", "b"), ("csl", "c")):
        notes = [f"{name}: it diverged", f"method {name!r} learns nothing"]
        method = next(method for method in several if method.startswith(name))
        parts.append(table({method: [0.4]}, scheme=of, notes=notes))
    assert summary.notes_of(runs.Runs(runs.concat(parts)).every) == (
        "a and b: 2 images are empty",
        "a with an and ll-r+boostlu: it diverged",
        "b with an: it diverged",
        "c with csl(eta=0.1): it diverged",
        "a with an and ll-r+boostlu: the method learns nothing",
        "b with an: the method learns nothing",
        "c with csl(eta=0.1): the method learns nothing",
    )
