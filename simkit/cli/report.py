"""How results look in a terminal: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol

import click

if TYPE_CHECKING:
    from simkit.annotate.prices import Cost, Prices
    from simkit.labels.partial import PartialLabels


MINUTE = 60.0  # seconds between two lines about progress


class Advance(Protocol):
    """Moves a bar to `done` of `total`; told: what stands beside it from now on."""

    def __call__(self, done: float, total: int, told: str = "") -> None: ...


def print_json(value: dict[str, Any]) -> None:
    """One object on one line of stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def width() -> int:
    """Columns of the terminal, or what COLUMNS says; a pipe has none: no line is folded there."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() or os.environ.get("COLUMNS") else 10_000


def table(
    columns: list[str],
    rows: list[list[str]],
    *,
    title: str = "",
    words: Collection[int] = (0,),
    whole: Collection[int] = (),
) -> None:
    """Print rows under columns; the columns at `words` hold words, the others numbers.

    whole: columns whose cells are not folded as long as others can be.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    drawn = Table(
        title=title or None, title_justify="left", box=None, pad_edge=False, show_edge=False
    )
    for place, name in enumerate(columns):
        side: Literal["left", "right"] = "left" if place in words else "right"
        drawn.add_column(name, justify=side, overflow="fold", no_wrap=place in whole)
    for row in rows:
        drawn.add_row(*map(escape, row))  # [train] is a word, and no colour
    Console(highlight=False, soft_wrap=False, width=width()).print(drawn)


def counts_line(labels: PartialLabels) -> str:
    """What was learnt, in two lines."""
    counts = labels.counts()
    N, L = labels.shape
    asked = int(labels.asked.sum())
    known = counts["present"] + counts["absent"]
    return (
        f"{labels.history.settings.get('scheme', 'labels')}: "
        f"{asked:,} of {N:,} images asked, {L} classes\n"
        f"{known:,} labels known ({known / (N * L):.2%}): "
        f"{counts['present']:,} present, {counts['absent']:,} absent"
    )


def cost_table(bill: Cost, price_list: Prices, asked_workers: int | None) -> None:
    """Questions, hours and dollars by kind of question, and where each price comes from.

    Below stand how full pages are, and what was paid for and dropped.
    asked_workers: people per question that the labels say; None: the price list's own number.
    """
    rows = [
        [
            line.kind,
            f"{line.questions:,}" if line.questions else "",
            hours(line.seconds),
            f"{line.dollars:,.2f}",
            line.source,
        ]
        for line in bill.lines
    ]
    workers = price_list.workers if asked_workers is None else asked_workers
    people = "1 person" if workers == 1 else f"{workers} people"
    wage = "" if price_list.wage is None else f", ${price_list.wage:g} an hour"
    total = ["total", "", hours(bill.seconds), f"{bill.dollars:,.2f}", ""]
    table(
        ["question", "asked", "hours", "$", "source of the price"],
        [*rows, total],
        title=f"cost at {price_list.name} prices{wage}, {people} for each question",
        words=(0, 4),
    )
    for text in cost_notes(bill):
        click.echo(text)


def cost_notes(bill: Cost) -> Iterator[str]:
    """How full the pages are, and what was paid for and dropped."""
    for line in bill.lines:
        if line.pages and line.images and line.full is not None:
            yield (
                f"{line.kind}: {line.pages / line.images:.3g} pages of up to {line.page} questions "
                f"for each image and person, {line.full:.0%} full"
            )
    if bill.dropped:
        yield (
            f"dropped: {bill.dropped:,} answers were paid for and not kept, "
            f"{bill.dropped_dollars:,.2f} of the dollars above"
        )


@contextmanager
def progress(*labels: str, quiet: bool = False, rate_of: str = "") -> Iterator[list[Advance]]:
    """A bar on stderr for each label; what is handed out is called with (done, total).

    A bar appears when it is first called, with the time that is left by what was done since then.
    In a pipe a line a minute takes its place. rate_of: what is counted, to show how many of them
    are done in a second.
    """
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.1f} {rate_of}/s" if task.speed and rate_of else "")

    class Left(ProgressColumn):
        # rich forgets after half a minute how fast it went, and work may take longer to end.
        def render(self, task: Task) -> Text:
            left = time_left(task.fields["ends"], task.total, task.get_time())
            return Text("" if left is None else f"{left} left", style="progress.remaining")

    bars = Progress(
        *Progress.get_default_columns()[:-1],
        Rate(""),
        Left(),
        console=Console(stderr=True),
        transient=True,
        disable=quiet or not sys.stderr.isatty(),
    )

    def bar(label: str) -> Advance:
        ends: list[tuple[float, float]] = []  # when so much was done: at first and at last
        task = bars.add_task(label, total=None, visible=False, ends=ends)

        lines = [bars.get_time()]  # when the last one was written

        def advance(done: float, total: int, told: str = "") -> None:
            ends[1:] = [(bars.get_time(), done)]
            if not (quiet or sys.stderr.isatty()) and bars.get_time() - lines[0] >= MINUTE:
                lines[0] = bars.get_time()
                left = time_left(ends, total, lines[0])
                rest = f", {left} left" if left else ""
                click.echo(f"{told or label}: {done:,.0f} of {total:,}{rest}", err=True)
            words = {"description": told} if told else {}
            bars.update(task, completed=done, total=total, visible=True, **words)  # type: ignore[arg-type]

        return advance

    with bars:
        yield [bar(label) for label in labels]


def time_left(ends: list[tuple[float, float]], total: float | None, now: float) -> str | None:
    """Such as 0:01:30, at the rate between the first and the last (seconds, done); None where that
    tells nothing yet. What was done before the first, in an earlier call, is no measure."""
    if len(ends) < 2 or total is None or ends[-1][1] <= ends[0][1]:
        return None
    (began, before), (last, done) = ends[0], ends[-1]
    left = (total - done) * (last - began) / (done - before) - (now - last)
    return str(timedelta(seconds=max(0, round(left))))


def hours(seconds: float | None) -> str:
    """Seconds as hours, or what to say where the time is not known."""
    return "unknown" if seconds is None else f"{seconds / 3600:,.2f}"
