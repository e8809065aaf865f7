"""The runs of a comparison: one row each, as a pandas table and as files.

    >>> runs = simkit.open_runs("runs/")  # or runs = simkit.compare(...)
    >>> runs.table.groupby("method")["map"].mean()
    >>> runs.reference  # the trainings on complete labels
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from simkit.errors import BadInput, unknown
from simkit.files import whole
from simkit.study import store

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
SWEEP = -1  # the draw in which settings are tried: those that are compared count from 0


class Column(NamedTuple):
    """A column's Arrow type, and its meaning in a line."""

    type: pa.DataType
    meaning: str


_TEXT, _WHOLE, _NUMBER, _YES = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_WHOLES, _NUMBERS, _TEXTS = pa.list_(_WHOLE), pa.list_(_NUMBER), pa.list_(_TEXT)

COLUMNS = {
    "scheme": Column(_TEXT, "the scheme as the grid says it"),
    "scheme_spec": Column(_TEXT, "complete, with the amount that was bought"),
    "method": Column(_TEXT, "the method as the grid says it"),
    "method_spec": Column(_TEXT, "complete, as it was trained: with what a sweep chose"),
    "reference": Column(_YES, "everything labelled, at its own cost; not what is compared"),
    "budget": Column(_NUMBER, "dollars that might be spent; null: hours, or amounts as written"),
    "budget_hours": Column(_NUMBER, "the same in hours of people's time"),
    "draw": Column(_WHOLE, "from 0; methods are compared within a draw"),
    "seed": Column(_WHOLE, "of the grid"),
    "dollars": Column(_NUMBER, "what all labels cost, paid validation labels included"),
    "seconds": Column(_NUMBER, "of people's time for the same labels; null: not known"),
    "validation_dollars": Column(_NUMBER, "how much of dollars went into validation labels"),
    "effort": Column(_TEXT, "questions behind the training labels, JSON"),
    "validation_effort": Column(_TEXT, "behind paid validation labels, JSON; null: none"),
    "images": Column(_WHOLE, "training images asked about; images x classes = present + absent + "
                             "unknown"),
    "present": Column(_WHOLE, "training labels known to be present"),
    "absent": Column(_WHOLE, "training labels known to be absent"),
    "unknown": Column(_WHOLE, "labels of asked images that stay unknown"),
    "class_present": Column(_WHOLES, "images each class is known to be present in"),
    "class_absent": Column(_WHOLES, "images each class is known to be absent from"),
    "map": Column(_NUMBER, "mean AP over leaf classes on the test split, 0 to 1"),
    "map_all": Column(_NUMBER, "mean AP over all classes"),
    "map_o": Column(_NUMBER, "mean AP over leaf classes, weighted by their positives"),
    "ap": Column(_NUMBERS, "AP of every class; null: present nowhere in the test split"),
    "precision": Column(_NUMBER, "mean over classes, each at its threshold of the highest F1 on "
                                 "the validation split; null: there is none"),
    "recall": Column(_NUMBER, "the same thresholds: the mean share of present labels they find"),
    "epochs": Column(_WHOLE, "the epoch, from 1, whose weights are scored; losses has one value "
                             "for each that was trained"),
    "lr": Column(_NUMBER, "the learning rate"),
    "tuned": Column(_TEXT, "settings chosen for this method and scheme, JSON; null: none"),
    "tuned_runs": Column(_WHOLE, "how many settings were tried; null: chosen before"),
    "tuned_map": Column(_NUMBER, "mAP of the chosen one on validation labels, 0 to 1"),
    "tuned_edge": Column(_YES, "whether it is the smallest or largest that was tried"),
    "trained": Column(_TEXT, "head (on features), or backbone (with its head, from pictures)"),
    "select": Column(_TEXT, "which epoch is scored: the last, or the best on validation labels"),
    "validation": Column(_TEXT, "validation labels: none, complete or partial"),
    "losses": Column(_NUMBERS, "mean training loss of every epoch"),
    "curve": Column(_NUMBERS, "mAP after every epoch; empty where nobody asked"),
    "curve_of": Column(_TEXT, "of which split: val, or test, by which nothing is chosen"),
    "stack": Column(_WHOLE, "how many runs were trained together"),
    "train_seconds": Column(_NUMBER, "training of the stack, divided by its runs"),
    "bundle_seconds": Column(_NUMBER, "of the whole job this run was part of: labels, training "
                                      "and scores of all its runs"),
    "peak_memory_mb": Column(_NUMBER, "of the process so far"),
    "environment": Column(_TEXT, "versions, platform and device, JSON"),
    "notes": Column(_TEXTS, "what annotation and training warned about"),
    "labels_id": Column(_TEXT, "content id of the training labels"),
    "truth_id": Column(_TEXT, "content id of the truth they were asked of"),
    "test_id": Column(_TEXT, "content id of the truth that scores"),
    "features_id": Column(_TEXT, "content id of the features; of a backbone that was trained: of "
                                 "its weights before"),
    "key": Column(_TEXT, "of the job: hashes of all that decides its results, and of the code"),
}  # fmt: skip

SCHEMA = pa.schema([(name, column.type) for name, column in COLUMNS.items()])
MEASURED = ("train_seconds", "bundle_seconds", "peak_memory_mb")  # others repeat bit for bit
LISTS = tuple(field.name for field in SCHEMA if pa.types.is_list(field.type))


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Finished runs of a comparison.

    Attributes
    ----------
    rows
        All of them as an Arrow table with the columns of `COLUMNS`; its metadata names the classes.
    """

    rows: pa.Table

    @cached_property
    def every(self) -> pd.DataFrame:
        """All runs, the column `reference` says which; what stands in `attrs`: see `frames`."""
        from simkit.study.frames import opened  # pandas takes a second to load

        return opened(self.rows)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The runs that are compared, one row each; `simkit list columns` has the columns."""
        return self.every[~self.every["reference"].astype(bool)].reset_index(drop=True)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """The runs on complete labels of all images, one row each."""
        return self.every[self.every["reference"].astype(bool)].reset_index(drop=True)

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for each job, or method of a job, that failed."""
        return tuple(self.every.attrs.get("failures", ()))

    @property
    def planned(self) -> int:
        """How many runs there were to be; 0 where the files do not say."""
        return int(self.every.attrs.get("planned", 0))

    def __repr__(self) -> str:
        all_labels = len(self.reference)
        return f"<{type(self).__name__}: {len(self.table):,} runs, {all_labels:,} on all labels>"


def open_runs(folder: str | PathLike[str]) -> Runs:
    """The runs in a comparison's folder.

    They are those of the last comparison that came to its end there or, where none did yet, the
    finished ones of the comparison under way. Raises BadInput where there is neither.
    """
    return Runs(read(folder))


def read(folder: str | PathLike[str], *, columns: Sequence[str] | None = None) -> pa.Table:
    """The same as an Arrow table, references included; columns: only these."""
    place = Path(folder)
    for name in columns or ():
        if name not in COLUMNS:
            raise unknown("column of a table of runs", name, COLUMNS)
    if (place / "table.parquet").is_file():
        files = [place / "table.parquet", place / "reference.parquet"]
        return pa.concat_tables([_parquet(file, columns) for file in files if file.is_file()])
    if not place.is_dir():
        raise BadInput(f"{place} is not a folder; give the folder that `simkit compare` wrote to")
    plan = store.under_way(place)
    results = [store.load(place / "bundles", stem, SCHEMA) for stem in plan["keys"]]
    finished = [one for one in results if one]
    compared = [one for one in finished if one.table["draw"][:1].to_pylist() != [SWEEP]]
    parts = [one.table.select(list(columns or COLUMNS)) for one in compared]
    if not sum(map(len, parts)):
        sweep = ", those of the sweep that chooses settings" if finished else ""
        raise BadInput(
            f"{place} holds a comparison under way of which no runs are finished yet "
            f"({len(finished)} of {len(results)} jobs are there{sweep}); the same `simkit compare` "
            "goes on with it"
            if plan["keys"]
            else f"{place} holds no finished runs; give the folder that `simkit compare` wrote to"
        )
    why = [f"{what}: {why}" for one in compared for what, why in one.failures.items()]
    return together(parts, classes=plan["classes"], leaves=plan["leaves"], failures=why)


def _parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    try:
        return pyarrow.parquet.read_table(path, columns=list(columns) if columns else None)
    except (OSError, pa.ArrowException):
        raise BadInput(
            f"{path} cannot be read as the table of a comparison; remove it and compare again"
        ) from None


def together(
    parts: Sequence[pa.Table],
    *,
    classes: Sequence[str],
    leaves: Sequence[int] = (),
    failures: Iterable[str] = (),
    planned: int = 0,
) -> pa.Table:
    """The rows of several tables as one.

    Parameters
    ----------
    parts
        Tables with the columns of `COLUMNS`, or with the same ones of them.
    classes, leaves
        Names of the classes of `ap`, and the places of those without children.
    failures
        A sentence for each job, or method of a job, that failed.
    planned
        How many runs there were to be; 0: not known.
    """
    about = {"classes": list(classes), "leaves": [int(place) for place in leaves]}
    about |= {"failures": list(failures), "planned": planned}
    rows = pa.concat_tables(parts or [SCHEMA.empty_table()])
    if "reference" in rows.column_names:  # in the order of the files
        rows = pa.concat_tables([rows.filter(rule) for rule in _by_reference(rows)])
    rows = rows.combine_chunks()
    return rows.replace_schema_metadata(
        {name: json.dumps(value, ensure_ascii=False) for name, value in about.items()}
    )


def _by_reference(rows: pa.Table) -> tuple[Any, Any]:
    """Which runs are compared, and which are references."""
    reference = pa.compute.fill_null(rows["reference"], False)
    return pa.compute.invert(reference), reference


def tidy(rows: Iterable[Row], **about: Any) -> pa.Table:
    """Rows as a table; about: as `together` takes it."""
    table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    return together([table], **({"classes": ()} | about))


def writers(rows: pa.Table) -> dict[str, Callable[[Path], object]]:
    """By the name of the file what writes it: the runs that are compared, and the references; as
    parquet, and as CSV without the columns that hold lists."""
    files: dict[str, Callable[[Path], object]] = {}
    for name, rule in zip(("table", "reference"), _by_reference(rows), strict=True):
        some = rows.filter(rule)
        if name == "table" or len(some):
            flat = some.drop_columns(list(LISTS))
            files[f"{name}.parquet"] = partial(
                pyarrow.parquet.write_table, some, compression="zstd"
            )
            files[f"{name}.csv"] = partial(pyarrow.csv.write_csv, flat)
    return files


def write(files: Mapping[str, Callable[[Path], object]], folder: Path) -> None:
    """Write files that belong together: none is put in place before all of them are ready."""
    with ExitStack() as ready:
        for name, writer in files.items():
            writer(ready.enter_context(whole(folder / name)))
