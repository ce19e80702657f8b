"""Figures, page and tables at the end of a run or a sweep, drawn before it counts as done."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from netsim.campaign import sweep_results
from netsim.campaign.sweep_folder import runs_with
from netsim.recording import checksums, run_folder
from netsim.recording.whole_files import Digests
from netsim.scenario import Scenario
from netsim.scenario.labels import toml_text
from netsim.terminal import consoles, evaluation_cost
from netsim.views.render.page.run_page import NAME as PAGE

if TYPE_CHECKING:
    from netsim.campaign.live import LivePage


MOST_MESSAGES = 3_000_000
"""Of more, a run's end does not wait for its page: about 3 s for a million."""
MOST_RUNS = 1_000
"""Of more, a sweep's end does not wait for its page."""


@dataclass(frozen=True)
class RunEnding:
    """Figures, comparison and page of a run; see `runner.Ending`."""

    scenario: Scenario  # with all algorithms
    # whether to draw figures, and to write a page
    figures: bool
    report: bool
    live: "LivePage | None" = None  # writes the page meanwhile

    def run(self, folder: Path, alone: bool) -> None:
        """Draw what belongs to one algorithm's run; `alone`: its folder is that of the whole."""
        if self.figures:
            from netsim.views.render.pictures import draw

            draw(folder)
        if alone:
            self._of_all(folder, [folder])

    def finish_all(self, top: Path, folders: Sequence[Path]) -> None:
        """Draw what belongs to several algorithms, and list its checksums."""
        from netsim.views.compare import table

        table(folders, top / "comparison.csv")
        if self.figures:
            from netsim.views.render.pictures import draw_comparison

            draw_comparison(top, folders)
        self._of_all(top, folders)
        checksums.write(top)

    def _of_all(self, top: Path, folders: Sequence[Path]) -> None:
        from netsim.views import network_cost

        worlds = network_cost.worlds_of(folders, entries(self.scenario))
        if self.figures and worlds is not None:
            from netsim.views.gathering.runs import title_of
            from netsim.views.render.pictures import save

            heading = title_of(worlds.runs[0].run.summary, algorithm=False)
            save(network_cost.view(worlds), heading, top / "figures" / "network_cost.png")
        if self.report:
            if self.live is not None:
                self.live.stop()
            if sum(run_folder.rows(folder, "messages") for folder in folders) <= MOST_MESSAGES:
                self._write_page(top, folders)

    def _write_page(self, top: Path, folders: Sequence[Path]) -> None:
        from netsim.campaign.node_positions import places_in
        from netsim.views.render.page import run_page

        played = zip(folders, self.scenario.algorithm, strict=True)
        own = {folder: self.scenario.of(entry) for folder, entry in played}
        run_page.report(
            folders, top / PAGE, lambda run: places_in(own[run], None), is_requested=False
        )


def entries(scenario: Scenario) -> list[dict[str, Any]]:
    """The tables `[[algorithm]]` of a scenario."""
    return [entry.model_dump(mode="json") for entry in scenario.algorithm]


def tell(top: Path, folders: Sequence[Path], scenario: Scenario, quiet: bool) -> None:
    """Print what runs have found.

    Parameters
    ----------
    top : Path
        The folder of all of them.
    folders : sequence of Path
        One an algorithm.
    quiet : bool
        Print nothing.
    """
    if quiet:
        return
    from netsim.recording import run_warnings
    from netsim.views import network_cost
    from netsim.views.compare import table
    from netsim.views.render.terminal import WrappedTable, say

    with consoles.waiting("summing up", quiet):
        worlds = network_cost.worlds_of(folders, entries(scenario))
        costs = None if worlds is None else network_cost.view(worlds)
        compared = table(folders, None) if worlds is None else network_cost.printed(worlds)
    console = consoles.out()
    console.print(WrappedTable(compared))
    if costs is not None:
        say(costs, console)
    for warning in run_warnings.warnings_of(folders):
        consoles.err().print(Text(warning, style="yellow"))
    summaries = [run_folder.summary(folder) for folder in folders]
    remedy = evaluation_cost.remedy(summaries, scenario)
    if remedy is not None:
        consoles.err().print(Text(remedy, style="yellow"))
    cost = evaluation_cost.line(summaries)
    if cost is not None:
        console.print(Text(cost))
    seen = f"; {PAGE} in it shows what happened" if (top / PAGE).is_file() else ""
    console.print(Text("results in ") + Text(str(top), style="bold") + Text(seen))


def conclude_sweep(
    scenario: Scenario, top: Path, quiet: bool, last: Digests, report: bool = False
) -> None:
    """Write the tables and the page of what has been played, and print the tables.

    Parameters
    ----------
    scenario : Scenario
        With a sweep.
    top : Path
        The sweep's folder, in which at least one run is done.
    quiet : bool
        Print nothing.
    last : dict of str to str
        SHA-256 of the file that will be written last, by its name.
    report : bool
        Whether to write the page, unless that would keep its user waiting.
    """
    from netsim.recording.csv_files import write_csv
    from netsim.views import differences, sweep, trials
    from netsim.views.gathering.comparison import measures_to_show, tidy_rows
    from netsim.views.gathering.sweep_tables import SweepTables
    from netsim.views.render import pictures
    from netsim.views.render.terminal import WrappedTable

    assert scenario.sweep is not None
    names = [entry.name for entry in scenario.algorithm]
    select = scenario.chosen_by
    swept = sweep_results.design(top, scenario.sweep, scenario.seed, names, select)
    tables = SweepTables(top, swept, sweep_results.read_trials(top))
    write_csv(top / "sweep.csv", tidy_rows(tables.lines))
    best = {}
    if select:
        main = scenario.main_metric
        best = sweep_results.best_trials(swept.points, swept.seeds, names, select, top, main)
    if not scenario.sweep.trials:
        response = sweep.gather(tables.lines, measures_to_show(tables.lines, swept.show))
        if response is not None:
            pictures.save(response, scenario.name, top / "sweep.png")
    has_page = report and len(runs_with(top, "summary.json")) <= MOST_RUNS
    if has_page:
        from netsim.views.render.page import sweep_page

        sweep_page.report(tables, top / PAGE)
    checksums.write(top, last)
    if quiet:
        return
    console = consoles.out()
    table = trials if tables.trials else differences
    console.print(WrappedTable(table.printed(tables)))
    for remark in sweep_results.remarks(top, swept):
        console.print(Text(remark, style="yellow"))
    for algorithm, found in best.items():
        options = " ".join(
            f"--set {shlex.quote(f'{k}={toml_text(v)}')}" for k, v in found["values"].items()
        )
        lowest = "lowest " if scenario.main_metric.is_lowest_best(str(select)) else ""
        line = f"  {lowest}{select} {found['score']:.4g} at {found['point']}: {options}"
        console.print(Text(f"best {algorithm}", style="bold") + Text(line))
    if select and not best:
        console.print(Text(f"no point has {select} of all its seeds: none is the best"))
    seen = f"; {PAGE} in it shows what happened" if has_page else ""
    console.print(Text("results in ") + Text(str(top), style="bold") + Text(seen))
