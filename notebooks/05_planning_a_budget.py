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
# Somebody has 6,000 pictures, 52 classes, no labels, and $600. What should be labelled, and how well
# will it work? This notebook goes the whole way: a small pilot, a plan made from it, the purchase that
# the plan recommends, and a look at whether it kept its word. The pictures are those of `scenes`,
# whose labels are all known, so that here we can also buy what the plan advised against.
#
# You will see
#
# * which pilot to label first, and what it costs;
# * the plan: one sentence, a band, a bill, runners-up, and what would change the answer;
# * the purchase itself, measured against the band;
# * *many images weakly or few images fully?* asked of two price lists, which answer differently.
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
from IPython.display import display

import simkit
from simkit.study.grids.grid import Grid, demo

# %%
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
workers = 1 if quick else None
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
warnings.simplefilter("ignore", UserWarning)  # they come again as notes of a comparison
images, budget = 700 if quick else 6000, 600
train = replace(demo().train, epochs=4) if quick else demo().train

# %% [markdown]
# ## Before anything is labelled
#
# Nothing is known yet but how many classes there are and, roughly, how many of them a picture shows.
# The price list `openimages` asks $0.0058 for an answer, whatever the question.

# %%
ways = ("full-subset", "rpa", "single-positive")
first = simkit.plan_pilot(
    budget, prices="openimages", classes=52, per_image=9.5, images=images, schemes=ways
)
display(first)

# %% [markdown]
# Complete labels of a few hundred images answer for every scheme, but for these images only: as it says,
# there RPA soon has no more to ask. How RPA or single positives do when they are **spread over all
# 6,000** we want to see, so we take the sizes of complete labels and let every scheme choose among all
# images. That costs each scheme's largest size once, which comes on top of the $600 here. And `scenes`
# has a test split of 2,000 pictures, so that none has to be paid for.

# %%
sizes = first.pilot.parts[0].budgets
grid = Grid(
    schemes=ways,
    methods=["an", "ll-r"] if quick else ["an", "ignore", "ll-r"],
    budgets=sizes,
    prices="openimages",
    draws=2 if quick else first.pilot.draws,
    data=f"scenes:images={images}{',val=50,test=200' if quick else ''}",
    reference=False,
    train=train,
)

# %%
pilot = simkit.compare(grid, out="pilot", workers=workers)
assert not pilot.failures, pilot.failures
spent = pilot.table.to_pandas().groupby("scheme").dollars.max()
print(f"sizes {', '.join(f'${one:.2f}' for one in sizes)}; largest by scheme:")
print(spent.round(2).to_string())
print(f"together ${spent.sum():.2f}")

# %%
simkit.figures.make("cost-curve")(pilot.table)

# %% [markdown]
# One name for each image is cheap. Single positives end at $34.80, where every image has been asked
# about, and up to there nothing comes near them. Of the three methods LL-R makes the most of them;
# Ignore learns nothing, as nothing says "absent". RPA buys as many answers as complete labels do, of
# more images, and is ahead of them all along. One might stop here. The plan looks further.
#
# ## The plan
#
# The same as `simkit plan pilot/ --budget 600 --images 6000 --target 0.8` in a shell.

# %%
fits = {"resamples": 20 if quick else 200}
plan = simkit.plan("pilot", budget, images=images, target=0.8, **fits)
display(plan)

# %% [markdown]
# The leader of the pilot is not what to buy: its images run out long before the money does. Complete
# labels and RPA overtake it at one or two hundred dollars, and between these two the plan is not sure;
# the interval of their difference holds 0. The bands are wide. They have to be: the pilot is small, its
# curves are steep where it ends, and \$600 lie nearly nine times beyond it (amber).
#
# ## The purchase
#
# Now buy it, five times: with another seed, so that other images, answers and starting weights come
# up than in the pilot. And, because here we can, buy the runners-up too, and everything for \$100 as
# well, for later.

# %%
little = 100
real = replace(grid, budgets=[little, budget], seed=1, draws=2 if quick else 5)
bought = simkit.compare(real, out="bought", workers=workers)
assert not bought.failures, bought.failures
runs = bought.table.to_pandas()
there = runs[runs.budget == budget]

# %%
told = {line.way: line for line in reversed(plan.lines)}  # the best method of each way comes first
figure, axes = plt.subplots(figsize=(7.5, 4.2))
for colour, line in zip(("#0072B2", "#E69F00", "#009E73"), told.values(), strict=False):
    own = there[(there.scheme == line.way) & (there.method == line.method)]
    low, middle, high = (100 * np.array(one) for one in (line.low5, line.median, line.high95))
    axes.fill_between(line.dollars, low, high, color=colour, alpha=0.15, lw=0)
    axes.plot(line.dollars, middle, color=colour, label=f"{line.way}, {line.method}")
    axes.plot(*zip(*((x, 100 * y) for x, y in line.points), strict=True), ".", color=colour)
    axes.plot(own.dollars, 100 * own["map"], "x", color=colour, ms=8)
axes.set(xscale="log", xlabel="dollars of labels, log axis", ylabel="mAP on the test split, points")
axes.xaxis.set_major_formatter("${x:,.0f}")
_ = axes.legend(frameon=False, title="dots: pilot, band: plan, crosses: bought")

# %% [markdown]
# Within the pilot the lines go through what it measured; beyond it they go on as the curves that were
# fitted to it. There, the median that the plan gave, its 90 % band, and the five purchases:

# %%
held = {}
for line in told.values():
    own = 100 * there[(there.scheme == line.way) & (there.method == line.method)]["map"]
    low, middle, high = 100 * line.low5[-1], 100 * line.median[-1], 100 * line.high95[-1]
    held[line.way] = ((low <= own) & (own <= high)).mean()
    print(f"{line.way:16} {line.method:7} planned {middle:.1f} ({low:.1f} to {high:.1f}),", end=" ")
    print(f"bought {', '.join(f'{x:.1f}' for x in own)}: {100 * held[line.way]:.0f} % inside")

# %% [markdown]
# The plan said more than that of its choice: where mAP is as likely inside as outside, what is reached
# four times in five, and how likely the target of 80 is.

# %%
one = plan.chosen
own = 100 * there[(there.scheme == one.way) & (there.method == one.method)]["map"]
low, high, least = 100 * one.band50[0], 100 * one.band50[1], 100 * one.low20
half, target = ((low <= own) & (own <= high)).sum(), 100 * plan.target
of = f"of {len(own)} bought"
print(f"bought: {own.mean():.1f} on average; the median said {100 * one.median:.1f}")
print(f"{low:.1f} to {high:.1f}, as likely inside as outside: {half} {of} inside")
print(f"{least:.1f} or more four times in five: {(own >= least).sum()} {of}")
print(f"{target:.1f} or more with a chance of {one.chance:.0%}: {(own >= target).sum()} {of}")

# %% [markdown]
# And the choice's lead over what was not chosen, in points, paired by draw:

# %%
scores = there.pivot(index="draw", columns=["scheme", "method"], values="map")
lead = {}
for one in plan.rivals:
    gain = 100 * (scores[plan.chosen.way, plan.chosen.method] - scores[one.way, one.method])
    lead[one.way, one.method] = gain.mean()
    span = f"{100 * one.difference:+5.1f} ({100 * one.low5:+5.1f} to {100 * one.high95:+5.1f})"
    print(f"{one.way:16} {one.method:7} planned {span}, bought {gain.mean():+5.1f}")

# %% [markdown]
# Whoever followed the plan chose well: it cost next to nothing against the best that could have been
# had. Complete labels and RPA come out level, as the plan left open; single positives are far behind
# both, as it said. But the mAP it promised is too high, by about five points. That is within its 90 %
# band; its 50 % band holds hardly any of the purchases, and the target of 80, which had a chance of nearly
# four in five, is reached about as often as missed. The five purchases are one test of the plan, not five:
# they differ by less than a point, and all stand against one pilot, whose curve goes too high.
# The band of single positives is wide although it lies within the pilot: all draws bought the same
# there, a name for every image, and that says nothing about luck.
#
# ## Many images weakly, or few images fully?
#
# The question is old (Kim et al., CVPR 2022, ask it for Large Loss in their Fig. 6), and the answers
# differ. Durand et al. (CVPR 2019) found a part of the labels of every image better than all labels of
# a part of them, at **equal numbers of labels**. A study of COCO that timed its annotators
# (OpenReview xNf8sOtFbx, 2024) found a fifth of the images, completely labelled, better at **equal
# time**. Both can be right, if a label does not cost the same in both. Take $100 and two price lists
# that come with simkit:

# %%
lists = ("openimages", "google")
for name in lists:
    rates = simkit.prices(name).rates
    for kind in ("sweep", "verify", "name"):
        print(
            f"{name:10} {kind:6} ${rates[kind].dollars} per {rates[kind].per:8} {rates[kind].source}"
        )

# %% [markdown]
# One list pays for answers. The other pays for looks at a picture: a pass over it costs the same
# whether one class is asked about or 20 are. The pilot's questions are on file, so that the same runs
# are priced again, and nothing is trained:

# %%
plans = {name: simkit.plan("pilot", little, images=images, prices=name, **fits) for name in lists}
for name, one in plans.items():
    print(f"{name}: {one.recommendation}\n")

# %%
for name, one in plans.items():
    print(f"{name}, ${one.chosen.total:,.0f}:")
    others = [rival.told for rival in one.rivals if rival.way != one.chosen.way]
    print(*(f"    {text}" for text in [*one.warnings, *others]), sep="\n")

# %% [markdown]
# Where answers are paid for, ask about every picture, one class each; 65 of the 100 dollars are left,
# as there are no more pictures. Where looks are paid for, make the most of each look. Is it so? The
# first was bought above; now the second, at the other list's prices:

# %%
pages = replace(real, budgets=[little], prices="google")
other = simkit.compare(pages, out="pages", workers=workers)
assert not other.failures, other.failures
measured = {"openimages": runs[runs.budget == little], "google": other.table.to_pandas()}

# %%
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(8.5, 3.8))
for panel, (name, one) in zip(panels, plans.items(), strict=True):
    lines = {line.way: line for line in reversed(one.lines)}
    for line in (lines[way] for way in ways if way in lines):
        own = measured[name].query("scheme == @line.way and method == @line.method")
        at = [np.interp(own.dollars.mean(), line.dollars, y) for y in (line.low5, line.high95)]
        spot = f"{line.way}\n{line.method}"
        panel.plot([spot, spot], 100 * np.array(at), color="#c6d8e8", lw=9)
        panel.plot([spot] * len(own), 100 * own["map"], "x", color="#0072B2")
    panel.set(title=f"${little} at {name} prices", xmargin=0.3)
_ = panels[0].set_ylabel("mAP (bars: plan, crosses: bought)")

# %%
best = {}
for name, table in measured.items():
    labels = table.assign(labels=table.present + table.absent, points=100 * table["map"])
    means = labels.groupby(["scheme", "method"])[["images", "labels", "points"]].mean()
    best[name] = means.loc[means.groupby("scheme").points.idxmax()].droplevel("method").points
    print(f"${little} by {name}\n{means.loc[means.groupby('scheme').points.idxmax()].round(1)}\n")

# %%
for name, table in measured.items():
    one = plans[name].chosen
    own = 100 * table[(table.scheme == one.way) & (table.method == one.method)]["map"]
    print(f"{name}: {one.way}, planned {100 * one.median:.1f}, bought {own.mean():.1f}")
    for share, band in ((90, one.band90), (50, one.band50)):
        low, high = 100 * band[0], 100 * band[1]
        inside = ((low <= own) & (own <= high)).sum()
        print(f"    {share} % band {low:.1f} to {high:.1f}: {inside} of {len(own)} inside")

# %% [markdown]
# The same again: the plan that stays where its pilot was is right; the one that goes four times beyond
# its pilot says which way to go, and some five points too much.
#
# * **Paid by the answer: many images, weakly.** A name for every image beats the rest of what \$100 buy
#   here. And of two purchases with the same number of answers at the same price, the one that spreads
#   them over all images (RPA) beats the one that completes a few.
# * **Paid by the look: few images, fully.** \$100 pay for all 52 labels of 952 images, or for one label
#   of each of 2,857, by name or by yes and no. The first is ahead by far.
# * The first answer has its limit: at \$600, above, complete labels were level with RPA, and nothing was
#   left to name.
#
# ## What a plan cannot know
#
# * **Whether the curve goes on as it began.** Here it flattens earlier than was thought. That is what the
#   90 % band is about, and why to buy in rounds: after the first, the curve is fitted again, to a point
#   much nearer to the end.
# * **Whether the price is the price.** That naming a class costs one answer is an assumption of the list
#   `openimages`, and the answer above hangs on it: \$100 name a class of every image as long as a name
#   costs less than 1.7 cents.
# * **Other people, other pictures, another network.** Nobody erred here; all is about `scenes`, a linear
#   head on frozen features, and this test split.
# * **How lucky a small pilot is.** Each draw here came from all 6,000 images; a pilot of 224 draws from
#   its own 224 again and again, and its spread looks smaller than it is.
# * **What else labels are for.** Complete ones can be tested on, and serve the next model, too.
#
# What this notebook claims, checked:

# %%
regret = 100 * (scores.mean().max() - scores.mean()[plan.chosen.way, plan.chosen.method])
print(f"behind the best that could have been bought for ${budget}: {regret:.1f} points")
assert quick or plan.chosen.way in ("full-subset", "rpa")
assert quick or held[plan.chosen.way] == 1
assert quick or (half <= len(there.draw.unique()) / 2 and plan.chosen.chance > 0.6)
assert quick or regret < 1.5
assert quick or plan.rivals[0].low5 < 0 < plan.rivals[0].high95
assert quick or lead["single-positive", "ll-r"] > 5
assert quick or plans["openimages"].chosen.way == best["openimages"].idxmax() == "single-positive"
assert quick or plans["google"].chosen.way == best["google"].idxmax() == "full-subset"
assert quick or best["openimages"]["rpa"] > best["openimages"]["full-subset"] + 1
assert quick or best["google"]["full-subset"] > best["google"].drop("full-subset").max() + 5

# %% [markdown]
# ## What was seen
#
# | question | here | in the papers |
# |---|---|---|
# | does the plan keep its word at 8.9 times its pilot? | in part: 85.3 was planned and 79.4 to 80.2 bought, all five within the 90 % band (74.3 to 93.3), none within the 50 % band (80.7 to 88.7) | not asked in any of the five |
# | and is the target of 80 reached? | by three of five, on average 79.9; a chance of 79 % was promised | not asked |
# | and at four times its pilot, by Google's prices? | 81.1 was planned (69.6 to 87.8) and 75.4 bought | not asked |
# | is there anything better for $600? | RPA by 0.7 points, which the plan left open | not asked |
# | equal price for an answer: many images weakly or few fully? | many, weakly: RPA 67.0, complete labels 63.7 for as many answers | many, weakly (Durand et al., CVPR 2019; Kim et al., CVPR 2022, Fig. 6, at equal numbers of labels) |
# | equal price for a look at an image? | few, fully: 75.4 against 62.3 and 44.8 | few, fully, at equal time (OpenReview xNf8sOtFbx) |
#
# The two papers that seem to disagree both hold here: what decides is whether an answer or a look is paid
# for. The plan's median was five points too high, twice: the curves of a small pilot are steep where it
# ends. Its 90 % bands, which are wide for that reason, held; its 50 % bands and its chance of the target
# did not. So far beyond a pilot, read the choice and the wide band, and take the rest from the next round.
#
# Next: [memorisation and large losses](06_memorisation_and_large_loss.ipynb).
