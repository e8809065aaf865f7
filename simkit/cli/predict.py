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
from simkit.errors import BadInput, located
from simkit.files import spare, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from simkit.learn.predict import Prediction
    from simkit.study.evaluation import Evaluation


@click.command(
    epilog="\b\nExample: simkit predict model --data folder:photos --out scores.csv\n"
    "Tags:    simkit predict model --data folder:photos --tags tags.csv --labels labels.parquet\n"
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
    labels: tuple[Path, ...] = (),
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
    the model's thresholds are printed: of the test split or, without one, of all images. Training
    images of the model are left out, whatever their names.

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
        Also write a table with a row for each image and class: the tag (1, 0, or empty for classes
        without a threshold), its source (people or model), and the label and the decision of both.
    labels : LABELS
        With --tags: labels by people, which prevail over the decisions of the model.
    backbone
        Network for the features. [default: that of the training]
    details
        Print the AP and the thresholds of every class.
    report : PAGE
        Also write the evaluation to a file: .html, with curves and the surest mistakes, .md, .json
        or .txt.
    """
    import pandas as pd

    from simkit.data.dataset import originals
    from simkit.learn.predict import tags_of
    from simkit.learn.trained import SETS_THRESHOLDS
    from simkit.orders import project_state
    from simkit.study.evaluation import check_labelled, predictions, splits_to_score

    options.needs({"--labels": labels}, "--tags", tags)
    people = [simkit.formats.for_path(file).read(file) for file in labels]
    for table in filter(None, (out, tags)):
        spare(table, *originals(data_spec))
    network, files = options.network(backbone, weights), dict(options.features(features))
    data_spec, reason = _unlabelled(data_spec) if split is None else (data_spec, "")
    data, trained = simkit.data.open(data_spec), simkit.Trained.load(model, backbone=network)
    if tags is not None and not trained.thresholds and not people:
        raise BadInput(f"--tags: the model has no thresholds; {SETS_THRESHOLDS}")
    splits = splits_to_score(data, split, files)
    if report is not None:
        check_labelled(trained, data, splits)
    with progress("predicting") as (advance,):
        how |= {"backbone": network, "progress": advance}
        found = predictions(trained, data, splits, files, **how)
    scores = pd.concat([part.scores for part in found.values()])
    made = _evaluated(trained, data, found, data_spec)
    if isinstance(made, BadInput):
        if report is not None:
            raise made
        made, reason = None, f"not evaluated: {made}"
    with located("--labels"):
        tagged = None if tags is None else tags_of(trained, scores, people)
    for frame, file in ((scores.reset_index(), out), (tagged, tags)):
        _write(frame, file)
    project_state.record(out.absolute().parent, made=out)
    N, L = scores.shape
    facts = {"file": str(out), "images": N, "classes": L}
    facts |= {} if tagged is None else {"tags": str(tags), "tags_by": _by_source(tagged)}
    print_json(facts | ({"evaluation": made.to_json()} if made else {}))
    say(f"wrote {out} ({N:,} images, {L:,} classes)")
    _say_tags(trained, tags, tagged, quote(str(model)))
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


def _evaluated(
    trained: simkit.Trained, data: simkit.data.Dataset, found: Mapping[str, Prediction], spec: str
) -> Evaluation | BadInput | None:
    """The evaluation, or why there is none; None for images without labels."""
    from simkit.orders import project
    from simkit.study.evaluation import check_labelled, evaluated, has_labels

    if not has_labels(data, [*found]):
        return None
    try:
        check_labelled(trained, data, [*found])
        return evaluated(trained, data, found, errors=project.test_errors(spec))
    except BadInput as error:
        return error


def _by_source(tags: pd.DataFrame) -> dict[str, int]:
    """Numbers of tags by their source."""
    return {name: int((tags["source"] == name).sum()) for name in ("people", "model")}


def _say_tags(
    trained: simkit.Trained, file: Path | None, tags: pd.DataFrame | None, model: str
) -> None:
    """Whom the tags come from, or how to get tags, and the classes without a threshold."""
    import numpy as np

    from simkit.learn.trained import too_frequent, untagged

    asked = "to write tags, add --tags tags.csv"
    if tags is not None:
        number, both = _by_source(tags), tags[["people", "model"]].dropna()
        asked = "tags of the model"
        say(f"wrote {file}: {len(tags):,} rows (image and class), {number['people']:,} tags by "
            f"people, {number['model']:,} by the model, {tags['source'].isna().sum():,} without a "
            "tag")  # fmt: skip
        if len(both):
            differ = (both["people"] != both["model"]).sum()
            say(f"people prevail over the model, which differs in {differ:,} of {len(both):,} tags")
    if not trained.thresholds:
        return
    none = [name for name, one in zip(trained.classes, trained.thresholds, strict=True)
            if isnan(one)]  # fmt: skip
    say(f"{asked}: 1 from the threshold of a class on, which simkit show {model} prints")
    if none:
        say(untagged(none, trained.tag_precision, trained.thresholds_how))
    if tags is not None and trained.thresholds_present:
        of_class = tags.groupby("class", sort=False)["model"].agg(["sum", "count"])
        found, scored = of_class.loc[[*trained.classes]].to_numpy(int).T
        present, images = np.array(trained.thresholds_present), trained.thresholds_from
        if often := too_frequent(trained.classes, found, scored, present, images):
            say(often)


def _write(table: pd.DataFrame | None, out: Path | None) -> None:
    if table is None or out is None:
        return
    with whole(out) as part:
        write = table.to_csv if out.suffix.lower() == ".csv" else table.to_parquet
        write(part, index=False)
