"""`simkit neighbours`: one picture, its nearest pictures, and what is known of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simkit.cli.report import print_json, progress, table
from simkit.errors import BadInput
from simkit.files import may_write, spare

if TYPE_CHECKING:
    import pandas as pd

    from simkit.data import Dataset

_FORMATS = (".png", ".pdf", ".svg")
_NAMES = 4  # of absent classes that the table writes out


@click.command(epilog="\b\nExample: simkit neighbours --query 50 --figure near.png")
@click.option("--data", "spec", default="scenes", show_default=True, help="A data set.")
@click.option("--split", default="train", show_default=True, help="The split that is searched.")
@click.option(
    "--query",
    required=True,
    metavar="ID",
    help="The id of an image of the split; or, where ids are names, the number of its row from 0.",
)
@click.option("--k", type=click.IntRange(min=1), default=10, show_default=True,
              help="How many neighbours.")  # fmt: skip
@click.option("--backbone", default="scenes-net", show_default=True, help="Gives the features.")
@click.option("--weights", metavar="FILE", help="Weights of the backbone, as in simkit features.")
@click.option(
    "--features",
    type=click.Path(path_type=Path),
    help="A folder from simkit features, or an npz file, instead of a backbone.",
)
@click.option(
    "--labels",
    "labels_file",
    type=click.Path(path_type=Path),
    help="A label file: show what it knows. [default: the truth]",
)
@click.option(
    "--figure", type=click.Path(path_type=Path), help="Draw the pictures: .png, .pdf or .svg."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(**given: Any) -> None:
    """Show the pictures nearest to one picture, and their labels.

    Distances are Euclidean, between pooled features of unit length.
    """
    from simkit.data import open as open_data
    from simkit.labels import formats
    from simkit.study.analysis.embedding import neighbours
    from simkit.study.sources import Source, open_source

    figure, split = given["figure"], given["split"]
    if figure is not None and figure.suffix.lower() not in _FORMATS:
        raise BadInput(f"--figure is {figure}; a name that ends in .png, .pdf or .svg is expected")
    if figure is not None:
        may_write(figure)
        spare(figure, given["labels_file"] or "", given["features"] or "")
    file = given["labels_file"]
    labels = None if file is None else formats.for_path(file).read(file)
    data = open_data(given["spec"])
    brought = ((split, str(given["features"])),) if given["features"] else ()
    source = Source(
        given["spec"], (split,), ("pooled",), given["backbone"], given["weights"] or "", brought
    )
    with progress("features", quiet=given["as_json"], rate_of="pictures") as (advance,):
        material = open_source(source, data=data, progress=advance)
    found = neighbours(
        material.truth(split),
        material.inputs(split, "pooled"),
        given["query"],
        k=given["k"],
        labels=labels,
        without=material.skipped(split),
    )
    if as_json := given["as_json"]:
        print_json(
            {"split": split, "query": given["query"], "neighbours": found.to_dict("records")}
        )
    else:
        _tell(found)
    if figure is not None:
        _draw(found, data, split, figure)
        if not as_json:
            click.echo(f"wrote {figure}")


def _tell(found: pd.DataFrame) -> None:
    rows = [
        [
            "query" if row["rank"] == 0 else str(row["rank"]),
            row["image"],
            f"{row['distance']:.4f}" if row["rank"] else "",
            f"{row['cosine']:.4f}" if row["rank"] else "",
            _known(row),
        ]
        for row in found.to_dict("records")
    ]
    table(["", "image", "distance", "1 - cosine", "labels"], rows, words=(0, 1, 4))


def _known(row: dict[str, Any]) -> str:
    """+ before what is known to be present, - before what is known to be absent."""
    parts = ["+ " + ", ".join(row["present"])] if row["present"] else []
    if row["absent"] and row["unknown"]:
        names, more = row["absent"][:_NAMES], len(row["absent"]) - _NAMES
        parts.append("- " + ", ".join([*names, f"{more:,} more"] if more > 0 else names))
    if row["unknown"]:
        hidden = f" (in truth {', '.join(row['hidden'])})" if row["hidden"] else ""
        parts.append(f"? {row['unknown']:,}{hidden}")
    return "; ".join(parts) or "no class is present"


def _draw(found: pd.DataFrame, data: Dataset, split: str, path: Path) -> None:
    from simkit.files import whole
    from simkit.study import figures

    pictures = None
    if split in data.pictures:
        pictures = tuple(data.pictures[split].read(found["row"].to_numpy()))
    with whole(path) as part:
        figures.make("neighbours", pictures=pictures)(found).savefig(
            part, format=path.suffix[1:].lower(), dpi=200
        )
