"""The tables, the figure and the page at the end of a sweep."""

from pathlib import Path

from rich.text import Text

from netsim.campaign.trials import best_trials
from netsim.console import reporting, terminal
from netsim.console.sweep_tables import design, point_table
from netsim.recording import checksums
from netsim.recording.whole_files import Digests
from netsim.scenario import Scenario
from netsim.scenario.labels import shown


def conclude(
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
    from netsim.views.gathering import comparison
    from netsim.views.render import pictures
    from netsim.views.render.figure import style as plot_style
    from netsim.views.sweep import Way

    assert scenario.sweep is not None
    swept = design(top, scenario.sweep, scenario.seed)
    lines = comparison.compare_points(top, swept)
    write_csv(top / "sweep.csv", comparison.tidy_rows(lines))
    select = scenario.chosen_by
    names = [entry.name for entry in scenario.algorithm]
    best = {}
    if select:
        main = scenario.main_metric
        best = best_trials(swept.points, swept.seeds, names, select, top, main)
    if not scenario.sweep.trials:
        n = len(swept.seeds)
        bars = f"{n} seeds, bars: 95 % intervals" if n > 1 else "one seed"
        show = comparison.measures_to_show(lines, swept.show)
        with plot_style.style():
            way = Way(f"{scenario.name} · {bars}")
            drawn = pictures.of_sweep(lines, show, way)
            if drawn is not None:
                plot_style.save(drawn.figure, top / "sweep.png")
    has_page = False
    if report:
        has_page = reporting.conclude_sweep(top, swept)
    checksums.write(top, last)
    if quiet:
        return
    console = terminal.out()
    console.print(point_table(lines, swept))
    for algorithm, found in best.items():
        options = " ".join(f"--set {k}={shown(v)}" for k, v in found["values"].items())
        line = f"  {select} {found['score']:.4g} at {found['point']}: {options}"
        console.print(Text(f"best {algorithm}", style="bold") + Text(line))
    if select and not best:
        console.print(f"no run has the metric {select}: no best trial")
    seen = "; report.html in it shows what happened" if has_page else ""
    console.print(Text("results in ") + Text(str(top), style="bold") + Text(seen))
