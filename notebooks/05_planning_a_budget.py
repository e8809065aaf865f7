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
# # What should be bought for the money there is?
#
# A data lead has 6,000 unlabelled pictures, 52 classes and 200 dollars. This notebook goes the whole way:
# a small pilot, a plan, the purchase, and a test of the plan. The pictures are `scenes`, whose labels are
# all known, so we can also buy what the plan advises against.
#
# * **The choice was right:** FPC for 170 dollars gives 91.9 mAP. Complete labels for the same money are level
#   (91.8), as the plan says; the other schemes give 84.6 and 80.0.
# * **All four ranges held.** The medians were too low: by a point for these two, and by 25 for single positives,
#   whose range was 54 points wide.
# * **The price list decides:** paid by the answer, FPC is 10 points ahead of complete labels; paid by the look
#   at a picture, complete labels are ahead.
#
# You will see
#
# * how large a pilot to label, and why completely;
# * the plan on one screen: what to spend, its range, its trust and a first round;
# * the purchase and its runners-up, measured against their ranges, and the regret;
# * a pilot three times as large, and the same pilot at two other price lists.
#
# In full it takes about five minutes on two cores.

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
# Known so far are the number of classes and, roughly, how many of them a picture shows. Prices are the
# default of plans, `hourly`: published seconds of one person for each kind of question, at 15 dollars an
# hour.

# %%
first = simkit.plan_pilot(200, classes=52, per_image=9.5, images=6000)
display(first)

# %% [markdown]
# Complete labels of the pilot hold the answers to whatever a scheme would ask about these images. So every
# scheme is simulated on them and billed for its own questions. The grid is the one under "Grids and
# commands" with our data, schemes and methods. (`scenes` has a test split of 2,000 pictures, which we use
# in place of the 115.)

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
assert not pilot.failures, pilot.failures
simkit.figures.make("cost-curve")(pilot.table)

# %% [markdown]
# Within the pilot, FPC is far ahead of the others for the same money: a model proposes candidates, half of
# them right, and people confirm them, so that present labels of every class come first. RPA asks about one
# class at a time, at one second each, while complete labels take a third of that per class. Naming one class
# of every image ends at 3.44 dollars. All end in complete labels of the pilot: 63.7 mAP, and 69.3 with
# BoostLU.
#
# ## The plan
#
# The pilot and its 115 test images took 30 of the 200 dollars. In a shell: `simkit plan pilot/ --budget 170
# --images 5541`.

# %%
left, images = (20, 600) if quick else (first.rest, first.remaining)
plan = simkit.plan("pilot", left, images=images)
display(plan)

# %% [markdown]
# FPC leads in the pilot, and the plan chooses it for the whole project, though only just: complete labels for
# the same money are better with a probability of 40 %. Trust is low, as the order is for sixteen times the
# pilot's images. So the plan does not order it yet, but a first round of 29 dollars: a part of both, whose
# outcome tells which to go on with.
#
# ## The purchase
#
# Here we can buy the whole order at once, and the runners-up too: on 5,541 pictures that share none with the
# pilot, in five draws, each with other answers and other starting weights.

# %%
project = replace(grid, data=f"scenes:images={images},seed=1{splits}", budgets=(), reference=False)
ways = [plan.chosen, *plan.choice.rivals]
specs = [simkit.schemes.spell(one.option.with_amount(one.amount)) for one in ways]
scores, spent = [], []
for number, (one, spec) in enumerate(zip(ways, specs, strict=True)):
    order = replace(project, schemes=[spec], methods=[one.method], images=one.images)
    runs = simkit.compare(order, out=f"bought/{number}", workers=workers)
    assert not runs.failures, runs.failures
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
# All four ranges hold, and FPC and complete labels are level, as the plan says. The medians are too low: by a
# point for these two, by 5 for RPA, and by 25 for single positives. In the pilot, with one name for each of 344
# pictures, LL-R with BoostLU is behind AN. With sixteen times as many it gives 80.0 mAP for a third of the money.
# The pilot cannot tell how far such labels lead, and a range of 54 points says so.
#
# Four ranges that hold are one test, not twenty: draws differ by 3 points at most, and all stand against one pilot.
#
# ## A pilot three times as large
#
# How much of the range is the size of the pilot? The same money for the same project, planned from a pilot
# of three times as many images, with the two best schemes only:

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
        print(f"{name:12} {way.option.scheme:12} {way.times:.1f} times the pilot's images:", end=" ")
        print(f"{100 * way.median:.1f} mAP, {low:.1f} to {high:.1f}, {high - low:.0f} points wide")

# %% [markdown]
# The choice stays, and its range is 6 points wide and no longer 17. The purchase above gave 91.9: inside the new
# range, but low in it, and two points below its median. So the range is what to read, of the larger pilot too.
#
# The larger pilot costs 45 dollars more and changes no decision here. It pays where the number matters, as for
# a target that has to be reached.
#
# ## Many images weakly, or few images fully?
#
# The question is old, and the answers differ. Durand et al. (CVPR 2019) find a part of the labels of every
# image better than all labels of a part of them, at **equal numbers of labels**. A study of COCO that timed
# its annotators (OpenReview xNf8sOtFbx, 2024) finds a fifth of the images, completely labelled, better at
# **equal time**. Both can be right, as they price a label differently. So do two price lists that come with
# simkit:

# %%
lists = ("openimages", "google")
for name in lists:
    for kind in ("sweep", "verify", "search"):
        rate = simkit.prices(name).rates[kind]
        print(f"{name:10} {kind:6} ${rate.dollars} per {rate.per:8} {rate.source}")

# %% [markdown]
# `openimages` pays for each answer, `google` for each look at a picture, with up to 20 classes asked at once.
# The pilot's questions are on file, so the same runs are priced again, and nothing is trained:

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
        print(f"{name:10} ${way.dollars:4,.0f} {way.option.scheme:11} {way.images:,} images:", end=" ")
        print(f"planned {100 * way.median:.1f} ({low:.1f} to {high:.1f}), bought {own:.1f}")

# %% [markdown]
# * **Paid by the answer: many images, weakly.** FPC asks about the labels that tell most, and spreads them over
#   2,766 pictures, while complete labels of 563 pictures cost as much: FPC is 10 points ahead. The bill leaves
#   out the model that proposes candidates; without one, people look through random pictures (exercise 2).
# * **Paid by the look: few images, fully.** A look at a picture costs the same for 1 class and for 20. So ask
#   about all of them: three looks label a picture completely, and one name costs a third of that. RPA comes
#   near only where it asks about nearly all classes.
# * **Paid by the hour** (above): about level. A second buys three labels of a sweep, or one candidate of FPC.
#
# So "weakly or fully" is a question about prices. The plan's answers, from 344 pictures, are right all three times.

# %% [markdown]
# What this notebook claims, checked:

# %% tags=["remove-input"]
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
# ## What was seen
#
# | question | here | in the papers |
# |---|---|---|
# | does the range hold, far beyond the pilot? | yes, four of four (14 to 54 points wide, at 8 to 16 times the pilot) | not asked in any of the five |
# | how good is the choice? | regret 0.0 points; the runner-up is about level, as planned | not asked |
# | what does a larger pilot change? | the range, 6 points for 17; no decision | not asked |
# | equal price for an answer: many images weakly or few fully? | many, weakly: FPC 91.0, complete labels 81.0 | many, weakly (Durand et al., CVPR 2019; Kim et al., CVPR 2022, Fig. 6, at equal numbers of labels) |
# | equal price for a look at an image? | few, fully: complete labels 90.4, RPA 88.9 for 123 dollars | few, fully, at equal time (OpenReview xNf8sOtFbx) |
#
# A plan is about the order of purchases first, and about mAP second: the unknowns (how a curve goes on, how lucky
# the draws were) move all purchases together, so differences are known better than each number. What no plan
# knows: whether prices stay, whether people err otherwise than assumed, and what another network would make of
# the same labels.
#
# **Exercises.** 1. Ask for the cheapest purchase that reaches 85 mAP: `simkit.plan("pilot", left, images=images,
# target=85)`. What does it cost, and is 85 reached? 2. Add `fpc(search='random')` to the schemes of the pilot:
# at which of the three price lists does FPC pay without a model that proposes candidates?
#
# Next: [memorisation and large losses](06_memorisation_and_large_loss.ipynb).
