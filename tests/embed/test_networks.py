import pytest
import torch
from torchvision.models import get_model

from simkit.embed.backbones import BACKBONES, backbone, fill
from simkit.embed.networks import MobileNetV2, ScenesNet


def test_prepare_normalises_bytes() -> None:
    net = ScenesNet()
    white = torch.full((1, 3, 64, 64), 255, dtype=torch.uint8)
    assert torch.allclose(net.prepare(white), torch.tensor(2.0))  # (1 - 0.5) / 0.25


def test_id_changes_with_any_weight_and_the_colours_it_expects() -> None:
    one, other = backbone("scenes-net"), backbone("scenes-net")
    assert one.id == other.id
    with torch.no_grad():
        next(other.parameters()).view(-1)[0] += 1
    assert one.id != other.id
    other.load_state_dict(one.state_dict())
    assert one.id == other.id
    other.std = (0.25, 0.25, 0.5)
    assert one.id != other.id


def test_right_padding_is_padding_at_the_right() -> None:
    net = MobileNetV2(right_padding=True)
    first = net.features[0][0]
    images = torch.randn(1, 3, 8, 8)
    padded = torch.zeros(1, 3, 9, 9)
    padded[:, :, :8, :8] = images
    assert torch.allclose(first(images), torch.nn.functional.conv2d(padded, first.weight, stride=2))


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_pooled_maps_and_the_classifier_are_torchvisions_network(name: str) -> None:
    torch.manual_seed(0)
    whole = get_model(name).eval()
    net = BACKBONES[name]().eval()
    fill(net, whole.state_dict(), "torchvision's weights")
    images = torch.randn(2, 3, 64, 96)
    with torch.inference_mode():
        maps = net(images)
        assert maps.shape == (2, net.width, 2, 3) and maps.min() >= 0
        logits = whole.fc(maps.mean((2, 3)))
        assert torch.allclose(logits, whole(images), atol=1e-4)
