"""`--watch`: the page of a run or a sweep while it goes on."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netsim.campaign import live, live_worker
from netsim.views.render.page import html

RUN = ("run", "s.toml", "-q", "--no-figures")
LONG = ("--set", "horizon_s=1e5", "--set", "algorithm.trouble='long'", "--algorithms", "algorithms")
"""Rather asleep than at work."""
PATIENCE_S = 300.0
"""A page is made at low priority: on a busy machine late."""
SWEEP = ("--over", "nodes.count=3,4", "--seeds", "0:2", "-q")


def outline(page: Path) -> dict:
    """Return the data that a page has at hand at once."""
    found = re.search(r'id="outline">(.*?)</script>', page.read_text(encoding="utf-8"))
    return json.loads(found[1])


def until(condition, wait_s: float = PATIENCE_S):
    """Return the first value of a condition that is not empty."""
    end_s = time.monotonic() + wait_s
    while not (found := condition()):
        assert time.monotonic() < end_s, "never"
        time.sleep(0.1)
    return found


@pytest.mark.slow
def test_a_watched_run_is_the_same_run_and_leaves_its_page_alone(netsim, here):
    watched = netsim(*RUN, "--out", "watched", "--watch")
    assert watched.exit_code == 0, watched.output
    assert f"watch it at {(here / 'watched' / 'report.html').as_uri()}" in watched.output
    assert netsim(*RUN, "--out", "alone").exit_code == 0
    pages = [outline(here / folder / "report.html") for folder in ("watched", "alone")]
    assert pages[0] == pages[1]
    sums = [json.loads((here / f / "summary.json").read_text()) for f in ("watched", "alone")]
    assert sums[0]["event_log_sha256"] == sums[1]["event_log_sha256"]
    assert sums[0]["accuracy"] == sums[1]["accuracy"]
    names = [sorted(p.name for p in (here / f).iterdir()) for f in ("watched", "alone")]
    assert names[0] == names[1]
    assert netsim("verify", "watched", "--no-rerun").exit_code == 0


@pytest.mark.slow
def test_a_failed_run_says_so_to_who_watches(netsim, here):
    failed = netsim(*RUN, "--out", "out", "--watch", "--set", "algorithm.trouble='error'")
    assert failed.exit_code == 1
    found = outline(here / "out" / "report.html")
    assert "live" not in found
    assert "on purpose" in found["runs"][0]["notices"][0]


@pytest.mark.parametrize("command", [("run", "s.toml"), ("sweep", "s.toml", *SWEEP)])
def test_without_a_page_nothing_is_watched(netsim, here, command):
    result = netsim(*command, "--out", "out", "--watch", "--no-report")
    assert result.exit_code == 2
    assert "leave out --no-report" in result.output
    assert not (here / "out").exists()


def test_a_part_of_a_sweep_is_not_watched(netsim, here):
    result = netsim("sweep", "s.toml", *SWEEP, "--out", "out", "--watch", "--only", "1/2")
    assert result.exit_code == 2
    assert "netsim report writes" in result.output
    assert not (here / "out").exists()


@pytest.mark.slow
def test_a_watched_sweep_ends_with_the_page_of_its_end(netsim, here, monkeypatch):
    seen = []
    begin = live.LivePage.begin
    monkeypatch.setattr(
        live.LivePage, "begin", lambda page, top: (begin(page, top), seen.append(top))
    )
    result = netsim("sweep", "s.toml", *SWEEP, "--jobs", "1", "--out", "out", "--watch")
    assert result.exit_code == 0, result.output
    assert seen == [Path("out")]
    found = outline(here / "out" / "report.html")
    assert (found["kind"], "live" in found) == ("sweep", False)
    assert netsim("verify", "out", "--no-rerun").exit_code == 0


def worker_of(pid: int) -> int | None:
    """The process that writes the page of a run."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid and b"live_worker" in command:
            return int(entry.name)
    return None


@pytest.fixture
def begun(here):
    """Begins commands in processes of their own; they are gone at the end."""
    runs = []

    def begin(*command: str, **more) -> subprocess.Popen:
        searched = os.pathsep.join(path or "." for path in sys.path)
        run = subprocess.Popen(
            [sys.executable, "-m", "netsim", *command, "--watch"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": searched}, **more,
        )  # fmt: skip
        runs.append(run)
        assert next(filter(re.compile("watch it at file:").search, run.stderr), "")
        return run

    yield begin
    for run in runs:
        run.kill()
        run.wait()
        run.stderr.close()


def is_shown(page: Path) -> bool:
    found = outline(page)
    return bool(found["runs"]) and bool(found["live"]["share"])  # neither None nor 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGKILL, "was cut off"), (signal.SIGINT, "was interrupted at")],
)
def test_a_run_that_is_ended_says_so_on_its_page_and_leaves_no_process(begun, here, number, said):
    run, page = begun(*RUN, *LONG, "--out", "a"), here / "a" / "report.html"
    until(lambda: is_shown(page))
    far = outline(page)
    assert far["runs"] == [{"label": "alone", "notices": []}]
    assert 0 < far["live"]["share"] < 1
    assert "alone · " in far["live"]["words"]
    assert far["live"]["written_ms"] <= 1e3 * time.time()
    worker = until(lambda: worker_of(run.pid))
    run.send_signal(number)
    assert run.wait(timeout=PATIENCE_S) == (-number if number == signal.SIGKILL else 130)
    until(lambda: not Path(f"/proc/{worker}").exists())
    found = outline(page)
    assert "live" not in found
    assert said in found["runs"][0]["notices"][0]
    assert not list((here / "a").glob("*.partial"))
    Path("hurry").touch()  # what has been is played again
    resumed = begun("resume", "a", "-q")
    until(lambda: is_shown(page))
    resumed.kill()


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_said_once_and_the_run_goes_on(here):
    """A full disk, of which only the page has its share."""
    (here / "out" / "report.html").mkdir(parents=True)
    (here / "out" / "report.html" / "x").touch()
    said = []
    page = live.LivePage(["alone"], (), said.append)
    page.begin(here / "out")
    until(lambda: len(said) >= 2)
    page.stop()
    assert said[0].startswith("watch it at file:")
    assert re.search(r"--watch: .*report.html: can't be written.*; the run goes on", said[1])


def test_a_last_page_that_fails_hides_nothing_of_how_the_run_ended(tmp_path, monkeypatch):
    def fails(*_):
        raise MemoryError("a page")

    def interrupted():
        with live.live_page(True, ["x"], (), said.append) as page:
            page.begin(tmp_path)
            raise KeyboardInterrupt

    said = []
    monkeypatch.setattr(live_worker, "begun_folders", fails)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert said[-1] == "--watch: no last page: MemoryError: a page"


def test_a_full_disk_is_said_and_leaves_the_page_of_before(tmp_path):
    assert live_worker.write(tmp_path, live_worker.nothing_yet("first")) == ""
    before = (tmp_path / "report.html").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        problem = live_worker.write(tmp_path, live_worker.nothing_yet("second"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "can't be written" in problem
    assert (tmp_path / "report.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_live_page_is_one_of_netsims_and_says_when_it_was_written(tmp_path):
    live_worker.write(tmp_path, live_worker.nothing_yet("Waiting"))
    page = tmp_path / "report.html"
    assert html.is_page(page.read_bytes()[: html.MOST_HEAD_BYTES])
    found = outline(page)["live"]
    assert found["words"] == "Waiting"
    assert abs(found["written_ms"] - 1e3 * time.time()) < 60e3
    assert found["every_s"] == live_worker.EVERY_S


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
@pytest.mark.parametrize(
    ("age_s", "shown"), [(2, "it is written anew every 5 s"), (600, "the run was killed")]
)
def test_a_page_that_is_no_longer_written_says_so(tmp_path, age_s, shown):
    content = live_worker.nothing_yet("dpsgd at 4 of 10 s")
    content["live"] |= {"written_ms": 1e3 * (time.time() - age_s), "every_s": 5.0}
    html.write(tmp_path / "page.html", content)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--virtual-time-budget=3000", f"--user-data-dir={tmp_path / 'profile'}"]
    told = subprocess.run(
        [*command, (tmp_path / "page.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    assert shown in told.stdout
    assert "dpsgd at 4 of 10 s" in told.stdout
