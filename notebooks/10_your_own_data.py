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
# # Your own images: what should be labelled next?
#
# **Result.** simkit plans what labels to buy for 400 dollars from 168 labelled images. It prefers complete labels
# of 1,672 images, with a predicted mAP of 70.3 (range 56 to 84). Half of the labels of 3,159 images do not differ
# significantly (70.2), so first buy a small round of each, 72 dollars together (148 images completely, 447 in part,
# chosen at random), and plan again. For the same money, five annotators per question (29 mAP) are worth less than
# one annotator for five times the images (47).
#
# **Run it.** `%pip install -q "..[notebooks]"` once (in this folder). 30 seconds in full on two cores,
# `SIMKIT_SIZE=quick` takes 25 seconds.

# %% [markdown]
# You have a folder of images, a table with labels of some of them, many more images without labels, and a budget.
# By default this chapter creates a folder of synthetic images. To run it on yours, set two environment variables,
# or the two paths below:
#
# * `SIMKIT_FOLDER`: the folder of your images, with `labels.csv` in it;
# * `SIMKIT_WEIGHTS`: for photographs, a file of weights for MobileNetV2 (`simkit list backbones`).
#
# [Chapter 13](13_photographs.ipynb) tests the papers' findings on such a folder.

# %%
# %matplotlib inline
import csv
import os
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import display
from PIL import Image

import simkit

# %%
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
given = os.environ.get("SIMKIT_FOLDER", ""), os.environ.get("SIMKIT_WEIGHTS", "")  # your two paths
FOLDER, WEIGHTS = (path and Path(path).expanduser().resolve() for path in given)
BUDGET, PRICES, IMAGES = 400, "openimages", 10_000  # dollars, price list, images without labels
NETWORK = {"backbone": "scenes-net"}
if WEIGHTS:
    NETWORK = {"backbone": "mobilenet_v2", "weights": str(WEIGHTS)}
work = tempfile.TemporaryDirectory()
os.chdir(work.name)

# %% [markdown]
# ## The folder
#
# Images, and `labels.csv` with the columns `file` and `class`: one row for each present class of an image. A table
# with a column of 1 and 0 for each class works as well.

# %%
scenes, many = simkit.data.open("scenes"), 60 if quick else 300
names, rows = [f"{n:03}.png" for n in range(many)], [("file", "class")]
if drawn := not FOLDER:
    FOLDER = Path("my_images")
    FOLDER.mkdir()
    for name, image in zip(names, scenes.pictures["train"].read(range(many)), strict=True):
        Image.fromarray(image).save(FOLDER / name)
    shown = scenes.truth["train"].rows(range(many))[:, scenes.leaves]
    rows += [(names[n], scenes.classes[scenes.leaves[c]]) for n, c in zip(*np.nonzero(shown), strict=True)]
    csv.writer(open(FOLDER / "labels.csv", "w", newline="")).writerows(rows)
print(*(FOLDER / "labels.csv").read_text().splitlines()[:4], sep="\n")

# %% [markdown]
# Methods are evaluated on images that they have not seen. If the table has no column `split`, `test=0.3` holds out
# three tenths of the images for testing; a fifth of the others is for validation.

# %%
DATA = f"folder:{FOLDER},labels=labels.csv"
data = simkit.data.open(DATA)
if "test" not in data.truth:
    DATA += ",test=0.3"
    data = simkit.data.open(DATA)
train, test = data.truth["train"], data.truth["test"]
N, L = train.shape
print(*(f"{split}: {truth.shape[0]} images" for split, truth in data.truth.items()), sep="\n")
print(f"{L} classes, {train.counts.sum() / N:.1f} of them in an image")

# %% [markdown]
# Which images `test=0.3` holds out depends on their number. So save the split in a second table before you add
# images: a column `split`, and one for each class with 1, 0, or -1 for unknown.

# %%
rows = [("file", "split", *data.classes)]
for split in ("train", "val", "test"):
    truth = data.truth[split]
    cells = truth.rows(range(len(truth.images))).astype(int)
    if truth.known is not None:
        cells[~truth.known.toarray()] = -1
    rows += [(name, split, *row) for name, row in zip(truth.images, cells, strict=True)]
if "test=" in DATA:  # else your table says it already
    with open(FOLDER / "labels_split.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)

# %% tags=["remove-input"]
if "test=" in DATA:
    for split, truth in simkit.data.open(f"folder:{FOLDER},labels=labels_split.csv").truth.items():
        assert list(truth.images) == list(data.truth[split].images)
        assert (truth.present != data.truth[split].present).nnz == 0

# %%
images = data.pictures["train"].read(range(6))
figure, panels = plt.subplots(1, 6, figsize=(9, 2.2))
for panel, image, row in zip(panels, images, train.rows(range(6)), strict=True):
    found = [data.classes[c] for c in np.flatnonzero(row)]
    panel.imshow(image)
    panel.set_axis_off()
    more = f"\nand {len(found) - 4} more" if len(found) > 4 else ""
    panel.set_title("\n".join(found[:4]) + more, fontsize=8)
_ = figure.tight_layout()

# %% [markdown]
# Do the labels match the images? A shifted table is the most common error, and no later step would detect it. Check
# the rarest classes too: mAP excludes a class that is in no test image.

# %%
order = np.argsort(train.counts, kind="stable")
for c in order[:5]:
    print(
        f"{data.classes[c]:16} in {train.counts[c]:3} training and {test.counts[c]:3} test images"
    )
lost = int((test.counts == 0).sum())
print(f"{lost} of {L} classes are in no image of the test split")

# %% [markdown]
# ## What the network sees
#
# A pretrained network computes the features of every image once; small heads are trained on these. So images with
# similar features should share classes.

# %%
from simkit import Source, open_source

warnings.simplefilter("ignore", UserWarning)  # scenes-net on other images; notes of a comparison
material = open_source(Source(DATA, ("train",), ("pooled",), **NETWORK))
values = np.array(material.features["train", "pooled"].values, np.float64)
values -= values.mean(0)
values /= np.linalg.norm(values, axis=1, keepdims=True)
nearest = (values @ values.T - 2 * np.eye(N)).argmax(1)
both = train.rows(range(N)) & train.rows(nearest)
shared = both.sum() / train.counts.sum()
chance = (train.counts / N) @ train.counts / train.counts.sum()
print(f"{shared:.0%} of an image's classes are in the nearest image, {chance:.0%} in a random one")

# %% [markdown]
# If neighbours shared no more classes than random images, labels would be wasted on this network: find another one
# first.
#
# ## The pilot
#
# The images that are labelled so far are a pilot. How large should a pilot be for this budget?

# %%
first = simkit.plan_pilot(BUDGET, prices=PRICES, data=DATA, images=IMAGES)
print(first.recommendation)
print(f"There are {N} to train on and {len(test.images)} to measure by.")

# %% [markdown]
# A smaller pilot works too, with a wider range. Its labels are complete, so they answer the questions of every
# scheme: all labels of some images, *is this class present?* for random classes, or *name one thing*. Each scheme
# is bought in five sizes, each twice the one before, up to 64 % of the price of complete labels; naming one thing
# is so cheap that it ends earlier, with all images.

# %%
ways, steps = ("full-subset", "rpa", "single-positive"), (0.04, 0.08, 0.16, 0.32, 0.64)
prices = simkit.prices(PRICES)
price = {way: simkit.cost(simkit.simulate(train, way), prices).dollars for way in ways[::2]}
most = {"full-subset": price["full-subset"], "rpa": price["full-subset"]}
most["single-positive"] = price["single-positive"] / steps[-1]
cents = {way: [100 * most[way] * step for step in steps] for way in ways}
sizes = {way: [float(np.ceil(round(one, 6))) / 100 for one in cents[way]] for way in ways}
for way, dollars in sizes.items():
    print(f"{way:16}", *(f"${one:.2f}" for one in dollars))

# %% [markdown]
# ## The comparison
#
# The three methods differ in how they treat an unknown label: **AN** treats it as absent, **Ignore** excludes it
# from the loss, **LL-R** treats it as absent unless its loss is large. Complete labels of all images are the
# reference, where every curve of the plan ends.

# %%
common = {"data": DATA, **NETWORK, "methods": ["an", "ignore", "ll-r"], "prices": PRICES}
common |= {"draws": 2 if quick else 5, "train": {"epochs": 20}}
workers, runs = 1 if quick else None, {}
for way in ways:
    grid = {**common, "schemes": [way], "budgets": sizes[way], "reference": way == ways[0]}
    runs[way] = simkit.compare(grid, out=f"runs/{way}", workers=workers)
table = pd.concat([one.every for one in runs.values()])

# %%
simkit.figures.make("cost-curve")(table)

# %% [markdown]
# Each panel is a scheme; bands are 95 % intervals over random draws of the labels. The choice of test images adds
# another error, which is the same for all.
#
# ## The plan
#
# In a shell: `simkit plan runs/full-subset runs/rpa runs/single-positive --budget 400 --images 10000 --prices
# openimages`.

# %%
plan = simkit.plan([f"runs/{way}" for way in ways], BUDGET, images=IMAGES, prices=PRICES)
display(plan)

# %% [markdown]
# Read *Trust* first. Its first reason, like *Next step*, is about the network, which was trained on synthetic
# images. These images are synthetic, so continue with the first round; for photographs follow *Next step* first.
# The other reasons hold: 90 test images are few, and the order has ten times the pilot's images. So buy only the
# first round, and choose its images **at random**:
#
# * (a) Add the images with complete labels to `labels_split.csv`, as `train`.
# * (b) Use the other labels for training and scoring (`simkit train --labels`).
#
# Then run this notebook again, with `labels=labels_split.csv` in `DATA`, so that the test images stay the same.
#
# The first round and later ones together stay within the budget. Since (b) is not part of the preferred order, the
# remaining 328 dollars buy complete labels of about 1,380 more images; without (b) it would be 1,524. The 61
# dollars of the pilot were spent before.
#
# ## Labels for other programs
#
# As an example we export RPA labels, of which three in four are unknown. simkit's own format keeps them unchanged.
# Not all other formats can express *unknown*:

# %%
labels = simkit.simulate(train, "rpa(keep=0.25)")
unknown = {"here": labels.counts()["unknown"]}
for kind in ("lvis", "coco"):
    form = simkit.formats.make(kind)
    form.write(labels, f"bought_{kind}.json")
    unknown[kind] = form.read(f"bought_{kind}.json").counts()["unknown"]
    print(f"bought_{kind}.json: {unknown[kind]:,} of {unknown['here']:,} unknown labels read back")

# %% [markdown]
# LVIS lists for each image the classes verified to be absent. COCO treats what is not annotated as absent, so a
# program that reads it trains as AN does, whatever its loss is called. Such a file is read back as a data set:
# `lvis:train=bought_lvis.json,images=/my/images`.
#
# ## Annotator errors
#
# So far annotators made no errors. To estimate errors, have a few dozen images labelled by several annotators, and
# keep every vote: image, class, worker, answer. Here five annotators vote with known rates of overlooked and
# invented classes, so we can test whether the votes alone reveal these rates.

# %%
people = {"Ada": (0.05, 0.01), "Ben": (0.15, 0.02), "Cem": (0.3, 0.01), "Dee": (0.1, 0.06)}
people["Eva"] = (0.2, 0.02)  # shares overlooked and invented
votes = [("image", "class", "worker", "answer")]
for seed, (name, (miss, false_alarm)) in enumerate(people.items(), 1):
    habits = simkit.Habits(miss=miss, false_alarm=false_alarm)
    answers = simkit.simulate(train, "full-subset", habits=habits, seed=seed).rows(range(N))
    for (n, c), answer in np.ndenumerate(answers == 1):
        votes.append((train.images[n], data.classes[c], name, "yes" if answer else "no"))
with open("votes.csv", "w", newline="") as file:
    csv.writer(file).writerows(votes)

# %%
from simkit import fit_annotators, read_votes

fitted, workers_found = fit_annotators(read_votes("votes.csv")), read_votes("votes.csv").workers
estimated = np.array([fitted.miss, fitted.false_alarm]).T
true = np.array([people[name] for name in workers_found])
found = pd.DataFrame(100 * np.hstack([estimated, true]), workers_found)
found.columns = ["overlooks, found", "invents, found", "overlooks, true", "invents, true"]
found.round(1)

# %% [markdown]
# No expert is needed: annotators who err are outvoted more often. In a shell: `simkit habits votes.csv`, and then
# `--habits habits.json` wherever labels are simulated.
#
# Should every question go to five annotators, or five times as many questions to one? We spend the same money on
# complete labels in three ways:

# %%
every = {**common, "schemes": ["full-subset"], "methods": ["an"], "reference": False}
every |= {"budgets": [float(np.ceil(100 * price["full-subset"])) / 100]}
crowd = {"one who never errs": simkit.Habits()}
crowd |= {f"{k} of these": replace(fitted.habits, workers=k) for k in (1, 5)}
scores = {}
for number, (name, habits) in enumerate(crowd.items()):
    grid = {**every, "habits": habits.to_json()}
    asked = simkit.compare(grid, out=f"runs/people-{number}", workers=workers).table
    scores[name] = 100 * asked["map"].mean()
    print(f"{name:18} {asked.images.mean():4.0f} images, mAP {scores[name]:.1f}")

# %% [markdown]
# Five votes per question give nearly correct labels for a fifth of the images. Here this is worth less than
# slightly wrong labels for all of them. If no more images are available, more votes are the only use of the money
# (not tried here).
#
# Finally, mAP by method at the largest size, and for RPA at 32 % of the price of complete labels:

# %%
own = table.query("not reference").sort_values("budget")
last = own.groupby(["scheme", "method"]).tail(common["draws"])
points = 100 * last.groupby(["scheme", "method"])["map"].mean()
part = own[(own.scheme == "rpa") & (own.budget == sizes["rpa"][3])]
at_32_percent = part.groupby("method")["map"].mean()
print(points.round(1).unstack().to_string())
print("rpa, 32 %:", *(f"{name} {100 * score:.1f}" for name, score in at_32_percent.items()))

# %% tags=["remove-input"]
chosen, (low, high) = plan.chosen, (100 * end for end in plan.chosen.band)
assert not any(one.failures for one in runs.values())
assert unknown["lvis"] == unknown["here"] and unknown["coco"] == 0
if drawn:
    assert np.abs(estimated - true).max() < (0.08 if quick else 0.04)
    assert shared > 1.5 * chance
    assert scores["one who never errs"] > scores["5 of these"] + 3
if drawn and not quick:
    assert scores["1 of these"] > scores["5 of these"] + 10
    assert at_32_percent["ignore"] > at_32_percent["an"] + 0.03
    assert points["single-positive", "an"] > points["single-positive", "ignore"] + 5
    assert chosen.option.complete and high - low > 20 and 9 < chosen.times < 11
    assert (plan.choice.rivals[0].map > chosen.map).mean() > 1 / 3
    assert plan.trust.grade == "low" and len(plan.order) == 2

# %% [markdown]
# ## Summary
#
# | question | here | in the paper |
# |---|---|---|
# | Does the network see what the labels are about? | 46 % of an image's classes are in the nearest image, 22 % in a random one | not measured; the temperatures of Soft Exposure (section 3) require it |
# | What does an answer cost? | 0.58 cents, by the price list `openimages`: complete labels of 168 images cost 40 dollars | *Soft Exposure*, a submission, section 1: 6.5 million dollars for 9,600 classes in each of 116,000 images |
# | Ignore or AN, where classes are asked about at random? | Ignore, by 5 points where a third is known | Ben-Baruch et al., CVPR 2022, Fig. 6 (a): Ignore, throughout |
# | And where one thing is named? | AN, by 9 points | Ignore is said to predict every class, without a number (Verelst et al., section 3.1) |
# | Few images with all labels or many with few? | for 400 dollars no significant difference: complete labels 70.3 mAP, with a range of 28 points; RPA is better with a probability of 55 % | Kim et al., CVPR 2022, Fig. 6, count labels, not dollars: one label of every image (LL-Ct) is like all labels of 30 % of them, with 1/24 of the labels |
# | How do annotators err? | found from 34,000 votes to within 1.5 points, without an expert | labels are taken to be right |
#
# ## Exercises
#
# 1. **Another price list.** Which purchase does the plan prefer at the prices of `hourly`, with the existing runs?
#
# <details><summary>Solution</summary>
#
# ```python
# hourly_plan = simkit.plan([f"runs/{way}" for way in ways], BUDGET, images=IMAGES, prices="hourly")
# display(hourly_plan)
# ```
#
# An answer then costs a fifth, so the money buys complete labels of 7,343 images: 77.4 mAP, 59.9 to 93.7. Partial
# labels fall further behind, and are better with a probability of 14 %. Trust stays low: the order has 44 times the
# pilot's images.
#
# </details>
#
# 2. **Three votes.** Is a majority of three better than one or five annotators, for the same money?
#
# <details><summary>Solution</summary>
#
# ```python
# habits = replace(fitted.habits, workers=3)
# grid = {**every, "habits": habits.to_json()}
# asked = simkit.compare(grid, out="runs/people-three", workers=workers).table
# print(asked.images.mean(), 100 * asked["map"].mean())
# ```
#
# 56 images and 31.2 mAP: above five votes (29.4) and far below one (46.7). With so few images a second vote on the
# same question costs more than it corrects.
#
# </details>
#
# Next: [can a method trust its earlier predictions?](11_consistency.ipynb)
