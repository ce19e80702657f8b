"""Metadata, citation, paper, workflows and issue forms of a release agree, and are whole."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def tool(name: str) -> Any:
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CITATION = yaml.safe_load(text("CITATION.cff"))
_, HEAD, BODY = text("paper.md").split("---\n", 2)
PAPER = yaml.safe_load(HEAD)


def test_one_version_everywhere():
    version = PROJECT["version"]
    assert CITATION["version"] == version
    assert f"{{{version}}}" in text("docs/cite.md")
    assert re.findall(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[0] == version


def test_a_version_is_released_in_all_files_on_one_day_or_in_none():
    version = re.escape(PROJECT["version"])
    days = set(re.findall(rf"^## {version} \((.*?)\)", text("CHANGELOG.md"), re.MULTILINE))
    assert days == {str(CITATION.get("date-released", "unreleased"))}


def test_authors_title_licence_and_keywords_are_the_same():
    names = [author["name"] for author in CITATION["authors"]]
    assert [author["name"] for author in PROJECT["authors"]] == names
    assert [author["name"] for author in PAPER["authors"]] == names
    assert all(f"{{{{{name}}}}}" in text("docs/cite.md") for name in names)
    assert PAPER["title"] == CITATION["title"]
    assert CITATION["license"] == PROJECT["license"]
    keywords = set(CITATION["keywords"])
    assert keywords <= set(PROJECT["keywords"])
    assert keywords <= set(PAPER["tags"])


def test_the_paper_has_the_parts_that_journals_ask_for():
    assert PAPER["bibliography"] == "paper.bib"
    known = {place["index"] for place in PAPER["affiliations"]}
    assert {author["affiliation"] for author in PAPER["authors"]} <= known
    headings = re.findall(r"^# (.*)$", BODY, re.MULTILINE)
    asked = ["Summary", "Statement of need", "State of the field", "Software design"]
    assert headings[:4] == asked
    assert headings[-1] == "References"
    assert 750 <= len(BODY.split()) <= 1750


def test_the_paper_cites_all_that_its_bibliography_has_and_nothing_else():
    entries = re.findall(r"^@\w+\{(\w+),", text("paper.bib"), re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", BODY)) == set(entries)


def test_classifiers_name_the_pythons_that_are_tested():
    prefix = "Programming Language :: Python :: 3."
    named = sorted(int(c[len(prefix) :]) for c in PROJECT["classifiers"] if c.startswith(prefix))
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    tried = RELEASE["jobs"]["quickstart"]["strategy"]["matrix"]["include"]
    assert {f"3.{minor}" for minor in named} == {entry["python"] for entry in tried}


def metadata(**variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"],
        cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
def test_links_of_the_description_lead_somewhere_on_a_package_index():
    relative = re.compile(r"\]\((?!https?:)")
    at = "https://forge.example/them/it"
    shown = metadata(NETSIM_REPOSITORY=at)
    assert not relative.search(shown)
    assert f"({at}/blob/v{PROJECT['version']}/docs/start.md)" in shown
    assert f"]({at}/raw/v{PROJECT['version']}/docs/quickstart.svg)" in shown
    assert '"Issues"' in shown
    assert relative.search(metadata(NETSIM_REPOSITORY=""))


def test_a_wheel_is_compiled_for_the_system_that_its_tag_promises():
    targets = tool("wheels").TARGETS
    for tag, target in targets.items():
        system, machine = re.fullmatch(r"([a-z0-9_]*?)_(x86_64|aarch64|arm64|amd64)", tag).groups()
        zigs = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)
        libc, _, version = target.partition("-")[2].partition(".")
        assert target.startswith(f"{zigs}-")
        if system.startswith("manylinux_"):
            assert (libc, version) == ("linux-gnu", system[10:].replace("_", "."))
        elif system.startswith("musllinux_"):
            assert libc == "linux-musl"
        elif system.startswith("macosx_"):
            assert (libc, version) == ("macos", system[7:].replace("_", "."))
        else:
            assert (system, libc) == ("win", "windows-gnu")
    assert len({tag.rpartition("_")[0] for tag in targets}) >= 4


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_whole(path: Path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert {"runs-on", "timeout-minutes", "steps"} <= set(job)
        assert set(needed(job)) <= set(workflow["jobs"])
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
            for file in re.findall(r"(?:tools|\.ci)/\w+(?:\.py)?", step.get("run", "")):
                assert (ROOT / file).is_file()


def test_an_action_is_pinned_to_one_commit_whose_version_is_said():
    """A tag of an action can be moved; a commit can't."""
    of: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for line in re.findall(r"uses:\s*(.*)", path.read_text(encoding="utf-8")):
            action, pin = re.fullmatch(r"(\S+)@(\S+ # v\d+\.\d+\.\d+)", line).groups()
            of.setdefault(action, set()).add(pin)
    assert all(len(pins) == 1 for pins in of.values()), of


def needed(job: dict[str, Any]) -> list[str]:
    """Jobs that come before a job."""
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else needs


def test_nothing_is_published_before_it_is_tried_or_without_a_tag():
    jobs = RELEASE["jobs"]
    tried = {name for name, job in jobs.items() if "tools/smoke.py" in str(job)}
    assert tried == set(needed(jobs["publish"]))
    writing = {name for name, job in jobs.items() if "permissions" in job}
    assert writing == {"publish", "site-online"}
    assert "publish" in needed(jobs["site-online"])
    for name in writing:
        assert jobs[name]["if"] == "github.ref_type == 'tag'"
        assert jobs[name]["permissions"]["id-token"] == "write"
        assert "environment" in jobs[name]
    assert not re.search("password|token:|secrets", str(jobs["publish"]["steps"]))


def test_a_tag_is_held_against_what_the_files_say(tmp_path: Path):
    """The step of release.yml, played on this checkout as it is, and as of a day."""
    (step,) = [s for s in RELEASE["jobs"]["build"]["steps"] if s.get("if")]
    for name in ("CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).write_text(text(name), encoding="utf-8")
    (tmp_path / "hatchling").write_text(f"#!/bin/sh\necho {PROJECT['version']}\n")
    (tmp_path / "hatchling").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    def passes(tag: str) -> bool:
        variables = {**os.environ, "GITHUB_REF_NAME": tag, "PATH": path}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(command, cwd=tmp_path, env=variables, check=False).returncode == 0

    tag = f"v{PROJECT['version']}"
    assert passes(tag) == ("date-released" in CITATION)
    changes = text("CHANGELOG.md").replace("(unreleased)", "(2027-01-02)")
    (tmp_path / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    assert passes(tag) == ("date-released" in CITATION)
    if "date-released" not in CITATION:
        with (tmp_path / "CITATION.cff").open("a") as file:
            file.write("date-released: 2027-01-02\n")
    assert passes(tag)
    assert not passes("v9.9.9")


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_one_that_the_forge_takes(path: Path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert set(form) <= {"blank_issues_enabled", "contact_links"}
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 1
    for field in form["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert set(field) <= {"type", "id", "attributes", "validations"}
        assert field["attributes"]["label"]
        assert ("options" in field["attributes"]) == (field["type"] in ("dropdown", "checkboxes"))
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_there_is_a_form_for_a_wrong_result_a_crash_and_an_idea():
    assert {"wrong_result", "crash", "idea", "config"} == {path.stem for path in FORMS}
    for name in ("wrong_result", "crash"):
        assert "environment.json" in text(f".github/ISSUE_TEMPLATE/{name}.yml")
