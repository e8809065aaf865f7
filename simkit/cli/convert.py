"""Convert labels to another file format, and report the losses."""

from __future__ import annotations

from pathlib import Path

import click

import simkit
from simkit.cli import options
from simkit.cli.output import counts_line, facts_of, print_json, say
from simkit.errors import BadInput
from simkit.files import spare


@click.command(epilog="Example: simkit convert fpc.parquet --to lvis out.json")
@click.argument("file", type=options.FILE)
@click.argument("out", type=options.FILE)
@options.signature
@options.json
def command(
    file: Path,
    out: Path,
    *,
    to: str | None = None,
    from_: str | None = None,
    data_spec: str | None = None,
) -> None:
    """Write the labels in FILE to OUT in another format, and say what is lost.

    Only parquet and npz hold everything: the questions asked, which determine the cost, and
    the history are lost in all others.

    Parameters
    ----------
    to : FORMAT
        See `simkit list formats`; settings in parentheses, as in 'npy-triple(negatives=true)'.
        [default: by the ending of OUT]
    from_ : FORMAT
        The format of FILE. [default: by its ending and content]
    data_spec : DATA
        The data set of the labels, for a format that holds the truth beside them (npy-triple).
    """
    from simkit.annotate.label_card import about
    from simkit.data.dataset import originals
    from simkit.labels.formats.base import formats as known

    formats = simkit.formats
    reader = formats.make(from_) if from_ else formats.for_path(file)
    writer = formats.make(to) if to else formats.for_path(out, writing=True)
    ending = out.suffix.lower()
    if ending not in writer.suffixes and any(ending in each.suffixes for each in known):
        raise BadInput(
            f"{out} has the ending {ending!r}, but {writer.name} is written with the ending "
            f"{writer.suffixes[0]!r}; give OUT that ending or another format"
        )
    named = [getattr(part, key, "") for part in (reader, writer) for key in ("like", "names")]
    read = [*reader.files(file), *originals(data_spec or ""), *named]
    for path in writer.files(out):
        spare(path, *read)
    labels = reader.read(file)
    replaced = out.is_file()
    lost = writer.loses(labels)
    if data_spec is None:
        writer.write(labels, out)
    elif hasattr(writer, "write_with_truth"):
        writer.write_with_truth(labels, out, _truth(data_spec, labels))
    else:
        raise BadInput(f"--data is given, but {writer.name} holds no truth; leave --data out")
    print_json(facts_of(labels) | {
        "from": reader.name, "to": writer.name, "file": str(out), "replaced": replaced,
        "lost": list(lost),
    })  # fmt: skip
    say(counts_line(labels))
    for each in lost:
        say(f"lost: {each}")
    say(f"wrote {out} ({writer.name}){', in place of the file that was there' * replaced}")
    if cards := about(file, labels.id):
        say(f"how these labels were made stays in {' and '.join(map(str, cards))}")


def _truth(spec: str, labels: simkit.PartialLabels) -> simkit.Truth:
    """The truth of the split of a data set that the labels are about."""
    from simkit.labels.names import matches

    data = simkit.data.open(spec)
    for split in (data.to_label, *data.truth):
        if (matches(data.truth[split].images.tolist(), labels.images.tolist()) >= 0).all():
            return data.truth[split]
    raise BadInput(
        f"no split of {data.name} has all {labels.shape[0]:,} images of the labels; give the data "
        "set from which they were made"
    )
