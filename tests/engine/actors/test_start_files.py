"""The files by which users start a cluster can be read by what reads them."""

import inspect
import re
import subprocess
from pathlib import Path

import pytest

import netsim
from netsim.console.commands import resume, run

FILES = Path(netsim.__path__[0]).parent / "examples" / "cluster"
COMMANDS = {"run": run.command, "resume": resume.command}


def test_bash_reads_the_slurm_script():
    subprocess.run(["bash", "-n", FILES / "slurm.sh"], check=True)


def test_the_cluster_of_a_cloud_is_whole():
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load((FILES / "ray_cluster.yaml").read_text())
    types = found["available_node_types"]
    assert found["head_node_type"] in types
    assert sum(one.get("max_workers", 0) for one in types.values()) <= found["max_workers"]
    assert len({one["node_config"]["InstanceType"] for one in types.values()}) == 1
    assert all(one.startswith("ray st") for one in found["head_start_ray_commands"])


@pytest.mark.parametrize("name", ["slurm.sh", "ray_cluster.yaml"])
def test_their_commands_have_only_options_that_there_are(name):
    called = re.findall(r"netsim (run|resume) (.*)", (FILES / name).read_text())
    assert called
    for command, rest in called:
        known = inspect.signature(COMMANDS[command]).parameters
        for option in re.findall(r"--([a-z-]+)", rest):
            assert option.replace("-", "_") in known, (command, option)
