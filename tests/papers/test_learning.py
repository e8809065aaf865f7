"""Watched trainings: what is counted is what was planted, and what a separate count finds."""

import numpy as np
import pandas as pd
import pytest
import torch

from simkit.errors import BadInput
from simkit.labels.partial import PartialLabels
from simkit.labels.truth import Truth
from simkit.learn.inputs import FeatureInputs, ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.train import Settings, train
from simkit.papers.analysis.learning import (
    LABEL_KINDS,
    TrainingOptions,
    corrections,
    early_share,
    innermost,
    kinds,
    memorisation,
    modification,
    recorded,
    selections,
)

N, L = 64, 10
HOW = {"settings": Settings(epochs=4, batch_size=16, lr=0.05)}
OPTIONS = TrainingOptions(**HOW)
RNG = np.random.default_rng(6)
# One named class for each of 64 images with about three; maps that show what is present.
PRESENT = RNG.random((N, L)) < 0.3
PRESENT[:, 0] |= ~PRESENT.any(1)
CODES = np.zeros((N, L), int)
CODES[np.arange(N), (PRESENT * RNG.random((N, L))).argmax(1)] = 1
LABELS = PartialLabels.of(CODES, [f"p{n}" for n in range(N)], asked=np.ones(N, bool))
POOLED = PRESENT @ RNG.standard_normal((L, 32)) + 0.1 * RNG.standard_normal((N, 32))
MAPS = (POOLED[..., None, None] * RNG.random((N, 1, 2, 2))).astype(np.float32)
TASK = Task(LABELS, FeatureInputs(MAPS))
TRUTH = Truth.of(PRESENT, LABELS.images, LABELS.classes)
FULL = Task(PartialLabels.of(np.where(PRESENT, 1, -1), LABELS.images), TASK.inputs)


def logits(method, batch, out, state) -> torch.Tensor:
    return out.logits


def test_kinds_of_labels() -> None:
    tp, tn, fn = range(3)
    codes = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 0], [1, 0, -1]])
    present = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [1, 0, 1]], bool)
    labels = PartialLabels.of(codes, asked=[True, True, False, True])
    # A class that somebody wrongly said to be absent is a false negative too.
    expected = [[tp, fn, tn], [tn, tn, fn], [-1, -1, -1], [tp, tn, fn]]
    assert kinds(labels, Truth.of(present)).tolist() == expected
    known = np.ones((4, 3), bool)
    known[0, 1] = False
    assert kinds(labels, Truth.of(present & known, known=known))[0].tolist() == [tp, -1, tn]
    with pytest.raises(BadInput, match="another data set"):
        kinds(labels, Truth.of(present, images=[4, 5, 6, 7]))


def test_methods_are_recorded_each_as_if_it_were_alone() -> None:
    how, alone = {"settings": Settings(epochs=2, batch_size=16), "seed": 3}, np.zeros((2, N, L))
    found = recorded(TASK, "an, ll-r", logits, TrainingOptions(**how))
    assert list(found) == ["an", "ll-r"]

    def look(epoch, batch, out, state) -> None:
        alone[epoch - 1, batch.index] = out.logits.detach()

    train(TASK, make("ll-r"), watch=[look], **how)
    np.testing.assert_allclose(found["ll-r"], alone, atol=1e-5)


def test_a_backbone_learns_with_one_method_after_the_other() -> None:
    class Small(torch.nn.Module):
        width = 4

        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3)

        def prepare(self, pictures):
            return pictures.float() / 255

        def forward(self, x):
            return torch.relu(self.conv(x))

    pictures = np.random.default_rng(1).integers(0, 256, (N, 3, 8, 8), np.uint8)
    how = {"settings": Settings(epochs=2, batch_size=N), "backbone": Small()}  # a step an epoch
    torch.manual_seed(0)
    task = Task(LABELS, ImageInputs(pictures))
    found = recorded(task, ["an", "ignore"], logits, TrainingOptions(**how))
    np.testing.assert_allclose(found["an"][0], found["ignore"][0])  # both from the same start
    assert np.abs(found["an"][1] - found["ignore"][1]).max() > 1e-6


def test_innermost_sees_what_wrappers_change() -> None:
    method, seen = make("ll-r+boostlu"), []

    def look(epoch, batch, out, state) -> None:
        seen.append((out.logits, *innermost(method, out, state)))

    train(TASK, method, watch=[look], settings=Settings(epochs=1))
    plain, inside, out, state = seen[0]
    assert inside == make("ll-r") and hasattr(state, "rate")
    assert (out.logits >= plain - 1e-6).all() and (out.logits > plain + 1e-3).any()


def test_losses_are_as_counted_from_every_loss() -> None:
    table = memorisation(TASK, TRUTH, ["an", "ll-ct"], **HOW)
    assert len(table) == 2 * 3 * 4
    losses = np.zeros((4, N, L))

    def look(epoch, batch, out, state) -> None:
        x = np.where(CODES == 1, -1, 1)[batch.index] * out.logits.detach().numpy()
        losses[epoch - 1, batch.index] = np.logaddexp(0, x)

    train(TASK, make("ll-ct"), watch=[look], **HOW)
    which = kinds(LABELS, TRUTH)
    for row in memorisation(TASK, TRUTH, "ll-ct", **HOW).to_dict("records"):
        own = losses[:, which == LABEL_KINDS.index(row["kind"])]
        now = own[row["epoch"] - 1]
        quartiles = [row[name] for name in ("low", "median", "high")]
        np.testing.assert_allclose(quartiles, np.quantile(now, [0.25, 0.5, 0.75]), atol=1e-6)
        assert row["mean"] == pytest.approx(now.mean(), rel=1e-6)
        assert row["labels"] == own.shape[1]
        assert row["highest"] == (own.argmax(0) == row["epoch"] - 1).sum()
    for (method, kind), shares in table.groupby(["method", "kind"])["share"]:
        assert shares.sum() == pytest.approx(1)
        assert early_share(table, method, kind) == shares.iloc[0]
    again = memorisation(TASK, TRUTH, ["an", "ll-ct"], **HOW)
    pd.testing.assert_frame_equal(table, again)


def test_a_kind_without_labels_has_no_rows() -> None:
    table = memorisation(FULL, TRUTH, settings=Settings(epochs=1))
    assert set(table["kind"]) == {"true positive", "true negative"}


def test_modified_labels_follow_the_rules_of_the_methods() -> None:
    specs = ["ll-r(delta=5)", "ll-ct(delta=5)", "ll-cp(delta=5)", "an"]
    table = modification(TASK, TRUTH, specs, **HOW)
    counts = table.groupby("method")["modified"].agg(list)
    # (t - 1) * 5 % of 640 labels; LL-Cp always 5 %, added up; batches of 160 divide evenly.
    assert counts[specs[0]] == counts[specs[1]] == counts[specs[2]] == [0, 32, 64, 96]
    assert counts["an"] == [0, 0, 0, 0]
    assert table["lasting"].tolist() == [name == specs[2] for name in table["method"]]
    missed = int(PRESENT.sum()) - N
    np.testing.assert_allclose(table["chance"], missed / (N * L - N))
    np.testing.assert_allclose(table["found"], table["right"] / missed)
    for row in table.to_dict("records"):
        precision = row["right"] / row["modified"] if row["modified"] else np.nan
        assert row["precision"] == pytest.approx(precision, nan_ok=True)
    *_, before, last = selections(TASK, specs[:1], OPTIONS)[specs[0]]
    best = table.loc[3]  # ll-r in the fourth epoch
    assert best["right"] == (last & PRESENT).sum() and best["precision"] > 1.3 * best["chance"]
    assert best["again"] == pytest.approx((before & last).sum() / 64) and best["again"] < 1
    lasting = table.loc[table["lasting"], "again"]
    np.testing.assert_array_equal(lasting, [np.nan, np.nan, 1, 1])


def test_selections_are_those_of_a_wrapped_method() -> None:
    spec, kept = "ll-cp(delta=5)+boostlu", np.zeros((N, L), bool)
    method = make(spec)

    def look(epoch, batch, out, state) -> None:
        with torch.no_grad():
            kept[batch.index] |= method.selected(batch, out, state).numpy()

    train(TASK, method, watch=[look], **HOW)
    seen = selections(TASK, [spec], OPTIONS)[spec]
    np.testing.assert_array_equal(seen[-1], kept)


@pytest.mark.filterwarnings("ignore:method 'll-r-abs' modifies every unknown label")
def test_known_labels_and_images_without_labels_are_not_counted() -> None:
    asked = np.arange(N) < 40
    fewer = PartialLabels.of(np.where(asked[:, None], CODES, 0), LABELS.images, asked=asked)
    spec = "ll-r-abs(r0=0.1,delta=0.1)"
    table = modification(Task(fewer, TASK.inputs), TRUTH, [spec], **HOW)
    # From the first epoch on the threshold is 0: all that is unknown is modified.
    assert (table["modified"] == 40 * (L - 1)).all() and (table["found"] == 1).all()
    assert (table["precision"] == table["chance"]).all()


def test_complete_labels_leave_nothing_to_modify() -> None:
    row = modification(FULL, TRUTH, ["ll-r"], settings=Settings(epochs=1)).loc[0]
    assert row["modified"] == 0
    assert row[["precision", "found", "chance", "again"]].isna().all()


def test_cells_are_the_corrections_of_these_pictures() -> None:
    spec = "ll-ct(delta=4)"
    table = corrections(TASK, TRUTH, spec, images=[5, 2], **HOW)
    corrected = selections(TASK, [spec], OPTIONS)[spec]
    assert list(table["image"].unique()) == ["p5", "p2"] and set(table["method"]) == {spec}
    assert set(table["why"]) == {"asked for"}
    for row in table.to_dict("records"):
        n, c = row["row"], TRUTH.classes.index(row["class"])
        assert row["corrected"] == corrected[row["epoch"] - 1, n, c]
        assert (row["present"], row["given"]) == (PRESENT[n, c], CODES[n, c] == 1)
    for n, rows in table.groupby("row"):
        shown = PRESENT[n] | corrected[:, n].any(0)
        assert set(rows["class"]) == {TRUTH.classes[c] for c in np.flatnonzero(shown)}
        assert rows["epoch"].tolist() == [1, 2, 3, 4] * shown.sum()
        assert rows["given"].iloc[0]  # what is given comes first
        first = rows[~rows["given"] & rows["corrected"]].groupby("class", sort=False)["epoch"].min()
        assert first.is_monotonic_increasing


@pytest.mark.parametrize(("best", "worst"), [(3, 1), (0, 2), (N, 3)])
def test_pictures_are_chosen_by_right_and_wrong_corrections(best, worst) -> None:
    table = corrections(TASK, TRUTH, best=best, worst=worst, **HOW)
    corrected = selections(TASK, "ll-ct", OPTIONS)["ll-ct"].sum(0)
    gain = (corrected * np.where(PRESENT, 1, -1)).sum(1)
    order = sorted(range(N), key=lambda n: (-gain[n], n))[:best]
    rest = sorted(set(range(N)) - set(order), key=lambda n: (gain[n], n))[:worst]
    chosen = table.drop_duplicates("row")
    assert chosen["row"].tolist() == order + rest  # no picture twice
    assert chosen["why"].tolist() == ["most right"] * len(order) + ["most wrong"] * len(rest)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: recorded(TASK, [], logits, OPTIONS), "methods is empty"),
        (lambda: corrections(TASK, TRUTH, "an, ll-ct", **HOW), "is not a method"),
        (lambda: modification(TASK, Truth.of(PRESENT), "ll-r", **HOW), "another data set"),
    ],
)
def test_what_cannot_be_watched_is_refused(act, said) -> None:
    with pytest.raises(BadInput, match=said):
        act()
