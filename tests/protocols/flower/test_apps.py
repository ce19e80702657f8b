"""Apps are found by name among the folders that the user gave, and never by a scenario alone."""

import sys
from pathlib import Path

import pytest

from netsim import world
from netsim.engine import Simulation
from netsim.engine.component_record import recall, remember
from netsim.errors import ProtocolError, UnsuitableError
from netsim.protocols.flower import FlowerParams, apps
from netsim.protocols.flower.virtual_time import Changes
from netsim.scenario import from_dict
from netsim.scenario.kinds import kinds_of

PROJECT = """
[project]
name = "{name}"
[tool.flwr.app.components]
serverapp = "{name}_code.parts:server"
clientapp = "{name}_code.parts:client"
[tool.flwr.app.config]
rounds = 3
data = {{ share = 0.5 }}
"""


@pytest.fixture(autouse=True)
def _nothing_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(apps, "_folders", {})


def app_in(folder: Path, name: str) -> Path:
    """A folder with an app whose objects are texts."""
    code = folder / f"{name}_code"
    code.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT.format(name=name), encoding="utf-8")
    (code / "__init__.py").touch()
    text = "import pathlib\npathlib.Path(__file__).with_name('imported').touch()\n"
    (code / "parts.py").write_text(text + "server, client = 'S', 'C'\n", encoding="utf-8")
    return folder


def test_components_takes_the_folder_of_an_app_and_imports_nothing(tmp_path: Path):
    folder = app_in(tmp_path / "place", "one")
    kinds_of([folder])
    found = apps.found_app(FlowerParams())
    assert found.parts == ("one_code.parts:server", "one_code.parts:client")
    assert found.config == {"rounds": 3, "data.share": 0.5}
    assert not (folder / "one_code" / "imported").exists()


@pytest.mark.parametrize("said", ["one", "place", "one_code.parts:client,one_code.parts:server"])
def test_an_app_has_the_name_of_its_project_its_folder_or_its_objects(tmp_path: Path, said: str):
    for name, place in (("one", "place"), ("two", "other")):
        apps.add_folder(app_in(tmp_path / place, name))
    assert apps.found_app(FlowerParams(app=said)).folder == (tmp_path / "place").resolve()


@pytest.mark.parametrize(
    ("params", "names", "told"),
    [
        ({}, (), "--components FOLDER"),
        ({"app": "one"}, (), "--components FOLDER"),
        ({"app": "/tmp"}, ("one",), "those given are one"),
        ({}, ("one", "two"), "name one of one, two"),
        ({"app": "os:system,os:system"}, ("one",), "there is no such Flower app"),
        ({"app": "one_code.parts:server"}, ("one",), 'must be "module:server_app'),
        ({"run_config": {"round": 1}}, ("one",), 'did you mean "rounds"'),
    ],
)
def test_what_is_not_given_is_refused_in_words(tmp_path: Path, params, names, told):
    for name in names:
        apps.add_folder(app_in(tmp_path / name, name))
    with pytest.raises(UnsuitableError) as error:
        apps.found_app(FlowerParams(**params))
    assert told in str(error.value)


PARTS = '[tool.flwr.app.components]\nserverapp = "a:b"\nclientapp = "a:c"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no serverapp and clientapp"),
        ("components = 3\n", "has no serverapp and clientapp"),
        ('[tool.flwr.app.components]\nserverapp = "a:b"\n', "has no serverapp and clientapp"),
        (PARTS.replace("a:b", "a"), "has no serverapp and clientapp"),
        (PARTS.replace('"a:b"', "5"), "has no serverapp and clientapp"),
        ("config = 3\n" + PARTS, "config must be a table"),
        (PARTS + "[tool.flwr.app.config]\nrates = [1, 2]\n", r"rates = \[1, 2\]: Flower takes"),
    ],
)
def test_a_project_that_is_none_is_refused_by_its_file(tmp_path: Path, text, told):
    (tmp_path / "pyproject.toml").write_text("[tool.flwr.app]\n" + text, encoding="utf-8")
    assert apps.is_app(tmp_path)
    apps.add_folder(tmp_path)
    with pytest.raises(UnsuitableError, match=f"pyproject.toml: .*{told}"):
        apps.found_app(FlowerParams())


def test_a_run_imports_afresh_and_leaves_the_modules_of_before(tmp_path: Path):
    """A module of the same name from elsewhere is back afterwards."""
    apps.add_folder(app_in(tmp_path, "one"))
    other, path = type(sys)("one_code"), list(sys.path)
    sys.modules["one_code"] = other
    try:
        for _ in range(2):
            found = apps.ImportedApp(apps.found_app(FlowerParams()))
            assert (found.server, found.client) == ("S", "C")
            assert (tmp_path / "one_code" / "imported").exists()
            (tmp_path / "one_code" / "imported").unlink()
            found.close()
            assert sys.modules["one_code"] is other
            assert "one_code.parts" not in sys.modules
            assert sys.path == path
    finally:
        del sys.modules["one_code"]


def test_modules_named_like_installed_ones_leave_those_alone(tmp_path: Path):
    """Of Python and of libraries; the app's own module of another name is there."""
    import random

    import numpy as np

    folder = app_in(tmp_path, "one")
    for name in ("random.py", "numpy.py", "netsim.py"):
        (folder / name).write_text("raise RuntimeError\n", encoding="utf-8")
    apps.add_folder(folder)
    found = apps.ImportedApp(apps.found_app(FlowerParams()))
    assert (found.server, found.client) == ("S", "C")
    assert sys.modules["random"] is random
    assert sys.modules["numpy"] is np
    found.close()
    assert sys.modules["numpy"] is np


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import no_such_library\n", r"named 'no_such_library' \(parts.py:1\); .*pip install -e"),
        ("\n1 / 0\n", r"ZeroDivisionError: division by zero \(parts.py:2\)"),
        ("server = 1\n", r"AttributeError: module 'one_code.parts' has no attribute 'client'"),
        ("server = (\n", r"SyntaxError: '\(' was never closed"),
    ],
)
def test_an_app_that_can_not_be_imported_is_told_by_its_line(tmp_path: Path, text, told):
    folder, before = app_in(tmp_path, "one"), list(sys.path)
    (folder / "one_code" / "parts.py").write_text(text, encoding="utf-8")
    apps.add_folder(folder)
    with pytest.raises(ProtocolError, match=told):
        apps.ImportedApp(apps.found_app(FlowerParams()))
    assert sys.path == before
    assert not [name for name in sys.modules if name.startswith("one_code")]


def test_an_app_is_found_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    app_in(tmp_path / "place", "one")
    monkeypatch.chdir(tmp_path)
    apps.add_folder(Path("place"))
    monkeypatch.chdir("/")
    found = apps.ImportedApp(apps.found_app(FlowerParams()))
    assert found.server == "S"
    found.close()


def test_resume_tells_of_every_changed_file_of_an_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = app_in(tmp_path / "app", "one")
    remember(tmp_path / "run", [folder])
    (folder / "one_code" / "parts.py").write_text("", encoding="utf-8")
    folders, changes = recall(tmp_path / "run")
    assert folders == (folder.resolve(),)
    assert [change.partition(": ")[2] for change in changes] == [
        "has changed since the run was begun"
    ]


def scenario(**params):
    """A server and two clients that play an app."""
    return from_dict(
        {
            "horizon_s": 10.0,
            "nodes": {"count": 3, "groups": [{"name": "s", "count": 1, "role": "server"}]},
            "exchange": {"schedule": "periodic", "period_s": 10.0},
            "algorithm": {"kind": "flower", **params},
        }
    )


def test_without_flwr_it_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    from netsim.protocols.flower import processes

    def missing(name: str) -> str:
        raise processes.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(processes.metadata, "version", missing)
    built = world.build(scenario())
    with pytest.raises(UnsuitableError, match=r"pip install 'netsim-dfl\[flower\]'"):
        Simulation(built, built.scenario.algorithm[0], None, True, None)
    monkeypatch.setattr(processes.metadata, "version", lambda name: "1.41.0")
    with pytest.raises(UnsuitableError, match=r"flwr 1.41.0 is installed"):
        Simulation(built, built.scenario.algorithm[0], None, True, None)


def test_changes_are_undone_last_one_first():
    owner, changes = type("Owner", (), {"value": 1}), Changes()
    changes.set(owner, "value", 2)
    changes.set(owner, "value", 3)
    changes.close()
    assert owner.value == 1
