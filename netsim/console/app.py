"""The command `netsim`: its commands are the files of `netsim/console/commands`."""

import importlib
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from netsim import standard_streams
from netsim.console import commands, near_misses, stand_ins, terminal
from netsim.console.options import Debug
from netsim.engine.interruption import raised_at_once
from netsim.errors import ScenarioError, one_line

_EMPTY = re.compile("(--[a-z-]+=)?")
"""An argument that says nothing."""


def _without_flags_type(params: Sequence[Any]) -> list[Any]:
    """Parameters whose flags, which take no value, name no type of one in `--help`."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return list(params)


class _Command(TyperCommand):
    """A command that says which other one has an option that it has not.

    An empty argument is refused: as a folder it would be the working folder, and nearly always a
    variable of the shell is not set.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flags_type(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        empty = next((k for k, arg in enumerate(args) if _EMPTY.fullmatch(arg)), None)
        if empty is not None:
            said = args[empty] or " ".join([*args[max(0, empty - 1) : empty], '""'])
            ctx.fail(
                f"{one_line(said)}: is empty, as a variable of the shell that is not set; leave it "
                "out, or write . for the working folder"
            )
        others = {} if ctx.parent is None else dict(ctx.parent.command.commands)
        with near_misses.options_named(others, ctx.info_name):
            return super().parse_args(ctx, args)


class _Group(TyperGroup):
    """All commands; where there is none of a name, the one that was meant is told."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_flags_type(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with near_misses.options_named(self.commands, None):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            ctx.fail(near_misses.refusal(args, sorted(self.commands)))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Group,
    help="A discrete-event network simulator in which nodes learn.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _reporting(module: Any) -> Callable[..., None]:
    """The command of a module with one option more, whose errors become messages and exit codes.

    The module's `FAILURE` stands before what is not the input's fault.
    """
    found = inspect.signature(module.command, eval_str=True)
    last = inspect.Parameter(
        "debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug
    )

    def command(debug: bool, **given: Any) -> None:
        with terminal.reported(debug, getattr(module, "FAILURE", "failed")), raised_at_once():
            module.command(**given)

    taken = found.replace(parameters=[*found.parameters.values(), last])
    command.__signature__ = taken  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in taken.parameters.items()}
    command.__doc__ = module.command.__doc__
    return command


for _found in pkgutil.iter_modules(commands.__path__):
    _module = importlib.import_module(f"{commands.__name__}.{_found.name}")
    app.command(_found.name, cls=_Command)(_reporting(_module))


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("netsim-dfl")
        except PackageNotFoundError:
            number = "(not installed)"
        terminal.out().print(f"netsim {number}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _require_utf8() -> None:
    """Raise ScenarioError for names that neither a scenario nor a table of a run can state."""
    names = sys.argv[1:]
    with suppress(OSError):  # the working folder has been removed
        names.append(os.getcwd())
    wrong = [one_line(name) for name in names if any("\ud800" <= s <= "\udfff" for s in name)]
    if wrong:
        raise ScenarioError("\n".join(f"{name}: is not UTF-8; rename it" for name in wrong))


def main() -> None:
    """Run the command line and exit."""
    standard_streams.never_fail()
    stand_ins.this_process_is_the_commands()
    try:
        with terminal.reported():
            _require_utf8()
        app()
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
    finally:
        standard_streams.tell_what_was_lost()
