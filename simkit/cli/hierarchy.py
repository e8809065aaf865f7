"""Build, show or draw a class hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import params
from simkit.cli.output import print_json, say, table, write_figure
from simkit.errors import BadInput
from simkit.files import spare

if TYPE_CHECKING:
    from simkit.labels.hierarchy import Hierarchy
    from simkit.labels.wordnet import Report

_FEW = 8  # classes named in one line
LINES = 200  # of an outline
BUILT = Path("hierarchy.json")


# fmt: off
@click.command(
    epilog="\b\nExample: simkit hierarchy coco-80 --figure coco.png\n"
    "Or:      simkit hierarchy --classes names.txt --out hierarchy.json"
)
@click.argument("which", metavar="[NAME|FILE]", required=False)
@click.option("--classes", "names_file", type=params.FILE,
              help="Build one over the class names or synsets (dog.n.01) in this text file, one "
              "per line.")
@click.option("--mapping", type=params.FILE,
              help="With --classes: TOML, JSON or CSV file that says which synset a name means.")
@click.option("--out", type=params.FILE,
              help="Output file (JSON). [default with --classes: hierarchy.json]")
@click.option("--figure", type=params.PICTURE, help="Draw it: a png, svg or pdf file.")
@click.option("--lines", type=params.POSITIVE, default=LINES, show_default=True,
              help="Most lines to print; a larger hierarchy is cut to its upper levels.")
@click.option("--verbose", is_flag=True, help="With --classes: the senses of ambiguous names.")
@params.json
def command(
    *, which: str | None, names_file: Path | None, mapping: Path | None, out: Path | None,
    figure: Path | None, lines: int, verbose: bool,
) -> None:
    """Build a class hierarchy from WordNet, or show one: shipped, by name, or a JSON file.

    Without either, the shipped ones are listed.
    """
    from simkit.data.lists import class_names
    from simkit.labels.hierarchy import by_name_or_file
    from simkit.labels.wordnet import from_wordnet

    source = which or names_file
    if which is not None and names_file is not None:
        raise BadInput(f"{which} and --classes were given; give one hierarchy to show or build")
    needless = mapping if which else mapping or out or figure
    if needless is not None and names_file is None:
        raise BadInput(f"{needless} needs a hierarchy; give the class names with --classes")
    if source is None:
        _list()
        return
    if out or names_file:
        spare(out or BUILT, source, mapping or "")
    if names_file is not None:
        hierarchy, report = from_wordnet(class_names(names_file), mapping=mapping)
        facts, out = _built(hierarchy, report, verbose), out or BUILT
    else:
        hierarchy = by_name_or_file(str(which))
        facts = show(hierarchy, str(which), lines)
    if out is not None:
        hierarchy.save(out)
        facts["file"] = str(out)
        say(f"wrote {out}")
    if figure is not None:
        from simkit.results.figures.style import house_style

        heading = which or str(out)
        drawing = simkit.figures.make("hierarchy", heading=heading, most=lines)(hierarchy.table())
        with house_style():
            write_figure(drawing, figure)
        facts["figure"] = str(figure)
        say(f"wrote {figure}")
    print_json(facts)
# fmt: on


def _list() -> None:
    from simkit.labels.hierarchy import NOTES, shipped, shipped_names

    rows = [
        {"name": name, "classes": len(shipped(name).classes), "what": NOTES[name]}
        for name in shipped_names()
    ]
    print_json({"hierarchies": rows})
    cells = [[str(cell) for cell in row.values()] for row in rows]
    table(["hierarchy", "classes", "what"], cells, words=(0, 2))


def show(hierarchy: Hierarchy, which: str, lines: int) -> dict[str, Any]:
    """Print an outline of at most `lines` lines for a person; returns facts for a program."""
    from simkit.labels.hierarchy import NOTES
    from simkit.labels.outline import outline

    classes, leaves = len(hierarchy.classes), len(hierarchy.leaves)
    say(f"{which}: {classes} classes, {leaves} of them without children")
    if which in NOTES:
        say(NOTES[which])
    for line in outline(hierarchy, lines):
        note = f"  ({line.note})" if line.note else ""
        hidden = f" and {len(line.names) - _FEW} more" if len(line.names) > _FEW else ""
        say("  " * (line.depth + 1) + ", ".join(line.names[:_FEW]) + hidden + note)
    roots = [hierarchy.classes[c] for c in hierarchy.roots]
    return {"id": hierarchy.id, "classes": classes, "leaves": leaves, "roots": roots}


def _built(hierarchy: Hierarchy, report: Report, verbose: bool) -> dict[str, Any]:
    """Say how names were understood; returns the facts."""
    findings = [
        {"name": f.name, "synset": f.synset, "how": f.how,
         "candidates": [meaning.synset for meaning in f.candidates]}
        for f in report.findings
    ]  # fmt: skip
    added = len(hierarchy.classes) - len(findings)
    say(f"{len(findings)} classes and {added} ancestor{'' if added == 1 else 's'} from WordNet")
    if report.text():
        say(report.text() if verbose else report.summary())
        say(
            'to choose otherwise, write lines such as mouse = "mouse.n.04" into a TOML file and '
            f"give it as --mapping{'' if verbose else '; --verbose lists the senses'}"
        )
    return {"id": hierarchy.id, "classes": findings, "unused": list(report.unused)}
