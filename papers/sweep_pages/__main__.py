"""Play the sweeps of pages, and write these pages: `python -m papers.sweep_pages --help`.

    python -m papers.sweep_pages play whatifs --runs FOLDER
    python -m papers.sweep_pages page whatifs --runs FOLDER

FOLDER lies outside the repository, with a sweep in a folder of its name. `play` plays what is
missing, seed after seed; `page` collects what is there and writes the page, without `--runs` from
the numbers that are kept.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from papers.sweep_pages import age_study, asynchrony, fashion, playing, whatifs
from papers.sweep_pages.gallery import WHAT_IFS

SWEEPS = {
    "whatifs": tuple(f"whatif_{what_if.name}" for what_if in WHAT_IFS),
    "fashion": fashion.SWEEPS,
    "asynchrony": age_study.SWEEPS,
}
PAGES = {"whatifs": whatifs, "fashion": fashion, "asynchrony": asynchrony}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play sweeps, or write their page; 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="papers.sweep_pages", description=main.__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    for name, told in (("play", "play what is missing"), ("page", "write the page")):
        command = commands.add_parser(name, help=told)
        command.add_argument("page", choices=PAGES)
        command.add_argument("--runs", type=Path, required=name == "play")
        command.add_argument("--data", type=Path, help="the data sets [$NETSIM_DATA]")
        if name == "play":
            command.add_argument("--only", nargs="+", help="names of sweeps")
    given = parser.parse_args(arguments)
    if given.data:
        os.environ["NETSIM_DATA"] = str(given.data.absolute())
    if given.command == "play":
        sweeps = SWEEPS[given.page]
        if unknown := set(given.only or ()) - set(sweeps):
            known = ", ".join(sweeps)
            parser.error(f"--only {min(unknown)}: the sweeps of {given.page} are {known}")
        return playing.play(given.only or sweeps, given.runs)
    if given.runs:
        PAGES[given.page].collect(given.runs)
    PAGES[given.page].write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
