"""The process that writes a live page.

Called as `python -m netsim.campaign.live_worker FOLDER [DIR]...`. The last arguments are
the folders of components that the run was begun with: where nodes that move were is worked out from
the scenario once more. Problems go to standard output, a line each. Once its input ends, however
the run's process has ended, it writes the page a last time, as `netsim report` does.
"""

import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netsim import garbage, standard_streams
from netsim.campaign import sweep_folder, sweep_results
from netsim.campaign.node_positions import places_of
from netsim.errors import NetsimError, one_line
from netsim.recording import run_folder, status
from netsim.recording.parquet_parts import part_files
from netsim.recording.reader import Places, begun_folders, no_positions
from netsim.recording.summary import left_out
from netsim.recording.whole_files import write_text
from netsim.views.render.page import html, run_page, sweep_page

NICENESS = 10
"""Other work of the machine goes first while the run goes on, the run's above all."""
EVERY_S = 5.0
"""Wall time between two writings of the page."""
SHARE = 0.2
"""Of one core's time at most: what takes long to make is made less often."""
_TABLES = ("messages", "wakes", "metrics", "graph", "traffic", "intervals")
_STATES = ("status.json", "summary.json")
_LOOK_S = 0.5


def nothing_yet(words: str) -> dict[str, Any]:
    """A page that has no figures, and says why."""
    return {"kind": "runs", "title": "netsim, live", "runs": [], "live": {"words": words}}


def write(top: Path, content: Mapping[str, Any]) -> str:
    """Write the page of a folder; what went wrong, if anything did."""
    live = content.get("live")
    if live is not None:
        now_ms = round(1e3 * time.time())
        content = {**content, "live": {"every_s": EVERY_S, **live, "written_ms": now_ms}}
    try:
        write_text(top / run_page.NAME, html.page(content))
    except (NetsimError, OSError) as problem:
        return one_line(problem)
    return ""


class Told:
    """Lines of the run's process, read on a thread of their own."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {"words": "", "share": None}
        self._is_over = threading.Event()
        self._parent = os.getppid()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self.last = json.loads(line)
        self._is_over.set()

    @property
    def is_over(self) -> bool:
        """Return whether the run's process has ended."""
        return self._is_over.is_set() or os.getppid() != self._parent

    def wait(self, wait_s: float) -> None:
        """Wait until then, or until the run's process ends."""
        end_s = time.monotonic() + wait_s
        while not self.is_over and (left_s := end_s - time.monotonic()) > 0:
            self._is_over.wait(min(left_s, _LOOK_S))


class Contents:
    """The contents of the page; those that nothing was added to are made once.

    `top`: folder of a run, of several beside each other, or of a sweep.
    """

    def __init__(self, top: Path, components: Sequence[Path]) -> None:
        self._top, self._components = top, components
        self._entries: dict[Path, tuple[str, run_page.Entry]] = {}
        self._made_of, self._made = "", nothing_yet("")

    @property
    def is_sweep(self) -> bool:
        """Return whether the folder is a sweep's, which is known before its first run begins."""
        return bool(sweep_folder.definition(self._top))

    def now(self, is_live: bool) -> dict[str, Any]:
        """The contents as of now; a live page does not say that its run is not whole."""
        if self.is_sweep:
            made_of = signature(self._top, sweep_folder.runs_with(self._top, "summary.json"))
        else:
            runs = begun_folders(self._top)
            made_of = "".join(signature(folder) for folder in runs)
        if not is_live or made_of != self._made_of:
            if self.is_sweep:
                self._made = sweep_page.content(sweep_results.tables_of(self._top))
            else:
                self._made = self._page_content(runs, is_live)
            self._made_of = made_of
        return self._made

    def last(self) -> dict[str, Any]:
        """The contents once the run has ended, however it has."""
        try:
            return self.now(is_live=False)
        except (NetsimError, OSError) as nothing:
            ended = f"It ended before there was anything: {nothing}"
            return {**nothing_yet(""), "live": {"ended": ended}}

    def so_far(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """The contents while the run goes on; `told`: how far it has come, as it says itself."""
        far = _sweep_words(self._top) if self.is_sweep else told
        try:
            content = self.now(is_live=True)
        except (NetsimError, OSError):  # none has begun, say
            content = nothing_yet("")
        return {**content, "live": {"every_s": EVERY_S, **far}}

    def _page_content(self, runs: Sequence[Path], is_live: bool) -> dict[str, Any]:
        def gathered(folder: Path) -> run_page.Entry:
            made_of = f"{is_live}{signature(folder)}"
            if folder not in self._entries or self._entries[folder][0] != made_of:
                made = run_page.gather(folder, self._places(folder), is_live)
                self._entries[folder] = made_of, made
            return self._entries[folder][1]

        missing = [] if is_live else left_out(self._top, only_to_come=True)
        return run_page.content(runs, gathered, missing)

    def _places(self, folder: Path) -> Places:
        try:
            moves = "mobility" in run_folder.scenario(folder)
        except NetsimError:
            moves = False
        if not moves:
            return no_positions
        return places_of(folder, self._components, None)


def signature(folder: Path, more: Sequence[Path] = ()) -> str:
    """Tell whether a folder has more than before: by times of files and numbers of parts."""
    seen = hashlib.sha256(f"{folder} {more}".encode())
    for name in _STATES:
        try:
            seen.update(f"{name} {(folder / name).stat().st_mtime_ns}".encode())
        except OSError:
            continue
    for table in _TABLES:
        seen.update(f"{table} {len(part_files(folder / table))}".encode())
    return seen.hexdigest()


def _sweep_words(top: Path) -> dict[str, Any]:
    """Return the progress of a sweep, from its status."""
    said = status.read(top)
    done, runs, failed = said.get("done"), said.get("runs"), said.get("failed")
    if not (isinstance(done, int) and isinstance(runs, int) and runs > 0):
        return {"words": "", "share": None}
    words = f"{done:,} of {runs:,} runs done"
    if isinstance(failed, dict) and failed:
        words += f", {len(failed):,} failed"
    return {"words": words, "share": done / runs}


def main() -> None:
    """Write the page of the folder that the arguments name until the run's process ends."""
    garbage.set_for_own_process()
    answers, sys.stdout = sys.stdout, sys.stderr  # what components print goes elsewhere
    standard_streams.never_fail()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    os.nice(NICENESS)
    top, *components = map(Path, sys.argv[1:])
    contents, progress, problems = Contents(top, components), Told(), {""}
    while top.is_dir():
        is_over, began_s = progress.is_over, time.process_time()
        problem = write(top, contents.last() if is_over else contents.so_far(progress.last))
        if problem not in problems:
            problems.add(problem)
            print(problem, file=answers, flush=True)
        if is_over:
            return
        cost_s = time.process_time() - began_s
        progress.wait(max(EVERY_S, cost_s / SHARE))


if __name__ == "__main__":
    main()
