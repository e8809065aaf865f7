import pytest

from simkit.embed.backbones import BACKBONES
from simkit.errors import BadInput
from simkit.learn.protocols import names, protocol, summary


def test_every_protocol_names_what_there_is_and_what_it_leaves_out():
    assert len(names()) == 13 and names() == sorted(names())
    for name in names():
        one = protocol(name)
        assert one.name == name and one.backbone in BACKBONES.names() and one.source
        assert len(one.left_out) > 20 and not one.left_out.endswith(".")


# What a paper says of its training; what it does not say is not pinned, but told in `left_out`.
SINGLE = {"backbone": "resnet50", "weights": "imagenet", "size": 448, "flip": True, "crop": None,
          "upside_down": False, "optimiser": "adam", "epochs": 10, "schedule": "constant",
          "select": "best", "ema": None, "weight_decay": 0, "precision": "fp32"}  # fmt: skip
PAPERS = {
    "single-positive": SINGLE | {"head_ratio": 1, "head_epochs": 0, "max_drop": None},
    "single-positive-linear-init": SINGLE
    | {"head_ratio": 1, "head_epochs": 25, "head_lr": 1e-4, "head_then": "restart"},
    "large-loss": SINGLE | {"lr": 1e-5, "batch_size": 16, "head_ratio": 10, "max_drop": 0.03},
    "large-loss-linear-init": SINGLE
    | {"batch_size": 16, "head_ratio": 10, "head_epochs": 25, "head_then": "restart"},
    "large-loss-openimages": SINGLE
    | {"backbone": "resnet101", "size": 224, "lr": 2e-5, "batch_size": 288, "epochs": 20,
       "head_ratio": 10, "max_drop": None},
    "boostlu": SINGLE | {"head_ratio": 10, "max_drop": None, "patience": None, "head_epochs": 0},
    "em-apl": SINGLE | {"patience": 1, "lr": 1e-5, "batch_size": 16, "head_ratio": 1},
    "csl": {"size": 448, "epochs": 30, "batch_size": 64, "lr": 2e-4, "optimiser": "adam",
            "schedule": "one-cycle", "warm_up": 0.2, "cycle_momentum": True, "ema": 0.9997,
            "ema_warm_up": False, "keep": "better", "select": "best", "decay_vectors": False,
            "weight_decay": 1e-4, "head_ratio": 1, "flip": False, "crop": None},
    "soft-exposure": {"backbone": "resnext101_32x8d", "size": 224, "optimiser": "sgd", "lr": 1e-3,
                      "momentum": 0.9, "weight_decay": 5e-4, "schedule": "step",
                      "milestones": (10, 20), "step_factor": 0.1, "batch_size": 24, "epochs": 36,
                      "select": "best", "head_ratio": 1},
    "soft-exposure-openimages": {"backbone": "resnet101", "size": 224, "optimiser": "adam",
                                 "lr": 2e-4, "head_ratio": 0.1, "schedule": "step",
                                 "milestones": (8, 15), "step_factor": 0.3, "batch_size": 96,
                                 "epochs": 30, "flip": True, "upside_down": True,
                                 "select": "best"},
    "spatial-consistency": {"backbone": "resnet50", "size": 448, "crop": (0.25, 1), "flip": True,
                            "optimiser": "adam", "batch_size": 8, "head_epochs": 5,
                            "head_lr": 1e-3, "lr": 1e-5, "epochs": 25, "schedule": "cosine",
                            "head_then": "go-on", "head_augment": True, "select": "best",
                            "weights": "imagenet", "weight_decay": 0},
    "spatial-consistency-scratch": {"backbone": "resnet50", "size": 448, "crop": (0.25, 1),
                                    "flip": True, "batch_size": 8, "weights": "random",
                                    "epochs": 100, "lr": 1e-4, "schedule": "cosine",
                                    "head_epochs": 0, "select": "best"},
    # "standard crop and flip" of He et al.: 224 of a side of 256 to 480, squared
    "spatial-consistency-imagenet": {"backbone": "resnet50", "size": 224, "crop": (0.22, 0.77),
                                     "flip": True, "optimiser": "adam", "weight_decay": 1e-4,
                                     "head_epochs": 5, "head_lr": 1e-4, "epochs": 25,
                                     "schedule": "cosine", "head_then": "go-on",
                                     "select": "last", "weights": "imagenet"},
}  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_the_papers_numbers(name):
    one, wanted = protocol(name), PAPERS[name]
    found = {k: getattr(one if hasattr(one, k) else one.settings, k) for k in wanted}
    assert found == wanted


def test_the_crop_of_imagenet_is_that_of_he_et_al():
    shares = [(224 / side) ** 2 for side in (480, 256)]
    assert protocol("spatial-consistency-imagenet").crop == tuple(round(s, 2) for s in shares)


def test_what_the_user_gives_wins():
    settings = protocol("soft-exposure").changed({"epochs": "30", "batch-size": 8})
    assert (settings.epochs, settings.batch_size) == (30, 8)
    assert (settings.milestones, settings.momentum) == ((10, 20), 0.9)
    assert protocol("csl").changed({}) == protocol("csl").settings
    last = protocol("large-loss").changed({"select": "last", "lr": 1e-3})
    assert (last.select, last.max_drop, last.head_ratio) == ("last", None, 10)
    even = protocol("csl").changed({"schedule": "constant"})
    assert (even.cycle_momentum, even.ema) == (False, 0.9997)
    with pytest.raises(BadInput, match="epochs before the last one"):
        protocol("soft-exposure").changed({"epochs": 3})
    with pytest.raises(BadInput, match=r"did you mean 'epochs'\?"):
        protocol("csl").changed({"epoch": 3})


def test_a_summary_says_what_is_not_usual_as_it_can_be_set():
    assert summary(protocol("boostlu")) == (
        "resnet50, 448 px, flip, batch_size=16 lr=1e-05 select=best"
    )
    assert summary(protocol("spatial-consistency-scratch")) == (
        "resnet50, 448 px, flip, crop 0.25-1, "
        "epochs=100 batch_size=8 lr=0.0001 schedule=cosine select=best head_ratio=1.0"
    )
    assert "milestones=10,20" in summary(protocol("soft-exposure"))
