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
# # How do the methods differ?
#
# **Result.** Most of the 36 methods use cross-entropy on known labels and differ in the loss of an
# unknown label. Four assumptions about it are common (figure and table below). 35 methods train on partial
# labels (Full needs complete ones). They treat a label differently: in an example the model predicts an unknown
# label as present, with a logit of 4 (a probability of 0.98), in the tenth epoch. Then 9 methods lower the logit
# (a gradient of the loss above 0.1; 0.98 for AN, which treats unknown labels as absent), 17 hardly change it,
# and 9 raise it (a gradient below -0.005). ROLE's gradient, 0.0946, is just below 0.1, so the counts depend on
# this threshold.
#
# **Run it.** `%pip install -q "..[notebooks]"` once, in this folder; 16 seconds in full on one core, 10 with
# `SIMKIT_SIZE=quick`.

# %%
# %matplotlib inline
import os
from inspect import getsource
from textwrap import dedent

import matplotlib.pyplot as plt
import numpy as np

import simkit
from simkit.analysis import Scene, loss_at, loss_gradient, loss_shapes
from simkit.figures import FAMILIES
from simkit.methods import get
from simkit.results.figures.style import INK, STYLE, looks

# %%
plt.rcParams.update(STYLE)
quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
scene = Scene.drawn()
expected = dict.fromkeys(("epr", "role", "en", "ep", "aevlp"), "(expected=2.9)")
special = expected | {"csl": "(top_k=2, eta=0.5)", "cnn-rnn": "(hidden=16, embedding=8)"}
methods = [m + special.get(m, "") for group in FAMILIES.values() for m in group if m != "full"]
methods += ["an+boostlu", "ll-r+boostlu", "an+cl"]
logits = np.linspace(-8, 8, 9 if quick else 33)
only = {"unknown": scene.entries()["unknown"]}
unknown = loss_shapes(scene, methods, logits=logits, entries=only)

# %%
examples = {
    "unknown\ncounts as absent": ["an", "lsan", "wan", "asl"],
    "unknown\nsays nothing": ["ignore", "partial-bce"],
    "the model\nselects labels": ["ll-r", "ll-ct", "en(expected=2.9)", "splc"],
    "the model gives\nsoft labels": ["em", "gr-loss"],
    "similar images\nand classes decide": ["se", "se-i", "se-l"],
}

# %%
figure, panels = plt.subplots(1, 5, figsize=(9, 3.6), sharex=True, sharey=True)
for panel, (title, some) in zip(panels, examples.items(), strict=True):
    panel.axhline(0, color=INK, lw=0.8)
    for method, look in looks(some).items():
        rows = unknown[(unknown["method"] == method) & (unknown["epoch"] == 10)]
        panel.plot(rows["logit"], rows["gradient"], **look.line() | {"markevery": 8, "markersize": 5})
    panel.set_title(title, fontsize=9)
    panel.legend(fontsize=7, loc="upper left", handlelength=2)
panels[0].set(ylim=(-0.3, 1.45), ylabel="gradient: above 0 training\nlowers the logit")
figure.supxlabel("logit of an unknown label, in the tenth epoch", fontsize=10)
figure.suptitle("What do methods assume about a label that nobody gave?", fontsize=12, weight="bold", x=0.01, ha="left")
figure.tight_layout()

# %% [markdown]
# Each panel has examples; in two of them the model decides. The families of methods below are finer.
#
# | an unknown label | assumption | fails if |
# |---|---|---|
# | counts as absent | nearly all unknown labels are absent | many present classes are unknown, as under single positives with many classes in an image |
# | says nothing | unknown labels are like known ones, and some labels are known to be absent | only positives are known: then every class is predicted as present |
# | is decided by the model | a model learns the many right labels before the few wrong ones, or the number of classes in an image is known | wrong labels are as frequent as right ones, or the number is wrong |
# | is decided by similar images and classes | images with similar features show the same classes, and similar classes are in the same images | the features do not separate the classes |
#
# ## Notation
#
# A label has the logit $x$ and the probability $p=\sigma(x)$. Cross-entropy costs
# $\ell^+=-\log p$ if the label is present and $\ell^-=-\log(1-p)$ if it is absent. $P$, $M$ and $U$
# are the labels known to be present, known to be absent, and unknown. Unless stated otherwise a method
# minimises the following sum over a batch, divided by its number of labels $b\cdot L$,
#
# $$\sum_{P}\ell^+ + \sum_{M}\ell^- + \sum_{U}u ,$$
#
# so its loss $u$ of an unknown label defines the method. Settings are the defaults of simkit. The code of
# a family's losses follows its formulas; in `batch.labels` 1 is present, -1 absent and 0 unknown, and
# `bce` is cross-entropy. `simkit list methods NAME` shows the settings, and what a paper left open.

# %%
for family, members in FAMILIES.items():
    print(f"{family:22}", ", ".join(get(name).title for name in members))

# %% [markdown]
# ## Baselines
#
# | method | known labels | unknown label |
# |---|---|---|
# | Full | $\ell^+$ and $\ell^-$, labels are complete | there is none |
# | AN, assume negative | $\ell^+$ and $\ell^-$ | $u=\ell^-$ |
# | Ignore | $\ell^+$ and $\ell^-$ | $u=0$ |
# | FE, full exposure | ${}5\,\ell^+$ and $\ell^-$, sum over classes | $u=\ell^-$ |

# %%
for name in ("an", "ignore"):
    print(name, dedent(getsource(get(name).loss)), sep="\n")

# %% [markdown]
# ## Weights and smoothing
#
# | method | known labels | unknown label |
# |---|---|---|
# | WAN | $\ell^+$ and $\ell^-$ | $u=\ell^-/(L-1)$ |
# | Partial BCE | $g\,\ell^+$ and $g\,\ell^-$ with $g=-4.45\,s+5.45$, where a share $s$ of the labels of the image is known | $u=0$ |
# | LSAN | $(1-\epsilon)\,\ell^++\epsilon\,\ell^-$ and the reverse, $\epsilon=0.1$ | $u=\epsilon\,\ell^++(1-\epsilon)\,\ell^-$ |
# | LS (constant), Soft Exposure's LS | sum over classes | $u=-\log\sigma(x/T)$ with $T=-2$ |

# %%
for name in ("wan", "lsan", "ls-constant"):
    print(name, dedent(getsource(get(name).loss)), sep="\n")

# %% [markdown]
# ## Focal
#
# All are sums over the batch. In ASL, P-ASL and CSL the weight in front of the logarithm has no
# gradient.
#
# | method | known labels | unknown label |
# |---|---|---|
# | Focal | $(1-p)^2\,\ell^+$ and $p^2\,\ell^-$ | $u=p^2\,\ell^-$ |
# | ASL | $(1-p)\,\ell^+$ and as unknown | $u=-q^4\log(1-q)$ with $q=\max(p-0.05,\,0)$ |
# | P-ASL | $\ell^+$ and $p\,\ell^-$ | $u=p^2\,\ell^-$ |
# | CSL | as P-ASL | as P-ASL, but $u=0$ for the $K=5$ likeliest unknown labels of the image, and for classes with an estimated prior above $\eta$ |
# | Hill | $(1-p_m)^2\,(-\log p_m)$ with $p_m=\sigma(x-1)$, and as unknown | $u=(\lambda-p)\,p^2$ with $\lambda=1.5$ |
#
# Hill's gradient for the logit is ${}3p^2(1-p)^2$: it vanishes at both ends.

# %%
for name in ("asl", "csl", "hill"):
    print(name, dedent(getsource(get(name).loss)), sep="\n")

# %% [markdown]
# ## Large loss
#
# $S$ is the set of the $k$ unknown labels of the batch with the largest $\ell^-$; $t$ is the epoch,
# from 1. Outside of $S$ unknown labels are assumed negative: $u=\ell^-$.
#
# | method | in $S$ | $k$ |
# |---|---|---|
# | LL-R | $u=0$ | $\lceil(t-1)\,\Delta\,bL\rceil$ with $\Delta=0.5$ % |
# | LL-Ct | $u=\ell^+$ | $\lceil(t-1)\,\Delta\,bL\rceil$ with $\Delta=0.2$ % |
# | LL-Cp | $u=\ell^+$, in all later epochs too | $\lceil\Delta\,bL\rceil$ from $t=2$ on, with $\Delta=0.1$ % |
# | absolute variants | as LL-R, LL-Ct and LL-Cp | $S$ has all unknown labels with $\ell^->1.5-0.1\,t$ |

# %%
print(dedent(getsource(get("ll-r").loss)))
print(dedent(getsource(get("ll-ct").loss)))
print(dedent(getsource(get("ll-r").large)))

# %% [markdown]
# ## Expected positives
#
# $K$ is the expected number of classes in an image, 2.9 here.
#
# | method | unknown label |
# |---|---|
# | EPR | $u=0$; added is $\left((\bar S-K)/L\right)^2$, where $\bar S$ is the mean over the images of the batch of $\sum_c p_c$ |
# | ROLE | an estimate $\hat y$ of each label is learned; half of $\sum_P\ell^+$, of $H(\hat y,p)$ of all labels and of EPR's term; the other half with $p$ and $\hat y$ exchanged |
# | EN | $u=0$ if the label is expected, else $u=\ell^-$ |
# | EP | $u=\ell^+$ if the label is expected, else $u=\ell^-$ |
#
# $H(a,b)=-a\log b-(1-a)\log(1-b)$, without gradient through $a$; ROLE learns from known negatives only
# through the initial value of $\hat y$. EN and EP keep a score of every label,
# $s\leftarrow 0.8\,s+0.2\,p$ at every visit of the image; after every epoch class $c$ is expected in the
# $K N n_c/\sum_{c'} n_{c'}$ images with its highest scores, for $N$ images and $n_c$ known positives.

# %%
for name in ("epr", "en", "ep", "role"):
    print(name, dedent(getsource(get(name).loss)), sep="\n")

# %% [markdown]
# ## Entropy, and robust losses
#
# | method | known labels | unknown label |
# |---|---|---|
# | EM | $\ell^+$ and $\ell^-$ | $u=-\alpha\,(p\,\ell^++(1-p)\,\ell^-)$ with $\alpha=0.1$ |
# | EM+APL | $\ell^+$ and $\ell^-$ | as EM; from the end of epoch 5 on, the least likely keep their $s=p$ for good and cost $u=\beta\,(s\,\ell^++(1-s)\,\ell^-)$ with $\beta=0.9$ |
# | SPLC | $(1-p_m)^2\,(-\log p_m)$ with $p_m=\sigma(x-1)$, and $p^2\,\ell^-$; sum | from $t=2$ on $u=(1-p)^2\,\ell^+$ if $p>0.6$, else $u=p^2\,\ell^-$ |
# | GR-Loss | $\ell^+$ and $\ell^-$ | $u=v\left(k\,\frac{1-p^{q}}{q}+(1-k)\,p\right)$ with $q=0.01$ |
#
# In GR-Loss $k=\sigma(wp+b)$ is the probability that the label is present, and
# $v=\exp\left(-\frac{1}{2}(p-\mu)^2/s^2\right)$ its weight, both without gradient. In 8 epochs $w$ moves
# from 0 towards 2, $\mu$ from 0.5 to 0.8 and $s$ from 2 to 0.5; $b=-2$.
#
# Two methods take pseudo-labels from an image-text model. $s_c$ is the softmax over classes of the cosine similarities
# between the image and the names of the classes, divided by a temperature of 0.01:
#
# | method | unknown label with a pseudo-label | other unknown labels |
# |---|---|---|
# | VLPL | $u=\beta\,(0.9\,\ell^++0.1\,\ell^-)$ with $\beta=0.7$, where $s_c>0.3$ | as EM |
# | AEVLP | $u=r\,(0.9\,\ell^++0.1\,\ell^-)$, where $r=1-v$ with $v$ of GR-Loss, clipped to 0.5 to 0.7; for at most three classes, whose mean $s_c$ of the image and one of its tiles is at least 0.5 | as GR-Loss, with $w$ moving to 10 and $b$ to $-8$; 0.001 times EPR's term is added |

# %%
for name in ("em", "splc", "gr-loss"):
    print(name, dedent(getsource(get(name).loss)), sep="\n")
print(get("vlpl")())

# %% [markdown]
# ## Soft exposure
#
# In SE every unknown label has a temperature, $u=-\log\sigma(x/T)$, summed over classes:
#
# $$T=\begin{cases}e^{\beta(1-d^+)}+\gamma & \text{if } d^+<d^-\\ -e^{\beta(1-d^-)}+\gamma & \text{else}\end{cases}\qquad\beta=5,\ \gamma=0$$
#
# $d^+$ is the distance to the nearest known present label and $d^-$ to the nearest known absent one, each
# divided by its maximum over the unknown labels of the image. SE-L uses the known classes of the image,
# SE-I the same class in the ten nearest images, SE the nearer of the two; SE-L and SE-I ignore labels for
# which they find no known label ($u=0$). Close to a known label the loss is nearly flat. Chapter 03 is
# about these temperatures.

# %%
print(dedent(getsource(get("se").loss)))

# %% [markdown]
# ## Others, and wrappers
#
# | method | formula |
# |---|---|
# | Curriculum | partial BCE; every 2 epochs unknown labels with $x\geq 2$ become positives and with $x\leq -2$ negatives |
# | IMCL | mean of cross-entropy over known labels, plus $\alpha\log 2\cdot\lVert Y-W\,[Y'G]\rVert^2/\lVert Y\rVert^2$, where $Y$ are completed labels, $Y'$ the predictions for similar images, $G$ a graph of classes, $[\cdot]$ restores known labels, $W$ mixes the images, $\alpha=0.5$; the numerator leaves out images without a similar one |
# | Latent noise | $-\log r$ of positives and $-\log(1-r)$ of all others, with $r=r_1\,p+r_0\,(1-p)$ and learned probabilities that a present ($r_1$) or absent ($r_0$) class is reported |
# | CNN-RNN | $-\sum_t\log\mathrm{softmax}(x+EU o_t)_{c_t}$ over the known positives $c_t$, frequent ones first, and an end token; $o_t$ is the output of an LSTM that reads the classes before, $E$ holds an embedding of each class, and $U$ projects $o_t$ to these |
# | + BoostLU | maps become $m+(\alpha-1)\max(m-\beta,\,0)$ with $\alpha=5$, $\beta=0$; $x$ is their mean |
# | + CL | plus the mean of $\lvert p-s\rvert$ after 5 epochs, with scores $s$ as in EN |
# | + SCL | the same for the cells of class maps, with stored heat maps |

# %%
print(dedent(getsource(get("boostlu").changed)))
print(dedent(getsource(get("cl").extra)))
print(dedent(getsource(get("curriculum").loss)))

# %% [markdown]
# ## All methods in one figure
#
# Some methods depend on the whole batch, on similar images, or on earlier epochs. So the labels belong to
# a small random data set: 64 images in batches of 16, 20 classes, scores of a half-trained model, and
# four of ten labels known. The logit of one label varies, the others are constant; predictions were the
# same in all earlier epochs. Each curve is the batch loss minus its minimum, multiplied by the number of
# labels that the method averages over, so that AN's slope is $p$, at most 1. VLPL and AEVLP make
# pseudo-labels by a teacher; here it is simulated, with 60 mAP.

# %%
draw = simkit.figures.make("loss-shapes")
draw(unknown, heading="What an unknown label costs, over its logit")

# %% [markdown]
# Where a curve falls, training raises the logit; where it rises, training lowers it. CSL's prior is
# estimated from the 64 images. A dashed jump is a selection: from there on the label is rejected,
# corrected or expected. In LL-R the loss then stays at about 1.5: the number of rejected labels is
# constant, so another label of the batch is no longer rejected. EM and SE are drawn on the scale of AN,
# and look nearly flat because their slopes are at most about 0.1.
#
# The thresholds below are not symmetric: at a logit of 4 the gradient of a label treated as present is
# only 0.018 in size, so -0.005 already counts as raising the logit. With 0.1 in both directions no method
# would raise it: SE raises it most, with a gradient of -0.05. The signs of soft exposure belong to this label;
# for others they can be opposite.

# %%
slope = {m: loss_gradient(unknown, m, "unknown", 10, 4) for m in methods}
single = {m: value for m, value in slope.items() if "+" not in m}
sides = {
    "lower it": [m for m, value in single.items() if value > 0.1],
    "nearly leave it alone": [m for m, value in single.items() if 0.1 >= value > -0.005],
    "raise it": [m for m, value in single.items() if value <= -0.005],
}
print("In the tenth epoch, at a logit of 4:")
for side, some in sides.items():
    print(f"{len(some)} {side}: " + ", ".join(some))
nearest = min(single, key=lambda m: abs(single[m] - 0.1))
print(f"closest to the threshold of 0.1: {nearest} with {single[nearest]:.4f}")

# %% tags=["remove-input"]
early = {m: loss_gradient(unknown, m, "unknown", 1, 4) for m in methods}
assert slope["ignore"] == 0 and 0 < slope["wan"] < 0.1
assert nearest == "role(expected=2.9)" and 0.09 < single[nearest] < 0.1
assert all(early[m] > 0.9 for m in ("ll-r", "ll-ct", "ll-cp", "en(expected=2.9)"))
assert slope["ll-r"] == slope["en(expected=2.9)"] == 0 > slope["ll-ct"]
assert slope["ep(expected=2.9)"] < 0 and loss_at(unknown, "ll-r-abs", "unknown", 10, 2)["selected"]
assert loss_at(unknown, "csl(top_k=2, eta=0.5)", "unknown", 1, 4)["selected"]
assert loss_gradient(unknown, "asl", "unknown", 1, -4) == 0  # p = 0.018, below the clip
down, up = (loss_gradient(unknown, "em", "unknown", 1, x) for x in (2, -2))
assert 0.1 > down > 0 > up  # towards a logit of 0
p = 1 / (1 + np.exp(-logits[2]))
hill = loss_gradient(unknown, "hill", "unknown", 1, logits[2])
assert np.isclose(hill, 3 * p**2 * (1 - p) ** 2, atol=1e-4)
assert slope["splc"] < 0 < early["splc"]

# %% [markdown]
# ## Known labels
#
# A few methods change the loss of known labels as well: FE and partial BCE give them more weight, the
# focal family gives easy ones less, Hill and SPLC require a margin, ROLE and latent noise trust negatives
# less.

# %%
changed = ["an", "fe", "partial-bce", "lsan", "asl", "p-asl", "hill", "splc", "latent-noise", "an+boostlu"]
changed += ["role(expected=2.9)", "cnn-rnn(hidden=16, embedding=8)"]
some = {name: place for name, place in scene.entries().items() if name != "unknown"}
known = loss_shapes(scene, changed, logits=logits, entries=some, epochs=(1, 4))
draw = simkit.figures.make("loss-shapes", entry="known positive")
weighed = known["method"].isin(["fe", "partial-bce"])  # 5 times AN, and up to 5.45 times
draw(known[~weighed], heading="What a label known to be present costs")

# %% tags=["remove-input"]
five = loss_gradient(known, "fe", "known positive", 1, -4)
assert np.isclose(five, 5 * loss_gradient(known, "an", "known positive", 1, -4), rtol=1e-3)
assert loss_gradient(known, "lsan", "known negative", 1, -6) < 0  # back towards 0.1
assert loss_gradient(known, "an+boostlu", "known negative", 1, 6) > 4.9
turned = loss_gradient(known, changed[-1], "known positive", 1, 6)
assert turned > 0.5 > 0 > loss_gradient(known, changed[-1], "known positive", 1, -6)

# %% [markdown]
# ## Summary
#
# | question | here | in the paper |
# |---|---|---|
# | which labels does LL-R reject? | those of the largest losses from the second epoch on; $k$ is a share of all labels, as in the published code | the same, but a share of the unknown labels (Kim et al., CVPR 2022, Eq. 4) |
# | and LL-Ct, LL-Cp? | they raise the logit | the same (Eqs 5 to 7); LL-Cp's share is constant |
# | what does BoostLU do to the gradient? | 5 times as much where the map is positive | $\alpha=5$ times (Kim et al., CVPR 2023, Eq. 9) |
# | which labels does CSL ignore? | the likeliest of an image, and frequent classes | the same (Ben-Baruch et al., CVPR 2022, Eq. 5, section 4) |
# | when is soft exposure flat? | close to something known | the temperature is highest there (Soft Exposure, Eq. 8) |
# | what do EN and EP do with expected labels? | EN ignores them, EP treats them as present | the same (Verelst et al., WACV 2023, Eq. 5, section 4.2) |
#
# These are definitions, so the agreement is by construction.
#
# ## Exercises
#
# 1. **Hill.** At which logit does Hill lower an unknown label the most, and how strongly?
#
#    <details><summary>Solution</summary>
#
#    ```python
#    rows = unknown[(unknown["method"] == "hill") & (unknown["epoch"] == 1)]
#    print(rows.loc[rows["gradient"].idxmax(), ["logit", "gradient"]])
#    ```
#
#    At 0, with 0.1875, which is $\tfrac{3}{16}$: the gradient ${}3p^2(1-p)^2$ is largest at
#    $p=\tfrac{1}{2}$. AN's gradient is 0.5 there and at most 1.
#    </details>
#
# 2. **SPLC.** From which logit on does SPLC treat an unknown label as present if `tau` is 0.8?
#
#    <details><summary>Solution</summary>
#
#    ```python
#    fine = loss_shapes(scene, ["splc(tau=0.8)"], logits=np.linspace(0, 2, 201), entries=only, epochs=(2,))
#    print(fine[fine["selected"]]["logit"].min())
#    ```
#
#    From 1.39, the logit of 0.8; with the default of 0.6 from 0.41.
#    </details>
#
# Next: [how does soft exposure treat unknown labels?](03_embeddings_and_temperatures.ipynb)
