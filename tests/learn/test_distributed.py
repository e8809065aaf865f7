"""Two processes on a CPU learn what one learns."""

import os
import socket
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import multiprocessing, nn

from simkit.errors import BadInput
from simkit.labels.truth import Truth
from simkit.learn.distributed import Team, together
from simkit.learn.inputs import ImageInputs
from simkit.learn.methods import Task, make
from simkit.learn.optim import Settings
from simkit.learn.train import train
from simkit.learn.validation import Validation
from tests.learn.methods import zoo
from tests.learn.test_loop import Plain

# Elementwise; selecting in a batch or coupling its images; with parameters, features, temperatures;
# with a state for each image, updated by the optimiser, after batches and after epochs.
TOGETHER = [
    "an", "partial-bce", "ll-r(delta=10)", "ll-ct(delta=10)+boostlu", "csl(top_k_scope='batch')",
    "epr", "cnn-rnn", "imcl", "latent-noise", "se", "role", "en+scl(warmup=0, mapped=True)",
    "ll-cp(delta=20)", "curriculum(theta=0.1, every=1)", "em-apl(warmup=1, epochs=2)",
]  # fmt: skip
ON_PICTURES = [
    "ll-r(delta=20)", "epr(expected=1)", "role(expected=1)", "role(expected=1)+cl(warmup=0)",
    "en(expected=1)+scl(warmup=0)+boostlu",
]  # fmt: skip
WAYS = {
    "one image is left over": {"batch_size": 43},
    "averages": {"ema": 0.9, "select": "best", "keep": "better"},
    "accumulated": {"batch_size": 8, "accumulate": 2},
    "head first": {"head_epochs": 2},
    "head first, going on": {"head_epochs": 2, "head_then": "go-on", "head_augment": True},
}
USUAL = Settings(epochs=2, batch_size=14, lr=0.01)


class Normed(Plain):
    """With batch normalisation."""

    def __init__(self):
        super().__init__()
        self.drop = nn.BatchNorm2d(8)


def pictured(shift: int = 0) -> Task:
    """Pictures (44, 3, 6, 6), cropped and mirrored."""
    rng = np.random.default_rng(shift)
    values = rng.integers(0, 256, (44, 3, 6, 6)).astype(np.uint8)
    return Task(rng.integers(-1, 2, (44, 3)), ImageInputs(values, crop=(0.25, 1)))


def held() -> Validation:
    check = pictured(1)
    return Validation(check.inputs, Truth.of(check.labels.rows(np.arange(44)) == 1))


def trainings(folder: str, device: str = "cpu") -> dict[str, np.ndarray]:
    """Weights, states and curves of many trainings, by name."""
    found, where = {}, {"device": device}

    def keep(name, done):
        tensors = {**done.model.state_dict(), **{f"{k}'": v for k, v in done.state.named_buffers()}}
        tensors |= {f"{k}'": v for k, v in done.state.named_parameters()}
        tensors["losses"] = torch.tensor(done.losses)
        tensors["validation"] = torch.tensor(done.validation)
        found.update({f"{name}|{key}": value.detach().numpy() for key, value in tensors.items()})

    for spec in TOGETHER:
        task = zoo.task_for(spec, 1)
        keep(spec, train(task, make(spec), settings=USUAL, **where))
    task = pictured()
    given = {"validation": held(), "backbone": Plain(), **where}
    for spec in ON_PICTURES:
        keep(f"pictures: {spec}", train(task, make(spec), settings=USUAL, **given))
    for way, more in WAYS.items():
        method = make("role(expected=1)+boostlu")
        keep(way, train(task, method, settings=replace(USUAL, **more), **given))
    given["settings"] = USUAL
    for name in ("checkpoint", "left"):
        given["checkpoint"] = os.path.join(folder, name)
        with pytest.raises(Stopped):
            train(task, make("role(expected=1)"), **given, progress=stopping)
    given["checkpoint"] = os.path.join(folder, "checkpoint")
    keep("resumed", train(task, make("role(expected=1)"), **given))
    given |= {"backbone": Normed(), "checkpoint": None, "settings": replace(USUAL, lr=1e-9)}
    keep("batch norm", train(task, make("an"), **given))
    return found


class Stopped(Exception):
    pass


def stopping(done: int, of: int) -> None:
    raise Stopped


def worker(rank: int, port: int, folder: str, device: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with together() as team:
        found = trainings(folder, device)
        found["seen"] = np.array(team.in_turn(lambda: sorted(os.listdir(folder))))
        with pytest.raises(BadInput, match="after 3, 4 epochs; keep the checkpoint"):
            team.begin(rank + 3, ())
    np.savez(os.path.join(folder, f"{rank}.npz"), **found)


def two(folder: Path, device: str = "cpu") -> list[dict[str, np.ndarray]]:
    """What each of two processes found."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    multiprocessing.spawn(worker, (port, str(folder), device), nprocs=2)
    found = []
    for rank in range(2):
        with np.load(folder / f"{rank}.npz") as file:
            found.append(dict(file))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("two")


@pytest.fixture(scope="module")
def both(folder) -> list[dict[str, np.ndarray]]:
    return two(folder)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trainings(str(tmp_path_factory.mktemp("one")))


@pytest.mark.slow
def test_two_processes_learn_what_one_learns(alone, both):
    """Whatever is selected in a batch: LL-R, CSL, EPR and the mean over known labels included."""
    assert alone.keys() <= both[0].keys()
    compared = [key for key in alone if not key.startswith("batch norm|")]
    assert len({key.partition("|")[0] for key in compared}) == len(TOGETHER) + len(ON_PICTURES) + 6
    for key in compared:
        np.testing.assert_allclose(both[0][key], alone[key], atol=1e-5, rtol=1e-5, err_msg=key)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="two processes need two GPUs")
def test_two_gpus_learn_what_one_processor_learns(alone, tmp_path):
    found = two(tmp_path, "cuda")
    for key in alone:
        np.testing.assert_array_equal(found[0][key], found[1][key], err_msg=key)
        if key.endswith("|losses") and not key.startswith("batch norm"):
            np.testing.assert_allclose(found[0][key], alone[key], rtol=1e-3, err_msg=key)


def test_processes_stay_at_the_same_numbers(alone, both):
    for key in alone:
        np.testing.assert_array_equal(both[0][key], both[1][key], err_msg=key)


def test_batch_norm_goes_by_the_part_of_a_process(alone, both):
    mean = "batch norm|backbone.drop.running_mean"
    np.testing.assert_allclose(both[0][mean], alone[mean], rtol=1e-5)  # of two halves
    variance = "batch norm|backbone.drop.running_var"
    assert (both[0][variance] != alone[variance]).any()
    assert both[0]["batch norm|backbone.drop.num_batches_tracked"] == 8


def test_an_interrupted_training_goes_on_together_from_one_file(both):
    for key in ("losses", "validation", "head.weight", "backbone.layer.weight"):
        np.testing.assert_array_equal(
            both[1][f"resumed|{key}"], both[1][f"pictures: role(expected=1)|{key}"]
        )
    assert both[0]["seen"].tolist() == both[1]["seen"].tolist() == ["checkpoint", "left"]


def test_one_process_goes_on_with_what_two_began(alone, both, folder):
    done = train(
        pictured(), make("role(expected=1)"), backbone=Plain(), validation=held(), settings=USUAL,
        checkpoint=folder / "left", device="cpu",
    )  # fmt: skip
    for key, value in {**done.model.state_dict(), "theta'": done.state.theta}.items():
        wanted = alone[f"pictures: role(expected=1)|{key}"]
        np.testing.assert_allclose(value.detach(), wanted, atol=1e-5, rtol=1e-5, err_msg=key)


def test_parts_are_equal_and_cover_a_batch():
    place = np.array([7, 3, 5, 1, 9])
    parts = [Team(rank, 3, rank).part(place).tolist() for rank in range(3)]
    assert parts == [[7, 3], [5, 1], [9, 9]]
    assert [Team(rank, 2, rank).part(place[:1]).tolist() for rank in range(2)] == [[7], [7]]


def test_a_process_without_torchrun_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with together() as team:
        assert team.first and team.processes == 1


def test_there_is_a_gpu_for_each_process(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert Team(3, 4, 3).device(torch.device("cpu")) == torch.device("cpu")
    with pytest.raises(BadInput, match=r"torchrun started more than.*start one for each GPU, or"):
        Team(3, 4, 3).device(torch.device("cuda"))
