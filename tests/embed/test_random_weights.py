"""Batch norms of random weights: as after a look at pictures, and the same everywhere."""

import torch
from torch import nn

from simkit.embed.networks.base import Backbone
from simkit.embed.networks.scenes_net import ScenesNet
from simkit.embed.random_weights import balance


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


def test_statistics_have_eight_bits_so_that_rounding_does_not_show() -> None:
    net = Small()
    balance(net)
    for key, values in net.state_dict().items():
        if "running" in key:
            assert torch.equal(values, values.bfloat16().float())


def test_networks_without_batch_norm_stay_as_they_are() -> None:
    net = ScenesNet()
    before = net.id
    balance(net)
    assert net.id == before
