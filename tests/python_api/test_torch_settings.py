"""A run does not depend on what a notebook has set or sets meanwhile, and leaves it as it was."""

import os
from contextlib import contextmanager, nullcontext

import pytest
import torch

import netsim
from netsim.backends.native.library import why_missing

SMALL = {
    "name": "small",
    "horizon_s": 4.0,
    "nodes": {"count": 2},
    "exchange": {"schedule": "rounds", "interval_s": 1.0},
    "data": "digits",
    "model": {"kind": "mlp", "hidden": [4]},
    "algorithm": {"kind": "pfedgraph"},  # it has a loss of its own, which the kernel records
    "run": {"backend": "native" if why_missing() is None else "auto"},
}


@contextmanager
def in_float64():
    torch.set_default_dtype(torch.float64)
    try:
        yield
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def in_short_products():
    torch.set_float32_matmul_precision("medium")
    values = torch.linspace(0, 1, 64).reshape(8, 8)
    before = values @ values
    try:
        yield
        assert torch.equal(values @ values, before)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")


SETTINGS = {
    "short_products": in_short_products,
    "none": nullcontext,
    "float64": in_float64,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "meta": lambda: torch.device("meta"),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return played(tmp_path_factory.mktemp("plain") / "run")


def modes():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()


def played(out):
    run = netsim.run(netsim.Scenario(**SMALL), out=out)
    return run.summaries["pfedgraph"]["parameters_sha256"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("setting", SETTINGS)
def test_numbers_are_those_of_a_new_process(plain, tmp_path, setting):
    with SETTINGS[setting]():
        before = modes()
        assert played(tmp_path / "run") == plain
        assert modes() == before


def test_a_run_stays_where_it_began_though_the_working_folder_changes(plain, tmp_path, monkeypatch):
    """As another cell or thread of the process may change it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    tiny = netsim.Scenario(**SMALL, metrics={"every_s": 1.0})
    run = netsim.run(tiny, out="run", on_evaluation=lambda _: os.chdir(tmp_path / "elsewhere"))
    assert run.summaries["pfedgraph"]["parameters_sha256"] == plain
    assert not list((tmp_path / "elsewhere").iterdir())
    assert not list((tmp_path / "run").glob(".*"))
    assert len(run.metrics)
