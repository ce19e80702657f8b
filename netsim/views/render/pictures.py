"""The figures of a run and of several algorithms beside each other.

`draw` makes, in the run folder's `figures/`:

- `accuracy_vs_time.png`, `accuracy_vs_megabytes.png`: mean over nodes with its spread; of a task
  with another main metric, that metric and its name;
- `weights.png`: the collaboration weights at the end, who listens to whom;
- `reached.png`: messages delivered, and delivered share of those sent, by pair;
- `weights_by_shared_classes.png`: the same weights by how many classes two nodes share;
- `map.png`: where nodes are, and the links between them.

`draw_comparison` makes the first two with one curve an algorithm. What was not recorded is not
drawn.
"""

from collections.abc import Sequence
from pathlib import Path

from netsim.recording.reader import RunFolder
from netsim.views import Ask, Shown, accuracy, find
from netsim.views.gathering.runs import pictured, title_of
from netsim.views.render.figure import panels
from netsim.views.render.figure import style as plot_style

_AGAINST = ("time", "megabytes")
_OF_ONE = {
    "weights": "weights.png",
    "deliveries": "reached.png",
    "weights_by_shared_classes": "weights_by_shared_classes.png",
    "map": "map.png",
}
"""Views that a run folder keeps, and their files."""


def draw(folder: Path) -> list[Path]:
    """Draw one run that has ended into its `figures/`, and return the pictures made."""
    run = RunFolder.ended(folder)
    made = _curves([run], folder)
    for name, file in _OF_ONE.items():
        view = find(name)
        shown = view.of_run(run)
        if shown is not None:
            heading = f"{view.TITLE} · {title_of(run.summary)}"
            made.append(save(shown, heading, folder / "figures" / file))
    return made


def save(shown: Shown, heading: str, path: Path) -> Path:
    """Draw a view for a screen into a PNG.

    Parameters
    ----------
    shown : Shown
    heading : str
    path : Path
    """
    with plot_style.style():
        return plot_style.save(panels.draw(shown, heading).figure, path)


def draw_comparison(parent: Path, folders: Sequence[Path]) -> list[Path]:
    """Draw several runs over each other into `parent/figures/`, and return the pictures made.

    Runs of one algorithm that differ in their seed become one curve: the mean over seeds of the
    mean over nodes, with the spread over seeds as its band. Otherwise the band is the spread over
    nodes. The caption says which. Of runs without their main metric, or that are judged by
    different ones, there are no pictures.
    """
    runs = [RunFolder.ended(folder) for folder in folders]
    if len({run.main.name for run in runs}) > 1:
        return []
    return _curves(runs, parent)


def _curves(runs: Sequence[RunFolder], folder: Path) -> list[Path]:
    """Draw the main metric over time and over what was transmitted, a file each."""
    made: list[Path] = []
    wanted = tuple(dict.fromkeys(m for run in runs for m in pictured(run)))
    there = accuracy.recorded(runs)
    for against in [name for name in _AGAINST if name in there] if wanted else ():
        shown = accuracy.of_runs(runs, Ask(wanted, against=(against,)))
        if shown is not None:
            heading = title_of(runs[0].summary, algorithm=len(runs) == 1)
            name = f"{runs[0].main.name}_vs_{against}.png"
            made.append(save(shown, heading, folder / "figures" / name))
    return made
