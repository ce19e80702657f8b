"""Playing a ServerApp and a ClientApp that a program or a notebook has made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from netsim.protocols.flower import apps
from netsim.python_api import playing
from netsim.python_api.runs import Run
from netsim.python_api.scenario import Scenario, as_scenario

KIND = "flower"


def run(
    server_app: object,
    client_app: object,
    scenario: Scenario | str | Path,
    *,
    run_config: Mapping[str, bool | int | float | str] | None = None,
    **keywords: Any,
) -> Run:
    """Play a Flower app over a scenario's network.

    Parameters
    ----------
    server_app : flwr.serverapp.ServerApp
    client_app : flwr.clientapp.ClientApp
    scenario : Scenario, str or Path
        Its algorithms of kind `flower` play the app; where it has none, one does in place of all.
    run_config : mapping, optional
        Values of Flower's run config, beside those of the scenario's `run_config`.
    **keywords
        As of `netsim.run`: `out`, `progress`, `on_message` and so on.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError
        If the input is bad, or flwr is not installed; nothing was written.
    NetsimError
        If the run failed on its way, as where the ServerApp raised.

    Notes
    -----
    The objects are used as they are: what their modules keep goes on from one run to the next. An
    app in a folder (`--components`, `netsim.load(..., components=...)`) is imported afresh.

    Examples
    --------
    >>> played = netsim.flower.run(server_app, client_app, "radio.toml", out="runs/radio")
    >>> played.metrics
    """
    chosen = as_scenario(scenario, None)
    tables = [
        {"kind": entry.kind, "name": entry.name, **entry.params.model_dump(exclude_defaults=True)}
        for entry in chosen.tables.algorithm
        if entry.kind == KIND
    ] or [{"kind": KIND}]
    for table in tables:
        if table.pop("app", ""):
            raise ScenarioError(
                "[algorithm] app: the app is given as objects here; leave it out, or play the "
                "scenario by netsim.run"
            )
        table["run_config"] = {**table.get("run_config", {}), **(run_config or {})}
    with apps.given_app(server_app, client_app):
        return playing.run(chosen.replace(algorithm=tables), **keywords)


def resume(folder: str | Path, server_app: object, client_app: object, **keywords: Any) -> Run:
    """Go on with a run that `run` began and something ended before its time.

    Parameters
    ----------
    folder : str or Path
        Of the run.
    server_app, client_app : object
        The app that it was begun with.
    **keywords
        As of `netsim.resume`.

    Returns
    -------
    Run
    """
    with apps.given_app(server_app, client_app):
        return playing.resume(folder, **keywords)
