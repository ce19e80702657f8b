"""Stand-ins for what only playing needs, so that reading scenarios does not wait for PyTorch.

Commands that play nothing need, of the files of algorithms and components, the classes that the
tables of a scenario become. These files import libraries that take seconds to load, which no table
asks anything. `in_their_place` puts stand-ins there: modules whose attributes can be named in
annotations, decorate what a module defines and be bases of its classes, and nothing else. Whatever
a function would do with one raises `StandInUsedError`, and the command begins again with the
libraries themselves; so does it where anything at all is wrong. What is found with stand-ins is
therefore always what is found without.
"""

import inspect
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

LIBRARIES = (
    *("PIL", "matplotlib", "networkx", "numpy", "optuna", "pandas", "pyarrow", "ray", "scipy"),
    *("simpy", "sklearn", "torch", "torchvision"),
)
PLAYING = ("netsim.backends", "netsim.learning", "netsim.messaging", "netsim.node")
"""Folders whose modules play; the packages themselves are not replaced."""

TABLES = ("netsim.backends.route", "netsim.learning.tasks")
"""Modules of these folders that have tables of scenarios."""

WITHOUT = "NETSIM_WITHOUT_STAND_INS"
"""Environment variable of a command that has begun again."""

_own_process = False


class StandInUsedError(BaseException):
    """Error of a read that needs the real library; no `except Exception` of a reader catches it."""


def this_process_is_the_commands() -> None:
    """Say that the process ends with the command: only then can stand-ins be in it."""
    global _own_process
    _own_process = True


def in_their_place() -> bool:
    """Let what is imported from now on get stand-ins; False where that can't be."""
    there = any(name in sys.modules for name in LIBRARIES)
    if not _own_process or there or os.environ.get(WITHOUT):
        return False
    sys.meta_path.insert(0, _Finder())
    return True


def begin_again() -> NoReturn:
    """Run the same command once more, with the libraries themselves."""
    os.environ[WITHOUT] = "1"
    command = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "posix":
        os.execv(sys.executable, command)
    raise SystemExit(subprocess.call(command))


class _Base:
    """Stand-in for a class that another one is derived from."""

    def __new__(cls, *_: object, **__: object) -> Any:
        raise StandInUsedError(cls.__name__)


class _StandIn:
    """Stand-in for anything that a module holds."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self._name}.{name}")

    def __call__(self, *_: object, **__: object) -> Any:
        """Act as a decorator in a module or class body; no function may call it."""
        caller = sys._getframe(1)
        if caller.f_code.co_flags & inspect.CO_OPTIMIZED:
            raise StandInUsedError(self._name)
        return _StandIn(f"{self._name}()")

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (_Base,)

    def __getitem__(self, key: object) -> Any:
        return self

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__
    __hash__ = object.__hash__

    def _used(self, *_: object) -> NoReturn:
        raise StandInUsedError(self._name)

    __bool__ = __contains__ = __float__ = __index__ = __instancecheck__ = __int__ = _used
    __iter__ = __le__ = __len__ = __lt__ = __ge__ = __gt__ = __repr__ = __subclasscheck__ = _used

    def __eq__(self, other: object) -> bool:
        if self is other or sys._getframe(1).f_globals["__name__"] == "typing":
            return self is other
        raise StandInUsedError(self._name)


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _StandIn(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    """Finder of stand-ins for the libraries and for what plays."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = fullname.partition(".")[0] in LIBRARIES
        plays = fullname.startswith(tuple(f"{folder}." for folder in PLAYING))
        in_tables = any(fullname == table or fullname.startswith(f"{table}.") for table in TABLES)
        if not library and (not plays or in_tables):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is empty."""
