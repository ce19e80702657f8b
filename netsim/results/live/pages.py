"""Renewal of a run's page: on a request, once the run has written more and a pause is over.

What a run has written is known by how many parts its tables have, which costs next to nothing to
look at; making the page is left to another process.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from netsim.errors import ScenarioError
from netsim.recording.parquet_parts import part_files
from netsim.results.live.server import Answer, Answers
from netsim.results.played import folders
from netsim.results.report.html import page

EVERY_S = 5.0
"""Wall time between two makings of the page."""
SHARE = 0.2
"""Of one core's time at most: what takes long to make is made less often."""
_TABLES = ("messages", "wakes", "metrics", "graph", "traffic", "intervals")
_STATES = ("status.json", "summary.json")
_JSON = "application/json"


class Builder(Protocol):
    """Maker of the numbers of a page."""

    def start(self) -> None:
        """Begin its process, so that it is ready when it is first asked."""

    def build(self, top: Path) -> tuple[bytes, float]:
        """Build the page's JSON from a folder; give the CPU time that it took [s], too.

        Raises
        ------
        ScenarioError
        """

    def close(self) -> None:
        """End its process."""


def signature(top: Path) -> str:
    """Return a signature that changes when the runs in a folder write more; else empty."""
    seen = hashlib.sha256()
    try:
        found = folders(top)
    except ScenarioError:
        return ""
    for folder in found:
        seen.update(f"{folder}".encode())
        for name in _STATES:
            try:
                seen.update(f"{name} {(folder / name).stat().st_mtime_ns}".encode())
            except OSError:
                continue
        for table in _TABLES:
            seen.update(f"{table} {len(part_files(folder / table))}".encode())
    return seen.hexdigest()[:16]


class Pages:
    """Answers of the server of one run.

    Parameters
    ----------
    builder : Builder
    told : callable
        What is to be told of the run beside its tables, such as how far it is: for JSON.
    every_s : float
        Wall time between two makings of the page.

    Attributes
    ----------
    top : Path or None
        The run's folder; None: it has none yet.
    """

    def __init__(
        self,
        builder: Builder,
        told: Callable[[], Mapping[str, Any]],
        every_s: float = EVERY_S,
    ) -> None:
        self.top: Path | None = None
        self._builder, self._told, self._every_s = builder, told, every_s
        self._lock = threading.Lock()
        self._made = b""
        self._tag = self._made_of = self._problem = ""
        self._made_at_s = -float("inf")
        self._cost_s, self._builds = 0.0, 0
        self._over = False
        self._asked_at_s = -float("inf")
        self._seen_last = threading.Event()

    def answers(self) -> Answers:
        """By address: the page, how the run is, and the page's numbers."""
        return {"": self._page, "state": self._state, "content": self._content}

    def end(self, wait_s: float) -> None:
        """Tell those who watch that the run is over, and wait until one of them has seen its end.

        Parameters
        ----------
        wait_s : float
            At most; nobody is waited for if nobody has asked within the last seconds.
        """
        self._over = True
        if time.monotonic() - self._asked_at_s < 2 * self._every_s:
            with self._lock:  # what is being made takes its time
                pass
            self._seen_last.wait(wait_s)

    def _page(self) -> Answer:
        self._builder.start()
        shell = {"kind": "runs", "title": "netsim, live", "runs": []}
        return Answer(page(shell, is_live=True).encode(), "text/html; charset=utf-8")

    def _state(self) -> Answer:
        """Return the progress of the run, and whether the last page is old."""
        self._builder.start()
        self._asked_at_s = time.monotonic()
        now = "" if self.top is None else signature(self.top)
        found = {
            **self._told(),
            "over": self._over,
            "tag": self._tag,
            "new": bool(now) and now != self._made_of and self._is_due(),
            "made_cpu_s": round(self._cost_s, 3),
            "every_s": self._pause_s(),
            "problem": self._problem,
        }
        return Answer(json.dumps(found, allow_nan=False).encode(), _JSON)

    def _pause_s(self) -> float:
        if self._builds < 2:  # the first one takes the loading of libraries, too
            return self._every_s
        return max(self._every_s, round(self._cost_s / SHARE, 1))

    def _is_due(self) -> bool:
        return self._over or time.monotonic() - self._made_at_s >= self._pause_s()

    def _content(self) -> Answer:
        """The page's numbers, made anew if that is due."""
        with self._lock:
            now = "" if self.top is None else signature(self.top)
            was_over = self._over
            if self.top is not None and now and now != self._made_of and self._is_due():
                self._make(self.top, now)
            answer = Answer(self._made, _JSON, self._tag or "none")
        if was_over:
            threading.Timer(0.3, self._seen_last.set).start()  # once it has been sent
        return answer

    def _make(self, top: Path, now: str) -> None:
        try:
            self._made, self._cost_s = self._builder.build(top)
            self._problem = ""
            self._builds += 1
        except ScenarioError as problem:
            self._problem = str(problem)
        self._made_of = now
        self._tag = hashlib.sha256(self._made).hexdigest()[:16]
        self._made_at_s = time.monotonic()
