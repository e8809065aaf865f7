"""`simkit completion`: what shells complete."""

import subprocess
import sys

import pytest

from simkit.cli.options import REGISTRIES, names


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("simkit quick", "quickstart"),
        ("simkit simulate --scheme full", "full-subset"),
        ("simkit train --method csl+boo", "csl+boostlu"),
        ("simkit train --method ll-r+c", "ll-r+cl"),
        ("simkit train --data coco-p", "coco-panoptic"),
        ("simkit convert a.npz --to npy", "npy-triple"),
        ("simkit cost a.parquet --prices hou", "hourly"),
        ("simkit list meth", "methods"),
        ("simkit list figures heat-m", "heat-map heat-maps"),
    ],
)
def test_bash_completes(shell, tmp_path, line: str, offered: str) -> None:
    done = shell("completion", "bash")
    assert done.code == 0, done.err
    program = tmp_path / "simkit"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m simkit "$@"\n')
    program.chmod(0o755)
    script = f"{done.out}\nCOMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))"
    script += f'\n_simkit_completion "{program}"; echo "${{COMPREPLY[*]}}"'
    run = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == (offered, "")


@pytest.mark.parametrize("which", ["zsh", "fish"])
def test_other_shells_have_a_script(shell, which: str) -> None:
    assert "_SIMKIT_COMPLETE" in shell("completion", which).out


def test_another_word_for_data_is_a_file(shell, monkeypatch, capsys) -> None:
    monkeypatch.setenv("_SIMKIT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "simkit train --data mine.t")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit):
        shell()
    assert capsys.readouterr().out == "file,mine.t\n"


@pytest.mark.parametrize("what", REGISTRIES)
def test_the_names_are_those_of_the_list(shell, what: str) -> None:
    assert names(what) == [row["name"] for row in shell("list", what, "--json").json[what]]
