"""Comparisons that are killed, and comparisons that share a folder, end as one left in peace."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simkit.study.compare import compare
from simkit.study.grid import Grid
from tests.study.work import repeatable

APART = """
from simkit.study import jobs
jobs.draws_per_job = lambda each, draws: 1  # as in larger work
"""
# Everything is loaded once; each comparison is a child of its own, killed after a share of the time
# that an undisturbed one took.
KILLS = """
import os, random, signal, sys, time, traceback
import matplotlib.pyplot
from simkit.study.compare import compare
from simkit.study.grid import Grid

grid, out, undisturbed = Grid.load(sys.argv[1]), sys.argv[2], sys.argv[3]

def child(out):
    process = os.fork()
    if not process:
        try:
            compare(grid, out=out, workers=1)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return process

for folder in (undisturbed, undisturbed + " again"):  # what is cached takes time once
    start = time.monotonic()
    assert os.waitpid(child(folder), 0)[1] == 0
taken = time.monotonic() - start
moments, hits = random.Random(int(sys.argv[5])), 0
for _ in range(int(sys.argv[4])):
    process = child(out)
    time.sleep(moments.random() * taken * 0.6)
    os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    hits += os.WIFSIGNALED(status)
assert os.waitpid(child(out), 0)[1] == 0
print(hits)
"""


def program(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


@pytest.fixture(params=[{}, {"fair": True, "draws": 2}], ids=["plain", "tuned"])
def grid(request, tiny, tmp_path):
    values = {"methods": ["an", "ll-r"], "draws": 6, "reference": True} | request.param
    (tmp_path / "grid.toml").write_text(tiny(**values).to_toml())
    return tmp_path / "grid.toml"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child for each comparison")
@pytest.mark.parametrize("kills", [6])
def test_killed_at_random_moments_it_ends_as_if_undisturbed(grid, tmp_path, kills):
    out, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    process = program("-c", APART + KILLS, grid, out, undisturbed, kills, 0)
    hits, errors = process.communicate(timeout=600)
    assert errors == ""
    assert int(hits) >= kills // 2  # that many were at work when they were killed
    assert repeatable(out) == repeatable(undisturbed)
    names = {path.name for path in out.iterdir() if not path.name.endswith(".part")}
    assert names == {path.name for path in undisturbed.iterdir()}


@pytest.mark.slow
def test_two_comparisons_at_once_in_one_folder_end_as_one(grid, tmp_path):
    # Every draw is a job, which both comparisons may be at.
    code = APART + "import sys, simkit.cli.main as m; sys.exit(m.code(sys.argv[1:]))"
    command = ("-c", code, "compare", grid, "--out", tmp_path / "both", "--workers", 1)
    both = [program(*command) for _ in range(2)]
    ended = [one.communicate(timeout=600) for one in both]
    assert [one.returncode for one in both] == [0, 0], ended
    compare(Grid.load(grid), out=tmp_path / "one", workers=1)
    assert repeatable(tmp_path / "both") == repeatable(tmp_path / "one")
    names = [sorted(p.name for p in (tmp_path / name).iterdir()) for name in ("both", "one")]
    assert names[0] == names[1]
    assert [path.name for path in Path(tmp_path).rglob("*.part")] == []
