"""`simkit features` and `simkit score` on a cluster that loses a worker, and in parts."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simkit.annotate.similarities import Similarities

DATA = "scenes:images=200,val=40,test=70"
CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 32, "patch_size": 8, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
FEATURES = ("features", "--data", DATA, "--kind", "both", "--batch", 8, "--out", "f")
SCORE = (
    "score", "--data", DATA, "--model", "open_clip:tiny-of-cluster", "--weights", "random",
    "--tiles", 2, "--batch", 8, "--out", "scores.npz",
)  # fmt: skip
# For the workers: the one that computes the second block is killed before it writes it.
PRELOAD = """
import os, signal
from pathlib import Path
import open_clip
from simkit.embed.feature_files import FeatureWriter

open_clip.add_model_config({config!r})
first, killed = Path({folder!r}, "first"), Path({folder!r}, "killed")
original = getattr(FeatureWriter.put, "original", FeatureWriter.put)  # dask runs this file twice

def put(*block):
    if first.exists() and not killed.exists():
        killed.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    original(*block)
    first.touch()

put.original = original
FeatureWriter.put = put
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    open_clip = pytest.importorskip("open_clip", reason="needs open_clip_torch")
    file = tmp_path_factory.mktemp("config") / "tiny-of-cluster.json"
    file.write_text(json.dumps(CONFIG))
    open_clip.add_model_config(file)
    return file


@contextmanager
def deadly(folder: Path, config: Path) -> Iterator[str]:
    """The address of a cluster of two worker processes, one of which is killed while it works."""
    from distributed import LocalCluster

    preload = folder / "preload.py"
    preload.write_text(PRELOAD.format(config=str(config), folder=str(folder)))
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, preload=[str(preload)], **quiet
    ) as cluster:
        yield cluster.scheduler_address
    assert (folder / "killed").read_text().isdigit()


def made() -> dict[Path, bytes]:
    """What a command wrote."""
    return {
        path: path.read_bytes()
        for place in ("f", "cache", "scores.npz")
        for path in (Path(place), *Path(place).rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("words", [FEATURES, SCORE], ids=["features", "score"])
def test_a_killed_worker_changes_no_byte(
    shell: Callable[..., Any],
    words: tuple[object, ...],
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SIMKIT_CACHE", "cache")
    monkeypatch.setattr("simkit.study.scheduler._PARTS", 8)
    assert shell("", *words).code == 0
    alone = made()
    assert len(alone) > 4
    for place in ("f", "cache"):
        shutil.rmtree(place, ignore_errors=True)
    Path("scores.npz").unlink(missing_ok=True)
    with deadly(tmp_path, config) as address:
        done = shell("", *words, "--scheduler", address)
    assert done.code == 0, done.err
    assert made() == alone


def test_parts_write_the_scores_of_one_process(
    shell: Callable[..., Any], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMKIT_CACHE", "alone")
    assert shell("", *SCORE).code == 0
    alone = Path("scores.npz").read_bytes()
    Path("scores.npz").unlink()
    monkeypatch.setenv("SIMKIT_CACHE", "shared")
    for part in ("2/3", "1/3"):
        done = shell("", *SCORE, "--part", part)
        message = f"part {part} is complete; the part that finishes last writes scores.npz\n"
        assert done.code == 0 and done.out == message and not Path("scores.npz").exists()
    done = shell("", *SCORE, "--part", "3/3")
    assert done.code == 0 and "wrote scores.npz" in done.out
    assert Path("scores.npz").read_bytes() == alone
    assert Similarities.read("scores.npz", "test").views.shape == (70, 5, 52)


@pytest.mark.parametrize("share", [("--part", "1/2"), ("--scheduler", "tcp://10.0.0.1:1")])
def test_simulated_scores_are_not_shared_out(
    shell: Callable[..., Any], share: tuple[str, str]
) -> None:
    simulated = ("score", "--data", DATA, "--model", "simulated", "--quality", 50)
    done = shell("", *simulated, *share)
    assert done.code == 2 and f"{share[0]} needs a model of open_clip" in done.err
