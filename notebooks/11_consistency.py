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
# # Can a method trust what it said before?
#
# A method that never sees the labels that are missing may ask its own **memory**: what did I say of this
# picture in earlier epochs, when it was cropped and mirrored in other ways? *Spatial Consistency Loss*
# (Verelst et al.) builds three things on that. **EN** leaves labels out of the loss that the memory
# expects to be present. **CL** holds what the model says of a picture close to the memory. **SCL** does
# the same place by place, with a **heat map** for every picture and class, since a crop may have cut off
# the one object that was named.
#
# You will see
#
# * what leaving out, learning from and counting expected positives are worth;
# * how many to expect, how long a memory to keep, and which distance to measure;
# * heat maps of pictures, how they come about, and what SCL makes of them;
# * how sure each model is of what it ranks highest;
# * whether SCL helps small objects, and pictures of few or of many classes.
#
# In full it takes about five minutes on a laptop. It goes on where
# [the notebook on explanations](07_explanations.ipynb) ends.

# %%
# %matplotlib inline
import os
import tempfile
import warnings

import numpy as np

import simkit
from simkit.study.analysis.comparing.ablation import ablation
from simkit.study.analysis.comparing.sweep import sweep
from simkit.study.grids.grid import Grid, demo
from simkit.study.material.material import Source, open_material

quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"

# %%
warnings.simplefilter("ignore", UserWarning)  # they come again as notes of a comparison
folder = tempfile.TemporaryDirectory()
draw = simkit.figures.make
data = "scenes:images=300,val=60,test=100" if quick else "scenes:images=3000,val=300,test=1000"
scenes = open_material(Source(data, ("train", "test"), ("maps",), "scenes-net"))
train, test, maps = scenes.truth("train"), scenes.truth("test"), scenes.inputs("test", "maps")
how = {"schemes": ["single-positive"], "data": scenes.data.spec, "draws": 2 if quick else 3}
how |= {"train": demo().train, "reference": False}

# %% [markdown]
# ## Expected negatives
#
# Of every label a moving average is kept of what was said in each epoch. If a picture shows K classes on
# average, the highest averages are **expected positives**: EN leaves them out of AN's loss, EP learns from
# them as if they had been named. EPR has no memory, it only wants K classes in a picture. First without
# pixels: linear heads on features, K as it is in truth, every method without and with CL.

# %%
K = round(train.counts.sum() / len(train.images), 1)
eight = [f"{name}{more}" for more in ("", "+cl") for name in
         ("an", f"en(expected={K})", f"ep(expected={K})", f"epr(expected={K})")]
grid = Grid(methods=eight, **how)
expected = ablation(simkit.compare(grid, out=f"{folder.name}/expected", workers=1).table, "an")
draw("ablation")(expected)

# %%
worth = {row["method"]: row for row in expected.to_pylist()}
an, en, ep, epr = (worth[name]["mean"] for name in eight[:4])
assert quick or (en > max(ep, epr) + 0.02 and en > an)
assert quick or (worth[eight[1]]["gap_low"] > 0.05 and ep < an - 0.02)
assert quick or en - worth[eight[5]]["mean"] > 0.015 > abs(worth["an+cl"]["gap"])

# %% [markdown]
# **Leaving out** what is expected is worth ten points, **learning from it** costs five: what is expected
# by mistake is confirmed by its own gradient, as the paper says. All that is as there. CL is not: it gains
# nothing with AN and costs three points with EN. Where its average was wrong in the beginning, the loss
# holds on to that, and what begins as 0 is one time in six a class that is there. Which distance it
# measures matters less than how much it counts:

# %%
near = [f"{eight[1]}+cl(distance={d},weight={w})" for d in ("l1", "l2", "jsd")
        for w in ((1,) if quick else (0.1, 1))]
grid = Grid(methods=near, **how)
runs = simkit.compare(grid, out=f"{folder.name}/near", workers=1).table.to_pandas()
distance = runs.groupby("method")["map"].mean()
print((100 * distance).round(1).to_string())
faint, plain = distance[near[0::2]], distance[near[1::2]]
assert quick or faint.min() > plain.max() + 0.005
assert quick or (abs(faint - en).max() < 0.01 and plain.max() - plain.min() < 0.03)

# %% [markdown]
# ## How many, and how long a memory?
#
# Two numbers have to be chosen: **K**, and the share **mu** of the old that stays in the average.

# %%
ks = [2, K, 16] if quick else [2, 5, 7, K, 12, 16]
mus = [0, 0.8] if quick else [0, 0.4, 0.8, 0.95]
tried = [f"en(expected={k})" for k in ks] + [f"en(expected={K},mu={mu})" for mu in mus if mu != 0.8]
grid = Grid(methods=tried, **how)
chosen = simkit.compare(grid, out=f"{folder.name}/chosen", workers=1).table
of_k, of_mu = sweep(chosen, "expected"), sweep(chosen, "mu")
draw("sweep")(of_k)

# %%
from simkit.study.analysis.explaining.models import models
from simkit.study.analysis.explaining.object_size import object_size, positives

low, high = f"en(expected={ks[0]})", f"en(expected={ks[-1]})"
several = [models(scenes, [low, tried[ks.index(K)], high], "single-positive", settings=demo().train, draw=n)
           for n in range(how["draws"])]
counted = positives(several, maps, test, counts=(2, 3, 4, 5), at_least=6, classes=scenes.data.leaves)
draw("by-part", base=tried[ks.index(K)])(counted)

# %% [markdown]
# Too few is worse than too many: with K of 2 three to five points are lost, whatever the picture shows, and
# beyond the truth nothing is. The paper's curve has its best value just below the truth, and there a
# large K suits pictures of many classes and a small one those of few. Of that only one side is to be
# seen: what is left out by mistake costs hardly anything here, one label of many that say "absent".

# %%
heights = {row["number"]: row["mean"] for row in of_k.to_pylist()}
flat = {row["number"]: row["mean"] for row in of_mu.to_pylist()}
print("K:", {k: round(100 * height, 1) for k, height in heights.items()})
print("mu:", {mu: round(100 * height, 1) for mu, height in flat.items()})
assert quick or (abs(heights[16] - heights[K]) < 0.015 and heights[K] > heights[2] + 0.03)
by_part = counted.to_pandas().groupby(["part", "method"])["map"].mean().unstack()
assert quick or (by_part[tried[ks.index(K)]] - by_part[low]).min() > 0.015
assert quick or (flat[0.8] > flat[0] + 0.005 and abs(flat[0.8] - flat[0.4]) < 0.01)

# %% [markdown]
# ## From pixels, through crops
#
# Now the network learns along, from crops of a quarter to all of the picture, mirrored or not: first its
# head alone, then all. SCL keeps a heat map of 16 x 16 cells for each picture and class; a crop changes,
# and is compared with, the part of it that it shows. `weight=0` keeps the maps and leaves the loss away:
# that is EN, watched. The pictures are few and the epochs 13 in all, where the paper has 30.

# %%
from simkit.learn.methods import make
from simkit.learn.steps.optim import Settings
from simkit.study.analysis.explaining.from_pixels import from_pixels
from simkit.study.analysis.explaining.heat_maps import HeatMaps, heat_maps, located
from simkit.study.material.shown import Shown

few = simkit.data.open(f"scenes:images={80 if quick else 600},val=1,test={60 if quick else 1000}")
short = Settings(epochs=3 if quick else 8, batch_size=16, lr=3e-4, schedule="cosine",
                 head_epochs=5, head_lr=0.01, head_then="go-on")
without, spatial = f"en(expected={K})+scl(weight=0)", f"en(expected={K})+scl"
kept = {name: HeatMaps(make(name), range(80 if quick else 200)) for name in (without, spatial)}

# %%
from simkit.learn.feeding.inputs import ImageInputs

tuned = from_pixels(
    few, ["full", "an", without, spatial], "single-positive", settings=short,
    shown=Shown(crop=(0.25, 1)), watch={name: [one] for name, one in kept.items()},
)
seen = few.truth["test"], few.boxes["test"]
pixels = ImageInputs(few.pictures["test"])

# %% [markdown]
# ## Heat maps
#
# One training picture and three classes: the one that was named, one that is there and was not named, and
# one that is not there (each time the one whose map is brightest without SCL). Maps begin at 1 for what
# is named and at 0 for all else. "Before" is after the five epochs of the head.

# %%
bought = {"hierarchy": few.hierarchy, "boxes": few.boxes["train"]}
known = simkit.simulate(few.truth["train"], "single-positive", **bought)
about = {"labels": known, "truth": few.truth["train"], "boxes": few.boxes["train"]}
drawn = np.isin(np.arange(len(train.classes)), few.boxes["train"].classes)
first = range(len(kept[spatial].images))
there, named = few.truth["train"].rows(first) & drawn, (known.rows(first) == 1) & drawn
last = kept[without].maps[short.epochs].mean((2, 3))
n = int(np.flatnonzero(named.any(1) & ((there & ~named).sum(1) > 1))[0])
columns = [np.argmax(named[n]), np.argmax(np.where(there[n] & ~named[n], last[n], -1))]
columns += [np.argmax(np.where(drawn & ~there[n], last[n], -1))]
picks = [(n, train.classes[c]) for c in columns]

# %%
picture = tuple(few.pictures["train"].read([n] * 3))
epochs = [0, 1, 2, 3] if quick else [0, 1, 2, 4, 6, 8]
draw("heat-maps", pictures=picture)(heat_maps({spatial: kept[spatial]}, picks, epochs=epochs, **about))

# %%
draw("heat-maps", pictures=picture)(heat_maps(kept, picks, epochs=epochs[-1:], **about))

# %% [markdown]
# Objects stand out in maps that began with nothing: the circle was never named in this picture. With SCL
# all is fainter, what is right and what is wrong: the square that is not there nearly vanishes, and so does
# the triangle. The rim of a named class keeps its first 1, since crops show the middle of a picture more
# often than its edges. Over 200 training pictures and all classes that have boxes:

# %%
found = located(kept, **about)
draw("heat-located")(found)

# %%
end = {(r["model"], r["kind"]): r for r in found.to_pylist() if r["epoch"] == short.epochs}
for (name, kind), row in end.items():
    print(f"{name:32} {kind:20} mean {row['mean']:.3f}", end="")
    print("" if kind == "negative" else f", inside {row['inside']:.3f}, outside {row['outside']:.3f}"
          f", highest place inside {row['hits']:.0%}")
assert all(end[m, "annotated positive"]["mean"] > 3 * end[m, "unannotated positive"]["mean"] for m in kept)
assert end[spatial, "negative"]["mean"] < end[without, "negative"]["mean"] + 0.005
hidden = [end[m, "unannotated positive"] for m in (without, spatial)]
assert quick or min(row["inside"] / row["outside"] for row in hidden) > 3
assert quick or (hidden[0]["inside"] > 2 * hidden[1]["inside"] and hidden[0]["hits"] > hidden[1]["hits"])
assert quick or end[without, "negative"]["mean"] > 2 * end[spatial, "negative"]["mean"]

# %% [markdown]
# ## Shy models
#
# Who learns from single positives hears "absent" nearly always. Of each test picture the four highest
# probabilities:

# %%
from simkit.study.analysis.explaining.top_scores import medians, top_scores

tops = top_scores(tuned, pixels, classes=few.leaves)
draw("top-scores")(tops)

# %%
middle = medians(tops)
for name, values in middle.items():
    print(f"{name:32} medians {', '.join(f'{value:.2f}' for value in values)}")
assert middle["full"][0] > middle["an"][0]
assert quick or middle["full"][2] > middle[without][2] > middle["an"][2]
assert quick or middle[without][0] > 2 * middle[spatial][0] > 3 * middle["an"][0]

# %% [markdown]
# ## Small objects, few and many classes
#
# SCL costs least where objects are small, for which the paper's appendix D reports an improvement. Below
# the figure, what the paper's ImageNet table has: top-1, mAP over leaves, and mAP of pictures with 2, with
# 3, and with 4 or more present leaves.

# %%
consistent = {name: tuned[name] for name in ("an", without, spatial)}
sizes = object_size([consistent], pixels, *seen)
draw("by-part", base=without)(sizes)

# %%
sized = {(r["method"], r["part"].split(",")[0]): r["map"] for r in sizes.to_pylist()}
lost = {part: 100 * (sized[without, part] - sized[spatial, part]) for part in ("small", "large")}
print("lost by SCL:", {part: round(points, 1) for part, points in lost.items()})
assert quick or lost["large"] > lost["small"] + 1

# %%
from simkit.learn.metrics import average_precision, mean_ap, top1

parts = positives([tuned], pixels, seen[0], counts=(2, 3), classes=few.leaves).to_pylist()
reached = {}
for name, model in tuned.items():
    scores = model.scores(pixels)[:, few.leaves]
    present = seen[0].present[:, few.leaves]
    values = [100 * row["map"] for row in parts if row["method"] == name]
    reached[name] = 100 * mean_ap(average_precision(scores, present))
    print(f"{name:32} top-1 {100 * top1(scores, present):.1f}, mAP {reached[name]:.1f};", end=" ")
    print(f"by classes {' '.join(f'{value:.1f}' for value in values)}")
assert reached["full"] > max(reached[name] for name in ("an", without, spatial)) + 5
assert quick or reached[spatial] < reached[without] - 1

# %% [markdown]
# ## What was seen
#
# | question | here | the paper |
# |---|---|---|
# | Does EN beat AN? | heads: 65.2 against 54.8; from pixels 34.6 against 34.9 | 72.3 against 69.4 (Table 2) |
# | Is it better to leave out or to learn from what is expected? | leave out: EP 49.9, EN 65.2; + CL 50.8, 62.3 | EP + CL 65.8, EN + CL 72.4 (Table 2) |
# | And EPR? | below both AN and EN: 53.1; + CL 52.3 | EPR + CL 71.7, between AN and EN (Table 2) |
# | What is CL worth to AN and EN? | +0.1; -2.9. At a tenth of its weight nothing | +0.7; +0.1 (Table 2) |
# | And SCL, from pixels? | to EN -3.9 | to AN +0.8, to EN +1.4 (Table 2) |
# | Which K? | 12, and level from the true 9.5 on | 2.5, the truth being 2.9 (Fig. 5c) |
# | Does K favour pictures of few or of many classes? | too small a K costs all of them | small few, large many (Fig. 5d) |
# | Which mu? | any from 0.4 on; 0 costs 1.5 | 0.8 (Fig. 5b) |
# | Do heat maps find what was not named? | highest place inside for 61%, with SCL 51% | in the pictures shown (Figs 2, 3) |
# | Does SCL avoid false places? | negatives 0.022 becoming 0.009 | yes (Fig. 4) |
# | Does it find objects more precisely? | no: inside to outside 4.4 without, 3.5 with | yes (Fig. 4) |
# | Who is shy? Median of the highest probability | full 1.00, EN 0.76, EN + SCL 0.21, AN 0.10 | AN low, EN + SCL more akin to full (Fig. 5a) |
# | Do small objects gain most by SCL? | they lose least | an improvement is reported (appendix D) |
# | Which distance? | l2, JSD and l1 within 1.3 points, level at a tenth of the weight | studied (appendix E) |
# | Top-1: AN, EN + SCL | 80.9, 77.8; EN 84.5 | 83.1, 83.9 on ReaL (Table 3) |
#
# The paper's first half is here, and larger: **leaving out** what the memory expects is a good idea,
# **learning from it** is the worst. Its second half is not. CL and SCL hold a model to a memory that begins
# with "absent" for all that was not named. In the paper's COCO that is wrong for two labels in eighty, here
# for nearly nine in fifty-two. The curves over the epochs show it: without SCL the maps of what was not
# named rise, with it they stay where they were.
#
# We looked for the reason in what differs (`benchmarks/results/consistency.md`, one draw each), and found
# none that is enough alone: with three times as many epochs SCL still costs three points, with 80% of all
# positives named six, with a shorter memory (mu 0.5) three. A tenth of the weight costs nothing and gains
# nothing. The network is another one and small; it has learned these classes before, from other pictures,
# and its maps find objects in the beginning. The area of crops (appendix C) was not swept. From so few
# pictures EN is not ahead of AN either; heads on 3,000 pictures gain ten points.
