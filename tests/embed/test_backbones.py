"""Networks and the files their weights come from."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.metrics import average_precision_score

from simkit import data
from simkit.embed.backbones import BACKBONES, SCENES_WEIGHTS, MobileNetV2, ScenesNet, backbone
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


def test_prepare_normalises_bytes() -> None:
    net = ScenesNet()
    white = torch.full((1, 3, 64, 64), 255, dtype=torch.uint8)
    assert torch.allclose(net.prepare(white), torch.tensor(2.0))  # (1 - 0.5) / 0.25


def test_id_changes_with_any_weight() -> None:
    one, other = backbone("scenes-net"), backbone("scenes-net")
    assert one.id == other.id
    with torch.no_grad():
        next(other.parameters()).view(-1)[0] += 1
    assert one.id != other.id


def test_mobilenet_reads_half_precision_and_both_kinds_of_files(
    tmp_path: Path, mobile_state: dict[str, torch.Tensor]
) -> None:
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


def test_right_padding_is_padding_at_the_right(mobile_state: dict[str, torch.Tensor]) -> None:
    net = MobileNetV2(right_padding=True)
    net.load_state_dict(mobile_state)
    first = net.features[0][0]
    images = torch.randn(1, 3, 8, 8)
    padded = torch.zeros(1, 3, 9, 9)
    padded[:, :, :8, :8] = images
    assert torch.allclose(first(images), torch.nn.functional.conv2d(padded, first.weight, stride=2))


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


def test_missing_weights_and_names_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        backbone("mobilenet_v2")
    assert str(error.value) == (
        "backbone 'mobilenet_v2' has no built-in weights; give a weights file, .safetensors or "
        ".pth file with torchvision's key names"
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
    assert BACKBONES == ("scenes-net", "mobilenet_v2")


def test_scenes_net_knows_the_pictures_of_scenes() -> None:
    """Ridge regression on few pictures finds frequent classes: weights and pixels fit together."""
    dataset, net = data.open("scenes:images=800,test=400"), backbone("scenes-net")
    means, present = {}, {}
    for split, n in (("train", 800), ("test", 400)):
        pictures = torch.from_numpy(np.stack(dataset.pictures[split].read(range(n))))
        with torch.inference_mode():
            maps = net(net.prepare(pictures.permute(0, 3, 1, 2)))
        means[split] = maps.mean((2, 3)).double().numpy()
        present[split] = dataset.truth[split].rows(range(n)).astype(float)
    x, y = means["train"] - means["train"].mean(0), present["train"] - present["train"].mean(0)
    square = x.T @ x
    ridge = 0.05 * np.trace(square) / len(square) * np.eye(len(square))
    weights = np.linalg.solve(square + ridge, x.T @ y)
    scores = means["test"] @ weights
    frequent = [c for c in dataset.leaves if present["test"][:, c].mean() > 0.1]
    precision = [average_precision_score(present["test"][:, c], scores[:, c]) for c in frequent]
    assert len(frequent) > 10 and np.mean(precision) > 0.8
