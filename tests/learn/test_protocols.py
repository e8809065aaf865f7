import pytest

from simkit.embed.backbones import BACKBONES
from simkit.errors import BadInput
from simkit.learn.protocols import names, protocol, summary


def test_every_protocol_names_what_there_is_and_what_it_leaves_out():
    assert len(names()) == 13 and names() == sorted(names())
    for name in names():
        one = protocol(name)
        assert one.name == name and one.backbone in BACKBONES and one.title and one.source
        assert one.size in (224, 448) and one.weights in ("imagenet", "random")
        assert len(one.left_out) > 20 and not one.left_out.endswith(".")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("single-positive", {"epochs": 10, "head_ratio": 1, "head_epochs": 0}),
        ("single-positive-linear-init", {"epochs": 10, "head_epochs": 25, "head_then": "restart"}),
        ("large-loss", {"lr": 1e-5, "batch_size": 16, "head_ratio": 10, "max_drop": 0.03}),
        ("large-loss-openimages", {"lr": 2e-5, "batch_size": 288, "epochs": 20, "head_ratio": 10}),
        ("boostlu", {"epochs": 10, "head_ratio": 10, "max_drop": None, "patience": None}),
        ("em-apl", {"patience": 1, "lr": 1e-5, "batch_size": 16}),
        ("csl", {"ema": 0.9997, "schedule": "one-cycle", "warm_up": 0.2, "keep": "better",
                 "decay_vectors": False, "weight_decay": 1e-4, "lr": 2e-4}),
        ("soft-exposure", {"optimiser": "sgd", "milestones": (10, 20), "epochs": 36, "lr": 1e-3,
                           "step_factor": 0.1, "weight_decay": 5e-4, "batch_size": 24}),
        ("soft-exposure-openimages", {"head_ratio": 0.1, "milestones": (8, 15)}),
        ("spatial-consistency", {"head_epochs": 5, "head_lr": 1e-3, "lr": 1e-5, "epochs": 25,
                                 "head_then": "go-on", "head_augment": True}),
        ("spatial-consistency-scratch", {"epochs": 100, "lr": 1e-4, "head_epochs": 0}),
        ("spatial-consistency-imagenet", {"weight_decay": 1e-4, "select": "last"}),
    ],
)  # fmt: skip
def test_the_papers_numbers(name, wanted):
    settings = protocol(name).settings
    assert {key: getattr(settings, key) for key in wanted} == wanted


def test_what_the_user_gives_wins():
    settings = protocol("soft-exposure").changed({"epochs": "3", "batch-size": 8})
    assert (settings.epochs, settings.batch_size) == (3, 8)
    assert (settings.milestones, settings.momentum) == ((10, 20), 0.9)
    assert protocol("csl").changed({}) == protocol("csl").settings
    with pytest.raises(BadInput) as error:
        protocol("csl").changed({"epoch": 3})
    assert str(error.value) == ("no setting of training is called 'epoch'; did you mean 'epochs'?")


def test_an_unknown_protocol_comes_with_the_nearest():
    with pytest.raises(BadInput) as error:
        protocol("largeloss")
    assert str(error.value) == "no protocol is called 'largeloss'; did you mean 'large-loss'?"


def test_a_summary_says_what_is_not_usual_as_it_can_be_set():
    assert summary(protocol("boostlu")) == (
        "resnet50, 448 px, flip, batch_size=16 lr=1e-05 select=best"
    )
    assert summary(protocol("spatial-consistency-scratch")) == (
        "resnet50, 448 px, flip, crop 0.25-1, "
        "epochs=100 batch_size=8 lr=0.0001 schedule=cosine select=best head_ratio=1.0"
    )
    assert "milestones=10,20" in summary(protocol("soft-exposure"))
