"""`simkit hierarchy`: a class hierarchy from WordNet for any list of names."""

from __future__ import annotations

from pathlib import Path

import click

from simkit.cli.report import print_json


@click.command(epilog="Example: simkit hierarchy --classes names.txt --out hierarchy.json")
@click.option(
    "--classes",
    "names_file",
    type=click.Path(path_type=Path),
    required=True,
    help="A text file: one class name or synset (dog.n.01) per line.",
)
@click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    help="TOML, JSON or CSV file that says which synset a name means.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("hierarchy.json"),
    show_default=True,
    help="Where to write the hierarchy.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
def command(names_file: Path, mapping: Path | None, out: Path, as_json: bool) -> None:
    """Build a class hierarchy from WordNet, and say which names were ambiguous or unknown."""
    from simkit.errors import BadInput
    from simkit.files import readable
    from simkit.labels.wordnet import from_wordnet

    try:
        text = readable(names_file, "class names").read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"{names_file} is not UTF-8 text; one class name per line is expected"
        ) from None
    names = [line.strip() for line in text.splitlines() if line.strip()]
    if not names:
        raise BadInput(f"{names_file} holds no class name; write one per line")
    hierarchy, report = from_wordnet(names, mapping=mapping)
    hierarchy.save(out)
    if as_json:
        findings = [
            {
                "name": f.name,
                "synset": f.synset,
                "how": f.how,
                "candidates": [m.synset for m in f.candidates],
            }
            for f in report.findings
        ]
        unused = list(report.unused)
        print_json({"id": hierarchy.id, "file": str(out), "classes": findings, "unused": unused})
        return
    added = len(hierarchy.classes) - len(names)
    click.echo(f"{len(names)} classes and {added} ancestors from WordNet")
    if report.text():
        click.echo(report.text())
        click.echo(
            'to choose otherwise, write lines such as mouse = "mouse.n.04" '
            "into a TOML file and give it as --mapping"
        )
    click.echo(f"wrote {out}")
