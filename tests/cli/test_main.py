"""The shell's manners: help, exit codes, one sentence for bad input."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

import simkit
from simkit.cli.main import VERBS, main, purpose


def test_no_arguments_show_the_help(shell) -> None:
    done = shell()
    assert done.code == 0
    for verb in VERBS:
        assert f"  {verb:11} {purpose(verb)}\n" in done.out
    assert shell("help").out == shell("--help").out == done.out


def test_the_first_steps_in_the_help_can_be_taken(shell) -> None:
    _, start = shell().out.split("  Start here:\n")
    steps = [line.split("  ")[2].strip().split()[1:] for line in start.splitlines()]
    assert [step[0] for step in steps] == ["quickstart", "compare", "list", "help"]
    for verb, *arguments in steps[:3]:
        command = main.get_command(click.Context(main), verb)
        assert command.make_context(verb, arguments).command is command
    assert shell(*steps[2]).code == shell(*steps[3]).code == 0


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_an_example_and_a_test(shell, verb: str) -> None:
    done = shell(verb, "--help")
    assert done.code == 0
    (example,) = re.findall(f"Example: (simkit {verb} .*)", done.out)
    command = main.get_command(click.Context(main), verb)
    assert command.make_context(verb, shlex.split(example.partition(" > ")[0])[2:]).params
    assert shell("help", verb).out == done.out
    assert (Path(__file__).parent / f"test_{verb}.py").is_file()


WITHOUT_CHANCE = ("list", "show", "cost", "convert", "hierarchy", "features", "neighbours",
                  "predict", "receive", "status", "completion")  # fmt: skip


@pytest.mark.parametrize(
    "verb",
    [v for v in VERBS if v not in WITHOUT_CHANCE],
)
def test_seed_is_always_there(verb: str) -> None:
    command = main.get_command(click.Context(main), verb)
    assert any(p.name == "seed" for p in command.params)


@pytest.mark.parametrize(
    ("words", "named"),
    {
        "smulate": "did you mean 'simulate'?",
        "simulat --help": "did you mean 'simulate'?",
        "help simulat": "did you mean 'simulate'?",
        "simulate": "--scheme",
        "cost": "FILE",
        "train --labels x": "--method",
        "cost a b": "(b)",
        "simulate --scheme fpc --vote x": "'majority', 'union'",
        "simulate --scheme fpc --out": "--out",
        "simulate --scheme fpc --budget x": "--budget is 'x'",
        "compare --workers x": "--workers",
        "simulate --shceme fpc": "--scheme",
        "show -v": "-v",
        "--hlp": "--help",
    }.items(),
)
def test_words_that_click_refuses_are_named(shell, words: str, named: str) -> None:
    done = shell(*words.split())
    assert (done.code, done.out) == (2, "") and named in done.err


def test_version(shell) -> None:
    done = shell("--version")
    assert (done.code, done.out) == (0, f"simkit {simkit.__version__}\n")


@pytest.mark.parametrize("folder, told", [
    ("simkit-0.1.8.dist-info", 1), ("SimKit.egg-info", 1),
    ("simkit_annotation-0.2.0.dist-info", 0),
])  # fmt: skip
def test_another_package_of_this_name_is_named(tmp_path, folder: str, told: int) -> None:
    (tmp_path / folder).mkdir()
    paths = os.pathsep.join([str(Path(simkit.__file__).parents[1]), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-m", "simkit", "--version"],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == f"simkit {simkit.__version__}\n"
    assert done.stderr.count("another package named simkit") == told


def test_a_pipe_that_ends_early_is_no_error() -> None:
    words = f'"{sys.executable}" -m simkit list schemes | head -c1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupt_gives_130_and_leaves_nothing(tmp_path) -> None:
    program = (
        "import sys, simkit.annotate.simulate as s, time\n"
        "def slow(*a, **k):\n"
        "    print('ready', flush=True); time.sleep(60)\n"
        "s.simulate = slow\n"
        "from simkit.cli.main import run\n"
        "run(['simulate', '--scheme', 'fpc'])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err.strip() == "simkit: interrupted; what was finished is kept"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_and_a_closed_output_are_no_tracebacks() -> None:
    for redirected, expected in (("> /dev/full", 2), (">&-", 0)):
        words = f"{sys.executable} -m simkit list prices {redirected}"
        buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        done = subprocess.run(words, shell=True, capture_output=True, text=True, env=buffered)
        assert done.returncode == expected and "Traceback" not in done.stderr
        assert expected == 0 or "No space left" in done.stderr


def test_control_characters_of_a_name_do_not_reach_the_terminal(shell) -> None:
    done = shell("show", "a\x1b[2Jb\rc")
    assert done.code == 2 and r"a\x1b[2Jb\rc" in done.err


def test_an_interrupt_may_say_what_is_kept(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    import simkit.formats as formats

    def stopped(path: object) -> None:
        raise KeyboardInterrupt("interrupted; two of three are kept")

    monkeypatch.setattr(formats, "for_path", stopped)
    done = shell("show", __file__)
    assert (done.code, done.err.strip()) == (130, "simkit: interrupted; two of three are kept")


def test_one_of_several_processes_leaves_the_first_to_speak(shell, monkeypatch) -> None:
    import simkit.cli.main as command_line

    waited: list[float] = []
    monkeypatch.setattr(command_line.time, "sleep", waited.append)
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("RANK", "0")
    assert shell("simulat").code == 2 and waited == []
    monkeypatch.setenv("RANK", "1")  # torchrun would have ended it before it speaks
    assert "'simulat'" in shell("simulat").err
    assert len(waited) == 1


def test_a_name_that_is_too_long_is_one_sentence(shell) -> None:
    done = shell("show", "n" * 300)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "nnn cannot be used (File name too long); check its name" in done.err


def test_a_second_interrupt_ends_the_exit_without_a_traceback() -> None:
    program = (
        "import atexit, os, signal, simkit.cli.main as main\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "main.run(['list'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT and not done.stderr
