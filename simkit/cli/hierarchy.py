"""Build, show or draw a class hierarchy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, say, table, write_figure
from simkit.files import spare
from simkit.registry import Count

if TYPE_CHECKING:
    from simkit.labels.hierarchy import Hierarchy
    from simkit.labels.wordnet import Report

_FEW = 8  # classes named in one line
LINES = 200  # of an outline
BUILT = Path("hierarchy.json")


@click.command(
    epilog="\b\nExample: simkit hierarchy coco-80 --figure coco.png\n"
    "Or:      simkit hierarchy --classes names.txt --out hierarchy.json"
)
@click.argument("which", metavar="[NAME|FILE]", required=False)
@options.signature
@options.json
def command(
    which: str | None,
    *,
    classes_file: Path | None = None,
    mapping: Path | None = None,
    out: Path | None = None,
    figure: Path | None = None,
    lines: Count = LINES,
    verbose: bool = False,
) -> None:
    """Build a class hierarchy from WordNet, or show one: shipped, by name, or a JSON file.

    Without either, the shipped ones are listed.

    Parameters
    ----------
    classes_file
        Build one over the class names or synsets (dog.n.01) in this text file, one per line.
    mapping
        With --classes: TOML, JSON or CSV file that says which synset a name means.
    out
        Output file (JSON). [default with --classes: hierarchy.json]
    figure : PICTURE
        Draw it: a png, svg or pdf file.
    lines
        Most lines to print; a larger hierarchy is cut to its upper levels.
    verbose
        With --classes: the senses of ambiguous names.
    """
    from simkit.data.lists import class_names
    from simkit.labels.hierarchy import by_name_or_file
    from simkit.labels.wordnet import from_wordnet

    options.only_one({"NAME": which, "--classes": classes_file})
    options.needs({"--mapping": mapping}, "--classes", classes_file)
    source = which or classes_file
    options.needs({"--out": out, "--figure": figure}, "a hierarchy, by name or --classes", source)
    if source is None:
        _list()
        return
    if out or classes_file:
        spare(out or BUILT, source, mapping or "")
    if classes_file is not None:
        hierarchy, report = from_wordnet(class_names(classes_file), mapping=mapping)
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


def _list() -> None:
    from simkit.labels.hierarchy import NOTES, shipped, shipped_names

    rows = [
        {"name": name, "classes": len(shipped(name).classes), "what": NOTES[name]}
        for name in shipped_names()
    ]
    print_json({"hierarchies": rows})
    table(["hierarchy", "classes", "what"], [[*row.values()] for row in rows], words=(0, 2))


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
        {**vars(each), "candidates": [meaning.synset for meaning in each.candidates]}
        for each in report.findings
    ]
    added = len(hierarchy.classes) - len(findings)
    say(f"{len(findings)} classes and {added} ancestor{'' if added == 1 else 's'} from WordNet")
    if report.text():
        say(report.text() if verbose else report.summary())
        say(
            'to choose otherwise, write lines such as mouse = "mouse.n.04" into a TOML file and '
            f"give it as --mapping{'' if verbose else '; --verbose lists the senses'}"
        )
    return {"id": hierarchy.id, "classes": findings, "unused": list(report.unused)}
