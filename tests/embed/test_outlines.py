"""What is told of backbones is what they are."""

from simkit.embed.backbones import BACKBONES, backbone
from simkit.embed.outlines import outlines


def test_every_backbone_is_outlined() -> None:
    rows = {row["name"]: row for row in outlines()}
    assert tuple(rows) == BACKBONES
    net = backbone("scenes-net")
    assert rows["scenes-net"]["features"] == net.width and rows["scenes-net"]["px"] == net.size
    assert rows["scenes-net"]["parameters"] == sum(p.numel() for p in net.parameters())
    assert rows["scenes-net"]["weights"] == ["its own", "FILE", "random"]
    resnet = rows["resnet50"]
    assert (resnet["features"], resnet["px"], resnet["parameters"]) == (2048, 224, 23_508_032)
    assert resnet["weights"] == ["FILE", "imagenet", "IMAGENET1K_V1", "IMAGENET1K_V2", "random"]
    assert resnet["about"].startswith("A residual network of torchvision without its classifier")
