"""Networks and the files their weights come from."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from simkit.embed.backbones import BACKBONES, backbone
from simkit.embed.networks.mobilenet import MobileNetV2
from simkit.embed.networks.scenes_net import SCENES_WEIGHTS
from simkit.errors import BadInput


@pytest.fixture(scope="module")
def mobile_state() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {key: value.clone() for key, value in MobileNetV2().state_dict().items()}


def test_scenes_net_comes_with_its_weights() -> None:
    net = backbone("scenes-net")
    pictures = torch.randint(0, 256, (2, 3, 64, 64), dtype=torch.uint8)
    maps = net(net.prepare(pictures))
    assert maps.shape == (2, net.width, 8, 8) and not net.training
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
    with pytest.raises(BadInput) as error:
        backbone("mobilenet_v2")
    assert str(error.value) == (
        "backbone 'mobilenet_v2' has no built-in weights; give a weights file, .safetensors or "
        ".pth file with torchvision's key names, or `imagenet` to download torchvision's"
    )
    with pytest.raises(BadInput) as error:
        backbone("mobilenetv2")
    assert str(error.value) == "no backbone is called 'mobilenetv2'; did you mean 'mobilenet_v2'?"
    with pytest.raises(BadInput) as error:
        backbone("mobilenet_v2", tmp_path / "gone.pth")
    assert str(error.value) == (
        f"{tmp_path / 'gone.pth'} does not exist; give the path of a file with the weights of a "
        "network"
    )


@pytest.mark.parametrize("name", [name for name in BACKBONES if name != "scenes-net"])
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


def test_weights_are_named_after_where_they_come_from(
    tmp_path: Path, mobile_state: dict[str, torch.Tensor]
) -> None:
    save_file(mobile_state, str(tmp_path / "net.safetensors"))
    assert backbone("mobilenet_v2", tmp_path / "net.safetensors").weights == "net.safetensors"
    assert backbone("scenes-net").weights == "its own"


@pytest.mark.parametrize("size", [16, 10**9])
def test_a_size_must_leave_something_to_see_and_to_hold(size: int) -> None:
    with pytest.raises(BadInput) as error:
        backbone("resnet18", "random", size=size)
    assert str(error.value) == (
        f"backbone 'resnet18': size is {size}; 32 to 4,096 pixels are expected"
    )
