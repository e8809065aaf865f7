import pytest
import torch
from torchvision.models import get_model

from simkit.embed.backbones import BACKBONES, Padding, backbone, fill
from simkit.embed.networks import Backbone, MobileNetV2, ScenesNet, folded


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


@pytest.mark.parametrize(
    ("name", "padding"), [("mobilenet_v2", "right"), ("resnet18", "auto"), ("scenes-net", "auto"),
                          ("timm:test_efficientnet", "auto"), ("timm:test_vit", "auto")]
)  # fmt: skip
def test_batch_norms_are_folded_into_convolutions(name: str, padding: Padding) -> None:
    if name.startswith("timm:"):
        pytest.importorskip("timm", reason="networks of timm need timm: pip install timm")
    net = backbone(name, None if name == "scenes-net" else "random", padding=padding)
    fast, before = folded(net), net.id
    assert not any(isinstance(layer, torch.nn.BatchNorm2d) for layer in fast.modules())
    images = net.prepare(torch.randint(0, 256, (2, 3, net.size, net.size), dtype=torch.uint8))
    with torch.inference_mode():
        for one, other in zip(
            net.maps_and_pooled(images), fast.maps_and_pooled(images), strict=True
        ):
            assert (one - other).norm() <= 1e-4 * one.norm()
    assert net.id == before


class Twice(Backbone):
    """Uses the convolution's output also without the norm."""

    name, width, size = "twice", 4, 32

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
        self.norm.running_var.fill_(0.1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.conv(images)
        return features + self.norm(features)


def test_norms_stay_where_folding_would_change_the_network() -> None:
    net = Twice().eval()
    images = torch.randn(2, 3, 32, 32)
    assert torch.equal(folded(net)(images), net(images))
