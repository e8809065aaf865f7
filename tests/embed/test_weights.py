"""Weights from files, from torchvision, and what does not fit."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torchvision.models import ResNet18_Weights

from simkit.embed.backbones import backbone
from simkit.embed.networks.mobilenet import MobileNetV2
from simkit.embed.networks.resnet import ResNet
from simkit.embed.networks.scenes_net import ScenesNet
from simkit.errors import BadInput


def test_mobilenet_reads_half_precision_and_both_kinds_of_files(tmp_path: Path) -> None:
    mobile_state = MobileNetV2().state_dict()
    half = {k: v.half() if v.is_floating_point() else v for k, v in mobile_state.items()}
    half["classifier.1.weight"] = torch.zeros(1000, 1280)
    save_file(half, str(tmp_path / "net.safetensors"))
    torch.save(half, tmp_path / "net.pth")
    nets = [backbone("mobilenet_v2", tmp_path / name) for name in ("net.safetensors", "net.pth")]
    assert nets[0].id == nets[1].id
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
    with pytest.raises(BadInput) as error:
        backbone("scenes-net", path)
    assert str(error.value) == (
        f"{path} does not fit backbone 'scenes-net': it lacks deep_more.0.0.bias, "
        "deep_more.1.0.bias, deep_more.2.0.bias and 1 more; has unknown extra; has another shape "
        "for stem.0.bias; give its own weights"
    )


@pytest.mark.parametrize("name", ["net.safetensors", "net.pth"])
@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"\x80\x02]q\x00."])
def test_files_that_are_no_weights_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput) as error:
        backbone("mobilenet_v2", path)
    text = str(error.value)
    assert text.startswith(f"{path} cannot be read as weights; a .safetensors file, or a .pth") or (
        text.startswith(
            f"{path} does not fit backbone 'mobilenet_v2': it lacks features.0.0.weight"
        )
    )


SCENES = ScenesNet().state_dict()
KEY = "wide.0.weight"


@pytest.mark.parametrize("content", [{"state_dict": 5}, None, [1], {"epoch": 3}, SCENES[KEY]])
def test_files_that_load_but_hold_no_weights_are_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "net.pth"
    torch.save(content, path)
    with pytest.raises(BadInput) as error:
        backbone("scenes-net", path)
    assert str(error.value) == (
        f"{path} cannot be read as weights; a .safetensors file, or a .pth file that holds nothing "
        "but tensors by name, is expected"
    )


@pytest.mark.filterwarnings("ignore:Validating sparse")
@pytest.mark.parametrize("how", ["to_sparse", "cfloat"])
def test_odd_tensors_are_named(tmp_path: Path, how: str) -> None:
    path = tmp_path / "net.pth"
    torch.save(SCENES | {KEY: getattr(SCENES[KEY], how)()}, path)
    with pytest.raises(BadInput) as error:
        backbone("scenes-net", path)
    assert str(error.value) == (
        f"{path} holds {KEY} as a sparse, quantised, complex or empty tensor; save the weights as "
        "ordinary tensors of numbers"
    )


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_weights_that_are_not_finite_are_named(tmp_path: Path, value: float) -> None:
    path = tmp_path / "net.safetensors"
    damaged = SCENES[KEY].clone()
    damaged[3, 2, 1, 0] = value
    save_file(SCENES | {KEY: damaged}, str(path))
    with pytest.raises(BadInput) as error:
        backbone("scenes-net", path)
    assert str(error.value) == (
        f"{path} holds values in {KEY} that are not finite; give a file that is whole"
    )


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
    state = ResNet("resnet18").state_dict() | {"fc.weight": torch.zeros(1000, 512)}
    asked = []

    def get_state_dict(self: ResNet18_Weights, **how: bool) -> dict[str, torch.Tensor]:
        asked.append((self.name, how["check_hash"]))
        return state

    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", get_state_dict)
    nets = [backbone("resnet18", which) for which in ("imagenet", "IMAGENET1K_V1")]
    assert asked == [("IMAGENET1K_V1", True)] * 2 and nets[0].id == nets[1].id
    assert [net.weights for net in nets] == ["IMAGENET1K_V1"] * 2
    assert torch.equal(nets[0].state_dict()["conv1.weight"], state["conv1.weight"])
    with pytest.raises(BadInput) as error:
        backbone("resnet18", "IMAGENET1K_V7")
    assert str(error.value) == (
        "no set of weights of 'resnet18' is called 'IMAGENET1K_V7'; did you mean 'imagenet'?"
    )


def test_a_download_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_state_dict(self: ResNet18_Weights, **how: bool) -> dict[str, torch.Tensor]:
        raise OSError("no route to host")

    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", get_state_dict)
    with pytest.raises(BadInput) as error:
        backbone("resnet18", "imagenet")
    assert str(error.value) == (
        f"{ResNet18_Weights.DEFAULT.url} could not be downloaded (no route to host); fetch it "
        "elsewhere and give the file as weights"
    )


def test_another_networks_weights_are_told_by_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    save_file(ResNet("resnet18").state_dict(), str(path))
    with pytest.raises(BadInput) as error:
        backbone("resnet34", path)
    assert str(error.value) == (
        f"{path} does not fit backbone 'resnet34': it lacks layer1.2.bn1.bias, "
        "layer1.2.bn1.running_mean, layer1.2.bn1.running_var and 77 more; give its own weights"
    )
