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
# Every method here answers one question: **what shall a network learn from a label that nobody
# gave?** The answers look alike as formulas and are easy to tell apart as pictures. For each
# family you will see the loss, and below it the gradient, over the logit of
#
# * a **known positive**: somebody said that the class is there;
# * a **known negative**: somebody said that it is not;
# * an **unknown** label: nobody was asked.
#
# The gradient is what training feels: above zero the logit is pushed down, below zero it is
# pulled up, at zero the label is left alone. Solid lines are the first epoch, dashed lines the
# tenth, where they differ. The method named first has the widest line, so that it shows where
# others run along it.
#
# It takes a quarter of a minute on a laptop.

# %% [markdown]
# ## The scene
#
# Some methods look at more than one label: at the whole batch, at an image's neighbours, at what
# was said in earlier epochs. So the labels stand in a small drawn scene: 64 images in batches of
# 16, 20 classes from frequent to rare, and what a half-trained model says of each. Four labels in
# ten are known. One label of the first batch is moved over all logits while the others stay where
# they are, and the model has said that same logit in all epochs before.

# %%
import os

import numpy as np

import simkit
from simkit.analysis import Scene, loss_at, loss_gradient, loss_shapes

quick = os.environ.get("SIMKIT_SIZE", "full") == "quick"
logits = np.linspace(-8, 8, 17 if quick else 65)
draw = simkit.figures.make("loss-shapes")
scene = Scene.drawn()
for name, (image, c) in scene.entries().items():
    most = scene.logits[image].max()
    print(f"{name:15} image {image}, class {c}; the image's other logits reach {most:.1f}")

# %% [markdown]
# Losses are those of the whole batch, drawn above their smallest value, and on one scale: a method
# that averages over the batch is multiplied by the number of labels, so that a gradient of 1 is the
# full push of cross-entropy.

# %% [markdown]
# ## Reading the blanks
#
# **AN** takes unknown for absent. **Ignore** leaves it out. **WAN** takes it for absent with a
# small weight, one over the number of other classes. Look at the third column: these three treat
# known labels alike. (**Full** is AN on complete labels, where no third column is left.)

# %%
blanks = loss_shapes(scene, ["an", "ignore", "wan"], logits=logits)
draw(blanks)

# %% [markdown]
# Weights can also stand on what is known. **FE** makes a positive count five times, against the
# crowd of assumed negatives. **Partial BCE** leaves unknown labels out and makes up for it: the
# fewer labels of an image are known, the more each of them counts.

# %%
weighted = loss_shapes(scene, ["an", "fe", "partial-bce"], logits=logits)
draw(weighted)

# %%
assert loss_gradient(blanks, "ignore", "unknown", 1, 4) == 0
assert 0 < loss_gradient(blanks, "wan", "unknown", 1, 4) < 0.1
five = loss_gradient(weighted, "fe", "known positive", 1, -4)
assert np.isclose(five, 5 * loss_gradient(weighted, "an", "known positive", 1, -4), rtol=1e-3)

# %% [markdown]
# ## Softer targets, and a focus on hard labels
#
# **LSAN** aims at 0.9 and 0.1 in place of 1 and 0: beyond its target the gradient turns round.
# **LS (constant)**, Soft Exposure's variant, halves the slope for unknown labels alone. **Focal**
# loss turns away from labels that are easy already; **ASL** does so more for negatives, stops
# below a probability of 0.05, and also gives up on negatives that look very wrong: they may be
# missing positives.

# %%
softer = loss_shapes(scene, ["an", "lsan", "ls-constant", "focal", "asl"], logits=logits)
draw(softer)

# %%
assert loss_gradient(softer, "lsan", "known negative", 1, -6) < 0  # back towards 0.1
assert loss_gradient(softer, "ls-constant", "unknown", 1, 8) <= 0.5
assert loss_gradient(softer, "asl", "unknown", 1, -4) == 0  # p = 0.018, below the clip
wrong, very_wrong = (loss_gradient(softer, "asl", "unknown", 1, x) for x in (3, 6))
assert very_wrong < wrong

# %% [markdown]
# ## Staying undecided, or estimating
#
# **EPR** asks only that an image show as many classes as expected: all its unknown labels are
# pushed the same way, most where the model is undecided. **EM** pulls an unknown logit towards
# zero, where it says nothing; above about 1.5 and below -1.5 the pull fades away. **EM+APL** does
# the same, then settles the least likely ones at what the model said of them: late in training the
# gradient is zero on the left. Its dashed loss rises there and falls at once, because each point of
# the line was settled at its own probability and costs what is unsure about that; right of the fall
# nothing was settled. The scales differ here: what happens in the third column is small.

# %%
undecided = loss_shapes(scene, ["epr(expected=2.9)", "em", "em-apl"], logits=logits)
apart = simkit.figures.make("loss-shapes", shared=False)
apart(undecided)

# %% [markdown]
# **ROLE** keeps an estimate of every label, learned along with the model; what is not known to be
# present is drawn to it, known negatives by half as much as in AN. The estimates of unknown labels
# start undecided: both sides are drawn to the middle, and less so once the estimates have followed
# the model.

# %%
estimating = loss_shapes(scene, ["an", "role(expected=2.9)"], logits=logits)
apart(estimating)

# %%
down, up = (loss_gradient(undecided, "em", "unknown", 1, x) for x in (2, -2))
assert down > 0 > up  # towards a logit of 0
assert not loss_at(undecided, "em-apl", "unknown", 1, -4)["selected"]
assert loss_at(undecided, "em-apl", "unknown", 10, -4)["selected"]
in_doubt, sure = (loss_gradient(undecided, "epr(expected=2.9)", "unknown", 1, x) for x in (0, 4))
assert in_doubt > sure > 0
early, late = (loss_gradient(estimating, "role(expected=2.9)", "unknown", epoch, 6) for epoch in (1, 10))
assert late < early / 2  # the estimate has followed the model

# %% [markdown]
# ## Large losses
#
# Take unknown for absent, but watch the unknown labels whose loss is among the largest of the
# batch: the model insists that they are there, and early in training it is often right. **LL-R**
# leaves them out, **LL-Ct** takes them for present in this step, **LL-Cp** for good. The first
# epoch is AN; then the share grows with every epoch, by half a percent of the labels in LL-R and by
# a fifth of a percent in LL-Ct. In LL-Cp it stays at a tenth, and adds up.
#
# Where the label is rejected, LL-R's gradient is zero but its loss lies at 1.5. The loss is that of
# the batch, and the number of rejected labels is fixed: this one takes the place of another, with a
# loss of about 1.5, which is then learned from.

# %%
relative = ["ll-r", "ll-ct", "ll-cp"]
large = loss_shapes(scene, relative, logits=logits)
draw(large)

# %% [markdown]
# The third column in the tenth epoch, closer: LL-R falls to zero, LL-Ct and LL-Cp go below it,
# each where its own share of the batch begins.

# %%
closer = np.linspace(0.5, 4, 15 if quick else 141)
unknown = {"unknown": scene.entries()["unknown"]}
draw(loss_shapes(scene, relative, logits=closer, epochs=(10,), entries=unknown))

# %% [markdown]
# The **absolute** variants compare with a threshold that falls from epoch to epoch, whatever the
# rest of the batch says. Nothing exempts the first epoch. In the tenth, unknown labels are modified
# from a logit just below zero; the known ones are as before.

# %%
absolute = loss_shapes(scene, ["ll-r-abs", "ll-ct-abs", "ll-cp-abs"], logits=logits)
draw(absolute)

# %%
for method in ("ll-r", "ll-ct", "ll-cp"):
    early, late = (loss_gradient(large, method, "unknown", epoch, 6) for epoch in (1, 10))
    assert early > 0.99 and late <= 0, method
assert loss_gradient(large, "ll-r", "unknown", 10, 4) == 0
assert loss_gradient(large, "ll-ct", "unknown", 10, 4) < 0
assert loss_at(absolute, "ll-r-abs", "unknown", 1, 4)["selected"]
assert loss_at(absolute, "ll-r-abs", "unknown", 10, 0)["selected"]

# %% [markdown]
# ## BoostLU
#
# The logit is the mean of a class map. **BoostLU** multiplies what is positive in the map by
# five before the mean is taken, around any method. In this scene frequent classes fill the picture
# and rare ones show in a quarter of it. The label that is moved has a rare class: the curves bend
# near -7, where that quarter turns positive, and again near 2, where the rest does. Between the two
# the boosted logit is above the plain one. So LL-R + BoostLU rejects the unknown label sooner: what
# stands out in one place overtakes labels whose maps are flat. And a known positive is learned
# already where AN still pulls.

# %%
boosted = loss_shapes(scene, ["an", "an+boostlu", "ll-r", "ll-r+boostlu"], logits=logits)
draw(boosted)

# %%
assert loss_gradient(boosted, "an+boostlu", "known negative", 1, 6) > 4.9
assert loss_gradient(boosted, "an+boostlu", "known negative", 1, -8) < 0.001  # as without it
starts = [
    min(x for x in logits if loss_at(boosted, method, "unknown", 10, x)["selected"])
    for method in ("ll-r", "ll-r+boostlu")
]
print("LL-R rejects the unknown label from a logit of", *starts)
assert starts[1] < starts[0]

# %% [markdown]
# ## A class-aware selection
#
# **P-ASL** focuses each kind of label in its own way: the unknown ones most. **CSL** also leaves
# out unknown labels that are probably there: the likeliest of each image (two here, of 20 classes;
# five by default), and those of classes that an estimated prior calls more frequent than `eta`. It
# does so from the first step. The label that is moved has a rare class; it is left out as soon as
# it is among the two.

# %%
aware = loss_shapes(scene, ["an", "asl", "p-asl", "csl(top_k=2, eta=0.5)"], logits=logits)
draw(aware)

# %%
positive = loss_gradient(aware, "p-asl", "known negative", 1, 0)
assert 0 < loss_gradient(aware, "p-asl", "unknown", 1, 0) < positive
assert loss_at(aware, "csl(top_k=2, eta=0.5)", "unknown", 1, 4)["selected"]
assert not loss_at(aware, "csl(top_k=2, eta=0.5)", "unknown", 1, -6)["selected"]

# %% [markdown]
# ## Soft exposure
#
# **SE** takes every unknown label for what the nearest known label is, in similar images and among
# similar classes, and gives it a temperature by how near that is. Near something known the
# temperature is high and the loss almost flat, whatever its sign; far from everything it counts
# as much as a known label, and the farthest as a known negative. **SE-L** looks at classes alone,
# **SE-I** at images alone. The two unknown labels below are SE's highest and lowest temperature in
# the batch.

# %%
from simkit import prepare
from simkit.methods import make

se = make("se")
task = prepare(scene.task, se)
heat = np.abs(se.temperatures(task, np.arange(scene.batch)))  # 0: known, or ignored
near = np.unravel_index(heat.argmax(), heat.shape)
far = np.unravel_index(np.where(heat > 0, heat, np.inf).argmin(), heat.shape)
known = {name: place for name, place in scene.entries().items() if name != "unknown"}
entries = known | {"unknown, near": near, "unknown, far": far}
soft = loss_shapes(scene, ["se", "se-l", "se-i"], logits=logits, entries=entries)
draw(soft)

# %%
flat = [abs(loss_gradient(soft, "se", "unknown, near", 1, x)) for x in (-6, 0, 6)]
assert max(flat) < 0.05
assert loss_gradient(soft, "se", "unknown, far", 1, 6) > 0.9

# %% [markdown]
# ## Expected positives, and consistency
#
# **EN** keeps a running score of every label and knows how many positives to expect: the highest
# scores of each class are expected to be present and left out; **EP** takes them for present. The
# first epoch is AN. **CL** and **SCL** go around any method: after five epochs they hold the
# model to what it said before, CL to its scores, SCL to its heat maps. Here the model has said the
# same in all epochs, and yet CL changes the gradient: its running scores start at the known labels,
# at 0 for what is unknown, and have not caught up, so that they lie below what the model says of
# an unknown label and push it down.

# %%
en, ep = "en(expected=2.9)", "ep(expected=2.9)"
expected = loss_shapes(scene, [en, ep, f"{en}+cl", "an+scl"], logits=logits)
draw(expected)

# %%
early, late = (loss_gradient(expected, en, "unknown", epoch, 4) for epoch in (1, 10))
assert early > 0.9 and late == 0 and loss_at(expected, en, "unknown", 10, 4)["selected"]
assert loss_gradient(expected, ep, "unknown", 10, 4) < 0
assert loss_gradient(expected, en, "unknown", 10, -4) > 0  # not expected: still AN

# %% [markdown]
# ## Older baselines
#
# **Curriculum** labels what the model is sure of and trains on that with partial BCE. **IMCL**
# completes an image's labels from similar images. **Latent noise** holds that "absent" is what
# people say, not what is there: a confident present that nobody reported was left out, and is
# hardly pushed. **Curriculum** weighs the labels of an image more the fewer are known, as partial
# BCE does: that is why its curves are steeper, and less so once it has labelled some itself.

# %%
few = np.linspace(-8, 8, 9 if quick else 17)
older = loss_shapes(scene, ["curriculum", "imcl", "latent-noise"], logits=few, epochs=(1, 4))
draw(older)

# %% [markdown]
# **CNN-RNN** names classes one after another with an LSTM. Its softmax compares the classes of an
# image with each other, so its curves are of another kind: a known positive with a large logit is
# pushed *down*, because it stands in the way of the image's other positives, and every class that
# is not yet to be named is pushed down the more often the longer the list is. IMCL, latent noise
# and CNN-RNN are reductions to a linear head; `simkit list methods cnn-rnn` says what it leaves out.

# %%
named = ["an", "cnn-rnn(hidden=16, embedding=8)"]
listing = loss_shapes(scene, named, logits=few, epochs=(1, 4))
apart(listing)

# %%
assert loss_gradient(older, "curriculum", "unknown", 1, 4) == 0
present, absent = (loss_gradient(older, "curriculum", "unknown", 4, x) for x in (4, -4))
assert present < 0 < absent
assert 0 <= loss_gradient(older, "latent-noise", "unknown", 1, 8) < 0.1
turned = loss_gradient(listing, named[1], "known positive", 1, 6)
assert turned > 0.5 > 0 > loss_gradient(listing, named[1], "known positive", 1, -6)

# %% [markdown]
# ## What was seen
#
# | question | here | in the papers |
# |---|---|---|
# | which labels does LL-R reject? | from the second epoch on those of the largest loss; the gradient falls to 0 | the same (Kim et al., CVPR 2022, Eq. 4) |
# | and LL-Ct, LL-Cp? | they turn the push round: the label is pulled up | the same (Eqs 5 to 7) |
# | what does BoostLU do to the gradient? | 5 times as much where the map is positive, as before elsewhere | α = 5 times (Kim et al., CVPR 2023, Eq. 9) |
# | does it help LL-R to see a wrong label? | it is rejected from a lower logit on, if it stands out in one place | it rejects more false negatives in every epoch (Fig. 5) |
# | whom does CSL leave out? | the likeliest labels of an image, and frequent classes | the same (Ben-Baruch et al., CVPR 2022, Eq. 5 and section 4) |
# | whom does P-ASL listen to less? | unknown labels, less than known absent ones | γu = 7 against γ− = 2 (appendix A, Fig. 8) |
# | when does soft exposure hardly listen? | near something known: a gradient under 0.05, whatever the sign | the temperature is highest there (Soft Exposure, Eq. 8, Fig. 2) |
# | what does EN leave out, and EP? | EN ignores the labels expected to be present, EP takes them for present | the same (Verelst et al., WACV 2023, Eq. 5, section 4.2) |
#
# These are definitions, so here and there agree; where a paper leaves something open, `simkit list methods
# NAME` says what was chosen. What the scene shows beyond the formulas:
#
# * Most methods treat known labels as cross-entropy does and differ in the third column. Some do
#   not: FE, partial BCE and curriculum weigh them more, the focal family looks away from easy ones,
#   ROLE and latent noise believe a known negative less, and CNN-RNN's push turns its sign.
# * Some read an unknown label by itself (AN, WAN, LSAN, ASL, EM), some by its rank in a batch or
#   an image (LL, CSL), some by what is known of similar things (SE), some by what was said before
#   (EN, CL, ROLE, APL).
# * Those with a memory begin as AN, or undecided, and change with the epochs: compare dashed with
#   solid.
# * Of a confident "present" that nobody mentioned, AN, FE, LSAN, focal loss, P-ASL and CNN-RNN
#   insist that it is absent, WAN and LS do so more gently. ASL, CSL, LL-R, EN, EM, EPR and latent
#   noise let go of it, each by a rule of its own, Ignore and partial BCE never touched it, and
#   LL-Ct, LL-Cp, EP and curriculum pull it further up.
#
# Next: [how soft exposure reads the blanks](03_embeddings_and_temperatures.ipynb). `simkit list methods`
# shows what each needs and keeps; which of them pays for a given scheme and budget is what `simkit
# compare` measures.
