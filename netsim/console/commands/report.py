"""The command `netsim report`."""

from pathlib import Path
from typing import Annotated

import typer

from netsim.console import terminal
from netsim.console.options import Components, DataDir

ALSO_CALLED = ("dashboard", "html", "page", "show", "view", "open", "watch", "live")


def command(
    path: Annotated[
        Path, typer.Argument(metavar="RUN|SWEEP", help="Its folder, whether it has ended or not.")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page \\[report.html in the folder].")
    ] = None,
    components: Components = None,
    data: DataDir = None,
) -> None:
    """Write a page on which one sees what happened: one HTML file, for any browser, offline."""
    from netsim.campaign import sweep_results
    from netsim.campaign.node_positions import places_of
    from netsim.recording import checksums
    from netsim.recording.reader import begun_folders
    from netsim.recording.summary import left_out
    from netsim.recording.whole_files import require_place
    from netsim.views.render.page import run_page, sweep_page

    target = out or path / run_page.NAME
    if path.is_dir():
        require_place(target, "--out")
    if out is not None:
        _require_free(out)
    if sweep_results.is_sweep(path):
        sweep_page.report(sweep_results.tables_of(path), target)
    else:
        folders = begun_folders(path)
        to_come = left_out(path, only_to_come=True)
        run_page.report(
            folders, target, lambda run: places_of(run, components or (), data), to_come
        )
    if out is None:
        checksums.renew(path, run_page.NAME)
    terminal.out().print(f"wrote {target}")


def _require_free(out: Path) -> None:
    """Raise ScenarioError where something else than an earlier page would be replaced."""
    from netsim.errors import DataError, ScenarioError, one_line
    from netsim.traces import bounded
    from netsim.views.render.page import html

    if out.is_dir():
        raise ScenarioError(f"--out {one_line(out)}: is a folder; name a file, such as page.html")
    if out.exists() or out.is_symlink():
        try:
            with bounded.open_plain_file(out, one_line(out), follow_links=False) as file:
                is_page = html.is_page(file.read(html.MOST_HEAD_BYTES))
        except (OSError, DataError):
            is_page = False
        if not is_page:
            raise ScenarioError(
                f"--out {one_line(out)}: is there already and is no page of netsim's; name another "
                "file"
            )
