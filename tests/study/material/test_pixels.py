import pytest
from simkit.study.material.pixels import Pixels, network_key
from simkit.study.material.shown import Shown

from simkit.data import open
from simkit.embed.backbones import built
from simkit.errors import BadInput

DATA = open("scenes:images=60,val=10,test=10")
SPLITS = ("train", "test")


def opened(network="scenes-net", weights="", sizes=(None, 32), data=DATA, **more):
    how = {"network": network, "weights": weights, "sizes": sizes}
    return Pixels.open(data, splits=SPLITS, **how, **more)


def test_pictures_are_decoded_once_whatever_is_shown_of_them(monkeypatch):
    seen = []
    pixels = opened(progress=lambda *at: seen.append(at))
    assert seen == [(60, 60), (60, 60), (10, 10), (10, 10)]
    monkeypatch.setattr(type(DATA.pictures["train"]), "read", None)  # now they lie in files
    pixels = opened()
    whole, cropped = (pixels.inputs("test", Shown(32, crop=crop)) for crop in (None, (0.5, 1.0)))
    assert whole.pictures is cropped.pictures and whole.pictures.shape == (10, 3, 32, 32)
    assert pixels.inputs("test", Shown()).pictures.shape == (10, 3, 64, 64)


def test_ids_tell_pictures_and_weights_apart():
    ids = opened().ids
    assert list(ids) == [
        "pictures train", "pictures test", "backbone of its own size", "backbone 32"
    ]  # fmt: skip
    assert ids["pictures train"] == DATA.pictures["train"].id
    assert ids["backbone 32"] == ids["backbone of its own size"]  # the same weights
    other = opened("mobilenet_v2", "random", (32,)).ids
    assert other["backbone 32"] != ids["backbone 32"]


def test_work_grows_with_the_area():
    networks = {size: built("mobilenet_v2", size, right=False) for size in (64, 128)}
    work = Pixels(DATA, SPLITS, networks, {}).work
    assert work[128] == pytest.approx(4 * work[64], rel=0.01)
    # Published: 300 million multiply-adds for 224 pixels, of which 1.3 million are the last layer.
    assert work[64] == pytest.approx(2 * 299e6 * (64 / 224) ** 2, rel=0.05)


def test_data_without_pictures(tiny):
    data = open(tiny().data)
    with pytest.raises(BadInput, match=r"has no pictures for 'train', which fine-tuning needs; "):
        opened(data=data)


def test_the_name_of_a_network_among_ids():
    assert network_key(448) == "backbone 448"
