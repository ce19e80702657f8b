"""Libraries that only some installations have, as `pip install 'netsim-dfl[EXTRA]'` brings them."""

import importlib
from types import ModuleType

from netsim.errors import ScenarioError


def imported(library: str, need: str) -> ModuleType:
    """Import a library whose extra bears its name.

    `need`: what needs it, for the error.

    Raises
    ------
    ScenarioError
        If it is not installed.
    """
    try:
        return importlib.import_module(library)
    except ImportError:
        raise ScenarioError(
            f"{need} needs {library.capitalize()}, which is not installed: "
            f"pip install 'netsim-dfl[{library}]'"
        ) from None
