"""From a grid to its jobs: what is bought together, what decides a key, how long it takes."""

import dataclasses
import json
import pickle

import numpy as np
import pyarrow.compute as pc
import pytest

from simkit.annotate.annotators import Habits
from simkit.annotate.prices import prices
from simkit.errors import BadInput
from simkit.learn import methods
from simkit.learn.optim import Settings
from simkit.results import runs
from simkit.results.cells import Budget
from simkit.results.job_store import Result
from simkit.results.runs import MEASURED
from simkit.study import jobs
from simkit.study.grid import Grid, Pictures
from simkit.study.jobs import Job, LabelBatch, check, label_batches, seconds, source_of
from simkit.study.sources import StudySource, open_source
from simkit.study.sweep import choose, further, sweep
from simkit.study.tuning import Setting
from simkit.study.worker import run
from tests.study.work import planned, rows_of

DRAWS_PER_JOB = jobs.draws_per_job  # the other tests keep draws apart
FPC = LabelBatch("fpc", ("an", "ll-r"), Budget(10.0))
JOB = Job(
    StudySource("scenes", ("train", "test"), ("pooled",), "scenes-net"),
    batches=(FPC, LabelBatch("rpa", ("an",), Budget(hours=2.0))), draws=(1,),
    grid=Grid(("fpc", "rpa"), ("an", "ll-r")), prices=prices("careful"), code="c0de",
    ids={"truth train": "a", "features train pooled": "b"},
)  # fmt: skip


def test_whatever_decides_the_result_changes_the_key():
    bought = [
        {"scheme": "fpc(precision=0.4)"}, {"methods": ("an", "ll-r(delta=0.2)")},
        {"methods": ("an",)}, {"limit": Budget(11.0)}, {"limit": Budget()},
        {"limit": Budget(hours=10.0)}, {"images": 0.5}, {"images": 1}, {"reference": True},
        {"settings": (Setting((("lr", 0.5),)), Setting(()))},
        {"settings": (Setting(()), Setting((("delta", 0.5),)))},
    ]  # fmt: skip
    others = [
        {"batches": (FPC,)}, {"batches": JOB.batches[::-1]}, {"draws": (2,)},
        {"draws": (1, 2)}, {"prices": prices("google")},
        {"prices": dataclasses.replace(JOB.prices, wage=16.0)},
        {"ids": {"truth train": "z", "features train pooled": "b"}},
    ]  # fmt: skip
    of_grid = [
        {"curves": True}, {"memory": 1.0}, {"seed": 1}, {"unasked": "absent"},
        {"validation": "complete", "train": Settings(select="best")},
        {"habits": Habits(miss=0.1)}, {"train": Settings(epochs=3)}, {"pictures": Pictures()},
        {"pictures": Pictures(size=64)}, {"pictures": Pictures(crop=(0.5, 1.0))},
    ]  # fmt: skip
    others += [{"grid": dataclasses.replace(JOB.grid, **one)} for one in of_grid]
    others += [{"batches": (dataclasses.replace(FPC, **one), JOB.batches[1])} for one in bought]
    keys = {dataclasses.replace(JOB, **one).key for one in ({}, *others)}
    assert len(keys) == 1 + len(others)


def test_where_files_lie_changes_no_key_and_code_the_name_of_the_file_alone():
    moved = dataclasses.replace(JOB.source, data="scenes:images=3000", weights="moved.safetensors")
    assert dataclasses.replace(JOB, source=moved).key == JOB.key
    assert pickle.loads(pickle.dumps(JOB)).key == JOB.key
    longer = dataclasses.replace(JOB.grid, schemes=("fpc", "rpa", "proposals"), draws=9)
    assert dataclasses.replace(JOB, grid=longer).key == JOB.key
    other = dataclasses.replace(JOB, code="abcd")
    assert other.key == JOB.key and other.stem == f"{JOB.key}-abcd" != JOB.stem


def test_purchases_come_by_scheme_and_limit_and_references_last(small):
    grid = small(methods=["an", "an+boostlu"], hours=[2])
    bought = [(one.scheme, one.limit) for one in label_batches(grid)]
    limits = (Budget(10.0), Budget(30.0), Budget(hours=2.0))
    assert bought == [(s, limit) for s in grid.schemes for limit in limits] + [
        ("full-subset", Budget())
    ]
    last = label_batches(grid)[-1]
    assert last.reference and last.methods == ("full", "full+boostlu", "an", "an+boostlu")
    alone = label_batches(small(methods=["an", "se"], pictures={}, schemes=["rpa"], budgets=[]))
    assert [one.methods for one in alone] == [("an",), ("se",), ("full",), ("an",), ("se",)]


def test_little_work_travels_together_and_much_of_it_does_not(small):
    grid = small()
    made, data = planned(grid)
    assert [job.draw for job in made] == [0, 1] and len({job.key for job in made}) == 2
    assert [job.batches for job in made] == [tuple(label_batches(grid))] * 2
    longer = dataclasses.replace(grid, train=Settings(epochs=3000, batch_size=16))
    parts = jobs.jobs(longer, data)
    assert [job.draw for job in parts] == [0] * 5 + [1] * 5  # and the longest of each draw first
    assert parts[0].batches == parts[5].batches == (label_batches(longer)[-1],)
    assert {job.batches for job in parts} == {(one,) for one in label_batches(longer)}


def test_neighbours_share_a_job_until_it_is_worth_shipping(small, monkeypatch):
    def packed(grid, *taken):
        work = dict(zip(grid.schemes, taken, strict=True))
        monkeypatch.setattr(jobs, "seconds", lambda one, *of: work[one.scheme])
        places = [[grid.schemes.index(one.scheme) for one in job.batches]
                  for job in jobs.jobs(grid, data)]  # fmt: skip
        return places

    some = {"methods": ["an"], "reference": False, "draws": 1}
    schemes = ["single-positive", "rpa", "full-subset", "fpc", "rpa(keep=0.3)"]
    bought = small(schemes=schemes, budgets=[10], **some)
    data = open_source(source_of(bought))
    # What asks about every image shares one, as one stack trains it, but for 45 seconds at most.
    assert packed(bought, 4, 20, 12, 20, 2) == [[0, 1, 3, 4], [2]]
    assert packed(bought, 4, 20, 8, 20, 2) == [[0, 1, 3, 4, 2]]
    assert packed(bought, 20, 25, 21, 20, 2) == [[1, 3], [2, 4], [0]]
    free = small(schemes=schemes, budgets=[], **some)
    assert packed(free, 20, 20, 20, 20, 20) == [[0, 1], [2, 3], [4]]
    assert packed(free, 45, 45, 45, 45, 45) == [[0], [1], [2], [3], [4]]


def test_draws_that_are_soon_done_travel_together_and_give_what_they_give_alone(tiny, monkeypatch):
    assert [DRAWS_PER_JOB(each, 5) for each in (30.0, 4.0, 0.0)] == [1, 3, 5]
    grid = tiny(methods=["an", "full"])  # full fails under rpa
    made, data = planned(grid)
    alone = [run(job) for job in made]
    monkeypatch.setattr(jobs, "draws_per_job", DRAWS_PER_JOB)
    (job,) = jobs.jobs(grid, data)
    assert job.draws == (0, 1, 2)
    done = run(job)
    assert {row["key"] for row in rows_of(done)} == {job.stem}
    measured = dict.fromkeys((*MEASURED, "key"), 0.0)
    rows = [row | measured for one in alone for row in rows_of(one)]
    assert [row | measured for row in rows_of(done)] == rows
    assert done.failures == {k: v for one in alone for k, v in one.failures.items()}
    assert len(done.failures) == 3


def test_only_splits_and_kinds_that_are_used_are_opened(small):
    plain, chosen = source_of(small(methods=["an"])), source_of(small(validation="partial"))
    assert (plain.splits, plain.kinds) == (("train", "test"), ("pooled",))
    assert chosen.splits == ("train", "val", "test") and set(chosen.kinds) == {"pooled", "maps"}
    assert source_of(small(fair=True)).splits == ("train", "val", "test")
    picking = source_of(small(schemes=["picked"], methods=["an+boostlu"], reference=False))
    assert set(picking.kinds) == {"pooled", "maps"}
    csl, se = (source_of(small(methods=[m], reference=False, pictures={"size": 32}))
               for m in ("csl", "se"))  # fmt: skip
    assert (csl.kinds, csl.sizes) == ((), (32,))
    assert se.kinds == ("pooled",)


def test_what_no_job_could_use_is_refused(small, tiny):
    data = open_source(source_of(small()))
    for images in (1, 1.0, 120):
        check(small(images=images), data)
    for values, words in (
        ({"images": 121}, "images.* 120"),
        ({"habits": {"miss": [0.1, 0.2]}}, "habits.* 52 classes"),
    ):
        with pytest.raises(BadInput, match=words):
            check(small(**values), data)
    grid = tiny(schemes=["knowledge-graph"])
    with pytest.raises(BadInput, match=r"schemes.*'knowledge-graph'.*hierarchy="):
        check(grid, open_source(source_of(grid)))
    with pytest.raises(BadInput, match=r"uncertainty.*needs a model's scores"):
        check(small(schemes=["picked(by=uncertainty)"]), data)


def trials(swept):
    return [
        (one.scheme, one.reference, spec, json.loads(one.setting(spec).text))
        for job in swept for one in job.batches for spec in one.methods
    ]  # fmt: skip


def test_a_sweep_is_of_the_middle_budget_and_the_references_in_draws_of_its_own(small):
    grid = small(methods=["an", "ll-r"], budgets=[10, 20, 30], draws=3, fair=True)
    made, data = planned(grid)
    tried = sweep(grid, data)
    assert {draw for job in tried for draw in job.draws} == {-1, -2}
    assert all(job.sweep for job in tried) and "tuning 1" in str(tried[0])
    batches = [batch for job in tried for batch in job.batches]
    bought = {(one.scheme, one.limit) for one in batches if not one.reference}
    assert bought == {(scheme, Budget(20.0)) for scheme in grid.schemes}
    every = trials([job for job in tried if -1 in job.draws])
    assert len(every) == 5 * (2 * 2 + 3)  # an and ll-r under both schemes; full, an and ll-r
    assert every[0][3] == {"lr": 0.001}
    wider = small(methods=["an", "em", "ll-r"], budgets=[20], draws=1, fair=True)
    more = trials(sweep(wider, open_source(source_of(wider))))
    assert all(one in more for one in every)
    assert sweep(small(), data) == [] and len(made) == 3


def test_the_results_of_a_sweep_decide_what_it_tries_next_and_what_it_chooses(small):
    grid = small(methods=["an", "ll-r"], budgets=[20], draws=1, fair=True, reference=False)
    data, top = planned(grid)[1], {"an": 0.1, "ll-r": 0.00316}  # an's is the largest of five
    noise = {-1: {0.01: 0.02}, -2: {0.0316: 0.03}}  # an's best but one

    def result(job):
        rows = [
            {"scheme": b.scheme, "reference": b.reference, "method": m, "draw": draw,
             "tuned": b.setting(m).text, "tuned_map": mapped(m, b.setting(m), draw)}
            for draw in job.draws for b in job.batches for m in b.methods
        ]  # fmt: skip
        return Result(runs.to_table([dict.fromkeys(runs.COLUMNS) | row for row in rows]))

    def mapped(method, setting, draw):
        away = abs(np.log10(setting.lr / top[method]))
        luck = noise[draw].get(setting.lr, 0) * (method == "an")
        return 0.7 - 0.1 * away - 0.2 * (len(setting.values) > 1) + luck

    tried, rounds = [], []
    following = sweep(grid, data)
    while following:
        tried += following
        rounds.append({(m, *each.items()) for *_, m, each in trials(following)})
        following = further(grid, data, tried, {job.key: result(job) for job in tried})
    other = ("delta", methods.make("ll-r").alternative["delta"])
    assert rounds[1:] == [{("an", ("lr", 0.316)), ("ll-r", ("lr", 0.00316), other)}]
    chosen, unscored = choose(tried, {job.key: result(job) for job in tried})
    assert not unscored and {key[1]: one.lr for key, one in chosen.items()} == top
    an, ll_r = (chosen["single-positive", m] for m in ("an", "ll-r"))
    assert (an.score, an.runs, an.edge, ll_r.runs) == (pytest.approx(0.7), 6, False, 6)
    assert an.error > 0.004 and ll_r.error < 1e-6  # noise may choose 0.0316 next time
    tables = {job.key: result(job).table for job in tried}
    lost = {key: Result(one.filter(pc.not_equal(one["draw"], -2))) for key, one in tables.items()}
    assert len(choose(tried, lost)[1]) == 2 * len(grid.schemes)  # without a score in one draw


def test_chosen_settings_reach_all_budgets_and_others_are_left_out(small):
    grid = small(methods=["an", "ll-r"], reference=False, draws=1)
    _, data = planned(grid)
    setting = Setting((("lr", 0.5), ("delta", 0.3)))
    chosen = {("single-positive", "ll-r"): setting}
    (job,) = jobs.jobs(grid, data, chosen)
    assert [(one.scheme, one.methods, one.limit.dollars) for one in job.batches] == [
        ("single-positive", ("ll-r",), 10.0), ("single-positive", ("ll-r",), 30.0),
    ]  # fmt: skip
    assert job.batches[0].spelled("ll-r").startswith("ll-r(delta=0.3")
    table = {"single-positive": {"ll-r": {"lr": 0.5, "delta": 0.3}}}
    (job,) = jobs.jobs(dataclasses.replace(grid, settings=table), data)
    first, *_, last = job.batches
    assert first.setting("ll-r") == setting and first.spelled("an").startswith("an")
    assert last.scheme == "fpc(per_class=10)" and last.setting("ll-r") is None


def test_a_stack_is_read_once_and_stepped_for_every_run(small):
    def counted(*specs, **values):
        grid = small(methods=specs, budgets=[], **values)
        return seconds(label_batches(grid)[0], grid, open_source(source_of(grid)))

    one, two, three = counted("an"), counted("an", "em"), counted("an", "em", "ll-r")
    assert three - two == pytest.approx(two - one) and 0 < two - one < one
    assert counted("an", curves=True) > one  # the test split is scored after every epoch
    assert counted("an", "an+boostlu") > two  # that reads maps as well


def test_a_budget_that_buys_images_is_counted_by_their_price(small):
    grid = small(schemes=["full-subset", "rpa"], budgets=[20, 60], hours=[2])
    data = open_source(source_of(grid))
    full = {str(one): seconds(one, grid, data) for one in label_batches(grid)}
    every = seconds(label_batches(small(budgets=[], schemes=["rpa"]))[0], grid, data)
    # All 120 images cost about 63 dollars, and asking about them takes 4.2 hours.
    times = [full[f"full-subset, {limit}"] for limit in ("budget 20", "2 hours", "budget 60")]
    assert np.all(np.diff(times) > 0) and times[0] < 0.5 * every and 0.9 * every < times[2] < every
    assert full["rpa, budget 20"] == every  # it buys more labels of the same images
    absent = dataclasses.replace(grid, unasked="absent")
    assert seconds(label_batches(grid)[0], absent, data) == pytest.approx(every)
