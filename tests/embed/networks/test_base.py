import torch

from simkit.embed.backbones import backbone
from simkit.embed.networks.scenes_net import ScenesNet


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


def test_id_changes_with_the_colours_it_expects() -> None:
    one, other = ScenesNet(), ScenesNet()
    other.load_state_dict(one.state_dict())
    assert one.id == other.id
    other.std = (0.25, 0.25, 0.5)
    assert one.id != other.id
