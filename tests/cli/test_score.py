"""Similarities from image-text models, on a tiny model with random weights."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

import simkit
from simkit.annotate.similarities import Similarities, write_similarities
from simkit.cli.main import code
from simkit.errors import BadInput
from simkit.labels.effort import Effort
from simkit.metrics.ap import average_precision, mean_ap

open_clip = pytest.importorskip("open_clip", reason="needs open_clip_torch")
SCENES = "scenes:images=30,val=10,test=12"
CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {
        "image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16,
    },
    "text_cfg": {
        "context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2,
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "tiny.json"
    file.write_text(json.dumps(CONFIG))
    open_clip.add_model_config(file)
    return "open_clip:tiny"


def scored(tmp_path, *options):
    out = tmp_path / "scores.npz"
    assert code(["score", "--data", SCENES, "--out", str(out), *options]) == 0
    return out


def test_cosines_are_those_of_the_model(tiny, tmp_path):
    file = scored(tmp_path, "--model", tiny, "--weights", "random", "--tiles", "2")
    part, data = Similarities.read(file, "train"), simkit.data.open(SCENES)
    assert part.views.shape == (30, 5, 52) and part.scale == pytest.approx(1 / 0.07, rel=1e-3)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = open_clip.create_model("tiny").eval()
    (picture,) = data.pictures["train"].read([4])
    whole = torch.from_numpy(picture).permute(2, 0, 1)[None]
    small = torch.nn.functional.interpolate(whole.float(), 32, mode="bilinear", antialias=True)
    image = small.round() / 255
    mean, std = (torch.tensor(values)[:, None, None] for values in (
        model.visual.image_mean, model.visual.image_std))  # fmt: skip
    texts = open_clip.get_tokenizer("tiny")([f"a photo of a {name}." for name in data.classes])
    with torch.no_grad():
        pair = model.encode_image((image - mean) / std), model.encode_text(texts)
        units = [torch.nn.functional.normalize(each, dim=-1) for each in pair]
    np.testing.assert_allclose(part.views[4, 0], (units[0] @ units[1].T)[0], atol=2e-3)
    tiles = part.views[4, 1:]
    assert np.ptp(tiles, axis=0).max() > 1e-3  # tiles show different things
    logits = part.logits(data.truth["train"].images, data.classes)
    p = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)  # softmax


def test_weights_from_a_file_and_prompts(tiny, tmp_path):
    torch.save(open_clip.create_model("tiny").state_dict(), tmp_path / "w.pt")
    (tmp_path / "p.toml").write_text(
        'templates = ["a {}", "the {}"]\n[names]\n"' + simkit.data.open(SCENES).classes[3] + '" = '
        '["one", "two"]\n'
    )
    words = ["--model", tiny, "--weights", str(tmp_path / "w.pt"), "--split", "test"]
    plain = Similarities.read(scored(tmp_path, *words), "test")
    prompted = scored(tmp_path, *words, "--prompts", str(tmp_path / "p.toml"))
    assert not np.array_equal(Similarities.read(prompted, "test").values, plain.values)
    with pytest.raises(BadInput, match="test"):
        Similarities.read(prompted, "train")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--model", "open_clip:ViT-B-17", "--weights", "random"], "model of open_clip"),
        (["--model", "clip", "--weights", "random"], "open_clip:"),
        (["--model", "open_clip:ViT-B-16"], "--weights"),
        (["--model", "open_clip:ViT-B-16", "--weights", "none.pt"], "none.pt"),
        (["--model", "simulated"], "--quality"),
        (["--model", "simulated", "--quality", "1"], "mAP"),
    ],
)
def test_bad_input(options, word, tmp_path, capsys):
    out = tmp_path / "scores.npz"
    assert code(["score", "--data", SCENES, "--out", str(out), *options]) == 2
    assert word in capsys.readouterr().err and not out.exists()


def test_simulated_scores_have_the_stated_quality_and_serve_as_scores(tmp_path):
    file = scored(tmp_path, "--model", "simulated", "--quality", "60")
    data = simkit.data.open(SCENES)
    truth, part = data.truth["test"], Similarities.read(file, "test")
    ap = average_precision(part.logits(truth.images, truth.classes), truth.present)
    assert mean_ap(ap[data.leaves]) == pytest.approx(0.6, abs=0.01)
    words = ["simulate", "--data", SCENES, "--scores", str(file), "--out", str(tmp_path / "l.npz")]
    for scheme in ("machine(high=0.9, low=0.01)", "proposals(by=scores)"):
        assert code([*words, "--scheme", scheme]) == 0
        labels = simkit.formats.for_path(tmp_path / "l.npz").read(tmp_path / "l.npz")
        assert labels.effort.machine == 30 and labels.codes.nnz


def test_photographs_without_labels_are_scored_and_ordered(tiny, tmp_path, capsys):
    (tmp_path / "photos").mkdir()
    for name in "abc":
        Image.new("RGB", (40, 30), "red").save(tmp_path / "photos" / f"{name}.png")
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    data = ["--data", f"folder:{tmp_path / 'photos'},labels=none"]
    names = ["--classes", str(tmp_path / "names.txt")]
    out = str(tmp_path / "s.npz")
    score = ["score", *data, "--model", tiny, "--weights", "random", "--out", out]
    assert code(score) == 2 and "--classes FILE" in capsys.readouterr().err
    assert code([*score, *names]) == 0
    scheme = ["--scheme", "machine", "--high", "0.999", "--low", "0.001", "--verify", "1"]
    order = ["order", *data, *names, *scheme, "--scores", out, "--to", "csv"]
    capsys.readouterr()
    assert code([*order, "--out", str(tmp_path / "order1"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["questions"] == {"verify": 6} and facts["images"] == 3
    prices = simkit.prices("hourly")
    verified = simkit.cost(Effort({"verify": np.array([0, 0, 3])}), prices).dollars
    assert facts["dollars"] == pytest.approx(verified + 3 * prices.machine)


def test_other_scales_and_classes_are_other_scores():
    values, images = np.full((2, 2), 0.1), np.array(["1", "2"])
    ids = {
        Similarities(values, images, classes, scale, bias).id
        for classes in (("a", "b"), ("b", "a")) for scale in (10.0, 20) for bias in (None, -1.0)
    }  # fmt: skip
    assert len(ids) == 8
    for scale, bias in ((0.0, None), (float("nan"), None), (1.0, float("inf"))):
        with pytest.raises(BadInput, match="scale"):
            Similarities(values, images, ("a", "b"), scale, bias)
    with pytest.raises(BadInput, match="twice"):
        Similarities(values, np.array(["1", "1"]), ("a", "b")).of(np.array(["1"]), ("a",))


def test_files_hold_splits_by_name_and_ids(tmp_path):
    truth = simkit.data.open(SCENES).truth
    parts = {name: Similarities.simulated(truth[name], 0.5) for name in ("train", "val")}
    write_similarities(parts, tmp_path / "s.npz")
    both = Similarities.read(tmp_path / "s.npz", "train+val")
    assert len(both.views) == 40
    rows = [3, 0, 7]
    part = Similarities.read(tmp_path / "s.npz", "val")
    chosen = part.of(truth["val"].images[rows], part.classes[::-1])
    assert np.array_equal(chosen[:, 0], part.views[rows, 0, ::-1])
    with pytest.raises(BadInput, match="lack 1 of 1 images"):
        part.of(np.array(["x"]), part.classes)
    (tmp_path / "s.npz").write_bytes(b"no file")
    with pytest.raises(BadInput, match=r"s\.npz"):
        Similarities.read(tmp_path / "s.npz", "val")
    with pytest.raises(BadInput, match="do not multiply"):
        Similarities(np.full((2, 2), 30.0))
