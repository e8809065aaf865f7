"""How results look in a terminal: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from simkit.errors import printable
from simkit.quantities import exact_money, in_cents

if TYPE_CHECKING:
    from simkit.annotate.prices import Cost, Prices
    from simkit.labels.partial import PartialLabels

JSON = "simkit.json"  # in the context of a command: whether --json was given
NOTES = "simkit.notes"  # in the context: the notes so far
MINUTE = 60.0  # seconds between two lines of progress in a pipe
_DAY = 86_400.0  # seconds; rich forgets after half a minute how fast it went unless told otherwise


Advance = Callable[..., None]  # (done, total, note=""): moves a bar; note is the text beside it


def wants_json() -> bool:
    """Whether the command was called with --json: it prints one object and no text."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(JSON, False)


def print_json(value: dict[str, Any]) -> None:
    """With --json, print one object on one line, with the notes if there are any.

    nan and infinity become null.
    """
    if wants_json():
        if notes := click.get_current_context().meta.get(NOTES):
            value = value | {"notes": notes}
        strict = json.loads(json.dumps(value), parse_constant=lambda _: None)
        click.echo(json.dumps(strict, ensure_ascii=False, allow_nan=False))


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text, unless the command was called with --json."""
    if not wants_json():
        click.echo(printable(text), err=err, nl=nl)


def width() -> int:
    """Columns of the terminal, or what COLUMNS says; a pipe has none: no line is folded there."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10_000


def table(
    columns: list[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    words: Collection[int] = (0,),
    cut: int | None = None,
    folded: bool = True,
) -> None:
    """Print rows as `say` prints text; the columns at `words` hold words, the others numbers.

    Whole numbers get commas, lists too, and None is empty. Cells of the first column are folded
    last. cut: the column whose cells end in an ellipsis where the terminal is too narrow; the
    others are folded.  folded: False for rows that are never broken, such as those of files.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if wants_json():
        return
    title, columns = printable(title), [*map(printable, columns)]
    texts = [[*map(_cell, row)] for row in rows]
    drawn = Table(
        title=title or None, title_justify="left", box=None, pad_edge=False, show_edge=False
    )
    for place, name in enumerate(columns):
        side: Literal["left", "right"] = "left" if place in words else "right"
        drawn.add_column(name, justify=side, overflow="fold", no_wrap=place == 0)
    widest = [max(map(len, cells)) for cells in zip(columns, *texts, strict=True)]
    if cut is not None:
        room = max(20, width() - sum(size + 2 for n, size in enumerate(widest) if n != cut))
        for row in texts:
            if len(row[cut]) > room:
                row[cut] = f"{row[cut][: room - 1].rstrip()}…"
    for row in texts:
        drawn.add_row(*map(escape, row))  # [train] is a word, and no colour
    console = Console(highlight=False, soft_wrap=False, width=(
        width() if folded else max(width(), sum(widest) + 2 * len(widest))
    ))  # fmt: skip
    with console.capture() as lines:  # rich would exit with 1 where the reader of a pipe went away
        console.print(drawn)
    sys.stdout.write(lines.get())


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return printable(", ".join(value))
    return f"{value:,}" if isinstance(value, int) else printable("" if value is None else value)


def counts_line(labels: PartialLabels) -> str:
    """How many images were asked about and how many labels are known, in two lines."""
    from simkit.annotate.schemes import schemes

    counts = labels.counts()
    N, L = labels.shape
    asked = int(labels.asked.sum())
    known = counts["present"] + counts["absent"]
    return (
        f"{schemes.shortened(labels.history.settings.get('scheme', 'labels'))}: "
        f"{asked:,} of {N:,} images asked, {L} classes\n"
        f"{known:,} labels known ({known / (N * L):.2%}): "
        f"{counts['present']:,} present, {counts['absent']:,} absent"
    )


def facts_of(labels: PartialLabels) -> dict[str, Any]:
    """Content id, sizes, counts and questions of labels, for a program."""
    N, L = labels.shape
    facts = {"id": labels.id, "images": N, "classes": L, "asked": int(labels.asked.sum())}
    return facts | {"counts": labels.counts(), "effort": labels.effort.counts()}


def cost_table(bill: Cost, price_list: Prices) -> None:
    """Questions, hours and dollars by kind of question; dollars add up to the cent.

    Below stand where the prices come from, how full pages are, and what was paid for and dropped.
    """
    short = bill.seconds is not None and bill.seconds < 3600
    unit = 60 if short else 3600
    cents = in_cents(each.dollars for each in bill.lines)
    rows: list[list[Any]] = [
        [each.kind, each.questions or None, hours(each.seconds, unit), exact_money(some, sign="")]
        for each, some in zip(bill.lines, cents, strict=True)
    ]
    wage = "" if price_list.wage is None else f", ${price_list.wage:g} an hour"
    say(f"cost at {price_list.name} prices{wage}, {bill.people}")
    table(
        ["question", "asked", "minutes" if short else "hours", "$"],
        [*rows, ["total", "", hours(bill.seconds, unit), exact_money(bill.dollars, sign="")]],
    )
    sources = {
        each.source: [other.kind for other in bill.lines if other.source == each.source]
        for each in bill.lines if each.source and (each.questions or each.dollars)
    }  # fmt: skip
    for source, kinds in sources.items():
        say(f"price of {', '.join(kinds)}: {source}")
    for line in bill.lines:
        if line.pages and line.images and line.full is not None:
            say(
                f"{line.kind}: {line.pages / line.images:.3g} pages of up to {line.page} questions "
                f"for each image and person, {line.full:.0%} full"
            )
    if bill.dropped:
        say(
            f"dropped: {bill.dropped:,} answers were paid for and not kept, "
            f"{exact_money(bill.dropped_dollars, sign='')} of the dollars above"
        )


def hours(seconds: float | None, unit: int = 3600) -> str:
    """Seconds as hours, or in another unit, or what to say where the time is not known."""
    return "unknown" if seconds is None else f"{seconds / unit:,.2f}"


@contextmanager
def progress(*labels: str, quiet: bool = False) -> Iterator[list[Advance]]:
    """A bar on stderr for each label; yields functions of (done, total) that move them.

    A bar appears when it is first called, with the time left. In a pipe a line a minute takes its
    place.
    """
    from rich.console import Console
    from rich.progress import Progress

    quiet = quiet or wants_json()
    lines = not quiet and not sys.stderr.isatty()
    bars = Progress(
        console=Console(stderr=True), transient=True, speed_estimate_period=_DAY,
        disable=quiet or lines,
    )  # fmt: skip

    def bar(label: str) -> Advance:
        number = bars.add_task(label, total=None, visible=False)
        task = bars.tasks[number]
        last_line = bars.get_time()

        def advance(done: float, total: int, note: str = "") -> None:
            nonlocal last_line
            words = note or task.description
            bars.update(number, completed=done, total=total, visible=True, description=words)
            if lines and bars.get_time() - last_line >= MINUTE:
                last_line = bars.get_time()
                seconds = task.time_remaining  # None until it can be estimated
                left = "" if seconds is None else f", {timedelta(seconds=round(seconds))} left"
                click.echo(f"{words}: {done:,.0f} of {total:,}{left}", err=True)

        return advance

    with bars:
        yield [bar(label) for label in labels]


def write_figure(drawing: Any, path: Path) -> None:
    """Write a matplotlib figure without a date, so that the same figure gives the same bytes."""
    from simkit.files import whole

    kind = path.suffix[1:].lower()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with whole(path) as part:
        drawing.savefig(part, format=kind, dpi=200, metadata=undated)


def write_page(made: Any, file: Path) -> None:
    """Write a plan or an evaluation in the form that the ending of the file names."""
    from simkit.files import whole

    writers: dict[str, Callable[[], str]] = {
        ".html": made.html, ".md": made.markdown,
        ".json": lambda: json.dumps(made.to_json(), ensure_ascii=False, indent=1) + "\n",
        ".txt": lambda: made.text(width=100, details=True) + "\n",
    }  # fmt: skip
    with whole(file) as part:
        part.write_text(writers[file.suffix.lower()](), encoding="utf-8")
