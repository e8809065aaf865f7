import pytest

from simkit.errors import BadInput
from simkit.learn.steps.optim import Settings
from simkit.registry import build


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": 0}, "training: epochs is 0; a whole number from 1 on is expected"),
        ({"patience": 0}, "training: patience is 0; a whole number from 1 on is expected"),
        ({"lr": 0.0}, "training: lr is 0.0; a number above 0 is expected"),
        ({"lr": float("nan")}, "training: lr is nan; a number above 0 is expected"),
        ({"weight_decay": -1.0}, "training: weight_decay is -1.0; a number from 0 on is expected"),
        ({"momentum": 1.0}, "training: momentum is 1.0; a number from 0 to below 1 is expected"),
        (
            {"optimiser": "lion"},
            "training: optimiser is 'lion'; it must be one of adam, adamw, sgd",
        ),
        ({"select": "first"}, "training: select is 'first'; it must be one of last, best"),
    ],
)
def test_settings_are_checked(given, message):
    with pytest.raises(BadInput) as error:
        Settings(**given)
    assert str(error.value) == message


def test_settings_are_built_from_text():
    assert build(Settings, {"epochs": "3", "batch-size": 8}, "training").batch_size == 8
    with pytest.raises(BadInput) as error:
        build(Settings, {"epoch": 3}, "training")
    assert str(error.value) == ("no setting of training is called 'epoch'; did you mean 'epochs'?")


def test_the_rate_depends_on_what_is_trained():
    assert Settings().rate(backbone=False) > Settings().rate(backbone=True)
    assert Settings(lr=0.5).rate(backbone=True) == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accumulate": 0}, "training: accumulate is 0; a whole number from 1 on is expected"),
        ({"head_epochs": -1}, "training: head_epochs is -1; a whole number from 0 on is expected"),
        ({"ema": 1.0}, "training: ema is 1.0; a number from 0 to below 1 is expected"),
        ({"max_drop": 0.0}, "training: max_drop is 0.0; a number above 0 is expected"),
        ({"precision": "fp16"}, "training: precision is 'fp16'; it must be one of fp32, bf16"),
        (
            {"schedule": "step"},
            "training: schedule is 'step', but there are no milestones; give the epochs after "
            "which the rate falls",
        ),
        (
            {"milestones": (3, 2)},
            "training: milestones are [3, 2]; rising whole numbers of epochs from 1 on are "
            "expected",
        ),
        (
            {"ema": 0.9, "keep": "better"},
            "training: keep is 'better', which is told by validation labels; set select to "
            "'best', or keep to 'average'",
        ),
        (
            {"milestones": (3,)},
            "training: milestones is set and does something only where schedule is 'step'; set "
            "that too, or leave milestones out",
        ),
        (
            {"cycle_momentum": True, "schedule": "cosine"},
            "training: cycle_momentum is set and does something only where schedule is "
            "'one-cycle'; set that too, or leave cycle_momentum out",
        ),
        (
            {"patience": 2},
            "training: patience is set and does something only where select is 'best'; set that "
            "too, or leave patience out",
        ),
        (
            {"max_drop": 0.03},
            "training: max_drop is set and does something only where select is 'best'; set that "
            "too, or leave max_drop out",
        ),
        (
            {"schedule": "step", "milestones": (3, 10)},
            "training: milestones are [3, 10], and training ends with epoch 10; give epochs before "
            "the last one",
        ),
    ],
)
def test_what_papers_add_is_checked(given, message):
    with pytest.raises(BadInput) as error:
        Settings(**given)
    assert str(error.value) == message


def test_milestones_come_as_a_list_too():
    settings = build(Settings, {"milestones": [1, 2], "schedule": "step"}, "training")
    assert settings.milestones == (1, 2) and settings.to_json()["milestones"] == [1, 2]


def test_the_head_alone_learns_at_a_constant_rate():
    for more in (
        {"schedule": "step", "milestones": (3,)},
        {"schedule": "one-cycle", "cycle_momentum": True},
    ):
        head = Settings(head_epochs=2, select="best", patience=2, **more).of_head()
        assert (head.schedule, head.milestones, head.cycle_momentum) == ("constant", None, False)


def test_the_head_alone_learns_at_a_constant_rate_of_its_own():
    settings = Settings(epochs=9, lr=0.1, schedule="cosine", ema=0.9, head_epochs=2, head_lr=0.3,
                        batch_size=5, patience=2, select="best")  # fmt: skip
    head = settings.of_head()
    assert (head.epochs, head.lr, head.schedule, head.ema) == (2, 0.3, "constant", None)
    assert (head.batch_size, head.patience, head.head_epochs, head.select) == (5, None, 0, "best")
