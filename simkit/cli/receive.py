"""Read the answers to an order; write labels, votes and times."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from simkit.cli import params
from simkit.cli.output import counts_line, print_json, say, table
from simkit.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from simkit.orders.order import Order
    from simkit.orders.receiving import OrderState


# fmt: off
@click.command(epilog="Example: simkit receive order1 answers-anna.jsonl answers-ben.jsonl")
@click.argument("folder", type=params.FOLDER, metavar="ORDER")
@click.argument("files", type=params.FILE, nargs=-1)
@click.option("--columns", multiple=True, metavar="FIELD=NAME",
              help="Column of a table for question, image, class, answer, worker or seconds.")
@params.json
def command(folder: Path, files: tuple[Path, ...], columns: tuple[str, ...]) -> None:
    """Add answers to an order: from its page, a table (CSV, JSONL) or Label Studio (JSON).

    Answers are checked, added and never replaced; receiving the same file again changes nothing.
    Labels, votes, measured times and open questions are written into the order's folder. Without
    FILES they are written again from the answers so far. ORDER may be a project: the files name
    their order.
    """
    from simkit.orders.order import Order
    from simkit.orders.project import next_step, order_of, project_of, write_pilot
    from simkit.orders.receiving import OrderState, checked, keep, kept, write

    folder = order_of(folder, files)
    project = project_of(folder)
    order = Order.read(folder)
    names = params.pairs(columns, "--columns", "field=NAME, such as answer=label")
    raw = [(file, _rows(file, order, names)) for file in files]  # all are read before any is kept
    added, problems = 0, []
    for file, rows in raw:
        result = checked(order, rows)
        keep(order, result.answers)
        added += len(result.answers)
        problems += [(str(file), *row) for row in result.problems.itertuples(index=False)]
    state = None
    while state is None or len(kept(order)) > len(state.answers):  # others may receive, too
        state = OrderState.of(order)
        if not len(state.answers):
            raise BadInput(f"{folder} has no answers yet; give the files with people's answers"
                           + _of_problems(problems))
        written = write(state)
        if project is not None:
            written += [f"../{name}" for name in write_pilot(project, state)]
    _tell(state, added, problems, written)
    say(f"next: {_next(state) if project is None else next_step(project, project.states)}")
# fmt: on


def _rows(file: Path, order: Order, columns: dict[str, str]) -> pd.DataFrame:
    from simkit.orders.tools import label_studio, sheet

    if file.suffix.lower() == ".json":
        return label_studio.read(file, order)
    if file.suffix.lower() not in (".csv", ".jsonl", ".ndjson"):
        raise BadInput(f"{file} is not a file of answers; give .jsonl, .csv, or .json of Label "
                       "Studio")  # fmt: skip
    return sheet.read(file, order, columns)


def _of_problems(problems: list[tuple[Any, ...]]) -> str:
    return f" ({len(problems)} rows were refused: {problems[0][2]})" if problems else ""


def _tell(
    state: OrderState, added: int, problems: list[tuple[Any, ...]], written: list[str]
) -> None:
    order, total = state.order, len(state.order.table)
    rows = [{"file": one[0], "row": one[1], "problem": one[2]} for one in problems]
    print_json({
        "order": order.id, "added": added, "answers": len(state.answers),
        "open": len(state.open), "counts": state.labels.counts(), "tied": state.tied,
        "labels": state.labels.id,
        "seconds": state.seconds.to_dict(), "problems": rows, "files": written,
    })  # fmt: skip
    say(f"{added:,} answers added; {total - len(state.open):,} of {total:,} questions are answered")
    say(counts_line(state.labels))
    if state.tied:
        say(f"{state.tied:,} unknown: people disagreed")
    if problems:
        say(f"{len(problems):,} rows do not count:")
        causes: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        for one in problems:
            causes.setdefault((one[0], one[3]), []).append(one)
        for same in [*causes.values()][:5]:
            file, row, problem, _ = same[0]
            others = f" and {len(same) - 1:,} more" if len(same) > 1 else ""
            say(f"  {file}, row {row + 1}{others}: {problem}")
        if len(causes) > 5:
            say(f"  ... and {len(causes) - 5:,} other problems (--json lists all rows)")
    if len(state.seconds):
        times = ", ".join(f"{kind} {value:.1f} s" for kind, value in state.seconds.items())
        say(f"mean time per question: {times}")
    people = [
        [str(who), f"{int(one.answers):,}", f"{one.unsure:.0%}",
         "" if one.seconds != one.seconds else f"{one.seconds:.1f}",
         "" if one.gold != one.gold else f"{one.right:.0%} of {int(one.gold)}"]
        for who, one in state.people.iterrows()
    ]  # fmt: skip
    table(["person", "answers", "unsure", "s each", "gold correct"], people)
    say(f"wrote {', '.join(written)} in {order.folder}")


def _next(state: OrderState) -> str:
    """What to do next, outside a project."""
    from simkit.orders.receiving import DATA

    if len(state.open):
        return f"receive the answers to the {len(state.open):,} open questions (open.csv)"
    order = state.order
    data, labels = (quote(str(order.folder / name)) for name in (DATA, "labels.parquet"))
    drawn = order.settings.data.partition(":")[0] == "scenes"
    network = "" if drawn else " --backbone mobilenet_v2 --weights imagenet"
    train = f"simkit train --method an --data {data} --labels {labels}{network} --out model"
    further = f"simkit order --next {quote(str(order.folder))}"
    if order.exhausted(state.joined):
        return train
    if len(order.ask(order.settings, state.joined).questions):
        return f"{further} (the scheme has further questions)\nor train on these labels: {train}"
    return f"{train}\nor order more labels: {further} --budget DOLLARS"
