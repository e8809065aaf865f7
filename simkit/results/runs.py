"""The runs of a comparison: one row each, as a pandas table, as files and in a few lines.

>>> runs = simkit.open_runs("runs/")  # or runs = simkit.compare(...)
>>> runs.table.groupby("method")["map"].mean()
>>> runs.reference  # the trainings on complete labels
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from simkit.errors import BadInput
from simkit.files import readable, reading, whole
from simkit.quantities import duration, numbered
from simkit.results import job_store

if TYPE_CHECKING:
    import pandas as pd

    from simkit.results import cells

Row = dict[str, Any]
SWEEP = -1  # the first draw of a sweep, the next is -2; those of compared runs are numbered from 0


class Column(NamedTuple):
    """The Arrow type of a column, and its meaning in one line."""

    type: pa.DataType
    meaning: str


_TEXT, _WHOLE, _NUMBER, _YES = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_WHOLES, _NUMBERS, _TEXTS = pa.list_(_WHOLE), pa.list_(_NUMBER), pa.list_(_TEXT)

COLUMNS = {
    "scheme": Column(_TEXT, "the scheme as the grid names it"),
    "scheme_spec": Column(_TEXT, "the complete name, with the amount that was bought"),
    "method": Column(_TEXT, "the method as the grid names it"),
    "method_spec": Column(_TEXT, "the complete name, with the settings of the training"),
    "reference": Column(_YES, "true for runs on complete labels, which are not compared"),
    "budget": Column(_NUMBER, "budget in dollars; null: in hours, or fixed amounts"),
    "budget_hours": Column(_NUMBER, "budget in hours of annotation"),
    "draw": Column(_WHOLE, "from 0; methods are compared within a draw"),
    "seed": Column(_WHOLE, "of the grid"),
    "dollars": Column(_NUMBER, "cost of all labels, paid validation labels included"),
    "seconds": Column(_NUMBER, "time of annotators for the same labels; null: unknown"),
    "validation_dollars": Column(_NUMBER, "the part of dollars that paid for validation labels"),
    "effort": Column(_TEXT, "questions asked for the training labels, JSON"),
    "validation_effort": Column(_TEXT, "the same for paid validation labels; null: none"),
    "images": Column(_WHOLE, "training images asked about"),
    "present": Column(_WHOLE, "number of training labels known to be present"),
    "absent": Column(_WHOLE, "number of training labels known to be absent"),
    "unknown": Column(_WHOLE, "number of unknown labels of asked images"),
    "class_present": Column(_WHOLES, "number of images in which each class is known to be present"),
    "class_absent": Column(_WHOLES, "number of images in which each class is known to be absent"),
    "map": Column(_NUMBER, "mean AP over leaf classes on the test split, 0 to 1"),
    "map_all": Column(_NUMBER, "mean AP over all classes"),
    "map_o": Column(_NUMBER, "mean AP over leaf classes, weighted by their positives"),
    "ap": Column(_NUMBERS, "AP of every class; null: no present or no absent labels in test"),
    "precision": Column(_NUMBER, "mean over leaf classes, at the validation labels' highest F1"),
    "recall": Column(_NUMBER, "mean over leaf classes, at the same thresholds"),
    "epochs": Column(_WHOLE, "the epoch, from 1, whose weights are scored"),
    "lr": Column(_NUMBER, "the learning rate"),
    "tuned": Column(_TEXT, "settings chosen for this method and scheme, JSON; null: none"),
    "tuned_runs": Column(_WHOLE, "number of settings tried; null: chosen before"),
    "tuned_map": Column(_NUMBER, "mAP of the chosen settings on validation labels, 0 to 1"),
    "tuned_error": Column(_NUMBER, "standard deviation of mAP by the choice of settings, 0 to 1"),
    "tuned_edge": Column(_YES, "whether a chosen number is the smallest or largest tried"),
    "trained": Column(_TEXT, "head (on features), or backbone (with its head, on images)"),
    "select": Column(_TEXT, "the scored epoch: last, or best on validation labels"),
    "validation": Column(_TEXT, "validation labels: none, complete or partial"),
    "losses": Column(_NUMBERS, "mean training loss of every epoch"),
    "curve": Column(_NUMBERS, "mAP after every epoch; empty unless requested"),
    "curve_of": Column(_TEXT, "split of the curve: val, or test, which then chooses nothing"),
    "stack": Column(_WHOLE, "number of runs trained together"),
    "train_seconds": Column(_NUMBER, "training time of the stack, divided by its runs"),
    "bundle_seconds": Column(_NUMBER, "time of the whole job of this run, with all its runs"),
    "peak_memory_mb": Column(_NUMBER, "peak memory of the process so far"),
    "environment": Column(_TEXT, "versions, platform and device, JSON"),
    "notes": Column(_TEXTS, "warnings of annotation and training"),
    "labels_id": Column(_TEXT, "content id of the training labels"),
    "truth_id": Column(_TEXT, "content id of the truth of the training split"),
    "test_id": Column(_TEXT, "content id of the truth of the test split"),
    "features_id": Column(_TEXT, "content id of the features, or of the initial backbone"),
    "key": Column(_TEXT, "of the job: a hash of all that decides its results, and one of the code"),
}  # fmt: skip

SCHEMA = pa.schema([(name, column.type) for name, column in COLUMNS.items()])
# Levels of errors that a grid adds to complete labels. Their runs are in a file of their own, which
# plans alone read: they are neither compared nor the references of anything.
ERRORS = ("extra_miss", "extra_false_alarm")
SCHEMAS = SCHEMA, pa.schema([*SCHEMA, *((name, _NUMBER) for name in ERRORS)])  # of jobs
_ADDED = ("tuned_error",)  # since version 0.1; null in earlier files
MEASURED = ("train_seconds", "bundle_seconds", "peak_memory_mb")  # others repeat bit for bit
LISTS = tuple(field.name for field in SCHEMA if pa.types.is_list(field.type))


@dataclass(frozen=True, eq=False, repr=False)
class Runs:
    """Finished runs of a comparison.

    Attributes
    ----------
    rows
        All runs as an Arrow table with the columns of `COLUMNS`; its metadata name the classes.
    """

    rows: pa.Table

    @cached_property
    def every(self) -> pd.DataFrame:
        """All runs, references included, as a DataFrame with `attrs` as in `result_tables`."""
        from simkit.results.result_tables import opened  # pandas takes a second to load

        return opened(self.rows)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The compared runs, one row each; `simkit list columns` has the columns."""
        return self.every[~self.every["reference"].astype(bool)].reset_index(drop=True)

    @cached_property
    def reference(self) -> pd.DataFrame:
        """The runs on complete labels of all images, one row each."""
        return self.every[self.every["reference"].astype(bool)].reset_index(drop=True)

    def summary(self) -> list[cells.Row]:
        """For each scheme and budget, the means of all methods and the best of them."""
        from simkit.results.cells import summary_rows

        return summary_rows(self)

    def text(self) -> str:
        """The results in sentences: first their conditions, then the purchases."""
        from simkit.results.summary import text

        failed = [f"failed and left out everywhere: {why}" for why in grouped(self.failures)]
        return "\n".join([text(self), *failed])

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for each failed job, or failed method of a job."""
        return tuple(self.every.attrs.get("failures", ()))

    @property
    def planned(self) -> int:
        """Number of planned runs; 0 if the files do not have it."""
        return int(self.every.attrs.get("planned", 0))

    def __repr__(self) -> str:
        all_labels = len(self.reference)
        return f"<{type(self).__name__}: {len(self.table):,} runs, {all_labels:,} on all labels>"


def open_runs(folder: str | PathLike[str]) -> Runs:
    """Open the runs in the folder of a comparison.

    Parameters
    ----------
    folder
        The folder that `compare` wrote.

    Returns
    -------
    Runs
        The runs of the last finished comparison or, if none is finished, the finished runs of the
        running one.

    Raises
    ------
    BadInput
        If the folder has no runs.
    """
    return Runs(read(folder))


def read_errors(folder: str | PathLike[str]) -> pa.Table:
    """The runs on complete labels with additional errors, with columns of `ERRORS`."""
    folder = Path(folder)
    if (folder / "table.parquet").is_file():
        file = folder / "errors.parquet"
        return _parquet(file, SCHEMAS[1].names) if file.is_file() else SCHEMAS[1].empty_table()
    tables = [job.table for job in _finished(folder, job_store.under_way(folder))]
    return split_errors(tables)[1]


def split_errors(tables: Sequence[pa.Table]) -> tuple[list[pa.Table], pa.Table]:
    """The tables of jobs without the runs on labels with additional errors, and these runs."""
    several = [table for table in tables if ERRORS[0] in table.column_names]
    added = [table.filter(pa.compute.is_valid(table[ERRORS[0]])) for table in several]
    kept = [
        table.filter(pa.compute.is_null(table[ERRORS[0]])).drop_columns(list(ERRORS))
        if ERRORS[0] in table.column_names else table
        for table in tables
    ]  # fmt: skip
    return kept, pa.concat_tables([SCHEMAS[1].empty_table(), *added])


class Kept(NamedTuple):
    """What an interrupted comparison keeps: the finished ones of its trainings (0: unknown)."""

    finished: int
    trainings: int

    def __str__(self) -> str:
        verb = "is" if self.finished == 1 else "are"
        number = f"{self.finished:,} of " if self.trainings else ""
        every = numbered(self.trainings or self.finished, "training")
        return f"{number}{every} {verb} finished"


def kept(folder: str | PathLike[str]) -> Kept:
    """What is finished of the comparison under way in a folder, the sweep included."""
    folder = Path(folder)
    plan = job_store.under_way(folder)
    keys = plan["keys"]
    others = [key for key in keys if not job_store.finished(folder / "bundles", key)]
    finished = sum(len(job_store.trainings(folder / "bundles", key, *SCHEMAS)) for key in others)
    finished += sum(len(job.table) for job in _finished(folder, {"keys": keys}))
    return Kept(finished, plan.get("trainings", 0))


def how_to_resume(folder: str | PathLike[str]) -> str:
    """The command that resumes the comparison in a folder, for the end of a sentence."""
    command = f"simkit compare GRID.toml --out {quote(str(folder))}"
    return f"the same grid and folder resume it: {command}"


def _finished(folder: Path, plan: Mapping[str, Any]) -> list[job_store.Result]:
    """The finished jobs of the comparison under way."""
    results = (job_store.load(folder / "bundles", stem, *SCHEMAS) for stem in plan["keys"])
    return [result for result in results if result]


def read(folder: str | PathLike[str], *, columns: Sequence[str] | None = None) -> pa.Table:
    """The runs of `open_runs` as an Arrow table, references included; `columns`: only these."""
    folder = Path(folder)
    if (folder / "table.parquet").is_file():
        files = [folder / "table.parquet", folder / "reference.parquet"]
        parts = [_parquet(file, columns) for file in files if file.is_file()]
        # A table that other programs wrote again may have other types of strings and more columns.
        return pa.concat_tables(parts, promote_options="permissive")
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder; give the folder that `simkit compare` wrote to")
    plan = job_store.under_way(folder)
    finished = _finished(folder, plan)
    compared = [job for job in finished if not of_sweep(job.table)]
    tables, _ = split_errors([job.table for job in compared])
    parts = [table.select(list(columns or COLUMNS)) for table in tables]
    if not sum(map(len, parts)):
        if not plan["keys"] and (failed := _failures_of_all(folder / "bundles")):
            raise BadInput(
                f"all runs of {folder} failed; the first error is: {failed[0].rstrip('.')}; change "
                "the grid and compare again"
            )
        if not plan["keys"]:
            raise BadInput(
                f"{folder} holds no runs; give the folder that `simkit compare` wrote to"
            )
        sweep = ", all of the sweep that chooses settings" if finished else ""
        raise BadInput(
            f"the comparison in {folder} has no results yet: {kept(folder)}{sweep}; "
            f"{how_to_resume(folder)}"
        )
    failures = [f"{name}: {why}" for job in compared for name, why in job.failures.items()]
    about = {
        name: value for name, value in plan.items() if name not in ("grid", "keys", "trainings")
    }
    return concat(parts, about | {"failures": failures})


def of_sweep(table: pa.Table) -> bool:
    """Whether the runs of a job are those of a sweep."""
    return any((draw or 0) < 0 for draw in table["draw"][:1].to_pylist())


def _failures_of_all(folder: Path) -> list[str]:
    """The stored failures by name if no compared run is stored, as after a comparison that ended
    without results; else none."""
    stems = [file.stem for file in folder.glob("*.arrows")]
    stored = (job_store.load(folder, stem, *SCHEMAS) for stem in stems)
    results = [job for job in stored if job and not of_sweep(job.table)]
    if any(len(_by_reference(job.table)[0]) for job in results):
        return []
    return sorted(f"{name}: {why}" for job in results for name, why in job.failures.items())


def _parquet(path: Path, columns: Sequence[str] | None) -> pa.Table:
    with reading(path, "a table of runs", "remove it and compare again"):
        table = pyarrow.parquet.read_table(
            path, columns=list(columns) if columns else None, page_checksum_verification=True
        )
        job_store.facts(table)  # raises BadInput if the metadata are damaged
        for name in {*_ADDED}.difference(table.column_names):
            table = table.append_column(SCHEMA.field(name), pa.nulls(len(table), _NUMBER))
        lost = sorted({*(columns or COLUMNS)}.difference(table.column_names))
        if lost and job_store.CHECKSUM.encode() in (table.schema.metadata or {}):
            # Files of version 0.1, without a checksum, may have fewer columns.
            raise ValueError(f"it has no column {lost[0]!r}")
        fields = [SCHEMA.field(f.name) if f.name in SCHEMA.names else f for f in table.schema]
        table = table.cast(pa.schema(fields, table.schema.metadata))
        return table.select(list(columns)) if columns else table


def concat(parts: Sequence[pa.Table], facts: Mapping[str, Any] = MappingProxyType({})) -> pa.Table:
    """The rows of several tables as one.

    Parameters
    ----------
    parts
        Tables with the columns of `COLUMNS`, or with the same selection of them.
    facts
        What is true of all runs, by name: classes (of `ap`) and leaves (indices of the leaf
        classes); failures, a sentence for each failed job or method of a job; planned, the number
        of runs, 0 if unknown; zero_shot and scored_by, mAP and name of the image-text model whose
        scores were used, None without one; zero_shot_over, where the scores cover some classes
        only, the numbers of these and of all classes that mAP averages; methods, as
        `method_facts.written` returns them; test_images, test_present and test_absent, counts of
        the test split (see `TestSplit.of`); compared, a line on the data, features and settings;
        schemes, those of the grid, with or without runs; assumes, a sentence for each scheme that
        assumes a machine; paid, the price list and how annotators err; fit, the part of an image
        that the network saw, unless features were given (without it: central squares, as in
        earlier versions).
    """
    facts = {"classes": (), "leaves": (), "failures": (), "planned": 0} | dict(facts)
    rows = pa.concat_tables(parts or [SCHEMA.empty_table()])
    if "reference" in rows.column_names:  # compared runs first, as in the files
        rows = pa.concat_tables(_by_reference(rows))
    known = {name: value for name, value in facts.items() if value not in (None, "")}
    return rows.combine_chunks().replace_schema_metadata(
        {name: json.dumps(value, ensure_ascii=False) for name, value in known.items()}
    )


def _by_reference(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The compared runs and the references."""
    reference = pa.compute.fill_null(rows["reference"], False)
    return rows.filter(pa.compute.invert(reference)), rows.filter(reference)


def to_table(rows: Iterable[Row], facts: Mapping[str, Any] = MappingProxyType({})) -> pa.Table:
    """A table of these rows; for `facts` see `concat`."""
    return concat([pa.Table.from_pylist(list(rows), schema=SCHEMA)], facts)


def writers(rows: pa.Table, errors: pa.Table | None = None) -> dict[str, Callable[[Path], object]]:
    """The writer of each file by its name: compared runs, references and runs with additional
    errors, as parquet and as CSV without the columns of lists."""
    files: dict[str, Callable[[Path], object]] = {}
    added = SCHEMAS[1].empty_table() if errors is None else errors
    named = zip(("table", "reference", "errors"), (*_by_reference(rows), added), strict=True)
    for name, part in named:
        selected = job_store.with_checksum(part)
        if name == "table" or len(selected):
            flat = selected.drop_columns(list(LISTS))
            files[f"{name}.parquet"] = partial(
                pyarrow.parquet.write_table, selected, compression="zstd", write_page_checksum=True
            )
            files[f"{name}.csv"] = partial(pyarrow.csv.write_csv, flat)
    return files


def write(files: Mapping[str, Callable[[Path], object]], folder: Path) -> None:
    """Write files that belong together: none appears before all of them are ready."""
    with ExitStack() as ready:
        for name, writer in files.items():
            writer(ready.enter_context(whole(folder / name)))


# Lists over classes are most of a table; none of them is needed to describe a folder.
_DESCRIBED = (
    "scheme", "method", "reference", "budget", "budget_hours", "draw", "trained", "train_seconds",
    "peak_memory_mb", "environment", "bundle_seconds", "key",
)  # fmt: skip


def describe(folder: str | PathLike[str]) -> dict[str, Any]:
    """Facts about a comparison's folder by name, and as `text` in sentences.

    Raises
    ------
    BadInput
        If the folder has no runs.
    """
    folder = Path(folder)
    table = read(folder, columns=_DESCRIBED)
    file = folder / "table.parquet"
    with reading(
        file if file.is_file() else folder / job_store.PLAN, "a comparison", "compare again"
    ):
        facts = _facts(table)
        sentences = list(_sentences(facts))
        plan, grid_file = job_store.under_way(folder), folder / "grid.toml"
        finished_grid = grid_file.read_text("utf-8", "replace") if grid_file.is_file() else None
        if plan["grid"] not in ("", finished_grid):
            facts["unfinished"] = str(kept(folder))
            sentences.append(
                f"a comparison in this folder is unfinished: {facts['unfinished']}; "
                f"{how_to_resume(folder)}"
            )
    sentences += [f"failed: {why}" for why in grouped(facts["failures"])]
    sentences += filter(None, [facts["left_out"]])
    summary = folder / "summary.md"
    if summary.is_file():
        text = readable(summary, "a summary").read_text("utf-8", "replace")
        answer = text.partition("# What to buy\n")[2].partition("\n# ")[0]
        answers = [line for line in answer.splitlines() if line.startswith("- ")]
        sentences += [line.removeprefix("- ") for line in answers]
        sentences.append(f"full table: {summary}")
    return facts | {"text": "\n".join(sentences)}


def _facts(table: pa.Table) -> dict[str, Any]:
    """Counts, names and measurements of a table with the columns `_DESCRIBED`."""
    about = job_store.facts(table)
    compared, _ = _by_reference(table)

    def distinct(name: str, rows: pa.Table = table) -> list[Any]:
        return pa.compute.drop_null(rows[name].unique()).to_pylist()

    # Every run of a job has the time of the whole job.
    by_job = table.group_by("key").aggregate([("bundle_seconds", "max")])
    return {
        "runs": len(table),
        "schemes": distinct("scheme", compared),
        "methods": distinct("method", compared),
        "budgets": distinct("budget", compared),
        "budgets_hours": distinct("budget_hours", compared),
        "draws": len(distinct("draw")),
        "trained": distinct("trained"),
        "planned": about.get("planned", 0),
        "failures": list(about.get("failures", ())),
        "left_out": about.get("left_out", ""),
        "training_hours": (pa.compute.sum(table["train_seconds"]).as_py() or 0.0) / 3600,
        "bundle_hours": (pa.compute.sum(by_job["bundle_seconds_max"]).as_py() or 0.0) / 3600,
        "peak_memory_mb": pa.compute.max(table["peak_memory_mb"]).as_py(),
        "environments": [json.loads(text) for text in distinct("environment")],
    }


def _sentences(facts: Mapping[str, Any]) -> Iterator[str]:
    """Counts; versions and machines; training time and memory."""
    of = f" of {facts['planned']:,}" if facts["planned"] > facts["runs"] else ""
    backbones = "; whole backbones were trained" if facts["trained"] == ["backbone"] else ""
    yield (
        f"{facts['runs']:,}{of} runs: {len(facts['schemes'])} schemes, {len(facts['methods'])} "
        f"methods, {facts['draws']} draw{'s' * (facts['draws'] != 1)}{backbones}"
    )
    if environments := facts["environments"]:
        versions = {
            name: sorted({str(e[name]) for e in environments if e.get(name)})
            for name in ("simkit", "code", "torch", "python")
        }
        programs = [f"{name} {' and '.join(used)}" for name, used in versions.items() if used]
        if (number := len(versions["code"])) > 1:
            code = ", ".join(versions["code"])
            programs[1] = f"{number} codes ({code}; runs with classes of your own have their own)"
        machines = {
            " ".join(str(e[name]) for name in ("system", "machine", "device") if name in e)
            for e in environments
        }
        yield f"made with {', '.join(programs)} on {' and '.join(sorted(machines))}"
    training, total, peak = facts["training_hours"], facts["bundle_hours"], facts["peak_memory_mb"]
    if training:
        annotation = f", {duration(3600 * total)} with annotation and evaluation" if total else ""
        memory = "" if peak is None else f"; at most {peak:,.0f} MB in one process"
        yield f"{duration(3600 * training)} of training{annotation}{memory}"


_PLACES = re.compile(r", (budget \S+|draw \d+|\S+ hours?)(?=,|$)")  # in the name of a run
_KINDS = 8  # pairs of scheme and method in a sentence about failed runs, at most


def grouped(failures: Sequence[str]) -> list[str]:
    """One sentence for each reason of failure: the first run and the number of others.

    If they are of several schemes or methods, these are named. Of reasons that differ only in
    numbers, the first is given.
    """
    by_reason: dict[str, list[str]] = {}
    for failure in failures:
        reason = re.sub(r"[\d.,]*\d", "", failure.partition(": ")[2])
        by_reason.setdefault(reason, []).append(failure)
    sentences = []
    for first, *rest in by_reason.values():
        run, colon, reason = first.partition(": ")
        others = f" and {numbered(len(rest), 'other run')}" if rest else ""
        names = (_PLACES.sub("", failure.partition(": ")[0]) for failure in (first, *rest))
        if len(kinds := [*dict.fromkeys(names)]) > 1:
            more = f"; and {len(kinds) - _KINDS} more" if len(kinds) > _KINDS else ""
            others += f" ({'; '.join(kinds[:_KINDS])}{more})"
        sentences.append(f"{run}{others}{colon}{reason}")
    return sentences
