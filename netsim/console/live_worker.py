"""The process that makes the numbers of a live page: `python -m netsim.console.live_worker`.

Its arguments are the folders of components that the run was begun with: of nodes that move, where
they were is worked out from the scenario once more.
"""

import sys
from pathlib import Path

from netsim import standard_streams
from netsim.errors import ScenarioError
from netsim.recording import run_folder
from netsim.results.live.builder import answer
from netsim.results.report.run_tables import Places, nowhere


def main() -> None:
    """Answer on standard output what is asked on standard input."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # what components print goes elsewhere
    standard_streams.never_fail()
    components = [Path(name) for name in sys.argv[1:]]

    def places(folder: Path) -> Places:
        """Return the positions of a run's nodes over time, if they move."""
        try:
            moves = "mobility" in run_folder.scenario(folder)
        except ScenarioError:
            moves = False
        if not moves:
            return nowhere
        from netsim.console.reporting import places_of  # here: it brings torch, for seconds

        return places_of(folder, components, None)

    answer(sys.stdin.buffer, answers, places)


if __name__ == "__main__":
    main()
