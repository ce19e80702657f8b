"""What a command says and how it ends: errors, exit codes, the consoles."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

from netsim.errors import NetsimError, ScenarioError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def out() -> Console:
    """Results: standard output."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """Progress and errors: standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def reported(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong inside into a message and the exit code that the README promises."""
    try:
        yield
    except ScenarioError as error:
        problems(str(error).splitlines())
        _show_traceback(debug)
        raise typer.Exit(BAD_INPUT) from None
    except NetsimError as error:
        _say_failed(error)
        _show_traceback(debug)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt as stop:
        _say("interrupted", "\n".join(getattr(stop, "__notes__", []) or ["nothing was written"]))
        raise typer.Exit(getattr(stop, "exit_code", INTERRUPTED)) from None
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except Exception as error:
        _say_failed(error)
        _show_traceback(debug)
        raise typer.Exit(FAILED) from None


def problems(lines: list[str]) -> None:
    """List errors on standard error, one a line, with what is wrong in colour."""
    console = err()
    for line in lines:
        place, colon, what = line.rpartition(": ")
        text = Text(place + colon, style="") + Text(what, style="bold red")
        console.print(text)
    if len(lines) > 1:
        console.print(Text(f"{len(lines)} problems; nothing was written", style="dim"))


def _say_failed(error: Exception) -> None:
    from netsim.engine.failures import failure_text  # here: it brings torch, which --help need not

    _say("the run failed", failure_text(error))


def _say(title: str, text: str) -> None:
    first, *rest = text.splitlines() or [""]
    console = err()
    console.print(Text(f"{title}: ", style="bold red") + Text(first))
    for line in rest:
        console.print(Text(line))


def _show_traceback(debug: bool) -> None:
    if debug:
        err().print(Text(traceback.format_exc(), style="dim"))
