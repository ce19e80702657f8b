"""Sentences for a command line that netsim has not, which name the one that was meant."""

import importlib
import pkgutil
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from netsim.console import commands

RUN_COMMANDS = "explain, report, compare, plot, export, verify or resume"
"""Commands that take the folder of a run."""


@contextmanager
def options_named(known: Mapping[str, Any], command: str | None) -> Iterator[None]:
    """Add to the error of an option that is not there which of the `known` commands have it.

    `command`: the one that was called; None: none yet.
    """
    try:
        yield
    except Exception as error:
        option = getattr(error, "option_name", None)
        if option is None or not hasattr(error, "message"):
            raise
        having = [name for name, one in known.items() if any(option in p.opts for p in one.params)]
        if having and command is None:
            first = "run" if "run" in having else having[0]
            error.message += f": options stand after the command: netsim {first} ... {option}"
        elif having:
            has = "has" if len(having) == 1 else "have"
            error.message += f": netsim {', '.join(having)} {has} it"
        raise


def refusal(words: Sequence[str], known: Sequence[str]) -> str:
    """Refuse the first word, which is no command, and name the command line that was meant."""
    word, rest = words[0], list(words[1:])
    meant = _intended_command(word, rest, known)
    return f"There is no command {word!r}. " + (f"Did you mean: {meant}" if meant else _all(known))


def _all(known: Sequence[str]) -> str:
    return f"There are {', '.join(known)}; netsim --help says what they do"


def _intended_command(word: str, rest: list[str], known: Sequence[str]) -> str:
    """The command line that a wrong one means; empty: nobody knows."""
    if word == "help":
        return shlex.join(["netsim", *rest[:1], "--help"])
    for name in known:
        module = importlib.import_module(f"{commands.__name__}.{name}")
        if word.lower() in getattr(module, "ALSO_CALLED", ()):
            return shlex.join(["netsim", name, *rest])
    if word.lower() in known:
        return shlex.join(["netsim", word.lower(), *rest])
    swapped = next((name for name in rest if name in known), None)
    if swapped is not None:
        rest.remove(swapped)
        return shlex.join(["netsim", swapped, word, *rest])
    run = shlex.join([name for name in rest if not name.startswith("-")][:1]) or "RUN"
    for folder, command in (("views", "plot"), ("export/formats", "export")):
        name = word.replace("-", "_")
        if name in _files(folder):
            named = name if command == "plot" else word.replace("_", "-")
            return f"netsim {command} {run} --as {named}"
    if Path(word).is_dir():
        return f"netsim COMMAND {shlex.quote(word)}, with {RUN_COMMANDS} as COMMAND"
    if word.endswith(".toml") or word in _scenarios():
        return shlex.join(["netsim", "run", word, *rest])
    if near := get_close_matches(word.lower(), known, 1):
        return shlex.join(["netsim", near[0], *rest])
    from netsim.console.commands.list import group_of, is_listed

    if is_listed(word):
        return f"netsim list {word}"
    group = group_of(word)
    return "" if group is None else f"netsim list {group} --keys, which has {word}"


def _files(folder: str) -> list[str]:
    """The public modules of a folder of netsim, none of which is imported."""
    path = Path(__file__).resolve().parents[1] / folder
    return [found.name for found in pkgutil.iter_modules([str(path)]) if not found.ispkg]


def _scenarios() -> list[str]:
    from netsim.scenario import shipped

    return list(shipped.scenarios(shipped.scenarios_folder()))
