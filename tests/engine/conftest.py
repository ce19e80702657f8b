"""A clock that a test turns itself."""

import pytest


class WallClock:
    """In place of the module `time`."""

    def __init__(self):
        self.now_s = 100.0

    def monotonic(self):
        return self.now_s


@pytest.fixture
def clock(monkeypatch, request):
    """The wall clock of the module that a test file names `TIMED`."""
    made = WallClock()
    monkeypatch.setattr(request.module.TIMED, "time", made)
    return made
