"""`fake_gpu_cases.py` in a process of its own, since it replaces functions inside PyTorch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("fake_gpu_cases.py")
NOTHING_COLLECTED = 5


@pytest.mark.slow
def test_every_job_type_on_fake_cuda_tensors():
    command = [sys.executable, "-m", "pytest", "-n0", "-m", "", "-rs", "-p", "no:cacheprovider"]
    mine = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    done = subprocess.run(
        [*command, str(CASES)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        env=mine | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    summary = done.stdout.splitlines()
    if " passed" not in summary[-1]:
        pytest.skip(next(line for line in summary if line.startswith("SKIPPED")))
