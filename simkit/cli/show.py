"""Show the contents and history of a file or a runs folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.hierarchy import LINES
from simkit.cli.hierarchy import show as show_hierarchy
from simkit.cli.output import counts_line, facts_of, print_json, say, table, write_figure
from simkit.errors import BadInput, examples
from simkit.registry import short

if TYPE_CHECKING:
    from simkit.history import History

SHOWN = 40  # classes whose thresholds are printed
_COCO = rb'"(images|annotations)"\s*:\s*\['


@click.command(epilog="Example: simkit show fpc.parquet")
@click.argument("path", type=options.FILE)
@options.signature
@options.json
def command(
    path: Path, *, figure: str | None = None, set_: tuple[str, ...] = (), out: Path | None = None
) -> None:
    """Show labels, scores, a hierarchy, a model, features or a comparison's folder, with history.

    --figure draws: `simkit list figures` has the names, `simkit list figures NAME` the options.

    Parameters
    ----------
    figure : NAME
        Draw this figure of a comparison's folder instead.
    set_ : FIELD=VALUE
        Its options.
    out : PICTURE
        File of the figure: .png, .pdf or .svg. [default: NAME.png]
    """
    if not path.exists():
        raise BadInput(
            f"{path} does not exist; name labels, scores, a hierarchy, a model, features or a "
            "comparison's folder"
        )
    options.needs({"--set": set_, "--out": out}, "--figure NAME", figure)
    if figure is None:
        print_json(_folder(path) if path.is_dir() else _file(path))
        return
    # `figure` is spelled as "heat-map" or "per-class(scheme=fpc)"; all of it is checked before the
    # runs are read.
    figures, name = simkit.figures, figure.partition("(")[0].strip().lower()
    picture = out or Path(f"{name.replace('-', '_')}.png")
    listed = f"FIELD=VALUE, with a field of: simkit list figures {name}"
    fields = options.pairs(set_, "--set", listed)
    made = figures.make(figure, **fields)
    if not getattr(made, "of_runs", False):
        names = [each for each in figures.names() if getattr(figures.get(each), "of_runs", False)]
        raise BadInput(
            f"--figure is {name}, which draws what {made.made_by} returns in Python; of a runs "
            f"folder can be drawn: {', '.join(names)}"
        )
    write_figure(made(simkit.open_runs(path)), picture)
    print_json({"figure": str(picture)})
    say(f"wrote {picture}")


def _file(path: Path) -> dict[str, Any]:
    """Say what a file holds; returns the facts. Its first and last bytes tell the kind."""
    from simkit.labels.formats.base import ends

    if path.suffix == ".npz" and b"cosines_0.npy" in ends(path):  # in the directory at its end
        from simkit.annotate.similarities import splits_of

        parts = {split: simkit.Similarities.read(path, split) for split in splits_of(path)}
        history = next(iter(parts.values())).history
        _, views, classes = next(iter(parts.values())).views.shape
        images = {split: len(part.views) for split, part in parts.items()}
        facts = {"scores": history.settings, "classes": classes, "views": views, "images": images}
        return _say_all(facts) | {"history": json.loads(history.to_json())}
    if path.suffix == ".json":
        if not (simkit.formats.for_path(path).mark or re.search(_COCO, ends(path))):
            return _habits_or_hierarchy(path)
    elif re.match(rb"(?s).{8}\{.{0,503}simkit training", ends(path)):
        from simkit.learn.checkpoint import describe

        return _say_all(describe(path))
    try:
        return _labels(path)
    except BadInput:
        if (scores := _scores(path)) is None:
            raise
        return scores


def _scores(path: Path) -> dict[str, Any] | None:
    """Say what a table of scores holds; None for other files."""
    from simkit.annotate.similarities import describe_table

    if not (facts := describe_table(path)):
        return None
    say(f"{path} holds scores of {facts['images']:,} images and {facts['classes']:,} classes: "
        f"{examples(facts['names'], 5)}")  # fmt: skip
    say(f"scores from {facts['lowest']:.4g} to {facts['highest']:.4g}; empty: {facts['empty']:,}")
    if "history" in facts:
        _say_all(facts["history"])
    return facts


def _say_all(facts: dict[str, Any]) -> dict[str, Any]:
    for key, value in facts.items():
        rows = value.items() if isinstance(value, dict) else ()
        say(f"{key}:" if rows else f"{key}: {value}")
        for name, v in rows:
            say(f"  {name} = {_pairs(v) if isinstance(v, dict) else v}")
    return facts


def _labels(path: Path) -> dict[str, Any]:
    from simkit.annotate.label_card import about

    labels = simkit.formats.for_path(path).read(path)
    history, cards = labels.history, [str(card) for card in about(path, labels.id)]
    say(f"{counts_line(labels)}\ncontent id {labels.id}")
    say("questions: " + (_pairs(labels.effort.counts()) or "none"))
    given, seed = history.command == "given", history.seed
    origin = "not made by simkit" if given else f"made by simkit {history.command}"
    say(origin + ("" if seed is None else f", seed {seed}"))
    simulated = history.command == "simulate"
    _say_history(history, ("truth", "hierarchy") if simulated else [""] * len(history.parents))
    if cards:
        say(f"described in {' and '.join(cards)}")
    return facts_of(labels) | {"history": json.loads(history.to_json()), "cards": cards}


def _say_history(history: History, kinds: Iterable[str]) -> None:
    """Settings, versions, and the values of these kinds that something was made from."""
    for key, value in history.settings.items():
        say(f"  {key} = {value}")
    for kind, parent in zip(kinds, history.parents, strict=False):
        say(f"  from {kind} {parent}")
    say("  with " + _pairs(history.versions))


def _pairs(values: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items() if value is not None)


def _habits_or_hierarchy(path: Path) -> dict[str, Any]:
    from simkit.labels.hierarchy import Hierarchy

    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        values = None  # reading it as a hierarchy raises the error
    if not isinstance(values, dict) or not {"habits", "miss"} & {*values}:
        return show_hierarchy(Hierarchy.load(path), str(path), LINES)
    habits = simkit.Habits.load(path).to_json()
    fit = values["fit"] if isinstance(values.get("fit"), dict) else {}
    say("annotator model: how people err")
    for key, value in habits.items():
        long = isinstance(value, list) and len(value) > 8
        say(f"  {key} = {f'{len(value)} values, {min(value)} to {max(value)}' if long else value}")
    for key, value in fit.items():
        say(f"  fitted: {key} = {value}")
    return {"habits": habits, "fit": fit}


def _folder(path: Path) -> dict[str, Any]:
    """Say what a folder holds: a model, features or a comparison; returns the facts."""
    from simkit.embed.feature_files import below

    if (path / "model.json").is_file():
        return _model(path)
    if (path / "project.toml").is_file():
        say(f"{path} is a project; see simkit status {quote(str(path))}")
        return {"project": str(path)}
    if (path / "round-1" / "order.json").is_file():
        return _order(path)
    if folders := list(below(path)):
        if len(folders) == 1:
            return _features(folders[0])
        features = []
        for place, folder in enumerate(folders):
            say("\n" * (place > 0) + f"{folder}: ", nl=False)
            features.append({"folder": str(folder)} | _features(folder))
        return {"features": features}
    from simkit.results.runs import describe as describe_runs

    facts = describe_runs(path)
    say(facts.pop("text"))
    return facts


def _model(path: Path) -> dict[str, Any]:
    from simkit.learn.trained import (
        SETS_THRESHOLDS,
        describe,
        tag_rule,
        thresholds_from,
        untagged,
    )
    from simkit.results.test_split import in_words

    facts = describe(path)
    settings, first = facts["settings"], examples(facts["names"], 5)
    say(f"{path} is a model of {facts['classes']:,} classes: {first}")
    say(f"method: {short(simkit.methods.make(facts['method']))}")
    network = settings.get("backbone") or "not named by the features"
    say(f"trained on: {settings.get('data', 'arrays')}; network: {network}")
    if facts["scored"]:
        say(f"scored: {in_words(facts['scored'])}")
    if facts["validation"] is not None:
        say(f"mAP on validation labels: {100 * facts['validation']:.1f}")
    if facts["thresholds"]:
        N, precision = len(facts["names"]), facts["tag_precision"]
        shown = facts["thresholds_present"] or [None] * N  # not in models of version 0.2
        about = thresholds_from(facts["thresholds_from"], facts["thresholds_how"])
        every = zip(facts["names"], facts["thresholds"], shown, strict=True)
        rows = [(name, f"{one:.2f}", number) for name, one, number in every if one is not None]
        say(f"tags of {len(rows):,} of {N:,} classes: logits from which a class is present, "
            f"{tag_rule(precision)}, on {about}:")  # fmt: skip
        table(["class", "threshold", "present labels"], rows[:SHOWN])
        if len(rows) > SHOWN:
            say(f"and {len(rows) - SHOWN:,} more classes: thresholds in {path / 'model.json'}")
        named = zip(facts["names"], facts["thresholds"], strict=True)
        if none := [name for name, one in named if one is None]:
            say(untagged(none, precision, facts["thresholds_how"]))
    else:
        say(f"thresholds: logit 0, probability 1/2, for every class; {SETS_THRESHOLDS}")
    rest = ("id", "epoch", "loss", "seed", "settings", "parents", "versions")
    _say_all({key: facts[key] for key in rest})
    return facts


def _order(path: Path) -> dict[str, Any]:
    from simkit.orders.order import Order
    from simkit.orders.project import project_of

    order, project = Order.read(path), project_of(path)
    say(f"{path} is an order of {len(order.images):,} images, {len(order.classes)} classes")
    rows = []
    for number, part in enumerate(order.rounds, 1):
        questions, scheme = len(part.table), short(part.settings.parsed_scheme)
        rows.append({"round": number, "questions": questions, "scheme": scheme})
        say(f"round {number}: {questions:,} questions, {scheme}")
    if project is not None:
        say(f"state of its project: simkit status {quote(str(project.folder))}")
    return {"order": order.id, "rounds": rows}


def _features(path: Path) -> dict[str, Any]:
    from simkit.embed.feature_files import Index

    index = Index.read(path)
    index.values(path)  # raises an error if a file is missing
    N, *row = index.shape
    say(f"{index.kind} features of {N:,} images, {' x '.join(map(str, row))} for each")
    say(f"content id {index.id}\nmade by {index.history.command}")
    _say_history(index.history, ("images", "backbone"))
    for each in index.skipped:
        say(f"  row {each.row} skipped: {each.reason}")
    return {
        "id": index.id, "kind": index.kind, "shape": list(index.shape),
        "skipped": [asdict(each) for each in index.skipped],
        "history": json.loads(index.history.to_json()),
    }  # fmt: skip
