"""Score images with a trained model."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

import simkit
from simkit.cli import options
from simkit.cli.output import print_json, progress, say, width, write_page
from simkit.errors import BadInput
from simkit.files import spare, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


@click.command(
    epilog="\b\nExample: simkit predict model --data folder:photos --out scores.csv\n"
    "Tags:    simkit predict model --data folder:photos --tags tags.csv\n"
    "Labels:  simkit predict model --data folder:new,labels=new.csv --report model.html"
)
@click.argument("model", type=options.FILE)
@options.signature
@options.shared("weights")
@options.of("simkit.learn.predict.predict", "unreadable", "device")
@options.json
def command(
    model: Path,
    *,
    data_spec: str,
    split: str | None = None,
    features: tuple[str, ...] = (),
    out: Path = Path("scores.csv"),
    tags: Path | None = None,
    backbone: str | None = None,
    weights: str | None,
    details: bool = False,
    report: Path | None = None,
    **how: Any,
) -> None:
    """Score images with a model written by `simkit train --out`, and evaluate it on their labels.

    The table has a row for each image and a column for each class. Scores are logits, the higher
    the likelier the class is present: 1 / (1 + exp(-score)) lies between 0 and 1.

    If the images have labels, mAP with its 95% interval, AP of classes, and precision and recall at
    the model's thresholds are printed: of the test split or, without one, of all splits on which
    the model was not trained.

    Parameters
    ----------
    data_spec : DATA
        A data set with images, such as folder:DIR.
    split
        Such as test. [default: all images, or all splits of --features]
    features : SPLIT=FILE
        Instead of images: an npz file with an array `features`, one row per image, or a folder of
        features; or, without SPLIT=, the folder that simkit features --out wrote.
    out : TABLE
        The table, .csv or .parquet.
    tags : TABLE
        Also write a table of decisions at the model's thresholds: 1, 0, or empty for classes
        without a threshold.
    backbone
        Network for the features. [default: that of the training]
    details
        Print the AP and the thresholds of every class.
    report : PAGE
        Also write the evaluation to a file: .html, with curves and the surest mistakes, .md, .json
        or .txt.
    """
    from simkit.data.dataset import originals
    from simkit.learn.predict import tags_of
    from simkit.learn.trained import SETS_THRESHOLDS
    from simkit.orders import project, project_state
    from simkit.study.evaluation import check_labelled, evaluated, has_labels

    for table in filter(None, (out, tags)):
        spare(table, *originals(data_spec))
    network, brought = options.network(backbone, weights), dict(options.features(features))
    data_spec, reason = _unlabelled(data_spec) if split is None else (data_spec, "")
    data, trained = simkit.data.open(data_spec), simkit.Trained.load(model, backbone=network)
    if tags is not None and not trained.thresholds:
        raise BadInput(f"--tags: the model has no thresholds; {SETS_THRESHOLDS}")
    splits = [split] if split is not None else _in_order(data, brought) or None
    if report is not None:
        check_labelled(trained, data, splits)
    with progress("predicting") as (advance,):
        if brought and splits is not None:
            scores = _of_features(trained, data, splits, brought, device=how["device"])
        else:
            scores = simkit.predict(
                trained, data, split=split, backbone=network, progress=advance, **how
            )
    _write(scores, out)
    if tags is not None:
        _write(tags_of(trained, scores), tags)
    project_state.record(out.absolute().parent, made=out)
    N, L = scores.shape
    facts, made = {"file": str(out), "images": N, "classes": L}, None
    facts |= {"tags": str(tags)} if tags is not None else {}
    if has_labels(data, splits):
        try:
            check_labelled(trained, data, splits)
            made = evaluated(trained, data, scores, splits, errors=project.test_errors(data_spec))
        except BadInput as error:
            if report is not None:
                raise
            reason = f"not evaluated: {error}"
    print_json(facts | ({"evaluation": made.to_json()} if made else {}))
    say(f"wrote {out} ({N:,} images, {L:,} classes)")
    if trained.thresholds:
        _say_tags(trained, tags, quote(str(model)))
    say(made.text(width=width(), details=details) if made else reason, nl=bool(made or reason))
    if made and report is not None:
        write_page(made, report)
        say(f"wrote {report}")


def _unlabelled(spec: str) -> tuple[str, str]:
    """The data without labels, if none are stated, and what is said of a table of the folder."""
    from simkit.data.dataset import LABELS, originals

    if not spec.lower().startswith("folder:") or "labels=" in spec:
        return spec, ""
    reason = ""
    if any(file.name == LABELS for file in originals(spec)):
        how_to = f"--data {spec},labels={LABELS}"
        reason = f"not evaluated on the {LABELS} of the folder; to read it: {how_to}"
    return f"{spec},labels=none", reason  # scores need no labels


def _say_tags(trained: simkit.Trained, tags: Path | None, model: str) -> None:
    """What the tags are, or how to get them, and the classes without any."""
    from simkit.learn.trained import untagged

    made = "to write tags, add --tags tags.csv" if tags is None else f"wrote {tags}"
    none = [name for name, one in zip(trained.classes, trained.thresholds, strict=True)
            if isnan(one)]  # fmt: skip
    say(f"{made}: 1 from the threshold of a class on, which simkit show {model} prints")
    if none:
        say(untagged(none, trained.tag_precision))


def _write(scores: pd.DataFrame, out: Path) -> None:
    table = scores.reset_index()
    with whole(out) as part:
        write = table.to_csv if out.suffix.lower() == ".csv" else table.to_parquet
        write(part, index=False)


def _in_order(data: simkit.data.Dataset, files: dict[str, str]) -> list[str]:
    """The splits with features in the order of the data, as images are scored."""
    return sorted(files, key=[*data.truth, *files].index)


def _of_features(
    trained: simkit.Trained,
    data: simkit.data.Dataset,
    splits: Sequence[str],
    files: dict[str, str],
    *,
    device: str,
) -> pd.DataFrame:
    """The scores of splits whose features are given, as `simkit.predict` returns them."""
    import pandas as pd

    from simkit.learn.predict import same_fit
    from simkit.study.sources import kind_of, open_source

    kind, facts = kind_of(trained.method), trained.history.settings
    if trained.model.backbone is not None:
        raise BadInput("the model was fine-tuned on images, so features do not fit it; leave "
                       "--features out")  # fmt: skip
    source = simkit.Source(data.name, tuple(splits), (kind,), features=tuple(files.items()))
    study, tables, trained_on = open_source(source, data=data), [], list[str]()
    for split in splits:
        inputs, made = study.inputs(split, kind), study.features[split, kind].history
        made_by = made.parents[1:]
        if made_by and "backbone_id" in facts:
            same_fit(facts, made.settings.get("fit"))
        if made_by and facts.get("backbone_id") not in (None, *made_by):
            raise BadInput(
                f"the model was trained on features of {facts['backbone']} with the weights "
                f"{facts['backbone_id']}, but those of {files.get(split, split)} are of "
                f"{made_by[0]}; compute them with the network of the training"
            )
        scores = simkit.predict(trained, inputs, device=device)
        scores.iloc[study.skipped(split)] = float("nan")
        tables.append(scores.set_axis(data.truth[split].images, axis=0))
        trained_on += [split] * (str(inputs.id) in trained.history.parents)
    table = pd.concat(tables).rename_axis(index="image")
    table.attrs["trained_on"] = trained_on
    return table
