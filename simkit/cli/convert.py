"""Convert labels to another file format, and report the losses."""

from __future__ import annotations

from pathlib import Path

import click

import simkit
from simkit.cli import params
from simkit.cli.output import counts_line, print_json, say
from simkit.errors import BadInput
from simkit.files import spare


# fmt: off
@click.command(epilog="Example: simkit convert fpc.parquet --to lvis out.json")
@click.argument("file", type=params.FILE)
@click.argument("out", type=params.FILE)
@click.option("--to", "target", type=params.FORMAT, metavar="FORMAT",
              help="See `simkit list formats`; settings in parentheses, as in "
              "'npy-triple(negatives=true)'. [default: by the ending of OUT]")
@click.option("--from", "source", type=params.FORMAT, metavar="FORMAT",
              help="The format of FILE. [default: by its ending and content]")
@click.option("--data", "spec", type=params.DATA, metavar="DATA",
              help="The data set of the labels, for a format that holds the truth beside them "
              "(npy-triple).")
@params.json
def command(
    file: Path, out: Path, target: str | None, source: str | None, spec: str | None
) -> None:
    """Write the labels in FILE to OUT in another format, and say what is lost.

    Only parquet and npz hold everything: the questions asked, which determine the cost, and
    the history are lost in all others.
    """
    from simkit.annotate.label_card import about
    from simkit.data.dataset import originals
    from simkit.labels.formats.base import formats as known

    formats = simkit.formats
    reader = formats.make(source) if source else formats.for_path(file)
    writer = formats.make(target) if target else formats.for_path(out, writing=True)
    ending = out.suffix.lower()
    if ending not in writer.suffixes and any(ending in each.suffixes for each in known):
        raise BadInput(f"{out} has the ending {ending!r}, but {writer.name} is written with the "
                       f"ending {writer.suffixes[0]!r}; give OUT that ending or another format")
    named = [getattr(part, key, "") for part in (reader, writer) for key in ("like", "names")]
    read = [*reader.files(file), *originals(spec or ""), *named]
    for path in writer.files(out):
        spare(path, *read)
    labels = reader.read(file)
    replaced = out.is_file()
    lost = writer.loses(labels)
    if spec is None:
        writer.write(labels, out)
    elif hasattr(writer, "write_with_truth"):
        writer.write_with_truth(labels, out, _truth(spec, labels))
    else:
        raise BadInput(f"--data is given, but {writer.name} holds no truth; leave --data out")
    print_json({
        "id": labels.id,
        "from": reader.name,
        "to": writer.name,
        "file": str(out),
        "replaced": replaced,
        "images": labels.shape[0],
        "classes": labels.shape[1],
        "counts": labels.counts(),
        "lost": list(lost),
    })
    say(counts_line(labels))
    for each in lost:
        say(f"lost: {each}")
    say(f"wrote {out} ({writer.name}){', in place of the file that was there' * replaced}")
    if cards := about(file, labels.id):
        say(f"how these labels were made stays in {' and '.join(map(str, cards))}")
# fmt: on


def _truth(spec: str, labels: simkit.PartialLabels) -> simkit.Truth:
    """The truth of the split of a data set that the labels are about."""
    data = simkit.data.open(spec)
    for split in (data.to_label, *data.truth):
        if set(data.truth[split].images.tolist()).issuperset(labels.images.tolist()):
            return data.truth[split]
    raise BadInput(
        f"no split of {data.name} has all {labels.shape[0]:,} images of the labels; give the data "
        "set from which they were made"
    )
