"""The figures of a run and of several algorithms beside each other.

`draw` makes, in the run folder's `figures/`:

- `accuracy_vs_time.png`, `accuracy_vs_megabytes.png`: mean over nodes with its spread; of a task
  with another main metric, that metric and its name;
- `weights.png`: the collaboration weights at the end, who listens to whom;
- `weights_by_shared_classes.png`: the same weights by how many classes two nodes share;
- `reached.png`: messages delivered, and delivered share of those sent, by pair;
- `map.png`: where nodes are, and the links between them.

`draw_comparison` makes the first two with one curve an algorithm. What was not recorded is not
drawn.
"""

from collections.abc import Sequence
from pathlib import Path

from netsim.results import graph_figure, heatmaps, node_map, plot_style
from netsim.results.plots import curves
from netsim.results.plots.runs import Run, pictured, title_of

_AGAINST = ("time", "megabytes")


def draw(folder: Path) -> list[Path]:
    """Draw one run into its `figures/`.

    Parameters
    ----------
    folder : Path
        A run folder with a `summary.json`.

    Returns
    -------
    list of Path
        The pictures made.

    Raises
    ------
    ScenarioError
        If it is not a run folder.
    """
    run = Run.of(folder)
    made = []
    with plot_style.style():
        made += _curves([run], folder, pictured(run))
        title = title_of(run.summary)
        for name, figure in heatmaps.draw(folder, run.nodes, title):
            made.append(plot_style.save(figure, folder / "figures" / name))
        for name, picture in (
            ("weights_by_shared_classes.png", graph_figure.draw(folder, title)),
            ("map.png", node_map.draw(folder, title)),
        ):
            if picture is not None:
                made.append(plot_style.save(picture, folder / "figures" / name))
    return made


def draw_comparison(parent: Path, folders: Sequence[Path]) -> list[Path]:
    """Draw several runs over each other into `parent/figures/`.

    Runs of one algorithm that differ in their seed become one curve: the mean over seeds of the
    mean over nodes, with the spread over seeds as its band. Otherwise the band is the spread over
    nodes. The caption says which.

    Parameters
    ----------
    parent : Path
    folders : sequence of Path
        Run folders.

    Returns
    -------
    list of Path
        The pictures made; none if no run measured the main metric. Of runs that are judged by
        different metrics there are none.

    Raises
    ------
    ScenarioError
        If one is not a run folder.
    """
    runs = [Run.of(folder) for folder in folders]
    judged_by = list(dict.fromkeys(run.main.name for run in runs))
    if len(judged_by) > 1:
        return []
    wanted = list(dict.fromkeys(m for run in runs for m in pictured(run)))
    with plot_style.style():
        return _curves(runs, parent, wanted)


def _curves(runs: Sequence[Run], folder: Path, wanted: Sequence[str]) -> list[Path]:
    """Draw metrics over time and over what was transmitted, a file each."""
    made = []
    there = curves.recorded(runs)
    for against in [name for name in _AGAINST if name in there] if wanted else ():
        drawn = curves.draw(runs, wanted, (against,))
        if drawn is not None:
            name = f"{runs[0].main.name}_vs_{against}.png"
            made.append(plot_style.save(drawn.figure, folder / "figures" / name))
    return made
