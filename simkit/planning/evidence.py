"""The evidence of comparisons: mAP by label option, method and size, and on complete labels."""

from __future__ import annotations

import dataclasses
import json
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from simkit.annotate import schemes
from simkit.annotate.annotators import Habits
from simkit.annotate.schemes import Scheme
from simkit.chance import Chance
from simkit.data.dataset import Boxes, Dataset
from simkit.errors import BadInput
from simkit.history import content_id
from simkit.labels.hierarchy import Hierarchy
from simkit.labels.truth import Truth
from simkit.planning.test_set import TestSet
from simkit.study import runs, store

Array = NDArray[np.float64]
Folder = str | PathLike[str]

COMPLETE = "full-subset"  # the scheme that labels whole images
_TRAINED_ALIKE = ("backbone", "weights", "features", "pictures", "train", "validation", "tuning")
_COLUMNS = (
    *("scheme", "scheme_spec", "method", "method_spec", "reference", "budget", "budget_hours"),
    *("draw", "seed", "images", "class_present", "class_absent", "map", "ap", "lr", "epochs"),
    *("labels_id", "truth_id", "test_id"),
)


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
        return LabelOption(_spelled(_made(spec)), Habits() if habits.perfect else habits)

    @property
    def part(self) -> Scheme:
        """The scheme itself, with an arbitrary amount."""
        return _made(self.scheme)

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

    def with_amount(self, amount: float) -> Scheme:
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
        Whether the data itself was opened.
    """

    truth: Truth
    scored: NDArray[np.int64]
    hierarchy: Hierarchy | None = None
    boxes: Boxes | None = None
    opened: bool = True

    @property
    def images(self) -> int:
        return self.truth.shape[0]

    @property
    def present(self) -> Array:
        """(L',) images that show each scored class."""
        return np.asarray(self.truth.counts[self.scored], np.float64)


Pair = tuple[LabelOption, str]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of one or several comparisons of the same data, trained in the same way.

    Attributes
    ----------
    cells
        Measured sizes, fewest labels first, by label option and method.
    complete
        mAP and AP on complete labels of the pool, by habits and method.
    draws
        Number of draws; arrays of scores have one entry for each.
    missing
        Share of missing planned runs, and a sentence about them; 0 and "" if none are missing.
    ids
        Content ids of the truth, the test split and the runs.
    trained_as
        Training of the largest size by label option and method: method with tuned settings,
        learning rate and epoch.
    """

    folders: tuple[str, ...]
    pool: Pool
    test: TestSet
    cells: Mapping[Pair, tuple[Size, ...]]
    complete: Mapping[tuple[Habits, str], Array]
    draws: int
    runs: int
    grid: Mapping[str, Any]
    missing: tuple[float, str]
    ids: Mapping[str, str]
    trained_as: Mapping[Pair, Mapping[str, Any]]

    @staticmethod
    def of(*folders: Folder) -> Evidence:
        """Read folders that `simkit compare` wrote.

        Raises
        ------
        BadInput
            Names the folder: no finished runs, other data or training than the first one, no run
            on complete labels.
        """
        if not folders:
            raise BadInput("no folder is named; name one that `simkit compare` wrote to")
        read = [_read(folder) for folder in folders]
        for other in read[1:]:
            _check_alike(read[0], other)
        rows = _Rows.joined(read)
        pool, test = _opened(read[0], rows)
        cells, complete, trained_as = rows.grouped(pool, test)
        share, sentence = max(_missing(one) for one in read)
        if not complete and share:
            raise BadInput(
                f"{sentence}, and none of the finished runs is on complete labels, where every "
                "curve ends; run the same `simkit compare` again to resume"
            )
        if not complete:
            raise BadInput(
                f"{read[0].folder} has no run on complete labels, where every curve ends; set "
                "reference = true in its grid and compare again (finished runs are kept)"
            )
        return Evidence(
            folders=tuple(one.folder for one in read), pool=pool, test=test, cells=cells,
            complete=complete, draws=len(rows.draws), runs=len(rows), grid=read[0].grid,
            missing=(share, sentence),
            ids={**read[0].ids, "runs": rows.id}, trained_as=trained_as,
        )  # fmt: skip

    def complete_labels(self, option: LabelOption, method: str) -> Array:
        """(D,) mAP on complete labels by the same annotators with this method, or with `full`."""
        for habits in (option.habits, Habits()):
            for name in (method, "full"):
                if (habits, name) in self.complete:
                    return self.complete[habits, name]
        return next(iter(self.complete.values()))

    @property
    def stand_in_backbone(self) -> bool:
        """Whether features of other data come from the network for `scenes`."""
        drawn = str(self.grid.get("data", "")).startswith("scenes")
        precomputed = self.grid.get("features") or self.grid.get("pictures")
        of_scenes = self.grid.get("backbone", "scenes-net") == "scenes-net"
        return of_scenes and not drawn and not precomputed


@dataclass(frozen=True, eq=False)
class _Folder:
    """One folder's table and grid."""

    folder: str
    table: pa.Table
    grid: dict[str, Any]

    @property
    def classes(self) -> tuple[str, ...]:
        return _about(self.table, "classes")

    @property
    def ids(self) -> dict[str, str]:
        return {name: self.table[f"{name}_id"][0].as_py() for name in ("truth", "test")}


def _about(table: pa.Table, name: str) -> Any:
    """Metadata of a comparison; an empty tuple if missing."""
    text = (table.schema.metadata or {}).get(name.encode())
    value = json.loads(text) if text else ()
    return tuple(value) if isinstance(value, list) else value


def _read(folder: Folder) -> _Folder:
    table = runs.read(folder)
    missing = [name for name in _COLUMNS if name not in table.column_names]
    if missing or not _about(table, "classes"):
        what = f"no column {missing[0]!r}" if missing else "no class names"
        raise BadInput(f"the table in {folder} has {what}; compare again with this version")
    for name in ("truth_id", "test_id"):
        if len(table[name].unique()) > 1:
            raise BadInput(
                f"the table in {folder} has runs of different data ({name} differs); compare each "
                "data set in a folder of its own"
            )
    _check_columns(table, str(folder))
    return _Folder(str(folder), table, _grid(Path(folder)))


_WHOLE = ("scheme", "scheme_spec", "method", "images", "draw", "labels_id", "class_present",
          "class_absent")  # fmt: skip


def _check_columns(table: pa.Table, folder: str) -> None:
    """Raise BadInput for columns of another type, gaps, and numbers out of range."""
    for name in _COLUMNS:
        if table[name].type != runs.SCHEMA.field(name).type:
            raise BadInput(
                f"the table in {folder} has {name} as {table[name].type}; "
                f"{runs.SCHEMA.field(name).type} is expected, so compare again"
            )
    scored = table.filter(pa.compute.is_valid(table["map"]))
    for name in _WHOLE:
        if scored[name].null_count:
            raise BadInput(f"the table in {folder} lacks {name} in some runs; compare again")
    for name, most in (("map", 1.0), ("ap", 1.0), ("class_present", None), ("class_absent", None)):
        values = scored[name].combine_chunks()
        values = values if name == "map" else values.flatten()
        limits = pa.compute.min_max(pa.compute.drop_null(values)).as_py()
        low, high = limits["min"], limits["max"]
        wrong = low is not None and (low < 0 or (most is not None and not high <= most))
        nan = name == "map" and pa.compute.any(pa.compute.is_nan(values)).as_py()
        if wrong or nan:
            raise BadInput(
                f"the table in {folder} has {name} {'nan' if nan else low if low < 0 else high}; "
                f"{'a mean AP from 0 to 1' if most else 'a count of 0 or more'} is expected, so "
                "compare again"
            )


def _grid(folder: Path) -> dict[str, Any]:
    """The grid as plain values: `study.grid` would load torch."""
    path = folder / "grid.toml"
    try:
        text = path.read_text("utf-8") if path.is_file() else store.under_way(folder)["grid"]
        grid = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); compare again into this folder") from None
    kinds: dict[str, Any] = {
        "data": str,
        "prices": str,
        "images": (int, float),
        "habits": dict,
        "backbone": str,
    }
    for name, kind in kinds.items():
        if name in grid and not isinstance(grid[name], kind):
            raise BadInput(f"{path}: {name} is {grid[name]!r}; compare again into this folder")
    return grid


def _check_alike(one: _Folder, other: _Folder) -> None:
    """Raise BadInput, naming both folders, unless their runs can be compared."""
    both = f"{one.folder} and {other.folder}"
    for what, first, second in (
        ("classes", one.classes, other.classes),
        ("images to label", one.ids["truth"], other.ids["truth"]),
        ("test splits", one.ids["test"], other.ids["test"]),
    ):
        if first != second:
            raise BadInput(f"{both} have different {what}; plan from comparisons of the same data")
    for name in _TRAINED_ALIKE:
        if one.grid.get(name) != other.grid.get(name):
            raise BadInput(
                f"{both} were trained differently: their grids differ in {name}; compare again "
                "with equal settings, or plan from one of them"
            )


def _missing(one: _Folder) -> tuple[float, str]:
    """Share of the planned runs that are not finished or failed, and a sentence about them."""
    scored = len(one.table) - one.table["map"].null_count
    failed = _about(one.table, "failures")
    planned = _about(one.table, "planned") or 0
    if not planned and (Path(one.folder) / store.PLAN).is_file():
        keys = store.under_way(Path(one.folder))["keys"]
        done = sum(store.finished(Path(one.folder) / "bundles", key) for key in keys)
        if done < len(keys):
            share = 1 - done / len(keys)
            return share, f"{one.folder} is unfinished: {done} of {len(keys)} jobs are finished"
    planned = max(planned, len(one.table))
    if scored < planned:
        why = f", the first because {failed[0].rstrip('.')}" if failed else ""
        return 1 - scored / planned, f"{planned - scored:,} runs of {one.folder} failed{why}"
    return 0.0, ""


class _Rows:
    """The rows of all tables without repeated runs, and their arrays."""

    def __init__(self, values: list[dict[str, Any]], present: Array, absent: Array, ap: Array):
        self.values, self.present, self.absent, self.ap = values, present, absent, ap
        self.draws = sorted({(row["seed"], row["draw"]) for row in values})

    def __len__(self) -> int:
        return len(self.values)

    @property
    def id(self) -> str:
        texts = (f"{row['labels_id']} {row['method']} {row['map']!r}" for row in self.values)
        return content_id(*sorted(texts))

    @staticmethod
    def joined(folders: Sequence[_Folder]) -> _Rows:
        values, arrays, seen = [], [], set[object]()
        for one in folders:
            table = one.table.filter(pa.compute.is_valid(one.table["map"]))
            table = table.filter(pa.compute.not_equal(table["draw"], runs.SWEEP))
            habits = _habits(one.grid, one.folder)
            L, options = len(one.classes), dict[str, LabelOption]()
            plain = table.drop_columns(["class_present", "class_absent", "ap"]).select(
                [name for name in _COLUMNS if name not in ("class_present", "class_absent", "ap")]
            )
            columns = [_matrix(table[n], L) for n in ("class_present", "class_absent", "ap")]
            for place, row in enumerate(plain.to_pylist()):
                if row["scheme"] not in options:
                    options[row["scheme"]] = _option(row["scheme"], habits, one.folder)
                row["option"] = options[row["scheme"]]
                row["size"] = _nominal(row, one.grid)
                row["seed"] = int(row["seed"] or 0)
                key = (row["option"], row["method"], row["reference"], row["size"], row["seed"],
                       row["draw"])  # fmt: skip
                if key not in seen:
                    seen.add(key)
                    values.append(row)
                    arrays.append([column[place] for column in columns])
        if not values:
            raise BadInput(
                f"{folders[0].folder} holds no finished runs; name the folder that `simkit "
                "compare` wrote to"
            )
        # Sorted, so that sums do not depend on the order of folders and rows.
        names = ("method", "reference", "size", "seed", "draw")
        spelled = {id(row["option"]): str(row["option"]) for row in values}
        text = [str([spelled[id(row["option"])], *(row[name] for name in names)]) for row in values]
        order = sorted(range(len(values)), key=text.__getitem__)
        sides = (np.array(side)[order] for side in zip(*arrays, strict=True))
        return _Rows([values[place] for place in order], *sides)

    def grouped(
        self, pool: Pool, test: TestSet
    ) -> tuple[dict[Pair, tuple[Size, ...]], dict[tuple[Habits, str], Array], dict[Pair, Any]]:
        """Measured cells, runs on complete labels, and the training of each cell's largest size."""
        order = {draw: place for place, draw in enumerate(self.draws)}
        groups: dict[Any, dict[object, list[int]]] = {}
        complete: dict[tuple[Habits, str], list[int]] = {}
        bought = set[tuple[str, str]]()
        by_labels = np.argsort(self.present.sum(axis=1) + self.absent.sum(axis=1), kind="stable")
        for place in by_labels.tolist():
            row = self.values[place]
            if row["option"].complete and row["images"] == pool.images:
                complete.setdefault((row["option"].habits, row["method"]), []).append(place)
            if row["reference"]:
                continue
            # A budget that bought the same labels as a smaller one is not another size.
            if (row["labels_id"], row["method"]) not in bought:
                bought.add((row["labels_id"], row["method"]))
                cell = groups.setdefault((row["option"], row["method"]), {})
                cell.setdefault(row["size"], []).append(place)

        def scores(places: Iterable[int]) -> Array:
            values = np.full(len(order), np.nan)
            for place in places:
                row = self.values[place]
                values[order[row["seed"], row["draw"]]] = row["map"]
            return test.on_new_images(values)

        def size(option: LabelOption, places: list[int]) -> Size:
            counts = (self.present[places], self.absent[places])
            present, absent = (values[:, pool.scored].mean(axis=0) for values in counts)
            amount = float(np.mean([_amount(option, self.values[place]) for place in places]))
            return Size(amount, present, absent, scores(places))

        cells = {
            (option, method): tuple(size(option, places) for places in self._merged(option, sizes))
            for (option, method), sizes in groups.items()
        }
        largest = {pair: self.values[[*sizes.values()][-1][0]] for pair, sizes in groups.items()}
        trained = {
            pair: {"method": row["method_spec"], "lr": row["lr"], "epochs": row["epochs"]}
            for pair, row in largest.items()
        }
        ends = {key: scores(places) for key, places in complete.items()}
        return cells, ends, trained

    def _merged(self, option: LabelOption, sizes: dict[object, list[int]]) -> list[list[int]]:
        """Row indices by size; sizes of equal amounts (budgets beyond all labels) are merged."""
        merged: dict[float, list[int]] = {}
        for places in sizes.values():
            amount = float(np.mean([_amount(option, self.values[place]) for place in places]))
            merged.setdefault(round(amount, 9), []).extend(places)
        return list(merged.values())


def _matrix(column: pa.ChunkedArray, width: int) -> Array:
    """(R, width) a column of lists, nan if one is missing or of another length."""
    rows = [row if row is not None and len(row) == width else None for row in column.to_pylist()]
    blank = [np.nan] * width
    return np.array([blank if row is None else row for row in rows], np.float64).reshape(-1, width)


def _nominal(row: Mapping[str, Any], grid: Mapping[str, Any]) -> tuple[Any, ...]:
    """Key that runs of the same intended size share."""
    limits, images = (row["budget"], row["budget_hours"]), str(grid.get("images", 1.0))
    if limits != (None, None):
        return (grid.get("prices"), images, *limits)
    return (images, row["scheme_spec"])


def _amount(option: LabelOption, row: Mapping[str, Any]) -> float:
    if option.part.amount is None:
        return float(row["images"])
    return float(getattr(_made(row["scheme_spec"]), option.part.amount))


def _option(spec: str, habits: Habits, folder: str) -> LabelOption:
    try:
        return LabelOption.of(spec, habits)
    except BadInput as error:
        raise BadInput(f"the table in {folder}: {error}") from None


def _habits(grid: Mapping[str, Any], where: str) -> Habits:
    try:
        return Habits(**grid.get("habits", {}))
    except (BadInput, TypeError) as error:
        raise BadInput(f"{where}: grid.toml: {error}") from None


def _opened(first: _Folder, rows: _Rows) -> tuple[Pool, TestSet]:
    """The pool (a stand-in if the data cannot be opened) and the test split."""
    ids, data = first.ids, _data(str(first.grid.get("data", "")))
    leaves = np.array(_about(first.table, "leaves") or range(len(first.classes)), np.int64)
    mean_ap = _better_half(rows)
    scored = leaves[~np.isnan(mean_ap[leaves])]
    scored = scored if len(scored) else leaves
    if data is not None and data.truth["train"].id == ids["truth"]:
        truth = data.truth["train"]
        pool = Pool(truth, scored, data.hierarchy, data.boxes.get("train"))
    else:
        whole = [place for place, row in enumerate(rows.values) if row["reference"]]
        if not whole:
            raise BadInput(
                f"{first.folder}: the data {first.grid.get('data')!r} cannot be opened and no run "
                "labelled all of it; put the data back, or compare again with reference = true"
            )
        shares = rows.present[whole].mean(0) / max(rows.values[whole[0]]["images"], 1)
        pool = Pool(_stand_in(shares, rows.values[whole[0]]["images"], first.classes), scored,
                    opened=False)  # fmt: skip
    same_test = data is not None and "test" in data.truth and data.truth["test"].id == ids["test"]
    test = TestSet()
    if same_test and data is not None:
        test = TestSet.of(data, mean_ap, leaves, pool.truth.counts / pool.images)
    return pool, test


def _better_half(rows: _Rows) -> Array:
    """(L,) mean AP of the better half of all runs, nan for classes without a test positive."""
    scores = np.array([row["map"] for row in rows.values])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # classes without any AP
        return np.asarray(np.nanmean(rows.ap[scores >= np.median(scores)], axis=0))


@lru_cache(maxsize=8)
def _data(spec: str) -> Dataset | None:
    from simkit import data as datasets

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the comparison has shown the same warnings
            return datasets.open(spec)
    except (BadInput, OSError):
        return None


def _stand_in(shares: Array, images: int, classes: tuple[str, ...]) -> Truth:
    """Images with independent classes, of the same frequencies as in the pool."""
    rng = np.random.default_rng(Chance.seeded(0).of("stand-in").seed())
    return Truth.of(csr_array(rng.random((images, len(shares))) < shares), classes=classes)


@lru_cache(maxsize=1024)
def _made(spec: str) -> Scheme:
    return schemes.make(spec)


def _spelled(part: Scheme) -> str:
    """A scheme without its amount and without settings at their defaults."""
    settings = [
        f"{field.name}={getattr(part, field.name)!r}"
        for field in dataclasses.fields(part)  # type: ignore[arg-type]
        if field.name != part.amount and getattr(part, field.name) != field.default
    ]
    return f"{part.name}({', '.join(settings)})" if settings else part.name
