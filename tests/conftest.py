"""Fixtures for every test: none reads or writes files of the user who runs them."""

import gc
import os
import shutil
import signal
from collections import Counter
from functools import cache

import pytest
import torch
import typer.main

from netsim.backends.native.library import describe_kernel
from netsim.backends.spilling import file_system

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's job in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which what tests start inherits
torch.set_num_threads(1)  # as a run does: other numbers of threads give other last bits


def pytest_report_header():
    return f"native kernel: {describe_kernel()}"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collecting tests leaves no garbage to search for: ten searches of all modules take 2 s."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a grid of cases the fast suite plays one in so many: the others become slow."""
    seen = Counter()
    for item in items:
        if thinned := item.get_closest_marker("thinned"):
            case = (item.path, item.originalname)
            if seen[case] % thinned.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[case] += 1


@pytest.fixture(autouse=True)
def one_thread():
    """Give back what a test does to the number of torch's threads."""
    yield
    torch.set_num_threads(1)


_unfreeze = gc.unfreeze


@pytest.fixture(autouse=True, scope="session")
def nothing_old_is_searched():
    """Freeze the objects that outlive all tests: runs freeze them, and no test thaws them again.

    Else a run after one that failed looks for garbage among all modules, for half a second.
    """
    gc.collect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        gc.freeze()
        yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def discs_are_not_waited_for():
    """Files outlive a killed process without `fsync`, 6 ms a file; power does not fail in tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def the_command_line_is_put_together_once():
    """Else typer reads the options of all commands anew at each call, for 15 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module")
def thawed():
    """As in a user's process: between runs nothing is frozen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", _unfreeze)
        gc.unfreeze()
        yield
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def nothing_of_ones_own(tmp_path_factory):
    """No route that `netsim tune` once wrote on this machine; no record of components left here."""
    folder = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETSIM_ROUTES", str(folder / "no routes of one's own.toml"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield


@pytest.fixture
def disk(tmp_path):
    """A folder of a disk; skipped where temporary folders are in memory."""
    if file_system(tmp_path) in ("tmpfs", "ramfs"):
        pytest.skip("temporary folders are in memory; set TMPDIR to a folder of a disk")
    return tmp_path


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; where there is none the test is skipped, and says so.

    One a module: as long as it is open, nothing else in this process can open another.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("Playwright is not installed: pip install 'netsim-dfl[browser]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
