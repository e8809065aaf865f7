from pathlib import Path

import pytest

from simkit.cli import train_options as options
from simkit.errors import BadInput

NOTHING = {"protocol": None, "crop": None, "size": None, "fine_tune": True, "more": (),
           "epochs": None, "batch_size": None, "lr": None, "backbone": None, "weights": None,
           "out": None, "checkpoint": None, "spec": "scenes", "features": ()}  # fmt: skip


def test_what_is_set_by_hand_wins_over_the_protocol() -> None:
    given = NOTHING | {"protocol": "spatial-consistency", "epochs": 3, "more": ("ema=0.5",)}
    preset = options.preset(given)
    found = options.settings(given, preset)
    assert (found.epochs, found.ema, found.batch_size) == (3, 0.5, 8)
    with pytest.raises(BadInput, match="starts from a resnet50 trained on ImageNet"):
        options.source(given, preset)
    source = options.source(given | {"weights": "imagenet"}, preset)
    assert (source.backbone, source.weights) == ("resnet50", "imagenet")
    shown = options.transform(given | {"crop": 0.5}, preset)
    assert (shown.size, shown.flip, shown.crop) == (448, True, (0.5, 1.0))


def test_another_backbone_brings_its_own_weights() -> None:
    given = NOTHING | {"protocol": "csl", "backbone": "mobilenet_v2"}
    source = options.source(given, options.preset(given))
    assert (source.backbone, source.weights) == ("mobilenet_v2", "")
    source = options.source(NOTHING, None)
    assert (source.backbone, source.weights) == ("scenes-net", "")


def test_files_come_by_split(tmp_path: Path) -> None:
    assert options.features(("train=a.npz", "test=b.npz")) == (
        ("train", "a.npz"),
        ("test", "b.npz"),
    )
    with pytest.raises(BadInput) as error:
        options.features(("train=a.npz", "train=b.npz"))
    assert str(error.value) == "--features gives train 2 times; give it once"


def test_places_are_looked_at_and_nothing_is_made(tmp_path: Path) -> None:
    options.check_places(NOTHING | {"out": tmp_path / "new", "checkpoint": tmp_path / "a" / "b"})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput) as error:
        options.check_places(NOTHING | {"out": tmp_path / "file"})
    assert str(error.value) == (
        f"{tmp_path / 'file'} is a file, but a model is a folder; give another --out"
    )
