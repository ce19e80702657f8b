"""A small table of its own, with tables, numbers and pages in a temporary folder."""

import pytest

from .little import SCENARIO, TABLE, command, numbers, table_files


@pytest.fixture
def little(tmp_path, monkeypatch):
    """Tables, numbers and pages in a folder of their own; calls the command with arguments."""
    folder = tmp_path / "results"
    (folder / "tables").mkdir(parents=True)
    scenario = tmp_path / "little.toml"
    scenario.write_text(SCENARIO)
    (folder / "tables" / "little.toml").write_text(TABLE.format(scenario=scenario))
    load = table_files.load
    monkeypatch.setattr(table_files, "names", lambda: ["little"])
    monkeypatch.setattr(table_files, "load", lambda name: load(name, folder / "tables"))
    monkeypatch.setattr(numbers, "NUMBERS", folder / "numbers")
    monkeypatch.setattr(command, "RESULTS", folder)
    (tmp_path / "runs").mkdir()

    def call(*arguments):
        code = command.main([*arguments, "--runs", str(tmp_path / "runs")])
        page = folder / "little.md"
        return code, page.read_text() if page.is_file() else ""

    return call
