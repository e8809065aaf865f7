"""Comparisons with planted scores: labels are simulated and nothing is trained.

AP of a class is a known function of its present labels, of the share of all present labels that
are known, and of the method, so that a test knows what every purchase of any project would give.
"""

import json
import warnings
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pyarrow as pa
from scipy.sparse import vstack

from simkit import data as datasets
from simkit.annotate.budget import amount_for
from simkit.annotate.prices import cost, prices
from simkit.annotate.schemes import spell
from simkit.annotate.simulate import simulate
from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.results import job_store, method_facts, runs
from simkit.study.grid import Grid

CLASSES = 12
LEAD = {"an": 0.0, "ll-r": 0.15, "ignore": 0.0}  # logit AP over AN
SCHEMES = ("single-positive", "rpa", "fpc", "full-subset")
PRICES = "openimages"
DAMAGE = 0.3  # of logit AP


def data(folder, images, *, test=3000, classes=CLASSES, seed=0, wrong=(0.0, 0.0), always=(),
         untested=()):  # fmt: skip
    """An npz data set whose classes are shown by 30 % to 3 % of the images; its spec. wrong: shares
    of present labels missed and of absent ones reported. always, untested: classes that every image
    shows, and that no test image shows."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for split, count in (("train", images), ("test", test)):
        rng = np.random.default_rng([seed, split == "test"])
        present = rng.random((count, classes)) < np.geomspace(0.3, 0.03, classes)
        present[present.sum(axis=1) == 0, 0] = True
        present[:, list(always)] = True
        present[:, list(untested)] &= split == "train"
        if split == "train":
            number = rng.random(present.shape)
            present = np.where(present, number >= wrong[0], number < wrong[1])
        rows, columns = np.nonzero(present)
        files[split] = folder / f"{split}.npz"
        np.savez(
            files[split], indptr=np.searchsorted(rows, np.arange(count + 1)), indices=columns,
            shape=present.shape, class_names=np.array([f"class {c}" for c in range(classes)]),
            image_ids=np.array([f"{split} {i}" for i in range(count)]),
        )  # fmt: skip
    return f"npz:{files['train']},val={files['test']},test={files['test']}"


def average_precision(labels, truth, method):
    """(L,) planted AP: it grows with the logarithm of present labels; assume-negative methods lose
    by missed positives, and `ignore` by missing absent labels."""
    codes = labels.codes
    present = np.bincount(codes.indices[codes.data > 0], minlength=truth.shape[1])
    absent = np.bincount(codes.indices[codes.data < 0], minlength=truth.shape[1])
    asked = max(1, int(labels.asked.sum()))
    shown = truth.counts * asked / truth.shape[0]
    missed = 1 - np.minimum(present / np.maximum(shown, 1), 1)
    lost = 0.8 * missed if method != "ignore" else 1.5 * (absent < present)
    score = -2.2 + 0.62 * np.log1p(present) - 0.03 * np.log1p(present) ** 2 - lost
    return 1 / (1 + np.exp(-score - LEAD.get(method, 0.0) * (missed > 0.01)))


def damage(errors, classes=CLASSES):
    """(L,) planted loss of logit AP: 0.3 for each e-fold of the truth's variance that labels with
    these rates of misses and false alarms do not explain (the squared correlation of both)."""
    miss, false_alarm = errors
    p = np.geomspace(0.3, 0.03, classes)
    both = np.array([p * (1 - miss), p * miss, (1 - p) * false_alarm, (1 - p) * (1 - false_alarm)])
    seen = both[0] + both[2]
    r = (both[0] - p * seen) / np.sqrt(p * (1 - p) * seen * (1 - seen))
    return -DAMAGE * np.log(r**2)


def worse(ap, by):
    """AP with a logit lower by this much."""
    return 1 / (1 + (1 / np.clip(ap, 1e-6, 1 - 1e-6) - 1) * np.exp(by))


def added(errors, level):
    """The rates of labels with errors to which others are added."""
    (miss, false_alarm), (more, further) = errors, level
    return (miss * (1 - further) + (1 - miss) * more,
            false_alarm * (1 - more) + (1 - false_alarm) * further)  # fmt: skip


def write(folder, spec, *, schemes=SCHEMES, methods=("an", "ll-r"), shares=(0.04, 0.1, 0.25, 0.6),
          draws=4, reference=True, noise=0.004, listed=PRICES, finished=1.0, named=None,
          wrong=(0.0, 0.0), levels=(), fit="whole", **fields):  # fmt: skip
    """Leave what `simkit compare` would leave; shares: of the price of complete labels. finished:
    the share of the rows that are there; below 1 the comparison is under way. named: other
    names of methods. wrong: the error rates of the data's labels, which cost AP; levels: rates in
    addition, at which the references are trained as well. fit: the part of images that the network
    saw; None: not recorded."""
    truth = datasets.open(spec).truth["train"]
    whole = cost(simulate(truth, "full-subset"), prices(listed)).dollars
    budgets = tuple(round(share * whole, 2) for share in shares)
    grid = Grid.of({
        "schemes": list(schemes), "methods": list(methods), "data": spec, "budgets": list(budgets),
        "prices": listed, "draws": draws, "reference": reference, "errors": levels, **fields,
    })  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    rows, erring, luck = [], [], np.random.default_rng(0).normal(0, 0.006, draws)
    for draw in range(draws):
        for labels, scheme, spelled, budget in _bought(truth, schemes, budgets, listed, grid, draw):
            reference_run = scheme is None
            for method in dict.fromkeys(["full", *methods]) if reference_run else methods:
                ap = average_precision(labels, truth, "an" if method == "full" else method)
                rng = np.random.default_rng(crc32(f"{scheme} {budget} {draw} {method}".encode()))
                every = rng.normal(0, noise)
                for level in levels if reference_run else ():
                    of_level = worse(ap, damage(added(wrong, level))) + luck[draw] + every
                    row = _row(labels, truth, "full-subset", spelled, method, budget, draw,
                               np.clip(of_level, 0.001, 0.999), True, listed)  # fmt: skip
                    erring.append(row | dict(zip(runs.ERRORS, level, strict=True)))
                ap = worse(ap, damage(wrong)) if any(wrong) else ap
                ap = np.clip(ap + luck[draw] + every, 0.001, 0.999)
                rows.append(_row(labels, truth, scheme or "full-subset", spelled, method, budget,
                                 draw, ap, reference_run, listed))  # fmt: skip
    if not reference:
        rows = [row for row in rows if not row["reference"]]
    test = datasets.open(spec).truth["test"]
    scorable = (test.counts > 0) & (test.counts < test.shape[0])
    for row in [*rows, *erring]:
        ap = np.where(scorable, row["ap"], np.nan)
        row |= {"ap": ap.tolist(), "map": float(np.nanmean(ap))}
    for row in rows:
        row["method"] = (named or {}).get(row["method"], row["method"])
    classes = truth.classes
    rows = [row | {"truth_id": truth.id, "test_id": test.id} for row in rows]
    facts = {
        "classes": classes, "leaves": list(range(len(classes))), "test_images": test.shape[0],
        "methods": method_facts.written(grid.trained), "test_present": test.counts.tolist(),
        "test_absent": (test.shape[0] - test.counts).tolist(),
        **({} if fit is None else {"fit": fit}),
    }  # fmt: skip
    if finished < 1:
        keys = [f"{place:016x}" for place in range(10)]
        job_store.begin(folder, keys=keys, grid=grid.to_toml(), about=facts)
        (folder / "bundles").mkdir(exist_ok=True)
        for place, key in enumerate(keys[: round(10 * finished)]):
            part = runs.to_table(rows[place::10], {"classes": classes})
            part = part.replace_schema_metadata(None)
            job_store.save(job_store.Result(part), folder / "bundles", key)
        return folder
    table = runs.to_table(rows, facts | {"planned": len(rows)})
    errors = pa.Table.from_pylist(erring, runs.SCHEMAS[1])
    runs.write(runs.writers(table, errors), folder)
    (folder / "grid.toml").write_text(grid.to_toml(), encoding="utf-8")
    return folder


def _bought(truth, schemes, budgets, listed, grid, draw):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = truth.present.toarray()
        settings = {"habits": grid.habits, "draw": draw, "features": features}
        for scheme in schemes:
            for budget in budgets:
                try:
                    made = amount_for(budget, truth, scheme, listed, **settings)
                except BadInput:
                    continue  # not even the smallest amount
                yield made.labels, scheme, spell(made.scheme), budget
        yield simulate(truth, "full-subset", **settings), None, "full-subset", None


def _row(labels, truth, scheme, spelled, method, budget, draw, ap, reference, listed):
    codes, L = labels.codes, truth.shape[1]
    present, absent = (
        np.bincount(codes.indices[codes.data == sign], minlength=L).tolist() for sign in (1, -1)
    )
    score = float(ap.mean())
    values = dict.fromkeys(runs.SCHEMA.names) | {
        "scheme": scheme, "scheme_spec": spelled, "method": method, "method_spec": method,
        "reference": reference, "budget": budget, "draw": draw, "seed": 0,
        "dollars": cost(labels, prices(listed)).dollars, "validation_dollars": 0.0,
        "effort": json.dumps(labels.effort.to_json()), "images": int(labels.asked.sum()),
        "present": sum(present), "absent": sum(absent), "unknown": 0,
        "class_present": present, "class_absent": absent, "map": score, "map_all": score,
        "map_o": score, "ap": ap.tolist(), "epochs": 10, "lr": 0.01, "trained": "head",
        "select": "last", "validation": "none", "losses": [], "curve": [], "stack": 1,
        "train_seconds": 0.1, "bundle_seconds": 1.0, "notes": [], "labels_id": labels.id,
        "features_id": "features", "environment": json.dumps({"device": "cpu"}), "key": "key",
    }  # fmt: skip
    return values


def project_map(folder, candidate, pilot, *, wrong=(0.0, 0.0), by=0.0):
    """mAP that a purchase really gives with the complete labels of a pilot (its spec), on images of
    its own that are like the pilot's. wrong: error rates of the labels that are counted; by: loss
    of logit AP by errors, a number or (L,)."""
    spec = data(folder, candidate.images, seed=7, wrong=wrong)
    truth, known = (datasets.open(one).truth["train"] for one in (spec, pilot))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = simulate(truth, candidate.option.with_amount(candidate.amount))
        whole = simulate(known, "full-subset")
    both = SimpleNamespace(
        codes=vstack([labels.codes, whole.codes], format="csr"),
        asked=np.append(labels.asked, whole.asked),
    )
    shown = Truth.of(vstack([truth.present, known.present], format="csr"))
    return float(worse(average_precision(both, shown, candidate.method), by).mean())
