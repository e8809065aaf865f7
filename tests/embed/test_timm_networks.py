"""Networks of timm, by tiny ones with random weights."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import simkit
from simkit import data
from simkit.embed.backbones import backbone
from simkit.embed.features import extract
from simkit.errors import BadInput
from simkit.learn.inputs import ImageInputs
from simkit.learn.methods import make
from tests.long_runs import some

timm = pytest.importorskip("timm", reason="networks of timm need timm: pip install timm")
SWIN = "swin_tiny_patch4_window7_224"
SHAPES = {  # pooled, maps; swin computes in NHWC, mambaout has a layer after pooling
    "test_vit": ((64,), (64, 10, 10)),
    "test_vit2": ((64,), (64, 10, 10)),
    "test_convnext": ((64,), (64, 5, 5)),
    "test_efficientnet": ((256,), (256, 5, 5)),
    "test_mambaout": ((256,), (64, 5, 5)),
    SWIN: ((768,), (768, 2, 2)),
}


def state(name: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    return timm.create_model(name).state_dict()


def images(side: int) -> torch.Tensor:
    chance = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (2, 3, side, side), generator=chance, dtype=torch.uint8)


@pytest.mark.parametrize("name", some(SHAPES, 2))
def test_features_are_those_of_timm(name: str, tmp_path: Path) -> None:
    size = 64 if name == SWIN else None
    net = backbone(f"timm:{name}", "random", size=size)
    assert net.name.startswith(f"timm:{name}")
    assert net.id == backbone(net.name, "random", size=size).id
    dataset = data.open("scenes:images=20,val=10,test=5")
    both = extract(dataset, "test", net, cache=tmp_path)
    assert (both["pooled"].values.shape[1:], both["maps"].values.shape[1:]) == SHAPES[name]
    prepared = net.prepare(images(net.size))
    options = {"dynamic_img_size": True} if size else {}
    whole = timm.create_model(name, num_classes=0, **options).eval()
    whole.load_state_dict(net.body.state_dict())
    with torch.inference_mode():
        maps, pooled = net.maps_and_pooled(prepared)
        assert torch.allclose(pooled, whole(prepared), atol=1e-5)
        assert torch.equal(maps, net(prepared))
    history = both["pooled"].history
    assert history.settings["license"] in ("apache-2.0", "mit") and "timm" in history.versions
    assert history.settings["weights"] == "random" and net.id in history.parents


def test_maps_are_patch_tokens_and_what_is_pooled() -> None:
    vit, conv = (
        backbone("timm:test_vit", "random"),
        backbone("timm:test_convnext", "random", size=32),
    )
    with torch.inference_mode():
        prepared = vit.prepare(images(160))
        tokens = vit.body.forward_features(prepared)
        assert torch.allclose(vit(prepared)[:, :, 1, 2], tokens[:, 1 + 12], atol=1e-5)
        # With one cell, pooling and the norm after it commute.
        maps, pooled = conv.maps_and_pooled(conv.prepare(images(32)))
        assert maps.shape[2:] == (1, 1) and torch.allclose(maps.mean((2, 3)), pooled, atol=1e-5)


@pytest.mark.parametrize("ending", ["safetensors", "pth", "bin"])
def test_weights_come_from_files(tmp_path: Path, ending: str) -> None:
    path, values = tmp_path / f"net.{ending}", state("test_vit")
    save_file(values, path) if ending == "safetensors" else torch.save(values, path)
    net = backbone("timm:test_vit", path)
    assert net.weights == path.name and not net.training
    assert torch.equal(net.body.state_dict()["norm.weight"], values["norm.weight"])
    small = backbone("timm:test_vit", path, size=96)
    assert small.id == net.id and small(small.prepare(images(96))).shape[2:] == (6, 6)


@pytest.mark.parametrize(
    ("name", "weights", "size", "told"),
    [
        ("timm:vit_small_patch14_dinov", "random", None, "did you mean 'vit_small_patch14_dinov2'"),
        ("timm:dinov3", "random", None, "known are .*vit_small_patch16_dinov3"),
        ("timm:test_vit", None, None, "timm's key names, or `pretrained` to download timm's"),
        ("timm:test_vit", "imagenet", None, "imagenet does not exist"),
        ("timm:test_vit", "random", 100, r"no feature maps of 100 x 100 pixels .*another size"),
        ("timm:crossvit_tiny_240", "random", None, "no feature maps .*another size or network"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(
    name: str, weights: str | None, size: int | None, told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        backbone(name, weights, size=size)


def test_without_timm_or_a_connection_the_mend_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unconnected(*_: object, **__: object) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(timm, "create_model", unconnected)
    for name in ("timm:test_vit", "hf-hub:owner/Name"):
        with pytest.raises(BadInput, match=r"no route to host.*give the file as weights"):
            backbone(name, "pretrained")
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(BadInput, match="not installed; pip install timm"):
        backbone("timm:test_vit", "random")


def test_downloads_fill_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    made = timm.create_model

    def create_model(name: str, pretrained: bool = False, **how: object) -> torch.nn.Module:
        net = made(name, **how)
        if pretrained:
            net.load_state_dict(weights, strict=False)
        return net

    weights = state("test_vit")

    monkeypatch.setattr(timm, "create_model", create_model)
    net = backbone("timm:test_vit", "pretrained")
    wanted = {k: v for k, v in weights.items() if not k.startswith("head.")}
    assert net.weights == "pretrained" and net.body.state_dict().keys() == wanted.keys()
    assert all(torch.equal(value, wanted[key]) for key, value in net.body.state_dict().items())


@pytest.mark.parametrize("name", ["test_vit", "test_efficientnet"])
def test_fine_tuning_and_its_model(name: str, tmp_path: Path) -> None:
    net = backbone(f"timm:{name}", "random", size=64)
    pictures = np.random.default_rng(0).integers(0, 256, (8, 3, 64, 64), np.uint8)
    labels = np.tile([[1, -1, 0], [-1, 1, 1]], (4, 1))
    task = simkit.Task(labels, ImageInputs(pictures))
    settings = simkit.Settings(epochs=1, batch_size=4)
    trained = simkit.train(task, make("an"), backbone=net, settings=settings, device="cpu")
    assert trained.model.backbone.id != net.id
    (maps,) = trained.maps(ImageInputs(pictures), device="cpu")
    scores = trained.scores(ImageInputs(pictures), device="cpu")
    assert np.allclose(maps.mean((2, 3)), scores, atol=1e-4)
    trained.save(tmp_path / "model")
    read = simkit.predict(tmp_path / "model", pictures, device="cpu")
    assert np.allclose(read.to_numpy(), scores, atol=1e-4)
    settings = trained.history.settings
    assert (settings["backbone"], settings["license"]) == (net.name, "apache-2.0")
