"""Flower apps that a run may import: those that the user gave, by folder or as objects.

A scenario names an app and never where it lies: no code is imported because a file names it.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
import tomllib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from netsim.errors import ProtocolError, UnsuitableError, one_line
from netsim.protocols.flower.params import FlowerParams, Value
from netsim.protocols.source_imports import SourceFinder
from netsim.registry import did_you_mean

PROJECT = "pyproject.toml"

_folders: dict[str, Path] = {}
"""Folders that the user gave, by their path."""

_given: ContextVar[tuple[Any, Any] | None] = ContextVar("given", default=None)
"""A ServerApp and a ClientApp that the user gave as objects."""


def is_app(folder: Path) -> bool:
    """Return whether a folder holds a Flower app: its pyproject.toml has [tool.flwr.app]."""
    try:
        return _table(folder) is not None
    except UnsuitableError:
        return False  # a file that can't be read says nothing of Flower


def add_folder(folder: Path) -> None:
    """Let scenarios name the app in a folder, in this process from now on."""
    path = folder.resolve()
    _folders[str(path)] = path


@contextmanager
def given_app(server_app: object, client_app: object) -> Iterator[None]:
    """Let `app = ""` be these two objects, in this thread, until it is left."""
    token = _given.set((server_app, client_app))
    try:
        yield
    finally:
        _given.reset(token)


@dataclass(frozen=True)
class FlowerApp:
    """An app that has been found, and not imported.

    Attributes
    ----------
    folder : Path or None
        Where its modules lie; None: it is given as objects.
    parts : (object, object)
        Its ServerApp and its ClientApp, or of each `module:name`.
    config : mapping
        Its run config, with the scenario's values in place.
    """

    folder: Path | None
    parts: tuple[Any, Any]
    config: Mapping[str, Value]


def found_app(params: FlowerParams) -> FlowerApp:
    """Find the app that a scenario names.

    Raises
    ------
    UnsuitableError
        If there is none of that name, or its project or run config is wrong.
    """
    objects = _given.get()
    if objects is not None and not params.app:
        return FlowerApp(None, objects, dict(params.run_config))
    parts: tuple[Any, Any] | None = None
    if ":" in params.app:
        names = [name.strip() for name in params.app.split(",")]
        if len(names) != 2 or any(name.count(":") != 1 for name in names):
            raise _app_error(params, 'must be "module:server_app,module:client_app"')
        parts = names[0], names[1]
        folder = _single_folder(params, [f for f in _folders.values() if _holds(f, names)])
    else:
        folder = _single_folder(
            params,
            [
                f
                for f in _folders.values()
                if not params.app or params.app in (f.name, _project_name(f), str(f))
            ],
        )
    table = _table(folder) or {}
    components = table.get("components", {})
    if parts is None:
        named = components if isinstance(components, dict) else {}
        parts = named.get("serverapp"), named.get("clientapp")
        if not all(isinstance(part, str) and part.count(":") == 1 for part in parts):
            raise UnsuitableError(
                f"{folder / PROJECT}: [tool.flwr.app.components] has no serverapp and clientapp of "
                'the form "module:object"'
            )
    config = table.get("config", {})
    if not isinstance(config, dict):
        raise UnsuitableError(f"{folder / PROJECT}: [tool.flwr.app] config must be a table")
    return FlowerApp(folder, parts, _config(params, _flatten_config(config), folder))


def _single_folder(params: FlowerParams, folders: Sequence[Path]) -> Path:
    if len(folders) == 1:
        return folders[0]
    known = ", ".join(sorted(_project_name(folder) for folder in _folders.values()))
    if folders:
        raise _app_error(params, f"several apps are meant; name one of {known}")
    if known:
        raise _app_error(params, f"there is no such Flower app; those given are {known}")
    raise _app_error(
        params,
        "no Flower app is given; name the folder in which its pyproject.toml lies by "
        "--components FOLDER, for no scenario names code to import",
    )


def _app_error(params: FlowerParams, why: str) -> UnsuitableError:
    return UnsuitableError(f'[algorithm] app = "{params.app}": {why}')


def _holds(folder: Path, names: Sequence[str]) -> bool:
    """Return whether the modules of two `module:name` lie in a folder."""
    tops = {name.partition(":")[0].partition(".")[0] for name in names}
    return all((folder / f"{top}.py").is_file() or (folder / top).is_dir() for top in tops)


def _project_name(folder: Path) -> str:
    """The name of the project in a folder; the folder's own where it has none."""
    project = _project(folder).get("project", {})
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) else folder.name


def _project(folder: Path) -> dict[str, Any]:
    path = folder / PROJECT
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnsuitableError(f"{path}: {error}") from None


def _table(folder: Path) -> dict[str, Any] | None:
    """`[tool.flwr.app]` of the project in a folder, or None."""
    found: Any = _project(folder)
    for key in ("tool", "flwr", "app"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def _flatten_config(table: Mapping[str, Any], before: str = "") -> dict[str, Value]:
    """A run config as Flower has it: the keys of its tables joined by dots."""
    flat: dict[str, Value] = {}
    for key, value in table.items():
        inner = _flatten_config(value, f"{before}{key}.") if isinstance(value, dict) else None
        flat |= {f"{before}{key}": value} if inner is None else inner
    return flat


def _config(params: FlowerParams, own: Mapping[str, Value], folder: Path) -> dict[str, Value]:
    for key, value in own.items():
        if not isinstance(value, bool | int | float | str):
            raise UnsuitableError(
                f"{folder / PROJECT}: [tool.flwr.app.config] {key} = {value!r}: Flower takes "
                "numbers, texts, true and false"
            )
    for key in params.run_config:
        if key not in own:
            raise UnsuitableError(
                f"[algorithm] run_config: {key}: is no key of [tool.flwr.app.config] in "
                f"{folder / PROJECT}{did_you_mean(key, own)}"
            )
    return {**own, **params.run_config}


def count_of(params: FlowerParams, app: FlowerApp, key: str, least: int = 1) -> int | None:
    """The value of a key such as `batch_size`, which may name one of the run config.

    Parameters
    ----------
    params : FlowerParams
    app : FlowerApp
    key : str
    least : int

    Returns
    -------
    int or None
        None: the key is not set.

    Raises
    ------
    UnsuitableError
        If that is no whole number, or less.
    """
    value = getattr(params, key)
    if value is None or isinstance(value, int):
        return value
    found = app.config.get(value)
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        there = ", ".join(sorted(app.config)) or "none"
        known = f"is {found!r}" if value in app.config else f"is not there (those are: {there})"
        raise UnsuitableError(
            f'[algorithm] {key} = "{value}": that value of the run config {known}; it must be a '
            f"whole number, {least} or more; or give the number itself here"
        )
    return found


def _is_installed(top: str) -> bool:
    """Return whether a module that is loaded is one of Python, of the simulator or installed."""
    if top in sys.stdlib_module_names or top == "netsim":
        return True
    loaded = getattr(sys.modules.get(top), "__file__", None)
    return isinstance(loaded, str) and any(
        Path(loaded).is_relative_to(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")
    )


def _why_not_imported(folder: Path, error: Exception) -> str:
    """Say at which line of its own an app's modules failed, and what may help."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    remedy = ""
    if isinstance(error, ModuleNotFoundError):
        remedy = f"; what the app needs is in its {PROJECT}: pip install -e {folder}"
    return (
        f"the Flower app in {folder} can't be imported: {type(error).__name__}: "
        f"{one_line(error)}{where}{remedy}"
    )


class ImportedApp:
    """The objects of an app, imported afresh for one run.

    Parameters
    ----------
    app : FlowerApp

    Attributes
    ----------
    server, client : object
        Its ServerApp and its ClientApp.
    """

    def __init__(self, app: FlowerApp) -> None:
        self._folder, self._before = app.folder, dict[str, ModuleType]()
        self._finder = SourceFinder(self._is_own, [str(self._folder)])
        self.server, self.client = app.parts
        if self._folder is None:
            return
        self._tops = {
            entry.stem
            for entry in self._folder.iterdir()
            if (entry.suffix == ".py" or (entry.is_dir() and any(entry.glob("*.py"))))
            and not _is_installed(entry.stem)
        }
        importlib.invalidate_caches()
        self._before = self._taken_out()
        sys.path.insert(0, str(self._folder))
        sys.meta_path.insert(0, self._finder)
        try:
            self.server, self.client = (self._object(name) for name in app.parts)
        except Exception as error:
            self.close()
            raise ProtocolError(_why_not_imported(self._folder, error)) from error
        except BaseException:
            self.close()
            raise

    def _object(self, name: str) -> Any:
        module, _, attribute = str(name).partition(":")
        return getattr(importlib.import_module(module), attribute)

    def _taken_out(self) -> dict[str, ModuleType]:
        """Take the modules whose names the folder has out of those that are loaded.

        Installed ones and those of Python stay: as where Flower runs an app, a file `random.py`
        beside it is not what others import by that name.
        """
        names = [name for name in sys.modules if self._is_own(name)]
        return {name: sys.modules.pop(name) for name in names}

    def _is_own(self, name: str) -> bool:
        return name.partition(".")[0] in self._tops

    def close(self) -> None:
        """Let the process have the modules that it had before."""
        if self._folder is None:
            return
        self._taken_out()
        sys.modules.update(self._before)
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        if str(self._folder) in sys.path:
            sys.path.remove(str(self._folder))
