"""Errors in CSV end the process with exit code 2: no thread of Arrow's is left to abort it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """
horizon_s = 25.0
nodes = { count = 2 }
exchange = { schedule = "rounds", interval_s = 10.0 }
data = { kind = "table", path = "t", target = "y", partition = { kind = "iid" } }
model = { kind = "mlp", hidden = [4] }
algorithm = { kind = "local" }
"""
COUNTED = """
import os, sys, pathlib
import pyarrow as pa
import pyarrow.csv
pa.set_cpu_count(16)
from netsim.data import files
def threads():
    return len(os.listdir("/proc/self/task"))
first = threads()
for name in sys.argv[1:]:
    files.read_table([pathlib.Path(name)])
ours = threads()
pa.csv.read_csv(sys.argv[1])
print(ours - first, threads() - ours)
"""
"""Threads that our readers started, and that Arrow starts by itself."""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by /proc")
@pytest.mark.slow
def test_no_reader_of_tables_starts_the_threads_that_compute(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 600_000
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k},{k % 2}\n" for k in range(n)))
    lines = (f'{{"a": {k}, "y": {k % 2}}}\n' for k in range(n // 4))
    (tmp_path / "t.jsonl").write_text("".join(lines))
    pq.write_table(pa.table({"a": list(range(n)), "y": [0] * n}), tmp_path / "t.parquet")
    names = [str(tmp_path / name) for name in ("t.csv", "t.jsonl", "t.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *names], capture_output=True, text=True, check=True
    )
    ours, by_itself = map(int, done.stdout.split())
    assert ours <= 2 < by_itself  # at most those that wait for the disk


CALLS = """
import os, sys
import netsim.console.app, netsim.engine.runner, netsim.world.builder
sys.argv = ["netsim", "validate", "s.toml"]
for text in sys.stdin.read().split("\\0"):
    with open("t/train.csv", "w") as file:
        file.write(text)
    child = os.fork()
    if not child:
        netsim.console.app.main()
        os._exit(99)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Each call ends as a process does; what it imports is there, and no thread of Arrow's yet."""


@pytest.mark.slow
def test_calls_end_with_exit_code_2(tmp_path):
    """A third of them ended in SIGABRT while Arrow's own threads read CSV, see above."""
    texts = ("a;b;y\n1;2;0\n3;4;1\n", "a,b,y\n1,2\n", "a,b,y\n1,x2,0\n1,2,1\n2,3,1\n")
    (tmp_path / "t").mkdir()
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = subprocess.run(
        [sys.executable, "-c", CALLS],
        cwd=tmp_path,
        env={**os.environ, "NETSIM_WITHOUT_STAND_INS": "1"},
        input="\0".join(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2"] * len(texts)
