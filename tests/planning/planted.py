"""A folder of runs with planted curves, as `simkit compare` leaves one; nothing is trained.

    planted.write(folder)                      4 ways x 3 methods x 5 budgets x 4 draws
    planted.expected(scheme, method, dollars)  the mAP that the runs scatter about
    planted.write(folder, buy=planted.simulated)  the same with labels that were simulated

Each run has the effort that its dollars pay for, so it can be priced again by another list.
"""

import json
import warnings

import numpy as np

from simkit.annotate.budget import amount_for
from simkit.annotate.habits import Habits
from simkit.annotate.prices import cost, prices
from simkit.annotate.schemes import spell
from simkit.labels.effort import Effort
from simkit.planning.pilot.standin import like
from simkit.study import runs
from simkit.study.grids.grid import Grid

POOL = 3000  # images
SHARES = (0.40, 0.30, 0.20, 0.15, 0.10, 0.08, 0.06, 0.05, 0.03, 0.02)  # that show each class
CLASSES = tuple(f"class {c}" for c in range(len(SHARES)))
BUDGETS = (5.0, 10.0, 20.0, 40.0, 80.0)
PRICES = "coco-tagging"
CEILING = 0.80  # what labelling everything reaches

# mAP is 1 - floor - a dollars^-b, for each scheme (grown by images: the last three but rpa, fpc).
CURVES = {
    "single-positive": (0.25, 0.75, 0.35),
    "full-subset": (0.18, 0.95, 0.30),
    "rpa": (0.20, 1.00, 0.35),
    "fpc": (0.22, 0.80, 0.30),
}
LEAD = {"an": 0.0, "ll-r": 0.02, "csl": -0.03}  # methods over AN


def expected(scheme, method, dollars):
    """The planted mAP of a way with a method; rises with dollars."""
    floor, a, b = CURVES.get(scheme.partition("(")[0], CURVES["rpa"])
    score = 1 - floor - a * np.asarray(dollars, float) ** -b + LEAD.get(method, 0.0)
    return np.clip(score, 0.01, 0.99)


def bought(scheme, dollars, *, pool=POOL, listed=None, workers=None):
    """(effort, scheme with its amount, images, present, absent) that `dollars` pay for."""
    listed, L, mean = listed or prices(PRICES), len(SHARES), float(np.mean(SHARES))
    name = scheme.partition("(")[0]
    none = np.zeros(L, np.int64)

    def histogram(questions, images):
        counted = np.zeros(questions + 1, np.int64)
        counted[questions] = images
        return counted

    def unit(effort):
        return cost(effort, listed).dollars

    if name == "single-positive":
        one = unit(Effort({"name": histogram(1, 1)}, none, workers))
        images = min(pool, int(dollars / one))
        effort = Effort({"name": histogram(1, images)}, none, workers)
        return effort, scheme, images, images, 0
    if name == "full-subset":
        one = unit(Effort({"sweep": histogram(L, 1)}, none, workers))
        images = min(pool, int(dollars / one))
        effort = Effort({"sweep": histogram(L, images)}, none, workers)
        present = round(images * L * mean)
        return effort, scheme, images, present, images * L - present
    if name == "rpa":
        one = unit(Effort({"verify": histogram(1, 1)}, none, workers))
        questions = min(pool * L, int(dollars / one))
        each, more = divmod(questions, pool)
        counted = np.zeros(each + 2, np.int64)
        counted[each], counted[each + 1] = pool - more, more
        counted[0] = 0
        effort = Effort({"verify": counted}, none, workers)
        present = round(questions * mean)
        spelled = f"rpa(keep={questions / (pool * L):.6g})"
        asked = pool if each else more
        return effort, spelled, asked, present, questions - present
    assert name == "fpc", name
    one = unit(Effort({}, np.eye(1, L, dtype=np.int64)[0], workers))
    each = max(1, int(dollars / one / L / 2))  # proposals of precision 1/2: two looks for each
    effort = Effort({}, np.full(L, 2 * each, np.int64), workers)
    present = sum(min(each, round(share * pool)) for share in SHARES)
    return effort, f"fpc(per_class={each})", min(pool, 2 * each * L), present, each * L


def simulated(scheme, dollars, *, pool=POOL, listed=None, workers=None):
    """The same of labels that people give for these dollars, as `simulate` has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        habits = Habits(workers=workers)
        found = amount_for(float(dollars), truth(pool), scheme, listed or PRICES, habits=habits)
    labels, counts = found.labels, found.labels.counts()
    asked, spelled = int(labels.asked.sum()), spell(found.scheme)
    return labels.effort, spelled, asked, int(counts["present"]), int(counts["absent"])


def truth(pool=POOL):
    """What so many images show, by chance and as frequent as `SHARES` says."""
    return like(len(SHARES), sum(SHARES), images=pool)


def rows(
    *,
    schemes=tuple(CURVES),
    methods=tuple(LEAD),
    budgets=BUDGETS,
    draws=4,
    pool=POOL,
    noise=0.004,
    luck=0.008,
    seed=0,
    reference=True,
    habits=None,
    listed=PRICES,
    expect=expected,
    buy=None,
    **values,
):
    """The rows of the runs; values: columns that are to say something else in each of them."""
    habits = habits or Habits()
    rng, found = np.random.default_rng(seed), []
    lucks = rng.normal(0, luck, draws)  # shared by ways, methods and sizes of a draw
    for scheme in schemes:
        for budget in budgets:
            effort, spelled, images, present, absent = (buy or bought)(
                scheme, budget, pool=pool, listed=prices(listed), workers=habits.workers
            )
            dollars = cost(effort, prices(listed)).dollars
            for draw in range(draws):
                for method in methods:
                    score = expect(scheme, method, max(dollars, 1e-9)) + lucks[draw]
                    found.append(
                        _row(
                            scheme=scheme,
                            scheme_spec=spelled,
                            method=method,
                            budget=float(budget),
                            draw=draw,
                            seed=seed,
                            dollars=dollars,
                            effort=json.dumps(effort.to_json()),
                            images=images,
                            present=present,
                            absent=absent,
                            unknown=images * len(SHARES) - present - absent,
                            map=float(np.clip(score + rng.normal(0, noise), 0.001, 0.999)),
                            labels_id=f"{scheme} {budget} {draw} {seed}",
                            train_seconds=0.01 * images,
                        )
                        | values
                    )
    if reference:
        found += [_reference(draw, seed, lucks, pool, listed) | values for draw in range(draws)]
    return found


def _reference(draw, seed, lucks, pool, listed):
    sweep = np.zeros(len(SHARES) + 1, np.int64)
    sweep[-1] = pool
    effort = Effort({"sweep": sweep}, np.zeros(len(SHARES), np.int64))
    present = [round(share * pool) for share in SHARES]
    return _row(
        scheme="full-subset",
        scheme_spec="full-subset",
        method="full",
        reference=True,
        draw=draw,
        seed=seed,
        dollars=cost(effort, prices(listed)).dollars,
        effort=json.dumps(effort.to_json()),
        images=pool,
        present=sum(present),
        absent=pool * len(SHARES) - sum(present),
        unknown=0,
        class_present=present,
        class_absent=[pool - n for n in present],
        map=CEILING + float(lucks[draw]),
        labels_id=f"everything {draw} {seed}",
        train_seconds=0.01 * pool,
    )


def _row(**values):
    blank = dict.fromkeys(runs.SCHEMA.names)
    common = {
        "reference": False,
        "method_spec": values["method"],
        "validation_dollars": 0.0,
        "class_present": [],
        "class_absent": [],
        "epochs": 10,
        "lr": 0.01,
        "trained": "head",
        "select": "last",
        "validation": "none",
        "losses": [],
        "curve": [],
        "ap": [None] * len(SHARES),
        "notes": [],
        "truth_id": "truth of train",
        "test_id": "truth of test",
        "features_id": "features",
        "environment": json.dumps({"device": "cpu", "threads": 1}),
        "key": "key",
    }
    made = blank | common | values
    return made | {"map_all": made["map"], "map_o": made["map"]}


def write(folder, *, classes=CLASSES, grid=None, **options):
    """Leave table.parquet and grid.toml in a folder; grid: fields that are to say something else.

    options are those of `rows`. Returns the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table = runs.tidy(rows(**options), classes=classes)
    runs.write(runs.writers(table), folder)
    values = {
        "schemes": list(options.get("schemes", CURVES)),
        "methods": list(options.get("methods", LEAD)),
        "budgets": list(options.get("budgets", BUDGETS)),
        "draws": options.get("draws", 4),
        "seed": options.get("seed", 0),
        "prices": options.get("listed", PRICES),
        "reference": options.get("reference", True),
        "habits": (options.get("habits") or Habits()).to_json(),
    }
    text = Grid.of(values | (grid or {})).to_toml()
    (folder / "grid.toml").write_text(text, encoding="utf-8")
    return folder
