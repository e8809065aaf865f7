import numpy as np
import torch

from simkit.embed.backbones import backbone
from simkit.embed.neighbours import Neighbours
from simkit.learn.methods import make
from simkit.learn.optim import Settings
from simkit.learn.trained import histories


def test_a_history_tells_settings_as_json_has_them(task):
    settings = Settings(schedule="step", milestones=(1, 2))
    (found,) = histories([(task, make("an"))], [0.1], settings=settings, seed=3, draw=1,
                         validation=None, backbone=None)  # fmt: skip
    assert found.seed == 3 and found.parents == (task.labels.id, task.inputs.id)
    assert found.settings["training"]["milestones"] == [1, 2]
    assert type(found).from_json(found.to_json()) == found


def test_the_weights_at_the_start_are_told_by_name_and_content(task):
    def told(net):
        (found,) = histories([(task, make("an"))], [0.1], settings=Settings(), seed=0, draw=0,
                             validation=None, backbone=net)  # fmt: skip
        return found

    own, drawn = backbone("scenes-net"), backbone("scenes-net", "random")
    assert (told(own).settings["weights"], told(drawn).settings["weights"]) == ("its own", "random")
    assert told(own).parents == (task.labels.id, task.inputs.id, own.id)
    assert drawn.id in told(drawn).parents and own.id != drawn.id
    plain = [torch.nn.Linear(2, 2) for _ in range(2)]  # of one's own, with other numbers
    assert (
        told(plain[0]).parents != told(plain[1]).parents
        and "weights" not in told(plain[0]).settings
    )
    assert told(plain[0]) == told(plain[0])


def test_an_aid_that_was_found_in_part_says_which(task):
    def told(recall):
        near = Neighbours(np.zeros((1, 1), np.int32), np.ones((1, 1)), np.ones((1, 1)), recall)
        runs = [(task.with_aids(near), make(name)) for name in ("se-i", "an")]
        return histories(runs, [0.1, 0.1], settings=Settings(), seed=0, draw=0,
                         validation=None, backbone=None)  # fmt: skip

    found, other = told(0.993)
    assert found.settings["neighbours recall"] == 0.993
    assert "neighbours recall" not in other.settings
    assert "neighbours recall" not in told(1.0)[0].settings
