"""`simkit convert`: the same labels in another file format, and what that format cannot hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simkit.cli.options import DATA, FILE, FORMAT, json_option
from simkit.cli.output import counts_line, print_json
from simkit.errors import BadInput
from simkit.files import spare

if TYPE_CHECKING:
    from simkit.labels.formats import Format
    from simkit.labels.partial import PartialLabels
    from simkit.labels.truth import Truth


# fmt: off
@click.command(epilog="Example: simkit convert fpc.parquet --to lvis out.json")
@click.argument("file", type=FILE)
@click.argument("out", type=FILE)
@click.option("--to", "target", type=FORMAT, metavar="FORMAT",
              help="See `simkit list formats`; settings in parentheses, as in "
              "'npy-triple(negatives=true)'. [default: by the ending of OUT]")
@click.option("--from", "source", type=FORMAT, metavar="FORMAT",
              help="The format of FILE. [default: by its ending and content]")
@click.option("--data", "spec", type=DATA, metavar="DATA",
              help="The data set of the labels, for a format that holds the truth beside them "
              "(npy-triple).")
@json_option
def command(
    file: Path, out: Path, target: str | None, source: str | None, spec: str | None, as_json: bool
) -> None:
    """Write the labels in FILE to OUT in another format, and say what is lost.

    Only parquet and npz hold everything: the questions asked, which determine the cost, and
    the history are lost in all others.
    """
    from simkit.annotate.datasheet import about
    from simkit.data.dataset import originals
    from simkit.labels import formats

    reader = formats.make(source) if source else formats.for_path(file)
    writer = formats.make(target) if target else formats.for_path(out, writing=True)
    _check_ending(writer, out)
    named = [getattr(part, key, "") for part in (reader, writer) for key in ("like", "names")]
    read = [*files_of(reader, file), *originals(spec or ""), *named]
    for path in files_of(writer, out):
        spare(path, *read)
    labels = reader.read(file)
    replaced = out.is_file()
    lost = writer.loses(labels)
    _write(writer, labels, out, _truth(spec, labels))
    if as_json:
        print_json(
            {
                "id": labels.id,
                "from": reader.name,
                "to": writer.name,
                "file": str(out),
                "replaced": replaced,
                "images": labels.shape[0],
                "classes": labels.shape[1],
                "counts": labels.counts(),
                "lost": list(lost),
            }
        )
        return
    click.echo(counts_line(labels))
    for each in lost:
        click.echo(f"lost: {each}")
    instead = ", in place of the file that was there" if replaced else ""
    click.echo(f"wrote {out} ({writer.name}){instead}")
    if cards := about(file, labels.id):
        click.echo(f"how these labels were made stays in {' and '.join(map(str, cards))}")
# fmt: on


def files_of(form: Format, path: Path) -> tuple[Path, ...]:
    """The files of labels at `path`; the first one is what cards are named after."""
    from simkit.labels.formats.base import SeveralFiles

    return form.files(path) if isinstance(form, SeveralFiles) else (path,)


def _check_ending(writer: Format, out: Path) -> None:
    """Raise BadInput where the ending says another format than the one that is written."""
    from simkit.labels.formats.base import formats

    ending = out.suffix.lower()
    if ending not in writer.suffixes and any(ending in each.suffixes for each in formats):
        raise BadInput(
            f"{out} has the ending {ending!r}, but {writer.name} is written with the ending "
            f"{writer.suffixes[0]!r}; give OUT that ending or another format"
        )


def _write(writer: Format, labels: PartialLabels, out: Path, truth: Truth | None) -> None:
    from simkit.labels.formats.base import WritesTruth

    if truth is None:
        writer.write(labels, out)
    elif isinstance(writer, WritesTruth):
        writer.write_with_truth(labels, out, truth)
    else:
        raise BadInput(f"--data is given, but {writer.name} holds no truth; leave --data out")


def _truth(spec: str | None, labels: PartialLabels) -> Truth | None:
    """The truth of the split of a data set that the labels are about."""
    if spec is None:
        return None
    from simkit.data import open

    data = open(spec)
    for split in (data.to_label, *data.truth):
        if len(data.truth[split].images) >= len(labels.images):
            if set(data.truth[split].images.tolist()).issuperset(labels.images.tolist()):
                return data.truth[split]
    raise BadInput(
        f"no split of {data.name} has all {labels.shape[0]:,} images of the labels; give the data "
        "set from which they were made"
    )
