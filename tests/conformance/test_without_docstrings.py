"""Python may leave out docstrings and assertions (`-OO`): netsim needs neither."""

import subprocess
import sys

import pytest

READ = """
from netsim.scenario import json_schema
from netsim.scenario.kinds import kinds_of
assert False, "assertions are left out"
assert_no = json_schema.__doc__
if assert_no is not None:
    raise SystemExit("docstrings are there")
if "algorithm" not in json_schema(kinds_of())["properties"]:
    raise SystemExit("no schema")
"""
PLAY = """
from netsim import engine, scenario, world
given = scenario.load("quickstart", ["horizon_s=2.0"])
found = engine.play(world.build(given), given.algorithm[0])
print(found["parameters_sha256"])
"""


@pytest.mark.slow
def test_a_scenario_is_read_and_played_alike_without_docstrings():
    found = {
        subprocess.run(
            [sys.executable, *options, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        for options, program in (
            (["-OO"], READ + PLAY),
            ([], PLAY),
        )
    }
    assert len(found) == 1


COMMANDS = """
import sys
from netsim.console import app
for words in (["list", "--keys"], ["schema"], ["validate", "quickstart"]):
    sys.argv = ["netsim", *words]
    try:
        app.main()
    except SystemExit as end:
        assert_no = end.code
    if assert_no:
        raise SystemExit(f"{words}: {assert_no}")
"""


@pytest.mark.slow
def test_commands_work_without_docstrings():
    done = subprocess.run([sys.executable, "-OO", "-c", COMMANDS], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
