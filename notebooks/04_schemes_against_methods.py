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
# # Which method suits which annotation scheme?
#
# **Result.** At equal cost the annotation scheme explains most of the variance of mAP (52 to 73 %), and the best method
# differs between schemes. For 11.5 % of the price of complete labels (list `hourly`), complete labels of fewer
# photographs reach 84 % (VOC) and 79 % (COCO) of AN's mAP with complete labels of all. FPC (equally many labels of
# every class) reaches 91 and 86 %, **if** a free model proposes images, half of them rightly; with the scores of a real
# detector (VOC) it is 5 points above complete labels of fewer images for 5 %, and about level for 11.5 %. If people err
# in 5 % of yes-or-no answers, one answer to each question is mostly best. On photographs LL-R is a safe method: on
# average 1.1 and 1.7 points below the highest mean of each scheme, at worst 3.7 and 6.9; AN (unknown labels count as
# absent) is 4.3 and 5.5 below. On drawn images GR-Loss has the highest mean under seven of ten schemes.
#
# **Run it.** `%pip install -q "..[notebooks]"` once (in this folder); half a minute on one core, a little less with
# `SIMKIT_SIZE=quick`. Most figures are read from [the atlas](../atlas/README.md), whose runs took hours.

# %%
# %matplotlib inline
import json
import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import simkit
from simkit import Grid, demo_grid
from simkit.results.figures.style import INK, STYLE, looks
from simkit.results.summary import random_order

# %% tags=["remove-input"]
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
folder, draw = tempfile.TemporaryDirectory(), simkit.figures.make
heading = {"x": 0.01, "ha": "left", "weight": "bold"}
with_interval = "{0.mean:+.1f} ({0.low:+.1f} to {0.high:+.1f})".format
pd.set_option("display.width", 140)
_ = plt.rcParams.update(STYLE)

# %%
NAMES, SHARES = ["voc12-animals", "coco-mini", "scenes"], [2, 5, 11.5, 25, 57.5]
atlas = {name: simkit.open_runs(f"../atlas/{name}") for name in NAMES}
tables, middle, ceiling, chance = {}, {}, {}, {}
for name, runs in atlas.items():
    share = dict(zip(sorted(runs.table.budget.unique()), SHARES, strict=True))
    table = runs.table.assign(share=runs.table.budget.map(share), points=100 * runs.table["map"])
    draws = table.groupby(["scheme", "method", "share"]).draw.transform("count")
    tables[name] = table[draws == 10]  # a search at random may find nothing for 2 or 5 %
    middle[name] = tables[name][tables[name].share == 11.5]
    ceiling[name] = 100 * runs.reference.query("method == 'an'")["map"].mean()
    chance[name] = 100 * random_order(runs)
    counts = len(runs.every), runs.table.method.nunique(), runs.table.scheme.nunique()
    print("{}: {:,} trainings, {} methods, {} schemes;".format(name, *counts), end=" ")
    price = f"complete labels cost ${runs.reference.dollars.mean():.2f}"
    print(f"{price} and have {ceiling[name]:.1f} mAP (AN); chance {chance[name]:.1f}")

# %% [markdown]
# `voc12-animals` (2,015 training images, 12 classes) and `coco-mini` (418 images, 27 classes) are photographs with
# features of MobileNetV2; `scenes` are 1,000 drawn images with features learned on drawings. Heads are trained on
# frozen features of the images about which a question was asked; the others are left out. [Chapter
# 01](01_what_a_scheme_reveals.ipynb) explains the schemes; `mixed` has a fifth of its images complete and one class
# named in each of the others.
#
# Every scheme has the same budgets: 2 to 57.5 % of the price of complete labels by the list `hourly` (a yes or no takes
# 1 second, a name 2.4, each class of a complete image 0.3). Each cell has ten draws of labels, initial weights and
# order of images, and settings chosen on complete validation labels at 11.5 %: five learning rates and more until the
# best one lies inside (in nearly all cells), and another value of the method's main hyper-parameter if it has one. EPR,
# ROLE, EN and EP get the true mean number of classes in an image, as in the papers. The complete labels of the
# validation images are not in the price; they would cost more than 11.5 % of the price of the training labels. The
# first figure has means over draws. [Chapter 02](02_the_methods.ipynb) explains the methods.

# %%
six, animals = ["an", "ignore", "ll-r", "csl", "em", "en"], tables["voc12-animals"]
styles = {name: look.line() | {"markersize": 4, "linewidth": 1.2} for name, look in looks(six).items()}
levels = {"complete labels": (ceiling, "-"), "random order": (chance, ":")}

# %%
figure, panels = plt.subplots(2, 5, figsize=(9, 4.9), sharex=True, sharey=True, layout="constrained")
for axes, (scheme, rows) in zip(panels.flat, animals.groupby("scheme", sort=False), strict=True):
    for name, (level, dashes) in levels.items():
        axes.axhline(level["voc12-animals"], color=INK, lw=0.9, ls=dashes, label=name)
    means = rows.groupby(["method", "share"]).points.mean().unstack().loc[six]
    for method, line in means.iterrows():
        axes.plot(line.index, line, **styles[method])
    axes.set_title(scheme, fontsize=8.5)
    axes.set(xscale="log")
    axes.set_xticks(SHARES, [f"{one:g}" for one in SHARES], fontsize=7.5)
    axes.minorticks_off()
panels[1, 2].set_xlabel("price of the labels, % of that of complete labels", fontsize=9)
figure.supylabel("mAP on the test split, points (means of 10 draws)", fontsize=9)
figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4)
_ = figure.suptitle("VOC: the scheme decides most; Ignore and CSL fail under single positives", **heading)

# %% [markdown]
# In `fpc`, `federated` and `proposals` a free model proposes images to look at. It is **assumed** that every second
# proposal is right, that hard images are proposed as often as easy ones, and that the proposals cover 80 % of the
# present labels in `proposals`. In `fpc(search=random)` people look through images in a random order, for 1 second a
# look, until they have equally many of each class, and answers beyond that are thrown away. So 11.5 % pay for 1 or 2
# images of each class, instead of 35 (VOC) and 17 (`scenes`) with proposals, and on average a fifth of the budget is
# left. For less, half of the draws or more do not find every class; on COCO none does for 11.5 %.
#
# Annotators make no errors but in the section about these. The knowledge graph asks its way down a hierarchy; the
# ancestors of the classes are labelled and trained with them, but not scored.
#
# ## All methods under all schemes
#
# For 11.5 % of the price of complete labels. What it buys, in the mean of ten draws:

# %%
columns = ["images", "present", "absent", "dollars"]
bought = {name: t[t.method == "an"].groupby("scheme")[columns].mean() for name, t in middle.items()}
print(pd.concat(bought, axis=1).to_string(float_format="%.0f", na_rep=""))

# %%
many = "an,ignore,lsan,wan,csl,hill,p-asl,asl,ll-r,ll-r+boostlu,ll-ct,ll-cp,epr,en,ep,role,em,splc,gr-loss,imcl"
figures = {}
for name, table in middle.items():
    listed = ",".join(one for one in many.split(",") if one in {*table.method})
    figures[name] = draw("matrix", budget=table.budget.max(), methods=listed)
finding = "VOC: EPR is always near the best; Ignore, CSL and IMCL fail under single positives"
figures["voc12-animals"](atlas["voc12-animals"], finding)

# %%
finding = "COCO: LL-R, EPR and SPLC are near the best, except on the knowledge graph"
figures["coco-mini"](atlas["coco-mini"], finding)

# %%
finding = "Drawn images: GR-Loss has the highest mean under seven of ten schemes"
figures["scenes"](atlas["scenes"], finding)

# %% [markdown]
# ## Gains over AN
#
# Differences to AN for 11.5 %, with three 95 % intervals: thick over draws (the images are fixed, and the choice of
# settings is included), thin and grey over classes (as if classes were drawn at random), and thin and orange over test
# images (resampled, for the models of the ten draws, which `scripts/atlas_intervals.py` trained again). They are not
# corrected for many comparisons; [gains.md](../atlas/gains.md) has all methods with Holm's correction.

# %%
three = ["single-positive", "rpa", "fpc"]
compared = ["ll-r", "ll-r+boostlu", "csl", "en", "epr", "em", "gr-loss", "role", "lsan", "se", "ignore"]
gains = []
for name, runs in atlas.items():
    cells = middle[name].groupby(["scheme", "method"]).ap
    ap = {cell: np.stack(each).astype(float).mean(0) for cell, each in cells}
    for line in runs.summary():
        if line.limit.dollars == middle[name].budget.max() and line.scheme in three:
            for method in [one for one in compared if (line.scheme, one) in ap]:
                over_draws = line.difference(method, "an")
                over_classes = simkit.interval(ap[line.scheme, method] - ap[line.scheme, "an"])
                halves = over_draws.half, over_classes.half
                gains.append((name, line.scheme, method, over_draws.mean, *halves))

# %%
gains = pd.DataFrame(gains, columns=["data", "scheme", "method", "gain", "draws", "classes"])
gains[["gain", "draws", "classes"]] *= 100
over_images = pd.read_csv("../atlas/test_images.csv")[["data", "scheme", "method", "half"]]
gains = gains.merge(over_images.rename(columns={"half": "images"}), how="left", validate="1:1")

# %%
figure, panels = plt.subplots(3, 3, figsize=(9, 7.5), sharey=True, sharex="row", layout="constrained")
for (name, scheme), rows in gains.groupby(["data", "scheme"]):
    axes, y = panels[three.index(scheme), NAMES.index(name)], rows.method.map(compared.index)
    axes.errorbar(rows.gain, y + 0.28, xerr=rows.images, fmt="none", ecolor="#D55E00", elinewidth=1)
    axes.errorbar(rows.gain, y, xerr=rows.classes, fmt="none", ecolor="#a0a0a0", elinewidth=1)
    axes.errorbar(rows.gain, y, xerr=rows.draws, fmt="o", ms=4, color="#0072B2", elinewidth=3)
    axes.axvline(0, color=INK, lw=0.9)
    axes.set_title(f"{name}, {scheme}", fontsize=9)
what = "95 % intervals: thick over draws, grey over classes, orange over test images"
figure.supxlabel(f"points above AN; {what}", fontsize=10)
panels[0, 0].set_yticks(range(len(compared)), [looks(compared)[one].name for one in compared])
panels[0, 0].invert_yaxis()
_ = figure.suptitle("The mean gains of LL-R and EN are positive in all nine panels; other gains change sign", **heading)

# %%
each = "{0.gain:+.1f} ±{0.draws:.1f} ±{0.classes:.1f} ±{0.images:.1f}".format
gains["shown"] = [*map(each, gains.itertuples())]
print("points above AN; ± 95 % over draws, over classes, over test images")
print(gains.pivot(index=["scheme", "method"], columns="data", values="shown")[NAMES].to_string(na_rep=""))

# %% [markdown]
# LL-R is above AN on all data and under all three schemes (by 1.2 to 7.5 points), and so is EN (0.7 to 5.9). After
# Holm's correction two of nine gains of each are not significant; three of LL-R's nine intervals over classes include
# 0, and none of EN's. No interval over test images includes 0 for these two methods. Ignore and SE fail under single
# positives, where no label says "absent": on photographs they stay 1 to 3 points above a random order. CSL fails there
# on VOC, probably because it ignores the five unknown labels with the highest scores of each image, of only 12 classes
# (no other number was tried). GR-Loss and LSAN gain 7 to 14 points on drawn images under these three schemes; on
# photographs they gain at most 2.8, or lose. Under RPA on VOC the intervals over classes are for most methods two to
# five times as wide as those over draws. Those over test images are narrowest on `scenes` (2,000 images), and on COCO
# (208) in a third of the cells wider than those over draws.
#
# BoostLU and CL (the consistency loss of Spatial Consistency, without crops) wrap another method. CNN-RNN takes as long
# as all other methods together, and was run on COCO only. Gains over the wrapped method, and of CNN-RNN over AN, with
# 95 % intervals over draws:

# %%
kinds, wrapped = [*three, "full-subset"], {}
for name in NAMES:
    for line in atlas[name].summary():
        if line.limit.dollars == middle[name].budget.max() and line.scheme in kinds:
            for wrapper in ("boostlu", "cl"):
                for inner in ("an", "ll-r", "en"):
                    gap = line.difference(f"{inner}+{wrapper}", inner)
                    wrapped[name, line.scheme, f"{inner}+{wrapper}"] = f"{100 * gap.mean:+z.1f} ±{100 * gap.half:.1f}"
print(pd.Series(wrapped).unstack(sort=False).reindex(kinds, level=1).to_string())
lines = {line.scheme: line for line in atlas["coco-mini"].summary() if line.limit.dollars == middle["coco-mini"].budget.max()}
gaps = {kind: lines[kind].difference("cnn-rnn", "an") for kind in kinds}
print("CNN-RNN − AN, COCO:", ", ".join(f"{kind} {100 * gap.mean:+.1f} ±{100 * gap.half:.1f}" for kind, gap in gaps.items()))

# %% [markdown]
# Under FPC BoostLU gains 7.5 to 11.7 points on drawn images, and LL-R + BoostLU has the highest mean of all methods on
# all three data sets; its gains on photographs (1.2 and 1.9) are not significant. With so few other labels it costs
# LL-R and EN 3.6 to 7.0 points on COCO and 4.0 to 10.6 on `scenes`, and up to 2.0 on VOC. With complete labels of all
# images BoostLU gains 11.5 points on `scenes`, 1.6 on VOC and 0.2 on COCO; for one label of every image of VOC see
# [chapter 13](13_photographs.ipynb). With AN nearly every search chose a boost of 2 in place of 5, and BoostLU changes
# less. With LL-R and EN another boost was not tried, which may explain a part of their losses. CL gains nothing
# significant, and costs LL-R and EN 3.1 and 3.6 under RPA on VOC. CNN-RNN is above AN under single positives (2.4), and
# below it with complete labels of few images (5.2).
#
# ## What the schemes give for their price
#
# mAP in percent of that of AN with complete labels, for 2 to 57.5 % of their price. For each scheme we take one of
# twelve methods: the one with the highest mAP on validation images at 11.5 %.
# %%
worth, chosen = {}, {}
for name, table in tables.items():
    twelve = set(table.query("share == 57.5").method)
    for scheme, rows in table.query("share == 11.5 and method in @twelve").groupby("scheme"):
        method = chosen[scheme, name] = rows.loc[rows.tuned_map.idxmax(), "method"]
        mine = table[(table.scheme == scheme) & (table.method == method)].groupby("share").points
        worth[scheme, name] = 100 * mine.mean() / ceiling[name]
worth = pd.DataFrame(worth).T.unstack().swaplevel(axis=1).sort_index(axis=1)[NAMES]
worth = worth.loc[worth.xs(11.5, axis=1, level=1).mean(axis=1).sort_values(ascending=False).index]
print(worth.round(0).to_string(float_format="%.0f"))
print(pd.Series(chosen).unstack()[NAMES].loc[worth.index].to_string())

# %% [markdown]
# Numbers above 100 compare another method with AN, or are chance: with complete labels, too, LSAN is above AN, on
# `scenes` by 5.6 points (below). FPC leads from 5 to 25 % (on `scenes` level with `federated` at 25 %). This rests on
# the assumed proposals: with a search at random it is far below complete labels of fewer images. Complete labels of
# fewer images are second on photographs for 11.5 %, level with `federated`: by `hourly` one class of a complete image
# takes only 0.3 seconds. For 11.5 % single positives and fraction-of-positives are ahead of RPA: a name takes only 2.4
# times as long as a yes or no, and most answers of RPA are "no". The knowledge graph is last or last but one.

# %% tags=["remove-input"]
at = worth.xs(11.5, axis=1, level=1)
assert at.idxmax().eq("fpc").all() and at.loc["fpc", NAMES].round().tolist() == [91, 86, 92]
assert at.loc["full-subset", NAMES].round().tolist() == [84, 79, 62]
assert at.loc["fpc(search=random)", ["voc12-animals", "scenes"]].round().tolist() == [52, 44]

# %% [markdown]
# ## What decides: the scheme, the method, or chance?
#
# An analysis of variance of mAP over schemes, twelve methods and draws, for each budget; `fpc(search=random)` is left
# out. Shares of the variance, in percent:
# %%
shares = {}
for name, table in tables.items():
    table = table[table.method.isin(set(table.query("share == 57.5").method))]
    for share, rows in table[table.scheme != "fpc(search=random)"].groupby("share"):
        parts = simkit.analysis.variance(rows).set_index("source")["share"]
        shares[name, share] = 100 * parts
shares = pd.DataFrame(shares).T[["scheme", "method", "scheme x method"]]
shares["the rest"] = 100 - shares.sum(axis=1)
shares.round(1)

# %% [markdown]
# The scheme explains most. On VOC its interaction with the method is two to four times as large as the method: Ignore,
# SE and CSL gain 4.8 to 9.2 points over AN under RPA and lose 17 to 31 under single positives. On COCO, too, the
# interaction is the larger of the two, except at 5 %; on `scenes` the method is, except at 57.5 %. These shares depend
# on the schemes and methods compared. For 11.5 %, among the five schemes that ask only yes or no (in `full-subset` for
# all classes of an image), and among the six that need no proposals:

# %%
proposed, asking = ["federated", "fpc", "proposals"], ["federated", "fpc", "full-subset", "proposals", "rpa"]
parts = {}
for name, table in middle.items():
    table = table[table.method.isin(set(tables[name].query("share == 57.5").method))]
    others = ~table.scheme.isin([*proposed, "fpc(search=random)"])
    for which, rows in {"yes or no": table.scheme.isin(asking), "no proposals": others}.items():
        part = simkit.analysis.variance(table[rows]).set_index("source")["share"]
        parts[which, name] = 100 * part.loc[["scheme", "method", "scheme x method"]]
pd.DataFrame(parts).round(1)

# %% [markdown]
# Among the five the scheme explains more still on photographs. Without proposals it explains less, but more than half.
#
# ## The best methods of each scheme
#
# The three highest means for 11.5 %, the probability that the first has the highest expected mAP, and how many others
# may be the best (the first and these include the best with a probability of 97.5 %):

# %%
best = {}
for name, runs in atlas.items():
    for line in runs.summary():
        if line.limit.dollars == middle[name].budget.max():
            high = sorted(line.cells, key=lambda cell: -cell.score.mean)[:3]
            named = [f"{cell.method} {100 * cell.score.mean:.1f}" for cell in high]
            probability = line.best.probability[line.best.first]
            best[line.scheme, name] = [*named, f"{probability:.0%}", len(line.best.rivals)]
columns = ["first", "second", "third", "P(first)", "others"]
pd.DataFrame(best, index=columns).T.sort_index(level=0, sort_remaining=False)

# %% [markdown]
# ## One method for all schemes
#
# Points of mAP below the best method of each scheme for 11.5 %, mean over the schemes (and largest), for the five
# methods that lose least, and for AN and Ignore:

# %%
means = {name: table.pivot_table("points", "method", "scheme") for name, table in middle.items()}
lost = {name: m.max() - m.dropna() for name, m in means.items()}
lost = {name: m.agg(["mean", "max"], axis=1).sort_values("mean") for name, m in lost.items()}
for name, each in lost.items():
    listed = dict.fromkeys([*each.index[:5], "an", "ignore"])
    print(name, ", ".join(f"{m} {each['mean'][m]:.1f} ({each['max'][m]:.1f})" for m in listed), sep=": ")

# %% [markdown]
# Does a ranking of methods hold elsewhere? Spearman's rank correlation of the mean mAP for 11.5 % with that for another
# budget (twelve methods), between pairs of schemes (all methods; mean, and smallest), and with the same scheme on each
# other data set (all methods):

# %%
agreed = {}
for name, table in tables.items():
    by_share = {s: t.pivot_table("points", "method", "scheme") for s, t in table.groupby("share")}
    small, large = (by_share[s].corrwith(by_share[11.5], method="spearman").mean() for s in (5, 57.5))
    pairs = means[name].corr("spearman").to_numpy()[np.triu_indices(means[name].shape[1], 1)]
    others = {f"on {o}": means[name].corrwith(means[o], method="spearman").mean() for o in NAMES}
    same = {"with 5 %": small, "with 57.5 %": large, "between schemes": pairs.mean()}
    agreed[name] = same | {"least alike schemes": pairs.min()} | others
agreed = pd.DataFrame(agreed)
agreed.round(2)

# %% [markdown]
# On photographs LL-R is a safe choice, and so is EPR if the true mean number of classes in an image is known: on
# average 0.6 to 1.7 points below the highest mean of all methods, 6.9 at worst (LL-R, knowledge graph of COCO). Under
# single positives Ignore is 32 (VOC) and 22 (COCO) points below. A ranking mostly holds for other budgets (0.73 to
# 0.85), and less for another scheme (0.32 to 0.51). VOC and COCO rank the methods of a scheme moderately alike (0.58),
# and drawn images say little about photographs (0.37 and 0.30): choose by a pilot on your own images ([chapter
# 05](05_planning_a_budget.ipynb)).

# %% tags=["remove-input"]
photographs = {name: lost[name]["mean"] for name in NAMES[:2]}
assert all(set(each.index[:2]) == {"epr", "ll-r"} for each in photographs.values())
assert [round(each["an"], 1) for each in photographs.values()] == [4.3, 5.5]
assert agreed.loc["on coco-mini", "voc12-animals"] > 0.5
assert agreed.loc["on scenes", NAMES[:2]].max() < 0.4

# %% [markdown]
# ## Another price list
#
# mAP of LL-R in percent of that of AN with complete labels, for 11.5 % of their price by three price lists. By
# `coco-tagging` a name costs 37 times as much as a yes or no, by `hourly` 2.4 times, by `openimages` the same.

# %%
few = ["an", "ignore", "ll-r", "em", "gr-loss", "en"]
lists, priced, left = ["hourly", "coco-tagging", "openimages"], {}, []
for name, prices in [(name, prices) for name in NAMES[:2] for prices in lists]:
    table = middle[name]
    if prices != "hourly":
        table = simkit.open_runs(f"../atlas/{name}-{prices}").table
        table = table[table.budget == table.budget.max()]
    for scheme, rows in table[table.method == "ll-r"].groupby("scheme"):
        priced[scheme, name, prices] = 100 * 100 * rows["map"].mean() / ceiling[name]
        if (spent := (rows.dollars / rows.budget).mean()) < 0.95:
            left.append(f"{scheme} on {name} by {prices} {spent:.0%}")
priced = pd.Series(priced).unstack([1, 2]).sort_values((NAMES[0], "hourly"), ascending=False)
print(priced.to_string(float_format="%.0f", na_rep=""))
print("spent, of the budget:", ", ".join(left))

# %% [markdown]
# FPC, with its assumed proposals, has the highest mAP by all three lists, and `federated` the second in all cases but
# one. By `openimages` the schemes in which people name classes (single positives, fraction-of-positives, `mixed`) reach
# 82 to 100 %, more than complete labels, although single positives of all images cost only a part of the budget. By
# `coco-tagging` they are far behind complete labels, and by `hourly` behind on VOC and about level on COCO.
#
# ## How FPC finds its images
#
# FPC leads if a machine finds its images. Here its assumptions change:
#
# * `precision=0.77`: of its candidates 77 % are right, as of those of a detector on these photographs of VOC
#   (YOLOX-nano, scores of 0.3 and more); `precision=0.1`: 10 %. `fpc` alone assumes 50 %.
# * `search=scores`, on VOC: people look at images in the order of that detector's scores, with the errors that it
#   makes.
# * `search=random`: a random order; with `keep_looks=true` all paid answers are kept.
#
# mAP of one of six methods (five with the detector), the one with the highest mAP on validation images, for 5 and 11.5
# % of the price of complete labels, with 95 % intervals over draws:

# %%
by_search, level = {}, "{0.mean:.1f} ({0.low:.1f} to {0.high:.1f})".format
for name in NAMES[:2]:
    parts = [simkit.open_runs(f"../atlas/{name}-searches").table]
    if name == "voc12-animals":
        scored = simkit.open_runs(f"../atlas/{name}-detector").table
        parts.append(scored[scored.scheme == "fpc(search=scores)"])
    parts.append(tables[name].query("scheme == 'full-subset' and share in (5, 11.5)"))
    for rows in parts:
        shares_of = dict(zip(sorted(rows.budget.unique()), (5, 11.5), strict=True))
        for (scheme, budget), each in rows[rows.method.isin(few)].groupby(["scheme", "budget"]):
            best_of = each[each.method == each.loc[each.tuned_map.idxmax(), "method"]]
            if len(best_of) == 10:
                by_search[scheme, name, shares_of[budget]] = 100 * best_of.set_index("draw")["map"].sort_index()

# %%
shown = pd.Series({key: level(simkit.interval(points)) for key, points in by_search.items()}).unstack([1, 2])
print(shown.sort_values((NAMES[0], 11.5), ascending=False).to_string(na_rep=""))
complete, random = "full-subset", "fpc(search=random)"
for one, other, name, share in [("fpc(search=scores)", complete, NAMES[0], 5), ("fpc(search=scores)", complete, NAMES[0], 11.5),
                                ("fpc(precision=0.1)", complete, NAMES[0], 11.5), ("fpc(precision=0.1)", complete, NAMES[1], 11.5),
                                ("fpc(search=random, keep_looks=true)", random, NAMES[0], 11.5)]:  # fmt: skip
    gap = by_search[one, name, share] - by_search[other, name, share]
    print(f"{one} − {other}, {name}, {share} %: {with_interval(simkit.interval(gap))}")

# %% [markdown]
# Better candidates than the assumed ones change nothing: FPC wants as many absent labels as present ones, and wrong
# candidates are absent labels. If only a tenth is right, FPC is 10.1 and 6.7 points below complete labels of fewer
# images for 11.5 %; on COCO a part of this budget is left, because the next larger amount costs more. With the scores
# of the real detector FPC is 5.1 points above complete labels for 5 %, and level with them for 11.5 % (+0.9, not
# significant): its lead there rests on the assumptions. It finds fewer images of the classes than assumed, and such as
# the detector finds easy; either may explain this. At random, keeping all answers does not help significantly (+1.7).
# Cells are empty if not all ten draws found every class, or if the search was not run. Whether such a machine leaves
# anything to label is asked in [chapter 14](14_why_label_at_all.ipynb).
#
# ## Annotators who err
#
# So far all answers are right. Now people miss a class in 5 % of the images that show it, and report it in 5 % of the
# others, independently. A name is one of all classes that a person would report, so that more than 5 % of the names are
# false. Each question is put to one person, to two (yes if both say yes), or to three (the majority decides). The
# budget is the same, 11.5 % of the price of complete labels by one person, so more answers to a question buy fewer
# labels. mAP of LL-R, and of the six methods in the mean, with 95 % intervals over draws:

# %%
answers = {"right": "", "one answer": "-erring-1", "two": "-erring-2", "three": "-erring-3"}
five, votes = ["full-subset", "fpc", "single-positive", "rpa", "knowledge-graph"], {}
for name in NAMES[:2]:
    for kind, panel in answers.items():
        table = simkit.open_runs(f"../atlas/{name}{panel}").table if panel else middle[name]
        points = 100 * table.query("method in @few").pivot_table("map", ["method", "draw"], "scheme")[five]
        votes[name, "LL-R", kind] = points.loc["ll-r"]
        votes[name, "six methods", kind] = points.groupby("draw").mean()
print(pd.DataFrame({key: each.apply(simkit.interval).map(level) for key, each in votes.items()}).T.to_string())

# %%
for name, who, more in [(name, who, more) for name in NAMES[:2] for who, more in
                        [("six methods", "two"), ("six methods", "three"), ("LL-R", "two")]]:  # fmt: skip
    gap = votes[name, who, more] - votes[name, who, "one answer"]
    gaps = ", ".join(f"{scheme} {with_interval(simkit.interval(gap[scheme]))}" for scheme in five)
    print(f"{name}, {who}, {more} answers over one: {gaps}")
for name in NAMES[:2]:
    gap = votes[name, "six methods", "one answer"] - votes[name, "six methods", "right"]
    gaps = ", ".join(f"{scheme} {with_interval(simkit.interval(gap[scheme]))}" for scheme in five)
    print(f"{name}, six methods, one answer over right ones: {gaps}")

# %% [markdown]
# *One answer to each question is mostly best, of one, two or three.* A second or third one costs labels: the mean of
# the six methods falls significantly in 15 of these 20 comparisons (not corrected for their number). Only under single
# positives on COCO two answers gain (3.0, LL-R 1.9), perhaps because many names are false there. Errors leave the order
# of the five schemes as it was. With one answer they cost complete labels 5.9 and 6.1 points (mean of the six methods),
# FPC 2.4 and 2.8, and RPA 4.6 and 1.7; why these differ was not measured. Errors of people who repeat the same mistake
# were not simulated.
#
# ## Amounts of labels as in the papers
#
# The papers do not compare at equal cost: RPA and fraction-of-positives keep half of the labels, FPC has up to 100 of
# each kind for each class (here 20 on COCO, which has 418 images; rare classes have fewer), single positives name one
# class of every image. The other schemes have their default amounts. Settings are those chosen for 11.5 %, which may
# change the order of the methods.

# %%
published = {name: simkit.open_runs(f"../atlas/{name}-amounts") for name in NAMES[:2]}
draw("matrix")(published["voc12-animals"], "VOC, the papers' amounts: EPR is within half a point of the best of each scheme")

# %%
for name, runs in published.items():
    by_amount = 100 * runs.table.pivot_table("map", "method", "scheme")
    dollars = runs.table.groupby("scheme").dollars.mean()
    print(name, f"complete labels cost ${atlas[name].reference.dollars.mean():.2f}", sep=": ")
    kept = by_amount.rename(columns=lambda one: one.partition("(")[0])
    alike = kept.corrwith(means[name].loc[kept.index], method="spearman")
    overview = pd.DataFrame({"dollars": dollars, "highest": by_amount.idxmax(), "mAP": by_amount.max(),
                         "AN": by_amount.loc["an"], "LL-R": by_amount.loc["ll-r"]})  # fmt: skip
    overview["rank correlation"] = alike[kept.columns].to_numpy()
    print(overview.sort_values("dollars").round(dict(zip(overview, (2, 0, 1, 1, 1, 2), strict=True))).to_string())
    by_draw = 100 * runs.table.pivot_table("map", ["scheme", "draw"], "method")
    for scheme, method in [("single-positive", one) for one in ("ll-r", "lsan", "en")] + [("rpa", "ignore"), ("fpc", "ignore")]:
        (spec,) = [one for one in runs.table.scheme.unique() if one.partition("(")[0] == scheme]
        gap = by_draw.loc[spec, method] - by_draw.loc[spec, "an"]
        print(f"{method} − an, {spec}: {with_interval(simkit.interval(gap))}")

# %% [markdown]
# On VOC FPC with up to 100 labels of each kind costs 28 % of complete labels and has 58.6 mAP with LL-R and 55.9 with
# AN (complete labels: 60.0), if its candidates come free. RPA and the knowledge graph cost more than complete labels,
# by this price list, and so do `proposals` on VOC. With a name in every image LL-R gains 1.6 (VOC) and 4.8 (COCO)
# points over AN, and EN 3.3 and 1.7; LSAN gains 2.2 on VOC and loses 3.4 on COCO. Methods rank as for 11.5 % on VOC
# (rank correlations of 0.66 and more), and less so on COCO: 0.44 and more, but −0.05 on the knowledge graph.
#
# ## Drawn images, photographs, and another network
#
# LSAN gains much on `scenes` and not on photographs, and Ignore loses much under FPC there. Is that because drawings
# differ, or because the features of `scenes` were learned on drawings? And do gains on photographs hold for another
# network, EfficientNet-Lite2? Gains over AN for 11.5 %, and with complete labels (means over draws):

# %%
places = {
    ("VOC", "MobileNetV2"): "voc12-animals", ("VOC", "Lite2"): "voc12-animals-lite2",
    ("COCO", "MobileNetV2"): "coco-mini", ("COCO", "Lite2"): "coco-mini-lite2",
    ("scenes", "scenes-net"): "scenes", ("scenes", "MobileNetV2"): "scenes-mobilenet",
}  # fmt: skip
gained, order, by_network, few = {}, {}, {}, ["ll-r", "csl", "en", "gr-loss", "lsan", "ignore"]

# %%
for column, place in places.items():
    runs = simkit.open_runs(f"../atlas/{place}")
    budgets = sorted(runs.table.budget.unique())
    lines = [line for line in runs.summary() if line.limit.dollars == budgets[len(budgets) // 2]]
    cells = runs.table[runs.table.budget == budgets[len(budgets) // 2]]
    by_network[column] = 100 * cells.pivot_table("map", ["scheme", "draw"], "method")
    order[column] = {line.scheme: {c.method: c.score.mean for c in line.cells} for line in lines}
    complete = 100 * runs.reference.groupby("method")["map"].mean()
    print(f"{' with '.join(column)}: AN on complete labels {complete['an']:.1f}")
    for method in few:
        for line in (line for line in lines if line.scheme in three and line.cell(method)):
            gap = line.difference(method, "an")
            gained[method, line.scheme, column] = f"{100 * gap.mean:+.1f} ±{100 * gap.half:.1f}"
        if method in complete:
            gained[method, "complete", column] = f"{complete[method] - complete['an']:+.1f}"

# %%
gained = pd.Series(gained).unstack().reindex([*places], axis=1).reindex(few, level=0)
gained.columns = [f"{images}, {network}" for images, network in gained]
print("points above AN, ± 95 % over ten draws")
print(gained.to_string(na_rep=""))

# %%
for images in ("VOC", "COCO"):
    one, two = (pd.DataFrame(order[images, network]) for network in ("MobileNetV2", "Lite2"))
    alike = one.loc[two.index].corrwith(two, method="spearman").drop("full-subset").dropna()
    change = [by_network[images, net].loc[three].sub(by_network[images, net].loc[three]["an"], axis=0) for net in ("Lite2", "MobileNetV2")]
    for method in ("ll-r", "en", "gr-loss", "lsan"):
        more = (change[0] - change[1])[method]
        print(f"{images}, {method}: the gain over AN with Lite2 is larger by", end=" ")
        print(", ".join(f"{with_interval(simkit.interval(more[scheme]))} ({scheme})" for scheme in three))
    print(images, f"rank correlation of {len(two)} methods with MobileNetV2 and Lite2:", end=" ")
    print(f"mean {alike.mean():.2f}, {alike.min():.2f} ({alike.idxmin()}) to {alike.max():.2f}")

# %% [markdown]
# *Features explain most of the difference, for LSAN and Ignore.* With features of MobileNetV2 LSAN's gain on `scenes`
# falls with single positives from 11.7 to −0.5 and with complete labels from 5.6 to 0.8; Ignore's loss under FPC falls
# from 15.2 to 1.0. LL-R gains with both. *With another network LL-R and EN gain about as much on photographs*: their
# gains change by at most 1.6 points and keep their signs, and the rank correlation of twelve methods is 0.75 and 0.85
# in the mean over schemes (`full-subset` is left out, where most methods are one). GR-Loss gains 1.0 to 2.7 points more
# with Lite2, significantly in all six cells, and LSAN up to 3.5.
#
# ## Whole networks from pixels
#
# First the head is trained (12 epochs on `scenes`, 25 on VOC), then all weights (6 and 2 epochs): scenes-net on
# `scenes`, MobileNetV2 on 400 photographs of VOC at 160 pixels, for 57.5 % of the price of complete labels. Of each
# method the learning rate of all weights is the best of three, in one draw on validation images. Beside them are heads
# with the same labels, tuned as above, on frozen features (VOC: of images of 224 pixels). Differences in points, with
# 95 % intervals over four draws (heads on `scenes`: ten):

# %%
steps = [("ll-r", "an"), ("en", "an"), ("ignore", "an"), ("ll-r+boostlu", "ll-r")]
trained, gained = {}, {}
for name in ("voc12-animals", "scenes"):
    trained[name, "networks"] = simkit.open_runs(f"../atlas/{name}-networks").table
trained["voc12-animals", "heads"] = simkit.open_runs("../atlas/voc12-animals-heads").table
trained["scenes", "heads"] = tables["scenes"].query("share == 57.5")
for source, table in trained.items():
    points = 100 * table.pivot_table("map", ["scheme", "draw"], "method").loc[["single-positive", "rpa"]]
    for better, base in [pair for pair in steps if {*pair} <= {*points}]:
        gaps = (points[better] - points[base]).groupby("scheme").agg(list).map(simkit.interval)
        gained[f"{better} − {base}", *source] = gaps.map(with_interval)
complete = {source: 100 * table[table.budget.isna()]["map"].mean() for source, table in trained.items()}
complete["scenes", "heads"] = ceiling["scenes"]
print("complete labels of all images, AN:", ", ".join(f"{' '.join(s)} {m:.1f}" for s, m in complete.items()))
pd.DataFrame(gained).T.sort_index(level=0, sort_remaining=False)

# %% [markdown]
# With complete labels (on VOC of these 400 images) whole networks are 4.1 points above heads on `scenes`, and 3.5 below
# on VOC, where their images are smaller. On `scenes` the gains of LL-R, EN and Ignore have the signs of those of heads,
# though LL-R's under single positives is not significant, and BoostLU gains 4.2 over LL-R under RPA. On VOC only Ignore
# under RPA gains about as much as with heads (7.1); LL-R and EN gain 0.9 and 1.1 there, and do not differ from AN under
# single positives, and BoostLU costs LL-R 2.1 and 2.5. In 7 of 20 cells the best rate is the smallest or largest of the
# three. Two epochs of 350 images are little training for a network, so this says little about the papers' networks.
#
# ## A few cells, trained here
#
# With the settings and draws of the atlas, the scores are the same up to rounding, and processors round differently.
# LL-R and GR-Loss choose labels by thresholds. Rounding can change a choice, and so all later steps: if the last bit of
# 1 % of the features is changed (five times, `scripts/notebooks.py --perturb`, measured with an earlier atlas), mAP of
# a training of these two changes by up to 0.7 points, that of the other methods by up to 0.2 and mostly by less than
# 0.05. The figure has the first three of ten draws, so its means differ from those above.

# %%
live = ["single-positive", "rpa"] if quick else ["single-positive", "rpa", "fpc"]
few = ["an", "lsan"] if quick else ["an", "ignore", "lsan", "ll-r", "em", "gr-loss"]
part = middle["scenes"].query("scheme in @live and method in @few")
settings = {
    scheme: {one.method: json.loads(one.tuned) for one in group.itertuples()}
    for scheme, group in part.drop_duplicates(["scheme", "method"]).groupby("scheme")
}
grid = Grid(schemes=live, methods=few, budgets=[part.budget.max()], prices="hourly",
            data="scenes:images=1000", draws=1 if quick else 3,
            train=demo_grid().train, settings=settings, reference=False)  # fmt: skip

# %%
again = simkit.compare(grid, out=folder.name, workers=1 if quick else None)
both = again.table.merge(part, on=["scheme", "method", "draw"], suffixes=("", "_atlas"))
both["difference"] = (both["map"] - both["map_atlas"]).abs()
apart = both.query("difference > 1e-5")[["scheme", "method", "draw", "difference"]]
print(f"{len(apart)} of {len(both)} trainings differ from the atlas by more than 1e-5")
print(apart.round(4).to_string(index=False) if len(apart) else "")
draw("heat-map")(again)

# %% tags=["remove-input"]
assert len(both) == len(again.table) == len(live) * len(few) * grid.draws
apart, choosing = both.groupby("method").difference.max(), ["ll-r", "gr-loss"]
assert apart.drop(choosing, errors="ignore").max() < 0.005 and apart.max() < 0.015
assert both.groupby("method").difference.mean().max() < 0.005

# %% [markdown]
# ## Summary
#
# Points of mAP on VOC / COCO / `scenes` for 11.5 % of the price of complete labels (`hourly`), and after the semicolon
# with amounts of labels as in the papers. The papers fine-tune whole networks and name one class in every image, and
# *Class-aware Selective Loss* trains on all images under FPC. Here heads are trained on frozen features, that price
# pays for single positives of 350 of 2,015 images of VOC, 160 of 418 of COCO and 750 of 1,000 of `scenes`, and images
# without an answer are left out.
#
# | question | here; with the papers' amounts (VOC / COCO) | in the paper |
# |---|---|---|
# | What decides mAP at equal cost? | the scheme (52 to 73 % of the variance), then its interaction with the method (9 to 35 %) or the method (7 to 16 %), of twelve methods | not asked |
# | LL-R − AN, single positives | +1.3 (not significant after Holm) / +5.1 / +3.7; +1.6 / +4.8 | VOC +2.5, COCO +3.2 (Large Loss Matters, Table 2, LinearInit: the head first, then all weights) |
# | LSAN − AN, single positives | +0.0 / −3.2 (both not significant after Holm) / +11.7; +2.2 / −3.4 | VOC −0.4, COCO +0.5 (the same table) |
# | EN − AN, single positives | +1.3 (not significant after Holm) / +3.2 / +4.0; +3.3 / +1.7 | VOC +2.1, COCO +2.8 (Spatial Consistency, Table 1) |
# | Ignore − AN, RPA | +8.3 / +2.1 / +6.1; +4.3 / +4.5 | Ignore ahead (COCO; Class-aware Selective Loss, Fig. 6) |
# | Ignore − AN, FPC | +1.4 (not significant after Holm) / +4.4 / −15.2; +1.2 / +0.9 (not significant): on photographs unlike the paper | AN ahead (COCO, the same figure) |
#
# ## Exercises
#
# 1. Which methods do not differ significantly from the first one under single positives on VOC?
#
# <details><summary>Solution</summary>
#
# ```python
# single = middle["voc12-animals"].query("scheme == 'single-positive'")
# steps = simkit.analysis.ablation(single, "role")
# print(list(steps.query("p > 0.05")["method"]))
# ```
#
# Twenty-six of 34: all but Ignore, Partial BCE, CSL, SE, SE-I, SE-L, IMCL and curriculum. That is no proof that they
# are level: most intervals are 5 to 9 points wide to each side.
#
# </details>
#
# 2. Which classes of VOC gain most by LL-R under RPA?
#
# <details><summary>Solution</summary>
#
# ```python
# rows = middle["voc12-animals"].query("scheme == 'rpa'")
# ap = {m: np.stack(rows[rows.method == m].ap).astype(float).mean(0) for m in ("an", "ll-r")}
# gain = pd.Series(100 * (ap["ll-r"] - ap["an"]), atlas["voc12-animals"].table.attrs["classes"])
# print(gain.sort_values(ascending=False).round(1))
# ```
#
# Horse (+20.2), cat, sheep and person (+12.2); bottle and potted plant gain nothing.
#
# </details>
#
# Next: [planning a budget](05_planning_a_budget.ipynb).
