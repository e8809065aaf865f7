"""Labels that people made, in four ways that simulations usually leave out.

    SIMKIT_DATA=... NLTK_DATA=... python benchmarks/real_data.py --work FOLDER [--parts PART ...]

`size`: people name large objects first (MSRC-v2, whose masks say how large a class is in an image).
`campaigns`: two groups of people tagged the same kind of photographs by different habits (CCP).
`keywords`: at most five words for a photograph, so that a missing word says little (Corel-5k).
`votes`: what single raters take for present in photographs of ImageNet (ReaL); labels alone.

Heads learn from features of EfficientNet-Lite2, which come with the data, with settings chosen on
the validation images for every method (`fair`). Numbers are in points; intervals are 95 %, paired
by draw where they are of differences. Finished runs lie in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import pandas as pd
from findings import photographs
from photographs_packs import SPLITS, TRAINING

import simkit
from simkit.annotate.annotators import Habits
from simkit.files import whole
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.labels.wordnet import from_wordnet
from simkit.metrics import average_precision
from simkit.results.cells import summary_rows
from simkit.results.statistics import Interval, interval
from simkit.study.compare import compare
from simkit.study.grid import Grid
from simkit.study.tuning import Tuning

LITE = "tf_efficientnet_lite2"
LEAST = 10  # test images with a class, and as many without it, or it is not scored
DRAWS = 10
HALVES = ("pixel", "image")  # of the tags of CCP: by masks, or for the whole image
CAMPAIGNS = {"pixel": ("pixel", 400), "image": ("image", 400), "both": ("", 400),
             "both, twice as many": ("", 800)}  # fmt: skip
WEIGHTS = np.array([0, 0.5, 1])  # of the answers no, maybe and yes
GUESSES = 5  # words for each image
SHIFTED = 12  # tags in the table of shares
POSITIVES = "fraction-of-positives(keep=1, ratio=0)"  # what was tagged; all else is unknown


def text(of: Interval) -> str:
    mean, low, high = (round(100 * (end or 0.0), 1) + 0.0 for end in (of.mean, of.low, of.high))
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> list[str]:
    """In markdown; the first columns are text, the others numbers."""
    lines = [heads, ["---"] * texts + ["--:"] * (len(heads) - texts), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def of_pack(pack: str, split: str) -> pd.DataFrame:
    """A row for each class of each image of a split, as the file describes both."""
    file = Path(os.environ["SIMKIT_DATA"]) / "images" / pack / f"instances_{split}.json"
    listed = json.loads(file.read_text("utf-8"))
    images = pd.DataFrame(listed["images"]).set_index("id")
    names = {one["id"]: one["name"] for one in listed["categories"]}
    rows = pd.DataFrame(listed["annotations"]).join(images, on="image_id")
    return rows.assign(name=rows["category_id"].map(names))


def scored(rows: pd.DataFrame, images: int) -> set[int]:
    """The classes that enough images show, and enough do not."""
    counts = rows["category_id"].value_counts()
    return {*counts[(counts >= LEAST) & (counts <= images - LEAST)].index}


def compared(out: Path, draws: int, **fields: Any) -> pd.DataFrame:
    """The runs of a grid with tuned methods; a failed run is an error."""
    fields = {"reference": False, "train": TRAINING, "fair": True, "draws": draws} | fields
    done = compare(Grid(**fields), out=out, workers=1)
    assert not done.failures, done.failures
    return done.table


# -- size -----------------------------------------------------------------------------------------


def size(work: Path, draws: int) -> list[str]:
    """Single positives by size and at random."""
    schemes = ("single-positive(bias=size)", "single-positive", "full-subset")
    train, test = (of_pack("msrc-v2", split) for split in ("train", "test"))
    classes = scored(test, test["image_id"].nunique())
    fields = photographs(work, "msrc-v2", network=LITE, classes=classes)
    data = simkit.data.open(fields["data"])
    truth, boxes = data.truth["train"], data.boxes["train"]
    expected = truth.present.nnz / truth.shape[0]
    methods = ("an", "ignore", "ll-r", f"en(expected={expected:.1f})", "em")
    area = (train["area"] / (train["width"] * train["height"])).groupby(train["name"]).median()
    area = area.reindex([*data.classes])
    named = {
        scheme: np.mean([
            simkit.simulate(truth, scheme, boxes=boxes, draw=draw).per_class(1)
            for draw in range(draws)
        ], 0) / truth.counts
        for scheme in schemes[:2]
    }  # fmt: skip
    order = np.argsort(area.to_numpy())
    small, large = order[: len(order) // 3], order[-(len(order) // 3) :]
    runs = compared(work / "runs", draws, schemes=schemes, methods=methods, **fields)
    aps = np.array(runs["ap"].tolist(), float)
    runs = runs.assign(small=aps[:, small].mean(1), large=aps[:, large].mean(1))
    rows = []
    for method in methods:
        cells = [method]
        for metric in ("map", "small", "large"):
            of = {row.scheme: row.cell(method) for row in summary_rows(runs, metric=metric)}
            by_size, uniform, full = (of[scheme] for scheme in schemes)
            if metric == "map":
                cells += [f"{100 * full.score.mean:.1f}", text(uniform.score), text(by_size.score)]
            cells.append(text(by_size.minus(uniform)))
        rows.append(cells)
    heads = ["method", "complete labels", "uniform", "by size", "difference",
             f"of the {len(small)} smallest classes", f"of the {len(large)} largest"]  # fmt: skip
    shares = [
        [data.classes[c], f"{truth.counts[c]}", f"{100 * area.iloc[c]:.1f}",
         *(f"{100 * named[scheme][c]:.0f}" for scheme in reversed(schemes[:2]))]
        for c in order
    ]  # fmt: skip
    return [
        f"{truth.shape[0]} training images, {expected:.2f} of {len(data.classes)} classes in each.",
        "", *table(heads, rows), "",
        "How often a class is named where it is present, in %, by the median share of the image "
        "that it covers:", "",
        *table(["class", "training images", "area", "uniform", "by size"], shares),
    ]  # fmt: skip


# -- campaigns ------------------------------------------------------------------------------------


def campaigns(work: Path, draws: int) -> list[str]:
    """Train on one campaign, on the other and on both; test on each."""
    halves, scored_by_half = {}, []
    for split in ("train", "test"):
        for half, rows in of_pack("clothing-ccp", split).groupby("labels_from"):
            images = rows["image_id"].nunique()
            halves[split, half] = rows["name"].value_counts() / images
            if split == "test":
                scored_by_half.append(scored(rows, images))
    classes = set.intersection(*scored_by_half)
    methods = ("an", "ll-r", "em", "lsan")
    cells, aps = {}, {}
    for tested in HALVES:
        for name, (half, images) in CAMPAIGNS.items():
            parts = {"train": half, "val": half, "test": tested}
            folder = work / f"{half or 'both'}-{images}-{tested}"
            fields = photographs(
                folder, "clothing-ccp", network=LITE, classes=classes,
                kept=lambda split, one, parts=parts: parts[split] in ("", one["labels_from"]),
            )  # fmt: skip
            runs = compared(folder / "runs", draws, schemes=[POSITIVES], methods=methods,
                            images=images, **fields)  # fmt: skip
            (row,) = summary_rows(runs)
            cells[tested, name] = row
            aps[tested, name] = np.mean([*runs["ap"][runs["method"] == "an"]], 0)
    rows = []
    for tested in HALVES:
        for name in CAMPAIGNS:
            line = [tested if name == "pixel" else "", name, f"{CAMPAIGNS[name][1]}"]
            for method in methods:
                cell, own = (cells[tested, one].cell(method) for one in (name, tested))
                line.append(text(cell.score) if cell == own else text(cell.minus(own)))
            rows.append(line)
    names = simkit.data.open(fields["data"]).classes
    shares = pd.DataFrame({half: halves["train", half] for half in HALVES}).loc[[*names]]
    for tested in HALVES:
        for name in HALVES:
            shares[f"AP on {tested}, trained on {name}"] = aps[tested, name]
    order = (shares["pixel"] - shares["image"]).abs().sort_values(ascending=False).index
    listed = [
        [name, *(f"{100 * value:.0f}" for value in shares.loc[name])] for name in order[:SHIFTED]
    ]
    return [
        f"{len(classes)} tags count: those that {LEAST} test images or more of each half have, and "
        f"{LEAST} or more lack. The first row of a test half has the mAP of its own campaign, the "
        "others the difference to it.", "",
        *table(["test", "training", "images", *methods], rows, 2), "",
        f"The {SHIFTED} tags whose shares of the training images differ most, in %, and the AP of "
        "AN:", "", *table(["tag", *shares.columns], listed),
    ]  # fmt: skip


# -- keywords -------------------------------------------------------------------------------------


def keywords(work: Path, draws: int) -> list[str]:
    """Train on keywords as they are, and give five to each test image."""
    fields = photographs(work, "corel5k", network=LITE)
    data = simkit.data.open(fields["data"])
    train, test = data.truth["train"], data.truth["test"]
    with whole(work / "keywords.jsonl") as path:  # without a list of absent words
        words = (np.array(data.classes)[train.present[[n]].indices] for n in range(train.shape[0]))
        rows = zip(train.images.tolist(), words, strict=True)
        path.write_text(
            "\n".join(json.dumps({"image": n, "present": w.tolist()}) for n, w in rows), "utf-8"
        )
    labels = simkit.formats.make("hf").read(work / "keywords.jsonl")  # its words by name
    order = np.argsort(data.classes)
    assert labels.classes == tuple(np.array(data.classes)[order])
    assert (labels.codes != simkit.simulate(train, POSITIVES).codes[:, order]).nnz == 0
    expected = f"(expected={train.present.nnz / train.shape[0]:.1f})"
    methods = ("an", "wan", "lsan", "em", "gr-loss", "ll-r",
               f"en{expected}", f"role{expected}")  # fmt: skip
    runs = compared(work / "runs", 1, schemes=[POSITIVES], methods=methods,
                    tuning=Tuning(draws=1), **fields)  # fmt: skip
    features = {split: np.load(fields["features"][split])["features"] for split in SPLITS}
    task = simkit.Task(labels, simkit.FeatureInputs(features["train"]))
    shown = test.present.toarray()[:, order]
    # What the measures would be if still more words were missing from the test images.
    some = simkit.simulate(test, "fraction-of-positives(keep=0.8, ratio=0)")
    truths = shown, some.codes.toarray()[:, order] > 0
    measured: dict[str, list[dict[str, Any]]] = {}
    for run in runs.itertuples():
        scores = [
            simkit.train(task, run.method_spec, settings=replace(TRAINING, lr=run.lr), draw=draw)
            .scores(simkit.FeatureInputs(features["test"])) for draw in range(draws)
        ]  # fmt: skip
        measured[run.method] = [
            mean_of([five(one, truth, shown.sum(0) >= LEAST) for one in scores]) for truth in truths
        ]
    rows = []
    for name, (one, fewer) in measured.items():
        keys = ("precision", "recall", "map")
        means = [100 * np.nanmean(one[key]) for key in keys]
        gaps = [one[key] - measured["an"][0][key] for key in ("precision", "recall")]
        lost = [100 * np.nanmean(fewer[key]) - mean for key, mean in zip(keys, means, strict=True)]
        rows.append([
            name, *(f"{value:.1f}" for value in means[:2]), *(text(interval(gap)) for gap in gaps),
            f"{one['words']:.0f}", f"{means[2]:.1f}", *(f"{value:.1f}" for value in lost),
        ])  # fmt: skip
    heads = ["method", "precision", "recall", "precision, minus AN", "recall, minus AN", "words",
             "mAP", "hidden: precision", "recall", "mAP"]  # fmt: skip
    counts = np.diff(train.present.indptr)
    return [
        f"{train.shape[0]:,} training images have {labels.codes.nnz:,} keywords "
        f"({len(labels.classes)} different ones): {counts.mean():.1f} each on average, "
        f"{counts.max()} at most. {test.shape[0]} test images.", "", *table(heads, rows),
    ]  # fmt: skip


def mean_of(measures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {key: np.mean([one[key] for one in measures], 0) for key in measures[0]}


def five(scores: np.ndarray, shown: np.ndarray, frequent: np.ndarray) -> dict[str, Any]:
    """The five likeliest words of each image: their precision and recall (nan without any word) by
    image, and how many words are right in some image; and mAP."""
    best = np.zeros(scores.shape, bool)
    np.put_along_axis(best, np.argsort(-scores, 1)[:, :GUESSES], True, 1)
    hits, many = best & shown, shown.sum(1).astype(float)
    return {
        "precision": hits.mean(1) * shown.shape[1] / GUESSES,
        "recall": hits.sum(1) / np.where(many, many, np.nan),
        "words": hits.any(0).sum(),
        "map": float(average_precision(scores[:, frequent], shown[:, frequent]).mean()),
    }


# -- votes ----------------------------------------------------------------------------------------


def votes(work: Path, draws: int) -> list[str]:
    """Which class a rater would name, and which one simulated people name."""
    folder = Path(os.environ["SIMKIT_DATA"]) / "labels"
    data = simkit.data.open(f"npz:{folder / 'imagenet_real.npz'}")
    truth, answers = rated(folder / "imagenet_real_votes.npz", data.truth[data.to_label], draws)
    L, tree = truth.shape[1], from_wordnet(truth.classes)[0]
    names = named(answers, np.random.default_rng(0))
    wrong, absent = names[~names["present"]], answers[~answers["present"]]
    # Another candidate of the image in place of each wrong name, whatever the rater said about it.
    others = absent.sample(frac=1, random_state=0).drop_duplicates(["image", "rater"])
    others = others.merge(wrong[["image", "rater"]])
    miss = float((answers["weight"][answers["present"]] == 0).mean())
    seen = absent["weight"] > 0
    # Classes that were no candidates count as seen by nobody.
    by_class = np.bincount(absent["class"][seen], minlength=L) / draws
    by_class /= truth.shape[0] - truth.counts
    alarms = {
        "as for candidates": np.full(L, seen.mean()),
        "of an average class": np.full(L, by_class.mean()),
        "of each class": by_class,
    }
    people = {
        "raters": names,
        "raters, wrong names at random among candidates": pd.concat(
            [names[names["present"]], others]
        ),
        **{
            f"simulated, false alarms {name} ({rate.mean():.2g})": simulated(
                truth, miss, rate, draws
            )
            for name, rate in alarms.items()
        },
    }
    rows = [
        [name, *(text(interval(values)) for values in measures(of, truth, tree))]
        for name, of in people.items()
    ]
    strict = named(answers[answers["weight"] == 1], np.random.default_rng(0))
    heads = ("people", "no class", "wrong", "of wrong: 100 classes", "repeated", "sibling")
    several, same = agreement(names[names["present"]], truth)
    kinds = ("raters", "class weights", "uniform", "class weights minus uniform")
    candidates = len(answers) / draws / truth.shape[0]
    return [
        f"{truth.shape[0]:,} images with a class, about which the same {draws} raters answered all "
        f"questions ({candidates:.1f} candidates in each). They miss {100 * miss:.1f} % of the "
        f"present classes. Of those who say yes to something, "
        f"{100 * (~strict['present']).mean():.1f} % name a wrong class.",
        "",
        *table(heads, rows),
        "",
        f"The probability, in %, that another person names the same of several present classes "
        f"({several:,} images):",
        "",
        *table(kinds, [[text(one) for one in same]], 0),
    ]


def rated(file: Path, truth: Truth, people: int) -> tuple[Truth, pd.DataFrame]:
    """The images with a class about which the same people answered all questions, and the answers:
    image, class, rater (from 0 in every image), weight, and whether the class is present."""
    read = simkit.read_votes(file)
    answers = pd.DataFrame({
        "image": read.question_image[read.vote_question],
        "class": read.question_class[read.vote_question],
        "rater": read.vote_worker,
        "weight": WEIGHTS[read.vote_answer],
    })  # fmt: skip
    row = np.searchsorted(truth.images, read.images)
    same = (answers.groupby("image")["rater"].nunique() == people).to_numpy()
    kept = np.flatnonzero(same & (np.diff(truth.present.indptr)[row] > 0))
    truth, answers = truth.select(row[kept]), answers[answers["image"].isin(kept)]
    image = np.searchsorted(kept, answers["image"])
    rater = answers.groupby("image")["rater"].rank("dense").astype(int) - 1
    present = truth.present.toarray()[image, answers["class"]]
    return truth, answers.assign(image=image, rater=rater, present=present)


def named(answers: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """The class that each rater names in each image: one that they see there, by weight."""
    some = answers[answers["weight"] > 0]
    keys = some.assign(key=np.log(rng.random(len(some))) / some["weight"]).sort_values("key")
    return keys.drop_duplicates(["image", "rater"], keep="last")


def simulated(truth: Truth, miss: float, rate: np.ndarray, draws: int) -> pd.DataFrame:
    """The same of simulated people, whose misses and false alarms are independent."""
    habits, present = Habits(miss=miss, false_alarm=tuple(rate)), truth.present.toarray()
    names = []
    for draw in range(draws):
        labels = simkit.simulate(truth, "single-positive", habits=habits, draw=draw)
        image, of_class = labels.codes.nonzero()
        names.append(pd.DataFrame({"image": image, "class": of_class, "rater": draw,
                                   "present": present[image, of_class]}))  # fmt: skip
    return pd.concat(names)


def measures(names: pd.DataFrame, truth: Truth, tree: Hierarchy) -> list[list[float]]:
    """By person: images without a name, wrong names, and of these the shares of the 100 classes
    that are named wrongly most often, of pairs (present class, name) that occur again in another
    image, and of names with the parent of a present class."""
    parents = [{*one} for one in tree.parents[: truth.shape[1]]]
    present = [truth.present[[n]].indices.tolist() for n in range(truth.shape[0])]
    found = []
    for _, of in names.groupby("rater"):
        wrong = of[~of["present"]]
        pairs = [
            [(c, name) for c in present[image]]
            for image, name in zip(wrong["image"], wrong["class"], strict=True)
        ]
        counts = Counter(pair for some in pairs for pair in some)
        found.append([
            1 - len(of) / truth.shape[0],
            len(wrong) / len(of),
            wrong["class"].value_counts().head(100).sum() / len(wrong),
            np.mean([any(counts[pair] > 1 for pair in some) for some in pairs]),
            np.mean([any(parents[c] & parents[name] for c, name in some) for some in pairs]),
        ])  # fmt: skip
    return np.transpose(found).tolist()


def agreement(names: pd.DataFrame, truth: Truth) -> tuple[int, list[Interval]]:
    """How many images with several classes are looked at, and how likely another person names the
    same of them: another rater, somebody with weights of classes, or with none."""
    counts = np.diff(truth.present.indptr)
    names = names[(counts > 1)[names["image"]]]
    first, second = (names[names["image"] % 2 == half] for half in (0, 1))
    learned = np.flatnonzero((counts > 1) & (np.arange(len(counts)) % 2 == 0))
    part = truth.select(learned)
    complete = simkit.PartialLabels.of(
        np.where(part.present.toarray(), 1, -1).astype(np.int8), part.images, part.classes
    )
    classes = np.array(truth.classes)
    answers = pd.DataFrame(
        {"image": truth.images[first["image"]], "class": classes[first["class"]]}
    )
    weights = simkit.fit_naming(answers, complete)["weight"].to_numpy()
    same = second.groupby(["image", "class"]).size().rename("same").reset_index()
    same = same.merge(second.groupby("image").size().rename("all"), on="image").query("all > 1")
    of_image = {
        "raters": same["same"] * (same["same"] - 1) / (same["all"] * (same["all"] - 1)),
        "weights": same["same"] / same["all"] * weights[same["class"]]
        / (truth.present @ weights)[same["image"]],
        "uniform": same["same"] / same["all"] / counts[same["image"]],
    }  # fmt: skip
    sums = pd.DataFrame(of_image).groupby(same["image"].to_numpy()).sum()
    gain = sums["weights"] - sums["uniform"]
    return len(sums), [interval(one.to_numpy()) for one in (*(sums[name] for name in sums), gain)]


# Each with its number of draws; the votes have five raters for each question.
PARTS: dict[str, tuple[Callable[[Path, int], list[str]], int]] = {
    "size": (size, 10),
    "campaigns": (campaigns, 10),
    "keywords": (keywords, 3),
    "votes": (votes, 5),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS])
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is done")
    parser.add_argument("--out", type=Path, help="file for the tables")
    arguments = parser.parse_args()
    if not os.environ.get("SIMKIT_DATA"):
        sys.exit("set SIMKIT_DATA to the folder of real data")
    warnings.simplefilter("ignore", UserWarning)
    lines: list[str] = []
    for name in arguments.parts:
        part, draws = PARTS[name]
        folder = arguments.work / name
        folder.mkdir(parents=True, exist_ok=True)
        lines += [f"## {name}", "", *part(folder, draws), ""]
    measuring.printed("\n".join(lines), arguments.out)
    print(measuring.machine(), file=sys.stderr)


if __name__ == "__main__":
    main()
