"""`simkit cost`: price the questions behind a label file."""

from __future__ import annotations

from pathlib import Path

import click

from simkit.cli.report import cost_table, counts_line, print_json


@click.command(epilog="Example: simkit cost fpc.parquet --prices google")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--prices",
    "price_list",
    default="coco-tagging",
    show_default=True,
    help="A preset or a TOML file; see `simkit list prices`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(file: Path, price_list: str, as_json: bool) -> None:
    """Say what the questions behind a label file cost at a price list."""  # fmt: skip
    from simkit.annotate.prices import cost, prices
    from simkit.errors import BadInput
    from simkit.labels import formats

    chosen = prices(price_list)
    labels = formats.for_path(file).read(file)
    if not labels.effort.kinds():
        raise BadInput(
            f"{file} does not say what people were asked, so it has no price; give the parquet or "
            "npz file that `simkit simulate` wrote"
        )
    bill = cost(labels, chosen)
    if as_json:
        lines = [
            {"kind": x.kind, "questions": x.questions, "seconds": x.seconds, "dollars": x.dollars}
            for x in bill.lines
        ]
        total = {"seconds": bill.seconds, "dollars": bill.dollars}
        print_json({"id": labels.id, "prices": chosen.name, "lines": lines, "cost": total})
        return
    click.echo(counts_line(labels))
    cost_table(bill, chosen, labels.effort.workers)
