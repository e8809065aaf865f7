"""Make the atlas: every method under every scheme, repeated, on drawn images and on photographs.

    SIMKIT_DATA=... python scripts/atlas.py                  # or: make atlas
    SIMKIT_DATA=... python scripts/atlas.py scenes/curves    # one part

Finished runs lie in atlas/runs and are skipped; the tables that are read by the notebooks are
atlas/DATA/table.parquet. atlas/README.md says what they hold.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import simkit
import simkit.data
from simkit.annotate import schemes
from simkit.annotate.similarities import write_similarities
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
from simkit.errors import BadInput
from simkit.files import whole
from simkit.learn import methods
from simkit.results import method_facts, runs
from simkit.results.cells import summary_rows
from simkit.results.result_tables import failures, opened

ATLAS = Path("atlas")  # paths of grids are relative to the root of the project
WEIGHTS = "weights/mobilenet_v2-imagenet1k.fp16.safetensors"
SPLITS = ("train", "val", "test")
LEAST = {"train": 16, "test": 8}  # images that show a class; photographs have others too seldom
# Budgets, as shares of the price of complete labels: a curve for the methods that lead, two at
# which no scheme knows nearly all positives for the others. The larger or middle one is 11.5 %, and
# settings are tried there.
CURVE, TWO = (0.02, 0.05, 0.115, 0.25, 0.575), (0.05, 0.115)
PRICES, OTHER_PRICES, RANDOM_SEARCH = "hourly", ("coco-tagging", "openimages"), "fpc(search=random)"
# Parts that have a table of their own, beside that of their data set.
PANELS = (
    "networks", "heads", "erring-1", "erring-2", "erring-3", "boostlu", "amounts", "searches",
    *OTHER_PRICES,
)  # fmt: skip
# Whole networks are not trained on coco-mini; on scenes the heads for them are in the curves.
WITHOUT = ("coco-mini-networks", "coco-mini-heads", "scenes-heads")
DATA = (
    *(f"{name}{more}" for name in ("scenes", "voc12-animals", "coco-mini")
      for more in ("", *(f"-{panel}" for panel in PANELS), "-scores")
      if f"{name}{more}" not in WITHOUT),
    "scenes-mobilenet", "voc12-animals-lite2", "coco-mini-lite2", "voc12-animals-detector",
)  # fmt: skip
DRAWS, DRAWS_OF_NETWORKS = 10, 4
# One or two of each family, of those that led on photographs, and the usual baselines.
LEADING = (
    "an", "ignore", "lsan", "em", "gr-loss", "ll-r", "ll-ct", "csl", "en", "epr", "role", "se",
)  # fmt: skip
# Maps of crops and flips (scl) and whole images (full) are not for heads; vlpl and aevlp need
# scores; the absolute variants of large losses ranked as the relative ones. cnn-rnn takes as long
# as all others together: a part of its own.
NOT_ALONE = ("full", "boostlu", "cl", "scl", "vlpl", "aevlp", "cnn-rnn")
OTHERS = [
    name for name in methods.names()
    if name not in (*LEADING, *NOT_ALONE) and not name.endswith("-abs")
]  # fmt: skip
COUNTED = ("en", "ep", "epr", "role")  # need the number of classes of an image, as in the papers
# Columns that the atlas leaves out, and columns with a number for each class.
LEFT_OUT = (
    "effort", "validation_effort", "precision", "recall", "losses", "curve", "curve_of", "notes",
)  # fmt: skip
COUNTS = ("test_images", "test_present", "test_absent")  # of the table: for the mAP of chance
BY_CLASS = {"ap": pa.float16(), "class_present": pa.int32(), "class_absent": pa.int32()}
# The seven uses of BoostLU's Table 1, and methods of its Table 2, on one label of every image.
OF_BOOSTLU = (
    "an", "an+boostlu(train=false)", "an+boostlu", "ll-r", "ll-r+boostlu(eval=false)",
    "ll-r+boostlu(train=false)", "ll-r+boostlu", "ll-ct", "ll-ct+boostlu", "ll-cp",
    "ll-cp+boostlu", "lsan", "role", "em",
)  # fmt: skip
NETWORKS = ("an", "ignore", "ll-r", "ll-r+boostlu")  # and EN
TWO_SCHEMES = ("single-positive", "rpa")  # whole networks are too slow for all
# Amounts as in the papers; for coco-mini, which has few images, fewer labels per class.
AMOUNTS = {
    "rpa": "rpa(keep=0.5)", "fraction-of-positives": "fraction-of-positives(keep=0.5)",
    "fpc": "fpc(per_class=100)",
}  # fmt: skip
FEWER = {"coco-mini": {"fpc": "fpc(per_class=20)"}}

# Whole networks, from the weights that compute the features, the head first (LinearInit). Only the
# learning rate of all weights is tuned, in one draw. On the validation images of VOC (one draw, AN,
# complete labels of 400 images at 128 pixels) mAP was 45.3 after 2 epochs and 45.9 after 6, and
# after 2 epochs of larger images 51.6 (160 pixels) and 54.6 (224).
OF_SCENES: dict[str, Any] = {
    "pictures": simkit.Pictures(size=64),
    "train": simkit.Settings(
        head_epochs=12, head_lr=0.1, epochs=6, batch_size=32, lr=1e-4, head_ratio=100,
        schedule="cosine", warm_up=0.3, keep="average",
    ),
    "tuning": simkit.Tuning(runs=3, draws=1, space={"all": {"lr": [3e-5, 1e-4, 3e-4]}}),
}  # fmt: skip
OF_PHOTOGRAPHS: dict[str, Any] = {
    "pictures": simkit.Pictures(size=160),
    "train": simkit.Settings(
        head_epochs=25, head_lr=1e-3, epochs=2, batch_size=32, lr=3e-4, schedule="cosine"
    ),
    "tuning": simkit.Tuning(runs=3, draws=1, space={"all": {"lr": [1e-4, 3e-4, 1e-3]}}),
    "images": 400,
}
# Simulated scores of an image-text model, with the mAP of CLIP without training on MS-COCO and VOC
# 2007 ("Class Concept Representation from Contextual Texts for Training-Free Multi-Label
# Recognition", 2024, table 1).
QUALITY = {"scenes": 0.574, "voc12-animals": 0.828, "coco-mini": 0.574}
METHODS_WITH_SCORES = (
    "an", "em", "ll-r", "gr-loss", "csl", "vlpl", "aevlp", "csl(prior_from=scores)",
    "en(expected=scores)", "epr(expected=scores)",
)  # fmt: skip
# People who err: shares of present labels missed, and of absent ones reported.
ERRORS = {"miss": 0.05, "false_alarm": 0.05}
FEW_METHODS = ("an", "ignore", "ll-r", "em", "gr-loss", "en")
SCHEMES_WITH_SCORES = ("machine(high=0.9, low=0.01)", "machine", "proposals(by=scores)")
# How FPC finds its images. 0.77: precision of a detector that never saw these images (YOLOX-nano on
# VOC 2012, scores of 0.3 and more), in place of the assumed 0.5; 0.1: a poor machine.
SEARCHES = (
    "fpc(precision=0.77)", "fpc", "fpc(precision=0.1)",
    RANDOM_SEARCH, "fpc(search=random, keep_looks=true)",
)  # fmt: skip
# Four schemes for what is too slow for all of them.
FOUR = ("single-positive", "rpa", "fpc", "knowledge-graph")


@dataclass(frozen=True)
class Data:
    """A data set of the atlas: its name, and the fields that every grid on it has."""

    name: str
    common: Mapping[str, Any]
    graph: Mapping[str, Any]  # the fields that differ for schemes that need a hierarchy
    networks: Mapping[str, Any]  # the fields of trainings from pixels

    def parts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The name of every grid, and its fields."""
        truth = simkit.data.open(self.common["data"]).truth["train"]
        complete = simkit.simulate(truth, "full-subset")  # of the scored classes

        def dollars(shares: Sequence[float], prices: str = PRICES) -> list[float]:
            price = simkit.cost(complete, prices).dollars
            return [float(f"{share * price:.2g}") for share in shares]

        for suffix, fields in {"": {}, "-graph": self.graph}.items():
            if suffix and not fields:
                continue
            listed = [
                name for name in schemes.names()
                # picked chooses images, and labels them by another scheme; machine needs scores
                if name not in ("picked", "machine")
                and (not self.graph or schemes.make(name).needs_hierarchy == bool(suffix))
            ]  # fmt: skip
            # A free machine finds candidates in fpc; here people look for them. One image of every
            # class of coco-mini would cost more than the budget at which settings are tried.
            if not suffix and self.name != "coco-mini":
                listed.append(RANDOM_SEARCH)
            base = {**self.common, **fields, "schemes": listed, "draws": DRAWS, "prices": PRICES}
            positives = self.positives(base)
            counts = {name: f"{name}(expected={positives})" for name in COUNTED}
            few_methods = [counts.get(name, name) for name in FEW_METHODS]
            leading, others = ([counts.get(one, one) for one in each] for each in (LEADING, OTHERS))
            fair = {**base, "methods": leading, "fair": True}
            yield f"curves{suffix}", {**fair, "budgets": dollars(CURVE)}
            two = {**fair, "budgets": dollars(TWO)}
            yield f"others{suffix}", {**two, "methods": others}
            inner = ["an", "ll-r", counts["en"]]
            wrapped = [f"{name}+{wrapper}" for wrapper in ("boostlu", "cl") for name in inner]
            for prices in OTHER_PRICES:
                other = {"prices": prices, "budgets": dollars(TWO, prices)}
                yield f"{prices}{suffix}", {**fair, **other, "methods": few_methods}
            one = {**two, "budgets": dollars(TWO[-1:])}
            yield f"wrapped{suffix}", {**one, "methods": wrapped}
            yield f"cnn-rnn{suffix}", {**one, "methods": ["cnn-rnn"]}
            if not suffix:
                uses = [counts.get(name, name) for name in OF_BOOSTLU]
                yield "boostlu", {**base, "schemes": FOUR[:1], "methods": uses, "fair": True}
            for number in (1, 2, 3):
                habits = {**ERRORS, "workers": number}
                erring = {**one, "methods": few_methods, "habits": habits}
                erring["schemes"] = [n for n in (*FOUR, "full-subset") if n in listed]
                yield f"erring-{number}{suffix}", erring
            if not suffix:
                searches = SEARCHES if RANDOM_SEARCH in listed else SEARCHES[:3]
                yield "searches", {**two, "schemes": searches, "methods": few_methods}
            amounts = AMOUNTS | FEWER.get(self.name, {})
            published = [
                amounts.get(name, name)
                for name in listed if name not in ("full-subset", RANDOM_SEARCH)
            ]  # fmt: skip
            fixed = {"schemes": published, "reference": False}
            yield f"amounts{suffix}", {**base, **fixed, "methods": leading}
            if not self.networks or suffix:
                continue
            all_labels = {"schemes": ["full-subset"], "methods": ["an"], "budgets": ()}
            same = {"draws": DRAWS_OF_NETWORKS, "reference": False, "schemes": TWO_SCHEMES}
            same["methods"] = [*NETWORKS, counts["en"]]
            # The same share of the labels, where there are fewer images.
            part = self.networks.get("images", truth.shape[0]) / truth.shape[0]
            same["budgets"] = dollars([CURVE[-1] * part])
            pixels = {**base, **same, **self.networks, "features": {}}
            yield "networks", pixels
            yield "networks-complete", {**pixels, **all_labels}
            if part < 1:
                heads = {**base, **same, "images": self.networks["images"], "fair": True}
                yield "heads", heads
                yield "heads-complete", {**heads, **all_labels}

    def positives(self, fields: Mapping[str, Any]) -> float:
        """Mean number of classes of a training image."""
        truth = simkit.data.open(fields["data"]).truth["train"]
        return round(float(truth.present.sum() / truth.shape[0]), 1)


def photographs(name: str, hierarchy: str) -> Data:
    """Photographs of SIMKIT_DATA, unpacked below atlas/photographs with features of MobileNetV2."""
    folder, source = ATLAS / "photographs" / name, _data()
    if not (source / "images" / name).is_dir():
        raise BadInput(f"SIMKIT_DATA is {source}, which has no folder images/{name}; correct it")
    if not (folder / "images").is_dir():
        for archive in sorted((source / "images" / name).glob("*.tar")):
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
    files = {split: folder / f"{split}.json" for split in SPLITS}
    if not all(file.is_file() for file in files.values()):
        for split, values in _frequent(source / "images" / name).items():
            with whole(files[split]) as part:
                part.write_text(json.dumps(values), "utf-8")
    listed = ",".join(f"{split}={file}" for split, file in list(files.items())[1:])
    spec = f"coco:{files['train']},{listed},images={folder / 'images'}"
    net = backbone("mobilenet_v2", source / WEIGHTS)
    for split in SPLITS:
        extract(simkit.data.open(spec), split, net, out=folder / "features" / split)
    common = {
        "data": spec,
        "features": {split: str(folder / "features" / split) for split in SPLITS},
        # Chosen on val with complete labels (benchmarks/photographs.py).
        "train": simkit.Settings(epochs=25, lr=1e-3),
    }
    networks: dict[str, Any] = {}
    if name == "voc12-animals":
        weights = folder / "weights.safetensors"  # grids name no path outside of the project
        if not weights.is_file():
            shutil.copyfile(source / WEIGHTS, weights)
        networks = {**OF_PHOTOGRAPHS, "backbone": "mobilenet_v2", "weights": str(weights)}
    graph = {"data": f"{spec},hierarchy={hierarchy}", "reference": False}
    return Data(name, common, graph, networks)


def _frequent(folder: Path) -> dict[str, dict[str, Any]]:
    """The annotations of each split, without the classes that too few images show."""
    values = {s: json.loads((folder / f"instances_{s}.json").read_text("utf-8")) for s in SPLITS}
    kept = None
    for split, least in LEAST.items():
        shown = {(one["category_id"], one["image_id"]) for one in values[split]["annotations"]}
        counts = np.bincount([category for category, _ in shown], minlength=1000)
        frequent = set(np.flatnonzero(counts >= least).tolist())
        kept = frequent if kept is None else kept & frequent
    assert kept is not None
    for split in SPLITS:
        for table, field in (("categories", "id"), ("annotations", "category_id")):
            values[split][table] = [one for one in values[split][table] if one[field] in kept]
        for image in values[split]["images"]:
            if "difficult_category_ids" in image:
                image["difficult_category_ids"] = sorted(kept & {*image["difficult_category_ids"]})
    return values


def every_part(names: set[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Folder, name and fields of every grid; without SIMKIT_DATA those of drawn images alone."""
    every: list[Data] = []
    if any(one.startswith("scenes") for one in names):
        common = {"data": "scenes:images=1000", "train": simkit.demo_grid().train}
        every.append(Data("scenes", common, {}, OF_SCENES))
    photographed = {"voc12-animals": "voc-20", "coco-mini": "coco-80"}
    for name, hierarchy in photographed.items():
        if not any(one.startswith(name) for one in names):
            continue
        if "SIMKIT_DATA" in os.environ:
            every.append(photographs(name, hierarchy))
        else:
            print(f"{name} is left out: set SIMKIT_DATA to the folder of the photographs")
    for data in every:
        grids = dict(data.parts())
        for part, fields in grids.items():
            panel = next((one for one in PANELS if part.startswith(one)), "")
            yield data.name + (panel and f"-{panel}"), part, fields
        two = grids["others"]
        if (name := f"{data.name}-scores") in names:
            yield name, "budgets", _with_scores(two, _simulated_scores(data))
        if (name := "voc12-animals-detector") in names and name.startswith(data.name):
            fields = _with_scores(two, _scores_of_detector(data))
            bought = [*FOUR[:3], "full-subset", "fpc(search=scores)", *SCHEMES_WITH_SCORES]
            yield name, "budgets", {**fields, "schemes": bought}
        if (name := f"{data.name}-lite2") in names and data.name in photographed:
            yield name, "curves", {**grids["curves"], "features": _features_of_lite2(data.name)}
        needed = data.name == "scenes" and "scenes-mobilenet" in names
        if needed and "SIMKIT_DATA" in os.environ:
            yield "scenes-mobilenet", "budgets", _of_another_network(two)


def _simulated_scores(data: Data) -> Path:
    """A file of simulated scores of an image-text model."""
    file = ATLAS / "photographs" / f"{data.name}-scores.npz"
    if not file.is_file():
        opened = simkit.data.open(data.common["data"])
        parts = {
            split: simkit.Similarities.simulated(opened.truth[split], QUALITY[data.name])
            for split in SPLITS
        }
        file.parent.mkdir(exist_ok=True, parents=True)
        write_similarities(parts, file)
    return file


def _scores_of_detector(data: Data) -> Path:
    """Scores of YOLOX-nano, trained on COCO, for the classes of VOC, whose labels it never saw."""
    file, source = ATLAS / "photographs" / f"{data.name}-detector.npz", _data()
    if file.is_file():
        return file
    opened = simkit.data.open(data.common["data"])
    with np.load(source / "labels" / f"yolox_nano_scores-{data.name}.npz") as known:
        values = np.clip(known["scores"].astype(np.float64), 1e-4, 1 - 1e-4)
        names, classes = known["file_names"].tolist(), known["class_names"].tolist()
    listed = json.loads((source / "meta" / "voc_categories.json").read_text("utf-8"))
    in_coco = {one["name"]: one["coco_name"] for one in listed}
    columns = [classes.index(in_coco[name]) for name in opened.classes]
    place, scale, parts = {name: row for row, name in enumerate(names)}, 20.0, {}
    for split in SPLITS:
        written = json.loads((file.parent / data.name / f"{split}.json").read_text("utf-8"))
        name_of = {image["id"]: image["file_name"] for image in written["images"]}
        images = opened.truth[split].images
        scores = values[np.ix_([place[name_of[image]] for image in images.tolist()], columns)]
        cosines = np.log(scores / (1 - scores)) / scale  # so that sigmoid(scale * cosine) is it
        classes_of = tuple(opened.classes)
        parts[split] = simkit.Similarities(cosines, images, classes_of, scale=scale, bias=0.0)
    write_similarities(parts, file)
    return file


def _features_of_lite2(name: str) -> dict[str, str]:
    """Files of the features of EfficientNet-Lite2 that come with the photographs, by split."""
    files = {split: ATLAS / "photographs" / name / f"lite2-{split}.npz" for split in SPLITS}
    if not all(file.is_file() for file in files.values()):
        brought = _data() / "features" / f"{name}-tf_efficientnet_lite2-gap.npz"
        with np.load(brought) as known:
            values, names = known["features"], known["file_names"].tolist()
        place = {image: row for row, image in enumerate(names)}
        for split, file in files.items():
            listed = json.loads(file.with_name(f"{split}.json").read_text("utf-8"))["images"]
            rows = [place[image["file_name"]] for image in listed]
            with whole(file) as part, part.open("wb") as written:
                np.savez(written, features=values[rows])
    return {split: str(file) for split, file in files.items()}


def _data() -> Path:
    """The folder of the photographs, and of what comes with them."""
    return Path(os.environ["SIMKIT_DATA"])


def _with_scores(fields: dict[str, Any], file: Path) -> dict[str, Any]:
    """The methods and schemes that use scores, and a few others."""
    listed = [
        *(name for name in fields["schemes"] if name != "knowledge-graph"),
        *SCHEMES_WITH_SCORES,
    ]
    few = {"schemes": listed, "methods": METHODS_WITH_SCORES}
    return {**fields, **few, "scores": str(file)}


def _of_another_network(fields: dict[str, Any]) -> dict[str, Any]:
    """Drawn scenes with features that were learned on photographs, for a few methods."""
    net = backbone("mobilenet_v2", _data() / WEIGHTS)
    folder = ATLAS / "photographs" / "scenes-mobilenet"
    for split in SPLITS:
        extract(simkit.data.open(fields["data"]), split, net, out=folder / split)
    features = {split: str(folder / split) for split in SPLITS}
    methods = ["an", "lsan", "ignore", "ll-r", "an+boostlu", "ll-r+boostlu"]
    few = {"schemes": FOUR, "methods": methods, "budgets": fields["budgets"][-1:]}
    return {**fields, **few, "features": features}


def grid_of(fields: Mapping[str, Any], part: str, runs: Path) -> simkit.Grid:
    """The grid of a part; `amounts` has the settings that `curves` chose for the same schemes."""
    grid = simkit.Grid(**fields)
    if not part.startswith("amounts"):
        return grid
    needed = f"{runs.name.removesuffix('-amounts')}/{part.replace('amounts', 'curves')}"
    file = runs.parent / needed / "settings.toml"
    if not file.is_file():
        raise BadInput(f"{part} uses the settings that {needed} chooses; run {needed} first")
    chosen = tomllib.loads(file.read_text("utf-8"))
    settings = {spec: chosen[spec.partition("(")[0]] for spec in grid.schemes}
    return dataclasses.replace(grid, settings=settings)


def pack(folder_name: str, defined: set[str]) -> None:
    """Write the tables and the summary of a data set from the finished runs of its parts.

    defined: names of these parts. Grids and runs of others are those of an earlier edition.
    """
    finished = sorted((ATLAS / "runs" / folder_name).glob("*/table.parquet"))
    finished = [file for file in finished if file.parent.name in defined]
    here = {file.parent.name for file in finished}
    grids = {file.stem: file for file in (ATLAS / folder_name).glob("*.toml")}
    missing = (grids.keys() & defined) - here
    if missing:
        print(f"{folder_name} keeps its table; not here: runs of {', '.join(sorted(missing))}")
        return
    parts = [runs.read(file.parent) for file in finished]
    metadata = parts[0].schema.metadata
    rows = runs.concat(
        [_of_leaves(part, parts[0]) for part in parts],
        {
            "classes": json.loads(metadata[b"classes"]),
            "leaves": json.loads(metadata[b"leaves"]),
            **{key: json.loads(metadata[key.encode()]) for key in COUNTS},
            "failures": [why for part in parts for why in failures(opened(part))],
            "methods": method_facts.written(
                {spec for part in parts for spec in part["method"].unique().to_pylist()}
            ),
        },
    )
    # Figures show schemes in the order of the rows.
    by_scheme = np.argsort(rows["scheme"].to_numpy(zero_copy_only=False), kind="stable")
    rows = rows.take(by_scheme).drop_columns(list(LEFT_OUT))
    # `expected` is that of the data, and `method_spec` keeps it: one name under every scheme.
    names = pc.replace_substring_regex(rows["method"], r"\(expected=[^)]*\)", "")
    rows = rows.set_column(rows.column_names.index("method"), "method", names)
    for name, kind in BY_CLASS.items():
        values = rows[name].cast(pa.list_(kind))
        rows = rows.set_column(rows.column_names.index(name), name, values)
    for place, field in enumerate(rows.schema):
        if pa.types.is_float64(field.type) and field.name not in ("budget", "budget_hours"):
            rows = rows.set_column(place, field.name, rows[field.name].cast(pa.float32()))
    references = rows.filter(rows["reference"])
    twice = references.select(["method", "draw"]).to_pandas().duplicated()
    folder = ATLAS / folder_name
    planned = sum(int(part.schema.metadata[b"planned"]) for part in parts) - int(twice.sum())
    about = {**rows.schema.metadata, b"planned": str(planned)}
    files = {
        "table": rows.filter(pc.invert(rows["reference"])).replace_schema_metadata(about),
        "reference": references.filter(pa.array(~twice)).replace_schema_metadata(about),
    }
    if (old := folder / "table.parquet").is_file():
        if (more := pq.read_metadata(old).num_rows - len(files["table"])) > 0:
            print(f"{folder_name} keeps its table: {more} more runs; remove {old} to replace it")
            return
    for stem, table in files.items():
        with whole(folder / f"{stem}.parquet") as part:
            pq.write_table(table, part, compression="zstd", compression_level=19)
    with whole(folder / "summary.md") as part:
        part.write_text(summary(folder), "utf-8")
    for stem in grids.keys() - defined:
        grids[stem].unlink()


def _of_leaves(rows: pa.Table, flat: pa.Table) -> pa.Table:
    """Runs with a hierarchy over the classes of `flat`, which are its leaves, as runs of these.

    Both are scored on the same images and classes. Scores over the ancestors as well are dropped.
    """
    names = json.loads(flat.schema.metadata[b"classes"])
    classes, leaves = (json.loads(rows.schema.metadata[key]) for key in (b"classes", b"leaves"))
    if classes == names:
        return rows
    kept = [classes.index(name) for name in names]
    assert sorted(kept) == leaves, "mAP is over other classes"
    columns: dict[str, Any] = {
        name: [each and [each[place] for place in kept] for each in rows[name].to_pylist()]
        for name in BY_CLASS
    }
    columns |= {"map_all": rows["map"], "map_o": [None] * len(rows)}
    columns |= {key: [flat[key][0].as_py()] * len(rows) for key in ("truth_id", "test_id")}
    for name in ("present", "absent"):
        columns[name] = [each and sum(each) for each in columns[f"class_{name}"]]
    known = zip(rows["images"].to_pylist(), columns["present"], columns["absent"], strict=True)
    columns["unknown"] = [images * len(names) - sum(counts) for images, *counts in known]
    for name, values in columns.items():
        place = rows.column_names.index(name)
        if isinstance(values, list):
            values = pa.array(values, rows.schema.field(name).type)
        rows = rows.set_column(place, name, values)
    return rows.replace_schema_metadata(flat.schema.metadata)


def summary(folder: Path) -> str:
    """The mean mAP of every method by scheme at the largest budget, if any, in Markdown."""
    table = simkit.open_runs(folder).table
    largest = table["budget"].max()
    priced = bool(largest == largest)  # else every scheme has a given amount
    columns = summary_rows(table[table["budget"] == largest] if priced else table)
    labels = f"labels for ${largest:,.0f}" if priced else "amounts of labels as written"
    means = {line.scheme: {c.method: c.score.mean for c in line.cells} for line in columns}
    wide = pd.DataFrame(means).mul(100).assign(mean=lambda each: each.mean(axis=1))
    wide = wide.sort_values("mean", ascending=False)
    text = [
        f"# {folder.name}: mAP in points, {labels}", "",
        "| method | " + " | ".join(wide.columns) + " |", "|---|" + "--:|" * wide.shape[1],
    ]  # fmt: skip
    return "\n".join([*text, *(
        f"| {method} | " + " | ".join(f"{value:.1f}" for value in row) + " |"
        for method, row in zip(wide.index, wide.to_numpy(), strict=True)
    )]) + "\n"  # fmt: skip


def gains() -> str:
    """Differences to AN, and on the knowledge graph to Ignore, for 11.5 % of all labels' price."""
    names = [
        name for name in ("voc12-animals", "coco-mini", "scenes")
        if (ATLAS / name / "table.parquet").is_file()
    ]  # fmt: skip
    sections: dict[str, dict[str, dict[str, str]]] = {}  # by scheme and base, method, data set
    for name in names:
        table = simkit.open_runs(ATLAS / name).table
        budgets = sorted(table["budget"].unique())
        if len(budgets) != len(CURVE):
            continue
        table = table[table["budget"] == budgets[CURVE.index(TWO[-1])]]
        for base in ("an", "ignore"):
            chosen = table if base == "an" else table[table["scheme"] == "knowledge-graph"]
            if base not in set(chosen["method"]):
                continue
            for row in simkit.analysis.ablation(chosen, base).itertuples():
                ends = f"({100 * row.gap_low:+z.1f} to {100 * row.gap_high:+z.1f})"
                gap = f"{100 * row.gap:+z.1f}" + "\\*" * bool(row.significant)
                if not row.base and row.gap == row.gap:  # a scheme may lack the base
                    section = sections.setdefault(f"{row.scheme}, to {base}", {})
                    section.setdefault(row.method, {})[name] = f"{gap} {ends}"
    text = [
        "# Differences of methods in the atlas", "",
        "Points of mAP, for labels that cost 11.5 % of complete ones, over ten draws, with the",
        "intervals at which Holm's correction tests them; asterisk: significant among the methods",
        "of the scheme. Written by `scripts/atlas.py`.",
    ]  # fmt: skip
    for heading, section in sections.items():
        text += ["", f"## {heading}", "", f"| method | {' | '.join(names)} |"]
        text.append("|---|" + "--:|" * len(names))
        for method, gaps in section.items():
            text.append(f"| {method} | " + " | ".join(gaps.get(n, "") for n in names) + " |")
    return "\n".join(text) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("parts", nargs="*", help="such as scenes or scenes/curves; default: all")
    arguments.add_argument("--workers", type=int, default=2, help="number of processes")
    options = arguments.parse_args()
    try:
        make(options.parts, options.workers)
    except BadInput as error:
        arguments.error(str(error))


def make(parts: Sequence[str], workers: int) -> None:
    """Run these parts (all without any) and pack their tables. Raises BadInput."""
    asked, worked = {*parts} or set(DATA), set()
    every = list(every_part({part.partition("/")[0] for part in asked}))
    known = {one for name, part, _ in every for one in (name, f"{name}/{part}")}
    if parts and not asked <= known:
        listed = ", ".join(sorted(known)) or ", ".join(DATA)
        raise BadInput(
            f"no part {', '.join(sorted(asked - known))}; give some of {listed} (photographs and "
            "scenes-mobilenet need SIMKIT_DATA)"
        )
    for name, part, fields in every:
        if not {name, f"{name}/{part}"} & asked:
            continue
        print(f"{name}/{part}", flush=True)
        file, out = ATLAS / name / f"{part}.toml", ATLAS / "runs" / name / part
        grid = grid_of(fields, part, out.parent).to_toml()
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(grid, "utf-8")
        command = ["compare", str(file), "--out", str(out), "--workers", str(workers)]
        written = out / "table.parquet"
        written.unlink(missing_ok=True)  # so that a run which fails leaves none
        # 1: some runs have no result, such as a search that the smallest budget does not pay for.
        code = subprocess.run([sys.executable, "-m", "simkit", *command]).returncode
        if code not in (0, 1) or not written.is_file():
            sys.exit(code or 1)
        worked.add(name)
    for name in worked:
        pack(name, {part for folder, part, _ in every if folder == name})
    with whole(ATLAS / "gains.md") as part:
        part.write_text(gains(), "utf-8")


if __name__ == "__main__":
    main()
