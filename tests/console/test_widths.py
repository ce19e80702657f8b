"""Every command in terminals of 60 and 80 columns: lines fit, no word and no number is cut."""

import json
import os
import pkgutil
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from netsim.console import commands

ROOT = Path(__file__).resolve().parents[2]
WIDE, WIDTHS = 1000, (60, 80)
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

SCENARIO = """\
# Six nodes over a radio.
horizon_s = 20.0
[nodes]
count = 6
placement = "disc"
radius_m = 100.0
[exchange]
schedule = "periodic"
period_s = 5.0
[radio]
bandwidth_hz = 2e6
reachable = 4.0
calibrate = "power"
[radio.fading]
kind = "rayleigh"
coherence_s = 0.1
[radio.rate]
kind = "shannon_gap"
min_rate_bps = 1e4
[compute]
kind = "fixed"
step_s = 0.2
[data]
kind = "digits"
validation = 0.2
[data.partition]
kind = "class_mix"
alpha = 0.3
train_min = 15
train_max = 30
test_samples = 50
[model]
kind = "mlp"
[[algorithm]]
kind = "kd_pdfl"
[[algorithm]]
kind = "fedavg"
[[algorithm]]
kind = "local"
name = "training_alone_without_any_message"
"""

OF_RUNS = ("accuracy", "bytes", "cdf", "fates", "time_use", "age_by_pair", "deliveries")
OF_ONE = ("graph", "map", "delays", "weights")
PLAYED = [
    ["run", "s.toml", "--out", "{}a"],
    ["fork", "a/fedavg", "--at", "8", "--set", "radio.bandwidth_hz=4e5", "--out", "{}forked"],
    ["tune", "s.toml", "--out", "{}.toml"],
    ["estimate", "s.toml", "--seconds", "1"],
    [
        "sweep", "alone.toml", "--over", "compute.step_s=0.1,0.2", "--seeds", "0:2",
        "--target", "0.4", "--jobs", "1", "--out", "swept",
    ],
]  # fmt: skip
"""Commands that play, and show times of this machine; a sweep shows its tables again."""
MEANWHILE = re.compile(r'\b(?:doing|tell|waiting)\(\s*f?"([^"]+)"')
SOURCES = [path.read_text(encoding="utf-8") for path in (ROOT / "netsim").rglob("*.py")]
PROGRESS = " ".join(["left of which are done", *MEANWHILE.findall("\n".join(SOURCES))])
"""Words of waiting, that one machine has the time to show and another not."""
DRAWN = "[─│╭╮╰╯\u2800-\u28ff]+"
"""Rules, boxes and the turning dots of waiting, that are no words."""

TWO = ["a", "forked"]
READ = [
    ["validate", "s.toml"],
    ["list"],
    ["list", "papers"],
    ["compare", *TWO],
    ["compare", "a", "--target", "0.4"],
    ["compare", "swept", "--target", "0.4"],
    ["explain", "a"],
    ["explain", "a/fedavg", "--node", "3"],
    ["verify", "a", "--no-rerun"],
    ["report", "a", "--out", "{}.html"],
    ["new", "algorithm", "a_method_of_my_own_with_a_name", "--dir", "{}"],
    ["export", "a/fedavg", "--as", "timeline", "--out", "{}.json"],
    *(["plot", *TWO, "--as", view, "--format", "text"] for view in OF_RUNS),
    *(["plot", "a/kd_pdfl", "--as", view, "--format", "text"] for view in OF_ONE),
    *(["plot", "swept", "--as", view, "--format", "text"] for view in ("sweep", "accuracy")),
    ["plot", "a", "--out", "{}.pdf", "--table"],
]
WRONG = [
    ["run", "s.toml", "--set", "radio.bandwith_hz=3", "--set", "radio.fading.kind=raylee"],
    ["run", "no_such_scenario"],
    ["validate", "s.toml", "--set", "nodes.count=-3"],
    ["timeline", "a"],
    ["compare", "nowhere"],
    ["fork", "a/fedavg", "--at", "8", "--set", "data.kind=x"],
    ["plot", "a", "--as", "no_such_view"],
    ["export", "a/fedavg", "--as", "pcapp"],
    ["resume", "a"],
    ["list", "fadings"],
    ["explain", "a", "--nodes", "3"],
]
HELP = [[found.name, "--help"] for found in pkgutil.iter_modules(commands.__path__)]

DRIVER = """
import fcntl, json, struct, sys, termios
from netsim.console.app import app
print("\\0ready", flush=True)
for line in sys.stdin:
    args, width = json.loads(line)
    for stream in (1, 2):
        fcntl.ioctl(stream, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    try:
        app(args)
        code = 0
    except SystemExit as stop:
        code = stop.code
    print(f"\\0{code}\\0", flush=True)
"""


class Terminal:
    """A process whose output is a terminal, for one command after the other."""

    def __init__(self, folder: Path) -> None:
        self.master, slave = pty.openpty()
        free = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            cwd=folder,
            env={**free, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NETSIM_ROUTES": "routes.toml"},
            stdin=subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            text=True,
        )
        os.close(slave)
        self.wide: dict[str, tuple[int, list[str]]] = {}  # what was played, of its command
        self._until(rb"\0ready")

    def _until(self, end: bytes) -> bytes:
        shown = b""
        while not re.search(end, shown):
            shown += os.read(self.master, 65536)
        return shown

    def shown(self, args: list[str], width: int) -> tuple[int, list[str]]:
        """Exit code and lines; of a line that is written anew, as progress is, the states."""
        self.process.stdin.write(json.dumps([args, width]) + "\n")
        self.process.stdin.flush()
        text = self._until(rb"\0(-?\d+)\0").decode()
        text, code = re.fullmatch(r"(.*)\0(-?\d+)\0\s*", text, re.DOTALL).groups()
        lines = re.split(r"[\r\n]+", CONTROLS.sub("", text))
        return int(code), [line.rstrip() for line in lines if line.strip()]


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "s.toml").write_text(SCENARIO)
    others = '[[algorithm]]\nkind = "kd_pdfl"\n[[algorithm]]\nkind = "fedavg"\n'
    (folder / "alone.toml").write_text(SCENARIO.replace(others, ""))
    found = Terminal(folder)
    for args in PLAYED:
        found.wide[" ".join(args)] = found.shown([a.format("") for a in args], WIDE)
    yield found
    found.process.stdin.close()
    found.process.wait(30)
    os.close(found.master)


def faults(lines, width, wide, are_timed):
    """Lines that are too wide, that cut a word, or that part a number from its deviation."""
    words = {word.strip(",") for word in " ".join([*wide, PROGRESS]).split()}
    has_numbers_for_names = "row" in " ".join(lines).split()
    for line in lines:
        if re.match(r" {4}(netsim|pytest) ", line):
            continue  # a command to copy stays one line
        line = re.sub(DRAWN, "", line).rstrip()
        if len(line) > width and len(line.split()) > 1:
            yield f"{len(line)} columns: {line}"
        for word in (word.strip(",") for word in line.split()):
            is_of_list = has_numbers_for_names and re.fullmatch(r"row|\d\d?", word)
            is_measured = are_timed and re.search(r"\d", word)
            if word not in words and not (word.endswith("…") or is_of_list or is_measured):
                yield f"cut: {word!r} in {line!r}"
        if re.search(r"±\s*$|^\s*±\s*\d|±\s{2,}\d|\d\s{2,}±", line):
            yield f"parted: {line}"


@pytest.mark.slow
@pytest.mark.parametrize("args", PLAYED + READ + WRONG + HELP, ids=" ".join)
def test_no_command_cuts_a_word_or_a_number(terminal, args):
    code, wide = terminal.wide.get(" ".join(args)) or terminal.shown(
        [a.format("wide") for a in args], WIDE
    )
    assert code in (0, 2), wide
    for width in WIDTHS:
        name = f"less{width}"
        again, lines = terminal.shown([a.format(name) for a in args], width)
        assert again == code
        as_wide = [line.replace("wide", name) for line in wide]
        are_timed = args in PLAYED or args[0] == "validate"
        assert list(faults(lines, width, as_wide, are_timed)) == [], width
