"""docs/flower.md works as shown, and so do the scenarios of examples/flower."""

import heapq
import math
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from netsim.console.app import app
from netsim.recording import run_folder
from netsim.recording.reader import RunFolder
from netsim.recording.schema import RECORDED

pytest.importorskip("flwr")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "flower.md").read_text(encoding="utf-8")
APP = ROOT / "examples" / "flower" / "digits_app"


def blocks(language: str) -> list[tuple[str, str]]:
    return re.findall(
        rf'^```{language}(?: title="(.*?)")?\n(.*?)^```', PAGE, flags=re.MULTILINE | re.DOTALL
    )


@pytest.mark.slow
def test_the_commands_of_the_page_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, text in blocks("toml"):
        if name:  # others are parts
            (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = [line for _, text in blocks("sh") for line in text.splitlines()]
    played = [shlex.split(line)[1:] for line in commands if line.startswith("netsim ")]
    assert len(played) == 4
    for arguments in played:
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0, found.output
    ideal = run_folder.summary(tmp_path / "runs" / "ideal")["flower_evaluate_accuracy"]["mean"]
    patient, timeout = (
        run_folder.summary(tmp_path / "runs" / "slow" / name)["flower_evaluate_accuracy"]["mean"]
        for name in ("patient", "timeout")
    )
    assert patient == pytest.approx(ideal)
    assert timeout < patient


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ideal", "slow", "radio", "fedbuff"])
def test_scenarios_of_the_example_play(name: str, tmp_path: Path):
    path = ROOT / "examples" / "flower" / f"{name}.toml"
    arguments = ["run", str(path), "--components", str(APP), "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, [*arguments, "--set", "horizon_s=20", "--check"])
    assert found.exit_code == 0, found.output


SPEEDS = (0.31, 0.53, 0.71, 0.97, 1.0, 1.13, 1.37, 1.61, 1.93, 2.29)


def buffered(task, updates: int, size: int, step_s: float) -> list[tuple[float, float]]:
    """FedBuff by a loop of its own: (time, loss) of each version, on a network without delays."""
    torch.manual_seed(0)
    model, clients = task.make_model(), len(SPEEDS)
    test_data = task.load_test_data(clients)
    data = [task.load_data(k, clients)[0] for k in range(clients)]
    lasts = [math.ceil(len(d[1]) / 16) * 2 * step_s / s for d, s in zip(data, SPEEDS, strict=True)]
    queue: list[tuple[float, int, int]] = []
    begun, found, buffer, version = {}, [], [], 0

    def send(client: int, now_s: float, count: int) -> None:
        state = {k: v.clone() for k, v in model.state_dict().items()}
        begun[client] = version, state, count
        heapq.heappush(queue, (now_s + lasts[client], len(found) + len(buffer), client))

    for client in range(clients):
        send(client, 0.0, 1)
    while version < updates:
        now_s, _, client = heapq.heappop(queue)
        began, state, count = begun[client]
        trained = task.make_model()
        trained.load_state_dict(state)
        task.train(trained, data[client], 2, 16, 0.1, 0.0, seed=1000 * count + client)
        weight = (1 + version - began) ** -0.5
        ends = trained.state_dict()
        buffer.append({k: weight * (ends[k] - state[k]) for k in state})
        if len(buffer) == size:
            mean = {k: sum(one[k] for one in buffer) / size for k in state}
            model.load_state_dict({k: v + mean[k] for k, v in model.state_dict().items()})
            version, buffer = version + 1, []
            found.append((now_s, task.test(model, test_data)[0]))
        send(client, now_s, count + 1)
    return found


@pytest.mark.slow
def test_an_app_without_rounds_gives_the_numbers_of_a_loop(tmp_path: Path, monkeypatch):
    """FedBuff of the example, on an ideal network of ten clients of different speeds."""
    groups = "".join(
        f'[[nodes.groups]]\nname = "c{k}"\ncount = 1\nspeed = {speed}\n'
        for k, speed in enumerate(SPEEDS)
    )
    text = (ROOT / "examples" / "flower" / "_network.toml").read_text(encoding="utf-8")
    text = text.replace('[[nodes.groups]]\nname = "clients"\ncount = 10\n', groups)
    text = text.replace("flower_evaluate_accuracy", "flower_server_loss")
    text += 'app = "digits_app.fedbuff_server:app,digits_app.client_app:app"\n'
    text += "run_config = { updates = 10 }\n"
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    arguments = ["run", str(tmp_path / "s.toml"), "--components", str(APP)]
    found = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out"), "--no-report"])
    assert found.exit_code == 0, found.output
    rows = RunFolder.ended(tmp_path / "out").metrics
    own = rows["metric"].isin(["flower_server_loss"]) & rows["stage"].isin([RECORDED])
    monkeypatch.setattr(sys, "path", [str(APP), *sys.path])
    from digits_app import task

    wanted = buffered(task, 10, 4, 0.02)
    for name in [name for name in sys.modules if name.startswith("digits_app")]:
        del sys.modules[name]
    got = np.stack([rows["t_s"][own], rows["value"][own]], axis=1)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
