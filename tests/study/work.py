"""What tests of a comparison's work share."""

import dataclasses

from simkit.results import runs
from simkit.study import jobs
from simkit.study.sources import open_source


def planned(grid):
    """The jobs of a grid, and its data."""
    data = open_source(jobs.source_of(grid))
    return jobs.jobs(grid, data), data


def first(grid):
    """The first purchase of the first draw alone as a job, and the data."""
    (job, *_), data = planned(grid)
    return dataclasses.replace(job, batches=job.batches[:1]), data


def repeatable(rows):
    """Rows without what the machine decides; rows: a list, a comparison's runs, or its folder."""
    if not isinstance(rows, list):
        rows = getattr(rows, "rows", None) or runs.read(rows)
        rows = rows.to_pylist()
    return [{name: row[name] for name in row if name not in runs.MEASURED} for row in rows]


def rows_of(result):
    """The runs of a finished job."""
    return result.table.to_pylist()
