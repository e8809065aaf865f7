"""Try an installed simkit, not this checkout, as a newcomer would: `make wheel-test` runs it."""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

import simkit

COMMANDS = """
quickstart photos --classes names.txt --budget 20
status project
simulate --scheme fpc --images 100
cost fpc.parquet
train --method ll-r --labels fpc.parquet --epochs 1 --out model
predict model --data folder:photos,labels=none
"""


def main() -> None:
    assert Path(simkit.__file__).is_relative_to(sys.prefix), f"{simkit.__file__} is not installed"
    scenes = simkit.data.open("scenes:images=8,val=1,test=1")
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder) / "photos"
        photos.mkdir()
        (photos.parent / "names.txt").write_text("\n".join(scenes.classes))
        for number, picture in enumerate(scenes.pictures["train"].read(range(8))):
            Image.fromarray(picture).save(photos / f"{number}.png")
        for line in COMMANDS.strip().splitlines():
            print(f"$ simkit {line}", flush=True)
            command = [Path(sys.prefix) / "bin" / "simkit", *line.split()]
            subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
