"""Components of one's own on the command line: of a folder, and of an installed package."""
# ruff: noqa: E501 - one case a line reads better than a tidy margin

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "components"

EVEN = '''"""A power gain that is uniform between two values."""
from typing import Literal

from netsim.channels.fading import Fading
from netsim.registry import FilePath, Fraction


class Even(Fading):
    """Of mean 1."""

    kind: Literal["even"] = "even"
    depth: Fraction = 0.5
    table: FilePath | None = None

    def power_gain(self, u):
        return 1.0 - self.depth + 2.0 * self.depth * u
'''
RUN = ("run", "s.toml", "--out", "out", "--quiet", "--no-figures")
ON_AIR = ("--set", "radio.fading.kind=even", "--set", 'algorithm.kind="dpsgd"')
OWN = ("--components", "mine")


@pytest.fixture
def mine(here):
    """A folder with a component."""
    (here / "mine").mkdir()
    (here / "mine" / "even.py").write_text(EVEN)
    return here / "mine"


@pytest.mark.thinned(6)
@pytest.mark.parametrize(
    ("file", "settings", "lines"),
    [
        ("fedper.py", ["algorithm.kind=fedper"], 44),
        ("gabriel.py", ["topology.kind=gabriel", "nodes.placement=disc"], 31),
        ("residual_mlp.py", ["model.kind=residual_mlp"], 41),
        ("weibull.py", ["radio.fading.kind=weibull"], 33),
        ("wine.py", ["data.kind=wine"], 47),
    ],
)
def test_an_example_runs_from_an_empty_folder(netsim, here, file, settings, lines):
    sets = [word for setting in ["algorithm.kind=dpsgd", *settings] for word in ("--set", setting)]
    result = netsim(*RUN, *sets, "--components", str(EXAMPLES), algorithms=False)
    assert result.exit_code == 0, result.output
    assert json.loads((here / "out/summary.json").read_text())["local_steps"] > 0
    assert len((EXAMPLES / file).read_text().splitlines()) == lines
    page = (ROOT / "docs" / "components.md").read_text()
    assert f"| `{file}` |" in page
    assert f" {lines} |" in next(x for x in page.splitlines() if x.startswith(f"| `{file}` |"))


@pytest.mark.slow
def test_all_examples_run_together(netsim, here):
    scenario = str(EXAMPLES / "own.toml")
    more = ("--set", "horizon_s=20", "--out", "out", "-q", "--no-figures")
    result = netsim("run", scenario, "--components", str(EXAMPLES), *more, algorithms=False)
    assert result.exit_code == 0, result.output
    assert {p.parent.name for p in here.glob("out/*/summary.json")} == {"fedper", "dpsgd"}
    own, all_of_it = (pd.read_parquet(here / "out" / n / "messages") for n in ("fedper", "dpsgd"))
    assert own.bits.max() < all_of_it.bits.max()  # the head stays


@pytest.mark.slow
def test_a_run_records_what_it_was_made_of_and_is_verified(netsim, here, mine):
    assert netsim(*RUN, *ON_AIR, *OWN, algorithms=False).exit_code == 0
    [file] = json.loads((here / "out/environment.json").read_text())["components"]
    assert Path(file["file"]) == mine / "even.py"
    assert len(file["sha256"]) == 64
    assert netsim("verify", "out", *OWN, algorithms=False).exit_code == 0
    unnamed = netsim("verify", "out", algorithms=False)
    assert unnamed.exit_code == 2
    assert f"need --components DIR (then: {mine})" in unnamed.output
    (mine / "even.py").write_text(EVEN + "\n# changed\n")
    changed = netsim("verify", "out", "--no-rerun", *OWN, algorithms=False)
    assert changed.exit_code == 1
    assert f"component {mine / 'even.py'}: changed" in changed.output


@pytest.mark.slow
def test_a_run_that_names_none_records_none(netsim, here, mine):
    alone = ("--set", "algorithm.kind=local")
    assert netsim(*RUN, *alone, *OWN, algorithms=False).exit_code == 0
    assert json.loads((here / "out/environment.json").read_text())["components"] == []


@pytest.mark.slow
def test_a_fork_plays_it_again(netsim, here, mine):
    assert netsim(*RUN, *ON_AIR, *OWN, algorithms=False).exit_code == 0
    change = ("--at", "2", "--set", "radio.fading.depth=0.1", "--out", "forked", "--no-figures")
    result = netsim("fork", "out", *change, *OWN, algorithms=False)
    assert result.exit_code == 0, result.output


@pytest.mark.slow
def test_an_interrupted_run_goes_on_without_being_told_where_its_components_are(netsim, here, mine):
    trouble = ("--set", "algorithm.kind=alone", "--set", "algorithm.trouble=interrupt")
    own = ("--components", "algorithms", *OWN)
    fading = ("--set", "radio.fading.kind=even")
    assert netsim(*RUN, *fading, *trouble, *own, algorithms=False).exit_code == 130
    command = json.loads((here / "out/journal/command.json").read_text())
    assert "components" not in command  # a folder names no code
    scenario = here / "out/scenario.toml"
    scenario.write_text(scenario.read_text().replace('trouble = "interrupt"', 'trouble = ""'))
    result = netsim("resume", "out", "-q", "--no-figures", algorithms=False)
    assert "no such" not in result.output
    assert 'fading] kind = "even"' not in result.output


@pytest.mark.slow
def test_workers_of_a_sweep_load_it(netsim, here, mine):
    over = ("--over", "radio.fading.kind=even,none", "--jobs", "2", "--out", "out", "-q")
    sets = ("--set", "radio.ttl_s=1", "--set", "algorithm.kind=dpsgd")
    result = netsim("sweep", "s.toml", *over, *sets, *OWN, algorithms=False)
    assert result.exit_code == 0, result.output
    assert len(list(here.glob("out/*/seed-0/dpsgd/summary.json"))) == 2
    said = json.loads((here / "out/sweep.json").read_text())
    assert list(said["components"]) == ["channels.fading/even"]
    (mine / "even.py").write_text(EVEN + "\n# changed\n")
    again = netsim("sweep", "s.toml", *over, *sets, *OWN, algorithms=False)
    assert again.exit_code == 2
    assert "the component file channels.fading/even has changed" in again.output


@pytest.mark.slow
def test_lists_and_schema_have_it(netsim, mine):
    listed = netsim("list", "fading", "--keys", *OWN, algorithms=False).output
    assert "even" in listed
    assert "A power gain that is uniform between two values." in listed
    assert "depth = 0.5" in listed
    assert "even" not in netsim("list", "fading", algorithms=False).output
    schema = json.loads(netsim("schema", *OWN, algorithms=False).output)
    assert schema["$defs"]["Even"]["properties"]["depth"]["default"] == 0.5


@pytest.mark.slow
def test_a_file_that_its_table_names_is_found_beside_the_scenario(netsim, here, mine):
    (here / "elsewhere").mkdir()
    (here / "elsewhere/t.csv").write_text("1\n")
    (here / "elsewhere/s.toml").write_text(
        (here / "s.toml").read_text().replace('"alone"', '"local"')
        + '[radio.fading]\nkind = "even"\ntable = "t.csv"\n'
    )
    arguments = ("run", "elsewhere/s.toml", "--out", "out", "-q", "--no-figures")
    assert netsim(*arguments, *OWN, algorithms=False).exit_code == 0
    assert f'table = "{here / "elsewhere/t.csv"}"' in (here / "out/scenario.toml").read_text()


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("rayleigh", EVEN.replace('"even"', '"rayleigh"'), 'netsim ships a component "rayleigh" of that family (netsim.channels.fading); rename the file and its kind'),
        ("odd", EVEN, 'class Even: write kind: Literal["odd"] = "odd": it is named as its file'),
        ("even", EVEN.replace("def power_gain", "def gain"), "class Even: has no power_gain, which netsim.channels.fading asks of each"),
        ("even", EVEN.replace("(Fading)", "(Component)").replace("netsim.channels.fading import Fading", "netsim.registry import Component"), "class Even: belongs to no family"),
        ("even", EVEN + "\n1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero (at "),
        ("empty", "x = 1\n", "is no algorithm, and no class in it has a kind"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_refused_with_the_remedy(netsim, here, written, name, text, says):
    (here / "mine").mkdir()
    (here / "mine" / f"{name}.py").write_text(text)
    before = written()
    result = netsim(*RUN, *OWN, algorithms=False)
    assert result.exit_code == 2
    assert f"mine/{name}.py: " in result.output
    assert says in result.output
    assert written() == before


def test_two_folders_with_one_name_are_refused(netsim, here, mine):
    (here / "more").mkdir()
    (here / "more/even.py").write_text(EVEN)
    result = netsim("list", "fading", *OWN, "--components", "more", algorithms=False)
    assert result.exit_code == 2
    assert f"more/even.py: {mine / 'even.py'} holds one of that name, too" in result.output


def test_an_unknown_kind_says_how_one_is_added(netsim):
    result = netsim("validate", "s.toml", "--set", "topology.kind=mesh")
    assert result.exit_code == 2
    assert "or of your own (--components DIR; netsim new begins one)" in result.output


@pytest.mark.slow
def test_an_algorithm_may_name_a_schedule_of_a_file_after_it(netsim, here):
    (here / "mine").mkdir()
    assert netsim("new", "schedule", "turns", "--dir", "mine", algorithms=False).exit_code == 0
    assert netsim("new", "algorithm", "mean", "--dir", "mine", algorithms=False).exit_code == 0
    path = here / "mine/mean.py"
    text = path.read_text().replace("knows_servers=False", 'schedules=("turns",)')
    path.write_text(text)
    sets = ("--set", "exchange.schedule=turns", "--set", "algorithm.kind=mean")
    result = netsim(*RUN, *sets, *OWN, algorithms=False)
    assert result.exit_code == 0, result.output


# -- an installed package ------------------------------------------------------------------------

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "my-lab"
version = "1.0"
[project.entry-points."netsim.components"]
my_lab = "my_lab.kinds"
[tool.hatch.build.targets.wheel]
packages = ["my_lab"]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with an installed package that has a component and an algorithm."""
    folder = tmp_path_factory.mktemp("lab")
    inside = folder / "my_lab" / "kinds"
    inside.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "my_lab" / "__init__.py").write_text("")
    (inside / "__init__.py").write_text("")
    (inside / "even.py").write_text(EVEN)
    (inside / "fedper.py").write_text((EXAMPLES / "fedper.py").read_text())
    target = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    options = ["--no-build-isolation", "--disable-pip-version-check", "--target", str(target)]
    subprocess.run([*pip, *options, str(folder)], check=True, capture_output=True)
    return target


@pytest.mark.slow
def test_an_installed_package_needs_no_option(site, here):
    def call(*arguments):
        path = os.pathsep.join([str(site), str(ROOT)])
        return subprocess.run(
            [sys.executable, "-P", "-m", "netsim", *arguments],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    sets = ("--set", "radio.fading.kind=even", "--set", "algorithm.kind=fedper")
    result = call(*RUN, *sets)
    assert result.returncode == 0, result.stderr
    environment = json.loads((here / "out/environment.json").read_text())
    for name, file in (("components", "even.py"), ("algorithm", "fedper.py")):
        assert environment[name][0]["file"] == str(site / "my_lab/kinds" / file)
    assert call("verify", "out").returncode == 0


@pytest.mark.slow
def test_installed_packages_are_listed_and_named_in_errors(site, netsim, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    assert "even" in netsim("list", "fading").output
    assert '"fedper"' in netsim("schema").output
    result = netsim("validate", "s.toml", "--set", "radio.fading.kind=evenn")
    assert 'did you mean "even"?' in result.output


@pytest.mark.slow
def test_a_folder_comes_before_an_installed_package(site, netsim, mine, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    (mine / "even.py").write_text(EVEN.replace("depth", "spread"))
    listed = netsim("list", "fading", "--keys", *OWN, algorithms=False).output
    assert "spread = 0.5" in listed
    assert "depth = 0.5" not in listed


@pytest.mark.slow
def test_entry_points_are_not_read_where_all_kinds_are_known(netsim, here, mine, monkeypatch):
    (here / "s.toml").write_text((here / "s.toml").read_text().replace('"alone"', '"local"'))
    read = importlib.metadata.entry_points

    def refuse(**which):
        if which.get("group") == "netsim.components":
            raise RuntimeError("entry points were read")
        return read(**which)

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    assert netsim(*RUN, *ON_AIR, *OWN, algorithms=False).exit_code == 0
    listed = netsim("list", "fading", algorithms=False)
    assert "entry points were read" in listed.output + str(listed.exception)


def test_an_installed_package_that_shadows_is_told_only_where_it_is_asked(
    netsim, tmp_path, monkeypatch
):
    site = tmp_path / "site"
    inside = site / "my_other_lab"
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text("")
    (inside / "rayleigh.py").write_text(EVEN.replace('"even"', '"rayleigh"'))
    info = site / "my_other_lab-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-other-lab\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[netsim.components]\nother = my_other_lab\n")
    monkeypatch.syspath_prepend(str(site))
    assert netsim("validate", "s.toml", "--no-world").exit_code == 0
    result = netsim("list", "fading")
    assert result.exit_code == 2
    assert "entry point other of netsim.components: rayleigh.py: netsim ships" in result.output


def test_a_key_of_no_sort_is_told_with_the_line_of_its_file(netsim, here):
    path = here / "own" / "unsorted.py"
    path.parent.mkdir()
    path.write_text(
        '"""A key of no sort."""\nfrom netsim.api import Params as Base\n\n\nclass Sort:\n    pass\n\n\n'
        "class Params(Base):\n    thing: Sort = None\n\n\ndef processes(node, params):\n    return []\n"
    )
    result = netsim("validate", "--no-world", "s.toml", "--components", "own")
    assert result.exit_code == 2
    assert re.search(r"unsorted\.py: cannot be imported: .*Sort", result.output)
    assert "unsorted.py:9 in <module>: class Params(Base):" in result.output
