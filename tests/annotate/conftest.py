"""Truths that all tests of annotation share."""

import numpy as np
import pytest

from simkit.labels.hierarchy import Hierarchy, close
from simkit.labels.truth import Truth


def random_truth(N: int = 300, L: int = 12, seed: int = 0, share: float = 0.25) -> Truth:
    """Frequent and rare classes; every image shows something."""
    rng = np.random.default_rng(seed)
    present = rng.random((N, L)) < share * np.linspace(2, 0.05, L)
    present[np.arange(N), rng.integers(0, L, N)] = True
    return Truth.of(present)


@pytest.fixture(scope="session")
def truth() -> Truth:
    return random_truth()


@pytest.fixture(scope="session")
def diamond() -> Hierarchy:
    """Two tops; `pet dog` has two parents under one top, `robot` one under each.

    thing: dog, pet; dog, pet: pet dog; pet: cat; machine: car, robot; pet: robot.
    """
    names = ["thing", "machine", "dog", "pet", "pet dog", "cat", "car", "robot", "terrier"]
    edges = [
        ("dog", "thing"),
        ("pet", "thing"),
        ("pet dog", "dog"),
        ("pet dog", "pet"),
        ("cat", "pet"),
        ("car", "machine"),
        ("robot", "machine"),
        ("robot", "pet"),
        ("terrier", "pet dog"),
    ]
    return Hierarchy.of(names, edges)


@pytest.fixture(scope="session")
def closed(diamond: Hierarchy) -> Truth:
    """200 images over the diamond, some of them empty."""
    rng = np.random.default_rng(3)
    present = rng.random((200, len(diamond.classes))) < 0.12
    return close(Truth.of(present, classes=diamond.classes), diamond)
