"""The pass through a network: its device, its precision, and how it leaves the network."""

import numpy as np
import pytest
import torch

from simkit.embed.backbones import backbone
from simkit.embed.features.network_pass import NetworkPass, device_for
from simkit.embed.networks import Backbone
from simkit.errors import BadInput

NET = backbone("scenes-net")
IMAGES = list(torch.randint(0, 256, (3, 3, 64, 64), generator=torch.Generator().manual_seed(0),
                            dtype=torch.uint8))  # fmt: skip


def test_both_kinds_come_from_the_same_maps() -> None:
    net = NetworkPass(NET, "cpu")
    with net.ready():
        found = net.of(IMAGES, ("pooled", "maps"))
    assert found["pooled"].shape == (3, *net.shape("pooled"))
    assert found["maps"].shape == (3, *net.shape("maps"))
    mean = found["maps"].astype(np.float64).mean((2, 3))
    assert np.allclose(found["pooled"], mean, rtol=2**-9, atol=1e-4)


def test_precision_is_full_inside_autocast_and_switches_come_back() -> None:
    net = NetworkPass(NET, "cpu")
    with net.ready():
        plain = net.of(IMAGES, ("maps",))["maps"]
    before = torch.backends.cudnn.allow_tf32
    with torch.autocast("cpu", torch.bfloat16), net.ready():
        assert not torch.backends.cudnn.allow_tf32
        assert (net.of(IMAGES, ("maps",))["maps"] == plain).all()
    assert torch.backends.cudnn.allow_tf32 == before


def test_the_network_is_left_as_it_was() -> None:
    net = backbone("scenes-net").train()
    with pytest.raises(RuntimeError), NetworkPass(net, "cpu").ready():
        assert not net.training
        raise RuntimeError
    assert net.training and all(p.requires_grad for p in net.parameters())


@pytest.mark.parametrize("factor", [1e6, float("nan")])
def test_values_that_fp16_does_not_hold_are_refused(factor: float) -> None:
    net = backbone("scenes-net")
    with torch.no_grad():
        net.stem[0].weight.mul_(factor)
    wild = NetworkPass(net, "cpu")
    with wild.ready(), pytest.raises(BadInput) as error:
        wild.of(IMAGES, ("maps",))
    assert str(error.value) == (
        "backbone 'scenes-net' gives features that are not finite or beyond 65504, which fp16 does "
        "not hold; give it other weights"
    )


@pytest.mark.parametrize(
    ("net", "found"),
    [
        (backbone("scenes-net").half(), "in torch.float16"),
        (backbone("scenes-net").to("meta"), "without values"),
    ],
    ids=["half", "meta"],
)
def test_a_network_in_another_precision_is_refused(net: Backbone, found: str) -> None:
    with pytest.raises(BadInput) as error:
        NetworkPass(net, "cpu")
    assert str(error.value) == (
        f"backbone 'scenes-net' has stem.0.weight {found}; bring its weights to float32, as "
        "backbone.float() does, since features are computed in full precision"
    )


def test_devices_by_name() -> None:
    assert device_for("cpu", NET) == torch.device("cpu")
    for name in ("gpu", "", "meta", "mps", "xpu:0"):
        with pytest.raises(BadInput) as error:
            device_for(name, NET)
        assert str(error.value) == f"device is {name!r}; auto, cpu or cuda is expected"
    there = torch.cuda.device_count()
    with pytest.raises(BadInput) as error:
        device_for(f"cuda:{there}", NET)
    assert str(error.value) == (
        f"device is 'cuda:{there}', and this computer has {there} GPUs that PyTorch can use; "
        "take cpu"
    )


def test_a_batch_too_large_for_the_memory_is_told() -> None:
    with pytest.raises(BadInput) as error, NetworkPass(NET, "cpu").ready():
        raise torch.OutOfMemoryError
    assert str(error.value) == "the memory of cpu is too small for a batch; give a smaller batch"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU that PyTorch can use")
def test_a_gpu_gives_the_same_features() -> None:
    found = []
    for device in ("cpu", "cuda"):
        net = NetworkPass(NET, device)
        with net.ready():
            found.append(net.of(IMAGES, ("maps",))["maps"])
        assert next(NET.parameters()).device.type == "cpu"
    assert np.allclose(found[0], found[1], rtol=2**-9, atol=1e-3)
