# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What should be bought for a given budget?
#
# **Result.** Twenty pilots of 344 completely labelled images each plan the purchase for the remaining 170 dollars, and
# the training labels of every order are bought, with its runner-up. All twenty 90% ranges contain what came out (95%
# interval 84 to 100%), but they are 16 to 22 points wide, and the medians are too high, by 2.0 points on average (0.3
# to 3.6). All twenty plans choose complete labels of 2,146 to 2,368 images, which reach 80.6 to 81.7 mAP with the
# pilot's labels; the runner-up, FPC by a search with the pilot's model, reaches 75.2 to 77.4. This is no comparison at
# equal cost: 140 to 154 dollars against 102 to 125. Methods are untuned. Prices decide: if every answer costs the same,
# FPC reaches 75.5 for 98 dollars, and complete labels, which the plan of the first pilot chooses, 73.8 for 136 (one
# purchase each).
#
# **Run it.** `%pip install -q "..[notebooks]"` once (in this folder); four minutes in full on one core,
# half a minute with `SIMKIT_SIZE=quick`.

# %%
# %matplotlib inline
import os
import tempfile
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from scipy.sparse import vstack
from scipy.stats import binomtest

import simkit
from simkit import FeatureInputs, Grid, Source, Task, methods, open_source
from simkit import demo_grid as demo
from simkit.results.figures.style import STYLE

# %%
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
warnings.simplefilter("ignore", UserWarning)  # they come again as notes of a comparison
_ = plt.rcParams.update(STYLE)
train = replace(demo().train, epochs=4) if quick else demo().train

# %% [markdown]
# ## The pilot
#
# You have 6,000 unlabelled images, 52 classes and 200 dollars. The images are `scenes`, whose labels are all known, so
# we can also test purchases that the plan advises against. At the start we know the number of classes and, roughly, how
# many of them an image shows. Prices are those of `hourly`, the default of plans: published annotation times for each
# kind of question, at 15 dollars an hour.

# %%
first = simkit.plan_pilot(200, classes=52, per_image=9.5, images=6000)
display(first)

# %% [markdown]
# A pilot is a random sample, and another sample gives another plan. A single pilot cannot show whether plans can be
# trusted, so this chapter draws twenty of them: each has its own 344 images to train on and its own 115 to test on.
# Their complete labels answer the questions of every scheme, so every scheme is simulated on them and billed for its
# own questions. All methods have default settings and the same training (12 epochs, learning rate 0.1); nothing is
# tuned. Every purchase is simulated and trained in three draws: with one draw, a plan asks for more draws before any
# label is bought.

# %%
pilots, size, test = (3, 120, 60) if quick else (20, first.images, first.test_images)
left, images = (20, 600) if quick else (first.rest, first.remaining)
grid = Grid(
    data="",  # of each pilot, below
    schemes=["full-subset", "rpa", "fpc", "single-positive"],
    methods=["an", "ll-r"],
    budgets=[round(one * size / first.images, 2) for one in first.steps[0].budgets[1:]],
    prices="hourly",
    draws=3,
    train=train,
)

# %%
data = [f"scenes:images={size},val=20,test={test},seed={n + 1}" for n in range(pilots)]
tables, plans = [], []
for n in range(pilots):
    runs = simkit.compare(replace(grid, data=data[n]), out=f"pilot-{n}", workers=1)
    tables.append(runs.table)
    plans.append(simkit.plan(f"pilot-{n}", left, images=images))
simkit.figures.make("cost-curve")(tables[0], heading="Within the first pilot, FPC with an assumed free model leads")

# %% [markdown]
# By default FPC assumes a free model that proposes candidates, half of them correct, and annotators verify them, so
# positives of every class come first. RPA asks about one class at a time, in one second each; complete labels take a
# third of that per class. Beyond the last point every curve continues to complete labels of the whole pilot (not
# drawn).
#
# ## A plan
#
# The pilot and its test images cost 30 of the 200 dollars. In a shell:
# `simkit plan pilot-0/ --budget 170 --images 5541`. The plan of the first pilot:

# %%
display(plans[0])

# %% [markdown]
# The plan first orders more test images, to know mAP more precisely. It does not count on the assumed model: FPC is
# priced by a search with the pilot's own model, whose candidates are right as often as the pilot's images say. The bill
# has a first round with labels of two schemes, (a) and (b), to decide between them.
#
# ## The purchases of twenty plans
#
# Each plan chose from its own pilot alone. Now the purchase that it chose is made at once, without test images and
# rounds: *the order*. So is its runner-up, the best purchase of another scheme, on 5,541 images that are in no pilot.
# Models are trained on the labels of the pilot and of the purchase together, as a plan assumes. FPC is bought as it is
# priced, by a search with a model that was trained on the pilot. The test images, 2,000 others, are new to all. In the
# picture bars are the 90% ranges of the plans.

# %%
project = open_source(
    Source(
        f"scenes:images={images},val=20,test={200 if quick else 2000}",
        ("train", "test"),
        ("pooled",),
        "scenes-net",
    )
)
truth, inputs = project.truth("train"), project.inputs("train", "pooled")
leaves = simkit.data.open("scenes:images=1").leaves
present = project.truth("test").present.toarray()[:, leaves]

# %%
whole, values, looked = [], [], []  # for each pilot: its labels, features with the project's, and scores of the project
for source in data:
    pilot = open_source(Source(source, ("train",), ("pooled",), "scenes-net"))
    whole.append(simkit.simulate(pilot.truth("train"), "full-subset"))
    own = pilot.inputs("train", "pooled")
    values.append(np.concatenate([own.values, inputs.values]))
    looked.append(simkit.train(Task(whole[-1], own), methods.make("an"), settings=train).scores(inputs))

# %%
rows = {"order": [], "runner-up": []}
ways = [(n, dict(zip(rows, (one.chosen, one.choice.rivals[0]), strict=True))) for n, one in enumerate(plans)]
for n, kind, way in ((n, kind, way) for n, both in ways for kind, way in both.items()):
    scheme = way.option.with_amount(way.amount).unassuming(scores=True)
    scores = looked[n] if scheme.needs_scores else None
    labels = simkit.simulate(truth, scheme, images=way.images, scores=scores, draw=n)
    method = methods.make(way.method.replace("full", "an"))  # the same on complete labels
    codes, asked = vstack([whole[n].codes, labels.codes]), np.append(whole[n].asked, labels.asked)
    both = simkit.PartialLabels.of(codes, asked=asked, history=labels.history)
    model = simkit.train(Task(both, FeatureInputs(values[n])), method, settings=train, draw=n)
    ap = simkit.metrics.average_precision(model.scores(project.inputs("test", "pooled"))[:, leaves], present)
    row = {"scheme": scheme.name, "images": int(labels.asked.sum()), "$": simkit.cost(labels, "hourly").dollars}
    row |= {"price": way.dollars, "planned": 100 * way.median, "low": 100 * way.band[0], "high": 100 * way.band[1]}
    rows[kind].append(row | {"bought": 100 * simkit.metrics.mean_ap(ap)})

# %%
bought = {kind: pd.DataFrame(part) for kind, part in rows.items()}
print(pd.concat(bought, axis=1).drop(columns="price", level=1).round(1).to_string())
for kind, number in pd.Series([one.step.kind for one in plans]).value_counts().items():
    print(f"next step of {number} of {len(plans)} plans: {kind}")

# %%
figure, axes = plt.subplots(figsize=(9, 3.8), layout="constrained")
for (kind, part), color, mark, move in zip(bought.items(), ("#c6d8e8", "#e3e3e3"), "x.", (-0.18, 0.18), strict=True):
    axes.vlines(part.index + move, part["low"], part["high"], color=color, lw=7)
    dash = axes.plot(part.index + move, part["planned"], "_", color="#555555", ms=7)
    axes.plot(part.index + move, part["bought"], mark, color="#D55E00", label=f"{kind}, bought")
dash[0].set_label("median planned")
held = sum(part["bought"].between(part["low"], part["high"]).sum() for part in bought.values())
heading = f"{held} of {2 * pilots} ranges contain what came out"
axes.set_title(heading, loc="left", weight="bold")
axes.set_ylim(bottom=axes.get_ylim()[0] - 6)  # room for the legend
axes.set(xlabel="pilot (blue: the order, grey: the runner-up)", ylabel="mAP on new images", xticks=range(pilots))
_ = axes.legend(frameon=False, loc="lower right", ncols=3)

# %%
order, other = bought.values()
regret = (other["bought"] - order["bought"]).clip(lower=0)
hits = {f"ranges that hold, {kind}": part["bought"].between(part["low"], part["high"]) for kind, part in bought.items()}
hits |= {"orders at most 3 points behind the runner-up": regret <= 3, "orders ahead of the runner-up": regret == 0}
for name, hit in hits.items():
    low, high = binomtest(int(hit.sum()), len(hit)).proportion_ci(method="wilson")
    print(f"{name}: {hit.sum()} of {len(hit)} (95% interval {100 * low:.0f} to {100 * high:.0f}%)")
gaps = {f"bought minus planned, {kind}": part["bought"] - part["planned"] for kind, part in bought.items()}
for name, gap in (gaps | {"regret": regret}).items():
    one = simkit.interval(gap.to_numpy())
    print(f"{name}: {one.mean:+.1f} points (95% interval {one.low:+.1f} to {one.high:+.1f})")
for kind, part in bought.items():
    paid, plan = part["$"], part["price"].mean()
    print(f"{kind}: {paid.mean():.0f} dollars on average ({paid.min():.0f} to {paid.max():.0f}), planned {plan:.0f}")

# %% [markdown]
# All ranges hold, of the orders and of the runners-up; the interval for twenty pilots is 84 to 100 %. All buy from the
# same 5,541 images and are scored on the same 2,000, so the interval covers the choice of the pilot, not that of the
# project. The medians of the orders are too high, by 2.0 points (0.3 to 3.6), those of the runners-up not significantly
# (0.8, -1.1 to 2.6). Medians of orders go from 75.5 to 87.6, results only from 80.6 to 81.7: the plans differ, the
# purchases hardly, so trust the range rather than the median. The order is ahead of its runner-up in all twenty, but
# costs more: 144 dollars on average, the runner-up 115. A plan prices the runner-up at 164 dollars, more than the
# search costs in the end, so this is no comparison at equal cost. The regret is what the runner-up would have gained
# over the order. As their next step 19 of the plans ask for more test images first, and one for a first round.
#
# ## A pilot three times as large
#
# How much of the range is due to the size of the pilot? We plan the same purchase from three times as many images,
# with only the two best schemes to save time.

# %%
more = replace(
    grid,
    data=f"scenes:images={3 * size},val=20,test={3 * test},seed=100",
    schemes=["full-subset", "fpc"],
    budgets=[3 * one for one in grid.budgets[1:]],
)
simkit.compare(more, out="larger", workers=1)
again = simkit.plan("larger", left, images=images)
print(again.text().split("\n\n")[1])

# %%
small = order["high"] - order["low"]
low, high = (100 * end for end in again.chosen.band)
print(f"twenty pilots: {small.median():.0f} points wide ({small.min():.0f} to {small.max():.0f})")
print(f"three times as large: {high - low:.0f} points wide ({low:.1f} to {high:.1f})")

# %% [markdown]
# The range of this one pilot is 11 points wide; those of the twenty are 16 or more. The choice is the same: complete
# labels.
#
# ## Many images weakly, or few images fully?
#
# The answers in the literature differ, as do the units of comparison. At equal numbers of **labels**, Durand et al.
# (CVPR 2019) find some labels of every image better than all labels of some images. Kim et al. (CVPR 2022, Fig. 6) vary
# the number of **images**: one label of every image beats all labels of a tenth of the images, with an eighth of the
# labels, and with the method LL-Ct equals all labels of 30 %. At equal annotation **time**, a study of COCO (OpenReview
# xNf8sOtFbx, 2024) finds a fifth of the images, completely labelled, better. All can be right, because each prices a
# label differently, as do two price lists of simkit:

# %%
lists = ("openimages", "google")
for name in lists:
    for kind in ("sweep", "verify", "search"):
        rate = simkit.prices(name).rates[kind]
        print(f"{name:10} {kind:6} ${rate.dollars} per {rate.per:8} {rate.source}")

# %% [markdown]
# `openimages` pays for each answer, `google` (withdrawn in 2024, but looks are still sold) for each look at an image,
# with up to 20 classes at once. The questions of the pilot are recorded, so the same runs are priced again without
# training:

# %%
others = {name: simkit.plan("pilot-0", left, images=images, prices=name) for name in lists}
for name, one in others.items():
    print(f"{name}, ${left:,.0f}", *one.text(width=95).split("\n\n")[1:3], sep="\n\n", end="\n\n")

# %%
for name, one in others.items():
    for way in (one.chosen, *one.choice.rivals[:2]):
        scheme = way.option.with_amount(way.amount).unassuming(scores=True)
        scores = looked[0] if scheme.needs_scores else None
        labels = simkit.simulate(truth, scheme, images=way.images, scores=scores)
        method = methods.make(way.method.replace("full", "an"))
        codes, asked = vstack([whole[0].codes, labels.codes]), np.append(whole[0].asked, labels.asked)
        both = simkit.PartialLabels.of(codes, asked=asked, history=labels.history)
        model = simkit.train(Task(both, FeatureInputs(values[0])), method, settings=train)
        ap = simkit.metrics.average_precision(model.scores(project.inputs("test", "pooled"))[:, leaves], present)
        own = 100 * simkit.metrics.mean_ap(ap)
        low, high = (100 * end for end in way.band)
        paid = simkit.cost(labels, name).dollars
        print(f"{name:10} ${paid:3,.0f} (${way.dollars:,.0f} planned) {scheme.name:15} {way.images:,} images:", end=" ")
        print(f"planned {100 * way.median:.1f} ({low:.1f} to {high:.1f}), bought {own:.1f}")

# %% [markdown]
# * **Paid by the answer** (`openimages`): the choice is close; complete labels, RPA and FPC are planned within a point.
#   The plan chooses complete labels, which reach 73.8 for 136 dollars. FPC reaches 75.5 for 98, less than planned: this
#   plan misses the best purchase. RPA reaches 72.8 for 136.
# * **Paid by the look** (`google`): a look costs the same for 1 class and for 20, so three looks label an image
#   completely. The plan chooses complete labels, which reach 79.1 for 143 dollars; RPA reaches 78.2 for 138, and one
#   named class for each of 4,525 images 65.5 for 158.
# * **Paid by the hour** (above): a second buys three labels of a complete image, or one FPC candidate. Complete labels
#   are ahead of FPC with every pilot, and cost more.
#
# So the choice between "weakly" and "fully" depends on prices, and a plan has to know them. With the first two lists
# each purchase is made once, and differences below a point decide nothing. Five of the six results are within their
# ranges (that of one named class is below), and all are 5 to 12 points below the expected mAP: the first pilot is one
# of those whose plan promises most.

# %% [markdown]
# ## Summary
#
# | question | here | in the paper |
# |---|---|---|
# | Does the range contain the result far beyond the pilot? | in twenty of twenty pilots (84 to 100%), 16 to 22 points wide; medians 2.0 points too high | not asked |
# | How good is the choice? | ahead of its runner-up, which cost less (115 dollars instead of 144), in twenty of twenty; regret 0.0 points | not asked |
# | Equal price of an answer | FPC reaches 75.5 for 98 dollars; complete labels, which the plan chooses, 73.8 for 136 (one purchase each) | many images weakly at equal numbers of labels (Durand et al.) and with fewer labels (Kim et al., Fig. 6) |
# | Equal price of a look | complete labels are chosen: 79.1 for 143 dollars; RPA 78.2 for 138 (one purchase each) | few images fully, at equal time (OpenReview xNf8sOtFbx) |
#
# No plan knows whether prices change, whether annotators err differently than assumed, and how another network would
# use the same labels.
#
# ## Exercises
#
# 1. What does the cheapest purchase that reaches 85 mAP cost?
#
# <details><summary>Solution</summary>
#
# ```python
# print(simkit.plan("pilot-0", left, images=images, target=85).text().split("\n\n")[1])
# ```
#
# No purchase within the budget reaches 85 mAP with the required probability of 80 %; the best chance is 63 %. Complete
# labels reached about 81 above: a plan that does not promise the target is right.
#
# </details>
#
# 2. Is FPC worthwhile without a model that proposes candidates?
#
# <details><summary>Solution</summary>
#
# ```python
# schemes = ["full-subset", "fpc(search='random')"]
# random = replace(grid, data=data[0], schemes=schemes, methods=["ll-r"], budgets=grid.budgets[2:])
# searched = simkit.compare(random, out="random", workers=1)
# for name in ("hourly", *lists):
#     print(name, simkit.plan("random", left, images=images, prices=name).chosen)
# ```
#
# No: the plan chooses complete labels with all three price lists. Searching random images costs more than the positives
# found are worth. (The two smallest budgets are left out, as they do not always pay for a search.)
#
# </details>
#
# Next: [memorisation and large losses](06_memorisation_and_large_loss.ipynb).
