"""Playing a ServerApp and a ClientApp that a program or a notebook has made."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

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
    _check_parts(server_app, client_app)
    given = {} if run_config is None else _checked_config(run_config)
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
        table["run_config"] = {**table.get("run_config", {}), **given}
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
    _check_parts(server_app, client_app)
    with apps.given_app(server_app, client_app):
        return playing.resume(folder, **keywords)


def _checked_config(run_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a run config, of Python's own types.

    Raises
    ------
    ScenarioError
        If one is of no type of Flower's; all of them are named.
    """
    if not isinstance(run_config, Mapping):
        raise ScenarioError(f'run_config: {run_config!r}: must be a mapping, as {{"timeout": 5.0}}')
    found = {k: v.item() if isinstance(v, np.generic) else v for k, v in run_config.items()}
    wrong = [
        f"run_config: {name!r} = {value!r}: the name must be a text, and the value true or false, "
        "a finite number or a text"
        for name, value in found.items()
        if not isinstance(name, str)
        or not isinstance(value, bool | int | float | str)
        or (isinstance(value, float) and not isfinite(value))
    ]
    if wrong:
        raise ScenarioError("\n".join(wrong))
    return found


def _check_parts(server_app: object, client_app: object) -> None:
    """Refuse what is no app, as two parts in the wrong order."""
    try:
        from flwr.clientapp import ClientApp
        from flwr.serverapp import ServerApp
    except ImportError:
        return  # the run names the package that is missing
    parts = ("server_app", server_app, ServerApp), ("client_app", client_app, ClientApp)
    for name, part, kind in parts:
        if not isinstance(part, kind):
            raise ScenarioError(
                f"{name}: {part!r} is no {kind.__name__} of Flower; write "
                "netsim.flower.run(server_app, client_app, scenario)"
            )
