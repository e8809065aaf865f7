"""The results of a comparison in sentences, and its summary."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from simkit.annotate.budget import FREE_MODEL
from simkit.annotate.evaluation_set import half_width
from simkit.metrics.ap import LabelCounts, mean_ap
from simkit.quantities import money, numbered
from simkit.results.cells import (
    REFERENCE,
    Budget,
    Cell,
    Row,
    best_pairs,
    is_full,
    listed,
    open_schemes,
    over_shared,
    references,
    summary_rows,
    zero_shot,
)
from simkit.results.result_tables import class_names, leaves, opened
from simkit.results.statistics import SURE, Best, Interval

_NOTE = (
    "A method is called the best for a scheme and budget if P(best), its probability of being the "
    "best, is at least 97.5 %; otherwise the fewest methods are named that include the best with "
    "97.5 %. The same rule decides between schemes, whose probability is the sum over their "
    "methods.\n\n"
    "*behind* is the mean difference to the highest within draws, with its 95 % confidence "
    "interval. P(best) is from Student's t for these differences, all drawn together: it is at "
    "most 0.975 if the interval of another method includes 0. Methods with the same scores in "
    "every draw share one probability. *interval* (after ± in sentences) is that of one row over "
    "draws. It includes the luck of a draw, which methods share, so the intervals of two methods "
    "may overlap although one is the best. mAP is the mean AP over "
    "{classes} on the test split, in points."
)
_Values = dict[str, list[Any]]  # by setting
_EQUAL = 0.95  # a scheme that spent a smaller share of the budget is not compared at equal cost
_MOST_DRAWS = 100  # more are not stated for each scheme
_BUY = (
    "buy: best scheme with a probability of 97.5 % or more; train: its best method, or those that "
    "include it with 97.5 %, each with its probability in brackets; above: mean difference within "
    "draws to the next scheme, with its 95 % interval"
)
_OPEN = "open: no scheme is the best with 97.5 %; in brackets, its probability of being the best"


def conditions(runs: Any) -> Iterator[str]:
    """Sentences on how settings were chosen, and on the test images for which intervals hold."""
    table = opened(runs)
    pairs = table[~table["reference"].astype(bool)].drop_duplicates(["scheme", "method"])
    tried, chosen = pairs["tuned_runs"].max(), int(pairs["tuned"].notna().sum())
    if tried > 0:
        middle = table.attrs.get("tuned_at")
        at = f", at {middle} in separate draws," if middle else ""
        images = table.attrs.get("val_images")
        of = f"{numbered(images, 'image')} of " if images else ""
        known = "tuned_error" in table and (table["tuned_error"] > 0).any()
        without = "" if known else "; intervals do not include the error of this choice"
        yield (
            f"tuned: of up to {tried:.0f} settings of every method under every scheme, those with "
            f"the highest mAP on complete labels of {of}the validation split{at} are compared"
            f"{without}{_unequal(table, pairs)}"
        )
    elif chosen:
        rest = "; the others are untuned" * (chosen < len(pairs))
        yield (
            f"tuned before: {chosen} of {numbered(len(pairs), 'pair')} of scheme and method have "
            f"the settings that the grid lists in `settings`{rest}"
        )
    else:
        yield (
            "untuned: every method has its default settings, or those that the grid names; "
            "`simkit compare --fair` tunes each on validation labels"
        )
    if images := table.attrs.get("test_images"):
        yield (
            f"one fixed test split of {numbered(images, 'image')}: ± and intervals are over draws "
            "of labels and training, for these images; other test images would move "
            f"{_moved(table)} (95 %)"
        )
    yield from _unscored(table)


def _unequal(table: pd.DataFrame, pairs: pd.DataFrame) -> str:
    """A clause on methods for which other numbers of settings, or other values, were tried."""
    numbers: dict[int, list[str]] = {}
    most = pairs.groupby("method", sort=False)["tuned_runs"].max().fillna(0)
    for method, number in most.items():
        numbers.setdefault(int(number), []).append(str(method))
    if len(numbers) > 1:
        counts = [f"{n} for {listed(of, len(of))}" for n, of in sorted(numbers.items())]
        return f"; the search is unequal: {listed(counts, len(counts))}"
    unequal = "; the search is unequal: methods were tried with different values of lr"
    rates = [{json.dumps(of.get("lr")) for of in _tried(table).get(scheme, {}).values()}
             for scheme in pairs["scheme"].unique()]  # fmt: skip
    return unequal * any(len(of_scheme) > 1 for of_scheme in rates)


def _moved(table: pd.DataFrame) -> str:
    """How far other test images would move the highest mAP of the summary, and a mAP of 50, which
    moves most."""
    present = np.array(table.attrs["test_present"])
    usual = f"a mAP of 50 by up to {half_width(present):.1f} points"
    complete = references(table, full=False)
    cells = [*(cell for row in summary_rows(table) for cell in row.cells), *complete]
    highest = max(cells, key=lambda cell: cell.score.mean, default=None)
    if highest is None or not 0 < highest.score.mean < 1:
        return usual
    by = half_width(present, level=highest.score.mean)
    where = "on complete labels" if highest in complete else f"under {highest.scheme}"
    which = f"{_mean(highest)} ({highest.method} {where}{highest.limit.at})"
    return f"the highest mAP, {which}, by up to {by:.1f} points, and {usual}"


def _unscored(table: pd.DataFrame) -> Iterator[str]:
    """A sentence that names the methods with runs without mAP, which count nowhere."""
    lacking = table[table["map"].isna()]
    if not lacking.empty:
        names = [
            f"{method} under {scheme} ({numbered(number, 'run')})"
            for (scheme, method), number in lacking.groupby(["scheme", "method"]).size().items()
        ]
        yield (f"without mAP, and left out everywhere: {listed(names, len(names))}")


def text(runs: Any) -> str:
    """The results in sentences: their conditions, the purchases, and a sentence for each scheme."""
    start = [*conditions(runs), *assumptions(runs), *free_baseline(runs)]
    return "\n".join([*start, *purchases(runs), *sentences(runs)])


def assumptions(runs: Any) -> list[str]:
    """For each scheme that assumes a machine: its precision, and the price of the labels with the
    machine and by a search at random."""
    return list(opened(runs).attrs.get("assumes", ()))


def free_baseline(runs: Any) -> list[str]:
    """What the scores of a model or of a detector reach on the test split without any label."""
    if free := zero_shot(runs):
        return [f"Without labels, the scores reach {_mean(free)} mAP for $0 ({free.method})."]
    facts = opened(runs).attrs
    if not (over := facts.get("zero_shot_over")):
        return []
    reach = f"{100 * facts['zero_shot']:.1f} mAP" if "zero_shot" in facts else "no mAP"
    return [
        f"Without labels, the scores reach {reach} over {over[0]} of {over[1]} classes, those that "
        f"they have ({facts.get('scored_by')}); other mAP is over all {over[1]}, and not "
        "comparable."
    ]


def sentences(runs: Any) -> list[str]:
    """One sentence for each scheme and budget, one on what their numbers of draws assume, and one
    about complete labels."""
    rows = summary_rows(runs)
    results = [*map(_sentence, rows), *_more_draws(rows)]
    complete = references(runs, full=False)
    if full := [cell for cell in complete if is_full(cell.method)]:
        cost, higher = money(full[0].dollars), _higher(full, complete)
        results.append(f"Complete labels cost {cost} and reach {reached(full)}{higher}.")
    return results


def reached(full: Sequence[Cell], named: Callable[[str], str] = str) -> str:
    """The highest of these cells with its score, and how far the others are behind.

    named: gives the display name of a method.
    """
    row = Row("", Budget(), tuple(full))
    behind = [(named(cell.method), _behind(row.behind(cell.method))) for cell in full]
    others = [f"{method} is {by} behind" for method, by in behind if by]
    return "; ".join([f"{row.highest.score.percent} with {named(row.highest.method)}", *others])


def _higher(full: Sequence[Cell], complete: Sequence[Cell]) -> str:
    """A clause on the method that reaches more than `full` on complete labels, if one does."""
    row = Row("", Budget(), tuple(complete))
    first, best = max(full, key=lambda cell: cell.score.mean), row.highest
    behind = _behind(row.behind(first.method))
    if not behind or best.score.mean <= first.score.mean:
        return ""
    return f"; {best.method} reaches {_mean(best)} on them, and {first.method} is {behind} behind"


def _sentence(row: Row) -> str:
    """The best method under this scheme, with the probability that it is the best."""
    best, score = row.best, _score(row.highest, row.cells)
    names = listed([best.first, *best.ties])
    where = f"{row.scheme}{row.limit.at}: {names}"
    if len(row.cells) == 1:
        return f"{where} reaches {score}."
    if len(best.ties) + 1 == len(row.cells):
        return f"{where} have the same scores: {score}."
    verb, equal = ("are", " and equal") if best.ties else ("is", "")
    if not best.probability:
        return f"{where} {verb} highest{equal} with {score}, but {too_few_text(best)}."
    probability = f"probability {shown_probability(best.probability[best.first])}"
    if best.sure:
        second = next(c for c in row.cells if c.method == best.order[1 + len(best.ties)])
        follows = f"{second.method} follows, {_behind(row.behind(second.method))} behind"
        return f"{where} {verb} best{equal} with {score} ({probability}); {follows}."
    others = _rivals(best)
    return f"{where} {verb} highest{equal} with {score} and best with {probability}{others}."


def _score(highest: Cell, cells: Sequence[Cell]) -> str:
    """The score, with the number of shared draws if the methods have different ones."""
    draws = {frozenset(cell.by_draw) for cell in cells}
    if len(draws) < 2 or not frozenset.intersection(*draws):
        return highest.score.percent
    number, fewest = highest.score.draws, min(cells, key=lambda cell: len(cell.by_draw))
    over = "one draw" if number == 1 else f"{number} draws"
    fewer = f"{fewest.method} under {fewest.scheme} has {len(fewest.by_draw)}"
    return f"{highest.score.percent} (over the {over} that all have; {fewer})"


def _mean(cell: Cell) -> str:
    return f"{100 * cell.score.mean:.1f}"


def verdicts(runs: Any) -> list[str]:
    """A line for each budget, cheapest first: the scheme to buy and the method to train.

    All pairs of scheme and method are compared at once, which accounts for the selection of the
    best of many; the probability of a scheme is the sum of those of its methods.
    """
    schemes, assumed = summary_rows(runs), assumptions(runs)
    limits = sorted({row.limit for row in schemes if row.limit})
    return [_verdict([row for row in schemes if row.limit == one], assumed) for one in limits]


def purchases(runs: Any) -> list[str]:
    """The verdicts, then once what their words mean, and what was not compared at equal terms."""
    lines = verdicts(runs)
    if lines:
        lines += [_BUY] if any(" above " in line for line in lines) else []
        lines += [_OPEN] if any(": open, " in line for line in lines) else []
        lines += _remarks(runs)
    return lines


def _remarks(runs: Any) -> Iterator[str]:
    """Settings at an edge of the values tried, and schemes that spent less or have no result."""
    table, schemes = opened(runs), summary_rows(runs)
    if free := zero_shot(runs):
        worse = sorted({row.limit for row in schemes if row.limit} - {
            row.limit for row in schemes if row.highest.score.mean > free.score.mean
        })  # fmt: skip
        if worse:
            yield (
                f"{listed([*map(str, worse)], len(worse))}: no purchase reaches more than the "
                f"scores without labels, {_mean(free)} mAP for $0"
            )
    if edges := [row for row in choices(table) if row["tuned_edge"]]:
        tried, untried = _tried(table), json.loads(table.attrs.get("untried", "{}"))
        mends: dict[tuple[str, str], dict[str, int]] = {}
        for one in edges:
            mend = "widen these with [tuning.space]"
            values = _tried_for(one, tried)
            if beyond := _beyond(one, values, untried.get(one["method"], {})):
                mend = f"raise runs in [tuning], as {beyond} of the space was not tried"
            of_value = mends.setdefault((_at_edge(one, values), mend), {})
            of_value[f"{one['method']} under {one['scheme']}"] = 0
        for (value, mend), names in mends.items():
            of = f" ({value})" if value else ""
            yield (
                f"the settings chosen for {listed([*names])} lie at the edge of the values tried"
                f"{of}; {mend}"
            )
    if failed := not_above_chance(table):
        (level, *_), poor = failed.values(), [*failed]
        yield (
            f"not above a random order ({100 * level:.1f} mAP): {listed(poor, len(poor))}; their "
            "settings or these labels prevent learning, and nothing about the method follows; if "
            "settings were not tuned, use --fair or [tuning.space]"
        )
    less: dict[str, list[str]] = {}
    for row in schemes:
        if row.limit and (spent := _too_little(row)):
            less.setdefault(row.scheme, []).append(f"{spent} of {row.limit}")
    for scheme, amounts in less.items():
        yield (
            f"{scheme} spent {listed(amounts, len(amounts))} on average, so that it is compared "
            "with schemes that cost more"
        )
    missing: dict[str, list[str]] = {}
    for limit in sorted({row.limit for row in schemes if row.limit}):
        if lacking := without_result(table, [row for row in schemes if row.limit == limit]):
            missing.setdefault(lacking, []).append(str(limit))
    for lacking, limits in missing.items():
        yield f"{listed(limits, len(limits))}: {lacking}"


def random_order(runs: Any) -> float:
    """The expected mAP of a random order of the test images; 0 for tables without their counts."""
    attrs = opened(runs).attrs
    if "test_present" not in attrs:
        return 0.0
    counts = LabelCounts(np.array(attrs["test_present"]), np.array(attrs["test_absent"]))
    return mean_ap(counts.chance)


def not_above_chance(runs: Any) -> dict[str, float]:
    """The mAP of a random order of the test images, by the name of each scheme and method whose
    mean mAP is not above it. Empty for tables without counts of the test labels."""
    if not (level := random_order(runs)):
        return {}
    every = [cell for row in summary_rows(runs) for cell in row.cells]
    return {
        f"{cell.method} under {cell.scheme}{cell.limit.at}": level
        for cell in every if cell.score.mean <= level
    }  # fmt: skip


def without_result(table: pd.DataFrame, rows: Sequence[Row]) -> str:
    """A clause that names the schemes of the grid that are not among these rows, if any."""
    names = [
        name for name in table.attrs.get("schemes", ()) if name not in {r.scheme for r in rows}
    ]
    return f"without a result, and not compared: {listed(names, len(names))}" if names else ""


def _too_little(row: Row) -> str:
    """What the labels of a scheme cost on average, if less than `_EQUAL` of the budget; else ""."""
    in_hours = row.limit.hours is not None
    costs = [cell.hours if in_hours else cell.dollars for cell in row.cells]
    known = [one for one in costs if one is not None]
    budget = row.limit.hours if in_hours else row.limit.dollars
    if not budget or not known or (spent := float(np.mean(known))) >= _EQUAL * budget:
        return ""
    return f"{spent:,.3g} hours" if in_hours else money(spent)


def _verdict(schemes: list[Row], assumed: Sequence[str] = ()) -> str:
    """The purchase at one budget; assumed: the sentences on assumptions of schemes."""

    def given(name: str) -> str:
        free = any(text.startswith(f"{name} {FREE_MODEL}") for text in assumed)
        return "if a free model proposes images" if free else ""

    def named(name: str) -> str:
        return f"{name} ({given(name)})" if given(name) else name

    best, pairs = best_pairs(schemes)
    scheme, method = best.first
    cells = list(pairs.values())
    score = _score(over_shared(pairs[best.first], cells), cells)
    start = f"{schemes[0].limit}:"
    if not best.probability and len(pairs) > 1:
        return f"{start} {named(scheme)} with {method} is highest, {score}; {too_few_text(best)}"
    of_scheme = [pair for pair in best.order if pair[0] == scheme]
    if best.settled(of_scheme) or len(pairs) == 1:
        row = next(row for row in schemes if row.scheme == scheme)
        train = _training(row, [method, *(name for _, name in best.ties)])
        following = [pair for pair in best.order if pair[0] != scheme]
        above = ""
        if following:
            by = pairs[best.first].minus(pairs[following[0]])
            above = f", {_behind(by)} above {named(following[0][0])}"
        return f"{start} buy {named(scheme)}, train {train}: {score}{above}"
    chances = [
        (name, best.of(pair for pair in best.order if pair[0] == name))
        for name in open_schemes(best)
    ]
    within = [", ".join(filter(None, (shown_probability(p), given(name)))) for name, p in chances]
    names = [f"{name} ({text})" for (name, _), text in zip(chances, within, strict=True)]
    which = listed(names, last="or")
    return f"{start} open, {which}; highest: {scheme} with {method}, {score}"


def _training(row: Row, equal: Sequence[str]) -> str:
    """The best methods under a scheme: those with equal scores, then others that may be the best,
    with their probabilities."""
    best, facts = row.best, list[str]()
    if len(equal) > 1:
        facts.append("same scores in every draw")
    others = [name for name in best.rivals if name not in equal and best.probability]
    if others:
        facts.append(shown_probability(best.probability[equal[0]]))
    first = listed(equal, last="or") + (f" ({'; '.join(facts)})" if facts else "")
    rivals = (f"{name} ({shown_probability(best.probability[name])})" for name in others)
    return listed([first, *rivals], last="or")


def _rivals(best: Best) -> str:
    """The rivals with their probabilities of being the best, and the draws that would decide."""
    chances = [f"{name} ({shown_probability(best.probability[name])})" for name in best.rivals]
    text = f"; the best may also be {listed(chances, last='or')}" if chances else ""
    if best.extra_draws is None or best.extra_draws > _MOST_DRAWS:
        return text
    return f"{text}; {numbered(round(best.extra_draws), 'more draw')} would separate the first two"


def _more_draws(rows: Sequence[Row]) -> Iterator[str]:
    """What the numbers of draws in the sentences assume, and where they are too large to state."""
    extra = {f"{row.scheme}{row.limit.at}": row.best.extra_draws for row in rows}
    stated = {where: draws for where, draws in extra.items() if draws is not None}
    many = [where for where, draws in stated.items() if draws > _MOST_DRAWS]
    parts = []
    if len(many) < len(stated):
        parts.append(
            "the numbers of draws assume that the difference of the first two stays the same"
        )
    if many:
        parts.append(
            f"for {listed(many)}, more than {_MOST_DRAWS} more draws would be needed to separate "
            "the first two"
        )
    if text := "; ".join(parts):
        yield f"{text[0].upper()}{text[1:]}."


def _behind(by: Interval | None) -> str:
    """ "1.2 (0.4 to 2.0)", in points."""
    if by is None:
        return ""
    within = (np.clip(one, -1, 1) for one in (by.mean, by.low, by.high) if one is not None)
    mean, *ends = (f"{round(100 * float(one), 1) + 0:.1f}" for one in within)
    return f"{mean} ({' to '.join(ends)})" if ends else mean


def too_few_text(best: Best) -> str:
    """Why there is no probability: "one draw is too few to compare"."""
    if not best.draws:
        return "no draw has all runs"
    return "one draw is too few to compare"


def shown_probability(value: float) -> str:
    """ "0.62"; neither 0 nor 1 is ever certain: "<0.01", ">0.99". Near the probability from which a
    method is called the best, three digits say on which side it is."""
    if abs(value - SURE) < 0.01:
        text = f"{value:.3f}"
        near = "<" if value < SURE else ">" if value > SURE else ""
        return f"{near}{text}" if text == f"{SURE}" else text
    return "<0.01" if value < 0.005 else ">0.99" if value > 0.995 else f"{value:.2f}"


def markdown(runs: Any, *, before: str = "") -> str:
    """The summary as Markdown: what was compared, the best purchases with what they assume, then
    sentences and a table of all cells.

    before: text that comes before the results.
    """
    bought = purchases(runs)
    to_buy = [f"- {text}" for text in (*free_baseline(runs), *bought, *assumptions(runs))]
    free = zero_shot(runs)
    cells: list[tuple[Cell, str, float | None]] = [(free, "", None)] if free else []
    for row in summary_rows(runs):
        chances = row.best.probability
        cells += [
            (cell, _behind(row.behind(cell.method)), chances.get(cell.method)) for cell in row.cells
        ]
    complete = Row("", Budget(), tuple(references(runs)))
    cells += [(cell, _behind(complete.behind(cell.method)), None) for cell in complete.cells]
    rows = []
    for cell, behind, probability in cells:
        score = cell.score.bounded
        ends = [100 * end for end in (score.low, score.high) if end is not None]
        interval = " to ".join(f"{end:.1f}" for end in ends)
        best = "" if probability is None else shown_probability(probability)
        hours = "unknown" if cell.hours is None else f"{cell.hours:,.2f}"
        of_labels = [f"{cell.dollars:,.2f}", hours, f"{cell.images:,.0f}"]
        scores = [_mean(cell), interval, behind, best, str(cell.score.draws)]
        rows.append([cell.scheme, str(cell.limit), cell.method, *scores, *of_labels])
    columns = "scheme budget method mAP interval behind P(best) draws dollars hours images".split()
    results = [f"- {text}" for text in sentences(runs)]
    table = opened(runs)
    parts = ["# Comparison", ""]
    parts += [part for text in (table.attrs.get("compared"), before) if text for part in (text, "")]
    parts += [*(f"- {text}" for text in conditions(runs)), ""]
    parts += ["# What to buy" if bought else "# Assumptions", "", *to_buy, ""] if to_buy else []
    inner = 0 < len(leaves(table)) < len(class_names(table))
    note = _NOTE.format(classes="leaf classes" if inner else "classes")
    parts += ["# Which method is best under which scheme?", "", *results, "", note, ""]
    parts += _table(columns, "|---|--:|---|--:|---|---|--:|--:|--:|--:|--:|", rows)
    return "\n".join([*parts, ""])


def _table(columns: Sequence[str], alignment: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, *rows)]
    return [lines[0], alignment, *lines[1:]]


def choices(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A row for each scheme and method with chosen settings."""
    rows = table[table["tuned_runs"].fillna(0) > 0]
    keys = ["reference", "scheme", "method"]
    columns = [*keys, "tuned", "tuned_runs", "tuned_map", "tuned_edge"]
    return list(rows.drop_duplicates(keys)[columns].to_dict("records"))


def _tried(table: pd.DataFrame) -> dict[str, dict[str, _Values]]:
    """The values that a sweep tried, by scheme (or "reference") and method; empty in tables of
    earlier versions, some of which have them by method alone."""
    tried = dict(json.loads(table.attrs.get("tried", "{}")))
    by_method = any(isinstance(one, list) for of in tried.values() for one in of.values())
    return {} if by_method else tried


def _tried_for(row: dict[str, Any], tried: dict[str, dict[str, _Values]]) -> _Values:
    """Those for the scheme and method of a row of `choices`."""
    scheme = REFERENCE if row["reference"] else row["scheme"]
    return tried.get(scheme, {}).get(row["method"], {})


def _edges(row: dict[str, Any], tried: _Values) -> Iterator[tuple[str, Any, str, list[Any]]]:
    """Name, value, end ("smallest" or "largest") and tried values of the settings of a row of
    `choices` that lie at an edge."""
    for name, value in json.loads(row["tuned"]).items():
        values = tried.get(name, [])
        numeric = len(values) > 2 and all(type(one) in (int, float) for one in values)
        if row["tuned_edge"] and numeric:
            if end := {min(values): "smallest", max(values): "largest"}.get(value):
                yield name, value, end, values


def _at_edge(row: dict[str, Any], tried: _Values) -> str:
    """ "lr=1, the largest of 0.01, 0.1, 1" for a row of `choices` at an edge; or ""."""
    parts = [f"{name}={value:g}, the {end} of {_values(values)}"
             for name, value, end, values in _edges(row, tried)]  # fmt: skip
    return "; ".join(parts)


def _beyond(row: dict[str, Any], tried: _Values, untried: _Values) -> str:
    """The values of the space beyond the edges of a row of `choices` that were not tried, or ""."""
    return " and ".join(
        f"{name}={other:g}"
        for name, value, end, _ in _edges(row, tried)
        for other in untried.get(name, ())
        if (other > value if end == "largest" else other < value)
    )


def _values(values: list[Any]) -> str:
    return ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in values)


def chapter_of_settings(table: pd.DataFrame) -> str:
    """A table of the chosen settings as Markdown, and the values that were tried."""
    rows, tried, chosen = [], _tried(table), choices(table)
    alike: dict[str, dict[str, list[str]]] = {}  # schemes by values tried and method
    for row in chosen:
        values = ", ".join(f"{name}={value}" for name, value in json.loads(row["tuned"]).items())
        edge = (_at_edge(row, _tried_for(row, tried)) or "yes") if row["tuned_edge"] else "no"
        scheme = f"{row['scheme']} (all images)" if row["reference"] else row["scheme"]
        score, runs = f"{100 * row['tuned_map']:.1f}", f"{row['tuned_runs']:.0f}"
        rows.append([scheme, row["method"], values, score, runs, edge])
        of_row = _tried_for(row, tried).items()
        values = "; ".join(f"{name} {_values(each)}" for name, each in of_row)
        alike.setdefault(values, {}).setdefault(row["method"], []).append(scheme)
    columns = ["scheme", "method", "chosen", "mAP on validation", "tried", "at an edge"]
    lines = _table(columns, "|---|---|---|--:|--:|---|", rows)
    about = []
    for values, schemes in alike.items():
        methods = [
            method if len(of) == sum(row["method"] == method for row in chosen)
            else f"{method} under {listed(of, len(of))}"
            for method, of in schemes.items()
        ]  # fmt: skip
        about += [f"- tried for {listed(methods, len(methods))}: {values}"] if values else []
    return "\n".join(["", "## Chosen settings", "", *about, "", *lines, ""])


def notes_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Notes on the runs: each once, with its schemes, and with its methods if it is about training.
    Of notes that differ only in numbers, the last counts."""
    sentences = []
    last: dict[tuple[str, str, str], str] = {}
    for scheme, method, notes in table[["scheme", "method", "notes"]].itertuples(False):
        for note in notes if notes is not None else ():
            text, of = _without_names(note, scheme, method)
            last[scheme, of, re.sub(r"[\d.,]+", "", text)] = text
    methods: dict[str, dict[str, list[str]]] = {}  # by text and scheme
    for (scheme, method, _), text in last.items():
        methods.setdefault(text, {}).setdefault(scheme, []).append(method)
    for text, by_scheme in methods.items():
        schemes: dict[str, list[str]] = {}
        for scheme, names in by_scheme.items():
            with_methods = f" with {listed(names, len(names))}" if any(names) else ""
            schemes.setdefault(with_methods, []).append(scheme)
        for with_methods, names in schemes.items():
            sentences.append(f"{listed(names, len(names))}{with_methods}: {text}")
    return tuple(sentences)


def _without_names(note: str, scheme: str, method: str) -> tuple[str, str]:
    """A note without the scheme or method that it starts with, and the method, if it names one.

    Notes name both without settings.
    """
    scheme_name = re.escape(scheme.partition("(")[0])
    if (text := re.sub(rf"^{scheme_name}(: | (?=can spend ))", "", note)) != note:
        return text, ""
    names = (part.partition("(")[0] for part in [*method.split("+"), method])
    for name in map(re.escape, names):
        if (text := re.sub(rf"^{name}: ", "", note)) != note:
            return text, method
        if (text := re.sub(rf"^method '{name}'", "the method", note)) != note:
            return text, method
    return note, ""
