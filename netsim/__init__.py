"""netsim: a discrete-event network simulator in which nodes learn.

From Python: `netsim.load` and `netsim.Scenario` make scenarios, `netsim.run` and `netsim.sweep`
play them, `netsim.resume` goes on with what was interrupted, `netsim.open` opens what has been
played. Own tables and figures take `netsim.MEASURES`, `netsim.spread`, `netsim.paired` and
`netsim.figures`. `docs/python.md` shows them at work.
"""

from importlib import import_module
from typing import Any

_PYTHON_API = "netsim.python_api."
_HOMES = {
    "MEASURES": "netsim.recording.summary_fields",
    "Comparison": "netsim.views.gathering.frames",
    "EvaluationEvent": "netsim.recording.observers",
    "FolderBusyError": "netsim.errors",
    "MessageEvent": "netsim.recording.observers",
    "NetsimError": "netsim.errors",
    "Run": _PYTHON_API + "runs",
    "RunWarning": "netsim.errors",
    "Scenario": _PYTHON_API + "scenario",
    "ScenarioError": "netsim.errors",
    "Spread": "netsim.views.gathering.comparison",
    "Sweep": _PYTHON_API + "runs",
    "WakeupEvent": "netsim.recording.observers",
    "load": _PYTHON_API + "scenario",
    "model_costs": _PYTHON_API + "costs",
    "open": _PYTHON_API + "runs",
    "paired": "netsim.views.gathering.comparison",
    "resume": _PYTHON_API + "playing",
    "run": _PYTHON_API + "playing",
    "scenarios": _PYTHON_API + "scenario",
    "spread": "netsim.views.gathering.comparison",
    "sweep": _PYTHON_API + "playing",
}
"""Module of each public name; `import netsim` alone imports none of it."""

_ELSEWHERE = {"open": "open_folder"}
"""Names in their modules, where they differ."""

_MODULES = {
    **{name: f"netsim.{name}" for name in ("api", "engine", "errors", "gym", "scenario", "world")},
    "figures": _PYTHON_API + "figures",
}
"""Modules that are there without an import of their own."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), _ELSEWHERE.get(name, name))
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
