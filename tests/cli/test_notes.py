"""Notes on data by the commands that buy labels or train on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import downloads
from tests.data import layouts


@pytest.mark.parametrize(
    "words",
    [
        "quickstart folder:photos --budget 50",
        "order --data folder:photos --scheme rpa(keep=0.9)",
        "train --data folder:photos --labels photos/labels.csv --method an --epochs 1",
        "compare grid.toml",
    ],
)
def test_notes_come_before_money_or_time_is_spent(shell, tmp_path: Path, words: str) -> None:
    downloads.network()
    names = [f"{n}.jpg" for n in range(8)]
    layouts.write(tmp_path / "photos", {n: layouts.jpeg(int(n[0]) % 7) for n in names})
    splits = ["train", "train", "train", "val", "val", "train", "test", "test"]
    rows = [f"{n}.jpg,{n % 2},{(n + 1) % 2},{split}" for n, split in enumerate(splits)]
    (tmp_path / "photos" / "labels.csv").write_text("\n".join(["file,cat,dog,split", *rows]))
    (tmp_path / "grid.toml").write_text(
        'data = "folder:photos"\nschemes = ["rpa(keep=0.5)"]\nmethods = ["an"]\ndraws = 1\n'
        "[train]\nepochs = 1\n"
    )
    done = shell(*words.split(), "--out", "made")
    copies = "test images that are copies of train images and make scores too high: 1 of 2"
    assert copies in done.err and done.code == 0, done.err
