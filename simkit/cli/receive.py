"""Read the answers to an order; write labels, votes and times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

import click

from simkit.cli import options
from simkit.cli.output import counts_line, print_json, say, table
from simkit.errors import BadInput
from simkit.quantities import duration, exact_money

if TYPE_CHECKING:
    import pandas as pd

    from simkit.orders.receiving import Checked, OrderState


@click.command(epilog="Example: simkit receive order1 answers-anna.jsonl answers-ben.jsonl")
@click.argument("folder", type=options.FOLDER, metavar="ORDER")
@click.argument("files", type=options.FILE, nargs=-1)
@options.signature
@options.json
def command(
    folder: Path, files: tuple[Path, ...], *, columns: tuple[str, ...] = (),
    minus: Literal["absent", "unknown"] | None = None,
) -> None:  # fmt: skip
    """Add answers to an order: from its page, a table (CSV, JSON, Excel) or Label Studio.

    Answers are checked, added and never replaced; receiving the same file again changes nothing.
    Labels, votes, measured times and open questions are written into the order's folder. Without
    FILES they are written again from the answers so far. ORDER may be a project: the files name
    their order.

    Parameters
    ----------
    columns : FIELD=NAME
        Column of a table for question, image, class, answer, worker, seconds or milliseconds; none
        if the table has no such column.
    minus
        Meaning of -1 in answers with 1 and -1 but no 0.
    """
    import pandas as pd

    from simkit.orders import answer_tables, side_tables
    from simkit.orders.order import Order
    from simkit.orders.project import next_step, order_of, project_of, write_pilot
    from simkit.orders.project_scores import ProjectScores
    from simkit.orders.receiving import OrderState, checked, keep, kept, write

    folder = order_of(folder, files)
    project = project_of(folder)
    order = Order.read(folder)
    names = options.pairs(columns, "--columns", "field=NAME, such as answer=label")
    raw = [pd.DataFrame(columns=["file", *answer_tables.RAW])]
    for file in files:
        raw.append(answer_tables.read(file, order, names, minus or "").assign(file=str(file)))
    result = checked(order, pd.concat(raw))
    for name in (side_tables.NAMES, side_tables.NOTES):
        side_tables.read(folder, name)  # a damaged one is refused before answers are stored
    keep(order, result.answers)
    side = side_tables.add(folder, side_tables.NAMES, result.names)
    side += side_tables.add(folder, side_tables.NOTES, result.notes)
    state = None
    while state is None or len(kept(order)) > len(state.answers):  # others may receive, too
        state = OrderState.of(order)
        if not len(state.answers):
            named, mend = ", ".join(map(str, files)), "give the files with people's answers"
            if len(result.problems):
                first = result.problems.iloc[0]
                mend = (f"{len(result.problems):,} rows of {named} were refused, such as row "
                        f"{first.row} ({first.problem}); correct them")  # fmt: skip
            elif files:
                why = ", ".join(f"{n:,} rows: {reason}" for reason, n in result.left_out.items())
                mend = f"no row of {named} has an answer{f' ({why})' if why else ''}; have the "
                mend += "questions answered"
            raise BadInput(f"{folder} has no answers yet; {mend}")
        written = [*write(state), *side]
        if project is not None:
            written += [f"../{name}" for name in write_pilot(project, state)]
            if (scores := ProjectScores.of(project, project.states[0])) is not None:
                written += [f"../{name}" for name in scores.write()]
    _print(state, result, written)
    say(f"next: {_next(state) if project is None else next_step(project, project.states)}")


def _print(state: OrderState, result: Checked, written: list[str]) -> None:
    from simkit.orders import side_tables

    names = dict(side_tables.read(state.order.folder, side_tables.NAMES).to_numpy().tolist())
    order, total = state.order, len(state.order.table)
    added, problems = len(result.answers), result.problems
    print_json({
        "order": order.id, "added": added, "answers": len(state.answers),
        "open": len(state.open), "counts": state.labels.counts(), "tied": state.tied,
        "labels": state.labels.id, "seconds": state.seconds.to_dict(),
        "pauses": state.pauses, "files": written,
        "problems": problems[["file", "row", "problem"]].to_dict("records"),
        "left_out": result.left_out, "errors": state.errors, "further": len(state.of_others),
        "people": [{"person": who, "name": names.get(str(who), ""), "answers": int(one.answers),
                    **{key: None if one[key] != one[key] else float(one[key])
                       for key in ("time", "untimed", "pay")}}
                   for who, one in state.people.iterrows()],
    })  # fmt: skip
    say(f"{added:,} answers added; {total - len(state.open):,} of {total:,} questions are answered")
    say(counts_line(state.labels))
    if state.tied:
        say(f"{state.tied:,} unknown: people disagreed")
    say(errors_line(state))
    if result.left_out:
        say("left out: " + ", ".join(f"{n:,} ({why})" for why, n in result.left_out.items()))
    if len(problems):
        say(f"{len(problems):,} rows do not count:")
        causes = [same for _, same in problems.groupby(["file", "cause"], sort=False)]
        for same in causes[:5]:
            one, more = same.iloc[0], len(same) - 1
            others = f" and {more:,} more" if more else ""
            say(f"  {one.file}, row {one.row}{others}: {one.problem}")
        if len(causes) > 5:
            say(f"  ... and {len(causes) - 5:,} other problems (--json lists all rows)")
    if len(state.seconds):
        times = ", ".join(f"{kind} {value:.2f} s" for kind, value in state.seconds.items())
        cut = f" (times cut for a pause: {state.pauses:,})" if state.pauses else ""
        say(f"mean time per question: {times}{cut}")
    _print_people(state.people, names)
    say(f"wrote {', '.join(written)} in {order.folder}")


def _print_people(people: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Answers, times and pay of each person, with the names that are known."""
    rows = [
        [names.get(str(who), ""), str(who), int(one.answers), f"{one.unsure:.0%}",
         "" if one.seconds != one.seconds else f"{one.seconds:.1f}",
         "" if one.time != one.time else duration(one.time),
         "" if one.pay != one.pay else exact_money(one.pay),
         "" if one.gold != one.gold else f"{one.right:.0%} of {int(one.gold)}"]
        for who, one in people.iterrows()
    ]  # fmt: skip
    table(["name", "person", "answers", "unsure", "s each", "time", "pay", "gold correct"], rows)
    if untimed := int(people["untimed"].sum()):
        say(f"{untimed:,} answers have no time; pay by the hour leaves them out")


def errors_line(state: OrderState) -> str:
    """The measured errors of the annotators, or why there are none, and what would measure them."""
    from simkit.orders.annotators import further_files
    from simkit.orders.rounds import REPEATED

    lacking, waiting = len(state.of_others), ""
    if lacking:
        waiting = f"; {lacking:,} questions wait for answers of other people"
        waiting += f": {files}" if (files := further_files(state)) else ""
    if state.errors is None:
        how = f"order --next --answers {REPEATED} --budget DOLLARS"
        mend = "" if lacking else f"; {REPEATED} answers to some questions measure them: {how}"
        return f"the annotators' errors are unknown{waiting}{mend}"
    rates, how = [f"{rate:.1%}" for rate in state.errors], ""
    if (found := state.repeated) is not None:
        rates = [
            f"{rate} ({low:.1%} to {high:.1%})"
            for rate, (low, high) in zip(rates, found.intervals, strict=True)
        ]
        how = f", from {found.questions:,} questions with {REPEATED} answers or more"
    return (f"annotators missed about {rates[0]} of present classes and reported {rates[1]} of "
            f"absent ones{how}{waiting}")  # fmt: skip


def _next(state: OrderState) -> str:
    """What to do next, outside a project."""
    from simkit.orders.project import annotators_option
    from simkit.orders.receiving import DATA

    if len(state.open):
        return f"receive the answers to the {len(state.open):,} open questions (open.csv)"
    order = state.order
    data, labels = (quote(str(order.folder / name)) for name in (DATA, "labels.parquet"))
    drawn = order.settings.data.partition(":")[0] == "scenes"
    network = "" if drawn else " --backbone mobilenet_v2 --weights imagenet"
    train = f"simkit train --method an --data {data} --labels {labels}{network} --out model"
    further = f"simkit order --next {quote(str(order.folder))}"
    shared = "".join(f" {quote(word)}" for word in annotators_option(order))
    if len(state.ties):
        return (
            f"{further} --ties{shared} (as many said yes as no)\nor train on these labels: {train}"
        )
    if order.exhausted(state.joined):
        return train
    if len(order.ask(order.settings, state.joined).questions):
        return (f"{further}{shared} (the scheme has further questions)\n"
                f"or train on these labels: {train}")  # fmt: skip
    return f"{train}\nor order more labels: {further} --budget DOLLARS{shared}"
