"""Networks and the files their weights come from."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torchvision.models import ResNet18_Weights

from simkit.embed.backbones import BACKBONES, backbone, balance, outlines
from simkit.embed.networks import SCENES_WEIGHTS, Backbone, MobileNetV2, ScenesNet
from simkit.errors import BadInput


@pytest.fixture(scope="module")
def mobile_state() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {key: value.clone() for key, value in MobileNetV2().state_dict().items()}


def test_scenes_net_comes_with_its_weights() -> None:
    net = backbone("scenes-net")
    pictures = torch.randint(0, 256, (2, 3, 64, 64), dtype=torch.uint8)
    maps = net(net.prepare(pictures))
    assert maps.shape == (2, net.width, 8, 8) and not net.training and net.weights == "its own"
    assert maps.min() >= 0 and maps.max() > 0
    assert SCENES_WEIGHTS.stat().st_size < 3_000_000


def test_padding_follows_the_note_in_the_file(
    tmp_path: Path, mobile_state: dict[str, torch.Tensor]
) -> None:
    note = {"stride2_padding": "right/bottom (0,1,0,1)"}
    save_file(mobile_state, str(tmp_path / "net.safetensors"), note)
    images = torch.randn(1, 3, 64, 64)
    with torch.inference_mode():
        made = {
            padding: backbone("mobilenet_v2", tmp_path / "net.safetensors", padding=padding)(images)
            for padding in ("auto", "right", "both")
        }
    assert torch.equal(made["auto"], made["right"])
    assert not torch.allclose(made["auto"], made["both"], atol=0)


def test_missing_weights_and_names_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"give a weights file.* or `imagenet`"):
        backbone("mobilenet_v2")
    with pytest.raises(BadInput, match="did you mean 'mobilenet_v2'"):
        backbone("mobilenetv2")
    with pytest.raises(BadInput, match=r"gone\.pth does not exist; give the path"):
        backbone("mobilenet_v2", tmp_path / "gone.pth")


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18", "resnet34"])
def test_random_weights_are_the_same_at_every_call(name: str) -> None:
    before = torch.random.get_rng_state()
    one = backbone(name, "random", size=64)
    assert torch.equal(before, torch.random.get_rng_state())
    assert (one.name, one.size, one.weights) == (name, 64, "random") and not one.training
    if name in ("mobilenet_v2", "resnet18"):
        assert one.id == backbone(name, "random", size=64).id
    with torch.inference_mode():
        pooled = one(one.prepare(PATCHES)).mean((2, 3))
    # Of order one in any unit that fp16 can count in, and not the same for all pictures.
    assert 0.1 < pooled.std() < 100 and pooled.abs().max() < 1000
    assert (pooled[0] - pooled[1]).std() > 0.05 * pooled.std()


PATCHES = torch.randint(
    0, 256, (2, 3, 8, 8), generator=torch.Generator().manual_seed(3), dtype=torch.uint8
).repeat_interleave(8, 2).repeat_interleave(8, 3)  # fmt: skip


def test_mobilenet_reads_half_precision_and_both_kinds_of_files(tmp_path: Path) -> None:
    mobile_state = MobileNetV2().state_dict()
    half = {k: v.half() if v.is_floating_point() else v for k, v in mobile_state.items()}
    half["classifier.1.weight"] = torch.zeros(1000, 1280)
    save_file(half, str(tmp_path / "net.safetensors"))
    torch.save(half, tmp_path / "net.pth")
    nets = [backbone("mobilenet_v2", tmp_path / name) for name in ("net.safetensors", "net.pth")]
    assert nets[0].id == nets[1].id and nets[0].weights == "net.safetensors"
    images = torch.randn(1, 3, 64, 64)
    with torch.inference_mode():
        assert nets[0](images).shape == (1, 1280, 2, 2)
        assert torch.equal(nets[0](images), nets[1](images))


def test_wrong_weights_are_told_by_their_keys(tmp_path: Path) -> None:
    state = ScenesNet().state_dict()
    state["extra"] = torch.zeros(1)
    state["stem.0.bias"] = torch.zeros(3)
    for k in range(3):
        del state[f"deep_more.{k}.0.bias"]
    del state["wide.0.weight"]
    path = tmp_path / "net.safetensors"
    save_file(state, str(path))
    message = "and 1 more; has unknown extra; has another shape for stem.0.bias; give its own"
    with pytest.raises(BadInput, match=message):
        backbone("scenes-net", path)


@pytest.mark.parametrize(
    ("name", "content"), [("net.safetensors", b"no weights"), ("net.pth", b"\x80\x02]q\x00.")]
)
def test_files_that_are_no_weights_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput, match=f"{path} (cannot be read as weights|does not fit)"):
        backbone("mobilenet_v2", path)


SCENES = ScenesNet().state_dict()
KEY = "wide.0.weight"


@pytest.mark.parametrize(
    "content",
    [{"state_dict": 5}, None, [1], {"epoch": 3}, SCENES[KEY]],
)
def test_files_that_load_but_hold_no_weights_are_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "net.pth"
    torch.save(content, path)
    with pytest.raises(BadInput, match=f"{path} cannot be read as weights"):
        backbone("scenes-net", path)


def test_what_other_programs_put_around_weights_is_taken_off(tmp_path: Path) -> None:
    side_by_side = {f"module.{key}": value for key, value in SCENES.items()}
    for number, content in enumerate(
        [SCENES, {"model": SCENES, "epoch": 3}, {"state_dict": side_by_side}]
    ):
        torch.save(content, tmp_path / f"{number}.pth")
    save_file(SCENES, str(tmp_path / "3.SAFETENSORS"))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4 and len({backbone("scenes-net", file).id for file in files}) == 1


def test_torchvisions_collection_is_asked_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    state = BACKBONES["resnet18"]().state_dict() | {"fc.weight": torch.zeros(1000, 512)}
    asked = []

    def get_state_dict(self: ResNet18_Weights, **how: bool) -> dict[str, torch.Tensor]:
        asked.append((self.name, how["check_hash"]))
        return state

    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", get_state_dict)
    nets = [backbone("resnet18", which) for which in ("imagenet", "IMAGENET1K_V1")]
    assert asked == [("IMAGENET1K_V1", True)] * 2 and nets[0].id == nets[1].id
    assert [net.weights for net in nets] == ["IMAGENET1K_V1"] * 2
    assert torch.equal(nets[0].state_dict()["conv1.weight"], state["conv1.weight"])
    with pytest.raises(BadInput, match="called 'IMAGENET1K_V7'; did you mean 'imagenet'"):
        backbone("resnet18", "IMAGENET1K_V7")


def test_a_download_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_state_dict(self: ResNet18_Weights, **how: bool) -> dict[str, torch.Tensor]:
        raise OSError("no route to host")

    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", get_state_dict)
    with pytest.raises(
        BadInput,
        match=r"no route to host.*give the file: --backbone resnet18 --weights FILE .*project.toml",
    ):
        backbone("resnet18", "imagenet")


class Small(Backbone):
    """Two layers, of which the first gives almost nothing and the second very much."""

    name, width = "small", 6

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 3), nn.BatchNorm2d(6)
        )
        with torch.no_grad():
            self.layers[0].weight.mul_(1e-2)
            self.layers[3].weight.mul_(1e5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)


def test_every_norm_gets_values_of_variance_one() -> None:
    net = Small()
    before = {k: v.clone() for k, v in net.state_dict().items() if "running" not in k}
    balance(net)
    assert all(p.dtype == torch.float32 for p in net.parameters()) and not net.training
    assert all(torch.equal(net.state_dict()[key], value) for key, value in before.items())
    pictures = torch.randint(0, 256, (4, 3, 16, 16), dtype=torch.uint8)
    pictures = pictures.repeat_interleave(6, 2).repeat_interleave(6, 3)
    spread = net(net.prepare(pictures)).std((0, 2, 3))
    assert spread.min() > 0.3 and spread.max() < 3
    assert not any(layer._forward_pre_hooks for layer in net.modules())
    for key, values in net.state_dict().items():  # eight bits, so that rounding does not show
        assert "running" not in key or torch.equal(values, values.bfloat16().float())
    without, expected = ScenesNet(), ScenesNet()
    expected.load_state_dict(without.state_dict())
    balance(without)
    assert without.id == expected.id


def test_every_backbone_is_outlined() -> None:
    rows = {row["name"]: row for row in outlines()}
    assert sorted(rows) == BACKBONES.names() and next(iter(rows)) == "scenes-net"
    net = backbone("scenes-net")
    assert rows["scenes-net"]["features"] == net.width and rows["scenes-net"]["px"] == net.size
    assert rows["scenes-net"]["parameters"] == sum(p.numel() for p in net.parameters())
    assert rows["scenes-net"]["weights"] == ["its own", "FILE", "random"]
    resnet = rows["resnet50"]
    assert (resnet["features"], resnet["px"], resnet["parameters"]) == (2048, 224, 23_508_032)
    assert resnet["weights"] == ["FILE", "imagenet", "IMAGENET1K_V1", "IMAGENET1K_V2", "random"]
    assert resnet["about"].startswith("A residual network of torchvision without its classifier")
