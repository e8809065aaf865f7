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
# # Why label at all?
#
# **Result.** Labels have to beat a pretrained model, the *teacher*, which scores every class without any label. A
# *student* that learns from labels beats these scores here from 1.60 dollars on with two simulated teachers (37 and 57
# mAP, independent errors), from 20 with systematic errors, and never with the best teacher: even complete labels, for
# 65 dollars, give only 76.5 mAP. The table names the highest mean mAP of three options: the scores; **people** alone,
# who label as many images completely as the budget allows; the **machine's** (teacher's) labels where it is sure, and
# people's answers where it is not.
#
# | simulated teacher | without labels | for 10 dollars | for 20 dollars | for 40 dollars |
# |---|--:|---|---|---|
# | 37 mAP (CLIP on NUS-WIDE: 37.3) | 37.0 | machine and people 57.7 | people 63.3 (machine and people 61.7: level) | people 72.0 |
# | 57 mAP (CLIP on MS-COCO: 57.4) | 57.0 | machine and people 66.9 | machine and people 69.4 | both 72.0 |
# | 83 mAP (CLIP on VOC 2007: 82.8) | 83.0 | the scores | the scores | the scores |
# | 57 mAP, systematic errors | 56.7 | the scores (machine and people 55.9) | people 63.3 | people 72.0 |
#
# "Level": no significant difference. CLIP's numbers are published, of ResNet-101 without training. Errors of the first
# three teachers are independent, which those of a real model are not. People are simulated, too, and never err.
#
# **Run it.** `%pip install -q "..[notebooks]"` once (in this folder); 17 minutes in full on one core, two with
# `SIMKIT_SIZE=quick`. With weights the scores are real: `simkit score --model open_clip:ViT-B-16 --weights openai
# --data folder:photos` writes them, and `scores = "scores.npz"` in a grid uses them.

# %%
# %matplotlib inline
import itertools
import os
import tempfile
import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import simkit
from simkit import Grid, Similarities, Source, interval, open_source
from simkit.annotate.similarities import write_similarities
from simkit.methods import Task, make
from simkit.results.statistics import holm, p_value, paired_interval

# %%
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
folder = tempfile.TemporaryDirectory()
warnings.simplefilter("ignore", UserWarning)  # they come again as notes of a comparison
pd.set_option("display.width", 120)
spec = "scenes:images=200,val=420,test=150" if quick else "scenes:images=1000,val=420,test=1000"
draws, training = range(2 if quick else 5), simkit.demo_grid().train
scenes = open_source(Source(spec, ("train", "val", "test"), ("pooled",), "scenes-net"))
truth, leaves = {split: scenes.truth(split) for split in ("train", "test")}, scenes.data.leaves
N, L = truth["train"].shape
print(f"{N:,} images with {L} classes have {N * L:,} labels")

# %% [markdown]
# ## The teachers
#
# Three kinds of teacher are simulated as by `simkit score --model simulated --quality 57`: a score is a number for
# present or absent plus noise, independent for each image and class. The fourth kind, "systematic", is a network
# trained on complete labels of 210 other images; only the values of its scores are replaced by those of the teacher of
# 57 mAP, in the same order. Its errors depend on what is in an image, as those of a real model do; unlike most real
# models, it sees the same features as the students. Every draw has its own teacher, labels and weights.

# %%
teachers, free = {}, {}
for quality, draw in itertools.product((37, 57, 83), draws):
    teachers[f"{quality} mAP", draw] = {
        split: Similarities.simulated(truth[split], quality / 100, leaves=leaves, seed=draw) for split in truth
    }
for draw in draws:
    few = simkit.simulate(scenes.truth("val"), "full-subset", images=210, seed=draw)
    task = Task(few, scenes.inputs("val", "pooled"))
    network = simkit.train(task, make("an"), draw=draw, settings=training)
    teachers["systematic", draw] = {}
    for split, independent in teachers["57 mAP", draw].items():
        order = np.argsort(network.scores(scenes.inputs(split, "pooled")), axis=None)
        values = np.sort(independent.values, axis=None)[np.argsort(order)].reshape(-1, L)
        teachers["systematic", draw][split] = replace(independent, values=values)

# %% [markdown]
# ## People against the machine
#
# A *student*, a linear head on fixed features, learns from what is bought. `full-subset` is people alone: complete
# labels of as many images as the budget pays for. With `machine` a pair (image and class) with a probability of at
# least 50 % is labelled present, of at most 1 % absent ("strict": 90 % and 0.1 %); people verify as many of the others
# as the budget pays for. Scoring the training images is billed at $0.0015 an image, 1.50 dollars in all; with 1.60
# dollars people verify almost nothing. Scores instead of a student, on the test images, are counted as free. In every
# draw the method (AN takes unknown labels for absent, LL-R rejects those of them with a large loss, VLPL takes some of
# them for present if their scores are high) and its settings are chosen on complete labels of 420 validation images, on
# half of which the systematic teacher was trained; on complete labels the three methods are the same.

# %%
first, sure = round(0.0016 * N, 2), "machine(low=0.01, high=0.5)"
budgets = [first, 5, 12] if quick else [first, 5, 10, 20, 40]
schemes = {sure: "machine and people", "machine(low=0.001, high=0.9)": "strict"}
schemes |= {"proposals(by=scores)": "proposals", "picked(by=uncertainty)": "uncertain images"}
how = {"data": spec, "budgets": budgets, "prices": "hourly", "train": training}
how |= {"draws": 1, "methods": ["an", "ll-r", "vlpl"], "reference": False, "fair": True}
bought = []
for (name, draw), parts in teachers.items():
    file = f"{folder.name}/{name} {draw}.npz"
    write_similarities(parts, file)
    grid = Grid([*schemes], scores=file, seed=draw, **how)
    runs = simkit.compare(grid, out=f"{folder.name}/{name} {draw}", workers=1)
    bought.append(runs.table.assign(teacher=name, draw=draw).replace({"scheme": schemes}))
    free[name, draw] = 100 * runs.every.attrs["zero_shot"]
print(next(line for line in runs.text().splitlines() if line.startswith("Without labels")))

# %%
crowd, how_people = [], how | {"methods": ["an"], "reference": True}
for draw in draws:
    grid = Grid(["full-subset"], seed=draw, **how_people)
    runs = simkit.compare(grid, out=f"{folder.name}/people {draw}", workers=1)
    crowd.append(runs.every.assign(draw=draw))
crowd = pd.concat(crowd).assign(points=lambda runs: 100 * runs["map"])
full = crowd[crowd["reference"]].iloc[0]["dollars"]
crowd["budget"] = crowd["budget"].fillna(full)
crowd = crowd.drop_duplicates(["draw", "budget"]).pivot(
    index="draw", columns="budget", values="points"
)
alone = pd.DataFrame({dollars: vars(interval(crowd[dollars])) for dollars in crowd}).T
free = pd.Series(free).unstack(0)
print(alone.round(1).rename_axis("people alone, $").to_string())

# %%
every = pd.concat(bought, ignore_index=True).assign(points=lambda runs: 100 * runs["map"])
cell_of = ["teacher", "scheme", "budget"]
best = every.groupby([*cell_of, "draw"])["tuned_map"].idxmax()  # mAP on validation images
points, cells = {}, {}
for cell, group in every.loc[best].groupby(cell_of):
    points[cell] = group.set_index("draw")["points"]
    lead, methods = points[cell] - crowd[cell[2]], "/".join(sorted({*group["method"]}))
    score, gap = interval(points[cell]), paired_interval(lead)
    cells[cell] = {"method": methods, "mAP": score.mean, "low": score.low, "high": score.high}
    cells[cell] |= {"lead": gap.mean, "from": gap.low, "to": gap.high, "p": p_value(lead)}
cells = pd.DataFrame(cells).T.infer_objects().rename_axis(cell_of)
adjusted = cells.groupby("scheme")["p"].transform(lambda p: holm(p))
cells["significant"] = adjusted < 0.05
both = cells.xs("machine and people", level="scheme")

# %%
from simkit.results.figures.style import BLUE, GREY, ORANGE, STYLE

plt.rcParams.update(STYLE)
names, ends = list(free), ["low", "high"]
titles = {name: name for name in names}
titles["systematic"] = f"{free['systematic'].mean():.0f} mAP, systematic"
lines = {"people alone": (BLUE, {name: alone.rename(columns={"mean": "mAP"}) for name in names})}
lines["machine and people ($1.60: the machine alone)"] = (ORANGE, {name: both.loc[name] for name in names})

# %%
figure, panels = plt.subplots(2, 2, figsize=(9, 6.6), sharex=True, sharey=True)
for panel, name in zip(panels.flat, names, strict=True):
    panel.axhline(free[name].mean(), color=GREY, linestyle="--", label="the scores, free")
    for label, (color, line) in lines.items():
        panel.plot(line[name]["mAP"], "o-", color=color, label=label)
        panel.fill_between(line[name].index, *line[name][ends].T.values, color=color, alpha=0.2)
    panel.set_title(f"simulated teacher, {titles[name]}")
panel.set(xscale="log", ylim=(0, 100), xticks=[*alone.index])
panel.xaxis.set_major_formatter(lambda dollars, _: f"${dollars:.2g}")
panel.minorticks_off()
figure.supylabel("mAP on the test split", fontsize=10)
figure.supxlabel("budget for labels", fontsize=10, y=0.06)
figure.legend(*panel.get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=9)
figure.suptitle("People alone catch up by 20 to 40 dollars, except with the best teacher", x=0.01, ha="left", weight="bold")
figure.tight_layout(rect=(0, 0.04, 1, 1))

# %%
answer, ten, reached = {}, budgets[2], [*alone["mean"]]
for name in names:
    over = {dollars: paired_interval(crowd[dollars] - free[name]).low for dollars in crowd}
    answer[name] = {"the scores, free": free[name].mean()}
    beaten = [dollars for dollars in over if over[dollars] > 0]
    answer[name] |= {"people beat them from $": min(beaten, default=None)}
    for dollars in (first, ten):
        score = both.loc[(name, dollars), "mAP"]
        answer[name] |= {f"machine, ${dollars} in all": score}
        same = np.interp(score, reached, alone.index)
        answer[name] |= {f"the same by people, $ ({dollars})": same}
print(pd.DataFrame(answer).astype(float).round(1).to_string(na_rep="never"))

# %%
machine = {name: points[name, "machine and people", first] - free[name] for name in names}
gain = {name: vars(paired_interval(each)) for name, each in machine.items()}
print("the machine alone: its student minus the scores themselves, points")
print(pd.DataFrame(gain).T.round(1).to_string())
print("\nmachine and people: lead over people alone at equal cost, points")
print(both.drop(columns=["low", "high", "p"]).round(1).to_string())
both_over = {
    (name, dollars): vars(paired_interval(points[name, "machine and people", dollars] - free[name]))
    for name in names for dollars in budgets
}  # fmt: skip
print("\nmachine and people: lead over the scores themselves, points")
print(pd.DataFrame(both_over).T.round(1).to_string())

# %% [markdown]
# Intervals are 95 % over five draws, each with its own teacher, labels and weights; differences are paired by draw, and
# significance is after Holm's correction over the 20 rows. Costs for the same mAP are interpolated on the line of
# people alone.
#
# Independent errors seem to average out: the student is 16.0 and 7.3 points above the teachers of 37 and 57 mAP, from
# which it learns. Systematic errors do not: it is 8.2 below. The teacher of 83 mAP is better than a student of complete
# labels (76.5), and its own student is 10.0 below it; then use the scores, or train a better network.
#
# With people, the machine is ahead of people alone at 10 dollars with every teacher (6.1 to 23.8 points). At 20 dollars
# it is behind with systematic errors (-2.5), level with 37 mAP, and ahead with 57 and 83 (6.1, 11.0). At 40 it is ahead
# with 83 only (3.4), level with 57 and behind with the others, probably because wrong labels that nobody verifies stay.
#
# To be ahead of people is not enough, since the scores are free. If errors are systematic, machine and people are
# significantly below the scores for 1.60 and 5 dollars (-8.2 and -4.9), not significantly for 10 (-0.7, from -1.6 to
# 0.1), and above them from 20 on (4.2 and 9.7), where people alone have a higher mean; so at none of these budgets do
# they have the highest. With 83 mAP they are below the scores at every budget, by 7.7 to 10.0.

# %% tags=["remove-input"]
if not quick:
    assert answer["37 mAP"]["people beat them from $"] == 10
    assert answer["57 mAP"]["people beat them from $"] == 20
    assert answer["83 mAP"]["people beat them from $"] is None
    assert gain["37 mAP"]["low"] > 0 and gain["57 mAP"]["low"] > 0
    assert gain["83 mAP"]["high"] < 0 and gain["systematic"]["high"] < 0
    assert both["from"].loc[["57 mAP", "83 mAP"], 20].min() > 0 > both["to"].loc["systematic", 20]

# %% [markdown]
# ## The errors of the machine
#
# How many of the machine's labels are wrong? "50 % and 1 %" and "90 % and 0.1 %" are given thresholds. Without any
# (`measured`) people verify samples and the machine labels a group of pairs only if the sample shows that at most 5 %
# of the present and 0.5 % of the absent labels are wrong, at 95 % confidence; "lenient" allows 20 and 2 %. Shares are
# of all labels, the verified ones included.

# %%
present, settings = truth["train"].present.toarray(), {"50 % and 1 %": f"{sure[:-1]}, verify=0)"}
settings["90 % and 0.1 %"] = "machine(low=0.001, high=0.9, verify=0)"
settings["measured"] = "machine(verify=0)"
settings["measured, lenient"] = "machine(wrong_present=0.2, wrong_absent=0.02, verify=0)"
logits = {
    one: parts["train"].logits(truth["train"].images, truth["train"].classes)
    for one, parts in teachers.items()
}
errors = []
for (name, draw), (label, scheme) in itertools.product(teachers, settings.items()):
    labels = simkit.simulate(truth["train"], scheme, scores=logits[name, draw], seed=draw)
    codes, bill = labels.codes.toarray(), simkit.cost(labels, "hourly").dollars
    shares = (codes != 0).mean(), (~present)[codes > 0].mean(), present[codes < 0].mean()
    errors.append([name, label, *(100 * share for share in shares), bill])

# %%
columns = ["teacher", "thresholds", "labelled %", "present wrong %", "absent wrong %", "$"]
errors = pd.DataFrame(errors, columns=columns).groupby(columns[:2], sort=False).mean()
print(errors.round(2).to_string())

# %%
strict = {}
for name, dollars in itertools.product(names, budgets):
    gap = points[name, "strict", dollars] - points[name, "machine and people", dollars]
    strict[name, dollars] = vars(paired_interval(gap)) | {"p": p_value(gap)}
strict = pd.DataFrame(strict).T
strict["significant"] = np.array(holm(strict["p"])) < 0.05
print("strict minus 50 % and 1 %, points of mAP at equal cost")
print(strict.drop(columns=["draws", "p"]).round(1).to_string())
print(f"significant in {strict['significant'].sum()} of {len(strict)} cases")

# %%
measured, most = [], 12 if quick else 20
for name, draw in teachers:
    file = f"{folder.name}/{name} {draw}.npz"
    grid = Grid(["machine"], scores=file, seed=draw, **(how | {"budgets": [most]}))
    runs = simkit.compare(grid, out=f"{folder.name}/measured {name} {draw}", workers=1)
    measured.append(runs.table.assign(teacher=name, draw=draw))
measured = pd.concat(measured, ignore_index=True)
best = measured.loc[measured.groupby(["teacher", "draw"])["tuned_map"].idxmax()]
scores = 100 * best.pivot(index="draw", columns="teacher", values="map")
for name in names:
    gap = paired_interval(scores[name] - crowd[most])
    lead = f"{gap.mean:+.1f} ({gap.low:+.1f} to {gap.high:+.1f})"
    print(f"{name:10} ${most}: {scores[name].mean():.1f} mAP, {lead} over people alone")

# %% [markdown]
# With the thresholds of 50 % and 1 %, 4 to 30 % of the present labels and 1 to 7 % of the absent ones are wrong. With
# stricter thresholds fewer are wrong, but the machine labels only about half as many pairs, and mAP is lower,
# significantly in 16 of 20 cases. The number of wrong labels alone does not decide either: the systematic teacher makes
# fewer errors than the independent one of 57 mAP (4.4 and 18.5 % of the present labels), but its student is worse (48.4
# and 64.3 mAP).
#
# With measured thresholds, scores and samples cost 6 to 10 dollars before any other question is asked, because samples
# (100 and 1,000 questions) do not depend on the number of images, and the machine labels little in return. With people,
# at 20 dollars, measured thresholds are behind people alone by 5.6 to 10.8 points with three of the teachers; with the
# best teacher the two do not differ significantly.
#
# ## Does the bound hold?
#
# Present and absent labels are measured separately, 50 times for each bound and teacher.

# %%
measured = {
    "present, at most 5 %": ("machine(low=0, wrong_present=0.05, verify=0)", 0.05),
    "present, at most 20 %": ("machine(low=0, wrong_present=0.2, verify=0)", 0.2),
    "absent, at most 0.5 %": ("machine(high=1, wrong_absent=0.005, verify=0)", 0.005),
    "absent, at most 2 %": ("machine(high=1, wrong_absent=0.02, verify=0)", 0.02),
}
trials, many = [], 4 if quick else 50
for bound, name, trial in itertools.product(measured, names, range(many)):
    scheme, most = measured[bound]
    scores = logits[name, trial % len(draws)]
    labels = simkit.simulate(truth["train"], scheme, scores=scores, seed=trial)
    codes = labels.codes.toarray()
    machine = np.count_nonzero(codes) - labels.effort.count("verify")
    wrong = np.count_nonzero(((codes > 0) != present)[codes != 0])
    trials.append([bound, name, wrong / machine / most if machine else np.nan])

# %%
trials = pd.DataFrame(trials, columns=["bound", "teacher", "wrong"])
counts = trials.groupby(["bound", "teacher"], sort=False)["wrong"].agg(["count", "mean", "max"])
print(counts.round(2).to_string())
beyond, accepted = int((trials["wrong"] > 1).sum()), int(trials["wrong"].count())
print(f"beyond the bound: {beyond} of {len(trials)} measurements ({accepted} accepted any group)")

# %%
figure, panels = plt.subplots(1, 4, figsize=(9, 3), sharex=True, sharey=True)
for panel, (bound, group) in zip(panels, trials.groupby("bound", sort=False), strict=True):
    for row, name in enumerate(names):
        values = group["wrong"][group["teacher"] == name].dropna()
        panel.plot(values, row + np.linspace(-0.25, 0.25, len(values)), ".", color=BLUE, ms=4)
        panel.text(2.1, row, f"{len(values)} of {many}", va="center", fontsize=8)
    panel.axvline(1, color=ORANGE)
    panel.set_title(bound, fontsize=9)
panels[0].set(xlim=(0, 3), xticks=[0, 1, 2], yticks=range(4), yticklabels=titles.values())
panels[0].invert_yaxis()
words = "wrong share of the machine's labels, divided by its bound; right: measurements with any"
figure.supxlabel(words, fontsize=9)
heading = f"Simulated teachers: beyond the bound in {beyond} of {len(trials)} measurements"
figure.suptitle(heading, x=0.01, ha="left", weight="bold")
figure.tight_layout()

# %% tags=["remove-input"]
assert quick or beyond <= 0.05 * accepted
assert quick or ((strict["mean"] < 0).all() and strict["significant"].sum() > 15)

# %% [markdown]
# The bound is exceeded in 2 of 800 measurements, both of absent labels. It allows 5 %. Mostly the shares are far below
# the bound, since a group has to be clearly below it to be accepted. The 5 % refer to all measurements, not to the
# accepted ones: where groups are rarely accepted, most accepted ones may exceed it (one of one with systematic errors).
#
# ## Who should answer what?
#
# Besides the machine, the scores may choose what people are asked: `proposals` has them verify the classes with the
# highest scores, "uncertain images" (`picked(by=uncertainty)`) label completely the images of which the teacher is
# least sure. Holm's correction is over the rows of each scheme.

# %%
for dollars in budgets[2:4]:
    at = cells.xs(dollars, level="budget")
    star = np.where(at["significant"], "*", "")
    print(f"points above people alone for ${dollars}; *: significant after Holm's correction")
    print((at["lead"].map("{:+.1f}".format) + star).unstack("teacher").to_string())

# %% [markdown]
# * **The machine where it is sure, people on the rest**: ahead of people alone at 10 dollars with all teachers, at 20
#   with those of 57 and 83 mAP.
# * **The scores choose what people are asked**: proposals are ahead of people alone at 10 dollars with the teachers of
#   57 and 83 mAP (8.6 and 9.3 points), at 20 dollars with none; uncertain images gain nothing significant at either.
# * **People alone**: from 20 dollars on if errors are systematic, from 40 on with the teacher of 37 mAP.
#
# `simkit plan` compares two of these purchases for 10,000 new images and 150 dollars; `verify` is the share of the
# machine's unsure pairs about which people are asked. The 1,000 images are the pilot:

# %%
for name in ("57 mAP", "systematic"):
    out, two = f"{folder.name}/plan {name}", ["full-subset", sure]
    given = {"draws": 2, "reference": True, "methods": ["an", "vlpl"], "budgets": budgets[1:]}
    grid = Grid(two, scores=f"{folder.name}/{name} 0.npz", **(how | given))
    simkit.compare(grid, out=out, workers=1)
    plan = simkit.plan(out, 150, images=10 * N, prices="hourly")
    print(f"teacher: {titles[name]}", plan.text().split("\n\n")[1].partition("\nTrust")[0], "", sep="\n")

# %% [markdown]
# With independent errors the plan first buys the machine's labels of 1,778 images, for 3.55 dollars; with systematic
# errors it spends 134.39 on complete labels of 2,060 images. Both expect about the same mAP once the 150 dollars are
# spent, 83.2 and 82.8, within wide ranges (79.0 to 87.5 and 78.6 to 87.0). These are extrapolations: complete labels of
# the pilot give 76.5.
#
# ## Cautions
#
# * A real model may be better or worse than these teachers. With scores of a detector on photographs of animals
#   (YOLOX-nano on VOC 2012, `benchmarks/results/machine_annotator.md`), `machine` has 3 to 5 mAP more for 10 dollars
#   than with the same scores and independent errors (here systematic errors cost mAP), and FPC, which searches by
#   scores, up to 8 less. There, people alone are 6 to 9 mAP behind `machine` for 10 dollars, and the free scores, with
#   61 mAP, are far above both. Measure on your data before you decide, with a completely labelled pilot.
# * `hourly` prices a verified class at 1 second and a class of a complete page at 0.3. With other prices the lines
#   cross elsewhere (exercise 1).
# * The student is a head on fixed features of a small network, and 1,000 images are few. The scores are not used when
#   the student is tested.
# * The thresholds of 50 % and 1 % were the better of two on the test split. The systematic teacher was trained on half
#   of the images on which methods and settings were chosen.
# * People make no errors here, and `vlpl` does not pay for the scores unless the scheme does.
#
# ## Summary
#
# | question | here, with simulated teachers of 37, 57, 83 and 57 (systematic) mAP | in the paper |
# |---|---|---|
# | What mAP do the scores reach without labels? | 37.0, 57.0, 83.0, 56.7 mAP | CLIP ResNet-101 without training: 37.3 (NUS-WIDE), 57.4 (MS-COCO), 82.8 (VOC 2007); *Class Concept Representation*, 2024, Table 1 |
# | From which budget on do people alone beat them? | 10, 20, never, 20 dollars of 65 | not asked |
# | Does a student of the machine's labels and people's answers beat them? | from 1.60 dollars, from 1.60, never up to 40, from 20 (60.8 against 56.7 mAP; but people alone 63.3) | not asked |
# | What does a student of the machine's labels reach? | 53.0, 64.3, 73.0, 48.4 mAP for 1.60 dollars; people alone need 12, 22, 46, 9.5 | not asked |
# | Up to which budget are machine and people ahead of people alone? | 10, 20, 40 (the largest tried), 10 dollars | not asked |
# | Which share of its present labels is wrong? | 30, 19, 12, 4 % with the thresholds of 50 % and 1 % | not asked |
# | Does the measured bound hold? | exceeded in 2 of 800 measurements, of which 465 labelled anything | *Learn then Test*, 2021: in at most 5 % |
#
# ## Exercises
#
# 1. **Other prices.** Are people alone still ahead at 40 dollars where a class costs 1 second whether it is asked alone
#    or on a page (`careful`), if errors are systematic?
#
# <details><summary>Solution</summary>
#
# ```python
# careful, leads = how | {"prices": "careful", "budgets": [40]}, []
# for draw in draws:
#     grid = Grid(["full-subset", sure], scores=f"{folder.name}/systematic {draw}.npz", seed=draw, **careful)
#     table = simkit.compare(grid, out=f"{folder.name}/careful {draw}", workers=1).table
#     scores = 100 * table.set_index(["scheme", "method"])["map"]
#     leads.append(scores[sure, "vlpl"] - scores["full-subset", "an"])
# print(paired_interval(leads))
# ```
#
# No: there machine and people are 12.2 points ahead (10.2 to 14.2), as complete labels cost 217 dollars instead of 65.
#
# </details>
#
# 2. **A teacher for the loss only.** Let people label pairs at random (`rpa`), and only the method `vlpl` use the
#    scores of the teacher of 57 mAP. Is this better than complete labels at 10 dollars?
#
# <details><summary>Solution</summary>
#
# ```python
# random, leads = how | {"budgets": [10]}, []
# for draw in draws:
#     grid = Grid(["rpa"], scores=f"{folder.name}/57 mAP {draw}.npz", seed=draw, **random)
#     table = simkit.compare(grid, out=f"{folder.name}/rpa {draw}", workers=1).table
#     leads.append(100 * table.set_index("method")["map"]["vlpl"] - crowd.loc[draw, 10])
# print(paired_interval(leads))
# ```
#
# Yes: it is 3.1 points ahead (1.0 to 5.2). With systematic errors it is 2.7 behind (0.6 to 4.8).
#
# </details>
#
# This is the last chapter; [the first](01_what_a_scheme_reveals.ipynb) asks what a scheme reveals.
