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
# **Result.** simkit plans a purchase of labels from a pilot of 344 completely labelled images. For 170 dollars it
# chooses FPC (equally many labels of every class), which reaches 92.0 mAP; complete labels of fewer images are level
# (91.8), as predicted; other schemes reach 84.6 and 80.0. All four predicted ranges contain the result, but their
# medians are 1 to 25 mAP too low. Prices decide: if every answer costs the same, FPC is 10 mAP above complete labels;
# if every look at an image does, complete labels are ahead.
#
# **Run it.** `%pip install -q "..[notebooks]"` once (in this folder); six minutes in full on two cores,
# 27 seconds with `SIMKIT_SIZE=quick`.

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

import simkit
from simkit import Grid
from simkit import demo_grid as demo

# %%
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
workers, draws = (1, 2) if quick else (None, 5)
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
warnings.simplefilter("ignore", UserWarning)  # they come again as notes of a comparison
train = replace(demo().train, epochs=4) if quick else demo().train
splits = ",val=20,test=100" if quick else ""

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
# The complete labels of the pilot answer the questions of every scheme, so every scheme is simulated on them and billed
# for its own questions. All methods have default settings and the same training (12 epochs, learning rate 0.1), as in
# the other chapters. The test split of `scenes`, 2,000 images, replaces the 115 test images of the pilot.

# %%
size = 200 if quick else first.images
grid = Grid(
    data=f"scenes:images={size}{splits}",
    schemes=["full-subset", "rpa", "fpc", "single-positive"],
    methods=["an"] if quick else ["an", "ignore", "ll-r", "ll-r+boostlu"],
    budgets=[round(one * size / first.images, 2) for one in first.steps[0].budgets],
    prices="hourly",
    draws=draws,
    train=train,
)

# %%
pilot = simkit.compare(grid, out="pilot", workers=workers)
heading = "Within the pilot, FPC is ahead for the same money"
simkit.figures.make("cost-curve")(pilot.table, heading=heading)

# %% [markdown]
# FPC leads: a model proposes candidates, half of them correct, and annotators verify them, so positives of every class
# come first. RPA asks about one class at a time, in one second each; complete labels take a third of that per class.
# Naming one class in every image costs only 3.44 dollars. Beyond the last point every curve continues to complete
# labels of the whole pilot (not drawn).
#
# ## The plan
#
# The pilot and its 115 test images cost 30 of the 200 dollars. In a shell:
# `simkit plan pilot/ --budget 170 --images 5541`.

# %%
left, images = (20, 600) if quick else (first.rest, first.remaining)
plan = simkit.plan("pilot", left, images=images)
display(plan)

# %% [markdown]
# The plan chooses FPC by a small margin: complete labels for the same money are better with a probability of 40 %.
# Trust is low because the order has sixteen times the pilot's images. So the plan orders a first round of 29 dollars,
# with labels of both schemes, to decide between them.
#
# ## The purchase
#
# Here we can buy the whole order at once, and the runners-up too: on 5,541 images outside the pilot, in five draws
# (repetitions with new answers and initial weights).

# %%
project = replace(grid, data=f"scenes:images={images},seed=1{splits}", budgets=(), reference=False)
ways = [plan.chosen, *plan.choice.rivals]
specs = [simkit.schemes.spell(one.option.with_amount(one.amount)) for one in ways]
scores, spent = [], []
for number, (one, spec) in enumerate(zip(ways, specs, strict=True)):
    order = replace(project, schemes=[spec], methods=[one.method], images=one.images)
    runs = simkit.compare(order, out=f"bought/{number}", workers=workers)
    scores.append(100 * runs.table["map"].to_numpy())
    spent.append(runs.table["dollars"].to_numpy().mean())

# %%
bands = 100 * np.array([one.band for one in ways])
table = pd.DataFrame({
    "scheme": [one.option.scheme for one in ways],
    "method": [one.method for one in ways],
    "planned $": [one.dollars for one in ways],
    "paid $": spent,
    "planned mAP": [100 * one.median for one in ways],
    "low": bands[:, 0],
    "high": bands[:, 1],
    "bought mAP": [own.mean() for own in scores],
})  # fmt: skip
print(table.round(1).to_string(index=False))

# %%
figure, axes = plt.subplots(figsize=(7, 3))
for row, (one, (low, high), own) in enumerate(zip(ways, bands, scores, strict=True)):
    axes.plot([low, high], [row, row], color="#c6d8e8", lw=12, solid_capstyle="butt")
    axes.plot(100 * one.median, row, "|", color="#555555", ms=12)
    axes.plot(own, np.full(len(own), row), "x", color="#D55E00")
axes.set_title("All four ranges hold; the medians are too low", loc="left", weight="bold")
names = [f"{one.option.scheme}, {one.method}\n${one.dollars:,.0f}" for one in ways]
axes.set(yticks=range(len(ways)), yticklabels=names, ylim=(len(ways) - 0.5, -0.5))
_ = axes.set_xlabel("mAP on new images (bar: range of the plan, line: median, crosses: bought)")

# %%
means = np.array([own.mean() for own in scores])
held = (bands[:, 0] <= means) & (means <= bands[:, 1])
regret = means.max() - means[0]
print(f"ranges that hold the mean: {held.sum()} of {len(held)}")
print(f"bought minus planned: {', '.join(f'{x:+.1f}' for x in means - table['planned mAP'])}")
print(f"regret: the best of them is {regret:.1f} points above the choice")

# %% [markdown]
# All four ranges contain the result, and FPC and complete labels are level, as predicted. The medians are too low: by a
# point for these two, by 5 for RPA, and by 25 for single positives. In the pilot, with one named class in each of 344
# images, LL-R with BoostLU is behind AN; with sixteen times as many images it reaches 80.0 mAP for a third of the
# money. The pilot cannot predict this, as its range of 54 points shows.
#
# This is one test of the ranges, not twenty: the draws of a purchase differ by at most 3 points, and all use the same
# pilot.
#
# ## A pilot three times as large
#
# How much of the range is due to the size of the pilot? We plan the same purchase from three times as many images, with
# only the two best schemes, two methods and three draws to save time.

# %%
more = replace(
    grid,
    data=f"scenes:images={3 * size}{splits}",
    schemes=["full-subset", "fpc"],
    methods=grid.methods[:1] if quick else ["an", "ll-r+boostlu"],
    budgets=[3 * one for one in grid.budgets],
    draws=min(draws, 3),
)
larger = simkit.compare(more, out="larger", workers=workers)
again = simkit.plan("larger", left, images=images)
print(again.text().split("\n\n")[1])

# %%
widths = []
for name, one in (("pilot", plan), ("three times", again)):
    for way in (one.chosen, one.choice.rivals[0]):
        low, high = (100 * end for end in way.band)
        widths.append(high - low)
        print(
            f"{name:12} {way.option.scheme:12} {way.times:.1f} times the pilot's images:", end=" "
        )
        print(f"{100 * way.median:.1f} mAP, {low:.1f} to {high:.1f}, {high - low:.0f} points wide")

# %% [markdown]
# The choice stays the same, and its range is 6 points wide instead of 17. The purchase above reached 92.0, low in the
# new range and two points below its median: even with the larger pilot, trust the range rather than the median. The
# larger pilot costs 45 dollars more and changes no decision. It is worthwhile if you need the mAP itself, for example
# to reach a target.
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
others = {name: simkit.plan("pilot", left, images=images, prices=name) for name in lists}
for name, one in others.items():
    print(f"{name}, ${left:,.0f}", *one.text(width=95).split("\n\n")[1:3], sep="\n\n", end="\n\n")

# %%
measured = {}
for name, one in others.items():
    for way in (one.chosen, one.choice.rivals[0]):
        spec = simkit.schemes.spell(way.option.with_amount(way.amount))
        order = replace(project, schemes=[spec], methods=[way.method], images=way.images)
        runs = simkit.compare(order, out=f"{name}/{way.option.scheme}", workers=workers)
        measured[name, way.option.scheme] = own = 100 * runs.table["map"].to_numpy().mean()
        low, high = (100 * end for end in way.band)
        print(
            f"{name:10} ${way.dollars:4,.0f} {way.option.scheme:11} {way.images:,} images:", end=" "
        )
        print(f"planned {100 * way.median:.1f} ({low:.1f} to {high:.1f}), bought {own:.1f}")

# %% [markdown]
# * **Paid by the answer: many images, weakly.** FPC spreads the most informative questions over 2,766 images; complete
#   labels of 563 images cost about as much and are 10 points behind. The bill does not include the model that proposes
#   candidates (exercise 2).
# * **Paid by the look: few images, fully.** A look costs the same for 1 class and for 20: three looks label an image
#   completely, and naming one class costs a third of that. RPA comes close only when it asks about nearly all classes.
# * **Paid by the hour** (above): about level. A second buys three labels of a complete image, or one FPC candidate.
#
# So "weakly or fully" depends on prices. The plan decides from 344 images; its choice was never worse than the
# alternative that was bought, though with `google` RPA is only 1.5 behind and costs 40 dollars less.

# %% tags=["remove-input"]
assert not pilot.failures, pilot.failures
better = (plan.choice.rivals[0].map > plan.chosen.map).mean()
assert quick or {one.option.part.name for one in ways[:2]} == {"fpc", "full-subset"}
assert quick or (plan.trust.grade == "low" and len(plan.order) == 2 and 0.2 < better < 0.8)
assert quick or (held.all() and regret < 2)
assert quick or (means - table["planned mAP"]).max() > 3
assert quick or max(np.ptp(own) for own in scores) < 5
assert quick or widths[2] < 0.6 * widths[0]
assert quick or 100 * again.chosen.band[0] < means.max() < 100 * again.chosen.median
assert quick or others["openimages"].chosen.option.part.name == "fpc"
assert quick or others["google"].chosen.option.complete
assert quick or measured["openimages", "fpc"] > measured["openimages", "full-subset"] + 5
assert quick or measured["google", "full-subset"] > measured["google", "rpa"]

# %% [markdown]
# ## Summary
#
# | question | here | in the paper |
# |---|---|---|
# | Does the range contain the result far beyond the pilot? | four of four (14 to 54 points wide, at 8 to 16 times the pilot) | not asked |
# | How good is the choice? | the best of the four; the runner-up is level, as planned | not asked |
# | What does a larger pilot change? | the range, 6 points instead of 17; no decision | not asked |
# | Equal price of an answer | many images, weakly: FPC 91.1, complete labels 81.0 | the same at equal numbers of labels (Durand et al.) and with fewer labels (Kim et al., Fig. 6) |
# | Equal price of a look | few images, fully: complete labels 90.4, RPA 88.9 for 123 dollars | the same at equal time (OpenReview xNf8sOtFbx) |
#
# The order of the purchases was right although medians were up to 25 points too low. No plan knows whether prices
# change, whether annotators err differently than assumed, and how another network would use the same labels. The bill
# of the plan exceeds 200 dollars because it has the 2,000 test images of `scenes` in place of 115.
#
# ## Exercises
#
# 1. What does the cheapest purchase that reaches 85 mAP cost?
#
# <details><summary>Solution</summary>
#
# ```python
# print(simkit.plan("pilot", left, images=images, target=85).text().split("\n\n")[1])
# ```
#
# 90 dollars on FPC, up to 236 images of each class: the lowest price at which 85 mAP is reached with the required
# probability of 80 %.
#
# </details>
#
# 2. Is FPC worthwhile without a model that proposes candidates?
#
# <details><summary>Solution</summary>
#
# ```python
# schemes = ["full-subset", "fpc(search='random')"]
# random = replace(grid, schemes=schemes, methods=["ll-r+boostlu"], budgets=grid.budgets[-2:])
# searched = simkit.compare(random, out="random", workers=workers)
# for name in ("hourly", *lists):
#     print(name, simkit.plan("random", left, images=images, prices=name).text().split("\n\n")[1])
# ```
#
# No: complete labels are best with all three price lists, with 90.1, 78.8 and 88.6 mAP expected. Searching random
# images costs more than the positives found are worth.
#
# </details>
#
# Next: [memorisation and large losses](06_memorisation_and_large_loss.ipynb).
