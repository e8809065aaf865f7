import threading

import numpy as np
import pytest
import torch

from simkit.errors import BadInput
from simkit.learn.feeding import ahead
from simkit.learn.feeding.ahead import Resident, Streamed, store_for
from simkit.learn.feeding.inputs import ImageInputs

CPU = torch.device("cpu")
PICTURES = np.random.default_rng(0).integers(0, 256, (40, 3, 4, 6)).astype(np.uint8)
BATCHES = [np.array([3, 1]), np.array([0, 7]), np.array([5, 6]), np.array([2])]


def read(place):
    return torch.from_numpy(PICTURES[place])


def test_pictures_on_the_device_are_taken_by_their_places(monkeypatch):
    monkeypatch.setattr(ahead, "_CHUNK", 7)
    store = Resident(read, 40, CPU)
    store.expect(BATCHES)
    for place in BATCHES:
        found = store.take(place, torch.from_numpy(place))
        np.testing.assert_array_equal(found, PICTURES[place])


@pytest.mark.parametrize("depth", [0, 1, 3, 9])
def test_batches_come_in_order_however_far_ahead_they_are_read(depth):
    store = Streamed(read, CPU, ahead=depth)
    for _ in range(2):
        store.expect(BATCHES)
        for place in BATCHES:
            np.testing.assert_array_equal(store.take(place), PICTURES[place])


def test_a_thread_reads_while_nobody_waits():
    threads, done = [], threading.Event()

    def noting(place):
        threads.append((threading.current_thread().name.split("_")[0], place.tolist()))
        if len(threads) == 2:
            done.set()
        return read(place)

    store = Streamed(noting, CPU, ahead=2)
    store.expect(BATCHES)
    assert done.wait(10)  # before anything was taken; only so far as was said
    assert threads == [("pictures", [3, 1]), ("pictures", [0, 7])]
    store.take(BATCHES[0])
    store.take(BATCHES[1])
    store.take(BATCHES[2])
    assert [place for _, place in threads[:3]] == [[3, 1], [0, 7], [5, 6]]


def test_a_batch_that_was_not_expected_is_read_all_the_same():
    store = Streamed(read, CPU, ahead=2)
    store.expect(BATCHES)
    for place in (BATCHES[0], np.array([9, 9]), BATCHES[1]):
        np.testing.assert_array_equal(store.take(place), PICTURES[place])


def test_a_picture_that_cannot_be_read_stops_who_asks_for_it():
    def failing(place):
        if 7 in place:
            raise BadInput("x.jpg cannot be read as a picture; replace it")
        return read(place)

    store = Streamed(failing, CPU, ahead=3)
    store.expect(BATCHES)
    store.take(BATCHES[0])
    with pytest.raises(BadInput) as error:
        store.take(BATCHES[1])
    assert str(error.value) == "x.jpg cannot be read as a picture; replace it"


def test_places_count_along_the_asked_images():
    store = store_for(ImageInputs(PICTURES), np.arange(10, 30), CPU)
    found = store.take(np.array([0, 19]), torch.tensor([0, 19]))
    np.testing.assert_array_equal(found, PICTURES[[10, 29]])


@pytest.mark.parametrize("free", [10**9, 1000])
def test_where_pictures_lie_follows_from_the_memory_of_the_gpu(monkeypatch, free):
    kept = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 10**12))
    monkeypatch.setattr(ahead, "Resident", lambda *given: kept.append("on the device"))
    monkeypatch.setattr(ahead, "Streamed", lambda *given, ahead: kept.append(f"{ahead} ahead"))
    store_for(ImageInputs(PICTURES), np.arange(40), torch.device("cuda"))
    assert kept == (["on the device"] if free > 1000 else ["3 ahead"])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU to keep pictures on")
@pytest.mark.parametrize("share", [0.6, 0.0])
def test_pictures_reach_a_gpu(monkeypatch, share):
    monkeypatch.setattr(ahead, "SHARE", share)
    device = torch.device("cuda")
    store = store_for(ImageInputs(PICTURES), np.arange(40), device)
    store.expect(BATCHES)
    for place in BATCHES:
        found = store.take(place, torch.from_numpy(place).to(device))
        assert found.device.type == "cuda"
        np.testing.assert_array_equal(found.cpu(), PICTURES[place])
