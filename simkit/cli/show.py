"""`simkit show`: the content of a file and its history."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from simkit.cli.options import FILE, PICTURE, json_option, pairs
from simkit.cli.output import counts_line, print_json, write_figure
from simkit.errors import BadInput

_COCO = rb'"(images|annotations)"\s*:\s*\['


# fmt: off
@click.command(epilog="Example: simkit show fpc.parquet")
@click.argument("path", type=FILE)
@json_option
@click.option("--figure", metavar="NAME", help="Draw this figure of a comparison's folder instead.")
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Its options.")
@click.option("--out", type=PICTURE, metavar="FILE",
              help="File of the figure: .png, .pdf or .svg. [default: NAME.png]")
def command(
    path: Path, as_json: bool, figure: str | None, settings: tuple[str, ...], out: Path | None
) -> None:
    """Show labels, scores, a hierarchy, a model, features or a comparison's folder, with history.

    --figure draws: `simkit list figures` has the names, `simkit list figures NAME` the options.
    """
    if not path.exists():
        raise BadInput(
            f"{path} does not exist; name labels, scores, a hierarchy, a model, features or a "
            "comparison's folder"
        )
    if figure is not None:
        drawn = _draw(path, figure, settings, out)
        print_json({"figure": str(drawn)}) if as_json else click.echo(f"wrote {drawn}")
        return
    if settings or out is not None:
        raise BadInput("--set and --out are options of a figure; name it with --figure")
    if path.is_dir():
        text, facts = _folder(path)
    elif path.suffix == ".npz" and _is_scores(path):
        text, facts = _scores(path)
    elif path.suffix == ".json" and not _is_labels(path):
        text, facts = _habits(path) if _is_habits(path) else _hierarchy(path)
    else:
        text, facts = _training(path) if _is_training(path) else _labels(path)
    print_json(facts) if as_json else click.echo(text)
# fmt: on


def _draw(folder: Path, figure: str, settings: tuple[str, ...], out: Path | None) -> Path:
    """Draw the figure that `figure` spells, such as "heat-map" or "per-class(scheme=fpc)".

    All of it is checked before the runs are read. Returns the file.
    """
    from simkit.files import may_write
    from simkit.study import figures, runs

    name = figure.partition("(")[0].strip().lower()
    path = out if out is not None else Path(f"{name.replace('-', '_')}.png")
    may_write(path)
    made = figures.make(figure, **pairs(settings, "--set", "a field and its value, as scheme=fpc"))
    if not getattr(made, "of_runs", False):
        names = [each for each in figures.names() if getattr(figures.get(each), "of_runs", False)]
        raise BadInput(
            f"--figure is {name}, which draws what {made.made_by} returns in Python; of a runs "
            f"folder can be drawn: {', '.join(names)}"
        )
    write_figure(made(runs.open_runs(folder)), path)
    return path


def _is_labels(path: Path) -> bool:
    """Whether a JSON file has a label format, from its first and last bytes."""
    from simkit.labels.formats.base import ends, for_path

    return bool(for_path(path).mark or re.search(_COCO, ends(path)))


def _is_scores(path: Path) -> bool:
    from simkit.labels.formats.base import ends

    return b"cosines_0.npy" in ends(path)  # the directory of an npz is at its end


def _scores(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.embed.similarities import Similarities, splits_of

    parts = {split: Similarities.read(path, split) for split in splits_of(path)}
    first = next(iter(parts.values()))
    facts = {
        "scores": first.history.settings,
        "classes": first.views.shape[2],
        "views": first.views.shape[1],
        "images": {split: len(part.views) for split, part in parts.items()},
        "history": json.loads(first.history.to_json()),
    }
    lines = [f"{key}: {_pairs(value) if isinstance(value, dict) else value}"
             for key, value in facts.items() if key != "history"]  # fmt: skip
    return "\n".join(lines), facts


def _is_training(path: Path) -> bool:
    """Whether a file is a checkpoint of `simkit train`, from its first bytes."""
    with open(path, "rb") as file:
        head = file.read(512)
    return head[8:].startswith(b"{") and b"simkit training" in head


def _training(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.learn.checkpoint import describe

    return _lines(facts := describe(path)), facts


def _lines(facts: dict[str, Any]) -> str:
    lines = []
    for key, value in facts.items():
        rows = value.items() if isinstance(value, dict) else ()
        lines.append(f"{key}:" if rows else f"{key}: {value}")
        lines += [f"  {name} = {_pairs(v) if isinstance(v, dict) else v}" for name, v in rows]
    return "\n".join(lines)


def _labels(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.annotate.datasheet import about
    from simkit.labels import formats

    labels = formats.for_path(path).read(path)
    cards = [str(card) for card in about(path, labels.id)]
    facts = {
        "id": labels.id,
        "images": labels.shape[0],
        "classes": labels.shape[1],
        "asked": int(labels.asked.sum()),
        "counts": labels.counts(),
        "effort": labels.effort.counts(),
        "history": json.loads(labels.history.to_json()),
        "cards": cards,
    }
    lines = [counts_line(labels), f"content id {labels.id}"]
    lines += ["questions: " + (_pairs(labels.effort.counts()) or "none")]
    given, seed = labels.history.command == "given", labels.history.seed
    origin = "not made by simkit" if given else f"made by simkit {labels.history.command}"
    lines += [origin + ("" if seed is None else f", seed {seed}")]
    lines += [f"  {key} = {value}" for key, value in labels.history.settings.items()]
    simulated = labels.history.command == "simulate"
    kinds = ("truth", "hierarchy") if simulated else ("",) * len(labels.history.parents)
    lines += [
        f"  from {kind} {parent}"
        for kind, parent in zip(kinds, labels.history.parents, strict=False)
    ]
    lines += ["  with " + _pairs(labels.history.versions)]
    lines += [f"described in {' and '.join(cards)}"] if cards else []
    return "\n".join(lines), facts


def _pairs(values: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _hierarchy(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.cli.hierarchy import LINES, shown
    from simkit.labels.hierarchy import Hierarchy

    facts, lines = shown(Hierarchy.load(path), str(path), LINES)
    return "\n".join(lines), facts


def _is_habits(path: Path) -> bool:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False  # reading it as a hierarchy raises the error
    return isinstance(values, dict) and ("habits" in values or "miss" in values)


def _habits(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.annotate.annotators import Habits

    values = json.loads(path.read_text(encoding="utf-8"))
    habits = Habits.load(path)
    fit = values.get("fit") if isinstance(values.get("fit"), dict) else {}
    facts = {"habits": habits.to_json(), "fit": fit}
    lines = ["annotator model: how people err"]
    for key, value in habits.to_json().items():
        long = isinstance(value, list) and len(value) > 8
        shown = f"{len(value)} values, {min(value)} to {max(value)}" if long else value
        lines.append(f"  {key} = {shown}")
    for key, value in fit.items():
        lines.append(f"  fitted: {key} = {value}")
    return "\n".join(lines), facts


def _folder(path: Path) -> tuple[str, dict[str, Any]]:
    if (path / "model.json").is_file():
        from simkit.learn.trained import describe

        return _lines(facts := describe(path)), facts
    from simkit.embed.feature_files import below

    if features := [(str(each), *_features(each)) for each in below(path)]:
        if len(features) == 1:
            return features[0][1:]
        folders = [{"folder": name} | facts for name, _, facts in features]
        return "\n\n".join(f"{n}: {text}" for n, text, _ in features), {"features": folders}
    from simkit.study.runs import describe as describe_runs

    facts = describe_runs(path)
    return facts.pop("text"), facts


def _features(path: Path) -> tuple[str, dict[str, Any]]:
    from simkit.embed.feature_files import Index

    index = Index.read(path)
    index.values(path)  # raises an error if a file is missing
    history = json.loads(index.history.to_json())
    facts = {"id": index.id, "kind": index.kind, "shape": list(index.shape)}
    facts |= {"skipped": [asdict(each) for each in index.skipped], "history": history}
    N, *row = index.shape
    lines = [f"{index.kind} features of {N:,} images, {' x '.join(map(str, row))} for each"]
    lines += [f"content id {index.id}", f"made by {index.history.command}"]
    lines += [f"  {key} = {value}" for key, value in index.history.settings.items()]
    parents = zip(("images", "backbone"), index.history.parents, strict=False)
    lines += [f"  from {kind} {parent}" for kind, parent in parents]
    lines += ["  with " + _pairs(index.history.versions)]
    lines += [f"  row {each.row} skipped: {each.reason}" for each in index.skipped]
    return "\n".join(lines), facts
