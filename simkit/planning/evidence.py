"""The evidence of comparisons: mAP by label option, method and size, and on complete labels."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from os import PathLike
from pathlib import Path
from shlex import join
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits, outvoted
from simkit.annotate.schemes.full_subset import FullSubset
from simkit.annotate.similarities import (
    PILOT_SCORES,
    PROJECT_SCORES,
    PilotScores,
    read_scores,
)
from simkit.chance import Chance
from simkit.data import dataset
from simkit.data.dataset import Boxes, Dataset
from simkit.errors import BadInput, located
from simkit.files import beside, reading
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.metrics.ap import LabelCounts, ap_of_classes
from simkit.planning.answers import Lacking, answer_counts
from simkit.quantities import numbered
from simkit.registry import build, short
from simkit.results import job_store, method_facts, runs
from simkit.results.cells import FULL, Budget
from simkit.results.result_tables import class_names, failures, frame, leaves
from simkit.results.test_split import Array, Errors, TestSplit

Folder = str | PathLike[str]

OF_PROJECT = "the project's scores"  # name of the machine of a plan, see `Pool`
COMPLETE = FullSubset.name  # the scheme that labels whole images
_TRAINED_ALIKE = ("backbone", "weights", "features", "pictures", "train", "validation", "tuning")
_REQUIRED = ("schemes", "methods", "data")  # settings that every grid has
_SETTING_TYPES = {  # of those that plans read
    **dict.fromkeys(("schemes", "methods"), list), **dict.fromkeys(("habits", "train"), dict),
    **dict.fromkeys(("data", "backbone", "weights", "scores", "prices"), str),
}  # fmt: skip
_SIDES = ("class_present", "class_absent")
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("scheme", "scheme_spec", "method", "method_spec"), str),
    **dict.fromkeys(("labels_id", "truth_id", "test_id"), str),
    **dict.fromkeys(("images", "draw", "epochs"), int), "reference": bool, "seed": int | None,
    **dict.fromkeys(("budget", "budget_hours"), float | None), "map": float, "lr": float,
    "tuned": str | None, "tuned_error": float | None,
    **dict.fromkeys(_SIDES, list[int]), "ap": list[float | None],
}  # fmt: skip
_made = lru_cache(maxsize=1024)(schemes.make)
_KEYS = ["method", "reference", "size", "seed", "draw"]  # of a run, beside its label option


@dataclass(frozen=True)
class LabelOption:
    """A way to buy labels: a scheme without its amount, and the annotators.

    Attributes
    ----------
    scheme
        The spelling without amount and defaults, such as ``"fpc(search='random')"``.
    habits
        Annotation errors. The number of workers per question applies only with errors; otherwise
        the price list sets it.
    """

    scheme: str
    habits: Habits = Habits()

    @staticmethod
    def of(spec: str, habits: Habits = Habits()) -> LabelOption:
        """The option of a scheme as a grid spells it."""
        part = _made(spec)
        named = short(part, without=part.amount)
        return LabelOption(named, Habits() if habits.perfect else habits)

    @property
    def part(self) -> schemes.Scheme:
        """The scheme itself, with an arbitrary amount."""
        return _made(self.scheme)

    @property
    def labels(self) -> str:
        """Its labels in words."""
        return "complete labels" if self.complete else f"{self.part.name} labels"

    @property
    def amount(self) -> str:
        """The field that scales with the budget, or ``"images"``."""
        return self.part.amount or "images"

    @property
    def complete(self) -> bool:
        """Whether every class of an image is asked about."""
        return self.part.name == COMPLETE

    @property
    def counted(self) -> bool:
        """Whether the amount is a number per class, which scales with the images."""
        part = self.part
        return part.amount is not None and isinstance(getattr(part, part.amount), int)

    def with_amount(self, amount: float) -> schemes.Scheme:
        """The scheme with this amount; unchanged if images are the amount."""
        part = self.part
        if part.amount is None:
            return part
        value = max(1, round(amount)) if self.counted else min(1.0, amount)
        return dataclasses.replace(part, **{part.amount: value})  # type: ignore[type-var]

    def __str__(self) -> str:
        return self.scheme if self.habits.perfect else f"{self.scheme} by people who err"


@dataclass(frozen=True, eq=False)
class Size:
    """One measured size of a curve; P and A average over draws.

    Attributes
    ----------
    amount
        Amount of the scheme; the number of asked images if that is the amount.
    present, absent
        (L,) number of known present and absent labels of each scored class.
    scores
        (D,) mAP on new images in [0, 1], nan for missing draws.
    """

    amount: float
    present: Array
    absent: Array
    scores: Array

    @property
    def score(self) -> float:
        return float(np.nanmean(self.scores))


@dataclass(frozen=True, eq=False)
class Pool:
    """The completely labelled images that a comparison bought its labels from.

    Attributes
    ----------
    truth
        The ground truth, or a stand-in with the same class frequencies if the data are missing.
    scored
        (L',) indices of the classes over which mAP is averaged.
    opened
        Whether the labels of its images are known.
    scores
        (N, L) logits of the model whose scores the comparison used; None without any.
    machine
        (N, L) logits of the model by which schemes search that assume one; None: search at random.
    machine_name
        This model, in words; "" without one.
    files
        Names of the image files, by which tables of scores may name the images; empty if unknown.
    """

    truth: Truth
    scored: NDArray[np.int64]
    hierarchy: Hierarchy | None = None
    boxes: Boxes | None = None
    opened: bool = True
    scores: Array | None = None
    machine: Array | None = None
    machine_name: str = ""
    files: Sequence[str] = ()

    @property
    def images(self) -> int:
        return self.truth.shape[0]

    @property
    def present(self) -> Array:
        """(L',) images that show each scored class."""
        return np.asarray(self.truth.counts[self.scored], np.float64)

    @property
    def chance(self) -> float:
        """mAP of a random order of many images: the mean share of images with a scored class."""
        return float((self.present / self.images).mean())

    def searched_by(self, scores: Folder) -> Pool:
        """The same pool, searched in the order of a file of scores.

        Raises BadInput if the file lacks an image or a class or has no logits, or if the data
        cannot be opened.
        """
        if not self.opened:
            raise BadInput(
                "scores name images of the pilot, whose data cannot be opened here; put the data "
                "back, or plan without scores"
            )
        images, classes = self.truth.images, self.truth.classes
        values: Any = read_scores(scores, "train", images, classes, files=lambda: self.files)
        known = np.where(values > schemes.MISSING, values, np.nan)
        schemes.check_scale(known, images.tolist(), classes)
        return dataclasses.replace(self, machine=values, machine_name=f"the scores of {scores}")


Pair = tuple[LabelOption, str]
Ends = Mapping[tuple[Habits, str], Array]


@dataclass(frozen=True, eq=False)
class Received:
    """Labels of earlier rounds, and the mAP of models trained on them.

    Attributes
    ----------
    option, method
        Label option and training method.
    dollars
        Price of the labels.
    images
        Number of images that the option was allowed to ask about.
    asked
        Number of images with at least one question.
    present, absent
        (L',) number of known labels of each scored class.
    scores
        (D,) mAP of each model on new images, in [0, 1].
    errors
        Shares of present classes that the annotators missed and of absent ones that they reported,
        fitted from their answers; None if the answers do not allow it.
    folder
        The order's folder; "" without one.
    answers
        Number of questions about training images, in a project with those of its pilot, by the
        number of their answers.
    lacking
        What all questions of the order lack to so many answers; none for numbers that all have.
    """

    option: LabelOption
    method: str
    dollars: float
    images: int
    asked: int
    present: Array
    absent: Array
    scores: Array
    errors: tuple[float, float] | None = None
    folder: str = ""
    answers: Mapping[int, int] = field(default_factory=dict)
    lacking: Mapping[int, Lacking] = field(default_factory=dict)

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of one or several comparisons of the same data, trained in the same way.

    Attributes
    ----------
    cells
        Measured sizes, fewest labels first, by label option and method.
    complete
        mAP on complete labels of the pool, (D,) by habits and method.
    class_ap
        AP of each scored class on the test split for the same runs, (L',) by habits and method.
    draws
        Number of draws; arrays of scores have one entry for each.
    missing
        Share of missing planned runs, and a sentence about them; 0 and "" if none are missing.
    ids
        Content ids of the truth, the test split and the runs.
    trained_as
        Training of the largest size by label option and method: method with tuned settings,
        learning rate and epoch.
    received
        Labels of earlier rounds; None without any.
    levels
        mAP on complete labels of the pool with additional errors, (D,) by level and method.
    zero_shot
        mAP of the scores with which the runs were made, without any label, and the name of their
        model; None without scores, and if they lack classes that mAP averages.
    methods
        The facts of each method, by its spelling.
    unscored
        Classes that mAP leaves out, because no test image shows them, or all do.
    answers
        In a project, the number of questions by split and by the number of their answers.
    squares
        The folder of runs whose network saw the central squares of images; "" if there are none.
    tuned_errors
        By label option and method: standard error of mAP from the choice of settings, where
        settings were chosen.
    """

    folders: tuple[str, ...]
    pool: Pool
    test: TestSplit
    cells: Mapping[Pair, tuple[Size, ...]]
    complete: Ends
    class_ap: Ends
    draws: int
    runs: int
    grid: Mapping[str, Any]
    missing: tuple[float, str]
    ids: Mapping[str, str]
    trained_as: Mapping[Pair, Mapping[str, Any]]
    received: Received | None = None
    zero_shot: tuple[float, str] | None = None
    methods: Mapping[str, method_facts.MethodFacts] = field(default_factory=dict)
    levels: Mapping[str, Mapping[Errors, Array]] = field(default_factory=dict)
    unscored: tuple[str, ...] = ()
    answers: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    squares: str = ""
    tuned_errors: Mapping[Pair, float] = field(default_factory=dict)

    @staticmethod
    def of(*folders: Folder, errors: Errors | None = None) -> Evidence:
        """Read folders that `simkit compare` wrote.

        Parameters
        ----------
        *folders
            Comparisons of the same data.
        errors
            Shares of present classes that the labels of pool and test split miss, and of absent
            ones that they report: mAP is corrected to true labels. None: unknown. Not used for
            `true_labels`.

        Raises
        ------
        BadInput
            Names the folder: no finished runs, other data or training than the first one, no run
            on complete labels.
        """
        if not folders:
            raise BadInput("no folder is named; name one that `simkit compare` wrote")
        read = [_read(folder) for folder in folders]
        for other in read[1:]:
            _check_alike(read[0], other)
        rows = _joined(read)
        true = _drawn(read[0].grid) or any(not option.habits.perfect for option in rows["option"])
        pool, test = _opened(read, rows, None if true else errors)
        cells, complete, class_ap, trained_as = _grouped(rows, pool, test)
        share, sentence = max(_missing(one) for one in read)
        if not complete:
            mend = "set reference = true in its grid and compare again (finished runs are kept)"
            raise BadInput(
                f"{read[0].folder} has no run on complete labels, where every curve ends; "
                + (f"{sentence}: run the same `simkit compare` again" if share else mend)
            )
        named = zip(rows["labels_id"], rows["method"], rows["map"].tolist(), strict=True)
        texts = [f"{labels} {method} {score!r}" for labels, method, score in named]
        about, names = read[0].table.attrs, class_names(read[0].table)
        counts = answer_counts(project_folder(*folders))
        return Evidence(
            folders=tuple(one.folder for one in read), pool=pool, test=test, cells=cells,
            complete=complete, class_ap=class_ap, runs=len(rows),
            draws=len(rows[["seed", "draw"]].drop_duplicates()), grid=read[0].grid,
            missing=(share, sentence), methods=_facts(read), trained_as=trained_as,
            tuned_errors=rows.groupby(["option", "method"], sort=False)["tuned_error"].max()
            .dropna().to_dict(),
            levels=_levels(read, rows, test),
            answers={
                str(split): rows.groupby("answers")["questions"].sum().to_dict()
                for split, rows in counts.groupby("split")
            },
            unscored=tuple(names[c] for c in sorted({*read[0].leaves} - {*pool.scored.tolist()})),
            ids={**read[0].ids, "runs": content_id(*sorted(texts))}
            | ({} if pool.machine is None else {"scores": content_id("scores", pool.machine)}),
            squares=next((one.folder for one in read if one.squares), ""),
            zero_shot=None if about.get("zero_shot") is None or about.get("zero_shot_over")
            else (float(about["zero_shot"]), str(about.get("scored_by"))),
        )  # fmt: skip

    @property
    def project(self) -> str | None:
        """The folder of the project that the comparisons belong to; None without one."""
        home = project_folder(*self.folders)
        return None if home is None else str(home)

    @property
    def true_labels(self) -> bool:
        """Whether the labels of pool and test split are true: those of drawn images, and where the
        comparisons simulated annotators who err."""
        return _drawn(self.grid) or any(not option.habits.perfect for option, _ in self.cells)

    def title(self, method: str) -> str:
        """The display name of a method."""
        return self.methods[method].title

    def complete_labels(self, option: LabelOption, method: str) -> Array:
        """(D,) mAP on complete labels by the same annotators with this method, or with `full`."""
        return self.complete[self.alike_complete(option, method)]

    def alike_complete(self, option: LabelOption, method: str) -> tuple[Habits, str]:
        """Annotators and method of the runs on complete labels that come nearest to a pair's."""
        wanted = ((habits, m) for habits in (option.habits, Habits()) for m in (method, FULL))
        return next((key for key in wanted if key in self.complete), next(iter(self.complete)))

    @property
    def earlier_features(self) -> str:
        """The warning that a network saw central squares, with the mend; "" if none did."""
        if not self.squares:
            return ""
        words = ["simkit", "compare", str(Path(self.squares) / "grid.toml"), "--out", self.squares]
        return (
            f"the runs in {self.squares} are of an earlier version of simkit, in which networks "
            "saw the central squares of images, not whole images; compare again: " + join(words)
        )

    @property
    def stand_in_backbone(self) -> bool:
        """Whether features of other data come from the network for `scenes`."""
        precomputed = _precomputed(self.grid) or self.grid.get("pictures")
        of_scenes = self.grid.get("backbone", "scenes-net") == "scenes-net"
        return of_scenes and not _drawn(self.grid) and not precomputed


def saw_squares(facts: Mapping[str, Any], grid: Mapping[str, Any]) -> bool:
    """Whether the network of a comparison saw the central squares of images, as in earlier
    versions, which did not record it; it sees whole images now. Drawn images are square."""
    return "fit" not in facts and not _precomputed(grid) and not _drawn(grid)


def _precomputed(grid: Mapping[str, Any]) -> bool:
    """Whether features are given, so that no backbone of the grid is used."""
    return bool(grid.get("features")) and not grid.get("pictures")


def _drawn(grid: Mapping[str, Any]) -> bool:
    """Whether the images of a grid are the drawn ones, `scenes`."""
    return str(grid.get("data", "")).startswith("scenes")


@dataclass(frozen=True, eq=False)
class _Folder:
    """One folder's table and grid."""

    folder: str
    table: pd.DataFrame
    grid: dict[str, Any]

    @property
    def ids(self) -> dict[str, str]:
        return {name: str(self.table[f"{name}_id"].iat[0]) for name in ("truth", "test")}

    @property
    def squares(self) -> bool:
        """As `saw_squares`."""
        return saw_squares(self.table.attrs, self.grid)

    @property
    def leaves(self) -> list[int]:
        """Indices of the classes of mAP."""
        return list(leaves(self.table) or range(len(class_names(self.table))))


def _read(folder: Folder) -> _Folder:
    """The table and the grid, the latter as plain values because `study.grid` would load torch."""
    mend = "compare again with this version"
    table = frame(runs.read(folder), _COLUMNS, asker=str(folder), mend=mend)
    if not class_names(table):
        raise BadInput(f"the table in {folder} has no class names; {mend}")
    path, text = Path(folder) / "grid.toml", None
    mend = "restore it, or compare again into this folder"
    if not path.is_file():
        path, text = path.parent / job_store.PLAN, job_store.under_way(path.parent)["grid"]
        if not text:
            raise BadInput(f"{folder} has runs, but no grid.toml; {mend}")
    with reading(path, "the grid (TOML) of these runs", mend):
        grid = tomllib.loads(path.read_text("utf-8") if text is None else text)
        for name, kind in _SETTING_TYPES.items():
            if name in _REQUIRED and name not in grid:
                raise ValueError(f"{name} is missing")
            if type(value := grid.get(name, kind())) is not kind:
                raise ValueError(f"{name} is {value!r}, not a {kind.__name__}")
        build(Habits, grid.get("habits", {}), "habits")
        compared = table[~table["reference"] & (table["draw"] >= 0)]
        if others := sorted({*compared["scheme"]} - {*map(str, grid["schemes"])}):
            raise ValueError(f"there are runs of {others[0]!r}, but schemes lacks it")
    return _Folder(str(folder), table, grid)


def _check_alike(one: _Folder, other: _Folder) -> None:
    """Raise BadInput, naming both folders, unless their runs can be compared."""
    facts = [
        {
            "classes": class_names(part.table), "images to label": part.ids["truth"],
            "test splits": part.ids["test"],
            "parts of images that the network saw (see `simkit compare`)": part.squares,
            **{f"{name} in their grids": part.grid.get(name) for name in _TRAINED_ALIKE},
            # With own features earlier versions wrote the default network.
            **({"backbone in their grids": ""} if _precomputed(part.grid) else {}),
        }
        for part in (one, other)
    ]  # fmt: skip
    for what, value in facts[0].items():
        if facts[1][what] != value:
            raise BadInput(
                f"{one.folder} and {other.folder} have different {what}; plan from comparisons of "
                "the same data with equal settings, or from one of them"
            )


def _missing(one: _Folder) -> tuple[float, str]:
    """Share of the planned runs that are not finished or failed, and a sentence about them."""
    planned, finished = int(one.table.attrs.get("planned", 0)), len(one.table)
    if not planned and (Path(one.folder) / job_store.PLAN).is_file():
        keys = job_store.under_way(Path(one.folder))["keys"]
        done = sum(job_store.finished(Path(one.folder) / "bundles", key) for key in keys)
        if done < len(keys):
            share = 1 - done / len(keys)
            return share, f"{one.folder} is unfinished: {done} of {len(keys)} jobs are finished"
    if finished < planned:
        failed, file = failures(one.table), Path(one.folder) / "reference.parquet"
        if not failed and one.grid.get("reference", True) and not file.is_file():
            return 1 - finished / planned, f"{file} is not there"
        first = ", the first" if planned - finished > 1 else ""
        why = f"{first} because {failed[0].rstrip('.')}" if failed else ""
        lacking = numbered(planned - finished, "run")
        return 1 - finished / planned, f"{lacking} of {one.folder} failed{why}"
    return 0.0, ""


def _joined(folders: Sequence[_Folder]) -> pd.DataFrame:
    """The rows of all tables without repeated runs, sorted so that sums do not depend on order.

    Comparisons of the same data are pooled as if they were one. A run that two folders repeat, such
    as the references, counts once: counted twice it would make the spread over draws too small.

    `option`: label option; `size`: a key that runs of the same intended size share.
    """
    parts = []
    for one in folders:
        table = one.table[one.table["draw"] >= 0]
        by_features = table["scheme"].map(lambda spec: _made(spec).needs_features).astype(bool)
        for spec in table["scheme"][by_features].unique():
            warnings.warn(f"{spec} is left out: plans do not use features", stacklevel=2)
        table = table[~by_features]
        with located(one.folder):
            habits = Habits(**one.grid.get("habits", {}))
            options = {spec: LabelOption.of(spec, habits) for spec in table["scheme"].unique()}
        option = table["scheme"].map(options)
        grid, images = one.grid, str(one.grid.get("images", 1.0))
        limits = map(Budget.of, table[["budget", "budget_hours"]].to_dict("records"))
        sizes = [
            (grid.get("prices"), images, limit.dollars, limit.hours) if limit else (images, spec)
            for limit, spec in zip(limits, table["scheme_spec"], strict=True)
        ]
        seed = table["seed"].fillna(0).astype(int)
        parts.append(table.assign(option=option, seed=seed, size=sizes))
    rows = pd.concat(parts, ignore_index=True).drop_duplicates(["option", *_KEYS])
    rows.attrs = {}  # which pandas would copy at every step
    if not len(rows):
        raise BadInput(
            f"{folders[0].folder} holds no finished runs; name the folder that `simkit compare` "
            "wrote to"
        )
    spelled = rows["option"].map(str)
    texts = [str(row) for row in zip(spelled, *(rows[name] for name in _KEYS), strict=True)]
    return rows.iloc[sorted(range(len(rows)), key=texts.__getitem__)].reset_index(drop=True)


def _facts(folders: Sequence[_Folder]) -> dict[str, method_facts.MethodFacts]:
    """The facts of each method, without which its curve would be a guess."""
    facts = {}
    for one in folders:
        for method in one.table["method"].unique():
            facts[method] = method_facts.of(method, one.table)
            if None in (facts[method].unknown_as_absent, facts[method].known_alone):
                raise BadInput(
                    f"{one.folder}: nothing says how method {method!r} reads unknown labels, on "
                    "which its curve depends; install the package that it comes from, or compare "
                    "again without it"
                )
    return facts


def _grouped(
    rows: pd.DataFrame, pool: Pool, test: TestSplit
) -> tuple[dict[Pair, tuple[Size, ...]], Ends, Ends, dict[Pair, Any]]:
    """Measured cells, mAP and AP by class of the runs on complete labels, and the training of each
    cell's largest size."""
    scores = _by_draw(rows, test)

    def size(group: pd.DataFrame) -> Size:
        counts = (np.stack([*group[side]])[:, pool.scored] for side in _SIDES)
        present, absent = (values.mean(axis=0) for values in counts)
        return Size(float(group["amount"].mean()), present, absent, scores(group))

    known = sum(np.stack([*rows[side]]).sum(axis=1) for side in _SIDES)
    rows = rows.iloc[np.argsort(known, kind="stable")]
    bought = zip(rows["option"], rows["images"], rows["scheme_spec"], strict=True)
    rows = rows.assign(habits=[option.habits for option in rows["option"]], amount=[
        float(images if option.amount == "images" else getattr(_made(spec), option.amount))
        for option, images, spec in bought
    ])  # fmt: skip
    complete = rows["option"].map(lambda option: option.complete)
    everything = rows[complete & (rows["images"] == pool.images)]
    ends, class_ap = {}, {}
    for pair, group in everything.groupby(["habits", "method"], sort=False):
        ends[pair] = scores(group)
        class_ap[pair] = np.stack([*group["ap"]]).astype(float)[:, pool.scored].mean(axis=0)
    # A budget that bought the same labels as a smaller one is not another size.
    bought = rows[~rows["reference"]].drop_duplicates(["labels_id", "method"])
    cells, trained = {}, {}
    for pair, cell in bought.groupby(["option", "method"], sort=False):
        sizes: dict[float, list[pd.DataFrame]] = {}  # budgets beyond all labels have equal amounts
        for _, group in cell.groupby("size", sort=False):
            sizes.setdefault(round(float(group["amount"].mean()), 9), []).append(group)
        cells[pair] = tuple(
            size(pd.concat(groups) if groups[1:] else groups[0]) for groups in sizes.values()
        )
        facts = ("method", "method_spec", "tuned", "lr", "epochs")
        row = {name: group[name].tolist()[0] for name in facts}
        # Only a tuned method needs its full spelling in order to be trained again.
        method = row["method"] if row["tuned"] is None else row["method_spec"]
        trained[pair] = {"method": method, "lr": row["lr"], "epochs": row["epochs"]}
    return cells, ends, class_ap, trained


def _levels(
    folders: Sequence[_Folder], rows: pd.DataFrame, test: TestSplit
) -> dict[str, dict[Errors, Array]]:
    """The runs on complete labels with additional errors, (D,) by method and level."""
    scores = _by_draw(rows, test)
    table = pd.concat([runs.read_errors(one.folder).to_pandas() for one in folders])
    levels: dict[str, dict[Errors, Array]] = {}
    for (method, miss, false_alarm), group in table.groupby(["method", *runs.ERRORS], sort=True):
        levels.setdefault(str(method), {})[float(miss), float(false_alarm)] = scores(group)
    return levels


def _by_draw(rows: pd.DataFrame, test: TestSplit) -> Callable[[pd.DataFrame], Array]:
    """The (D,) mAP on new images of some runs, nan for the draws of `rows` that they lack."""
    draws = sorted({*zip(rows["seed"], rows["draw"], strict=True)})

    def scores(group: pd.DataFrame) -> Array:
        # A group of pandas takes a hundred times as long as these few rows.
        seeds, places, values = (group[name].tolist() for name in ("seed", "draw", "map"))
        by_draw = {
            (seed, draw): value
            for seed, draw, value in zip(seeds, places, values, strict=True)
            if not math.isnan(value)
        }
        return test.on_new_images(np.array([by_draw.get(draw, math.nan) for draw in draws]))

    return scores


def _opened(
    folders: Sequence[_Folder], rows: pd.DataFrame, errors: Errors | None
) -> tuple[Pool, TestSplit]:
    """The pool (a stand-in if its labels are nowhere) and the test split."""
    first, ids = folders[0], folders[0].ids
    data = _data(dataset.near(str(first.grid.get("data", "")), Path(first.folder)))
    class_indices = np.array(first.leaves, np.int64)
    best = rows[rows["map"] >= rows["map"].median()]
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        # nan for classes without any AP
        ap = np.asarray(np.nanmean(np.stack([*best["ap"]]), axis=0))[class_indices]
    scored = class_indices[~np.isnan(ap)]
    if not len(scored):
        raise BadInput(
            f"{first.folder}: no class has an average precision; compare on a test split with both "
            "present and absent labels of some class"
        )
    places = [Path(one.folder) / PILOT_SCORES for one in folders]
    read = [PilotScores.read(place) for place in places if place.is_file()]
    pilots = [one for one in read if ids["truth"] in one.history.parents]
    if data is not None and (truth := data.truth["train"]).id == ids["truth"]:
        scores, files = None, data.file_names("train")
        if file := first.grid.get("scores"):
            # The file may be gone; schemes that need it say so.
            with contextlib.suppress(BadInput), warnings.catch_warnings(action="ignore"):
                file = beside(str(file), Path(first.folder))
                given = read_scores(file, "train", truth.images, truth.classes,
                                    files=lambda: files)  # fmt: skip
                scores = np.asarray(given, np.float64)
        boxes = data.boxes.get("train")
        pool = Pool(truth, scored, data.hierarchy, boxes, scores=scores, files=files)
    elif pilots:  # the data were moved, but their labels lie beside the scores
        pool = Pool(pilots[0].truth, scored)
    else:
        pool = Pool(_stand_in(first, rows), scored, opened=False)
    about, home = first.table.attrs, project_folder(*(one.folder for one in folders))
    if "test_images" in about:
        images = about["test_images"]
        counts = LabelCounts(*(np.array(about[f"test_{side}"]) for side in ("present", "absent")))
    elif data is not None and "test" in data.truth and data.truth["test"].id == ids["test"]:
        test = data.truth["test"]  # of a comparison of an earlier version
        images, counts = test.shape[0], LabelCounts.of(test.present, test.known, class_indices)
    else:
        return _with_machine(pool, pilots, home), TestSplit()
    shares = pool.truth.counts[class_indices] / pool.images
    split = TestSplit.of(images, counts, ap, shares, pool.images, errors=errors)
    return _with_machine(pool, pilots, home), split


def _stand_in(first: _Folder, rows: pd.DataFrame) -> Truth:
    """Simulated images with independent classes that are as frequent as in the pool."""
    whole = rows[rows["reference"]]
    if not len(whole):
        raise BadInput(
            f"{first.folder}: the data {first.grid.get('data')!r} cannot be opened and no run "
            "labelled all of it; put the data back, or compare again with reference = true"
        )
    shown = np.stack([*whole["class_present"]]).mean(0)
    rng = np.random.default_rng(Chance.seeded(0).of("stand-in").seed())
    places = rng.random((int(whole["images"].iat[0]), len(shown))).argsort(axis=0).argsort(axis=0)
    return Truth.of(csr_array(places < shown.round()), classes=class_names(first.table))


def _with_machine(pool: Pool, pilots: Sequence[PilotScores], home: Path | None) -> Pool:
    """The pool with the best of the scores of the comparison, the project, and the pilot's own."""
    machines: list[tuple[Any, str]] = [(one.values, "the pilot's own model") for one in pilots]
    if pool.scores is not None:
        machines.insert(0, (pool.scores, "the scores of the comparison"))
    if pool.opened and home is not None and (home / PROJECT_SCORES).is_file():
        # Notes were given when the project was started; runs may be of other data.
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(BadInput):
            given = pool.searched_by(home / PROJECT_SCORES).machine
            machines.insert(0, (given, OF_PROJECT))
    if not machines:
        return pool
    quality = [np.nanmean(ap_of_classes(v, pool.truth)[pool.scored]) for v, _ in machines]
    values, name = machines[int(np.argmax(quality))]
    return dataclasses.replace(pool, machine=values, machine_name=name)


def project_folder(*folders: Folder) -> Path | None:
    """The folder of the project that the first of these folders in one is in; None without one."""
    places = map(Path, folders)
    parents = (home for one in places for home in (*one.parents, *one.absolute().parents))
    return next((home for home in parents if (home / "project.toml").is_file()), None)


def joined(errors: Errors | None, answers: int, *folders: Folder) -> Errors | None:
    """The error rates of labels by the majority of so many answers; None if unknown.

    In the project of the folders, they are the mean over its test labels, some of which may have
    more answers than others.
    """
    if errors is None:
        return None
    table = answer_counts(project_folder(*folders))
    table = table[table["split"] == "test"]
    numbers, weights = table["answers"].to_numpy(), table["questions"].to_numpy()
    if not len(table):
        numbers, weights = np.array([answers]), np.ones(1)
    rates = [[outvoted(rate, number) for number in numbers.tolist()] for rate in errors]
    miss, false_alarm = np.average(rates, axis=1, weights=weights).tolist()
    return miss, false_alarm


def _data(spec: str) -> Dataset | None:
    from simkit import data as datasets

    try:
        with warnings.catch_warnings(action="ignore"):  # the comparison has shown the same ones
            return datasets.open(spec)
    except (BadInput, OSError):
        return None
