"""The files in docs/cluster: valid scripts and resources, whose commands are those of simkit."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from simkit.cli.main import main
from simkit.data.dataset import read_spec

FOLDER = Path(__file__).parents[1] / "docs" / "cluster"
SCRIPTS = sorted(FOLDER.glob("*.sbatch"))
RESOURCES = FOLDER / "dask.yaml"
VALUES = {"part": "3/16", "scheduler": "tcp://node-1:20001", "port": "20001"}


def commands(script: str, program: str) -> list[list[str]]:
    """The words of every call of a program, variables in place."""
    script = re.sub(r"\\\n\s*", " ", script)
    values = VALUES | dict(re.findall(r'^\s*(data)="(.*)"$', script, re.MULTILINE))
    script = re.sub(r"\$\(hostname\)", "node-1", script)
    script = re.sub(r"\$(\w+)", lambda name: values.get(name[1], name[0]), script)
    calls = re.findall(rf"^(?:\s*|srun ){program} (.*?)(?: &)?$", script, re.MULTILINE)
    return [shlex.split(call) for call in calls]


def scripts() -> dict[str, str]:
    """The scripts by file, also that of the job on Kubernetes."""
    _, job = yaml.safe_load_all(RESOURCES.read_text("utf-8"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {path.name: path.read_text("utf-8") for path in SCRIPTS} | {
        RESOURCES.name: container["args"][0]
    }


@pytest.mark.parametrize("name", scripts())
def test_scripts_are_bash_whose_commands_simkit_reads(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = scripts()[name]
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    found = commands(script, "simkit")
    assert [words[0] for words in found] == ["features", "score", "compare"]
    for verb, *words in found:
        command = main.get_command(click.Context(main), verb)
        assert command is not None
        given = command.make_context(verb, words).params
        assert given["part"] == "3/16" or given["scheduler"].startswith("tcp://")
        if verb != "compare":
            read_spec(given["data_spec"])


def test_an_array_has_as_many_tasks_as_parts() -> None:
    script = (FOLDER / "array.sbatch").read_text("utf-8")
    (tasks,) = re.findall(r"#SBATCH --array=1-(\d+)", script)
    assert re.findall(r"SLURM_ARRAY_TASK_ID/(\d+)", script) == [tasks]


def test_scheduler_and_workers_are_started_as_dask_reads_it() -> None:
    from distributed.cli import dask_scheduler, dask_worker

    mains = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    cluster, _ = yaml.safe_load_all(RESOURCES.read_text("utf-8"))
    found = commands((FOLDER / "dask.sbatch").read_text("utf-8"), "dask")
    for part in ("scheduler", "worker"):
        (container,) = cluster["spec"][part]["spec"]["containers"]
        dask, *words = container["args"]
        assert dask == "dask"
        found.append(words)
    assert sorted(name for name, *_ in found) == ["scheduler", "scheduler", "worker", "worker"]
    for name, *words in found:
        given = mains[name].make_context(name, words).params
        assert name == "scheduler" or given["nthreads"] == 1


def test_the_cluster_has_what_the_operator_needs() -> None:
    """The required fields of kubernetes.dask.org/v1, and ports and names that fit together."""
    cluster, job = yaml.safe_load_all(RESOURCES.read_text("utf-8"))
    assert (cluster["apiVersion"], cluster["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    name, spec = cluster["metadata"]["name"], cluster["spec"]
    assert spec["worker"]["replicas"] > 1
    service = spec["scheduler"]["service"]
    assert service["selector"] == {
        "dask.org/cluster-name": name, "dask.org/component": "scheduler"
    }  # fmt: skip
    (scheduler,) = spec["scheduler"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in scheduler["ports"]}
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == ports
    address = f"tcp://{name}-scheduler:{ports['tcp-comm']}"
    script = scripts()[RESOURCES.name]
    assert script.count("--scheduler ") == script.count(f"--scheduler {address}") == 3
    pods = [spec["worker"]["spec"], job["spec"]["template"]["spec"]]
    for pod in pods:  # the same files at the same place
        assert pod["volumes"] == pods[0]["volumes"]
        (container,) = pod["containers"]
        assert container["image"] == scheduler["image"]
        cache = {each["name"]: each["value"] for each in container["env"]}["SIMKIT_CACHE"]
        (mount,) = container["volumeMounts"]
        assert mount["mountPath"] == container["workingDir"] and cache.startswith("/work/")
