"""End of a command: errors and exit codes."""

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.text import Text

from netsim.errors import NetsimError, ScenarioError, one_line
from netsim.terminal.consoles import err, loading, out, waiting

__all__ = ["err", "loading", "out", "problems", "reported", "waiting"]

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
THE_RUN = "the run failed"

_OF_A_NAME = (errno.ENAMETOOLONG, errno.ELOOP, errno.EILSEQ)
"""Refusals of the system that are about a name, which is input, and about no file."""

_MOST_LINES, _LONGEST_LINE = 200, 2_000


@contextmanager
def reported(debug: bool = False, title: str = "failed") -> Iterator[None]:
    """Turn what goes wrong inside into a message and the exit code that the README promises.

    Parameters
    ----------
    debug : bool
        Show tracebacks.
    title : str
        What is said first of what is not the input's fault; `THE_RUN` where one is played.
    """
    try:
        yield
    except ScenarioError as error:
        problems(str(error).splitlines())
        _show_traceback(debug)
        raise typer.Exit(BAD_INPUT) from None
    except NetsimError as error:
        _say(title, _failure(error))
        _show_traceback(debug)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt as stop:
        _say("interrupted", "\n".join(getattr(stop, "__notes__", []) or ["nothing was written"]))
        raise typer.Exit(getattr(stop, "exit_code", INTERRUPTED)) from None
    except (typer.Exit, typer.Abort):
        raise
    except SystemExit as error:  # of a model, a loss or a component: not the command's own end
        _say(title, f"a file of your own called sys.exit({error.code!r})")
        _show_traceback(debug)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_A_NAME and error.filename:
            name = one_line(error.filename)
            shown = name if len(name) < 300 else f"{name[:100]}..."
            problems([f"{shown}: {error.strerror}; name another one"])
            _show_traceback(debug)
            raise typer.Exit(BAD_INPUT) from None
        _say(title, _failure(error))
        _show_traceback(debug)
        raise typer.Exit(FAILED) from None


def problems(lines: list[str]) -> None:
    """List errors on standard error, one a line, with what is wrong in colour."""
    console = err()
    for line in lines[:_MOST_LINES]:
        line = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "..."
        place, colon, what = line.rpartition(": ")
        text = Text(place + colon, style="") + Text(what, style="bold red")
        console.print(text)
    if len(lines) > 1:
        console.print(Text(f"{len(lines)} problems; nothing was written", style="dim"))


def _failure(error: Exception) -> str:
    from netsim.engine.playing import failure_text  # here: it brings torch, which --help need not

    return failure_text(error)


def _say(title: str, text: str) -> None:
    first, *rest = text.splitlines() or [""]
    console = err()
    console.print(Text(f"{title}: ", style="bold red") + Text(first))
    for line in rest:
        console.print(Text(line))


def _show_traceback(debug: bool) -> None:
    if debug:
        err().print(Text(traceback.format_exc(), style="dim"))
