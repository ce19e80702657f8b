"""Places of the nodes as SUMO's floating car data: `[mobility] kind = "sumo"`."""

from pathlib import Path

from netsim.export.formats import Layout, seconds
from netsim.topology.mobility import StraightTrack

SUFFIX = ".fcd.xml"


def write(layout: Layout, path: Path) -> None:
    """Write places every `layout.step_ns` and at the end, a vehicle `node0`, ... for each node.

    Raises
    ------
    ScenarioError
        If nodes have no places.
    """
    start_m = [knots[0][1:] for knots in layout.knots()]
    if isinstance(layout.track, StraightTrack):  # of others `knots` has said it
        layout.remark_on_chords(layout.track)
    every = range(layout.nodes)
    with path.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n<fcd-export>\n')
        for time_ns in layout.instants_ns():
            places = start_m if layout.track is None else layout.track.at(every, time_ns).tolist()
            file.write(f'    <timestep time="{seconds(time_ns)}">\n')
            for node, (x, y) in enumerate(places):
                file.write(f'        <vehicle id="node{node}" x="{x!r}" y="{y!r}"/>\n')
            file.write("    </timestep>\n")
        file.write("</fcd-export>\n")
