"""The command line of `netsim plot`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from netsim.console import terminal
from netsim.console.options import Debug

HELP = """Draw a figure for a paper, of runs or of a sweep, with its numbers beside it as CSV.

accuracy: the main metric over virtual time; bytes: over what was transmitted and over airtime;
graph: who weighs whom; cdf: distributions over nodes and messages; fates: what became of messages;
time_use: what nodes were at; age_by_pair, deliveries, weights: by pair of nodes; map; delays;
weights_by_shared_classes; sweep: over the swept key.
"""


def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of runs, or of a sweep, or of a point of one."
        ),
    ],
    view: Annotated[
        str | None, typer.Option("--as", metavar="VIEW", help="What is drawn \\[accuracy].")
    ] = None,
    form: Annotated[
        Literal["pdf", "svg", "png", "text"] | None,
        typer.Option("--format", help="text: print a table \\[that of --out, else pdf]."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The figure \\[NAME-VIEW.pdf in the working folder]."),
    ] = None,
    width: Annotated[
        str,
        typer.Option(
            metavar="column|text|INCHES", help="Width: 3.5 or 7.16 in, as the IEEE has them."
        ),
    ] = "column",
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A metric, of a sweep a measure, of cdf also delay or age; repeated: more panels.",
        ),
    ] = None,
    band: Annotated[
        Literal["interval", "std", "nodes", "none"] | None,
        typer.Option(
            help="What bands span \\[interval of four seeds and more, nodes of one; else seeds]."
        ),
    ] = None,
    paired_to: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A panel more: paired differences to this method."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Also write a small table as Markdown.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that are there.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Draw a figure.

    Parameters
    ----------
    runs, view, form, out, width, metric, band, paired_to, table, overwrite
        See `plotting.Wanted`.
    debug : bool
        Show tracebacks.
    """
    with terminal.reported(debug):
        from netsim.console import plotting

        wanted = plotting.Wanted(
            view=view,
            form=None if form == "text" else form,
            out=out,
            width=width,
            metrics=tuple(metric or ()),
            band=band,
            paired_to=paired_to,
            with_table=table,
            overwrite=overwrite,
        )
        if form == "text":
            for shown in plotting.tables(runs, wanted):
                terminal.out().print(shown)
            return
        for path in plotting.plot(runs, wanted):
            terminal.out().print(f"wrote {path}", markup=False)
