"""One method on one set of labels: scores by hand, what chooses the epoch, and more metrics."""

from dataclasses import asdict

import numpy as np
import pytest
from PIL import Image
from scipy.sparse import csr_array

from simkit.annotate.simulate import simulate
from simkit.data import open
from simkit.data.folder import table_labels
from simkit.errors import BadInput
from simkit.labels import formats
from simkit.labels.partial import PRESENT, PartialLabels
from simkit.learn import methods
from simkit.learn.inputs import FeatureInputs
from simkit.learn.optim import Settings
from simkit.metrics import average_precision, f1, f1_thresholds, mean_ap
from simkit.study.evaluation import precision_and_recall
from simkit.study.sources import ImageTransform, StudySource
from simkit.study.trial import Scored, details, trial
from tests.reference.metrics import average_precision as slow_ap
from tests.study.conftest import save_truth

DATA = "scenes:images=120,val=40,test=80"
FEW = "scenes:images=30,val=10,test=20"
FULL = methods.make("full")


def source(data=DATA, files=()):
    return StudySource(data, (), (), "" if files else "scenes-net", features=tuple(files))


def planted(folder, data, splits=("train", "test"), noise=0.05):
    """Files of features that are the truth itself, a little noisy."""
    files = []
    for split in splits:
        truth = open(data).truth[split]
        present = truth.rows(range(len(truth.images)))
        values = present + np.random.default_rng(0).normal(0, noise, present.shape)
        np.savez(folder / f"{split}.npz", features=values.astype(np.float32))
        files.append((split, str(folder / f"{split}.npz")))
    return files


def scores_of(trained, file):
    with np.load(file) as arrays:
        return trained.scores(FeatureInputs(arrays["features"].astype(np.float16)))


def test_planted_features_are_learnt_and_the_test_split_is_scored(tmp_path):
    scenes, files = open(DATA), planted(tmp_path, DATA)
    labels = simulate(scenes.truth["train"], "full-subset")
    done = trial(labels, FULL, source(files=files), settings=Settings(epochs=100, lr=0.05))
    assert (done.split, done.images, done.asked, done.held_out) == ("test", 80, 120, 0)
    assert done.map > 0.75  # chance is 0.1; a few classes have no training image
    ap = average_precision(scores_of(done.trained, files[1][1]), scenes.truth["test"].present)
    assert done.map == pytest.approx(mean_ap(ap[scenes.leaves]), abs=1e-6)
    assert done.map_all == pytest.approx(mean_ap(ap), abs=1e-6)
    other = simulate(open("scenes:images=201").truth["train"], "rpa")
    with pytest.raises(BadInput, match="another data set"):
        trial(other, methods.make("an"), source(files=files))


def test_the_epoch_is_chosen_on_what_is_not_scored(tmp_path):
    labels = simulate(open(DATA).truth["train"], "full-subset")
    best = Settings(epochs=6, lr=0.5, select="best")
    done = trial(labels, FULL, source(), settings=best)
    assert done.chosen_by == 40 and done.split == "test"
    assert done.trained.epoch == 1 + int(np.argmax(done.trained.validation))
    history = done.trained.history.settings
    assert (history["validation"], history["weights"]) == ("complete", "its own")
    last = trial(labels, FULL, source(), settings=Settings(epochs=1))
    assert last.chosen_by == 0 and last.trained.validation == ()
    save_truth(tmp_path / "mine.npz", np.ones((12, 2), bool), "mine")
    mine = open(f"npz:{tmp_path}/mine.npz")  # a part of it is val, and there is no test split
    labels = simulate(mine.truth[mine.to_label], "full-subset")
    with pytest.raises(BadInput, match=r"'best'.* val .*scored.* set select to 'last'"):
        trial(labels, FULL, source(f"npz:{tmp_path}/mine.npz"), settings=best)


@pytest.mark.parametrize("spec", ["se", "se-l(psi=mean)"])
def test_neighbours_come_from_features_where_pixels_are_learned_from(spec):
    labels = simulate(open(FEW).truth["train"], "full-subset", images=0.5)
    method, how = methods.make(spec), {"settings": Settings(epochs=1, lr=1e-4)}
    tuned, plain = (trial(labels, method, source(FEW), transform=one, **how)
                    for one in (ImageTransform(), None))  # fmt: skip
    assert tuned.trained.model.backbone is not None and plain.trained.model.backbone is None
    # After labels and inputs, and the backbone where it learns.
    aids = [tuned.trained.history.parents[3:], plain.trained.history.parents[2:]]
    assert aids[0] == aids[1] and len(aids[0]) == len(method.needs.aids) and 0 < tuned.map < 1


def test_of_partly_known_test_labels_the_known_entries_alone_count(tmp_path):
    labels = {}
    for seed, (name, N) in enumerate((("train", 60), ("test", 40))):
        rng = np.random.default_rng(seed)
        present = rng.random((N, 4)) < 0.4
        codes = np.where(rng.random((N, 4)) < 0.67, np.where(present, 1, -1), 0)
        codes[:, 0] = np.where(codes[:, 0] == 0, -1, codes[:, 0])  # every image has a row
        labels[name] = PartialLabels.of(codes, [f"{name}-{i}" for i in range(N)], list("abcd"))
        formats.make("openimages").write(labels[name], tmp_path / f"{name}.csv")
        values = present + 0.3 * rng.standard_normal((N, 4))
        np.savez(tmp_path / f"{name}.npz", features=values.astype(np.float32))
    files = [(split, str(tmp_path / f"{split}.npz")) for split in labels]
    spec = f"openimages:{tmp_path}/train.csv,val={tmp_path}/test.csv,test={tmp_path}/test.csv"
    own = formats.for_path(tmp_path / "train.csv").read(tmp_path / "train.csv")
    how = {"settings": Settings(epochs=3, lr=0.1)}
    done = trial(own, methods.make("ignore"), source(spec, files), **how)
    scores, test = scores_of(done.trained, files[1][1]), labels["test"]
    order = [test.classes.index(name) for name in open(spec).classes]
    codes = csr_array(test.codes).toarray()[:, order]
    expected = slow_ap(scores, codes == PRESENT, known=codes != 0)
    assert np.isclose(done.map, np.mean(expected)) and 0.5 < done.map < 1
    assert not np.isclose(done.map, np.mean(slow_ap(scores, codes == PRESENT)))


def test_test_labels_of_one_kind_are_refused_before_training(tmp_path):
    rows = ["file,cat,dog,split", *(f"{n}.png,{n % 2},{n % 3 % 2},train" for n in range(6))]
    rows += ["7.png,1,,test", "8.png,,1,test"]
    table = tmp_path / "labels.csv"
    table.write_text("\n".join(rows))
    for n in range(9):
        Image.new("RGB", (8, 8), (20 * n, 0, 0)).save(tmp_path / f"{n}.png")
    data, epoch = f"folder:{tmp_path},part=yes", {"settings": Settings(epochs=1)}
    labels = table_labels(table, data)
    for more, unknown in (("", "keep"), (",unknown=absent-in-train", "absent-in-train")):
        with pytest.raises(BadInput, match=f"2 present and 0 absent.*unknown=absent.*'{unknown}'"):
            trial(labels, FULL, source(data + more), **epoch)
    done = trial(labels, FULL, source(f"{data},unknown=absent"), **epoch)  # the mend
    assert done.scored["leaves_scored"] == 2 and done.left_out == ""
    table.write_text("\n".join(rows).replace("8.png,,1", "8.png,0,1"))  # the other
    done = trial(labels, FULL, source(data), **epoch)
    said = (
        "test split: mAP is the mean over 1 of 2 classes; left out: 1 without absent labels (dog)"
    )
    assert done.left_out == said and 0 <= done.map <= 1


def test_images_without_a_question_or_a_label_are_counted(tmp_path):
    truth = open(DATA).truth["train"]
    codes = np.zeros(truth.shape, np.int8)
    codes[:2, :3] = [[1, -1, 1], [-1, 1, -1]]
    labels = PartialLabels.of(codes, truth.images, truth.classes, np.arange(120) < 5)
    files = planted(tmp_path, DATA)
    done = trial(labels, methods.make("an"), source(files=files), settings=Settings(epochs=1))
    assert (done.asked, done.held_out, done.unasked, done.unlabelled) == (5, 0, 115, 3)


LEAVES, ANNOTATIONS = np.array([0, 2]), np.array([7, 0, 3])
#                  class 1 is no leaf and is looked at nowhere
SCORES = np.array([[3, 9, 0], [2, 9, 1], [1, 9, 2], [0, 9, 3]], np.float32)
PRESENT_ = csr_array(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], bool))


def test_more_metrics_over_leaves_by_hand():
    test = Scored(SCORES, PRESENT_, None)
    found = details(test, test, leaves=LEAVES, annotations=ANNOTATIONS, pointing=0.5)
    # Of class 0 images 0, 1 and 3 are present: precisions 1, 1, 3/4; class 2 is perfect.
    assert found.groups == pytest.approx((1, 11 / 12))  # class 2 has fewer annotations
    # Class 0 is called present in all images: precision 3/4, recall 1.
    assert found.f1 == pytest.approx((6 / 7 + 1) / 2) and found.f1_images == 4
    assert (found.precision, found.recall) == pytest.approx((7 / 8, 1))
    assert found.top1 == 1 and found.pointing == 0.5
    parts = [(p.name, p.images) for p in found.by_labels]
    assert parts == [("1", 3), ("2", 1), ("3", 0), (">=4", 0)]
    three = asdict(found)["by_labels"][2]
    assert (three["name"], three["images"]) == ("3", 0) and np.isnan(three["map"])
    first, *_ = found.lines()
    assert "92.86" in first and "precision 87.50" in first and "4 images" in first


def test_what_does_not_count_is_in_no_metric():
    known = np.ones(SCORES.shape, bool)
    known[3, 2] = False
    test = Scored(SCORES, PRESENT_, known)
    found = details(test, None, leaves=LEAVES, annotations=ANNOTATIONS)
    assert found.f1 is found.precision is found.recall is None and found.f1_images == 0
    assert [p.images for p in found.by_labels] == [4, 0, 0, 0]
    assert found.top1 == 1  # of the last image class 0 is all that counts
    assert "not measured" in found.lines()[0] and "not measured" in found.lines()[4]
    mask = csr_array(known)
    sparse = Scored(
        csr_array((SCORES[known], mask.indices, mask.indptr), mask.shape), PRESENT_, mask
    )
    about = {"leaves": LEAVES, "annotations": ANNOTATIONS}
    dense = asdict(details(test, test, **about))
    assert str(asdict(details(sparse, sparse, **about))) == str(dense)  # nan is not equal to nan


def test_thresholds_without_val_are_from_models_that_have_not_seen_the_image(tmp_path):
    """By features that recognise each image, a model's own scores of the images it was trained on
    would separate all classes."""
    save_truth(tmp_path / "mine.npz", np.random.default_rng(3).random((80, 4)) < 0.4, "mine")
    data = f"npz:{tmp_path}/mine.npz"  # a part of it is val, which is scored
    truth = open(data).truth["train"]
    N = len(truth.images)
    for split, images in (("train", N), ("val", 80 - N)):
        values = np.random.default_rng(images).normal(size=(images, 200)).astype(np.float32)
        np.savez(tmp_path / f"{split}.npz", features=values)
    files = [(split, str(tmp_path / f"{split}.npz")) for split in ("train", "val")]
    shown = truth.rows(range(N)) > 0
    codes = np.where(shown, 1, -1)
    codes[50:, 1:] = 0  # the other images were asked about one class
    labels = PartialLabels.of(codes, truth.images, truth.classes)
    how = {"settings": Settings(epochs=100, lr=0.1), "report": True, "tag_precision": 0}
    done = trial(labels, methods.make("an"), source(data, files), **how)
    model, seen = done.trained, shown[:50]
    assert N > 50 and (model.thresholds_from, model.thresholds_how) == (50, "cross-fitting")
    assert model.thresholds_present == tuple(seen.sum(0))
    scores = scores_of(model, files[0][1])[:50]
    own = f1(scores, seen, f1_thresholds(scores, seen))
    assert np.mean(own) > 0.95 > 0.8 > np.mean([one.precision for one in done.detailed.by_class])
    assert np.mean(f1(scores, seen, np.array(model.thresholds))) < np.mean(own) - 0.1
    few = trial(labels.of_images(truth.images[:9]), FULL, source(data, files), **how)
    assert few.trained.thresholds == () and "at least 10 training images" in few.detailed.lines()[0]


@pytest.mark.parametrize("select", ["last", "best"])
def test_few_images_of_val_are_joined_by_training_images_scored_without_them(tmp_path, select):
    files = planted(tmp_path, DATA, ("train", "val", "test"), noise=0.6)
    scenes = open(DATA)
    labels = simulate(scenes.truth["train"], "full-subset")
    settings = Settings(epochs=20, lr=0.05, select=select)
    model = trial(labels, FULL, source(files=files), settings=settings, report=True).trained
    assert (model.thresholds_from, model.thresholds_how) == (40 + 120, "val and cross-fitting")
    val, known = scenes.truth["val"].present, scenes.truth["train"].present
    assert model.thresholds_present == tuple(val.sum(0) + known.sum(0))
    alone = f1_thresholds(scores_of(model, files[1][1]), val, precision=0.5)
    assert np.isfinite(model.thresholds).sum() > 1.5 * np.isfinite(alone).sum() > 0


def test_thresholds_tag_as_many_new_images_as_of_those_that_determined_them(tmp_path):
    """The last steps of a training move all scores of a class, by other amounts in every model:
    with their scores as they are, 20 % to 58 % of the new images got the tag of a class."""
    rng = np.random.default_rng(8)
    present = rng.random((1000, 4)) < 0.3
    save_truth(tmp_path / "mine.npz", present, "mine")
    data = f"npz:{tmp_path}/mine.npz"
    files = [(split, str(tmp_path / f"{split}.npz")) for split in ("train", "val")]
    weights = rng.normal(size=(4, 100)) / 5
    for split, file in files:
        shown = open(data).truth[split].rows(range(len(open(data).truth[split].images)))
        values = 1 + shown @ weights + rng.normal(size=(len(shown), 100))
        np.savez(file, features=values.astype(np.float32))
    truth = open(data).truth["train"]
    codes = np.where(truth.rows(range(len(truth.images))) > 0, 1, -1)
    labels = PartialLabels.of(codes, truth.images, truth.classes)
    how = {"settings": Settings(epochs=5, lr=0.1), "report": True, "tag_precision": 0}
    for seed in range(3):
        model = trial(labels, FULL, source(data, files), **how, seed=seed).trained
        tagged = (scores_of(model, files[1][1]) >= np.array(model.thresholds)).mean(0)
        assert 0.25 < tagged.min() and tagged.max() < 0.45


def test_precision_and_recall_have_exact_intervals():
    scores, present = np.array([[3.0], [2.0], [1.0], [0.0], [-1.0]]), [1, 1, 1, 0, 1]
    found = precision_and_recall(scores, csr_array([[bool(x)] for x in present]), [0.0], None)
    # 3 of 4 are right, and 3 of 4 are found: Clopper and Pearson give 19.4 % to 99.4 %.
    for name in ("precision", "recall"):
        values = [found[f"{name}{end}"][0] for end in ("", "_low", "_high")]
        assert values == pytest.approx((0.75, 0.1941, 0.9937), abs=1e-4)
    none = precision_and_recall(scores, csr_array([[bool(x)] for x in present]), [9.0], None)
    assert np.isnan(none["precision"][0]) and np.isnan(none["precision_low"][0])
    assert (none["recall"][0], none["recall_low"][0]) == (0, 0)


@pytest.mark.parametrize("how", ["features", "pixels", "files"])
def test_a_trial_reports_what_its_scores_say(how, tmp_path):
    labels = simulate(open(FEW).truth["train"], "full-subset")
    files = planted(tmp_path, FEW, ("train", "val", "test")) if how == "files" else ()
    more = {"settings": Settings(epochs=1)}
    more |= {"transform": ImageTransform()} if how == "pixels" else {}
    done = trial(labels, FULL, source(FEW, files), report=True, **more)
    if files:
        plain = trial(labels, FULL, source(FEW, files), **more)
        assert plain.detailed is None and plain.trained.id == done.trained.id
        assert (plain.map, plain.chosen_by) == (done.map, done.chosen_by) and not done.chosen_by
    found = done.detailed
    assert (
        found.f1_images == (10 if how == "pixels" else 10 + 30)
        and 0 < found.f1 < 1
        and 0 <= found.top1 <= 1
    )
    assert found.groups == ()  # all classes have equally many annotations
    assert sum(p.images for p in found.by_labels) == 20
    assert (found.pointing is None) == (how == "files")
    assert found.pointing is None or 0 < found.pointing < 1
    mend = "leave out --features and name the network with --backbone"
    assert (mend in found.lines()[-1]) == (how == "files")
