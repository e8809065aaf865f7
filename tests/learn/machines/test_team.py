import numpy as np
import torch

from simkit.learn.machines.team import Team
from simkit.learn.methods import Needs, Outputs, make


def test_alone_everything_stays_as_it_is():
    team, place, device = Team(), np.arange(5), torch.device("cpu")
    out, flips = Outputs(torch.zeros(1, 5, 2)), torch.zeros(5, dtype=torch.bool)
    team.check([make("role")])
    assert team.first and team.processes == 1
    assert team.part(place) is place and team.device(device) is device
    assert team.whole(out, 5, Needs()) is out and team.gathered(flips, 5) is flips
    assert team.from_first(lambda: [0.5]) == [0.5] and team.in_turn(lambda: "made") == "made"
    team.begin(None, 3)
    team.sum_gradients(None)
