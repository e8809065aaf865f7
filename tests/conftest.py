"""A browser, and optional data: reference vectors, and WordNet.

WordNet comes with the optional data of SIMKIT_DATA; tests that need either skip without it.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser import Browser

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A suite started in the background hands its deafness for Ctrl-C on to the programs it tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if os.environ.get("SIMKIT_DATA"):
    # Before nltk is imported: it reads the variable once.
    os.environ.setdefault("NLTK_DATA", os.path.join(os.environ["SIMKIT_DATA"], "nltk_data"))


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """A headless Chromium; tests that need it are skipped without one."""
    one = Browser(tmp_path)
    yield one
    one.close()


@pytest.fixture(scope="session", autouse=True)
def downloads(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder of downloaded weights of the session's own; see `tests.downloads`."""
    os.environ["TORCH_HOME"] = str(tmp_path_factory.mktemp("torch"))


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder with reference vectors; tests that need it are skipped where it is not there."""
    beside = Path(__file__).parents[2] / "shared" / "golden"
    folder = Path(os.environ.get("SIMKIT_GOLDEN", beside))
    if not folder.is_dir():
        pytest.skip("no reference vectors; set SIMKIT_GOLDEN to their folder")
    return folder


@pytest.fixture(scope="session")
def exposure_vectors(golden: Path) -> dict[str, np.ndarray]:
    """The reference vectors of Soft Exposure."""
    with np.load(golden / "soft_exposure_reference.npz") as file:
        return dict(file)


@pytest.fixture(scope="session")
def exposure_task(exposure_vectors: dict[str, np.ndarray]) -> Any:
    """The images of these vectors, all of them asked, including those without known labels."""
    from simkit import FeatureInputs, PartialLabels  # not before the variables above are set
    from simkit.methods import Task

    codes = exposure_vectors["Z"]
    labels = PartialLabels.of(codes, asked=np.ones(len(codes), bool))
    return Task(labels, FeatureInputs(exposure_vectors["features_l2norm"]))
