"""A table of runs with planted AP, labels and courses of each class, by hand."""

from simkit.results import runs
from tests.results import planted

CLASSES = ("common", "middle", "rare", "unseen")
GAIN = {"an": (0.0, 0.0, 0.0), "ll-r": (-0.1, 0.05, 0.2), "csl": (0.01, 0.01, 0.01)}
LUCK = (-0.01, 0.0, 0.01, 0.02)  # of each draw, the same for all methods


def rows(*, schemes=("fpc", "rpa"), methods=("an", "ll-r", "csl"), draws=3, **fields):
    made = []
    for scheme in schemes:
        for draw in range(draws):
            for method in methods:
                ap = [
                    base + gain + LUCK[draw % 4]
                    for base, gain in zip((0.7, 0.5, 0.3), GAIN[method], strict=True)
                ]
                made.append(
                    planted.row(
                        scheme=scheme,
                        method=method,
                        draw=draw,
                        budget=10.0,
                        images=100,
                        map=sum(ap) / 3,
                        ap=[*ap, None],
                        class_present=[50 + 3 * draw, 20, 5, 1],
                        class_absent=[40 - 3 * draw, 30, 5, 0],
                        curve=[0.2, 0.4 + LUCK[draw % 4], 0.5],
                        curve_of="test",
                        losses=[1.0, 0.5, 0.25],
                        epochs=3,
                    )
                    | fields
                )
    return made


def table(rows_=None, *, leaves=(), **options):
    made = rows(**options) if rows_ is None else rows_
    return runs.to_table(made, {"classes": CLASSES, "leaves": leaves})
