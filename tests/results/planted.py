"""A table of runs with planted numbers, in the form that `compare` writes."""

import numpy as np

from simkit.results import runs

SCHEMES = ["single-positive", "rpa", "fpc", "knowledge-graph", "full-subset"]
METHODS = ["an", "ignore", "ll-r", "an+boostlu", "ll-r+boostlu"]
LEAD = {  # points over AN
    "single-positive": [0, -18, 5, 1, 6],
    "rpa": [0, 9, 4, 0, 4],
    "fpc": [0, -1, 1, 0.2, 1.2],
    "knowledge-graph": [0, 3, 2, 1, 3],
    "full-subset": [0, 0, 0, 0, 0],
}


def row(**values):
    blank = dict.fromkeys(runs.SCHEMA.names)
    return (
        blank
        | {
            "reference": False,
            "seed": 0,
            "key": "k",
            "images": 20,
            "dollars": 9.5,
            "seconds": 1800.0,
            "ap": [0.5, None],
            "notes": [],
        }
        | values
    )


def rows(
    *, schemes=SCHEMES, methods=METHODS, budgets=(50.0, 150.0, 450.0), draws=5, reference=True
):
    rng = np.random.default_rng(1)
    made = []
    for s, scheme in enumerate(schemes):
        for budget in budgets:
            for draw in range(draws):
                luck = rng.normal(0, 0.01)
                for m, method in enumerate(methods):
                    score = (
                        0.45
                        + 0.1 * np.log(budget / 50) / np.log(9)
                        - 0.02 * s
                        + LEAD[scheme][m] / 100
                    )
                    made.append(
                        row(
                            scheme=scheme,
                            scheme_spec=scheme,
                            method=method,
                            method_spec=method,
                            budget=budget,
                            draw=draw,
                            dollars=0.99 * budget,
                            seconds=240 * budget,
                            images=int(10 * budget),
                            present=10,
                            absent=20,
                            unknown=30,
                            map=score + luck + rng.normal(0, 0.002),
                        )
                    )
    if reference:
        for draw in range(draws):
            made.append(
                row(
                    scheme="full-subset",
                    method="full",
                    reference=True,
                    draw=draw,
                    dollars=1650.0,
                    seconds=4e5,
                    images=3000,
                    map=0.8 + rng.normal(0, 0.002),
                )
            )
    return made


def table(**options):
    return runs.to_table(rows(**options), {"classes": ("cat", "dog")})
