"""Whatever is in a file or an option, netsim reads it or refuses it in words, and soon.

The fast suite draws a few inputs of some kinds, the slow one more of each; 20,000 are played by
`python benchmarks/malformed_inputs.py`, which also watches the memory.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from .inputs import KINDS, guarded, refused

ROOT = Path(__file__).parents[2]


def play(name, inputs):
    """Draw inputs of a kind; fails with the smallest that is neither read nor refused."""
    kind = KINDS[name]

    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(kind.cases)
    def each(case):
        with tempfile.TemporaryDirectory() as folder, guarded():
            refused(kind.play, case, Path(folder))

    each()


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", list(KINDS)[::4])
def test_a_malformed_input_is_read_or_refused(name):
    play(name, 6)


def memory_kib(field):
    """Return Linux's figure for this process: `VmRSS` it holds, `VmHWM` was its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(dict(line.split(":", 1) for line in lines)[field].split()[0])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("name", KINDS)
def test_many_malformed_inputs_are_read_or_refused(name):
    before_kib = memory_kib("VmRSS")  # other tests of this process hold it
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
    play(name, 100)
    assert memory_kib("VmHWM") - before_kib < 2 << 20


@pytest.mark.slow
def test_malformed_inputs_through_the_command_line():
    command = [
        sys.executable,
        "benchmarks/malformed_inputs.py",
        "--inputs",
        "20",
        "--processes",
        "2",
    ]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 tracebacks, 0 hangs" in ended.stdout


@pytest.mark.slow
def test_a_case_that_takes_too_long_is_ended():
    import time

    from .inputs import Hang

    with pytest.raises(Hang), guarded(0.05):
        time.sleep(5)
